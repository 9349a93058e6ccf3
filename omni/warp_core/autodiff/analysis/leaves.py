"""Adjoints of aggregates, leaf by leaf: a list with one scalar value, or None for zero, for each leaf of a type.

A tile is one leaf: its adjoint is a tile of the same type, whose integers are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...ir.nodes import Function, Value
from ...lang.types import Array, Packed, Scalar, Struct, Tile, Type, leaves, members

if TYPE_CHECKING:  # tapes ask what is active also where all code is in the cache
    from ...ir.builder import Builder

Leaves = list[Value | None]


def leaf_types(t: Type) -> list[Type]:
    """The type of each leaf."""
    return [leaf for _, leaf in leaves(t)]


def bitcasts_floats(function: Function) -> bool:
    """True if a function reads the bits of a float. A float made from these bits may depend on it. Other floats made
    from bits depend on integers, which have no derivative.
    """
    return any(op.code == "bitcast" and op.args[0].type.is_differentiable for op in function.body.walk())


def member_span(t: Type, index: int) -> tuple[int, int]:
    """Return the leaves of member `index` of `t`: first and end."""
    if isinstance(t, Packed):
        return index, index + 1
    counts = [len(leaves(m)) for m in members(t)]
    start = sum(counts[:index])
    return start, start + counts[index]


def leaf_of(b: Builder, value: Value, index: int) -> Value:
    """Leaf `index` of a value."""
    t = value.type
    while isinstance(t, (Packed, Struct)):
        for m, _ in enumerate(members(t)):
            first, end = member_span(t, m)
            if first <= index < end:
                value, index, t = b.op("extract", value, attr=m), index - first, members(t)[m]
                break
    return value


def assemble(b: Builder, t: Type, given: Sequence[Value | None]) -> Value:
    """A value of type `t` of its leaves; those that are None are zero."""
    if all(x is None for x in given):
        return b.zero(t)
    if isinstance(t, (Array, Scalar, Tile)):
        assert given[0] is not None
        return given[0]
    parts = []
    for i, m in enumerate(members(t)):
        first, end = member_span(t, i)
        parts.append(assemble(b, m, given[first:end]))
    return b.op("make", *parts, attr=t)
