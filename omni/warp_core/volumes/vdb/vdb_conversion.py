"""Grids of `.vdb` files as grid buffers of NanoVDB, and whole files converted. Start with `grid_buffer_of`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from ..file_cursor import Source
from ..grid_builder import Leaves, Placement, Tiles, build_grid, leaf_origins, whole_masks, with_feature
from ..grid_tree import unpack_mask
from ..layout import CLASS_TOPOLOGY, LEAF_SIDE, LEAF_WIDTH, ON_INDEX, VALUE_TYPES, ValueType
from ..nvdb_file import read_grids, write_grids
from .vdb_file import list_vdb, read_vdb
from .vdb_grid import GRID_CLASSES, VdbGrid
from .vdb_header import is_vdb
from .vdb_writer import write_vdb

_BY_NAME = {value_type.name: value_type for value_type in VALUE_TYPES.values()}
# The values of a grid buffer that hold those of a .vdb file without loss.
_TYPES = {
    "float": "float", "double": "double", "half": "float", "int32": "int32", "int64": "int64", "bool": "bool",
    "mask": "mask", "vec3s": "vec3f", "vec3d": "vec3d", "vec3i": "vec3d",
}  # fmt: skip


def grid_buffer_of(grid: VdbGrid) -> np.ndarray:
    """Build the grid buffer of a grid, with its leaves, tiles, class and transform.

    Args:
        grid: from `read_vdb`. Values of half become float, those of vec3i vec3d.

    Returns:
        uint8, one dimension: the grid buffer.
    """
    value_type = _BY_NAME[_TYPES[grid.type]]
    origins, masks, order = _sorted_leaves(grid.leaf_origins, grid.leaf_masks)
    leaves = Leaves(origins, masks, grid.leaf_values, order)
    tiles = Tiles(grid.tile_origins, grid.tile_extents, _values(grid.tile_values, value_type), grid.tile_active)
    grid_class = CLASS_TOPOLOGY if grid.type == "mask" else GRID_CLASSES.index(grid.grid_class)
    background = _values(grid.background, value_type)
    return build_grid(leaves, value_type, background, _placement(grid), grid.name, grid_class, tiles)


def index_buffer_of(grid: VdbGrid) -> np.ndarray:
    """Build the grid buffer of a grid of indices with the active voxels of a grid.

    Args:
        grid: from `read_vdb`. Active tiles of 8x8x8 voxels become leaves.

    Returns:
        uint8, one dimension: the grid buffer. It carries along an array with the values of the voxels, in the order of
        their numbers.

    Raises:
        ValueError: If a larger tile is active: each of its voxels would need a number.
    """
    value_type = _BY_NAME[_TYPES[grid.type]]
    if (grid.tile_active & (grid.tile_extents > LEAF_WIDTH)).any():
        raise ValueError(
            f"grid {grid.name!r} has active tiles of more than 8x8x8 voxels, which a volume of indices would have to "
            "number one by one: load the grid with its values"
        )
    tiles = np.flatnonzero(grid.tile_active)
    all_masks = np.concatenate([grid.leaf_masks, whole_masks(len(tiles))])
    origins, masks, order = _sorted_leaves(np.concatenate([grid.leaf_origins, grid.tile_origins[tiles]]), all_masks)
    in_tiles = np.repeat(grid.tile_values[tiles, None], LEAF_SIDE**3, axis=1)
    values = np.concatenate([grid.leaf_values, in_tiles])[order][unpack_mask(masks)]
    data = build_grid(Leaves(origins, masks), VALUE_TYPES[ON_INDEX], 0, _placement(grid), grid.name)
    element = value_type if value_type.bits is None else _BY_NAME["uint8"]
    return with_feature(data, grid.name, element.number, _values(values, element))


def _sorted_leaves(origins: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The origins and masks of leaves in the order of the tree, and which of the given leaves each is."""
    found, place = leaf_origins(origins)
    order = np.empty(len(place), np.int64)
    order[place] = np.arange(len(place))
    return found, masks[order], order


def _placement(grid: VdbGrid) -> Placement:
    return Placement(grid.transform[:3, :3], grid.transform[:3, 3])


def _values(values: np.ndarray, value_type: ValueType) -> np.ndarray:
    return values.astype(value_type.base, copy=False)


def convert_file(
    source: Source,
    target: str | os.PathLike[str],
    names: Sequence[str] = (),
    codec: str = "none",
    advance: Callable[[], None] = lambda: None,
) -> list[str]:
    """Write the grids of a `.vdb` or `.nvdb` file to a `.nvdb` or `.vdb` file, whole or not at all.

    Args:
        source: the path or the bytes of the file to read.
        target: the file to write; an existing one is replaced. Its ending tells the format.
        names: of the grids to write; all by default.
        codec: "none", "zip" or "blosc".
        advance: called after each grid that was read.

    Returns:
        The names of the grids that were written.

    Raises:
        KeyError: If the file has no grid of one of `names`.
        VolumeFileError: If a grid to write is damaged or cannot be read, a `ValueError` that names file, grid and byte.
        ValueError: If OpenVDB has no grid of the values of one for a `.vdb` file.
        OSError: If a file cannot be read or written.
    """
    found, read = grids_of(source)
    chosen = [number for number, name in enumerate(found) if not names or name in names]
    for name in names:
        if name not in found:
            raise KeyError(f"there is no grid {name!r}; the grids of the file are {', '.join(map(repr, found))}")
    buffers = []
    for number in chosen:
        buffers.append(read(number))
        advance()
    write_volume_file(target, buffers, codec)
    return [found[number] for number in chosen]


def write_volume_file(path: str | os.PathLike[str], buffers: Sequence[np.ndarray], codec: str = "none") -> None:
    """Write grid buffers to a file of the format of its ending, `.vdb` or else `.nvdb`, whole or not at all.

    Raises:
        ValueError: If the codec is unknown, or a `.vdb` file cannot have the values of a grid.
        OSError: If the file cannot be written.
    """
    write = write_vdb if os.fsdecode(path).lower().endswith(".vdb") else write_grids
    write(path, buffers, codec)


def grids_of(source: Source) -> tuple[list[str], Callable[[int], np.ndarray]]:
    """List the grids of a `.vdb` or `.nvdb` file, which its first bytes tell apart.

    Returns:
        The names of the grids, and a function that reads the grid buffer of one by its number.

    Raises:
        VolumeFileError: If it is no such file, or is damaged. The function raises it, too.
        OSError: If the file cannot be read.
    """
    if is_vdb(source):
        names = [entry.name for entry in list_vdb(source)]
        return names, lambda number: grid_buffer_of(read_vdb(source, index=number))
    grids = read_grids(source)
    return [grid.name for grid in grids], lambda number: grids[number].read()
