"""Scalar functions that are cheap everywhere: sign and magnitude, rounding, ranges, interpolation, classification.

They are written once for all the types they take. `min`, `max`, `abs`, `sign` and the tests for NaN and infinity also
take vectors, componentwise; see `vectors`.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, T
from ..lang.registry import builtin
from ..lang.values.scalars import bool as boolean
from ..lang.values.scalars import float32, float64, uint16, uint32, uint64

INF = float("inf")


@builtin
def abs(x: T) -> T:
    """Magnitude of `x`.

    Args:
        x: a number, or a vector (componentwise).

    Returns:
        |x|, of the type of `x`. The most negative integer stays as it is.

    Error: exact.
    Derivative: the sign of `x`, 1 at zero.

    >>> wp.abs(-2.5)
    2.5
    """
    return prim.abs(x)


@builtin
def sign(x: T) -> T:
    """Sign of `x`.

    Args:
        x: a number, or a vector (componentwise).

    Returns:
        -1 where `x` is below zero, else 1 (also for zero and NaN), of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.sign(-3.0)
    -1.0
    """
    return prim.select(x < T(0), prim.neg(T(1)), T(1))


@builtin
def min(a: T, b: T) -> T:
    """Smaller of two numbers.

    Args:
        a: a number, or a vector (componentwise). A vector alone gives its smallest component.
        b: another of the same type.

    Returns:
        `a` if it is less than `b`, else `b`. Of a number and NaN, the number.

    Error: exact.
    Derivative: that of the argument returned, the last of equal ones.

    >>> wp.min(2.0, 1.0)
    1.0
    """
    return prim.minnum(a, b)


@builtin
def max(a: T, b: T) -> T:
    """Larger of two numbers.

    Args:
        a: a number, or a vector (componentwise). A vector alone gives its largest component.
        b: another of the same type.

    Returns:
        `a` if it is greater than `b`, else `b`. Of a number and NaN, the number.

    Error: exact.
    Derivative: that of the argument returned, the last of equal ones.

    >>> wp.max(2.0, 1.0)
    2.0
    """
    return prim.maxnum(a, b)


@builtin
def clamp(x: T, low: T, high: T) -> T:
    """`x` limited to a range.

    Args:
        x: a number.
        low: the least value to return.
        high: the largest value to return; it wins where it is below `low`.

    Returns:
        min(max(x, low), high); `low` for NaN. A limit that is NaN limits nothing.

    Error: exact.
    Derivative: that of the argument returned, the limit where `x` equals it.

    >>> wp.clamp(1.5, 0.0, 1.0)
    1.0
    """
    return prim.minnum(prim.maxnum(x, low), high)


@builtin
def floor(x: F) -> F:
    """Largest integer not above `x`.

    Args:
        x: a number.

    Returns:
        The integer, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.floor(-1.5)
    -2.0
    """
    return prim.floor(x)


@builtin
def ceil(x: F) -> F:
    """Smallest integer not below `x`.

    Args:
        x: a number.

    Returns:
        The integer, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.ceil(-1.5)
    -1.0
    """
    return prim.ceil(x)


@builtin
def trunc(x: F) -> F:
    """`x` without its fraction.

    Args:
        x: a number.

    Returns:
        The integer nearest to `x` towards zero, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.trunc(-1.5)
    -1.0
    """
    return prim.trunc(x)


@builtin
def rint(x: F) -> F:
    """Integer nearest to `x`, halves to the even one.

    Args:
        x: a number.

    Returns:
        The integer, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.rint(2.5)
    2.0
    """
    return prim.rint(x)


@builtin
def round(x: F) -> F:
    """Integer nearest to `x`, halves away from zero.

    Args:
        x: a number.

    Returns:
        The integer, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.round(2.5)
    3.0
    """
    whole = prim.trunc(x)
    away = prim.select(x < F(0.0), F(-1.0), F(1.0))
    return prim.select(prim.abs(x - whole) >= F(0.5), whole + away, whole)


@builtin
def frac(x: F) -> F:
    """Fraction of `x`.

    Args:
        x: a number.

    Returns:
        x - trunc(x), with the sign of `x`.

    Error: exact.
    Derivative: 1.

    >>> wp.frac(-1.25)
    -0.25
    """
    return x - prim.trunc(x)


@builtin
def sqrt(x: F) -> F:
    """Square root of `x`.

    Args:
        x: a number; negative ones give NaN.

    Returns:
        The root, of the type of `x`.

    Error: correctly rounded.
    Derivative: 1 / (2 * sqrt(x)); 0 at zero.

    >>> wp.sqrt(9.0)
    3.0
    """
    return prim.sqrt(x)


@builtin
def degrees(x: F) -> F:
    """Radians to degrees.

    Args:
        x: angle in radians.

    Returns:
        The angle in degrees.

    Error: 1.1 ULP.
    Derivative: 180 / pi.

    >>> wp.round(wp.degrees(3.1415927))
    180.0
    """
    return x * F(57.29577951308232)


@builtin
def radians(x: F) -> F:
    """Degrees to radians.

    Args:
        x: angle in degrees.

    Returns:
        The angle in radians.

    Error: 1.1 ULP.
    Derivative: pi / 180.

    >>> round(wp.radians(180.0), 6)
    3.141593
    """
    return x * F(0.017453292519943295)


@builtin
def step(x: T) -> T:
    """True if `x` is below zero, as a number.

    Args:
        x: a number.

    Returns:
        1 where x < 0, else 0.

    Error: exact.
    Derivative: 0.

    >>> wp.step(-2.0)
    1.0
    """
    return prim.select(x < T(0), T(1), T(0))


@builtin
def nonzero(x: T) -> T:
    """True if `x` differs from zero, as a number.

    Args:
        x: a number.

    Returns:
        1 where x != 0, else 0.

    Error: exact.
    Derivative: 0.

    >>> wp.nonzero(-2.0)
    1.0
    """
    return prim.select(x == T(0), T(0), T(1))


@builtin
def smoothstep(low: F, high: F, x: F) -> F:
    """Smooth rise from 0 to 1.

    Args:
        low: where the rise begins.
        high: where it ends.
        x: where to evaluate.

    Returns:
        t * t * (3 - 2 * t) for t = (x - low) / (high - low), limited to [0, 1].

    Error: 6 ULP for well separated ends.
    Derivative: 6 * t * (1 - t) / (high - low) in `x`, 0 outside the rise.

    >>> wp.smoothstep(0.0, 1.0, 0.5)
    0.5
    """
    t = prim.min(prim.max((x - low) / (high - low), F(0.0)), F(1.0))
    return (t * t) * (F(3.0) - F(2.0) * t)


@builtin
def lerp(a: F, b: F, t: F) -> F:
    """Linear interpolation.

    Args:
        a: value at t = 0; a number, vector, matrix, quaternion or transform (componentwise).
        b: value at t = 1, of the type of `a`.
        t: a number.

    Returns:
        a * (1 - t) + b * t.

    Error: 2 ULP of the larger term.
    Derivative: 1 - t in `a`, t in `b`, b - a in `t`.

    >>> wp.lerp(1.0, 3.0, 0.25)
    1.5
    """
    return a * (F(1.0) - t) + b * t


@builtin
def isfinite(x: F) -> boolean:
    """True if `x` is neither infinite nor NaN.

    Args:
        x: a number, or a vector, quaternion or matrix (all components).

    Returns:
        True or False.

    >>> wp.isfinite(1.0)
    True
    """
    return prim.abs(x) < F(INF)


@builtin
def isnan(x: F) -> boolean:
    """True if `x` is NaN.

    Args:
        x: a number, or a vector, quaternion or matrix (any component).

    Returns:
        True or False.

    >>> wp.isnan(1.0)
    False
    """
    return x != x


@builtin
def isinf(x: F) -> boolean:
    """True if `x` is infinite.

    Args:
        x: a number, or a vector, quaternion or matrix (any component).

    Returns:
        True or False.

    >>> wp.isinf(1.0)
    False
    """
    return prim.abs(x) == F(INF)


@builtin
def copysign(x: float32, y: float32) -> float32:
    """`x` with the sign of `y`.

    Args:
        x: gives the magnitude.
        y: gives the sign, also as a zero or NaN.

    Returns:
        A number of the type of `x`.

    Error: exact.
    Derivative: 1 in `x` where the signs agree, -1 where they differ; 0 in `y`.

    >>> wp.copysign(2.0, -0.0)
    -2.0
    """
    bits = (prim.bitcast(x, uint32) & 0x7FFFFFFF) | (prim.bitcast(y, uint32) & 0x80000000)
    return prim.bitcast(bits, float32)


@builtin(name="copysign")
def _copysign_double(x: float64, y: float64) -> float64:
    sign_bit = uint64(0x8000000000000000)
    bits = (prim.bitcast(x, uint64) & 0x7FFFFFFFFFFFFFFF) | (prim.bitcast(y, uint64) & sign_bit)
    return prim.bitcast(bits, float64)


@builtin(name="copysign")
def _copysign_half(x: F, y: F) -> F:
    bits = (prim.bitcast(x, uint16) & 0x7FFF) | (prim.bitcast(y, uint16) & 0x8000)
    return prim.bitcast(bits, F)
