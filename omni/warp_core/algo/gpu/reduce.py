"""Sums over one dimension on GPUs, in at most two launches, always in the same order: no atomics.

The numbers are seen as outer x length x width. Where there are few results, blocks of threads make them. A block takes
up to `BLOCK` columns, and as many rows at a time as it has threads for. It adds the rows' sums in pairs. What is long
is cut in parts; the sums of the parts are reduced in turn. Where there are many results, each has a thread.

The cuts depend on the extents alone. Floats are added in float64 and rounded once.
"""

# Annotations are values here: the types of kernels that functions make.
# mypy: disable-error-code="valid-type"

from functools import cache
from typing import Any

from ... import block_dim, block_index, int64, shared_array, syncthreads, thread_index, tid
from ...arrays.array import array
from ...lang.kernel import func, kernel
from ...lang.types import Scalar
from ...lang.values.value_classes import python_type
from ..argument_checks import components, scalar_of
from .temporaries import BLOCK, OPTIONS, each, numbers, run, sums_of, temporary

_FEW = 1 << 14  # results that blocks make
_SHORT = 32  # lengths that a thread adds up
_BLOCKS = 1024  # that long sums are cut for
_ROWS = 8  # that a thread adds at least


def reduce(out: array, a: array, b: array | None, extents: tuple[int, int, int]) -> None:
    """The sum of contiguous `a`, or of its products with `b`, seen as (outer, length, inner) elements, over length."""
    t = scalar_of(a)
    assert isinstance(t, Scalar)
    outer, length, inner = extents
    fold = 1 if b is None else components(a)
    width = inner * components(a) // fold
    target, first = numbers(out), numbers(a)
    second = first if b is None else numbers(b)
    if outer * width == 0:
        return
    if length <= _SHORT or outer * width >= _FEW:
        args = [first, second, target, length, width, fold]
        each(_kernels(t, t, b is not None)["each"], outer * width, args, a)
        return
    columns = min(width, BLOCK)
    tiles = -(-width // columns)
    most = max(1, _BLOCKS // (outer * tiles))
    parts = min(most, -(-length // (BLOCK // columns * _ROWS)))
    if parts == 1:
        _blocks(_kernels(t, t, b is not None)["blocks"], first, second, target, (outer, length, width), fold, 1)
        return
    sums = temporary(a, parts * outer * width, sums_of(t))
    _blocks(_kernels(t, sums_of(t), b is not None)["blocks"], first, second, sums, (outer, length, width), fold, parts)
    _blocks(_kernels(sums_of(t), t, False)["blocks"], sums, sums, target, (1, parts, outer * width), 1, 1)


def _blocks(kernel: Any, a: array, b: array, out: array, extents: tuple[int, int, int], fold: int, parts: int) -> None:
    """Sums of `parts` equal parts of the length, laid out as parts x outer x width."""
    outer, length, width = extents
    columns = min(width, BLOCK)
    tiles = -(-width // columns)
    rows = BLOCK // columns
    step = 1 << (rows - 1).bit_length() >> 1  # the largest power of two below the number of rows
    part = -(-length // parts)
    args = [a, b, out, length, width, columns, step, fold, part, outer, tiles]
    run(kernel, parts * outer * tiles, args, out)


@cache
def _kernels(t: Scalar, result: Scalar, products: bool) -> dict[str, Any]:
    """For numbers of type `t`."""
    T, R, S = python_type(t), python_type(result), python_type(sums_of(t))

    @func
    def term(a: array(dtype=T), b: array(dtype=T), i: int64, fold: int):
        if not products:
            return S(a[i])
        sum = S(0)
        for k in range(fold):
            at = i * int64(fold) + int64(k)
            sum += S(a[at]) * S(b[at])
        return sum

    @kernel(**OPTIONS)
    def array_sum_each(
        a: array(dtype=T), b: array(dtype=T), out: array(dtype=R), length: int64, width: int64, fold: int
    ):
        outer = int64(tid()) // width
        at = outer * length * width + int64(tid()) - outer * width
        sum = S(0)
        for _ in range(length):
            sum += term(a, b, at, fold)
            at += width
        out[tid()] = R(sum)

    @kernel(**OPTIONS)
    def array_sum_blocks(
        a: array(dtype=T),
        b: array(dtype=T),
        out: array(dtype=R),
        length: int64,
        width: int64,
        columns: int,
        step: int,
        fold: int,
        part: int64,
        outer: int,
        tiles: int,
    ):
        t = thread_index()
        tile = block_index() - block_index() // tiles * tiles
        o = block_index() // tiles - block_index() // tiles // outer * outer
        begin = int64(block_index() // tiles // outer) * part
        end = min(begin + part, length)
        row, rows = t // columns, block_dim() // columns
        column = int64(tile * columns + t - row * columns)
        sum = S(0)
        if row < rows and column < width:
            at = (int64(o) * length + begin + int64(row)) * width + column
            for _ in range(begin + int64(row), end, int64(rows)):
                sum += term(a, b, at, fold)
                at += int64(rows) * width
        sums = shared_array(shape=block_dim(), dtype=S)
        sums[t] = sum
        syncthreads()
        k = step
        while k > 0:
            if row < k and row + k < rows:
                sums[t] += sums[t + k * columns]
            syncthreads()
            k //= 2
        if row == 0 and column < width:
            out[int64(block_index() // tiles) * width + column] = R(sums[t])

    return {"each": array_sum_each, "blocks": array_sum_blocks}
