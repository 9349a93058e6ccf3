"""Slices of arrays: `a[1:n, ::2]` is a view, an array of its own descriptor on the same memory.

Bounds may be known at run time only. They mean what they mean in Python: below zero they count from the end, and what
lies outside is cut off. Start with `section`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...ir.analysis.sign import is_non_negative
from ...ir.nodes import Value
from ...lang.semantics import int_range
from ...lang.types import I32, Scalar
from ..context import Context
from ..values import Static

_LAST = int_range(I32)[1]


def section(cx: Context, array: Value, parts: Sequence[Value | ast.Slice], node: ast.AST) -> Value:
    """The view of `array` that indices and slices name, one for each leading dimension."""
    letters, operands = "", []
    for dimension, part in enumerate(parts):
        if isinstance(part, Value):
            letters += "i"
            operands.append(part)
        elif part.lower or part.upper or part.step:
            letters += "r"
            operands += _range(cx, cx.at(node).op("shape", array, attr=dimension), part)
        else:
            letters += ":"
    return cx.at(node).op("slice", array, *operands, attr=letters)


def _range(cx: Context, extent: Value, part: ast.Slice) -> tuple[Value, Value, Value]:
    """First index, number of indices and step of a slice of a dimension of `extent`."""
    step = _operand(cx, part.step) or cx.b.i32(1)
    if step.is_const and step.const == 0:
        raise cx.error("index", "the step of a slice must not be zero", part.step or part)
    lower, upper = _operand(cx, part.lower), _operand(cx, part.upper)
    b = cx.at(part.lower or part.upper or part.step or part)
    step = b.op("max", step, b.i32(-_LAST))
    if step.is_const:
        up = step.const > 0
        low, high = (b.i32(0), extent) if up else (b.i32(-1), b.op("sub", extent, b.i32(1)))
        start = _cut(cx, lower, extent, low, high) if lower else (low if up else high)
        stop = _cut(cx, upper, extent, low, high) if upper else (high if up else low)
        return start, _count(cx, start, stop, step) if up else _count(cx, stop, start, b.op("neg", step)), step
    is_up = b.op("gt", step, b.i32(0))
    low, high = _pick(cx, is_up, b.i32(0), b.i32(-1)), _pick(cx, is_up, extent, b.op("sub", extent, b.i32(1)))
    start = _cut(cx, lower, extent, low, high) if lower else _pick(cx, is_up, low, high)
    stop = _cut(cx, upper, extent, low, high) if upper else _pick(cx, is_up, high, low)
    first, last = _pick(cx, is_up, start, stop), _pick(cx, is_up, stop, start)
    count = _count(cx, first, last, b.op("abs", step))
    return start, _pick(cx, b.op("ne", step, b.i32(0)), count, b.i32(0)), step


def _pick(cx: Context, condition: Value, x: Value, y: Value) -> Value:
    return cx.b.op("select", condition, x, y)


def _operand(cx: Context, node: ast.expr | None) -> Value | None:
    """Return a bound or step as an int32, None if it is left out; what does not fit is outside of every array."""
    x = cx.rvalue(node) if node is not None else Static(None)
    if isinstance(x, Static) and x.obj is None:
        return None
    assert node is not None
    v = cx.index_value(x, node, "a bound of a slice")
    t = v.type
    assert isinstance(t, Scalar)
    low, high = int_range(t)
    if high > _LAST:
        v = cx.at(node).op("min", v, cx.b.const(_LAST, t))
    if low < -_LAST - 1:
        v = cx.at(node).op("max", v, cx.b.const(-_LAST, t))
    return cx.at(node).op("cast", v, attr=I32)


def _cut(cx: Context, bound: Value, extent: Value, low: Value, high: Value) -> Value:
    """A bound counted from the end where it is negative, and moved into [low, high]."""
    b = cx.b
    if is_non_negative(bound, cx.session.counting):
        return b.op("min", bound, high)
    if bound.is_const:
        return b.op("max", b.op("add", bound, extent), low)
    return b.op("max", b.op("min", b.op("from_end", bound, extent), high), low)


def _count(cx: Context, first: Value, end: Value, step: Value) -> Value:
    """Return how many steps of a positive size lie in [first, end)."""
    b = cx.b
    span = b.op("max", b.op("sub", end, first), b.i32(0))
    if step.is_const and step.const == 1:
        return span
    last = b.op("div", b.op("sub", span, b.i32(1)), step)
    return _pick(cx, b.op("gt", span, b.i32(0)), b.op("add", last, b.i32(1)), b.i32(0))
