"""The functions of the front end itself that make tiles and combine them: documentation only, as in
general_functions.py. Their meaning in kernels is in front/tiles.

A tile is an array of one to four dimensions that the threads of a block work on together. Its `shape`, an integer or a
tuple, is known when the kernel compiles. Its `dtype` is a scalar, vector, matrix, quaternion, transform or struct type.
`storage` may say "register" or "shared", and changes nothing.
"""

from __future__ import annotations

from ..generics import Any, Constant, S, Tile
from ..values.scalars import float32, int32, uint32

# -- constants --------------------------------------------------------------------------------------------------------


def tile_zeros(shape: Constant, dtype: Constant = float, storage: Constant = "register") -> Tile:
    """Tile of zeros.

    Args:
        shape: its extents, one to four.
        dtype: the type of an element.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def clear(x: wp.array[float]):
    ...     i, t = wp.tid()
    ...     wp.tile_store(x, wp.tile_zeros(4), offset=4 * i)
    >>> x = wp.ones(9, dtype=float)
    >>> wp.launch_tiled(clear, dim=2, inputs=[x], block_dim=32)
    >>> x.list()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """


def tile_empty(shape: Constant, dtype: Constant = float, storage: Constant = "register") -> Tile:
    """Tile for elements that are set later. They are zeros.

    Args:
        shape: its extents, one to four.
        dtype: the type of an element.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def number(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     row = wp.tile_empty(4, dtype=int)
    ...     row[t] = t
    ...     wp.tile_store(out, row)
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(number, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 1, 2, 3]
    """


def tile_ones(shape: Constant, dtype: Constant = float, storage: Constant = "register") -> Tile:
    """Tile of ones: 1 in every component, and the quaternion without rotation.

    Args:
        shape: its extents, one to four.
        dtype: the type of an element, not a struct.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def fill(x: wp.array[float]):
    ...     wp.tile_store(x, wp.tile_ones(3))
    >>> x = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(fill, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [1.0, 1.0, 1.0, 0.0]
    """


def tile_full(shape: Constant, value: S, dtype: Constant = None, storage: Constant = "register") -> Tile:
    """Tile with one value everywhere.

    Args:
        shape: its extents, one to four.
        value: the value, the same in all threads of the block.
        dtype: the type of an element: that of the value if it is left out. Scalars convert, others must fit.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def fill(x: wp.array[float], value: float):
    ...     wp.tile_store(x, wp.tile_full(3, value))
    >>> x = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(fill, dim=1, inputs=[x, 2.5], block_dim=32)
    >>> x.list()
    [2.5, 2.5, 2.5, 0.0]
    """


def tile_arange(*args: Constant, dtype: Constant = float, storage: Constant = "register") -> Tile:
    """Tile of evenly spaced numbers: `tile_arange(stop)` or `tile_arange(start, stop[, step])`.

    Args:
        args: the first number, 0 if it is left out, the end, which is not reached, and the step, 1 if it is left out.
            They are known when the kernel compiles.
        dtype: a scalar type.
        storage: "register" or "shared".

    Returns:
        The tile, of one dimension.

    >>> @wp.kernel
    ... def count(x: wp.array[float]):
    ...     wp.tile_store(x, wp.tile_arange(1, 8, 2))
    >>> x = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(count, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [1.0, 3.0, 5.0, 7.0]
    """


# -- values of threads ------------------------------------------------------------------------------------------------


def tile(x: S, preserve_type: Constant = False) -> Tile:
    """Tile of what the threads of the block have: element i is that of thread i.

    As an annotation, `wp.tile[float, 4, 8]` and `wp.tile(dtype=float, shape=(4, 8))` name the type of a tile.

    Args:
        x: the value of this thread.
        preserve_type: whether an element of the tile is a whole vector or matrix.

    Returns:
        A tile of `block_dim()` elements. Of vectors with n components one of (n, `block_dim()`) numbers, and of
        matrices one of (rows, columns, `block_dim()`), unless their type is preserved.

    >>> @wp.kernel
    ... def squares(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     wp.tile_store(out, wp.tile(t * t))
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(squares, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 1, 4, 9]
    """


