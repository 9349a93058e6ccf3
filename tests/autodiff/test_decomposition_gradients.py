"""Gradients of what is made of factors of matrices, where factors alone have none: equal, opposite and zero values.

Each function of a matrix is written as a kernel and in NumPy. What it is made of is smooth in the matrix, so that its
derivative is known: by the formula of the matrix function, or by central differences in double precision.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg

import omni.warp_core as wp
from omni.warp_core.types import matrix

# type, and how far values are moved apart, in units of the largest one: about the square root of the rounding unit
PRECISIONS = {"half": (wp.float16, 2.0**-5), "single": (wp.float32, 2.0**-11), "double": (wp.float64, 2.0**-26)}


def turn(seed: int, n: int = 3) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    return q * np.sign(np.linalg.det(q))


def factored(values: tuple[float, ...], seed: int = 5) -> np.ndarray:
    n = len(values)
    return turn(seed, n) @ np.diag(values) @ turn(seed + 1, n).T


def symmetric(values: tuple[float, ...], seed: int = 5) -> np.ndarray:
    return turn(seed) @ np.diag(values) @ turn(seed).T


# -- the functions in NumPy -------------------------------------------------------------------------------------------


def rotation(a: np.ndarray) -> np.ndarray:
    """The nearest rotation, for a determinant above zero."""
    return linalg.polar(a)[0]


def of_symmetric(function: Callable) -> Callable:
    def of(a: np.ndarray) -> np.ndarray:
        d, q = np.linalg.eigh(np.triu(a) + np.triu(a, 1).T)
        return q @ np.diag(function(d)) @ q.T

    return of


def same(a: np.ndarray) -> np.ndarray:
    return a


def hencky(a: np.ndarray) -> np.ndarray:
    return of_symmetric(np.log)(a.T @ a) / 2


# -- and as kernels ---------------------------------------------------------------------------------------------------

BODIES = {
    "rotation": "u, s, v = wp.svd3(a)\n    r = u * wp.transpose(v)",
    "rotation into": "u = M()\n    s = V()\n    v = M()\n    wp.svd3(a, u, s, v)\n    r = u * wp.transpose(v)",
    "product": "u, s, v = wp.svd3(a)\n    r = u * wp.diag(s) * wp.transpose(v)",
    "product into": "u = M()\n    s = V()\n    v = M()\n    wp.svd3(a, u, s, v)\n"
    "    r = u * wp.diag(s) * wp.transpose(v)",
    "hencky": "u, s, v = wp.svd3(a)\n    e = V(wp.log(s[0]), wp.log(s[1]), wp.log(s[2]))\n"
    "    r = v * wp.diag(e) * wp.transpose(v)",
    "rotation2": "u, s, v = wp.svd2(a)\n    r = u * wp.transpose(v)",
    "product2": "u, s, v = wp.svd2(a)\n    r = u * wp.diag(s) * wp.transpose(v)",
    "product2 into": "u = M()\n    s = V()\n    v = M()\n    wp.svd2(a, u, s, v)\n"
    "    r = u * wp.diag(s) * wp.transpose(v)",
    "same": "q, d = wp.eig3(a)\n    r = q * wp.diag(d) * wp.transpose(q)",
    "same into": "q = M()\n    d = V()\n    wp.eig3(a, q, d)\n    r = q * wp.diag(d) * wp.transpose(q)",
    "exponential": "q, d = wp.eig3(a)\n    e = V(wp.exp(d[0]), wp.exp(d[1]), wp.exp(d[2]))\n"
    "    r = q * wp.diag(e) * wp.transpose(q)",
    "factors": "q, u = wp.qr3(a)\n    r = q * u",
    "factors into": "q = M()\n    u = M()\n    wp.qr3(a, q, u)\n    r = q * u",
}
POLAR = {
    "identity": np.eye(3),
    "turned": factored((1.0, 1.0, 1.0)),
    "two equal": factored((2.0, 2.0, 0.5)),
    "two smaller equal": factored((2.0, 0.5, 0.5)),
    "nearly equal": factored((1.0 + 1e-5, 1.0, 1.0 - 1e-7)),
    "near": factored((1.01, 1.0, 0.99)),
    "apart": factored((3.0, 2.0, 1.0)),
}
EVERY = {
    **POLAR,
    "reflected": factored((2.0, 1.0, -0.5)),
    "mirror": np.diag([1.0, 1.0, -1.0]),
    "opposite": factored((2.0, 1.0, -1.0)),
    "flat": factored((2.0, 1.0, 0.0)),
    "line": factored((1.0, 0.0, 0.0)),
    "nearly flat": factored((1.0, 1e-5, -1e-5)),
    "zero": np.zeros((3, 3)),
    "ones": np.ones((3, 3)),
}
SYMMETRIC = {
    "identity": np.eye(3),
    "two equal": symmetric((1.0, 1.0, -0.5)),
    "two larger equal": symmetric((-0.5, 1.0, -0.5)),
    "nearly equal": symmetric((1.0 + 1e-5, 1.0, 1.0 - 1e-7)),
    "apart": symmetric((-1.0, 0.25, 1.0)),
    "zero": np.zeros((3, 3)),
}
SQUARE = {
    "identity": np.eye(2),
    "turned": factored((1.0, 1.0)),
    "nearly equal": factored((1.0 + 1e-6, 1.0)),
    "apart": factored((2.0, 0.5)),
}
EVERY_SQUARE = {
    **SQUARE,
    "mirror": np.diag([1.0, -1.0]),
    "reflected": factored((2.0, -0.5)),
    "line": factored((1.0, 0.0)),
    "zero": np.zeros((2, 2)),
}
COLUMNS = {
    **EVERY,
    "parallel": np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [-1.0, -2.0, 3.0]]),
    "no first": np.array([[0.0, 2.0, 0.5], [0.0, 4.0, 1.0], [0.0, -2.0, 3.0]]),
    "no second": np.array([[1.0, 0.0, 0.5], [2.0, 0.0, 1.0], [-1.0, 0.0, 3.0]]),
}
CASES: list[tuple[str, Callable, dict[str, np.ndarray]]] = [
    ("rotation", rotation, POLAR),
    ("rotation into", rotation, POLAR),
    ("product", same, EVERY),
    ("product into", same, EVERY),
    ("hencky", hencky, POLAR),
    ("rotation2", rotation, SQUARE),
    ("product2", same, EVERY_SQUARE),
    ("product2 into", same, EVERY_SQUARE),
    ("same", of_symmetric(lambda d: d), SYMMETRIC),
    ("same into", of_symmetric(lambda d: d), SYMMETRIC),
    ("exponential", of_symmetric(np.exp), SYMMETRIC),
    ("factors", same, COLUMNS),
    ("factors into", same, COLUMNS),
]
# All in single. Results that go into variables come from the same functions of the library: one precision judges them.
# In half there is one case of each decomposition, and the rotation.
IN_HALF = ("rotation", "product", "product2", "same", "factors")
JUDGED = [
    pytest.param(*case, precision, id=f"{case[0]}-{precision}")
    for case in CASES
    for precision in PRECISIONS
    if precision == "single" or ("into" not in case[0] if precision == "double" else case[0] in IN_HALF)
]
_kernels: dict[tuple[str, str], wp.Kernel] = {}


def kernel_of(name: str, precision: str) -> wp.Kernel:
    if (name, precision) not in _kernels:
        n, dtype = 2 if "2" in name else 3, PRECISIONS[precision][0]
        m, v = matrix((n, n), dtype), wp.types.vector(n, dtype)
        text = f"@wp.kernel\ndef k(x: A, y: A):\n    i = wp.tid()\n    a = x[i]\n    {BODIES[name]}\n    y[i] = r\n"
        space = {"wp": wp, "M": m, "V": v, "A": wp.array(dtype=m)}
        _kernels[name, precision] = made(text, f"<{name} in {precision}>", space)
    return _kernels[name, precision]


def made(text: str, file: str, space: dict[str, Any]) -> wp.Kernel:
    """The kernel `k` of a source text."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    return space["k"]


