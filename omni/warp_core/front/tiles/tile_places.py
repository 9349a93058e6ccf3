"""Assignments to tiles: elements and parts of their components, sections, whole tiles.

A tile is a value, so an assignment gives the local that holds it a new one. Start with `assign` and `augment`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import BOOL, Packed, Scalar, Struct, Tile, Type, element
from ..context import Context
from ..expressions.member_access import Step, descend, store_steps
from ..expressions.member_access import replace as replaced
from ..messages import cast_help, misfit
from ..values import ElementRef, Front, TileView, TupleValue, UntypedLiteral
from .tile_regions import At, each, elementwise, get, is_tile, read, tile_map
from .tile_views import element as tile_element
from .tile_views import parts_of, root, section

Operator = Callable[[Front, Front], Front]
UPDATES: dict[type, str] = {ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}


@dataclass(slots=True)
class TilePlace:
    """A tile or section of one, or the element at coordinates in it, or a part of an element."""

    view: TileView
    at: At | None = None
    steps: list[Step] = field(default_factory=list)  # from the element down to the part

    @property
    def type(self) -> Type:
        """The type of what is there."""
        if self.at is None:
            return self.view.type
        return self.steps[-1].type if self.steps else self.view.type.dtype


def inner_place(cx: Context, place: TilePlace, target: ast.Subscript | ast.Attribute) -> TilePlace:
    """The place that a subscript or member of another place is."""
    if place.at is not None:
        return replace(place, steps=[*place.steps, *store_steps(cx, target, place.type)])
    if isinstance(target, ast.Attribute):
        raise cx.error("no-member", f"{spell(place.type)} has no member that can be assigned", target)
    parts, at = parts_of(cx, place.view, target)
    if any(p.indices for p in parts):
        text = "elements that a tile of indices selects cannot be changed"
        raise cx.error("unsupported", text, target, help="write t[i] = x for each thread, or wp.tile_scatter_masked")
    return TilePlace(place.view, at) if at is not None else TilePlace(section(cx, place.view, parts))


# -- whole tiles and sections -----------------------------------------------------------------------------------------


def write(cx: Context, view: TileView, tile: Value, node: ast.AST) -> None:
    """Give the elements of a view new values."""
    if not isinstance(view.root, str):
        text = "a tile that no local holds cannot be changed"
        raise cx.error("unsupported", text, node, help="give it a name first: t = ...")
    if any(n > 1 and s == 0 for n, s in zip(view.type.shape, view.strides)):
        raise cx.error("unsupported", "a broadcast tile cannot be changed: it shows its elements several times", node)
    at = view.at
    if at is None:
        cx.env[view.root] = tile
        return
    whole = root(cx, view, node)
    memory = cx.at(node).op("tile_to_memory", whole)

    def store(coordinates: At) -> None:
        cx.b.op("store", memory, *at(coordinates), get(cx, tile, coordinates), attr=())

    each(cx, view.type.shape, node, store)
    cx.env[view.root] = cx.b.op("tile_from_memory", memory, attr=whole.type)


def fitted(cx: Context, x: Front, t: Tile, node: ast.AST) -> Value:
    """A value as a tile of type `t`: one of its dtype is broadcast, a number fills it."""
    if is_tile(x):
        x = cx.materialise(x, node)
        if x.type.dtype is not t.dtype:
            text = f"{spell(x.type)} cannot be assigned to {spell(t)}"
            raise cx.error("type-mismatch", text, node, help="convert it: wp.tile_astype(t, dtype)")
        if x.type is t:
            return x
        _check_broadcast(cx, x.type, t, node)
        return elementwise(cx, [_frame(cx, t, node), x], node, lambda _, u: u)
    value = cx.convert(x, t.dtype, node, "the element")
    return tile_map(cx, t.shape, node, lambda at: value)


def _check_broadcast(cx: Context, t: Tile, to: Tile, node: ast.AST) -> None:
    rest = to.shape[len(to.shape) - t.ndim :] if t.ndim <= to.ndim else ()
    if t.ndim > to.ndim or any(n not in (1, m) for n, m in zip(t.shape, rest)):
        raise cx.error("shape", f"shape mismatch: {spell(t)} cannot be assigned to {spell(to)}", node)


def _frame(cx: Context, t: Tile, node: ast.AST) -> Value:
    """A tile whose shape counts."""
    zero = cx.b.zero(t.dtype)
    return tile_map(cx, t.shape, node, lambda at: zero)


# -- assignments ------------------------------------------------------------------------------------------------------


def assign(cx: Context, place: TilePlace, x: Front, node: ast.AST, target: ast.AST) -> None:
    """`t[...] = x`."""
    if place.at is None:
        assert isinstance(place.type, Tile)
        write(cx, place.view, fitted(cx, x, place.type, node), target)
        return
    value = _element(cx, x, place.type, node, target)
    if place.steps:
        old = tile_element(cx, place.view, place.at, target)
        value = replaced(cx, old, place.steps, value, target)
    update(cx, place, "set", value, target)


def _element(cx: Context, x: Front, t: Type, node: ast.AST, target: ast.AST) -> Value:
    """The value to store in an element, or in a part of one."""
    if isinstance(x, UntypedLiteral) and x.fits(t):
        return cx.b.const(x.value, t)
    if isinstance(x, (Value, ElementRef)) and x.type is t:
        return cx.materialise(x, node)
    if isinstance(x, TupleValue) and isinstance(t, Packed) and len(x.items) == t.count:
        return cx.at(node).op("make", *(cx.convert(i, t.scalar, node, "a component") for i in x.items), attr=t)
    text = f"`{ast.unparse(target)}` holds {spell(t)}, {misfit(x, t)}"
    raise cx.error("type-mismatch", text, node, help=cast_help(x, t, node))


def update(cx: Context, place: TilePlace, kind: str, value: Value, node: ast.AST) -> None:
    """Let each thread that comes here update an element."""
    view, at = place.view, place.at
    assert at is not None
    if not isinstance(view.root, str):
        raise cx.error("unsupported", "a tile that no local holds cannot be changed", node, help="give it a name first")
    whole = root(cx, view, node)
    where = view.at(at) if view.at else at
    cx.env[view.root] = cx.at(node).op("tile_set", whole, *where, value, attr=kind)


def augment(cx: Context, place: TilePlace, x: Front, kind: type, operator: Operator, node: ast.AugAssign) -> None:
    """`t[...] op= x`. On an element, + - & | and ^ are atomic, fields of structs aside."""
    if place.at is None:
        old = read(cx, place.view, node.target)
        new = cx.materialise(operator(old, x), node)
        assert isinstance(place.type, Tile)
        if new.type is not place.type:
            code = "shape" if new.type.dtype is place.type.dtype else "type-mismatch"
            text = f"shape mismatch: {spell(place.type)} cannot become {spell(new.type)}"
            raise cx.error(code, text, node)
        write(cx, place.view, new, node.target)
        return
    t, name = place.type, UPDATES.get(kind)
    if name and _is_atomic(name, t) and not (place.steps and isinstance(place.view.type.dtype, Struct)):
        value = _element(cx, x, t, node.value, node.target)
        update(cx, place, name, _spread(cx, place, name, value, node), node)
        return
    old = tile_element(cx, place.view, place.at, node.target)
    for step in place.steps:
        old = descend(cx, old, step, node.target)  # type: ignore[assignment]
    assign(cx, place, operator(old, x), node, node.target)


def _is_atomic(kind: str, t: Type) -> bool:
    s = element(t)
    if not isinstance(s, Scalar) or s is BOOL:
        return False
    return s.is_int or (kind in ("add", "sub") and s.is_float)


def _spread(cx: Context, place: TilePlace, kind: str, value: Value, node: ast.AST) -> Value:
    """A value for the whole element that updates only the part that is named."""
    if not place.steps:
        return value
    neutral = cx.b.const(-1 if kind == "and" else 0, place.view.type.dtype)
    return replaced(cx, neutral, place.steps, value, node)


def kept(cx: Context, x: Any, node: ast.expr) -> Any:
    """What a local is bound to after `name = node`: a view where its tile changes in place somewhere, else a value."""
    if not isinstance(x, TileView):
        return x
    tiles = cx.liveness.tiles()
    shares = isinstance(x.root, str) and not isinstance(node, ast.Name) and tiles is not None
    return x if shares and x.root in tiles.in_place else read(cx, x, node)  # type: ignore[union-attr]
