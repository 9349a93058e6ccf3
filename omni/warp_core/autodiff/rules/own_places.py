"""Places that belong to one call of a custom function, where it finds later what it left in an array.

A gradient or replay reads arrays as the launch left them. That is what the call left there if no other call of the
thread, in another line or iteration, writes to the same elements. It is proved from the indices: sums of values that
stay the same, numbers of iterations, and constants. Start with `have_own_places`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

from ...ir.analysis.alias import location, may_alias
from ...ir.nodes import Function, Operation, Region, Value
from ..analysis.block_stores import linear_form
from ..analysis.exclusive_stores import indices_of_whole
from ..analysis.value_numbers import NOTHING, ValueNumbers, is_plain

Loops = tuple[Operation, ...]
_Term = int | tuple[int]  # the number of an index of the block, or that of a value


class _Count(NamedTuple):
    """How a value counts the iterations of a loop: by which step, and how many there are at most."""

    loop: Operation
    step: int
    iterations: float


class Index(NamedTuple):
    """An index of an access, a sum: what stays the same in all iterations, constants, and multiples of counts. It is
    `vague` if it has other terms.
    """

    rest: Mapping[_Term, int]
    constant: int
    counts: tuple[tuple[int, _Count], ...] = ()
    vague: bool = False

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest number, without the rest."""
        ends = [c * count.step * (count.iterations - 1) for c, count in self.counts]
        return self.constant + sum(min(e, 0) for e in ends), self.constant + sum(max(e, 0) for e in ends)


class _Write(NamedTuple):
    """A write of a call: its indices, None if they are not known."""

    call: Operation
    loops: Loops
    indices: tuple[Index, ...] | None


def have_own_places(
    function: Function, custom: Operation, array: Value, read: Operation, given: Mapping[Value, Value], shared: bool
) -> bool:
    """True if calls of a custom function provably leave each other's elements of an array alone, or there is one call.

    Args:
        function: the function that is differentiated.
        custom: a call.
        array: an array that the call writes to.
        read: a load of the array in the gradient or replay, which has to be of an element that the call writes.
        given: what the values of `read` stand for in the function, as far as they are others.
        shared: whether arrays of different parameters may share memory.
    """
    calls = [found for found in _calls(function.body, ()) if found[0].attr.callee is custom.attr.callee]
    loops = {loop for _, around in calls for loop in around}
    if not loops and len(calls) == 1:
        return True
    indices = _Indices(loops)
    writes = [w for call, around in calls for w in _writes(call, around, array, indices, shared)]
    if any(w.indices is None for w in writes):
        return False
    if writes and not any(w.indices == indices(read, given) for w in writes if w.call is custom):
        return False
    own = {call: [w for w in writes if w.call is call] for call, _ in calls}
    return all(map(_differ_in_iterations, own.values())) and all(
        _never_meet(a, b) for first, second in combinations(own.values(), 2) for a, b in product(first, second)
    )


def _calls(region: Region, loops: Loops) -> Iterator[tuple[Operation, Loops]]:
    """All calls of custom functions, with the loops around each."""
    for op in region.ops:
        if op.code == "custom":
            yield op, loops
        for inner in op.regions:
            yield from _calls(inner, (*loops, op) if op.code in ("for", "loop") else loops)


def _writes(call: Operation, loops: Loops, array: Value, indices: _Indices, shared: bool) -> Iterator[_Write]:
    """The writes of a call to an array."""
    for op in call.regions[0].walk():
        if op.code in ("store", "atomic") and may_alias(array, op.args[0], shared):
            is_known = location(op.args[0]) == location(array) is not None
            yield _Write(call, loops, indices(op) if is_known else None)