def gradients(kernel: wp.Kernel, dtype: type, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    m = matrix(points.shape[1:], dtype)
    x, y = (wp.array(points, dtype=m, requires_grad=True) for _ in range(2))
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, len(points), inputs=[x, y])
    tape.backward(grads={y: wp.array(weights, dtype=m)})
    return x.grad.numpy().astype(np.float64)


def differences(function: Callable, a: np.ndarray, weights: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """Central differences, extrapolated."""
    out = np.zeros_like(a)
    for at in np.ndindex(a.shape):
        unit = np.zeros_like(a)
        unit[at] = 1.0
        near, far = (
            np.sum(weights * (function(a + h * unit) - function(a - h * unit))) / (2.0 * h) for h in (step / 2, step)
        )
        out[at] = (4.0 * near - far) / 3.0
    return out


# The second derivatives of functions of values, of which these are not constant.
CURVATURES = {"hencky": lambda d: 1.0 / d**2, "exponential": np.exp}


def allowed(name: str, a: np.ndarray, along: np.ndarray, exact: np.ndarray, step: float) -> float:
    """How far a derivative at `a` may be off, for these weights or along this direction.

    Rounding of what is divided by differences of values is a few steps. Where values have been moved apart, the
    quotient of differences is the slope of the function in their middle, which has moved too.
    """
    rounding = 4.0 * step * max(1.0, np.abs(exact).max())
    if name not in CURVATURES:
        return rounding
    d = np.linalg.svd(a)[1][::-1] if name == "hencky" else np.linalg.eigvalsh(a, "U")
    moved = d.copy()
    for i in (1, 2):
        moved[i] = max(d[i], moved[i - 1] + step * (np.abs(d).max() or 1.0))
    turned = max(moved[i] + moved[j] - d[i] - d[j] for i, j in ((0, 1), (0, 2), (1, 2))) / 2.0
    return rounding + turned * CURVATURES[name](d).max() * np.linalg.norm(along, 2)


@pytest.mark.parametrize(("name", "function", "points", "precision"), JUDGED)
def test_functions_of_all_factors(name, function, points, precision):
    dtype, step = PRECISIONS[precision]
    given = np.stack(list(points.values()))
    given = wp.array(given, dtype=matrix(given.shape[1:], dtype)).numpy().astype(np.float64)
    weights = np.random.default_rng(len(name)).integers(-8, 9, given.shape) / 8.0
    found = gradients(kernel_of(name, precision), dtype, given, weights)
    for at, a, w, g in zip(points, given, weights, found):
        exact = differences(function, a, w)
        np.testing.assert_allclose(g, exact, rtol=0, atol=allowed(name, a, w, exact, step), err_msg=at)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["rotation", "rotation2"])
