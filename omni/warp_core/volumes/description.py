"""The descriptor of a volume: what lib/volumes/volume_data.py reads, of a grid buffer and its table of cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from struct import Struct
from typing import Any

import numpy as np

from ..arrays.array import array
from ..devices.device import Device
from ..geometry.descriptors import Descriptors
from ..lang.values.scalars import int32
from ..lib.geometry.structure_ids import VOLUME
from ..lib.volumes.volume_data import VolumeData
from .cells import WORD, Cells, write_cells
from .grid_builder import BuiltGrid
from .grid_memory import filled
from .grid_outline import Outline, outline_of
from .grid_tree import GridTree
from .layout import MAP, ValueType, layout_of, offset_of

_CELL = Struct("<3i")
_MATRIX = offset_of(MAP, "inv_mat_f")  # bytes of one


def outline_and_cells(grid: GridTree | BuiltGrid, device: Device) -> tuple[Outline, array]:
    """Return the outline of a grid, and its table of cells on a device."""
    write: Callable[[Cells, Any], None]
    if isinstance(grid, BuiltGrid):
        outline, write = grid.outline(), grid.write_cells
    else:
        outline, write = outline_of(grid), partial(write_cells, grid)
    cells = outline.cells
    return outline, filled(lambda data: write(cells, data), cells.size, int32, device)


def write_descriptor(place: array, number: int, outline: Outline, memory: array, cell_table: array) -> None:
    """Write the descriptor of a volume with an id, whose grid buffer is in `memory`."""
    root, layout = outline.root_offset // WORD, layout_of(outline.value_type)
    spot, cells, kept = outline.place, outline.cells, descriptors_on(memory.device)
    descriptor = kept.pack(
        id=number,
        words=memory.ptr,
        cells=cell_table.ptr,
        num_words=outline.size // WORD,
        num_voxels=outline.num_voxels,
        cell_min=_CELL.pack(*cells.first),
        cell_dims=_CELL.pack(*cells.shape),
        first_leaf=outline.first_leaf // WORD,
        root=root,
        tiles=root + layout.root.itemsize // WORD,
        num_tiles=outline.num_tiles,
        to_world=spot[:_MATRIX],
        to_index=spot[_MATRIX : 2 * _MATRIX],
        translation=spot[2 * _MATRIX :],
        background=root + _field(layout.root, "background"),
        **_of_type(outline.value_type),
    )
    kept.write(place, descriptor)


@cache
def _of_type(value_type: ValueType) -> dict[str, int]:
    """What is the same for all volumes of these values."""
    layout = layout_of(value_type)
    return {
        "value_type": value_type.number,
        "leaf_words": layout.leaf.itemsize // WORD,
        "leaf_values": _field(layout.leaf, "values") if "values" in (layout.leaf.names or ()) else 0,
        "lower_table": _field(layout.lower, "table"),
        "upper_table": _field(layout.upper, "table"),
        "entry_words": layout.lower["table"].base.itemsize // WORD,
        "tile_words": layout.tile.itemsize // WORD,
        "tile_value": _field(layout.tile, "value"),
    }


def _field(record: np.dtype, name: str) -> int:
    """The word of a record where a field begins."""
    return offset_of(record, name) // WORD


@cache
def descriptors_on(device: Device) -> Descriptors:
    """Return the table by which kernels of a device find volumes."""
    return Descriptors(VolumeData, VOLUME, device)
