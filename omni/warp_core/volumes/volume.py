"""Volumes: sparse grids of voxels in NanoVDB's layout, which kernels look up and sample by their id."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import _native
from ..algo.argument_checks import integer, require_arrays
from ..arrays.array import array
from ..arrays.array import array as Array
from ..arrays.dtypes import element_of
from ..arrays.factories import empty
from ..arrays.layouts import byte_range
from ..arrays.transfer import copy
from ..devices.device import Device, get_device
from ..dispatch import capture
from ..eager.addressed_memory import register_arrays_of
from ..lang.annotations import Structure
from ..lang.values.scalars import uint64
from ..lang.values.value_classes import mat33f, vec3f, vec3i
from ..tape import structures
from . import derivatives, info, rebuilding
from .allocation import background_of, dense_leaves, dtype_of, leaves_around, placement_of, rows_as_array, vector
from .description import descriptors_on, outline_and_cells, write_descriptor
from .features import TYPE_NAMES, feature_dtype
from .grid_builder import BuiltGrid, GridPlan, Placement
from .grid_files import grid_bytes, source_of
from .grid_memory import aligned, build, bytes_at, host_view, refuse_capture
from .grid_tree import GridTree, count_voxels, read_grid, read_header, voxels_of
from .layout import ON_INDEX, VALUE_TYPES, ValueType
from .nvdb_file import write_grids
from .variable_bits import with_equal_leaves
from .vdb.vdb_conversion import grid_buffer_of, index_buffer_of
from .vdb.vdb_file import read_vdb
from .vdb.vdb_writer import write_vdb
from .voxel_values import values_in, values_of

__all__ = ["Volume"]

_NOTHING = np.zeros(0, np.uint8)
_VEC3: Any = vec3f
_MAT33: Any = mat33f


class Volume(Structure):
    """A sparse grid of voxels, for kernels that look up and sample values in space.

    Voxels are at integer indices, and a matrix and a translation place them in the world. Memory is that of a NanoVDB
    grid: values are in leaves, blocks of 8x8x8 voxels. Other voxels have the value of a tile around them, or the
    background. A *volume of indices* has no values: it gives each of its voxels a number, for arrays of values.

    Args:
        data: an array of uint8, the bytes of one or several NanoVDB grids, one behind the other. They are copied. The
            volume is on the device of the array: `wp.Volume(volume.array().to("cpu"))` copies one from there.
            Where a tape records, that is a step, and the copy requires gradients if the volume does.

    Attributes:
        device: where the volume is.
        id: a uint64 for `wp.volume_lookup`, `wp.volume_sample` and the like. It is valid for as long as this object
            exists: keep the object while kernels use the id. After that, a query with the id is a `KernelError`.
        CLOSEST: samples take the nearest voxel.
        LINEAR: samples interpolate eight voxels.
        REBUILD_SUCCESS: the points of `rebuild` fit in the room that was reserved. The other codes that begin with
            REBUILD are bits, which say what has no room, or that a point is not finite.

    Raises:
        RuntimeError: If a graph of a GPU is captured, and the volume is to be there.
        ValueError: If the bytes are no grid of NanoVDB 32 or contradict themselves, or values are of a type that is not
            known. Every offset in them is checked.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), voxel_size=0.5, device="cpu")
    >>> @wp.kernel
    ... def sample(volume: wp.uint64, points: wp.array[wp.vec3], samples: wp.array[float]):
    ...     i = wp.tid()
    ...     place = wp.volume_world_to_index(volume, points[i])
    ...     samples[i] = wp.volume_sample_f(volume, place, wp.Volume.LINEAR)
    >>> points = wp.array([[0.25, 0.25, 0.25], [0.5, 0.5, 0.5]], dtype=wp.vec3, device="cpu")
    >>> samples = wp.zeros(2, dtype=float, device="cpu")
    >>> wp.launch(sample, dim=2, inputs=[volume.id, points, samples], device="cpu")
    >>> samples.list()
    [3.5, 7.0]
    """

    CLOSEST = 0
    LINEAR = 1
    GridInfo = info.GridInfo
    ActiveStats = info.ActiveStats
    RebuildInfo = info.RebuildInfo
    FeatureArrayInfo = info.FeatureArrayInfo
    REBUILD_SUCCESS = rebuilding.SUCCESS
    REBUILD_LEAF_CAPACITY_EXCEEDED = rebuilding.LEAVES
    REBUILD_LOWER_CAPACITY_EXCEEDED = rebuilding.LOWER
    REBUILD_UPPER_CAPACITY_EXCEEDED = rebuilding.UPPER
    REBUILD_VOXEL_CAPACITY_EXCEEDED = rebuilding.VOXELS
    REBUILD_INVALID_INPUT = rebuilding.INVALID
    _another = "copy it with wp.Volume(volume.array()), and pickle volume.array()"

    def __init__(self, data: Array):
        require_arrays(data=data)
        self._load(np.ascontiguousarray(data.numpy()).view(np.uint8).ravel(), data.device)
        derivatives.from_memory(self, *byte_range(data))

    @classmethod
    def _of(cls, data: np.ndarray, device: Any) -> Volume:
        volume = cls.__new__(cls)
        volume._load(data, get_device(device))
        return volume

    def _load(self, data: np.ndarray, device: Device) -> None:
        refuse_capture(device)
        first = with_equal_leaves(data)
        memory = aligned(first[: int(read_header(first)["grid_size"])], device)
        self._open(memory, read_grid(host_view(memory)), data[int(read_header(data)["grid_size"]) :])

    def _open(self, memory: Array, grid: GridTree | BuiltGrid, behind: np.ndarray) -> None:
        """Become a volume of a grid buffer. Other grids are `behind` it."""
        self.device = memory.device
        self._room = rebuilding.NOT_REBUILDABLE
        self._made_of: tuple[ValueType, Any, Placement] | None = None  # unless it cannot be rebuilt
        self._values: Array | None = None
        self._behind = behind
        kept = descriptors_on(self.device)
        self._place, self._number = kept.take(self, _native.forget_structure_memory)
        self.id = uint64(self._number)
        structures.register(self, self._place, ("words", "cells"), kept.take, ("values",))
        self._publish(memory, grid)

    def _publish(self, memory: Array, grid: GridTree | BuiltGrid) -> None:
        """Let the id stand for a grid buffer."""
        structures.note_build(self)
        outline, places = outline_and_cells(grid, self.device)
        write_descriptor(self._place, self._number, outline, memory, places)
        values = values_in(memory, outline)
        if values is not None:
            if self.requires_grad:
                values.requires_grad = True
            _native.set_structure_memory(self._number, *byte_range(values))
        self._memory, self._built, self._cells, self._values = memory, grid, places, values
        register_arrays_of(self)

    def _addressed_arrays(self) -> tuple[Array, ...]:
        """Return all arrays that its descriptor leads to."""
        return self._memory, self._cells

    @property
    def _grid(self) -> GridTree:
        """The records of its grid."""
        if isinstance(self._built, BuiltGrid):
            self._built = self._built.tree()
        return self._built

    @classmethod
    def load_from_nvdb(cls, file_or_buffer: Any, device: Any = None) -> Volume:
        """Load a volume from a NanoVDB file.

        Args:
            file_or_buffer: a path, an open binary file, or the bytes of a file; not compressed, zip or blosc.
            device: where to put the volume. None is the current device.

        Returns:
            The first grid in the file; `load_next_grid` gives the next one.

        Raises:
            OSError: If a path cannot be read.
            ValueError: If it is no NanoVDB file, or its grid cannot be read; see `wp.Volume`.

        >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu")
        >>> wp.Volume.load_from_nvdb(volume.array().numpy().tobytes(), device="cpu").get_tile_count()
        1
        """
        return cls._of(grid_bytes(file_or_buffer), device)

    @classmethod
    def load_from_vdb(
        cls,
        file_or_buffer: Any,
        name: str | None = None,
        index: int = 0,
        device: Any = None,
        on_index: bool = False,
    ) -> Volume:
        """Load a volume from a `.vdb` file of OpenVDB 4 to 12, with its transform.

        Args:
            file_or_buffer: a path, an open binary file, or the bytes of a file.
            name: of the grid; None for a grid of any name.
            index: which of the grids of that name, from 0 on.
            device: where to put the volume. None is the current device.
            on_index: whether to make a volume of indices, which numbers the active voxels. Their values are the array
                `volume.feature_array(0)`, in the order of `wp.volume_lookup_index`.

        Returns:
            A volume of float, double, int32, int64, bool, mask, vec3f or vec3d. Values of half become float, those of
            vec3i vec3d.

        Raises:
            KeyError: If the file has no such grid.
            OSError: If a path cannot be read.
            ValueError: If it is no `.vdb` file, is damaged, or has values or a transform that cannot be read. The
                message names file, grid and byte. Or if `on_index` is asked for a grid with active tiles of more than
                8x8x8 voxels.

        >>> wp.Volume.load_from_vdb("clouds.vdb", "density", device="cpu")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'clouds.vdb'
        """
        grid = read_vdb(source_of(file_or_buffer), name, index)
        return cls._of(index_buffer_of(grid) if on_index else grid_buffer_of(grid), device)

    def save_to_nvdb(self, path: str | os.PathLike[str], codec: str = "none") -> None:
        """Write the volume to a NanoVDB file, whole or not at all.

        Args:
            path: the file, such as "fog.nvdb"; an existing one is replaced.
            codec: "none", "zip", which gives small files, or "blosc", whose files are read fast.

        Raises:
            OSError: If the file cannot be written.
            ValueError: If the codec is unknown, or the path ends in ".vdb", as files of OpenVDB do.

        >>> import os, tempfile
        >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "eight.nvdb")
        ...     volume.save_to_nvdb(path, codec="blosc")
        ...     wp.Volume.load_from_nvdb(path, device="cpu").get_voxel_count()
        8
        """
        write_grids(path, [self._memory.numpy()], codec)

    def save_to_vdb(self, path: str | os.PathLike[str], codec: str = "none") -> None:
        """Write the volume to a file of OpenVDB, whole or not at all: for programs that do not read NanoVDB.

        Args:
            path: the file, such as "fog.vdb"; an existing one is replaced.
            codec: "none", "zip", which gives small files, or "blosc", whose files are read fast. Values of inactive
                voxels take no room with any of them, where they are the background.

        Raises:
            OSError: If the file cannot be written.
            ValueError: If the codec is unknown, or OpenVDB has no grid of these values, such as indices and vec4.

        >>> import os, tempfile
        >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "eight.vdb")
        ...     volume.save_to_vdb(path, codec="blosc")
        ...     wp.Volume.load_from_vdb(path, device="cpu").get_voxel_count()
        8
        """
        write_vdb(path, [self._memory.numpy()], codec)

    @classmethod
    def load_from_address(cls, grid_ptr: int, buffer_size: int = 0, device: Any = None) -> Volume:
        """Load a volume from memory that holds a NanoVDB grid.

        Args:
            grid_ptr: the address of the grid, in memory of the device.
            buffer_size: the bytes of one or several grids, one behind the other. 0 means one grid, as long as it says.
            device: where to put the volume. None is the current device.

        Returns:
            A volume with a copy of the grid.

        Raises:
            TypeError, ValueError: If the address is 0 or the size is negative, or the grid cannot be read; see
                `wp.Volume`.

        >>> first = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu")
        >>> wp.Volume.load_from_address(first.array().ptr, device="cpu").get_tile_count()
        1
        """
        address, size = integer("grid_ptr", grid_ptr), integer("buffer_size", buffer_size)
        if address <= 0 or size < 0:
            raise ValueError(f"grid_ptr, buffer_size: expected an address and a size, got {grid_ptr} and {buffer_size}")
        where = get_device(device)
        data = bytes_at(address, size, where)
        volume = cls._of(data, where)
        derivatives.from_memory(volume, address, address + data.nbytes)
        return volume

    @classmethod
    def load_from_numpy(
        cls,
        ndarray: np.ndarray,
        min_world: Any = (0.0, 0.0, 0.0),
        voxel_size: Any = 1.0,
        bg_value: Any = 0.0,
        device: Any = None,
    ) -> Volume:
        """Make a volume of a dense array.

        Args:
            ndarray: of three dimensions, for values that are scalars; a fourth one has 3 or 4 components. Element
                (i, j, k) is voxel (i, j, k). An array of warp may be given, too. Where a tape records and that requires
                gradients, so does the volume, and gradients of its values flow to the array.
            min_world: the place of voxel (0, 0, 0) in the world.
            voxel_size: the distance of voxels, or three for the axes; in the unit of the world.
            bg_value: the value of voxels outside of the array, which decides the type of the values. An int makes
                int32, a value of warp such as `wp.float64(0.0)` its own, any other float32, vec3f or vec4f.
            device: where to put the volume. None is the current device.

        Returns:
            The volume. Its leaves cover the array.

        Raises:
            TypeError, ValueError: If a shape or a type does not fit, or a voxel has no extent.
            RuntimeError: If a tape or forward mode would lose the derivative of `ndarray`. Both have floats on one
                device, or there is no derivative.

        >>> volume = wp.Volume.load_from_numpy(np.arange(8).reshape(2, 2, 2), bg_value=-1, device="cpu")
        >>> wp.volume_lookup_i(volume.id, 1, 1, 1), wp.volume_lookup_i(volume.id, 2, 0, 0)
        (7, -1)
        """
        values = np.asarray(ndarray)
        value_type, background = background_of(bg_value, values.shape[3:])
        plan = GridPlan(dense_leaves(values, value_type, background), value_type)
        volume = cls._made(plan, background, placement_of(voxel_size, vector("min_world", min_world)), device)
        if isinstance(ndarray, Array):
            derivatives.from_array(volume, ndarray)
        return volume

    @classmethod
    def allocate(
        cls,
        min: Any,
        max: Any,
        voxel_size: Any,
        bg_value: Any = 0.0,
        translation: Any = (0.0, 0.0, 0.0),
        points_in_world_space: bool = False,
        device: Any = None,
    ) -> Volume:
        """Make a volume with leaves for a box of voxels.

        Args:
            min: the lowest voxel, three integers, or a place in the world.
            max: the highest voxel, which the box includes, or a place in the world.
            voxel_size: the distance of voxels, or three for the axes; in the unit of the world.
            bg_value: the value of all voxels; `allocate_by_tiles` says how it decides the type.
            translation: the place of voxel (0, 0, 0) in the world.
            points_in_world_space: whether `min` and `max` are places in the world: their nearest voxels count.
            device: where to put the volume. None is the current device.

        Returns:
            The volume. Its leaves are all blocks of 8x8x8 voxels that have a voxel of the box.

        Raises:
            TypeError, ValueError: If the box is empty or a voxel has no extent, or an argument has another type.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_tiles().list()
        [vec3i([0, 0, 0]), vec3i([8, 0, 0])]
        """
        value_type, background = background_of(bg_value)
        placement = placement_of(voxel_size, translation)
        leaves = leaves_around(vector("min", min), vector("max", max), placement, points_in_world_space)
        return cls._made(GridPlan(leaves, value_type), background, placement, device)

    @classmethod
    def allocate_by_tiles(
        cls,
        tile_points: Array,
        voxel_size: Any = None,
        bg_value: Any = 0.0,
        translation: Any = (0.0, 0.0, 0.0),
        device: Any = None,
        transform: Any = None,
        rebuildable: bool = False,
        max_tiles: int | None = None,
        max_lower_nodes: int | None = None,
        max_upper_nodes: int | None = None,
        status: Array | None = None,
        point_mask: Array | None = None,
    ) -> Volume:
        """Make a volume with leaves, which are blocks of 8x8x8 voxels, around points.

        Args:
            tile_points: a voxel of each leaf, or a place in the world: an array of vec3i or vec3f, or of int32 or
                float32 with 3 columns. Several may lie in one leaf.
            voxel_size: the distance of voxels, or three for the axes; in the unit of the world.
            bg_value: the value of all voxels. None makes a volume of indices. An int makes values of int32, a float of
                float32, three or four numbers of vec3f or vec4f, a value of warp such as `wp.vec3d()` its own.
            translation: the place of voxel (0, 0, 0) in the world.
            device: where to put the volume. None is the current device.
            transform: a matrix of 3x3 from index to world, in place of `voxel_size`.
            rebuildable: whether `rebuild` can put other leaves in their place.
            max_tiles: how many leaves to reserve room for, and that the volume is rebuildable. None is one for each
                point.
            max_lower_nodes: the same for lower nodes, 128 voxels wide. None is one for each leaf.
            max_upper_nodes: the same for upper nodes, 4096 voxels wide. None is one for each leaf.
            status: an array of one uint32 for a code: whether the points had room. None raises an error instead.
            point_mask: an array of int32, one for each point: points with a zero are left out.

        Returns:
            The volume.

        Raises:
            TypeError, ValueError: If an array does not fit, or not one of `voxel_size` and `transform` is given, or a
                voxel has no extent.

        >>> points = wp.array([[0, 0, 0], [3, 0, 0], [-1, 0, 0]], dtype=wp.vec3i, device="cpu")
        >>> wp.Volume.allocate_by_tiles(points, voxel_size=0.1, device="cpu").get_tiles().list()
        [vec3i([0, 0, 0]), vec3i([-8, 0, 0])]
        """
        value_type, background = background_of(bg_value)
        placement = placement_of(voxel_size, translation, transform)
        room = rebuilding.room_for_tiles(tile_points.size, max_tiles, max_lower_nodes, max_upper_nodes)
        asked = rebuildable or any(n is not None for n in (max_tiles, max_lower_nodes, max_upper_nodes))
        return cls._around(tile_points, value_type, background, placement, device, room, asked, status, point_mask)

    @classmethod
    def allocate_by_voxels(
        cls,
        voxel_points: Array,
        voxel_size: Any = None,
        translation: Any = (0.0, 0.0, 0.0),
        device: Any = None,
        transform: Any = None,
        rebuildable: bool = False,
        max_active_voxels: int | None = None,
        max_leaf_nodes: int | None = None,
        max_lower_nodes: int | None = None,
        max_upper_nodes: int | None = None,
        status: Array | None = None,
        point_mask: Array | None = None,
    ) -> Volume:
        """Make a volume of indices with the voxels at points.

        Args:
            voxel_points: the voxels, or places in the world, whose nearest voxels count: an array of vec3i or vec3f, or
                of int32 or float32 with 3 columns. A voxel may come twice.
            voxel_size: the distance of voxels, or three for the axes; in the unit of the world.
            translation: the place of voxel (0, 0, 0) in the world.
            device: where to put the volume. None is the current device.
            transform: a matrix of 3x3 from index to world, in place of `voxel_size`.
            rebuildable: whether `rebuild` can put other voxels in their place.
            max_active_voxels: how many voxels to reserve room for, and that the volume is rebuildable. None is one for
                each point.
            max_leaf_nodes: the same for leaves. None is one for each voxel.
            max_lower_nodes: the same for lower nodes, 128 voxels wide. None is one for each leaf.
            max_upper_nodes: the same for upper nodes, 4096 voxels wide. None is one for each leaf.
            status: an array of one uint32 for a code: whether the points had room. None raises an error instead.
            point_mask: an array of int32, one for each point: points with a zero are left out.

        Returns:
            The volume. `get_voxels` has the order of its voxels, which `wp.volume_lookup_index` counts.

        Raises:
            TypeError, ValueError: If an array does not fit, or not one of `voxel_size` and `transform` is given, or a
                voxel has no extent.

        >>> points = wp.array([[0, 0, 0], [3, 0, 0], [3, 0, 0]], dtype=wp.vec3i, device="cpu")
        >>> wp.Volume.allocate_by_voxels(points, voxel_size=0.1, device="cpu").get_voxel_count()
        2
        """
        require_arrays(voxel_points=voxel_points)
        placement = placement_of(voxel_size, translation, transform)
        given = (max_active_voxels, max_leaf_nodes, max_lower_nodes, max_upper_nodes)
        room = rebuilding.room_for_voxels(voxel_points.size, *given)
        asked = rebuildable or any(n is not None for n in given)
        value_type = VALUE_TYPES[ON_INDEX]
        return cls._around(voxel_points, value_type, 0, placement, device, room, asked, status, point_mask)

    @classmethod
    def _made(cls, plan: GridPlan, background: Any, placement: Placement, device: Any) -> Volume:
        where = get_device(device)
        refuse_capture(where)
        volume = cls.__new__(cls)
        volume._open(*build(plan, background, placement, where), _NOTHING)
        return volume

    @classmethod
    def _around(
        cls,
        points: Array,
        value_type: ValueType,
        background: Any,
        placement: Placement,
        device: Any,
        room: info.RebuildInfo,
        is_rebuildable: bool,
        status: Array | None,
        point_mask: Array | None,
    ) -> Volume:
        refuse_capture(get_device(device))
        code, plan = rebuilding.plan_around(points, placement, value_type, room, status, point_mask)
        rebuilding.report(code, status, room)
        volume = cls._made(plan, background, placement, device)
        if is_rebuildable:
            volume._room, volume._made_of = room, (value_type, background, placement)
        return volume

    def rebuild(self, points: Array, status: Array | None = None, point_mask: Array | None = None) -> Array | None:
        """Put other leaves or voxels in place of those of the volume, which keeps its id.

        All values become the background. Voxels of indices are counted anew. Transform and types stay. Where the points
        have no room, the volume stays as it is.

        Args:
            points: as the function took them that made the volume: `allocate_by_tiles` or `allocate_by_voxels`.
            status: an array of one uint32 for a code, REBUILD_SUCCESS or others of REBUILD. None raises an error
                instead.
            point_mask: an array of int32, one for each point: points with a zero are left out.

        Returns:
            `status`.

        Raises:
            RuntimeError: If the volume was not made to be rebuilt, a graph is captured, or the points have no room and
                there is no `status`.
            TypeError, ValueError: If an array does not fit.

        >>> points = wp.array([[0, 0, 0], [9, 0, 0]], dtype=wp.vec3i, device="cpu")
        >>> volume = wp.Volume.allocate_by_voxels(points, voxel_size=1.0, rebuildable=True, device="cpu")
        >>> volume.rebuild(wp.array([[5, 5, 5]], dtype=wp.vec3i, device="cpu"))
        >>> volume.get_voxels().list()
        [vec3i([5, 5, 5])]
        """
        if self._made_of is None:
            raise RuntimeError("wp.Volume.rebuild: pass rebuildable=True to the function that makes the volume")
        capture.refuse("wp.Volume.rebuild")
        value_type, background, placement = self._made_of
        code, plan = rebuilding.plan_around(points, placement, value_type, self._room, status, point_mask)
        if code == rebuilding.SUCCESS:
            self._publish(*build(plan, background, placement, self.device))
        rebuilding.report(code, status, self._room)
        return status

    @property
    def is_rebuildable(self) -> bool:
        """True if `rebuild` can change which voxels there are."""
        return self._room.kind is not None

    def get_rebuild_info(self) -> info.RebuildInfo:
        """Return how the volume can be rebuilt.

        Returns:
            A tuple of `kind`, which is "tiles", "voxels" or None, and the room for voxels, leaves, lower nodes and
            upper nodes.

        >>> wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu").get_rebuild_info().kind is None
        True
        """
        return self._room

    def load_next_grid(self) -> Volume | None:
        """Return a volume of the next grid in the file or memory that this one was loaded from; None after the last.

        Raises:
            ValueError: If the next grid cannot be read; see `wp.Volume`.

        >>> wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu").load_next_grid() is None
        True
        """
        return self._of(self._behind, self.device) if self._behind.size else None

    @property
    def dtype(self) -> Any:
        """The type of the values, for `wp.volume_lookup` and the like; None for a volume of indices without a mask."""
        return dtype_of(self._grid.value_type)

    @property
    def is_index(self) -> bool:
        """True for a volume of indices: it numbers voxels, and has no values, or a mask with a bit for each."""
        return self._grid.value_type.is_index

    @property
    def values(self) -> Array | None:
        """The values of voxels in leaves, an array of `dtype` that shares memory with the volume.

        Each leaf is a row of 512 voxels, so the elements have the order of `get_voxels`. Kernels and programs may
        write them. None for volumes of indices, of codes and of bits.

        >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
        >>> volume.values.shape
        (1, 512)
        >>> volume.values.fill_(3.0)
        >>> wp.volume_lookup_f(volume.id, 1, 1, 1)
        3.0
        """
        return self._values

    @property
    def requires_grad(self) -> bool:
        """True if the values have a gradient. Setting True allocates a zeroed gradient, False drops it.

        Raises:
            TypeError: If the volume has no values that are floats in memory.

        >>> volume = wp.Volume.load_from_numpy(np.ones((2, 2, 2)), device="cpu")
        >>> volume.requires_grad = True
        >>> @wp.kernel
        ... def square(volume: wp.uint64, out: wp.array[float]):
        ...     out[0] = wp.volume_sample_f(volume, wp.vec3(0.25, 0.0, 0.0), wp.Volume.LINEAR) ** 2.0
        >>> out = wp.zeros(1, dtype=float, requires_grad=True, device="cpu")
        >>> with wp.Tape() as tape:
        ...     wp.launch(square, dim=1, inputs=[volume.id, out], device="cpu")
        >>> tape.backward(out)
        >>> volume.grad.numpy()[0, [0, 64]].tolist()  # of the voxels (0, 0, 0) and (1, 0, 0)
        [1.5, 0.5]
        """
        return self._values is not None and self._values.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._values is not None and element_of(self._values.dtype).is_active:
            self._values.requires_grad = value
        elif value:
            raise TypeError(f"requires_grad: values of {self._grid.value_type.name} in a volume have no gradient")

    @property
    def grad(self) -> Array | None:
        """The gradient of `values`, an array like it. None if the volume does not require gradients."""
        return None if self._values is None else self._values.grad

    def array(self) -> Array:
        """Return the bytes of the grid, an array of uint8 that shares memory with the volume.

        >>> wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu").array().size
        307232
        """
        return self._memory

    def get_grid_info(self) -> info.GridInfo:
        """Return what the volume says about itself.

        Returns:
            A tuple of `name`, `size_in_bytes`, `grid_index` and `grid_count` in its file, and `type_str`, the type of
            the values. The last two are `translation`, a vec3, and `transform_matrix`, a mat33, which place voxels in
            the world.

        >>> wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=0.5, device="cpu").get_grid_info().type_str
        'float'
        """
        header = self._grid.header
        place = header["map"]
        return info.GridInfo(
            self._grid.name,
            self._grid.data.size,
            int(header["grid_index"]),
            int(header["grid_count"]),
            self._grid.value_type.name,
            _VEC3(*place["vec_f"].tolist()),
            _MAT33(*place["mat_f"].ravel().tolist()),
        )

    def get_voxel_size(self) -> tuple[float, float, float]:
        """Return the lengths of the edges of a voxel, in the unit of the world.

        >>> wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=(0.5, 1.0, 2.0), device="cpu").get_voxel_size()
        (0.5, 1.0, 2.0)
        """
        x, y, z = self._grid.header["voxel_size"].tolist()
        return x, y, z

    def _summary(self) -> str:
        return f"type={self.get_grid_info().type_str}, voxels={self.get_voxel_count()}, device={self.device}"

    def get_tile_count(self) -> int:
        """Return the number of leaves, which are blocks of 8x8x8 voxels.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_tile_count()
        2
        """
        return len(self._grid.leaf.offsets)

    def get_tiles(self, out: Array | None = None) -> Array:
        """Return the lowest voxel of each leaf.

        Args:
            out: array of vec3i, or of int32 with 3 columns; None makes one (int32 in the dialect of warp-lang).

        Raises:
            TypeError, ValueError: If `out` does not fit.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_tiles().list()
        [vec3i([0, 0, 0]), vec3i([8, 0, 0])]
        """
        return rows_as_array(self._grid.leaf.origins, out, self.device)

    def get_voxel_count(self) -> int:
        """Return the number of voxels: of active ones for `allocate_by_voxels`, else of all voxels in leaves.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_voxel_count()
        1024
        """
        return count_voxels(self._grid)

    def get_voxels(self, out: Array | None = None) -> Array:
        """Return the voxels that `get_voxel_count` counts, in the order of `wp.volume_lookup_index`.

        Args:
            out: array of vec3i, or of int32 with 3 columns; None makes one (int32 in the dialect of warp-lang).

        Raises:
            TypeError, ValueError: If `out` does not fit.

        >>> points = wp.array([[3, 0, 0], [0, 0, 0]], dtype=wp.vec3i, device="cpu")
        >>> wp.Volume.allocate_by_voxels(points, voxel_size=0.1, device="cpu").get_voxels().list()
        [vec3i([0, 0, 0]), vec3i([3, 0, 0])]
        """
        return rows_as_array(voxels_of(self._grid), out, self.device, copy=False)

    def get_voxel_values(self) -> Array:
        """Return a copy of the values of voxels, an array of `dtype` in the order of `get_voxels`.

        `wp.volume_sample_index` samples such an array as `wp.volume_sample` samples the volume, and has gradients with
        respect to its elements.

        Raises:
            TypeError: If the volume has no values but indices.

        >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
        >>> values = volume.get_voxel_values()
        >>> values.requires_grad = True
        >>> wp.volume_sample_index(volume.id, wp.vec3(0.5, 0.0, 0.25), wp.Volume.LINEAR, values, 0.0)
        2.25
        """
        if self.dtype is None:
            raise TypeError("wp.Volume.get_voxel_values: a volume of indices has no values; they are in your arrays")
        if self._values is None:
            return values_of(self.id, array(voxels_of(self._grid), dtype=vec3i, device=self.device), self.dtype)
        found = empty(self._values.shape, dtype=self.dtype, device=self.device, requires_grad=self.requires_grad)
        copy(found, self._values)
        return found.flatten()

    def get_active_stats(self) -> info.ActiveStats:
        """Return how many voxels, as `get_voxel_count` counts them, leaves, lower nodes and upper nodes there are.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_active_stats()
        ActiveStats(voxel_count=1024, leaf_node_count=2, lower_node_count=1, upper_node_count=1)
        """
        levels = (self._grid.leaf, self._grid.lower, self._grid.upper)
        return info.ActiveStats(self.get_voxel_count(), *(len(level.offsets) for level in levels))

    def get_feature_array_count(self) -> int:
        """Return the number of arrays that the grid carries along, which NanoVDB calls blind data.

        >>> wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu").get_feature_array_count()
        0
        """
        return len(self._grid.blind_data())

    def get_feature_array_info(self, feature_index: int) -> info.FeatureArrayInfo:
        """Return what an array that the grid carries along says about itself.

        Args:
            feature_index: which array, from 0.

        Returns:
            A tuple of its `name`, the address `ptr` of its data, `value_size` in bytes, `value_count`, and `type_str`,
            the type of its values.

        Raises:
            IndexError: If there is no such array.
        """
        header, data = self._feature(feature_index)
        type_str = TYPE_NAMES.get(int(header["data_type"]), "unknown")
        name = header["name"].decode("utf-8", "replace")
        sizes = int(header["value_size"]), int(header["value_count"])
        return info.FeatureArrayInfo(name, self._pointer_to(data), *sizes, type_str)

    def feature_array(self, feature_index: int, dtype: Any = None) -> Array:
        """Return an array that the grid carries along, in the memory of the volume.

        Args:
            feature_index: which array, from 0.
            dtype: the type of its elements. None is the type that the grid says, or that the name of an array of fVDB
                ends with, else uint8.

        Raises:
            IndexError: If there is no such array.
            ValueError: If the bytes are no whole number of elements.
        """
        header, data = self._feature(feature_index)
        found = feature_dtype(header) if dtype is None else dtype
        count, rest = divmod(data.size, element_of(found).type.size)
        if rest:
            raise ValueError(f"dtype: the array has {data.size} bytes, no whole number of {found.__name__}")
        owner: Array | None = self._memory

        def release(pointer: int, size: int) -> None:
            nonlocal owner
            owner = None

        return array(dtype=found, shape=(count,), ptr=self._pointer_to(data), device=self.device, deleter=release)

    def _pointer_to(self, part: np.ndarray) -> int:
        """The address, on the device, of a part of the grid."""
        return self._memory.ptr + part.ctypes.data - self._grid.data.ctypes.data

    def _feature(self, index: int) -> tuple[Any, np.ndarray]:
        found = self._grid.blind_data()
        number = integer("feature_index", index)
        if not 0 <= number < len(found):
            raise IndexError(f"feature_index: {number}, but the grid carries {len(found)} arrays")
        return found[number]
