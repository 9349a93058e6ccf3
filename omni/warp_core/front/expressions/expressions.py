"""Expressions that are neither names, operators, calls nor subscripts.

Literals, tuples, comparisons, conditions, lambdas and strings.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...ir.nodes import Value
from ...lang.types import BOOL, F32, Array, Struct
from ..context import Context, Exit, LoweringError, conditions, lowers
from ..limits import check_items
from ..merges import conditional
from ..statements.iteration import comprehension, starred_items
from ..values import (
    POISON,
    Closure,
    FormattedString,
    Front,
    MaybeUndefined,
    Static,
    TupleValue,
    UntypedLiteral,
    spell_front,
)
from .comparison import compare


@lowers(ast.Constant)
def _constant(cx: Context, node: ast.Constant) -> Front:
    v = node.value
    if isinstance(v, (bool, int, float)):
        return UntypedLiteral(v)
    if v is None or isinstance(v, str):
        return Static(v)
    raise cx.error("unsupported", f"{v!r} cannot be used in a kernel", node)


@lowers(ast.Tuple, ast.List)
def _tuple(cx: Context, node: ast.Tuple | ast.List) -> Front:
    items: list[Any] = []
    for e in node.elts:
        if isinstance(e, ast.Starred):
            items += starred_items(cx, cx.rvalue(e.value), e)
        else:
            items.append(cx.rvalue(e))
    check_items(cx, TupleValue(items).size, node)
    return TupleValue(items)


@lowers(ast.GeneratorExp, ast.ListComp)
def _comprehension(cx: Context, node: ast.GeneratorExp | ast.ListComp) -> Front:
    return TupleValue(comprehension(cx, node))


@lowers(ast.Lambda)
def _lambda(cx: Context, node: ast.Lambda) -> Front:
    return Closure(node, cx, {})


@lowers(ast.NamedExpr)
def _walrus(cx: Context, node: ast.NamedExpr) -> Front:
    assert isinstance(node.target, ast.Name)
    try:
        x = cx.bindable(cx.adapted(node.target.id, cx.rvalue(node.value)), node.value)
    except LoweringError:
        cx.env[node.target.id] = POISON  # later reads are no mistakes of their own
        raise
    cx.bind(node.target.id, x, node.target)
    return x


@lowers(ast.JoinedStr)
def _joined(cx: Context, node: ast.JoinedStr) -> Front:
    """An f-string: text if all its parts are known, else something that `print` shows."""
    items: list[Any] = []
    specs = []
    for v in node.values:
        if isinstance(v, ast.FormattedValue):
            items.append(cx.rvalue(v.value))
            specs.append(_spec(cx, v))
        else:
            items.append(Static(v.value))  # type: ignore[attr-defined]
            specs.append("")
    if any(isinstance(x, Value) and not x.is_const for x in items):
        return FormattedString(items, specs)
    known = [cx.constant(x, node, "a part of this string") for x in items]
    try:
        return Static("".join(format(x, spec) for x, spec in zip(known, specs)))
    except (TypeError, ValueError) as e:
        raise cx.error("literal", f"this string cannot be computed: {e}", node) from None


def _spec(cx: Context, part: ast.FormattedValue) -> str:
    """The format after the colon."""
    if part.conversion != -1:
        raise cx.error("unsupported", f"`!{chr(part.conversion)}` cannot be used in a kernel", part)
    if part.format_spec is None:
        return ""
    return str(cx.constant(cx.expr(part.format_spec), part.format_spec, "a format"))


# -- conditions -----------------------------------------------------------------------------------------------------


@lowers(ast.Compare)
def _compare(cx: Context, node: ast.Compare) -> Front:
    found = _chain(cx, node, cx.rvalue(node.left), node.left, 0)
    return UntypedLiteral(found) if isinstance(found, bool) else found


def _chain(cx: Context, node: ast.Compare, left: Front, left_node: ast.expr, i: int) -> Value | bool:
    """`a < b < c`: b is evaluated once, c only if a < b."""
    right_node = node.comparators[i]
    right = cx.rvalue(right_node)
    part: Any = node if len(node.ops) == 1 else _between(left_node, right_node)
    first = compare(cx, type(node.ops[i]), left, right, part, left_node, right_node)
    if i + 1 == len(node.ops) or first is False:
        return first
    if first is True:
        return _chain(cx, node, right, right_node, i + 1)
    cx.truth(first, part)

    def rest() -> Value | bool:
        found = _chain(cx, node, right, right_node, i + 1)
        return found if isinstance(found, bool) else cx.truth(found, node)

    return _short(cx, first, rest, "and", node)


def _between(left: ast.expr, right: ast.expr) -> ast.expr:
    """A node that spans from `left` to `right`, for places."""
    span = ast.Constant(None)
    span.lineno, span.col_offset = left.lineno, left.col_offset
    span.end_lineno, span.end_col_offset = right.end_lineno, right.end_col_offset
    return span


def _short(cx: Context, first: Value, rest: Callable[[], Value | bool], code: str, node: ast.AST) -> Value | bool:
    """`first and rest()` or `first or rest()` on conditions."""

    def evaluate() -> Front:
        return cx.as_bool(rest())

    def skip() -> Front:
        return cx.b.const(code == "or", BOOL)

    before = dict(cx.env)
    inner: dict[str, Any] = {}

    def evaluate_and_note() -> Front:
        x = evaluate()
        for name, y in cx.env.items():
            if name not in before:
                inner[name] = y.value if isinstance(y, MaybeUndefined) and y.when == (code == "and") else y
                cx.env[name] = inner[name]
        return x

    def skip_with_placeholders() -> Front:
        for name, y in inner.items():
            if isinstance(y, Value) and not isinstance(y.type, (Array, Struct)):
                cx.env[name] = cx.b.const(0, y.type)
        return skip()

    found = alternative(cx, first, evaluate_and_note, skip_with_placeholders, node, swapped=code == "or")
    for name in inner:
        where = cx.assigned_within(name, node)
        y = cx.env.get(name)
        if isinstance(y, Value):
            why = "it is assigned here, where the condition before it decides otherwise"
            cx.env[name] = MaybeUndefined(cx.loc(where) if where else None, why, y, code == "and")
    assert isinstance(found, Value)
    return bool(found.const) if found.is_const else found


@conditions(ast.BoolOp)
def _condition(cx: Context, node: ast.BoolOp, i: int = 0) -> Value | bool:
    """`a and b`, `a or b` where only their truth matters."""
    code = "and" if isinstance(node.op, ast.And) else "or"
    first = cx.condition(node.values[i])
    if i + 1 == len(node.values) or (isinstance(first, bool) and first != (code == "and")):
        return first
    if isinstance(first, bool):
        return _condition(cx, node, i + 1)
    return _short(cx, first, lambda: _condition(cx, node, i + 1), code, node)


def alternative(
    cx: Context,
    cond: Value,
    then: Callable[[], Front],
    other: Callable[[], Front],
    node: ast.AST,
    swapped: bool = False,
) -> Front:
    """The value of one of two expressions; only the one chosen is evaluated if that can make a difference.

    `then` is lowered first; with `swapped` it is the one for a false condition.
    """
    before = dict(cx.env)
    seen: set[str] = {_RESULT}

    def arm(body: Callable[[], Front]) -> Callable[[], None]:
        def run() -> None:
            x = body()
            cx.env[_RESULT] = x if isinstance(x, UntypedLiteral) else cx.bindable(x, node)
            seen.update(n for n, y in cx.env.items() if before.get(n) is not y)

        return run

    conditional(
        cx,
        cond,
        arm(then),
        arm(other),
        lambda: seen,
        node,
        settle=lambda exits: _settle(cx, exits, node),
        swapped=swapped,
    )
    x = cx.env.pop(_RESULT, POISON)
    if x is POISON:
        raise LoweringError
    return x


_RESULT = "<result>"


def _settle(cx: Context, exits: list[Exit], node: ast.AST) -> None:
    """Give literal results the type of the other result."""
    xs = [e.env[_RESULT] for e in exits]
    typed = next((x.type for x in xs if isinstance(x, Value)), None)
    if typed is None:
        typed = F32 if any(isinstance(x, UntypedLiteral) and isinstance(x.value, float) for x in xs) else None
    for e, x in zip(exits, xs):
        if isinstance(x, UntypedLiteral):
            e.env[_RESULT] = e.constant(x.value, typed if typed is not None and x.fits(typed) else x.type)


@lowers(ast.BoolOp)
def _boolop(cx: Context, node: ast.BoolOp) -> Front:
    if not cx.session.follows_warp_lang:
        return _operands(cx, node, 0)
    found = _condition(cx, node)
    return UntypedLiteral(found) if isinstance(found, bool) else found


def _operands(cx: Context, node: ast.BoolOp, i: int) -> Front:
    """`a and b`, `a or b`: the value of the operand that decides, as in Python."""
    is_and = isinstance(node.op, ast.And)
    x = cx.rvalue(node.values[i])
    if i + 1 == len(node.values):
        return x
    ok = cx.truth(x, node.values[i])
    if isinstance(ok, bool):
        return _operands(cx, node, i + 1) if ok == is_and else x

    def rest() -> Front:
        y = _operands(cx, node, i + 1)
        if isinstance(x, Value) and isinstance(y, (Value, Static)) and getattr(y, "type", None) is not x.type:
            word = "and" if is_and else "or"
            text = f"`{word}` would give {spell_front(x)} on one side and {spell_front(y)} on the other"
            raise cx.error("branch-types", text, node, help="make both sides conditions, e.g. `x != 0`")
        return y

    def decided() -> Front:
        return x

    then, other = (rest, decided) if is_and else (decided, rest)
    found = alternative(cx, ok, then, other, node)
    return UntypedLiteral(found.const) if isinstance(found, Value) and found.is_const and found.type is BOOL else found


@lowers(ast.IfExp)
def _ifexp(cx: Context, node: ast.IfExp) -> Front:
    cond = cx.condition(node.test)
    if isinstance(cond, bool):
        return cx.rvalue(node.body if cond else node.orelse)

    def arm(value: bool, e: ast.expr) -> Callable[[], Front]:
        def run() -> Front:
            cx.known(value)
            return cx.rvalue(e)

        return run

    return alternative(cx, cond, arm(True, node.body), arm(False, node.orelse), node)
