"""Kernel functions that walk and search the rows of a matrix. Start with `row_end`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import min, tid
from ..arrays.array import array1d
from ..lang.kernel import func, kernel

__all__ = ["bsr_block_index", "bsr_row_index"]

SYMBOLIC: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}  # kernels of indices
NUMERIC: dict[str, Any] = {"module_options": {"mode": "release"}}  # kernels of values, which tapes record
_NEAR = 16  # columns that are looked at one by one before a search


@func
def row_end(offsets: array1d(dtype=int), row_counts: array1d(dtype=int), row: int) -> int:
    """One beyond the last active block of a row."""
    if row_counts:
        return offsets[row] + row_counts[row]
    return offsets[row + 1]


@func
def find_column(columns: array1d(dtype=int), start: int, end: int, column: int) -> int:
    """The index of a column among ascending ones, or -1."""
    low = start
    high = end
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    if low < end and columns[low] == column:
        return low
    return -1


@func
def next_column(columns: array1d(dtype=int), start: int, end: int, column: int) -> int:
    """Where the first column is that is not below another one, among ascending ones from `start` on. It is fast where
    that is near.
    """
    at = start
    near = min(start + _NEAR, end)
    while at < near and columns[at] < column:
        at += 1
    high = end
    if at < near:
        high = at
    while at < high:
        middle = (at + high) >> 1
        if columns[middle] < column:
            at = middle + 1
        else:
            high = middle
    return at


@func
def bsr_block_index(
    row: int,
    col: int,
    bsr_offsets: array1d(dtype=int),
    bsr_columns: array1d(dtype=int),
    bsr_row_counts: array1d(dtype=int) = None,
) -> int:
    """Return the index of the block at a row and a column of a matrix, or -1 for a block that is not stored.

    Args:
        row: The row of blocks.
        col: The column of blocks.
        bsr_offsets: The offsets of the matrix.
        bsr_columns: Its columns.
        bsr_row_counts: Its row counts, None for a compact matrix; may be left out.
    """
    return find_column(bsr_columns, bsr_offsets[row], row_end(bsr_offsets, bsr_row_counts, row), col)


@func
def row_of(offsets: array1d(dtype=int), row_count: int, block: int) -> int:
    """The row in whose memory a block lies, or -1."""
    if block < 0 or block >= offsets[row_count]:
        return -1
    low = 0
    high = row_count
    while high - low > 1:
        middle = (low + high) >> 1
        if offsets[middle] <= block:
            low = middle
        else:
            high = middle
    return low


@func
def bsr_row_index(
    offsets: array1d(dtype=int), row_count: int, block_index: int, row_counts: array1d(dtype=int) = None
) -> int:
    """Return the row of a block of a matrix, or -1 if no row has it.

    Args:
        offsets: The offsets of the matrix.
        row_count: Its number of rows.
        block_index: The index of the block.
        row_counts: Its row counts, None for a compact matrix; may be left out.
    """
    row = row_of(offsets, row_count, block_index)
    if row >= 0 and block_index >= row_end(offsets, row_counts, row):
        return -1
    return row


@kernel(**SYMBOLIC)
def slot_rows(offsets: array1d(dtype=int), row_counts: array1d(dtype=int), most: int, rows: array1d(dtype=int)):
    """Write the row of each active block."""
    row = tid()
    for block in range(offsets[row], row_end(offsets, row_counts, row)):
        if block < most:
            rows[block] = row
