"""Products of matrices that lie in memory of a block of threads.

An iteration computes a column of a strip of rows, with the sums in registers: for each k it loads one element of B and
the strip's elements of A. Neighbours have neighbouring columns, so on a CPU a row of B is one vector, and an element of
A is the same for all lanes. Start with `matmul`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Constant, S, T, U, Vec
from ...lang.registry import INTRINSICS, builtin
from ...lang.values.scalars import int32

block_range = INTRINSICS["block_range"]

ROWS = 8  # of a strip: eight sums hide the latency of an addition, and fit into 16 registers


def strip_rows(rows: int) -> int:
    """Return how many of a matrix's rows a strip has, so that strips are of one height and few rows stand in two."""
    strips = -(-rows // ROWS)
    return -(-rows // strips)


@builtin(name="_row_of_strip")
def row(i: int32, m: Constant, rows: Constant) -> int32:
    """Return row `i`, or the last one for a row of the last strip that is not there."""
    return i if m % rows == 0 else prim.min(i, m - 1)


@builtin(name="_tile_matmul")
def matmul(
    a: Array[S, 2],
    b: Array[S, 2],
    out: Array[T, 2],
    alpha: U,
    beta: U,
    shape: Constant,
    rows: Constant,
    transposed: Constant,
) -> None:
    """Set `out` to alpha * a @ b + beta * out, or to alpha * a.T @ b + beta * out.

    Sums begin with beta * out, and go along k upwards, fused, in the type of the factors. The result is rounded once.

    Args:
        a: M x K elements, or K x M if it is transposed.
        b: K x N elements.
        out: M x N elements, not read if beta is 0.
        alpha: factor of `a`.
        beta: factor of `out`.
        shape: M, N.
        rows: those of a strip, from `strip_rows`.
        transposed: whether `a` is.

    Derivative: none yet.
    """
    m, n = shape
    for s, j in block_range((m + rows - 1) // rows, n):
        sums = Vec[rows, U]()
        if beta != U(0.0):
            for r in range(rows):
                sums[r] = beta * U(out[row(s * rows + r, m, rows), j])
        for q in range(b.shape[0]):
            x = U(b[q, j])
            for r in range(rows):
                i = row(s * rows + r, m, rows)
                y = alpha * U(a[q, i] if transposed else a[i, q])
                sums[r] = prim.fma(y, x, sums[r])
        for r in range(rows):
            if m % rows == 0 or s * rows + r < m:
                out[s * rows + r, j] = T(sums[r])
