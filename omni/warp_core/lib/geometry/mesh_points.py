"""Closest points of meshes. Start with `mesh_query_point_no_sign`.

On CPUs native/src/geometry/meshes/mesh_queries.h does the work of `_mesh_closest`, by the same operations on triangles.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Vec
from ...lang.ref_params import ref
from ...lang.registry import LOCAL_ZEROS, builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from ...lang.values.structs import struct
from .bvh_nodes import DEPTH, distance_sq
from .mesh_data import (
    _mesh_at,
    _mesh_cross,
    _mesh_data,
    _mesh_dot,
    _mesh_face,
    _mesh_node,
    _mesh_offset,
    _mesh_triangle,
)


@struct
class MeshQueryPoint:
    """What `wp.mesh_query_point` and its relatives find.

    Attributes:
        result: True if a face is near enough; the other attributes are zero, and `face` is -1, if it is not.
        sign: -1.0 if the point is inside of the mesh, else 1.0. It is always 1.0 without a sign.
        face: the number of the face.
        u, v: barycentric coordinates of the closest point: the weights of the first and the second corner of the face.
    """

    result: boolean
    sign: float32
    face: int32
    u: float32
    v: float32


@builtin
def _mesh_on_edge(a: Vec[3, float64], b: Vec[3, float64]) -> float64:
    """The share of `b` in the point of an edge that is closest to the origin."""
    edge = b - a
    size = _mesh_dot(edge, edge)
    share = prim.min(prim.max(-_mesh_dot(a, edge) / size, 0.0), 1.0)
    return prim.select(size > 0.0, share, 0.0)


@builtin
def _mesh_between(a: Vec[3, float64], b: Vec[3, float64], share: float64) -> Vec[3, float64]:
    """A point of an edge: `share` of `b`, and the rest of `a`."""
    rest = 1.0 - share
    return Vec[3, float64](
        prim.fma(b[0], share, a[0] * rest), prim.fma(b[1], share, a[1] * rest), prim.fma(b[2], share, a[2] * rest)
    )


@builtin
def _mesh_closest_of(a: Vec[3, float64], b: Vec[3, float64], c: Vec[3, float64]) -> Vec[3, float64]:
    """(u, v, squared distance) of the point of a triangle that is closest to the origin."""
    s, t, r = _mesh_on_edge(a, b), _mesh_on_edge(b, c), _mesh_on_edge(c, a)
    p, q, w = _mesh_between(a, b, s), _mesh_between(b, c, t), _mesh_between(c, a, r)
    pp, qq, ww = _mesh_dot(p, p), _mesh_dot(q, q), _mesh_dot(w, w)
    best = Vec[3, float64](1.0 - s, s, pp)
    best = prim.select(qq < best[2], Vec[3, float64](0.0, 1.0 - t, qq), best)
    best = prim.select(ww < best[2], Vec[3, float64](r, 0.0, ww), best)
    normal = _mesh_cross(b - a, c - a)
    x, y, z = (
        _mesh_dot(normal, _mesh_cross(b, c)),
        _mesh_dot(normal, _mesh_cross(c, a)),
        _mesh_dot(normal, _mesh_cross(a, b)),
    )
    if x > 0.0 and y > 0.0 and z > 0.0:
        total = x + y + z
        u, v = x / total, y / total
        rest = 1.0 - u - v
        inner = Vec[3, float64](
            prim.fma(c[0], rest, prim.fma(b[0], v, a[0] * u)),
            prim.fma(c[1], rest, prim.fma(b[1], v, a[1] * u)),
            prim.fma(c[2], rest, prim.fma(b[2], v, a[2] * u)),
        )
        ii = _mesh_dot(inner, inner)
        best = prim.select(ii < best[2], Vec[3, float64](u, v, ii), best)
    return best


@builtin
def _mesh_closest(id: uint64, point: Vec[3, float32], max_dist: float32) -> tuple[int32, float32, float32]:
    """(face, u, v) of the closest point; face -1 without one. The id was checked."""
    data = _mesh_data(id)
    stack = LOCAL_ZEROS(shape=(DEPTH,), dtype=int32)
    bounds = LOCAL_ZEROS(shape=(DEPTH,), dtype=float64)
    reach = float64(0.0)
    if max_dist > float32(0.0):
        reach = float64(max_dist)
    best, face, u, v = reach * reach, -1, float32(0.0), float32(0.0)
    number, depth = 0, 0
    while number >= 0:
        node = _mesh_node(data, number)
        following = -1
        if node.count < 0:
            left = distance_sq(_mesh_node(data, number + 1), point)
            right = distance_sq(_mesh_node(data, node.child), point)
            near, far = prim.min(left, right), prim.max(left, right)
            if far <= best:
                stack[depth] = prim.select(left <= right, node.child, number + 1)
                bounds[depth] = far
                depth = depth + 1
            if near <= best:
                following = prim.select(left <= right, number + 1, node.child)
        for place in range(node.child, node.child + node.count):
            f = _mesh_face(data, place)
            a, b, c = (
                _mesh_offset(data, 3 * f, point),
                _mesh_offset(data, 3 * f + 1, point),
                _mesh_offset(data, 3 * f + 2, point),
            )
            near_point = _mesh_closest_of(a, b, c)
            if near_point[2] < best or (near_point[2] == best and f < face):
                best, face = near_point[2], f
                u, v = float32(near_point[0]), float32(near_point[1])
        while depth > 0 and following < 0:
            depth = depth - 1
            if bounds[depth] <= best:
                following = stack[depth]
        number = following
    return face, u, v


@builtin
def _mesh_near_at(
    u: float32, v: float32, point: Vec[3, float32], a: Vec[3, float32], b: Vec[3, float32], c: Vec[3, float32]
) -> tuple[float32, float32]:
    """(u, v) of a closest point, which the search found. The derivatives are those of the closest point of a triangle,
    of its edge or its corner.
    """
    return u, v


@builtin
def mesh_query_point_no_sign(id: uint64, point: Vec[3, float32], max_dist: float32) -> MeshQueryPoint:
    """Point of a mesh that is closest to a point.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.

    Returns:
        A MeshQueryPoint; `wp.mesh_eval_position(id, q.face, q.u, q.v)` is the closest point. Of faces with equal
        distance it names the one with the lowest number. If a coordinate is NaN, nothing is found. An id without a mesh
        is a KernelError.

    Error: 4 ULP of the distances between `point` and the corners of the face, in the distance.
    Derivative: of `u` and `v` with respect to `point` and the corners of the face; 0 for `max_dist`. It does not exist
        where another face, edge or corner becomes the closest one.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> near = wp.mesh_query_point_no_sign(mesh.id, wp.vec3(1.0, 1.0, 5.0), 10.0)
    >>> wp.mesh_eval_position(mesh.id, near.face, near.u, near.v)
    vec3f([1.0, 1.0, 0.0])
    """
    found, data = MeshQueryPoint(), _mesh_at(id)
    found.face = -1
    if data.num_faces > 0:
        face, u, v = _mesh_closest(id, point, max_dist)
        if face >= 0:
            a, b, c = _mesh_triangle(id, face)
            found.u, found.v = _mesh_near_at(u, v, point, a, b, c)
            found.result, found.face, found.sign = True, face, float32(1.0)
    return found


@builtin(name="mesh_query_point_no_sign")
def _mesh_query_point_no_sign_into(
    id: uint64, point: Vec[3, float32], max_dist: float32, face: ref[int32], u: ref[float32], v: ref[float32]
) -> boolean:
    found = mesh_query_point_no_sign(id, point, max_dist)
    face, u, v = found.face, found.u, found.v  # noqa: F841 - they are the caller's
    return found.result
