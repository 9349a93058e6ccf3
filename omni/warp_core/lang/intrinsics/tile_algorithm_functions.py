"""The functions of the front end itself that compute with tiles as matrices and sequences, and stacks of a block:
documentation only, as in general_functions.py. Their meaning in kernels is in front/tiles.
"""

from __future__ import annotations

from ..generics import Constant, F, S, Tile
from ..values.scalars import int32

# -- matrices ---------------------------------------------------------------------------------------------------------


def tile_matmul(
    a: Tile, b: Tile, out: Tile = None, alpha: F = 1.0, beta: F = 1.0, precision: Constant = "default"
) -> Tile:
    """Product of two matrices; `a @ b` is `tile_matmul(a, b)`.

    With `out` that tile becomes `alpha * a @ b + beta * out`, and there is no result. Sums go along the common axis
    upwards, fused, in the type of `out`; those of half precision go in float32 and are rounded once. Without `out` the
    result has the type of `a`, or float32 for bfloat16.

    Args:
        a: tile of M x K floats.
        b: tile of K x N floats of the same type.
        out: tile of M x N floats, not of bfloat16. It is not read if `beta` is 0.
        alpha: factor of the product; it may stand third if there is no `out`.
        beta: factor of `out`.
        precision: "default", or "tf32" to let a GPU round float32 operands to 11 bits.

    Returns:
        The tile `alpha * a @ b`, if there is no `out`.

    Derivative: of `a`, `b`, `out`, `alpha` and `beta`.

    >>> @wp.kernel
    ... def square(x: wp.array2d[float]):
    ...     a = wp.tile_load(x, (2, 2))
    ...     wp.tile_store(x, wp.tile_matmul(a, a))
    >>> x = wp.array([[1.0, 1.0], [0.0, 1.0]], dtype=float)
    >>> wp.launch_tiled(square, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    """


def tile_cholesky(A: Tile, fill_mode: Constant = "lower") -> Tile:
    """Cholesky factor of a symmetric, positive definite matrix.

    Args:
        A: tile of M x M floats, of which one triangle is read.
        fill_mode: that triangle, "lower" or "upper".

    Returns:
        The tile of L with `L @ transpose(L)` = A for the lower triangle, or of U with `transpose(U) @ U` = A for the
        upper one; the other triangle is zero. It is NaN from the first pivot on that is not positive.

    Derivative: of the triangle that is read.

    >>> @wp.kernel
    ... def factor(x: wp.array2d[float]):
    ...     wp.tile_store(x, wp.tile_cholesky(wp.tile_load(x, (2, 2))))
    >>> x = wp.array([[4.0, 0.0], [2.0, 10.0]], dtype=float)
    >>> wp.launch_tiled(factor, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[2.0, 0.0], [1.0, 3.0]]
    """


def tile_cholesky_inplace(A: Tile, fill_mode: Constant = "lower") -> None:
    """Cholesky factor of a symmetric, positive definite matrix, in place of it. See `wp.tile_cholesky`.

    Args:
        A: tile of M x M floats, of which one triangle is read. It becomes the factor.
        fill_mode: that triangle, "lower" or "upper".

    Derivative: of the triangle that is read.

    >>> @wp.kernel
    ... def factor(x: wp.array2d[float]):
    ...     a = wp.tile_load(x, (2, 2))
    ...     wp.tile_cholesky_inplace(a, fill_mode="upper")
    ...     wp.tile_store(x, a)
    >>> x = wp.array([[4.0, 2.0], [0.0, 10.0]], dtype=float)
    >>> wp.launch_tiled(factor, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """


def tile_cholesky_solve(L: Tile, y: Tile, fill_mode: Constant = "lower") -> Tile:
    """Solution of `A @ x = y`, given the Cholesky factor of A.

    Args:
        L: tile of M x M floats, the factor that `wp.tile_cholesky` returns.
        y: tile of M floats, or of M x R floats for several right-hand sides.
        fill_mode: the triangle that holds the factor, "lower" or "upper".

    Returns:
        The tile of x, with the shape of `y`.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], y: wp.array[float]):
    ...     factor = wp.tile_cholesky(wp.tile_load(a, (2, 2)))
    ...     wp.tile_store(y, wp.tile_cholesky_solve(factor, wp.tile_load(y, 2)))
    >>> a, y = wp.array([[4.0, 2.0], [2.0, 10.0]], dtype=float), wp.array([8.0, 22.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, y], block_dim=32)
    >>> y.list()
    [1.0, 2.0]
    """


