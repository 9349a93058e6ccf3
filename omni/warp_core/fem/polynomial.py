"""Points on the unit interval and their weights: `wp.fem.polynomial`. All of it is float64, on the host."""

from __future__ import annotations

import enum

import numpy as np

__all__ = ["Polynomial", "gauss_jacobi", "lagrange_scales", "points_1d", "quadrature_1d"]


class Polynomial(enum.Enum):
    """Families of points on an interval."""

    GAUSS_LEGENDRE = 0
    """Zeros of Legendre polynomials: the fewest points of a quadrature; without the ends."""
    LOBATTO_GAUSS_LEGENDRE = 1
    """The ends, and zeros of derivatives of Legendre polynomials."""
    EQUISPACED_CLOSED = 2
    """Equal distances, with the ends."""
    EQUISPACED_OPEN = 3
    """Equal distances, without the ends."""


def gauss_jacobi(count: int, power: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that integrate `(1 - x)**power * p(x)` from 0 to 1, for polynomials of degree 2 count - 1."""
    k = np.arange(count, dtype=np.float64)
    a = float(power)
    diagonal = np.full(count, -a / (a + 2.0))
    if power:
        diagonal[1:] = -(a * a) / ((2 * k[1:] + a) * (2 * k[1:] + a + 2))
    else:
        diagonal[:] = 0.0
    n = k[1:]
    off = 4 * n * n * (n + a) ** 2 / ((2 * n + a) ** 2 * (2 * n + a + 1) * (2 * n + a - 1))
    jacobi = np.diag(diagonal) + np.diag(np.sqrt(off), 1) + np.diag(np.sqrt(off), -1)
    points, vectors = np.linalg.eigh(jacobi)
    return (points + 1.0) / 2.0, vectors[0] ** 2 / (a + 1.0)


def points_1d(count: int, family: Polynomial = Polynomial.LOBATTO_GAUSS_LEGENDRE) -> np.ndarray:
    """The points of a family on the interval from 0 to 1, in ascending order."""
    if family is Polynomial.GAUSS_LEGENDRE:
        return gauss_jacobi(count, 0)[0]
    if family is Polynomial.EQUISPACED_OPEN:
        return (np.arange(count) + 1.0) / (count + 1.0)
    if count < 2:
        raise ValueError(f"{family}: the family has both ends of the interval, and so at least 2 points, not {count}")
    if family is Polynomial.EQUISPACED_CLOSED:
        return np.arange(count) / (count - 1.0)
    inner = np.polynomial.Legendre.basis(count - 1).deriv().roots()
    return (np.concatenate([[-1.0], np.sort(inner.real), [1.0]]) + 1.0) / 2.0


def quadrature_1d(point_count: int, family: Polynomial) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a family on the interval from 0 to 1, and the weights of the quadrature that they make.

    Args:
        point_count: How many points.
        family: Which points.

    >>> points, weights = wp.fem.polynomial.quadrature_1d(2, wp.fem.Polynomial.LOBATTO_GAUSS_LEGENDRE)
    >>> points.tolist(), weights.tolist()
    ([0.0, 1.0], [0.5, 0.5])
    """
    points = points_1d(point_count, family)
    basis = np.polynomial.legendre.legvander(2.0 * points - 1.0, point_count - 1)
    moments = np.zeros(point_count)
    moments[0] = 1.0  # of the Legendre polynomials, only the first has an integral
    return points, np.linalg.solve(basis.T, moments)


def lagrange_scales(coords: np.ndarray) -> np.ndarray:
    """Return the factors of Lagrange polynomials: 1 / prod(x_i - x_j) over all j other than i.

    Args:
        coords: The points.

    >>> wp.fem.polynomial.lagrange_scales([0.0, 1.0]).tolist()
    [-1.0, 1.0]
    """
    x = np.asarray(coords, dtype=np.float64)
    differences = x[:, None] - x[None, :]
    np.fill_diagonal(differences, 1.0)
    return 1.0 / differences.prod(axis=1)
