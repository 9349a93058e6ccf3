"""Inverses of the error function and of its complement.

Single precision uses the polynomials of Giles, "Approximating the erfinv function", 2011. Double precision improves
such a start with Halley's method; where the function is close to 1 it works on the complement, which keeps its digits.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F
from ..lang.registry import builtin
from ..lang.values.scalars import float32, float64
from .exponentials import log

HALF_SQRT_PI = 0.886226925452758
INF, NAN = float("inf"), float("nan")


@builtin
def _central(w: float32) -> float32:
    """erfinv(x) / x for w = -log(1 - x * x) < 5."""
    w = w - 2.5
    p = prim.fma(w, 2.81022636e-08, 3.43273939e-07)
    p = prim.fma(w, p, -3.5233877e-06)
    p = prim.fma(w, p, -4.39150654e-06)
    p = prim.fma(w, p, 0.00021858087)
    p = prim.fma(w, p, -0.00125372503)
    p = prim.fma(w, p, -0.00417768164)
    p = prim.fma(w, p, 0.246640727)
    return prim.fma(w, p, 1.50140941)


@builtin
def _tail(w: float32) -> float32:
    """As `_central`, for w from 5 to 16."""
    w = prim.sqrt(w) - 3.0
    p = prim.fma(w, -0.000200214257, 0.000100950558)
    p = prim.fma(w, p, 0.00134934322)
    p = prim.fma(w, p, -0.00367342844)
    p = prim.fma(w, p, 0.00573950773)
    p = prim.fma(w, p, -0.0076224613)
    p = prim.fma(w, p, 0.00943887047)
    p = prim.fma(w, p, 1.00167406)
    return prim.fma(w, p, 2.83297682)


@builtin
def erfinv(x: float32) -> float32:
    """Inverse of the error function.

    Args:
        x: a number in [-1, 1]; others give NaN.

    Returns:
        The number y with erf(y) = x, of the type of `x`; infinite at the ends.

    Error: float32 3.8 ULP over all arguments; float64 10 ULP.
    Derivative: sqrt(pi) / 2 * exp(y**2), with y the result; 0 at the ends.

    >>> round(wp.erfinv(0.5), 6)
    0.476936
    """
    w = prim.neg(log((1.0 - x) * (1.0 + x)))
    y = x * prim.select(w < 5.0, _central(w), _tail(w))
    return prim.select(prim.abs(x) < 1.0, y, prim.select(prim.abs(x) == 1.0, x * INF, NAN))


@builtin
def _erfc_halley(y: float64, x: float64) -> float64:
    """A better y with erfc(y) = x."""
    error = (prim.libm("erfc", y) - x) * HALF_SQRT_PI * prim.libm("exp", y * y)
    return y + error / (1.0 + y * error)


@builtin
def _erf_halley(y: float64, x: float64) -> float64:
    """A better y with erf(y) = x."""
    error = (prim.libm("erf", y) - x) * HALF_SQRT_PI * prim.libm("exp", y * y)
    return y - error / (1.0 + y * error)


@builtin
def _upper(x: float64) -> float64:
    """The y with erfc(y) = x for 0 < x <= 1/2."""
    w = prim.neg(prim.libm("log", x))
    y = prim.sqrt(w - 0.5 * prim.libm("log", 3.141592653589793 * w + 1.0))
    for _ in range(4):
        y = _erfc_halley(y, x)
    return y


@builtin(name="erfinv")
def _erfinv_double(x: float64) -> float64:
    a = prim.abs(x)
    if a <= 0.5:
        y = float64(erfinv(float32(x)))
        return _erf_halley(_erf_halley(y, x), x)
    if a >= 1.0 or x != x:
        return prim.select(a == 1.0, x * INF, float64(NAN))
    y = _upper(1.0 - a)
    return prim.select(x < 0.0, prim.neg(y), y)


@builtin(name="erfinv")
def _erfinv_half(x: F) -> F:
    return F(erfinv(float32(x)))


@builtin
def erfcinv(x: float64) -> float64:
    """Inverse of the complement of the error function.

    Args:
        x: a number in [0, 2]; others give NaN.

    Returns:
        The number y with erfc(y) = x, of the type of `x`; infinite at the ends.

    Error: float32 0.51 ULP over all arguments; float64 10 ULP.
    Derivative: -sqrt(pi) / 2 * exp(y**2), with y the result; 0 at the ends.

    >>> round(wp.erfcinv(0.5), 6)
    0.476936
    """
    if x > 0.5 and x < 1.5:
        return erfinv(1.0 - x)
    if not (x > 0.0 and x < 2.0):
        return prim.select(x == 0.0, float64(INF), prim.select(x == 2.0, float64(-INF), float64(NAN)))
    return _upper(x) if x <= 0.5 else prim.neg(_upper(2.0 - x))


@builtin(name="erfcinv")
def _erfcinv_narrow(x: F) -> F:
    return F(erfcinv(float64(x)))