def untile(a: Tile) -> S:
    """Value that a tile has for this thread, the inverse of `tile`.

    Args:
        a: a tile with `block_dim()` elements along its last axis.

    Returns:
        The element of this thread; of a tile of two dimensions a vector, of three a matrix.

    Derivative: each element gets that of its thread.

    >>> @wp.kernel
    ... def reverse(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     row = wp.tile_load(x, 4)
    ...     x[3 - t] = wp.untile(row)
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(reverse, dim=1, inputs=[x], block_dim=4)
    >>> x.list()
    [4, 3, 2, 1]
    """


# -- elements of other tiles ------------------------------------------------------------------------------------------


def tile_astype(t: Tile, dtype: Constant) -> Tile:
    """Tile with its elements converted.

    Args:
        t: a tile of scalars, vectors or matrices.
        dtype: the new type of an element.

    Returns:
        The tile.

    >>> @wp.kernel
    ... def whole_numbers(x: wp.array[float], out: wp.array[int]):
    ...     wp.tile_store(out, wp.tile_astype(wp.tile_load(x, 3), int))
    >>> out = wp.zeros(3, dtype=int)
    >>> wp.launch_tiled(whole_numbers, dim=1, inputs=[wp.array([1.5, -2.5, 3.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1, -2, 3]
    """


def tile_map(op: Constant, a: Tile, *args: Any) -> Tile:
    """Tile of what a function makes of the elements of others.

    Args:
        op: a function of the kernel language, or a `@wp.func`.
        a: its first arguments.
        args: further tiles of the shape of `a`, or values that are the same in all threads of the block.

    Returns:
        The tile. The type of its elements is that of the function's result.

    >>> @wp.func
    ... def clipped(x: float, low: float):
    ...     return wp.max(x, low)
    >>> @wp.kernel
    ... def clip(x: wp.array[float]):
    ...     wp.tile_store(x, wp.tile_map(clipped, wp.tile_load(x, 3), 0.0))
    >>> x = wp.array([-1.0, 0.5, 2.0], dtype=float)
    >>> wp.launch_tiled(clip, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [0.0, 0.5, 2.0]
    """


# -- reductions -------------------------------------------------------------------------------------------------------


def tile_sum(a: Tile, axis: Constant = None) -> Tile:
    """Sum of the elements of a tile, always in the same order: 16 partial sums, which are added by halves.

    Args:
        a: a tile of numbers, vectors or matrices.
        axis: the axis along which to add; all elements if it is left out.

    Returns:
        A tile of one element, or without that axis.

    >>> @wp.kernel
    ... def total(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_sum(wp.tile_load(x, 4)))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(total, dim=1, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [10.0]
    """


def tile_reduce(op: Constant, a: Tile, axis: Constant = None) -> Tile:
    """Combine the elements of a tile by a function.

    Args:
        op: a function of two elements that gives one, associative and commutative.
        a: the tile.
        axis: the axis along which to combine; all elements if it is left out.

    Returns:
        A tile of one element, or without that axis.

    >>> @wp.kernel
    ... def product(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_reduce(wp.mul, wp.tile_load(x, 4)))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(product, dim=1, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [24.0]
    """


def tile_min(a: Tile) -> Tile:
    """Least element of a tile. A NaN counts as missing.

    Args:
        a: a tile of scalars.

    Returns:
        A tile of one element.

    >>> @wp.kernel
    ... def least(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_min(wp.tile_load(x, 3)))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(least, dim=1, inputs=[wp.array([3.0, 1.0, 2.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1.0]
    """


def tile_max(a: Tile) -> Tile:
    """Greatest element of a tile. A NaN counts as missing.

    Args:
        a: a tile of scalars.

    Returns:
        A tile of one element.

    >>> @wp.kernel
    ... def greatest(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_max(wp.tile_load(x, 3)))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(greatest, dim=1, inputs=[wp.array([1.0, 3.0, 2.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [3.0]
    """


