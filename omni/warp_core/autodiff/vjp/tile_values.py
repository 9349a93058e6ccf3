"""Arithmetic on adjoints that may be tiles, or elements of tiles: `plus` is what all sums of adjoints are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.builder import Builder
from ...ir.nodes import Value
from ...ir.tile_builder import tile_map
from ...lang.types import I32, Struct, Tile, members

Element = Callable[[Sequence[Value]], Value]  # from coordinates


def plus(b: Builder, x: Value, y: Value) -> Value:
    """The sum of two adjoints of one type."""
    t = x.type
    if isinstance(t, Tile):
        return tile_map(b, t, lambda at: plus(b, b.op("tile_get", x, *at), b.op("tile_get", y, *at)))
    if isinstance(t, Struct):
        parts = [
            plus(b, b.op("extract", x, attr=i), b.op("extract", y, attr=i)) if m.is_differentiable else b.zero(m)
            for i, m in enumerate(members(t))
        ]
        return b.op("make", *parts, attr=t)
    return b.op("add", x, y)


def select(b: Builder, condition: Value, element: Value) -> Value:
    """An adjoint where a condition holds, zero elsewhere."""
    return b.op("select", condition, element, b.zero(element.type))


def reduced_by(b: Builder, tile: Value, axis: int, combine: Callable[[Value, Value], Value]) -> Value:
    """A tile combined along an axis; all elements for -1."""
    t: Tile = tile.type
    first, second = b.push([t.dtype] * 2)
    b.terminate("yield", [combine(first, second)])
    kept = t.shape[:axis] + t.shape[axis + 1 :] if axis >= 0 else ()
    result = Tile(t.dtype, kept or (1,))
    return b.emit("tile_reduce", [tile], axis, (b.pop(),), [result])[0]


def summed(b: Builder, tile: Value, axis: int = -1) -> Value:
    """The sum of a tile along an axis; of all elements for -1."""
    return reduced_by(b, tile, axis, lambda x, y: plus(b, x, y))


def total(b: Builder, tile: Value) -> Value:
    """The sum of all elements of a tile, as a value."""
    return b.op("tile_get", summed(b, tile), b.const(0, I32))


def as_memory(b: Builder, t: Tile) -> Value:
    """Memory of the block with the elements of a tile, all zero."""
    return b.op("tile_to_memory", b.zero(t))


def tile_type(value: Value) -> Tile:
    """The type of a tile, or of the tile of all elements of memory of the block."""
    if isinstance(value.type, Tile):
        return value.type
    op = value.op
    assert op is not None
    return op.args[0].type if op.code == "tile_to_memory" else Tile(op.attr.dtype, op.attr.shape)
