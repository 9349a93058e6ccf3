"""Points of meshes that are far from a point. On CPUs native/src/geometry/meshes/mesh_farthest.h does the search."""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Vec
from ...lang.ref_params import ref
from ...lang.registry import LOCAL_ZEROS, builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from .bvh_nodes import DEPTH, MORE, BvhNode
from .mesh_data import _mesh_at, _mesh_data, _mesh_dot, _mesh_face, _mesh_node, _mesh_offset
from .mesh_points import MeshQueryPoint


@builtin
def _mesh_farthest_sq(node: BvhNode, p: Vec[3, float32]) -> float64:
    """The square of the distance to the farthest corner of the box of a node, rounded up."""
    total = float64(0.0)
    for k in range(3):
        gap = float64(prim.max(prim.abs(node.lower[k] - p[k]), prim.abs(node.upper[k] - p[k])))
        total = total + gap * gap
    return total * float64(MORE)


@builtin
def _mesh_farthest(id: uint64, point: Vec[3, float32], min_dist: float32) -> tuple[int32, int32]:
    """(face, which of its corners) of the farthest point; face -1 without one. The id was checked."""
    data, found, corner = _mesh_data(id), -1, 0
    stack = LOCAL_ZEROS(shape=(DEPTH,), dtype=int32)
    bounds = LOCAL_ZEROS(shape=(DEPTH,), dtype=float64)
    least = float64(0.0)
    if min_dist > float32(0.0):
        least = float64(min_dist)
    best, number, depth = least * least, 0, 0
    while number >= 0:
        node = _mesh_node(data, number)
        following = -1
        if node.count < 0:
            left = _mesh_farthest_sq(_mesh_node(data, number + 1), point)
            right = _mesh_farthest_sq(_mesh_node(data, node.child), point)
            far, near = prim.max(left, right), prim.min(left, right)
            if near >= best:
                stack[depth] = prim.select(left >= right, node.child, number + 1)
                bounds[depth] = near
                depth = depth + 1
            if far >= best:
                following = prim.select(left >= right, number + 1, node.child)
        for place in range(node.child, node.child + node.count):
            face = _mesh_face(data, place)
            for k in range(3):
                offset = _mesh_offset(data, 3 * face + k, point)
                distance_sq = _mesh_dot(offset, offset)
                if distance_sq > best or (distance_sq == best and face < found):
                    best, found, corner = distance_sq, face, k
        while depth > 0 and following < 0:
            depth = depth - 1
            if bounds[depth] >= best:
                following = stack[depth]
        number = following
    return found, corner


@builtin
def mesh_query_furthest_point_no_sign(id: uint64, point: Vec[3, float32], min_dist: float32) -> MeshQueryPoint:
    """Point of a mesh that is farthest from a point. It is a corner of a face.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        min_dist: corners count if their distance is above this.

    Returns:
        A MeshQueryPoint; `wp.mesh_eval_position(id, q.face, q.u, q.v)` is the farthest point. Of faces with equal
        distance it names the one with the lowest number. An id without a mesh is a KernelError.

    Error: 4 ULP in the distance.
    Derivative: 0 for `u` and `v`, as the point is a corner; `wp.mesh_eval_position` has one with respect to the points.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> far = wp.mesh_query_furthest_point_no_sign(mesh.id, wp.vec3(3.0, 0.0, 0.0), 0.0)
    >>> wp.mesh_eval_position(mesh.id, far.face, far.u, far.v)
    vec3f([0.0, 4.0, 0.0])
    """
    found, data = MeshQueryPoint(), _mesh_at(id)
    found.face = -1
    if data.num_faces > 0:
        face, corner = _mesh_farthest(id, point, min_dist)
        if face >= 0:
            found.result, found.face, found.sign = True, face, float32(1.0)
            found.u = prim.select(corner == 0, float32(1.0), float32(0.0))
            found.v = prim.select(corner == 1, float32(1.0), float32(0.0))
    return found


@builtin(name="mesh_query_furthest_point_no_sign")
def _mesh_query_furthest_point_into(
    id: uint64, point: Vec[3, float32], min_dist: float32, face: ref[int32], u: ref[float32], v: ref[float32]
) -> boolean:
    found = mesh_query_furthest_point_no_sign(id, point, min_dist)
    face, u, v = found.face, found.u, found.v  # noqa: F841 - they are the caller's
    return found.result
