"""Volumes: sparse grids of voxels in NanoVDB's layout, which kernels look up and sample by their id."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from ..algo.argument_checks import integer, require_arrays
from ..arrays.array import array
from ..arrays.array import array as Array
from ..arrays.factories import empty
from ..devices.device import Device, get_device
from ..eager.addressed_memory import register
from ..geometry.descriptors import Descriptors
from ..lang.values.scalars import int32, uint8, uint64
from ..lang.values.value_classes import mat33f, vec3f, vec3i
from ..lib.volumes.volume_data import VolumeData
from . import info
from .allocation import (
    background_of,
    dense_leaves,
    dtype_of,
    leaves_around,
    placement_of,
    points_as_voxels,
    vector,
    whole_leaves,
)
from .cells import WORD, Cells, cells_of
from .grid_builder import Leaves, Placement, build_grid, leaves_of_voxels
from .grid_tree import GridTree, read_grid, unpack_mask, voxels_of
from .layout import ALIGNMENT, LEAF_SIDE, ON_INDEX, VALUE_TYPES, ValueType, offset_of
from .raw_file import grid_bytes

__all__ = ["Volume"]

_DATA: Any = VolumeData  # with the constructor that `struct` gives it
_VEC3: Any = vec3f
_VEC3I: Any = vec3i
_MAT33: Any = mat33f


class Volume:
    """A sparse grid of voxels, for kernels that look up and sample values in space.

    Voxels are at integer indices, and a matrix and a translation place them in the world. Memory is that of a NanoVDB
    grid: values are in leaves, blocks of 8x8x8 voxels. Other voxels have the value of a tile around them, or the
    background. A *volume of indices* has no values: it gives each of its voxels a number, for arrays of values.

    Args:
        data: an array of uint8, the bytes of one or several NanoVDB grids, one behind the other. They are copied.

    Attributes:
        device: where the volume is: the CPU, for now.
        id: a uint64 for `wp.volume_lookup`, `wp.volume_sample` and the like. It is valid for as long as this object
            exists: keep the object while kernels use the id. After that, a query with the id is a `KernelError`.
        CLOSEST: samples take the nearest voxel.
        LINEAR: samples interpolate eight voxels.

    Raises:
        NotImplementedError: If the array is on a GPU.
        ValueError: If the bytes are no grid of NanoVDB 32 or contradict themselves, or values are of a type that is not
            known. Every offset in them is checked.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), voxel_size=0.5, device="cpu")
    >>> @wp.kernel
    ... def sample(volume: wp.uint64, points: wp.array(dtype=wp.vec3), samples: wp.array(dtype=float)):
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

    def __init__(self, data: Array):
        require_arrays(data=data)
        _require_cpu(data.device)
        self._load(np.ascontiguousarray(data.numpy()).view(np.uint8).ravel(), data.device)

    @classmethod
    def _of(cls, data: np.ndarray, device: Any) -> Volume:
        device = get_device(device)
        _require_cpu(device)
        volume = cls.__new__(cls)
        volume._load(data, device)
        return volume

    def _load(self, data: np.ndarray, device: Device) -> None:
        size = read_grid(data).data.size
        self.device = device
        self._behind = data[size:]
        self._memory = _aligned(data[:size], device)
        self._grid = read_grid(self._memory.numpy())
        cells = cells_of(self._grid)
        self._cells = array(cells.places.ravel(), dtype=int32, device=device)
        register(self._cells)
        self._place, number = _descriptors(device).take(self)
        self.id = uint64(number)
        packed = _describe(self.id, self._grid, cells, self._memory.ptr, self._cells.ptr)._wc_pack()
        ctypes.memmove(self._place.ptr, packed, len(packed))

    @classmethod
    def load_from_nvdb(cls, file_or_buffer: Any, device: Any = None) -> Volume:
        """Load a volume from a NanoVDB file.

        Args:
            file_or_buffer: a path, an open binary file, or the bytes of a file. The file must not be compressed.
            device: where to put the volume: the CPU, for now. None is the current device.

        Returns:
            The first grid in the file; `load_next_grid` gives the next one.

        Raises:
            NotImplementedError: If the device is a GPU, or the file is compressed.
            OSError: If a path cannot be read.
            ValueError: If it is no NanoVDB file, or its grid cannot be read; see `wp.Volume`.

        >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu")
        >>> wp.Volume.load_from_nvdb(volume.array().numpy().tobytes(), device="cpu").get_tile_count()
        1
        """
        return cls._of(grid_bytes(file_or_buffer), device)

    @classmethod
    def load_from_address(cls, grid_ptr: int, buffer_size: int = 0, device: Any = None) -> Volume:
        """Load a volume from memory that holds a NanoVDB grid.

        Args:
            grid_ptr: the address of the grid, in CPU memory.
            buffer_size: the bytes of one or several grids, one behind the other. 0 means one grid, as long as it says.
            device: where to put the volume: the CPU, for now. None is the current device.

        Returns:
            A volume with a copy of the grid.

        Raises:
            NotImplementedError: If the device is a GPU.
            TypeError, ValueError: If the address is 0 or the size is negative, or the grid cannot be read; see
                `wp.Volume`.

        >>> first = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu")
        >>> wp.Volume.load_from_address(first.array().ptr, device="cpu").get_tile_count()
        1
        """
        address, size = integer("grid_ptr", grid_ptr), integer("buffer_size", buffer_size)
        if address <= 0 or size < 0:
            raise ValueError(f"grid_ptr, buffer_size: expected an address and a size, got {grid_ptr} and {buffer_size}")
        if size == 0:
            size = int.from_bytes(ctypes.string_at(address + 32, 8), "little")
        return cls._of(np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address)), device)

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
                (i, j, k) is voxel (i, j, k).
            min_world: the place of voxel (0, 0, 0) in the world.
            voxel_size: the distance of voxels, or three for the axes; in the unit of the world.
            bg_value: the value of voxels outside of the array, which decides the type of the values. An int makes
                int32, a value of warp such as `wp.float64(0.0)` its own, any other float32, vec3f or vec4f.
            device: where to put the volume: the CPU, for now. None is the current device.

        Returns:
            The volume. Its leaves cover the array.

        Raises:
            NotImplementedError: If the device is a GPU.
            TypeError, ValueError: If a shape or a type does not fit, or a voxel has no extent.

        >>> volume = wp.Volume.load_from_numpy(np.arange(8).reshape(2, 2, 2), bg_value=-1, device="cpu")
        >>> wp.volume_lookup_i(volume.id, 1, 1, 1), wp.volume_lookup_i(volume.id, 2, 0, 0)
        (7, -1)
        """
        values = np.asarray(ndarray)
        value_type, background = background_of(bg_value, values.shape[3:])
        leaves = dense_leaves(values, value_type, background)
        return cls._made(leaves, value_type, background, placement_of(voxel_size, min_world), device)

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
            device: where to put the volume: the CPU, for now. None is the current device.

        Returns:
            The volume. Its leaves are all blocks of 8x8x8 voxels that have a voxel of the box.

        Raises:
            NotImplementedError: If the device is a GPU.
            TypeError, ValueError: If the box is empty or a voxel has no extent, or an argument has another type.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_tiles().list()
        [vec3i([0, 0, 0]), vec3i([8, 0, 0])]
        """
        value_type, background = background_of(bg_value)
        placement = placement_of(voxel_size, translation)
        leaves = leaves_around(vector("min", min), vector("max", max), placement, points_in_world_space)
        return cls._made(leaves, value_type, background, placement, device)

    @classmethod
    def allocate_by_tiles(
        cls,
        tile_points: Array,
        voxel_size: Any = None,
        bg_value: Any = 0.0,
        translation: Any = (0.0, 0.0, 0.0),
        device: Any = None,
        transform: Any = None,
    ) -> Volume:
        """Make a volume with leaves, which are blocks of 8x8x8 voxels, around points.

        Args:
            tile_points: a voxel of each leaf, or a place in the world: an array of vec3i or vec3f, or of int32 or
                float32 with 3 columns. Several may lie in one leaf.
            voxel_size: the distance of voxels, or three for the axes; in the unit of the world.
            bg_value: the value of all voxels. None makes a volume of indices. An int makes values of int32, a float of
                float32, three or four numbers of vec3f or vec4f, a value of warp such as `wp.vec3d()` its own.
            translation: the place of voxel (0, 0, 0) in the world.
            device: where to put the volume: the CPU, for now. None is the current device.
            transform: a matrix of 3x3 from index to world, in place of `voxel_size`.

        Returns:
            The volume.

        Raises:
            NotImplementedError: If the device is a GPU.
            TypeError, ValueError: If an array does not fit, or not one of `voxel_size` and `transform` is given, or a
                voxel has no extent.

        >>> points = wp.array([[0, 0, 0], [3, 0, 0], [-1, 0, 0]], dtype=wp.vec3i, device="cpu")
        >>> wp.Volume.allocate_by_tiles(points, voxel_size=0.1, device="cpu").get_tiles().list()
        [vec3i([0, 0, 0]), vec3i([-8, 0, 0])]
        """
        value_type, background = background_of(bg_value)
        placement = placement_of(voxel_size, translation, transform)
        leaves = whole_leaves(points_as_voxels("tile_points", tile_points, placement))
        return cls._made(leaves, value_type, background, placement, device)

    @classmethod
    def allocate_by_voxels(
        cls,
        voxel_points: Array,
        voxel_size: Any = None,
        translation: Any = (0.0, 0.0, 0.0),
        device: Any = None,
        transform: Any = None,
    ) -> Volume:
        """Make a volume of indices with the voxels at points.

        Args:
            voxel_points: the voxels, or places in the world, whose nearest voxels count: an array of vec3i or vec3f, or
                of int32 or float32 with 3 columns. A voxel may come twice.
            voxel_size: the distance of voxels, or three for the axes; in the unit of the world.
            translation: the place of voxel (0, 0, 0) in the world.
            device: where to put the volume: the CPU, for now. None is the current device.
            transform: a matrix of 3x3 from index to world, in place of `voxel_size`.

        Returns:
            The volume. `get_voxels` has the order of its voxels, which `wp.volume_lookup_index` counts.

        Raises:
            NotImplementedError: If the device is a GPU.
            TypeError, ValueError: If an array does not fit, or not one of `voxel_size` and `transform` is given, or a
                voxel has no extent.

        >>> points = wp.array([[0, 0, 0], [3, 0, 0], [3, 0, 0]], dtype=wp.vec3i, device="cpu")
        >>> wp.Volume.allocate_by_voxels(points, voxel_size=0.1, device="cpu").get_voxel_count()
        2
        """
        placement = placement_of(voxel_size, translation, transform)
        leaves = leaves_of_voxels(points_as_voxels("voxel_points", voxel_points, placement), None, 0)
        return cls._made(leaves, VALUE_TYPES[ON_INDEX], 0, placement, device)

    @classmethod
    def _made(cls, leaves: Leaves, value_type: ValueType, background: Any, placement: Placement, device: Any) -> Volume:
        _require_cpu(get_device(device))
        return cls._of(build_grid(leaves, value_type, background, placement), device)

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
        """The type of the values, for `wp.volume_lookup` and the like; None for a volume of indices."""
        return dtype_of(self._grid.value_type)

    @property
    def is_index(self) -> bool:
        """True for a volume of indices: it numbers voxels, and has no values."""
        return self._grid.value_type.is_index

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

    def get_tile_count(self) -> int:
        """Return the number of leaves, which are blocks of 8x8x8 voxels.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_tile_count()
        2
        """
        return len(self._grid.leaf.offsets)

    def get_tiles(self, out: Array | None = None) -> Array:
        """Return the lowest voxel of each leaf.

        Args:
            out: an array for the result, of vec3i, or of int32 with 3 columns; None makes one of vec3i.

        Raises:
            TypeError, ValueError: If `out` does not fit.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_tiles().list()
        [vec3i([0, 0, 0]), vec3i([8, 0, 0])]
        """
        return _put(self._grid.leaf.origins, out, self.device)

    def get_voxel_count(self) -> int:
        """Return the number of voxels: of active ones for `allocate_by_voxels`, else of all voxels in leaves.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_voxel_count()
        1024
        """
        leaf = self._grid.leaf
        if self._grid.value_type.number != ON_INDEX:
            return LEAF_SIDE**3 * len(leaf.offsets)
        return int(unpack_mask(leaf.reached["value_mask"]).sum())

    def get_voxels(self, out: Array | None = None) -> Array:
        """Return the voxels that `get_voxel_count` counts, in the order of `wp.volume_lookup_index`.

        Args:
            out: an array for the result, of vec3i, or of int32 with 3 columns; None makes one of vec3i.

        Raises:
            TypeError, ValueError: If `out` does not fit.

        >>> points = wp.array([[3, 0, 0], [0, 0, 0]], dtype=wp.vec3i, device="cpu")
        >>> wp.Volume.allocate_by_voxels(points, voxel_size=0.1, device="cpu").get_voxels().list()
        [vec3i([0, 0, 0]), vec3i([3, 0, 0])]
        """
        return _put(voxels_of(self._grid), out, self.device)

    def get_active_stats(self) -> info.ActiveStats:
        """Return how many voxels, as `get_voxel_count` counts them, leaves, lower nodes and upper nodes there are.

        >>> wp.Volume.allocate([0, 0, 0], [8, 7, 7], voxel_size=1.0, device="cpu").get_active_stats()
        ActiveStats(voxel_count=1024, leaf_node_count=2, lower_node_count=1, upper_node_count=1)
        """
        levels = (self._grid.leaf, self._grid.lower, self._grid.upper)
        return info.ActiveStats(self.get_voxel_count(), *(len(level.offsets) for level in levels))


