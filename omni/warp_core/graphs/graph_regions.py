"""The memory of a graph as regions: ranges of addresses that it uses, those that overlap joined to one.

A saved graph names memory by a region and an offset. `Regions` collects ranges, and then gives their places.
`LoadedRegions` allocates them again, with the same contents and alignment.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..arrays.array import array
from ..arrays.dtypes import element_of
from ..lang.values.scalars import uint8

ALIGNMENT = 64


class Regions:
    """Ranges of addresses, which are collected first and placed when all are known."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self.joined: list[tuple[int, int]] = []
        self.is_complete = False

    def place(self, low: int, high: int) -> list[int]:
        """Return the region of a range, and its offset there; [0, 0] while ranges are collected."""
        if not self.is_complete:
            self._ranges.append((low, high))
            return [0, 0]
        index = bisect_right(self.joined, (low, 1 << 64)) - 1
        return [index, low - self.joined[index][0]]

    def complete(self) -> None:
        """Join the ranges that overlap."""
        for low, high in sorted(self._ranges):
            if self.joined and low < self.joined[-1][1]:
                self.joined[-1] = self.joined[-1][0], max(high, self.joined[-1][1])
            else:
                self.joined.append((low, high))
        self.is_complete = True

    def table(self) -> list[list[int]]:
        """Return the size and the alignment of each region."""
        return [[high - low, low % ALIGNMENT] for low, high in self.joined]

    def contents(self) -> list[bytes]:
        """Return what is in the memory now."""
        return [ctypes.string_at(low, high - low) for low, high in self.joined]


class LoadedRegions:
    """The memory of a loaded graph.

    Raises:
        ValueError: sizes and contents disagree.
    """

    def __init__(self, table: Sequence[Any], contents: Sequence[bytes]):
        self.memory: list[array] = []
        self.spans: list[tuple[int, int]] = []
        for (size, past), content in zip(table, contents, strict=True):
            if type(size) is not int or type(past) is not int or size != len(content) or not 0 <= past < ALIGNMENT:
                raise ValueError("a region has another size")
            memory = array._empty(element_of(uint8), (size + 2 * ALIGNMENT,))
            low = memory._address + (past - memory._address) % ALIGNMENT
            ctypes.memmove(low, content, size)
            self.memory.append(memory)
            self.spans.append((low, low + size))

    def address(self, place: Any, before: int, after: int) -> int:
        """Return the address of a place from which on `before` bytes below and `after` bytes above belong to it.

        Raises:
            ValueError: they are not all in one region.
        """
        region, offset = place
        if type(region) is not int or type(offset) is not int or not 0 <= region < len(self.spans):
            raise ValueError("no such region")
        low, high = self.spans[region]
        if not 0 <= before <= offset or not 0 <= after <= high - low - offset:
            raise ValueError("a place is outside of its region")
        return low + offset
