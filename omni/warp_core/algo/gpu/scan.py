"""Running sums on GPUs, in three launches. The numbers are cut into `_CHUNKS` chunks, a block for each.

Each block sums up its chunk; one block makes the sums before each chunk; each block goes over its chunk again and
writes. Where all is in one chunk the last launch does. A chunk is read in tiles of `_TILE` numbers, through shared
memory, so that neighbouring threads read neighbouring numbers while each adds up `_ITEMS` in a row.

Each part below is a chain of additions in order, in float64 for floats. A result is (sum of groups of chunks before) +
((of chunks of the group) + ((of tiles of the chunk) + ((of groups of threads) + ((of threads of the group) + (of
numbers of the thread))))). So no sum is less than the one before if no number is negative, and results depend on the
number of elements alone. Elements of several components are scanned component by component, by blocks of their own.
"""

# Annotations are values here: the types of kernels that functions make.
# mypy: disable-error-code="valid-type"

from functools import cache
from typing import Any

from ... import block_dim, block_index, int64, shared_array, syncthreads, thread_index
from ...arrays.array import array
from ...lang.kernel import func, kernel
from ...lang.types import Scalar
from ...lang.values.value_classes import python_type
from ..argument_checks import components, scalar_of
from .temporaries import BLOCK, OPTIONS, numbers, run, sums_of, temporary

_ITEMS = 8
_TILE = BLOCK * _ITEMS
_GROUP = 16  # threads whose sums are added one after the other
_CHUNKS = 512
_LEAST_CHUNK = 4 * _TILE  # numbers; shorter arrays take one launch


def scan(source: array, out: array, inclusive: bool) -> None:
    """Write the running sums of a contiguous array into another, or into itself."""
    if source.size:
        scan_numbers(numbers(source), numbers(out), source.size, components(source), inclusive)


def scan_numbers(source: array, out: array, count: int, width: int, inclusive: bool) -> None:
    """Write the running sums of `count` elements of `width` numbers."""
    t = scalar_of(source)
    assert isinstance(t, Scalar)
    kernels = _kernels(t)
    span = max(_LEAST_CHUNK, -(-count // (_CHUNKS * _TILE)) * _TILE)
    chunks = -(-count // span)
    before = temporary(source, 2 * chunks * width if chunks > 1 else 0, sums_of(t))
    if chunks > 1:
        sums = temporary(source, chunks * width, sums_of(t))
        run(kernels["total"], chunks * width, [source, count, width, span, sums], source)
        run(kernels["chain"], width, [sums, chunks, width, before], source, _CHUNKS)
    run(kernels["write"], chunks * width, [source, out, count, width, span, int(inclusive), before], source)


@cache
def _functions(t: Scalar) -> tuple[Any, ...]:
    """Return the functions with which blocks process a tile: (chains, place, total_of, fetch, tiles_of)."""
    T, S = python_type(t), python_type(sums_of(t))

    @func
    def chains(total: S):
        """Of the totals of the threads: the sum of groups before, of threads before in the group, and of all."""
        t = thread_index()
        totals = shared_array(shape=block_dim(), dtype=S)
        groups = shared_array(shape=block_dim() // _GROUP, dtype=S)
        totals[t] = total
        syncthreads()
        group = t // _GROUP
        before = S(0)
        for i in range(_GROUP):
            if group * _GROUP + i < t:
                before += totals[group * _GROUP + i]
        if t == group * _GROUP + _GROUP - 1:
            groups[group] = before + total
        syncthreads()
        groups_before = S(0)
        every = S(0)
        for i in range(block_dim() // _GROUP):
            if i == group:
                groups_before = every
            every += groups[i]
        return groups_before, before, every

    @func
    def place(i: int):
        """Return the position of number i of a tile in shared memory. The numbers of the threads are in different
        banks.
        """
        return i + i // _ITEMS

    @func
    def total_of(tile: array(dtype=T)):
        """The sum of the numbers of this thread."""
        total = S(0)
        for i in range(_ITEMS):
            total += S(tile[place(thread_index() * _ITEMS + i)])
        return total

    @func
    def fetch(tile: array(dtype=T), source: array(dtype=T), first: int64, count: int64, width: int, c: int):
        """Read a tile, zeros beyond the end."""
        for i in range(_ITEMS):
            at = i * block_dim() + thread_index()
            number = T(0)
            if first + int64(at) < count:
                number = source[(first + int64(at)) * int64(width) + int64(c)]
            tile[place(at)] = number

    @func
    def tiles_of(first: int64, span: int64, count: int64):
        """Return the number of tiles in the chunk that begins at `first`."""
        return int((min(span, count - first) + int64(_TILE - 1)) // int64(_TILE))

    return chains, place, total_of, fetch, tiles_of


@cache
def _kernels(t: Scalar) -> dict[str, Any]:
    T, S = python_type(t), python_type(sums_of(t))
    chains, place, total_of, fetch, tiles_of = _functions(t)

    @kernel(**OPTIONS)
    def array_scan_total(source: array(dtype=T), count: int64, width: int, span: int64, sums: array(dtype=S)):
        tile = shared_array(shape=_TILE + BLOCK, dtype=T)
        chunk = block_index() // width
        first = int64(chunk) * span
        sum = S(0)
        for k in range(tiles_of(first, span, count)):
            fetch(tile, source, first + int64(k * _TILE), count, width, block_index() - chunk * width)
            syncthreads()
            _, _, every = chains(total_of(tile))
            sum += every
        if thread_index() == 0:
            sums[block_index()] = sum

    @kernel(**OPTIONS)
    def array_scan_chain(sums: array(dtype=S), chunks: int, width: int, before: array(dtype=S)):
        at = thread_index() * width + block_index()
        total = S(0)
        if thread_index() < chunks:
            total = sums[at]
        groups, chunk, _ = chains(total)
        if thread_index() < chunks:
            before[2 * at] = groups
            before[2 * at + 1] = chunk

    @kernel(**OPTIONS)
    def array_scan_write(
        source: array(dtype=T),
        out: array(dtype=T),
        count: int64,
        width: int,
        span: int64,
        inclusive: int,
        before: array(dtype=S),
    ):
        tile = shared_array(shape=_TILE + BLOCK, dtype=T)
        t = thread_index()
        c = block_index() - block_index() // width * width
        chunk = int64(block_index() // width) * span
        groups_before = S(0)
        chunks_before = S(0)
        if before.shape[0] > 0:
            groups_before = before[2 * block_index()]
            chunks_before = before[2 * block_index() + 1]
        tiles_before = S(0)
        for k in range(tiles_of(chunk, span, count)):
            first = chunk + int64(k * _TILE)
            fetch(tile, source, first, count, width, c)
            syncthreads()
            groups, threads, every = chains(total_of(tile))
            sum = S(0)
            for i in range(_ITEMS):
                at = place(t * _ITEMS + i)
                here = sum + S(tile[at])
                shown = sum
                if inclusive != 0:
                    shown = here
                tile[at] = T(groups_before + (chunks_before + (tiles_before + (groups + (threads + shown)))))
                sum = here
            syncthreads()
            for i in range(_ITEMS):
                at = i * block_dim() + t
                if first + int64(at) < count:
                    out[(first + int64(at)) * int64(width) + int64(c)] = tile[place(at)]
            syncthreads()
            tiles_before += every

    return {"total": array_scan_total, "chain": array_scan_chain, "write": array_scan_write}