def _require_cpu(device: Device) -> None:
    if not device.is_cpu:
        text = f"wp.Volume: there are no volumes on {device} yet, only on the CPU"
        raise NotImplementedError(f'{text}: pass device="cpu", and launch the kernels that use them there')


def _put(rows: np.ndarray, out: array | None, device: Device) -> array:
    """Rows of three as an array of vec3i, or in `out`. Raises TypeError, ValueError."""
    if out is None:
        return array(rows, dtype=vec3i, device=device)
    require_arrays(out=out)
    if out.dtype not in (vec3i, int32):
        raise TypeError(f"out: expected elements of vec3i or int32, got {out.dtype.__name__}")
    expected = (len(rows),) if out.dtype is vec3i else rows.shape
    if out.shape != expected:
        raise ValueError(f"out: expected shape {expected}, got {out.shape}")
    out.assign(rows)
    return out


def _describe(number: Any, grid: GridTree, cells: Cells, words: int, places: int) -> Any:
    """The descriptor of a volume."""
    layout = grid.layout
    spot = grid.header["map"]
    tiles = grid.root_offset + layout.root.itemsize
    return _DATA(
        id=number,
        words=words,
        cells=places,
        num_words=grid.data.size // WORD,
        value_type=grid.value_type.number,
        cell_min=_VEC3I(*cells.first.tolist()),
        cell_dims=_VEC3I(*cells.places.shape),
        first_leaf=_first_leaf(grid) // WORD,
        leaf_words=layout.leaf.itemsize // WORD,
        leaf_values=_field(layout.leaf, "first" if grid.value_type.is_index else "values"),
        lower_table=_field(layout.lower, "table"),
        upper_table=_field(layout.upper, "table"),
        entry_words=layout.lower["table"].base.itemsize // WORD,
        root=grid.root_offset // WORD,
        tiles=tiles // WORD,
        num_tiles=len(grid.tiles),
        tile_words=layout.tile.itemsize // WORD,
        tile_value=_field(layout.tile, "value"),
        background=grid.root_offset // WORD + _field(layout.root, "background"),
        to_world=_MAT33(*spot["mat_f"].ravel().tolist()),
        to_index=_MAT33(*spot["inv_mat_f"].ravel().tolist()),
        translation=_VEC3(*spot["vec_f"].tolist()),
    )


def _first_leaf(grid: GridTree) -> int:
    """The offset of the first leaf, 0 without one."""
    offsets = grid.leaf.offsets
    return int(offsets[0]) if len(offsets) else 0


def _field(record: np.dtype, name: str) -> int:
    """The word of a record where a field begins."""
    return offset_of(record, name) // WORD


@cache
def _descriptors(device: Device) -> Descriptors:
    return Descriptors(VolumeData, device)


def _aligned(data: np.ndarray, device: Device) -> array:
    """Memory of uint8 that begins at a multiple of 32, where Python code finds it by its address."""
    whole = empty(data.size + ALIGNMENT, dtype=uint8, device=device)
    start = -whole.ptr % ALIGNMENT
    memory = whole[start : start + data.size]
    memory.numpy()[:] = data
    register(memory)
    return memory
