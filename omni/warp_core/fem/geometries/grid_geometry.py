"""Grids of equal boxes: `Grid2D` and `Grid3D`. All cells have the same derivative, so that kernels read no vertices."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,no-redef"

import itertools
from functools import cache, cached_property
from typing import Any

import numpy as np

from ... import cw_div, diag, vec2, vec2i, vec3, vec3i  # type: ignore[attr-defined]
from ...devices.device import get_device
from ...lang.kernel import func
from ...lang.types import Scalar
from ...lang.values.scalars import float32
from ..kernel_records import record, scalar_class, vector_type
from .cell_geometry import Geometry, scalar_of
from .environments import EnvironmentParts, check_count, environment_of
from .lattice_lookup import grid_lookups
from .reference_cells import Element

__all__ = ["Grid2D", "Grid3D"]


@func
def position_2d(g: Any, cell: int, place: Any, coords: Any):
    """The position in a cell of a grid in the plane."""
    line = cell // g.columns
    x = type(coords[0])(line - environment_of(g, cell) * g.rows) + coords[0]
    y = type(coords[0])(cell - line * g.columns) + coords[1]
    return g.origin + type(g.origin)(x * g.size[0], y * g.size[1])


@func
def position_3d(g: Any, cell: int, place: Any, coords: Any):
    """The position in a cell of a grid in space."""
    line = cell // g.columns
    stacked = line // g.rows
    x = type(coords[0])(stacked - environment_of(g, cell) * g.layers) + coords[0]
    y = type(coords[0])(line - stacked * g.rows) + coords[1]
    z = type(coords[0])(cell - line * g.columns) + coords[2]
    return g.origin + type(g.origin)(x * g.size[0], y * g.size[1], z * g.size[2])


@func
def cell_of_grid(res: vec2i, cell: int):
    """Where a cell is along each axis, in a grid of so many cells."""
    return vec2i(cell // res[1], cell % res[1])


@func
def cell_of_grid(res: vec3i, cell: int):  # noqa: F811 - an overload
    """Where a cell is in space."""
    line = cell // res[2]
    return vec3i(line // res[1], line % res[1], cell % res[2])


@func
def jacobian(g: Any, cell: int, place: Any):
    """The derivative of positions by coordinates, the same in all cells."""
    return diag(g.size)


@func
def inverse_jacobian(g: Any, cell: int, place: Any):
    """The inverse of that."""
    return diag(cw_div(type(g.size)(type(g.size[0])(1.0)), g.size))


@func
def environment_of_cell(g: Any, cell: int):
    """The environment of a cell: all cells of one come before those of the next."""
    return cell // (g.layers * g.rows * g.columns)


@cache
def grid_record(dimension: int, scalar: Scalar, has_several: bool) -> Any:
    """What kernels need of a grid: its origin, the size of cells, how many there are in a row, and how many grids are
    at its place.
    """
    environments = EnvironmentParts.counted(environment_of_cell, {}) if has_several else EnvironmentParts.of(False)
    vector = vector_type(dimension, scalar)
    positions = {2: position_2d, 3: position_3d}[dimension]
    supplies = {"position_at": positions, "jacobian_at": jacobian, "inverse_at": inverse_jacobian}
    return record(
        f"Grid{dimension}D{environments.suffix}",
        {"origin": vector, "size": vector, "layers": int, "rows": int, "columns": int} | environments.fields,
        supplies | grid_lookups(dimension) | environments.supplies,
        environments.refuses,
    )


class _Grid(Geometry):
    """A grid of equal boxes. Cells and vertices are numbered along the last axis first."""

    get_cell = cell_of_grid

    def __init__(self, res: Any, lo: Any, hi: Any, scalar_type: Any, env_count: int):
        name, n = self.name, self.dimension
        self.counts = tuple(int(r) for r in res)
        if len(self.counts) != n or min(self.counts) < 1:
            raise ValueError(f"{name}: res={list(self.counts)}: expected {n} numbers of cells, each 1 or more")
        check_count(name, env_count)
        self._environment_count = int(env_count)
        self.scalar, self.device = scalar_of(scalar_type), get_device(None)
        self.scalar_type = scalar_class(self.scalar)
        self.bounds_lo = vector_type(n, self.scalar)(*([0.0] * n if lo is None else lo))
        self.bounds_hi = vector_type(n, self.scalar)(*([1.0] * n if hi is None else hi))
        if not all(b > a for a, b in zip(self.bounds_lo, self.bounds_hi)):
            raise ValueError(f"{name}: bounds_hi={list(self.bounds_hi)} must be above bounds_lo={list(self.bounds_lo)}")

    @property
    def res(self) -> Any:
        """Number of cells along each axis."""
        return (vec2i if self.dimension == 2 else vec3i)(*self.counts)

    @property
    def origin(self) -> Any:
        """The lower corner."""
        return self.bounds_lo

    @property
    def extents(self) -> Any:
        """The distance between the corners, along each axis."""
        return self.bounds_hi - self.bounds_lo

    @property
    def cell_size(self) -> Any:
        """The size of a cell along each axis."""
        return type(self.bounds_lo)(*(e / r for e, r in zip(self.extents, self.counts)))

    @property
    def strides(self) -> Any:
        """How far apart the numbers of cells are that are neighbours along each axis."""
        counts = (*self.counts[1:], 1)
        return type(self.res)(*(int(np.prod(counts[d:])) for d in range(self.dimension)))

    def build_bvh(self, device: Any = None) -> None:
        """Do nothing, for programs that call it on all geometries: a grid finds cells without a tree."""

    update_bvh = build_bvh

    def environment_count(self) -> int:
        """Number of environments."""
        return self._environment_count

    @cached_property
    def cell_environments(self) -> np.ndarray | None:
        """The environment of each cell, None if there is one environment."""
        environments = np.arange(self._environment_count, dtype=np.int32)
        return np.repeat(environments, np.prod(self.counts)) if len(environments) > 1 else None

    def cell_count(self) -> int:
        """Number of cells."""
        return self._environment_count * int(np.prod(self.counts))

    def vertex_count(self) -> int:
        """Number of vertices."""
        return self._environment_count * int(np.prod([r + 1 for r in self.counts]))

    def lattice(self, steps: int, width: int = 0) -> np.ndarray:
        """The numbers of the points of a lattice with so many steps in a cell: cells x points of a cell, both with the
        last axis first. Points of a cell are so many steps wide, more than a cell if they also belong to others. Each
        environment has points of its own, after those of the one before.
        """
        width = width or steps
        n = self.dimension
        cells = np.indices(self.counts).reshape(n, -1)
        points = np.array(list(itertools.product(range(width + 1), repeat=n))).T
        at = cells[:, :, None] * steps + points[:, None, :]
        shape = self._lattice_shape(steps, width)
        numbers = np.ravel_multi_index(tuple(at), shape).astype(np.int32)
        firsts = np.arange(self._environment_count, dtype=np.int32) * np.prod(shape, dtype=np.int32)
        return (firsts[:, None, None] + numbers).reshape(-1, len(points.T))

    def _lattice_shape(self, steps: int, width: int) -> list[int]:
        return [(r - 1) * steps + width + 1 for r in self.counts]

    def lattice_nodes(self, steps: int, width: int = 0) -> tuple[np.ndarray, int]:
        """The nodes of cells in the order of a lattice, and how many there are."""
        of_one = int(np.prod(self._lattice_shape(steps, width or steps)))
        return self.lattice(steps, width), self._environment_count * of_one

    @cached_property
    def cell_vertices(self) -> np.ndarray:
        """The vertices of each cell, in the order of the reference cell."""
        corners = self.cell.vertices.astype(int)
        return self.lattice(1)[:, np.ravel_multi_index(tuple(corners.T), [2] * self.dimension)]

    @cached_property
    def vertex_positions(self) -> np.ndarray:
        """The positions of vertices, on the host."""
        axes = [np.linspace(float(a), float(b), r + 1) for a, b, r in zip(self.bounds_lo, self.bounds_hi, self.counts)]
        found = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.dimension)
        return np.tile(found, (self._environment_count, 1))

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the grid."""
        counts, has_several = (1, *self.counts)[-3:], self._environment_count > 1
        environments = (self._environment_count,) if has_several else ()
        made = grid_record(self.dimension, self.scalar, has_several)
        return made(self.bounds_lo, self.cell_size, *counts, *environments)


