"""When a value matters: conditions that hold wherever something but a discarded alternative is computed from it.

Short alternatives of an `if`, a conditional expression or an `and` are computed whether or not they are taken, and a
`select` discards one. What is computed for that alone matters where the condition of the `select` has one value.
"""

from __future__ import annotations

from ...lang.types import BOOL
from ..nodes import Function, Operation, Value
from ..ops import OPS

Demand = dict[tuple[Value, bool], None]  # conditions, outer ones first, and the value that each has
ALWAYS: Demand = {}


def demands(function: Function) -> dict[Value, Demand]:
    """Return the conditions of each value that is used. Uses follow definitions, so they are looked at backwards."""
    found: dict[Value, Demand] = {}
    for op in reversed(list(function.body.walk())):
        of_results = ALWAYS
        if OPS[op.code].pure and not op.regions and len(op.results) == 1:
            of_results = found.get(op.results[0], ALWAYS)
        for k, arg in enumerate(op.args):
            here = {**of_results, **_of_operand(op, k)}
            found[arg] = {c: None for c in found[arg] if c in here} if arg in found else here
    return found


def _of_operand(op: Operation, k: int) -> Demand:
    """Return the condition under which an operation looks at one of its operands."""
    if op.code == "select" and k > 0 and op.args[0].type is BOOL:
        return {(op.args[0], k == 1): None}
    if op.code in ("and", "or") and op.results[0].type is BOOL:
        return {(op.args[1 - k], op.code == "and"): None}
    return ALWAYS
