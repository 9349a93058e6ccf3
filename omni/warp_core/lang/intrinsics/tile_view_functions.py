"""The functions of the front end itself that arrange the elements of tiles in another way: documentation only, as in
general_functions.py. Their meaning in kernels is in front/tiles.

They do not copy. Bound to a name, the result is a view: what a kernel writes to it changes the tile, and the other way
round.
"""

from __future__ import annotations

from ..generics import Constant, Tile
from ..values.scalars import int32


def tile_view(t: Tile, offset: int32, shape: Constant = None) -> Tile:
    """Part of a tile, with the elements of the tile itself.

    Args:
        t: the tile.
        offset: without a shape, an index or a slice for each leading dimension: an index leaves the dimension out. With
            a shape, the indices of the first element.
        shape: the extents of the part, as many as the tile has dimensions.

    Returns:
        The part. A program may also write `t[1]` or `t[1:3, ::2]`.

    >>> @wp.kernel
    ... def second_row(x: wp.array2d[float], out: wp.array[float]):
    ...     block = wp.tile_load(x, (2, 3))
    ...     wp.tile_store(out, wp.tile_view(block, offset=1))
    >>> x = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float)
    >>> out = wp.zeros(3, dtype=float)
    >>> wp.launch_tiled(second_row, dim=1, inputs=[x, out], block_dim=32)
    >>> out.list()
    [4.0, 5.0, 6.0]
    """


def tile_transpose(a: Tile) -> Tile:
    """Transposed tile, with the elements of the tile itself.

    Args:
        a: a tile of two dimensions.

    Returns:
        The tile with its axes exchanged.

    >>> @wp.kernel
    ... def transpose(x: wp.array2d[float], out: wp.array2d[float]):
    ...     wp.tile_store(out, wp.tile_transpose(wp.tile_load(x, (2, 3))))
    >>> out = wp.zeros((3, 2), dtype=float)
    >>> x = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float)
    >>> wp.launch_tiled(transpose, dim=1, inputs=[x, out], block_dim=32)
    >>> out.list()
    [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    """


def tile_broadcast(a: Tile, shape: Constant) -> Tile:
    """Tile that repeats the elements of another along axes of length 1 and new leading axes, as NumPy does.

    Args:
        a: the tile.
        shape: the new extents.

    Returns:
        The tile.

    >>> @wp.kernel
    ... def repeat(x: wp.array[float], out: wp.array2d[float]):
    ...     wp.tile_store(out, wp.tile_broadcast(wp.tile_load(x, 2), (3, 2)))
    >>> out = wp.zeros((3, 2), dtype=float)
    >>> wp.launch_tiled(repeat, dim=1, inputs=[wp.array([1.0, 2.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    """


def tile_reshape(t: Tile, shape: Constant) -> Tile:
    """Tile with the same elements in the same row-major order, and other extents.

    Args:
        t: a tile of its own, or a view whose elements lie side by side.
        shape: the new extents, of which one may be -1.

    Returns:
        The tile.

    >>> @wp.kernel
    ... def fold(x: wp.array[float], out: wp.array2d[float]):
    ...     wp.tile_store(out, wp.tile_reshape(wp.tile_load(x, 4), (2, -1)))
    >>> out = wp.zeros((2, 2), dtype=float)
    >>> wp.launch_tiled(fold, dim=1, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """


def tile_squeeze(t: Tile, axis: Constant = None) -> Tile:
    """Tile without axes of length 1.

    Args:
        t: the tile.
        axis: the axes to leave out, a number or a tuple; all of length 1 if it is left out.

    Returns:
        The tile. One axis stays where all have length 1.

    >>> @wp.kernel
    ... def flatten(x: wp.array2d[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_squeeze(wp.tile_load(x, (1, 3))))
    >>> out = wp.zeros(3, dtype=float)
    >>> wp.launch_tiled(flatten, dim=1, inputs=[wp.ones((1, 3), dtype=float), out], block_dim=32)
    >>> out.list()
    [1.0, 1.0, 1.0]
    """
