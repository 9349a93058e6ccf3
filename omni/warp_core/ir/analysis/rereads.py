"""Rereads: reads of numbers that the same thread may have written before, in the order of the program."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..nodes import Function, Operation, Region, Value

Arrays = Callable[[Value], Collection[int]]
Pairs = set[tuple[int, int]]


def rereads(function: Function, arrays: Arrays) -> Pairs:
    """The pairs of arrays of which a thread may read numbers of the second after it has written some to the first.

    Args:
        function: a function without calls.
        arrays: gives, for an array that an operation accesses, the numbers of those that it may be.
    """
    found: Pairs = set()
    _visit(function.body, frozenset(), arrays, found)
    return found


def _visit(region: Region, before: frozenset[int], arrays: Arrays, found: Pairs) -> frozenset[int]:
    """Add the pairs of a region. `before` are the arrays written before it; return those written behind it."""
    for op in region.ops:
        if op.code == "load" and op.result.type.is_differentiable:
            found.update((written, read) for written in before for read in arrays(op.args[0]))
        if op.code in ("for", "loop"):  # an iteration follows others
            before |= {n for inner in op.regions[0].walk() for n in _written(inner, arrays)}
        behind = [_visit(inner, before, arrays, found) for inner in op.regions]
        before = before.union(_written(op, arrays), *behind)
    return before


def _written(op: Operation, arrays: Arrays) -> Collection[int]:
    """The arrays in which an operation changes numbers."""
    changes = op.code in ("store", "atomic") and op.args[-1].type.is_differentiable
    return arrays(op.args[0]) if changes else ()
