"""The descriptor of a volume: what lib/volumes/volume_data.py reads, of a grid buffer and its table of cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lang.values.value_classes import mat33f, vec3f, vec3i
from ..lib.volumes.volume_data import VolumeData
from .cells import WORD, Cells
from .grid_tree import GridTree, count_voxels
from .layout import offset_of

_DATA: Any = VolumeData  # with the constructor that `struct` gives it
_VEC3: Any = vec3f
_VEC3I: Any = vec3i
_MAT33: Any = mat33f


def describe(number: Any, grid: GridTree, cells: Cells, words: int, places: int) -> Any:
    """Return the descriptor of a volume, whose buffer is at `words` and whose table of cells is at `places`."""
    layout = grid.layout
    spot = grid.header["map"]
    tiles = grid.root_offset + layout.root.itemsize
    return _DATA(
        id=number,
        words=words,
        cells=places,
        num_words=grid.data.size // WORD,
        num_voxels=count_voxels(grid),
        value_type=grid.value_type.number,
        cell_min=_VEC3I(*cells.first.tolist()),
        cell_dims=_VEC3I(*cells.places.shape),
        first_leaf=_first_leaf(grid) // WORD,
        leaf_words=layout.leaf.itemsize // WORD,
        leaf_values=_field(layout.leaf, "values") if "values" in (layout.leaf.names or ()) else 0,
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
