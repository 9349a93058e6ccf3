"""Places that belong to one call of a custom function, where it finds later what it left in an array.

A gradient or replay reads arrays as the launch left them. That is what the call left there if no other call of the
thread, in another line or iteration, writes to the same elements. It is proved from the indices: sums of values that
stay the same, numbers of iterations, and constants. Start with `have_own_places`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

from ...ir.analysis.alias import location, may_alias
from ...ir.analysis.element_indices import Index, Indices, always_differ, indices_of_whole, told_apart
from ...ir.analysis.index_ranges import differ_where_both_run
from ...ir.analysis.loop_steps import Loops, branches, with_loops
from ...ir.nodes import Function, Operation, Value


class _Write(NamedTuple):
    """A write of a call: its indices, None if they are not known."""

    op: Operation
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
    calls = [
        (op, around)
        for op, around in with_loops(function.body)
        if op.code == "custom" and op.attr.callee is custom.attr.callee
    ]
    loops = {loop for _, around in calls for loop in around}
    if not loops and len(calls) == 1:
        return True
    indices = Indices(loops)
    writes = [w for call, around in calls for w in _writes(call, around, array, indices, shared)]
    if any(w.indices is None for w in writes):
        return False
    if writes and not any(w.indices == indices(read, given, custom) for w in writes if w.call is custom):
        return False
    own = {call: [w for w in writes if w.call is call] for call, _ in calls}
    return all(map(_differ_in_iterations, own.values())) and all(
        _never_meet(function, a, b)
        for first, second in combinations(own.values(), 2)
        for a, b in product(first, second)
    )


def _writes(call: Operation, loops: Loops, array: Value, indices: Indices, shared: bool) -> Iterator[_Write]:
    """The writes of a call to an array."""
    for op in call.regions[0].walk():
        if op.code in ("store", "atomic") and may_alias(array, op.args[0], shared):
            is_known = location(op.args[0]) == location(array) is not None
            yield _Write(op, call, loops, indices(op) if is_known else None)


def _differ_in_iterations(writes: Sequence[_Write]) -> bool:
    """True if a call writes to other elements in each iteration of the loops around it."""
    if not writes:
        return True
    told: set[Operation] = set()
    for indices in zip(*(w.indices or () for w in writes)):
        told |= told_apart(indices)
    return told.issuperset(writes[0].loops)


def _never_meet(function: Function, a: _Write, b: _Write) -> bool:
    """True if two writes are to different elements in all iterations, or never both happen."""
    if any(map(always_differ, a.indices or (), b.indices or ())):
        return True
    if a.loops or b.loops:
        return False
    first, second = (branches(function.body, w.call) or {} for w in (a, b))
    if any(second.get(op, k) != k for op, k in first.items()):
        return True
    places = [indices_of_whole(w.op)[1] or {} for w in (a, b)]
    return any(differ_where_both_run(places[0][n], places[1][n], {**first, **second}) for n in places[0])
