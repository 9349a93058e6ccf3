"""Derivatives of library functions, where differentiating their own code would be wrong or wasteful.

A gradient takes the arguments of the function, its result (or results) and the adjoint of each result, and gives the
adjoint of each floating point argument. Functions without one here are differentiated operation by operation.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, Mat, N, Quat, Vec
from ..lang.registry import builtin, gradient
from ..lang.values.scalars import float32, int32, uint32
from . import decomposition_gradients  # noqa: F401 - further gradients
from .exponentials import cosh, exp, log, pow, sinh
from .geometry import mesh_gradients  # noqa: F401 - further gradients
from .matrices import transpose
from .noise import _cell_periodic, _cube_slope, _slope, _square_slope
from .scalar_functions import copysign
from .trigonometry import cos, sin
from .vectors import dot, length
from .volumes import volume_array_forms, volume_gradients  # noqa: F401 - further gradients


@gradient
def sin_gradient(x: F, y: F, g: F) -> F:
    return g * cos(x)


@gradient
def cos_gradient(x: F, y: F, g: F) -> F:
    return -g * sin(x)


@gradient
def tan_gradient(x: F, y: F, g: F) -> F:
    return g * (F(1.0) + y * y)


@gradient
def asin_gradient(x: F, y: F, g: F) -> F:
    """Zero at both ends, where the slope has no bound."""
    rest = (F(1.0) - x) * (F(1.0) + x)
    return prim.select(rest > F(0.0), g / prim.sqrt(rest), F(0.0))


@gradient
def acos_gradient(x: F, y: F, g: F) -> F:
    """Zero at both ends, where the slope has no bound."""
    rest = (F(1.0) - x) * (F(1.0) + x)
    return prim.select(rest > F(0.0), -g / prim.sqrt(rest), F(0.0))


@gradient
def atan_gradient(x: F, y: F, g: F) -> F:
    return g / (F(1.0) + x * x)


@gradient
def atan2_gradient(y: F, x: F, angle: F, g: F) -> tuple[F, F]:
    """Zero at the origin, where every direction has another angle. Squares neither overflow nor underflow."""
    size = prim.max(prim.abs(x), prim.abs(y))
    u, v = x / size, y / size
    share, apart = g / size / (u * u + v * v), size > F(0.0)
    return prim.select(apart, share * u, F(0.0)), prim.select(apart, -share * v, F(0.0))


@gradient
def exp_gradient(x: F, y: F, g: F) -> F:
    return g * y


@gradient
def exp2_gradient(x: F, y: F, g: F) -> F:
    return g * y * F(0.6931471805599453)


@gradient
def log_gradient(x: F, y: F, g: F) -> F:
    return g / x


@gradient
def log2_gradient(x: F, y: F, g: F) -> F:
    return g / x * F(1.4426950408889634)


@gradient
def log10_gradient(x: F, y: F, g: F) -> F:
    return g / x * F(0.4342944819032518)


@gradient
def pow_gradient(x: F, y: F, power: F, g: F) -> tuple[F, F]:
    """Zero for the base where the exponent is zero or the slope has no bound, and for the exponent where the base is
    not positive.
    """
    flat = prim.bit_or(y == F(0.0), prim.bit_and(x == F(0.0), y < F(1.0)))
    of_base = prim.select(flat, F(0.0), g * y * pow(x, y - F(1.0)))
    of_exponent = prim.select(x > F(0.0), g * power * log(x), F(0.0))
    return of_base, of_exponent


@gradient
def sinh_gradient(x: F, y: F, g: F) -> F:
    return g * cosh(x)


@gradient
def cosh_gradient(x: F, y: F, g: F) -> F:
    return g * sinh(x)


@gradient
def tanh_gradient(x: F, y: F, g: F) -> F:
    return g * (F(1.0) - y * y)


@gradient
def cbrt_gradient(x: F, y: F, g: F) -> F:
    """Zero at zero, where the slope has no bound."""
    return prim.select(x == F(0.0), F(0.0), g / (F(3.0) * y * y))


@gradient
def erf_gradient(x: F, y: F, g: F) -> F:
    return g * F(1.1283791670955126) * exp(-x * x)


@gradient
def erfc_gradient(x: F, y: F, g: F) -> F:
    return g * F(-1.1283791670955126) * exp(-x * x)


@gradient
def erfinv_gradient(x: F, y: F, g: F) -> F:
    """Zero at both ends, where the slope has no bound."""
    return prim.select(prim.abs(x) < F(1.0), g * F(0.8862269254527580) * exp(y * y), F(0.0))


@gradient
def erfcinv_gradient(x: F, y: F, g: F) -> F:
    """Zero at both ends, where the slope has no bound."""
    inside = prim.bit_and(x > F(0.0), x < F(2.0))
    return prim.select(inside, g * F(-0.8862269254527580) * exp(y * y), F(0.0))


@gradient
def copysign_gradient(x: F, y: F, result: F, g: F) -> tuple[F, F]:
    """The sign of `x * result`; that of `result` where both are zero, as the magnitude rises to both sides."""
    agree = prim.select(x == F(0.0), copysign(F(1.0), y) > F(0.0), (x > F(0.0)) == (result > F(0.0)))
    return prim.select(agree, g, -g), F(0.0)


@builtin
def _reciprocal_or_zero(x: F) -> F:
    return prim.select(x > F(0.0), F(1.0) / x, F(0.0))


@gradient
def length_gradient(a: Vec[N, F], size: F, g: F) -> Vec[N, F]:
    """Zero for the zero vector."""
    return a * (g * _reciprocal_or_zero(size))


@gradient
def length_gradient_quat(a: Quat[F], size: F, g: F) -> Quat[F]:
    return a * (g * _reciprocal_or_zero(size))


@gradient
def normalize_gradient(a: Vec[N, F], unit: Vec[N, F], g: Vec[N, F]) -> Vec[N, F]:
    """Zero for the zero vector."""
    return (g - unit * dot(unit, g)) * _reciprocal_or_zero(length(a))


@gradient
def normalize_gradient_quat(a: Quat[F], unit: Quat[F], g: Quat[F]) -> Quat[F]:
    return (g - unit * dot(unit, g)) * _reciprocal_or_zero(length(a))


@gradient
def inverse_gradient(a: Mat[N, N, F], b: Mat[N, N, F], g: Mat[N, N, F]) -> Mat[N, N, F]:
    """Zero where the determinant is zero, as the result is."""
    t = transpose(b)
    return prim.neg(t * g * t)


@gradient
def noise_gradient(state: uint32, xy: Vec[2, float32], y: float32, g: float32) -> Vec[2, float32]:
    return _slope(state, xy) * g


@gradient
def noise_gradient_vec3(state: uint32, xyz: Vec[3, float32], y: float32, g: float32) -> Vec[3, float32]:
    return _slope(state, xyz) * g


@gradient
def pnoise_gradient(
    state: uint32, xy: Vec[2, float32], px: int32, py: int32, y: float32, g: float32
) -> Vec[2, float32]:
    x0, x1, tx = _cell_periodic(xy[0], px)
    y0, y1, ty = _cell_periodic(xy[1], py)
    return _square_slope(state, x0, x1, y0, y1, Vec[2, float32](tx, ty)) * g


@gradient
def pnoise_gradient_vec3(
    state: uint32, xyz: Vec[3, float32], px: int32, py: int32, pz: int32, y: float32, g: float32
) -> Vec[3, float32]:
    x0, x1, tx = _cell_periodic(xyz[0], px)
    y0, y1, ty = _cell_periodic(xyz[1], py)
    z0, z1, tz = _cell_periodic(xyz[2], pz)
    return _cube_slope(state, x0, x1, y0, y1, z0, z1, Vec[3, float32](tx, ty, tz)) * g


@gradient
def _corner_slope_gradient(
    h: uint32, offset: Vec[N, float32], total: float32, v: Vec[N, float32], g: float32, unused: Vec[N, float32]
) -> Vec[N, float32]:
    """The vector of a corner is the same wherever the sample is."""
    return v * g
