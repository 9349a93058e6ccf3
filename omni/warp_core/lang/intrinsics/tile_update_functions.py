"""The functions of the front end itself that change the elements of tiles: documentation only, as in
general_functions.py. Their meaning in kernels is in front/tiles.
"""

from __future__ import annotations

from ..generics import Any, Constant, S, Tile
from ..values.scalars import bool, int32


def tile_assign(dst: Tile, src: Tile, offset: int32 = None) -> None:
    """Copy a tile into a part of another; its elements are converted.

    Args:
        dst: the tile that is changed, or a view of one.
        src: a tile with as many dimensions, which fits into it.
        offset: the indices in `dst` of the first element; zeros if they are left out.

    >>> @wp.kernel
    ... def framed(out: wp.array[float]):
    ...     t = wp.tile_zeros(5)
    ...     wp.tile_assign(t, wp.tile_ones(3), offset=1)
    ...     wp.tile_store(out, t)
    >>> out = wp.zeros(5, dtype=float)
    >>> wp.launch_tiled(framed, dim=1, inputs=[out], block_dim=32)
    >>> out.list()
    [0.0, 1.0, 1.0, 1.0, 0.0]
    """


def tile_axpy(alpha: S, src: Tile, dest: Tile) -> None:
    """Add a multiple of a tile to another: `dest += alpha * src`.

    Args:
        alpha: the factor, the same in all threads of the block.
        src: the tile that is added.
        dest: the tile that is changed, of the same shape and type.

    >>> @wp.kernel
    ... def add(x: wp.array[float], y: wp.array[float]):
    ...     t = wp.tile_load(y, 3)
    ...     wp.tile_axpy(2.0, wp.tile_load(x, 3), t)
    ...     wp.tile_store(y, t)
    >>> y = wp.ones(3, dtype=float)
    >>> wp.launch_tiled(add, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), y], block_dim=32)
    >>> y.list()
    [3.0, 5.0, 7.0]
    """


def tile_diag_add(a: Tile, d: Tile) -> Tile:
    """Square tile with numbers added to its diagonal.

    Args:
        a: a tile of n x n elements, which stays as it is.
        d: a tile of n elements.

    Returns:
        The sum.

    >>> @wp.kernel
    ... def shifted(x: wp.array2d[float]):
    ...     wp.tile_store(x, wp.tile_diag_add(wp.tile_load(x, (2, 2)), wp.tile_ones(2)))
    >>> x = wp.zeros((2, 2), dtype=float)
    >>> wp.launch_tiled(shifted, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [1.0, 0.0, 0.0, 1.0]
    """


def tile_slice_indexed(t: Tile, indices: Tile) -> Tile:
    """Elements or rows of a tile that a tile of indices selects; `t[indices]` and `t[:, indices]` are the same.

    Args:
        t: the tile.
        indices: a tile of int32, or a tuple with one, and `:` for all other axes. A negative index counts from the end.
            One out of bounds ends the launch with a `KernelError`.

    Returns:
        A tile of its own.

    >>> @wp.kernel
    ... def reorder(x: wp.array[float], places: wp.array[int]):
    ...     t = wp.tile_load(x, 3)
    ...     wp.tile_store(x, wp.tile_slice_indexed(t, wp.tile_load(places, 3)))
    >>> x = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> wp.launch_tiled(reorder, dim=1, inputs=[x, wp.array([2, 0, 0], dtype=int)], block_dim=32)
    >>> x.list()
    [3.0, 1.0, 1.0]
    """


# -- values of threads ------------------------------------------------------------------------------------------------


def tile_scatter_add(a: Tile, *args: Any, value: S = None, has_value: bool = None, atomic: Constant = True) -> None:
    """Add a value of each thread to an element of a tile. All threads of the block come here.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, the value, and whether this thread has one.
        value: the value, if it is given by name.
        has_value: whether this thread has one, if that is given by name.
        atomic: False promises that no two threads name one element.

    >>> @wp.kernel
    ... def histogram(x: wp.array[int], out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     counts = wp.tile_zeros(3, dtype=int)
    ...     wp.tile_scatter_add(counts, x[t], 1, x[t] > 0)
    ...     wp.tile_store(out, counts)
    >>> out = wp.zeros(3, dtype=int)
    >>> wp.launch_tiled(histogram, dim=1, inputs=[wp.array([2, 0, 1, 2], dtype=int), out], block_dim=4)
    >>> out.list()
    [0, 1, 2]
    """


def tile_scatter_masked(a: Tile, *args: Any, value: S = None, has_value: bool = None) -> None:
    """Write a value of each thread to an element of a tile, each to another. All threads of the block come here.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, the value, and whether this thread has one.
        value: the value, if it is given by name.
        has_value: whether this thread has one, if that is given by name.

    >>> @wp.kernel
    ... def reverse(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     row = wp.tile_zeros(4, dtype=int)
    ...     wp.tile_scatter_masked(row, 3 - t, x[t], t > 0)
    ...     wp.tile_store(x, row)
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(reverse, dim=1, inputs=[x], block_dim=4)
    >>> x.list()
    [4, 3, 2, 0]
    """


def tile_add_inplace(a: Tile, *args: Any, value: S = None) -> None:
    """Add a value to an element of a tile, atomically: `a[i] += value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=float)
    ...     wp.tile_add_inplace(a, t, 1.0 + float(t))
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [1.0, 2.0, 3.0, 4.0]
    """


def tile_sub_inplace(a: Tile, *args: Any, value: S = None) -> None:
    """Subtract a value from an element of a tile, atomically: `a[i] -= value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=float)
    ...     wp.tile_sub_inplace(a, t, float(t))
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0.0, -1.0, -2.0, -3.0]
    """


def tile_bit_and_inplace(a: Tile, *args: Any, value: S = None) -> None:
    """Combine with a value, by `and`, an element of a tile, atomically: `a[i] &= value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=int)
    ...     wp.tile_bit_and_inplace(a, t, t)
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 0, 0, 0]
    """


def tile_bit_or_inplace(a: Tile, *args: Any, value: S = None) -> None:
    """Combine with a value, by `or`, an element of a tile, atomically: `a[i] |= value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=int)
    ...     wp.tile_bit_or_inplace(a, t, t)
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 1, 2, 3]
    """


def tile_bit_xor_inplace(a: Tile, *args: Any, value: S = None) -> None:
    """Combine with a value, by exclusive or, an element of a tile, atomically: `a[i] ^= value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=int)
    ...     wp.tile_bit_xor_inplace(a, t, t)
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 1, 2, 3]
    """
