"""Which arrays a function overwrites elements of. Start with `overwritten`."""

from __future__ import annotations

from typing import NamedTuple

from ...ir.analysis.alias import provenance
from ...ir.nodes import Function, Operation, Value
from ...lang.types import Array, Type


class Overwritten(NamedTuple):
    """An array of a function's parameters: the number of the parameter, and the members that lead to the array.

    `gradients` says how often the gradient of an array is meant.
    """

    param: int
    members: tuple[int, ...]
    gradients: int
    element: Type


def overwritten(function: Function) -> set[Overwritten]:
    """Return the arrays of which a function, or one that it calls, sets elements, other than by adding to them."""
    return _overwritten(function, {})


def _overwritten(function: Function, known: dict[Function, set[Overwritten]]) -> set[Overwritten]:
    if function in known:
        return known[function]
    found: set[Overwritten] = set()
    known[function] = found
    numbers = {p: i for i, p in enumerate(function.params)}
    for op in function.body.walk():
        for array, written in _targets(op, known):
            at = provenance(array)
            if at.object in numbers:
                members, gradients = at.members + written.members, at.gradients + written.gradients
                found.add(Overwritten(numbers[at.object], members, gradients, written.element))
    return found


def _targets(op: Operation, known: dict[Function, set[Overwritten]]) -> list[tuple[Value, Overwritten]]:
    """The values that an operation overwrites arrays of, each with the array as seen from there."""
    if op.code == "call":
        return [(op.args[at.param], at) for at in _overwritten(op.attr, known)]
    if op.code != "store" and (op.code != "atomic" or op.attr[0] in ("add", "sub")):
        return []
    t = op.args[0].type
    return [(op.args[0], Overwritten(0, (), 0, t.dtype))] if isinstance(t, Array) else []
