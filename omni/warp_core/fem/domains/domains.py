"""Domains: the elements that a form is integrated over. Cells of a geometry, its sides, or some of either.

Start with `GeometryDomain`. In kernels a domain is a record (domain_records.py), made for points inside of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang.types import BOOL, I32
from ...lang.values.scalars import int32
from ...lang.values.type_registry import wc_type
from ..geometries.cell_geometry import Geometry
from ..geometries.kernel_arguments import DomainArguments
from ..geometries.partitions import GeometryPartition
from ..geometries.reference_cells import Element, outward_normals, reference_cell
from ..index_types import ElementKind
from ..kernel_records import vector_type
from .domain_records import cells_record, sides_record
from .point_records import numbered_points_record, same_points_record

__all__ = ["BoundarySides", "Cells", "FrontierSides", "GeometryDomain", "Sides", "Subdomain"]


class GeometryDomain(DomainArguments):
    """Elements of a geometry, or of a part of it.

    Args:
        geometry: The geometry, or the part.

    Attributes:
        geometry: The geometry.
        geometry_partition: The part of it.
    """

    is_sides = False
    has_others = False  # whether some elements are between two cells

    def __init__(self, geometry: Geometry | GeometryPartition):
        if isinstance(geometry, Geometry):
            geometry = GeometryPartition(geometry)
        if not isinstance(geometry, GeometryPartition):
            raise TypeError(f"{type(self).__name__}: expected a geometry, got {type(geometry).__name__}")
        self.geometry_partition, self.geometry = geometry, geometry.geometry
        self._is_whole = geometry.is_whole
        self._known: dict[Any, Any] = {}  # what a part of a domain remembers

    @cached_property
    def element_indices(self) -> np.ndarray | None:
        """Which elements of the geometry; None for all of them."""
        return self.geometry_partition.cells

    @property
    def element_kind(self) -> ElementKind:
        """Whether elements are cells or sides."""
        return ElementKind.SIDE if self.is_sides else ElementKind.CELL

    def remember(self, key: Any, find: Callable[[], Any]) -> Any:
        """Return what `find` returned the first time for a key. Whole domains of a geometry share what they know."""
        known = self.geometry.known.setdefault(type(self), {}) if self._is_whole else self._known
        if key not in known:
            known[key] = find()
        return known[key]

    @property
    def name(self) -> str:
        """The name of the geometry or its part, and of the class."""
        return f"{self.geometry_partition.name}_{type(self).__name__}"

    @property
    def dimension(self) -> int:
        """Number of coordinates inside an element."""
        return self.geometry.cell_dimension - self.is_sides

    @property
    def kind(self) -> Element:
        """The kind of elements."""
        return self.geometry.cell.facets[0].kind if self.is_sides else self.geometry.kind

    @property
    def reference_element(self) -> Any:
        """The reference cell of elements."""
        return reference_cell(self.kind)

    def element_count(self) -> int:
        """Number of elements."""
        return self.geometry_element_count() if self.element_indices is None else len(self.element_indices)

    def geometry_element_count(self) -> int:
        """Number of elements of this kind in the whole geometry."""
        return self.geometry.cell_count()

    @cached_property
    def element_cells(self) -> np.ndarray:
        """The cell of each element."""
        every = np.arange(self.geometry.cell_count(), dtype=np.int32)
        return every if self.element_indices is None else every[self.element_indices]

    @cached_property
    def element_ways(self) -> np.ndarray:
        """In which way each element lies in its cell; 0 for cells."""
        return np.zeros(self.element_count(), dtype=np.int32)

    def node_count(self, of_cell: int) -> int:
        """How many nodes an element has, of cells that have so many: those of two cells, if sides are between them."""
        return of_cell

    def element_nodes(self, cell_nodes: np.ndarray) -> np.ndarray:
        """The nodes of each element, of those of cells."""
        return cell_nodes[self.element_cells]

    @cached_property
    def kernel_elements(self) -> array:  # type: ignore[override]
        """The elements as kernels read them; empty where they are all."""
        picked = np.empty(0, dtype=np.int32) if self.element_indices is None else self.element_indices
        return array(picked.astype(np.int32), dtype=int32, device=self.geometry.device)

    def cell_points(self, points: np.ndarray) -> np.ndarray:
        """Points of elements as points of cells: for each way to lie in a cell, all points."""
        return points

    def record(
        self, points: np.ndarray, weights: np.ndarray, is_free: bool = False, numbers: array | None = None
    ) -> Any:
        """What kernels need of the domain to sample it at the same points of each element. Samples of free records are
        not bound to these points. `numbers` are those of points, point x element, if they are not in order.
        """
        made, inner = self._points(points, weights, numbers), self.cell_points(points)
        return self._record(made, inner, is_free)

    def record_of_points(self, points: Any) -> Any:
        """What kernels need of the domain to sample it at other points in each element."""
        return self._record(points, np.zeros((0, self.dimension)), True)

    def _record(self, points: Any, inner: np.ndarray, is_free: bool) -> Any:
        common = self._common(points, inner, is_free)
        return self._kind(cells_record, common, is_free)(**common)

    def _points(self, points: np.ndarray, weights: np.ndarray, numbers: array | None) -> Any:
        g = self.geometry
        common = (
            array(_padded(points), dtype=vector_type(3, g.scalar), device=g.device),
            array(weights, dtype=g.scalar_type, device=g.device),
        )
        if numbers is None:
            return same_points_record(g.scalar)(*common)
        return numbered_points_record(g.scalar)(*common, numbers)

    def _kind(self, factory: Callable[..., Any], common: dict[str, Any], is_free: bool) -> Any:
        """The class of records of the domain."""
        g, classes = self.geometry, (type(common["geometry"]), type(common["points"]))
        return factory(*classes, g.scalar, g.cell_dimension, g.dimension, is_free)

    def _common(self, points: Any, inner: np.ndarray, is_free: bool) -> dict[str, Any]:
        """The fields that records of all domains have."""
        g = self.geometry
        return {
            "geometry": g.record(None if is_free else inner),
            "elements": self.kernel_elements,
            "places": self.geometry_partition.cell_places,
            "points": points,
            "cell_coords": array(_padded(inner), dtype=vector_type(3, g.scalar), device=g.device),
            "volume": self.reference_element.volume,
        }


def _padded(points: np.ndarray) -> np.ndarray:
    """Points with three coordinates."""
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


class Cells(GeometryDomain):
    """All cells of a geometry, or of a part of it.

    Args:
        geometry: The geometry, or the part.

    >>> wp.fem.Cells(wp.fem.Grid2D(res=(4, 2))).element_count()
    8
    """


class Sides(GeometryDomain):
    """All sides of a geometry: edges in the plane, faces in space. Fields are evaluated in the first cell of a side.

    Args:
        geometry: The geometry.

    >>> wp.fem.Sides(wp.fem.Grid2D(res=(4, 2))).element_count()
    22
    """

    is_sides = True

    @cached_property
    def element_indices(self) -> np.ndarray | None:
        """Which sides of the geometry; None for all of them."""
        return self.geometry_partition.sides

    def geometry_element_count(self) -> int:
        """Number of sides of the whole geometry."""
        return self.geometry.side_count()

    @cached_property
    def element_cells(self) -> np.ndarray:
        """The first cell of each side."""
        return self._of_elements(self.geometry.sides.cells)

    @cached_property
    def element_ways(self) -> np.ndarray:
        """In which way each side lies in its first cell."""
        return self._of_elements(self.geometry.ways.which)

    def _of_elements(self, table: np.ndarray) -> np.ndarray:
        return table if self.element_indices is None else table[self.element_indices]

    @cached_property
    def has_others(self) -> bool:  # type: ignore[override]
        """True if some of the elements are between two cells."""
        return bool((self._of_elements(self.geometry.sides.others) >= 0).any())

    @cached_property
    def _other_tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The other cell of each element, and how it lies there. On the boundary it is the first cell."""
        if not self.has_others:
            return self.element_cells, self.element_ways
        g = self.geometry
        others, ways = (self._of_elements(t) for t in (g.sides.others, g.other_ways.which))
        found = others >= 0
        ways = np.where(found, ways + len(g.ways.ends), self.element_ways)
        return np.where(found, others, self.element_cells), ways

    def node_count(self, of_cell: int) -> int:
        """How many nodes an element has, of cells that have so many."""
        return 2 * of_cell if self.has_others else of_cell

    def element_nodes(self, cell_nodes: np.ndarray) -> np.ndarray:
        """The nodes of each element, of those of cells: those of the first cell, then those of the other one."""
        nodes = cell_nodes[self.element_cells]
        return np.hstack([nodes, cell_nodes[self._other_tables[0]]]) if self.has_others else nodes

    @cached_property
    def _kernel_tables(self) -> dict[str, array]:
        names = "cells", "ways", "other_cells", "other_ways", "ranks"
        numbers = np.empty(0) if self.element_indices is None else self.element_indices
        ranks = np.argsort(numbers, kind="stable").astype(np.int32)
        tables = self.element_cells, self.element_ways, *self._other_tables, ranks
        return {n: array(t, dtype=int32, device=self.geometry.device) for n, t in zip(names, tables)}

    @cached_property
    def _ends(self) -> np.ndarray:
        """Where sides are in cells, of each way to lie in the first cell, then of each way to lie in another one."""
        g = self.geometry
        return np.concatenate([g.ways.ends, g.other_ways.ends]) if self.has_others else g.ways.ends

    def cell_points(self, points: np.ndarray) -> np.ndarray:
        """Points of sides as points of cells: for each way to lie in a cell, all points."""
        origins, tangents = self._ends[:, :1], self._ends[:, 1:] - self._ends[:, :1]
        return (origins + points @ tangents).reshape(-1, self.geometry.cell_dimension)

    def _record(self, points: Any, inner: np.ndarray, is_free: bool) -> Any:
        g, common, ends = self.geometry, self._common(points, inner, is_free), self._ends
        kind_of_axis, count = vector_type(g.cell_dimension, g.scalar), len(inner) // len(ends)
        columns = ends[:, 1] - ends[:, 0], ends[:, -1] - ends[:, 0], outward_normals(ends, g.cell.vertices.mean(axis=0))
        made = [array(np.repeat(t, count, axis=0), dtype=kind_of_axis, device=g.device) for t in columns]
        axes = {"first_axes": made[0], "last_axes": made[1], "normals": made[2]}
        kind = self._kind(sides_record, common, is_free)
        return kind(**common, **self._kernel_tables, **axes, cell_volume=g.cell.volume)


