"""Sorting of key-value pairs. The algorithm is in native/src/algo/radix_sort.cpp, for GPUs in gpu/sort.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _native
from ..arrays.array import array
from ..dispatch import capture
from ..dispatch.operation import Operation, Write, execute
from ..lang.types import I32
from ..late_bound import late
from .argument_checks import (
    NUMBERS,
    check_count,
    element_type,
    integer,
    require_apart,
    require_arrays,
    require_contiguous,
    require_scalar,
    require_writable,
)

__all__ = ["radix_sort_pairs", "segmented_sort_pairs"]


def radix_sort_pairs(
    keys: array, values: array, count: int, begin_bit: int = 0, end_bit: int | None = None
) -> None:  # fmt: skip
    """Sort keys in ascending order, and values along with them, in place. Pairs of equal keys keep their order.

    Args:
        keys: Of int32, uint32, int64, uint64, float32 or float64, contiguous. The first `count` are sorted, the next
            `count` are scratch: what they hold afterwards is not defined.
        values: As many elements of 4 or 8 bytes each, contiguous; likewise.
        count: How many pairs to sort.
        begin_bit: The least significant bit of the keys that matters.
        end_bit: The bit above the most significant that matters; all bits if left out.

    Floats are sorted from -infinity to infinity, with -0.0 before 0.0, a NaN whose sign bit is set before all numbers
    and any other NaN after them. The order of signed and float keys comes from their most significant bit, so leave it
    out with `end_bit` only where all keys have the same sign.

    Other threads must not use the arrays meanwhile.

    Raises:
        TypeError: If an element type is not one of those.
        ValueError: If an array has fewer than 2 * count elements, is not contiguous or read-only, if both share memory,
            or if the bits are no range of the key's bits.

    >>> keys = wp.array([3, 1, 2, 0, 0, 0], dtype=wp.int32)
    >>> values = wp.array([30, 10, 20, 0, 0, 0], dtype=wp.int32)
    >>> wp.utils.radix_sort_pairs(keys, values, 3)
    >>> keys.list()[:3], values.list()[:3]
    ([1, 2, 3], [10, 20, 30])
    """
    count = _check_pairs(keys, values, count)
    bits = 8 * element_type(keys).size
    begin, end = integer("begin_bit", begin_bit), bits if end_bit is None else integer("end_bit", end_bit)
    if not 0 <= begin <= end <= bits:
        raise ValueError(f"begin_bit, end_bit: [{begin}, {end}) is not a range within the {bits} bits of a key")

    def run() -> None:
        if keys.device.is_cuda:
            late("sort_pairs_on_gpu")(keys, values, count, begin, end)
        else:
            what = f"sort {count} pairs"
            capture.call(_native.radix_sort_pairs, keys, values, count, begin, end, label=what, writes=[keys, values])

    execute(_sorting(keys, values, run))


def segmented_sort_pairs(
    keys: array,
    values: array,
    count: int,
    segment_start_indices: array,
    segment_end_indices: array | None = None,
) -> None:
    """Sort the pairs of each segment by their keys, like `radix_sort_pairs`; pairs in no segment stay as they are.

    Args:
        keys: As for `radix_sort_pairs`.
        values: As for `radix_sort_pairs`.
        count: How many pairs the segments lie in.
        segment_start_indices: Where each segment begins: int32, one dimension.
        segment_end_indices: One beyond the last pair of each. If left out, a segment ends where the next begins, and
            the last start only ends the segment before it.

    Segments may be empty, and in any order.

    Raises:
        TypeError: If an element type is not one of those.
        ValueError: As for `radix_sort_pairs`; or if a segment does not lie within `count`, two of them overlap, or
            there are more starts than ends or the reverse. Nothing has been sorted then.

    On a GPU this waits for the segments to be looked at, before anything is sorted. A graph that captures it does not:
    when that is launched, segments that do not lie within `count` are left as they are, and the order of pairs in more
    than one segment is not defined. If it was captured in debug mode, its launches wait and raise.

    >>> keys = wp.array([3, 1, 4, 2, 0, 0, 0, 0], dtype=wp.int32)
    >>> values = wp.array([30, 10, 40, 20, 0, 0, 0, 0], dtype=wp.int32)
    >>> wp.utils.segmented_sort_pairs(keys, values, 4, wp.array([0, 2, 4], dtype=wp.int32))
    >>> keys.list()[:4], values.list()[:4]
    ([1, 3, 2, 4], [10, 30, 20, 40])
    """
    count = _check_pairs(keys, values, count)
    starts = _indices("segment_start_indices", segment_start_indices, keys)
    ends = None if segment_end_indices is None else _indices("segment_end_indices", segment_end_indices, keys)
    if ends is not None and ends.size != starts.size:
        raise ValueError(f"segment_end_indices: expected {starts.size} ends, one for each start, got {ends.size}")

    def run() -> None:
        if keys.device.is_cuda:
            late("sort_segments_on_gpu")(keys, values, count, *_bounds(starts, ends))
        else:
            each, what = (keys, values, count, starts, ends), f"sort {count} pairs in segments"
            capture.call(_native.segmented_sort_pairs, *each, label=what, writes=[keys, values])

    execute(_sorting(keys, values, run))


def _sorting(keys: array, values: array, run: Callable[[], None]) -> Operation:
    """The operation that sorts pairs in place. It has neither a gradient nor a tangent."""
    pairs = {"keys": keys, "values": values}
    return Operation("sorting", writes={name: Write(a) for name, a in pairs.items()}, reads=pairs, run=run)


def _bounds(starts: array, ends: array | None) -> tuple[array, array]:
    """Return where segments begin and end."""
    return (starts[:-1], starts[1:]) if ends is None else (starts, ends)


def _check_pairs(keys: Any, values: Any, count: Any) -> int:
    require_arrays(keys=keys, values=values)
    require_scalar("keys", keys, NUMBERS)
    if element_type(values).size not in (4, 8) or values._require_element().holds_arrays:
        name = values._require_element().name
        raise TypeError(f"values: expected elements of 4 or 8 bytes, got {name}; sort indices instead")
    for name, a in (("keys", keys), ("values", values)):
        require_contiguous(name, a)
        require_writable(name, a)
    require_apart("values", values, "keys", keys)
    room = min(keys.size, values.size) // 2
    reason = f"arrays of {keys.size} keys and {values.size} values have room for {room} pairs and as much scratch"
    return check_count("count", count, room, reason)


def _indices(name: str, a: Any, keys: array) -> array:
    require_arrays(**{"keys": keys, name: a})
    require_scalar(name, a, (I32,))
    if a.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got shape {a.shape}")
    return a.contiguous()
