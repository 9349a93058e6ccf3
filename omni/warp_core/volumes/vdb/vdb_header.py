"""Headers of `.vdb` files: names, metadata and transforms of grids, without their trees."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..file_cursor import FileCursor, Source, opened

VERSIONS = range(222, 226)  # of the format: OpenVDB 2 to 12
VDB_MAGIC = b" BDV\0\0\0\0"
INSTANCED = "\x1e"  # separates a name from what makes it unique in its file
_HALF = "_HalfFloat"

# Types of metadata that are read, as formats of `struct`; the bytes of others are skipped.
_METADATA = {
    "bool": "?", "int32": "i", "int64": "q", "float": "f", "double": "d",
    "vec2i": "2i", "vec2s": "2f", "vec2d": "2d", "vec3i": "3i", "vec3s": "3f", "vec3d": "3d",
    "vec4i": "4i", "vec4s": "4f", "vec4d": "4d", "mat4s": "16f", "mat4d": "16d",
}  # fmt: skip
# How many numbers a map has, and which of them are its scale and its translation.
_MAPS: dict[str, tuple[int, slice | None, slice | None]] = {
    "UniformScaleMap": (15, slice(3), None),
    "ScaleMap": (15, slice(3), None),
    "UniformScaleTranslateMap": (18, slice(3, 6), slice(3)),
    "ScaleTranslateMap": (18, slice(3, 6), slice(3)),
    "TranslationMap": (3, None, slice(3)),
}
_AFFINE_MAPS = ("AffineMap", "UnitaryMap")


def is_vdb(source: Source) -> bool:
    """True if a file, given by its path or its bytes, begins as those of OpenVDB do. Raises OSError."""
    with opened(source) as cursor:
        return cursor.left >= len(VDB_MAGIC) and cursor.take(len(VDB_MAGIC), "the header") == VDB_MAGIC


@dataclass(frozen=True)
class VdbEntry:
    """A grid as the file lists it.

    Attributes:
        name: of the grid.
        unique_name: the same with what makes it unique in its file.
        tree_type: names the values and the shape of the tree, as in "Tree_float_5_4_3".
        half: True if floats are saved with 16 bits.
        parent: the unique name of the grid whose tree this one shares; "" if it has its own.
        begin: the offset of the grid in the file.
        end: the offset of what follows it.
    """

    name: str
    unique_name: str
    tree_type: str
    half: bool
    parent: str
    begin: int
    end: int


def read_file_header(cursor: FileCursor) -> bool:
    """Read up to the number of grids; return True if the file says where each grid is."""
    if cursor.take(len(VDB_MAGIC), "the header") != VDB_MAGIC:
        raise cursor.error("this is no .vdb file: the magic number of OpenVDB is missing", 0)
    version = cursor.number("I", "the version")
    if version not in VERSIONS:
        known = f"{VERSIONS[0]} to {VERSIONS[-1]}"
        raise cursor.error(f"version {version} of the format cannot be read, only {known}", 8)
    cursor.take(8, "the version of the library")
    has_offsets = cursor.number("?", "the header")
    cursor.take(36, "the identifier of the file")
    read_metadata(cursor)
    return bool(has_offsets)


def read_entry(cursor: FileCursor, has_offsets: bool) -> VdbEntry:
    """Read one item of the file's list of grids. Without offsets, the grid follows, and its end is not known."""
    unique_name = cursor.string("the name of a grid")
    cursor.grid = name = base_name(unique_name)
    tree_type = cursor.string("the type of a grid")
    parent = cursor.string("the parent of a grid")
    begin, _, end = cursor.numbers("3q", "the offsets of a grid")
    if not has_offsets:
        begin, end = cursor.at, cursor.size
    if not cursor.at <= begin <= end <= cursor.size:
        raise cursor.error(f"the grid's bytes {begin} to {end} do not lie in the rest of the file")
    return VdbEntry(name, unique_name, tree_type.removesuffix(_HALF), tree_type.endswith(_HALF), parent, begin, end)


def base_name(unique_name: str) -> str:
    """Return the name of a grid without what makes it unique in its file."""
    return unique_name.split(INSTANCED)[0]


def read_metadata(cursor: FileCursor) -> dict[str, Any]:
    """Read names and values; those of unknown types are left out."""
    found: dict[str, Any] = {}
    for _ in range(cursor.number("I", "the number of metadata")):
        name, kind = cursor.string("the name of metadata"), cursor.string("the type of metadata")
        raw = cursor.take(cursor.number("I", "the size of metadata"), f"metadata {name!r}")
        form = _METADATA.get(kind, "")
        if kind == "string":
            found[name] = raw.decode("utf-8", "replace")
        elif form and len(raw) == struct.calcsize(f"<{form}"):
            numbers = struct.unpack(f"<{form}", raw)
            found[name] = numbers[0] if len(numbers) == 1 else numbers
    return found


def read_transform(cursor: FileCursor) -> np.ndarray:
    """Read a map of voxels to the world, as a matrix (4, 4) of float64 for columns."""
    begin, kind = cursor.at, cursor.string("the type of the transform")
    matrix = np.eye(4)
    if kind in _AFFINE_MAPS:
        matrix[:] = np.reshape(cursor.numbers("16d", "the transform"), (4, 4)).T  # the file's are for rows
    elif kind in _MAPS:
        count, scale, translation = _MAPS[kind]
        numbers = cursor.numbers(f"{count}d", "the transform")
        if scale:
            matrix[range(3), range(3)] = numbers[scale]
        if translation:
            matrix[:3, 3] = numbers[translation]
    else:
        why = "a frustum, whose voxels grow with their distance" if kind == "NonlinearFrustumMap" else f"a {kind!r}"
        raise cursor.error(f"the transform is {why}; only linear transforms can be read", begin)
    _check_matrix(cursor, matrix, begin)
    return matrix


def _check_matrix(cursor: FileCursor, matrix: np.ndarray, begin: int) -> None:
    with np.errstate(all="ignore"):
        volume = np.linalg.det(matrix[:3, :3])
    if not np.isfinite(matrix).all() or not np.isfinite(volume) or volume == 0 or (matrix[3] != [0, 0, 0, 1]).any():
        raise cursor.error("the transform has no inverse, or is not affine", begin)
