"""Derivatives of the primitive operations, one row each.

A rule takes the builder, the operands, the result and the adjoint of the result, all scalars, and returns the adjoint
of each operand: a value, or None for nothing. Operations on packed types use the rule of their scalars for each
component. At kinks and singular points the rules give what docs/gradients.md lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.builder import Builder
from ..ir.nodes import Value

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
    share = b.op("div", g, x[1])
    return share, b.op("neg", b.op("mul", share, b.op("div", x[0], x[1])))


def _rem(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    return g, b.op("neg", b.op("mul", g, b.op("trunc", b.op("div", *x))))


def _extremum(code: str) -> Rule:
    def rule(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
        first, zero = b.op(code, *x), _zero(b, g)
        return b.op("select", first, g, zero), b.op("select", first, zero, g)

    return rule


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
    "neg": _neg,
    "abs": _abs,
    "sqrt": _sqrt,
    "fma": _fma,
    **dict.fromkeys(("floor", "ceil", "trunc", "rint"), _flat),
}


def _libm(name: str, b: Builder, *x: Value) -> Value:
    return b.op("libm", *x, attr=name)


def _times(slope: Callable[[Builder, Value, Value], Value]) -> Rule:
    """The rule of a function of one number with this slope at x, where its value is y."""
    return lambda b, x, y, g: (b.op("mul", g, slope(b, x[0], y)),)


def _one(b: Builder, x: Value) -> Value:
    return b.const(1.0, x.type)


def _pow(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    base, power = x
    zero = _zero(b, g)
    lower = _libm("pow", b, base, b.op("sub", power, _one(b, power)))
    of_base = b.op("select", b.op("eq", power, zero), zero, b.op("mul", g, b.op("mul", power, lower)))
    positive = b.op("gt", base, zero)
    of_power = b.op("mul", g, b.op("mul", y, _libm("log", b, base)))
    return of_base, b.op("select", positive, of_power, zero)


def _atan2(b: Builder, x: Sequence[Value], y: Value, g: Value) -> Adjoints:
    up, right = x
    square = b.op("add", b.op("mul", up, up), b.op("mul", right, right))
    share = b.op("select", b.op("eq", square, _zero(b, g)), _zero(b, g), b.op("div", g, square))
    return b.op("mul", share, right), b.op("neg", b.op("mul", share, up))


def _inverse_root(sign: float) -> Callable[[Builder, Value, Value], Value]:
    """±1/sqrt(1 - x²), 0 at the ends."""

    def slope(b: Builder, x: Value, y: Value) -> Value:
        rest = b.op("sub", _one(b, x), b.op("mul", x, x))
        inside = b.op("gt", rest, _zero(b, x))
        return b.op("select", inside, b.op("div", b.const(sign, x.type), b.op("sqrt", rest)), _zero(b, x))

    return slope


def _plus(b: Builder, x: Value, y: Value) -> Value:
    return b.op("add", x, y)


def _reciprocal(b: Builder, x: Value, factor: float = 1.0) -> Value:
    return b.op("div", b.const(factor, x.type), x)


def _gauss(sign: float) -> Callable[[Builder, Value, Value], Value]:
    def slope(b: Builder, x: Value, y: Value) -> Value:
        return b.op("mul", b.const(sign * 1.1283791670955126, x.type), _libm("exp", b, b.op("neg", b.op("mul", x, x))))

    return slope


LIBM: dict[str, Rule] = {
    "sin": _times(lambda b, x, y: _libm("cos", b, x)),
    "cos": _times(lambda b, x, y: b.op("neg", _libm("sin", b, x))),
    "tan": _times(lambda b, x, y: _plus(b, _one(b, x), b.op("mul", y, y))),
    "asin": _times(_inverse_root(1.0)),
    "acos": _times(_inverse_root(-1.0)),
    "atan": _times(lambda b, x, y: _reciprocal(b, _plus(b, _one(b, x), b.op("mul", x, x)))),
    "atan2": _atan2,
    "sinh": _times(lambda b, x, y: _libm("cosh", b, x)),
    "cosh": _times(lambda b, x, y: _libm("sinh", b, x)),
    "tanh": _times(lambda b, x, y: b.op("sub", _one(b, x), b.op("mul", y, y))),
    "exp": _times(lambda b, x, y: y),
    "exp2": _times(lambda b, x, y: b.op("mul", y, b.const(0.6931471805599453, x.type))),
    "log": _times(lambda b, x, y: _reciprocal(b, x)),
    "log2": _times(lambda b, x, y: _reciprocal(b, x, 1.4426950408889634)),
    "log10": _times(lambda b, x, y: _reciprocal(b, x, 0.4342944819032518)),
    "pow": _pow,
    "erf": _times(_gauss(1.0)),
    "erfc": _times(_gauss(-1.0)),
}
