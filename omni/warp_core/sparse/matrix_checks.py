"""Checks of matrices, and of the sizes and shapes that callers give. Start with `checked`.

Kernels of this room check no bounds. So a matrix whose sizes say more than its arrays hold must not get to them.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ..algo.argument_checks import check_count, integer
from ..dispatch import capture
from ..lang.types import Scalar
from ..lang.values.type_registry import wc_type

if TYPE_CHECKING:
    from .matrix import BsrMatrix

MOST = 2**31 - 1  # rows, columns and blocks that int32 counts
MAKERS = "make a matrix with wp.sparse.bsr_from_triplets, bsr_diag or bsr_identity"


def checked(matrix: BsrMatrix, name: str) -> BsrMatrix:
    """Return the matrix. Raises ValueError if its sizes say more than its arrays hold."""
    nrow, nnz, offsets, counts = matrix.nrow, matrix.nnz, matrix.offsets, matrix.row_counts
    columns, values = matrix.columns, matrix.values
    if offsets is None or columns is None or values is None:
        lacking = next(n for n in ("offsets", "columns", "values") if getattr(matrix, n) is None)
        raise ValueError(f"{name}: the matrix has no {lacking}; {MAKERS}")
    if nrow < 0 or matrix.ncol < 0 or offsets.size <= nrow or (counts is not None and counts.size < nrow):
        room = f"{offsets.size} offsets" + ("" if counts is None else f" and {counts.size} row counts")
        raise ValueError(
            f"{name}: nrow is {nrow} and ncol {matrix.ncol}, which do not fit {room}; "
            "change sizes with wp.sparse.bsr_set_zero(A, rows, columns)"
        )
    if not 0 <= nnz <= min(columns.size, values.size):
        raise ValueError(
            f"{name}: nnz is {nnz}, but there are {columns.size} columns and {values.size} values; "
            f"make room with A.notify_nnz_changed(nnz_capacity={max(nnz, 0)})"
        )
    if offsets.device.is_cpu and capture.innermost() is None:
        stored = ctypes.c_int32.from_address(offsets.ptr + nrow * offsets.strides[0]).value
        if not 0 <= stored <= nnz:
            raise ValueError(
                f"{name}: nnz is {nnz}, but the offsets say that there are {stored} blocks; "
                "after a change of offsets call A.notify_nnz_changed()"
            )
    return matrix


def sizes(rows: Any, cols: Any) -> tuple[int, int]:
    """Return numbers of rows and columns of blocks. Raises TypeError or ValueError for those that no matrix has."""
    reason = f"a matrix has at most {MOST} rows and columns of blocks"
    return check_count("rows_of_blocks", rows, MOST, reason), check_count("cols_of_blocks", cols, MOST, reason)


def capacity(name: str, given: Any) -> int:
    """Return a number of blocks. Raises TypeError or ValueError for one that no matrix has."""
    return check_count(name, given, MOST, f"a matrix has at most {MOST} blocks")


def scalar_type(name: str, given: Any) -> Any:
    """Return a type of numbers. Raises TypeError for other arguments."""
    try:
        t = wc_type(given)
    except TypeError:
        t = None
    if not isinstance(t, Scalar):
        raise TypeError(f"{name}: expected a scalar type such as wp.float64, got {getattr(given, '__name__', given)!r}")
    return given


def shape_of_blocks(given: Any) -> tuple[int, int]:
    """Return rows and columns of a block. Raises TypeError or ValueError for other arguments."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"block_shape: expected two numbers, rows and columns of a block, got {given!r}")
    rows, cols = (integer("block_shape", n) for n in given)
    if rows < 1 or cols < 1:
        raise ValueError(f"block_shape: a block has at least 1 row and 1 column, got {(rows, cols)}")
    return rows, cols
