"""Building a grid buffer from voxels: leaves in the order of the tree, then the nodes above them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .grid_tree import prefix_sums
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
    LOWER_SIDE,
    LOWER_WIDTH,
    MAGICS,
    NAME_BYTES,
    NO_CHECKSUM,
    ROOT_OFFSET,
    TREE,
    TREE_OFFSET,
    UPPER_SIDE,
    UPPER_WIDTH,
    VERSION,
    Layout,
    ValueType,
    layout_of,
    up,
)

_SORTED = 256  # leaves that are sorted at once
MOST_VOXELS = 2**31 - 1  # leaves and the places of voxels are counted by int32


class Leaves(NamedTuple):
    """The leaves of a grid to build, in the order of the tree.

    Attributes:
        origins: int32 (n, 3): the least voxel of each, multiples of 8.
        masks: bool (n, 512): the active voxels, z fastest.
        values: (n, 512) or (n, 512, components), of all voxels; None if all have the background, or for indices.
        rows: which row of `values` each leaf has; None if they are in the order of leaves.
    """

    origins: np.ndarray
    masks: np.ndarray
    values: np.ndarray | None = None
    rows: np.ndarray | None = None


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

    def of_extent(self, extent: int) -> Tiles:
        """Return the tiles of one extent."""
        chosen = self.extents == extent
        return Tiles(*(array[chosen] for array in self))

    @property
    def boxes(self) -> np.ndarray:
        """int32 (n, 2, 3): the boxes of active voxels, which are empty for tiles that are not active."""
        boxes = np.stack([self.origins, self.origins + self.extents[:, None] - 1], axis=1)
        boxes[~self.active] = EMPTY_BOX
        return boxes.astype(np.int32)


EMPTY_BOX = np.array([[2**31 - 1] * 3, [-(2**31)] * 3], np.int32)


class Placement(NamedTuple):
    """Where a grid is in the world: place = matrix * index + translation. `matrix` is (3, 3), both float64."""

    matrix: np.ndarray
    translation: np.ndarray

    @property
    def voxel_size(self) -> np.ndarray:
        """How long the edges of a voxel are."""
        return np.linalg.norm(self.matrix, axis=0)


def leaf_origins(voxels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the origins of the leaves that hold voxels, int32 (n, 3), and which of them holds each voxel.

    Leaves come in the order of the tree.
    """
    return blocks(voxels, LEAF_WIDTH)


