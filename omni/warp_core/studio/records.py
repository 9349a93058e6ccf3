"""Records: a JSON header with arrays behind it, as they go from the engine to the server and on to the page.

Layout: length of the record and of its header (two little-endian uint32), the header, then the arrays. Each array
starts at a multiple of 8 bytes. `header["arrays"]` lists them: key, dtype, shape, offset from the start of the record.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

_HEAD = struct.Struct("<II")
DTYPES = ("uint8", "int32", "uint32", "float32", "float64", "int64")


class Blob(NamedTuple):
    """One array of a record, as bytes."""

    key: str
    dtype: str
    shape: tuple[int, ...]
    data: Any  # bytes or a view of bytes


def blob(key: str, array: np.ndarray) -> Blob:
    """Return an array as part of a record."""
    array = np.ascontiguousarray(array)
    return Blob(key, array.dtype.name, array.shape, array.reshape(-1).view(np.uint8).data if array.size else b"")


def pack(header: dict[str, Any], blobs: Sequence[Blob] = ()) -> bytes:
    """Return a record."""
    offsets, size = [], 0
    for each in blobs:
        offsets.append(size)
        size += _aligned(len(each.data))
    listed = [
        {"key": b.key, "dtype": b.dtype, "shape": b.shape, "offset": at} for b, at in zip(blobs, offsets, strict=True)
    ]
    text = to_json({**header, "arrays": listed}).encode()
    text += b" " * (_aligned(_HEAD.size + len(text)) - _HEAD.size - len(text))
    parts: list[Any] = [_HEAD.pack(_HEAD.size + len(text) + size, len(text)), text]
    for each in blobs:
        parts += [each.data, bytes(_aligned(len(each.data)) - len(each.data))]
    return b"".join(parts)


def unpack(record: bytes) -> tuple[dict[str, Any], list[Blob]]:
    """Return the header and the arrays of a record. Raises ValueError for bytes that are no record."""
    try:
        length, header_length = _HEAD.unpack_from(record)
        base = _HEAD.size + header_length
        header = json.loads(record[_HEAD.size : base])
        if length != len(record):
            raise ValueError("its length is wrong")
        return header, list(_blobs(memoryview(record), header["arrays"], base))
    except (struct.error, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"not a record: {error}") from None


def _blobs(record: memoryview, listed: list[dict[str, Any]], base: int) -> Iterator[Blob]:
    for each in listed:
        dtype, shape, at = np.dtype(each["dtype"]), tuple(each["shape"]), base + each["offset"]
        size = dtype.itemsize * math.prod(shape)
        if dtype.name not in DTYPES or min(shape, default=0) < 0 or at + size > len(record):
            raise ValueError(f"the array {each['key']} leaves the record")
        yield Blob(each["key"], dtype.name, shape, record[at : at + size])


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def to_json(value: Any) -> str:
    """Return JSON that every parser takes: infinite numbers and NaN are the texts that `.ogn` files have."""
    return json.dumps(plain(value), separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value made of what JSON has."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    return value