def tile_cholesky_solve_inplace(L: Tile, y: Tile, fill_mode: Constant = "lower") -> None:
    """Solution of `A @ x = y` in place of `y`, given the Cholesky factor of A. See `wp.tile_cholesky_solve`.

    Args:
        L: tile of M x M floats, the factor that `wp.tile_cholesky` returns.
        y: tile of M or M x R floats. It becomes the solution.
        fill_mode: the triangle that holds the factor, "lower" or "upper".

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], y: wp.array[float]):
    ...     x = wp.tile_load(y, 2)
    ...     wp.tile_cholesky_solve_inplace(wp.tile_load(a, (2, 2)), x)
    ...     wp.tile_store(y, x)
    >>> a, y = wp.array([[2.0, 0.0], [1.0, 3.0]], dtype=float), wp.array([8.0, 22.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, y], block_dim=32)
    >>> y.list()
    [1.0, 2.0]
    """


def tile_lower_solve(L: Tile, y: Tile) -> Tile:
    """Solution of `L @ z = y` for a lower triangular matrix, by forward substitution.

    Args:
        L: tile of M x M floats, of which the lower triangle is read.
        y: tile of M floats, or of M x R floats for several right-hand sides.

    Returns:
        The tile of z, with the shape of `y`.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], y: wp.array[float]):
    ...     wp.tile_store(y, wp.tile_lower_solve(wp.tile_load(a, (2, 2)), wp.tile_load(y, 2)))
    >>> a, y = wp.array([[2.0, 0.0], [1.0, 3.0]], dtype=float), wp.array([8.0, 22.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, y], block_dim=32)
    >>> y.list()
    [4.0, 6.0]
    """


def tile_lower_solve_inplace(L: Tile, y: Tile) -> None:
    """Solution of `L @ z = y` in place of `y`, for a lower triangular matrix. See `wp.tile_lower_solve`.

    Args:
        L: tile of M x M floats, of which the lower triangle is read.
        y: tile of M or M x R floats. It becomes the solution.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], y: wp.array[float]):
    ...     z = wp.tile_load(y, 2)
    ...     wp.tile_lower_solve_inplace(wp.tile_load(a, (2, 2)), z)
    ...     wp.tile_store(y, z)
    >>> a, y = wp.array([[2.0, 0.0], [1.0, 3.0]], dtype=float), wp.array([8.0, 22.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, y], block_dim=32)
    >>> y.list()
    [4.0, 6.0]
    """


def tile_upper_solve(U: Tile, z: Tile) -> Tile:
    """Solution of `U @ x = z` for an upper triangular matrix, by backward substitution.

    Args:
        U: tile of M x M floats, of which the upper triangle is read.
        z: tile of M floats, or of M x R floats for several right-hand sides.

    Returns:
        The tile of x, with the shape of `z`.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], z: wp.array[float]):
    ...     wp.tile_store(z, wp.tile_upper_solve(wp.tile_load(a, (2, 2)), wp.tile_load(z, 2)))
    >>> a, z = wp.array([[2.0, 1.0], [0.0, 3.0]], dtype=float), wp.array([4.0, 6.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, z], block_dim=32)
    >>> z.list()
    [1.0, 2.0]
    """


def tile_upper_solve_inplace(U: Tile, z: Tile) -> None:
    """Solution of `U @ x = z` in place of `z`, for an upper triangular matrix. See `wp.tile_upper_solve`.

    Args:
        U: tile of M x M floats, of which the upper triangle is read.
        z: tile of M or M x R floats. It becomes the solution.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], z: wp.array[float]):
    ...     x = wp.tile_load(z, 2)
    ...     wp.tile_upper_solve_inplace(wp.tile_load(a, (2, 2)), x)
    ...     wp.tile_store(z, x)
    >>> a, z = wp.array([[2.0, 1.0], [0.0, 3.0]], dtype=float), wp.array([4.0, 6.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, z], block_dim=32)
    >>> z.list()
    [1.0, 2.0]
    """


# -- sequences --------------------------------------------------------------------------------------------------------


