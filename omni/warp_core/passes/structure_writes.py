"""Finds the structures that a kernel writes to by their id, so that launches tell tapes of these writes."""

from __future__ import annotations

from ..ir.launch_facts import Stores
from ..ir.nodes import Function, Operation
from .inline import inline_calls

_WRITERS = frozenset(("_volume_store",))  # functions of the library, whose first argument is the id


def structure_stores(kernel: Function) -> Stores:
    """Return the parameters that are ids of structures to which a kernel writes."""
    known: dict[Function, bool] = {}
    if not _writes(kernel, known):
        return Stores()
    flat = inline_calls(kernel, lambda callee: not _is_writer(callee) and _writes(callee, known))
    numbers = {p: number for number, p in enumerate(flat.params)}
    calls = [op for op in flat.body.walk() if _calls_writer(op)]
    ids = {numbers.get(op.args[0]) for op in calls}
    return Stores(tuple(sorted(n for n in ids if n is not None)), None in ids)


def _writes(function: Function, known: dict[Function, bool]) -> bool:
    """True if a function calls a writer, directly or not."""
    if function not in known:
        known[function] = False  # what recursion would get
        calls = [op for op in function.body.walk() if op.code == "call"]
        known[function] = any(_calls_writer(op) or _writes(op.attr, known) for op in calls)
    return known[function]


def _calls_writer(op: Operation) -> bool:
    return op.code == "call" and _is_writer(op.attr)


def _is_writer(callee: Function) -> bool:
    return callee.is_library and callee.name.partition("#")[0] in _WRITERS
