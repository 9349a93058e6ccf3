"""Rereads: numbers that a thread stores in an array and reads again, and the results in which they have a part.

Of a launch, they tell where gradients would end in an array without one. What is only compared, or made an integer of,
has no gradient, nor have constants that are stored. Start with `rereads`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from itertools import product

from ...lang.types import Array
from ..launch_facts import Reread
from ..nodes import Function, Operation, Region, Value
from ..ops import PURE
from .alias import location, underlying_object
from .dataflow import SetFacts, handed_on
from .element_indices import Indices, always_differ, told_apart

Arrays = Callable[[Value], Collection[int]]
Loops = tuple[Operation, ...]
_LOOPS = ("for", "loop")
_WRITES = ("store", "atomic")


def rereads(function: Function, arrays: Arrays) -> tuple[Reread, ...]:
    """The arrays of which a thread may read numbers after it has written them.

    Args:
        function: a function without calls.
        arrays: gives, for an array that an operation accesses, the numbers of those that it may be.
    """
    around = dict(_loops(function.body, ()))
    found = [
        (write, load)
        for write, load, earlier in _pairs(function.body, {})
        if arrays(write.args[0]) and arrays(load.args[0]) and not _apart(write, load, around, earlier)
    ]
    if not found:
        return ()
    parts = _Parts(function, arrays)
    merged: dict[tuple[int, int], tuple[set[int], set[int]]] = {}
    for write, load in found:
        sources, ends = parts.sources(write), parts.ends(load)
        for pair in product(arrays(write.args[0]), arrays(load.args[0])) if sources and ends else ():
            known = merged.setdefault(pair, (set(), set()))
            known[0].update(sources)
            known[1].update(ends)
    return tuple(Reread(*pair, tuple(sorted(a)), tuple(sorted(b))) for pair, (a, b) in sorted(merged.items()))


def _loops(region: Region, around: Loops) -> Iterator[tuple[Operation, Loops]]:
    """All accesses, each with the loops around it."""
    for op in region.ops:
        if op.code in ("load", *_WRITES):
            yield op, around
        for inner in op.regions:
            yield from _loops(inner, (*around, op) if op.code in _LOOPS else around)


def _pairs(region: Region, before: dict[Operation, bool]) -> Iterator[tuple[Operation, Operation, bool]]:
    """The writes that may come before loads, with these, and True if they do so in earlier iterations alone.

    `before` are the writes that may come before the region. Those of the region are added.
    """
    for op in region.ops:
        if op.code == "load" and op.result.type.is_differentiable:
            yield from ((write, op, earlier) for write, earlier in before.items())
        if op.code in _LOOPS:  # an iteration follows others
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


def _apart(write: Operation, load: Operation, around: dict[Operation, Loops], earlier: bool) -> bool:
    """True if a load never finds what a write stored, as their elements differ. `earlier` as in `_pairs`."""
    place = location(write.args[0])
    if place is None or place != location(load.args[0]):
        return False
    loops = {*around[write], *around[load]}
    indices = Indices(loops)
    first, second = indices(write), indices(load)
    if first is None or second is None:
        return False
    if any(map(always_differ, first, second)):
        return True
    told = set[Operation]().union(*map(told_apart, zip(first, second)))
    return earlier and told.issuperset(loops)


class _Parts:
    """From which loads the numbers in values, and those that a kernel stores, are made."""

    def __init__(self, function: Function, arrays: Arrays):
        self._arrays = arrays
        self._made = SetFacts[Operation]()
        self._made.solve(function.body, self._visit)
        self._stored = {n for op in function.body.walk() if op.code in _WRITES for n in arrays(op.args[0])}

    def sources(self, write: Operation) -> set[int]:
        """The arrays of whose elements a write stores something."""
        return {n for reader in self._made.of(write.args[-1]) for a in _memory(reader) for n in self._arrays(a)}

    def ends(self, load: Operation) -> set[int]:
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
