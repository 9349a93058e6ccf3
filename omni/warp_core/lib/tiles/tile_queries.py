"""Queries of trees and meshes by a block of threads.

A query lies in shared memory, beside a flag whether it may find more. One iteration of a shared loop walks for the
whole block. So results come in the order of a query by one thread, whatever the size of blocks. Start with
`next_boxes`.
"""

from __future__ import annotations

from ...lang.generics import Array, Vec
from ...lang.registry import INTRINSICS, builtin
from ...lang.values.scalars import float32, int32, uint64
from ..geometry.bvh_queries import BvhQuery, bvh_query_aabb, bvh_query_next, bvh_query_ray
from ..geometry.mesh_boxes import MeshQueryAABB, mesh_query_aabb, mesh_query_aabb_next

block_range = INTRINSICS["block_range"]


@builtin(name="_tile_bvh_begin_box")
def begin_box(
    query: Array[BvhQuery], goes_on: Array[int32], id: uint64, low: Vec[3, float32], high: Vec[3, float32]
) -> None:
    """Begin to look for boxes of a tree that overlap a box."""
    for i in block_range(1):
        query[i], goes_on[i] = bvh_query_aabb(id, low, high), 1


@builtin(name="_tile_bvh_begin_ray")
def begin_ray(
    query: Array[BvhQuery], goes_on: Array[int32], id: uint64, start: Vec[3, float32], dir: Vec[3, float32]
) -> None:
    """Begin to look for boxes of a tree that a ray passes through."""
    for i in block_range(1):
        query[i], goes_on[i] = bvh_query_ray(id, start, dir), 1


@builtin(name="_tile_mesh_begin_box")
def begin_faces(
    query: Array[MeshQueryAABB], goes_on: Array[int32], id: uint64, low: Vec[3, float32], high: Vec[3, float32]
) -> None:
    """Begin to look for faces of a mesh whose boxes overlap a box."""
    for i in block_range(1):
        query[i], goes_on[i] = mesh_query_aabb(id, low, high), 1


@builtin(name="_tile_bvh_next")
def next_boxes(query: Array[BvhQuery], goes_on: Array[int32], found: Array[int32]) -> None:
    """Find the next boxes of a tree, -1 behind the last."""
    for i in block_range(1):
        here, index, more = query[i], i, goes_on[i] != 0
        for k in range(found.shape[0]):
            if more:
                more = bvh_query_next(here, index)
            found[k] = index if more else -1
        query[i], goes_on[i] = here, int32(more)


@builtin(name="_tile_mesh_next")
def next_faces(query: Array[MeshQueryAABB], goes_on: Array[int32], found: Array[int32]) -> None:
    """Find the next faces of a mesh, -1 behind the last."""
    for i in block_range(1):
        here, index, more = query[i], i, goes_on[i] != 0
        for k in range(found.shape[0]):
            if more:
                more = mesh_query_aabb_next(here, index)
            found[k] = index if more else -1
        query[i], goes_on[i] = here, int32(more)
