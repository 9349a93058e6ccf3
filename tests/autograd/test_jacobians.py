"""Jacobians against analytic ones in float64, and the same programs as warp-lang's wp.autograd takes."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.forward_mode.trace import JvpTrace


def backwards(*args, **options):
    return wp.autograd.jacobian(*args, **options, mode="reverse")


def forwards(*args, **options):
    return wp.autograd.jacobian(*args, **options, mode="forward")


MODES = [backwards, forwards]
ALL = [*MODES, wp.autograd.jacobian_fd]


def active(values, dtype=None):
    return wp.array(np.asarray(values), dtype=dtype or wp.float64, requires_grad=True)


def result(shape, dtype=wp.float64):
    return wp.zeros(shape, dtype=dtype, requires_grad=True)


def close(found, want, dtype=wp.float64):
    bound = {wp.float64: 1e-8, wp.float32: 2e-3, wp.float16: 0.1, wp.bfloat16: 0.5}[dtype]
    np.testing.assert_allclose(np.asarray(found, np.float64), want, rtol=bound, atol=bound)


@wp.kernel
def transposed(c: wp.float64, a: wp.array2d(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    i, j = wp.tid()
    out[j, i] = a[i, j] * a[i, j] * c


@wp.kernel
def quaternions(x: wp.array(dtype=wp.quatd), y: wp.array(dtype=wp.mat22d)):
    q = x[0]
    y[0] = wp.mat22d(q[0], q[1] * q[2], q[3] * q[3], wp.float64(1.0))


@wp.kernel
def traces(x: wp.array(dtype=wp.mat22d), n: wp.array(dtype=int), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    m = x[n[i]]
    y[i] = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]


@pytest.mark.parametrize("jacobian", ALL)
def test_two_dimensions(jacobian):
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    a, out = active(x), result((3, 2))
    found = jacobian(transposed, dim=(2, 3), inputs=[wp.float64(0.5), a], outputs=[out])
    assert list(found) == [(1, 0)] and found[1, 0].dtype is wp.float64
    want = np.zeros((3, 2, 2, 3))
    for i, j in np.ndindex(2, 3):
        want[j, i, i, j] = x[i, j]
    close(found[1, 0].numpy(), want.reshape(6, 6))
    np.testing.assert_array_equal(a.numpy(), x)
    np.testing.assert_array_equal(out.numpy(), (x * x).T / 2)
    assert not a.grad.numpy().any() and not out.grad.numpy().any()


@pytest.mark.parametrize("jacobian", ALL)
def test_quaternions_and_matrices(jacobian):
    x, y = active([[1.0, 2.0, 3.0, 4.0]], wp.quatd), result(1, wp.mat22d)
    found = jacobian(quaternions, dim=1, inputs=[x], outputs=[y])[0, 0]
    assert found.dtype is wp.quatd and found.shape == (4, 1)
    close(found.numpy()[:, 0], [[1, 0, 0, 0], [0, 3, 2, 0], [0, 0, 0, 8], [0, 0, 0, 0]])


@pytest.mark.parametrize("jacobian", ALL)
def test_matrices_and_integers(jacobian):
    values = np.random.default_rng(1).normal(size=(3, 2, 2))
    x, n, y = active(values, wp.mat22d), wp.array([2, 0], dtype=int, requires_grad=True), result(2)
    found = jacobian(traces, dim=2, inputs=[x, n], outputs=[y])
    assert list(found) == [(0, 0)] and found[0, 0].shape == (2, 3)
    want = np.zeros((2, 3, 2, 2))
    for row, i in enumerate((2, 0)):
        want[row, i] = np.linalg.det(values[i]) * np.linalg.inv(values[i]).T
    close(found[0, 0].numpy(), want)


@wp.kernel
def generic_cubes(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


@pytest.mark.parametrize("jacobian", ALL)
@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float32, wp.float64])
def test_precisions(jacobian, dtype):
    x, y = active([0.5, 1.0], dtype), result(2, dtype)
    found = jacobian(generic_cubes, dim=2, inputs=[x], outputs=[y])[0, 0]
    assert found.dtype is dtype
    rows = list(found.list())
    close(np.reshape(rows, (2, 2)), [[0.75, 0], [0, 3]], dtype)


@wp.kernel
def two_results(a: wp.array(dtype=wp.vec3d), s: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.vec2d),
                length: wp.array(dtype=wp.float64)):  # fmt: skip
    i = wp.tid()
    out[i] = wp.vec2d(a[i][0] * s[i], a[i][1] + a[i][2])
    length[i] = wp.length_sq(a[i])


def pairs_of(mask, **options):
    a, s = active([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], wp.vec3d), active([1.0, 2.0])
    arguments = {"dim": 2, "inputs": [a, s], "outputs": [result(2, wp.vec2d), result(2)]}
    return wp.autograd.jacobian(two_results, input_output_mask=mask, **arguments | options)


def test_pairs():
    found = pairs_of(None)
    assert list(found) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert sorted(pairs_of([("a", "length"), (1, 0)])) == [(0, 1), (1, 0)]
    np.testing.assert_array_equal(found[1, 0].numpy(), [[1, 0], [0, 0], [0, 4], [0, 0]])
    np.testing.assert_array_equal(found[0, 1].numpy(), [[[2, 4, 6], [0, 0, 0]], [[0, 0, 0], [8, 10, 12]]])


def test_some_components_only():
    for mode in ("forward", "reverse"):
        found = pairs_of([("s", "out")], max_outputs_per_var=1, mode=mode)[1, 0].numpy()
        np.testing.assert_array_equal(found, [[1, 0], *[[np.nan, np.nan]] * 3])
    a, s = active([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], wp.vec3d), active([1.0, 2.0])
    found = wp.autograd.jacobian_fd(
        two_results, dim=2, inputs=[a, s], outputs=[result(2, wp.vec2d), result(2)], max_inputs_per_var=2
    )
    close(found[0, 1].numpy()[..., :2], [[[2, 4], [np.nan] * 2], [[0, 0], [np.nan] * 2]])
    assert np.isnan(found[0, 1].numpy()[..., 2]).all()


# -- functions --------------------------------------------------------------------------------------------------------


def simulate(x, k):
    """Three launches, the second one in place, whose result depends on the loop before."""
    y = wp.zeros_like(x, requires_grad=True)
    wp.launch(generic_cubes, dim=x.size, inputs=[x, y])
    y *= k
    return y + x


@pytest.mark.parametrize("jacobian", ALL)
def test_python_functions(jacobian):
    x, k = np.array([0.5, -1.0, 2.0]), np.array([2.0, 3.0, 4.0])
    found = jacobian(simulate, inputs=[active(x), active(k)])
    close(found[0, 0].numpy(), np.diag(3 * x * x * k + 1))
    close(found[1, 0].numpy(), np.diag(x**3))
    assert list(jacobian(simulate, inputs=[active(x), active(k)], input_output_mask=[("k", "output_0")])) == [(1, 0)]


@pytest.mark.parametrize("jacobian", ALL)
def test_functions_of_several_results(jacobian):
    x = np.array([1.0, 2.0])
    found = jacobian(lambda a: (a * a, a + 1.0), inputs=[active(x)])
    close(found[0, 0].numpy(), np.diag(2 * x))
    close(found[0, 1].numpy(), np.eye(2))


@pytest.mark.parametrize("jacobian", ALL)
def test_functions_that_change_their_input(jacobian):
    def doubled(a):
        a *= 2.0
        return a * a

    x = active([1.0, 3.0])
    close(jacobian(doubled, inputs=[x])[0, 0].numpy(), np.diag([8.0, 24.0]))
    assert x.list() == [1.0, 3.0]
    jacobian(doubled, inputs=[x], restore_inputs=False)
    assert x.list() != [1.0, 3.0]


@pytest.mark.parametrize("jacobian", ALL)
def test_functions_that_write_to_given_arrays(jacobian):
    x, y = active([2.0]), result(1)

    def write(a, b):
        wp.launch(generic_cubes, dim=1, inputs=[a, b])

    close(jacobian(write, inputs=[x, y], outputs=[y])[0, 0].numpy(), [[12.0]])


@pytest.mark.parametrize("jacobian", ALL)
def test_kernels_in_place(jacobian):
    @wp.kernel
    def turned(x: wp.array(dtype=wp.float64), s: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        x[0] = x[0] * s[0]
        wp.atomic_add(y, 0, x[0])

    x, s, y = active([3.0]), active([5.0]), active([7.0])
    found = jacobian(turned, dim=1, inputs=[x, s], outputs=[y])
    assert (x.list(), y.list()) == ([3.0], [22.0])
    close([found[0, 0].numpy(), found[1, 0].numpy()], [[[5.0]], [[3.0]]])


@wp.func
def bilinear(v: wp.vec2d, x: wp.float64):
    return wp.vec3d(v[0] * x, v[1], x * x)


@pytest.mark.parametrize("jacobian", ALL)
def test_functions_of_kernels(jacobian):
    found = jacobian(bilinear, inputs=[wp.vec2d(2.0, 3.0), 4.0])
    close(found[0, 0].numpy()[:, 0], [[4, 0], [0, 1], [0, 0]])
    close(found[1, 0].numpy(), [[2], [0], [8]])
    close(jacobian(wp.sin, inputs=[active([0.3, 0.4])])[0, 0].numpy(), np.diag(np.cos([0.3, 0.4])))


def test_gradients_are_left_as_they_were():
    x, k = active([1.0, 2.0]), active([3.0, 4.0])
    x.grad.fill_(5.0)
    wp.autograd.jacobian(simulate, inputs=[x, k])
    wp.autograd.jacobian_fd(simulate, inputs=[x, k])
    assert (x.grad.list(), k.grad.list()) == ([5.0, 5.0], [0.0, 0.0])


# -- blocks -----------------------------------------------------------------------------------------------------------


@wp.kernel
def springs(x: wp.array2d(dtype=wp.float64), k: wp.array(dtype=wp.float64), f: wp.array2d(dtype=wp.float64)):
    e, i = wp.tid()
    f[e, i] = k[e] * wp.sin(x[e, (i + 1) % 3]) * x[e, i]


@pytest.mark.parametrize("jacobian", MODES)
@pytest.mark.parametrize("environments", [1, 2, 5])
def test_blocks(environments, jacobian):
    rng = np.random.default_rng(2)
    x, k = active(rng.normal(size=(environments, 3))), active(rng.normal(size=environments))
    arguments = {"dim": (environments, 3), "inputs": [x, k], "outputs": [result((environments, 3))]}
    blocks = jacobian(springs, **arguments, num_blocks=environments)
    whole = wp.autograd.jacobian(springs, **arguments)
    for pair, columns in (((0, 0), 3), ((1, 0), 1)):
        full = whole[pair].numpy().reshape(environments, 3, environments, columns)
        assert blocks[pair].shape == (environments, 3, columns)
        for e in range(environments):
            np.testing.assert_allclose(blocks[pair].numpy()[e], full[e, :, e], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("jacobian", MODES)
@pytest.mark.parametrize("reach", [1, 2, 3])
def test_blocks_that_depend_on_each_other_are_refused(reach, jacobian):
    @wp.kernel
    def leaking(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), reach: int):
        i = wp.tid()
        y[i] = x[i] + wp.float64(1e-9) * x[(i + reach) & 3]

    def run(a):
        b = result(4)
        wp.launch(leaking, 4, inputs=[a, b, reach])
        return b

    with pytest.raises(ValueError, match="not independent: output 0 of one block depends on input `a` of another"):
        jacobian(run, inputs=[active(np.ones(4))], num_blocks=4)


# -- the choice of a mode ---------------------------------------------------------------------------------------------


@wp.kernel
def stretched(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64)):
    i = wp.tid()
    z[i] = x[i % x.shape[0]] * y[i % y.shape[0]]


@pytest.mark.parametrize("inputs, rows", [(1, 8), (8, 1), (4, 8)])
def test_fewer_runs(monkeypatch, inputs, rows):
    """Backwards there is a run for each component of the output, forward for each of the inputs."""
    counted = {"forward": 0, "reverse": 0}
    for name, method in (("forward", JvpTrace.__enter__), ("reverse", wp.Tape._backward)):
        owner = JvpTrace if name == "forward" else wp.Tape

        def count(*args, name=name, method=method, **options):
            counted[name] += 1
            return method(*args, **options)

        monkeypatch.setattr(owner, method.__name__, count)
    x, y = active(np.arange(1.0, inputs + 1)), active(np.arange(1.0, inputs + 1))
    found = wp.autograd.jacobian(stretched, dim=rows, inputs=[x, y], outputs=[result(rows)])
    want = np.zeros((rows, inputs))
    for i in range(rows):
        want[i, i % inputs] = 1 + i % inputs
    np.testing.assert_array_equal(found[0, 0].numpy(), want)
    if 2 * inputs < rows:
        assert counted == {"forward": 2 * inputs + 1, "reverse": 0}
    else:
        assert counted == {"forward": 0, "reverse": rows}


def test_arrays_without_gradient_and_programs_run_backwards(monkeypatch):
    def never(*args):
        raise AssertionError("forward")

    monkeypatch.setattr(JvpTrace, "__enter__", never)

    @wp.kernel
    def through(x: wp.array(dtype=wp.float64), t: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        t[0] = x[0] * 2.0
        for i in range(3):
            y[i] = x[0] * x[0]

    inputs, outputs = [active([1.0]), wp.zeros(1, dtype=wp.float64)], [result(3)]
    wp.autograd.jacobian(through, dim=1, inputs=inputs, outputs=outputs)
    wp.autograd.jacobian(simulate, inputs=[active([1.0]), active([2.0])])


def test_forward_through_an_array_without_gradient_is_refused():
    @wp.kernel
    def passed(x: wp.array(dtype=wp.float64), t: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        t[0] = x[0] * 2.0
        y[0] = t[0]

    inputs, outputs = [active([1.0]), wp.zeros(1, dtype=wp.float64)], [result(1)]
    with pytest.raises(ValueError, match="kernel `passed`: `t` is written and has no gradient"):
        forwards(passed, dim=1, inputs=inputs, outputs=outputs)


def test_what_is_no_mode():
    with pytest.raises(ValueError, match="mode: expected auto, reverse or forward, got 'both'"):
        pairs_of(None, mode="both")


# -- what is refused --------------------------------------------------------------------------------------------------


@wp.struct
class Holder:
    x: wp.array(dtype=wp.float64)


@wp.kernel
def held(s: Holder, y: wp.array(dtype=wp.float64)):
    y[0] = s.x[0]


def holder(requires_grad):
    made = Holder()
    made.x = wp.ones(1, dtype=wp.float64, requires_grad=requires_grad)
    return made


def cubes(**changed):
    given = {"function": generic_cubes, "dim": 1, "inputs": [active([1.0])], "outputs": [result(1)]}
    return lambda jacobian: jacobian(**given | changed)


PASSIVE = wp.ones(1, dtype=wp.float64)
REFUSED = {
    "no dim": (cubes(dim=None), ValueError, "dim: kernel `generic_cubes` needs the number of threads"),
    "no outputs": (cubes(outputs=None), ValueError, "outputs: pass the list of arrays that kernel `generic_cubes` wr"),
    "no inputs": (cubes(inputs=None), ValueError, "inputs: pass the list"),
    "no list": (cubes(inputs=active([1.0])), TypeError, "inputs: expected a list, got array"),
    "too few": (cubes(inputs=[]), ValueError, r"has 2 parameters \(x, y\), got 0 inputs and 1 outputs"),
    "no function": (cubes(function=3), TypeError, "function: expected a kernel or a function, got int"),
    "no number": (lambda j: j(lambda a: 3.0, inputs=[active([1.0])]), TypeError, "must return a wp.array or a list"),
    "passive input": (cubes(inputs=[PASSIVE]), ValueError, "none of the inputs is a floating point array with a gra"),
    "passive output": (cubes(outputs=[PASSIVE]), ValueError, "none of the outputs is a floating .*requires_grad=True"),
    "mask name": (cubes(input_output_mask=[("z", 0)]), ValueError, "no input 'z'; it has 0: x"),
    "mask number": (cubes(input_output_mask=[(0, 3)]), ValueError, "no output 3; it has 0: y"),
    "mask passive": (cubes(inputs=[PASSIVE], input_output_mask=[(0, 0)]), ValueError, "input `x` is not a floating"),
    "struct": (
        lambda j: j(held, dim=1, inputs=[holder(True)], outputs=[result(1)]),
        TypeError,
        "input `s`: Jacobians for the arrays of a struct are not defined; make them inputs",
    ),
    "array of structs": (
        lambda j: j(lambda s: result(1), inputs=[wp.zeros(1, dtype=Holder, requires_grad=True)]),
        TypeError,
        "input `s`: Jacobians for arrays of structs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("jacobian", ALL)
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, jacobian):
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        call(jacobian)


def test_structs_without_gradients_are_arguments_like_others():
    @wp.kernel
    def scaled(s: Holder, x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        y[0] = s.x[0] * x[0] * 2.0

    x, y = active([1.0]), result(1)
    assert wp.autograd.jacobian(scaled, dim=1, inputs=[holder(False), x], outputs=[y])[1, 0].list() == [2.0]


@pytest.mark.parametrize("eps, words", [(0.0, "must be positive"), (-1.0, "must be positive"), (1e-30, "too small")])
def test_steps_that_are_none(eps, words):
    with pytest.raises(ValueError, match=f"eps: .*{words}"):
        cubes(eps=eps)(wp.autograd.jacobian_fd)


@pytest.mark.parametrize("num_blocks", [0, 3])
def test_blocks_that_are_none(num_blocks):
    with pytest.raises(
        ValueError, match=f"num_blocks: the 1 elements of input `x` cannot be divided into {num_blocks}"
    ):
        cubes(num_blocks=num_blocks)(wp.autograd.jacobian)


def test_what_cannot_be_differentiated():
    @wp.kernel
    def exchanged(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = wp.atomic_exch(x, 0, 1.0)

    x, y = (wp.ones(1, requires_grad=True) for _ in range(2))
    with pytest.raises(wp.CompileError):
        wp.autograd.jacobian(exchanged, dim=1, inputs=[x], outputs=[y])
    with wp.Tape():  # nothing records any more
        pass
