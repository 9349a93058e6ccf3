"""Rays against meshes. Start with `mesh_query_ray`.

On CPUs native/src/geometry/meshes/mesh_queries.h does the work of `_mesh_first_hit`, by the same operations on
triangles.

Whether a ray hits a triangle is decided by the signs of three volumes in double precision. The corners of a triangle
are taken relative to the start of the ray, in single precision, so products of two coordinates are exact. Neighbours
then get volumes that are opposite to the bit on their common edge. At a common corner volumes are nearly zero, so a
triangle reaches as far beyond its edges as double precision rounds. Together, no ray passes between neighbours.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Vec
from ...lang.ref_params import ref
from ...lang.registry import LOCAL_ZEROS, builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from ...lang.values.structs import struct
from ...lang.values.value_classes import vec3f
from .bvh_nodes import DEPTH, LARGEST, BvhNode, entry_of, reciprocal, subtree_end
from .mesh_data import (
    MeshData,
    _mesh_at,
    _mesh_cross,
    _mesh_data,
    _mesh_dot,
    _mesh_face,
    _mesh_node,
    _mesh_normal,
    _mesh_offset,
    _mesh_position,
    _mesh_triangle,
    _mesh_vector,
)
from .mesh_groups import root_at

ROUNDING = 4.0e-16  # of a volume, in units of the lengths that it is made of


@struct
class MeshQueryRay:
    """What `wp.mesh_query_ray` finds.

    Attributes:
        result: True if the ray hits a face; the other attributes are zero, and `face` is -1, if it does not.
        sign: 1.0 if the ray hits the front of the face, where its corners run counterclockwise, else -1.0.
        face: the number of the face.
        t: the hit is at `start + t * dir`.
        u, v: barycentric coordinates of the hit: the weights of the first and the second corner of the face.
        normal: the unit normal of the face.
    """

    result: boolean
    sign: float32
    face: int32
    t: float32
    u: float32
    v: float32
    normal: vec3f


@builtin
def _mesh_plane(data: MeshData, face: int32, start: Vec[3, float32], ray: Vec[3, float64]) -> float32:
    """Where a ray meets the plane of a face."""
    a = _mesh_position(data, 3 * face)
    normal = _mesh_cross(_mesh_position(data, 3 * face + 1) - a, _mesh_position(data, 3 * face + 2) - a)
    return float32(_mesh_dot(normal, a - prim.cast(start, Vec[3, float64])) / _mesh_dot(normal, ray))


@builtin
def _mesh_face_box(data: MeshData, face: int32) -> BvhNode:
    """A node around a face alone."""
    a, b = _mesh_vector(data, data.points, 3 * face), _mesh_vector(data, data.points, 3 * face + 1)
    c, node = _mesh_vector(data, data.points, 3 * face + 2), BvhNode()
    node.lower, node.upper = prim.min(prim.min(a, b), c), prim.max(prim.max(a, b), c)
    return node


@builtin
def _mesh_hit(
    data: MeshData, face: int32, start: Vec[3, float32], dir: Vec[3, float32], inverse: Vec[3, float32], scale: float64
) -> tuple[float32, float32, float32, float32]:
    """(t, u, v, sign) of where a ray hits a face; t is -1, or negative, if it does not.

    The ray also has to meet the box of the face, at `t` or before. So what is found does not depend on the tree.
    """
    a, b = _mesh_offset(data, 3 * face, start), _mesh_offset(data, 3 * face + 1, start)
    c, ray = _mesh_offset(data, 3 * face + 2, start), prim.cast(dir, Vec[3, float64])
    x, y = _mesh_dot(ray, _mesh_cross(b, c)), _mesh_dot(ray, _mesh_cross(c, a))
    z = _mesh_dot(ray, _mesh_cross(a, b))
    limit = scale * (_mesh_dot(a, a) + _mesh_dot(b, b) + _mesh_dot(c, c))
    volume = x + y + z
    back = volume > 0.0
    x, y, z = prim.select(back, x, -x), prim.select(back, y, -y), prim.select(back, z, -z)
    volume = prim.abs(volume)
    t = float32(-1.0)
    if x >= -limit and y >= -limit and z >= -limit and volume > 13.0 * limit:
        entry = entry_of(_mesh_face_box(data, face), start, inverse, float32(LARGEST))
        if entry <= float32(LARGEST):
            t = _mesh_plane(data, face, start, ray)
            if t >= float32(0.0):
                t = prim.select(t > entry, t, entry)
    return t, float32(x / volume), float32(y / volume), prim.select(back, float32(-1.0), float32(1.0))


@builtin
def _mesh_rounding(dir: Vec[3, float32]) -> float64:
    """How far a volume with a ray may be from its exact value, in units of squared lengths."""
    ray = prim.cast(dir, Vec[3, float64])
    return ROUNDING * prim.sqrt(_mesh_dot(ray, ray))


@builtin
def _mesh_crossings(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], root: int32) -> int32:
    """The number of faces below a node that a ray hits. The id and the node were checked."""
    data, inverse, scale = _mesh_data(id), reciprocal(dir), _mesh_rounding(dir)
    found, number, stop = 0, root, subtree_end(_mesh_node(data, root), root)
    while number < stop:
        node = _mesh_node(data, number)
        following = number + 1
        if entry_of(node, start, inverse, float32(LARGEST)) <= float32(LARGEST):
            for place in range(node.child, node.child + node.count):
                t, _u, _v, _sign = _mesh_hit(data, _mesh_face(data, place), start, dir, inverse, scale)
                if t >= float32(0.0):
                    found = found + 1
        elif node.count < 0:
            following = -node.count
        number = following
    return found


@builtin
def _mesh_first_hit(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32
) -> tuple[int32, float32, float32, float32, float32]:
    """(face, t, u, v, sign) of the first hit below a node; face -1 without one. The id and the node were checked."""
    data, inverse, scale = _mesh_data(id), reciprocal(dir), _mesh_rounding(dir)
    stack = LOCAL_ZEROS(shape=(DEPTH,), dtype=int32)
    entries = LOCAL_ZEROS(shape=(DEPTH,), dtype=float32)
    best, face, u, v, sign = max_t, -1, float32(0.0), float32(0.0), float32(0.0)
    number, depth = root, 0
    while number >= 0:
        node = _mesh_node(data, number)
        following = -1
        if node.count < 0:
            left = entry_of(_mesh_node(data, number + 1), start, inverse, best)
            right = entry_of(_mesh_node(data, node.child), start, inverse, best)
            near, far = prim.min(left, right), prim.max(left, right)
            if far <= best:
                stack[depth] = prim.select(left <= right, node.child, number + 1)
                entries[depth] = far
                depth = depth + 1
            if near <= best:
                following = prim.select(left <= right, number + 1, node.child)
        for place in range(node.child, node.child + node.count):
            f = _mesh_face(data, place)
            t, x, y, side = _mesh_hit(data, f, start, dir, inverse, scale)
            if t >= float32(0.0) and (t < best or (t == best and f < face)):
                best, face, u, v, sign = t, f, x, y, side
        while depth > 0 and following < 0:
            depth = depth - 1
            if entries[depth] <= best:
                following = stack[depth]
        number = following
    return face, best, u, v, sign


@builtin
def _mesh_hit_at(
    t: float32,
    u: float32,
    v: float32,
    start: Vec[3, float32],
    dir: Vec[3, float32],
    a: Vec[3, float32],
    b: Vec[3, float32],
    c: Vec[3, float32],
) -> tuple[float32, float32, float32]:
    """(t, u, v) of a hit, which the search found. The derivatives are those of the hit of the plane of a triangle."""
    return t, u, v


@builtin
def mesh_query_ray(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32 = -1
) -> MeshQueryRay:
    """First face of a mesh that a ray hits, from either side.

    The older form with variables for the results, `wp.mesh_query_ray(id, start, dir, max_t, t, u, v, sign, n, f)`,
    assigns them and returns whether there is a hit. It takes `root` after them.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        start: where the ray starts, a vec3 in the coordinates of the mesh.
        dir: its direction, a vec3 of any length.
        max_t: hits count if `t`, in lengths of `dir`, is below this.
        root: only faces below this node, which `wp.mesh_get_group_root` returns for a group; all faces if negative.

    Returns:
        A MeshQueryRay. Of faces with equal `t` it names the one with the lowest number. A face with two equal corners
        is not hit. A ray through a common edge or corner of faces hits one of them; at a corner any of them, and `t` is
        where the ray meets its plane. A ray with a component that is NaN, or with a direction of zero, hits nothing.
        Whether a face is hit is decided with corners that are rounded relative to `start`. An id without a mesh is a
        KernelError, as is a node that is not the root of a group.

    Error: 1 ULP in `t`, to the plane of the face; `t` is not before the box of the face.
    Derivative: of `t`, `u`, `v` and `normal` with respect to `start`, `dir` and the corners of the face; 0 for `max_t`.
        It does not exist where the ray goes from one face to another.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> hit = wp.mesh_query_ray(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0), 10.0)
    >>> bool(hit.result), hit.t, hit.u, hit.v, hit.sign, int(hit.face)
    (True, 5.0, 0.5, 0.25, 1.0, 0)
    """
    found, data = MeshQueryRay(), _mesh_at(id)
    found.face = -1
    if data.num_faces > 0:
        face, t, u, v, sign = _mesh_first_hit(id, start, dir, max_t, root_at(data, root))
        if face >= 0:
            a, b, c = _mesh_triangle(id, face)
            found.t, found.u, found.v = _mesh_hit_at(t, u, v, start, dir, a, b, c)
            found.result, found.face, found.sign, found.normal = True, face, sign, _mesh_normal(a, b, c)
    return found


@builtin(name="mesh_query_ray")
def _mesh_query_ray_into(
    id: uint64,
    start: Vec[3, float32],
    dir: Vec[3, float32],
    max_t: float32,
    t: ref[float32],
    u: ref[float32],
    v: ref[float32],
    sign: ref[float32],
    normal: ref[Vec[3, float32]],
    face: ref[int32],
    root: int32 = -1,
) -> boolean:
    found = mesh_query_ray(id, start, dir, max_t, root)
    t, u, v, sign, normal, face = found.t, found.u, found.v, found.sign, found.normal, found.face  # noqa: F841
    return found.result


@builtin
def mesh_query_ray_anyhit(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32 = -1
) -> boolean:
    """Whether a ray hits a mesh, from either side.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        start: where the ray starts, a vec3 in the coordinates of the mesh.
        dir: its direction, a vec3 of any length.
        max_t: hits count if they are at `start + t * dir` with `t` below this.
        root: only faces below this node, which `wp.mesh_get_group_root` returns for a group; all faces if negative.

    Returns:
        True where `wp.mesh_query_ray` has a result. An id without a mesh is a KernelError, as is a
        node that is not the root of a group.

    Error: exact, with corners that are rounded relative to `start`.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> wp.mesh_query_ray_anyhit(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0), 10.0)
    True
    """
    face, data = -1, _mesh_at(id)
    if data.num_faces > 0:
        face, _t, _u, _v, _sign = _mesh_first_hit(id, start, dir, max_t, root_at(data, root))
    return face >= 0


@builtin
def mesh_query_ray_count_intersections(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], root: int32 = -1
) -> int32:
    """Number of faces of a mesh that a ray hits, from either side.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        start: where the ray starts, a vec3 in the coordinates of the mesh.
        dir: its direction, a vec3 of any length.
        root: only faces below this node, which `wp.mesh_get_group_root` returns for a group; all faces if negative.

    Returns:
        How many faces the ray hits at any distance, an int32. A ray through a common edge or corner of faces may hit
        several of them there. An id without a mesh is a KernelError, as is a node that is not the root of a group.

    Error: exact, with corners that are rounded relative to `start`.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2, 2, 1, 0], dtype=int, device="cpu"))
    >>> wp.mesh_query_ray_count_intersections(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0))
    2
    """
    found, data = 0, _mesh_at(id)
    if data.num_faces > 0:
        found = _mesh_crossings(id, start, dir, root_at(data, root))
    return found
