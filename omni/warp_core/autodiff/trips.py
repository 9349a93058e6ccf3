"""How many iterations a `for` has, and which index each of them sees."""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.nodes import Value
from ..lang.types import SCALAR_BY_KEY, Scalar


def trip_count(b: Builder, low: Value, high: Value, step: Value) -> Value:
    """The number of iterations of `for low, high, step`; none where the step is zero."""
    if step.is_const:
        return _one_way(b, low, high, step, step.const > 0) if step.const else b.const(0, step.type)
    zero = b.const(0, step.type)
    up, down = (_one_way(b, low, high, step, ahead) for ahead in (True, False))
    backward = b.op("select", b.op("lt", step, zero), down, zero)
    return b.op("select", b.op("gt", step, zero), up, backward)


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
    return b.op("select", b.op("lt", first, last), b.op("cast", distance, attr=t), b.const(0, t))


def index_at(b: Builder, low: Value, step: Value, k: Value) -> Value:
    """The index that iteration `k` sees."""
    return b.op("add", low, b.op("mul", k, step))
