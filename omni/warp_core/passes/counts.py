"""Uses of 32-bit integers as counts: threads, blocks of threads, and elements of arrays.

`wp.tid()`, `wp.block_index()`, `x.shape` and `x.size` are int32. A launch refuses threads and arrays that they cannot
count (native/python/launches/plan_counts.cpp), unless the finished kernel does not need the count. An index that is
never negative needs no extent, and an index of 64 bits takes a 64-bit extent (the operation `extent`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.analysis.alias import is_own, provenance
from ..ir.analysis.effects import array_members, need_of
from ..ir.launch_facts import Count, Counts, Need
from ..ir.nodes import Function, Operation, Value
from ..ir.printer import reachable
from ..lang.types import MAX_NDIM, Array

_EVERY = (1 << MAX_NDIM) - 1
_ALL_ELEMENTS = 1 << MAX_NDIM


def counts(kernel: Function) -> Counts:
    """Return the 32-bit counts of `kernel`, after all passes, and of the functions it calls."""
    operations = [op for f in reachable([kernel]) for op in f.body.walk()]
    arrays: dict[Need, int] = {}
    for op in operations:
        if op.code in ("shape", "size"):
            for need in _counted(kernel, op.args[0]):
                arrays[need] = arrays.get(need, 0) | _dimensions(op)
    threads = any(op.code == "tid" and op.attr[1] == 1 for op in operations)
    blocks = any(op.code == "block_index" for op in operations)
    return Counts(threads, blocks, tuple(Count(*need, dimensions) for need, dimensions in arrays.items()))


def _dimensions(op: Operation) -> int:
    (array,) = op.args
    if op.code == "size":
        return _ALL_ELEMENTS
    is_view = array.op is not None and array.op.code in ("slice", "view_at")
    return _EVERY if is_view else 1 << op.attr


def _counted(kernel: Function, array: Value) -> Iterator[Need]:
    """The arrays among the arguments that `array` is, or may be where its origin is not known."""
    if is_own(array):
        return
    source = provenance(array)
    known = source.object in kernel.params and not source.gradients
    for number, param in enumerate(kernel.params):
        for members, t in array_members(param.type):
            place = tuple(member for member, _ in members)
            if (source.object is param and place == source.members) if known else _alike(t, array):
                yield need_of(number, param, place)


def _alike(t: Array, array: Value) -> bool:
    assert isinstance(array.type, Array)
    return t.dtype is array.type.dtype and t.ndim >= array.type.ndim