class BoundarySides(Sides):
    """The sides of a geometry that belong to one cell alone.

    Args:
        geometry: The geometry.

    >>> wp.fem.BoundarySides(wp.fem.Grid2D(res=(4, 2))).element_count()
    12
    """

    @cached_property
    def element_indices(self) -> np.ndarray:
        """Which sides of the geometry."""
        return self.geometry_partition.boundary_sides


class FrontierSides(Sides):
    """The sides between a part of a geometry and the rest of it.

    Args:
        geometry: The part.

    >>> grid = wp.fem.Grid2D(res=(4, 2))
    >>> wp.fem.FrontierSides(wp.fem.LinearGeometryPartition(grid, 0, 2)).element_count()
    2
    """

    @cached_property
    def element_indices(self) -> np.ndarray:
        """Which sides of the geometry."""
        return self.geometry_partition.frontier_sides


def Subdomain(
    domain: GeometryDomain,
    element_mask: array | None = None,
    element_indices: array | None = None,
    temporary_store: Any = None,
) -> GeometryDomain:
    """Return some elements of a domain, as a domain.

    Args:
        domain: The domain.
        element_mask: An integer or bool for each element of the domain; those of 0 are left out.
        element_indices: Which elements of the geometry; in place of a mask.
        temporary_store: Without effect.

    Raises:
        ValueError: Both or neither of the two, or one that does not fit the domain.

    >>> cells = wp.fem.Cells(wp.fem.Grid2D(res=(2, 2)))
    >>> wp.fem.Subdomain(cells, element_indices=wp.array([0, 3], dtype=int)).element_count()
    2
    """
    if (element_mask is None) == (element_indices is None):
        raise ValueError("Subdomain: give either element_mask or element_indices")
    every = domain.element_indices
    if every is None:
        every = np.arange(domain.geometry_element_count(), dtype=np.int32)
    if element_indices is not None:
        picked = _integers("element_indices", element_indices).numpy()
        if not np.isin(picked, every).all():
            raise ValueError(f"Subdomain: element {int(picked[~np.isin(picked, every)][0])} is not in {domain.name}")
    else:
        mask = _integers("element_mask", element_mask).numpy()
        if len(mask) != len(every):
            raise ValueError(f"Subdomain: element_mask has {len(mask)} elements, {domain.name} has {len(every)}")
        picked = every[mask != 0]
    made = (Sides if domain.is_sides else Cells)(domain.geometry_partition)
    made.element_indices, made._is_whole = picked.astype(np.int32), False
    return made


def _integers(name: str, given: Any) -> array:
    if not (isinstance(given, array) and given.ndim == 1 and wc_type(given.dtype) in (I32, BOOL)):
        raise TypeError(f"Subdomain: {name}: expected an array of int32, got {type(given).__name__}")
    return given
