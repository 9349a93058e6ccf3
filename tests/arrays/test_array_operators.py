"""Operators of arrays against NumPy."""

import operator
import warnings

import numpy as np
import pytest

import omni.warp_core as wp

BINARY = {
    "+": (operator.add, operator.iadd),
    "-": (operator.sub, operator.isub),
    "*": (operator.mul, operator.imul),
    "/": (operator.truediv, operator.itruediv),
    "//": (operator.floordiv, operator.ifloordiv),
    "%": (operator.mod, operator.imod),
    "**": (operator.pow, operator.ipow),
}
X = np.array([1.0, 2.5, 3.0, 8.0])
Y = np.array([2.0, 0.5, 4.0, 3.0])


@pytest.mark.parametrize("symbol", BINARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats(symbol, dtype):
    plain, in_place = BINARY[symbol]
    x, y = X.astype(dtype), Y.astype(dtype)
    a, b = wp.array(x), wp.array(y)
    warnings.simplefilter("ignore", wp.KernelWarning)  # of the signs of remainders
    close = {"rtol": 4 * np.finfo(dtype).eps}
    np.testing.assert_allclose(plain(a, b).numpy(), plain(x, y), **close)
    for number in (2, 2.0, dtype(2)):
        np.testing.assert_allclose(plain(a, number).numpy(), plain(x, dtype(2)), **close)
        if not isinstance(number, np.generic):  # NumPy's numbers make NumPy arrays of what they meet
            np.testing.assert_allclose(plain(number, a).numpy(), plain(dtype(2), x), **close)
    before = a
    a = in_place(a, b)
    assert a is before
    np.testing.assert_allclose(a.numpy(), plain(x, y), **close)


@pytest.mark.parametrize("symbol", ["+", "-", "*", "//", "%"])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16, np.int64])
def test_integers(symbol, dtype):
    plain, in_place = BINARY[symbol]
    x, y = np.array([7, 100, 9, 64], dtype), np.array([7, 3, 2, 5], dtype)
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        a = wp.array(x)
        np.testing.assert_array_equal(plain(a, wp.array(y)).numpy(), plain(x, y))
        np.testing.assert_array_equal(plain(a, 3).numpy(), plain(x, dtype(3)))
        np.testing.assert_array_equal(in_place(a, 3).numpy(), plain(x, dtype(3)))


def test_signs():
    a = wp.array(X)
    np.testing.assert_array_equal((-a).numpy(), -X)
    np.testing.assert_array_equal((+a).numpy(), X)
    assert (+a).ptr != a.ptr


def test_vectors_and_matrices():
    points = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    v, a = wp.array(points, dtype=wp.vec2), wp.array([1.0, 2.0, 3.0], dtype=float)
    shift = wp.vec2(1.0, -1.0)
    for found, expected in (
        (v + v, 2 * points),
        (v * 2.0, 2 * points),
        (2.0 * v, 2 * points),
        (v / 2.0, points / 2),
        (a * v, points * [[1], [2], [3]]),
        (v + shift, points + np.array([1, -1])),
        (shift - v, [1, -1] - points),
        (wp.mat22(0.0, 1.0, 1.0, 0.0) * v, points[:, ::-1]),
    ):
        assert found.dtype is wp.vec2
        np.testing.assert_array_equal(found.numpy(), expected)
    v *= 3.0
    np.testing.assert_array_equal(v.numpy(), 3 * points)


def test_broadcasting_and_numpy():
    m, row = np.arange(6.0).reshape(2, 3), np.array([1.0, 10.0, 100.0])
    a, b = wp.array(m), wp.array(row)
    np.testing.assert_array_equal((a * b).numpy(), m * row)
    np.testing.assert_array_equal((b - a).numpy(), row - m)
    np.testing.assert_array_equal((a + row).numpy(), m + row)
    a += row
    np.testing.assert_array_equal(a.numpy(), m + row)
    with pytest.raises(TypeError, match=r"results have shape \(2, 3\), out has shape \(3,\)"):
        b += a


@pytest.mark.parametrize(
    ("left", "right", "error", "message"),
    [
        (X, X.astype(np.float32), TypeError, r"wp.map of `add`: `\+` cannot combine float64 and float32"),
        (X.astype(np.int32), 1.5, TypeError, r"`\+` cannot combine int32 and float32"),
        (X, X[:3], ValueError, r"the shapes \(4,\), \(3,\) cannot be broadcast together"),
        (X, "x", TypeError, r"a kernel cannot take a str \(argument `b`\)"),
        (X, None, TypeError, r"a kernel cannot take a NoneType \(argument `b`\)"),
        (X, wp.vec2(), TypeError, r"`\+` cannot combine float64 and vec2f"),
    ],
)
def test_refused(left, right, error, message):
    with pytest.raises(error, match=message):
        wp.array(left) + (wp.array(right) if isinstance(right, np.ndarray) else right)


@pytest.mark.cpu
def test_read_only_arrays_are_not_updated():
    data = X.copy()
    data.flags.writeable = False
    a = wp.array(data, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        a += 1.0
    np.testing.assert_array_equal((a + 1.0).numpy(), X + 1)
