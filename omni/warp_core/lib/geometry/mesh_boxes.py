"""Faces of meshes near a box or a sphere: walks through the tree without a stack.

A query is a variable of the kernel. Each step is a function of integers, which an adjoint repeats as it is. A step
finds up to eight faces, which wait in the query. On CPUs it is a call of native code
(native/src/geometry/meshes/mesh_near.h).
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from ...lang.values.structs import struct
from ...lang.values.value_classes import vec3f, vector
from .bvh_nodes import boxes_overlap, distance_sq
from .mesh_data import MeshData, _mesh_at, _mesh_data, _mesh_face, _mesh_node, _mesh_offset, _mesh_vector
from .mesh_points import _mesh_closest_of

Faces = vector(8, int32)


@struct
class MeshQueryAABB:
    """A query on its way through a mesh: the box, the next node, what is left of a leaf, and the faces that wait.

    `wp.mesh_query_aabb` makes it and `wp.mesh_query_aabb_next` advances it.
    """

    id: uint64
    lower: vec3f
    upper: vec3f
    number: int32
    num_nodes: int32
    place: int32
    end: int32
    faces: Faces


@builtin(name="_mesh_no_faces")
def _no_faces() -> Vec[8, int32]:
    """The faces of a step that has found none."""
    return Vec[8, int32](-1, -1, -1, -1, -1, -1, -1, -1)


@builtin(name="_mesh_with_face")
def _with_face(faces: Vec[8, int32], face: int32) -> Vec[8, int32]:
    """Faces with one more behind them."""
    out, is_free = faces, True
    for k in range(8):
        if is_free and faces[k] < 0:
            out[k], is_free = face, False
    return out


@builtin(name="_mesh_behind_first")
def _behind_first(faces: Vec[8, int32]) -> Vec[8, int32]:
    """Faces without the first."""
    out = faces
    for k in range(7):
        out[k] = faces[k + 1]
    out[7] = -1
    return out


@builtin
def _mesh_face_overlaps(data: MeshData, face: int32, lower: Vec[3, float32], upper: Vec[3, float32]) -> boolean:
    """True if the box of a face has a common point with another box."""
    a, b = _mesh_vector(data, data.points, 3 * face), _mesh_vector(data, data.points, 3 * face + 1)
    c = _mesh_vector(data, data.points, 3 * face + 2)
    return boxes_overlap(prim.min(prim.min(a, b), c), prim.max(prim.max(a, b), c), lower, upper)


@builtin
def _mesh_next_in_box(
    id: uint64, lower: Vec[3, float32], upper: Vec[3, float32], number: int32, place: int32, end: int32
) -> tuple[Vec[8, int32], int32, int32, int32]:
    """(faces, number, place, end): the next faces that overlap a box, -1 behind the last, and where the walk
    goes on.
    """
    data, faces = _mesh_data(id), _no_faces()
    while faces[7] < 0 and (place < end or number < data.num_nodes):
        if place < end:
            face = _mesh_face(data, place)
            place = place + 1
            if _mesh_face_overlaps(data, face, lower, upper):
                faces = _with_face(faces, face)
        else:
            node = _mesh_node(data, number)
            overlaps = boxes_overlap(node.lower, node.upper, lower, upper)
            if overlaps and node.count > 0:
                place, end = node.child, node.child + node.count
            number = prim.select(overlaps or node.count > 0, number + 1, -node.count)
    return faces, number, place, end


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
    query.faces = _no_faces()
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
    ... def count(mesh: wp.uint64, found: wp.array[int]):
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
    face = query.faces[0]
    if face < 0 and (query.number < query.num_nodes or query.place < query.end):
        query.faces, query.number, query.place, query.end = _mesh_next_in_box(
            query.id, query.lower, query.upper, query.number, query.place, query.end
        )
        face = query.faces[0]
    if face >= 0:
        index = face  # noqa: F841 - it is the caller's
        query.faces = _behind_first(query.faces)
    return face >= 0


# -- spheres ---------------------------------------------------------------------------------------------------------


@struct
class MeshQuerySphere:
    """A query on its way through a mesh: the sphere, the next node, what is left of a leaf, and the faces that wait.

    `wp.mesh_query_sphere` makes it and `wp.mesh_query_next` advances it.
    """

    id: uint64
    center: vec3f
    radius: float32
    number: int32
    num_nodes: int32
    place: int32
    end: int32
    faces: Faces


@builtin
def _mesh_next_in_sphere(
    id: uint64, center: Vec[3, float32], radius: float32, number: int32, place: int32, end: int32
) -> tuple[Vec[8, int32], int32, int32, int32]:
    """The next faces that meet a sphere, and where the walk goes on, as `_mesh_next_in_box` gives them."""
    data, faces = _mesh_data(id), _no_faces()
    limit = float64(radius) * float64(radius)
    while faces[7] < 0 and (place < end or number < data.num_nodes):
        if place < end:
            face = _mesh_face(data, place)
            place = place + 1
            a, b = _mesh_offset(data, 3 * face, center), _mesh_offset(data, 3 * face + 1, center)
            if _mesh_closest_of(a, b, _mesh_offset(data, 3 * face + 2, center))[2] <= limit:
                faces = _with_face(faces, face)
        else:
            node = _mesh_node(data, number)
            meets = distance_sq(node, center) <= limit
            if meets and node.count > 0:
                place, end = node.child, node.child + node.count
            number = prim.select(meets or node.count > 0, number + 1, -node.count)
    return faces, number, place, end


@builtin
def mesh_query_sphere(id: uint64, center: Vec[3, float32], radius: float32) -> MeshQuerySphere:
    """Query of a mesh for the faces that meet a ball. `wp.mesh_query_next` gives them one by one.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        center: the centre of the ball, a vec3 in the coordinates of the mesh.
        radius: its radius, a float32; one below zero counts as zero.

    Returns:
        A MeshQuerySphere. It finds the faces with a point whose distance to the centre is at most the radius. An id
        without a mesh is a KernelError.

    Error: 4 ULP of the distances between `center` and the corners of a face.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> query = wp.mesh_query_sphere(mesh.id, wp.vec3(1.0, 1.0, 2.0), 2.0)
    >>> query.num_nodes
    1
    """
    data, query = _mesh_at(id), MeshQuerySphere()
    query.id, query.center, query.num_nodes, query.faces = id, center, data.num_nodes, _no_faces()
    query.radius = prim.select(radius < float32(0.0), float32(0.0), radius)
    return query


@builtin
def mesh_query_next(query: ref[MeshQuerySphere], index: ref[int32]) -> boolean:
    """Next face of a query of a mesh for a box or a ball.

    Args:
        query: from `wp.mesh_query_aabb` or `wp.mesh_query_sphere`; a local variable, which is advanced.
        index: a local int32, which becomes the number of the face.

    Returns:
        True if there was a face; otherwise `index` stays as it is. No face comes twice, and the order depends on the
        mesh alone.

    Error: exact for boxes; as `wp.mesh_query_sphere` says for balls.
    Derivative: none.

    >>> @wp.kernel
    ... def count(mesh: wp.uint64, radius: float, found: wp.array[int]):
    ...     query = wp.mesh_query_sphere(mesh, wp.vec3(1.0, 1.0, 2.0), radius)
    ...     face = int(0)
    ...     while wp.mesh_query_next(query, face):
    ...         found[0] += 1
    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(1, dtype=int, device="cpu")
    >>> wp.launch(count, dim=1, inputs=[mesh.id, 2.0, found], device="cpu")
    >>> found.list()
    [1]
    """
    face = query.faces[0]
    if face < 0 and (query.number < query.num_nodes or query.place < query.end):
        query.faces, query.number, query.place, query.end = _mesh_next_in_sphere(
            query.id, query.center, query.radius, query.number, query.place, query.end
        )
        face = query.faces[0]
    if face >= 0:
        index = face  # noqa: F841 - it is the caller's
        query.faces = _behind_first(query.faces)
    return face >= 0


@builtin(name="mesh_query_next")
def _mesh_query_next_in_box(query: ref[MeshQueryAABB], index: ref[int32]) -> boolean:
    return mesh_query_aabb_next(query, index)


@builtin(name="mesh_query_aabb_next")
def _mesh_query_aabb_next_in_sphere(query: ref[MeshQuerySphere], index: ref[int32]) -> boolean:
    return mesh_query_next(query, index)
