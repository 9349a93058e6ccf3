"""Quotients and inverses where the last bits do not matter; on this device they are as good as the others."""

from __future__ import annotations

from ..lang.generics import F, M, Mat, N, Quat, Vec
from ..lang.registry import builtin
from .matrices import inverse


@builtin
def div_approx(a: F, b: F) -> F:
    """Quotient where the last bits do not matter.

    Args:
        a: dividend: a number, vector, matrix or quaternion.
        b: divisor: a number; or, under a number, one of these.

    Returns:
        a / b, componentwise.

    Error: correctly rounded on this device.
    Derivative: 1 / b in `a`, -a / b**2 in `b`.

    >>> wp.div_approx(1.0, 4.0)
    0.25
    """
    return a / b


@builtin(name="div_approx")
def _div_vector(a: Vec[N, F], b: F) -> Vec[N, F]:
    return a / b


@builtin(name="div_approx")
def _div_matrix(a: Mat[M, N, F], b: F) -> Mat[M, N, F]:
    return a / b


@builtin(name="div_approx")
def _div_quat(a: Quat[F], b: F) -> Quat[F]:
    return a / b


@builtin(name="div_approx")
def _div_by_vector(a: F, b: Vec[N, F]) -> Vec[N, F]:
    return a / b


@builtin(name="div_approx")
def _div_by_matrix(a: F, b: Mat[M, N, F]) -> Mat[M, N, F]:
    return a / b


@builtin(name="div_approx")
def _div_by_quat(a: F, b: Quat[F]) -> Quat[F]:
    return a / b


@builtin
def inverse_approx(x: F) -> F:
    """Reciprocal where the last bits do not matter.

    Args:
        x: a number, or a 2 x 2, 3 x 3 or 4 x 4 matrix.

    Returns:
        1 / x; `inverse(x)` of a matrix.

    Error: correctly rounded on this device; of a matrix as `inverse`.
    Derivative: -1 / x**2; of a matrix as `inverse`.

    >>> wp.inverse_approx(4.0)
    0.25
    """
    return F(1.0) / x


@builtin(name="inverse_approx")
def _inverse_approx2(x: Mat[2, 2, F]) -> Mat[2, 2, F]:
    return inverse(x)


@builtin(name="inverse_approx")
def _inverse_approx3(x: Mat[3, 3, F]) -> Mat[3, 3, F]:
    return inverse(x)


@builtin(name="inverse_approx")
def _inverse_approx4(x: Mat[4, 4, F]) -> Mat[4, 4, F]:
    return inverse(x)
