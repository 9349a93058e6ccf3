"""The frames that the server has from the engine: the newest one, and earlier ones for scrubbing.

A frame refers to the arrays that it shows. Frames share arrays, so one that changes nothing costs nothing. The engine
sends what is not as in the frame before, and a page is sent the arrays that it does not have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .records import Blob, pack

LIMIT = 1 << 30  # bytes of arrays in earlier frames


@dataclass(frozen=True)
class Frame:
    """All that is drawn at one frame, and what of it is not as in the frame that came before from the engine.

    `serial` counts the frames of the engine.
    """

    number: int
    arrays: dict[str, Blob]
    matrices: dict[str, list[float]]
    prims: tuple[str, ...]
    is_exact: bool
    size: int  # bytes of the arrays that came with it
    serial: int = 0
    changed: tuple[str, ...] = ()  # keys of arrays
    moved: tuple[str, ...] = ()  # paths with other matrices


@dataclass
class View:
    """What one page has: the frame that it was sent."""

    frame: Frame | None = None

    def record(self, frame: Frame, header: dict[str, Any]) -> bytes:
        """Return the record that brings the page to a frame, and remember that it has been sent."""
        old, self.frame = self.frame or Frame(0, {}, {}, (), True, 0, -1), frame
        is_next = frame.serial == old.serial + 1
        fresh = _others(frame.arrays, old.arrays, frame.changed if is_next else frame.arrays)
        moved = _others(frame.matrices, old.matrices, frame.moved if is_next else frame.matrices)
        header = {**header, "frame": frame.number, "exact": frame.is_exact, "matrices": moved}
        if frame.prims is not old.prims and frame.prims != old.prims:
            header["prims"] = frame.prims
        return pack(header, list(fresh.values()))


def _others(new: dict[str, Any], old: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Return what of some keys a frame has and a page has not; frames share what stays."""
    return {} if new is old else {key: new[key] for key in keys if old.get(key) is not new[key]}


class FrameStore:
    """The frame that pages show (`newest`), the last one from the engine, and earlier ones while they are valid."""

    def __init__(self) -> None:
        self.newest = self._last = Frame(0, {}, {}, (), True, 0)
        self._kept: dict[int, Frame] = {}
        self._size = 0
        self._serial = 0

    def add(self, header: dict[str, Any], blobs: list[Blob]) -> Frame:
        """Take a frame from the engine."""
        before = self._last  # which is not `newest` after scrubbing
        prims, arrays, matrices = before.prims, before.arrays, before.matrices
        if "prims" in header:  # others than before
            prims = tuple(header["prims"])
            present = set(prims)
            arrays = {key: v for key, v in arrays.items() if key.partition("\n")[0] in present}
            matrices = {path: m for path, m in matrices.items() if path in present}
        if blobs:
            arrays = {**arrays, **{blob.key: blob for blob in blobs}}
        if header["matrices"]:
            matrices = {**matrices, **header["matrices"]}
        size = sum(len(blob.data) for blob in blobs)
        self._serial += 1
        self.newest = self._last = Frame(
            header["frame"], arrays, matrices, prims, header["exact"], size, self._serial,
            tuple(blob.key for blob in blobs), tuple(header["matrices"]),
        )  # fmt: skip
        self._forget(self.newest.number)
        self._kept[self.newest.number] = self.newest
        self._size += size
        while self._size > LIMIT and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))
        return self.newest

    def _forget(self, number: int) -> None:
        gone = self._kept.pop(number, None)
        self._size -= gone.size if gone is not None else 0

    def get(self, number: int) -> Frame | None:
        """Return an earlier frame, None if it has to be evaluated."""
        return self._kept.get(number)

    def clear(self) -> None:
        """Forget earlier frames, after an edit. The newest one stays, as it is what pages show."""
        self._kept.clear()
        self._size = 0

    def restart(self) -> None:
        """Forget everything: a new engine sends all arrays anew."""
        self.clear()
        self.newest = self._last = Frame(self.newest.number, {}, {}, (), True, 0)

    @property
    def cached(self) -> list[list[int]]:
        """The numbers of the frames that can be shown at once, as ranges [first, last]."""
        return ranges(sorted(self._kept))


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Return increasing numbers as ranges.

    >>> ranges([1, 2, 3, 7, 9, 10])
    [[1, 3], [7, 7], [9, 10]]
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
