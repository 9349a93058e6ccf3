"""The table of cells of a volume: for each block of 8x8x8 voxels, the word of its leaf, or TILE and that of its value.

lib/volumes/volume_data.py explains how lookups use it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _native
from .grid_tree import GridTree
from .layout import native_layout

WORD = 4  # bytes
_CELLS_PER_LEAF = 64  # a sparser grid has no table: lookups walk down its tree
_ALWAYS = 1 << 16  # cells that any grid may have


class Cells(NamedTuple):
    """`first` is the first cell along each axis, `shape` is the number of cells along each."""

    first: tuple[int, int, int]
    shape: tuple[int, int, int]

    @property
    def size(self) -> int:
        """The number of cells."""
        x, y, z = self.shape
        return x * y * z


def cells_of(origins: np.ndarray) -> Cells:
    """Return the table that a grid should have: of the box of its leaves, an empty one if they are too few for that.

    Args:
        origins: of the leaves, int32 (n, 3).
    """
    first, (x, y, z) = _native.cells_around(np.ascontiguousarray(origins, np.int32))
    if x * y * z > max(_ALWAYS, _CELLS_PER_LEAF * len(origins)):
        return Cells((0, 0, 0), (0, 0, 0))
    return Cells(first, (x, y, z))


def write_cells(grid: GridTree, cells: Cells, places: np.ndarray) -> None:
    """Write the place of each cell of a grid that was read, int32, into `places`, which has as many elements."""
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
    _native.write_cells(native_layout(grid.value_type), grid.data, grid.root_offset, nodes, *cells, places)
