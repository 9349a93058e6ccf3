"""Queries of meshes: where a kernel reads memory that is no argument, and why that has no gradient.

What a query finds depends on the points of the mesh. They are not among the arguments, so neither a tape nor forward
mode gives their derivatives to the kernel. Other structures have no memory with derivatives.
"""

from __future__ import annotations

from ...ir.nodes import Function, Operation
from ...ir.printer import reachable
from ...lang.errors import NotDifferentiable

_STRUCTURES = frozenset(("MeshData",))  # descriptors of structures that refer to arrays of the program
_REASON = (
    "queries of meshes have no gradient yet. Let a kernel of its own, launched with record_tape=False, store what the "
    "query finds (face, u, v). Compute from that in a second kernel, which takes the points as an argument"
)


def is_query(op: Operation) -> bool:
    """True if an operation reads the descriptor of a mesh, or calls a function that does."""
    if op.code == "call":
        return any(_reads_descriptor(inner) for f in reachable([op.attr]) for inner in f.body.walk())
    return _reads_descriptor(op)


def _reads_descriptor(op: Operation) -> bool:
    return op.code == "array_at" and getattr(op.results[0].type.dtype, "name", "") in _STRUCTURES  # type: ignore[attr-defined]


def refuse(op: Operation) -> NotDifferentiable:
    """Return the error for a query that would need a gradient."""
    return NotDifferentiable(_REASON, op)


def refuse_queries(function: Function) -> None:
    """Raise NotDifferentiable if a function has a query."""
    for op in function.body.walk():
        if is_query(op):
            raise refuse(op)
