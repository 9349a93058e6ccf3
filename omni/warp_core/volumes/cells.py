"""The table of cells of a volume: for each block of 8x8x8 voxels, the word of its leaf, or TILE and that of its value.

lib/volumes/volume_data.py explains how lookups use it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..lib.volumes.volume_data import TILE
from .grid_tree import GridTree, Level
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
    _put_nodes(coarse, coarse_first * LOWER_WIDTH, grid.upper, UPPER_SIDE, LOWER_WIDTH)
    cells = coarse[np.ix_(*(np.arange(a, b + 1) // blocks - c for a, b, c in zip(first, last, coarse_first)))]
    _put_nodes(cells, first * LEAF_WIDTH, grid.lower, LOWER_SIDE, LEAF_WIDTH)
    return Cells(first.astype(np.int32), cells.astype(np.int32))


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
