"""Queries by a block: `query = wp.tile_bvh_query_aabb(id, low, high)`, then `wp.tile_bvh_query_next(query)`.

Such a query is a struct of two arrays in shared memory: the query of one thread, and whether it goes on. Copies of it
are the same query.
"""

from __future__ import annotations

from typing import Any

from ...ir.nodes import Value
from ...lang.registry import Builtin, get
from ...lang.types import F32, I32, U64, Array, FixedArray, Struct, Vec
from ...late_bound import late
from ..context import Context
from ..values import Front, spell_front
from .tile_algorithms import Body, call_library
from .tile_arguments import Arguments, tile_function
from .tile_stack_calls import shared_memory

_BVH, _MESH = "BvhQueryTiled", "MeshQueryAABBTiled"
_MAKERS = {_BVH: "wp.tile_bvh_query_aabb(id, low, high)", _MESH: "wp.tile_mesh_query_aabb(id, low, high)"}


def _library(name: str) -> Builtin:
    """A function of lib/tiles/tile_queries.py, which most processes never load."""
    found: Any = late(name)
    return found


def _begin(cx: Context, a: Arguments, name: str, function: str, *vectors: str) -> Front:
    """Make a query."""
    params = ("id", U64), *((v, Vec(3, F32)) for v in vectors)
    given = [cx.convert(a[p], t, a.where(p), f"`{p}` of {a.function}") for p, t in params]
    begin, b = _library(function), cx.at(a.node)
    plain = begin.overloads[0].params[0][1].dtype
    memory = [shared_memory(cx, a, FixedArray(t, (1,))) for t in (plain, I32)]
    call_library(b, begin, *memory, *given)
    return b.op("make", *memory, attr=Struct(name, (("query", Array(plain)), ("goes_on", Array(I32)))))


def _parts(cx: Context, a: Arguments, *names: str) -> tuple[Value, Value]:
    """The arrays of the query that the call is given."""
    x = a["query"]
    t = getattr(x, "type", None)
    if not (isinstance(t, Struct) and t.name in names):
        text = f"{a.function} takes a query of a block for `query`, not {spell_front(x)}"
        raise a.error("type-mismatch", text, "query", help=f"make one: query = {_MAKERS[names[0]]}")
    query, b = a.value("query"), cx.at(a.node)
    return b.op("extract", query, attr=0), b.op("extract", query, attr=1)


def _next(cx: Context, a: Arguments, name: str, function: str) -> Front:
    """The tile of the next results, one for each thread."""
    query, goes_on = _parts(cx, a, name)
    body, shape = Body(cx.at(a.node)), (cx.session.block_dim,)
    found = body.scratch(I32, *shape)
    body.call(_library("next_tile_results"), query, goes_on, found, advance=get(function))
    return body.tile(found, I32, shape, shape)


@tile_function("tile_bvh_query_aabb", "bvh_query_aabb_tiled")
def _bvh_box(cx: Context, a: Arguments) -> Front:
    return _begin(cx, a, _BVH, "begin_tile_boxes", "low", "high")


@tile_function("tile_bvh_query_ray", "bvh_query_ray_tiled")
def _bvh_ray(cx: Context, a: Arguments) -> Front:
    return _begin(cx, a, _BVH, "begin_tile_ray", "start", "dir")


@tile_function("tile_mesh_query_aabb", "mesh_query_aabb_tiled")
def _mesh_box(cx: Context, a: Arguments) -> Front:
    return _begin(cx, a, _MESH, "begin_tile_faces", "low", "high")


@tile_function("tile_bvh_query_next", "bvh_query_next_tiled")
def _bvh_next(cx: Context, a: Arguments) -> Front:
    return _next(cx, a, _BVH, "bvh_query_next")


@tile_function("tile_mesh_query_aabb_next", "mesh_query_aabb_next_tiled")
def _mesh_next(cx: Context, a: Arguments) -> Front:
    return _next(cx, a, _MESH, "mesh_query_aabb_next")


@tile_function("tile_query_valid")
def _valid(cx: Context, a: Arguments) -> Front:
    b, (_, goes_on) = cx.at(a.node), _parts(cx, a, _BVH, _MESH)
    return b.op("ne", b.op("load", goes_on, b.i32(0), attr=()), b.i32(0))