class Grid2D(_Grid):
    """A grid of equal rectangles in the plane.

    Args:
        res: Number of cells along x and y.
        bounds_lo: The lower corner; (0, 0) if left out.
        bounds_hi: The upper corner; (1, 1) if left out.
        scalar_type: The type of numbers: `wp.float32` or `wp.float64`.
        env_count: Number of environments: so many independent grids at one place. Cells of the first one come first.

    >>> geo = wp.fem.Grid2D(res=(4, 2))
    >>> geo.cell_count(), geo.vertex_count(), geo.boundary_side_count()
    (8, 15, 12)
    """

    kind, dimension = Element.SQUARE, 2

    def __init__(
        self,
        res: vec2i,
        bounds_lo: vec2 | None = None,
        bounds_hi: vec2 | None = None,
        scalar_type: type = float32,
        env_count: int = 1,
    ):
        super().__init__(res, bounds_lo, bounds_hi, scalar_type, env_count)


class Grid3D(_Grid):
    """A grid of equal boxes in space.

    Args:
        res: Number of cells along x, y and z.
        bounds_lo: The lower corner; the origin if left out.
        bounds_hi: The upper corner; (1, 1, 1) if left out.
        scalar_type: The type of numbers: `wp.float32` or `wp.float64`.
        env_count: Number of environments: so many independent grids at one place. Cells of the first one come first.

    >>> wp.fem.Grid3D(res=(2, 2, 2)).cell_count()
    8
    """

    kind, dimension = Element.CUBE, 3

    def __init__(
        self,
        res: vec3i,
        bounds_lo: vec3 | None = None,
        bounds_hi: vec3 | None = None,
        scalar_type: type = float32,
        env_count: int = 1,
    ):
        super().__init__(res, bounds_lo, bounds_hi, scalar_type, env_count)
