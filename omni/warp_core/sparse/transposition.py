"""Transposed matrices. Start with `bsr_set_transpose`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import atomic_add, tid
from ..algo.scan import array_scan
from ..arrays.array import array, array1d
from ..arrays.factories import clone, empty, zeros
from ..dispatch import observers
from ..lang.kernel import kernel
from ..lang.values.scalars import int32
from ..launches.launch import launch
from .block_kernels import read_transposed
from .combination import bsr_copy
from .grouping import group, linked
from .matrix import BsrMatrix, block_numbers, block_type, new_matrix
from .matrix_operands import Operand, destination, operand
from .policies import Pattern, install, policy
from .rows import SYMBOLIC, row_end

__all__ = ["bsr_set_transpose", "bsr_transposed"]


def bsr_set_transpose(dest: BsrMatrix, src: Any, topology: str | None = None) -> None:
    """Assign a transposed matrix.

    Args:
        dest: The destination.
        src: The matrix to transpose.
        topology: As for `bsr_assign`.

    Raises:
        ValueError: If the block shape or the numbers of `dest` are not those of the transposed matrix.
    """
    dest = destination(dest, "dest")
    matrix, scale = operand(src, "src")
    chosen = policy(topology)
    rows, cols = matrix.block_shape
    if dest.block_shape != (cols, rows):
        raise ValueError(f"Destination block shape must be {(cols, rows)}, got {dest.block_shape}")
    if dest.scalar_type is not matrix.scalar_type:
        names = dest.scalar_type.__name__, matrix.scalar_type.__name__
        raise ValueError(f"Matrices must have the same scalar type, got {names[0]} and {names[1]}")
    if matrix is dest:
        matrix = bsr_copy(matrix)
    with observers.NotRecording():
        pattern, order = _counted_rows(matrix) if matrix.device.is_cpu else _sorted_rows(matrix)
        links = linked(order, install(dest, pattern, chosen, matrix.requires_grad))
    shape = dest.block_shape
    blocks = block_numbers(matrix.values, (rows, cols)), block_numbers(dest.values, shape)
    launch(read_transposed, (dest.nnz, *shape), [links, *blocks, matrix._number(scale)], device=dest.device)


def _sorted_rows(matrix: BsrMatrix) -> tuple[Pattern, array]:
    """Return the rows of the transposed matrix, and the block that belongs to each of theirs, by a sort."""
    sizes = matrix.ncol, matrix.nrow
    found = group(sizes, matrix.columns, matrix.uncompress_rows(), matrix.nnz, has_sorted_columns=True)
    return found.pattern, found.order


def _counted_rows(matrix: BsrMatrix) -> tuple[Pattern, array]:
    """The same by one thread that goes through the blocks in order, which on a CPU takes less than a sort."""
    device, rows = matrix.device, [matrix.offsets, matrix.row_counts, matrix.columns]
    offsets = zeros(matrix.ncol + 1, dtype=int32, device=device)
    launch(count_columns, matrix.nrow, [*rows, offsets[1:]], device=device)
    array_scan(offsets, offsets)
    columns, order = (empty(matrix.nnz, dtype=int32, device=device) for _ in range(2))
    launch(deal_blocks, matrix.nrow, [*rows, clone(offsets), columns, order], device=device)
    return Pattern(matrix.ncol, matrix.nrow, matrix.nnz, offsets, None, columns), order


def bsr_transposed(A: Any) -> BsrMatrix:
    """Return a transposed copy of a matrix.

    Args:
        A: The matrix.

    >>> A = wp.sparse.bsr_zeros(2, 3, float)
    >>> wp.sparse.bsr_transposed(A).shape
    (3, 2)
    """
    matrix, scale = operand(A, "A")
    rows, cols = matrix.block_shape
    dtype = block_type(matrix.scalar_type, (cols, rows), matrix.dtype)
    made = new_matrix(matrix.ncol, matrix.nrow, dtype, matrix.device, 0)
    bsr_set_transpose(made, Operand(matrix, scale).scaled())
    return made


@kernel(**SYMBOLIC)
def count_columns(
    offsets: array1d(dtype=int), row_counts: array1d(dtype=int), columns: array1d(dtype=int), counts: array1d(dtype=int)
):
    """Count the blocks of each column."""
    row = tid()
    for block in range(offsets[row], row_end(offsets, row_counts, row)):
        atomic_add(counts, columns[block], 1)


@kernel(serial=True, **SYMBOLIC)
def deal_blocks(
    offsets: array1d(dtype=int),
    row_counts: array1d(dtype=int),
    columns: array1d(dtype=int),
    ends: array1d(dtype=int),
    rows: array1d(dtype=int),
    order: array1d(dtype=int),
):
    """Append the blocks of a row to their columns, after those of the rows before."""
    row = tid()
    for block in range(offsets[row], row_end(offsets, row_counts, row)):
        at = ends[columns[block]]
        ends[columns[block]] = at + 1
        rows[at] = row
        order[at] = block
