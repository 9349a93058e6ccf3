"""Numbers for equal keys: cells that share a corner or an edge find one number for it. Start with `number`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from __future__ import annotations

from ... import max, tid
from ...algo.scan import array_scan
from ...algo.sort import radix_sort_pairs
from ...arrays.array import array, array1d
from ...arrays.factories import empty
from ...lang.kernel import kernel
from ...lang.values.scalars import int32, int64
from ...launches.launch import launch
from .grid_words import OPTIONS


@kernel(**OPTIONS)
def _count_up(places: array1d(dtype=int32)):
    i = tid()
    places[i] = i


@kernel(**OPTIONS)
def _mark(keys: array1d(dtype=int64), heads: array1d(dtype=int32)):
    """Write 1 for the first of equal keys and 0 for the others."""
    i = tid()
    heads[i] = int32(i == 0 or keys[max(i - 1, 0)] != keys[i])


@kernel(**OPTIONS)
def _write(
    places: array1d(dtype=int32),
    heads: array1d(dtype=int32),
    numbers: array1d(dtype=int32),
    firsts: array1d(dtype=int32),
):
    """Write the number of each key, and the first place of each number. `heads` counts up to each key."""
    i = tid()
    number = heads[i] - 1
    numbers[places[i]] = number
    if i == 0 or heads[max(i - 1, 0)] == number:
        firsts[number] = places[i]


def number(keys: array, count: int, limit: int) -> tuple[array, array]:
    """Give equal keys the same number, in ascending order of keys.

    Args:
        keys: int64 from 0 to `limit` - 1. The second half is scratch, and the keys are lost.
        count: how many keys there are, half the size of the array.
        limit: one more than the largest key may be.

    Returns:
        The number of each key, and for each number the first place that has it. Both are int32.
    """
    places, heads, numbers = (empty(n, dtype=int32, device=keys.device) for n in (2 * count, count, count))
    if count == 0:
        return numbers, heads
    launch(_count_up, count, [places], device=keys.device)
    radix_sort_pairs(keys, places, count, end_bit=(limit - 1).bit_length())
    launch(_mark, count, [keys, heads], device=keys.device)
    array_scan(heads, heads)
    firsts = empty(int(heads[-1:].numpy()[0]), dtype=int32, device=keys.device)
    launch(_write, count, [places, heads, numbers, firsts], device=keys.device)
    return numbers, firsts
