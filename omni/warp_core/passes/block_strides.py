"""Loops in which the threads of a block take turns, up to a bound that they reach together.

*In*: a kernel of a tiled launch, as the front end made it.
*Out*: the same kernel, in which `for i in range(t, n * b, b)` counts from 0 and adds the index `t` of the thread. A
block has `b` threads, so each of them runs `n` iterations. As the count no longer depends on the thread, the loop may
hold tile operations and barriers.
"""

from __future__ import annotations

from ..ir.clone import Rewriter
from ..ir.nodes import Function, Operation, Region, Value


def share_strides(kernel: Function, ndim: int) -> Function:
    """Return the kernel of a launch of `ndim` dimensions, with such loops counted alike by all threads of a block."""
    size = kernel.block_dim
    if size and any(_is_shared(op, ndim, size) for op in kernel.body.walk()):
        return _Strides(ndim, size).rewrite(kernel)
    return kernel


def _is_shared(op: Operation, ndim: int, size: int) -> bool:
    """True if an operation is a loop from the index of the thread, in steps of a block, to a multiple of its size."""
    if op.code != "for":
        return False
    first, end, step = op.args[:3]
    return _is_own_index(first, ndim) and step.is_const and step.const == size and _is_multiple(end, size)


def _is_own_index(value: Value, ndim: int) -> bool:
    op = value.op
    return op is not None and (op.code == "thread_index" or (op.code == "tid" and op.attr == (ndim - 1, ndim)))


def _is_multiple(value: Value, size: int) -> bool:
    if value.is_const:
        return value.const % size == 0
    factors = value.op.args if value.op is not None and value.op.code == "mul" else []
    return size == 1 or any(factor.is_const and factor.const % size == 0 for factor in factors)


class _Strides(Rewriter):
    """Lets the loops count from 0."""

    def __init__(self, ndim: int, size: int):
        super().__init__()
        self._ndim, self._size = ndim, size
        self._starts: dict[Region, Value] = {}  # by body: the index of the thread

    def visit_for(self, op: Operation) -> None:
        """Rebuild a loop."""
        if not _is_shared(op, self._ndim, self._size):
            super().visit_for(op)
            return
        (body,), args = op.regions, self.args(op)
        self._starts[body] = args[0]
        zero = self.b.const(0, args[0].type)
        new = self.breakable(op)
        self.b.loc = self.place(op.loc)
        self.define(op, self.b.emit("for", [zero, *args[1:]], op.attr, (new,), [v.type for v in op.results]))

    def rebuild(self, region: Region) -> Region:
        """Return a new region; in that of a loop that counts from 0, the index of the thread is added."""
        start = self._starts.get(region)
        if start is None:
            return super().rebuild(region)
        new = self.b.push([p.type for p in region.params], [p.name for p in region.params])
        self.values.update(zip(region.params, new))
        self.values[region.params[0]] = self.b.op("add", new[0], start)
        self.visit_ops(region.ops)
        return self.b.pop()
