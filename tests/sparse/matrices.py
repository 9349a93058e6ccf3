"""Random matrices for the tests: ours, and the same as SciPy has them, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import omni.warp_core as wp
from omni.warp_core import sparse
from omni.warp_core.sparse.matrix import block_shape_of

MAT23 = wp.types.matrix((2, 3), float)
KINDS = {
    "float": (wp.float32, (1, 1), 1e-5),
    "double": (wp.float64, (1, 1), 1e-13),
    "half": (wp.float16, (1, 1), 1e-2),
    "mat22": (wp.mat22, (2, 2), 1e-5),
    "mat33d": (wp.mat33d, (3, 3), 1e-13),
    "mat23": (MAT23, (2, 3), 1e-5),
    "mat11": (wp.types.matrix((1, 1), float), (1, 1), 1e-5),
}


def triplets(rng: Any, nrow: int, ncol: int, number: int, shape: tuple[int, int]) -> tuple[Any, Any, Any]:
    """Rows, columns and blocks with duplicates, in random order."""
    rows, columns = rng.integers(0, nrow, number), rng.integers(0, ncol, number)
    return rows.astype(np.int32), columns.astype(np.int32), rng.normal(size=(number, *shape))


def dense_of_triplets(nrow: int, ncol: int, rows: Any, columns: Any, values: Any) -> np.ndarray:
    """The matrix that triplets mean, by NumPy."""
    blocks = np.zeros((nrow, ncol, *values.shape[1:]))
    np.add.at(blocks, (rows, columns), values)
    return blocks.transpose(0, 2, 1, 3).reshape(nrow * values.shape[1], ncol * values.shape[2])


def blocks_array(values: Any, dtype: Any, **options: Any) -> Any:
    """Blocks as an array of a type, scalars among them."""
    is_scalar = dtype in (wp.float16, wp.float32, wp.float64)
    return wp.array(values.ravel() if is_scalar else values, dtype=dtype, **options)


def random_matrix(rng: Any, nrow: int, ncol: int, dtype: Any, number: int = 0, **options: Any) -> Any:
    """A matrix of random blocks."""
    shape = block_shape_of(dtype)
    rows, columns, values = triplets(rng, nrow, ncol, number or 3 * nrow, shape)
    arrays = wp.array(rows, dtype=int), wp.array(columns, dtype=int), blocks_array(values, dtype, **options)
    return sparse.bsr_from_triplets(nrow, ncol, *arrays)


def dense(A: Any) -> np.ndarray:
    """A matrix as NumPy has it, read block by block; checks that the columns of each row ascend."""
    rows, cols = A.block_shape
    result = np.zeros((A.nrow * rows, A.ncol * cols))
    offsets, columns, values = A.offsets.numpy(), A.columns.numpy(), A.scalar_values.numpy().astype(np.float64)
    counts = None if A.row_counts is None else A.row_counts.numpy()
    for r in range(A.nrow):
        end = offsets[r + 1] if counts is None else offsets[r] + counts[r]
        assert end <= offsets[r + 1] <= A.nnz
        assert (np.diff(columns[offsets[r] : end]) > 0).all()
        for b in range(offsets[r], end):
            c = columns[b]
            assert 0 <= c < A.ncol
            result[r * rows : (r + 1) * rows, c * cols : (c + 1) * cols] = values[b]
    return result


def scipy_matrix(A: Any) -> Any:
    """A matrix as SciPy has it, in float64."""
    return sp.csr_matrix(dense(A))


def close(a: Any, b: Any, error: float) -> bool:
    """True if numbers are equal within an error, relative to the largest."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return a.shape == b.shape and np.abs(a - b).max(initial=0.0) <= error * (1.0 + np.abs(b).max(initial=0.0))