def blocks(voxels: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The origins of the blocks of a width that hold voxels, in the order of the tree, and which holds each voxel."""
    origins = voxels & ~np.int32(width - 1)
    keys = _tree_keys(origins)
    order = np.lexsort(keys)
    starts = _starts([k[order] for k in keys])
    block = np.empty(len(voxels), np.int64)
    block[order] = np.cumsum(starts) - 1
    return origins[order[starts]], block


def leaves_of_voxels(voxels: np.ndarray, values: np.ndarray | None, background: Any) -> Leaves:
    """Return the leaves of active voxels, int32 (n, 3), which may come twice; the last value of a voxel counts."""
    origins, leaf = leaf_origins(voxels)
    place = place_in_leaf(voxels)
    masks = np.zeros((len(origins), LEAF_SIDE**3), bool)
    masks[leaf, place] = True
    if values is None:
        return Leaves(origins, masks)
    table = np.empty((len(origins), LEAF_SIDE**3, *values.shape[1:]), values.dtype)
    table[:] = background
    table[leaf, place] = values
    return Leaves(origins, masks, table)


def place_in_leaf(voxels: np.ndarray) -> np.ndarray:
    """Return the entries of voxels in the tables of their leaves."""
    x, y, z = (voxels & LEAF_WIDTH - 1).astype(np.int64).T
    return x << 6 | y << 3 | z


def build_grid(
    leaves: Leaves,
    value_type: ValueType,
    background: Any,
    placement: Placement,
    name: str = "",
    grid_class: int = 0,
    tiles: Tiles | None = None,
) -> np.ndarray:
    """Build a grid buffer.

    Args:
        leaves: no two with one origin; `leaf_origins` has the order.
        value_type: of the values; grids of indices have none.
        background: the value of voxels outside of leaves and tiles.
        placement: where the grid is in the world.
        name: of the grid.
        grid_class: what the values mean, as a grid buffer spells it.
        tiles: of a grid with values; none by default.

    Returns:
        uint8, one dimension: the grid buffer.

    Raises:
        ValueError: If there are more than 2**31 - 1 voxels in leaves.
    """
    if len(leaves.origins) * LEAF_SIDE**3 > MOST_VOXELS:
        raise ValueError(f"{len(leaves.origins)} leaves of 512 voxels are more than the limit of {MOST_VOXELS} voxels")
    small, large, roots = _tiles_by_extent(tiles, value_type)
    count = len(leaves.origins)
    lower, in_lower = blocks(np.concatenate([leaves.origins, small.origins]), LOWER_WIDTH)
    upper, in_upper = blocks(np.concatenate([lower, large.origins]), UPPER_WIDTH)
    entries, in_root = blocks(np.concatenate([upper, roots.origins]), UPPER_WIDTH)
    layout = layout_of(value_type)
    data, offsets, (table, uppers, lowers, leaf) = _allocate(layout, (len(entries), len(upper), len(lower), count))
    boxes = _write_leaves(leaf, leaves, value_type, background)
    if np.any(background):  # the memory is zero
        for records in (lowers, uppers):
            records["table"]["value"] = background
    _write_children(lowers, LOWER_SIDE, LEAF_WIDTH, (leaves.origins, in_lower[:count], offsets[3], leaf), offsets[2])
    _write_tiles(lowers, LOWER_SIDE, LEAF_WIDTH, small, in_lower[count:])
    lower_boxes = lowers["bbox"] = _join(np.concatenate([boxes, small.boxes]), in_lower, len(lower))
    _write_children(uppers, UPPER_SIDE, LOWER_WIDTH, (lower, in_upper[: len(lower)], offsets[2], lowers), offsets[1])
    _write_tiles(uppers, UPPER_SIDE, LOWER_WIDTH, large, in_upper[len(lower) :])
    upper_boxes = uppers["bbox"] = _join(np.concatenate([lower_boxes, large.boxes]), in_upper, len(upper))
    root = data[ROOT_OFFSET : offsets[0]].view(layout.root)[0]
    root["bbox"] = _join(np.concatenate([upper_boxes, roots.boxes]), np.zeros(len(entries), np.int64), 1)[0]
    root["num_tiles"] = len(entries)
    root["background"] = root["min"] = root["max"] = background
    table["key"] = _root_keys(entries)
    children, others = in_root[: len(upper)], in_root[len(upper) :]
    table["child"][children] = offsets[1] - ROOT_OFFSET + np.arange(len(upper)) * layout.upper.itemsize
    table["value"][others], table["state"][others] = roots.values, roots.active
    tree = data[TREE_OFFSET:ROOT_OFFSET].view(TREE)[0]
    tree["node_offset"] = [offsets[3] - TREE_OFFSET, offsets[2] - TREE_OFFSET, offsets[1] - TREE_OFFSET, TREE.itemsize]
    tree["node_count"] = [count, len(lower), len(upper)]
    active = [int(kind.active.sum()) for kind in (small, large, roots)]
    tree["tile_count"] = active
    in_tiles = sum(n * width**3 for n, width in zip(active, (LEAF_WIDTH, LOWER_WIDTH, UPPER_WIDTH)))
    tree["num_voxels"] = int(np.count_nonzero(leaves.masks)) + in_tiles
    header = data[:TREE_OFFSET].view(GRID)[0]
    _write_header(header, value_type, name, grid_class)
    write_placement(header, placement, root["bbox"])
    header["grid_size"] = data.size
    header["num_values"] = _num_values(leaves, value_type)
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


def _tiles_by_extent(tiles: Tiles | None, value_type: ValueType) -> tuple[Tiles, Tiles, Tiles]:
    """The tiles in lower nodes, in upper nodes and in the root."""
    if tiles is None:
        none = np.zeros(0, np.int32)
        tiles = Tiles(none.reshape(0, 3), none, np.zeros(0, value_type.dtype), none.astype(bool))
    return tiles.of_extent(LEAF_WIDTH), tiles.of_extent(LOWER_WIDTH), tiles.of_extent(UPPER_WIDTH)


def _allocate(layout: Layout, counts: tuple[int, ...]) -> tuple[np.ndarray, list[int], list[np.ndarray]]:
    """A buffer for entries of the root and for nodes, the offsets of these, and their records."""
    records = (layout.tile, layout.upper, layout.lower, layout.leaf)
    offsets, end = [], ROOT_OFFSET + layout.root.itemsize
    for record, count in zip(records, counts):
        offsets.append(end)
        end = up(end + count * record.itemsize, ALIGNMENT)
    data = np.zeros(end, np.uint8)
    parts = [data[o : o + n * r.itemsize].view(r) for o, n, r in zip(offsets, counts, records)]
    return data, offsets, parts


def _tree_keys(origins: np.ndarray) -> list[np.ndarray]:
    """Numbers that sort leaves in the order of the tree; the last counts most."""
    upper = _entry(origins, UPPER_WIDTH, LOWER_WIDTH, UPPER_SIDE)
    return [upper << 12 | _entry(origins, LOWER_WIDTH, LEAF_WIDTH, LOWER_SIDE), _root_keys(origins)]


def _entry(origins: np.ndarray, width: int, child: int, side: int) -> np.ndarray:
    """The entries of children in the tables of their parents."""
    x, y, z = ((origins & width - 1) // child).astype(np.int64).T
    return (x * side + y) * side + z


def _root_keys(origins: np.ndarray) -> np.ndarray:
    x, y, z = (origins.view(np.uint32) // np.uint32(UPPER_WIDTH)).astype(np.uint64).T
    return x << np.uint64(42) | y << np.uint64(21) | z


def _starts(keys: list[np.ndarray]) -> np.ndarray:
    """True where a row of sorted keys differs from the one before."""
    changes = [np.concatenate([[True], k[1:] != k[:-1]]) for k in keys if len(k)]
    return np.logical_or.reduce(changes) if changes else np.zeros(0, bool)


def _write_leaves(records: np.ndarray, leaves: Leaves, value_type: ValueType, background: Any) -> np.ndarray:
    """Write leaves and return the boxes of their active voxels, int32 (n, 2, 3)."""
    bits = np.packbits(leaves.masks, axis=1, bitorder="little")
    boxes = _leaf_boxes(leaves.origins, bits)
    records["bbox_min"] = boxes[:, 0]
    records["bbox_size"] = boxes[:, 1] - boxes[:, 0]
    records["flags"] = FLAG_BBOX
    records["value_mask"] = bits
    if value_type.is_index:
        counts = leaves.masks.sum(axis=1) if value_type.counts_active else np.full(len(leaves.masks), LEAF_SIDE**3)
        records["first"] = 1 + np.cumsum(counts) - counts
    elif value_type.bits is None:
        for part, values in _values_of(leaves, background):
            records["values"][part] = values
    elif value_type.bits == 1:
        for part, values in _values_of(leaves, np.full(LEAF_SIDE**3, background)):
            records["values"][part] = np.packbits(values.astype(bool), axis=-1, bitorder="little")
    if value_type.counts_active:
        records["prefix"] = prefix_sums(leaves.masks)
    return boxes


def _values_of(leaves: Leaves, background: Any) -> Iterator[tuple[slice, Any]]:
    """The values of some leaves after the other, which stay in the processor's cache while they are sorted."""
    if leaves.values is None:
        yield slice(None), background
    elif leaves.rows is None:
        yield slice(None), leaves.values
    else:
        for first in range(0, len(leaves.rows), _SORTED):
            part = slice(first, first + _SORTED)
            yield part, leaves.values[leaves.rows[part]]


def _leaf_boxes(origins: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The boxes of the active voxels of leaves, whose masks are bits; of all voxels where none is active."""
    words = masks.view("<u8")  # a plane of x each: the bytes are rows of y, and their bits are along z
    planes = np.bitwise_or.reduce(words.T, axis=0)
    planes = np.where(planes == 0, ~np.uint64(0), planes)
    along_x = np.where(words.any(axis=1, keepdims=True), words, ~np.uint64(0)) != 0
    along_y = planes.view(np.uint8).reshape(-1, LEAF_SIDE) != 0
    along_z = planes.copy()
    for shift in (32, 16, 8):
        along_z |= along_z >> np.uint64(shift)
    in_z = np.unpackbits(along_z.astype(np.uint8)[:, None], axis=1, bitorder="little")
    lines: list[Any] = [along_x, along_y, in_z]
    least = np.stack([np.argmax(line, axis=1) for line in lines], axis=1)
    most = np.stack([LEAF_SIDE - 1 - np.argmax(line[:, ::-1], axis=1) for line in lines], axis=1)
    return (origins[:, None] + np.stack([least, most], axis=1)).astype(np.int32)


def _write_children(
    records: np.ndarray, side: int, width: int, children: tuple[np.ndarray, np.ndarray, int, np.ndarray], offset: int
) -> None:
    """Write children into tables of nodes: their origins, their parents, the offset of the first, and their records."""
    origins, parent, first, below = children
    entry = _entry(origins, side * width, width, side)
    child = first + np.arange(len(origins)) * below.dtype.itemsize
    records["table"]["child"][parent, entry] = child - offset - parent * records.dtype.itemsize
    records["child_mask"] = _mask(records, parent, entry)


def _write_tiles(records: np.ndarray, side: int, width: int, tiles: Tiles, parent: np.ndarray) -> None:
    """Write tiles into tables of nodes."""
    entry = _entry(tiles.origins, side * width, width, side)
    records["table"]["value"][parent, entry] = tiles.values
    records["value_mask"] = _mask(records, parent[tiles.active], entry[tiles.active])


def _mask(records: np.ndarray, parent: np.ndarray, entry: np.ndarray) -> np.ndarray:
    """Masks of nodes with the bits of some entries."""
    mask = np.zeros(records["table"].shape, bool)
    mask[parent, entry] = True
    return np.packbits(mask, axis=1, bitorder="little")


def _join(boxes: np.ndarray, parent: np.ndarray, count: int) -> np.ndarray:
    """The boxes around the children of each node."""
    joined = np.tile(EMPTY_BOX, (count, 1, 1))
    if len(parent):
        order = np.argsort(parent, kind="stable")
        starts = np.flatnonzero(np.diff(parent[order], prepend=-1))
        nodes, boxes = parent[order[starts]], boxes[order]
        joined[nodes, 0] = np.minimum.reduceat(boxes[:, 0], starts)
        joined[nodes, 1] = np.maximum.reduceat(boxes[:, 1], starts)
    return joined


def _num_values(leaves: Leaves, value_type: ValueType) -> int:
    """How many values there are for a grid of indices, with the background; 0 for others."""
    if not value_type.is_index:
        return 0
    return 1 + (int(np.count_nonzero(leaves.masks)) if value_type.counts_active else leaves.masks.size)


def _write_header(header: Any, value_type: ValueType, name: str, grid_class: int) -> None:
    header["magic"], header["checksum"], header["version"] = MAGICS[0], NO_CHECKSUM, VERSION
    header["flags"] = FLAG_BREADTH_FIRST | FLAG_BBOX
    header["grid_count"] = 1
    write_name(header, name)
    header["grid_class"] = CLASS_INDEX if value_type.is_index else grid_class
    header["grid_type"] = value_type.number


def write_name(header: Any, name: str) -> None:
    """Write the name of a grid into its header; of a longer one, the first 255 bytes."""
    text = name.encode()
    is_long = len(text) >= NAME_BYTES
    header["flags"] = int(header["flags"]) & ~FLAG_LONG_NAME | (FLAG_LONG_NAME if is_long else 0)
    header["name"] = text[: NAME_BYTES - 1]


def write_placement(header: Any, placement: Placement, box: np.ndarray) -> None:
    """Write where a grid is in the world into its header; `box` is that of its active voxels."""
    spot = header["map"]
    spot["mat_f"] = spot["mat_d"] = placement.matrix
    spot["inv_mat_f"] = spot["inv_mat_d"] = np.linalg.inv(placement.matrix)
    spot["vec_f"] = spot["vec_d"] = placement.translation
    spot["taper_f"] = spot["taper_d"] = 1.0
    header["voxel_size"] = placement.voxel_size
    header["world_bbox"] = _world_box(box, placement)


def _world_box(box: np.ndarray, placement: Placement) -> np.ndarray:
    """The box in the world around the voxels of a box."""
    low, high = box.astype(float)
    if (low > high).any():
        return np.zeros((2, 3))
    ends = np.stack([low, high + 1.0])
    corners = np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    places = corners @ placement.matrix.T + placement.translation
    return np.stack([places.min(axis=0), places.max(axis=0)])
