"""The outline of a grid: the few numbers that the descriptor of a volume has, so that records of nodes are not made."""

from __future__ import annotations

from typing import NamedTuple

from .cells import Cells, cells_of
from .grid_tree import GridTree, count_voxels
from .layout import GRID, MAP, ValueType, offset_of

_MAP_AT, _MAP_BYTES = offset_of(GRID, "map"), offset_of(MAP, "taper_f")


class Outline(NamedTuple):
    """A grid buffer in numbers.

    Attributes:
        value_type: of the values.
        size: bytes of the buffer.
        root_offset: where the root begins.
        num_tiles: tiles of the root.
        num_leaves: leaves.
        first_leaf: where they begin; 0 without any.
        num_voxels: the voxels that the grid counts.
        place: the first bytes of `MAP`: the matrices and the translation of float32.
        cells: the table of cells that the grid should have.
    """

    value_type: ValueType
    size: int
    root_offset: int
    num_tiles: int
    num_leaves: int
    first_leaf: int
    num_voxels: int
    place: bytes
    cells: Cells


def outline_of(grid: GridTree) -> Outline:
    """Return the outline of a grid buffer that was read."""
    offsets = grid.leaf.offsets
    return Outline(
        grid.value_type,
        grid.data.size,
        grid.root_offset,
        len(grid.tiles),
        len(offsets),
        int(offsets[0]) if len(offsets) else 0,
        count_voxels(grid),
        grid.data[_MAP_AT : _MAP_AT + _MAP_BYTES].tobytes(),
        cells_of(grid.leaf.origins),
    )
