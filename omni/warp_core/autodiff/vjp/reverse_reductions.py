"""Reductions of tiles in reverse.

A sum hands its adjoint to every element. A product hands an element the product of all others, which may be zero. A
minimum or maximum hands its adjoint to the first element that equals it, in row-major order; elements that are NaN have
no part in it. Start with `reverse_reduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...ir.builder import Builder
from ...ir.nodes import Operation, Value
from ...ir.tile_builder import tile_map
from ...lang.errors import NotDifferentiable
from ...lang.types import I32, Packed, Scalar, Tile, Type, Vec, members
from .tile_values import reduced_by, select

if TYPE_CHECKING:
    from .reverse_pass import Reverse

_EXTREMES = ("min", "max", "minnum", "maxnum")
_NONE = (1 << 31) - 1  # the number of no element
Get = Callable[[Value, Sequence[Value]], Value]


def reverse_reduce(reverse: Reverse, op: Operation) -> None:
    """Add to the adjoint of the tile that was reduced."""
    given = reverse.take(op.result)
    if given is None:
        return
    (adjoint,), (tile,) = given, op.args
    assert adjoint is not None
    t, b = tile.type, reverse.b

    def line(values: Value, at: Sequence[Value]) -> Value:
        """What was made of the line of elements in which coordinates are."""
        kept = [i for d, i in enumerate(at) if d != op.attr] if op.attr >= 0 else []
        return b.op("tile_get", values, *(kept or [b.i32(0)]))

    code = _combiner(op)
    if code == "add":
        found = tile_map(b, t, lambda at: line(adjoint, at))
    elif code == "mul" and isinstance(t.dtype, Scalar):
        found = _of_product(b, reverse.scopes.primal(tile), op.attr, adjoint, line)
    elif code in _EXTREMES:
        result = reverse.scopes.primal(op.result)
        found = _of_extreme(b, reverse.scopes.primal(tile), op.attr, adjoint, result, line)
    else:
        why = "a reduction of a tile has a gradient if it adds, multiplies numbers, or takes the minimum or maximum"
        raise NotDifferentiable(f"{why}: use wp.add, wp.mul, wp.min or wp.max", op)
    reverse.add(tile, [found])


def _combiner(op: Operation) -> str | None:
    """The operation by which a reduction combines two elements; None if it takes more than one."""
    region = op.regions[0]
    (result,) = region.terminator.args
    made = result.op
    if made is not None and made.code == "make" and _adds_members(made, region.params):
        return "add"
    if made is None or set(made.args) != set(region.params) or len(made.args) != 2:
        return None
    if made.code == "call":
        return _LIBRARY.get(made.attr.name.partition("#")[0]) if made.attr.is_library else None
    return made.code if made in region.ops else None


_LIBRARY = {"min": "minnum", "max": "maxnum"}


def _adds_members(made: Operation, params: Sequence[Value]) -> bool:
    """True if the result of `make` is the sum of two structs, member by member."""
    for number, part in enumerate(made.args):
        added = part.op
        if added is None or added.code != "add":
            return False
        sources = [a.op for a in added.args]
        if not all(s is not None and s.code == "extract" and s.attr == number for s in sources):
            return False
        if {s.args[0] for s in sources if s is not None} != set(params):
            return False
    return True


# -- products ---------------------------------------------------------------------------------------------------------


def _of_product(b: Builder, tile: Value, axis: int, adjoint: Value, line: Get) -> Value:
    """Where one element is zero, it alone has a slope, the product of the others; where two are, none has."""
    t: Tile = tile.type
    one, zero = b.const(1.0, t.dtype), b.const(0.0, t.dtype)

    def get(at: Sequence[Value]) -> Value:
        return b.op("tile_get", tile, *at)

    def is_zero(at: Sequence[Value]) -> Value:
        return b.op("eq", get(at), zero)

    others = tile_map(b, t, lambda at: b.op("select", is_zero(at), one, get(at)))
    product = reduced_by(b, others, axis, lambda x, y: b.op("mul", x, y))
    flags = tile_map(b, Tile(I32, t.shape), lambda at: b.op("select", is_zero(at), b.i32(1), b.i32(0)))
    zeros = reduced_by(b, flags, axis, lambda x, y: b.op("add", x, y))

    def element(at: Sequence[Value]) -> Value:
        own = b.op("select", is_zero(at), b.i32(1), b.i32(0))
        alone = b.op("eq", line(zeros, at), own)
        slope = b.op("div", line(product, at), b.op("select", is_zero(at), one, get(at)))
        return select(b, alone, b.op("mul", line(adjoint, at), slope))

    return tile_map(b, t, element)


# -- extremes ---------------------------------------------------------------------------------------------------------


def _of_extreme(b: Builder, tile: Value, axis: int, adjoint: Value, result: Value, line: Get) -> Value:
    """Each component belongs to the first element that has it."""
    t: Tile = tile.type
    numbers = _like(t.dtype, I32)

    def number(at: Sequence[Value]) -> Value:
        if axis >= 0:
            return at[axis]
        found = at[0]
        for extent, i in zip(t.shape[1:], at[1:]):
            found = b.op("add", b.op("mul", found, b.i32(extent)), i)
        return found

    def candidate(at: Sequence[Value]) -> Value:
        x, y = b.op("tile_get", tile, *at), line(result, at)
        return _each(b, numbers, lambda i: b.op("select", b.op("eq", i(x), i(y)), number(at), b.i32(_NONE)))

    first = reduced_by(b, tile_map(b, Tile(numbers, t.shape), candidate), axis, lambda x, y: b.op("min", x, y))

    def element(at: Sequence[Value]) -> Value:
        won, g = line(first, at), line(adjoint, at)
        return _each(b, t.dtype, lambda i: select(b, b.op("eq", i(won), number(at)), i(g)))

    return tile_map(b, t, element)


def _like(t: Type, scalar: Scalar) -> Type:
    """A type with as many components as `t`."""
    if isinstance(t, Packed):
        return Vec(t.count, scalar)
    return scalar


def _each(b: Builder, t: Type, component: Callable[[Callable[[Value], Value]], Value]) -> Value:
    """A value of type `t` of its components; `component` gets what picks a component of a value."""
    if isinstance(t, Scalar):
        return component(lambda v: v)
    parts = [component(lambda v, i=i: b.op("extract", v, attr=i)) for i in range(len(members(t)))]  # type: ignore[misc]
    return b.op("make", *parts, attr=t)