def test_rotations_keep_all_their_digits(name, precision):
    """dR = U * ((P - transpose(P)) / (s[i] + s[j])) * transpose(V), by the formula."""
    dtype, step = PRECISIONS[precision]
    points = SQUARE if name == "rotation2" else POLAR
    given = np.stack(list(points.values()))
    given = wp.array(given, dtype=matrix(given.shape[1:], dtype)).numpy().astype(np.float64)
    weights = np.random.default_rng(3).integers(-8, 9, given.shape) / 8.0
    found = gradients(kernel_of(name, precision), dtype, given, weights)
    for at, a, w, g in zip(points, given, weights, found):
        u, s, vt = np.linalg.svd(a)
        p = u.T @ w @ vt.T
        exact = u @ ((p - p.T) / (s[:, None] + s)) @ vt
        np.testing.assert_allclose(g, exact, rtol=0, atol=16 * step * step * (1 + np.abs(exact).max()), err_msg=at)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rotation_of_the_identity(precision):
    """Nothing rounds there."""
    dtype, _ = PRECISIONS[precision]
    weights = np.arange(9.0).reshape(1, 3, 3)
    found = gradients(kernel_of("rotation", precision), dtype, np.eye(3)[None], weights)
    np.testing.assert_array_equal(found, (weights - np.swapaxes(weights, 1, 2)) / 2)


FACTORS = {
    "svd3": ("u, s, v = wp.svd3(a)\n    r = u + v", EVERY),
    "svd2": ("u, s, v = wp.svd2(a)\n    r = u + v", EVERY_SQUARE),
    "eig3": ("u, s = wp.eig3(a)\n    r = u", SYMMETRIC),
    "qr3": ("u, s = wp.qr3(a)\n    r = u", COLUMNS),
}
BODIES |= {name if name != "svd2" else "factors of 2": body for name, (body, _) in FACTORS.items()}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FACTORS)
def test_factors_alone_are_finite(name, precision):
    points = np.stack(list(FACTORS[name][1].values()))
    kernel = kernel_of(name if name != "svd2" else "factors of 2", precision)
    found = gradients(kernel, PRECISIONS[precision][0], points, np.ones(points.shape))
    assert np.isfinite(found).all(), found


