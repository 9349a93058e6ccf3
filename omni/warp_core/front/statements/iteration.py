"""Iteration: compile-time items (tuples, vectors, rows), ranges, arrays, and enumerate / zip / reversed of them. Start
with `iterate`.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...ir.nodes import Value
from ...lang import registry
from ...lang.generics import Reference
from ...lang.types import I32, Mat, Quat, Scalar, Struct, Transform, Vec
from ..calls.calls import Call, dispatch
from ..context import Context
from ..expressions.array_indexing import array_type, extent, locate
from ..expressions.member_access import row
from ..limits import ITEMS, check_items
from ..names import lookup
from ..values import ElementRef, Front, Static, TupleValue, UntypedLiteral, spell_front


@dataclass
class Items:
    """Items known one by one when the kernel compiles."""

    items: tuple[Any, ...]


@dataclass
class Span:
    """low, low + step, ... up to high; `element` makes the item of an index."""

    low: Value
    high: Value
    step: Value
    element: Callable[[Context, Value], Front] | None = None

    @property
    def counts_up(self) -> bool:
        """True if every index is provably non-negative."""
        return self.low.is_const and self.low.const >= 0 and self.step.is_const and self.step.const > 0

    def trips(self) -> int | None:
        """The number of iterations, if known."""
        if self.low.is_const and self.high.is_const and self.step.is_const:
            return len(range(self.low.const, self.high.const, self.step.const)) if self.step.const else 0
        return None

    def constants(self, cx: Context, trips: int) -> Iterator[Front]:
        """Yield the items of a span of known length. Elements of arrays are read when they are asked for."""
        first, step, t = self.low.const, self.step.const, self.low.type
        for i in range(trips):
            yield self.item(cx, cx.b.const(first + i * step, t))

    def item(self, cx: Context, index: Value) -> Front:
        """The item at an index."""
        return self.element(cx, index) if self.element else index


def iterate(cx: Context, node: ast.expr) -> Items | Span:
    """Return the items that `for ... in node` runs over."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in cx.local_names:
        maker = _MAKERS.get(lookup(cx, node.func.id))
        if maker is not None:
            return maker(cx, node)
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        return Items(comprehension(cx, node))
    return of_value(cx, cx.rvalue(node), node)


def of_value(cx: Context, x: Front, node: ast.AST) -> Items | Span:
    """Return the items of a value."""
    if isinstance(x, TupleValue):
        return Items(x.items)
    if isinstance(x, (Items, Span)):
        return x
    if isinstance(x, Value):
        t = x.type
        if isinstance(t, Mat):
            return Items(tuple(row(cx, x, i, node) for i in range(t.rows)))
        if isinstance(t, (Vec, Quat, Transform)):
            return Items(tuple(cx.at(node).op("extract", x, attr=i) for i in range(t.count)))
        if array_type(t):
            return _over_array(cx, x, node)
    if isinstance(x, Static) and isinstance(x.obj, range):
        check_items(cx, len(x.obj), node)
        return Items(tuple(UntypedLiteral(i) for i in x.obj))
    raise cx.error(
        "type-mismatch",
        f"{spell_front(x)} cannot be iterated",
        node,
        help=_advance(x) or "loop over range(...), a tuple, a vector or an array",
    )


def _advance(x: Front) -> str:
    """Return how to loop over what a query finds; empty for other values."""
    if not (isinstance(x, Value) and isinstance(x.type, Struct)):
        return ""
    for name in registry.index():
        function = registry.get(name) if name.endswith("_query_next") else None
        if function and any(o.params[0][1] == Reference(x.type) for o in function.overloads):
            return f"write `while wp.{name}(query, index):` with `index = int(0)` before it"
    return ""


def _over_array(cx: Context, x: Value, node: ast.AST) -> Span:
    t = array_type(x.type)
    assert t is not None

    def element(cx: Context, index: Value) -> Front:
        if t is not x.type:
            found = locate(cx, x, [index], node)
            return cx.load(found, node) if isinstance(found, ElementRef) else found
        if t.ndim > 1:
            return cx.at(node).op("slice", x, index)
        return cx.load(ElementRef(x, (index,), t.dtype), node)

    b = cx.at(node)
    return Span(b.const(0, I32), extent(cx, x, 0, node), b.const(1, I32), element)


def items_of(cx: Context, x: Front | Items | Span, node: ast.AST, what: str) -> tuple[Any, ...]:
    """The items of something of compile-time length."""
    found = x if isinstance(x, (Items, Span)) else of_value(cx, x, node)
    if isinstance(found, Items):
        return found.items
    trips = found.trips()
    if trips is None or trips > ITEMS:
        raise cx.error(
            "not-constant", f"{what} needs a length known when the kernel compiles", node, help="write a `for` loop"
        )
    return tuple(found.constants(cx, trips))


