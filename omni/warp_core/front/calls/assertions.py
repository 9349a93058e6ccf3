"""wp.expect_eq, wp.expect_neq, wp.expect_near: a line with both values where it does not hold, and a failure in debug
mode.
"""

from __future__ import annotations

import ast
from typing import Any

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import Packed, Scalar, element
from ..context import Context
from ..expressions.comparison import any_of, compare
from ..values import Front, Static, UntypedLiteral
from .calls import Call, count_arguments, handles, loaded, same_type
from .printing import emit_text, printed

TOLERANCE = 1e-6


@handles("expect_eq")
def _expect_eq(cx: Context, c: Call) -> Front:
    return _expect(cx, c, "expect_eq", ast.Eq, " is not ")


@handles("expect_neq")
def _expect_neq(cx: Context, c: Call) -> Front:
    return _expect(cx, c, "expect_neq", ast.NotEq, " is ")


def _expect(cx: Context, c: Call, name: str, wanted: type[ast.cmpop], instead: str) -> Front:
    """Show two values where a comparison of them does not hold."""
    count_arguments(cx, c, 2, 2, f"wp.{name}")
    a, b = loaded(cx, c)
    holds = compare(cx, wanted, a, b, c.node, c.arg_node(0), c.arg_node(1))
    return _report(cx, c.node, holds, name, (f"{name} failed: ", a, instead, b))


@handles("expect_near")
def _expect_near(cx: Context, c: Call) -> Front:
    named = [c.kwargs[k] for k in ("tolerance",) if k in c.kwargs]
    c = Call(c.node, [*c.args, *named], [*c.nodes, *(c.kw_nodes.get("tolerance", c.node) for _ in named)])
    count_arguments(cx, c, 2, 3, "wp.expect_near")
    x, y, *given = loaded(cx, c)
    a, b = same_type(cx, [x, y], [c.arg_node(0), c.arg_node(1)], c.node)
    s = element(a.type)
    if not (isinstance(s, Scalar) and s.is_float):
        raise cx.error("type-mismatch", f"`wp.expect_near` works on floats, not on {spell(a.type)}", c.arg_node(0))
    limit = _tolerance(cx, given[0] if given else UntypedLiteral(TOLERANCE), s, c.arg_node(2))
    build = cx.at(c.node)
    distance = build.op("abs", build.op("sub", a, b))
    parts = [distance]
    if isinstance(a.type, Packed):
        parts = [build.op("extract", distance, attr=i) for i in range(a.type.count)]
    near = any_of(cx, [build.op("le", part, limit) for part in parts], "and", c.node)
    text = ("expect_near failed: ", a, " and ", b, " differ by more than ", limit)
    return _report(cx, c.node, near, "expect_near", text)


def _tolerance(cx: Context, x: Any, s: Scalar, node: ast.AST) -> Value:
    """The tolerance in the type of what is compared."""
    if isinstance(x, UntypedLiteral):
        return cx.at(node).const(x.value, s)
    v = cx.materialise(x, node)
    if not (isinstance(v.type, Scalar) and v.type.is_float):
        raise cx.error("type-mismatch", f"the tolerance is a float, not {spell(v.type)}", node)
    return v if v.type is s else cx.at(node).op("cast", v, attr=s)


def _report(cx: Context, node: ast.AST, ok: Value | bool, name: str, text: tuple[Any, ...]) -> Front:
    """Show `text` where `ok` does not hold, and fail there in debug mode."""
    if ok is True:
        return Static(None)
    build, condition = cx.at(node), cx.as_bool(ok)
    build.push()
    build.terminate("yield")
    fine = build.pop()
    build.push()
    shown = [(x.replace("%", "%%"), []) if isinstance(x, str) else printed(cx, x, node) for x in text]
    emit_text(cx, "".join(t for t, _ in shown) + "\n", [v for _, vs in shown for v in vs], node)
    build.terminate("yield")
    build.emit("if", [condition], regions=(fine, build.pop()))
    build.op("assert", condition, attr=name)
    return Static(None)
