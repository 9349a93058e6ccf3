"""Builds operations that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..lang.types import I32, Tile
from .builder import Builder
from .nodes import Value


def tile_map(b: Builder, t: Tile, element: Callable[[Sequence[Value]], Value]) -> Value:
    """A tile; `element` builds the one at some coordinates."""
    at = b.push([I32] * t.ndim)
    b.terminate("yield", [element(at)])
    return b.emit("tile_map", [], t, (b.pop(),), [t])[0]


def elements(b: Builder, shape: Sequence[int], body: Callable[[Sequence[Value]], None]) -> None:
    """A grid that a block goes through; `body` builds what is done at some coordinates."""
    extents = [b.i32(n) for n in shape]
    at = b.push([I32] * len(shape))
    body(at)
    b.terminate("yield")
    b.emit("elements", extents, regions=(b.pop(),))


def copy(b: Builder, target: Value, source: Value, shape: Sequence[int]) -> None:
    """Copy the elements of an array of this shape."""

    def element(at: Sequence[Value]) -> None:
        b.op("store", target, *at, b.op("load", source, *at, attr=()), attr=())

    elements(b, shape, element)


def unflattened(b: Builder, number: Value, shape: Sequence[int]) -> list[Value]:
    """The coordinates of an element by its number in row-major order."""
    at: list[Value] = []
    left = math.prod(shape)
    for extent in reversed(shape):
        left //= extent
        n = b.i32(extent)
        inner = b.op("rem", number, n) if left > 1 else number
        at.insert(0, inner if extent > 1 else b.i32(0))
        number = b.op("div", number, n)
    return at


def set_element(b: Builder, kind: str, memory: Value, operands: Sequence[Value]) -> None:
    """Update an element, as `tile_set` of this kind; `operands` are the indices and the value."""
    if kind == "set":
        b.op("store", memory, *operands, attr=())
    else:
        b.op("atomic", memory, *operands, attr=(kind, ()))
