"""Where a function reads what an array held before it, beside what it has stored there itself."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from ...ir.analysis.alias import may_alias
from ...ir.nodes import Operation, Region, Value
from ...lang.types import Array
from .own_places import expression


def first_read(
    region: Region, arrays: Collection[Value], shared: bool, stored: Collection[Hashable] = ()
) -> Operation | None:
    """The first operation that may read an element of arrays which was not stored before it.

    Args:
        region: where to look.
        arrays: the arrays.
        shared: whether arrays of different parameters may share memory.
        stored: the elements that have been stored (`_element`).
    """
    own = set(stored)
    for op in region.ops:
        read = op.args[:1] if op.code == "load" else op.args if op.code == "call" else []
        may_read = any(isinstance(a.type, Array) and may_alias(a, b, shared) for a in read for b in arrays)
        if may_read and not (op.code == "load" and _element(op) in own):
            return op
        for inner in op.regions:
            found = first_read(inner, arrays, shared, own)
            if found is not None:
                return found
        if op.code == "store" and op.attr == ():
            own.add(_element(op))
    return None


def _element(op: Operation) -> Hashable:
    """What two accesses of one element have in common."""
    return tuple(expression(a) for a in op.args[: 1 + op.args[0].type.ndim])
