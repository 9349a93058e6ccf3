"""Reading the headers of volume files: each size is checked against what is left of the file before it is believed."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO, Union

import numpy as np

from .layout import ALIGNMENT

Source = Union[str, "os.PathLike[str]", bytes]  # a file by its path, or its bytes


class VolumeFileError(ValueError):
    """A volume file that cannot be read: the file, the grid, the byte where it goes wrong, and why."""


class FileCursor:
    """A place in an open file from which numbers and names are read.

    Attributes:
        path: the name of the file in messages.
        grid: the name of the grid that is being read, for messages; None before the first.
        size: of the file, in bytes.
    """

    def __init__(self, file: BinaryIO, path: str):
        self._file = file
        self.path = path
        self.grid: str | None = None
        self.size = file.seek(0, os.SEEK_END)
        file.seek(0)

    @property
    def at(self) -> int:
        """The offset of the next byte."""
        return self._file.tell()

    @property
    def left(self) -> int:
        """How many bytes follow."""
        return self.size - self.at

    def seek(self, at: int, what: str) -> None:
        """Go on at an offset. Raises VolumeFileError outside of the file; `what` names what should be there."""
        if not 0 <= at <= self.size:
            raise self.error(f"{what} is at byte {at}, outside of the file of {self.size} bytes")
        self._file.seek(at)

    def take(self, size: int, what: str) -> bytes:
        """Return the next bytes. Raises VolumeFileError if there are fewer."""
        self._require(size, what)
        data = self._file.read(size)
        if len(data) != size:
            raise self.error(f"{what}: the file became shorter while it was read")
        return data

    def array(self, size: int, what: str) -> np.ndarray:
        """Return the next bytes as uint8 in aligned memory. Raises VolumeFileError if there are fewer."""
        self._require(size, what)
        data = aligned(size)
        if self._file.readinto(data) != size:  # type: ignore[attr-defined]
            raise self.error(f"{what}: the file became shorter while it was read")
        return data

    def number(self, form: str, what: str) -> int:
        """Return the next little-endian integer; `form` is a letter of `struct`."""
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}"), what))[0]

    def numbers(self, form: str, what: str) -> tuple:
        """Return the next little-endian numbers; `form` is a format of `struct`."""
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}"), what))

    def string(self, what: str) -> str:
        """Return the text that follows its own length."""
        return self.take(self.number("I", what), what).decode("utf-8", "replace")

    def record(self, kind: np.dtype, what: str) -> np.void:
        """Return the next record of a NumPy type."""
        return np.frombuffer(self.take(kind.itemsize, what), kind)[0]

    def error(self, why: str, at: int | None = None) -> VolumeFileError:
        """Return the error to raise at an offset, which is that of the next byte by default."""
        return self.error_of_grid(f"byte {self.at if at is None else at}: {why}")

    def error_of_grid(self, why: str) -> VolumeFileError:
        """Return the error to raise for a reason that names the byte."""
        where = "" if self.grid is None else f"grid {self.grid!r}, "
        return VolumeFileError(f"{self.path}: {where}{why}")

    def _require(self, size: int, what: str) -> None:
        if not 0 <= size <= self.left:
            raise self.error(f"{what}: {size} bytes are needed, but {self.left} are left")


@contextlib.contextmanager
def opened(source: Source) -> Iterator[FileCursor]:
    """Open a file, or bytes as if they were the content of a file."""
    if isinstance(source, bytes):
        yield FileCursor(io.BytesIO(source), "the buffer")
        return
    path = os.fspath(source)
    with open(path, "rb", opener=_open_regular) as file:
        yield FileCursor(file, path)


def _open_regular(path: str, flags: int) -> int:
    """Open a file for `open`. Raises OSError for a pipe, which would wait for a writer, and for a device."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # `open` refuses directories itself
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def aligned(size: int) -> np.ndarray:
    """Return memory of `size` bytes that begins where a grid buffer may begin."""
    whole = np.empty(size + ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + size]
