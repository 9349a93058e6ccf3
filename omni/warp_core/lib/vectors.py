"""Vectors of any length: products, lengths, componentwise functions, extremes.

The componentwise forms of the scalar functions `abs`, `sign`, `min`, `max`, `lerp`, `isfinite`, `isnan` and `isinf` are
further overloads of those names and stand here. Loops over components are unrolled, as their bounds are lengths.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, M, Mat, N, Quat, T, Transform, Vec
from ..lang.registry import builtin
from ..lang.values.scalars import bool as boolean
from ..lang.values.scalars import uint32
from .scalar_functions import isfinite, isinf, isnan, sign


@builtin
def dot(a: Vec[N, T], b: Vec[N, T]) -> T:
    """Inner product.

    Args:
        a: a vector or quaternion.
        b: another of the same type.

    Returns:
        The sum of a[i] * b[i], a scalar.

    Error: one rounding for each term.
    Derivative: `b` in `a`, `a` in `b`.

    >>> wp.dot(wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0))
    32.0
    """
    total = a[0] * b[0]
    for i in range(1, N):
        total += a[i] * b[i]
    return total


@builtin(name="dot")
def _dot_quat(a: Quat[F], b: Quat[F]) -> F:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@builtin
def length_sq(a: Vec[N, T]) -> T:
    """Squared length.

    Args:
        a: a vector or quaternion.

    Returns:
        dot(a, a), a scalar.

    Error: one rounding for each term.
    Derivative: 2 * a.

    >>> wp.length_sq(wp.vec2(3.0, 4.0))
    25.0
    """
    return dot(a, a)


@builtin(name="length_sq")
def _length_sq_quat(a: Quat[F]) -> F:
    return dot(a, a)


@builtin
def length(a: Vec[N, F]) -> F:
    """Length of a vector.

    Args:
        a: a vector or quaternion.

    Returns:
        sqrt(dot(a, a)), a scalar.

    Error: 2 ULP for up to 4 components, where the squares neither overflow nor underflow.
    Derivative: a / length(a); 0 at zero.

    >>> wp.length(wp.vec2(3.0, 4.0))
    5.0
    """
    return prim.sqrt(dot(a, a))


@builtin(name="length")
def _length_quat(a: Quat[F]) -> F:
    return prim.sqrt(dot(a, a))


@builtin
def normalize(a: Vec[N, F]) -> Vec[N, F]:
    """Vector of the same direction and length 1.

    Args:
        a: a vector or quaternion.

    Returns:
        a / length(a); zero for the zero vector, the identity for the zero quaternion.

    Error: 3 ULP in each component, as `length`.
    Derivative: (identity - n * transpose(n)) / length(a) with n the result; 0 for the zero vector.

    >>> wp.normalize(wp.vec2(3.0, 0.0))
    vec2f([1.0, 0.0])
    """
    size = length(a)
    inside = size > F(0.0)
    return prim.select(inside, a / prim.select(inside, size, F(1.0)), Vec[N, F](F(0.0)))


@builtin(name="normalize")
def _normalize_quat(a: Quat[F]) -> Quat[F]:
    size = length(a)
    inside = size > F(0.0)
    identity = Quat[F](F(0.0), F(0.0), F(0.0), F(1.0))
    return prim.select(inside, a / prim.select(inside, size, F(1.0)), identity)


@builtin
def cross(a: Vec[3, T], b: Vec[3, T]) -> Vec[3, T]:
    """Cross product.

    Args:
        a: a vector of three components.
        b: another.

    Returns:
        The vector at right angles to both, with the area they span as its length.

    Error: 1.5 ULP of the sum of the magnitudes of both products of a component: each of them is rounded, and their
        difference. `cross(a, a)` is exactly 0.
    Derivative: cross(b, g) in `a`, cross(g, a) in `b`, for the gradient g of the result.

    >>> wp.cross(wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))
    vec3f([0.0, 0.0, 1.0])
    """
    return Vec[3, T](a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@builtin
def outer(a: Vec[M, T], b: Vec[N, T]) -> Mat[M, N, T]:
    """Outer product.

    Args:
        a: a vector of M components.
        b: a vector of N components.

    Returns:
        The M x N matrix of a[i] * b[j].

    Error: one rounding for each component.
    Derivative: g * b in `a`, a * g in `b`, for the gradient g of the result.

    >>> wp.outer(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    mat22f([[3.0, 4.0],
     [6.0, 8.0]])
    """
    return Mat[M, N, T]([a[i] * b[j] for i in range(M) for j in range(N)])


@builtin
def skew(a: Vec[3, T]) -> Mat[3, 3, T]:
    """Matrix of the cross product with `a`.

    Args:
        a: a vector of three components.

    Returns:
        The antisymmetric matrix S with S * b = cross(a, b).

    Error: exact.
    Derivative: linear in `a`.

    >>> wp.skew(wp.vec3(1.0, 2.0, 3.0)) * wp.vec3(0.0, 0.0, 1.0)
    vec3f([2.0, -1.0, 0.0])
    """
    zero = T(0)
    return Mat[3, 3, T](zero, prim.neg(a[2]), a[1], a[2], zero, prim.neg(a[0]), prim.neg(a[1]), a[0], zero)


@builtin
def cw_mul(a: Vec[N, T], b: Vec[N, T]) -> Vec[N, T]:
    """Componentwise product.

    Args:
        a: a vector or matrix.
        b: another of the same type.

    Returns:
        The components a[i] * b[i].

    Error: one rounding.
    Derivative: `b` in `a`, `a` in `b`, componentwise.

    >>> wp.cw_mul(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    vec2f([3.0, 8.0])
    """
    return prim.mul(a, b)


@builtin(name="cw_mul")
def _cw_mul_matrix(a: Mat[M, N, T], b: Mat[M, N, T]) -> Mat[M, N, T]:
    return prim.mul(a, b)


@builtin
def cw_div(a: Vec[N, T], b: Vec[N, T]) -> Vec[N, T]:
    """Componentwise quotient.

    Args:
        a: a vector or matrix.
        b: another of the same type.

    Returns:
        The components a[i] / b[i].

    Error: one rounding.
    Derivative: 1 / b in `a`, -a / b**2 in `b`, componentwise.

    >>> wp.cw_div(wp.vec2(1.0, 6.0), wp.vec2(2.0, 3.0))
    vec2f([0.5, 2.0])
    """
    return prim.div(a, b)


@builtin(name="cw_div")
def _cw_div_matrix(a: Mat[M, N, T], b: Mat[M, N, T]) -> Mat[M, N, T]:
    return prim.div(a, b)


@builtin
def argmin(a: Vec[N, T]) -> uint32:
    """Index of the smallest component.

    Args:
        a: a vector.

    Returns:
        The index, a uint32; the first of equal ones. NaN counts only if all are.

    Derivative: none.

    >>> int(wp.argmin(wp.vec3(3.0, 1.0, 1.0)))
    1
    """
    best, index = a[0], uint32(0)
    for i in range(1, N):
        is_better = prim.bit_or(a[i] < best, prim.bit_and(best != best, a[i] == a[i]))
        index = prim.select(is_better, uint32(i), index)
        best = prim.select(is_better, a[i], best)
    return index


@builtin
def argmax(a: Vec[N, T]) -> uint32:
    """Index of the largest component.

    Args:
        a: a vector.

    Returns:
        The index, a uint32; the first of equal ones. NaN counts only if all are.

    Derivative: none.

    >>> int(wp.argmax(wp.vec3(1.0, 3.0, 3.0)))
    1
    """
    best, index = a[0], uint32(0)
    for i in range(1, N):
        is_better = prim.bit_or(a[i] > best, prim.bit_and(best != best, a[i] == a[i]))
        index = prim.select(is_better, uint32(i), index)
        best = prim.select(is_better, a[i], best)
    return index


@builtin(name="min")
def _min_component(a: Vec[N, T]) -> T:
    best = a[0]
    for i in range(1, N):
        best = prim.minnum(best, a[i])
    return best


@builtin(name="min")
def _min_vectors(a: Vec[N, T], b: Vec[N, T]) -> Vec[N, T]:
    return prim.minnum(a, b)


@builtin(name="max")
def _max_component(a: Vec[N, T]) -> T:
    best = a[0]
    for i in range(1, N):
        best = prim.maxnum(best, a[i])
    return best


@builtin(name="max")
def _max_vectors(a: Vec[N, T], b: Vec[N, T]) -> Vec[N, T]:
    return prim.maxnum(a, b)


@builtin(name="abs")
def _abs_vector(x: Vec[N, T]) -> Vec[N, T]:
    return prim.abs(x)


@builtin(name="sign")
def _sign_vector(x: Vec[N, T]) -> Vec[N, T]:
    return Vec[N, T]([sign(x[i]) for i in range(N)])


@builtin(name="lerp")
def _lerp_vector(a: Vec[N, F], b: Vec[N, F], t: F) -> Vec[N, F]:
    return a * (F(1.0) - t) + b * t


@builtin(name="lerp")
def _lerp_matrix(a: Mat[M, N, F], b: Mat[M, N, F], t: F) -> Mat[M, N, F]:
    return a * (F(1.0) - t) + b * t


@builtin(name="lerp")
def _lerp_quat(a: Quat[F], b: Quat[F], t: F) -> Quat[F]:
    return a * (F(1.0) - t) + b * t


@builtin(name="lerp")
def _lerp_transform(a: Transform[F], b: Transform[F], t: F) -> Transform[F]:
    return a * (F(1.0) - t) + b * t


@builtin(name="isfinite")
def _isfinite_vector(x: Vec[N, F]) -> boolean:
    return all(isfinite(x[i]) for i in range(N))


@builtin(name="isfinite")
def _isfinite_quat(x: Quat[F]) -> boolean:
    return all(isfinite(x[i]) for i in range(4))


@builtin(name="isfinite")
def _isfinite_matrix(x: Mat[M, N, F]) -> boolean:
    return all(isfinite(x[i, j]) for i in range(M) for j in range(N))


@builtin(name="isnan")
def _isnan_vector(x: Vec[N, F]) -> boolean:
    return any(isnan(x[i]) for i in range(N))


@builtin(name="isnan")
def _isnan_quat(x: Quat[F]) -> boolean:
    return any(isnan(x[i]) for i in range(4))


@builtin(name="isnan")
def _isnan_matrix(x: Mat[M, N, F]) -> boolean:
    return any(isnan(x[i, j]) for i in range(M) for j in range(N))


@builtin(name="isinf")
def _isinf_vector(x: Vec[N, F]) -> boolean:
    return any(isinf(x[i]) for i in range(N))


@builtin(name="isinf")
def _isinf_quat(x: Quat[F]) -> boolean:
    return any(isinf(x[i]) for i in range(4))


@builtin(name="isinf")
def _isinf_matrix(x: Mat[M, N, F]) -> boolean:
    return any(isinf(x[i, j]) for i in range(M) for j in range(N))
