"""Other arrangements of the elements of a tile: sections, transposed, broadcast and reshaped tiles.

A view is a place: reading it makes a tile, and what is written to it changes the local that holds the elements. Start
with `whole` and `subscript`; the functions that make views are in `tile_arrangements`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.analysis.sign import is_non_negative
from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.registry import Intrinsic
from ...lang.types import I32, U32, Scalar, Tile
from ..context import Context
from ..values import ElementRef, Front, TileView
from .tile_regions import At, get, is_tile, read, uniform_index

TAKE_VIEWS: set[Intrinsic] = set()  # functions that are given tiles as places


@dataclass(frozen=True, slots=True)
class Part:
    """What is kept of a dimension: indices first, first + step, …; without a count the one at `first`; or those that a
    tile of `indices` has.
    """

    first: Value | int
    count: int | None = None
    step: int = 1
    indices: Value | None = None


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tile of its own."""
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def whole(x: Value | TileView, name: str = "") -> TileView:
    """A tile as a view: that of the local called `name`, or of a tile without a name."""
    if isinstance(x, TileView):
        return x
    assert isinstance(x.type, Tile)
    return TileView(name or x, x.type, row_major(x.type.shape))


def named(cx: Context, x: Front, node: ast.expr) -> Front:
    """The value of an expression; the place of a tile that is a local."""
    if isinstance(x, Value) and is_tile(x) and isinstance(node, ast.Name) and node.id in cx.local_names:
        return whole(x, node.id)
    return x


def of_expression(cx: Context, node: ast.expr) -> Front:
    """An expression with its place, if it is a tile that has one; else its value."""
    x = named(cx, cx.expr(node), node)
    return cx.load(x, node) if isinstance(x, ElementRef) else x


def rearranged(view: TileView, shape: Sequence[int], strides: Sequence[int], at: Callable[[At], At]) -> TileView:
    """A view of a view; `at` gives coordinates in the inner one."""
    inner = view.at

    def composed(coordinates: At) -> At:
        return inner(at(coordinates)) if inner is not None else at(coordinates)

    return TileView(view.root, Tile(view.type.dtype, shape), tuple(strides), composed)


# -- sections ---------------------------------------------------------------------------------------------------------


def section(cx: Context, view: TileView, parts: Sequence[Part]) -> TileView:
    """The elements that one part for each leading dimension selects."""
    shape = view.type.shape
    parts = [*parts, *(Part(0, n) for n in shape[len(parts) :])]
    kept = [(p.count, s * p.step) for p, s in zip(parts, view.strides) if p.count is not None]

    def at(coordinates: At) -> At:
        rest = iter(coordinates)
        return [_index(cx, p, rest, n, d) for d, (p, n) in enumerate(zip(parts, shape))]

    return rearranged(view, [n for n, _ in kept], [s for _, s in kept], at)  # type: ignore[misc]


def _index(cx: Context, part: Part, coordinates: Any, extent: int = 0, axis: int = 0) -> Value:
    if part.indices is not None:
        return _checked(cx, get(cx, part.indices, [next(coordinates)]), extent, axis)
    first = part.first if isinstance(part.first, Value) else cx.b.i32(part.first)
    if part.count is None:
        return first
    steps = cx.b.op("mul", next(coordinates), cx.b.i32(part.step))
    return cx.b.op("add", first, steps)


def part_of(cx: Context, x: Front, extent: int, node: ast.AST) -> Part:
    """The part of a dimension that an index selects. It counts from the end if it is negative."""
    return Part(element_index(cx, x, extent, node))


def slice_of(cx: Context, bounds: slice, extent: int, t: Tile, node: ast.AST) -> Part:
    """The part of a dimension that a slice selects."""
    if bounds.step == 0:
        raise cx.error("shape", "the step of a slice cannot be zero", node)
    picked = range(extent)[bounds]
    if not picked:
        raise cx.error("shape", f"the slice makes an empty tile of {spell(t)}; a tile has at least one element", node)
    return Part(picked.start, len(picked), picked.step)


def constant_slice(cx: Context, node: ast.Slice) -> slice:
    """A slice whose bounds are known when the kernel compiles."""
    return slice(*(_bound(cx, part) for part in (node.lower, node.upper, node.step)))


def _bound(cx: Context, node: ast.expr | None) -> int | None:
    found = None if node is None else cx.constant(cx.rvalue(node), node, "a bound of a slice of a tile")
    if node is None or found is None:
        return None
    if type(found) is not int:
        raise cx.error("shape", "the indices of a tile must be integers or slices", node)
    return found


