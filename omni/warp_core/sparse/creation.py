"""Empty, zero and diagonal matrices, and diagonals of matrices. Start with `bsr_zeros`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import tid
from ..algo.argument_checks import require_arrays, require_elements
from ..algo.scan import array_scan
from ..arrays import elements
from ..arrays.array import array, array1d
from ..arrays.factories import empty, zeros
from ..arrays.transfer import copy
from ..dispatch import observers
from ..lang.kernel import kernel
from ..lang.types import I32
from ..lang.values.scalars import int32
from ..lang.values.type_registry import wc_type
from ..launches.launch import launch
from .block_values import copy_blocks
from .matrix import BsrMatrix, new_matrix, reserve
from .matrix_checks import capacity, sizes
from .matrix_operands import destination, operand
from .policies import policy
from .rows import SYMBOLIC, find_column, row_end

__all__ = [
    *("bsr_diag", "bsr_get_diag", "bsr_identity", "bsr_set_diag", "bsr_set_identity", "bsr_set_zero", "bsr_zeros"),
]


def bsr_zeros(
    rows_of_blocks: int,
    cols_of_blocks: int,
    block_type: Any,
    device: Any = None,
    *,
    topology: str | None = None,
    row_capacity: int | array | None = None,
    nnz_capacity: int | None = None,
) -> BsrMatrix:
    """Return a matrix without blocks.

    Args:
        rows_of_blocks: Number of rows of blocks.
        cols_of_blocks: Number of columns of blocks.
        block_type: The type of blocks: a scalar type, or a matrix type such as `wp.mat33`.
        device: Where its arrays are.
        topology: "compact", or "padded" for rows with room of their own; "padded" if `row_capacity` is given.
        row_capacity: The room of each row: a number of blocks, or an array of one for each row.
        nnz_capacity: For how many blocks there is room in all.

    Raises:
        ValueError: If the block type is neither, or the options do not fit.

    >>> A = wp.sparse.bsr_zeros(2, 3, wp.mat22)
    >>> A.shape, A.nnz
    ((4, 6), 0)
    """
    chosen = "padded" if topology is None and row_capacity is not None else policy(topology, ("compact", "padded"))
    made = new_matrix(*sizes(rows_of_blocks, cols_of_blocks), block_type, device)
    bsr_set_zero(made, topology=chosen, row_capacity=row_capacity, nnz_capacity=nnz_capacity)
    return made


def bsr_set_zero(
    bsr: BsrMatrix,
    rows_of_blocks: int | None = None,
    cols_of_blocks: int | None = None,
    *,
    topology: str = "compact",
    row_capacity: int | array | None = None,
    nnz_capacity: int | None = None,
) -> None:
    """Make a matrix zero, and give it other sizes if wanted.

    Args:
        bsr: The matrix.
        rows_of_blocks: The new number of rows of blocks; as it is if left out.
        cols_of_blocks: The new number of columns of blocks; as it is if left out.
        topology: "compact" removes all blocks. "padded" does, too, and keeps the room of each row. "masked" keeps the
            blocks, with values of zero.
        row_capacity: The room of each row, for "padded"; the present one if left out.
        nnz_capacity: For how many blocks there is room in all.

    Raises:
        ValueError: If the options do not fit.
    """
    bsr, chosen = destination(bsr, "bsr"), policy(topology)
    nrow, ncol = sizes(
        bsr.nrow if rows_of_blocks is None else rows_of_blocks, bsr.ncol if cols_of_blocks is None else cols_of_blocks
    )
    if row_capacity is not None and chosen != "padded":
        raise ValueError("row_capacity requires topology='padded'")
    if chosen == "masked":
        if (nrow, ncol) != (bsr.nrow, bsr.ncol):
            raise ValueError("topology='masked' keeps the blocks of a matrix, so its sizes cannot change")
        bsr.values.zero_()
        return
    with observers.NotRecording():
        if chosen == "compact":
            bsr.row_counts, bsr.nnz = None, 0
            _resize(bsr, nrow)
            bsr.offsets.zero_()
        else:
            _set_capacity(bsr, nrow, row_capacity)
            bsr.row_counts = zeros(nrow, dtype=int32, device=bsr.device)
        bsr.nrow, bsr.ncol = nrow, ncol
        bsr.notify_nnz_changed(bsr.nnz, nnz_capacity)


def _resize(bsr: BsrMatrix, nrow: int) -> None:
    if bsr.offsets.size <= nrow:
        bsr.offsets = empty(nrow + 1, dtype=int32, device=bsr.device)


def _set_capacity(bsr: BsrMatrix, nrow: int, row_capacity: int | array | None) -> None:
    """Set the offsets to rows of a room that is the same, one for each, or the present one."""
    if row_capacity is None:
        kept = min(nrow, bsr.nrow)
        old = bsr.offsets
        bsr.offsets = empty(nrow + 1, dtype=int32, device=bsr.device)
        launch(keep_offsets, nrow + 1, [old, kept, bsr.offsets], device=bsr.device)
        if kept < bsr.nrow:
            bsr.nnz = min(bsr.nnz, bsr.offsets.size and int(bsr.offsets[nrow : nrow + 1].numpy()[0]))
        return
    bsr.offsets = zeros(nrow + 1, dtype=int32, device=bsr.device)
    if isinstance(row_capacity, array):
        require_elements("row_capacity", row_capacity, I32)
        room = row_capacity.numpy()
        if room.size != nrow:
            raise ValueError(f"row_capacity: expected {nrow} elements, one for each row, got {room.size}")
        if (room < 0).any():
            raise ValueError(f"row_capacity: must not be negative, got {room.min()}")
        copy(bsr.offsets, row_capacity, 1, 0, count=nrow)
        array_scan(bsr.offsets, bsr.offsets)
        bsr.nnz = int(room.sum())
    else:
        each = capacity("row_capacity", row_capacity)
        bsr.nnz = capacity("row_capacity times the rows", nrow * each)
        launch(even_offsets, nrow + 1, [bsr.offsets, each], device=bsr.device)


def bsr_identity(rows_of_blocks: int, block_type: Any, device: Any = None) -> BsrMatrix:
    """Return a square identity matrix.

    Args:
        rows_of_blocks: Number of rows and columns of blocks.
        block_type: The type of blocks: a scalar or square matrix type.
        device: Where its arrays are.

    Raises:
        ValueError: If blocks are not square.
    """
    made = bsr_zeros(rows_of_blocks, rows_of_blocks, block_type, device)
    bsr_set_identity(made)
    return made


def bsr_set_identity(A: BsrMatrix, rows_of_blocks: int | None = None) -> None:
    """Make a matrix the identity.

    Args:
        A: The matrix.
        rows_of_blocks: The new number of rows and columns of blocks; as it is if left out.

    Raises:
        ValueError: If blocks are not square.
    """
    rows, cols = destination(A, "A").block_shape
    if rows != cols:
        raise ValueError(f"the identity needs square blocks, got blocks of {rows} x {cols}")
    one = A.dtype(*(i == j for i in range(rows) for j in range(rows)))
    bsr_set_diag(A, one, rows_of_blocks, rows_of_blocks)


def bsr_diag(
    diag: Any = None,
    rows_of_blocks: int | None = None,
    cols_of_blocks: int | None = None,
    block_type: Any = None,
    device: Any = None,
) -> BsrMatrix:
    """Return a block-diagonal matrix.

    Args:
        diag: An array of the diagonal's blocks, one block for all of them, or None for blocks that are not set.
        rows_of_blocks: Number of rows of blocks; as many as columns, or as blocks in the array, if left out.
        cols_of_blocks: Number of columns of blocks; likewise.
        block_type: The type of blocks if `diag` is None.
        device: Where its arrays are, if `diag` is no array.

    Raises:
        ValueError: If the sizes or the type are missing.

    >>> wp.sparse.bsr_diag(wp.array([2.0, 3.0], dtype=float)).values.list()
    [2.0, 3.0]
    """
    if isinstance(diag, array):
        block_type, device = diag.dtype, diag.device
        if rows_of_blocks is None and cols_of_blocks is None:
            rows_of_blocks = cols_of_blocks = diag.size
    elif block_type is None:
        if diag is None:
            raise ValueError("bsr_diag: give `block_type`, as `diag` has none")
        block_type = float if isinstance(diag, (int, float)) else type(diag)
    rows_of_blocks = cols_of_blocks if rows_of_blocks is None else rows_of_blocks
    cols_of_blocks = rows_of_blocks if cols_of_blocks is None else cols_of_blocks
    if rows_of_blocks is None or cols_of_blocks is None:
        raise ValueError("bsr_diag: give `rows_of_blocks` or `cols_of_blocks`, as `diag` is no array")
    made = bsr_zeros(rows_of_blocks, cols_of_blocks, block_type, device)
    bsr_set_diag(made, diag)
    return made


def bsr_set_diag(A: BsrMatrix, diag: Any, rows_of_blocks: int | None = None, cols_of_blocks: int | None = None) -> None:
    """Make a matrix block-diagonal.

    Args:
        A: The matrix.
        diag: As for `bsr_diag`.
        rows_of_blocks: The new number of rows of blocks. As it is if left out, or as many as blocks in the array.
        cols_of_blocks: The new number of columns of blocks; likewise.

    Raises:
        ValueError: If the array has blocks of another type.
    """
    A = destination(A, "A")
    nrow = cols_of_blocks if rows_of_blocks is None else rows_of_blocks
    ncol = rows_of_blocks if cols_of_blocks is None else cols_of_blocks
    if nrow is None or ncol is None:
        nrow, ncol = (diag.size, diag.size) if isinstance(diag, array) and not A.nrow else (A.nrow, A.ncol)
    nrow, ncol = sizes(nrow, ncol)
    count = _blocks_of(diag, A, min(nrow, ncol))
    gradient = isinstance(diag, array) and diag.requires_grad
    with observers.NotRecording():
        reserve(A, count, gradient)
        _resize(A, nrow)
        A.nrow, A.ncol, A.nnz, A.row_counts = nrow, ncol, count, None
        launch(set_diagonal_rows, nrow + 1, [count, A.offsets, A.columns], device=A.device)
    if isinstance(diag, array):
        copy(A.values, diag, count=count)
    elif diag is not None:
        A.values[:count].fill_(diag)


def _blocks_of(diag: Any, A: BsrMatrix, most: int) -> int:
    """Return how many blocks of a diagonal fit. Raises TypeError or ValueError unless they are blocks of the matrix."""
    if isinstance(diag, array):
        if diag.ndim != 1:
            raise ValueError(f"diag: expected an array of one dimension, a block for each row, got shape {diag.shape}")
        if wc_type(diag.dtype) is not wc_type(A.dtype):
            raise ValueError(f"diag: expected blocks of type {A.dtype.__name__}, got {diag.dtype.__name__}")
        return min(most, diag.size)
    if diag is not None:
        try:
            elements.item(diag, A.values._require_element())
        except (TypeError, ValueError) as e:
            raise type(e)(f"diag: {e}") from None
    return most


def bsr_get_diag(A: Any, out: array | None = None) -> array:
    """Return the blocks on the diagonal of a matrix; zero where none is stored.

    Args:
        A: The matrix.
        out: Gets the blocks; new if left out.

    Raises:
        ValueError: If `out` is too short or of another type.
    """
    source = operand(A, "A")
    matrix = source.matrix
    count = min(matrix.nrow, matrix.ncol)
    if out is None:
        out = empty(count, dtype=matrix.dtype, device=matrix.device, requires_grad=matrix.requires_grad)
    require_arrays(out=out)
    if out.size < count:
        raise ValueError(f"Output array must be of length at least {count}, got {out.size}")
    if wc_type(out.dtype) is not wc_type(matrix.dtype):
        raise ValueError(f"out: expected blocks of type {matrix.dtype.__name__}, got {out.dtype.__name__}")
    slots = empty(count, dtype=int32, device=matrix.device)
    with observers.NotRecording():
        rows = [matrix.offsets, matrix.row_counts, matrix.columns]
        launch(find_diagonal, count, [*rows, slots], device=matrix.device)
    copy_blocks(slots, source, out)
    return out


@kernel(**SYMBOLIC)
def even_offsets(offsets: array1d(dtype=int), each: int):
    i = tid()
    offsets[i] = i * each


@kernel(**SYMBOLIC)
def keep_offsets(old: array1d(dtype=int), kept: int, offsets: array1d(dtype=int)):
    i = tid()
    offsets[i] = old[i if i < kept else kept]


@kernel(**SYMBOLIC)
def set_diagonal_rows(count: int, offsets: array1d(dtype=int), columns: array1d(dtype=int)):
    i = tid()
    offsets[i] = i if i < count else count
    if i < count:
        columns[i] = i


@kernel(**SYMBOLIC)
def find_diagonal(
    offsets: array1d(dtype=int), row_counts: array1d(dtype=int), columns: array1d(dtype=int), slots: array1d(dtype=int)
):
    row = tid()
    slots[row] = find_column(columns, offsets[row], row_end(offsets, row_counts, row), row)
