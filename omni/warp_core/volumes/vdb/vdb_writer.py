"""Writes `.vdb` files of grid buffers, for the programs that read OpenVDB and not NanoVDB. Start with `write_vdb`.

A file has the trees of NanoVDB, node for node: first the topology with the tables of inner nodes, then the values of
all leaves in the same order.
"""

from __future__ import annotations

import hashlib
import os
import struct
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ... import _native
from ...files import Unfinished
from ..grid_tree import GridTree, Level, child_offsets, read_grid, unpack_mask
from ..layout import LEAF_SIDE, ValueType
from ..variable_bits import with_equal_leaves
from .inactive_values import ALL_SAVED, inactive_values
from .vdb_grid import GRID_CLASSES
from .vdb_header import INSTANCED, VDB_MAGIC

_FORMAT, _LIBRARY = 224, (10, 0)  # what OpenVDB 4 and later read, and the library that such a file is like
_ACTIVE_ONLY = 2  # only active values are saved
_SHORTEST = 48  # bytes that are worth to be compressed
_BATCH = 4096  # leaves at a time
_VOXELS = LEAF_SIDE**3


class _Values(NamedTuple):
    """How a file has the values of a grid: the name in the type of the tree, and the type of a number."""

    name: str
    scalar: str


_TYPES = {
    "float": _Values("float", "<f4"), "double": _Values("double", "<f8"), "half": _Values("float", "<f4"),
    "fp4": _Values("float", "<f4"), "fp8": _Values("float", "<f4"), "fp16": _Values("float", "<f4"),
    "int16": _Values("int32", "<i4"), "uint8": _Values("int32", "<i4"), "int32": _Values("int32", "<i4"),
    "uint32": _Values("int64", "<i8"), "int64": _Values("int64", "<i8"), "bool": _Values("bool", "?"),
    "mask": _Values("mask", "?"), "vec3f": _Values("vec3s", "<f4"), "vec3d": _Values("vec3d", "<f8"),
}  # fmt: skip


def _as_they_are(data: bytes) -> bytes:
    return data


