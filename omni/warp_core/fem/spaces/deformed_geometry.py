"""Deformed geometries: the cells of another geometry, at positions that a field gives. So cells may be curved.

A field of degree 2 makes sides parabolas. As positions are values of a field, a tape differentiates by its nodes: this
is how shapes are optimised. Positions are looked up as in meshes, with searches for curved cells
(geometries/curved_cells.py). Start with `DeformedGeometry`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from ... import tid
from ...arrays.array import array, array1d
from ...arrays.factories import empty
from ...dispatch import observers
from ...lang.kernel import func, kernel
from ...lang.values.scalars import int32
from ...launches.launch import launch
from ..geometries.cell_geometry import Geometry, SideTable, Ways
from ..geometries.curved_cells import control_points, curved_faces, curved_searches, spread
from ..geometries.environments import EnvironmentParts
from ..geometries.mesh_geometry import inverse_in_space, inverse_in_surface
from ..geometries.mesh_lookup import (
    MESH_LOOKUPS,
    TREE_FIELDS,
    CellTree,
    SearchedCells,
    search_fields,
    search_tables,
)
from ..geometries.reference_cells import Element, reference_cell
from ..kernel_records import (
    jacobian_at,
    position_at,
    record,
    scalar_class,
    slopes_at,
    value_at,
    vector_type,
)

__all__ = ["DeformedGeometry"]

_NO_TREE = "the deformed geometry has no tree over its cells: make it with build_bvh=True, or call geometry.build_bvh()"
_ROUNDING = 1.0e-6  # of boxes, which are in float32
_UNKNOWN_DEGREE = 4  # of the polynomials that bound cells which a formula moves
_SLACK = 0.25  # by which their boxes are larger


@func
def position(g: Any, cell: int, place: Any, coords: Any):
    """The position that the field gives."""
    return value_at(g.field, cell, place, coords)


@func
def jacobian(g: Any, cell: int, place: Any):
    """The derivative of positions by coordinates."""
    return slopes_at(g.field, cell, place)


@func
def moved_position(g: Any, cell: int, place: Any, coords: Any):
    """The position moved by the field."""
    return position_at(g.base, cell, place, coords) + value_at(g.field, cell, place, coords)


@func
def moved_jacobian(g: Any, cell: int, place: Any):
    """The derivative of moved positions by coordinates."""
    return jacobian_at(g.base, cell, place) + slopes_at(g.field, cell, place)


@cache
def deformed_record(base: Any, field: Any, is_surface: bool, has_several: bool, searches: "Searches | None") -> Any:
    """What kernels need of a deformed geometry, given the class of records of the field, and of the geometry that it
    moves (None if the field has positions). `searches`: where positions are looked up.
    """
    functions = (position, jacobian) if base is None else (moved_position, moved_jacobian)
    supplies = dict(zip(("position_at", "jacobian_at"), functions))
    supplies["inverse_at"] = inverse_in_surface if is_surface else inverse_in_space
    own, environments = {} if base is None else {"base": base}, EnvironmentParts.of(has_several)
    name = f"Deformed{base.__name__ if base else ''}By{field.__name__}{environments.suffix}"
    fields = {"field": field} | own | environments.fields
    refuses = {"find_cell": _NO_TREE} | environments.refuses
    if searches is not None:
        name += searches.suffix
        fields |= searches.fields
        supplies |= searches.supplies
        refuses = environments.refuses if searches.has_tree else refuses
    return record(name, fields, supplies | environments.supplies, refuses)


class Searches(NamedTuple):
    """What a record has to find positions in cells."""

    kind: Element
    scalar: Any
    has_tree: bool

    @property
    def suffix(self) -> str:
        """The end of the name of the record."""
        return "_with_tree" * self.has_tree + "_to_search"

    @property
    def fields(self) -> dict[str, Any]:
        """The fields, after those of the geometry."""
        n = reference_cell(self.kind).dimension
        fields = search_fields(n, self.scalar) | {"spread": scalar_class(self.scalar)}
        return fields | (TREE_FIELDS if self.has_tree else {})

    @property
    def supplies(self) -> dict[str, Any]:
        """The functions of the searches."""
        return curved_searches(reference_cell(self.kind).is_simplex) | (MESH_LOOKUPS if self.has_tree else {})


@kernel
def write_positions(geometry: Any, cells: array1d(dtype=int), coords: array1d(dtype=Any), found: array1d(dtype=Any)):
    """Write the positions of points of cells."""
    i = tid()
    found[i] = position_at(geometry, cells[i], coords[i], coords[i])


class DeformedGeometry(SearchedCells, Geometry):
    """The cells of another geometry at other positions, which a field gives: see `make_deformed_geometry` of fields.

    Numbers of cells, sides, vertices and nodes are those of the other geometry. The positions follow the field: other
    values at its nodes move the cells.

    Args:
        field: A field of vectors: one with values at nodes (`space.make_field()`), or an `ImplicitField` with
            `grad_func`.
        relative: Whether the field is what positions are moved by; else it is the positions.
        build_bvh: Whether to build a tree over cells, which `fem.lookup` needs.

    Attributes:
        base: The other geometry.

    Raises:
        TypeError: The field is of another kind.
        ValueError: The values of the field are no positions.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def one(s: fem.Sample):
    ...     return 1.0
    >>> moves = fem.make_polynomial_space(fem.Grid2D(res=(2, 2)), dtype=wp.vec2).make_field()
    >>> moves.dof_values = [(x, 0.0) for x in moves.space.node_positions()[:, 0]]
    >>> wide = moves.make_deformed_geometry()
    >>> fem.integrate(one, domain=fem.Cells(wide))
    2.0
    """

    def __init__(self, field: Any, relative: bool = True, build_bvh: bool = False):
        if not getattr(field, "can_deform", False):
            raise TypeError(
                f"DeformedGeometry: expected a field of vectors, from space.make_field() with dtype=wp.vec2 or "
                f"wp.vec3, or a fem.ImplicitField with grad_func, got {type(field).__name__}"
            )
        base = field.geometry
        self.base, self.field, self.relative = base, field, relative
        self.kind, self.device = base.kind, base.device
        self.scalar, self.scalar_type = base.scalar, base.scalar_type
        self.least_order = 2 * max(field.degree - 1, 0)
        self.dimension = getattr(field.dtype, "_length_", base.dimension)
        if self.dimension < base.cell_dimension or (relative and self.dimension != base.dimension):
            raise ValueError(
                f"DeformedGeometry: positions in {base.name} have {base.dimension} coordinates, and the field has "
                f"{field.dtype.__name__}"
            )
        self._cell_size = 0.0
        if build_bvh:
            self.build_bvh()

    @property
    def degree(self) -> int:
        """The degree of positions as polynomials of coordinates."""
        return max(self.field.degree, getattr(self.base, "degree", 1) if self.relative else 0, 1)

    @property
    def is_polynomial(self) -> bool:
        """True if positions are polynomials of coordinates: no formula moves the cells."""
        return hasattr(self.field, "space") and (not self.relative or getattr(self.base, "is_polynomial", True))

    @property
    def state(self) -> tuple[Any, ...]:
        """What records depend on."""
        return *self.base.state, *self.field.state

    def cell_count(self) -> int:
        """Number of cells."""
        return self.base.cell_count()

    def environment_count(self) -> int:
        """Number of environments."""
        return self.base.environment_count()

    @property
    def cell_env(self) -> Any:
        """The environment of each cell, where a program gave one."""
        return self.base.cell_env

    @property
    def cell_environments(self) -> np.ndarray | None:
        """The environment of each cell, on the host; None if there is one environment."""
        return self.base.cell_environments

    def vertex_count(self) -> int:
        """Number of vertices."""
        return self.base.vertex_count()

    @cached_property
    def cell_vertices(self) -> np.ndarray:
        """The vertices of each cell."""
        return self.base.cell_vertices

    @cached_property
    def sides(self) -> SideTable:
        """The sides of the cells."""
        return self.base.sides

    @cached_property
    def ways(self) -> Ways:
        """How sides lie in their first cells."""
        return self.base.ways

    @cached_property
    def other_ways(self) -> Ways:
        """How sides lie in their other cells."""
        return self.base.other_ways

    def lattice_nodes(self, steps: int, width: int = 0) -> tuple[np.ndarray, int] | None:
        """The nodes of cells in the order of a lattice, and how many there are."""
        return self.base.lattice_nodes(steps, width)

    @property
    def vertex_positions(self) -> np.ndarray:
        """The positions of vertices, on the host; NaN for those that no cell has."""
        found = np.full((self.vertex_count(), self.dimension), np.nan)
        found[self.cell_vertices] = self.positions_at(self.cell.vertices)
        return found

    def _make_tree(self) -> CellTree:
        return CellTree(self.cell_count(), self._write_boxes, self.device)

    def _write_boxes(self, lowers: array, uppers: array) -> None:
        """Write the boxes around the control points of cells. A formula is no polynomial: its boxes are larger."""
        is_known = self.is_polynomial
        points, weights = control_points(self.kind, self.degree if is_known else max(self.degree, _UNKNOWN_DEGREE))
        controls = np.einsum("cp,npd->ncd", weights, self.positions_at(points))
        low, high = controls.min(axis=1), controls.max(axis=1)
        margin = np.maximum(np.abs(low), np.abs(high)).sum(axis=1, keepdims=True) * _ROUNDING
        margin = margin + (0.0 if is_known else _SLACK * (high - low).max(axis=1, keepdims=True))
        self._cell_size = float(np.linalg.norm(high - low, axis=1).max(initial=0.0))
        for box, corner in ((lowers, low - margin), (uppers, high + margin)):
            box.assign(np.pad(corner, ((0, 0), (0, 3 - self.dimension))).astype(np.float32))

    def positions_at(self, points: np.ndarray) -> np.ndarray:
        """The positions of points of each cell, on the host: cells x points x coordinates."""
        cells = np.repeat(np.arange(self.cell_count()), len(points))
        found = self.positions_in(cells, np.tile(points, (self.cell_count(), 1)))
        return found.reshape(self.cell_count(), len(points), self.dimension)

    def positions_in(self, cells: np.ndarray, coords: np.ndarray) -> np.ndarray:
        """The positions of points, each in a cell, on the host: points x coordinates."""
        padded = np.pad(coords, ((0, 0), (0, 3 - coords.shape[1])))
        at = array(padded, dtype=vector_type(3, self.scalar), device=self.device)
        found = empty(len(cells), dtype=vector_type(self.dimension, self.scalar), device=self.device)
        inputs = [self.record(None), array(cells, dtype=int32, device=self.device), at]
        with observers.NotRecording():
            launch(write_positions, len(cells), inputs, outputs=[found], device=self.device)
        return found.numpy()

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the geometry to sample it at some coordinates inside of cells, or anywhere."""
        field: Any = self.field.record(points)
        base: Any = (self.base.record(points),) if self.relative else ()
        kinds: Any = type(base[0]) if base else None, type(field)
        environments = self.kernel_environments
        searches = Searches(self.kind, self.scalar, self.tree is not None) if points is None else None
        kind = deformed_record(*kinds, self.cell_dimension < self.dimension, bool(environments), searches)
        return kind(field, *base, *environments, *(self._search_values() if searches else ()))

    def _search_values(self) -> tuple[Any, ...]:
        apart = spread(self.degree if self.is_polynomial else None, self.scalar)
        return *self._search_tables, self._cell_size, apart, *self._tree_arrays

    @cached_property
    def _search_tables(self) -> tuple[Any, ...]:
        return search_tables(curved_faces(self.cell), self.scalar, self.device)
