"""`.vdb` files: the grids of OpenVDB 4 to 12 as arrays. The inner loops are native (native/src/volumes/vdb_tree.cpp).

A file is a header and grids. A grid is metadata, a transform and a tree, or shares the tree of another grid. Start with
`read_vdb`.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ... import _native
from ..file_cursor import FileCursor, Source, VolumeFileError, opened
from .vdb_grid import GRID_CLASSES, VdbGrid
from .vdb_header import VdbEntry, read_entry, read_file_header, read_metadata, read_transform

_LEAF_VOXELS, _LEAF_MASK = 512, 64
_COMPRESSION = range(8)  # 1 zlib, 2 only active values are saved, 4 blosc; any of them together


class _Values(NamedTuple):
    """How a tree has its values: the type of a number, how many make a value, and what leaves have."""

    scalar: str
    components: int = 1
    leaves: str = "values"


_TREES = {
    f"Tree_{name}_5_4_3": (name, values)
    for name, values in {
        "float": _Values("float32"),
        "double": _Values("float64"),
        "half": _Values("float16"),
        "int32": _Values("int32"),
        "int64": _Values("int64"),
        "bool": _Values("bool", leaves="bits"),
        "mask": _Values("bool", leaves="mask"),
        "vec3s": _Values("float32", 3),
        "vec3d": _Values("float64", 3),
        "vec3i": _Values("int32", 3),
    }.items()
}


def list_vdb(source: Source) -> list[VdbEntry]:
    """List the grids of a `.vdb` file, given by its path or its bytes, in its order.

    Raises:
        VolumeFileError: If it is no such file, or is damaged: a `ValueError` that names file, grid and byte.
        OSError: If the file cannot be read.
    """
    with opened(source) as cursor:
        return _entries(cursor)


class VdbHead(NamedTuple):
    """A grid of a `.vdb` file without its tree.

    Attributes:
        entry: the grid as the file lists it.
        type: of the values, as in `VdbGrid.type`; the type of the tree if it cannot be read.
        metadata: what the file says about the grid.
        transform: as in `VdbGrid`; None if it cannot be read.
    """

    entry: VdbEntry
    type: str
    metadata: dict[str, Any]
    transform: np.ndarray | None


def read_vdb_heads(source: Source) -> list[VdbHead]:
    """Read what a `.vdb` file says about each of its grids. Raises as `read_vdb` does."""
    with opened(source) as cursor:
        return [_read_vdb_head(cursor, entry) for entry in _entries(cursor)]


def _read_vdb_head(cursor: FileCursor, entry: VdbEntry) -> VdbHead:
    metadata = _read_metadata(cursor, entry)[1]
    try:
        transform = read_transform(cursor)
    except VolumeFileError:
        transform = None
    name = _TREES[entry.tree_type][0] if entry.tree_type in _TREES else entry.tree_type
    return VdbHead(entry, name, metadata, transform)


def read_vdb(source: Source, name: str | None = None, index: int = 0) -> VdbGrid:
    """Read a grid of a `.vdb` file.

    Args:
        source: the path or the bytes of a file of OpenVDB 4 to 12.
        name: of the grid; None for a grid of any name.
        index: which grid of that name, from 0 on.

    Returns:
        The grid, with its values as NumPy arrays.

    Raises:
        KeyError: If the file has no such grid.
        VolumeFileError: If the file is damaged, or has values or a transform that cannot be read: a `ValueError` that
            names file, grid and byte.
        OSError: If the file cannot be read.
    """
    with opened(source) as cursor:
        entries = _entries(cursor)
        found = [entry for entry in entries if name is None or entry.name == name]
        if not 0 <= index < len(found):
            names = ", ".join(repr(entry.name) for entry in entries[:20]) or "none"
            raise KeyError(
                f"{cursor.path} has {len(found)} grids named {name!r}, so none at {index}; its grids: {names}"
            )
        return _read_grid(cursor, found[index], entries)


def _entries(cursor: FileCursor) -> list[VdbEntry]:
    has_offsets = read_file_header(cursor)
    entries: list[VdbEntry] = []
    for _ in range(cursor.number("I", "the number of grids")):
        entry = read_entry(cursor, has_offsets)
        if not has_offsets:  # only reading the grid tells where the next begins
            entry = replace(entry, end=_end_of_grid(cursor, entry))
        cursor.seek(entry.end, "the end of the grid")
        cursor.grid = None
        entries.append(entry)
    return entries


def _end_of_grid(cursor: FileCursor, entry: VdbEntry) -> int:
    compression = _read_head(cursor, entry)[0]
    if entry.parent:
        return cursor.at
    return _read_tree(cursor, entry, compression)[1]


def _read_grid(cursor: FileCursor, entry: VdbEntry, entries: list[VdbEntry]) -> VdbGrid:
    compression, metadata, transform = _read_head(cursor, entry)
    source = entry
    if entry.parent:
        source = _parent_of(cursor, entry, entries)
        compression = _read_head(cursor, source)[0]
    tree = _read_tree(cursor, source, compression)[0]
    grid_class = metadata.get("class", "unknown")
    return VdbGrid(
        entry.name, _TREES[source.tree_type][0], grid_class if grid_class in GRID_CLASSES else "unknown",
        metadata, transform, **tree,
    )  # fmt: skip


def _parent_of(cursor: FileCursor, entry: VdbEntry, entries: list[VdbEntry]) -> VdbEntry:
    """The grid whose tree `entry` shares."""
    for other in entries:
        if not other.parent and entry.parent in (other.unique_name, other.name):
            return other
    raise cursor.error(f"the grid shares the tree of grid {entry.parent!r}, which the file does not have", entry.begin)


def _read_head(cursor: FileCursor, entry: VdbEntry) -> tuple[int, dict[str, Any], np.ndarray]:
    """The compression, the metadata and the transform of a grid; its tree follows."""
    compression, metadata = _read_metadata(cursor, entry)
    return compression, metadata, read_transform(cursor)


def _read_metadata(cursor: FileCursor, entry: VdbEntry) -> tuple[int, dict[str, Any]]:
    cursor.grid = entry.name
    cursor.seek(entry.begin, "the grid")
    compression = cursor.number("I", "the compression")
    if compression not in _COMPRESSION:
        raise cursor.error(f"compression {compression} is not defined", entry.begin)
    return compression, read_metadata(cursor)


def _read_tree(cursor: FileCursor, entry: VdbEntry, compression: int) -> tuple[dict[str, np.ndarray], int]:
    """The arrays of a `VdbGrid`, and the offset where the tree ends."""
    if entry.tree_type not in _TREES:
        readable = ", ".join(name for name, _ in _TREES.values())
        raise cursor.error(f"the grid is a {entry.tree_type!r}; trees 5_4_3 of {readable} can be read")
    values = _TREES[entry.tree_type][1]
    begin = cursor.at
    if begin > entry.end:
        raise cursor.error("the grid ends before its tree")
    file = cursor.array(entry.end - begin, "the tree")
    half = entry.half and values.scalar in ("float32", "float64")
    form = _native.VdbFormat(values.scalar, values.components, half, values.leaves, compression, _inflate)
    try:
        return _decode_tree(form, values, file, begin)
    except ValueError as error:
        raise cursor.error_of_grid(str(error)) from None


def _decode_tree(
    form: _native.VdbFormat, values: _Values, file: np.ndarray, begin: int
) -> tuple[dict[str, np.ndarray], int]:
    background, origins, masks, tile_origins, tile_extents, tile_values, tile_active, end = form.topology(
        file, begin, 0
    )
    shape = (3,) if values.components == 3 else ()
    count = len(masks) // _LEAF_MASK
    if count * (_LEAF_MASK + 1) > file.size - end:
        raise ValueError(f"byte {begin + end}: the values of {count} leaves do not fit into {file.size - end} bytes")
    leaf_values = np.empty((count, _LEAF_VOXELS, *shape), values.scalar)
    end = form.leaves(file, begin, end, background, masks, leaf_values)

    def array(data: bytes, kind: str, *shape: int) -> np.ndarray:
        return np.frombuffer(data, kind).reshape(shape)

    return {
        "background": array(background, values.scalar, *shape),
        "leaf_origins": array(origins, "int32", -1, 3),
        "leaf_masks": array(masks, "uint8", -1, _LEAF_MASK),
        "leaf_values": leaf_values,
        "tile_origins": array(tile_origins, "int32", -1, 3),
        "tile_extents": array(tile_extents, "int32", -1),
        "tile_values": array(tile_values, values.scalar, -1, *shape),
        "tile_active": array(tile_active, "bool", -1),
    }, begin + end


def _inflate(data: bytes, size: int) -> bytes:
    """Decompress zlib data of `size` bytes; nothing if it has another size or is damaged."""
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, size + 1)
    except zlib.error:
        return b""
    return found if stream.eof else b""
