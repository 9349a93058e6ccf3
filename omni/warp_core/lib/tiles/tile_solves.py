"""Solutions of triangular systems in memory of a block of threads.

With few right-hand sides, a step subtracts a known component from all equations that are left, which is one iteration
for each of them. With many, an iteration solves one system alone. Both subtract in the same order, so they round
alike. Start with `solve_triangular`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Constant, F
from ...lang.registry import INTRINSICS, builtin
from .tile_factors import at

block_range = INTRINSICS["block_range"]

MANY = 8  # right-hand sides from which on each is solved by itself


@builtin(name="_solve_together")
def solve_together(a: Array[F, 2], x: Array[F, 2], shape: Constant, forward: Constant, transposed: Constant) -> None:
    """Solve a system for few right-hand sides in place; see `solve_triangular`."""
    n, sides = shape
    for step in range(n - 1):
        k = step if forward else n - 1 - step
        for e in block_range((n - 1 - step) * sides):
            row, side = e // sides, e % sides
            i = k + 1 + row if forward else row
            known = x[k, side] / a[k, k]
            x[i, side] = prim.fma(prim.neg(at(a, i, k, transposed)), known, x[i, side])
    for e in block_range(n * sides):
        row, side = e // sides, e % sides
        x[row, side] = x[row, side] / a[row, row]


@builtin(name="_solve_apart")
def solve_apart(a: Array[F, 2], x: Array[F, 2], shape: Constant, forward: Constant, transposed: Constant) -> None:
    """Solve a system for many right-hand sides in place; see `solve_triangular`."""
    n, sides = shape
    for side in block_range(sides):
        for step in range(n):
            i = step if forward else n - 1 - step
            value = x[i, side]
            for p in range(step):
                k = p if forward else n - 1 - p
                value = prim.fma(prim.neg(at(a, i, k, transposed)), x[k, side], value)
            x[i, side] = value / a[i, i]


@builtin(name="_solve_triangular")
def solve_triangular(a: Array[F, 2], x: Array[F, 2], shape: Constant, forward: Constant, transposed: Constant) -> None:
    """Replace right-hand sides by the solutions of a triangular system.

    Args:
        a: n x n elements, of which one triangle is read.
        x: the right-hand sides in columns, then the solutions.
        shape: n, and the number of right-hand sides.
        forward: whether the first component is known first: the matrix, transposed if need be, is a lower triangle.
        transposed: whether `a` is the transposed matrix.

    Derivative: none yet.
    """
    if shape[1] < MANY:
        solve_together(a, x, shape, forward, transposed)
    else:
        solve_apart(a, x, shape, forward, transposed)
