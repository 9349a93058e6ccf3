"""Which `for` loops are unrolled: those of few iterations, known at compile time, with a small body.

One budget holds for a whole nest of loops, whose copies multiply. A decision only; `simplify` does the unrolling, as
it folds the copies while making them.
"""

from __future__ import annotations

from ..ir.clone import exits
from ..ir.nodes import Operation, Region, Value

MAX_TRIPS = 4
MAX_OPERATIONS = 64


def iterations(op: Operation, low: Value, high: Value, step: Value, copies: int = 1) -> range | None:
    """Return the index values of a `for` with these new bounds if it should be unrolled, else None.

    `copies` is how often the loops around it, unrolled already, repeat it.
    """
    trips = _trips(low, high, step)
    region = op.regions[0]
    if trips is None or len(trips) > MAX_TRIPS or (trips and exits(region)):
        return None
    return trips if len(trips) <= 1 or copies * len(trips) * _size(region) <= MAX_OPERATIONS else None


def _trips(low: Value, high: Value, step: Value) -> range | None:
    if not (low.is_const and high.is_const and step.is_const):
        return None
    return range(low.const, high.const, step.const) if step.const else range(0)


def _size(region: Region) -> int:
    """Return the number of operations of a body, those of constant inner loops counted as often as they run."""
    return sum(_repeats(op) * (1 + sum(map(_size, op.regions))) for op in region.ops if op.code != "const")


def _repeats(op: Operation) -> int:
    trips = _trips(*op.args[:3]) if op.code == "for" else None
    return len(trips) if trips is not None and len(trips) <= MAX_TRIPS else 1