# -- forward mode, and second derivatives -----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "function", "points", "precision"), JUDGED)
def test_forward_mode(name, function, points, precision):
    """Tangents are slopes along a direction; values are those of a launch, to the last bit."""
    dtype, step = PRECISIONS[precision]
    m = matrix(next(iter(points.values())).shape, dtype)
    x = wp.array(np.stack(list(points.values())), dtype=m)
    along = np.random.default_rng(len(name)).integers(-8, 9, x.numpy().shape) / 8.0
    y, plain = wp.zeros_like(x), wp.zeros_like(x)
    (dy,) = wp.jvp(kernel_of(name, precision), len(points), [x], [y], tangents=[wp.array(along, dtype=m)])
    wp.launch(kernel_of(name, precision), len(points), inputs=[x, plain])
    assert y.numpy().tobytes() == plain.numpy().tobytes()
    for at, a, t, found in zip(points, x.numpy().astype(np.float64), along, dy.numpy().astype(np.float64)):
        h = 1e-4
        near, far = ((function(a + s * t) - function(a - s * t)) / (2.0 * s) for s in (h / 2, h))
        exact = (4.0 * near - far) / 3.0
        np.testing.assert_allclose(found, exact, rtol=0, atol=allowed(name, a, t, exact, step), err_msg=at)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FACTORS)
def test_tangents_of_factors_alone_are_finite(name, precision):
    points = np.stack(list(FACTORS[name][1].values()))
    m = matrix(points.shape[1:], PRECISIONS[precision][0])
    x, y = wp.array(points, dtype=m), wp.zeros(len(points), dtype=m)
    kernel = kernel_of(name if name != "svd2" else "factors of 2", precision)
    (found,) = wp.jvp(kernel, len(points), [x], [y], tangents=[wp.array(np.ones(points.shape), dtype=m)])
    assert np.isfinite(found.numpy().astype(np.float64)).all(), found


def test_tangents_of_functions_of_matrices():
    (u, s, v), (du, ds, dv) = wp.jvp(wp.svd2, (wp.mat22(2, 0, 0, 1),), (wp.mat22(0, 1, 0, 0.5),))
    assert (s, ds) == (wp.vec2(2, 1), wp.vec2(0, 0.5))
    found = np.array(du * wp.diag(s) * wp.transpose(v) + u * wp.diag(ds) * wp.transpose(v))
    found += np.array(u * wp.diag(s) * wp.transpose(dv))
    np.testing.assert_allclose(found.reshape(2, 2), [[0, 1], [0, 0.5]], atol=1e-6)
    (_, s, _), _ = wp.jvp(wp.svd2, (wp.mat22(1, 0, 0, 1),), (wp.mat22(0, 1, 0, 0),))
    assert s == wp.vec2(1, 1)


@wp.struct
class Yielded:
    strain: wp.array(dtype=wp.mat33d)
    times: wp.array(dtype=int)


@wp.kernel
def yielding(f: wp.array(dtype=wp.mat33d), out: Yielded, total: wp.array(dtype=wp.float64)):
    i = wp.tid()
    u, s, v = wp.svd3(f[i])
    wp.atomic_add(out.times, 0, 1)
    f[i] = u * wp.diag(wp.vec3d(wp.min(s[0], wp.float64(1.5)), s[1], s[2])) * wp.transpose(v)
    out.strain[i] = f[i] * f[i]
    wp.atomic_add(total, 0, wp.trace(f[i]))


def test_what_a_kernel_adds_to_and_overwrites_in_forward_mode():
    points = np.stack([np.eye(3), np.diag([2.0, 1.25, 1.0])])
    along = np.random.default_rng(1).normal(size=points.shape)

    def run(a):
        f, out = wp.array(a, dtype=wp.mat33d), Yielded()
        out.strain, out.times = wp.zeros(2, dtype=wp.mat33d), wp.zeros(1, dtype=int)
        return f, out, wp.ones(1, dtype=wp.float64)

    f, out, total = run(points)
    df, dtotal = wp.array(along, dtype=wp.mat33d), wp.zeros(1, dtype=wp.float64)
    wp.jvp(yielding, 2, [f, out, total], tangents=[df, None, dtotal])
    moved = [run(points + h * along) for h in (1e-5, -1e-5, 0.0)]
    for args in moved:
        wp.launch(yielding, 2, inputs=list(args))
    assert (f.numpy() == moved[2][0].numpy()).all() and out.times.list() == [2]
    assert (out.strain.numpy() == moved[2][1].strain.numpy()).all() and total.list() == moved[2][2].list()
    np.testing.assert_allclose(df.numpy(), (moved[0][0].numpy() - moved[1][0].numpy()) / 2e-5, atol=1e-6)
    np.testing.assert_allclose(dtotal.numpy(), (moved[0][2].numpy() - moved[1][2].numpy()) / 2e-5, atol=1e-6)


