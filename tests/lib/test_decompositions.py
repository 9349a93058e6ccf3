"""Decompositions against NumPy in double precision, on matrices of every kind: singular, equal values, badly scaled."""

from __future__ import annotations

import re

import mpmath
import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.types import matrix, vector

COUNT = 300
DTYPES = [(wp.float16, np.float16, 2.0**-10), (wp.float32, np.float32, 2.0**-23), (wp.float64, np.float64, 2.0**-52)]
dtypes = pytest.mark.parametrize(("dtype", "numpy_type", "unit"), DTYPES, ids=["half", "single", "double"])


def rotations(rng, n):
    return np.linalg.qr(rng.normal(size=(COUNT, n, n)))[0]


def matrices(n, numpy_type):
    """Matrices with chosen singular values, and others, as numbers of the type."""
    rng = np.random.default_rng(n)
    one, zero = np.ones(COUNT), np.zeros(COUNT)
    wide = 10.0 ** rng.uniform(-15, 0, COUNT) if numpy_type is not np.float16 else 10.0 ** rng.uniform(-3, 0, COUNT)
    values = [
        (one, one, one),
        (2.0 * one, one, one),
        (one, one, wide),
        (one, wide, wide * wide),
        (one, wide, wide),
        (one, one, zero),
        (one, zero, zero),
        (one, 1.0 + 1e-5 * wide, 1.0 - 1e-5 * wide),
    ]
    made = [rotations(rng, n) @ (np.stack(s[:n], 1)[:, :, None] * rotations(rng, n)) for s in values]
    plain = rng.normal(size=(COUNT, n, n))
    whole = rng.integers(-2, 3, (COUNT, n, n)).astype(float)
    sparse = plain * (rng.random((COUNT, n, n)) < 0.4)
    scaled = [] if numpy_type is np.float16 else [plain * 1e-15, plain * 1e15]
    if n == 3 and numpy_type is not np.float16:
        scaled += [plain * 1e-37, plain * 1e37]
    return np.concatenate([*made, plain, whole, sparse, *scaled]).astype(numpy_type)


def launch(function, a, dtype, *results):
    """The results of `function` of every matrix, as doubles."""
    n = a.shape[1]

    @wp.kernel
    def two(a: wp.array(dtype=matrix((n, n), dtype)), x: wp.array(dtype=results[0]), y: wp.array(dtype=results[1])):
        i = wp.tid()
        x[i], y[i] = function(a[i])

    @wp.kernel
    def three(
        a: wp.array(dtype=matrix((n, n), dtype)),
        x: wp.array(dtype=results[0]),
        y: wp.array(dtype=results[1]),
        z: wp.array(dtype=results[-1]),
    ):
        i = wp.tid()
        x[i], y[i], z[i] = function(a[i])

    out = [wp.zeros(len(a), dtype=t) for t in results]
    given = wp.array(a, dtype=matrix((n, n), dtype))
    wp.launch(two if len(results) == 2 else three, dim=len(a), inputs=[given, *out])
    return [x.numpy().astype(np.float64) for x in out]


def assert_rotations(q, bound, determinant=1.0):
    np.testing.assert_allclose(
        q @ np.swapaxes(q, 1, 2), np.broadcast_to(np.eye(q.shape[1]), q.shape), rtol=0, atol=bound
    )
    np.testing.assert_allclose(np.linalg.det(q), determinant, rtol=0, atol=bound)


def assert_close(found, exact, size, bound):
    """Errors below `bound` times the size of each matrix."""
    error = np.abs(found - exact).reshape(len(exact), -1).max(1)
    assert (error <= bound * size).all(), (error / np.where(size > 0, size, 1.0)).max()


def norms(a):
    """Largest singular values."""
    return np.linalg.norm(a.astype(np.float64) * 2.0**-10, 2, axis=(1, 2)) * 2.0**10


def stated(function, unit):
    """The error that the docstring allows for numbers with this unit."""
    return float(re.search(r"Error: ([0-9.]+) ULP", function.__doc__)[1]) * unit


def singular_values(a, numpy_type):
    """NumPy's own are off by 20 units where they are nearly equal, which is too much to judge double precision."""
    if numpy_type is not np.float64:
        return np.linalg.svd(a, compute_uv=False)
    with mpmath.workprec(150):
        return np.array([[float(x) for x in mpmath.svd_r(mpmath.matrix(m.tolist()), compute_uv=False)] for m in a])


