"""Reading the files that a Kernel node names: its code, before the user has agreed to anything, and volumes.

A scene can name any file: a device that never ends, a pipe that never begins, a secret. So only regular files of
limited size are read, and a file outside of the scene's folder is never shown.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from ..graph.node_graph import GraphError

LIMIT = 1 << 20  # bytes of code in one file
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


class CodeFile(NamedTuple):
    """The text of a file, exactly as its bytes say; `is_inside` is True if it may be shown."""

    text: str
    is_inside: bool


def read(path: str, folder: str) -> CodeFile:
    """Read the code in the file at `path`, for a scene in `folder`. Raises GraphError saying why it cannot be read."""
    try:
        data, status = _read(path, LIMIT)
        return CodeFile(data.decode("utf-8"), _is_inside(path, folder, status))
    except UnicodeDecodeError:
        raise GraphError("it is not text in UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise GraphError(getattr(error, "strerror", None) or str(error)) from None


def read_bytes(path: str, limit: int) -> bytes:
    """Read the regular file at `path`. Raises GraphError saying why it cannot be read."""
    try:
        return _read(path, limit)[0]
    except (OSError, ValueError) as error:
        raise GraphError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _read(path: str, limit: int) -> tuple[bytes, os.stat_result]:
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise GraphError("it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)  # the size that the system tells need not be true, as in /proc
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise GraphError(f"it has more than {limit} bytes")
    return data, status


def _is_inside(path: str, folder: str, opened: os.stat_result) -> bool:
    """True if the opened file is what `path` leads to, all links followed, and lies in `folder` or below it."""
    real, root = os.path.realpath(path), os.path.realpath(folder)
    try:
        return bool(folder) and os.path.commonpath([real, root]) == root and os.path.samestat(os.lstat(real), opened)
    except (OSError, ValueError):  # the file is gone by now, or on another drive
        return False