def test_counters_beside_factors_are_refused_in_forward_mode():
    @wp.kernel
    def k(x: wp.array(dtype=wp.mat33), count: wp.array(dtype=int), y: wp.array(dtype=wp.mat33)):
        u, s, v = wp.svd3(x[wp.tid()])
        y[wp.atomic_add(count, 0, 1)] = u * wp.diag(s) * wp.transpose(v)

    x, y = wp.ones(1, dtype=wp.mat33), wp.zeros(1, dtype=wp.mat33)
    with pytest.raises(wp.CompileError, match="runs twice"):
        wp.jvp(k, 1, [x, wp.zeros(1, dtype=int)], [y], tangents=[x])


# -- factors that go to other launches --------------------------------------------------------------------------------

M, A3 = wp.mat33d, wp.array(dtype=wp.mat33d)


@wp.struct
class Factors:
    u: wp.mat33d
    s: wp.vec3d
    v: wp.mat33d


@wp.kernel
def stores_all(x: A3, u: A3, s: wp.array(dtype=wp.vec3d), v: A3):
    i = wp.tid()
    u[i], s[i], v[i] = wp.svd3(x[i])


@wp.kernel
def stores_scaled(x: A3, u: A3, s: wp.array(dtype=wp.vec3d), v: A3):
    i = wp.tid()
    a, b, c = wp.svd3(x[i])
    for k in range(2):
        if k == 1:
            u[i] = a * wp.diag(b)
            v[i] = c
        s[i] = wp.vec3d(wp.float64(1.0))


@wp.kernel
def stores_struct(x: A3, f: wp.array(dtype=Factors)):
    i = wp.tid()
    g = Factors()
    g.u, g.s, g.v = wp.svd3(x[i])
    f[i] = g


