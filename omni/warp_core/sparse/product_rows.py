"""The columns of the rows of a product, ascending, each once. Start with `product_rows`.

Columns of matrices are near each other, mostly. So a key stands for 32 columns: its upper bits say which, and each of
its lower 32 bits stands for one of them. Rows of factors give runs of ascending keys. The thread of a row merges two
runs at a time until one is left, and keys of the same columns become one.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import bit_count, min, tid, where
from ..algo.scan import array_scan
from ..arrays.array import array, array1d
from ..arrays.factories import empty
from ..dispatch import capture
from ..lang.kernel import func, kernel
from ..lang.values.scalars import int32, int64
from ..launches.launch import launch
from .matrix import BsrMatrix
from .policies import Pattern
from .rows import SYMBOLIC, row_end

_ONE_LANE: dict[str, Any] = {**SYMBOLIC, "lanes": 1}  # threads leave the loops of their rows at different times
_ALL_BITS = int64((1 << 32) - 1)  # of columns
_NO_KEY = int64(1 << 62)  # above all keys


def product_rows(x: BsrMatrix, y: BsrMatrix, z: BsrMatrix | None) -> Pattern:
    """Return the rows of `x @ y`, united with those of `z`. This waits for their number."""
    device = x.device
    capture.refuse("a product of sparse matrices needs to know how many blocks it has", device)
    of_x, of_y = ([m.offsets, m.row_counts, m.columns] for m in (x, y))
    of_z = [None, None, None] if z is None else [z.offsets, z.row_counts, z.columns]
    starts, offsets = (empty(x.nrow + 1, dtype=int32, device=device) for _ in range(2))
    launch(count_keys, x.nrow + 1, [x.nrow, *of_x, *of_y, *of_z, starts], device=device)
    count = _running_sums(starts)
    keys, merged = (empty(count + 1, dtype=int64, device=device) for _ in range(2))  # one is read beyond the last
    key_counts = empty(x.nrow, dtype=int32, device=device)
    arrays = [*of_x, *of_y, *of_z, starts, keys, merged, key_counts, offsets]
    launch(merge_keys, x.nrow + 1, [x.nrow, *arrays], device=device)
    count = _running_sums(offsets)
    columns = empty(count, dtype=int32, device=device)
    launch(write_columns, x.nrow, [starts, key_counts, keys, offsets, columns], device=device)
    return Pattern(x.nrow, y.ncol, count, offsets, None, columns)


def _running_sums(counts: array) -> int:
    """Replace counts by the sums of those before them, and return the last one."""
    array_scan(counts, counts, inclusive=False)
    return int(counts[counts.size - 1 :].numpy()[0])


@func
def _key(column: int) -> int64:
    return (int64(column >> 5) << int64(32)) | (int64(1) << int64(column & 31))


@func
def _is_same(key: int64, other: int64) -> bool:
    """True if keys stand for the same 32 columns."""
    return (key ^ other) <= _ALL_BITS


@func
def _count(columns: array1d(dtype=int), start: int, end: int) -> int:
    """The number of keys of columns."""
    number = 0
    last = -1
    for block in range(start, end):
        group = columns[block] >> 5
        number += where(group != last, 1, 0)
        last = group
    return number


@func
def _append(columns: array1d(dtype=int), start: int, end: int, keys: array1d(dtype=int64), at: int) -> int:
    """Write the keys of columns, and return where they end."""
    place = at
    key = int64(0)
    for block in range(start, end):
        other = _key(columns[block])
        is_next = block == start or not _is_same(key, other)
        if is_next and block > start:
            keys[place] = key
            place += 1
        key = where(is_next, other, key | other)
    if end > start:
        keys[place] = key
        place += 1
    return place


@func
def _run_end(keys: array1d(dtype=int64), start: int, end: int) -> int:
    """Where keys cease to ascend: those of the same columns are in different runs."""
    at = start + 1
    while at < end and (keys[at - 1] | _ALL_BITS) < keys[at]:
        at += 1
    return min(at, end)


@func
def _merge_runs(keys: array1d(dtype=int64), start: int, end: int, merged: array1d(dtype=int64)) -> tuple[int, int]:
    """Merge each two runs of ascending keys. Return where the keys end now, and how many runs they are."""
    runs = 0
    low = start
    place = start
    while low < end:
        middle = _run_end(keys, low, end)
        high = _run_end(keys, middle, end)
        i = low
        j = middle
        while i < middle or j < high:
            a = where(i < middle, keys[i], _NO_KEY)
            b = where(j < high, keys[j], _NO_KEY)
            is_same = _is_same(a, b)
            merged[place] = where(is_same, a | b, min(a, b))
            i += where(is_same or a < b, 1, 0)
            j += where(is_same or b < a, 1, 0)
            place += 1
        low = high
        runs += 1
    return place, runs


@kernel(**_ONE_LANE)
def count_keys(
    nrow: int,
    x_offsets: array1d(dtype=int),
    x_counts: array1d(dtype=int),
    x_columns: array1d(dtype=int),
    y_offsets: array1d(dtype=int),
    y_counts: array1d(dtype=int),
    y_columns: array1d(dtype=int),
    z_offsets: array1d(dtype=int),
    z_counts: array1d(dtype=int),
    z_columns: array1d(dtype=int),
    counts: array1d(dtype=int),
):
    """Count the keys of the rows of `y` that a row of `x` leads to, and of the row of `z`."""
    row = tid()
    number = 0
    if row < nrow:
        for block in range(x_offsets[row], row_end(x_offsets, x_counts, row)):
            k = x_columns[block]
            number += _count(y_columns, y_offsets[k], row_end(y_offsets, y_counts, k))
        if z_offsets:
            number += _count(z_columns, z_offsets[row], row_end(z_offsets, z_counts, row))
    counts[row] = number


@kernel(**_ONE_LANE)
def merge_keys(
    nrow: int,
    x_offsets: array1d(dtype=int),
    x_counts: array1d(dtype=int),
    x_columns: array1d(dtype=int),
    y_offsets: array1d(dtype=int),
    y_counts: array1d(dtype=int),
    y_columns: array1d(dtype=int),
    z_offsets: array1d(dtype=int),
    z_counts: array1d(dtype=int),
    z_columns: array1d(dtype=int),
    starts: array1d(dtype=int),
    keys: array1d(dtype=int64),
    merged: array1d(dtype=int64),
    key_counts: array1d(dtype=int),
    counts: array1d(dtype=int),
):
    """Write the keys of a row, ascending, and how many keys and columns there are."""
    row = tid()
    number = 0
    if row < nrow:
        start = starts[row]
        end = start
        for block in range(x_offsets[row], row_end(x_offsets, x_counts, row)):
            k = x_columns[block]
            end = _append(y_columns, y_offsets[k], row_end(y_offsets, y_counts, k), keys, end)
        if z_offsets:
            end = _append(z_columns, z_offsets[row], row_end(z_offsets, z_counts, row), keys, end)
        runs = 2
        while runs > 1:
            end, runs = _merge_runs(keys, start, end, merged)
            end, runs = _merge_runs(merged, start, end, keys)
        for at in range(start, end):
            number += bit_count(keys[at] & _ALL_BITS)
        key_counts[row] = end - start
    counts[row] = number


@kernel(**_ONE_LANE)
def write_columns(
    starts: array1d(dtype=int),
    key_counts: array1d(dtype=int),
    keys: array1d(dtype=int64),
    offsets: array1d(dtype=int),
    columns: array1d(dtype=int),
):
    """Write the columns that the keys of a row stand for."""
    row = tid()
    place = offsets[row]
    for at in range(starts[row], starts[row] + key_counts[row]):
        first = int(keys[at] >> int64(32)) << 5
        bits = keys[at] & _ALL_BITS
        while bits != int64(0):
            columns[place] = first + bit_count((bits & -bits) - int64(1))
            place += 1
            bits = bits & (bits - int64(1))
