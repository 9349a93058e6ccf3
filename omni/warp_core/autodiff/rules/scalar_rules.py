"""Derivatives of the primitive operations, one row each.

A rule takes the builder, the operands, the result and the adjoint of the result, all scalars, and returns the adjoint
of each operand: a value, or None for nothing. Operations on packed types use the rule of their scalars for each
component. At kinks and singular points the rules give what docs/gradients.md lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.builder import Builder
from ...ir.nodes import Value

Adjoints = Sequence[Value | None]
Rule = Callable[[Builder, Sequence[Value], Value, Value], Adjoints]


def _zero(b: Builder, like: Value) -> Value:
    return b.const(0.0, like.type)


def _add(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    return g, g


def _sub(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    return g, b.op("neg", g)


def _mul(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    return b.op("mul", g, x[1]), b.op("mul", g, x[0])


def _div(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    if x[0].is_const and x[0].const == 1.0:  # a reciprocal takes no second division
        return None, b.op("neg", b.op("mul", b.op("mul", g, y), y))
    share = b.op("div", g, x[1])
    return share, b.op("neg", b.op("mul", share, y))


def _rem(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    # What is left is exact, so that the quotient is never off by one.
    return g, b.op("neg", b.op("mul", g, b.op("rint", b.op("div", b.op("sub", x[0], y), x[1]))))


def _extremum(code: str) -> Rule:
    def rule(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
        first, zero = b.op(code, *x), _zero(b, g)
        return b.op("select", first, g, zero), b.op("select", first, zero, g)

    return rule


def _extremum_of_numbers(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    second, zero = b.op("eq", y, x[1]), _zero(b, g)  # false where the second is NaN
    return b.op("select", second, zero, g), b.op("select", second, g, zero)


def _neg(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    return (b.op("neg", g),)


def _abs(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    return (b.op("select", b.op("ge", x[0], _zero(b, g)), g, b.op("neg", g)),)


def _sqrt(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    slope = b.op("div", b.op("mul", g, b.const(0.5, g.type)), y)
    return (b.op("select", b.op("eq", y, _zero(b, g)), _zero(b, g), slope),)


def _fma(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    return b.op("mul", g, x[1]), b.op("mul", g, x[0]), g


def _flat(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    return (None,) * len(x)


ELEMENTWISE: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "rem": _rem,
    "floordiv": _flat,
    "min": _extremum("lt"),
    "max": _extremum("gt"),
    "minnum": _extremum_of_numbers,
    "maxnum": _extremum_of_numbers,
    "neg": _neg,
    "abs": _abs,
    "sqrt": _sqrt,
    "fma": _fma,
    **dict.fromkeys(("floor", "ceil", "trunc", "rint"), _flat),
}
