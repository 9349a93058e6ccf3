"""A graph as the bytes of a file: a table of what it does, and the memory and kernels that this needs.

The file is a header (magic, format, checksum, length of the table), a table as JSON, and blobs, compressed, whose
lengths the table has. The checksum covers everything after it. Bytes that are cut or altered, or that another version
has written, are a `DamagedGraph` whose text says what is wrong. A checksum tells no friend from foe: the file holds
code, which runs when the graph is launched.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from .. import config
from ..lang.blake2 import blake2b
from ..launches import artifact

MAGIC = b"OmWarpG\n"
FORMAT = 1
_HEADER = struct.Struct("<8sI32sI")  # magic, format, checksum, length of the table
_CHECKED_FROM = _HEADER.size - 4
_MAX_TABLE = 1 << 26


class DamagedGraph(ValueError):
    """The bytes are no graph of this version."""


def to_bytes(table: dict[str, Any], blobs: list[bytes]) -> bytes:
    """Return the file image of a table and its blobs."""
    packed = [zlib.compress(blob, 1) for blob in blobs]
    whole = {"version": _version(), **table, "blobs": [[len(p), len(b)] for p, b in zip(packed, blobs)]}
    text = json.dumps(whole, separators=(",", ":")).encode()
    content = struct.pack("<I", len(text)) + text + b"".join(packed)
    return MAGIC + struct.pack("<I", FORMAT) + blake2b(content, digest_size=32).digest() + content


def from_bytes(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the table and the blobs of a file image. The table is a dictionary; what is in it is not checked.

    Raises:
        DamagedGraph: the bytes are something else.
    """
    if len(data) < _HEADER.size:
        raise DamagedGraph(f"it has {len(data)} bytes")
    magic, version, digest, length = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise DamagedGraph("it is no graph that wp.capture_save has written")
    if version != FORMAT:
        raise DamagedGraph(f"it has format {version}, and this version reads format {FORMAT}")
    if blake2b(memoryview(data)[_CHECKED_FROM:], digest_size=32).digest() != digest:
        raise DamagedGraph("its checksum differs, so it was cut or altered")
    start = _HEADER.size + length
    if length > _MAX_TABLE or start > len(data):
        raise DamagedGraph("its table is longer than the file")
    try:
        table = json.loads(data[_HEADER.size : start])
        if type(table) is not dict:
            raise ValueError("no dictionary")
        if table.get("version") != _version():
            raise DamagedGraph(
                f"version {table.get('version')} of this package has written it, and this is version {_version()}"
            )
        return table, _blobs(table.pop("blobs"), data, start)
    except DamagedGraph:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, MemoryError, OverflowError, zlib.error) as why:
        raise DamagedGraph(f"its table cannot be read ({why})") from None


def _version() -> str:
    return f"{config.package_version}.{artifact.FORMAT}"


def _blobs(lengths: Any, data: bytes, start: int) -> list[bytes]:
    found = []
    for packed, whole in lengths:
        if type(packed) is not int or type(whole) is not int or packed < 0 or whole < 0 or start + packed > len(data):
            raise ValueError("other lengths")
        opened = zlib.decompressobj()
        found.append(opened.decompress(data[start : start + packed], whole or 1))
        start += packed
        if len(found[-1]) != whole or opened.unconsumed_tail:
            raise ValueError("other lengths")
    if start != len(data):
        raise ValueError("other lengths")
    return found
