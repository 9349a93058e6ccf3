"""Searching sorted arrays."""

from __future__ import annotations

from ..lang.generics import Array, T
from ..lang.registry import builtin
from ..lang.values.scalars import int32


@builtin
def lower_bound(arr: Array[T], value: T) -> int32:
    """Return the position of a value in a sorted array.

    Args:
        arr: array in increasing order.
        arr_begin: if given with `arr_end`, the first index to look at, an int32.
        arr_end: the index after the last one to look at, an int32.
        value: what to look for, of the array's type.

    Returns:
        The first index whose element is not below `value`, an int32. If all are below, the last index of the range, so
        that it is one of an element; `arr_begin` if the range is empty.

    Error: exact.
    Derivative: none.

    >>> wp.lower_bound(wp.array([1.0, 3.0, 5.0], dtype=float), 2.0)
    1
    """
    return lower_bound(arr, 0, arr.shape[0], value)


@builtin(name="lower_bound")
def _lower_bound_range(arr: Array[T], arr_begin: int32, arr_end: int32, value: T) -> int32:
    return max(arr_begin, min(first_at_least(arr, arr_begin, arr_end, value), arr_end - 1))


@builtin(name="_first_at_least")
def first_at_least(arr: Array[T], begin: int32, end: int32, value: T) -> int32:
    """The first index of a range whose element is not below a value, and the end of the range if all are below."""
    low, high = begin, end
    while low < high:
        middle = low + (high - low) // 2
        if arr[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
