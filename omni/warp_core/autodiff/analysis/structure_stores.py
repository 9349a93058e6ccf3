"""Stores into structures such as volumes whose id is no parameter. They have neither gradients nor tangents.

structure_arrays.py makes arguments of the values of all other volumes.
"""

from __future__ import annotations

from ...ir.analysis.alias import is_made_by
from ...ir.nodes import Function, Operation
from ...lang.errors import NotDifferentiable

_REASON = (
    "the kernel gets the id of the volume from an array or a struct, or stores in a function with a gradient or replay "
    "of its own. No derivative can go through values that are stored so. Pass the id as an argument of the kernel, or, "
    "if no derivative should go through them, launch the kernel with record_tape=False"
)
BY_ADDRESS = (
    "a view by address, wp.array(ptr=a.ptr + bytes, ...), has no gradient: use a slice of the array, a[first:last], or "
    "compute the index. If no derivative should go through it, launch the kernel with record_tape=False"
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
