"""Arrays whose elements share memory, within one array or with what is assigned to them."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.arrays.layouts import has_internal_overlap
from omni.warp_core.autodiff.analysis.exclusive_stores import find_exclusive_stores
from omni.warp_core.autodiff.vjp.adjoint import _prepare, adjoint_kernel
from omni.warp_core.codegen.accumulate.eligibility import additions
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.passes import pipeline

D = wp.array(dtype=wp.float64)
SHARED = "elements of this array share memory"


@wp.kernel
def squared(x: D, y: D):
    i = wp.tid()
    y[i] = x[i] * x[i]


def active(n):
    return wp.array(np.arange(1.0, n + 1.0), dtype=wp.float64, requires_grad=True)


def seen(a, shape, strides):
    """A view of the memory of `a` with any strides, in elements."""
    return wp.array(ptr=a.ptr, shape=shape, strides=[8 * s for s in strides], dtype=wp.float64)


STEPS = {
    "read": lambda one, y: wp.launch(squared, 9, inputs=[one, y]),
    "written": lambda one, y: wp.launch(squared, 9, inputs=[y, one]),
    "copy": lambda one, y: wp.copy(y, one),
    "arithmetic": lambda one, y: y + one,
    "sum": lambda one, y: wp.utils.array_sum(one, out=y[:1]),
}


@pytest.mark.parametrize("step", STEPS)
def test_one_element_seen_many_times(step):
    x, y = active(3), active(9)
    one = seen(x, (9,), (0,))
    with pytest.raises(ValueError, match=SHARED), wp.Tape():
        STEPS[step](one, y)


def test_windows():
    x, product = active(6), wp.zeros((4, 2), dtype=wp.float64, requires_grad=True)
    windows = seen(x, (4, 3), (1, 1))
    weights = wp.ones((3, 2), dtype=wp.float64)
    with pytest.raises(ValueError, match=r"strides \(8, 8\)"), wp.Tape():
        wp.matmul(windows, weights, product, product)


def test_after_a_launch_like_it():
    """The second launch of a kernel takes a shorter way."""
    x, y = active(9), active(9)
    with wp.Tape():
        wp.launch(squared, 9, inputs=[x, y])
        with pytest.raises(ValueError, match=f"kernel `squared`: `x`: {SHARED}"):
            wp.launch(squared, 9, inputs=[seen(x, (9,), (0,)), y])


def test_adjoint_without_a_tape():
    one, y = seen(active(3), (9,), (0,)), active(9)
    with pytest.raises(ValueError, match=SHARED):
        wp.launch(squared, 9, inputs=[one, y], adjoint=True, adj_inputs=[seen(active(3), (9,), (0,)), active(9)])


def test_copies_without_gradient_are_fine():
    x, y = active(1), wp.zeros(9, dtype=wp.float64, requires_grad=True)
    with wp.Tape():
        wp.launch(squared, 9, inputs=[wp.clone(seen(x, (9,), (0,)), requires_grad=False), y])
    assert y.list() == [1.0] * 9


@pytest.mark.parametrize(
    ("shape", "strides", "meets"),
    [
        ((4,), (1,), False),
        ((4,), (-1,), False),
        ((4,), (0,), True),
        ((1, 4), (0, 2), False),
        ((4, 2), (2, 1), False),
        ((4, 3), (2, 1), True),
        ((2, 4), (1, 2), False),
        ((2, 2), (2, 3), False),
        ((3, 2), (2, 4), True),
        ((2, 3), (-9, 3), False),
        ((0, 3), (0, 0), False),
    ],
)
def test_which_arrays_meet_themselves(shape, strides, meets):
    memory = wp.zeros(64, dtype=wp.float64)
    a = seen(memory[32:], shape, strides)
    offsets = [sum(i * s for i, s in zip(at, strides)) for at in np.ndindex(shape)]
    assert (len(set(offsets)) < len(offsets)) is meets
    assert has_internal_overlap(a) is meets


def test_a_column_from_a_row():
    x = wp.array(np.arange(16.0).reshape(4, 4), dtype=wp.float64, requires_grad=True)
    y = wp.zeros((4, 4), dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.copy(y, x)
        y[:, 3] = y[1]
    expected = np.arange(16.0).reshape(4, 4)
    expected[:, 3] = expected[1].copy()
    assert (y.numpy() == expected).all()
    seeds = np.arange(16.0).reshape(4, 4)
    tape.backward(grads={y: wp.array(seeds, dtype=wp.float64)})
    wanted = seeds.copy()
    wanted[:, 3] = 0.0
    wanted[1] += seeds[:, 3]
    assert (x.grad.numpy() == wanted).all()


@wp.kernel
def by_rounded_thread(y: D, z: D):
    i = wp.tid()
    y[int(float(i))] = wp.float64(1.0)
    z[wp.int64(i)] = wp.float64(1.0)


def test_a_float_may_be_that_of_two_threads():
    function = _prepare(lower_kernel(by_rounded_thread), library_gradient, shared=False)
    owned = find_exclusive_stores(function, shared=False)
    stores = [op for op in function.body.walk() if op.code == "store"]
    assert [op in owned for op in stores] == [False, True]


@wp.kernel
def neighbours(left: D, right: D, y: D):
    i = wp.tid()
    y[i] = left[i] + right[i]


@pytest.mark.parametrize("shared", [False, True])
def test_equal_indices_of_views_are_other_elements(shared):
    """Where arrays may overlap, threads meet in the gradients of two of them though each has indices of its own."""
    adjoint = adjoint_kernel(lower_kernel(neighbours), library_gradient, shared).function
    done = pipeline.run(adjoint, pipeline.PassOptions(private="one" if shared else "all"))
    assert sum(op.code == "atomic" for op in done.body.walk()) == (2 if shared else 0)


def test_threads_that_meet_in_overlapping_views():
    n = 200_001
    x, y = (wp.zeros(k, dtype=wp.float64, requires_grad=True) for k in (n, n - 1))
    ones = wp.ones(n - 1, dtype=wp.float64)
    tape = wp.Tape()
    with tape:
        wp.launch(neighbours, n - 1, inputs=[x[:-1], x[1:], y])
    for _ in range(100):
        x.grad.zero_()
        tape.backward(grads={y: ones})
        assert (x.grad.numpy()[1:-1] == 2.0).all()


@wp.kernel
def counted(a: D, b: D):
    i = wp.tid()
    a[i] += wp.float64(1.0)
    b[i] += wp.float64(1.0)


@wp.kernel
def counted_once(a: D):
    i = wp.tid()
    a[i] += wp.float64(1.0)


@wp.kernel
def counted_in_rows(a: wp.array2d(dtype=wp.float64)):
    i, j = wp.tid()
    a[i, j] += wp.float64(1.0)


def test_additions_of_threads_that_meet_in_overlapping_views():
    x = wp.zeros(200_001, dtype=wp.float64)
    for _ in range(100):
        x.zero_()
        wp.launch(counted, x.size - 1, inputs=[x[:-1], x[1:]])
        assert (x.numpy()[1:-1] == 2.0).all()
    wp.launch(counted, x.size, inputs=[x, x])
    assert x.numpy()[5] == 4.0


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("n", [1, 7, 33, 1000])
def test_additions_to_an_element_seen_many_times(n, deterministic, monkeypatch):
    monkeypatch.setattr(wp.config, "deterministic", deterministic)
    x = wp.zeros(n + 2, dtype=wp.float64)
    wp.launch(counted_once, n, inputs=[x[:n]])
    wp.launch(counted_once, n, inputs=[seen(x, (n,), (0,))])
    assert x.list() == [n + 1.0, *[1.0] * (n - 1), 0.0, 0.0]
    x.zero_()
    wp.launch(counted_in_rows, (n, 3), inputs=[seen(x, (n, 3), (1, 1))])
    assert (x.numpy() == np.convolve(np.ones(n), np.ones(3))).all()


@wp.kernel
def counted_by_two(a: wp.array(dtype=wp.vec2), b: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    for j in range(500):
        a[i] += wp.vec2(1.0)
        out[i] = wp.atomic_add(b, (2 * j + i) % 64, 1.0)


@wp.kernel
def counted_in_integers(a: wp.array(dtype=wp.vec2i), b: wp.array(dtype=int)):
    i = wp.tid()
    a[i] += wp.vec2i(1)
    wp.atomic_add(b, i % 64, 1)


@pytest.mark.parametrize("kernel", [counted_by_two, counted_in_integers])
def test_launches_compare_what_is_added_to_plainly_and_atomically(kernel):
    facts = additions(pipeline.run(lower_kernel(kernel), pipeline.PassOptions(private="all"))).facts
    assert {at.param for at in facts.exclusive} == {0, 1}


@pytest.mark.cpu
def test_additions_to_vectors_and_to_their_numbers():
    """The same memory as two arrays: an element of one is a thread's own, numbers of the other are added to by all."""
    n = 3000
    a, out = wp.zeros(n, dtype=wp.vec2), wp.zeros(n, dtype=float)
    numbers = wp.array(ptr=a.ptr, shape=2 * n, dtype=float, device="cpu")
    wp.launch(counted_by_two, n, inputs=[a, numbers, out])
    assert numbers.numpy().sum(dtype=np.float64) == 3 * 500 * n
