"""How many iterations a `for` has, and which index each of them sees.

Iterations are counted by a signed number that the range of the loop's own type fits into: reversed loops count down
past zero, which numbers without a sign do not, and an int8 has ranges of 255 iterations.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.nodes import Value
from ..lang.types import I32, I64, SCALAR_BY_KEY, Scalar


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
    """What counts the iterations over a range of `t`."""
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
