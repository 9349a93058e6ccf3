"""Reading a grid buffer: what its headers say is checked against its bytes before anything follows an offset."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .layout import (
    ALIGNMENT,
    BLIND,
    GRID,
    LEAF_SIDE,
    LEAF_WIDTH,
    LOWER_SIDE,
    LOWER_WIDTH,
    MAGICS,
    MAJOR_VERSION,
    OTHER_TYPES,
    POINT_INDEX,
    TREE,
    TREE_OFFSET,
    UPPER_SIDE,
    UPPER_WIDTH,
    VALUE_TYPES,
    Layout,
    ValueType,
    layout_of,
)

_MOST_PARTS = 2**31  # what an int32 can count: values of less than 4 bytes, or bytes of bool
_LEVELS = ("leaf", "lower", "upper")


class GridError(ValueError):
    """A grid buffer that cannot be read: its grid, the offset of the byte where it goes wrong, and why."""


class Level(NamedTuple):
    """The nodes of one level that the tree reaches, in the order of memory.

    Attributes:
        nodes: records of the level, with those that the tree does not reach.
        numbers: which of `nodes` these are, ascending.
        origins: int32 (n, 3): the least voxel of each.
        offsets: int64 (n,): where each begins in the buffer.
    """

    nodes: np.ndarray
    numbers: np.ndarray
    origins: np.ndarray
    offsets: np.ndarray

    @property
    def reached(self) -> np.ndarray:
        """The records of these nodes."""
        everything = len(self.numbers) == len(self.nodes)
        return self.nodes if everything else self.nodes[self.numbers]


class GridTree(NamedTuple):
    """A checked grid buffer: `data` is its bytes; `tree`, `root` and `tiles` are records, `root_offset` where the root
    begins.
    """

    data: np.ndarray
    header: Any
    value_type: ValueType
    layout: Layout
    tree: Any
    root_offset: int
    root: Any
    tiles: np.ndarray
    tile_origins: np.ndarray
    upper: Level
    lower: Level
    leaf: Level

    @property
    def name(self) -> str:
        """The name of the grid; a longer one than 255 bytes is cut."""
        return _name_in(self.header)

    def blind_data(self) -> list[tuple[Any, np.ndarray]]:
        """The header and the bytes of each array that the grid carries along."""
        first, count = int(self.header["blind_offset"]), int(self.header["blind_count"])
        found = []
        for offset in range(first, first + count * BLIND.itemsize, BLIND.itemsize):
            header = _part(self.data, offset, BLIND, 1, "blind metadata")[0]
            size = int(header["value_count"]) * int(header["value_size"])
            found.append((header, _bytes(self.data, offset + int(header["data_offset"]), size, "blind data")))
        return found


def read_grid(data: np.ndarray) -> GridTree:
    """Check a grid buffer and return its nodes.

    Args:
        data: uint8, one dimension: the grid buffer, and perhaps more behind it.

    Raises:
        GridError: If it is no grid buffer, is cut off or contradicts itself, or a type of value is not known.
    """
    header = read_header(data)
    value_type = _value_type(header)
    grid = read_inner_nodes(data, header, value_type)
    grid = grid._replace(leaf=_leaves(grid))
    grid.blind_data()
    if value_type.is_index:
        _check_indices(grid)
    else:
        _check_leaves(grid.leaf)
    return grid


def read_inner_nodes(data: np.ndarray, header: Any, value_type: ValueType) -> GridTree:
    """Check a grid buffer but for its leaves, and return it without them. `header` is from `read_header`."""
    data = data[: int(header["grid_size"])]
    check_size(_name_in(header), value_type, data.size)
    layout = layout_of(value_type)
    tree = _part(data, TREE_OFFSET, TREE, 1, "TreeData")[0]
    root_offset = TREE_OFFSET + int(tree["node_offset"][3])
    if root_offset % ALIGNMENT:
        raise grid_error(header, TREE_OFFSET + 24, f"the root begins at {root_offset}, no multiple of {ALIGNMENT}")
    root = _part(data, root_offset, layout.root, 1, "the root")[0]
    tiles = _part(data, root_offset + layout.root.itemsize, layout.tile, int(root["num_tiles"]), "root tiles")
    origins = _tile_origins(tiles["key"])
    inside = tiles["child"] != 0
    upper = _level(data, tree, 2, layout.upper, tiles["child"][inside] + root_offset, origins[inside])
    lower = _children(data, tree, 1, layout.lower, upper, UPPER_SIDE, LOWER_WIDTH)
    leaf = Level(np.zeros(0, layout.leaf), *[np.zeros(0, np.int64)] * 3)
    return GridTree(data, header, value_type, layout, tree, root_offset, root, tiles, origins, upper, lower, leaf)


def check_size(name: str, value_type: ValueType, size: int) -> None:
    """Raise GridError if lookups cannot count the words of a grid of this name."""
    if size >= _MOST_PARTS * np.dtype(value_type.base).itemsize:
        raise GridError(f"grid {name!r}, byte 32: {size} bytes are too many for a grid of {value_type.name}")


def _leaves(grid: GridTree) -> Level:
    return _children(grid.data, grid.tree, 0, grid.layout.leaf, grid.lower, LOWER_SIDE, LEAF_WIDTH)


def unpack_mask(mask: np.ndarray) -> np.ndarray:
    """Return the bits of masks, uint8 (..., n), as bool (..., 8 * n)."""
    return np.unpackbits(np.ascontiguousarray(mask), axis=-1, bitorder="little").view(bool)


def places_in_node(numbers: np.ndarray, side: int, width: int) -> np.ndarray:
    """Return the voxels, int32 (n, 3), where entries of a table begin, counted from the node."""
    shift = side.bit_length() - 1
    steps = np.stack([numbers >> 2 * shift, numbers >> shift & side - 1, numbers & side - 1], axis=-1)
    return (steps * width).astype(np.int32)


def voxels_of(grid: GridTree) -> np.ndarray:
    """Return the voxels that a grid counts, int32 (n, 3): active ones if only they have indices, else all in leaves."""
    masks = grid.leaf.reached["value_mask"] if grid.value_type.counts_active else np.zeros(0, np.uint8)
    voxels = np.empty((count_voxels(grid), 3), np.int32)
    origins = np.ascontiguousarray(grid.leaf.origins, np.int32)
    _native.list_voxels(origins, np.ascontiguousarray(masks), voxels)
    return voxels


def count_voxels(grid: GridTree) -> int:
    """Return the number of voxels that a grid counts."""
    if grid.value_type.counts_active:
        return count_bits(grid.leaf.reached["value_mask"])
    return LEAF_SIDE**3 * len(grid.leaf.offsets)


def count_bits(masks: np.ndarray) -> int:
    """Return how many bits of masks are set."""
    return _native.count_bits(np.ascontiguousarray(masks))


def prefix_sums(masks: np.ndarray) -> np.ndarray:
    """Return, for masks of leaves, bool (n, 512), the words of 9-bit counts of voxels before each of their words."""
    counts = masks.reshape(-1, 8, 64).sum(axis=2, dtype=np.uint64)
    before = np.cumsum(counts[:, :7], axis=1, dtype=np.uint64)
    return (before << np.arange(0, 63, 9, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)


def read_header(data: np.ndarray) -> Any:
    """Check the header of a grid buffer and return it. Raises GridError."""
    header = _part(data, 0, GRID, 1, "GridData")[0]
    if int(header["magic"]) not in MAGICS:
        raise GridError(f"byte 0: expected a NanoVDB grid, which begins with {MAGICS[1]:#x}, got {header['magic']:#x}")
    if header["version"] >> 21 != MAJOR_VERSION:
        raise grid_error(header, 16, f"version {header['version'] >> 21} of NanoVDB; only {MAJOR_VERSION} can be read")
    if not TREE_OFFSET < int(header["grid_size"]) <= data.size:
        raise grid_error(header, 32, f"the grid should have {header['grid_size']} bytes, but there are {data.size}")
    return header


def _value_type(header: Any) -> ValueType:
    number = int(header["grid_type"])
    if number == POINT_INDEX:
        raise grid_error(header, 636, "values of type pointindex: voxels have ranges of points there, and no values")
    if number not in VALUE_TYPES:
        known = ", ".join(t.name for t in VALUE_TYPES.values())
        raise grid_error(header, 636, f"values of type {OTHER_TYPES.get(number, number)}; only {known} can be read")
    return VALUE_TYPES[number]


def _tile_origins(keys: np.ndarray) -> np.ndarray:
    parts = [(keys >> np.uint64(shift)).astype(np.uint32) & np.uint32(0x1FFFFF) for shift in (42, 21, 0)]
    return (np.stack(parts, axis=-1).astype(np.uint32) * np.uint32(UPPER_WIDTH)).view(np.int32)


def child_offsets(parents: Level) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each child: the number of its parent, its entry there, and the byte where it begins."""
    nodes = parents.reached
    node, byte = np.nonzero(nodes["child_mask"])  # few of an upper node have bits
    which, bit = np.nonzero(unpack_mask(nodes["child_mask"][node, byte, None]))
    node, entry = node[which], 8 * byte[which] + bit
    return node, entry, nodes["table"]["child"][node, entry] + parents.offsets[node]


