"""Payloads of `.nvdb` files: a grid buffer as it is, as one zlib stream, or as chunks of blosc.

The size of a grid is promised by metadata. Memory for it is taken once the payload is known to be able to hold it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from .. import _native
from .file_cursor import FileCursor, aligned

_MOST_ZIPPED = 1032  # bytes that one byte of zlib can become
_MOST_BLOSC = 255
_CHUNK = 1 << 30  # bytes of a grid in one blosc chunk
_PIECE = 1 << 24  # bytes that are decompressed at once
_ITEM = 4  # bytes of an item, whose bytes blosc sorts apart


def _skip_plain(cursor: FileCursor, size: int) -> None:
    _require_promise(cursor, size, cursor.left)
    cursor.seek(cursor.at + size, "the end of the payload")


def _read_plain(cursor: FileCursor, size: int) -> np.ndarray:
    return cursor.array(size, "the payload")


def _skip_zip(cursor: FileCursor, size: int) -> None:
    stored = _stored_size(cursor)
    _require_promise(cursor, size, stored * _MOST_ZIPPED)
    cursor.seek(cursor.at + stored, "the end of the payload")


def _read_zip(cursor: FileCursor, size: int) -> np.ndarray:
    begin, stored = cursor.at, _stored_size(cursor)
    _require_promise(cursor, size, stored * _MOST_ZIPPED)
    data, at, end = aligned(size), 0, cursor.at + stored
    stream = zlib.decompressobj()
    try:
        while not stream.eof:
            source = stream.unconsumed_tail or cursor.take(min(_PIECE, end - cursor.at), "the payload")
            piece = stream.decompress(source, min(_PIECE, size - at + 1))
            if at + len(piece) > size or not (source or piece):
                break
            data[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
    except zlib.error as error:
        raise cursor.error(f"the zlib data is damaged ({error})", begin) from None
    if at != size or not stream.eof:
        raise cursor.error(f"the zlib data does not hold the {size} bytes that the metadata promises", begin)
    return data


def _skip_blosc(cursor: FileCursor, size: int) -> None:
    found = 0
    while found < size:
        stored = _stored_size(cursor)
        begin = cursor.at
        decoded = struct.unpack_from("<I", cursor.take(min(stored, 16), "a blosc chunk").ljust(16, b"\0"), 4)[0]
        if decoded == 0 or decoded > stored * _MOST_BLOSC:
            raise cursor.error(f"a blosc chunk of {stored} bytes promises {decoded} bytes", begin)
        found += decoded
        cursor.seek(begin + stored, "the end of a blosc chunk")
    if found != size:
        raise cursor.error(f"the blosc chunks hold {found} bytes, and the metadata promises {size}")


def _read_blosc(cursor: FileCursor, size: int) -> np.ndarray:
    begin = cursor.at
    _skip_blosc(cursor, size)  # which checks that `size` bytes are there
    cursor.seek(begin, "the payload")
    data, at = aligned(size), 0
    while at < size:
        stored = _stored_size(cursor)
        begin = cursor.at
        chunk = cursor.take(stored, "a blosc chunk")
        try:
            end = at + _native.blosc_decoded_size(chunk)
            _native.blosc_decode(chunk, data[at:end])
        except ValueError as error:
            raise cursor.error(str(error), begin) from None
        at = end
    return data


def _stored_size(cursor: FileCursor) -> int:
    stored = cursor.number("Q", "the size of the payload")
    if stored > cursor.left:
        raise cursor.error(f"the payload: {stored} bytes are needed, but {cursor.left} are left")
    return stored


def _require_promise(cursor: FileCursor, size: int, most: int) -> None:
    if size > most:
        raise cursor.error(f"the metadata promises {size} bytes, but the payload holds at most {most}")


def _encode_plain(data: np.ndarray) -> Iterable[bytes | memoryview]:
    return [data.data]


def _encode_zip(data: np.ndarray) -> Iterable[bytes]:
    packed = zlib.compress(data.data)
    return [struct.pack("<Q", len(packed)), packed]


def _encode_blosc(data: np.ndarray) -> Iterator[bytes]:
    for start in range(0, data.size, _CHUNK):
        chunk = _native.blosc_encode(data[start : start + _CHUNK], _ITEM)
        yield struct.pack("<Q", len(chunk))
        yield chunk


class Codec(NamedTuple):
    """One of the ways to store a grid buffer.

    Attributes:
        skip: go to the end of a payload that holds a number of bytes, without reading it.
        read: the grid buffer of a payload that holds a number of bytes.
        encode: the pieces of a payload.
    """

    skip: Callable[[FileCursor, int], None]
    read: Callable[[FileCursor, int], np.ndarray]
    encode: Callable[[np.ndarray], Iterable[bytes | memoryview]]


# In the order of their numbers in files.
CODECS = {
    "none": Codec(_skip_plain, _read_plain, _encode_plain),
    "zip": Codec(_skip_zip, _read_zip, _encode_zip),
    "blosc": Codec(_skip_blosc, _read_blosc, _encode_blosc),
}
