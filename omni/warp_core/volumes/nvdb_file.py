"""`.nvdb` files: segments of grid buffers, compressed or not, or grid buffers without any header.

A segment is a FileHeader, then for each grid its FileMetaData and name, then for each grid its payload. The sizes in it
are checked against the file. What a payload decodes to is limited by what its compressed bytes can hold. Sizes of whole
payloads (`file_size`) are not used, since programs disagree about them. Start with `read_grids`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ..files import Unfinished
from ..lib.volumes.grid_types import GRID_TYPES
from .file_cursor import FileCursor, Source, opened
from .layout import GRID, NO_CHECKSUM
from .nvdb_payload import CODECS
from .vdb.vdb_header import VDB_MAGIC

CLASSES = (
    "unknown", "level set", "fog volume", "staggered", "point index", "point data", "topology", "voxel volume",
    "index", "tensor",
)  # fmt: skip

_FILE_MAGICS = (b"NanoVDB0", b"NanoVDB2")
_GRID_MAGICS = (b"NanoVDB0", b"NanoVDB1")
_MAJOR_VERSION = 32
_MOST_GRIDS = 2**16 - 1  # of a segment

_FILE_HEADER = struct.Struct("<8sIHH")  # magic, version, number of grids, codec
_META = np.dtype({
    "names": ["grid_size", "file_size", "name_key", "voxel_count", "grid_type", "grid_class", "world_bbox",
              "index_bbox", "voxel_size", "name_size", "node_count", "tile_count", "codec", "blind_count", "version"],
    "formats": ["<u8", "<u8", "<u8", "<u8", "<u4", "<u4", ("<f8", (2, 3)), ("<i4", (2, 3)), ("<f8", 3), "<u4",
                ("<u4", 4), ("<u4", 3), "<u2", "<u2", "<u4"],
    "offsets": [0, 8, 16, 24, 32, 36, 40, 88, 112, 136, 140, 156, 168, 170, 172],
    "itemsize": 176,
})  # fmt: skip
# The head of a grid buffer, as far as files repeat it: of GridData (672 bytes) and TreeData (64).
_GRID = np.dtype({
    "names": ["magic", "version", "grid_size", "name", "world_bbox", "voxel_size", "grid_class", "grid_type",
              "blind_count", "root_offset", "node_count", "tile_count", "voxel_count"],
    "formats": ["S8", "<u4", "<u8", "S256", ("<f8", (2, 3)), ("<f8", 3), "<u4", "<u4", "<u4", "<i8", ("<u4", 3),
                ("<u4", 3), "<u8"],
    "offsets": [0, 16, 32, 40, 560, 608, 632, 636, 648, 696, 704, 716, 728],
    "itemsize": 736,
})  # fmt: skip
_TREE_OFFSET = 672
_NUMBERS = {name: number for number, name in enumerate(CODECS)}
_ROOT_BBOX = np.dtype(("<i4", (2, 3)))


@dataclass(frozen=True)
class GridFile:
    """A grid of a `.nvdb` file, whose bytes are not read yet.

    Attributes:
        source: the file, or its bytes.
        name: of the grid.
        type: of its values, as in `GRID_TYPES`.
        grid_class: what the values are, as in `CLASSES`.
        size: of the grid buffer, in bytes.
        voxel_count: how many voxels are active.
        index_bbox: ((x, y, z), (x, y, z)): the first and last active voxel along each axis.
        voxel_size: edges of a voxel in the world.
        codec: how the payload is compressed, as in `CODECS`.
        offset: of the payload in the file.
        stored: bytes of the payload.
    """

    source: Source
    name: str
    type: str
    grid_class: str
    size: int
    voxel_count: int
    index_bbox: tuple[tuple[int, ...], ...]
    voxel_size: tuple[float, ...]
    codec: str
    offset: int
    stored: int

    def read(self) -> np.ndarray:
        """Read and decompress the grid buffer.

        Returns:
            The bytes of the grid: uint8, one dimension, in memory aligned for kernels.

        Raises:
            VolumeFileError: If the payload is damaged, or is no grid buffer of this size.
            OSError: If the file cannot be read.
        """
        with opened(self.source) as cursor:
            cursor.grid = self.name
            cursor.seek(self.offset, "the payload")
            data = CODECS[self.codec].read(cursor, self.size)
            _check_head(data, cursor, self.offset)
        return data


def read_grids(source: Source) -> list[GridFile]:
    """List the grids of a `.nvdb` file; `GridFile.read` then reads their bytes.

    Args:
        source: the path or the bytes of a file: of segments with any of the codecs none, zip and blosc, or of grid
            buffers alone.

    Raises:
        VolumeFileError: If it is no such file, or is damaged: a `ValueError` that names file, grid and byte.
        OSError: If the file cannot be read.
    """
    with opened(source) as cursor:
        scan = _segment if _has_file_header(cursor) else _raw_grid
        grids: list[GridFile] = []
        while cursor.left:
            cursor.grid = None
            grids.extend(scan(cursor, source))
        return grids


def numbered(data: np.ndarray, index: int, count: int) -> np.ndarray:
    """Return a grid buffer whose header says that it is grid `index` of `count`.

    Where the header says so already, that is `data`. Else it is a copy without a checksum: one covers the header.
    """
    header = data[: GRID.itemsize].view(GRID)[0]
    if (int(header["grid_index"]), int(header["grid_count"])) == (index, count):
        return data
    copy = data.copy()
    header = copy[: GRID.itemsize].view(GRID)[0]
    header["grid_index"], header["grid_count"], header["checksum"] = index, count, NO_CHECKSUM
    return copy


def write_grids(path: str | os.PathLike[str], buffers: Sequence[np.ndarray], codec: str = "none") -> None:
    """Write grid buffers to a `.nvdb` file, whole or not at all.

    Args:
        path: the file; an existing one is replaced.
        buffers: the grid buffers, uint8, one dimension each.
        codec: "none", "zip" or "blosc".

    Raises:
        ValueError: If the codec is unknown, the path that of a `.vdb` file, or one of `buffers` is no grid buffer.
        OSError: If the file cannot be written.
    """
    if codec not in CODECS:
        raise ValueError(f"codec {codec!r} is unknown; choose one of {', '.join(map(repr, CODECS))}")
    base, extension = os.path.splitext(os.fsdecode(path))
    if extension.lower() == ".vdb":
        text = "programs read a file that ends in .vdb as OpenVDB, and this one would be NanoVDB"
        raise ValueError(f"{os.fsdecode(path)}: {text}; write {base}.nvdb")
    grids = [_checked_buffer(buffer, number) for number, buffer in enumerate(buffers)]
    with Unfinished(os.fspath(path)) as unfinished:
        with open(unfinished.path, "xb") as file:
            for start in range(0, len(grids), _MOST_GRIDS):
                _write_segment(file, grids[start : start + _MOST_GRIDS], codec, len(grids))
        unfinished.commit()


# -- segments -------------------------------------------------------------------------------------------------------


def _has_file_header(cursor: FileCursor) -> bool:
    """True if a segment comes first. FileHeader and GridData may begin alike, and go on with different numbers."""
    head = cursor.take(min(cursor.size, _GRID.itemsize), "the header")
    cursor.seek(0, "the header")
    if len(head) >= _FILE_HEADER.size:
        magic, version, _, codec = _FILE_HEADER.unpack_from(head)
        if magic in _FILE_MAGICS and version >> 21 == _MAJOR_VERSION and codec < len(CODECS):
            return True
    if len(head) == _GRID.itemsize:
        grid = np.frombuffer(head, _GRID)[0]
        if grid["magic"] in _GRID_MAGICS and int(grid["version"]) >> 21 == _MAJOR_VERSION:
            return False
    if head[:8] in _FILE_MAGICS and len(head) >= _FILE_HEADER.size:
        raise cursor.error(f"version {_version_text(version)} or codec {codec} of NanoVDB cannot be read; "
                           f"versions {_MAJOR_VERSION}.x and the codecs {', '.join(CODECS)} can")  # fmt: skip
    if head.startswith(VDB_MAGIC):
        raise cursor.error("this is a .vdb file, which `wp.Volume.load_from_vdb` reads; `omni-warp convert` makes a "
                           ".nvdb file of it")  # fmt: skip
    raise cursor.error("this is no .nvdb or .vdb file: it begins with no header of NanoVDB or OpenVDB")


def _version_text(version: int) -> str:
    return f"{version >> 21}.{version >> 10 & 2047}.{version & 1023}"


def _segment(cursor: FileCursor, source: Source) -> Iterator[GridFile]:
    begin = cursor.at
    magic, version, count, codec = _FILE_HEADER.unpack(cursor.take(_FILE_HEADER.size, "the header of a segment"))
    if magic not in _FILE_MAGICS or version >> 21 != _MAJOR_VERSION or codec >= len(CODECS):
        raise cursor.error("no segment of NanoVDB begins here", begin)
    metas = []
    for _ in range(count):
        meta = cursor.record(_META, "the metadata of a grid")
        name = _text(cursor.take(int(meta["name_size"]), "the name of a grid"))
        metas.append((name, meta))
    for name, meta in metas:
        cursor.grid = name
        yield _grid_file(cursor, source, name, meta, list(CODECS)[codec])


def _grid_file(cursor: FileCursor, source: Source, name: str, meta: Any, codec: str) -> GridFile:
    size, offset = int(meta["grid_size"]), cursor.at
    if size < _GRID.itemsize:
        raise cursor.error(f"the metadata promises {size} bytes, less than the header of a grid")
    CODECS[codec].skip(cursor, size)
    return GridFile(
        source, name, _name(GRID_TYPES, meta["grid_type"]), _name(CLASSES, meta["grid_class"]), size,
        int(meta["voxel_count"]), _rows(meta["index_bbox"]), tuple(meta["voxel_size"].tolist()), codec,
        offset, cursor.at - offset,
    )  # fmt: skip


def _raw_grid(cursor: FileCursor, source: Source) -> Iterator[GridFile]:
    """A grid buffer without any header; others may follow."""
    offset = cursor.at
    head = cursor.record(_GRID, "the header of a grid")
    cursor.grid = name = _text(head["name"])
    if head["magic"] not in _GRID_MAGICS or int(head["version"]) >> 21 != _MAJOR_VERSION:
        raise cursor.error("no grid of NanoVDB begins here", offset)
    cursor.seek(offset, "the grid")
    size = int(head["grid_size"])
    if not _GRID.itemsize <= size <= cursor.left:
        raise cursor.error(f"the header promises {size} bytes, but {cursor.left} are left")
    cursor.seek(offset + size, "the end of the grid")
    yield GridFile(
        source, name, _name(GRID_TYPES, head["grid_type"]), _name(CLASSES, head["grid_class"]), size,
        int(head["voxel_count"]), _raw_bbox(cursor, offset, size, int(head["root_offset"])),
        tuple(head["voxel_size"].tolist()), "none", offset, size,
    )  # fmt: skip


def _raw_bbox(cursor: FileCursor, offset: int, size: int, root_offset: int) -> tuple[tuple[int, ...], ...]:
    root = _TREE_OFFSET + root_offset
    if not _GRID.itemsize <= root <= size - _ROOT_BBOX.itemsize:
        raise cursor.error(f"the root of the grid is at byte {root} of {size}", offset)
    after = cursor.at
    cursor.seek(offset + root, "the root")
    bbox = np.frombuffer(cursor.take(_ROOT_BBOX.itemsize, "the root"), "<i4").reshape(2, 3)
    cursor.seek(after, "the end of the grid")
    return _rows(bbox)


def _rows(bbox: np.ndarray) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in bbox.tolist())


def _name(names: tuple[str, ...], number: Any) -> str:
    return names[int(number)] if int(number) < len(names) else f"number {int(number)}"


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("utf-8", "replace")


# -- payloads -------------------------------------------------------------------------------------------------------


def _check_head(data: np.ndarray, cursor: FileCursor, offset: int) -> None:
    head = data[: _GRID.itemsize].view(_GRID)[0]
    if head["magic"] not in _GRID_MAGICS or int(head["version"]) >> 21 != _MAJOR_VERSION:
        raise cursor.error("the payload is no grid of NanoVDB", offset)
    if int(head["grid_size"]) != data.size:
        size = int(head["grid_size"])
        raise cursor.error(f"the grid says it has {size} bytes, and the file's metadata {data.size}", offset)


# -- writing --------------------------------------------------------------------------------------------------------


def _checked_buffer(buffer: np.ndarray, number: int) -> np.ndarray:
    """The bytes of a grid buffer, if its header makes sense."""
    data = np.ascontiguousarray(buffer)
    good = data.dtype == np.uint8 and data.ndim == 1 and data.size > _GRID.itemsize
    head = data[: _GRID.itemsize].view(_GRID)[0] if good else None
    if head is None or head["magic"] not in _GRID_MAGICS or int(head["grid_size"]) != data.size:
        raise ValueError(f"buffers[{number}] is no grid buffer of NanoVDB: uint8, one dimension, of its own size")
    root = _TREE_OFFSET + int(head["root_offset"])
    if not _GRID.itemsize <= root <= data.size - _ROOT_BBOX.itemsize:
        raise ValueError(f"buffers[{number}] is damaged: its root is at byte {root} of {data.size}")
    return data


def _write_segment(file: BinaryIO, grids: Sequence[np.ndarray], codec: str, count: int) -> None:
    """Write a segment of a file that has `count` grids."""
    heads = [data[: _GRID.itemsize].view(_GRID)[0] for data in grids]
    version = max(int(head["version"]) for head in heads)
    file.write(_FILE_HEADER.pack(_FILE_MAGICS[0], version, len(grids), _NUMBERS[codec]))
    names = [bytes(head["name"]) + b"\0" for head in heads]
    metas = [_meta(data, head, len(name), _NUMBERS[codec]) for data, head, name in zip(grids, heads, names)]
    begin = file.tell()
    file.seek(sum(len(name) + _META.itemsize for name in names), os.SEEK_CUR)
    for data, meta in zip(grids, metas):
        start = file.tell()
        # Other programs read further grids only if there is a count. Those of NanoVDB 32.4 refuse an index but 0.
        for piece in CODECS[codec].encode(numbered(data, 0, count)):
            file.write(piece)
        meta["file_size"] = file.tell() - start
    end = file.tell()
    file.seek(begin)
    for meta, name in zip(metas, names):
        file.write(meta.tobytes() + name)
    file.seek(end)


def _meta(data: np.ndarray, head: Any, name_size: int, codec: int) -> np.ndarray:
    """The FileMetaData of a grid buffer, without the size of its payload."""
    meta = np.zeros((), _META)
    for field in ("grid_size", "voxel_count", "grid_type", "grid_class", "world_bbox", "voxel_size", "blind_count",
                  "tile_count", "version"):  # fmt: skip
        meta[field] = head[field]
    root = _TREE_OFFSET + int(head["root_offset"])
    meta["index_bbox"] = data[root : root + _ROOT_BBOX.itemsize].view("<i4").reshape(2, 3)
    meta["node_count"] = [*head["node_count"], 1]
    meta["name_key"], meta["name_size"], meta["codec"] = _name_key(bytes(head["name"])), name_size, codec
    return meta


def _name_key(name: bytes) -> int:
    """The hash by which NanoVDB finds a grid in a file."""
    key = 0
    for byte in name:
        key = (key * 67 + byte + (key >> 56)) % 2**64
    return key
