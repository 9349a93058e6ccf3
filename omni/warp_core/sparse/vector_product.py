"""Products of matrices and vectors. Start with `bsr_mv`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import atomic_add, tid
from ..algo.argument_checks import number, require_arrays
from ..arrays.array import array, array1d
from ..arrays.factories import clone, zeros
from ..arrays.layouts import may_share_memory
from ..arrays.transfer import copy
from ..lang.kernel import kernel
from ..lang.types import Mat, Packed, Vec
from ..lang.values.type_registry import python_type, wc_type
from ..launches.launch import launch
from .block_values import scale_in_place
from .matrix import BsrMatrix
from .matrix_operands import operand
from .rows import NUMERIC, row_end

__all__ = ["bsr_mv"]


def bsr_mv(
    A: Any,
    x: array,
    y: array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    transpose: bool = False,
    work_buffer: array | None = None,
    tile_size: int = 0,
) -> array:
    """Compute `y = alpha * (A @ x) + beta * y`, and return `y`.

    Args:
        A: The matrix.
        x: The vector: one element for each column of blocks, a scalar or a vector as long as a block has columns; or
            any contiguous array of as many numbers.
        y: The result, likewise for rows; new, and zero, if left out. It may be `x`.
        alpha: The factor of the product; where it is 0, `x` is not read.
        beta: The factor of `y`; where it is 0, `y` is not read.
        transpose: Whether the transposed matrix multiplies. Sums are in any order then.
        work_buffer: Gets a copy of `x` where `y` is `x`; new if left out.
        tile_size: Taken, without effect.

    Raises:
        ValueError: If `x` or `y` has another size or another type of numbers.

    >>> A = wp.sparse.bsr_diag(wp.array([2.0, 3.0], dtype=float))
    >>> wp.sparse.bsr_mv(A, wp.array([1.0, 1.0], dtype=float)).list()
    [2.0, 3.0]
    """
    matrix, scale = operand(A, "A")
    scale, beta = scale * number("alpha", alpha), number("beta", beta)
    require_arrays(x=x)
    rows, cols = (matrix.nrow, matrix.ncol) if not transpose else (matrix.ncol, matrix.nrow)
    height, width = matrix.block_shape if not transpose else matrix.block_shape[::-1]
    if y is None:
        gradient = x.requires_grad or matrix.requires_grad
        dtype = _vector_type(matrix, height) if height > 1 else matrix.scalar_type
        y = zeros(rows, dtype=dtype, device=matrix.device, requires_grad=gradient)
        beta = 0.0
    else:
        require_arrays(y=y)
    read, written = _vectors(matrix, x, cols, width, "x"), _vectors(matrix, y, rows, height, "y")
    if scale == 0.0:
        scale_in_place(written, written.size, matrix, beta)
        return y
    if may_share_memory(x, y):
        read = _vectors(matrix, _copied(x, work_buffer), cols, width, "x")
    factors = matrix._number(scale), matrix._number(beta)
    inputs = [matrix.offsets, matrix.row_counts, matrix.columns, matrix.values, read, factors[0]]
    if transpose:
        scale_in_place(written, written.size, matrix, beta)
        launch(multiply_columns, matrix.nrow, [*inputs, written], device=matrix.device)
    else:
        launch(multiply_vector, rows, [*inputs, factors[1], written], device=matrix.device)
    return y


def _copied(x: array, work_buffer: array | None) -> array:
    if work_buffer is None:
        return clone(x)
    require_arrays(work_buffer=work_buffer)
    copy(work_buffer, x, count=x.size)
    return work_buffer


def _vector_type(matrix: BsrMatrix, length: int) -> Any:
    """The type of elements of vectors that blocks of this length multiply."""
    t = wc_type(matrix.dtype)
    return python_type(Vec(length, t.scalar)) if isinstance(t, Mat) else matrix.dtype


def _vectors(matrix: BsrMatrix, a: array, count: int, length: int, name: str) -> array:
    """An array as elements that blocks multiply; the memory is the same."""
    t = a._require_element().type
    scalar, inner = (t.scalar, t.count) if isinstance(t, Packed) else (t, 1)
    if scalar is not wc_type(matrix.scalar_type) or a.size * inner != count * length:
        raise ValueError(
            f"Incompatible '{name}' vector for bsr_mv: expected {count * length} numbers of type "
            f"{matrix.scalar_type.__name__}, got {a.size * inner} in elements of type {a.dtype.__name__}"
        )
    element = _vector_type(matrix, length)
    if t is wc_type(element) and a.ndim == 1:
        return a
    if not a.is_contiguous:
        raise ValueError(f"'{name}' must be contiguous to be read as {element.__name__}; pass {name}.contiguous()")
    numbers = a.view(python_type(scalar)).flatten() if isinstance(t, Packed) else a.flatten()
    return (numbers if length == 1 else numbers.reshape((count, length))).view(element)


@kernel(**NUMERIC)
def multiply_vector(
    offsets: array1d(dtype=int),
    row_counts: array1d(dtype=int),
    columns: array1d(dtype=int),
    values: array1d(dtype=Any),
    x: array1d(dtype=Any),
    alpha: Any,
    beta: Any,
    y: array1d(dtype=Any),
):
    """Multiply a row and a vector."""
    row = tid()
    total = y.dtype()
    for block in range(offsets[row], row_end(offsets, row_counts, row)):
        total += values[block] * x[columns[block]]
    total = alpha * total
    if beta != type(beta)(0):
        total += beta * y[row]
    y[row] = total


@kernel(**NUMERIC)
def multiply_columns(
    offsets: array1d(dtype=int),
    row_counts: array1d(dtype=int),
    columns: array1d(dtype=int),
    values: array1d(dtype=Any),
    x: array1d(dtype=Any),
    alpha: Any,
    y: array1d(dtype=Any),
):
    """Add a row, times an element of a vector, to the product with the transposed matrix."""
    row = tid()
    factor = alpha * x[row]
    for block in range(offsets[row], row_end(offsets, row_counts, row)):
        atomic_add(y, columns[block], factor * values[block])
