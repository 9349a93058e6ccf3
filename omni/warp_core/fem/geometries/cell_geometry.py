"""Geometries: cells that are images of a reference cell, and their sides. Start with `Geometry`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...arrays.array import array
from ...lang.types import F32, F64, Scalar
from ...lang.values.scalars import int32
from ...lang.values.type_registry import wc_type
from .reference_cells import Element, ReferenceCell, edges_of, reference_cell


class SideTable(NamedTuple):
    """The sides of the cells of a geometry: of each, the first cell that has it, and the other one (-1: none)."""

    cells: np.ndarray
    facets: np.ndarray  # which side of the first cell
    others: np.ndarray

    @property
    def is_boundary(self) -> np.ndarray:
        """True where a side has one cell alone."""
        return self.others < 0


class Ways(NamedTuple):
    """How sides lie in cells, so that points of a side are points of its cells.

    Attributes:
        ends: Where the origin and the ends of the axes of a side are in the reference cell, of each way: ways x points
            x coordinates.
        which: The way of each side.
    """

    ends: np.ndarray
    which: np.ndarray


def scalar_of(scalar_type: Any) -> Scalar:
    """The number type of a geometry. Raises TypeError unless it is float32 or float64."""
    t = wc_type(scalar_type)
    if t not in (F32, F64):
        raise TypeError(f"scalar_type: expected wp.float32 or wp.float64, got {getattr(scalar_type, '__name__', t)}")
    assert isinstance(t, Scalar)
    return t


class Geometry:
    """Cells of one kind in the plane or in space.

    Attributes:
        dimension: Number of coordinates of positions.
        cell_dimension: Number of coordinates inside a cell.
        scalar_type: The type of numbers: `wp.float32` or `wp.float64`.
    """

    kind: Element
    dimension: int
    scalar: Scalar
    scalar_type: Any
    device: Any
    tree: Any = None  # over cells, for lookup by position
    least_order = 0  # of quadratures, for sizes of cells that are as good as their shapes

    @property
    def state(self) -> tuple[Any, ...]:
        """What records of the geometry depend on: objects that are others after a change."""
        return (self.tree,)

    @property
    def cell(self) -> ReferenceCell:
        """The reference cell."""
        return reference_cell(self.kind)

    @property
    def cell_dimension(self) -> int:
        """Number of coordinates inside a cell."""
        return self.cell.dimension

    @property
    def name(self) -> str:
        """The name of the class and the types of numbers."""
        return type(self).__name__

    def reference_cell(self) -> Element:
        """Return the kind of the cells."""
        return self.kind

    def reference_side(self) -> Element:
        """Return the kind of the sides."""
        return self.cell.facets[0].kind

    def cell_count(self) -> int:
        """Number of cells."""
        return len(self.cell_vertices)

    def environment_count(self) -> int:
        """Number of environments: independent simulations at one place."""
        return 1

    @property
    def cell_env(self) -> Any:
        """The environment of each cell as an array of int32, where a program gave one; None otherwise."""
        return None

    @property
    def cell_environments(self) -> np.ndarray | None:
        """The environment of each cell, on the host; None if there is one environment."""
        return None

    @cached_property
    def kernel_environments(self) -> tuple[Any, ...]:
        """What records that list the environments of cells have of these: see `EnvironmentParts.of`."""
        if self.cell_environments is None:
            return ()
        return self.environment_count(), array(self.cell_environments, dtype=int32, device=self.device)

    def vertex_count(self) -> int:
        """Number of vertices."""
        raise NotImplementedError

    def edge_count(self) -> int:
        """Number of edges of the cells."""
        pairs = np.sort(self.cell_vertices[:, edges_of(self.cell)].reshape(-1, 2), axis=1)
        return len(grouped(pairs)[0]) if len(pairs) else 0

    def side_count(self) -> int:
        """Number of sides: edges in the plane, faces in space."""
        return len(self.sides.cells)

    def boundary_side_count(self) -> int:
        """Number of sides that belong to one cell alone."""
        return int(self.sides.is_boundary.sum())

    @cached_property
    def known(self) -> dict[Any, dict[Any, Any]]:
        """What was found out for whole domains of the geometry, by their class."""
        return {}

    @cached_property
    def cell_vertices(self) -> np.ndarray:
        """The vertices of each cell."""
        raise NotImplementedError

    @cached_property
    def sides(self) -> SideTable:
        """The sides of the cells, in the order of the first cell that has each.

        Raises:
            ValueError: More than two cells share a side.
        """
        corners = [list(f.vertices) for f in self.cell.facets]
        listed = np.sort(self.cell_vertices[:, corners], axis=2)
        cells, facets = (a.ravel() for a in np.indices(listed.shape[:2]))
        first, groups, counts = grouped(listed.reshape(len(cells), -1))
        if (counts > 2).any() and self.cell_dimension == self.dimension:
            at = listed.reshape(len(cells), -1)[first[counts > 2][0]].tolist()
            raise ValueError(f"{self.name}: more than two cells share the side of the vertices {at}")
        last = np.empty(len(first), dtype=np.int64)
        last[groups] = np.arange(len(groups))
        others = np.where(counts > 1, cells[last], -1)
        return SideTable(cells[first].astype(np.int32), facets[first].astype(np.int32), others.astype(np.int32))

    @cached_property
    def ways(self) -> Ways:
        """How sides lie in their first cells."""
        return Ways(np.array([[f.origin, *(f.origin + f.tangents)] for f in self.cell.facets]), self.sides.facets)

    @cached_property
    def other_ways(self) -> Ways:
        """How sides lie in their other cells. Those on the boundary have any way."""
        sides, numbers = self.sides, np.zeros(self.side_count(), dtype=np.int32)
        inner = np.flatnonzero(~sides.is_boundary)
        corners = np.array([f.vertices[: self.cell_dimension] for f in self.cell.facets])
        shared = np.take_along_axis(self.cell_vertices[sides.cells[inner]], corners[sides.facets[inner]], axis=1)
        in_other = self.cell_vertices[sides.others[inner]]
        found = (in_other[:, None, :] == shared[:, :, None]).argmax(axis=2)
        ways, which = np.unique(found, axis=0, return_inverse=True)
        numbers[inner] = which.ravel()
        return Ways(self.cell.vertices[ways], numbers)

    def lattice_nodes(self, steps: int, width: int = 0) -> tuple[np.ndarray, int] | None:
        """The nodes of cells in the order of a lattice with so many steps in a cell, and how many there are. Nodes of a
        cell are so many steps wide, those of the cell alone if left out. None for geometries without lattices.
        """
        return None

    @property
    def vertex_positions(self) -> np.ndarray:
        """The positions of vertices, on the host."""
        raise NotImplementedError

    def positions_at(self, points: np.ndarray) -> np.ndarray:
        """The positions of points of each cell, on the host: cells x points x coordinates."""
        weights = self.cell.vertex_weights(points)
        return np.einsum("pv,cvd->cpd", weights, self.vertex_positions[self.cell_vertices])

    def positions_in(self, cells: np.ndarray, coords: np.ndarray) -> np.ndarray:
        """The positions of points, each in a cell, on the host: points x coordinates."""
        weights = self.cell.vertex_weights(coords)
        return np.einsum("pv,pvd->pd", weights, self.vertex_positions[self.cell_vertices[cells]])

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the geometry to sample it at some coordinates inside of cells, one row each; anywhere
        in cells with None.
        """
        raise NotImplementedError


def forget(owner: Any) -> None:
    """Drop what a geometry or a part of one found out about its cells, before these become others."""
    kept = [name for name in vars(owner) if isinstance(getattr(type(owner), name, None), cached_property)]
    for name in kept:
        del owner.__dict__[name]


class RecordCache:
    """Records that depend on a geometry or a field, by keys. Those from before a change of it are made again."""

    def __init__(self, owner: Any):
        self._owner = owner  # whose `state` says what it is like
        self._known: dict[Any, tuple[tuple[Any, ...], Any]] = {}

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what `make` returned for a key when the geometry or field was as it is."""
        state, known = self._owner.state, self._known.get(key)
        if known is None or any(a is not b for a, b in zip(known[0], state)):
            known = self._known[key] = state, make()
        return known[1]


def grouped(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal rows as groups in the order of their first rows: the first row of each, the group of each row, and how
    many rows each group has.
    """
    packed = rows[:, 0].astype(np.int64)
    for column in rows.T[1:]:  # a number for each prefix of a row, so that two columns at a time fit into 64 bits
        packed = np.unique(packed, return_inverse=True)[1].ravel() * (int(column.max()) + 2) + column + 1
    _, first, groups, counts = np.unique(packed, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[groups.ravel()], counts[order]
