"""Gradients of what is made of factors of matrices, where factors alone have none: equal, opposite and zero values.

Each function of a matrix is written as a kernel and in NumPy. What it is made of is smooth in the matrix, so that its
derivative is known: by the formula of the matrix function, or by central differences in double precision.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable

import numpy as np
import pytest
from scipy import linalg

import omni.warp_core as wp
from omni.warp_core.types import matrix

# type, square root of its rounding unit
PRECISIONS = {"half": (wp.float16, 2.0**-5), "single": (wp.float32, 2.0**-11.5), "double": (wp.float64, 2.0**-26)}


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
    ("exponential", of_symmetric(np.exp), {k: v for k, v in SYMMETRIC.items() if k != "zero"}),
    ("factors", same, COLUMNS),
    ("factors into", same, COLUMNS),
]
_kernels: dict[tuple[str, str], wp.Kernel] = {}


def kernel_of(name: str, precision: str) -> wp.Kernel:
    if (name, precision) not in _kernels:
        n, dtype = 2 if "2" in name else 3, PRECISIONS[precision][0]
        m, v = matrix((n, n), dtype), wp.types.vector(n, dtype)
        text = f"@wp.kernel\ndef k(x: A, y: A):\n    i = wp.tid()\n    a = x[i]\n    {BODIES[name]}\n    y[i] = r\n"
        file = f"<{name} in {precision}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        space = {"wp": wp, "M": m, "V": v, "A": wp.array(dtype=m)}
        exec(compile(text, file, "exec"), space)
        _kernels[name, precision] = space["k"]
    return _kernels[name, precision]


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


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("name", "function", "points"), CASES, ids=[name for name, *_ in CASES])
def test_functions_of_all_factors(name, function, points, precision):
    dtype, root = PRECISIONS[precision]
    given = np.stack(list(points.values()))
    given = wp.array(given, dtype=matrix(given.shape[1:], dtype)).numpy().astype(np.float64)
    weights = np.random.default_rng(len(name)).integers(-8, 9, given.shape) / 8.0
    found = gradients(kernel_of(name, precision), dtype, given, weights)
    for at, a, w, g in zip(points, given, weights, found):
        exact = differences(function, a, w)
        np.testing.assert_allclose(g, exact, rtol=0, atol=6.0 * root * max(1.0, np.abs(exact).max()), err_msg=at)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["rotation", "rotation2"])
def test_rotations_keep_all_their_digits(name, precision):
    """dR = U * ((P - transpose(P)) / (s[i] + s[j])) * transpose(V), by the formula."""
    dtype, root = PRECISIONS[precision]
    points = SQUARE if name == "rotation2" else POLAR
    given = np.stack(list(points.values()))
    given = wp.array(given, dtype=matrix(given.shape[1:], dtype)).numpy().astype(np.float64)
    weights = np.random.default_rng(3).integers(-8, 9, given.shape) / 8.0
    found = gradients(kernel_of(name, precision), dtype, given, weights)
    for at, a, w, g in zip(points, given, weights, found):
        u, s, vt = np.linalg.svd(a)
        p = u.T @ w @ vt.T
        exact = u @ ((p - p.T) / (s[:, None] + s)) @ vt
        np.testing.assert_allclose(g, exact, rtol=0, atol=32 * root * root * (1 + np.abs(exact).max()), err_msg=at)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rotation_of_the_identity(precision):
    """Nothing rounds there."""
    dtype, _ = PRECISIONS[precision]
    weights = np.arange(9.0).reshape(1, 3, 3)
    found = gradients(kernel_of("rotation", precision), dtype, np.eye(3)[None], weights)
    np.testing.assert_array_equal(found, (weights - np.swapaxes(weights, 1, 2)) / 2)


FACTORS = {
    "svd3": ("u, s, v = wp.svd3(a)\n    r = u + v + wp.diag(s)", EVERY),
    "svd2": ("u, s, v = wp.svd2(a)\n    r = u + v + wp.diag(s)", EVERY_SQUARE),
    "eig3": ("u, s = wp.eig3(a)\n    r = u + wp.diag(s)", SYMMETRIC),
    "qr3": ("u, s = wp.qr3(a)\n    r = u + s", COLUMNS),
}
BODIES |= {name if name != "svd2" else "factors of 2": body for name, (body, _) in FACTORS.items()}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FACTORS)
def test_factors_alone_are_finite(name, precision):
    points = np.stack(list(FACTORS[name][1].values()))
    kernel = kernel_of(name if name != "svd2" else "factors of 2", precision)
    found = gradients(kernel, PRECISIONS[precision][0], points, np.ones(points.shape))
    assert np.isfinite(found).all(), found


def test_forward_mode_is_refused():
    x, y = (wp.array([np.eye(3)], dtype=wp.mat33d) for _ in range(2))
    with pytest.raises(wp.CompileError, match=r"wp\.svd3 has no forward mode"):
        wp.jvp(kernel_of("rotation", "double"), 1, [x], [y], tangents=[x])
