"""Where the blocks of a result go: three policies, in one place for all operations.

An operation finds the rows of its result, a `Pattern`. `install` brings them into the destination and returns a link
for each of its slots: which block of the pattern belongs there, or -1. The kernels of values go by the links.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any, NamedTuple

from .. import tid
from ..algo.scan import array_scan
from ..arrays.array import array, array1d
from ..arrays.factories import empty, zeros
from ..arrays.transfer import copy
from ..lang.kernel import kernel
from ..lang.values.scalars import int32
from ..launches.launch import launch
from .matrix import BSR_STATUS_ROW_CAPACITY_EXCEEDED, BsrMatrix, reserve, status_of
from .rows import SYMBOLIC, find_column, row_end

POLICIES = ("compact", "masked", "padded")


class Pattern(NamedTuple):
    """Rows of columns, ascending in each: those of a matrix, or those that a result wants to have."""

    nrow: int
    ncol: int
    nnz: int  # an upper bound
    offsets: array
    row_counts: array | None
    columns: array


def pattern_of(matrix: BsrMatrix) -> Pattern:
    """Return the pattern of a matrix; the arrays are its own."""
    m = matrix
    return Pattern(m.nrow, m.ncol, m.nnz, m.offsets, m.row_counts, m.columns)


def policy(topology: Any, allowed: tuple[str, ...] = POLICIES) -> str:
    """Return the policy that an argument means. Raises ValueError for one that is not allowed."""
    if topology is None:
        return "compact"
    if not isinstance(topology, str) or topology not in allowed:
        raise ValueError(f"Unsupported topology policy: {topology!r}; expected one of {', '.join(allowed)}")
    return topology


def install(dest: BsrMatrix, pattern: Pattern, topology: str, gradient: bool) -> array:
    """Bring a pattern into a matrix, and return the link of each slot. Values stay to be written.

    Args:
        dest: The matrix. Its sizes become those of the pattern, unless the policy keeps its rows.
        pattern: The rows that its result wants to have. No array of it is one of `dest`, unless its rows are.
        topology: The policy.
        gradient: Whether the result depends on values with gradients.

    Raises:
        ValueError: If the policy keeps rows, and the pattern has other sizes.
    """
    if topology == "compact":
        return _install_compact(dest, pattern, gradient)
    if (dest.nrow, dest.ncol) != (pattern.nrow, pattern.ncol):
        raise ValueError(
            f"Incompatible number of rows/columns for topology={topology!r}, which keeps the rows of the matrix: got "
            f"{(dest.nrow, dest.ncol)} and {(pattern.nrow, pattern.ncol)}"
        )
    if gradient and not dest.values.requires_grad:
        dest.values.requires_grad = True
    if topology == "masked":
        return links_of_mask(dest, pattern)
    return _install_padded(dest, pattern)


def _install_compact(dest: BsrMatrix, pattern: Pattern, gradient: bool) -> array:
    device = dest.device
    reserve(dest, pattern.nnz, gradient)
    if dest.offsets.size <= pattern.nrow:
        dest.offsets = empty(pattern.nrow + 1, dtype=int32, device=device)
    dest.nrow, dest.ncol, dest.nnz, dest.row_counts = pattern.nrow, pattern.ncol, pattern.nnz, None
    if pattern.row_counts is None:
        copy(dest.offsets, pattern.offsets, count=pattern.nrow + 1)
    else:
        copy(dest.offsets, pattern.row_counts, 1, 0, count=pattern.nrow)
        dest.offsets[:1].zero_()
        counts = dest.offsets[1 : pattern.nrow + 1]
        array_scan(counts, counts)
    links = _empty_links(dest)
    arrays = [pattern.offsets, pattern.row_counts, pattern.columns, dest.offsets, dest.columns, links]
    launch(copy_rows, pattern.nrow, arrays, device=device)
    return links


def _install_padded(dest: BsrMatrix, pattern: Pattern) -> array:
    if dest.row_counts is None:
        dest.row_counts = zeros(dest.nrow, dtype=int32, device=dest.device)
    links = _empty_links(dest)
    arrays = [pattern.offsets, pattern.row_counts, pattern.columns]
    arrays += [dest.offsets, dest.row_counts, dest.columns, links, status_of(dest)]
    launch(fill_rows, dest.nrow, arrays, device=dest.device)
    return links


def links_of_mask(dest: BsrMatrix, pattern: Pattern) -> array:
    """Return the link of each slot of a matrix that keeps its rows."""
    links = _empty_links(dest)
    arrays = [pattern.offsets, pattern.row_counts, pattern.columns]
    launch(find_rows, dest.nrow, [*arrays, dest.offsets, dest.row_counts, dest.columns, links], device=dest.device)
    return links


def _empty_links(dest: BsrMatrix) -> array:
    """Links to be written row by row; slots behind the last row have none."""
    links = empty(dest.nnz, dtype=int32, device=dest.device)
    launch(clear_links, dest.nnz, [links, dest.offsets, dest.nrow], device=dest.device)
    return links


@kernel(**SYMBOLIC)
def clear_links(links: array1d(dtype=int), offsets: array1d(dtype=int), nrow: int):
    """Let the slots behind the last row have no link."""
    slot = tid()
    if slot >= offsets[nrow]:
        links[slot] = -1


@kernel(**SYMBOLIC)
def copy_rows(
    offsets: array1d(dtype=int),
    row_counts: array1d(dtype=int),
    columns: array1d(dtype=int),
    new_offsets: array1d(dtype=int),
    new_columns: array1d(dtype=int),
    links: array1d(dtype=int),
):
    """Copy the columns of each row to where it begins now."""
    row = tid()
    shift = new_offsets[row] - offsets[row]
    for block in range(offsets[row], row_end(offsets, row_counts, row)):
        new_columns[block + shift] = columns[block]
        links[block + shift] = block


@kernel(**SYMBOLIC)
def fill_rows(
    offsets: array1d(dtype=int),
    row_counts: array1d(dtype=int),
    columns: array1d(dtype=int),
    dest_offsets: array1d(dtype=int),
    dest_counts: array1d(dtype=int),
    dest_columns: array1d(dtype=int),
    links: array1d(dtype=int),
    status: array1d(dtype=int),
):
    """Copy the columns of each row into the room it has, or leave it empty if there is too little."""
    row = tid()
    start = dest_offsets[row]
    room = dest_offsets[row + 1] - start
    count = row_end(offsets, row_counts, row) - offsets[row]
    if count > room:
        status[0] = BSR_STATUS_ROW_CAPACITY_EXCEEDED
        count = 0
    dest_counts[row] = count
    for i in range(room):
        if i < count:
            dest_columns[start + i] = columns[offsets[row] + i]
            links[start + i] = offsets[row] + i
        else:
            links[start + i] = -1


@kernel(**SYMBOLIC)
def find_rows(
    offsets: array1d(dtype=int),
    row_counts: array1d(dtype=int),
    columns: array1d(dtype=int),
    dest_offsets: array1d(dtype=int),
    dest_counts: array1d(dtype=int),
    dest_columns: array1d(dtype=int),
    links: array1d(dtype=int),
):
    """Find the block of the pattern for each block that the destination has."""
    row = tid()
    start = offsets[row]
    end = row_end(offsets, row_counts, row)
    active = row_end(dest_offsets, dest_counts, row)
    for slot in range(dest_offsets[row], dest_offsets[row + 1]):
        link = -1
        if slot < active:
            link = find_column(columns, start, end, dest_columns[slot])
        links[slot] = link
