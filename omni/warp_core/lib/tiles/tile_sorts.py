"""Stable sorting of keys with values, in memory of a block of threads.

Runs of `RUN` elements are sorted at once: an element's place is the number of elements before it. Sorted runs are then
merged in pairs. There, an element's place is its place in its own run, and the number of elements before it in the
other one, which it finds by bisection. No iteration waits for another one. Start with `sort`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Constant, S, T, U
from ...lang.registry import INTRINSICS, builtin
from ...lang.values.scalars import int32
from .sort_orders import key_of, ordered

block_range, shared_array = INTRINSICS["block_range"], INTRINSICS["shared_array"]

RUN = 64


def merged_lengths(n: int) -> tuple[int, ...]:
    """Return the length of the runs that each pass of merging finds."""
    found = []
    length = RUN
    while length < n:
        found.append(length)
        length *= 2
    return tuple(found)


@builtin(name="_sort_runs")
def sort_runs(keys: Array[T], values: Array[S], orders: Array[U], moved: Array[S], n: Constant) -> None:
    """Sort each run of `keys` with its `values`, into `orders` and `moved`."""
    length = RUN if n > RUN else n
    for run, place in block_range((n + length - 1) // length, length):
        first = run * length
        i = first + place
        if i < n:
            own, before = ordered(keys[i]), int32(0)
            for j in range(first, prim.min(first + length, n)):
                other = ordered(keys[j])
                is_before = other < own or (other == own and j < i)
                before += prim.select(is_before, 1, 0)
            orders[first + before] = own
            moved[first + before] = values[i]


@builtin(name="_merge_runs")
def merge_runs(
    orders: Array[U], values: Array[S], to_orders: Array[U], to_values: Array[S], n: Constant, length: Constant
) -> None:
    """Merge pairs of sorted runs of `length` elements."""
    for i in block_range(n):
        first = i // (2 * length) * (2 * length)
        middle = prim.min(first + length, n)
        last = prim.min(first + 2 * length, n)
        is_left = i < middle
        begin, end = prim.select(is_left, middle, first), prim.select(is_left, last, middle)
        own, before, step = orders[i], int32(0), int32(length)
        while step > 0:
            probe = begin + before + step - 1
            other = orders[prim.min(probe, n - 1)]
            is_before = other < own or (other == own and not is_left)
            before += prim.select(probe < end and is_before, step, 0)
            step >>= 1
        place = i + before - prim.select(is_left, 0, length)
        to_orders[place] = own
        to_values[place] = values[i]


@builtin(name="_tile_sort")
def sort(keys: Array[T], values: Array[S], moved: Array[S], n: Constant, lengths: Constant) -> None:
    """Sort `keys` in ascending order, and the values with them. Equal keys keep their order.

    The passes bring the values from `values` to `moved` and back. So they end up in `moved` if the number of `lengths`
    is even, else in `values`.

    Args:
        keys: `n` keys of 32 or 64 bits.
        values: as many values of any type.
        moved: memory for as many values.
        n: the number of keys.
        lengths: from `merged_lengths`.

    Derivative: none yet.
    """
    kind = type(ordered(T(0)))
    x, y = shared_array(shape=n, dtype=kind), shared_array(shape=n, dtype=kind)
    sort_runs(keys, values, x, moved, n)
    v, w = moved, values
    for length in lengths:
        merge_runs(x, v, y, w, n, length)
        x, y, v, w = y, x, w, v
    for i in block_range(n):
        keys[i] = key_of(x[i], T(0))
