"""Refuses kernels that write to what `wp.mesh_get` returns.

These arrays are no arguments, so no tape would see the write, and no copy would be made of what a gradient needs.
"""

from __future__ import annotations

from ..ir.analysis.alias import underlying_object
from ..ir.nodes import Function, Operation, Value
from .inline import inline_calls

_SOURCE = "mesh_get"
_CHOICES = frozenset(("if", "for", "loop", "block", "select"))  # whose results may be one of several arrays


def mesh_store(kernel: Function) -> Operation | None:
    """Return an operation that writes to an array of `wp.mesh_get`, or may do so; None without one."""
    if not _gets_meshes(kernel, set()):
        return None
    flat = inline_calls(kernel, lambda callee: not callee.is_library)
    return next((op for op in flat.body.walk() if op.code in ("store", "atomic") and _is_of_mesh(op.args[0])), None)


def _gets_meshes(function: Function, seen: set[Function]) -> bool:
    seen.add(function)
    called = [op.attr for op in function.body.walk() if op.code == "call"]
    if any(_is_source(callee) for callee in called):
        return True
    return any(_gets_meshes(callee, seen) for callee in called if not callee.is_library and callee not in seen)


def _is_source(callee: Function) -> bool:
    return callee.is_library and callee.name.partition("#")[0] == _SOURCE


def _is_of_mesh(array: Value) -> bool:
    op = underlying_object(array).op
    return op is not None and (op.code in _CHOICES or (op.code == "call" and _is_source(op.attr)))
