"""Queries of trees and meshes by a block of threads.

A query lies in shared memory, beside a flag whether it may find more. One iteration of a shared loop walks for the
whole block. So results come in the order of a query by one thread, whatever the size of blocks. Start with
`next_results`.
"""

from __future__ import annotations

from ...lang.generics import Array, Constant, S, Vec
from ...lang.registry import INTRINSICS, builtin
from ...lang.values.scalars import float32, int32, uint64
from ..geometry.bvh_queries import BvhQuery, bvh_query_aabb, bvh_query_ray
from ..geometry.mesh_boxes import MeshQueryAABB, mesh_query_aabb

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


@builtin(name="_tile_query_next")
def next_results(query: Array[S], goes_on: Array[int32], found: Array[int32], advance: Constant) -> None:
    """Find the next boxes or faces, -1 behind the last. `advance` is the function that finds one."""
    for i in block_range(1):
        here, index, more = query[i], i, goes_on[i] != 0
        for k in range(found.shape[0]):
            if more:
                more = advance(here, index)
            found[k] = index if more else -1
        query[i], goes_on[i] = here, int32(more)
