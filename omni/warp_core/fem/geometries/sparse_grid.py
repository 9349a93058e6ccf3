"""Sparse grids: `Nanogrid` has a cell for each voxel of a volume. All cells have the same derivative, and the volume
finds the cell of a position.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

import itertools
from functools import cache, cached_property
from typing import Any

import numpy as np

from ... import floor, length, transpose, vec3i, vector, volume_lookup_index
from ...arrays.array import array
from ...lang.kernel import func
from ...lang.types import Scalar
from ...lang.values.scalars import float32, int32, uint64
from ...volumes.volume import Volume
from ..kernel_records import matrix_type, record, scalar_class, vector_type
from .cell_geometry import Geometry, scalar_of
from .lattice_lookup import clamped, coords_or_outside, in_cell, in_unit_cell, nearest_in_box, nearest_in_lattice
from .lattice_numbers import distinct
from .lookup import passes
from .reference_cells import Element

__all__ = ["Nanogrid"]


@func
def corner_of(g: Any, cell: int):
    """The lower corner of a cell in the lattice of voxels."""
    at = g.voxels[cell]
    return type(g.lower)(type(g.lower[0])(at[0]), type(g.lower[0])(at[1]), type(g.lower[0])(at[2]))


@func
def position(g: Any, cell: int, place: Any, coords: Any):
    """The position in a cell."""
    return g.origin + g.frame * (corner_of(g, cell) + coords)


@func
def jacobian(g: Any, cell: int, place: Any):
    """The derivative of positions by coordinates, the same in all cells."""
    return g.frame


@func
def inverse_jacobian(g: Any, cell: int, place: Any):
    """The inverse of that."""
    return g.inverse_frame


@func
def coords_in_voxel(g: Any, cell: int, x: Any):
    """The coordinates of a position in a cell, or beyond it."""
    return g.inverse_frame * (x - g.origin) - corner_of(g, cell)


@func
def voxel_at(g: Any, i: int, j: int, k: int):
    """The cell of a voxel, or -1."""
    return volume_lookup_index(g.volume, i, j, k)


@func
def edges(g: Any):
    """The size of a cell along each axis."""
    axes = transpose(g.frame)
    return vector(length(axes[0]), length(axes[1]), length(axes[2]))


@func
def extent(g: Any):
    """The largest number of voxels along an axis of the box around all."""
    return g.extent


@func
def find_voxel(g: Any, x: Any, guess: int, max_dist: Any, filter: Any, target: Any):
    """The cell and the coordinates of a position, or those of the nearest cell within a distance."""
    at = g.inverse_frame * (x - g.origin)
    inside = clamped(at, g.lower, g.upper)
    i, j, k = int(floor(inside[0])), int(floor(inside[1])), int(floor(inside[2]))
    coords, cell = in_cell(at, i, j, k), -1
    if coords == in_unit_cell(coords):
        cell = voxel_at(g, i, j, k)
        if cell >= 0 and not passes(filter, cell, target):
            cell = -1
    if cell < 0:
        cell, i, j, k = nearest_in_lattice(g, at, inside, max_dist, filter, target)
        coords = coords_or_outside(cell, in_unit_cell(in_cell(at, i, j, k)))
    return cell, coords


_SUPPLIES = {
    "position_at": position,
    "jacobian_at": jacobian,
    "inverse_at": inverse_jacobian,
    "coords_in": coords_in_voxel,
    "nearest_in": nearest_in_box,
    "cell_at": voxel_at,
    "edges_of": edges,
    "extent_of": extent,
    "find_cell": find_voxel,
}


def placement_fields(scalar: Scalar) -> dict[str, Any]:
    """The fields of records about where voxels are: see `SparseGrid`."""
    point, matrix = vector_type(3, scalar), matrix_type(3, 3, scalar)
    fields = {"volume": uint64, "voxels": array(dtype=vec3i), "frame": matrix, "inverse_frame": matrix}
    return fields | {"origin": point, "lower": point, "upper": point, "extent": int32}


@cache
def nanogrid_record(scalar: Scalar) -> Any:
    """What kernels need of a sparse grid: the volume, the voxels, and where they are."""
    return record("Nanogrid", placement_fields(scalar), _SUPPLIES)


def voxels_of(grid: Volume) -> np.ndarray:
    """The voxels of a volume, on the host."""
    return grid.get_voxels().numpy().reshape(-1, 3).astype(np.int32)


def placement_of(grid: Volume) -> tuple[np.ndarray, np.ndarray]:
    """The matrix from voxels to the world, and the place of voxel 0."""
    info = grid.get_grid_info()
    frame = np.array(info.transform_matrix, dtype=np.float64).reshape(3, 3)
    return frame, np.array(info.translation, dtype=np.float64)


class SparseGrid(Geometry):
    """A grid whose cells are voxels of a volume, or cubes of voxels.

    Attributes:
        cell_grid: The volume.
    """

    kind, dimension = Element.CUBE, 3

    def __init__(self, grid: Volume, scalar_type: type, cell_env: array | None, env_offsets: array | None):
        if not isinstance(grid, Volume):
            raise TypeError(f"{self.name}: grid: expected a wp.Volume, got {type(grid).__name__}")
        if cell_env is not None or env_offsets is not None:
            raise NotImplementedError(f"{self.name}: wp.fem has no environments yet; make one grid for each")
        self.cell_grid, self.device, self.scalar = grid, grid.device, scalar_of(scalar_type)
        self.scalar_type = scalar_class(self.scalar)
        self._read_voxels()

    def _read_voxels(self) -> None:
        self._voxels = voxels_of(self.cell_grid)
        if not len(self._voxels):
            raise ValueError(f"{self.name}: the volume has no voxels")

    @property
    def state(self) -> tuple[Any, ...]:
        """What records of the geometry depend on."""
        return self.tree, self._voxels

    @property
    def transform(self) -> Any:
        """The matrix from voxels to the world."""
        return self.cell_grid.get_grid_info().transform_matrix

    def cell_count(self) -> int:
        """Number of cells."""
        return len(self._voxels)

    @cached_property
    def _placement(self) -> tuple[np.ndarray, np.ndarray]:
        """The matrix from voxels to the world, and where the corner of voxel 0 is: a voxel is around its place."""
        frame, middle = placement_of(self.cell_grid)
        return frame, middle - frame @ np.full(3, 0.5)

    def _in_world(self, points: np.ndarray) -> np.ndarray:
        """The positions of points that are given in voxels."""
        frame, origin = self._placement
        return origin + points @ frame.T

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the grid."""
        return self._record

    def _placed(self, upper: np.ndarray) -> dict[str, Any]:
        """The fields of records about where voxels are, up to the upper corner of all."""
        frame, origin = self._placement
        point, matrix = vector_type(3, self.scalar), matrix_type(3, 3, self.scalar)
        lower = self._voxels.min(axis=0)
        return {
            "volume": self.cell_grid.id,
            "voxels": array(self._voxels, dtype=vec3i, device=self.device),
            "frame": matrix(*frame.ravel()),
            "inverse_frame": matrix(*np.linalg.inv(frame).ravel()),
            "origin": point(*origin),
            "lower": point(*lower),
            "upper": point(*upper),
            "extent": int((upper - lower).max()),
        }


