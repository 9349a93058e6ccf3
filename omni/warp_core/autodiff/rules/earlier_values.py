"""Where a function reads what an array held before it, beside what it has stored there itself."""

from __future__ import annotations

from collections.abc import Collection

from ...ir.analysis.alias import may_alias
from ...ir.analysis.value_numbers import ValueNumbers
from ...ir.nodes import Operation, Region, Value
from ...lang.types import Array

Element = tuple[int, ...]  # what two accesses of one element have in common


def first_read(region: Region, arrays: Collection[Value], shared: bool) -> Operation | None:
    """The first operation that may read an element of arrays which was not stored before it.

    Args:
        region: where to look.
        arrays: the arrays.
        shared: whether arrays of different parameters may share memory.
    """
    numbers = ValueNumbers()

    def element(op: Operation) -> Element:
        return tuple(numbers.of(a) for a in op.args[: 1 + op.args[0].type.ndim])

    def may_read(op: Operation) -> bool:
        read = op.args[:1] if op.code == "load" else op.args if op.code == "call" else []
        return any(isinstance(a.type, Array) and may_alias(a, b, shared) for a in read for b in arrays)

    def first(region: Region, stored: frozenset[Element]) -> Operation | None:
        for op in region.ops:
            if may_read(op) and not (op.code == "load" and element(op) in stored):
                return op
            for inner in op.regions:
                found = first(inner, stored)
                if found is not None:
                    return found
            if op.code == "store" and op.attr == ():
                stored |= {element(op)}
        return None

    return first(region, frozenset())
