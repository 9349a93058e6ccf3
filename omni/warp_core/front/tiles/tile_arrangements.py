"""Functions that arrange the elements of a tile in another way, without a copy: `wp.tile_view` and its kin."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from ...ir.tile_builder import unflattened
from ...lang.generics import spell
from ...lang.types import Tile
from ..context import Context
from ..values import Front, Static, TupleValue
from .tile_arguments import Arguments, tile_function
from .tile_regions import At, is_tile, read
from .tile_views import (
    Part,
    check_indexed,
    element_index,
    indexed_part,
    rearranged,
    row_major,
    section,
    slice_of,
    whole,
)


@tile_function("tile_view", views=True)
def _tile_view(cx: Context, a: Arguments) -> Front:
    view = whole(a.view("t"))
    t, x, where = view.type, a["offset"], a.where("offset")
    items = x.items if isinstance(x, TupleValue) else (x,)
    sizes = None if _is_none(a["shape"]) else a.shape()
    if len(items) > t.ndim:
        raise a.error("shape", f"{a.function}: {len(items)} offsets for {spell(t)}", "offset")
    if sizes is None:
        parts = [_selected(cx, a, i, d, t, where) for d, i in enumerate(items)]
        if len(parts) == t.ndim and all(p.count is None for p in parts):
            text = f"{a.function}: offsets in all dimensions of {spell(t)} leave an element, not a tile"
            raise a.error("shape", text, "offset", help="for an element write t[i]; for a part of a tile give a shape")
        return section(cx, view, parts)
    if any(isinstance(i, Static) for i in items):
        raise a.error("shape", f"{a.function} cannot take 'shape' together with a slice", "offset")
    if len(sizes) != t.ndim:
        text = f"{a.function}: the shape must have the number of dimensions of {spell(t)}, got {len(sizes)}"
        raise a.error("shape", text, "shape")
    return section(cx, view, [_sized(cx, a, i, n, d, t) for d, (i, n) in enumerate(_padded(cx, items, sizes))])


@tile_function("tile_slice_indexed", views=True)
def _slice_indexed(cx: Context, a: Arguments) -> Front:
    view, x, where = whole(a.view("t")), a["indices"], a.where("indices")
    t = view.type
    items = x.items if isinstance(x, TupleValue) else (x,)
    if len(items) > t.ndim:
        raise a.error("shape", f"{a.function}: {len(items)} indices for {spell(t)}", "indices")
    parts = [_picked(cx, a, i, d, t, where) for d, i in enumerate(items)]
    check_indexed(cx, parts, t, where)
    return read(cx, section(cx, view, parts), a.node)


def _picked(cx: Context, a: Arguments, x: Front, d: int, t: Tile, node: ast.AST) -> Part:
    return indexed_part(cx, x, node) if is_tile(x) else _selected(cx, a, x, d, t, node)


def _is_none(x: Front) -> bool:
    return isinstance(x, Static) and x.obj is None


def _padded(cx: Context, items: Sequence[Any], sizes: Sequence[int]) -> list[tuple[Any, int]]:
    origin = [*items, *[cx.b.i32(0)] * (len(sizes) - len(items))]
    return list(zip(origin, sizes))


def _selected(cx: Context, a: Arguments, x: Front, d: int, t: Tile, node: ast.AST) -> Part:
    if isinstance(x, Static) and isinstance(x.obj, slice):
        return slice_of(cx, x.obj, t.shape[d], t, node)
    if _is_none(x):
        return Part(0, t.shape[d])
    return Part(element_index(cx, x, t.shape[d], node, False, d))


def _sized(cx: Context, a: Arguments, x: Front, count: int, d: int, t: Tile) -> Part:
    """`count` elements from an offset on."""
    room = t.shape[d] - count
    if room < 0:
        text = f"{a.function}: shape mismatch: {count} elements do not fit into axis {d} of {spell(t)}"
        raise a.error("shape", text, "shape")
    return Part(element_index(cx, x, room + 1, a.where("offset"), False, d), count)


@tile_function("tile_transpose", views=True)
def _transpose(cx: Context, a: Arguments) -> Front:
    view = whole(a.view("a"))
    if view.type.ndim != 2:
        raise a.error("shape", f"{a.function} takes a tile of two dimensions, not {spell(view.type)}", "a")
    return rearranged(view, view.type.shape[::-1], view.strides[::-1], lambda at: at[::-1])


@tile_function("tile_broadcast", views=True)
def _broadcast(cx: Context, a: Arguments) -> Front:
    view, shape = whole(a.view("a")), a.shape()
    t = view.type
    added = len(shape) - t.ndim
    if added < 0 or any(n not in (1, wanted) for n, wanted in zip(t.shape, shape[added:])):
        raise a.error("shape", f"{a.function}: shape mismatch: {spell(t)} does not broadcast to {shape}", "shape")
    strides = [0] * added + [0 if n != m else s for n, m, s in zip(t.shape, shape[added:], view.strides)]

    def at(coordinates: At) -> At:
        return [cx.b.i32(0) if n == 1 else i for n, i in zip(t.shape, coordinates[added:])]

    return rearranged(view, shape, strides, at)


@tile_function("tile_reshape", views=True)
def _reshape(cx: Context, a: Arguments) -> Front:
    view = whole(a.view("t"))
    t = view.type
    shape = _completed(a, math.prod(t.shape))
    if any(n > 1 and s != r for n, s, r in zip(t.shape, view.strides, row_major(t.shape))):
        raise a.error("shape", f"{a.function} requires a contiguous tile, and this is a view of another tile", "t")

    def at(coordinates: At) -> At:
        b, index = cx.b, cx.b.i32(0)
        for i, stride in zip(coordinates, row_major(shape)):
            index = b.op("add", index, b.op("mul", i, b.i32(stride)))
        return unflattened(b, index, t.shape)

    return rearranged(view, shape, row_major(shape), at)


def _completed(a: Arguments, count: int) -> tuple[int, ...]:
    """The shape that is asked for, with the extent that -1 stands for."""
    found = a.constant("shape")
    extents = list(found) if isinstance(found, (tuple, list)) else [found]
    if extents.count(-1) == 1:
        others = math.prod(n for n in extents if n != -1)
        extents[extents.index(-1)] = count // others if others > 0 and count % others == 0 else 0
    if not 1 <= len(extents) <= 4:
        text = f"{a.function}: output must have between one and four dimensions, got {len(extents)}"
        raise a.error("shape", text, "shape")
    if not all(type(n) is int and n > 0 for n in extents) or math.prod(extents) != count:
        text = f"{a.function}: shape mismatch: {count} elements do not make a tile of shape {found}"
        raise a.error("shape", text, "shape")
    return tuple(extents)


@tile_function("tile_squeeze", views=True)
def _squeeze(cx: Context, a: Arguments) -> Front:
    view = whole(a.view("t"))
    t, given = view.type, a.constant("axis")
    axes = given if isinstance(given, (tuple, list)) else (given,)
    dropped = {d for d, n in enumerate(t.shape) if n == 1}
    if given is not None:
        dropped = {a.checked_axis(t, axis) for axis in axes}
    if any(t.shape[d] != 1 for d in dropped):
        raise a.error("shape", f"{a.function} leaves out axes of length 1, not {sorted(dropped)} of {spell(t)}", "axis")
    kept = [d for d in range(t.ndim) if d not in dropped] or [t.ndim - 1]

    def at(coordinates: At) -> At:
        rest = iter(coordinates)
        return [next(rest) if d in kept else cx.b.i32(0) for d in range(t.ndim)]

    return rearranged(view, [t.shape[d] for d in kept], [view.strides[d] for d in kept], at)
