"""Partitions: some cells of a geometry with their sides, as when each process has a part. Start with
`ExplicitGeometryPartition`.

A side belongs to the part of its first cell. It is on the frontier of a part that has one of its two cells.
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
from ..index_types import NULL_ELEMENT_INDEX
from .cell_geometry import Geometry, forget
from .kernel_arguments import PartArguments

__all__ = [
    *("CellBasedGeometryPartition", "ExplicitGeometryPartition", "GeometryPartition", "LinearGeometryPartition"),
]


class GeometryPartition(PartArguments):
    """A part of a geometry. This class is all of it; others derive from it.

    Args:
        geometry: The geometry.

    >>> wp.fem.GeometryPartition(wp.fem.Grid2D(res=(2, 2))).cell_count()
    4
    """

    def __init__(self, geometry: Geometry):
        if not isinstance(geometry, Geometry):
            raise TypeError(f"{type(self).__name__}: expected a geometry, got {type(geometry).__name__}")
        self.geometry = geometry

    @property
    def is_whole(self) -> bool:
        """True if it has all cells, and no frontier."""
        return self.has_cell is None

    @property
    def has_cell(self) -> np.ndarray | None:
        """True for each cell of the geometry that it has; None if it is the whole geometry."""
        return None

    @property
    def name(self) -> str:
        """The name of the geometry and of the class."""
        return self.geometry.name if self.is_whole else f"{self.geometry.name}_{type(self).__name__}"

    @cached_property
    def cells(self) -> np.ndarray | None:
        """Its cells; None for all of them."""
        return None if self.has_cell is None else np.flatnonzero(self.has_cell).astype(np.int32)

    max_cell_count = -1  # how many cells it counts, at most those of the geometry; as many as it has if negative
    max_side_count = -1  # the same for sides; without any if 0

    @cached_property
    def sides(self) -> np.ndarray | None:
        """The sides whose first cell it has; None for all of them."""
        if self.max_side_count == 0:
            return np.empty(0, dtype=np.int32)
        return None if self.has_cell is None else _numbers(self.has_cell[self.geometry.sides.cells])

    @cached_property
    def boundary_sides(self) -> np.ndarray:
        """Its sides that belong to one cell alone."""
        found = _numbers(self.geometry.sides.is_boundary)
        return found if self.sides is None else np.intersect1d(found, self.sides)

    @cached_property
    def frontier_sides(self) -> np.ndarray:
        """The sides of which it has one of two cells."""
        sides = self.geometry.sides
        if self.has_cell is None or self.max_side_count == 0:
            return np.empty(0, dtype=np.int32)
        has_one = self.has_cell[sides.cells] != self.has_cell[sides.others]
        return _numbers(has_one & ~sides.is_boundary)

    @cached_property
    def kernel_cells(self) -> array:  # type: ignore[override]
        """Its cells, as kernels read them, and NULL_ELEMENT_INDEX up to `cell_count`; empty for all of them."""
        found = np.empty(0, dtype=np.int32)
        if self.cells is not None:
            found = np.full(self.cell_count(), NULL_ELEMENT_INDEX, dtype=np.int32)
            found[: len(self.cells)] = self.cells
        return array(found, dtype=int32, device=self.geometry.device)

    @cached_property
    def cell_places(self) -> array:  # type: ignore[override]
        """Where each cell of the geometry is among those of the part, as kernels read it; empty for all cells."""
        found = np.empty(0, dtype=np.int32)
        if self.cells is not None:
            found = np.full(self.geometry.cell_count(), NULL_ELEMENT_INDEX, dtype=np.int32)
            found[self.cells] = np.arange(len(self.cells))
        return array(found, dtype=int32, device=self.geometry.device)

    def cell_count(self) -> int:
        """Number of cells."""
        if self.cells is None:
            return self.geometry.cell_count()
        return self._counted("max_cell_count", len(self.cells), self.geometry.cell_count)

    def side_count(self) -> int:
        """Number of sides: those whose first cell it has."""
        return self.geometry.side_count() if self.sides is None else self._counted_sides(self.sides)

    def boundary_side_count(self) -> int:
        """Number of its sides that belong to one cell alone."""
        return self._counted_sides(self.boundary_sides)

    def frontier_side_count(self) -> int:
        """Number of sides of which it has one of two cells."""
        return self._counted_sides(self.frontier_sides)

    def _counted_sides(self, sides: np.ndarray) -> int:
        return self._counted("max_side_count", len(sides), self.geometry.side_count)

    def _counted(self, limit: str, found: int, there: Callable[[], int]) -> int:
        """The number that a program asked for, or how many there are. Raises ValueError if there are more."""
        most = getattr(self, limit)
        if most < 0:
            return found
        if found > most:
            raise ValueError(f"{type(self).__name__}: {limit}={most}: the part has {found}")
        return min(most, there())


def _numbers(mask: np.ndarray) -> np.ndarray:
    return np.flatnonzero(mask).astype(np.int32)


class CellBasedGeometryPartition(GeometryPartition):
    """A part that is given by its cells: what `ExplicitGeometryPartition` and `LinearGeometryPartition` derive from."""

    def __init__(self, geometry: Geometry, has_cell: np.ndarray):
        super().__init__(geometry)
        self._has_cell = has_cell

    @property
    def has_cell(self) -> np.ndarray:
        """True for each cell of the geometry that it has."""
        return self._has_cell


class ExplicitGeometryPartition(CellBasedGeometryPartition):
    """The part of the cells that a mask picks.

    Args:
        geometry: The geometry.
        cell_mask: An integer for each cell: 0 for those that are left out.
        max_cell_count: How many cells `cell_count` returns, at most those of the geometry. Kernels of programs see
            NULL_ELEMENT_INDEX for cells that are not there. As many as the part has if negative.
        max_side_count: The same for sides. If 0, the part has no sides, and its nodes no halo.
        temporary_store: Without effect.

    >>> geometry = wp.fem.Grid2D(res=(2, 2))
    >>> part = wp.fem.ExplicitGeometryPartition(geometry, wp.array([1, 1, 0, 0], dtype=int))
    >>> part.cell_count(), part.frontier_side_count()
    (2, 2)
    """

    def __init__(
        self,
        geometry: Geometry,
        cell_mask: array,
        max_cell_count: int = -1,
        max_side_count: int = -1,
        temporary_store: Any = None,
    ):
        super().__init__(geometry, _picked(geometry, cell_mask))
        self.max_cell_count, self.max_side_count = max_cell_count, max_side_count
        self.cell_count()  # checks the number

    def rebuild(self, cell_mask: array, temporary_store: Any = None) -> None:
        """Take other cells. Domains and nodes from before are those of the cells before: make them again.

        Args:
            cell_mask: An integer for each cell: 0 for those that are left out.
            temporary_store: Without effect.

        >>> geometry = wp.fem.Grid2D(res=(2, 2))
        >>> part = wp.fem.ExplicitGeometryPartition(geometry, wp.array([1, 1, 0, 0], dtype=int))
        >>> part.rebuild(wp.array([1, 1, 1, 0], dtype=int))
        >>> part.cell_count()
        3
        """
        self._has_cell = _picked(self.geometry, cell_mask)
        forget(self)
        self.cell_count()


def _picked(geometry: Geometry, cell_mask: Any) -> np.ndarray:
    """True for each cell that a mask picks. Raises TypeError, ValueError."""
    if not isinstance(cell_mask, array) or wc_type(cell_mask.dtype) not in (I32, BOOL):
        raise TypeError(f"ExplicitGeometryPartition: cell_mask: expected an array of int32, got {_told(cell_mask)}")
    count = geometry.cell_count()
    if cell_mask.shape != (count,):
        raise ValueError(f"ExplicitGeometryPartition: cell_mask: expected {count} elements, got {cell_mask.shape}")
    return cell_mask.numpy() != 0


def _told(given: Any) -> str:
    return f"one of {given.dtype.__name__}" if isinstance(given, array) else type(given).__name__


class LinearGeometryPartition(CellBasedGeometryPartition):
    """One of several parts of about as many cells, in the order of their numbers.

    Attributes:
        cell_begin: Its first cell.
        cell_end: The cell behind its last one.

    Args:
        geometry: The geometry.
        partition_rank: Which part, from 0.
        partition_count: How many parts.
        device: Without effect.
        temporary_store: Without effect.

    >>> geometry = wp.fem.Grid2D(res=(4, 2))
    >>> [wp.fem.LinearGeometryPartition(geometry, rank, 3).cell_count() for rank in range(3)]
    [3, 3, 2]
    """

    def __init__(
        self,
        geometry: Geometry,
        partition_rank: int,
        partition_count: int,
        device: Any = None,
        temporary_store: Any = None,
    ):
        if not 0 <= partition_rank < partition_count:
            raise ValueError(
                f"LinearGeometryPartition: partition_rank={partition_rank}: expected one of 0 to {partition_count - 1}"
            )
        count = geometry.cell_count()
        in_each = -(-count // partition_count)
        self.cell_begin = min(partition_rank * in_each, count)
        self.cell_end = min(self.cell_begin + in_each, count)
        super().__init__(geometry, np.arange(count) // in_each == partition_rank)
