"""Arithmetic of arrays and wp.map on a tape, against the complex step of the same formula in NumPy."""

import numpy as np
import pytest

import omni.warp_core as wp

STEP = 1e-30  # the imaginary part; derivatives come out to the last digits


def sums_of(function, values, seed):
    """The gradient of `(function(*values) * seed).sum()`, for each of the values, by the complex step."""
    found = []
    for i, x in enumerate(values):
        gradient = np.zeros(x.shape)
        for place in np.ndindex(x.shape):
            moved = [v.astype(complex) for v in values]
            moved[i][place] += 1j * STEP
            gradient[place] = (function(*moved) * seed).sum().imag / STEP
        found.append(gradient)
    return found


def in_place(name):
    def apply(a, b):
        c = a * 1.0
        c = getattr(c, name)(b)
        return c * b

    return apply


def chained(a, b):
    c = a * b
    for _ in range(3):
        c = c * a - c / b
    return c + c


# name -> formula of arrays, formula in NumPy
FORMULAS = {
    "operators": (lambda a, b: (a + b) * (a - b) / (b * b + 2.0) - (-a) + 3.0 / b - 2.0 * a,) * 2,
    "reflected": (lambda a, b: 2.0 - a / (1.0 + b) + 4.0 / a - (3.0 - b),) * 2,
    "one operand twice": (lambda a, b: a * a * a - b / b,) * 2,
    "chain": (chained, chained),
    "powers": (lambda a, b: a**b + 2.0**a, lambda a, b: a**b + 2.0**a),
    "map of a lambda": (lambda a, b: wp.map(lambda x, y: wp.sin(x * y) + x, a, b), lambda a, b: np.sin(a * b) + a),
    "map of a builtin": (lambda a, b: wp.map(wp.exp, a) * b, lambda a, b: np.exp(a) * b),
    "map of two results": (
        lambda a, b: (lambda s: s[0] * s[1])(wp.map(lambda x, y: (x * y, x + y), a, b)),
        lambda a, b: (a * b) * (a + b),
    ),
    "map into an input": (
        lambda a, b: wp.map(lambda x, y: x * y, c := a * b, b, out=c),
        lambda a, b: a * b * b,
    ),
} | {name: (in_place(name), in_place(name.replace("_i", "_", 1))) for name in ("__iadd__", "__isub__", "__imul__")}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("shapes", [((4,), (4,)), ((2, 3), (3,)), ((2, 1), (1, 3))], ids=["same", "rows", "both"])
def test_formulas(name, shapes):
    if name in ("__iadd__", "__isub__", "__imul__", "map into an input") and shapes[0] != shapes[1]:
        shapes = ((2, 3), (3,))
    rng = np.random.default_rng(13)
    values = [rng.uniform(0.5, 1.5, s) for s in shapes]
    arrays = [wp.array(v, requires_grad=True) for v in values]
    tape = wp.Tape()
    with tape:
        out = FORMULAS[name][0](*arrays)
    seed = rng.normal(size=out.shape)
    np.testing.assert_allclose(out.numpy(), FORMULAS[name][1](*values), rtol=1e-14)
    tape.backward(grads={out: wp.array(seed)})
    for a, want in zip(arrays, sums_of(FORMULAS[name][1], values, seed)):
        np.testing.assert_allclose(a.grad.numpy(), want, rtol=1e-12, atol=1e-12)


def test_views_that_overlap():
    """a[1:] += a[:-1] reads all elements as they were before."""
    values = np.random.default_rng(14).normal(size=5)
    a = wp.array(values, requires_grad=True)
    tape = wp.Tape()
    with tape:
        b = a * a
        b[1:] *= b[:-1]
    seed = np.arange(1.0, 6.0)
    tape.backward(grads={b: wp.array(seed)})

    def formula(x):
        y = x * x
        return np.concatenate([y[:1], y[1:] * y[:-1]])

    np.testing.assert_allclose(b.numpy(), formula(values), rtol=1e-14)
    np.testing.assert_allclose(a.grad.numpy(), sums_of(formula, [values], seed)[0], rtol=1e-12)


def test_vectors_by_numbers():
    values = np.random.default_rng(15).normal(size=(4, 3))
    scale = np.random.default_rng(16).normal(size=4)
    v, s = wp.array(values, dtype=wp.vec3d, requires_grad=True), wp.array(scale, requires_grad=True)
    tape = wp.Tape()
    with tape:
        out = wp.map(lambda x, y: wp.cross(x, wp.vec3d(1.0, 2.0, 3.0)) * y, v, s)
    seed = np.random.default_rng(17).normal(size=(4, 3))
    tape.backward(grads={out: wp.array(seed, dtype=wp.vec3d)})

    def formula(x, y):
        return np.cross(x, [1.0, 2.0, 3.0]) * y[:, None]

    for a, want in zip((v, s), sums_of(formula, [values, scale], seed)):
        np.testing.assert_allclose(a.grad.numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_arrays_made_from_arrays(dtype):
    x = wp.array([1.0, 2.0], dtype=wp.float64, requires_grad=True)

    def squares(x):
        y = wp.array(x, dtype=dtype, requires_grad=True)
        return y * y

    tape = wp.Tape()
    with tape:
        z = squares(x)
    tape.backward(grads={z: wp.ones_like(z)})
    assert x.grad.list() == [2.0, 4.0]
    _, dz = wp.jvp(squares, (x,), (wp.array([1.0, 10.0], dtype=wp.float64),))
    assert dz.list() == [2.0, 40.0]


@pytest.mark.cpu
def test_arrays_made_from_arrays_of_another_shape_are_refused():
    x = wp.zeros((2, 3), requires_grad=True)
    words = r"of another shape from an array \(use reshape or view\) has no gradient"
    with pytest.raises(RuntimeError, match=words), wp.Tape():
        wp.array(x, dtype=wp.vec3, requires_grad=True)
    with wp.Tape():
        wp.array(x, dtype=wp.vec3)  # nothing flows through it
    words = r"of another shape from an array \(use reshape or view\) has no forward mode"
    with pytest.raises(RuntimeError, match=words):
        wp.jvp(lambda a: wp.array(a, dtype=wp.vec3), (x,), (wp.ones((2, 3)),))


@pytest.mark.cpu
def test_arrays_that_share_memory_share_the_gradient():
    x = wp.array([[1.0, 2.0, 2.0]], dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        v = wp.array(x, dtype=wp.vec3, copy=False, requires_grad=True)
        length = wp.map(wp.length, v)
    tape.backward(length)
    np.testing.assert_allclose(x.grad.numpy(), [[1 / 3, 2 / 3, 2 / 3]], rtol=1e-6)
    assert v.grad.ptr == x.grad.ptr
