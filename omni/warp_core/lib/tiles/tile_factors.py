"""The Cholesky factor of a matrix in memory of a block of threads.

Row k of the upper factor follows from the rows before it. An iteration computes one element of the row, so neighbours
read neighbouring elements, and each computes the pivot again, which is the same for all lanes. The lower factor is the
transposed upper one. Start with `cholesky`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Constant, F
from ...lang.registry import INTRINSICS, builtin
from ...lang.values.scalars import int32

block_range = INTRINSICS["block_range"]

NAN = float("nan")


@builtin(name="_at")
def at(a: Array[F, 2], i: int32, j: int32, transposed: Constant) -> F:
    """Return the element in row `i` and column `j` of `a`, or of `a` transposed."""
    return a[j, i] if transposed else a[i, j]


@builtin(name="_cholesky")
def cholesky(a: Array[F, 2], rows: Array[F, 2], n: Constant, lower: Constant) -> None:
    """Replace a symmetric matrix by its Cholesky factor.

    Args:
        a: n x n elements. One triangle is read; the factor fills it, and the other one becomes zero.
        rows: memory for n x n elements.
        n: the number of rows.
        lower: whether the triangle is the lower one, of L with L @ L^T = a, or the upper one, of U with U^T @ U = a.

    From the first pivot on that is not positive, the factor is NaN.
    Derivative: none yet.
    """
    for k in range(n):
        for place in block_range(n - k):
            j = k + place
            pivot, value = a[k, k], at(a, k, j, lower)
            for p in range(k):
                x = rows[p, k]
                pivot = prim.fma(prim.neg(x), x, pivot)
                value = prim.fma(prim.neg(x), rows[p, j], value)
            root = prim.select(pivot > F(0.0), prim.sqrt(pivot), F(NAN))
            rows[k, j] = prim.select(place == 0, root, value / root)
    for i, j in block_range(n, n):
        value = F(0.0)
        if (j <= i) if lower else (i <= j):
            value = at(rows, i, j, lower)
        a[i, j] = value
