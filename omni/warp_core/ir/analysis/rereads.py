"""Rereads: numbers that a thread stores in an array and reads again, and the results in which they have a part.

Of a launch, they tell where gradients would end in an array without one. What is only compared, or made an integer of,
has no gradient, nor have constants that are stored. Start with `rereads`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from ...lang.types import Array
from ..launch_facts import Reread
from ..nodes import Function, Operation, Region, Value
from ..ops import PURE
from .alias import location, underlying_object
from .dataflow import SetFacts, handed_on
from .element_indices import Index, Indices, always_differ, told_apart
from .loop_steps import LOOPS, Loops, with_loops

Arrays = Callable[[Value], Collection[int]]
_WRITES = ("store", "atomic")


class _Pair(NamedTuple):
    """A write that may come before a load; `earlier`: in earlier iterations alone."""

    write: Operation
    load: Operation
    earlier: bool


def rereads(function: Function, arrays: Arrays) -> tuple[Reread, ...]:
    """The arrays of which a thread may read numbers after it has written them.

    Args:
        function: a function without calls.
        arrays: gives, for an array that an operation accesses, the numbers of those that it may be.
    """
    pairs = [p for p in _pairs(function.body, {}) if arrays(p.write.args[0]) and arrays(p.load.args[0])]
    if not pairs:
        return ()
    parts, elements = _Parts(function, arrays), _Elements(function)
    merged: dict[tuple[int, int], tuple[set[int], set[int]]] = {}
    for pair in pairs:
        sources, ends = parts.sources(pair.write), parts.ends(pair.load)
        known = [
            merged.setdefault(numbers, (set(), set()))
            for numbers in product(arrays(pair.write.args[0]), arrays(pair.load.args[0]))
        ]
        is_new = sources and ends and not all(a >= sources and b >= ends for a, b in known)
        if is_new and not elements.apart(pair):
            for a, b in known:
                a.update(sources)
                b.update(ends)
    return tuple(Reread(*n, tuple(sorted(a)), tuple(sorted(b))) for n, (a, b) in sorted(merged.items()) if a)


def _pairs(region: Region, before: dict[Operation, bool]) -> Iterator[_Pair]:
    """The writes that may come before loads, with these.

    `before` are the writes that may come before the region, as `_Pair.earlier` tells. Those of the region are added.
    """
    for op in region.ops:
        if op.code == "load" and op.result.type.is_differentiable:
            yield from (_Pair(write, op, earlier) for write, earlier in before.items())
        if op.code in LOOPS:  # an iteration follows others
            for inner in op.regions[0].walk():
                if _changes(inner):
                    before.setdefault(inner, True)
        behind = [dict(before) for _ in op.regions]
        for part, own in zip(op.regions, behind):
            yield from _pairs(part, own)
        for own in behind:
            for write, earlier in own.items():
                before[write] = before.get(write, True) and earlier
        if _changes(op):
            before[op] = False


def _changes(op: Operation) -> bool:
    return op.code in _WRITES and op.args[-1].type.is_differentiable


class _Elements:
    """Which accesses are to different elements."""

    def __init__(self, function: Function):
        self._around = dict(with_loops(function.body))
        self._indices: dict[Loops, Indices] = {}
        self._found: dict[tuple[Loops, Operation], tuple[Index, ...] | None] = {}

    def apart(self, pair: _Pair) -> bool:
        """True if a load never finds what a write stored, as their elements differ."""
        place = location(pair.write.args[0])
        if place is None or place != location(pair.load.args[0]):
            return False
        loops = tuple(dict.fromkeys((*self._around[pair.write], *self._around[pair.load])))
        first, second = self._of(pair.write, loops), self._of(pair.load, loops)
        if first is None or second is None:
            return False
        if any(map(always_differ, first, second)):
            return True
        told = set[Operation]().union(*map(told_apart, zip(first, second)))
        return pair.earlier and told.issuperset(loops)

    def _of(self, op: Operation, loops: Loops) -> tuple[Index, ...] | None:
        if (loops, op) not in self._found:
            if loops not in self._indices:
                self._indices[loops] = Indices(set(loops))
            self._found[loops, op] = self._indices[loops](op)
        return self._found[loops, op]


class _Parts:
    """From which loads the numbers in values, and those that a kernel stores, are made."""

    def __init__(self, function: Function, arrays: Arrays):
        self._arrays = arrays
        self._made = SetFacts[Operation]()
        self._made.solve(function.body, self._visit)
        self._stored = {n for op in function.body.walk() if op.code in _WRITES for n in arrays(op.args[0])}
        self.sources, self.ends = cache(self._sources), cache(self._ends)

    def _sources(self, write: Operation) -> set[int]:
        """The arrays of whose elements a write stores something."""
        return {n for reader in self._made.of(write.args[-1]) for a in _memory(reader) for n in self._arrays(a)}

    def _ends(self, load: Operation) -> set[int]:
        """The arrays in which what a load finds ends."""
        return {n for n in self._stored if load in self._made.of(n)}

    def _visit(self, op: Operation) -> None:
        given = self._made.of_any(op.args)
        places = [place for a in _memory(op) for place in self._places(a)]
        if op.code not in PURE and op.code != "load":
            for place in places:
                self._made.add(place, given)
        if places:
            given |= self._made.of_any(places) | {op}
        for value, sources in handed_on(op):
            if value.type.is_differentiable or isinstance(value.type, Array):
                self._made.add(value, given | self._made.of_any(sources))

    def _places(self, array: Value) -> list[Hashable]:
        """What stands for the memory of an array."""
        return [*self._arrays(array)] or [underlying_object(array)]


def _memory(op: Operation) -> list[Value]:
    """The arrays whose elements an operation accesses."""
    if op.code in ("load", *_WRITES):
        return [op.args[0]]
    makes_view = any(isinstance(v.type, Array) for v in op.results)
    return [] if makes_view else [a for a in op.args if isinstance(a.type, Array)]
