"""Dirichlet conditions: values that are fixed by projectors of the linear system.

A projector is a matrix that picks the degrees of freedom with fixed values, such as the integral of `u(s) * v(s)` over
sides with `assembly="nodal"`. Start with `project_linear_system`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import tid
from ..arrays.array import array, array1d, array2d, array3d
from ..arrays.factories import clone, empty, empty_like
from ..lang.kernel import kernel
from ..launches.launch import launch
from ..sparse.combination import bsr_assign, bsr_axpy, bsr_copy
from ..sparse.matrix import BsrMatrix, block_numbers
from ..sparse.matrix_product import bsr_mm
from ..sparse.rows import NUMERIC
from ..sparse.vector_product import bsr_mv
from .assembly import numbers_of

__all__ = [
    *("normalize_dirichlet_projector", "project_linear_system", "project_system_matrix"),
    "project_system_rhs",
]


@kernel(**NUMERIC, lanes=1)
def normalize_rows(
    offsets: array1d(dtype=int), columns: array1d(dtype=int), blocks: array3d(dtype=Any), fixed: array2d(dtype=Any)
):
    """Divide the blocks of each row, and its fixed value, by the factor of the block on the diagonal."""
    row = tid()
    of_block = blocks.dtype(0)
    of_square = blocks.dtype(0)
    for b in range(offsets[row], offsets[row + 1]):
        if columns[b] == row:
            for i in range(blocks.shape[1]):
                of_block += blocks[b, i, i]
                for j in range(blocks.shape[2]):
                    of_square += blocks[b, i, j] * blocks[b, j, i]
    if of_square > blocks.dtype(0):
        factor = of_block / of_square
        for b in range(offsets[row], offsets[row + 1]):
            for i in range(blocks.shape[1]):
                for j in range(blocks.shape[2]):
                    blocks[b, i, j] = factor * blocks[b, i, j]
        if fixed.shape[0] > 0:
            for i in range(fixed.shape[1]):
                fixed[row, i] = fixed.dtype(factor) * fixed[row, i]


def normalize_dirichlet_projector(projector_matrix: BsrMatrix, fixed_value: array | None = None) -> None:
    """Scale the rows of a projector so that projecting twice is projecting once. It is changed in place.

    Args:
        projector_matrix: The projector: a multiple of a projection in each block on the diagonal.
        fixed_value: Values that are scaled with the rows.

    >>> P = wp.sparse.bsr_diag(wp.array([0.25, 0.0], dtype=float))
    >>> wp.fem.normalize_dirichlet_projector(P)
    >>> P.values.list()
    [1.0, 0.0]
    """
    numbers = block_numbers(projector_matrix.values, projector_matrix.block_shape)
    if fixed_value is None:
        fixed = empty((0, 0), dtype=numbers.dtype, device=numbers.device)
    else:
        fixed = numbers_of(fixed_value, projector_matrix.block_shape[0])
    inputs = [projector_matrix.offsets, projector_matrix.columns, numbers, fixed]
    launch(normalize_rows, projector_matrix.nrow, inputs, device=projector_matrix.device)


def project_system_rhs(
    system_matrix: BsrMatrix, system_rhs: array, projector_matrix: BsrMatrix, fixed_value: array | None = None
) -> None:
    """Replace the right side of a system by that with fixed values, in place.

    It becomes `(I - P) (b - A P x) + P x`, for the projector P and the fixed values x.

    Args:
        system_matrix: A, before it is projected.
        system_rhs: b.
        projector_matrix: P.
        fixed_value: x; zero if left out.
    """
    rhs = clone(system_rhs)
    if fixed_value is not None:
        picked = empty_like(system_rhs)
        bsr_mv(projector_matrix, fixed_value, picked, alpha=1.0, beta=0.0)
        bsr_mv(system_matrix, picked, rhs, alpha=-1.0, beta=1.0)
        system_rhs.assign(rhs)
        bsr_mv(projector_matrix, rhs, system_rhs, alpha=-1.0, beta=1.0)
        bsr_mv(projector_matrix, fixed_value, system_rhs, alpha=1.0, beta=1.0)
    else:
        bsr_mv(projector_matrix, rhs, system_rhs, alpha=-1.0, beta=1.0)


def project_system_matrix(system_matrix: BsrMatrix, projector_matrix: BsrMatrix) -> None:
    """Replace a matrix by that of a system with fixed values, in place: `(I - P) A (I - P) + P`.

    Args:
        system_matrix: A.
        projector_matrix: P.
    """
    left = bsr_copy(system_matrix)
    bsr_mm(projector_matrix, system_matrix, left, alpha=-1.0, beta=1.0)
    right = bsr_copy(left)
    bsr_mm(left, projector_matrix, right, alpha=-1.0, beta=1.0)
    bsr_assign(system_matrix, right)
    bsr_axpy(projector_matrix, system_matrix)


def project_linear_system(
    system_matrix: BsrMatrix,
    system_rhs: array,
    projector_matrix: BsrMatrix,
    fixed_value: array | None = None,
    normalize_projector: bool = True,
) -> None:
    """Fix values of the solution of a linear system. The matrix and the right side are changed in place.

    Args:
        system_matrix: The matrix.
        system_rhs: The right side.
        projector_matrix: The projector onto the degrees of freedom that are fixed.
        fixed_value: The fixed values; zero if left out. An integral of them over sides with `assembly="nodal"`.
        normalize_projector: Whether the projector and the values are scaled first, see
            `normalize_dirichlet_projector`.

    >>> A = wp.sparse.bsr_diag(wp.array([2.0, 4.0], dtype=float))
    >>> b, P = wp.array([1.0, 1.0], dtype=float), wp.sparse.bsr_diag(wp.array([0.5, 0.0], dtype=float))
    >>> wp.fem.project_linear_system(A, b, P, wp.array([1.5, 0.0], dtype=float))
    >>> b.list()
    [3.0, 1.0]
    """
    if normalize_projector:
        normalize_dirichlet_projector(projector_matrix, fixed_value)
    project_system_rhs(system_matrix, system_rhs, projector_matrix, fixed_value)
    project_system_matrix(system_matrix, projector_matrix)
