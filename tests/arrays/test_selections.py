"""None, lists, masks and arrays of indices as indices of arrays. NumPy judges."""

import numpy as np
import pytest

import omni.warp_core as wp

NUMBERS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ROWS = NUMBERS[0]
VIEWS = {
    "first": np.s_[None],
    "last": np.s_[..., None],
    "middle": np.s_[:, None],
    "beside_an_integer": np.s_[:, None, 1],
    "of_slices": np.s_[1:, None, ::-2],
    "twice": np.s_[None, 1, None],
    "of_an_element": np.s_[0, 1, None],
}
CHOSEN = {
    "list": [0, 2],
    "numpy": np.array([2, 0, 2]),
    "negative": [-1, -3],
    "small_integers": np.array([1, 2], np.uint8),
    "mask": np.array([True, False, True]),
    "list_of_bools": [False, True, True],
    "none_of_them": [],
    "no_true": np.zeros(3, bool),
    "in_a_tuple": (slice(None), [3, 1]),
    "beside_a_slice": ([2, 1], np.s_[1:3]),
    "beside_an_integer": ([0, 2], 3),
}


@pytest.mark.parametrize("key", VIEWS.values(), ids=VIEWS)
def test_none_makes_a_dimension(key, device):
    a = wp.array(ROWS, dtype=float, device=device)
    view, expected = a[key], ROWS[key]
    assert view.shape == expected.shape and np.array_equal(view.numpy(), expected)
    view.fill_(-1.0)
    changed = ROWS.copy()
    changed[key] = -1.0
    assert np.array_equal(a.numpy(), changed)


def test_assignments_through_none():
    a, expected = wp.array(ROWS, dtype=float), ROWS.copy()
    a[:, None, 1] = [[5.0], [6.0], [7.0]]
    expected[:, None, 1] = [[5.0], [6.0], [7.0]]
    a[0, None] = 9.0
    expected[0, None] = 9.0
    assert np.array_equal(a.numpy(), expected)


@pytest.mark.parametrize("key", CHOSEN.values(), ids=CHOSEN)
def test_selections(key, device):
    a = wp.array(ROWS, dtype=float, device=device)
    chosen, expected = a[key], ROWS[key]
    assert chosen.shape == expected.shape and np.array_equal(chosen.numpy(), expected)
    a[key] = -1.0
    changed = ROWS.copy()
    changed[key] = -1.0
    assert np.array_equal(a.numpy(), changed)


def test_masks_of_this_package(device):
    a = wp.array(ROWS[0], dtype=float, device=device)
    mask = wp.array([True, False, True, True], dtype=wp.bool, device=device)
    assert a[mask].numpy().tolist() == ROWS[0][mask.numpy()].tolist()


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ([3], IndexError, "index 3 is out of range for dimension 0 with 3 elements"),
        ((0, [-5]), IndexError, "index -5 is out of range for dimension 1 with 4 elements"),
        (np.ones(4, bool), IndexError, "a mask of 4 elements for dimension 0 with 3 elements"),
        (np.ones((3, 4), bool), TypeError, "an index of 2 dimensions"),
        ([0.5], TypeError, "got elements of float64"),
        ((None, [0]), TypeError, "beside selections, got None"),
        ((None, None, None), IndexError, "makes 5 dimensions; arrays have up to 4"),
        ((0, 0, 0), IndexError, "3 indices for an array of 2 dimensions"),
    ],
)
def test_errors(key, error, message):
    with pytest.raises(error, match=message):
        wp.array(ROWS, dtype=float)[key]


@wp.kernel
def squares(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = x[i, j] * x[i, j]


@wp.kernel
def squares_of_chosen(x: wp.indexedarray(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def test_gradients_through_views_and_selections():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y, z = (wp.zeros(shape, dtype=float, requires_grad=True) for shape in ((3, 1), 2))
    with wp.Tape() as tape:
        wp.launch(squares, dim=(3, 1), inputs=[x[:, None], y])
        wp.launch(squares_of_chosen, dim=2, inputs=[x[[2, 0]], z])
    tape.backward(grads={y: wp.ones_like(y), z: wp.ones_like(z)})
    assert x.grad.list() == [2.0 + 2.0, 4.0, 6.0 + 6.0]