# -- indices of elements ----------------------------------------------------------------------------------------------


def element_index(cx: Context, x: Front, extent: int, node: ast.AST, from_end: bool = True, axis: int = 0) -> Value:
    """A checked index of an element of the dimension `axis`; a negative one counts from the end if `from_end`."""
    if not isinstance(getattr(x, "type", None), Scalar) or not x.type.is_int:  # type: ignore[union-attr]
        raise cx.error("shape", "the indices of a tile must be integers or slices", node)
    v = uniform_index(cx, x, node, "an index")
    if v.is_const:
        found = v.const + extent if from_end and v.const < 0 else v.const
        if not 0 <= found < extent:
            text = f"tile index {v.const} is out of bounds for axis {axis} with size {extent}"
            raise cx.error("index", text, node)
        return cx.b.i32(found)
    cx.at(node)
    return _checked(cx, v, extent, axis, from_end and not is_non_negative(v, cx.session.counting))


def _checked(cx: Context, index: Value, extent: int, axis: int, from_end: bool = True) -> Value:
    """An index of a dimension; what is outside ends the launch with an error."""
    b = cx.b
    at = b.op("from_end", index, b.i32(extent)) if from_end else index
    inside = b.op("lt", b.op("cast", at, attr=U32), b.const(extent, U32))
    b.push()
    b.terminate("yield")
    fine = b.pop()
    b.push()
    told = f"coordinate dimension {axis} has index {{0}}, outside valid range [0, {extent})"
    b.op("fail", index, attr=("bounds", told))
    b.terminate("unreachable")
    b.emit("if", [inside], None, (fine, b.pop()))
    return at


def subscript(cx: Context, view: TileView, node: ast.Subscript) -> Value | TileView:
    """`t[...]`: an element, or a view where slices or missing indices leave dimensions."""
    parts, at = parts_of(cx, view, node)
    if at is not None:
        return element(cx, view, at, node)
    found = section(cx, view, parts)
    return read(cx, found, node) if any(p.indices for p in parts) else found


def parts_of(cx: Context, view: TileView, node: ast.Subscript) -> tuple[list[Part], At | None]:
    """What the indices and slices in brackets select; the coordinates if that is an element."""
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    t = view.type
    if len(nodes) > t.ndim:
        text = f"{spell(t)} takes {t.ndim} {'index' if t.ndim == 1 else 'indices'}, not {len(nodes)}"
        raise cx.error("index", text, nodes[t.ndim], help="index the element separately: t[i][k]")
    parts = [_part(cx, n, d, t) for d, n in enumerate(nodes)]
    if len(parts) < t.ndim or any(p.count is not None for p in parts):
        check_indexed(cx, parts, t, node)
        return parts, None
    return parts, [_index(cx, p, None) for p in parts]


def _part(cx: Context, node: ast.expr, d: int, t: Tile) -> Part:
    if isinstance(node, ast.Slice):
        return slice_of(cx, constant_slice(cx, node), t.shape[d], t, node)
    x = cx.rvalue(node)
    if is_tile(x):
        return indexed_part(cx, x, node)
    return Part(element_index(cx, x, t.shape[d], node, axis=d))


def indexed_part(cx: Context, x: Front, node: ast.AST) -> Part:
    """The indices that a tile has."""
    tile = cx.materialise(x, node)
    if tile.type.ndim != 1 or tile.type.dtype is not I32:
        text = f"a tile of indices has one dimension and int32 elements, this is {spell(tile.type)}"
        raise cx.error("type-mismatch", text, node)
    return Part(0, tile.type.shape[0], 0, tile)


def check_indexed(cx: Context, parts: Sequence[Part], t: Tile, node: ast.AST) -> None:
    """Refuse a tile of indices beside anything but whole axes."""
    others = [(p, n) for p, n in zip(parts, t.shape) if p.indices is None]
    if len(others) < len(parts) and (len(others) < len(parts) - 1 or any(p != Part(0, n) for p, n in others)):
        text = f"a tile of indices into {spell(t)} requires ':' on all other axes"
        raise cx.error("shape", text, node)


def element(cx: Context, view: TileView, at: At, node: ast.AST) -> Value:
    """The element at checked coordinates in a view."""
    tile = root(cx, view, node)
    return get(cx, tile, view.at(at) if view.at else at)


def root(cx: Context, view: TileView, node: ast.AST) -> Value:
    """The tile that holds the elements."""
    tile = cx.read(view.root, node) if isinstance(view.root, str) else view.root
    assert isinstance(tile, Value)
    return tile
