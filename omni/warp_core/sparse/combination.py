"""Copies, sums and multiples of matrices. Start with `bsr_assign`; other block shapes are in block_shapes.py."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import tid
from ..algo.argument_checks import number
from ..arrays.array import array, array1d
from ..arrays.factories import clone, empty
from ..dispatch import observers
from ..lang.kernel import kernel
from ..lang.values.scalars import int32
from ..launches.launch import launch
from .block_kernels import add_blocks, combine_blocks, scale_blocks
from .block_shapes import check_shapes, convert
from .block_values import copy_blocks
from .matrix import BsrMatrix, block_numbers, block_type, new_matrix
from .matrix_checks import scalar_type as checked_type
from .matrix_checks import shape_of_blocks
from .matrix_operands import Operand, destination, operand
from .policies import Pattern, install, pattern_of, policy
from .rows import SYMBOLIC, row_end

__all__ = ["bsr_assign", "bsr_axpy", "bsr_axpy_work_arrays", "bsr_copy", "bsr_scale"]


class bsr_axpy_work_arrays:
    """Buffers of `bsr_axpy` for programs that pass some along. They hold nothing, as memory is pooled."""


def bsr_assign(dest: BsrMatrix, src: Any, structure_only: bool = False, topology: str | None = None) -> None:
    """Copy a matrix into another one, of other blocks or numbers if they differ.

    Args:
        dest: The destination.
        src: The matrix to copy.
        structure_only: Whether values are left as they are, so that those of `dest` mean nothing.
        topology: "compact" gives `dest` the blocks of `src`. "masked" keeps the blocks of `dest`, zero where `src` has
            none. "padded" fills the rows of `dest` as far as they have room.

    Raises:
        ValueError: If the block shapes do not divide one another, or the sizes do not fit.
    """
    dest, source, chosen = destination(dest, "dest"), operand(src, "src"), policy(topology)
    if source.matrix is dest:
        if source.scale != 1.0:
            bsr_scale(dest, source.scale)
        return
    if dest.block_shape != source.matrix.block_shape:
        check_shapes(source.matrix, dest.block_shape)
        convert(dest, source, structure_only, chosen)
        return
    with observers.NotRecording():
        links = install(dest, pattern_of(source.matrix), chosen, source.matrix.requires_grad and not structure_only)
    if not structure_only:
        copy_blocks(links, source, dest.values)


def bsr_copy(
    A: Any,
    scalar_type: Any = None,
    block_shape: tuple[int, int] | None = None,
    structure_only: bool = False,
    topology: str = "compact",
) -> BsrMatrix:
    """Return a copy of a matrix, with other numbers or blocks if wanted.

    Args:
        A: The matrix.
        scalar_type: The type of numbers; as it is if left out.
        block_shape: Rows and columns of blocks, multiples or divisors of those of `A`; as they are if left out.
        structure_only: Whether values are left unset.
        topology: "compact", or "padded" to keep the room of rows.

    Raises:
        ValueError: If the block shapes do not divide one another or the matrix.

    >>> A = wp.sparse.bsr_identity(2, wp.mat22)
    >>> wp.sparse.bsr_copy(A, block_shape=(1, 1)).shape
    (4, 4)
    """
    source = operand(A, "A").matrix
    shape = source.block_shape if block_shape is None else shape_of_blocks(block_shape)
    check_shapes(source, shape)
    dtype = block_type(
        source.scalar_type if scalar_type is None else checked_type("scalar_type", scalar_type),
        shape,
        source.dtype if shape == source.block_shape else None,
    )
    rows, cols = source.shape[0] // shape[0], source.shape[1] // shape[1]
    made = new_matrix(rows, cols, dtype, source.device, 0)
    if policy(topology, ("compact", "padded")) == "padded":
        if shape != source.block_shape:
            raise ValueError("topology='padded' keeps the room of rows, so it cannot change the block shape")
        with observers.NotRecording():
            made.offsets = clone(source.offsets)
            made.notify_nnz_changed(source.nnz)
    bsr_assign(made, A, structure_only, topology)
    return made


def bsr_scale(x: Any, alpha: float) -> BsrMatrix:
    """Multiply a matrix by a number, in place, and return it.

    Args:
        x: The matrix.
        alpha: The number.
    """
    matrix, scale = operand(x, "x")
    scale *= number("alpha", alpha)
    if scale != 1.0 and matrix.nnz:
        factor = matrix._number(scale)
        launch(scale_blocks, matrix.nnz, [matrix.values, factor], device=matrix.device)
    return matrix


def bsr_axpy(
    x: Any,
    y: BsrMatrix | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    work_arrays: bsr_axpy_work_arrays | None = None,
    topology: str | None = None,
) -> BsrMatrix:
    """Compute `y = alpha * x + beta * y` for matrices, and return `y`.

    Args:
        x: The matrix to add.
        y: The matrix that changes, which may be `x`; a new one, of zero, if left out.
        alpha: The factor of `x`.
        beta: The factor of `y`.
        work_arrays: Taken, and not needed.
        topology: "compact" gives `y` the blocks of both. "masked" keeps the blocks of `y`. "padded" adds those of `x`
            as far as the rows of `y` have room.

    Raises:
        ValueError: If the block shapes, the numbers or the sizes differ.

    >>> A = wp.sparse.bsr_identity(2, float)
    >>> wp.sparse.bsr_axpy(A, wp.sparse.bsr_copy(A), alpha=2.0).values.list()[:2]
    [3.0, 3.0]
    """
    source, chosen = operand(x, "x"), policy(topology)
    alpha, beta = number("alpha", alpha), number("beta", beta)
    if y is None:
        made = new_matrix(source.matrix.nrow, source.matrix.ncol, source.matrix.dtype, source.matrix.device, 0)
        bsr_assign(made, Operand(source.matrix, source.scale * alpha).scaled())
        return made
    y = destination(y, "y")
    _check_like(source.matrix, y)
    added = Operand(source.matrix, source.scale * alpha)
    if source.matrix is y or added.scale == 0.0:
        return bsr_scale(y, beta + (added.scale if source.matrix is y else 0.0))
    if beta == 0.0:
        bsr_assign(y, added.scaled(), topology=topology)
        return y
    if chosen == "masked":
        return _add_masked(added, y, beta)
    _combine(added, Operand(y, beta), y, chosen)
    return y


def added(x: Any, y: Any, sign: float) -> BsrMatrix:
    """Return `x + sign * y` as a new matrix."""
    a, b = operand(x, "left operand"), operand(y, "right operand")
    _check_like(b.matrix, a.matrix)
    made = new_matrix(a.matrix.nrow, a.matrix.ncol, a.matrix.dtype, a.matrix.device, 0)
    _combine(Operand(b.matrix, sign * b.scale), a, made, "compact")
    return made


def _combine(x: Operand, y: Operand, dest: BsrMatrix, topology: str) -> None:
    """Write the sum of two matrices, of which `y` may be the destination."""
    with observers.NotRecording():
        pattern, x_blocks, y_blocks = _united(x.matrix, y.matrix)
    old = clone(y.matrix.values) if y.matrix is dest else y.matrix.values  # the result may lie in the same memory
    with observers.NotRecording():
        links = install(dest, pattern, topology, x.matrix.requires_grad or y.matrix.requires_grad)
    shape, factor = dest.block_shape, dest._number
    values = [block_numbers(v, shape) for v in (x.matrix.values, old)]
    inputs = [links, x_blocks, y_blocks, *values, factor(x.scale), factor(y.scale), block_numbers(dest.values, shape)]
    launch(combine_blocks, (dest.nnz, *shape), inputs, device=dest.device)


def _check_like(x: BsrMatrix, y: BsrMatrix) -> None:
    if x.block_shape != y.block_shape:
        raise ValueError(f"Incompatible block sizes for matrix addition, got {x.block_shape} and {y.block_shape}")
    if x.scalar_type is not y.scalar_type:
        names = x.scalar_type.__name__, y.scalar_type.__name__
        raise ValueError(f"Matrices must have the same scalar type, got {names[0]} and {names[1]}")
    if (x.nrow, x.ncol) != (y.nrow, y.ncol):
        sizes = (x.nrow, x.ncol), (y.nrow, y.ncol)
        raise ValueError(f"Incompatible number of rows/columns for matrix addition, got {sizes[0]} and {sizes[1]}")
    if x.device is not y.device:
        raise ValueError(f"Matrices must be on one device, got {x.device} and {y.device}")


def _add_masked(added: Operand, y: BsrMatrix, beta: float) -> BsrMatrix:
    with observers.NotRecording():
        links = install(y, pattern_of(added.matrix), "masked", added.matrix.requires_grad)
    shape, factor = y.block_shape, y._number
    values = block_numbers(added.matrix.values, shape), block_numbers(y.values, shape)
    inputs = [links, values[0], factor(added.scale), values[1], factor(beta)]
    launch(add_blocks, (y.nnz, *shape), inputs, device=y.device)
    return y


def _united(x: BsrMatrix, y: BsrMatrix) -> tuple[Pattern, array, array]:
    """Return the rows that have the columns of both, and the block of each matrix in them, or -1."""
    most = x.nnz + y.nnz
    offsets, counts, columns, x_blocks, y_blocks = (
        empty(n, dtype=int32, device=y.device) for n in (y.nrow + 1, y.nrow, most, most, most)
    )
    of_x, of_y = ([m.offsets, m.row_counts, m.columns] for m in (x, y))
    results = [offsets, counts, columns, x_blocks, y_blocks]
    launch(unite_rows, y.nrow + 1, [y.nrow, *of_x, *of_y, *results], device=y.device)
    return Pattern(y.nrow, y.ncol, most, offsets, counts, columns), x_blocks, y_blocks


@kernel(**SYMBOLIC)
def unite_rows(
    nrow: int,
    x_offsets: array1d(dtype=int),
    x_counts: array1d(dtype=int),
    x_columns: array1d(dtype=int),
    y_offsets: array1d(dtype=int),
    y_counts: array1d(dtype=int),
    y_columns: array1d(dtype=int),
    offsets: array1d(dtype=int),
    counts: array1d(dtype=int),
    columns: array1d(dtype=int),
    x_blocks: array1d(dtype=int),
    y_blocks: array1d(dtype=int),
):
    """Merge the columns of a row of both matrices."""
    row = tid()
    a = x_offsets[row]
    b = y_offsets[row]
    start = a + b
    offsets[row] = start
    if row == nrow:
        return
    a_end = row_end(x_offsets, x_counts, row)
    b_end = row_end(y_offsets, y_counts, row)
    at = start
    while a < a_end or b < b_end:
        takes_x = b >= b_end or (a < a_end and x_columns[a] <= y_columns[b])
        takes_y = a >= a_end or (b < b_end and y_columns[b] <= x_columns[a])
        x_block = -1
        y_block = -1
        column = 0
        if takes_x:
            column = x_columns[a]
            x_block = a
            a += 1
        if takes_y:
            column = y_columns[b]
            y_block = b
            b += 1
        columns[at] = column
        x_blocks[at] = x_block
        y_blocks[at] = y_block
        at += 1
    counts[row] = at - start
