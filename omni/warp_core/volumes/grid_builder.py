"""Building a grid buffer from voxels: leaves in the order of the tree, then the nodes above them.

Native code sorts leaves and writes nodes (native/src/volumes/grid_builder.cpp). Start with `GridPlan` and `build_grid`.
"""

from __future__ import annotations

import math
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .cells import Cells, cells_of
from .grid_outline import Outline
from .grid_tree import GridTree, Level
from .layout import (
    ALIGNMENT,
    BLIND,
    CLASS_INDEX,
    FLAG_BBOX,
    FLAG_BREADTH_FIRST,
    FLAG_LONG_NAME,
    GRID,
    LEAF_SIDE,
    LEAF_WIDTH,
    MAGICS,
    NAME_BYTES,
    NO_CHECKSUM,
    ROOT_OFFSET,
    TREE,
    TREE_OFFSET,
    VERSION,
    ValueType,
    layout_of,
    native_layout,
    offset_of,
)

MOST_VOXELS = 2**31 - 1  # leaves and the places of voxels are counted by int32
_NONE = np.zeros(0, np.int64)
_MAP_AT, _MAP_END = offset_of(GRID, "map"), offset_of(GRID, "grid_class")
_HEADER = Struct(f"<QQIIIIQ{NAME_BYTES}s{_MAP_END - _MAP_AT}xII{GRID.itemsize - _MAP_END - 8}x")


class Leaves(NamedTuple):
    """The leaves of a grid to build, in the order of the tree.

    Attributes:
        origins: int32 (n, 3): the least voxel of each, multiples of 8.
        masks: uint8 (n, 64): the bits of active voxels, z fastest.
        values: (n, 512) or (n, 512, components), of all voxels; None if all have the background, or for indices.
        rows: which row of `values` each leaf has; None if they are in the order of leaves.
        dense: in place of `values`, an array whose element (i, j, k) is the value of voxel (i, j, k).
    """

    origins: np.ndarray
    masks: np.ndarray
    values: np.ndarray | None = None
    rows: np.ndarray | None = None
    dense: np.ndarray | None = None


class Tiles(NamedTuple):
    """Blocks of voxels of one value, none inside of another or of a leaf.

    Attributes:
        origins: int32 (n, 3): the least voxel of each, multiples of its extent.
        extents: int32 (n,): voxels along an edge: 8, 128 or 4096.
        values: (n,) or (n, components).
        active: bool (n,): whether the voxels are active.
    """

    origins: np.ndarray
    extents: np.ndarray
    values: np.ndarray
    active: np.ndarray


class Placement:
    """Where a grid is in the world: place = matrix * index + translation. `matrix` is (3, 3), both float64."""

    def __init__(self, matrix: np.ndarray, translation: np.ndarray, inverse: np.ndarray | None = None):
        self.matrix, self.translation, self._inverse = matrix, translation, inverse

    @property
    def inverse(self) -> np.ndarray:
        """The inverse of the matrix."""
        if self._inverse is None:
            self._inverse = np.linalg.inv(self.matrix)
        return self._inverse

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The matrix, its inverse and the translation, as native code reads them."""
        return _plain(self.matrix, np.float64), _plain(self.inverse, np.float64), _plain(self.translation, np.float64)

    def as_floats(self) -> bytes:
        """The same as bytes of float32."""
        return b"".join(part.astype(np.float32).tobytes() for part in self.parts)


def leaf_origins(voxels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the origins of the leaves that hold voxels, int32 (n, 3), and which of them holds each voxel, int32.

    Leaves come in the order of the tree.
    """
    origins, holders = _native.find_blocks(_voxels(voxels), LEAF_WIDTH)
    return _rows(origins), np.frombuffer(holders, np.int32)


