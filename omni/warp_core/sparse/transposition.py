"""Transposed matrices. Start with `bsr_set_transpose`."""

from __future__ import annotations

from typing import Any

from ..dispatch import observers
from ..launches.launch import launch
from .block_kernels import read_transposed
from .combination import bsr_copy
from .grouping import group, linked
from .matrix import BsrMatrix, Operand, block_numbers, block_type, new_matrix, operand
from .policies import install, policy

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
    matrix, scale = operand(src)
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
        rows_of_slots, sizes = matrix.uncompress_rows(), (matrix.ncol, matrix.nrow)
        found = group(sizes, matrix.columns, rows_of_slots, matrix.nnz, has_sorted_columns=True)
        links = linked(found.order, install(dest, found.pattern, chosen, matrix.requires_grad))
    shape = dest.block_shape
    blocks = block_numbers(matrix.values, (rows, cols)), block_numbers(dest.values, shape)
    launch(read_transposed, (dest.nnz, *shape), [links, *blocks, matrix.scalar_type(scale)], device=dest.device)


def bsr_transposed(A: Any) -> BsrMatrix:
    """Return a transposed copy of a matrix.

    Args:
        A: The matrix.

    >>> A = wp.sparse.bsr_zeros(2, 3, float)
    >>> wp.sparse.bsr_transposed(A).shape
    (3, 2)
    """
    matrix, scale = operand(A)
    rows, cols = matrix.block_shape
    dtype = block_type(matrix.scalar_type, (cols, rows), matrix.dtype)
    made = new_matrix(matrix.ncol, matrix.nrow, dtype, matrix.device, 0)
    bsr_set_transpose(made, Operand(matrix, scale).scaled())
    return made