def tile_fft(inout: Tile) -> None:
    """Fourier transform along the last axis, in place. It is not divided by anything.

    Any length will do. Lengths whose prime factors are 2, 3, 5 and 7 take less time than others.

    Args:
        inout: tile of vec2f or vec2d, each a complex number.

    Derivative: the inverse transform of the adjoint.

    >>> @wp.kernel
    ... def transform(x: wp.array[wp.vec2f]):
    ...     row = wp.tile_load(x, 4)
    ...     wp.tile_fft(row)
    ...     wp.tile_store(x, row)
    >>> x = wp.array([(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)], dtype=wp.vec2f)
    >>> wp.launch_tiled(transform, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[10.0, 0.0], [-2.0, 2.0], [-2.0, 0.0], [-2.0, -2.0]]
    """


def tile_ifft(inout: Tile) -> None:
    """Inverse Fourier transform along the last axis, in place. It is not divided by the length. See `wp.tile_fft`.

    Args:
        inout: tile of vec2f or vec2d, each a complex number.

    Derivative: the transform of the adjoint.

    >>> @wp.kernel
    ... def transform(x: wp.array[wp.vec2f]):
    ...     row = wp.tile_load(x, 4)
    ...     wp.tile_ifft(row)
    ...     wp.tile_store(x, row)
    >>> x = wp.array([(10.0, 0.0), (-2.0, 2.0), (-2.0, 0.0), (-2.0, -2.0)], dtype=wp.vec2f)
    >>> wp.launch_tiled(transform, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[4.0, 0.0], [8.0, 0.0], [12.0, 0.0], [16.0, 0.0]]
    """


def tile_scan_inclusive(a: Tile) -> Tile:
    """Running sum: each element becomes the sum of it and all before it, in row-major order.

    The order of additions depends on the number of elements alone. Half precisions add in float32.

    Args:
        a: tile of numbers.

    Returns:
        The tile of sums.

    Derivative: of every element.

    >>> @wp.kernel
    ... def scan(x: wp.array[int]):
    ...     wp.tile_store(x, wp.tile_scan_inclusive(wp.tile_load(x, 4)))
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(scan, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [1, 3, 6, 10]
    """


def tile_scan_exclusive(a: Tile) -> Tile:
    """Running sum: each element becomes the sum of all before it, in row-major order. See `wp.tile_scan_inclusive`.

    Args:
        a: tile of numbers.

    Returns:
        The tile of sums; the first is zero.

    Derivative: of every element.

    >>> @wp.kernel
    ... def scan(x: wp.array[int]):
    ...     wp.tile_store(x, wp.tile_scan_exclusive(wp.tile_load(x, 4)))
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(scan, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [0, 1, 3, 6]
    """


def tile_scan_max_inclusive(a: Tile) -> Tile:
    """Running maximum: each element becomes the largest of it and all before it, in row-major order.

    Args:
        a: tile of numbers. NaN counts only where nothing but NaN is before it.

    Returns:
        The tile of maxima.

    Derivative: of the first element that has the maximum.

    >>> @wp.kernel
    ... def scan(x: wp.array[int]):
    ...     wp.tile_store(x, wp.tile_scan_max_inclusive(wp.tile_load(x, 4)))
    >>> x = wp.array([2, 1, 5, 4], dtype=int)
    >>> wp.launch_tiled(scan, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [2, 2, 5, 5]
    """


def tile_scan_min_inclusive(a: Tile) -> Tile:
    """Running minimum: each element becomes the smallest of it and all before it, in row-major order.

    Args:
        a: tile of numbers. NaN counts only where nothing but NaN is before it.

    Returns:
        The tile of minima.

    Derivative: of the first element that has the minimum.

    >>> @wp.kernel
    ... def scan(x: wp.array[int]):
    ...     wp.tile_store(x, wp.tile_scan_min_inclusive(wp.tile_load(x, 4)))
    >>> x = wp.array([2, 3, 1, 4], dtype=int)
    >>> wp.launch_tiled(scan, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [2, 2, 1, 1]
    """


