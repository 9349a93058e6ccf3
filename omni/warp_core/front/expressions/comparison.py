"""Comparison, identity and membership, giving conditions: IR bools, or Python bools where the answer is known."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ...ir.nodes import Value
from ...lang.types import BOOL, F32, I32, Array, Scalar, Vec, leaves, members
from ..context import Context
from ..statements.iteration import Span
from ..tiles.tile_operands import check_operands
from ..tiles.tile_regions import elementwise, is_tile
from ..values import ElementRef, Front, Static, TupleValue, UntypedLiteral, spell_front
from .operators import adapt, binary, mismatch

_COMPARE: dict[type, tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", "eq", operator.eq),
    ast.NotEq: ("!=", "ne", operator.ne),
    ast.Lt: ("<", "lt", operator.lt),
    ast.LtE: ("<=", "le", operator.le),
    ast.Gt: (">", "gt", operator.gt),
    ast.GtE: (">=", "ge", operator.ge),
}


def compare(
    cx: Context, kind: type, left: Front, right: Front, node: ast.AST, ln: ast.AST, rn: ast.AST
) -> Value | bool:
    """`left kind right` as a condition."""
    if kind in (ast.Is, ast.IsNot):
        same = _identity(cx, left, right, node)
        if kind is ast.Is:
            return same
        return (not same) if isinstance(same, bool) else cx.at(node).op("not", same)
    if kind in (ast.In, ast.NotIn):
        found = contains(cx, left, right, node)
        if kind is ast.In:
            return found
        return (not found) if isinstance(found, bool) else cx.at(node).op("not", found)
    symbol, code, literal = _COMPARE[kind]
    if is_tile(left) or is_tile(right):
        check_operands(cx, symbol, left, right, node)
        return elementwise(cx, [left, right], node, lambda a, b: compare(cx, kind, a, b, node, ln, rn))
    known = _known(left), _known(right)
    if None not in known:
        try:
            return bool(literal(known[0][0], known[1][0]))  # type: ignore[index]
        except TypeError:
            raise mismatch(cx, symbol, left, right, node) from None
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return _compare_tuples(cx, kind, left, right, node)
    if not all(isinstance(x, (Value, UntypedLiteral, ElementRef)) for x in (left, right)):
        raise mismatch(cx, symbol, left, right, node)
    a, b = adapt(cx, left, right, ln, rn)
    if cx.session.follows_warp_lang:
        a, b = _of_one_type(cx, a, b, node)
    return _compare_values(cx, symbol, code, a, b, node)


def _of_one_type(cx: Context, a: Value, b: Value, node: ast.AST) -> tuple[Value, Value]:
    """Two numbers as C converts them before it compares them, which is what warp-lang does: -1 is no number below an
    unsigned one of 32 bits or more.
    """
    if a.type is b.type or not (isinstance(a.type, Scalar) and isinstance(b.type, Scalar)):
        return a, b
    common = _common_type(a.type, b.type)
    return tuple(x if x.type is common else cx.at(node).op("cast", x, attr=common) for x in (a, b))  # type: ignore


def _common_type(a: Scalar, b: Scalar) -> Scalar:
    floats = [t for t in (a, b) if t.is_float]
    if floats:
        widest = max(floats, key=lambda t: t.bits)
        return widest if widest.bits > 16 else F32
    ints = [I32 if t.bits < 32 else t for t in (a, b)]
    return max(ints, key=lambda t: (t.bits, t.kind == "uint"))


def _known(x: Front) -> tuple[Any] | None:
    if isinstance(x, UntypedLiteral):
        return (x.value,)
    return (x.obj,) if isinstance(x, Static) else None


def _compare_values(cx: Context, symbol: str, code: str, a: Value, b: Value, node: ast.AST) -> Value | bool:
    if a.type is not b.type or (not isinstance(a.type, Scalar) and code not in ("eq", "ne")):
        raise mismatch(cx, symbol, a, b, node)
    build = cx.at(node)
    if isinstance(a.type, Scalar):
        result = build.op(code, a, b)
    elif any(isinstance(leaf, Array) for _, leaf in leaves(a.type)):
        raise mismatch(cx, symbol, a, b, node)
    else:
        result = _same_members(cx, a, b, node)
        result = result if code == "eq" else build.op("not", result)
    return bool(result.const) if result.is_const else result


def _same_members(cx: Context, a: Value, b: Value, node: ast.AST) -> Value:
    """True if two vectors, structs or the like are equal member by member."""
    build = cx.at(node)
    if isinstance(a.type, Scalar):
        return build.op("eq", a, b)
    result = build.const(True, BOOL)
    for i in range(len(members(a.type))):
        same = _same_members(cx, build.op("extract", a, attr=i), build.op("extract", b, attr=i), node)
        result = build.op("and", result, same) if i else same
    return result


def _identity(cx: Context, left: Front, right: Front, node: ast.AST) -> Value | bool:
    """`is` compares compile-time objects; of typed values only an array can be None."""
    for x, other in ((left, right), (right, left)):
        if isinstance(x, Value) and isinstance(x.type, Array) and isinstance(other, Static) and other.obj is None:
            return cx.at(node).op("is_null", x)
    if isinstance(left, Static) and isinstance(right, Static):
        return left.obj is right.obj
    if any(isinstance(x, Static) and x.obj is None for x in (left, right)):
        return False
    raise cx.error("unsupported", "`is` compares compile-time objects only", node, help="use `==`")


def contains(cx: Context, x: Front, group: Front, node: ast.AST) -> Value | bool:
    """`x in group` for tuples and vectors."""
    if isinstance(group, Span):
        return _in_range(cx, x, group, node)
    items = group.items if isinstance(group, TupleValue) else None
    if isinstance(group, Static) and isinstance(group.obj, str) and isinstance(x, Static) and isinstance(x.obj, str):
        return x.obj in group.obj
    if items is None and isinstance(group, Value) and isinstance(group.type, Vec):
        items = tuple(cx.at(node).op("extract", group, attr=i) for i in range(group.type.count))
    if items is None:
        raise cx.error("type-mismatch", f"`in` needs a tuple or vector, not {spell_front(group)}", node)
    return any_of(cx, [compare(cx, ast.Eq, x, i, node, node, node) for i in items], "or", node)


def _in_range(cx: Context, x: Front, span: Span, node: ast.AST) -> Value | bool:
    """`x in range(low, high, step)`."""
    low, high, step = (UntypedLiteral(v.const) if v.is_const else v for v in (span.low, span.high, span.step))
    if span.element is not None or not isinstance(step, UntypedLiteral):
        raise cx.error("unsupported", "`in` needs a range whose step is known when the kernel compiles", node)
    order = (ast.GtE, ast.Lt) if step.value > 0 else (ast.LtE, ast.Gt)
    inside = [compare(cx, kind, x, bound, node, node, node) for kind, bound in zip(order, (low, high))]
    if abs(step.value) != 1:
        offset = binary(cx, ast.Sub, x, low, node, node, node)
        rest = cx.at(node).op("rem", *adapt(cx, offset, UntypedLiteral(abs(step.value)), node, node))
        inside.append(compare(cx, ast.Eq, rest, UntypedLiteral(0), node, node, node))
    return any_of(cx, inside, "and", node)


def _compare_tuples(cx: Context, kind: type, a: TupleValue, b: TupleValue, node: ast.AST) -> Value | bool:
    if kind not in (ast.Eq, ast.NotEq):
        raise cx.error("unsupported", "tuples compare with `==` and `!=` only", node)
    if len(a.items) != len(b.items):
        return kind is ast.NotEq
    same = any_of(cx, [compare(cx, ast.Eq, x, y, node, node, node) for x, y in zip(a.items, b.items)], "and", node)
    if kind is ast.Eq:
        return same
    return (not same) if isinstance(same, bool) else cx.at(node).op("not", same)


def any_of(cx: Context, conditions: list[Value | bool], code: str, node: ast.AST) -> Value | bool:
    """Conditions joined by `and` or `or`, all of them evaluated already."""
    result: Value | bool = code == "and"
    for c in conditions:
        if isinstance(c, bool) or isinstance(result, bool):
            known, other = (c, result) if isinstance(c, bool) else (result, c)
            result = other if known == (code == "and") else known
        else:
            result = cx.at(node).op(code, result, c)
    return result
