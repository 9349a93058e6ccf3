"""Products of matrices. Start with `bsr_mm`.

The columns of a row of the product are those of the rows of `y` that the row of `x` leads to (product_rows.py). Then
the thread of a row adds up its blocks, so that results do not depend on the number of threads.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import tid
from ..algo.argument_checks import number
from ..arrays.array import array, array1d
from ..dispatch import observers
from ..lang.kernel import kernel
from ..lang.types import Mat
from ..lang.values.type_registry import python_type, wc_type
from ..launches.launch import launch
from ..logger import warn
from .block_values import copy_blocks, scale_in_place
from .combination import bsr_copy
from .matrix import BsrMatrix, block_type, new_matrix
from .matrix_checks import capacity
from .matrix_operands import Operand, destination, operand
from .policies import Pattern, install, links_of_mask, pattern_of, policy
from .product_rows import product_rows
from .rows import NUMERIC, next_column, row_end

__all__ = ["bsr_mm", "bsr_mm_work_arrays"]


class bsr_mm_work_arrays:
    """The rows of a product, which `bsr_mm` keeps for `reuse_topology=True`."""

    def __init__(self) -> None:
        self._pattern: Pattern | None = None


def bsr_mm(
    x: Any,
    y: Any,
    z: BsrMatrix | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    work_arrays: bsr_mm_work_arrays | None = None,
    reuse_topology: bool = False,
    tile_size: int = 0,
    max_new_nnz: int | None = None,
    topology: str | None = None,
) -> BsrMatrix:
    """Compute `z = alpha * (x @ y) + beta * z` for matrices, and return `z`.

    Args:
        x: The left factor.
        y: The right factor.
        z: The result, which may be `x` or `y`; a new matrix, of zero, if left out.
        alpha: The factor of the product.
        beta: The factor of `z`.
        work_arrays: Keeps the rows of the product for `reuse_topology`.
        reuse_topology: Whether `x`, `y` and `z` have blocks where they had them when `work_arrays` was used before.
        tile_size: Taken, without effect.
        max_new_nnz: For how many blocks of the product memory is made; more give a warning.
        topology: "compact" gives `z` the blocks of the product. "masked" keeps the blocks of `z` and computes no
            others. "padded" fills the rows of `z` as far as they have room.

    While a graph is captured, give `topology="masked"` or `reuse_topology=True`: other products need to know how many
    blocks they have.

    Raises:
        ValueError: If block shapes, numbers or sizes do not fit.
        RuntimeError: While a graph is captured, see above.

    >>> A = wp.sparse.bsr_diag(wp.array([2.0, 3.0], dtype=float))
    >>> wp.sparse.bsr_mm(A, A).values.list()
    [4.0, 9.0]
    """
    left, right, chosen = operand(x, "x"), operand(y, "y"), policy(topology)
    alpha, beta = number("alpha", alpha), number("beta", beta)
    if work_arrays is not None and not isinstance(work_arrays, bsr_mm_work_arrays):
        raise TypeError(f"work_arrays: expected wp.sparse.bsr_mm_work_arrays(), got {type(work_arrays).__name__}")
    if max_new_nnz is not None:
        max_new_nnz = capacity("max_new_nnz", max_new_nnz)
    kept = None if work_arrays is None else work_arrays._pattern
    if reuse_topology and kept is None:
        raise ValueError("`work_arrays` must not be ``None`` in order to reuse matrix-matrix product topology")
    if reuse_topology and chosen != "compact":
        raise ValueError("reuse_topology=True needs topology='compact'")
    if z is None:
        z, beta = _new_product(left.matrix, right.matrix), 0.0
    z = destination(z, "z")
    _check_product(left.matrix, right.matrix, z)
    if reuse_topology and kept and (kept.nrow, kept.ncol) != (z.nrow, z.ncol):
        raise ValueError(
            f"reuse_topology=True needs a product of the size that `work_arrays` was used for: got {(z.nrow, z.ncol)} "
            f"and {(kept.nrow, kept.ncol)} rows and columns of blocks"
        )
    scale = alpha * left.scale * right.scale
    a, b = (bsr_copy(m) if m is z else m for m in (left.matrix, right.matrix))
    gradient = a.requires_grad or b.requires_grad
    if chosen == "masked":
        if gradient and not z.values.requires_grad:
            z.values.requires_grad = True
        scale_in_place(z.values, z.nnz, z, beta)
    else:
        old = Operand(bsr_copy(z), beta) if beta != 0.0 else None
        with observers.NotRecording():
            rows = kept if reuse_topology and kept else _product_rows(a, b, old and old.matrix, max_new_nnz)
            install(z, rows, chosen, gradient)
        if work_arrays is not None:
            work_arrays._pattern = rows
        _begin(z, old)
    _multiply(a, b, z, scale)
    return z


def _new_product(x: BsrMatrix, y: BsrMatrix) -> BsrMatrix:
    shape = x.block_shape[0], y.block_shape[1]
    like = next((m.dtype for m in (x, y) if isinstance(wc_type(m.dtype), Mat) and m.block_shape == shape), None)
    return new_matrix(x.nrow, y.ncol, block_type(x.scalar_type, shape, like), x.device, 0)


def _check_product(x: BsrMatrix, y: BsrMatrix, z: BsrMatrix) -> None:
    scalars = [m.scalar_type for m in (x, y, z)]
    if any(s is not scalars[0] for s in scalars):
        raise ValueError(f"Matrices must have the same scalar type, got {', '.join(s.__name__ for s in scalars)}")
    blocks = [m.block_shape for m in (x, y, z)]
    if blocks[0][1] != blocks[1][0] or blocks[2] != (blocks[0][0], blocks[1][1]):
        raise ValueError(
            f"Incompatible block sizes for matrix multiplication, got {blocks[0]}, {blocks[1]} and {blocks[2]}"
        )
    sizes = [(m.nrow, m.ncol) for m in (x, y, z)]
    if sizes[0][1] != sizes[1][0] or sizes[2] != (sizes[0][0], sizes[1][1]):
        raise ValueError(
            f"Incompatible number of rows/columns for matrix multiplication, got {sizes[0]}, {sizes[1]} and {sizes[2]}"
        )
    if any(m.device is not z.device for m in (x, y)):
        raise ValueError(f"Matrices must be on one device, got {x.device}, {y.device} and {z.device}")


def _product_rows(x: BsrMatrix, y: BsrMatrix, z: BsrMatrix | None, most: int | None) -> Pattern:
    """Return the rows of the product, united with those of `z`. More new blocks than `most` give a warning."""
    pattern = product_rows(x, y, z)
    if most is None:
        return pattern
    room, count = most + (0 if z is None else z.nnz), pattern.nnz
    if count > room:
        text = f"bsr_mm: the product has {count} blocks, so max_new_nnz={most} is exceeded; memory is made for all"
        warn(text, stacklevel=3)
    return pattern._replace(nnz=max(room, count))


def _begin(z: BsrMatrix, old: Operand | None) -> None:
    """Set the values of the result to those that the product is added to."""
    if old is None:
        z.values.zero_()
        return
    with observers.NotRecording():
        links = links_of_mask(z, pattern_of(old.matrix))
    copy_blocks(links, old, z.values)


def _multiply(x: BsrMatrix, y: BsrMatrix, z: BsrMatrix, scale: float) -> None:
    rows = [a for m in (x, y, z) for a in (m.offsets, m.row_counts, m.columns)]
    values = _factors(x, y, z)
    launch(multiply_rows, x.nrow, [*rows, *values, x._number(scale)], device=z.device)


def _factors(*matrices: BsrMatrix) -> list[array]:
    """The values as elements that multiply: all scalars, or all matrices."""
    if not any(isinstance(wc_type(m.dtype), Mat) for m in matrices):
        return [m.values for m in matrices]
    return [m.values if isinstance(wc_type(m.dtype), Mat) else m.values.view(_one_by_one(m.dtype)) for m in matrices]


def _one_by_one(scalar: Any) -> Any:
    t: Any = wc_type(scalar)
    return python_type(Mat(1, 1, t))


@kernel(**NUMERIC, lanes=1)
def multiply_rows(
    x_offsets: array1d(dtype=int),
    x_counts: array1d(dtype=int),
    x_columns: array1d(dtype=int),
    y_offsets: array1d(dtype=int),
    y_counts: array1d(dtype=int),
    y_columns: array1d(dtype=int),
    z_offsets: array1d(dtype=int),
    z_counts: array1d(dtype=int),
    z_columns: array1d(dtype=int),
    x: array1d(dtype=Any),
    y: array1d(dtype=Any),
    z: array1d(dtype=Any),
    alpha: Any,
):
    """Add the products of a row's blocks to the blocks that the result has."""
    row = tid()
    start = z_offsets[row]
    end = row_end(z_offsets, z_counts, row)
    for block in range(x_offsets[row], row_end(x_offsets, x_counts, row)):
        k = x_columns[block]
        factor = alpha * x[block]
        at = start
        last = -1
        for other in range(y_offsets[k], row_end(y_offsets, y_counts, k)):
            column = y_columns[other]
            if column < last:  # a program has written columns that do not ascend
                at = start
            last = column
            at = next_column(z_columns, at, end, column)
            if at < end and z_columns[at] == column:
                z[at] = z[at] + factor * y[other]
