"""Rows that a program wrote itself, made those of a matrix again: ascending columns, each once. See `bsr_compress`."""

from __future__ import annotations

from ..arrays.factories import clone
from ..dispatch import observers
from .grouping import group
from .matrix import BsrMatrix, block_numbers
from .matrix_operands import destination
from .policies import install, policy
from .triplets import bsr_set_from_triplets

__all__ = ["bsr_compress"]


def bsr_compress(
    src: BsrMatrix,
    prune_numerical_zeros: bool = True,
    inplace: bool = False,
    topology: str | None = None,
    structure_only: bool = False,
) -> BsrMatrix:
    """Sort the blocks of each row by columns, sum those of one column, and leave out columns out of range.

    Args:
        src: The matrix, which changes.
        prune_numerical_zeros: Whether blocks of zeros are left out.
        inplace: Taken; the result is the same.
        topology: "compact", or "padded" to keep the room of rows.
        structure_only: Whether columns alone change, so that values mean nothing.

    Returns:
        The matrix.
    """
    src, chosen = destination(src, "src"), policy(topology, ("compact", "padded"))
    with observers.NotRecording():
        rows, columns = src.uncompress_rows(), clone(src.columns)[: src.nnz]
    if structure_only:
        with observers.NotRecording():
            pattern = group((src.nrow, src.ncol), rows, columns, src.nnz).pattern
            install(src, pattern, chosen, gradient=False)
        return src
    values = block_numbers(clone(src.values)[: src.nnz], src.block_shape)
    bsr_set_from_triplets(src, rows, columns, values, None, prune_numerical_zeros, chosen)
    return src
