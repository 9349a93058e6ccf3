"""Failures that follow each other, so that one report does for all of them.

Debug mode puts the checks of a run of operations behind each other (passes/checks.py). A *guard* is an `if` of which
one side reports a failure and leaves, and the other one does nothing. What stands between guards is pure, so they can
all be decided at the end: a thread reports the first one that does not hold, and leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ir.nodes import Operation, Value
from ..ir.ops import OPS

_CONSTANTS = ("const", "zero")


class Failure(NamedTuple):
    """One of several failures that share a report: `op` is the `fail`, which happens unless `ok`."""

    ok: Value
    op: Operation


def failure(op: Operation) -> Failure | None:
    """What a guard reports; None for other operations."""
    if op.code != "if" or op.results or len(op.regions[0].ops) != 1 or op.regions[0].terminator.code != "yield":
        return None
    first, *rest = op.regions[1].ops
    if first.code != "fail" or rest[-1].code == "yield" or any(o.code not in _CONSTANTS for o in rest[:-1]):
        return None
    return Failure(op.args[0], first)


def guards_from(ops: Sequence[Operation], start: int) -> list[int]:
    """Where the guards are that can be decided together with the one at `start`."""
    found: list[int] = []
    for i in range(start, len(ops)):
        if failure(ops[i]) is not None:
            if found and not _leave_alike(ops[start], ops[i]):
                break
            found.append(i)
        elif not OPS[ops[i].code].pure:
            break
    return found


def _leave_alike(first: Operation, second: Operation) -> bool:
    """True if two guards leave in the same way, with the same results."""
    a, b = (op.regions[1].terminator for op in (first, second))
    return (a.code, a.attr, len(a.args)) == (b.code, b.attr, len(b.args)) and all(map(_is_same, a.args, b.args))


def _is_same(a: Value, b: Value) -> bool:
    if a is b:
        return True
    constants = a.op is not None and b.op is not None and a.op.code == b.op.code and a.op.code in _CONSTANTS
    return constants and a.type is b.type and repr(a.op.attr) == repr(b.op.attr)  # type: ignore[union-attr]
