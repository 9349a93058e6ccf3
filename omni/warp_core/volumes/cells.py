"""The table of cells of a volume: for each block of 8x8x8 voxels, the word of its leaf, or TILE and that of its value.

lib/volumes/volume_data.py explains how lookups use it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _native
from .grid_tree import GridTree
from .layout import LEAF_WIDTH, native_layout

WORD = 4  # bytes
_CELLS_PER_LEAF = 64  # a sparser grid has no table: lookups walk down its tree
_ALWAYS = 1 << 16  # cells that any grid may have


class Cells(NamedTuple):
    """`first` is the first cell along each axis, int32 (3,); `shape` is the number of cells along each."""

    first: np.ndarray
    shape: tuple[int, int, int]

    @property
    def size(self) -> int:
        """The number of cells."""
        x, y, z = self.shape
        return x * y * z


def cells_of(grid: GridTree) -> Cells:
    """Return the table that a grid should have: of the box of its leaves, an empty one if they are too few for that."""
    origins = grid.leaf.origins
    first = last = np.zeros(3, np.int32)
    if len(origins):
        first, last = origins.min(axis=0) // LEAF_WIDTH, origins.max(axis=0) // LEAF_WIDTH
    x, y, z = (last - first + 1).tolist()  # at most 2**29
    if not len(origins) or x * y * z > max(_ALWAYS, _CELLS_PER_LEAF * len(origins)):
        return Cells(np.zeros(3, np.int32), (0, 0, 0))
    return Cells(first, (x, y, z))


def write_cells(grid: GridTree, cells: Cells, places: np.ndarray) -> None:
    """Write the place of each cell, int32, into `places`, which has as many elements."""
    if not cells.size:
        return
    is_tile = grid.tiles["child"] == 0
    first = grid.root_offset + grid.layout.root.itemsize
    tiles = first + np.flatnonzero(is_tile) * grid.layout.tile.itemsize
    nodes = [
        (tiles, grid.tile_origins[is_tile]),
        (grid.upper.offsets, grid.upper.origins),
        (grid.lower.offsets, grid.lower.origins),
    ]
    where = cells.first.tolist(), cells.shape
    _native.write_cells(native_layout(grid.value_type), grid.data, grid.root_offset, nodes, *where, places)
