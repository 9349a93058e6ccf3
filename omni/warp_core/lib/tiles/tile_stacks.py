"""Stacks in memory of a block of threads.

The threads push and pop together. Slots are in the order of threads, whatever order a machine runs them in. Start with
`push`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Constant, S
from ...lang.registry import INTRINSICS, builtin
from ...lang.values.scalars import int32
from .tile_scans import scan

block_range, shared_array = INTRINSICS["block_range"], INTRINSICS["shared_array"]
syncthreads, thread_index = INTRINSICS["syncthreads"], INTRINSICS["thread_index"]


@builtin(name="_stack_clear")
def clear(count: Array[int32]) -> None:
    """Take all elements from a stack."""
    for i in block_range(1):
        count[i] = 0


@builtin(name="_stack_push")
def push(
    data: Array[S],
    count: Array[int32],
    value: S,
    has_value: bool,
    size: Constant,
    steps: Constant,
) -> int32:
    """Push a value of each thread that has one.

    Args:
        data: memory for all elements that fit.
        count: one number, of elements in the stack.
        value: what the thread pushes.
        has_value: whether it does.
        size: the number of threads of the block.
        steps: those of a scan of so many elements.

    Returns:
        The slot of the thread's value; -1 if it has none or finds the stack full.

    Derivative: none yet.
    """
    x, y = shared_array(shape=size, dtype=int32), shared_array(shape=size, dtype=int32)
    x[thread_index()] = prim.select(has_value, 1, 0)
    syncthreads()
    scan(x, y, size, steps, prim.add)
    sums = y if len(steps) % 2 == 1 else x
    slot = count[0] + sums[thread_index()] - 1
    if has_value and slot < data.shape[0]:
        data[slot] = value
    else:
        slot = -1
    syncthreads()
    for i in block_range(1):
        count[i] = prim.min(count[i] + sums[size - 1], data.shape[0])
    return slot


@builtin(name="_stack_pop")
def pop(data: Array[S], count: Array[int32], size: Constant) -> tuple[S, int32]:
    """Pop a value for each thread, the last one pushed for the first thread.

    Args:
        data: the elements of the stack.
        count: one number, of elements in the stack.
        size: the number of threads of the block.

    Returns:
        value: what the thread gets, zero if the stack has no more.
        slot: where it was, -1 without one.

    Derivative: none yet.
    """
    slot = prim.max(count[0] - 1 - thread_index(), -1)
    value = S()
    if slot >= 0:
        value = data[slot]
    syncthreads()
    for i in block_range(1):
        count[i] = prim.max(count[i] - size, 0)
    return value, slot
