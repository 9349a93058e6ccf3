"""Python's own builtins where kernels give them a meaning: len, sum, min, any, abs, round, isinstance, ..."""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any

from ...lang.annotations import type_or_none
from ...lang.generics import spell
from ...lang.types import BOOL, I32, Packed, Scalar, Tile, Vec, element
from ..context import Context
from ..expressions.array_indexing import array_type, extent
from ..expressions.comparison import any_of
from ..expressions.operators import binary
from ..statements.iteration import items_of, starred_items
from ..values import ElementRef, Front, Static, TupleValue, UntypedLiteral, spell_front
from .calls import Call, count_arguments, handles, loaded, same_type


@handles("len", builtins.len)
def _len(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 1, 1, "len")
    x = c.args[0]
    if isinstance(x, TupleValue):
        return UntypedLiteral(len(x.items))
    if isinstance(x, Static) and isinstance(x.obj, (str, range)):
        return UntypedLiteral(len(x.obj))
    t = getattr(x, "type", None)
    if array_type(t):
        return extent(cx, cx.materialise(x, c.arg_node(0)), 0, c.node)
    if isinstance(t, Tile):
        return UntypedLiteral(t.shape[0])
    if isinstance(t, Packed):
        return UntypedLiteral(getattr(t, "rows", t.count))
    raise cx.error("type-mismatch", f"{spell_front(x)} has no length", c.arg_node(0))


def _items(cx: Context, c: Call, name: str) -> tuple[Any, ...]:
    return items_of(
        cx, cx.load(c.args[0], c.node) if isinstance(c.args[0], ElementRef) else c.args[0], c.arg_node(0), f"`{name}`"
    )


@handles(builtins.sum)
def _sum(cx: Context, c: Call) -> Front:
    if not 1 <= len(c.args) <= 2:
        raise cx.error("arguments", "`sum` takes 1 or 2 arguments", c.node)
    items = list(_items(cx, c, "sum"))
    start = c.args[1] if len(c.args) == 2 else c.kwargs.get("start")
    total: Any = start if start is not None else UntypedLiteral(0)
    if start is None and items:
        total = items.pop(0)
    for x in items:
        total = binary(cx, ast.Add, total, x, c.node, c.arg_node(0), c.arg_node(0))
    return total


def _extreme(name: str, code: str) -> Any:
    def handler(cx: Context, c: Call) -> Front:
        items = _items(cx, c, name) if len(c.args) == 1 else tuple(loaded(cx, c))
        if not items or c.kwargs:
            raise cx.error(
                "arguments",
                f"`{name}` needs at least one value" if not items else f"`{name}` has no keywords here",
                c.node,
            )
        best: Any = items[0]
        for x in items[1:]:
            best = _better(cx, name, code, best, x, c)
        return best

    return handler


def _better(cx: Context, name: str, code: str, a: Any, b: Any, c: Call) -> Front:
    if isinstance(a, UntypedLiteral) and isinstance(b, UntypedLiteral):
        return UntypedLiteral(min(a.value, b.value) if name == "min" else max(a.value, b.value))
    x, y = same_type(cx, [a, b], [c.arg_node(0), c.node], c.node)
    if not isinstance(element(x.type), Scalar) or element(x.type) is BOOL:
        raise cx.error("type-mismatch", f"`{name}` does not work on {spell(x.type)}", c.node)
    return cx.at(c.node).op(code, x, y)


handles(builtins.min)(_extreme("min", "minnum"))
handles(builtins.max)(_extreme("max", "maxnum"))


def _quantified(name: str, code: str) -> Any:
    def handler(cx: Context, c: Call) -> Front:
        count_arguments(cx, c, 1, 1, name)
        found = any_of(cx, [cx.truth(x, c.node) for x in _items(cx, c, name)], code, c.node)
        return UntypedLiteral(found) if isinstance(found, bool) else found

    return handler


handles(builtins.any)(_quantified("any", "or"))
handles(builtins.all)(_quantified("all", "and"))


@handles(builtins.abs)
def _abs(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 1, 1, "abs")
    x = loaded(cx, c)[0]
    if isinstance(x, UntypedLiteral):
        return UntypedLiteral(abs(x.value))
    v = cx.materialise(x, c.arg_node(0))
    if not isinstance(v.type, (Scalar, Vec)) or element(v.type) is BOOL:
        raise cx.error("type-mismatch", f"`abs` does not work on {spell(v.type)}", c.arg_node(0))
    return cx.at(c.node).op("abs", v)


@handles(builtins.round)
def _round(cx: Context, c: Call) -> Front:
    """To the nearest integer, halves to even; the result is an int, as in Python."""
    count_arguments(cx, c, 1, 1, "round")
    x = loaded(cx, c)[0]
    if isinstance(x, UntypedLiteral):
        if not math.isfinite(x.value):
            raise cx.error("literal", f"`round({x.value})` has no value", c.node)
        return UntypedLiteral(round(x.value))
    v = cx.materialise(x, c.arg_node(0))
    if not isinstance(v.type, Scalar) or v.type is BOOL:
        raise cx.error("type-mismatch", f"`round` does not work on {spell(v.type)}", c.arg_node(0))
    if v.type.is_int:
        return v
    return cx.at(c.node).op("cast", cx.b.op("rint", v), attr=I32)


@handles(builtins.pow)
def _pow(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 2, 2, "pow")
    x, y = loaded(cx, c)
    return binary(cx, ast.Pow, x, y, c.node, c.arg_node(0), c.arg_node(1))


@handles(builtins.divmod)
def _divmod(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 2, 2, "divmod")
    x, y = loaded(cx, c)
    nodes = c.node, c.arg_node(0), c.arg_node(1)
    q = binary(cx, ast.FloorDiv, x, y, *nodes)
    return TupleValue((q, binary(cx, ast.Sub, x, binary(cx, ast.Mult, q, y, *nodes), *nodes)))


@handles(builtins.tuple, builtins.list)
def _tuple(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 1, 1, "tuple")
    return TupleValue(_items(cx, c, "tuple"))


@handles(ast.Starred)
def _starred(cx: Context, c: Call) -> Front:
    return TupleValue(starred_items(cx, c.args[0], c.node))


def _iterator(f: Any) -> None:
    @handles(f)
    def handler(cx: Context, c: Call) -> Any:
        assert isinstance(c.node, ast.expr)
        return cx.session.iterate(cx, c.node)


for _f in (builtins.range, builtins.enumerate, builtins.zip, builtins.reversed, builtins.map):
    _iterator(_f)


@handles(builtins.isinstance)
def _isinstance(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 2, 2, "isinstance")
    t = type_or_none(cx.constant(c.args[1], c.arg_node(1), "the type"))
    return UntypedLiteral(getattr(c.args[0], "type", None) is t)


@handles(builtins.type)
def _type(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 1, 1, "type")
    return Static(cx.materialise(c.args[0], c.arg_node(0)).type)
