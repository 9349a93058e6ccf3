"""Turn atomics on elements that only their own thread touches into plain loads and stores.

In place. In: a kernel after inlining. Out: an `atomic` became load, operation, store where no two threads can meet:
`a[i] += x` with i the thread index, above all.

An access is private if for every launch dimension one of its indices is that thread index plus something the same for
all threads: then different threads name different elements. That holds only against accesses with the very same
indices, so it is given up for an array, and for all arrays of its element type since two parameters may be one array,
as soon as one of them is written with other indices, or somewhere this pass cannot see.
"""

from __future__ import annotations

from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import index_count
from ..lang.types import VOID, Type

_PLAIN = ("add", "sub", "min", "max", "and", "or", "xor")


def privatise(function: Function) -> None:
    """Demote the private atomics of kernel `function`."""
    if not function.is_kernel:
        return
    dimensions = {op.attr[1] for op in function.body.walk() if op.code == "tid"}
    if len(dimensions) != 1:
        return
    private = _private_types(function, dimensions.pop())
    if private:
        _visit(function.body, private)


def _private_types(function: Function, dimensions: int) -> set[Type]:
    """Element types all of whose writes use the same indices, and those are private."""
    seen: dict[Type, tuple[Value, ...]] = {}
    shared: set[Type] = set()
    for op in function.body.walk():
        if op.code == "call":
            return set()  # a callee may write anything
        if op.code not in ("store", "atomic"):
            continue
        array = op.args[0].type
        indices = tuple(op.args[1 : 1 + array.ndim])
        covered = {_thread_dimension(i, function) for i in indices}
        if seen.setdefault(array.dtype, indices) != indices or not covered >= set(range(dimensions)):
            shared.add(array.dtype)
        if op.args[0] not in function.params:
            shared.add(array.dtype)  # a slice, or one of several arrays
    return set(seen) - shared


def _thread_dimension(index: Value, function: Function) -> int | None:
    """The launch dimension whose thread index `index` is, up to a sum with something the same for all threads."""
    op = index.op
    if op is None:
        return None
    if op.code == "tid":
        return op.attr[0]
    if op.code == "cast":
        return _thread_dimension(op.args[0], function) if op.attr.bits >= 32 else None
    if op.code in ("add", "sub"):
        a, b = op.args
        if _is_fixed(b, function):
            return _thread_dimension(a, function)
        if _is_fixed(a, function):
            return _thread_dimension(b, function)
    return None


def _is_fixed(value: Value, function: Function) -> bool:
    return value.is_const or value in function.params


def _visit(region: Region, private: set[Type]) -> None:
    ops: list[Operation] = []
    for op in region.ops:
        for inner in op.regions:
            _visit(inner, private)
        if op.code == "atomic" and op.attr[0] in _PLAIN and op.args[0].type.dtype in private:
            ops += _plain(op)
        else:
            ops.append(op)
    region.ops = ops


def _plain(atomic: Operation) -> list[Operation]:
    """Load, combine, store; the load defines the atomic's result."""
    kind, path = atomic.attr
    where = atomic.args[: 1 + index_count(atomic.args[0].type, path)]
    load = Operation("load", list(where), path, atomic.loc)
    load.results = atomic.results
    load.result.op = load
    combine = Operation(kind, [load.result, atomic.args[-1]], None, atomic.loc)
    combine.results = (Value(load.result.type, combine),)
    store = Operation("store", [*where, combine.result], path, atomic.loc)
    store.results = (Value(VOID, store),)
    return [load, combine, store]
