"""Arrays that lie in one shared array, for the interpreter: see `shared_part` in ir/ops.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...lang.types import FixedArray, Type
from .array_memory import MemArray

Watch = Callable[[MemArray, int, Sequence[int], str, Any], None]


class _Place(NamedTuple):
    """Where elements of one type lie."""

    offset: int
    dtype: Type
    length: int


class SharedParts:
    """The parts of a shared array. Those at one place share their elements, whatever their shape. A store to a part
    leaves nothing in other parts at the same bytes.
    """

    def __init__(self, watch: Watch):
        self._watch = watch
        self._elements: dict[_Place, list] = {}

    def part(self, t: FixedArray, offset: int) -> MemArray:
        """The array of type `t` that begins at byte `offset`."""
        place = _Place(offset, t.dtype, math.prod(t.shape))
        array = MemArray(t.dtype, t.shape, self._elements.setdefault(place, [None] * place.length))

        def watch(array: MemArray, at: int, path: Sequence[int], kind: str, value: Any) -> None:
            self._watch(array, at, path, kind, value)
            if kind != "read":
                self._forget(place, at)

        array.watch = watch
        return array

    def _forget(self, place: _Place, at: int) -> None:
        size = place.dtype.size
        low = place.offset + at * size
        for other, elements in self._elements.items():
            if other != place:
                first = max(0, (low - other.offset) // other.dtype.size)
                last = max(first, min(other.length, -((other.offset - low - size) // other.dtype.size)))
                elements[first:last] = [None] * (last - first)