@dtypes
def test_svd3(dtype, numpy_type, unit):
    a, some = matrices(3, numpy_type), 50 if numpy_type is np.float64 else 1
    square, row = matrix((3, 3), dtype), vector(3, dtype)
    u, sigma, v = launch(wp.svd3, a, dtype, square, row, square)
    bound = stated(wp.svd3, unit)
    exact, size = a.astype(np.float64), norms(a)
    assert_rotations(u, bound)
    assert_rotations(v, bound)
    assert_close(u @ (sigma[:, :, None] * np.swapaxes(v, 1, 2)), exact, size, bound)
    assert_close(np.abs(sigma[::some]), singular_values(exact[::some], numpy_type), size[::some], bound)
    assert (sigma[:, 0] >= sigma[:, 1]).all()
    assert (sigma[:, 1] >= np.abs(sigma[:, 2])).all()
    regular = np.abs(np.linalg.det(exact / size[:, None, None].clip(1e-300))) > 1e-2
    assert (np.sign(sigma[regular, 2]) == np.sign(np.linalg.det(exact[regular] / size[regular, None, None]))).all()


@dtypes
def test_svd2(dtype, numpy_type, unit):
    a = matrices(2, numpy_type)
    square, row = matrix((2, 2), dtype), vector(2, dtype)
    u, sigma, v = launch(wp.svd2, a, dtype, square, row, square)
    bound = stated(wp.svd2, unit)
    exact, size = a.astype(np.float64), norms(a)
    assert_rotations(u, bound, np.sign(np.linalg.det(u)))
    assert_rotations(v, bound)
    assert_close(u @ (sigma[:, :, None] * np.swapaxes(v, 1, 2)), exact, size, bound)
    assert_close(sigma, np.linalg.svd(exact, compute_uv=False), size, bound)
    assert (sigma[:, 0] >= sigma[:, 1]).all()
    assert (sigma[:, 1] >= 0.0).all()


@dtypes
def test_eig3(dtype, numpy_type, unit):
    a = matrices(3, numpy_type) * numpy_type(0.5)
    a = a + np.swapaxes(a, 1, 2)
    q, d = launch(wp.eig3, a, dtype, matrix((3, 3), dtype), vector(3, dtype))
    bound = stated(wp.eig3, unit)
    exact, size = a.astype(np.float64), norms(a)
    assert_rotations(q, bound)
    assert_close(q @ (d[:, :, None] * np.swapaxes(q, 1, 2)), exact, size, bound)
    assert_close(np.sort(d), np.linalg.eigvalsh(exact), size, bound)


@dtypes
def test_qr3(dtype, numpy_type, unit):
    a = matrices(3, numpy_type)
    q, r = launch(wp.qr3, a, dtype, matrix((3, 3), dtype), matrix((3, 3), dtype))
    bound = stated(wp.qr3, unit)
    assert_rotations(q, bound)
    assert_close(q @ r, a.astype(np.float64), norms(a), bound)
    assert not np.tril(r, -1).any()
    assert (r[:, [0, 1], [0, 1]] >= 0.0).all()


def test_zero_and_nan_end():
    zero = wp.mat33(*[0.0] * 9)
    identity = wp.mat33(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    for u, sigma in (wp.svd3(zero)[:2], wp.eig3(zero)):
        assert_rotations(np.array(u).reshape(1, 3, 3), 0.0)
        assert list(sigma) == [0.0, 0.0, 0.0]
    assert wp.svd3(identity) == (identity, wp.vec3(1.0, 1.0, 1.0), identity)
    assert wp.qr3(identity) == (identity, identity)
    assert np.isnan(np.array(wp.svd3(wp.mat33(*[float("nan")] * 9))[1])).any()
    assert np.isnan(np.array(wp.eig3(wp.mat33(*[float("inf")] * 9))[1])).any()


def test_python_scope_gives_what_kernels_give():
    a = matrices(3, np.float32)[::97]
    u, sigma, v = launch(wp.svd3, a, wp.float32, wp.mat33, wp.vec3, wp.mat33)
    for i, m in enumerate(a):
        found = wp.svd3(wp.mat33(*m.ravel().tolist()))
        for x, y in zip(found, (u[i], sigma[i], v[i])):
            np.testing.assert_array_equal(np.array(x).reshape(y.shape), y)
