"""Quadratures: points of elements, and the weights with which an integral sums up what is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang.values.scalars import int32
from ..geometries.cell_geometry import RecordCache
from ..geometries.reference_cells import quadrature
from ..geometries.shape_functions import side_shape
from ..index_types import NULL_NODE_INDEX
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
    def _number_table(self) -> array | None:
        """The number of each point, point x element, as kernels read it; None if they are in the order of elements."""
        return None

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
        return self._records.get(
            is_free, lambda: self.domain.record(self.points, self.weights, is_free, self._number_table)
        )


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

    `s.qp_index` of a sample is the number of the node. Elements that have a node in common have points of one number.

    Args:
        domain: The domain.
        space: The space.
        basis_space: Its shape functions, in place of the space.
        space_partition: The part of the space whose numbers nodes get; otherwise they are those of the space.

    >>> geo = wp.fem.Grid2D(res=(2, 2))
    >>> quadrature = wp.fem.NodalQuadrature(wp.fem.Cells(geo), wp.fem.make_polynomial_space(geo))
    >>> quadrature.total_point_count(), quadrature.weights.tolist()
    (9, [0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self, domain: GeometryDomain, space: Any = None, basis_space: Any = None, space_partition: Any = None):
        basis = basis_space if basis_space is not None else space.basis
        on_element = side_shape(basis.shape) if domain.is_sides else basis.shape
        super().__init__(domain, on_element.nodes, on_element.nodal_weights())
        self.basis, self.numbered_by = basis, basis if space_partition is None else space_partition

    def total_point_count(self) -> int:
        """Number of nodes of the space, or of its part."""
        return self.numbered_by.node_count()

    def point_numbers(self) -> np.ndarray:
        """The number of each point, `s.qp_index`, in the order of elements."""
        return self.nodes_in(self.numbered_by).T.ravel()

    def nodes_in(self, of: Any) -> np.ndarray:
        """The number that each point has as a node of a space or of a part of it: point x element."""
        domain = self.domain
        found = of.cell_nodes[domain.element_cells[None], self._local_nodes()]
        if domain.is_sides and self.basis.degree:  # nodes are on whole sides of cells, not on parts of these
            found[:, domain.element_ways >= len(domain.geometry.cell.facets)] = NULL_NODE_INDEX
        return found

    def _local_nodes(self) -> np.ndarray:
        """Which node of its cell each point of each element is: point x element."""
        domain, count = self.domain, len(self.points)
        if not domain.is_sides:
            return np.arange(count)[:, None]
        distances = np.abs(domain.cell_points(self.points)[:, None] - self.basis.shape.nodes[None]).sum(axis=2)
        return distances.argmin(axis=1).reshape(-1, count)[domain.element_ways].T

    @property
    def _number_table(self) -> array:
        domain, of = self.domain, self.numbered_by
        if of is self.basis and not domain.is_sides and domain.element_indices is None:
            return of.node_table
        return domain.remember(
            ("numbers of nodes", of),
            lambda: array(np.ascontiguousarray(self.nodes_in(of)), dtype=int32, device=domain.geometry.device),
        )


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