def tile_sort(keys: Tile, values: Tile) -> None:
    """Sort keys in ascending order, in place, and values with them. Equal keys keep their order.

    Floats go from -infinity to infinity, with -0.0 before 0.0, a NaN whose sign bit is set before all numbers and any
    other NaN after them.

    Args:
        keys: tile of int32, uint32, float32, int64, uint64 or float64.
        values: tile of as many elements of any type.

    Derivative: elements take theirs along.

    >>> @wp.kernel
    ... def sort(keys: wp.array[float], values: wp.array[int]):
    ...     k, v = wp.tile_load(keys, 3), wp.tile_load(values, 3)
    ...     wp.tile_sort(k, v)
    ...     wp.tile_store(keys, k)
    ...     wp.tile_store(values, v)
    >>> keys, values = wp.array([2.5, -1.0, 0.5], dtype=float), wp.array([0, 1, 2], dtype=int)
    >>> wp.launch_tiled(sort, dim=1, inputs=[keys, values], block_dim=32)
    >>> keys.list(), values.list()
    ([-1.0, 0.5, 2.5], [1, 2, 0])
    """


# -- stacks -----------------------------------------------------------------------------------------------------------


def tile_stack(capacity: Constant, dtype: Constant = float) -> S:
    """Stack of the block, empty at first.

    Args:
        capacity: the most elements, known when the kernel compiles.
        dtype: the type of an element.

    Returns:
        The stack. Copies of it are the same stack.

    Derivative: refused.

    >>> @wp.kernel
    ... def reverse(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=8, dtype=int)
    ...     slot = wp.tile_stack_push(s, x[t], True)
    ...     value, slot = wp.tile_stack_pop(s)
    ...     x[t] = value
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(reverse, dim=1, inputs=[x], block_dim=4)
    >>> x.list()
    [4, 3, 2, 1]
    """


def tile_stack_push(s: S, value: S, has_value: bool = True) -> int32:
    """Push a value of each thread that has one, in the order of the threads.

    Args:
        s: a stack of the block.
        value: what this thread pushes.
        has_value: whether it does.

    Returns:
        The slot of this thread's value, counted from the bottom; -1 if it has none or the stack is full.

    Derivative: refused.

    >>> @wp.kernel
    ... def positive(x: wp.array[int], slots: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=8, dtype=int)
    ...     slots[t] = wp.tile_stack_push(s, x[t], x[t] > 0)
    >>> x, slots = wp.array([-1, 2, 4, -5], dtype=int), wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(positive, dim=1, inputs=[x, slots], block_dim=4)
    >>> slots.list()
    [-1, 0, 1, -1]
    """


def tile_stack_pop(s: S) -> tuple[S, int32]:
    """Pop a value for each thread: the topmost for the first thread, and so on.

    Args:
        s: a stack of the block.

    Returns:
        value: what this thread gets, zero if there are not so many.
        slot: where it was, counted from the bottom; -1 if this thread gets none.

    Derivative: refused.

    >>> @wp.kernel
    ... def last(x: wp.array[int], slots: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=3, dtype=int)
    ...     slot = wp.tile_stack_push(s, x[t], True)
    ...     x[t], slots[t] = wp.tile_stack_pop(s)
    >>> x, slots = wp.array([1, 2, 3, 4], dtype=int), wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(last, dim=1, inputs=[x, slots], block_dim=4)
    >>> x.list(), slots.list()
    ([3, 2, 1, 0], [2, 1, 0, -1])
    """


def tile_stack_clear(s: S) -> None:
    """Take all elements from a stack of the block.

    Args:
        s: the stack.

    Derivative: refused.

    >>> @wp.kernel
    ... def clear(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=8, dtype=int)
    ...     slot = wp.tile_stack_push(s, x[t], True)
    ...     wp.tile_stack_clear(s)
    ...     x[t] = wp.tile_stack_count(s)
    >>> x = wp.array([1, 2], dtype=int)
    >>> wp.launch_tiled(clear, dim=1, inputs=[x], block_dim=2)
    >>> x.list()
    [0, 0]
    """


def tile_stack_count(s: S) -> int32:
    """Number of elements in a stack of the block.

    Args:
        s: the stack.

    Returns:
        The number, the same for all threads.

    Derivative: refused.

    >>> @wp.kernel
    ... def count(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=8, dtype=int)
    ...     slot = wp.tile_stack_push(s, x[t], x[t] > 1)
    ...     x[t] = wp.tile_stack_count(s)
    >>> x = wp.array([1, 2, 3], dtype=int)
    >>> wp.launch_tiled(count, dim=1, inputs=[x], block_dim=3)
    >>> x.list()
    [2, 2, 2]
    """
