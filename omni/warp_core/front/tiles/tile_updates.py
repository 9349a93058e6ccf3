"""Functions that change the elements of tiles: assignments, scatters of threads' values, sums in place."""

from __future__ import annotations

import ast
from typing import Any

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import Tile, Type
from ..context import Context
from ..expressions.operators import binary
from ..values import Front, Static, TileView
from .tile_arguments import Arguments, tile_function
from .tile_making import convertible
from .tile_places import TilePlace, update, write
from .tile_regions import At, choice, elementwise, get, read, tile_map
from .tile_views import Part, element_index, root, section, whole


@tile_function("tile_assign", views=True, changes=("dst",))
def _assign(cx: Context, a: Arguments) -> Front:
    view, source = whole(a.view("dst")), a.tile("src")
    t, u = view.type, source.type
    if t.ndim != u.ndim or any(n > m for n, m in zip(u.shape, t.shape)):
        text = f"{a.function}: shape mismatch: source {spell(u)} does not fit within destination {spell(t)}"
        raise a.error("shape", text, "src")
    where, offset = a.where("offset"), a.offset(t.ndim)
    rooms = zip(offset, t.shape, u.shape)
    parts = [Part(element_index(cx, o, n - m + 1, where, False, d), m) for d, (o, n, m) in enumerate(rooms)]
    target = section(cx, view, parts) if t is not u else view
    write(cx, target, converted(cx, a, source, t.dtype), a.node)
    return Static(None)


def converted(cx: Context, a: Arguments, tile: Value, t: Type) -> Value:
    """A tile with elements of type `t`."""
    old = tile.type.dtype
    if old is t:
        return tile
    if not convertible(old, t):
        raise a.error("type-mismatch", f"{a.function}: {spell(tile.type)} has no elements that become {spell(t)}")
    return elementwise(cx, [tile], a.node, lambda x: cx.b.op("cast", x, attr=t))


@tile_function("tile_axpy", views=True, changes=("dest",))
def _axpy(cx: Context, a: Arguments) -> Front:
    view, source, node = whole(a.view("dest")), a.tile("src"), a.node
    a.same_dtype("dest", view.type.dtype, "src", source.type.dtype)
    _check_shape(a, view.type, source.type, "src")
    scaled = binary(cx, ast.Mult, a["alpha"], source, node, a.where("alpha"), a.where("src"))
    total = binary(cx, ast.Add, read(cx, view, node), scaled, node, node, node)
    write(cx, view, cx.materialise(total, node), node)
    return Static(None)


def _check_shape(a: Arguments, t: Tile, u: Tile, name: str) -> None:
    if t.shape != u.shape:
        raise a.error("shape", f"{a.function}: shape mismatch: {spell(t)} and {spell(u)}", name)


@tile_function("tile_diag_add")
def _diag_add(cx: Context, a: Arguments) -> Front:
    tile, diagonal = a.tile("a"), a.tile("d")
    t, u = tile.type, diagonal.type
    a.same_dtype("a", t.dtype, "d", u.dtype)
    if t.ndim != 2 or u.ndim != 1 or t.shape != u.shape * 2:
        raise a.error("shape", f"{a.function}: shape mismatch: {spell(t)} has no diagonal like {spell(u)}", "d")
    node = a.node

    def added(at: At) -> Value:
        x = get(cx, tile, at)
        on = cx.b.op("eq", *at)
        total = binary(cx, ast.Add, x, get(cx, diagonal, at[:1]), node, node, node)
        return cx.b.op("select", on, cx.materialise(total, node), x)

    return tile_map(cx, t.shape, node, added)


# -- values of threads ------------------------------------------------------------------------------------------------


def _element_of(cx: Context, a: Arguments, view: TileView, given: list[tuple[Front, ast.AST]]) -> TilePlace:
    indices = zip(given, view.type.shape)
    return TilePlace(view, [element_index(cx, x, n, node, False, d) for d, ((x, node), n) in enumerate(indices)])


def _scatter(name: str, kind: str) -> None:
    @tile_function(name, views=True, changes=("a",))
    def handler(cx: Context, a: Arguments) -> Front:
        view = whole(a.view("a"))
        t, given = view.type, a.rest("args")
        named = [(a[n], a.where(n)) for n in ("value", "has_value") if a.given(n)]
        count = t.ndim + 2 - len(named)
        if len(given) not in (count, count + (kind == "add")):
            text = f"{a.function} takes {t.ndim} indices, a value, and whether the thread has a value"
            raise a.error("arguments", text)
        (x, where), (has_value, asked) = [*given[t.ndim : count], *named]
        value = cx.convert(x, t.dtype, where, "the value")
        condition = cx.as_bool(cx.truth(has_value, asked))
        before = root(cx, view, a.node)

        def updated() -> Value:
            update(cx, _element_of(cx, a, view, given[: t.ndim]), kind, value, a.node)
            return root(cx, view, a.node)

        after = choice(cx, condition, a.node, updated, before)
        cx.env[view.root] = after  # type: ignore[index]
        return Static(None)


_scatter("tile_scatter_add", "add")
_scatter("tile_scatter_masked", "set")


def _in_place(name: str, kind: str) -> None:
    @tile_function(name, views=True, changes=("a",))
    def handler(cx: Context, a: Arguments) -> Front:
        view = whole(a.view("a"))
        t, given = view.type, a.rest("args")
        if len(given) != t.ndim + 1 - a.given("value"):
            raise a.error("arguments", f"{a.function} takes {t.ndim} indices and a value")
        last: Any = (a["value"], a.where("value")) if a.given("value") else given[-1]
        place = _element_of(cx, a, view, given[: t.ndim])
        update(cx, place, kind, cx.convert(last[0], t.dtype, last[1], "the value"), a.node)
        return Static(None)


for _name, _kind in (("add", "add"), ("sub", "sub"), ("bit_and", "and"), ("bit_or", "or"), ("bit_xor", "xor")):
    _in_place(f"tile_{_name}_inplace", _kind)
