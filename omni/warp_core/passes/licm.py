"""Move pure operations out of loops when they compute the same in every iteration.

In place. In: any verified function. Out: no pure operation that stands directly in the region of a `for` or `loop` has
all its operands defined outside; constants leave too. So it is with regions that are run for each element. Every pure
operation is total, so one that a loop of no iterations would not have run is harmless. Operations under an `if` stay
where they are.
"""

from __future__ import annotations

from ..ir.nodes import Function, Operation, Region
from ..ir.ops import ELEMENT_OPS, OPS

_LOOPS = ELEMENT_OPS | {"for", "loop"}


def licm(function: Function) -> None:
    """Hoist in all loops of `function`, inner ones first."""
    _visit(function.body)


def _visit(region: Region) -> None:
    ops: list[Operation] = []
    for op in region.ops:
        for inner in op.regions:
            _visit(inner)
        if op.code in _LOOPS:
            ops += _hoist(op.regions[0])
        ops.append(op)
    region.ops = ops


def _hoist(region: Region) -> list[Operation]:
    """Take the invariant operations out of a loop's region and return them."""
    inside = set(region.params)
    hoisted, kept = [], []
    for op in region.ops:
        if OPS[op.code].pure and inside.isdisjoint(op.args):
            hoisted.append(op)
        else:
            inside.update(op.results)
            kept.append(op)
    region.ops = kept
    return hoisted