def starred_items(cx: Context, x: Front, node: ast.AST) -> tuple[Any, ...]:
    """The items that `*x` stands for; those of a struct are its fields."""
    if isinstance(x, Value) and isinstance(x.type, Struct) and not array_type(x.type):
        return tuple(cx.at(node).op("extract", x, attr=i) for i in range(len(x.type.fields)))
    return items_of(cx, x, node, "`*`")


def comprehension(cx: Context, node: ast.GeneratorExp | ast.ListComp) -> tuple[Any, ...]:
    """The items of a comprehension; its conditions must be known when the kernel compiles."""
    out: list[Any] = []
    saved = dict(cx.env), cx.local_names, dict(cx.local_types)
    targets = frozenset(n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name))
    cx.local_names = cx.local_names | targets
    _generate(cx, node, 0, out)
    for name in targets:
        cx.env.pop(name, None)
        if name in saved[0]:
            cx.env[name] = saved[0][name]
    cx.local_names, cx.local_types = saved[1], saved[2]
    return tuple(out)


def _generate(cx: Context, node: ast.GeneratorExp | ast.ListComp, depth: int, out: list[Any]) -> None:
    if depth == len(node.generators):
        out.append(cx.rvalue(node.elt))
        check_items(cx, len(out), node)
        return
    g = node.generators[depth]
    for item in items_of(cx, iterate(cx, g.iter), g.iter, "a comprehension"):
        unpack(cx, g.target, item)
        tests = [cx.condition(test) for test in g.ifs]
        for test, c in zip(g.ifs, tests):
            if not isinstance(c, bool):
                raise cx.error(
                    "not-constant", "the condition of a comprehension must be known when the kernel compiles", test
                )
        if all(tests):
            _generate(cx, node, depth + 1, out)


def unpack(cx: Context, target: ast.expr, item: Any) -> None:
    """Bind the target of a comprehension, whose names are its own and take any type."""
    if isinstance(target, ast.Name):
        cx.env[target.id] = item
        return
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise cx.error("unsupported", "the target of a comprehension must be a name, or a tuple of names", target)
    parts = items_of(cx, item, target, "unpacking")
    if len(parts) != len(target.elts):
        raise cx.error("unpack", f"cannot unpack {len(parts)} values into {len(target.elts)} names", target)
    for t, part in zip(target.elts, parts):
        unpack(cx, t, part)


# -- range, enumerate, zip, reversed --------------------------------------------------------------------------------


def _range(cx: Context, node: ast.Call) -> Span:
    _count(cx, node, "`range` takes 1 to 3 arguments", 1, 3)
    args = [cx.rvalue(a) for a in node.args]
    typed = next((x.type for x in args if isinstance(x, Value)), I32)
    if not isinstance(typed, Scalar) or not typed.is_int:
        typed = I32
    values = [_bound(cx, x, typed, n) for x, n in zip(args, node.args)]
    if len(values) == 1:
        values = [cx.b.const(0, typed), values[0]]
    if len(values) == 2:
        values.append(cx.b.const(1, typed))
    if values[2].is_const and values[2].const == 0:
        raise cx.error("literal", "the step of range must not be zero", node.args[2])
    low, high, step = values
    return Span(low, high, step)


def _bound(cx: Context, x: Front, t: Scalar, node: ast.AST) -> Value:
    if isinstance(x, UntypedLiteral) and isinstance(x.value, int) and x.fits(t):
        return cx.b.const(x.value, t)
    v = cx.index_value(x, node, "a bound of range")
    return v if v.type is t else cx.convert(v, t, node, "the range")


def _count(cx: Context, node: ast.Call, takes: str, low: int, high: float, *keywords: str) -> None:
    """Refuse a call with another number of arguments, or with other keywords."""
    given = len(node.args) + len(node.keywords)
    if not low <= len(node.args) or given > high or any(k.arg not in keywords for k in node.keywords):
        raise cx.error("arguments", f"{takes}, {given} given", node)


def _enumerate(cx: Context, node: ast.Call) -> Items | Span:
    _count(cx, node, "`enumerate` takes something to iterate, and a start", 1, 2, "start")
    extra = node.args[1] if len(node.args) == 2 else next((k.value for k in node.keywords), None)
    start = cx.rvalue(extra) if extra is not None else UntypedLiteral(0)
    inner = iterate(cx, node.args[0])
    if isinstance(inner, Items):
        first = cx.index_value(start, node, "the start of enumerate")
        numbers = (cx.b.op("add", first, cx.b.const(i, first.type)) for i in range(len(inner.items)))
        return Items(tuple(TupleValue((number, x)) for number, x in zip(numbers, inner.items)))
    return _numbered(cx, inner, cx.index_value(start, node, "the start of enumerate"), node)