def whole_masks(count: int) -> np.ndarray:
    """Return the masks of leaves whose voxels are all active."""
    return np.full((count, LEAF_SIDE**3 // 8), 255, np.uint8)


def leaves_of_box(low: list[int], high: list[int]) -> np.ndarray:
    """Return the origins of the leaves of a box of voxels, int32 (n, 3), in the order of the tree.

    Args:
        low: the least voxel, three integers.
        high: the greatest voxel, which the box includes.

    Raises:
        ValueError: If they have more than 2**31 - 1 voxels.
    """
    _require_room(math.prod(b // LEAF_WIDTH - a // LEAF_WIDTH + 1 for a, b in zip(low, high)))
    return _rows(_native.leaves_of_box(low, high))


def leaves_of_voxels(voxels: np.ndarray, values: np.ndarray | None = None, background: Any = 0) -> Leaves:
    """Return the leaves of active voxels, int32 (n, 3), which may come twice; the last value of a voxel counts."""
    origins, bits = _native.masked_leaves(_voxels(voxels))
    leaves = Leaves(_rows(origins), np.frombuffer(bits, np.uint8).reshape(-1, LEAF_SIDE**3 // 8))
    if values is None:
        return leaves
    table = np.empty((len(leaves.origins), LEAF_SIDE**3, *values.shape[1:]), values.dtype)
    table[:] = background
    x, y, z = (voxels & LEAF_WIDTH - 1).T
    table[leaf_origins(voxels)[1], x << 6 | y << 3 | z] = values
    return leaves._replace(values=table)


class GridPlan:
    """The nodes of a grid that has no memory yet, in the order in which a tree has them.

    Args:
        leaves: no two with one origin; `leaf_origins` has the order.
        value_type: of the values; grids of indices have none.
        tiles: of a grid with values; none by default.

    Attributes:
        nodes: the nodes in native code, which counts them: `nodes.counts`.
        size: bytes of the grid buffer.

    Raises:
        ValueError: If there are more than 2**31 - 1 voxels in leaves.
    """

    def __init__(self, leaves: Leaves, value_type: ValueType, tiles: Tiles | None = None):
        _require_room(len(leaves.origins))
        self.leaves, self.value_type, self._tiles = leaves, value_type, tiles
        in_tiles = (_NONE, _NONE) if tiles is None else (_voxels(tiles.origins), _plain(tiles.extents, np.int32))
        self.nodes = _native.NodeTree(_voxels(leaves.origins), *in_tiles)
        self.size = self.nodes.offsets(native_layout(value_type))[3]

    def write(self, data: Any, background: Any, placement: Placement, name: str = "", grid_class: int = 0) -> BuiltGrid:
        """Write the grid.

        Args:
            data: memory for the grid buffer: a contiguous array on the CPU, or a NumPy array of uint8.
            background: the value of voxels outside of leaves and tiles.
            placement: where the grid is in the world.
            name: of the grid.
            grid_class: what the values mean, as a grid buffer spells it.
        """
        value_type, leaves, tiles = self.value_type, self.leaves, self._tiles
        base, components = np.dtype(value_type.base), value_type.dtype.shape
        one = np.empty(components, base)
        one[...] = background
        table, shape = leaves.values, (0, 0, 0)
        if leaves.dense is not None:
            table, shape = leaves.dense, leaves.dense.shape[:3]
        active = self.nodes.write(
            native_layout(value_type),
            leaves.masks,
            one,
            (
                _NONE if table is None else _plain(table, base),
                _NONE if leaves.rows is None else _plain(leaves.rows, np.int64),
                shape,
            ),
            (_NONE, _NONE) if tiles is None else (_plain(tiles.values, base), _plain(tiles.active, np.bool_)),
            _header(value_type, name, grid_class, self.size),
            placement.parts,
            data,
        )
        num_voxels = active if value_type.counts_active else LEAF_SIDE**3 * len(leaves.origins)
        return BuiltGrid(data, self.size, value_type, self.nodes, leaves.origins, placement, num_voxels)


class BuiltGrid(NamedTuple):
    """A grid buffer that was built, with its nodes.

    Attributes:
        data: the bytes, in the memory that was given.
        size: how many there are.
        value_type: of the values.
        nodes: those of the plan.
        origins: of the leaves.
        placement: where it is in the world.
        num_voxels: the voxels that the grid counts.
    """

    data: Any
    size: int
    value_type: ValueType
    nodes: _native.NodeTree
    origins: np.ndarray
    placement: Placement
    num_voxels: int

    def outline(self) -> Outline:
        """Return what a descriptor says of it."""
        leaves, _, _, tiles = self.nodes.counts
        first = self.nodes.offsets(native_layout(self.value_type))[2] if leaves else 0
        found = self.placement.as_floats(), cells_of(self.origins)
        return Outline(self.value_type, self.size, ROOT_OFFSET, tiles, leaves, first, self.num_voxels, *found)

    def write_cells(self, cells: Cells, places: Any) -> None:
        """Write the place of each cell, int32, into `places`, which has as many elements."""
        if cells.size:
            self.nodes.write_cells(native_layout(self.value_type), self.data, *cells, places)

    def tree(self) -> GridTree:
        """Return its records."""
        data = self.data if isinstance(self.data, np.ndarray) else self.data._numbers()
        layout, nodes = layout_of(self.value_type), self.nodes
        upper, lower, entries = (_rows(o) for o in (nodes.upper, nodes.lower, nodes.root))
        tree, root = _record(data, TREE_OFFSET, TREE), _record(data, ROOT_OFFSET, layout.root)
        first = ROOT_OFFSET + layout.root.itemsize
        tiles = data[first : first + len(entries) * layout.tile.itemsize].view(layout.tile)
        levels = []
        parts = ((layout.upper, upper), (layout.lower, lower), (layout.leaf, self.origins))
        for begin, (record, origins) in zip(nodes.offsets(native_layout(self.value_type)), parts):
            found = data[begin : begin + len(origins) * record.itemsize].view(record)
            numbers = np.arange(len(origins))
            levels.append(Level(found, numbers, origins, begin + numbers * record.itemsize))
        header = _record(data, 0, GRID)
        return GridTree(data, header, self.value_type, layout, tree, ROOT_OFFSET, root, tiles, entries, *levels)


def build_grid(
    leaves: Leaves,
    value_type: ValueType,
    background: Any,
    placement: Placement,
    name: str = "",
    grid_class: int = 0,
    tiles: Tiles | None = None,
) -> np.ndarray:
    """Build a grid buffer: uint8, one dimension. Arguments and errors are those of `GridPlan` and its `write`."""
    plan = GridPlan(leaves, value_type, tiles)
    data = np.empty(plan.size, np.uint8)
    plan.write(data, background, placement, name, grid_class)
    return data


def with_feature(data: np.ndarray, name: str, number: int, values: np.ndarray) -> np.ndarray:
    """Return a grid buffer that carries along an array.

    Args:
        data: a grid buffer that carries no array along.
        name: of the array; longer ones than 255 bytes are cut.
        number: the type of the elements, as a grid buffer spells it.
        values: the elements, (n,) or (n, components).
    """
    head = np.zeros(1, BLIND)
    head["data_offset"], head["value_count"], head["data_type"] = BLIND.itemsize, len(values), number
    head["value_size"] = values.dtype.itemsize * (values.shape[1] if values.ndim > 1 else 1)
    head["name"] = name.encode()[: NAME_BYTES - 1]
    rest = np.zeros(-values.nbytes % ALIGNMENT, np.uint8)
    whole = np.concatenate([data, head.view(np.uint8), np.ascontiguousarray(values).view(np.uint8).ravel(), rest])
    header = whole[:TREE_OFFSET].view(GRID)[0]
    header["blind_offset"], header["blind_count"], header["grid_size"] = data.size, 1, whole.size
    return whole


def _plain(values: np.ndarray, kind: Any) -> np.ndarray:
    """Values as native code reads them."""
    return np.ascontiguousarray(values, kind)


def _voxels(voxels: np.ndarray) -> np.ndarray:
    return _plain(voxels, np.int32)


def _rows(voxels: bytes) -> np.ndarray:
    return np.frombuffer(voxels, np.int32).reshape(-1, 3)


def _record(data: np.ndarray, offset: int, record: np.dtype) -> Any:
    return data[offset : offset + record.itemsize].view(record)[0]


def _require_room(count: int) -> None:
    if count * LEAF_SIDE**3 > MOST_VOXELS:
        raise ValueError(f"{count} leaves of 512 voxels are more than the limit of {MOST_VOXELS} voxels")


def _header(value_type: ValueType, name: str, grid_class: int, size: int) -> bytes:
    """Return a header without what follows from the place of the grid and its nodes."""
    text = name.encode()
    flags = FLAG_BREADTH_FIRST | FLAG_BBOX | (FLAG_LONG_NAME if len(text) >= NAME_BYTES else 0)
    kind = CLASS_INDEX if value_type.is_index else grid_class
    fields = (MAGICS[0], NO_CHECKSUM, VERSION, flags, 0, 1, size, text[: NAME_BYTES - 1], kind, value_type.number)
    return _HEADER.pack(*fields)


def write_name(header: Any, name: str) -> None:
    """Write the name of a grid into its header; of a longer one, the first 255 bytes."""
    text = name.encode()
    is_long = len(text) >= NAME_BYTES
    header["flags"] = int(header["flags"]) & ~FLAG_LONG_NAME | (FLAG_LONG_NAME if is_long else 0)
    header["name"] = text[: NAME_BYTES - 1]


def write_placement(data: np.ndarray, placement: Placement, root: np.ndarray) -> None:
    """Write where a grid is in the world into a grid buffer, whose root has these bytes."""
    _native.place_grid(data, placement.parts, root)
