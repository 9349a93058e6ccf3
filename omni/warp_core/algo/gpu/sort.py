"""Sorting of key-value pairs on GPUs: radix sort, a digit of 8 bits at a time from the least significant one, each in
three steps. Every block counts the digits of its tile of `_TILE` keys. Running sums of the counts, digit by digit, give
the place of each block's keys of a digit. Then every block goes over its tile again and puts its pairs there, in order.

The order within a tile comes from warps: each takes a stretch of it, 32 keys after the other. Ballots over the bits of
the digit show a thread which threads of its warp have the same digit. The first of them takes as many places from the
warp's counter of that digit. Counters are atomics, since different threads may be the first each time.

Keys are compared as unsigned integers in the order of the numbers. Segments are sorted all at once: pairs are sorted by
key, then, as that keeps their order, by the place where their segment begins. Pairs in no segment count as segments of
their own.
"""

# Annotations are values here: the types of kernels that functions make.
# mypy: disable-error-code="valid-type, operator"

from functools import cache
from typing import Any

from ... import (
    _native,
    atomic_add,
    atomic_exch,
    ballot,
    bit_count,
    block_dim,
    block_index,
    config,
    int64,
    lane,
    shared_array,
    shuffle,
    syncthreads,
    thread_index,
    tid,
    uint16,
    uint32,
)
from ...arrays.array import array
from ...arrays.transfer import copy
from ...dispatch import capture
from ...lang.kernel import func, kernel
from ...lang.types import I32, I64, U32, U64, Scalar, Type
from ...lang.values.scalars import int32
from ...lang.values.value_classes import python_type, vector
from ..argument_checks import element_type
from .scan import scan_numbers
from .temporaries import BLOCK, OPTIONS, each, numbers, run, temporary

_BITS = 8  # of a digit
_DIGITS = 1 << _BITS
_ITEMS = 16  # keys of a thread
_TILE = BLOCK * _ITEMS
_WARP = 32
_WARPS = BLOCK // _WARP


def radix_sort_pairs(keys: array, values: array, count: int, begin: int, end: int) -> None:
    """Sort the first `count` pairs by bits [begin, end) of the keys. The next `count` are scratch."""
    k, v = _unsigned(keys), numbers(values, values.size, _moved(element_type(values)))
    _sort(k, v, count, begin, end, _order(element_type(keys)))


def segmented_sort_pairs(keys: array, values: array, count: int, starts: array, ends: array) -> None:
    """Sort the pairs of each segment by key.

    Raises:
        ValueError: as on the CPU, unless a graph captures this: there segments that do not lie within the pairs are
            left alone. In debug mode launches of the graph raise.
    """
    if starts.size == 0:
        return
    own = _unsigned(keys)
    index = I32 if count < 1 << 31 else I64
    kernels = _segment_kernels(element_type(own), _moved(element_type(values)), index)
    place = _segment_of(starts, ends, count, kernels, index)
    if count == 0:
        return
    k = temporary(keys, 2 * count, element_type(own))
    order = temporary(keys, 2 * count, index)
    copy(k, own, count=count)
    each(kernels["number"], count, [order], keys)
    _sort(k, order, count, 0, 8 * element_type(own).size, _order(element_type(keys)))
    tags = temporary(keys, 2 * count, element_type(order))
    each(kernels["tag"], count, [place, order, tags], keys)
    _sort(_unsigned(tags), order, count, 0, max(1, (count - 1).bit_length()), "")
    v = numbers(values, values.size, _moved(element_type(values)))
    kept = temporary(keys, count, element_type(v))
    copy(k, own, count=count)
    copy(kept, v, count=count)
    each(kernels["permute"], count, [order, k, own, kept, v], keys)


def _segment_of(starts: array, ends: array, count: int, kernels: dict[str, Any], index: Scalar) -> array:
    """For each of `count` places: where the segment that it lies in begins, or the place itself."""
    begun, end, first, place = (temporary(starts, count, index) for _ in range(4))
    wrong = temporary(starts, 1, I32)
    begun.zero_()
    wrong.zero_()
    each(kernels["mark"], starts.size, [starts, ends, begun, end, wrong], starts)
    if count:
        scan_numbers(begun, place, count, 1, True)
    each(kernels["check"], starts.size, [starts, ends, place, wrong], starts)
    _refuse(wrong, starts, ends, count)
    each(kernels["collect"], count, [begun, place, first], starts)
    each(kernels["place"], count, [first, end, place], starts)
    return place