def _numbered(cx: Context, inner: Span, start: Value, node: ast.Call) -> Span:
    def element(cx: Context, index: Value) -> Front:
        number = cx.at(node).op("add", index, start)
        source = cx.b.op("add", cx.b.op("mul", index, inner.step), inner.low)
        return TupleValue((number, inner.item(cx, source)))

    b = cx.at(node)
    length = _length(cx, inner)
    if length is None or inner.low.type is not I32 or start.type is not I32:
        text = "enumerate needs an array, or a range of int32 whose step is 1 or -1 or whose bounds are constants"
        raise cx.error("unsupported", text, node)
    return Span(b.const(0, I32), length, b.const(1, I32), element)


def _length(cx: Context, span: Span) -> Value | None:
    """The number of iterations, or less than 0 for none; None if that takes a division."""
    trips = span.trips()
    if trips is not None:
        return cx.b.const(trips, span.low.type)
    if not span.step.is_const or abs(span.step.const) != 1:
        return None
    ends = (span.high, span.low) if span.step.const == 1 else (span.low, span.high)
    return cx.b.op("sub", *ends)


def _zip(cx: Context, node: ast.Call) -> Items | Span:
    _count(cx, node, "`zip` takes one or more things to iterate", 1, math.inf, "strict")
    parts = [iterate(cx, a) for a in node.args]
    if all(isinstance(p, Items) for p in parts):
        return Items(tuple(TupleValue(group) for group in zip(*(p.items for p in parts))))  # type: ignore[union-attr]
    length = min((len(p.items) for p in parts if isinstance(p, Items)), default=None)
    known = [p.trips() for p in parts if isinstance(p, Span)]
    if length is not None or None not in known:
        if None in known:
            raise cx.error("not-constant", "zip of a tuple needs lengths known when the kernel compiles", node)
        count = min(n for n in [length, *known] if n is not None)
        columns = [p.items if isinstance(p, Items) else p.constants(cx, count) for p in parts]
        return Items(tuple(TupleValue(group) for group in zip(*columns)))
    return _zip_spans(cx, parts, node)  # type: ignore[arg-type]


def _zip_spans(cx: Context, parts: list[Span], node: ast.Call) -> Span:
    b = cx.at(node)
    high = parts[0].high
    for p in parts:
        if not (p.low.is_const and p.low.const == 0 and p.step.is_const and p.step.const == 1 and p.low.type is I32):
            raise cx.error("unsupported", "zip needs arrays, or ranges of int32 from 0 with step 1", node)
        high = b.op("min", high, p.high)
    return Span(
        b.const(0, I32), high, b.const(1, I32), lambda cx, index: TupleValue([p.item(cx, index) for p in parts])
    )


def _reversed(cx: Context, node: ast.Call) -> Items | Span:
    _count(cx, node, "`reversed` takes one thing to iterate", 1, 1)
    inner = iterate(cx, node.args[0])
    if isinstance(inner, Items):
        return Items(inner.items[::-1])
    t, b = inner.low.type, cx.at(node)
    if isinstance(t, Scalar) and t.is_signed:
        trips, step = inner.trips(), inner.step
        if trips is not None:
            last = inner.low.const + (trips - 1) * step.const
            ends = (last, inner.low.const - step.const, -step.const)
            if all(UntypedLiteral(n).fits(t) for n in ends):
                low, high, back = (b.const(n, t) for n in ends)
                return Span(low, high, back, inner.element)
        elif step.is_const and abs(step.const) == 1:
            return Span(b.op("sub", inner.high, step), b.op("sub", inner.low, step), b.op("neg", step), inner.element)
    text = "reversed needs a range of signed integers whose step is 1 or -1 or whose bounds are constants"
    raise cx.error("unsupported", text, node)


def _map(cx: Context, node: ast.Call) -> Items | Span:
    _count(cx, node, "`map` takes a function and one or more things to iterate", 2, math.inf)
    f = cx.expr(node.args[0])
    columns = [items_of(cx, iterate(cx, a), a, "map") for a in node.args[1:]]
    return Items(tuple(dispatch(cx, f, Call(node, list(group), [node] * len(group)), node) for group in zip(*columns)))


_MAKERS: dict[Any, Callable[[Context, ast.Call], Items | Span]] = {
    builtins.range: _range,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.reversed: _reversed,
    builtins.map: _map,
}
