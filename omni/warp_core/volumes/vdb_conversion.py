"""Grids of `.vdb` files as grid buffers of NanoVDB, and whole files converted. Start with `grid_buffer_of`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from .file_cursor import Source, opened
from .grid_builder import Leaves, Placement, Tiles, build_grid, leaf_origins
from .layout import VALUE_TYPES, ValueType
from .nvdb_file import read_grids, write_grids
from .vdb_file import list_vdb, read_vdb
from .vdb_grid import GRID_CLASSES, VdbGrid
from .vdb_header import VDB_MAGIC

_BY_NAME = {value_type.name: value_type for value_type in VALUE_TYPES.values()}
# The values of a grid buffer that hold those of a .vdb file without loss.
_TYPES = {
    "float": "float", "double": "double", "half": "float", "int32": "int32", "int64": "int64", "bool": "int32",
    "mask": "int32", "vec3s": "vec3f", "vec3d": "vec3d", "vec3i": "vec3d",
}  # fmt: skip


def grid_buffer_of(grid: VdbGrid) -> np.ndarray:
    """Build the grid buffer of a grid, with its leaves, tiles, class and transform.

    Args:
        grid: from `read_vdb`. Values of half become float, those of bool and mask int32, those of vec3i vec3d.

    Returns:
        uint8, one dimension: the grid buffer.
    """
    value_type = _BY_NAME[_TYPES[grid.type]]
    origins, place = leaf_origins(grid.leaf_origins)
    order = np.empty(len(place), np.int64)
    order[place] = np.arange(len(place))
    masks = np.unpackbits(grid.leaf_masks[order], axis=1, bitorder="little").view(bool)
    leaves = Leaves(origins, masks, _values(grid.leaf_values[order], value_type))
    tiles = Tiles(grid.tile_origins, grid.tile_extents, _values(grid.tile_values, value_type), grid.tile_active)
    placement = Placement(grid.transform[:3, :3], grid.transform[:3, 3])
    grid_class = GRID_CLASSES.index(grid.grid_class)
    background = _values(grid.background, value_type)
    return build_grid(leaves, value_type, background, placement, grid.name, grid_class, tiles)


def _values(values: np.ndarray, value_type: ValueType) -> np.ndarray:
    return values.astype(value_type.base, copy=False)


def convert_file(
    source: Source,
    target: str | os.PathLike[str],
    names: Sequence[str] = (),
    codec: str = "none",
    advance: Callable[[], None] = lambda: None,
) -> list[str]:
    """Write the grids of a `.vdb` or `.nvdb` file to a `.nvdb` file, whole or not at all.

    Args:
        source: the path or the bytes of the file to read.
        target: the file to write; an existing one is replaced.
        names: of the grids to write; all by default.
        codec: "none", "zip" or "blosc".
        advance: called after each grid that was read.

    Returns:
        The names of the grids that were written.

    Raises:
        KeyError: If the file has no grid of one of `names`.
        VolumeFileError: If a grid to write is damaged or cannot be read, a `ValueError` that names file, grid and byte.
        OSError: If a file cannot be read or written.
    """
    found, read = _grids_of(source)
    chosen = [number for number, name in enumerate(found) if not names or name in names]
    for name in names:
        if name not in found:
            raise KeyError(f"there is no grid {name!r}; the grids of the file are {', '.join(map(repr, found))}")
    buffers = []
    for number in chosen:
        buffers.append(read(number))
        advance()
    write_grids(target, buffers, codec)
    return [found[number] for number in chosen]


def _grids_of(source: Source) -> tuple[list[str], Callable[[int], np.ndarray]]:
    """The names of the grids of a file, and a function that reads the grid buffer of one."""
    with opened(source) as cursor:
        is_vdb = cursor.left >= len(VDB_MAGIC) and cursor.take(len(VDB_MAGIC), "the header") == VDB_MAGIC
    if is_vdb:
        names = [entry.name for entry in list_vdb(source)]
        return names, lambda number: grid_buffer_of(read_vdb(source, index=number))
    grids = read_grids(source)
    return [grid.name for grid in grids], lambda number: grids[number].read()
