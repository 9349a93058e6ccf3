"""Sums, extremes and other reductions of tiles."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import BOOL, I32, Scalar, Struct, Tile, Type, element
from ..calls.calls import Call, dispatch
from ..context import Context
from ..expressions.operators import binary
from ..values import Front
from .tile_arguments import Arguments, tile_function
from .tile_regions import At, elementwise, get, reduce, tile_map


def _numbers(a: Arguments, t: Tile) -> None:
    """Refuse elements that are no numbers or made of them."""
    if not isinstance(element(t.dtype), Scalar):
        raise a.error("type-mismatch", f"{a.function} does not work on tiles of Warp struct {spell(t.dtype)}", "a")


@tile_function("tile_sum")
def _sum(cx: Context, a: Arguments) -> Front:
    tile = a.tile("a")
    _numbers(a, tile.type)
    return _total(cx, tile, a.axis(tile.type), a.node)


def _total(cx: Context, tile: Value, axis: int, node: ast.AST) -> Value:
    return reduce(cx, tile, axis, node, lambda x, y: binary(cx, ast.Add, x, y, node, node, node))


@tile_function("tile_reduce")
def _reduce(cx: Context, a: Arguments) -> Front:
    tile, function, where = a.tile("a"), a["op"], a.where("op")

    def combine(x: Value, y: Value) -> Front:
        return dispatch(cx, function, Call(a.node, [x, y], [a.node, a.node]), where)

    return reduce(cx, tile, a.axis(tile.type), a.node, combine)


@tile_function("tile_dot")
def _dot(cx: Context, a: Arguments) -> Front:
    x, y = a.tile("a"), a.tile("b")
    a.same_dtype("a", x.type.dtype, "b", y.type.dtype)
    if x.type.shape != y.type.shape:
        raise a.error("shape", f"{a.function}: shape mismatch: {spell(x.type)} and {spell(y.type)}", "b")
    if not isinstance(x.type.dtype, Scalar):
        raise a.error("type-mismatch", f"{a.function}: element type must be scalar, not {spell(x.type.dtype)}", "a")
    node = a.node
    products = elementwise(cx, [x, y], node, lambda u, v: binary(cx, ast.Mult, u, v, node, node, node))
    return _total(cx, products, -1, node)


# -- extremes: a NaN counts as missing --------------------------------------------------------------------------------


def _extreme(name: str, code: str) -> None:
    @tile_function(name)
    def handler(cx: Context, a: Arguments) -> Front:
        tile = a.tile("a")
        _ordered(a, tile.type)
        return reduce(cx, tile, -1, a.node, lambda x, y: cx.at(a.node).op(code, x, y))


def _ordered(a: Arguments, t: Tile) -> Scalar:
    _numbers(a, t)
    if not isinstance(t.dtype, Scalar) or t.dtype is BOOL:
        raise a.error("type-mismatch", f"{a.function}: element type must be scalar, not {spell(t.dtype)}", "a")
    return t.dtype


def _place_of_extreme(name: str, better: str) -> None:
    @tile_function(name)
    def handler(cx: Context, a: Arguments) -> Front:
        tile = a.tile("a")
        t = _ordered(a, tile.type)
        pair = Struct(f"place_of_{t.key}", (("value", t), ("index", I32)))
        numbered = tile_map(cx, tile.type.shape, a.node, lambda at: _numbered(cx, tile, at, pair))
        found = reduce(cx, numbered, -1, a.node, lambda x, y: _better(cx, better, x, y))
        return elementwise(cx, [found], a.node, lambda x: cx.b.op("extract", x, attr=1))


def _numbered(cx: Context, tile: Value, at: At, pair: Type) -> Value:
    """An element together with its index in row-major order."""
    index = at[0]
    for n, i in zip(tile.type.shape[1:], at[1:]):
        index = cx.b.op("add", cx.b.op("mul", index, cx.b.i32(n)), i)
    return cx.b.op("make", get(cx, tile, at), index, attr=pair)


def _better(cx: Context, code: str, x: Value, y: Value) -> Value:
    """The pair with the better value, or of equal ones that with the lower index."""
    b = cx.b
    (u, i), (v, j) = ((b.op("extract", p, attr=0), b.op("extract", p, attr=1)) for p in (x, y))
    first = b.op("lt", i, j)
    same = b.op("eq", u, v)
    if u.type.is_float:
        u_nan, v_nan = b.op("ne", u, u), b.op("ne", v, v)
        same = b.op("or", same, b.op("and", u_nan, v_nan))
        wins = b.op("or", b.op(code, u, v), b.op("and", v_nan, b.op("not", u_nan)))
    else:
        wins = b.op(code, u, v)
    return b.op("select", b.op("or", wins, b.op("and", same, first)), x, y)


_HANDLERS: tuple[tuple[Callable[[str, str], None], str, str], ...] = (
    (_extreme, "tile_min", "minnum"),
    (_extreme, "tile_max", "maxnum"),
    (_place_of_extreme, "tile_argmin", "lt"),
    (_place_of_extreme, "tile_argmax", "gt"),
)
for _make, _name, _code in _HANDLERS:
    _make(_name, _code)
