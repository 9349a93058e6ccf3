"""Entries at rows and columns, in any order, as rows of ascending columns: a sort that keeps the order of equal ones.

Start with `group`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import NamedTuple

from .. import tid
from ..algo.scan import array_scan
from ..algo.sort import radix_sort_pairs
from ..arrays.array import array, array1d
from ..arrays.factories import empty, zeros
from ..lang.kernel import kernel
from ..lang.values.scalars import bool as bool_type
from ..lang.values.scalars import int32, int64
from ..launches.launch import launch
from .policies import Pattern
from .rows import SYMBOLIC


class Groups(NamedTuple):
    """Entries grouped by where they are. Group `g` has the entries `order[starts[g]]` to `order[starts[g + 1]]`."""

    pattern: Pattern
    order: array
    starts: array


def group(
    sizes: tuple[int, int],
    rows: array,
    columns: array,
    number: int,
    count: array | None = None,
    keep: array | None = None,
    has_sorted_columns: bool = False,
) -> Groups:
    """Group entries by their rows and columns. Those out of range are left out.

    Args:
        sizes: Number of rows and columns.
        rows: The row of each entry.
        columns: The column of each.
        number: How many entries there are at most.
        count: How many there are, on the device; as many as `number` if left out.
        keep: Whether each counts; all if left out.
        has_sorted_columns: Whether columns ascend already, so that a sort by rows is enough.
    """
    nrow, ncol = sizes
    device = rows.device
    shift = max(ncol - 1, 0).bit_length()
    keys, order = empty(2 * number, dtype=int64, device=device), empty(2 * number, dtype=int32, device=device)
    launch(make_keys, number, [rows, columns, count, keep, nrow, ncol, shift, keys, order], device=device)
    radix_sort_pairs(keys, order, number, shift if has_sorted_columns else 0, shift + nrow.bit_length())
    groups = empty(number, dtype=int32, device=device)
    launch(mark_heads, number, [keys, int64(nrow) << int64(shift), groups], device=device)
    array_scan(groups, groups)
    offsets, starts = (zeros(n + 1, dtype=int32, device=device) for n in (nrow, number))
    found = empty(number, dtype=int32, device=device)
    launch(write_groups, number, [keys, groups, number, nrow, shift, offsets, found, starts], device=device)
    return Groups(Pattern(nrow, ncol, number, offsets, None, found), order, starts)


def linked(order: array, links: array) -> array:
    """The entry of each slot whose group has one entry: `links` lead to groups."""
    launch(follow_links, links.size, [order, links], device=links.device)
    return links


@kernel(**SYMBOLIC)
def make_keys(
    rows: array1d(dtype=int),
    columns: array1d(dtype=int),
    count: array1d(dtype=int),
    keep: array1d(dtype=bool_type),
    nrow: int,
    ncol: int,
    shift: int,
    keys: array1d(dtype=int64),
    order: array1d(dtype=int),
):
    """Write one number for row and column; the largest for entries that are left out."""
    i = tid()
    row = rows[i]
    column = columns[i]
    is_there = row >= 0 and row < nrow and column >= 0 and column < ncol
    if count:
        is_there = is_there and i < count[0]
    if keep:
        is_there = is_there and keep[i]
    key = int64(nrow) << int64(shift)
    if is_there:
        key = (int64(row) << int64(shift)) | int64(column)
    keys[i] = key
    order[i] = i


@kernel(**SYMBOLIC)
def mark_heads(keys: array1d(dtype=int64), beyond: int64, heads: array1d(dtype=int)):
    """Mark the first entry of each group."""
    i = tid()
    is_head = keys[i] < beyond
    if i > 0:
        is_head = is_head and keys[i] != keys[i - 1]
    heads[i] = 1 if is_head else 0


@kernel(**SYMBOLIC)
def write_groups(
    keys: array1d(dtype=int64),
    groups: array1d(dtype=int),
    number: int,
    nrow: int,
    shift: int,
    offsets: array1d(dtype=int),
    columns: array1d(dtype=int),
    starts: array1d(dtype=int),
):
    """Write where rows and groups begin, and the column of each group."""
    i = tid()
    row = int(keys[i] >> int64(shift))
    if row >= nrow:
        return
    after = groups[i]
    before = 0
    last_row = -1
    if i > 0:
        before = groups[i - 1]
        last_row = int(keys[i - 1] >> int64(shift))
    if after > before:
        columns[before] = int(keys[i] & ((int64(1) << int64(shift)) - int64(1)))
        starts[before] = i
        for r in range(last_row + 1, row + 1):
            offsets[r] = before
    is_last = i + 1 == number
    if not is_last:
        is_last = int(keys[i + 1] >> int64(shift)) >= nrow
    if is_last:
        starts[after] = i + 1
        for r in range(row + 1, nrow + 1):
            offsets[r] = after


@kernel(**SYMBOLIC)
def follow_links(order: array1d(dtype=int), links: array1d(dtype=int)):
    """Replace groups by their first entries."""
    slot = tid()
    if links[slot] >= 0:
        links[slot] = order[links[slot]]
