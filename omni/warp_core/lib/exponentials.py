"""Exponentials, logarithms, powers, hyperbolic functions, cube root.

The single-precision versions are short polynomials without branches; `prim.fma` marks every product whose rounding
matters. Coefficients come from `tools/minimax.py`. Double precision calls the C library; half precisions compute in
single and round. Start with `_exp_parts` and `_log_parts`.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F
from ..lang.registry import builtin
from ..lang.values.scalars import float32, float64, int32, uint32
from .precision_variants import in_all_precisions
from .trigonometry import _with_sign

INF, NAN = float("inf"), float("nan")
ROUND = 12582912.0  # 1.5 * 2**23: adding it leaves the nearest integer in the low bits of the sum
ROUND_BITS = 0x4B400000
SMALLEST_NORMAL = 1.1754943508222875e-38
LN2, LN2_LOW = 0.6931471824645996, -1.904654323148236e-09
LOG2_E, LOG2_E_LOW = 1.4426950216293335, 1.925963033500011e-08
LOG10_E, LOG10_E_LOW = 0.4342944920063019, -1.0103049952192578e-08
LOG10_2, LOG10_2_LOW = 0.3010300099849701, -1.432098883924482e-08
SQRT_HALF_BITS = 0x3F3504F3


@builtin
def _scale(y: float32, shifted: float32) -> float32:
    """Multiply y by 2**k for shifted = ROUND + k, |k| < 250, in two steps so that the result may be denormal or inf."""
    n = prim.bitcast(shifted, int32) - (ROUND_BITS - 254)
    half = n >> 1
    return (y * prim.bitcast(half << 23, float32)) * prim.bitcast((n - half) << 23, float32)


@builtin
def _power_of_two(shifted: float32) -> float32:
    """2**k for shifted = ROUND + k where that is a normal number."""
    return prim.bitcast((prim.bitcast(shifted, int32) - (ROUND_BITS - 127)) << 23, float32)


@builtin
def _exp_parts(x: float32) -> tuple[float32, float32]:
    """(y, ROUND + k) with exp(x) = y * 2**k and y near 1."""
    shifted = prim.fma(x, LOG2_E, ROUND)
    k = shifted - ROUND
    r = prim.fma(k, -LN2, x)
    r = prim.fma(k, -LN2_LOW, r)
    p = prim.fma(r, 0.00138196, 0.008368694)
    p = prim.fma(r, p, 0.04166828)
    p = prim.fma(r, p, 0.16666521)
    p = prim.fma(r, p, 0.49999994)
    return prim.fma(r * r, p, r) + 1.0, shifted


@in_all_precisions
@builtin
def exp(x: float32) -> float32:
    """Exponential of `x`: the number e to the power `x`.

    Args:
        x: any number.

    Returns:
        exp(x), of the type of `x`.

    Error: float32 1.02 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: exp(x).

    >>> round(wp.exp(1.0), 6)
    2.718282
    """
    y, shifted = _exp_parts(prim.max(-104.0, prim.min(89.0, x)))
    return _scale(y, shifted)


@builtin
def _exp2_polynomial(r: float32) -> float32:
    """2**r for |r| <= 1/2."""
    p = prim.fma(r, 0.00015326471, 0.0013390806)
    p = prim.fma(r, p, 0.009618506)
    p = prim.fma(r, p, 0.0555036)
    p = prim.fma(r, p, 0.24022648)
    p = prim.fma(r, p, 0.6931472)
    return prim.fma(r, p, 1.0)


@in_all_precisions
@builtin
def exp2(x: float32) -> float32:
    """2 to the power `x`.

    Args:
        x: any number.

    Returns:
        2**x, of the type of `x`; exact for integers.

    Error: float32 0.9 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: ln(2) * 2**x.

    >>> wp.exp2(10.0)
    1024.0
    """
    c = prim.max(-151.0, prim.min(129.0, x))
    shifted = c + ROUND
    return _scale(_exp2_polynomial(c - (shifted - ROUND)), shifted)


@builtin
def _split(x: float32) -> tuple[float32, float32]:
    """(e, m) with x = m * 2**e and m in [sqrt(1/2), sqrt(2)), for positive finite x."""
    tiny = x < SMALLEST_NORMAL
    bits = prim.bitcast(prim.select(tiny, x * 8388608.0, x), int32)
    k = (bits - SQRT_HALF_BITS) >> 23
    return float32(k) + prim.select(tiny, -23.0, 0.0), prim.bitcast(bits - (k << 23), float32)


@builtin
def _log_parts(x: float32) -> tuple[float32, float32, float32]:
    """(e, f, g) with log(x) = e * log(2) + f + g, g small against f."""
    e, m = _split(x)
    f = m - 1.0
    p = prim.fma(f, -0.07639437, 0.12765184)
    p = prim.fma(f, p, -0.13159911)
    p = prim.fma(f, p, 0.14201184)
    p = prim.fma(f, p, -0.1662333)
    p = prim.fma(f, p, 0.20001255)
    p = prim.fma(f, p, -0.25000823)
    p = prim.fma(f, p, 0.3333333)
    z = f * f
    return e, f, prim.fma(f * z, p, z * -0.5)


@builtin
def _log_ends(x: float32, y: float32) -> float32:
    """`y`, or what the logarithm of zero, a negative number, infinity or NaN is."""
    y = prim.select(x < INF, y, x)
    return prim.select(x > 0.0, y, prim.select(x == 0.0, -INF, NAN))


@in_all_precisions
@builtin
def log(x: float32) -> float32:
    """Natural logarithm of `x`.

    Args:
        x: a number; negative ones give NaN, zero gives -inf.

    Returns:
        ln(x), of the type of `x`.

    Error: float32 0.87 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: 1 / x.

    >>> round(wp.log(10.0), 6)
    2.302585
    """
    e, f, g = _log_parts(x)
    return _log_ends(x, prim.fma(e, LN2, prim.fma(e, LN2_LOW, g) + f))


@in_all_precisions
@builtin
def log2(x: float32) -> float32:
    """Logarithm of `x` to base 2.

    Args:
        x: a number; negative ones give NaN, zero gives -inf.

    Returns:
        log2(x), of the type of `x`; exact for powers of two.

    Error: float32 1.05 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: 1 / (ln(2) * x).

    >>> wp.log2(8.0)
    3.0
    """
    e, f, g = _log_parts(x)
    y = prim.fma(g, LOG2_E, f * LOG2_E_LOW)
    return _log_ends(x, prim.fma(f, LOG2_E, y) + e)


@in_all_precisions
@builtin
def log10(x: float32) -> float32:
    """Logarithm of `x` to base 10.

    Args:
        x: a number; negative ones give NaN, zero gives -inf.

    Returns:
        log10(x), of the type of `x`.

    Error: float32 0.94 ULP over all arguments; float64 2 ULP with the GNU C library.
    Derivative: 1 / (ln(10) * x).

    >>> round(wp.log10(1000.0), 6)
    3.0
    """
    e, f, g = _log_parts(x)
    y = prim.fma(g, LOG10_E, f * LOG10_E_LOW)
    y = prim.fma(f, LOG10_E, prim.fma(e, LOG10_2_LOW, y))
    return _log_ends(x, prim.fma(e, LOG10_2, y))


@builtin
def _log2_pair(a: float32) -> tuple[float32, float32]:
    """log2(a) for positive finite `a` as an unevaluated sum good to about 2**-35 relative.

    With s = (m - 1) / (m + 1), log2(m) = s * (C + s**2 * (C / 3 + w)), C = 2 / ln(2). Every quantity is a pair whose
    low part holds what rounding the high part lost; w alone is small enough to be one number.
    """
    e, m = _split(a)
    f, b = m - 1.0, m + 1.0
    b_low = m - (b - 1.0)
    inverse = 1.0 / b
    s = f * inverse
    s_low = prim.fma(-s, b_low, prim.fma(-s, b, f)) * inverse
    z = s * s
    z_low = prim.fma(s + s, s_low, prim.fma(s, s, -z))
    w = prim.fma(z, 0.33782333, 0.41184986)
    w = prim.fma(z, w, 0.5770802) * z
    third, third_low = 0.9617967009544373, -7.028461812552678e-09
    p = third + w
    p_low = ((third - p) + w) + third_low
    t = z * p
    t_low = prim.fma(z, p_low, prim.fma(z_low, p, prim.fma(z, p, -t)))
    c, c_low = 2.885390043258667, 3.851926067000022e-08
    g = c + t
    g_low = ((c - g) + t) + (t_low + c_low)
    y = s * g
    y_low = prim.fma(s, g_low, prim.fma(s_low, g, prim.fma(s, g, -y)))
    high = e + y
    return high, ((e - high) + y) + y_low


@builtin
def pow(x: float32, y: float32) -> float32:
    """`x` to the power `y`.

    Args:
        x: the base.
        y: the exponent.

    Returns:
        x**y with the special cases of C: 1 for y = 0 and for x = 1, NaN for a negative base and a fractional exponent.

    Error: float32 0.9 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: y * x**(y - 1) in `x`, 0 where `y` is 0 and, for `x` = 0, where `y` is below 1; ln(x) * x**y in `y`, 0
    where `x` is not positive.

    >>> wp.pow(2.0, 10.0)
    1024.0
    """
    y = prim.max(-3.0e38, prim.min(3.0e38, y))  # keeps 0 * inf away; both ends are even integers, as infinity counts
    a = prim.abs(x)
    h, h_low = _log2_pair(a)
    h = prim.select(a == 0.0, -INF, prim.select(a < INF, h, a))
    u = y * h
    u_low = prim.fma(y, h_low, prim.fma(y, h, -u))
    shifted = u + ROUND
    r = _scale(_exp2_polynomial((u - (shifted - ROUND)) + u_low), shifted)
    r = prim.select(u >= 129.0, INF, prim.select(u <= -151.0, 0.0, r))
    half = y * 0.5
    whole, odd = prim.trunc(y) == y, prim.trunc(half) != half
    signed = prim.select(prim.bit_and(odd, prim.bitcast(x, int32) < 0), -r, r)
    fractional = prim.select(prim.bit_and(x < 0.0, a < INF), NAN, r)
    r = prim.select(whole, signed, fractional)
    return prim.select(prim.bit_or(y == 0.0, x == 1.0), 1.0, r)


@builtin(name="pow")
def _pow_double(x: float64, y: float64) -> float64:
    return prim.libm("pow", x, y)


@builtin(name="pow")
def _pow_half(x: F, y: F) -> F:
    return F(pow(float32(x), float32(y)))


@in_all_precisions
@builtin
def sinh(x: float32) -> float32:
    """Hyperbolic sine of `x`.

    Args:
        x: any number.

    Returns:
        sinh(x), of the type of `x`.

    Error: float32 1.65 ULP over all arguments; float64 2 ULP with the GNU C library.
    Derivative: cosh(x).

    >>> round(wp.sinh(1.0), 6)
    1.175201
    """
    a = prim.abs(x)
    z = a * a
    p = prim.fma(z, 2.7822132e-06, 0.00019842896)
    p = prim.fma(z, p, 0.0083333105)
    p = prim.fma(z, p, 0.16666667)
    near = prim.fma(a * z, p, a)
    y, shifted = _exp_parts(prim.min(91.0, a))
    h = _scale(y, shifted - 1.0)
    return _with_sign(prim.select(a < 1.0, near, h - 0.25 / h), x)


@in_all_precisions
@builtin
def cosh(x: float32) -> float32:
    """Hyperbolic cosine of `x`.

    Args:
        x: any number.

    Returns:
        cosh(x), of the type of `x`.

    Error: float32 1.5 ULP over all arguments; float64 2 ULP with the GNU C library.
    Derivative: sinh(x).

    >>> round(wp.cosh(1.0), 6)
    1.543081
    """
    y, shifted = _exp_parts(prim.min(91.0, prim.abs(x)))
    h = _scale(y, shifted - 1.0)
    return h + 0.25 / h


@in_all_precisions
@builtin
def tanh(x: float32) -> float32:
    """Hyperbolic tangent of `x`.

    Args:
        x: any number.

    Returns:
        tanh(x) in [-1, 1], of the type of `x`.

    Error: float32 1.31 ULP over all arguments; float64 2 ULP with the GNU C library.
    Derivative: 1 - tanh(x)**2.

    >>> round(wp.tanh(1.0), 6)
    0.761594
    """
    a = prim.abs(x)
    z = a * a
    p = prim.fma(z, -0.005514685, 0.020469002)
    p = prim.fma(z, p, -0.053687904)
    p = prim.fma(z, p, 0.13330829)
    p = prim.fma(z, p, -0.3333326)
    near = prim.fma(a * z, p, a)
    y, shifted = _exp_parts(prim.min(20.0, a + a))
    far = 1.0 - 2.0 / prim.fma(y, _power_of_two(shifted), 1.0)
    return _with_sign(prim.select(a < 0.65, near, far), x)


@in_all_precisions
@builtin
def cbrt(x: float32) -> float32:
    """Cube root of `x`.

    Args:
        x: any number.

    Returns:
        The real cube root, of the type of `x` and with its sign.

    Error: float32 0.51 ULP over all arguments; float64 4 ULP with the GNU C library.
    Derivative: 1 / (3 * cbrt(x)**2); 0 at zero.

    >>> wp.cbrt(-27.0)
    -3.0
    """
    a = prim.abs(x)
    tiny = a < 7.9e-31  # where the residual below would be denormal
    a = prim.select(tiny, a * 16777216.0, a)
    t = prim.bitcast(0x54A1B000 - (prim.bitcast(a, uint32) >> 16) * 21845, float32)  # about a**(-1/3)
    e = prim.fma(-(a * t), t * t, 1.0)
    p = prim.fma(e, 0.17283951, 0.22222222)
    p = prim.fma(e, p, 0.33333334)
    t = prim.fma(t * e, p, t)
    e = prim.fma(-(a * t), t * t, 1.0)
    t = prim.fma(t * e, 0.33333334, t)
    y = (a * t) * t
    square = y * y
    residual = prim.fma(y, prim.fma(y, y, -square), prim.fma(y, square, -a))  # y**3 - a
    y = prim.fma(residual * -0.33333334, t * t, y)
    y = prim.select(tiny, y * 0.00390625, y)
    return _with_sign(prim.select(prim.bit_and(a > 0.0, a < INF), y, a), x)
