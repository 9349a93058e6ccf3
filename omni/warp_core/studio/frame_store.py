"""The frames that the server has from the engine: the newest one, and earlier ones for scrubbing.

A frame refers to the arrays that it shows. Frames share arrays, so one that changes nothing costs nothing. Each array
has a version, and a page is sent the arrays whose versions it does not have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .records import Blob, pack

LIMIT = 1 << 30  # bytes of arrays in earlier frames


class Versioned(NamedTuple):
    """An array and its version, a number that no other array has."""

    version: int
    blob: Blob


@dataclass(frozen=True)
class Frame:
    """All that is drawn at one frame."""

    number: int
    arrays: dict[str, Versioned]
    matrices: dict[str, list[float]]
    prims: tuple[str, ...]
    is_exact: bool
    size: int  # bytes of the arrays that came with it


@dataclass
class View:
    """What one page has: the versions of its arrays, and its prims with their transforms."""

    versions: dict[str, int] = field(default_factory=dict)
    matrices: dict[str, list[float]] = field(default_factory=dict)
    prims: tuple[str, ...] | None = None

    def record(self, frame: Frame, header: dict[str, Any]) -> bytes:
        """Return the record that brings the page to a frame, and remember that it has been sent."""
        fresh = {key: v for key, v in frame.arrays.items() if self.versions.get(key) != v.version}
        moved = {path: m for path, m in frame.matrices.items() if self.matrices.get(path) != m}
        header = {**header, "frame": frame.number, "exact": frame.is_exact, "matrices": moved}
        if frame.prims != self.prims:
            header["prims"] = frame.prims
        self.versions = {key: v.version for key, v in frame.arrays.items()}
        self.matrices, self.prims = frame.matrices, frame.prims
        return pack(header, [v.blob for v in fresh.values()])


class FrameStore:
    """The newest frame, and those before it as long as they are valid."""

    def __init__(self) -> None:
        self.newest = Frame(0, {}, {}, (), True, 0)
        self._kept: dict[int, Frame] = {}
        self._size = 0
        self._versions = 0

    def add(self, header: dict[str, Any], blobs: list[Blob]) -> Frame:
        """Take a frame from the engine."""
        before, prims = self.newest, tuple(header["prims"])
        present = set(prims)
        arrays = {key: v for key, v in before.arrays.items() if key.partition("\n")[0] in present}
        for blob in blobs:
            self._versions += 1
            arrays[blob.key] = Versioned(self._versions, blob)
        matrices = {p: m for p, m in {**before.matrices, **header["matrices"]}.items() if p in present}
        size = sum(len(blob.data) for blob in blobs)
        self.newest = Frame(header["frame"], arrays, matrices, prims, header["exact"], size)
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
        self.newest = Frame(self.newest.number, {}, {}, (), True, 0)

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
