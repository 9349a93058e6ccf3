"""Which `for` loops are unrolled: those of few iterations, known at compile time, with a small body.

A decision only; `simplify` does the unrolling because it folds the copies while making them.
"""

from __future__ import annotations

from ..ir.clone import exits
from ..ir.nodes import Operation, Value

MAX_TRIPS = 4
MAX_OPERATIONS = 64


def iterations(op: Operation, low: Value, high: Value, step: Value) -> range | None:
    """The index values of a `for` with these new bounds if it should be unrolled, else None."""
    if not (low.is_const and high.is_const and step.is_const):
        return None
    trips = range(low.const, high.const, step.const) if step.const else range(0)
    region = op.regions[0]
    if len(trips) > MAX_TRIPS or (trips and exits(region)):
        return None
    size = sum(inner.code != "const" for inner in region.walk())
    return trips if len(trips) <= 1 or size * len(trips) <= MAX_OPERATIONS else None
