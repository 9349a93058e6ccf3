"""Sets of memory: disjoint spans of addresses, each with a note. Spans that overlap become one, with the first note."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

Span = tuple[int, int]
Note = TypeVar("Note")


class IntervalMap(Generic[Note]):
    """Spans of memory, from the first address to one past the last. With `joins`, those that touch become one, too."""

    def __init__(self, joins: bool = True) -> None:
        self._joins = joins
        self._lows: list[int] = []
        self._highs: list[int] = []
        self._notes: list[Note] = []

    def __iter__(self) -> Iterator[Span]:
        return zip(self._lows, self._highs)

    def notes(self) -> Iterator[tuple[Span, Note]]:
        """The spans, each with its note."""
        return zip(self, self._notes)

    def add(self, span: Span, note: Note) -> None:
        """Add the addresses of a span."""
        low, high = span
        if self._joins:
            first, last = bisect_left(self._highs, low), bisect_right(self._lows, high)
        else:
            first, last = bisect_right(self._highs, low), bisect_left(self._lows, high)
        if first < last:  # these become one with it
            low, high = min(low, self._lows[first]), max(high, self._highs[last - 1])
            note = self._notes[first]
        self._lows[first:last], self._highs[first:last], self._notes[first:last] = [low], [high], [note]

    def has(self, span: Span) -> bool:
        """True if the map has all addresses of a byte range."""
        at = bisect_right(self._lows, span[0]) - 1
        return at >= 0 and span[1] <= self._highs[at]

    def meeting(self, span: Span) -> Note | None:
        """The note of a span that shares addresses with this one."""
        at = bisect_right(self._highs, span[0])
        return self._notes[at] if at < len(self._lows) and self._lows[at] < span[1] else None

    def remove(self, span: Span) -> None:
        """Remove the addresses of a span."""
        low, high = span
        first, last = bisect_right(self._highs, low), bisect_left(self._lows, high)
        if first >= last:
            return
        kept = [
            (at, end, note)
            for at, end, note in (
                (self._lows[first], low, self._notes[first]),
                (high, self._highs[last - 1], self._notes[last - 1]),
            )
            if at < end
        ]
        self._lows[first:last] = [at for at, _, _ in kept]
        self._highs[first:last] = [end for _, end, _ in kept]
        self._notes[first:last] = [note for _, _, note in kept]

    def __bool__(self) -> bool:
        return bool(self._lows)

    def clear(self) -> None:
        """Remove everything."""
        self._lows.clear()
        self._highs.clear()
        self._notes.clear()
