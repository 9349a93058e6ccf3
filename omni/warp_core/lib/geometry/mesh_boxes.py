"""Faces of meshes near a box, and points far from a point: walks through the tree without a stack."""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from ...lang.values.structs import struct
from ...lang.values.value_classes import vec3f
from .mesh_data import (
    MeshData,
    MeshNode,
    _mesh_at,
    _mesh_data,
    _mesh_dot,
    _mesh_face,
    _mesh_node,
    _mesh_offset,
    _mesh_vector,
)
from .mesh_points import MeshQueryPoint
from .mesh_rays import MORE


@struct
class MeshQueryAABB:
    """A query on its way through a mesh: the box, the next node, and what is left of a leaf.

    `wp.mesh_query_aabb` makes it and `wp.mesh_query_aabb_next` advances it.
    """

    id: uint64
    lower: vec3f
    upper: vec3f
    number: int32
    num_nodes: int32
    place: int32
    end: int32


@builtin
def _mesh_overlap(
    lower: Vec[3, float32], upper: Vec[3, float32], other_lower: Vec[3, float32], other_upper: Vec[3, float32]
) -> boolean:
    """True if two boxes have a common point."""
    found = True
    for k in range(3):
        found = found and lower[k] <= other_upper[k] and upper[k] >= other_lower[k]
    return found


@builtin
def _mesh_face_overlaps(data: MeshData, face: int32, lower: Vec[3, float32], upper: Vec[3, float32]) -> boolean:
    """True if the box of a face has a common point with another box."""
    a, b = _mesh_vector(data, data.points, 3 * face), _mesh_vector(data, data.points, 3 * face + 1)
    c = _mesh_vector(data, data.points, 3 * face + 2)
    return _mesh_overlap(prim.min(prim.min(a, b), c), prim.max(prim.max(a, b), c), lower, upper)


@builtin
def mesh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> MeshQueryAABB:
    """Query of a mesh for the faces whose boxes overlap a box. `wp.mesh_query_aabb_next` gives them one by one.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        low: the lower corner of the box, a vec3 in the coordinates of the mesh.
        high: its upper corner.

    Returns:
        A MeshQueryAABB. An id without a mesh is a KernelError.

    Error: exact.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> query = wp.mesh_query_aabb(mesh.id, wp.vec3(3.0, 3.0, -1.0), wp.vec3(5.0, 5.0, 1.0))
    >>> query.num_nodes
    1
    """
    data, query = _mesh_at(id), MeshQueryAABB()
    query.id, query.lower, query.upper, query.num_nodes = id, low, high, data.num_nodes
    return query


@builtin
def mesh_query_aabb_next(query: ref[MeshQueryAABB], index: ref[int32]) -> boolean:
    """Next face of a query of a mesh for a box.

    Args:
        query: from `wp.mesh_query_aabb`; a local variable, which is advanced.
        index: a local int32, which becomes the number of the face.

    Returns:
        True if there was a face; otherwise `index` stays as it is. No face comes twice, and the order depends on the
        mesh alone.

    Error: exact.
    Derivative: none.

    >>> @wp.kernel
    ... def count(mesh: wp.uint64, found: wp.array(dtype=int)):
    ...     query = wp.mesh_query_aabb(mesh, wp.vec3(3.0, 3.0, -1.0), wp.vec3(5.0, 5.0, 1.0))
    ...     face = int(0)
    ...     while wp.mesh_query_aabb_next(query, face):
    ...         found[0] += 1
    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(1, dtype=int, device="cpu")
    >>> wp.launch(count, dim=1, inputs=[mesh.id, found], device="cpu")
    >>> found.list()
    [1]
    """
    found = False
    while not found and (query.place < query.end or query.number < query.num_nodes):
        data = _mesh_data(query.id)
        if query.place < query.end:
            face = _mesh_face(data, query.place)
            query.place += 1
            found = _mesh_face_overlaps(data, face, query.lower, query.upper)
            if found:
                index = face  # noqa: F841 - it is the caller's
        else:
            node = _mesh_node(data, query.number)
            overlaps = _mesh_overlap(node.lower, node.upper, query.lower, query.upper)
            if overlaps and node.count > 0:
                query.place, query.end = node.child, node.child + node.count
            query.number = prim.select(overlaps or node.count > 0, query.number + 1, -node.count)
    return found


@builtin
def _mesh_farthest_sq(node: MeshNode, p: Vec[3, float32]) -> float32:
    """The square of the distance to the farthest corner of the box of a node, rounded up."""
    total = float32(0.0)
    for k in range(3):
        gap = prim.max(prim.abs(node.lower[k] - p[k]), prim.abs(node.upper[k] - p[k]))
        total = total + gap * gap
    return total * float32(MORE)


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
    Derivative: none yet; a kernel that needs it is refused.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> far = wp.mesh_query_furthest_point_no_sign(mesh.id, wp.vec3(3.0, 0.0, 0.0), 0.0)
    >>> wp.mesh_eval_position(mesh.id, far.face, far.u, far.v)
    vec3f([0.0, 4.0, 0.0])
    """
    found, data = MeshQueryPoint(), _mesh_at(id)
    found.face = -1
    least = prim.max(float64(min_dist), 0.0)
    best, number = least * least, 0
    while number < data.num_nodes:
        node = _mesh_node(data, number)
        following = number + 1
        if float64(_mesh_farthest_sq(node, point)) >= best:
            for place in range(node.child, node.child + node.count):
                face = _mesh_face(data, place)
                for k in range(3):
                    corner = _mesh_offset(data, 3 * face + k, point)
                    distance_sq = _mesh_dot(corner, corner)
                    if distance_sq > best or (distance_sq == best and face < found.face):
                        best, found.result, found.face, found.sign = distance_sq, True, face, float32(1.0)
                        found.u = prim.select(k == 0, float32(1.0), float32(0.0))
                        found.v = prim.select(k == 1, float32(1.0), float32(0.0))
        elif node.count < 0:
            following = -node.count
        number = following
    return found
