"""Memory as the machine sees it. Every access must be aligned and lie in one allocation or variable. A read of memory
that was not written is refused where that is known. Threads of a block may not race in shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.ptx.parse import PtxError, Variable

SHARED, LOCAL = 0xA1 << 56, 0xA2 << 56  # where generic addresses of these spaces begin: no address of a process
NOBODY, SEVERAL = -1, -2
ONES = {size: int.from_bytes(b"\1" * size, "little") for size in (1, 2, 4, 8)}
FIRST = 64  # the first address of a space of variables, so that 0 is no address


def elements(content: np.ndarray, dtype: Any) -> np.ndarray:
    """Bytes as numbers."""
    dtype = np.dtype(dtype)
    return content[: len(content) // dtype.itemsize * dtype.itemsize].view(dtype)


class Spans:
    """Ranges of addresses that do not overlap."""

    def __init__(self, spans: Iterable[tuple[int, int]]):
        ordered = sorted(spans)
        self.begin = np.array([at for at, _ in ordered], np.uint64)
        self.end = np.array([at + n for at, n in ordered], np.uint64)

    def check(self, at: np.ndarray, size: int, space: str) -> None:
        rest = at % np.uint64(size)
        if rest.any():
            raise PtxError(f"an access of {size} bytes to {space} memory at {_first(at, rest != 0)}")
        k = self.begin.searchsorted(at, "right") - 1
        inside = (k >= 0) & (len(self.end) > 0)
        if len(self.end):
            inside &= at + np.uint64(size) <= self.end[np.maximum(k, 0)]
        if not inside.all():
            raise PtxError(f"{size} bytes of {space} memory at {_first(at, ~inside)} are nobody's")


def _first(at: np.ndarray, where: np.ndarray) -> str:
    return hex(int(at[np.flatnonzero(where)[0]]))


class Global:
    """Global memory: stretches of memory of this process (address, bytes), with the allocations in them."""

    def __init__(self, stretches: list[tuple[int, np.ndarray]], allocations: Iterable[tuple[int, int]]):
        self.stretches, self.spans = stretches, Spans(allocations)
        self.constant: list[tuple[np.ndarray, np.ndarray, int]] = []  # bytes, where in them, size: read as constant
        self.written: dict[int, np.ndarray] = {}  # of each stretch, by its address, which bytes were written

    def find(self, at: np.ndarray, size: int) -> Iterable[tuple[slice | np.ndarray, np.ndarray, np.ndarray]]:
        """(which of the accesses, the bytes of a stretch, where in them) for each stretch that is met."""
        self.spans.check(at, size, "global")
        for base, content in self.stretches:
            offset = at - np.uint64(base)
            there = offset < np.uint64(len(content))
            if there.all():
                yield slice(None), content, offset.astype(np.int64)
                return
            if there.any():
                pick = np.flatnonzero(there)
                yield pick, content, offset[pick].astype(np.int64)

    def write(self, content: np.ndarray, place: np.ndarray, size: int) -> None:
        """Note that bytes are written."""
        marks = self.written.get(content.ctypes.data)
        if marks is None:
            marks = self.written[content.ctypes.data] = np.zeros(len(content), np.uint8)
        elements(marks, f"u{size}")[place // size] = ONES[size]

    def finish(self) -> None:
        """What is read as constant may not be written while the kernel runs."""
        for content, place, size in self.constant:
            marks = self.written.get(content.ctypes.data)
            if marks is not None and elements(marks, f"u{size}")[place // size].any():
                raise PtxError("memory that is read as constant is written")


class Variables:
    """A space of variables (param, local or shared), of which each of `rows` threads or blocks has its own."""

    def __init__(self, space: str, variables: list[Variable]):
        self.space, self.places, at = space, {}, FIRST
        for v in variables:
            at = -(-at // max(v.align, 16)) * max(v.align, 16)
            self.places[v.name] = at
            at += v.size + 1  # a gap, so that no access runs from one into the next
        self.size = -(-at // 16) * 16
        self.spans = Spans((self.places[v.name], v.size) for v in variables)

    def begin(self, rows: int) -> None:
        self.content = np.zeros((rows, self.size), np.uint8)
        self.known = np.zeros((rows, self.size), np.uint8)  # 1 where something was written
        if self.space == "shared":
            self.writer = np.full((rows, self.size), NOBODY, np.int32)
            self.reader = np.full((rows, self.size), NOBODY, np.int32)

    def find(self, at: np.ndarray, size: int, row: np.ndarray) -> np.ndarray:
        self.spans.check(at, size, self.space)
        return row * self.size + at.astype(np.int64)

    def must_be_known(self, offset: np.ndarray, size: int) -> None:
        if (elements(self.known.reshape(-1), f"u{size}")[offset // size] != ONES[size]).any():
            raise PtxError(f"{self.space} memory is read before it is written")

    def meet(self, offset: np.ndarray, size: int, thread: np.ndarray, kind: str) -> None:
        """Look for races: accesses of two threads to a byte between two barriers, of which one is a plain write."""
        if self.space != "shared":
            return
        writer, reader = self.writer.reshape(-1), self.reader.reshape(-1)
        places, me = offset[:, None] + np.arange(size), thread[:, None].astype(np.int32)
        wrote, read = writer[places], reader[places]
        bad = (wrote != NOBODY) & (wrote != me)
        others_read = (read != NOBODY) & (read != me)
        if kind != "read":
            bad |= others_read
        if kind == "write":
            writer[places] = me
            bad |= writer[places] != me
        elif kind == "read":
            reader[places] = me
            reader[places] = np.where(others_read | (reader[places] != me), SEVERAL, me)
        if bad.any():
            raise PtxError(f"threads race in shared memory: a {kind} by thread {int(thread[np.nonzero(bad)[0][0]])}")

    def barrier(self, rows: np.ndarray) -> None:
        if self.space == "shared":
            self.writer[rows] = NOBODY
            self.reader[rows] = NOBODY
