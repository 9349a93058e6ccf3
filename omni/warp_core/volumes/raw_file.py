"""The bytes of grids in NanoVDB files that are not compressed: one segment, or a raw grid buffer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .grid_tree import GridError

_HEADER, _METADATA = 16, 176  # bytes of a segment's header, and of a grid's metadata without its name
_MAGICS = (b"NanoVDB0", b"NanoVDB2")
_RAW_TREE_SIZE = 32  # where a raw buffer has its own size


def grid_bytes(file_or_buffer: Any) -> np.ndarray:
    """Return the bytes of all grids of a file, one behind the other.

    Raises:
        GridError: It is no NanoVDB file, or it ends too early.
        NotImplementedError: The file is compressed.
    """
    data = _read(file_or_buffer)
    if data[:8] not in _MAGICS or int.from_bytes(data[_RAW_TREE_SIZE : _RAW_TREE_SIZE + 8], "little") == len(data):
        return np.frombuffer(data, np.uint8)
    if len(data) < _HEADER:
        raise GridError(f"byte {len(data)}: the file ends in its header")
    count, codec = (int.from_bytes(data[at : at + 2], "little") for at in (12, 14))
    if codec:
        raise NotImplementedError("wp.Volume.load_from_nvdb: the file is compressed; nanovdb_convert -f can undo that")
    at = _HEADER
    for _ in range(count):
        at += _METADATA + int.from_bytes(data[at + 136 : at + 140], "little")
    return np.frombuffer(data, np.uint8)[at:]


def _read(file_or_buffer: Any) -> bytes:
    if isinstance(file_or_buffer, (str, Path)):
        return Path(file_or_buffer).read_bytes()
    if hasattr(file_or_buffer, "read"):
        return bytes(file_or_buffer.read())
    return bytes(file_or_buffer)