def tile_argmin(a: Tile) -> Tile:
    """Index of the least element, counted in row-major order; of equal ones the lowest. A NaN counts as missing.

    Args:
        a: a tile of scalars.

    Returns:
        A tile of one int32; 0 if all elements are NaN.

    >>> @wp.kernel
    ... def place(x: wp.array[float], out: wp.array[int]):
    ...     wp.tile_store(out, wp.tile_argmin(wp.tile_load(x, 3)))
    >>> out = wp.zeros(1, dtype=int)
    >>> wp.launch_tiled(place, dim=1, inputs=[wp.array([3.0, 1.0, 1.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1]
    """


def tile_argmax(a: Tile) -> Tile:
    """Index of the greatest element, counted in row-major order; of equal ones the lowest. A NaN counts as missing.

    Args:
        a: a tile of scalars.

    Returns:
        A tile of one int32; 0 if all elements are NaN.

    >>> @wp.kernel
    ... def place(x: wp.array[float], out: wp.array[int]):
    ...     wp.tile_store(out, wp.tile_argmax(wp.tile_load(x, 3)))
    >>> out = wp.zeros(1, dtype=int)
    >>> wp.launch_tiled(place, dim=1, inputs=[wp.array([1.0, 3.0, 2.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1]
    """


def tile_dot(a: Tile, b: Tile) -> Tile:
    """Inner product of two tiles: the sum of the products of their elements.

    Args:
        a: a tile of scalars.
        b: one of its shape and type.

    Returns:
        A tile of one element.

    >>> @wp.kernel
    ... def product(x: wp.array[float], out: wp.array[float]):
    ...     row = wp.tile_load(x, 3)
    ...     wp.tile_store(out, wp.tile_dot(row, row))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(product, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [14.0]
    """


# -- random numbers, and values of one thread -------------------------------------------------------------------------


def tile_randi(
    shape: Constant, rng: uint32, min: int32 = None, max: int32 = None, storage: Constant = "register"
) -> Tile:
    """Tile of random integers. Element e is drawn by thread e % `block_dim()` from the state `rng` + its index.

    Args:
        shape: its extents, one to four.
        rng: the state of a random generator, as of `rand_init`; it stays as it is.
        min: the least number, if given.
        max: the number that is just not reached, if given.
        storage: "register" or "shared".

    Returns:
        A tile of int32.

    >>> @wp.kernel
    ... def throw(out: wp.array[int]):
    ...     wp.tile_store(out, wp.tile_randi(100, wp.rand_init(7), 1, 7))
    >>> out = wp.zeros(100, dtype=int)
    >>> wp.launch_tiled(throw, dim=1, inputs=[out], block_dim=32)
    >>> sorted(set(out.list()))
    [1, 2, 3, 4, 5, 6]
    """


def tile_randf(
    shape: Constant, rng: uint32, min: float32 = None, max: float32 = None, storage: Constant = "register"
) -> Tile:
    """Tile of random numbers in [0, 1), or in [min, max). They are drawn as those of `tile_randi`.

    Args:
        shape: its extents, one to four.
        rng: the state of a random generator, as of `rand_init`; it stays as it is.
        min: the lower end, if given.
        max: the upper end, if given.
        storage: "register" or "shared".

    Returns:
        A tile of float32.

    >>> @wp.kernel
    ... def draw(out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_randf(100, wp.rand_init(7), 2.0, 3.0))
    >>> out = wp.zeros(100, dtype=float)
    >>> wp.launch_tiled(draw, dim=1, inputs=[out], block_dim=32)
    >>> 2.0 <= min(out.list()) and max(out.list()) < 3.0
    True
    """


def tile_from_thread(shape: Constant, value: S, thread_idx: int32, storage: Constant = "register") -> Tile:
    """Tile with the value of one thread of the block everywhere.

    Args:
        shape: its extents, one to four.
        value: the value of each thread.
        thread_idx: the index of the thread whose value it is.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def tell(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     wp.tile_store(out, wp.tile_from_thread(2, 10 * t, 3))
    >>> out = wp.zeros(2, dtype=int)
    >>> wp.launch_tiled(tell, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [30, 30]
    """
