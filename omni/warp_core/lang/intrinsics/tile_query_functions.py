"""The functions of the front end itself by which a block of threads queries a tree or a mesh: documentation only, as in
general_functions.py. Their meaning in kernels is in front/tiles/tile_query_calls.py.
"""

from __future__ import annotations

from ..generics import S, Tile, Vec
from ..values.scalars import bool as boolean
from ..values.scalars import float32, uint64


def tile_bvh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> S:
    """Query of a `wp.Bvh` by the whole block for the boxes that overlap a box.

    All threads make it, with equal arguments.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        low: the lower corner of the box, a vec3.
        high: its upper corner.

    Returns:
        The query, for `wp.tile_bvh_query_next` and `wp.tile_query_valid`. Copies of it are the same query. What it
        finds, and what it refuses, is as in `wp.bvh_query_aabb`.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_bvh_query_aabb(bvh, low, high)
    ...     while wp.tile_query_valid(query):
    ...         index = wp.untile(wp.tile_bvh_query_next(query))
    ...         if index >= 0:
    ...             found[index] = 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros(3, dtype=int, device="cpu")
    >>> inputs = [bvh.id, wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 1.0, 1.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [1, 1, 0]
    """


def tile_bvh_query_ray(id: uint64, start: Vec[3, float32], dir: Vec[3, float32]) -> S:
    """Query of a `wp.Bvh` by the whole block for the boxes that a ray passes through.

    All threads make it, with equal arguments.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        start: where the ray starts, a vec3.
        dir: its direction, a vec3 of any length.

    Returns:
        The query, as `wp.tile_bvh_query_aabb` returns it. What it finds is as in `wp.bvh_query_ray`.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(bvh: wp.uint64, start: wp.vec3, dir: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_bvh_query_ray(bvh, start, dir)
    ...     while wp.tile_query_valid(query):
    ...         index = wp.untile(wp.tile_bvh_query_next(query))
    ...         if index >= 0:
    ...             found[index] = 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 2.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 3.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros(3, dtype=int, device="cpu")
    >>> inputs = [bvh.id, wp.vec3(-1.0, 0.5, 0.5), wp.vec3(1.0, 0.0, 0.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [1, 0, 1]
    """


def tile_bvh_query_next(query: S) -> Tile:
    """Tile of the next results of a query of a tree, one for each thread of the block.

    Args:
        query: from `wp.tile_bvh_query_aabb` or `wp.tile_bvh_query_ray`; it is advanced for all threads.

    Returns:
        A tile of `block_dim` int32: indices of boxes in the order of `wp.bvh_query_next`, and -1 behind the last.

    Derivative: refused.

    >>> @wp.kernel
    ... def batches(bvh: wp.uint64, found: wp.array2d[int]):
    ...     query = wp.tile_bvh_query_aabb(bvh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(9.0, 1.0, 1.0))
    ...     for row in range(2):
    ...         wp.tile_store(found[row], wp.tile_bvh_query_next(query))
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros((2, 2), dtype=int, device="cpu")
    >>> wp.launch_tiled(batches, dim=1, inputs=[bvh.id, found], block_dim=2, device="cpu")
    >>> found.list()
    [0, 1, 2, -1]
    """


def tile_mesh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> S:
    """Query of a mesh by the whole block for the faces whose boxes overlap a box.

    All threads make it, with equal arguments.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        low: the lower corner of the box, a vec3 in the coordinates of the mesh.
        high: its upper corner.

    Returns:
        The query, for `wp.tile_mesh_query_aabb_next` and `wp.tile_query_valid`. Copies of it are the same query.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(mesh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_mesh_query_aabb(mesh, low, high)
    ...     while wp.tile_query_valid(query):
    ...         face = wp.untile(wp.tile_mesh_query_aabb_next(query))
    ...         if face >= 0:
    ...             found[face] = 1
    >>> corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [9.0, 9.0, 0.0]]
    >>> corners = wp.array(corners, dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2, 1, 3, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(2, dtype=int, device="cpu")
    >>> inputs = [mesh.id, wp.vec3(4.0, 4.0, -1.0), wp.vec3(5.0, 5.0, 1.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [0, 1]
    """


def tile_mesh_query_aabb_next(query: S) -> Tile:
    """Tile of the next faces of a query of a mesh, one for each thread of the block.

    Args:
        query: from `wp.tile_mesh_query_aabb`; it is advanced for all threads.

    Returns:
        A tile of `block_dim` int32: faces in the order of `wp.mesh_query_aabb_next`, and -1 behind the last.

    Derivative: refused.

    >>> @wp.kernel
    ... def first(mesh: wp.uint64, found: wp.array[int]):
    ...     query = wp.tile_mesh_query_aabb(mesh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(1.0, 1.0, 1.0))
    ...     wp.tile_store(found, wp.tile_mesh_query_aabb_next(query))
    >>> corners = wp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(2, dtype=int, device="cpu")
    >>> wp.launch_tiled(first, dim=1, inputs=[mesh.id, found], block_dim=2, device="cpu")
    >>> found.list()
    [0, -1]
    """


def tile_query_valid(query: S) -> boolean:
    """True if a query of the block may have more results. A tile of -1 alone may still follow.

    Args:
        query: of a tree or a mesh, by the whole block.

    Returns:
        The answer, the same for all threads: it may end a loop.

    Derivative: none.

    >>> @wp.kernel
    ... def rounds(bvh: wp.uint64, count: wp.array[int]):
    ...     query = wp.tile_bvh_query_aabb(bvh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(9.0, 1.0, 1.0))
    ...     n = int(0)
    ...     while wp.tile_query_valid(query):
    ...         boxes = wp.tile_bvh_query_next(query)
    ...         n += 1
    ...     count[0] = n
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, count = wp.Bvh(lowers, uppers), wp.zeros(1, dtype=int, device="cpu")
    >>> wp.launch_tiled(rounds, dim=1, inputs=[bvh.id, count], block_dim=2, device="cpu")
    >>> count.list()
    [2]
    """


# Names of earlier versions.
bvh_query_aabb_tiled = tile_bvh_query_aabb
bvh_query_ray_tiled = tile_bvh_query_ray
bvh_query_next_tiled = tile_bvh_query_next
mesh_query_aabb_tiled = tile_mesh_query_aabb
mesh_query_aabb_next_tiled = tile_mesh_query_aabb_next
