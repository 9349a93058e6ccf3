"""Grid buffers in `.nvdb` and `.vdb` files, by their paths, their bytes or open files."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from .file_cursor import Source
from .nvdb_file import numbered, read_grids


def source_of(file_or_buffer: Any) -> Source:
    """Return a path, or the bytes of an open file or of anything that has bytes. Raises TypeError for the rest."""
    if isinstance(file_or_buffer, (str, os.PathLike)):
        return file_or_buffer
    if isinstance(file_or_buffer, io.TextIOBase):
        raise TypeError(f'the file is open as text; write open({file_or_buffer.name!r}, "rb")')  # type: ignore[attr-defined]
    content = file_or_buffer.read() if hasattr(file_or_buffer, "read") else file_or_buffer
    try:
        return bytes(memoryview(content))
    except TypeError:
        text = "expected a path, an open binary file or the bytes of a file"
        raise TypeError(f"file_or_buffer: {text}, got {type(content).__name__}") from None


def grid_bytes(file_or_buffer: Any) -> np.ndarray:
    """Return the grid buffers of a `.nvdb` file, one behind the other. Their headers number them.

    Raises:
        ValueError: If it is no such file, holds no grid, or is damaged.
    """
    source = source_of(file_or_buffer)
    buffers = [grid.read() for grid in read_grids(source)]
    if not buffers:
        raise ValueError(f"{'the buffer' if isinstance(source, bytes) else os.fspath(source)} holds no grid")
    buffers = [numbered(buffer, number, len(buffers)) for number, buffer in enumerate(buffers)]
    return buffers[0] if len(buffers) == 1 else np.concatenate(buffers)
