"""Approximate inverses of matrices by their diagonals, of numbers or blocks. Start with `preconditioner`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from ... import abs, tid, where
from ...arrays.array import array, array2d, array3d
from ...arrays.factories import empty, zeros
from ...dispatch import observers
from ...lang.kernel import kernel
from ...lang.types import Vec
from ...lang.values.scalars import float16, float64
from ...lang.values.type_registry import python_type, wc_type
from ...launches.launch import launch
from ...sparse.creation import bsr_get_diag
from ...sparse.matrix import BsrMatrix, block_numbers
from .fsai import FSAI
from .linear_operator import LinearOperator, aslinearoperator
from .solver_kernels import OPTIONS

__all__ = ["preconditioner"]

_BLOCKS = ("block_jacobi_direct", "block_jacobi_sequential", "block_jacobi_tile")


def preconditioner(A: Any, ptype: str = "diag") -> LinearOperator | None:
    """Return an approximate inverse of a matrix, which makes solvers need fewer iterations.

    Args:
        A: A sparse matrix, or a dense one for "diag" and "diag_abs".
        ptype: "diag" divides by the diagonal, "diag_abs" by its absolute values; a zero counts as one.
            "block_jacobi_direct" multiplies by the inverses of the blocks on the diagonal; a singular one counts as the
            identity. "block_jacobi_sequential" and "block_jacobi_tile" do so for blocks that are symmetric and positive
            definite, and take the identity for others. "fsai" is `FSAI(A)`, for a sparse matrix that is symmetric and
            positive definite. "id" does nothing.

    Returns:
        The operator; None for "id". It has the values of now: make another one when `A` changes.

    Raises:
        ValueError: If there is no such type, or it does not fit the matrix.

    >>> A = wp.sparse.bsr_diag(wp.array([2.0, 4.0], dtype=float))
    >>> x = wp.zeros(2, dtype=float)
    >>> M = wp.optim.linear.preconditioner(A)
    >>> wp.optim.linear.cg(A, wp.ones(2, dtype=float), x, M=M, check_every=1)[0]
    1
    """
    if not isinstance(ptype, str):
        raise TypeError(f"ptype: expected a name such as 'diag', got {type(ptype).__name__}")
    if ptype == "id":
        return None
    if ptype == "fsai":
        return FSAI(A)
    if ptype not in ("diag", "diag_abs", *_BLOCKS):
        raise ValueError(
            f"Unsupported preconditioner type {ptype!r}; expected diag, diag_abs, {', '.join(_BLOCKS)}, fsai or id"
        )
    with observers.NotRecording():
        if ptype in _BLOCKS:
            _check_blocks(A, ptype)
            if A.block_size > 1:
                return _block_inverse(A, is_definite=ptype != "block_jacobi_direct")
        return _diagonal_inverse(A, ptype == "diag_abs")


def _diagonal_inverse(A: Any, takes_absolute: bool) -> LinearOperator:
    if isinstance(A, BsrMatrix):
        blocks = block_numbers(bsr_get_diag(A), A.block_shape)
    elif isinstance(A, array) and A.ndim == 2:
        blocks = A.reshape((1, *A.shape))
    else:
        raise ValueError(
            f"A: Unsupported source matrix type for building diagonal preconditioner: {type(A).__name__}; "
            "pass a sparse matrix, or an array of two dimensions"
        )
    count, rows = blocks.shape[0], min(blocks.shape[1:])
    inverse = empty((count, rows), dtype=blocks.dtype, device=blocks.device)
    launch(invert_numbers, (count, rows), [blocks, takes_absolute, inverse], device=blocks.device)
    if isinstance(A, BsrMatrix) and rows > 1:
        t: Any = wc_type(blocks.dtype)
        return aslinearoperator(inverse.view(python_type(Vec(rows, t))))
    return aslinearoperator(inverse.flatten())


def _check_blocks(A: Any, ptype: str) -> None:
    if not isinstance(A, BsrMatrix):
        raise ValueError(
            f"A: a Block-Jacobi preconditioner requires a wp.sparse.BsrMatrix, got {type(A).__name__}; "
            "take ptype='diag' for a dense matrix"
        )
    if A.nrow != A.ncol or A.block_shape[0] != A.block_shape[1]:
        raise ValueError(f"Block-Jacobi preconditioner requires a square matrix of square blocks, got {A.shape}")
    if ptype == "block_jacobi_tile" and A.scalar_type is float16:
        raise ValueError("block_jacobi_tile requires numbers of type float32 or float64, got float16")


def _block_inverse(A: BsrMatrix, is_definite: bool) -> LinearOperator:
    inverse = bsr_get_diag(A)
    numbers = block_numbers(inverse, A.block_shape)
    work = zeros((A.nrow, A.block_shape[0], 2 * A.block_shape[0]), dtype=float64, device=A.device)
    epsilon = float64(1e-12 if A.scalar_type is float64 else 1e-6)
    launch(invert_blocks, A.nrow, [work, is_definite, epsilon, numbers], device=A.device)
    made = aslinearoperator(inverse)
    made._shape = A.shape
    return made


@kernel(**OPTIONS)
def invert_numbers(blocks: array3d(dtype=Any), takes_absolute: bool, inverse: array2d(dtype=Any)):
    """Write the reciprocals of diagonals of blocks."""
    block, i = tid()
    number = blocks[block, i, i]
    if takes_absolute:
        number = abs(number)
    inverse[block, i] = where(number == blocks.dtype(0), blocks.dtype(1), blocks.dtype(1) / number)


@kernel(**OPTIONS)
def invert_blocks(work: array3d(dtype=float64), is_definite: bool, epsilon: float64, blocks: array3d(dtype=Any)):
    """Replace a block by its inverse, by elimination beside the identity; rows are swapped for large pivots."""
    block = tid()
    n = blocks.shape[1]
    largest = float64(0.0)
    is_good = True
    for i in range(n):
        for j in range(n):
            number = float64(blocks[block, i, j])
            work[block, i, j] = number
            work[block, i, n + j] = float64(1.0 if i == j else 0.0)
            size = -number if number < float64(0.0) else number
            largest = size if size > largest else largest
    if is_definite:
        for i in range(n):
            for j in range(i):
                if abs(work[block, i, j] - work[block, j, i]) > epsilon * largest:
                    is_good = False
    for k in range(n):
        best = k
        if not is_definite:
            for i in range(k + 1, n):
                if abs(work[block, i, k]) > abs(work[block, best, k]):
                    best = i
        pivot = work[block, best, k]
        if not (pivot > epsilon * largest or (not is_definite and pivot < -epsilon * largest)):
            is_good = False  # also for NaN
        if is_good:
            for j in range(2 * n):
                moved = work[block, best, j]
                work[block, best, j] = work[block, k, j]
                work[block, k, j] = moved / pivot
            for i in range(n):
                factor = work[block, i, k]
                if i != k:
                    for j in range(2 * n):
                        work[block, i, j] = work[block, i, j] - factor * work[block, k, j]
    for i in range(n):
        for j in range(n):
            result = float64(1.0 if i == j else 0.0)
            if is_good:
                result = work[block, i, n + j]
            blocks[block, i, j] = blocks.dtype(result)