def _refuse(wrong: array, starts: array, ends: array, count: int) -> None:
    """Raise if segments are wrong: now, or where that cannot be known yet after launches of the graph in debug mode."""

    def check() -> None:
        if wrong.list() != [0]:
            _native.check_segments(count, starts.to("cpu"), ends.to("cpu"))

    captured = capture.gpu()
    if captured is None:
        check()
    elif config.mode == "debug":
        captured.checks.append(check)


def _sort(keys: array, values: array, count: int, begin: int, end: int, order: str) -> None:
    if count < 2 or begin == end:
        return
    counter = I32 if count < 1 << 31 else I64
    kernels = _kernels(element_type(keys), element_type(values), counter, order)
    tiles = -(-count // _TILE)
    counts = temporary(keys, _DIGITS * tiles, counter)
    here, there = (keys[:count], values[:count]), (keys[count : 2 * count], values[count : 2 * count])
    for shift in range(begin, end, _BITS):
        mask = (1 << min(_BITS, end - shift)) - 1
        run(kernels["count"], tiles, [here[0], shift, mask, counts], keys)
        scan_numbers(counts, counts, counts.size, 1, False)
        run(kernels["move"], tiles, [*here, shift, mask, counts, *there], keys)
        here, there = there, here
    if here[0]._address != keys._address:
        copy(keys, here[0])
        copy(values, here[1])


def _unsigned(keys: array) -> array:
    return numbers(keys, keys.size, U32 if element_type(keys).size == 4 else U64)


def _moved(t: Type) -> Type:
    """A type for elements that are only moved: as large, and no more aligned."""
    unit = U32 if t.align == 4 else U64 if t.align == 8 else None
    if unit is None:
        raise TypeError(f"elements of {t.key} are not made of numbers of 4 or 8 bytes")
    return unit if t.size == unit.size else vector(t.size // unit.size, python_type(unit)).__wc_type__


def _order(t: Type) -> str:
    assert isinstance(t, Scalar)
    return "float" if t.is_float else "signed" if t.is_signed else ""


@cache
def _digit(key: Scalar, order: str) -> Any:
    """A function that finds a digit. `order` says what keys are: "signed", "float" or "" for unsigned."""
    K, top = python_type(key), 8 * key.size - 1

    @func
    def digit(bits: K, shift: int, mask: int):
        """Eight bits of a number in the order of the keys."""
        if order == "signed":
            bits = bits ^ (K(1) << K(top))
        if order == "float":
            if bits >> K(top) != K(0):
                bits = ~bits
            else:
                bits = bits ^ (K(1) << K(top))
        return int32(bits >> K(shift)) & mask

    return digit


@cache
def _kernels(key: Scalar, value: Type, counter: Scalar, order: str) -> dict[str, Any]:
    K, V, N = python_type(key), python_type(value), python_type(counter)
    digit = _digit(key, order)

    @kernel(**OPTIONS)
    def radix_sort_count(keys: array(dtype=K), shift: int, mask: int, counts: array(dtype=N)):
        found = shared_array(shape=_DIGITS, dtype=int32)
        t = thread_index()
        found[t] = 0
        syncthreads()
        first = int64(block_index()) * int64(_TILE)
        for i in range(_ITEMS):
            at = first + int64(i * block_dim() + t)
            if at < int64(keys.shape[0]):
                atomic_add(found, digit(keys[at], shift, mask), 1)
        syncthreads()
        tiles = counts.shape[0] // _DIGITS
        counts[t * tiles + block_index()] = N(found[t])

    @kernel(**OPTIONS)
    def radix_sort_move(
        keys: array(dtype=K),
        values: array(dtype=V),
        shift: int,
        mask: int,
        counts: array(dtype=N),
        sorted_keys: array(dtype=K),
        sorted_values: array(dtype=V),
    ):
        taken = shared_array(shape=(_WARPS, _DIGITS), dtype=int32)
        ranks = shared_array(shape=(_ITEMS, block_dim()), dtype=uint16)
        t = thread_index()
        warp = t // _WARP
        for w in range(_WARPS):
            taken[w, t] = 0
        syncthreads()
        first = int64(block_index()) * int64(_TILE) + int64(warp * _WARP * _ITEMS + lane())
        below = (uint32(1) << uint32(lane())) - uint32(1)
        for i in range(_ITEMS):
            at = first + int64(i * _WARP)
            there = at < int64(keys.shape[0])
            mine = 0
            if there:
                mine = digit(keys[at], shift, mask)
            same = ballot(there)
            for b in range(_BITS):
                votes = ballot((mine >> b) & 1 == 1)
                if (mine >> b) & 1 == 0:
                    votes = ~votes
                same = same & votes
            rank = int32(bit_count(same & below))
            old = 0
            if there and rank == 0:
                old = atomic_add(taken, warp, mine, int32(bit_count(same)))
            leader = int32(bit_count((same & (~same + uint32(1))) - uint32(1)))
            ranks[i, t] = uint16(shuffle(old, leader) + rank)
        syncthreads()
        sum = int32(0)
        starts = shared_array(shape=_DIGITS, dtype=N)
        starts[t] = counts[t * (counts.shape[0] // _DIGITS) + block_index()]
        for w in range(_WARPS):
            number = taken[w, t]
            taken[w, t] = sum
            sum += number
        syncthreads()
        for i in range(_ITEMS):
            at = first + int64(i * _WARP)
            if at < int64(keys.shape[0]):
                k = keys[at]
                d = digit(k, shift, mask)
                to = starts[d] + N(taken[warp, d] + int32(ranks[i, t]))
                sorted_keys[to] = k
                sorted_values[to] = values[at]

    return {"count": radix_sort_count, "move": radix_sort_move}


@cache
def _segment_kernels(key: Scalar, value: Type, index: Scalar) -> dict[str, Any]:
    K, V, N = python_type(key), python_type(value), python_type(index)

    @kernel(**OPTIONS)
    def segments_number(order: array(dtype=N)):
        order[tid()] = N(tid())

    @kernel(**OPTIONS)
    def segments_mark(
        starts: array(dtype=int32),
        ends: array(dtype=int32),
        begun: array(dtype=N),
        end: array(dtype=N),
        wrong: array(dtype=int32),
    ):
        """Mark the beginnings of segments with several pairs. Flag segments that are not ranges and segments that begin
        at one place.
        """
        a, b = N(starts[tid()]), N(ends[tid()])
        if a < N(0) or a > b or b > N(begun.shape[0]):
            wrong[0] = 1
        elif b - a > N(1):
            if atomic_exch(begun, a, N(1)) == N(1):
                wrong[0] = 1
            end[a] = b

    @kernel(**OPTIONS)
    def segments_check(
        starts: array(dtype=int32), ends: array(dtype=int32), number: array(dtype=N), wrong: array(dtype=int32)
    ):
        """Flag segments that begin within another one. `number` is how many segments have begun up to each place."""
        a, b = N(starts[tid()]), N(ends[tid()])
        if a >= N(0) and b <= N(number.shape[0]) and b - a > N(1) and number[b - N(1)] != number[a]:
            wrong[0] = 1

    @kernel(**OPTIONS)
    def segments_collect(begun: array(dtype=N), number: array(dtype=N), first: array(dtype=N)):
        if begun[tid()] == N(1):
            first[number[tid()] - N(1)] = N(tid())

    @kernel(**OPTIONS)
    def segments_place(first: array(dtype=N), end: array(dtype=N), place: array(dtype=N)):
        """`place` has the number of segments that begin up to here."""
        here = N(tid())
        if place[here] > N(0):
            begin = first[place[here] - N(1)]
            if here < end[begin]:
                here = begin
        place[tid()] = here

    @kernel(**OPTIONS)
    def segments_tag(place: array(dtype=N), order: array(dtype=N), tags: array(dtype=N)):
        tags[tid()] = place[order[tid()]]

    @kernel(**OPTIONS)
    def segments_permute(
        order: array(dtype=N), k: array(dtype=K), keys: array(dtype=K), v: array(dtype=V), values: array(dtype=V)
    ):
        keys[tid()] = k[order[tid()]]
        values[tid()] = v[order[tid()]]

    made = (
        segments_number,
        segments_mark,
        segments_check,
        segments_collect,
        segments_place,
        segments_tag,
        segments_permute,
    )
    return {k.name.removeprefix("segments_"): k for k in made}