@wp.kernel
def stores_eigenvectors(x: A3, q: A3, d: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    q[i], d[i] = wp.eig3(x[i])


@wp.kernel
def stores_columns(x: A3, q: A3, r: A3):
    i = wp.tid()
    q[i], r[i] = wp.qr3(x[i])


@wp.kernel
def multiplies(u: A3, s: wp.array(dtype=wp.vec3d), v: A3, y: A3):
    i = wp.tid()
    y[i] = u[i] * wp.diag(s[i]) * wp.transpose(v[i])


@wp.kernel
def multiplies_members(f: wp.array(dtype=Factors), y: A3):
    i = wp.tid()
    y[i] = f[i].u * wp.diag(f[i].s) * wp.transpose(f[i].v)


@wp.kernel
def multiplies_two(q: A3, r: A3, y: A3):
    i = wp.tid()
    y[i] = q[i] * r[i]


@wp.kernel
def rebuilds(q: A3, d: wp.array(dtype=wp.vec3d), y: A3):
    i = wp.tid()
    y[i] = q[i] * wp.diag(d[i]) * wp.transpose(q[i])


def through(x, *steps):
    """What launches make of `x` with arrays between them: all but the last fill those that the last one reads."""
    (first, types), (second,) = steps
    between = [wp.zeros(x.size, dtype=t, requires_grad=True) for t in types]
    y = wp.zeros(x.size, dtype=M, requires_grad=True)
    wp.launch(first, x.size, inputs=[x, *between])
    wp.launch(second, x.size, inputs=[*between, y])
    return y


ESCAPES = {
    "all": ((stores_all, [M, wp.vec3d, M]), (multiplies,)),
    "scaled": ((stores_scaled, [M, wp.vec3d, M]), (multiplies,)),
    "struct": ((stores_struct, [Factors]), (multiplies_members,)),
    "eigenvectors": ((stores_eigenvectors, [M, wp.vec3d]), (rebuilds,)),
    "columns": ((stores_columns, [M, M]), (multiplies_two,)),
}
DEGENERATE = {"eigenvectors": np.diag([2.0, 1.0, 1.0]), "columns": np.diag([0.0, 2.0, 1.0])}


@pytest.mark.parametrize("name", ESCAPES)
def test_factors_in_arrays(name):
    """Right where values are apart; where they are equal it raises, in both modes, if a derivative is asked for."""
    weights = wp.array(np.random.default_rng(1).normal(size=(1, 3, 3)), dtype=M)

    def back(a, seed):
        x = wp.array([a], dtype=M, requires_grad=True)
        with wp.Tape() as tape:
            y = through(x, *ESCAPES[name])
        tape.backward(grads={y: seed})
        return x.grad.numpy()[0]

    def ahead(a, along):
        return wp.jvp(lambda x: through(x, *ESCAPES[name]), (wp.array([a], dtype=M),), (along,))[1].numpy()[0]

    apart = np.diag([3.0, 2.0, 1.0])
    w = weights.numpy()[0]
    exact = np.triu(w) + np.tril(w, -1).T if name == "eigenvectors" else w
    np.testing.assert_allclose(back(apart, weights), exact, atol=1e-12)
    symmetric = np.triu(w) + np.triu(w, 1).T if name == "eigenvectors" else w
    np.testing.assert_allclose(ahead(apart, weights), symmetric, atol=1e-12)
    equal = DEGENERATE.get(name, np.eye(3))
    for run in (back, ahead):
        with pytest.raises(RuntimeError, match="in the kernel that factors the matrix") as caught:
            run(equal, weights)
        assert "svd3(" in str(caught.value) or "eig3(" in str(caught.value) or "qr3(" in str(caught.value)
        assert not run(equal, wp.zeros(1, dtype=M)).any()


@wp.kernel
def stores_rotation_and_stretch(x: A3, r: A3, p: A3):
    i = wp.tid()
    u, s, v = wp.svd3(x[i])
    kept = wp.zeros(shape=2, dtype=wp.mat33d)
    kept[0], kept[1] = u, v
    r[i] = kept[0] * wp.transpose(kept[1])
    p[i] = v * wp.diag(s) * wp.transpose(v)


@wp.kernel
def stores_vectors(x: A3, u: A3, v: A3):
    i = wp.tid()
    u[i], _s, v[i] = wp.svd3(x[i])


@wp.kernel
def turns(u: A3, v: A3, y: A3):
    i = wp.tid()
    y[i] = u[i] * wp.transpose(v[i])


@pytest.mark.parametrize("name", ["rotation and stretch", "vectors"])
def test_what_may_go_through_arrays_at_equal_values(name):
    if name == "vectors":
        steps, function = ((stores_vectors, [M, M]), (turns,)), rotation
    else:
        steps, function = ((stores_rotation_and_stretch, [M, M]), (multiplies_two,)), same
    weights = np.random.default_rng(1).normal(size=(len(POLAR), 3, 3))
    x = wp.array(np.stack(list(POLAR.values())), dtype=M, requires_grad=True)
    with wp.Tape() as tape:
        y = through(x, *steps)
    tape.backward(grads={y: wp.array(weights, dtype=M)})
    for at, a, w, g in zip(POLAR, x.numpy(), weights, x.grad.numpy()):
        np.testing.assert_allclose(g, differences(function, a, w), rtol=0, atol=1e-6, err_msg=at)


# -- second derivatives -----------------------------------------------------------------------------------------------

CUBIC = {"single": (wp.float32, 2.0**-8), "double": (wp.float64, 2.0**-17)}  # about the cubic root of the rounding unit


def mixed(p: np.ndarray) -> float:
    return p[0, 1] * p[-1, -1] + p[0, 0] * p[-1, 0] * p[1, 1]


def of_stretch(a: np.ndarray) -> float:
    return mixed(linalg.polar(a)[1])


def of_rotation(a: np.ndarray) -> float:
    return np.sum((a - rotation(a)) ** 2)


def of_logarithms(a: np.ndarray) -> float:
    return np.sum(np.log(np.linalg.svd(a)[1]) ** 2)


def of_exponential(a: np.ndarray) -> float:
    return mixed(of_symmetric(np.exp)(a))


MIXED = "\n    r = p[0, 1] * p[-1, -1] + p[0, 0] * p[-1, 0] * p[1, 1]"
ENERGIES: dict[str, tuple[str, Callable[[np.ndarray], float], dict[str, np.ndarray]]] = {
    "rotation": (
        "u, s, v = wp.svd3(a)\n    d = a - u * wp.transpose(v)\n    r = wp.ddot(d, d)",
        of_rotation,
        POLAR,
    ),
    "logarithms": (
        "u, s, v = wp.svd3(a)\n    e = V(wp.log(s[0]), wp.log(s[1]), wp.log(s[2]))\n    r = wp.dot(e, e)",
        of_logarithms,
        POLAR,
    ),
    "stretch": ("u, s, v = wp.svd3(a)\n    p = v * wp.diag(s) * wp.transpose(v)" + MIXED, of_stretch, POLAR),
    "product": ("u, s, v = wp.svd3(a)\n    p = u * wp.diag(s) * wp.transpose(v)" + MIXED, mixed, EVERY),
    "product2": ("u, s, v = wp.svd2(a)\n    p = u * wp.diag(s) * wp.transpose(v)" + MIXED, mixed, EVERY_SQUARE),
    "exponential": (
        "q, d = wp.eig3(a)\n    e = V(wp.exp(d[0]), wp.exp(d[1]), wp.exp(d[2]))\n"
        "    p = q * wp.diag(e) * wp.transpose(q)" + MIXED,
        of_exponential,
        SYMMETRIC,
    ),
    "columns": ("q, u = wp.qr3(a)\n    p = q * u" + MIXED, mixed, COLUMNS),
}
HEAD = "@wp.func\ndef f(a: M):\n    {}\n    return r\n\n\n"
ENERGY = "@wp.kernel\ndef k(x: A, y: E):\n    i = wp.tid()\n    wp.atomic_add(y, 0, f(x[i]))\n"
SLOPE = "@wp.kernel\ndef k(x: A, y: A):\n    i = wp.tid()\n    y[i] = wp.grad(f)(x[i])\n"


def energy_kernel(name: str, precision: str, text: str) -> wp.Kernel:
    body, _, points = ENERGIES[name]
    (n, _), dtype = next(iter(points.values())).shape, CUBIC[precision][0]
    m = matrix((n, n), dtype)
    space = {"wp": wp, "M": m, "V": wp.types.vector(n, dtype), "A": wp.array(dtype=m), "E": wp.array(dtype=dtype)}
    return made(HEAD.format(body) + text, f"<{len(text)} {name} in {precision}>", space)


def hessian_product(function: Callable[[np.ndarray], float], a: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Differences of differences, of fourth order."""
    h = 1e-2

    def slope(of: Callable[[float], Any]) -> Any:
        return (8.0 * (of(h) - of(-h)) - (of(2.0 * h) - of(-2.0 * h))) / (12.0 * h)

    units = np.eye(a.size).reshape(a.size, *a.shape)
    return np.array([slope(lambda t: slope(lambda r: function(a + t * along + r * u))) for u in units]).reshape(a.shape)


SECOND = [  # all in double, and one of each decomposition in single
    *((name, "double") for name in ENERGIES),
    *((name, "single") for name in ("rotation", "product2", "exponential", "columns")),
]


@pytest.mark.parametrize(("name", "precision"), SECOND)
def test_second_derivatives(name, precision):
    """Forward over reverse, and the gradient of what wp.grad gives."""
    _, function, points = ENERGIES[name]
    dtype, root = CUBIC[precision]
    energy, slope = (energy_kernel(name, precision, text) for text in (ENERGY, SLOPE))
    given = np.stack(list(points.values()))
    m = matrix(given.shape[1:], dtype)
    along = wp.array(np.random.default_rng(len(name)).normal(size=given.shape), dtype=m)

    def total(x):
        y = wp.zeros(1, dtype=dtype)
        wp.launch(energy, len(points), inputs=[x, y])
        return y

    x, y = (wp.array(given, dtype=m, requires_grad=True) for _ in range(2))
    found = wp.autograd.hvp(total, x, along).numpy()
    x.grad.zero_()
    with wp.Tape() as tape:
        wp.launch(slope, len(points), inputs=[x, y])
    tape.backward(grads={y: along})
    for at, a, t, forward, reverse in zip(points, x.numpy(), along.numpy(), found, x.grad.numpy()):
        exact = hessian_product(function, a.astype(np.float64), t.astype(np.float64))
        for f in (forward, reverse):
            np.testing.assert_allclose(f, exact, rtol=0, atol=12.0 * root * max(1.0, np.abs(exact).max()), err_msg=at)