def _children(
    data: np.ndarray, tree: Any, level: int, record: np.dtype, parents: Level, side: int, width: int
) -> Level:
    node, entry, offsets = child_offsets(parents)
    return _level(data, tree, level, record, offsets, parents.origins[node] + places_in_node(entry, side, width))


def _level(
    data: np.ndarray, tree: Any, level: int, record: np.dtype, offsets: np.ndarray, origins: np.ndarray
) -> Level:
    """The nodes at these offsets, which lie in one array. Each must be a node of it, and the child of one parent."""
    name, count = _LEVELS[level], int(tree["node_count"][level])
    first = TREE_OFFSET + int(tree["node_offset"][level]) if count else 0
    if first % ALIGNMENT:
        raise GridError(f"byte {TREE_OFFSET + 8 * level}: {name} nodes begin at {first}, no multiple of {ALIGNMENT}")
    nodes = _part(data, first, record, count, f"{name} nodes")
    numbers, rest = np.divmod(offsets - first, record.itemsize)
    wrong = np.flatnonzero((numbers < 0) | (numbers >= count) | (rest != 0))
    if wrong.size:
        raise GridError(f"byte {offsets[wrong[0]]}: a parent has a child here, but no {name} node begins here")
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    twice = np.flatnonzero(numbers[1:] == numbers[:-1])
    if twice.size:
        raise GridError(f"byte {offsets[order[twice[0]]]}: two parents have this {name} node as a child")
    return Level(nodes, numbers, origins[order], offsets[order])


