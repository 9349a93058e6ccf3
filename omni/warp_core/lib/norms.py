"""Norms of vectors, among them those that grow like a square near zero and like a length far away."""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, N, Quat, Transform, Vec
from ..lang.registry import builtin
from .scalar_functions import sqrt
from .vectors import dot, length


@builtin
def norm_l1(v: Vec[N, F]) -> F:
    """Sum of magnitudes.

    Args:
        v: a vector, quaternion or transform.

    Returns:
        The sum of abs(v[i]), a scalar.

    Error: one rounding for each term.
    Derivative: the signs of the components, 1 at zero.

    >>> wp.norm_l1(wp.vec2(3.0, -4.0))
    7.0
    """
    total = prim.abs(v[0])
    for i in range(1, N):
        total += prim.abs(v[i])
    return total


@builtin(name="norm_l1")
def _l1_quat(v: Quat[F]) -> F:
    return norm_l1(Vec[4, F]([v[i] for i in range(4)]))


@builtin(name="norm_l1")
def _l1_transform(v: Transform[F]) -> F:
    return norm_l1(Vec[7, F]([v[i] for i in range(7)]))


@builtin
def norm_l2(v: Vec[N, F]) -> F:
    """Length of a vector; the same as `length`.

    Args:
        v: a vector or quaternion.

    Returns:
        sqrt(dot(v, v)), a scalar.

    Error: 2 ULP, as `length`.
    Derivative: v / length(v); 0 at zero.

    >>> wp.norm_l2(wp.vec2(3.0, -4.0))
    5.0
    """
    return length(v)


@builtin(name="norm_l2")
def _l2_quat(v: Quat[F]) -> F:
    return length(v)


@builtin
def _huber(square: F, delta: F) -> F:
    return prim.select(square <= delta * delta, F(0.5) * square, delta * (sqrt(square) - F(0.5) * delta))


@builtin
def _pseudo_huber(square: F, delta: F) -> F:
    return delta * sqrt(F(1.0) + square / (delta * delta))


@builtin
def norm_huber(v: Vec[N, F], delta: F = 1.0) -> F:
    """Huber norm: quadratic near zero, linear far away.

    Args:
        v: a vector or quaternion.
        delta: the length at which the two parts meet, positive.

    Returns:
        dot(v, v) / 2 up to length `delta`, else delta * (length(v) - delta / 2).

    Error: 4 ULP.
    Derivative: `v` up to length `delta`, else delta * normalize(v).

    >>> wp.norm_huber(wp.vec2(3.0, -4.0))
    4.5
    """
    return _huber(dot(v, v), delta)


@builtin(name="norm_huber")
def _huber_quat(v: Quat[F], delta: F = 1.0) -> F:
    return _huber(dot(v, v), delta)


@builtin
def norm_pseudo_huber(v: Vec[N, F], delta: F = 1.0) -> F:
    """Smooth relative of the length that does not vanish.

    Args:
        v: a vector or quaternion.
        delta: the value at zero, positive.

    Returns:
        delta * sqrt(1 + dot(v, v) / delta**2).

    Error: 4 ULP.
    Derivative: v / norm_pseudo_huber(v, delta).

    >>> wp.norm_pseudo_huber(wp.vec2(0.0, 0.0), 2.0)
    2.0
    """
    return _pseudo_huber(dot(v, v), delta)


@builtin(name="norm_pseudo_huber")
def _pseudo_huber_quat(v: Quat[F], delta: F = 1.0) -> F:
    return _pseudo_huber(dot(v, v), delta)


@builtin
def smooth_normalize(v: Vec[N, F], delta: F = 1.0) -> Vec[N, F]:
    """Direction of a vector, fading out smoothly towards zero.

    Args:
        v: a vector or quaternion.
        delta: the length at which fading out begins, positive.

    Returns:
        v / norm_pseudo_huber(v, delta).

    Error: 5 ULP.
    Derivative: that of the formula; continuous.

    >>> wp.smooth_normalize(wp.vec2(0.0, 0.0))
    vec2f([0.0, 0.0])
    """
    return v / norm_pseudo_huber(v, delta)


@builtin(name="smooth_normalize")
def _smooth_normalize_quat(v: Quat[F], delta: F = 1.0) -> Quat[F]:
    return v / norm_pseudo_huber(v, delta)
