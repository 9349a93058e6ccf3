"""Quadratures: points of elements, and the weights with which an integral sums up what is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..geometries.cell_geometry import RecordCache
from ..geometries.reference_cells import quadrature
from ..geometries.shape_functions import side_shape
from ..polynomial import Polynomial
from .domains import GeometryDomain
from .point_records import loose_points_record

__all__ = ["NodalQuadrature", "Quadrature", "RegularQuadrature"]


class Quadrature:
    """Points of elements and their weights, the same for all elements of a domain.

    Attributes:
        domain: The domain.
        points: Coordinates of the points, a row each.
        weights: The weights, whose sum is 1.
    """

    def __init__(self, domain: GeometryDomain, points: np.ndarray, weights: np.ndarray):
        self.domain, self.points, self.weights = domain, points, weights
        self._records = RecordCache(domain.geometry)

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def total_point_count(self) -> int:
        """Number of points in all elements."""
        return len(self.points) * self.domain.element_count()

    def max_points_per_element(self) -> int:
        """Number of points of an element."""
        return len(self.points)

    def point_numbers(self) -> np.ndarray:
        """The number of each point, `s.qp_index`, in the order of elements."""
        return np.arange(self.total_point_count())

    @property
    def cell_points(self) -> np.ndarray | None:
        """The points as points of cells, for each way in which an element lies in its cell; None if each element has
        its own.
        """
        return self.domain.cell_points(self.points)

    @property
    def launch_shape(self) -> tuple[int, int]:
        """The threads of a launch that evaluates each point."""
        return self.domain.element_count(), len(self.points)

    def record(self, is_free: bool = False) -> Any:
        """What kernels need to sample the domain at the points, or anywhere."""
        return self._records.get(is_free, lambda: self.domain.record(self.points, self.weights, is_free))


class RegularQuadrature(Quadrature):
    """A quadrature that is exact for polynomials up to a degree.

    Args:
        domain: The domain.
        order: The degree.
        family: Which points, in squares and cubes; `Polynomial.GAUSS_LEGENDRE` if left out, which takes the fewest.

    >>> quadrature = wp.fem.RegularQuadrature(wp.fem.Cells(wp.fem.Grid2D(res=(2, 2))), order=3)
    >>> quadrature.max_points_per_element(), quadrature.weights.tolist()
    (4, [0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self, domain: GeometryDomain, order: int, family: Polynomial | None = None):
        if not isinstance(order, (int, np.integer)) or order < 0:
            raise ValueError(f"order={order!r}: expected the degree of polynomials, an integer of 0 or more")
        self.order, self.family = int(order), family
        super().__init__(domain, *quadrature(domain.kind, int(order), family))


class NodalQuadrature(Quadrature):
    """A quadrature whose points are the nodes of a space, and whose weights are the integrals of its functions. Where
    some of these are not positive, as for triangles of degree 2, they are those of the squares of functions, scaled.

    Args:
        domain: The domain.
        space: The space.
        basis_space: Its shape functions, in place of the space.
        space_partition: Without effect: cells have the same points in all parts.

    >>> geo = wp.fem.Grid2D(res=(2, 2))
    >>> wp.fem.NodalQuadrature(wp.fem.Cells(geo), wp.fem.make_polynomial_space(geo)).weights.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, domain: GeometryDomain, space: Any = None, basis_space: Any = None, space_partition: Any = None):
        basis = basis_space if basis_space is not None else space.basis
        on_element = side_shape(basis.shape) if domain.is_sides else basis.shape
        super().__init__(domain, on_element.nodes, on_element.nodal_weights())


class LoosePoints(Quadrature):
    """Threads of an integrand that looks samples up: each has a number, `s.qp_index`, and belongs to no element.

    Args:
        domain: Where samples are looked up.
        count: How many.
    """

    cell_points = None

    def __init__(self, domain: GeometryDomain, count: int):
        self.domain, self._count = domain, count

    def total_point_count(self) -> int:
        """Number of threads."""
        return self._count

    @property
    def launch_shape(self) -> tuple[int, int]:
        """The threads of a launch."""
        return self._count, 1

    def record(self, is_free: bool = True) -> Any:
        """What kernels need to make the samples."""
        return self.domain.record_of_points(loose_points_record(self.domain.geometry.scalar)(self._count))
