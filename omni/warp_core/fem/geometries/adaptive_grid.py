"""Adaptive sparse grids: cells of several sizes, small ones where a solution needs them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang.types import Scalar
from ...lang.values.scalars import float32, int32, uint8
from ...lang.values.type_registry import wc_type
from ...volumes.allocation import placement_of as volume_placement
from ...volumes.volume import Volume
from .adaptive_records import adaptive_record
from .adaptive_sides import adaptive_sides
from .cell_geometry import SideTable, Ways
from .environment_voxels import environment_arrays, offsets_of, pack_voxels
from .lattice_numbers import Lattice, Places
from .sparse_grid import SparseGrid

__all__ = ["AdaptiveNanogrid"]


class AdaptiveNanogrid(SparseGrid):
    """A sparse grid of cells of several sizes: a cell of level l is 2**l voxels wide along each axis.

    `fem.adaptive_nanogrid_from_field` and `fem.adaptive_nanogrid_from_hierarchy` make the volume and the levels.
    Cells share a node where a vertex, an edge or a side of both is the same. So functions are discontinuous across
    sides between cells of two sizes: forms with `fem.jump` over `fem.Sides(geometry)` couple these. There, the inner
    cell is the smaller one.

    Args:
        cell_grid: The volume, with a voxel at the lower corner of each cell.
        cell_level: The level of each cell, in the order of `cell_grid.get_voxels()`; 0 for the smallest ones.
        level_count: Number of levels.
        temporary_store: Without effect.
        scalar_type: The type of numbers: `wp.float32` or `wp.float64`.
        cell_env: The environment of each cell, int32; see `from_environment_voxels`.
        env_offsets: How far each environment is moved in the volume, in voxels: `wp.vec3i`. They are multiples of the
            width of the largest cells.

    Attributes:
        cell_grid: The volume.
        level_count: Number of levels.

    Raises:
        ValueError: A level is not one of 0 to level_count - 1, or cells overlap, or the corner of a cell is no multiple
            of its width.

    >>> corners = wp.array([(0, 0, 0), (2, 0, 0)], dtype=wp.vec3i)
    >>> volume = wp.Volume.allocate_by_voxels(corners, voxel_size=0.5)
    >>> geo = wp.fem.AdaptiveNanogrid(volume, wp.array([1, 0], dtype=wp.uint8), level_count=2)
    >>> geo.cell_count(), geo.vertex_count(), geo.side_count(), geo.boundary_side_count()
    (2, 15, 14, 13)
    """

    def __init__(
        self,
        cell_grid: Volume,
        cell_level: array,
        level_count: int,
        temporary_store: Any = None,
        scalar_type: type = float32,
        cell_env: array | None = None,
        env_offsets: array | None = None,
    ):
        self.level_count = int(level_count)
        super().__init__(cell_grid, scalar_type, cell_env, env_offsets)
        self._levels = _levels_of(cell_level, len(self._voxels), level_count)
        self._check_cells()

    @classmethod
    def from_environment_voxels(
        cls,
        points: array,
        cell_levels: array,
        point_envs: array,
        env_count: int,
        level_count: int,
        env_offsets: Any = None,
        *,
        point_mask: array | None = None,
        voxel_size: Any = 1.0,
        translation: Any = (0.0, 0.0, 0.0),
        transform: Any = None,
        temporary_store: Any = None,
        scalar_type: type = float32,
        device: Any = None,
    ) -> AdaptiveNanogrid:
        """Return an adaptive grid of several environments: independent simulations at one place.

        Args:
            points: The lower corners of cells, in voxels, or positions in the world: `wp.vec3i` or `wp.vec3`.
            cell_levels: The level of each cell, `wp.uint8`.
            point_envs: The environment of each cell, int32.
            env_count: Number of environments.
            level_count: Number of levels.
            env_offsets: How far each environment is moved in the volume, in voxels: multiples of the width of the
                largest cells. If left out, environments follow each other along x.
            point_mask: An int32 for each cell; those of 0 are left out.
            voxel_size: The distance of voxels, which are the smallest cells.
            translation: The place of voxel (0, 0, 0).
            transform: A matrix of 3x3 from voxels to the world, in place of `voxel_size`.
            temporary_store: Without effect.
            scalar_type: The type of numbers: `wp.float32` or `wp.float64`.
            device: Where to put the volume. None is the current device.

        Raises:
            ValueError: `point_envs` has the number of no environment, or an offset is no multiple of the width of the
                largest cells.

        >>> corners = wp.array([(0, 0, 0), (0, 0, 0)], dtype=wp.vec3i)
        >>> levels, of = wp.array([1, 0], dtype=wp.uint8), wp.array([0, 1], dtype=int)
        >>> geo = wp.fem.AdaptiveNanogrid.from_environment_voxels(corners, levels, of, 2, 2)
        >>> geo.environment_count(), geo.vertex_count()
        (2, 16)
        """
        name, step = "AdaptiveNanogrid.from_environment_voxels", 1 << max(level_count - 1, 0)
        placement = volume_placement(voxel_size if transform is None else None, translation, transform)
        offsets = offsets_of(name, env_offsets, env_count, step)
        packed = pack_voxels(
            name, points, point_envs, env_count, offsets, placement, point_mask, guard=2 * step, step=step
        )
        volume = packed.volume(placement, device)
        levels = _levels_of(cell_levels, len(packed.is_kept), level_count)[packed.is_kept]
        in_order = array(levels[packed.places_in(volume)], dtype=uint8, device=volume.device)
        return cls(volume, in_order, level_count, None, scalar_type, *environment_arrays(packed, volume))

    @property
    def _offset_step(self) -> int:  # type: ignore[override]
        return 1 << max(self.level_count - 1, 0)

    def _check_cells(self) -> None:
        """Raise ValueError if a cell is not where cells of its level can be, or is in another one."""
        sizes = self._sizes[:, None]
        at = np.flatnonzero((self._corners % sizes).any(axis=1))
        if len(at):
            corner, size = self._voxels[at[0]].tolist(), int(self._sizes[at[0]])
            raise ValueError(
                f"AdaptiveNanogrid: the cell at {corner} is {size} voxels wide, and {size} divides not all"
            )
        lattice = Lattice.around(self._corners)
        for level in np.unique(self._levels):
            large = np.flatnonzero(self._levels == level)
            small = np.flatnonzero(self._levels < level)
            found = Places(lattice, self._corners[large]).find((self._corners[small] >> level) << level)
            if (found >= 0).any():
                corner = self._voxels[small[found >= 0][0]].tolist()
                raise ValueError(f"AdaptiveNanogrid: the cell at {corner} is in a cell of {1 << level} voxels")

    @cached_property
    def _corners(self) -> np.ndarray:
        return self._voxels.astype(np.int64)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """How many voxels each cell is wide."""
        return np.int64(1) << self._levels

    @cached_property
    def _vertices(self) -> tuple[np.ndarray, np.ndarray]:
        """The vertices in voxels, and those of each cell in the order of the reference cell."""
        kept, which = self._distinct(
            self._local_voxels[:, None] + self._sizes[:, None, None] * self.cell.vertices.astype(np.int64)
        )
        return kept, which.astype(np.int32)

    def vertex_count(self) -> int:
        """Number of vertices."""
        return len(self._vertices[0])

    @cached_property
    def cell_vertices(self) -> np.ndarray:
        """The vertices of each cell, in the order of the reference cell."""
        return self._vertices[1]

    @cached_property
    def vertex_positions(self) -> np.ndarray:
        """The positions of vertices, on the host."""
        return self._in_world(self._vertices[0])

    @cached_property
    def _sides(self) -> tuple[SideTable, Ways, Ways]:
        found = adaptive_sides(self._corners, self._levels, self.cell)
        if self.cell_environments is not None:
            inner, others = self.cell_environments[found[0].cells], self.cell_environments[found[0].others]
            if (~found[0].is_boundary & (inner != others)).any():
                raise ValueError("AdaptiveNanogrid: env_offsets: cells of two environments touch in the volume")
        return found

    @property
    def sides(self) -> SideTable:  # type: ignore[override]
        """The sides of the cells, in the order of the first cell that has each; the smaller one of two."""
        return self._sides[0]

    @property
    def ways(self) -> Ways:  # type: ignore[override]
        """How sides lie in their first cells."""
        return self._sides[1]

    @property
    def other_ways(self) -> Ways:  # type: ignore[override]
        """How sides lie in their other cells."""
        return self._sides[2]

    @cached_property
    def _record(self) -> Any:
        sizes = array(self._sizes, dtype=int32, device=self.device)
        upper = (self._local_voxels + self._sizes[:, None]).max(axis=0)
        made = adaptive_record(self.scalar, self._environment_count > 1)
        return made(**self._placed(upper), sizes=sizes, levels=self.level_count)


def _levels_of(given: Any, count: int, level_count: int) -> np.ndarray:
    t = wc_type(given.dtype) if isinstance(given, array) else None
    if not (isinstance(t, Scalar) and t.is_int):
        got = f"one of {given.dtype.__name__}" if isinstance(given, array) else type(given).__name__
        raise TypeError(f"AdaptiveNanogrid: cell_level: expected an array of wp.uint8, got {got}")
    if given.shape != (count,):
        raise ValueError(f"AdaptiveNanogrid: cell_level: expected {count} levels, one for each cell, got {given.shape}")
    levels = given.numpy().astype(np.int64)
    if not 1 <= level_count <= 31 or levels.min() < 0 or levels.max() >= level_count:
        raise ValueError(
            f"AdaptiveNanogrid: cell_level: expected levels from 0 to level_count - 1 = {level_count - 1}, got "
            f"{levels.min()} to {levels.max()}"
        )
    return levels
