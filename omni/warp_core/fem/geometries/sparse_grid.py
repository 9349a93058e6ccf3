"""Sparse grids: `Nanogrid` has a cell for each voxel of a volume. Kernels see it as a record (sparse_records.py)."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

import itertools
from functools import cached_property
from typing import Any

import numpy as np

from ... import vec3i
from ...arrays.array import array
from ...arrays.factories import zeros
from ...lang.values.scalars import float32, int32
from ...volumes.allocation import placement_of as volume_placement
from ...volumes.grid_builder import Placement
from ...volumes.volume import Volume
from ..kernel_records import matrix_type, scalar_class, vector_type
from .cell_geometry import Geometry, forget, scalar_of
from .environment_voxels import PackedVoxels, environment_arrays, offsets_of, pack_voxels, report_invalid
from .environments import checked_environments
from .lattice_numbers import distinct
from .reference_cells import Element
from .sparse_records import nanogrid_record

__all__ = ["Nanogrid"]


def voxels_of(grid: Volume) -> np.ndarray:
    """The voxels of a volume, on the host."""
    return grid.get_voxels().numpy().reshape(-1, 3).astype(np.int32)


def placement_of(grid: Volume) -> tuple[np.ndarray, np.ndarray]:
    """The matrix from voxels to the world, and the place of voxel 0."""
    info = grid.get_grid_info()
    frame = np.array(info.transform_matrix, dtype=np.float64).reshape(3, 3)
    return frame, np.array(info.translation, dtype=np.float64)


class SparseGrid(Geometry):
    """A grid whose cells are voxels of a volume, or cubes of voxels. Environments are at places of their own in the
    volume, and their cells are at one place in the world.

    Attributes:
        cell_grid: The volume.
    """

    kind, dimension = Element.CUBE, 3

    def __init__(self, grid: Volume, scalar_type: type, cell_env: array | None, env_offsets: array | None):
        if not isinstance(grid, Volume):
            raise TypeError(f"{self.name}: grid: expected a wp.Volume, got {type(grid).__name__}")
        if (cell_env is None) != (env_offsets is None):
            raise ValueError(f"{self.name}: expected both of cell_env and env_offsets, or none of them")
        self.cell_grid, self.device, self.scalar = grid, grid.device, scalar_of(scalar_type)
        self.scalar_type = scalar_class(self.scalar)
        self._read_voxels()
        self._set_environments(cell_env, env_offsets)

    def _set_environments(self, cell_env: array | None, env_offsets: array | None) -> None:
        self._environment_count = 1 if env_offsets is None else len(env_offsets)
        count = None if env_offsets is None else self._environment_count
        self._cell_env = checked_environments(self.name, cell_env, count, self.cell_count())
        self._env_offsets = env_offsets
        offsets = offsets_of(self.name, env_offsets, self._environment_count, self._offset_step)
        self._offsets = np.zeros((1, 3), dtype=np.int64) if offsets is None else offsets
        self._local_voxels = self._voxels.astype(np.int64)
        if self._cell_env is not None:
            self._local_voxels -= self._offsets[self._cell_env.numpy()]

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

    _offset_step = 1  # what offsets are multiples of

    def environment_count(self) -> int:
        """Number of environments."""
        return self._environment_count

    @cached_property
    def cell_env(self) -> array:  # type: ignore[override]
        """The environment of each cell as an array of int32."""
        return zeros(self.cell_count(), dtype=int32, device=self.device) if self._cell_env is None else self._cell_env

    @cached_property
    def env_offsets(self) -> array:
        """How far each environment is moved in the volume, in voxels: `wp.vec3i`."""
        return zeros(1, dtype=vec3i, device=self.device) if self._env_offsets is None else self._env_offsets

    @cached_property
    def cell_environments(self) -> np.ndarray | None:
        """The environment of each cell, on the host; None if there is one environment."""
        return None if self._environment_count == 1 or self._cell_env is None else self._cell_env.numpy()

    @cached_property
    def _cell_ijk(self) -> array:  # programs for warp-lang read this name
        """The voxel of each cell in the volume: `wp.vec3i`."""
        return array(self._voxels, dtype=vec3i, device=self.device)

    def cell_count(self) -> int:
        """Number of cells."""
        return len(self._voxels)

    def _distinct(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points of a lattice in the world without repetitions, and which of them those of each cell are. Environments
        share none.

        Args:
            points: The points of each cell: cells x points x 3.
        """
        if self.cell_environments is None:
            kept, which = distinct(points.reshape(-1, 3))
        else:
            environments = np.broadcast_to(self.cell_environments[:, None, None], (*points.shape[:2], 1))
            kept, which = distinct(np.concatenate([environments, points], axis=2).reshape(-1, 4))
        return kept[:, -3:], which.reshape(points.shape[:2])

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
        lower, several = self._local_voxels.min(axis=0), self.kernel_environments
        environments: dict[str, Any] = dict(zip(("environment_count", "environments"), several))
        if several:
            environments["offsets"] = array(self._offsets.astype(np.int32), dtype=vec3i, device=self.device)
        return environments | {
            "volume": self.cell_grid.id,
            "voxels": array(self._local_voxels.astype(np.int32), dtype=vec3i, device=self.device),
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
        cell_env: The environment of each cell, int32; see `from_environment_voxels`.
        env_offsets: How far each environment is moved in the volume, in voxels: `wp.vec3i`.
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
        self._is_rebuildable, self._makes_offsets, self._guard_cells = rebuildable, False, 0

    @classmethod
    def from_environment_voxels(
        cls,
        points: array,
        point_envs: array,
        env_count: int,
        env_offsets: Any = None,
        *,
        point_mask: array | None = None,
        guard_cells: int = 3,
        voxel_size: Any = 1.0,
        translation: Any = (0.0, 0.0, 0.0),
        transform: Any = None,
        temporary_store: Any = None,
        scalar_type: type = float32,
        device: Any = None,
        rebuildable: bool = False,
        max_active_voxels: int | None = None,
        max_leaf_nodes: int | None = None,
        max_lower_nodes: int | None = None,
        max_upper_nodes: int | None = None,
        status: array | None = None,
    ) -> "Nanogrid":
        """Return a sparse grid of several environments: independent simulations at one place. Each has cells at its own
        voxels.

        Args:
            points: The voxels, or positions in the world: `wp.vec3i` or `wp.vec3`.
            point_envs: The environment of each point, int32. A rebuildable grid leaves out points of environments that
                are not there, and `status` says so.
            env_count: Number of environments.
            env_offsets: How far each environment is moved in the volume, in voxels; if left out, they follow each other
                along x.
            point_mask: An int32 for each point; those of 0 are left out.
            guard_cells: How many voxels stay free between environments in the volume.
            voxel_size: The distance of voxels.
            translation: The place of voxel (0, 0, 0).
            transform: A matrix of 3x3 from voxels to the world, in place of `voxel_size`.
            temporary_store: Without effect.
            scalar_type: The type of numbers: `wp.float32` or `wp.float64`.
            device: Where to put the volume. None is the current device.
            rebuildable: Whether `rebuild` can put other voxels in place of these.
            max_active_voxels: How many voxels to reserve room for, see `wp.Volume.allocate_by_voxels`.
            max_leaf_nodes: The same for leaves.
            max_lower_nodes: The same for lower nodes.
            max_upper_nodes: The same for upper nodes.
            status: An array of one uint32 for a code, see `wp.Volume.rebuild`.

        Raises:
            ValueError: `point_envs` has the number of no environment, or two environments have a voxel at one place of
                the volume.

        >>> voxels = wp.array([(0, 0, 0), (1, 0, 0), (0, 0, 0)], dtype=wp.vec3i)
        >>> geo = wp.fem.Nanogrid.from_environment_voxels(voxels, wp.array([0, 0, 1], dtype=int), 2)
        >>> geo.environment_count(), geo.cell_count(), geo.vertex_count()
        (2, 3, 20)
        """
        name = "Nanogrid.from_environment_voxels"
        placement = volume_placement(voxel_size if transform is None else None, translation, transform)
        offsets = offsets_of(name, env_offsets, env_count)
        packed = pack_voxels(
            *(name, points, point_envs, env_count, offsets, placement, point_mask, guard_cells),
            drops_invalid=rebuildable,
        )
        volume = packed.volume(
            placement,
            device,
            rebuildable=rebuildable,
            max_active_voxels=max_active_voxels,
            max_leaf_nodes=max_leaf_nodes,
            max_lower_nodes=max_lower_nodes,
            max_upper_nodes=max_upper_nodes,
            status=status,
        )
        report_invalid(status, packed)
        geo = cls(volume, None, scalar_type, *environment_arrays(packed, volume), rebuildable)
        geo._makes_offsets, geo._guard_cells = env_offsets is None, guard_cells
        return geo

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
            point_envs: The environment of each point, int32, where the grid has several. Points of environments that
                are not there are left out, and `status` says so.
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
        self._check_rebuildable("rebuild")
        if point_envs is None:
            if self._environment_count > 1:
                raise ValueError("Nanogrid.rebuild: expected point_envs, the environment of each point")
            if self._cell_env is None:
                self.cell_grid.rebuild(points, status=status, point_mask=point_mask)
                self._take_cells(None)
                return status
            point_envs = zeros(len(points), dtype=int32, device=self.device)
        self._take_cells(self._packed(points, point_envs, point_mask, status))
        return status

    def _packed(
        self, points: array, point_envs: array, point_mask: array | None, status: array | None
    ) -> PackedVoxels | None:
        """Put voxels of environments in place of those of the volume; None if they have no room there."""
        offsets = None if self._makes_offsets else self._offsets
        packed = pack_voxels(
            "Nanogrid.rebuild",
            *(points, point_envs, self._environment_count, offsets, Placement(*placement_of(self.cell_grid))),
            *(point_mask, self._guard_cells),
            drops_invalid=True,
        )
        voxels = array(packed.voxels.astype(np.int32), dtype=vec3i, device=self.device)
        self.cell_grid.rebuild(voxels, status=status)
        has_room = status is None or int(status.numpy()[0]) == Volume.REBUILD_SUCCESS
        report_invalid(status, packed)
        return packed if has_room else None

    def _take_cells(self, packed: PackedVoxels | None) -> None:
        """Take the voxels that the volume has now as cells."""
        forget(self)
        self._read_voxels()
        if packed is None:
            self._set_environments(self._cell_env, self._env_offsets)
        else:
            self._set_environments(*environment_arrays(packed, self.cell_grid))

    def rebuild_topology_from_cells(self) -> None:
        """Take the voxels that the volume has now as cells, after a program rebuilt it. See `rebuild`."""
        self._check_rebuildable("rebuild_topology_from_cells")
        self._take_cells(None)

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
        points = self._local_voxels[:, None] * steps + offsets[None]
        return self._distinct(points)

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
        made = nanogrid_record(self.scalar, self._environment_count > 1)
        return made(**self._placed(self._local_voxels.max(axis=0) + 1))
