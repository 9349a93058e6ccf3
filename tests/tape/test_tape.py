"""Records of a tape besides launches, and requests for gradients."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp import adjoint
from tests.kernels import square, square_in_place

F = wp.array(dtype=float)


@wp.struct
class Scaled:
    values: wp.array(dtype=float)
    factor: float


@wp.kernel
def scaled(s: Scaled, y: F):
    i = wp.tid()
    y[i] = s.values[i] * s.values[i] * s.factor


@wp.kernel
def dots(x: wp.array(dtype=wp.vec3), loss: F):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(x[i], x[i]))


@wp.kernel
def weigh(x: F, loss: F):
    i = wp.tid()
    wp.atomic_add(loss, 0, float(i + 1) * x[i])


def active(values, dtype=float):
    return wp.array(values, dtype=dtype, requires_grad=True)


def test_copies_and_fills():
    x, y, z = active([1.0, 2.0, 3.0]), active([0.0] * 3), active([9.0] * 4)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 3, inputs=[x, y])
        wp.copy(z, y, dest_offset=1, src_offset=1, count=2)  # z = 9, 4, 9, ...
        z[3:] = y[:1]
        y.fill_(0.0)
    tape.backward(grads={z: wp.array([1.0, 10.0, 100.0, 1000.0], dtype=float), y: wp.ones(3, dtype=float)})
    assert z.list() == [9.0, 4.0, 9.0, 1.0]
    assert x.grad.list() == [2000.0, 40.0, 600.0]
    assert z.grad.list() == [1.0, 0.0, 0.0, 0.0]


def test_copies_fills_and_steps_of_ones_own(device):
    x, y = active(np.arange(1.0, 7.0)), active(np.zeros(6))
    called = []
    with wp.Tape() as tape:
        wp.copy(y, x)
        y[1:3] = x[4:]
        y[::2].fill_(7.0)
        y[5] = 1.0
        y.reshape((2, 3))[1:].assign(x[:3])
        tape.record_func(lambda: called.append(1), [x])
    tape.backward(grads={y: wp.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], dtype=float)})
    assert called == [1]
    assert y.list() == [7.0, 5.0, 7.0, 1.0, 2.0, 3.0]
    assert x.grad.list() == [8.0, 16.0, 32.0, 0.0, 2.0, 0.0]


def test_numpy_arguments_and_structs():
    s = Scaled()
    s.values, s.factor = active([1.0, 2.0]), 3.0
    y = active([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(scaled, 2, inputs=[s, y])
    s.values.fill_(50.0)
    s.factor = 70.0
    tape.backward(grads={y: np.ones(2, np.float32)})
    assert s.values.grad.list() == [6.0, 12.0]


def test_a_loss_and_gradients_to_start_with(device):
    x, y, loss = active([1.0, 2.0]), active([0.0, 0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x, y])
        wp.launch(square, 1, inputs=[y[1:], loss])
    tape.backward(loss)
    assert x.grad.list() == [0.0, 32.0]
    tape.backward(loss)
    assert x.grad.list() == [0.0, 64.0]
    tape.zero()
    assert x.grad.list() == [0.0, 0.0]
    tape.backward(grads={y: wp.array([1.0, 10.0], dtype=float, device="cpu")})
    assert x.grad.list() == [2.0, 40.0]
    assert tape.gradients[x] is x.grad
    assert set(tape.gradients) >= {x, y, loss}
    tape.reset()
    with pytest.raises(ValueError, match="nothing is recorded"):
        tape.backward(loss)


@pytest.mark.cpu
def test_steps_of_ones_own():
    x, y, z = active([2.0]), active([0.0]), active([0.0])
    tape = wp.Tape()

    def backward():
        y.grad.numpy()[:] += z.grad.numpy() * np.cos(y.numpy())

    with tape:
        wp.launch(square, 1, inputs=[x, y])
        z.numpy()[:] = np.sin(y.numpy())
        tape.record_func(backward, [y, z])
    tape.backward(z)
    np.testing.assert_allclose(x.grad.numpy(), [np.cos(4.0) * 4.0], rtol=1e-6)


def test_views_share_gradients():
    x, y = active([[1.0, 2.0], [3.0, 4.0]]), active([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x[:, 1], y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.numpy().tolist() == [[0.0, 4.0], [0.0, 8.0]]


def test_seeds_that_share_memory():
    x, y = active([1.0, 2.0, 3.0]), active([0.0] * 3)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 3, inputs=[x, y])
    y.grad.assign([1.0, 10.0, 100.0])
    tape.backward(grads={y: y.grad})
    assert x.grad.list() == [2.0, 40.0, 600.0]
    tape.zero()
    seed = wp.array([1.0, 10.0], dtype=float)
    tape.backward(grads={y[:2]: seed, y[1:]: seed})  # the middle one gets both
    assert x.grad.list() == [2.0, 44.0, 60.0]
    assert seed.list() == [1.0, 10.0]
    tape.zero()
    tape.backward(grads={y: wp.full(3, 1.0, dtype=float), y[:]: wp.full(3, 2.0, dtype=float)})
    assert x.grad.list() == [6.0, 12.0, 18.0]
    x.grad.assign([3.0, 5.0, 7.0])
    tape.backward(grads={y: x.grad})
    assert x.grad.list() == [9.0, 25.0, 49.0]


def test_a_loss_that_others_show_too():
    x, y = active([3.0]), active([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, y])
    y.grad.assign([7.0, 5.0])  # belongs to no loss
    tape.backward(y[:1], grads={y: wp.array([10.0, 100.0], dtype=float)})
    assert x.grad.list() == [66.0]


@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float32, wp.float64])
def test_losses_of_every_precision(dtype):
    @wp.kernel
    def triple(x: wp.array(dtype=dtype), loss: wp.array(dtype=dtype)):
        wp.atomic_add(loss, 0, dtype(3.0) * x[wp.tid()])

    x, loss = (wp.zeros(n, dtype=dtype, requires_grad=True) for n in (4, 1))
    tape = wp.Tape()
    with tape:
        wp.launch(triple, 4, inputs=[x, loss])
    for turn in (1, 2):
        tape.backward(loss)
        assert [float(g) for g in x.grad.list()] == [3.0 * turn] * 4
        assert float(loss.grad.list()[0]) == 1.0


@pytest.mark.parametrize("at", [0, 70_000, 999_999])
def test_what_a_large_gradient_held_comes_back(at):
    n = 1_000_000
    x, y, z = (wp.zeros(n, dtype=float, requires_grad=True) for _ in range(3))
    x.fill_(2.0)
    tape = wp.Tape()
    with tape:
        wp.launch(square, n, inputs=[x, y])
        wp.launch(square, n, inputs=[y, z])
    y.grad[at : at + 1].fill_(0.5)
    tape.backward(grads={z: wp.ones(n, dtype=float)})
    assert (x.grad.numpy() == 32.0).all()  # of x⁴ at 2
    assert np.flatnonzero(y.grad.numpy()).tolist() == [at] and y.grad.numpy()[at] == 0.5


def test_many_threads_add_to_one_gradient():
    n = 50_000
    x = active(np.random.default_rng(1).normal(size=(n, 3)).astype(np.float32), wp.vec3)
    loss = active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(dots, n, inputs=[x, loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.numpy())


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (lambda x, y: {}, ValueError, "give the array of the loss.* grads={y: y.grad}"),
        (lambda x, y: {"loss": x}, ValueError, "one element"),
        (lambda x, y: {"loss": wp.zeros(1, dtype=float)}, RuntimeError, "no gradient"),
        (lambda x, y: {"grads": {wp.zeros(1, dtype=float): y}}, RuntimeError, "no gradient"),
        (lambda x, y: {"grads": {y: wp.ones(1, dtype=float)}}, ValueError, "shape"),
        (lambda x, y: {"grads": [(y, y)]}, TypeError, "grads: expected a dictionary"),
        (lambda x, y: {"grads": {wp.clone(y): y}}, ValueError, r"grads: nothing .* uses the array of shape \(2,\)"),
    ],
)
def test_bad_requests(given, error, text):
    x, y = active([1.0, 2.0]), active([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x, y])
    with pytest.raises(error, match=text):
        tape.backward(**given(x, y))


def test_nothing_recorded():
    with pytest.raises(ValueError, match="nothing is recorded"):
        wp.Tape().backward(active([0.0]))


def test_adjoint_without_a_tape():
    x, y = wp.array([1.0, 2.0], dtype=float), wp.zeros(2, dtype=float)
    gx, gy = wp.zeros(2, dtype=float), wp.array([1.0, 10.0], dtype=float)
    wp.launch(square, 2, inputs=[x], outputs=[y], adj_inputs=[gx], adj_outputs=[gy], adjoint=True)
    assert gx.list() == [2.0, 40.0]


@wp.kernel
def product(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    p = 1.0
    for i in range(x.shape[0]):
        p *= x[i]
    y[0] = p


def test_adjoint_with_gradients_of_the_arrays(device):
    x = wp.array([2.0, 3.0, 4.0], dtype=float, requires_grad=True)
    y = wp.zeros(1, dtype=float, requires_grad=True)
    y.grad.fill_(1.0)
    wp.launch(product, dim=1, inputs=[x, y], adjoint=True)
    assert x.grad.list() == [12.0, 8.0, 6.0]


@wp.struct
class Factors:
    a: F
    by: float


@wp.kernel
def scale_square(f: Factors, y: F):
    i = wp.tid()
    y[i] = f.by * f.a[i] * f.a[i]


def test_adjoint_with_gradients_in_a_struct():
    f, g = Factors(), Factors()
    f.a, f.by, g.a = wp.array([1.0, 2.0], dtype=float), 3.0, wp.zeros(2, dtype=float)
    y, gy = wp.zeros(2, dtype=float), wp.array([1.0, 10.0], dtype=float)
    wp.launch(scale_square, 2, inputs=[f], outputs=[y], adj_inputs=[g], adj_outputs=[gy], adjoint=True)
    assert g.a.list() == [6.0, 120.0]
    assert f.a.grad is None


@wp.kernel
def scaled_square(x: F, by: F, y: F):
    i = wp.tid()
    y[i] = by[i] * x[i] * x[i]


@pytest.mark.parametrize(
    ("of_inputs", "of_outputs", "expected"),
    [
        (0, 1, [40.0, 4.0, 0.0, 0.0]),
        (2, 0, [0.0, 0.0, 80.0, 8.0]),
        (1, 0, [0.0, 8.0, 80.0, 0.0]),
        (2, 1, [0.0, 0.0, 40.0, 4.0]),
    ],
)
def test_adjoints_match_gradients_with_arguments(of_inputs, of_outputs, expected):
    """Those of outputs belong to outputs, also where those of inputs are left out."""
    x, by, y = active([2.0]), active([10.0]), active([0.0])
    y.grad.fill_(2.0)
    given, seed = [wp.zeros(1, dtype=float) for _ in range(2)], wp.ones(1, dtype=float)
    gradients = {"adj_inputs": given[:of_inputs], "adj_outputs": [seed][:of_outputs]}
    wp.launch(scaled_square, 1, inputs=[x, by], outputs=[y], **gradients, adjoint=True)
    assert [a.list()[0] for a in (x.grad, by.grad, *given)] == expected


@pytest.mark.parametrize(("of_inputs", "of_outputs"), [(1, 1), (3, 1), (0, 4)])
def test_adjoints_refuse_other_numbers_of_gradients(of_inputs, of_outputs):
    x, by, y = active([2.0]), active([10.0]), active([0.0])
    given = [wp.zeros(1, dtype=float) for _ in range(4)]
    gradients = {"adj_inputs": given[:of_inputs], "adj_outputs": given[:of_outputs]}
    with pytest.raises(ValueError, match=rf"adj_inputs has {of_inputs} gradients and adj_outputs {of_outputs}, for 2"):
        wp.launch(scaled_square, 1, inputs=[x, by], outputs=[y], **gradients, adjoint=True)


@wp.kernel
def shift(x: F):
    x[2] = 4.0 * x[1]


@wp.kernel
def doubled(x: F):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@wp.struct
class Squares:
    x: F
    y: F


@wp.kernel
def put_squares(s: Squares):
    i = wp.tid()
    s.y[i] = s.x[i] * s.x[i]


def test_adjoints_leave_given_gradients_of_results():
    """Their owner, such as torch, may use them again. The own gradients of arrays are cleared."""
    x, y = active([1.0, 2.0]), active([0.0, 0.0])
    gy = wp.array([1.0, 10.0], dtype=float)
    for turn in (1.0, 2.0):
        wp.launch(square, 2, inputs=[x], outputs=[y], adj_outputs=[gy], adjoint=True)
        assert gy.list() == [1.0, 10.0] and x.grad.list() == [2.0 * turn, 40.0 * turn]
    s, g = Squares(), Squares()
    s.x, s.y, g.x, g.y = x, y, wp.zeros(2, dtype=float), gy
    wp.launch(put_squares, 2, inputs=[s], adj_inputs=[g], adjoint=True)
    assert gy.list() == [1.0, 10.0] and g.x.list() == [2.0, 40.0] and y.grad.list() == [0.0, 0.0]
    y.grad.assign(gy)
    wp.launch(square, 2, inputs=[x], outputs=[y], adj_outputs=[y.grad], adjoint=True)
    assert y.grad.list() == [0.0, 0.0] and x.grad.list() == [6.0, 120.0]


@pytest.mark.parametrize("step", [2, -1, -2])
def test_adjoints_leave_given_gradients_with_gaps(step):
    x, gx, y, gy = (wp.array(v, dtype=float) for v in np.float32([[1, 2, 3, 4], [0] * 4, [0] * 4, [1, 10, 100, 1000]]))
    args = {"inputs": [x[::step]], "outputs": [y[::step]], "adj_inputs": [gx[::step]], "adj_outputs": [gy[::step]]}
    wp.launch(square, len(x.list()[::step]), **args, adjoint=True)
    expected = [0.0] * 4
    expected[::step] = [2.0 * a * g for a, g in zip(x.list()[::step], gy.list()[::step])]
    assert gx.list() == expected and gy.list() == [1.0, 10.0, 100.0, 1000.0]


def test_adjoints_change_given_gradients_that_they_add_to():
    """What one thread overwrites and another one reads, directly or through another array."""
    x, g = wp.array([1.0, 2.0, 3.0], dtype=float), wp.array([1.0, 10.0, 100.0], dtype=float)
    wp.launch(shift, 1, inputs=[x], adj_inputs=[g], adjoint=True)
    assert g.list() == [1.0, 100.0 * 4.0 + 10.0, 0.0]
    g.assign([1.0, 10.0, 100.0])
    wp.launch(doubled, 3, inputs=[x], adj_inputs=[g], adjoint=True)
    assert g.list() == [2.0, 20.0, 200.0]


@pytest.mark.cpu
def test_adjoint_with_gradients_of_numpy():
    x, y = np.float32([1.0, 2.0]), wp.zeros(2, dtype=float)
    gx, gy = np.zeros(2, np.float32), np.float32([1.0, 10.0])
    wp.launch(square, 2, inputs=[x], outputs=[y], adj_inputs=[gx], adj_outputs=[gy], adjoint=True)
    assert gx.tolist() == [2.0, 40.0] and gy.tolist() == [1.0, 10.0]


@pytest.mark.parametrize("given", [[0.0, 0.0], "x", Factors()], ids=["list", "text", "struct"])
def test_adjoint_with_gradients_that_are_none(given):
    x, y = wp.array([1.0, 2.0], dtype=float), wp.zeros(2, dtype=float)
    with pytest.raises(TypeError, match="the gradient of `x`: expected an array"):
        wp.launch(square, 2, inputs=[x], outputs=[y], adj_inputs=[given], adjoint=True)


def test_arrays_chosen_on_the_way():
    @wp.kernel
    def pick(x: F, z: F, n: int, y: F):
        i = wp.tid()
        a = x
        for _ in range(n):
            a = z
        y[i] = a[i] * a[i]

    x, z, y = active([2.0, 3.0]), active([5.0, 7.0]), active([0.0, 0.0])
    for n, expected in ((0, ([4.0, 6.0], [0.0, 0.0])), (2, ([0.0, 0.0], [10.0, 14.0]))):
        tape = wp.Tape()
        with tape:
            wp.launch(pick, 2, inputs=[x, z, n, y])
        tape.backward(grads={y: wp.ones(2, dtype=float)})
        assert (x.grad.list(), z.grad.list()) == expected
        tape.zero()


def test_what_is_not_chosen_gives_nothing():
    @wp.kernel
    def guarded(x: F, y: wp.array2d(dtype=float)):
        i = wp.tid()
        v = x[i]
        y[i, 0] = wp.where(v > 0.5, wp.sqrt(v - 0.5), 0.0)
        y[i, 1] = wp.where(v != 0.0, 1.0 / v, v)
        y[i, 2] = wp.max(wp.sqrt(v), 0.0)
        y[i, 3] = wp.log(v) * v if v > 0.0 else 3.0 * v
        y[i, 4] = wp.where(v > 0.5, wp.pow(v - 0.5, 1.5) * wp.acos(v), v)

    x = active([-1.0, 0.0, 0.75])
    y = wp.zeros((3, 5), dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(guarded, 3, inputs=[x, y])
    v, h = 0.75, 1e-5
    slope = lambda f: (f(v + h) - f(v - h)) / (2 * h)  # noqa: E731
    expected = {
        0: [0.0, 0.0, 1.0],
        1: [-1.0, 1.0, -1.0 / v**2],
        2: [0.0, 0.0, 0.5 / np.sqrt(v)],
        3: [3.0, 3.0, np.log(v) + 1.0],
        4: [1.0, 1.0, slope(lambda u: (u - 0.5) ** 1.5 * np.arccos(u))],
    }
    for column, want in expected.items():
        tape.zero()
        seed = np.zeros((3, 5), np.float32)
        seed[:, column] = 1.0
        tape.backward(grads={y: wp.array(seed, dtype=float)})
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-4, err_msg=str(column))


def test_launches_without_gradients_are_let_through():
    @wp.kernel
    def slots(count: wp.array(dtype=int), out: wp.array(dtype=int)):
        i = wp.tid()
        out[wp.atomic_add(count, 0, 1)] = i

    count, out = wp.zeros(1, dtype=int), wp.zeros(3, dtype=int)
    x, y = active([1.0, 2.0]), active([0.0, 0.0])
    plain = wp.array([1.0, 2.0], dtype=float)
    tape = wp.Tape()
    with tape:
        wp.launch(slots, 3, inputs=[count, out])
        wp.launch(square, 2, inputs=[plain, plain])
        wp.launch(square, 2, inputs=[x, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.list() == [2.0, 4.0]
    plain.requires_grad = True
    with pytest.raises(RuntimeError, match="after the launch was recorded"):
        tape.backward(grads={y: wp.ones(2, dtype=float)})


def test_a_loss_of_integers():
    count, x, y = wp.zeros(1, dtype=int, requires_grad=True), active([1.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, y])
    with pytest.raises(ValueError, match="only floating point"):
        tape.backward(count)


def test_overwritten_by_an_indexed_array():
    x, z = (wp.ones(2, dtype=float, requires_grad=True) for _ in range(2))
    places = wp.ones(4, dtype=float)[wp.array([3, 1], dtype=int)]
    tape = wp.Tape()
    with tape:
        y = x * x
        wp.copy(y, places)
        wp.copy(z, y)
    tape.backward(grads={z: wp.ones(2, dtype=float)})
    assert x.grad.list() == [0.0, 0.0]


MADE = {
    "array": lambda like: wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True),
    "array of an array": lambda like: wp.array(wp.ones(3, dtype=float), dtype=float, requires_grad=True),
    "from_numpy": lambda like: wp.from_numpy(np.ones(3, np.float32), requires_grad=True),
    "zeros": lambda like: wp.zeros(3, dtype=float, requires_grad=True),
    "ones": lambda like: wp.ones(3, dtype=float, requires_grad=True),
    "full": lambda like: wp.full(3, 2.0, dtype=float, requires_grad=True),
    "zeros_like": wp.zeros_like,
    "ones_like": wp.ones_like,
    "full_like": lambda like: wp.full_like(like, 2.0),
    "clone": lambda like: wp.clone(wp.ones(3, dtype=float), requires_grad=True),
}


@pytest.mark.parametrize("make", MADE.values(), ids=list(MADE))
def test_arrays_that_are_made_while_a_tape_records_keep_their_gradients(make):
    like = wp.ones(3, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        x = make(like)
        wp.launch(weigh, dim=3, inputs=[x, loss])
    for _ in range(2):
        tape.backward(loss)
    assert x.grad.list() == [2.0, 4.0, 6.0]
    assert like.grad.list() == [0.0, 0.0, 0.0]


def test_a_list_of_dimensions_may_change_afterwards():
    x, loss, dim = active([1.0, 1.0, 1.0]), active([0.0]), [3]
    with wp.Tape() as tape:
        wp.launch(weigh, dim=dim, inputs=[x, loss])
    dim[0] = 1
    tape.backward(loss)
    assert x.grad.list() == [1.0, 2.0, 3.0]


def scaled_by(factor, attributes):
    def change(value):
        nonlocal factor, x
        factor = x = value

    x = attributes

    @wp.kernel
    def kernel(v: wp.array(dtype=wp.vec3), loss: F):
        i = wp.tid()
        wp.atomic_add(loss, 0, factor * v[i].x)

    return kernel, change


def test_a_constant_that_changes_between_the_first_launch_and_the_first_gradient_is_refused():
    kernel, change = scaled_by(2.0, 0)
    v, loss = active(np.ones((2, 3)), wp.vec3), active([0.0])
    with wp.Tape() as tape:
        wp.launch(kernel, dim=2, inputs=[v, loss])
    change(5.0)
    wp.launch(kernel, dim=2, inputs=[v, loss])
    assert loss.list() == [8.0]  # as launches keep constants
    with pytest.raises(
        RuntimeError, match=r"kernel `kernel`: `factor` has changed since the first launch of the kernel"
    ):
        tape.backward(loss)
    with pytest.raises(RuntimeError, match="`factor` has changed"):
        wp.jvp(kernel, dim=2, inputs=[v], outputs=[loss], tangents=[wp.ones_like(v)])


SHIFT = 1.0


@wp.func
def shifted(x: float):
    return x + SHIFT


class Settings:
    scale = 1.0


def test_code_for_other_arrays_keeps_constants(monkeypatch):
    factor, direction = 2.0, wp.vec2(1.0, 3.0)

    @wp.kernel
    def kernel(v: F, out: F):
        i = wp.tid()
        out[i] = factor * direction[1] * shifted(v[i])

    v, out = active([1.0, 2.0]), active([0.0, 0.0])
    wp.launch(kernel, dim=2, inputs=[v, out])
    pairs, written = wp.ones((2, 2), dtype=float, requires_grad=True), wp.zeros((2, 2), dtype=float, requires_grad=True)
    factor, direction = 7.0, wp.vec2(7.0, 7.0)
    monkeypatch.setitem(globals(), "SHIFT", 7.0)
    wp.launch(kernel, dim=2, inputs=[pairs[:, 0], written[:, 0]])
    assert (factor, SHIFT) == (7.0, 7.0)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=2, inputs=[pairs[:, 1], written[:, 1]])
    assert (out.list(), written.numpy().tolist()) == ([12, 18], [[12, 12], [12, 12]])
    with pytest.raises(
        RuntimeError, match=r"`SHIFT` and `direction` and `factor` have changed since .* its derivative"
    ):
        tape.backward(grads={written: wp.ones((2, 2), dtype=float)})
    factor, direction = 2.0, wp.vec2(1.0, 3.0)
    monkeypatch.setitem(globals(), "SHIFT", 1.0)
    tape.backward(grads={written: wp.ones((2, 2), dtype=float)})
    assert pairs.grad.numpy().tolist() == [[0, 6], [0, 6]]


def test_what_a_tape_keeps_is_what_the_launch_reads_whatever_constants_are_then():
    squares = True

    @wp.kernel
    def kernel(v: F, out: F):
        i = wp.tid()
        if squares:
            out[i] = v[i] * v[i]
        else:
            out[i] = v[i]

    v, out = active([3.0]), active([0.0])
    wp.launch(kernel, dim=1, inputs=[v, out])
    squares = False
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[v, out])
    v.fill_(100.0)
    squares = True
    tape.backward(out)
    assert (out.list(), v.grad.list()) == ([9.0], [6.0])


def test_code_for_other_arrays_is_refused_where_attributes_have_changed(monkeypatch):
    @wp.kernel
    def kernel(v: F, out: F):
        i = wp.tid()
        out[i] = Settings.scale * v[i]

    pairs, out = wp.ones((2, 2), dtype=float), wp.zeros((2, 2), dtype=float)
    wp.launch(kernel, dim=2, inputs=[pairs[0], out[0]])
    monkeypatch.setattr(Settings, "scale", 2.0)
    wp.launch(kernel, dim=2, inputs=[pairs[1], out[1]])
    assert out.numpy().tolist() == [[1, 1], [1, 1]]
    with pytest.raises(RuntimeError, match=r"`Settings.scale` has changed since .* new code \(for strided"):
        wp.launch(kernel, dim=2, inputs=[pairs[:, 0], out[:, 0]])


def test_a_constant_that_changes_after_the_first_gradient_changes_none():
    kernel, change = scaled_by(2.0, 0)
    v, loss = active(np.ones((2, 3)), wp.vec3), active([0.0])
    for _ in range(2):
        with wp.Tape() as tape:
            wp.launch(kernel, dim=2, inputs=[v, loss])
        tape.backward(loss)
        change(5.0)
    assert v.grad.numpy().tolist() == [[4, 0, 0], [4, 0, 0]]


@wp.kernel
def lifted(x: F, y: F):
    i = wp.tid()
    y[i] = wp.cosh(x[i]) * 1.375


@wp.kernel
def least_lifted(x: F, y: F):
    i = wp.tid()
    wp.atomic_min(y, 0, x[i] * 1.375)


@pytest.mark.cpu
@pytest.mark.parametrize(("kernel", "slope"), [(lifted, 1.375 * np.sinh(0.5)), (least_lifted, 1.375)])
def test_an_adjoint_is_built_once(kernel, slope, monkeypatch):
    built, build = [], adjoint.adjoint_kernel
    monkeypatch.setattr(adjoint, "adjoint_kernel", lambda *args: built.append(args) or build(*args))
    monkeypatch.setattr(wp.config, "cache_kernels", False)
    x = active([0.5])
    for _ in range(2):
        y = active([9.0])
        with wp.Tape() as tape:
            wp.launch(kernel, 1, inputs=[x, y])
        tape.backward(y)
    assert len(built) == 1
    assert np.allclose(x.grad.list(), [2 * slope])


@wp.kernel
def fill_slots(count: wp.array(dtype=int), x: F, y: F):
    i = wp.tid()
    slot = wp.atomic_add(count, 0, 1)
    y[slot] = x[i] * float(slot + 1)


@pytest.mark.cpu
@pytest.mark.parametrize("inside", [True, False])
def test_launches_that_ran_without_the_tape_are_noted(inside):
    x, y, loss = active([1.0, 2.0, 3.0]), active([0.0] * 3), active([0.0])
    command = wp.launch(square, 3, inputs=[x], outputs=[y], record_cmd=True)
    tape = wp.Tape()
    if not inside:
        command.launch()
        tape.record_launch(square, 3, 0, [x], [y], "cpu", metadata={"note": "of the program"})
    with tape:
        if inside:
            wp.launch(square, 3, inputs=[x], outputs=[y], record_tape=False)
            tape.record_launch(kernel=square, dim=3, max_blocks=0, inputs=[x], outputs=[y], device=None)
        wp.launch(weigh, 3, inputs=[y, loss])
    x.fill_(50.0)
    tape.backward(loss)
    assert x.grad.list() == [2.0, 8.0, 18.0]


def test_launches_of_which_a_tape_had_to_see_more_are_not_noted_afterwards():
    x, y, tape = active([1.0, 2.0, 3.0]), active([0.0] * 3), wp.Tape()
    wp.launch(square_in_place, 3, inputs=[x])
    with pytest.raises(RuntimeError, match=r"launch it by wp\.launch inside `with tape:`"):
        tape.record_launch(square_in_place, 3, 0, [x], [])
    count = wp.zeros(1, dtype=int)
    wp.launch(fill_slots, 3, inputs=[count, x, y])
    with pytest.raises(RuntimeError, match="its gradient needs what is lost once it has run"):
        tape.record_launch(fill_slots, 3, 0, [count, x], [y])
    with pytest.raises(ValueError, match="nothing is recorded"):
        tape.backward(grads={y: wp.ones(3, dtype=float)})


def test_the_table_of_gradients_may_be_emptied_by_programs():
    tape = wp.Tape()
    tape.gradients = {}
    assert tape.gradients == {}
    x = wp.zeros(1, dtype=float, requires_grad=True)
    with pytest.raises(ValueError, match=r"set the gradient of an array by `a.grad = ...`"):
        tape.gradients = {x: x}
