"""Stores into structures such as volumes. Their memory is no argument, so it has neither gradients nor tangents."""

from __future__ import annotations

from ...ir.analysis.alias import is_made_by
from ...ir.nodes import Function, Operation
from ...lang.errors import NotDifferentiable

_REASON = (
    "values that a kernel stores in a volume have no derivative. Store them in an array instead, at the index that "
    "wp.volume_lookup_index gives, and sample that with wp.volume_sample_index. If no derivative should go through the "
    "stored values, launch the kernel with record_tape=False"
)


def is_store_by_address(op: Operation) -> bool:
    """True if an operation writes to memory that is no argument, or calls a function that does."""
    if op.code == "call":
        return any(map(is_store_by_address, op.attr.body.walk()))
    return op.code in ("store", "atomic") and is_made_by(op.args[0], "array_at")


def refuse_store(op: Operation) -> NotDifferentiable:
    """Return the error for a store that would need a derivative."""
    return NotDifferentiable(_REASON, op)


def refuse_stores(function: Function) -> None:
    """Raise NotDifferentiable if a function writes to memory that is no argument."""
    for op in function.body.walk():
        if is_store_by_address(op):
            raise refuse_store(op)
