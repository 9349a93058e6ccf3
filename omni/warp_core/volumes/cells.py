"""The table of cells of a volume: for each block of 8x8x8 voxels, the word of its leaf, or TILE and that of its value.

lib/volumes/volume_data.py explains how lookups use it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..lib.volumes.volume_data import TILE
from .grid_tree import GridTree, Level, unpack_mask
from .layout import LEAF_WIDTH, LOWER_SIDE, LOWER_WIDTH, UPPER_SIDE, offset_of

WORD = 4  # bytes
_CELLS_PER_LEAF = 64  # a sparser grid has no table: lookups walk down its tree
_ALWAYS = 1 << 16  # cells that any grid may have


class Cells(NamedTuple):
    """`first` is the first cell along each axis, int32 (3,); `places` is int32, three dimensions."""

    first: np.ndarray
    places: np.ndarray


NONE = Cells(np.zeros(3, np.int32), np.zeros((0, 0, 0), np.int32))


def cells_of(grid: GridTree) -> Cells:
    """Return the table of a grid, which covers the box of its leaves; an empty one if they are too few for the box."""
    origins = grid.leaf.origins.astype(np.int64)
    if not len(origins):
        return NONE
    first, last = origins.min(axis=0) // LEAF_WIDTH, origins.max(axis=0) // LEAF_WIDTH
    dims = last - first + 1
    if np.prod(dims.astype(float)) > max(_ALWAYS, _CELLS_PER_LEAF * len(origins)):
        return NONE
    blocks = LOWER_WIDTH // LEAF_WIDTH
    coarse_first = first // blocks
    coarse = np.full(last // blocks - coarse_first + 1, TILE | _words(grid.root_offset, grid.layout.root, "background"))
    _put_tiles(grid, coarse, coarse_first * LOWER_WIDTH)
    _put_nodes(coarse, coarse_first * LOWER_WIDTH, grid.upper, _entries(grid.upper, UPPER_SIDE), LOWER_WIDTH)
    fine = coarse
    for axis in range(3):
        fine = fine.repeat(blocks, axis=axis)
    start = coarse_first * LOWER_WIDTH
    _put_nodes(fine, start, grid.lower, _entries(grid.lower, LOWER_SIDE), LEAF_WIDTH)
    low = first - coarse_first * blocks
    box = tuple(slice(a, a + n) for a, n in zip(low, dims))
    return Cells(first.astype(np.int32), np.ascontiguousarray(fine[box], np.int32))


def _words(offset: int, record: np.dtype, field: str) -> int:
    return (offset + offset_of(record, field)) // WORD


def _entries(level: Level, side: int) -> np.ndarray:
    """The places that the entries of nodes lead to, int64 (n, side**3)."""
    nodes, record = level.reached, level.nodes.dtype
    table, width = offset_of(record, "table"), record["table"].base.itemsize
    tiles = level.offsets[:, None] + (table + width * np.arange(side**3))
    children = nodes["table"]["child"] + level.offsets[:, None]
    return np.where(unpack_mask(nodes["child_mask"]), children // WORD, TILE | tiles // WORD)


def _put_nodes(places: np.ndarray, start: np.ndarray, level: Level, entries: np.ndarray, width: int) -> None:
    """Write what nodes lead to into an array of places of blocks of `width` voxels, which begins at voxel `start`."""
    side = round(entries.shape[1] ** (1 / 3))
    for origin, row in zip(level.origins, entries):
        _put(places, (origin - start) // width, row.reshape(side, side, side))


def _put(places: np.ndarray, at: np.ndarray, block: np.ndarray) -> None:
    """Write the part of a block that lies in the array."""
    low, high = np.maximum(at, 0), np.minimum(at + block.shape, places.shape)
    if (low < high).all():
        into, part = (tuple(slice(a, b) for a, b in zip(low - o, high - o)) for o in (0, at))
        places[into] = block[part]


def _put_tiles(grid: GridTree, coarse: np.ndarray, start: np.ndarray) -> None:
    """Write the tiles of the root into an array of places of blocks of 128 voxels."""
    record = grid.layout.tile
    first = grid.root_offset + grid.layout.root.itemsize
    for number, (tile, origin) in enumerate(zip(grid.tiles, grid.tile_origins)):
        if tile["child"] == 0:
            word = _words(first + number * record.itemsize, record, "value")
            _put(coarse, (origin - start) // LOWER_WIDTH, np.full((UPPER_SIDE,) * 3, TILE | word))