def _check_leaves(leaf: Level) -> None:
    """Refuse a gap between leaves: lookups number the voxels of a leaf by its place in memory."""
    gaps = np.flatnonzero(np.diff(leaf.numbers) != 1)
    if gaps.size:
        at = leaf.offsets[gaps[0]] + leaf.nodes.itemsize
        raise GridError(f"byte {at}: no parent has this leaf node as a child, but leaves follow that have one")


def _check_indices(grid: GridTree) -> None:
    """Refuse an index grid whose indices are not those of its values."""
    leaves, num_values = grid.leaf.reached, int(grid.header["num_values"])
    counts = np.full(len(leaves), LEAF_SIDE**3)
    if grid.value_type.counts_active:
        masks = unpack_mask(leaves["value_mask"])
        counts = masks.sum(axis=1)
        wrong = np.flatnonzero(leaves["prefix"] != prefix_sums(masks))
        if wrong.size:
            raise grid_error(grid.header, grid.leaf.offsets[wrong[0]] + 88, "the sums are not those of the value mask")
    if num_values >= 2**31:
        raise grid_error(grid.header, 656, f"{num_values} values; there can be at most {2**31 - 1}")
    wrong = np.flatnonzero((leaves["first"] > num_values) | (leaves["first"] + counts.astype(np.uint64) > num_values))
    if wrong.size:
        raise grid_error(grid.header, grid.leaf.offsets[wrong[0]] + 80, f"an index is beyond the {num_values} values")


def _part(data: np.ndarray, offset: int, record: np.dtype, count: int, what: str) -> np.ndarray:
    return _bytes(data, offset, count * record.itemsize, what).view(record)


def _bytes(data: np.ndarray, offset: int, size: int, what: str) -> np.ndarray:
    if offset < 0 or offset + size > data.size:
        raise GridError(f"byte {offset}: {what} should have {size} bytes, but the buffer ends at {data.size}")
    return data[offset : offset + size]


def grid_error(header: Any, offset: int, text: str) -> GridError:
    """Return the error that names a grid, a byte of its buffer, and what is wrong there."""
    return GridError(f"grid {_name_in(header)!r}, byte {offset}: {text}")


def _name_in(header: Any) -> str:
    return header["name"].decode("utf-8", "replace")