class Nanogrid(SparseGrid):
    """A sparse grid: the voxels of a volume as cells. Nodes at the sides of voxels belong to all that touch them.

    Args:
        grid: The volume. Of `wp.Volume.allocate_by_voxels`, cells are its voxels; of others, all voxels of leaves.
        temporary_store: Without effect.
        scalar_type: The type of numbers: `wp.float32` or `wp.float64`.
        cell_env: None; environments are refused.
        env_offsets: None; environments are refused.
        rebuildable: Whether `rebuild` can put other voxels in place of these. The volume is then one that was made with
            `rebuildable=True`, or that programs rebuild themselves.

    Attributes:
        cell_grid: The volume.

    >>> voxels = wp.array([(0, 0, 0), (1, 0, 0), (5, 5, 5)], dtype=wp.vec3i)
    >>> geo = wp.fem.Nanogrid(wp.Volume.allocate_by_voxels(voxels, voxel_size=0.5))
    >>> geo.cell_count(), geo.vertex_count(), geo.boundary_side_count()
    (3, 20, 16)
    """

    def __init__(
        self,
        grid: Volume,
        temporary_store: Any = None,
        scalar_type: type = float32,
        cell_env: array | None = None,
        env_offsets: array | None = None,
        rebuildable: bool = False,
    ):
        super().__init__(grid, scalar_type, cell_env, env_offsets)
        self._is_rebuildable = rebuildable

    def rebuild(
        self,
        points: array,
        point_envs: array | None = None,
        *,
        status: array | None = None,
        point_mask: array | None = None,
    ) -> array | None:
        """Put other voxels in place of those of the volume, and of the cells. Domains, quadratures and spaces from
        before are those of the cells before: make them again.

        Args:
            points: The voxels, as `wp.Volume.allocate_by_voxels` takes them.
            point_envs: None; environments are refused.
            status: An array of one uint32 for a code, see `wp.Volume.rebuild`.
            point_mask: An int32 for each point; those of 0 are left out.

        Returns:
            `status`.

        Raises:
            RuntimeError: The geometry or the volume was not made to be rebuilt, or the points have no room.

        >>> voxels = wp.array([(0, 0, 0), (1, 0, 0)], dtype=wp.vec3i)
        >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=0.5, rebuildable=True)
        >>> geo = wp.fem.Nanogrid(volume, rebuildable=True)
        >>> geo.rebuild(wp.array([(4, 0, 0)], dtype=wp.vec3i))
        >>> geo.cell_count(), geo.vertex_count()
        (1, 8)
        """
        if point_envs is not None:
            raise NotImplementedError("Nanogrid.rebuild: wp.fem has no environments yet; leave point_envs out")
        self._check_rebuildable("rebuild")
        found = self.cell_grid.rebuild(points, status=status, point_mask=point_mask)
        self.rebuild_topology_from_cells()
        return found

    def rebuild_topology_from_cells(self) -> None:
        """Take the voxels that the volume has now as cells, after a program rebuilt it. See `rebuild`."""
        self._check_rebuildable("rebuild_topology_from_cells")
        self._forget()
        self._read_voxels()

    def _check_rebuildable(self, method: str) -> None:
        if not self._is_rebuildable:
            raise RuntimeError(
                f"Nanogrid.{method}: the grid stays as it is; write fem.Nanogrid(grid, rebuildable=True)"
            )

    def vertex_count(self) -> int:
        """Number of vertices."""
        return self._lattices(1)[1]

    def lattice_points(self, steps: int, width: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The points of a lattice with so many steps in a cell: all of them, x first, and those of each cell. Points of
        a cell are so many steps wide, those of the cell alone if left out.

        Raises:
            ValueError: Voxels lie too far apart for their points to have numbers.
        """
        offsets = np.array(list(itertools.product(range((width or steps) + 1), repeat=3)))
        points = (self._voxels.astype(np.int64)[:, None] * steps + offsets[None]).reshape(-1, 3)
        kept, which = distinct(points)
        return kept, which.reshape(len(self._voxels), -1)

    def _lattices(self, steps: int, width: int = 0) -> tuple[np.ndarray, int, np.ndarray]:
        """The nodes of cells on a lattice, how many there are, and where they are in voxels."""
        known = self.known.setdefault(Nanogrid, {})
        if (steps, width) not in known:
            points, numbers = self.lattice_points(steps, width)
            known[steps, width] = numbers.astype(np.int32), len(points), points / steps
        return known[steps, width]

    def lattice_nodes(self, steps: int, width: int = 0) -> tuple[np.ndarray, int]:
        """The nodes of cells in the order of a lattice, and how many there are."""
        return self._lattices(steps, width)[:2]

    @cached_property
    def cell_vertices(self) -> np.ndarray:
        """The vertices of each cell, in the order of the reference cell."""
        corners = self.cell.vertices.astype(int)
        return self._lattices(1)[0][:, np.ravel_multi_index(tuple(corners.T), [2] * 3)]

    @cached_property
    def vertex_positions(self) -> np.ndarray:
        """The positions of vertices, on the host."""
        return self._in_world(self._lattices(1)[2])

    @cached_property
    def _record(self) -> Any:
        return nanogrid_record(self.scalar)(**self._placed(self._voxels.max(axis=0) + 1))
