"""Trigonometric functions: sin, cos, tan and their inverses.

The single-precision versions are polynomials without branches, so that all lanes take one path. Only arguments beyond
FAR take a second one, an exact reduction in integers, in a function that is not called while no lane needs it. Sine and
cosine of one argument share everything but the last select. Coefficients come from `tools/minimax.py`. Double precision
calls the C library; half precisions compute in single and round. Start with `_reduce`.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F
from ..lang.registry import builtin
from ..lang.values.scalars import float32, float64, int32, int64, uint32, uint64
from .precision_variants import in_all_precisions

INF, NAN = float("inf"), float("nan")
SIGN = 0x80000000
FAR = 65536.0
ROUND = 12582912.0  # 1.5 * 2**23: adding it leaves the nearest integer in the low bits of the sum
PI, PI_LOW = 3.1415927410125732, -8.742277657347586e-08
HALF_PI, HALF_PI_LOW, HALF_PI_LOWEST = 1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15


@builtin
def _with_sign(magnitude: float32, sign: float32) -> float32:
    """`magnitude`, itself not negative, with the sign bit of `sign`."""
    return prim.bitcast(prim.bitcast(magnitude, uint32) | (prim.bitcast(sign, uint32) & SIGN), float32)


@builtin
def _turns(a: float32) -> uint64:
    """The fraction of a / (2 pi) in units of 2**-64, for finite a >= FAR.

    `a` is m * 2**n with a 24-bit integer m. The bits of 1 / (2 pi) that matter to the fraction are a window of 96 bits
    starting at bit n; everything before them makes whole turns. The constants are 1 / (512 pi) cut into 32-bit steps.
    """
    bits = prim.bitcast(a, uint32)
    m = uint64((bits & 0x7FFFFF) | 0x800000)
    n = (bits >> 23) - 142
    step, shift = n >> 5, uint64(n & 31)
    w01 = prim.select(step == 0, uint64(0x0028BE60DB939105), uint64(0xDB9391054A7F09D5))
    w23 = prim.select(step == 2, uint64(0x4A7F09D5F47D4D37), uint64(0xF47D4D377036D8A5))
    v01 = prim.select(step == 0, uint64(0x4A7F09D5F47D4D37), uint64(0xF47D4D377036D8A5))
    v23 = prim.select(step == 2, uint64(0x7036D8A5664F10E4), uint64(0x664F10E4107F9458))
    high = prim.select(step < 2, w01, w23)
    low = prim.select(step < 2, v01, v23)
    window = (high << shift) | ((low >> 32) >> (32 - shift))
    return m * window + ((m * ((low << shift) >> 32)) >> 32)


@builtin
def _reduce(a: float32) -> tuple[float32, uint32]:
    """(r, q) with a = r + q * pi/2 and |r| <= pi/4, for 0 <= a <= FAR.

    Three fused steps subtract q * pi/2 in parts; the first is exact as r's leading bits cancel. One rounding of r, at
    half its last place, is most of the error of the functions below.
    """
    shifted = prim.fma(a, 0.63661977, ROUND)
    k = shifted - ROUND
    r = prim.fma(k, -HALF_PI, a)
    r = prim.fma(k, -HALF_PI_LOW, r)
    return prim.fma(k, -HALF_PI_LOWEST, r), prim.bitcast(shifted, uint32)


@builtin
def _reduce_pair(a: float32) -> tuple[float32, float32, uint32]:
    """Like `_reduce`, with r as the sum of two numbers: `low` is what rounding the second step lost."""
    shifted = prim.fma(a, 0.63661977, ROUND)
    k = shifted - ROUND
    first = prim.fma(k, -HALF_PI, a)
    r = prim.fma(k, -HALF_PI_LOW, first)
    step = first - r
    lost = prim.fma(k, -HALF_PI_LOW, step) + ((first - step) - r)
    return r, prim.fma(k, -HALF_PI_LOWEST, lost), prim.bitcast(shifted, uint32)


@builtin
def _reduce_far(a: float32) -> tuple[float64, uint32]:
    """(r, q modulo 4) with a = r + q * pi/2 and |r| <= pi/4, for a >= FAR; r is NaN for infinity."""
    turns = _turns(a)
    q = uint32((turns + 0x2000000000000000) >> 62)
    quarters = float64(prim.bitcast(turns << 2, int64))
    return prim.select(a < INF, quarters * 8.515303950216386e-20, float64(NAN)), q  # pi / 2 / 2**64


@builtin
def _sine(r: float32, q: uint32) -> float32:
    """sin(r + q * pi/2) for |r| <= pi/4."""
    z = r * r
    p = prim.fma(z, 2.8323618e-06, -0.00019853057)
    p = prim.fma(z, p, 0.008333379)
    p = prim.fma(z, p, -0.16666667)
    sine = prim.fma(r * z, p, r)
    p = prim.fma(z, 2.443067e-05, -0.0013887301)
    p = prim.fma(z, p, 0.041666646)
    p = prim.fma(z, p, -0.5)
    cosine = prim.fma(z, p, 1.0)
    y = prim.select((q & 1) == 0, sine, cosine)
    return prim.bitcast(prim.bitcast(y, uint32) ^ ((q << 30) & SIGN), float32)


@builtin(cold=True)
def _sine_far(a: float32, q: uint32) -> float32:
    """sin(a + q * pi/2) for a >= FAR."""
    r, quarters = _reduce_far(a)
    return _sine(float32(r), quarters + q)


@in_all_precisions
@builtin
def sin(x: float32) -> float32:
    """Sine of `x`.

    Args:
        x: angle in radians, of any size.

    Returns:
        sin(x), of the type of `x`; NaN for infinities.

    Error: float32 1.5 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: cos(x).

    >>> round(wp.sin(0.5), 6)
    0.479426
    """
    a = prim.abs(x)
    r, q = _reduce(a)
    y = _sine(r, q)
    if a > FAR:
        y = _sine_far(a, uint32(0))
    return prim.bitcast(prim.bitcast(y, uint32) ^ (prim.bitcast(x, uint32) & SIGN), float32)


@in_all_precisions
@builtin
def cos(x: float32) -> float32:
    """Cosine of `x`.

    Args:
        x: angle in radians, of any size.

    Returns:
        cos(x), of the type of `x`; NaN for infinities.

    Error: float32 1.5 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: -sin(x).

    >>> round(wp.cos(0.5), 6)
    0.877583
    """
    a = prim.abs(x)
    r, q = _reduce(a)
    y = _sine(r, q + 1)
    if a > FAR:
        y = _sine_far(a, uint32(1))
    return y


@builtin
def _tangent(r: float32, low: float32, q: uint32) -> float32:
    """tan(r + low + q * pi/2) for |r| <= pi/4 and a tiny `low`."""
    z = r * r
    p = prim.fma(z, 0.0043924223, 6.130875e-05)
    p = prim.fma(z, p, 0.010853719)
    p = prim.fma(z, p, 0.02127744)
    p = prim.fma(z, p, 0.05406026)
    p = prim.fma(z, p, 0.13332668)
    p = prim.fma(z, p, 0.3333335)
    tail = prim.fma(r * z, p, prim.fma(z, low, low))
    y = r + tail
    c = -1.0 / y
    c = prim.fma(c, prim.fma(c, (r - y) + tail, prim.fma(c, y, 1.0)), c)  # with what y = r + tail rounded away
    return prim.select((q & 1) == 0, y, c)


@builtin(cold=True)
def _tangent_far(a: float32) -> float32:
    """tan(a) for a >= FAR."""
    r, q = _reduce_far(a)
    high = float32(r)
    return _tangent(high, float32(r - float64(high)), q)


@in_all_precisions
@builtin
def tan(x: float32) -> float32:
    """Tangent of `x`.

    Args:
        x: angle in radians, of any size.

    Returns:
        tan(x), of the type of `x`; NaN for infinities.

    Error: float32 1.3 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: 1 + tan(x)**2.

    >>> round(wp.tan(0.5), 6)
    0.546302
    """
    a = prim.abs(x)
    r, low, q = _reduce_pair(a)
    y = _tangent(r, low, q)
    if a > FAR:
        y = _tangent_far(a)
    return prim.bitcast(prim.bitcast(y, uint32) ^ (prim.bitcast(x, uint32) & SIGN), float32)


@builtin
def _asin_tail(s: float32, z: float32) -> float32:
    """asin(s) - s for z = s * s <= 1/4."""
    p = prim.fma(z, 0.042158388, 0.024184743)
    p = prim.fma(z, p, 0.045469154)
    p = prim.fma(z, p, 0.074953094)
    p = prim.fma(z, p, 0.16666752)
    return (s * z) * p


@builtin
def asin(x: float32) -> float32:
    """Inverse sine of `x`.

    Args:
        x: a number; beyond -1 and 1 it counts as those, for dot products of unit vectors may be off by a rounding.

    Returns:
        The angle in [-pi/2, pi/2] whose sine is `x`.

    Error: float32 1.2 ULP; float64 1 ULP with the GNU C library.
    Derivative: 1 / sqrt(1 - x**2); 0 from -1 down and from 1 up.

    >>> round(wp.asin(0.5), 6)
    0.523599
    """
    a = prim.min(1.0, prim.abs(x))  # NaN stays NaN
    far = a > 0.5  # there asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2))
    z = prim.select(far, prim.fma(a, -0.5, 0.5), a * a)
    s = prim.select(far, prim.sqrt(z), a)
    tail = _asin_tail(s, z)
    c = prim.fma(-2.0, s, HALF_PI)
    low = prim.fma(-2.0, s, HALF_PI - c) - prim.fma(2.0, tail, -HALF_PI_LOW)
    return _with_sign(prim.select(far, c + low, s + tail), x)


@builtin(name="asin")
def _asin_double(x: float64) -> float64:
    return prim.libm("asin", prim.max(-1.0, prim.min(1.0, x)))


@builtin(name="asin")
def _asin_half(x: F) -> F:
    return F(asin(float32(x)))


@builtin
def acos(x: float32) -> float32:
    """Inverse cosine of `x`.

    Args:
        x: a number; beyond -1 and 1 it counts as those, for dot products of unit vectors may be off by a rounding.

    Returns:
        The angle in [0, pi] whose cosine is `x`.

    Error: float32 1.27 ULP; float64 1 ULP with the GNU C library.
    Derivative: -1 / sqrt(1 - x**2); 0 from -1 down and from 1 up.

    >>> round(wp.acos(0.5), 6)
    1.047198
    """
    a = prim.min(1.0, prim.abs(x))  # NaN stays NaN
    far = a > 0.5
    z = prim.select(far, prim.fma(a, -0.5, 0.5), a * a)
    s = _with_sign(prim.select(far, prim.sqrt(z), a), x)
    tail = _asin_tail(s, z)
    near = (HALF_PI - s) - (tail - HALF_PI_LOW)
    twice = 2.0 * (s + tail)
    return prim.select(far, prim.select(x < 0.0, (PI + twice) + PI_LOW, twice), near)


@builtin(name="acos")
def _acos_double(x: float64) -> float64:
    return prim.libm("acos", prim.max(-1.0, prim.min(1.0, x)))


@builtin(name="acos")
def _acos_half(x: F) -> F:
    return F(acos(float32(x)))


@builtin
def _atan_polynomial(z: float32) -> float32:
    """(atan(q) - q) / q**3 for z = q * q <= 1."""
    p = prim.fma(z, -0.0017827495, 0.0108685475)
    p = prim.fma(z, p, -0.031096945)
    p = prim.fma(z, p, 0.057881452)
    p = prim.fma(z, p, -0.08399311)
    p = prim.fma(z, p, 0.10950881)
    p = prim.fma(z, p, -0.14264016)
    p = prim.fma(z, p, 0.1999853)
    return prim.fma(z, p, -0.333333)


@in_all_precisions
@builtin
def atan(x: float32) -> float32:
    """Inverse tangent of `x`.

    Args:
        x: any number.

    Returns:
        The angle in [-pi/2, pi/2] whose tangent is `x`.

    Error: float32 1.25 ULP; float64 1 ULP with the GNU C library.
    Derivative: 1 / (1 + x**2).

    >>> round(wp.atan(1.0), 6)
    0.785398
    """
    a = prim.abs(x)
    far = a > 1.0
    q = prim.select(far, -1.0 / a, a)
    z = q * q
    tail = (q * z) * _atan_polynomial(z)
    y = prim.select(far, ((tail + HALF_PI_LOW) + q) + HALF_PI, tail + q)
    return _with_sign(y, x)


@builtin
def atan2(y: float32, x: float32) -> float32:
    """Angle of the point (`x`, `y`), counted from the x axis.

    Args:
        y: second coordinate.
        x: first coordinate.

    Returns:
        The angle in [-pi, pi]; signed zeros and infinities as in C.

    Error: float32 1.5 ULP; float64 1 ULP with the GNU C library.
    Derivative: x / (x**2 + y**2) in `y`, -y / (x**2 + y**2) in `x`; 0 at the origin.

    >>> round(wp.atan2(1.0, -1.0), 6)
    2.356194
    """
    ax, ay = prim.abs(x), prim.abs(y)
    steep = ay > ax
    small, large = prim.select(steep, ax, ay), prim.select(steep, ay, ax)
    equal = prim.select(small == 0.0, 0.0, 1.0)  # 0/0 and inf/inf have an answer here
    q = prim.select(small == large, equal, small / large)
    left = prim.bitcast(x, int32) < 0
    q = prim.select(steep != left, -q, q)
    base = prim.select(steep, HALF_PI, prim.select(left, PI, 0.0))
    z = q * q
    tail = prim.fma(q * z, _atan_polynomial(z), base * -2.7827534e-08)  # pi_low / pi
    return _with_sign(prim.abs((tail + q) + base), y)


@builtin(name="atan2")
def _atan2_double(y: float64, x: float64) -> float64:
    return prim.libm("atan2", y, x)


@builtin(name="atan2")
def _atan2_half(y: F, x: F) -> F:
    return F(atan2(float32(y), float32(x)))