def _sized(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Let values be compressed where that makes them shorter, after their size, which is negative otherwise."""

    def packed(data: bytes) -> bytes:
        chunk = pack(data) if len(data) >= _SHORTEST else data
        return struct.pack("<q", len(chunk)) + chunk if len(chunk) < len(data) else struct.pack("<q", -len(data)) + data

    return packed


# The bit of each codec in a file, and how values are packed.
_CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "none": (0, _as_they_are),
    "zip": (1, _sized(zlib.compress)),
    "blosc": (4, _sized(lambda data: _native.blosc_encode(np.frombuffer(data, np.uint8), 4))),
}


def write_vdb(path: str | os.PathLike[str], buffers: Sequence[np.ndarray], codec: str = "none") -> None:
    """Write grid buffers to a `.vdb` file, whole or not at all.

    Args:
        path: the file; an existing one is replaced.
        buffers: the grid buffers, uint8, one dimension each. Halves and codes become float, and integers the next
            larger type that OpenVDB has.
        codec: "none", "zip" or "blosc".

    Raises:
        ValueError: If the codec is unknown, one of `buffers` is no grid buffer, or OpenVDB has no grid of its values.
        OSError: If the file cannot be written.
    """
    if codec not in _CODECS:
        raise ValueError(f"codec {codec!r} is unknown; choose one of {', '.join(map(repr, _CODECS))}")
    grids = [read_grid(with_equal_leaves(np.ascontiguousarray(buffer))) for buffer in buffers]
    for grid in grids:
        _values_of(grid)
    with Unfinished(os.fspath(path)) as unfinished:
        with open(unfinished.path, "xb") as file:
            _write_header(file, buffers, len(grids))
            for grid, name in zip(grids, _unique_names(grids)):
                _write_grid(file, grid, name, *_CODECS[codec])
        unfinished.commit()


def _values_of(grid: GridTree) -> _Values:
    found = _TYPES.get(grid.value_type.name)
    if found is None:
        known = ", ".join(_TYPES)
        raise ValueError(f"grid {grid.name!r} has values of type {grid.value_type.name}; a .vdb file can have {known}")
    return found


def _unique_names(grids: list[GridTree]) -> list[str]:
    """Return the names of grids; those of one name get numbers behind a separator, which readers take away."""
    counts, seen = Counter(grid.name for grid in grids), Counter[str]()
    names = []
    for grid in grids:
        names.append(f"{grid.name}{INSTANCED}{seen[grid.name]}" if counts[grid.name] > 1 else grid.name)
        seen[grid.name] += 1
    return names


def _write_header(file: BinaryIO, buffers: Sequence[np.ndarray], count: int) -> None:
    digest = hashlib.blake2b(digest_size=16)
    for buffer in buffers:
        digest.update(np.ascontiguousarray(buffer).data)
    identifier = str(uuid.UUID(bytes=digest.digest())).encode()  # of the content: equal grids make equal files
    file.write(VDB_MAGIC + struct.pack("<3I?", _FORMAT, *_LIBRARY, True) + identifier)
    file.write(_metadata({}) + struct.pack("<i", count))


def _write_grid(file: BinaryIO, grid: GridTree, name: str, flag: int, pack: Callable[[bytes], bytes]) -> None:
    values = _values_of(grid)
    file.write(_text(name) + _text(f"Tree_{values.name}_5_4_3") + _text(""))
    offsets = file.tell()
    file.write(bytes(24))
    begin = file.tell()
    file.write(struct.pack("<I", _ACTIVE_ONLY | flag) + _metadata(_facts(grid)) + _transform(grid))
    writer = _TreeWriter(grid, values, pack)
    for piece in writer.topology():
        file.write(piece)
    leaves = file.tell()
    for piece in writer.leaves():
        file.write(piece)
    end = file.tell()
    file.seek(offsets)
    file.write(struct.pack("<3q", begin, leaves, end))
    file.seek(end)


def _facts(grid: GridTree) -> dict[str, tuple[str, bytes]]:
    """What a file says about a grid: for each name the type and the bytes."""
    number = int(grid.header["grid_class"])
    low, high = grid.root["bbox"]
    return {
        "name": ("string", grid.name.encode()),
        "class": ("string", GRID_CLASSES[number if number < len(GRID_CLASSES) else 0].encode()),
        "file_bbox_min": ("vec3i", low.tobytes()),
        "file_bbox_max": ("vec3i", high.tobytes()),
        "file_voxel_count": ("int64", struct.pack("<q", int(grid.tree["num_voxels"]))),
    }


def _metadata(facts: dict[str, tuple[str, bytes]]) -> bytes:
    rows = (
        _text(name) + _text(kind) + struct.pack("<I", len(content)) + content for name, (kind, content) in facts.items()
    )
    return struct.pack("<I", len(facts)) + b"".join(rows)


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<I", len(raw)) + raw


def _transform(grid: GridTree) -> bytes:
    rows = np.eye(4)
    rows[:3, :3], rows[3, :3] = grid.header["map"]["mat_d"].T, grid.header["map"]["vec_d"]
    return _text("AffineMap") + rows.astype("<f8").tobytes()


class _TreeWriter:
    """The bytes of a tree. `pack` compresses the values of a node."""

    def __init__(self, grid: GridTree, values: _Values, pack: Callable[[bytes], bytes]):
        self.grid, self.pack, self.type = grid, pack, grid.value_type
        self.scalar = np.dtype(values.scalar)
        self.background = self._numbers(grid.root["background"])
        self._order: list[np.ndarray] = []  # numbers of leaves, as the topology has them

    def _numbers(self, values: Any) -> np.ndarray:
        return np.asarray(values).astype(self.scalar)

    def topology(self) -> Iterator[bytes]:
        """Yield the root and all inner nodes with the masks of their leaves."""
        grid = self.grid
        tiles = [tile for tile in zip(grid.tiles, grid.tile_origins) if not tile[0]["child"]]
        yield struct.pack("<i", 1) + self.background.tobytes() + struct.pack("<2I", len(tiles), len(grid.upper.numbers))
        for tile, origin in tiles:
            yield origin.astype("<i4").tobytes() + self._numbers(tile["value"]).tobytes() + bytes([bool(tile["state"])])
        lower, leaf = _Children(grid.upper, grid.lower), _Children(grid.lower, grid.leaf)
        masks = grid.leaf.reached["value_mask"]
        for row in np.lexsort(grid.upper.origins.T[::-1]):
            yield grid.upper.origins[row].astype("<i4").tobytes() + self._node(grid.upper, row)
            for inner in lower.of(row):
                yield self._node(grid.lower, inner)
                self._order.append(leaf.of(inner))
                yield masks[self._order[-1]].tobytes()

    def _node(self, level: Level, row: int) -> bytes:
        node = level.reached[row]
        active, children = unpack_mask(node["value_mask"][None])[0], unpack_mask(node["child_mask"][None])[0]
        values = self._numbers(node["table"]["value"]) if self.type.name != "mask" else active.copy()
        values[children] = 0
        masks = node["child_mask"].tobytes() + node["value_mask"].tobytes()
        return masks + next(self._encoded(values[None], active[None], ~(active | children)[None]))

    def leaves(self) -> Iterator[bytes]:
        """Yield the values of all leaves. The topology must have been read to its end."""
        nodes = self.grid.leaf.reached
        order = np.concatenate(self._order) if self._order else np.empty(0, np.int64)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            chosen, origins = nodes[rows], self.grid.leaf.origins[rows].astype("<i4")
            if self.type.bits in (0, 1):
                for node, origin in zip(chosen, origins):
                    bits = node["values"].tobytes() if self.type.bits else b""
                    yield node["value_mask"].tobytes() + origin.tobytes() + bits
                continue
            active = unpack_mask(chosen["value_mask"])
            encoded = self._encoded(self._numbers(leaf_values(chosen, self.type)), active, ~active)
            for node, piece in zip(chosen, encoded):
                yield node["value_mask"].tobytes() + piece

    def _encoded(self, values: np.ndarray, active: np.ndarray, inactive: np.ndarray) -> Iterator[bytes]:
        """Yield what a file has for the values of each node."""
        found = inactive_values(values, inactive, self.background)
        for row in range(len(values)):
            saved = values[row] if found.codes[row] == ALL_SAVED else values[row][active[row]]
            yield found.head(row) + self.pack(saved.tobytes())


class _Children:
    """The nodes below those of a level, in the order of their entries."""

    def __init__(self, parents: Level, children: Level):
        node, _, offsets = child_offsets(parents)
        self._rows = np.searchsorted(children.offsets, offsets)
        self._begin = np.searchsorted(node, np.arange(len(parents.numbers) + 1))

    def of(self, row: int) -> np.ndarray:
        """Return which nodes are below one."""
        return self._rows[self._begin[row] : self._begin[row + 1]]


def leaf_values(leaves: np.ndarray, value_type: ValueType) -> np.ndarray:
    """Return the values of leaves that have whole values, halves or codes, (n, 512) or (n, 512, 3)."""
    if value_type.bits is None:
        return leaves["values"]
    raw = leaves["values"]
    if value_type.bits == 4:
        codes = np.stack([raw & 15, raw >> 4], axis=-1).reshape(len(leaves), _VOXELS)
    else:
        codes = raw.reshape(len(leaves), -1).view(f"<u{value_type.bits // 8}")
    return codes.astype(np.float32) * leaves["quantum"][:, None] + leaves["minimum"][:, None]