class _Indices:
    """Finds the indices of accesses in the arrays that a launch has."""

    def __init__(self, loops: set[Operation]):
        self._counts = {v: count for loop in loops for v, count in _counts(loop)}
        self._varying = {v for loop in loops for v in _made_in(loop)}
        self._value_numbers = ValueNumbers()

    def __call__(self, op: Operation, given: Mapping[Value, Value] = NOTHING) -> tuple[Index, ...] | None:
        """Return the indices of an access. Values stand for those that are `given` for them."""
        _, indices = indices_of_whole(op)
        return None if indices is None else tuple(self._index(indices[at], given) for at in sorted(indices))

    def _index(self, value: Value, given: Mapping[Value, Value]) -> Index:
        if value.op is not None and value.op.code == "from_end":  # lets indices below zero count from the end
            value = value.op.args[0]
        form = linear_form(value, given)
        counts = [(c, self._counts[t]) for t, c in form.items() if isinstance(t, Value) and t in self._counts]
        rest = {t: c for t, c in form.items() if t is not None and t not in self._counts}
        known: dict[Value, bool] = {}
        vague = any(isinstance(t, Value) and self._varies(t, given, known) for t in rest)
        named = {(self._value_numbers.of(t, given),) if isinstance(t, Value) else t: c for t, c in rest.items()}
        return Index(named, form.get(None, 0), tuple(counts), vague)

    def _varies(self, value: Value, given: Mapping[Value, Value], known: dict[Value, bool]) -> bool:
        """True if a value may be another one in other iterations. `known` are answers for others."""
        value = given.get(value, value)
        if value not in known:
            operands = value.op.args if value.op is not None and is_plain(value) else None
            if operands is None:
                known[value] = value in self._varying
            else:
                known[value] = any(self._varies(a, given, known) for a in operands)
        return known[value]


def _counts(loop: Operation) -> Iterator[tuple[Value, _Count]]:
    """The values that differ from one iteration of a loop to the next by a constant."""
    region = loop.regions[0]
    carried = region.params
    if loop.code == "for":
        low, high, step = loop.args[:3]
        carried = carried[1:]
        if step.is_const and step.const and not (low.is_const and low.const < 0):
            is_known = low.is_const and high.is_const
            iterations = max(math.ceil((high.const - low.const) / step.const), 1) if is_known else math.inf
            yield region.params[0], _Count(loop, step.const, iterations)
    for param, following in zip(carried, region.terminator.args):
        form = linear_form(following)
        if set(form) == {param, None} and form[param] == 1:
            yield param, _Count(loop, form[None], math.inf)


def _made_in(loop: Operation) -> Iterator[Value]:
    """The values that may be others in each iteration."""
    yield from loop.regions[0].params
    for op in loop.regions[0].walk():
        yield from op.results
        for region in op.regions:
            yield from region.params


def _differ_in_iterations(writes: Sequence[_Write]) -> bool:
    """True if a call writes to other elements in each iteration of the loops around it."""
    if not writes:
        return True
    told: set[Operation] = set()
    for indices in zip(*(w.indices or () for w in writes)):
        told |= _told_apart(indices)
    return told.issuperset(writes[0].loops)


def _told_apart(indices: Sequence[Index]) -> set[Operation]:
    """The loops of which an index of a call, in several writes, is another one in each iteration."""
    first = indices[0]
    if any(i.vague or i.rest != first.rest or i.counts != first.counts for i in indices):
        return set()
    reach: float = max(i.constant for i in indices) - min(i.constant for i in indices)
    told = set()
    for step, count in sorted(((abs(c * n.step), n) for c, n in first.counts), key=lambda pair: pair[0]):
        if step <= reach:
            return set()
        reach += step * (count.iterations - 1)
        told.add(count.loop)
    return told


def _never_meet(a: _Write, b: _Write) -> bool:
    """True if two writes are to different elements in all iterations."""
    return any(map(_always_differ, a.indices or (), b.indices or ()))


def _always_differ(a: Index, b: Index) -> bool:
    if a.vague or b.vague or a.rest != b.rest:
        return False
    (low, high), (first, last) = a.reach, b.reach
    if not a.rest and min(low, first) < 0 <= max(high, last):  # one of them may count from the end
        return False
    divisor = math.gcd(*(c * count.step for c, count in (*a.counts, *b.counts)))
    return high < first or last < low or (divisor > 0 and (a.constant - b.constant) % divisor != 0)
