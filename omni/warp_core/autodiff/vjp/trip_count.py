"""Ranges that count the iterations of a loop backwards, and which index each of them sees.

A range goes over a signed number: where the number of iterations surely fits, down to zero, so that indices are seen
not to be negative. An int32 has ranges of up to 2^32 - 1 iterations: elsewhere the range ends at the lowest number.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.analysis.sign import is_non_negative
from ...ir.builder import Builder
from ...ir.nodes import Value
from ...lang.semantics import int_range
from ...lang.types import I32, I64, SCALAR_BY_KEY, Scalar


def backwards(b: Builder, low: Value, high: Value, step: Value) -> tuple[list[Value], Callable[[Value], Value]]:
    """The range that counts the iterations of `for low, high, step` backwards, and what gives the index for a number
    of it.
    """
    count = trip_count(b, low, high, step)
    one = b.const(1, count.type)
    if _fits(low, high, step):
        head = [b.op("sub", count, one), b.const(-1, count.type), b.const(-1, count.type)]
        return head, lambda k: index_at(b, low, step, k)
    head = times(b, count)
    before = index_at(b, low, step, b.op("neg", b.op("add", head[1], one)))
    return head, lambda k: index_at(b, before, step, k)


def times(b: Builder, count: Value) -> list[Value]:
    """A range of `count` iterations, which is a number without a sign: downwards to the lowest number."""
    low = b.const(int_range(count.type)[0], count.type)
    return [b.op("add", low, count), low, b.const(-1, count.type)]


def _fits(low: Value, high: Value, step: Value) -> bool:
    """True if there are at most 2^31 (2^63) iterations. A range that begins one below holds as many."""
    t: Scalar = step.type
    if t.bits < I32.bits or (step.is_const and abs(step.const) > 1):
        return True
    ends = [low, high] if not step.is_const else [low if step.const > 0 else high]
    return all((end.is_const and end.const == -1) or is_non_negative(end, frozenset()) for end in ends)


def trip_count(b: Builder, low: Value, high: Value, step: Value) -> Value:
    """The number of iterations of `for low, high, step`; none where the step is zero."""
    none = b.const(0, _counter(step.type))
    if step.is_const:
        return _one_way(b, low, high, step, step.const > 0) if step.const else none
    zero = b.const(0, step.type)
    up, down = (_one_way(b, low, high, step, ahead) for ahead in (True, False))
    backward = b.op("select", b.op("lt", step, zero), down, none)
    return b.op("select", b.op("gt", step, zero), up, backward)


def _counter(t: Scalar) -> Scalar:
    """Return the type that counts the iterations over a range of `t`."""
    return I32 if t is I32 or t.bits < I32.bits else I64


def _one_way(b: Builder, low: Value, high: Value, step: Value, up: bool) -> Value:
    """The count for a step of known sign. The distance may exceed a signed number, so it is taken unsigned."""
    t: Scalar = step.type
    unsigned = SCALAR_BY_KEY[f"u{t.bits}"]
    first, last = (low, high) if up else (high, low)
    size = step if up else b.op("neg", step)
    distance = b.op("sub", b.op("cast", last, attr=unsigned), b.op("cast", first, attr=unsigned))
    if not (size.is_const and size.const == 1):
        one = b.const(1, unsigned)
        distance = b.op("add", b.op("div", b.op("sub", distance, one), b.op("cast", size, attr=unsigned)), one)
    counter = _counter(t)
    return b.op("select", b.op("lt", first, last), _cast(b, distance, counter), b.const(0, counter))


def index_at(b: Builder, low: Value, step: Value, k: Value) -> Value:
    """The index that iteration `k` sees."""
    return b.op("add", low, b.op("mul", _cast(b, k, step.type), step))


def _cast(b: Builder, value: Value, t: Scalar) -> Value:
    return value if value.type is t else b.op("cast", value, attr=t)
