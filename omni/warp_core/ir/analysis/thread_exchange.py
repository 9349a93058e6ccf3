"""Exchange between threads of a launch: loops that wait for other threads, and reads of what others may have written.

Both look at a kernel whose calls are inlined. Start with `waiting_loop` and `exchange`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...lang.types import Type
from ..nodes import Function, Operation, Value
from ..ops import index_count
from .affine_index import Forms, affine_values
from .alias import is_own, location
from .uniformity import analyze

_ACCESSES = ("load", "store", "atomic")


def waiting_loop(kernel: Function) -> Operation | None:
    """Return a `while` loop that may end only after another thread has written, or None.

    Such a loop is left depending on an element that the kernel also writes outside of the loop: a lock that its owner
    opens, or a number that is called. Lanes that wait in it would keep the lane that is to write from going on. A loop
    that repeats an atomic until its own succeeds does not wait for other threads.
    """
    if not any(op.code == "atomic" for op in kernel.body.walk()):
        return None
    accesses = [op for op in kernel.body.walk() if op.code in _ACCESSES and not is_own(op.args[0])]
    for loop in kernel.body.walk():
        if loop.code == "loop" and _waits(loop, kernel, accesses):
            return loop
    return None


def _waits(loop: Operation, kernel: Function, accesses: list[Operation]) -> bool:
    inner = {op for region in loop.regions for op in region.walk()}
    outside = [op for op in accesses if op not in inner and _writes(op)]
    watched = {op for op in accesses if op in inner and _watches(op, inner) and any(_may_meet(op, w) for w in outside)}
    if not watched:
        return False
    facts = analyze(kernel, (False,) * len(kernel.params), 2, {}, differs=watched.__contains__)
    return loop in facts.masked


def _watches(op: Operation, loop: set[Operation]) -> bool:
    """True if an access in a loop asks, in each turn, for one element that the loop does not store."""
    if op.code == "atomic":
        return True
    array = op.args[0]
    changes = any(a.op in loop for a in op.args)
    stores = any(other.code == "store" and _may_meet(op, other) for other in loop)
    return op.code == "load" and not changes and not stores and not is_own(array)


def exchange(kernel: Function, shared: bool = False) -> Operation | None:
    """Return a read of an element that another thread may write, or None.

    Args:
        kernel: the kernel, its calls inlined.
        shared: whether arrays of different parameters may share memory.
    """
    forms = affine_values(kernel)
    used = {a for op in kernel.body.walk() for a in op.args}
    accesses = [op for op in kernel.body.walk() if op.code in _ACCESSES and not is_own(op.args[0])]
    dimensions = {op.attr[1] for op in kernel.body.walk() if op.code == "tid"}
    for read in accesses:
        if read.code == "load" or (read.code == "atomic" and read.result in used):
            for write in accesses:
                if _writes(write) and _may_meet(read, write, shared) and not _is_same(read, write, forms, dimensions):
                    return read
    return None


def _writes(op: Operation) -> bool:
    return op.code in ("store", "atomic")


def _may_meet(a: Operation, b: Operation, shared: bool = False) -> bool:
    """True if two accesses may be to one array."""
    if _element(a) is not _element(b):
        return False
    first, second = location(a.args[0]), location(b.args[0])
    return first is None or second is None or first == second or shared


def _element(op: Operation) -> Type:
    return op.args[0].type.dtype


def _is_same(read: Operation, write: Operation, forms: Forms, dimensions: set[int]) -> bool:
    """True if both accesses are to the element of an array that belongs to the thread."""
    indices = list(_indices(read))
    if read.args[0] is not write.args[0] or len(dimensions) != 1 or indices != list(_indices(write)):
        return False
    covered = {forms[i].injective_dimension for i in indices if i in forms}
    return covered >= set(range(*dimensions))


def _indices(op: Operation) -> Iterator[Value]:
    ndim = op.args[0].type.ndim
    yield from op.args[1 : 1 + min(ndim, index_count(op.args[0].type, ()))]
