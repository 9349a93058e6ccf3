"""The functions of the front end itself that move tiles between arrays and blocks: documentation only, as in
general_functions.py. Their meaning in kernels is in front/tiles.

In all of them `offset` has the indices of the array where the tile begins, the same in all threads of the block. It is
one number, which counts in the first dimension, or one for each dimension.
"""

from __future__ import annotations

from ..generics import Array, Constant, S, Tile
from ..values.scalars import int32

# -- at an offset -----------------------------------------------------------------------------------------------------


def tile_load(
    a: Array[S],
    shape: Constant,
    offset: int32 = None,
    storage: Constant = "register",
    bounds_check: Constant = True,
    aligned: Constant = False,
) -> Tile:
    """Tile of elements of an array. What lies outside of the array is zero.

    Args:
        a: an array with as many dimensions as the tile, with any strides; `x[i]` is one.
        shape: the extents of the tile, one to four.
        offset: the indices of its first element; zeros if they are left out.
        storage: "register" or "shared".
        bounds_check: False promises that the tile lies in the array.
        aligned: True promises that, too, and that its rows are contiguous and begin at multiples of 16 bytes.

    Returns:
        The tile.

    >>> @wp.kernel
    ... def sums(x: wp.array2d[float], out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     row = wp.tile_load(x[i], 8)
    ...     wp.tile_store(out, wp.tile_sum(row), offset=i)
    >>> out = wp.zeros(2, dtype=float)
    >>> wp.launch_tiled(sums, dim=2, inputs=[wp.ones((2, 5), dtype=float), out], block_dim=32)
    >>> out.list()
    [5.0, 5.0]
    """


def tile_store(
    a: Array[S],
    t: Tile,
    offset: int32 = None,
    bounds_check: Constant = True,
    aligned: Constant = False,
) -> None:
    """Write a tile to an array. What would lie outside of the array is left out.

    Args:
        a: an array with as many dimensions as the tile, with any strides.
        t: the tile, of the array's dtype.
        offset: the indices of its first element; zeros if they are left out.
        bounds_check: False promises that the tile lies in the array.
        aligned: True promises that, too, and that its rows are contiguous and begin at multiples of 16 bytes.

    >>> @wp.kernel
    ... def double(x: wp.array[float]):
    ...     i, t = wp.tid()
    ...     wp.tile_store(x, 2.0 * wp.tile_load(x, 2, offset=2 * i), offset=2 * i)
    >>> x = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> wp.launch_tiled(double, dim=2, inputs=[x], block_dim=32)
    >>> x.list()
    [2.0, 4.0, 6.0]
    """


def tile_atomic_add(a: Array[S], t: Tile, offset: int32 = None, bounds_check: Constant = True) -> Tile:
    """Add a tile to elements of an array, each atomically. What would lie outside of the array is left out.

    Args:
        a: an array with as many dimensions as the tile: not of bool, nor of integers with 8 or 16 bits.
        t: the tile, of the array's dtype.
        offset: the indices of its first element; zeros if they are left out.
        bounds_check: False promises that the tile lies in the array.

    Returns:
        The tile of what was there before.

    >>> @wp.kernel
    ... def gather(x: wp.array[float], out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     wp.tile_atomic_add(out, wp.tile_load(x, 2, offset=2 * i))
    >>> out = wp.zeros(2, dtype=float)
    >>> wp.launch_tiled(gather, dim=2, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [4.0, 6.0]
    """


# -- at indices -------------------------------------------------------------------------------------------------------


def tile_load_indexed(
    a: Array[S],
    indices: Tile,
    shape: Constant,
    offset: int32 = None,
    axis: Constant = 0,
    storage: Constant = "register",
) -> Tile:
    """Tile of elements of an array that a tile of indices selects along one axis. What lies outside is zero.

    Args:
        a: an array with as many dimensions as the tile.
        indices: a tile of int32 with an index for each element along the axis; the offset is added to it.
        shape: the extents of the tile, one to four.
        offset: the indices of the array that are added to those in the tile.
        axis: the axis whose coordinate selects an index.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def even(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_load_indexed(x, wp.tile_arange(0, 6, 2, dtype=int), 3))
    >>> out = wp.zeros(3, dtype=float)
    >>> wp.launch_tiled(even, dim=1, inputs=[wp.array([0.0, 1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [0.0, 2.0, 4.0]
    """


def tile_store_indexed(a: Array[S], indices: Tile, t: Tile, offset: int32 = None, axis: Constant = 0) -> None:
    """Write a tile to elements of an array that a tile of indices selects along one axis.

    What would lie outside of the array is left out.

    Args:
        a: an array with as many dimensions as the tile.
        indices: a tile of int32 with an index for each element along the axis; the offset is added to it.
        t: the tile, of the array's dtype.
        offset: the indices of the array that are added to those in the tile.
        axis: the axis whose coordinate selects an index.

    >>> @wp.kernel
    ... def spread(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store_indexed(out, wp.tile_arange(0, 6, 2, dtype=int), wp.tile_load(x, 3))
    >>> out = wp.zeros(5, dtype=float)
    >>> wp.launch_tiled(spread, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1.0, 0.0, 2.0, 0.0, 3.0]
    """


def tile_atomic_add_indexed(a: Array[S], indices: Tile, t: Tile, offset: int32 = None, axis: Constant = 0) -> Tile:
    """Add a tile to elements of an array that a tile of indices selects along one axis, each atomically.

    Args:
        a: an array with as many dimensions as the tile: not of bool, nor of integers with 8 or 16 bits.
        indices: a tile of int32 with an index for each element along the axis; the offset is added to it.
        t: the tile, of the array's dtype.
        offset: the indices of the array that are added to those in the tile.
        axis: the axis whose coordinate selects an index.

    Returns:
        The tile of what was there before; 0 outside of the array.

    >>> @wp.kernel
    ... def count(places: wp.array[int], out: wp.array[int]):
    ...     wp.tile_atomic_add_indexed(out, wp.tile_load(places, 4), wp.tile_ones(4, dtype=int))
    >>> out = wp.zeros(3, dtype=int)
    >>> wp.launch_tiled(count, dim=1, inputs=[wp.array([2, 0, 2, 2], dtype=int), out], block_dim=32)
    >>> out.list()
    [1, 0, 3]
    """


# -- single elements --------------------------------------------------------------------------------------------------


def tile_extract(a: Tile, *i: int32) -> S:
    """Element of a tile, for this thread. `t[i, j]` is the same, but counts negative indices from the end.

    Args:
        a: the tile.
        i: an index for each dimension, and further ones for a component of a vector, or row and column of a matrix.

    Returns:
        The element or component. An index out of bounds ends the launch with a `KernelError`.

    Derivative: the element gets the sum over the threads.

    >>> @wp.kernel
    ... def pick(x: wp.array[float], out: wp.array[float]):
    ...     out[0] = wp.tile_extract(wp.tile_load(x, 3), 1)
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(pick, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [2.0]
    """
