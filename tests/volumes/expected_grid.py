"""Grid buffers and tables of cells built by NumPy: the judge of the native builders. Start with `expected_grid`."""

from __future__ import annotations

from typing import Any

import numpy as np

from omni.warp_core.lib.volumes.volume_data import TILE
from omni.warp_core.volumes.grid_builder import Leaves, Placement, Tiles
from omni.warp_core.volumes.grid_tree import GridTree, Level, prefix_sums, unpack_mask
from omni.warp_core.volumes.layout import (
    ALIGNMENT,
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
    offset_of,
    up,
)

EMPTY_BOX = np.array([[2**31 - 1] * 3, [-(2**31)] * 3], np.int32)
WORD = 4  # bytes


def blocks(voxels: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The origins of the blocks of a width that hold voxels, in the order of the tree, and which holds each voxel."""
    origins = voxels & ~np.int32(width - 1)
    keys = _tree_keys(origins)
    order = np.lexsort(keys)
    starts = _starts([k[order] for k in keys])
    block = np.empty(len(voxels), np.int64)
    block[order] = np.cumsum(starts) - 1
    return origins[order[starts]], block


def expected_grid(
    leaves: Leaves,
    value_type: ValueType,
    background: Any,
    placement: Placement,
    name: str = "",
    grid_class: int = 0,
    tiles: Tiles | None = None,
) -> np.ndarray:
    """Return the bytes that `build_grid` should give."""
    small, large, roots = (_of_extent(tiles, width, value_type) for width in (LEAF_WIDTH, LOWER_WIDTH, UPPER_WIDTH))
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
    lower_boxes = lowers["bbox"] = _join(np.concatenate([boxes, _tile_boxes(small)]), in_lower, len(lower))
    _write_children(uppers, UPPER_SIDE, LOWER_WIDTH, (lower, in_upper[: len(lower)], offsets[2], lowers), offsets[1])
    _write_tiles(uppers, UPPER_SIDE, LOWER_WIDTH, large, in_upper[len(lower) :])
    upper_boxes = uppers["bbox"] = _join(np.concatenate([lower_boxes, _tile_boxes(large)]), in_upper, len(upper))
    root = data[ROOT_OFFSET : offsets[0]].view(layout.root)[0]
    root["bbox"] = _join(np.concatenate([upper_boxes, _tile_boxes(roots)]), np.zeros(len(entries), np.int64), 1)[0]
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
    tree["num_voxels"] = int(np.unpackbits(leaves.masks).sum()) + in_tiles
    header = data[:TREE_OFFSET].view(GRID)[0]
    _write_header(header, value_type, name, grid_class)
    _write_placement(header, placement, root["bbox"])
    header["grid_size"] = data.size
    header["num_values"] = _num_values(leaves, value_type)
    return data


def _write_header(header: Any, value_type: ValueType, name: str, grid_class: int) -> None:
    header["magic"], header["checksum"], header["version"] = MAGICS[0], NO_CHECKSUM, VERSION
    header["flags"] = FLAG_BREADTH_FIRST | FLAG_BBOX | (FLAG_LONG_NAME if len(name.encode()) >= NAME_BYTES else 0)
    header["grid_count"] = 1
    header["name"] = name.encode()[: NAME_BYTES - 1]
    header["grid_class"] = CLASS_INDEX if value_type.is_index else grid_class
    header["grid_type"] = value_type.number


def _write_placement(header: Any, placement: Placement, box: np.ndarray) -> None:
    """Write where a grid is in the world into its header; `box` is that of its active voxels."""
    spot = header["map"]
    spot["mat_f"] = spot["mat_d"] = placement.matrix
    spot["inv_mat_f"] = spot["inv_mat_d"] = np.linalg.inv(placement.matrix)
    spot["vec_f"] = spot["vec_d"] = placement.translation
    spot["taper_f"] = spot["taper_d"] = 1.0
    header["voxel_size"] = np.linalg.norm(placement.matrix, axis=0)
    if (box[0] <= box[1]).all():
        ends = box + np.array([[0.0] * 3, [1.0] * 3])  # the last voxels end one farther
        corners = ends[np.argwhere(np.ones((2, 2, 2))), (0, 1, 2)]
        x, y, z = (placement.matrix * corners[:, None]).transpose(2, 0, 1)
        places = x + y + z + placement.translation  # a product of matrices may round less often
        header["world_bbox"] = [places.min(axis=0), places.max(axis=0)]


def _of_extent(tiles: Tiles | None, extent: int, value_type: ValueType) -> Tiles:
    if tiles is None:
        none = np.zeros(0, np.int32)
        return Tiles(none.reshape(0, 3), none, np.zeros(0, value_type.dtype), none.astype(bool))
    return Tiles(*(array[tiles.extents == extent] for array in tiles))


def _tile_boxes(tiles: Tiles) -> np.ndarray:
    """The boxes of active voxels, which are empty for tiles that are not active."""
    boxes = np.stack([tiles.origins, tiles.origins + tiles.extents[:, None] - 1], axis=1)
    boxes[~tiles.active] = EMPTY_BOX
    return boxes.astype(np.int32)


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
    masks, values = unpack_mask(leaves.masks), _values_of(leaves, value_type, background)
    boxes = _leaf_boxes(leaves.origins, leaves.masks)
    records["bbox_min"] = boxes[:, 0]
    records["bbox_size"] = boxes[:, 1] - boxes[:, 0]
    records["flags"] = FLAG_BBOX
    records["value_mask"] = leaves.masks
    if value_type.is_index:
        counts = masks.sum(axis=1) if value_type.counts_active else np.full(len(masks), LEAF_SIDE**3)
        records["first"] = 1 + np.cumsum(counts) - counts
    elif value_type.bits is None:
        records["values"] = values
    elif value_type.bits == 1:
        records["values"] = np.packbits(values.astype(bool), axis=-1, bitorder="little")
    if value_type.counts_active:
        records["prefix"] = prefix_sums(masks)
    return boxes


def _values_of(leaves: Leaves, value_type: ValueType, background: Any) -> np.ndarray:
    """The values of all voxels of leaves."""
    found = np.empty((len(leaves.origins), LEAF_SIDE**3, *value_type.dtype.shape), value_type.base)
    found[:] = background
    if leaves.values is not None:
        found[:] = leaves.values if leaves.rows is None else leaves.values[leaves.rows]
    elif leaves.dense is not None:
        voxels = leaves.origins[:, None] + np.argwhere(np.ones((LEAF_SIDE,) * 3, bool))
        inside = ((voxels >= 0) & (voxels < leaves.dense.shape[:3])).all(axis=2)
        found[inside] = leaves.dense[tuple(voxels[inside].T)]
    return found


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
    return 1 + (int(np.unpackbits(leaves.masks).sum()) if value_type.counts_active else 8 * leaves.masks.size)


def expected_cells(grid: GridTree) -> np.ndarray:
    """Return the place of each cell of the box of leaves, int32, three dimensions."""
    origins = grid.leaf.origins.astype(np.int64)
    first, last = origins.min(axis=0) // LEAF_WIDTH, origins.max(axis=0) // LEAF_WIDTH
    blocks = LOWER_WIDTH // LEAF_WIDTH
    coarse_first = first // blocks
    coarse = np.full(last // blocks - coarse_first + 1, TILE | _words(grid.root_offset, grid.layout.root, "background"))
    _put_tiles(grid, coarse, coarse_first * LOWER_WIDTH)
    _put_nodes(coarse, coarse_first * LOWER_WIDTH, grid.upper, UPPER_SIDE, LOWER_WIDTH)
    cells = coarse[np.ix_(*(np.arange(a, b + 1) // blocks - c for a, b, c in zip(first, last, coarse_first)))]
    _put_nodes(cells, first * LEAF_WIDTH, grid.lower, LOWER_SIDE, LEAF_WIDTH)
    return cells.astype(np.int32)


def _words(offset: int, record: np.dtype, field: str) -> int:
    return (offset + offset_of(record, field)) // WORD


def _put_nodes(places: np.ndarray, start: np.ndarray, level: Level, side: int, width: int) -> None:
    """Write what nodes lead to into an array of places of blocks of `width` voxels, which begins at voxel `start`."""
    numbers = np.arange(side**3).reshape(side, side, side)
    record = level.nodes.dtype
    table, entry_bytes = offset_of(record, "table"), record["table"].base.itemsize
    for origin, offset, node in zip(level.origins, level.offsets, level.reached):
        into, part = _overlap(places, (origin - start) // width, numbers.shape)
        entries = numbers[part]
        is_child = node["child_mask"][entries >> 3] >> (entries & 7) & 1
        children, tiles = offset + node["table"]["child"][entries], offset + table + entry_bytes * entries
        places[into] = np.where(is_child, children // WORD, TILE | tiles // WORD)


def _overlap(places: np.ndarray, at: np.ndarray, shape: tuple[int, ...]) -> tuple[tuple[slice, ...], ...]:
    """The part of an array in which a block of a shape lies that begins `at` an index, and that part of the block."""
    low, high = np.maximum(at, 0), np.maximum(np.minimum(at + shape, places.shape), np.maximum(at, 0))
    into, part = (tuple(slice(a, b) for a, b in zip(low - o, high - o)) for o in (0, at))
    return into, part


def _put_tiles(grid: GridTree, coarse: np.ndarray, start: np.ndarray) -> None:
    """Write the tiles of the root into an array of places of blocks of 128 voxels."""
    record = grid.layout.tile
    first = grid.root_offset + grid.layout.root.itemsize
    for number, (tile, origin) in enumerate(zip(grid.tiles, grid.tile_origins)):
        if tile["child"] == 0:
            word = _words(first + number * record.itemsize, record, "value")
            into, _ = _overlap(coarse, (origin - start) // LOWER_WIDTH, (UPPER_SIDE,) * 3)
            coarse[into] = TILE | word
