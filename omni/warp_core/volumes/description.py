"""The descriptor of a volume: what lib/volumes/volume_data.py reads, of a grid buffer and its table of cells."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..devices.device import Device
from ..geometry.descriptors import Descriptors
from ..lib.geometry.structure_ids import VOLUME
from ..lib.volumes.volume_data import VolumeData
from .cells import WORD, Cells
from .grid_tree import GridTree, count_voxels
from .layout import ValueType, layout_of, offset_of

_DATA: Any = VolumeData  # with the methods that `struct` gives it


def describe(number: Any, grid: GridTree, cells: Cells, words: int, places: int) -> bytes:
    """Return the descriptor of a volume, whose buffer is at `words` and whose table of cells is at `places`."""
    memory = _of_type(grid.value_type).copy()
    data, spot, offsets = memory[0], grid.header["map"], grid.leaf.offsets
    root, layout = grid.root_offset // WORD, grid.layout
    data["id"], data["words"], data["cells"] = int(number), words, places
    data["num_words"], data["num_voxels"] = grid.data.size // WORD, count_voxels(grid)
    data["cell_min"], data["cell_dims"] = cells.first, cells.shape
    data["first_leaf"] = offsets[0] // WORD if len(offsets) else 0
    data["root"], data["background"] = root, root + _field(layout.root, "background")
    data["tiles"], data["num_tiles"] = root + layout.root.itemsize // WORD, len(grid.tiles)
    data["to_world"], data["to_index"], data["translation"] = spot["mat_f"], spot["inv_mat_f"], spot["vec_f"]
    return memory.tobytes()


@cache
def _of_type(value_type: ValueType) -> np.ndarray:
    """A descriptor with what is the same for all volumes of these values."""
    memory = np.zeros(1, _DATA.numpy_dtype())
    layout, data = layout_of(value_type), memory[0]
    data["value_type"] = value_type.number
    data["leaf_words"] = layout.leaf.itemsize // WORD
    data["leaf_values"] = _field(layout.leaf, "values") if "values" in (layout.leaf.names or ()) else 0
    data["lower_table"], data["upper_table"] = _field(layout.lower, "table"), _field(layout.upper, "table")
    data["entry_words"] = layout.lower["table"].base.itemsize // WORD
    data["tile_words"], data["tile_value"] = layout.tile.itemsize // WORD, _field(layout.tile, "value")
    return memory


def _field(record: np.dtype, name: str) -> int:
    """The word of a record where a field begins."""
    return offset_of(record, name) // WORD


@cache
def descriptors_on(device: Device) -> Descriptors:
    """Return the table by which kernels of a device find volumes."""
    return Descriptors(VolumeData, VOLUME, device)
