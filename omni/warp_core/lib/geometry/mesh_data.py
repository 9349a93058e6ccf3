"""Meshes in memory, and what they have at a face or a corner. `MeshData` is the layout, geometry/mesh.py fills it.

mesh_rays.py and mesh_points.py have the queries that search.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Vec
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from ...lang.values.structs import struct
from .bvh_nodes import BvhNode, node_at
from .structure_ids import MESH
from .structure_lookup import structure_at, structure_of, unknown

_UNKNOWN = unknown("mesh", "mesh")


@struct
class MeshData:
    """A mesh in memory, at the address that the lower 48 bits of its id are.

    Attributes:
        id: the mesh's id; zero once it is freed.
        wide_nodes: address of the nodes that native queries read (native/include/warp_core/geometry/wide_bvh.h).
        blocks: address of the triangles that they read.
        sources: address of the node that each of these blocks is made of, and of its place in `order`.
        starts: zero, or with groups address of an int32 for each node. Of the root of a group it is where native
            queries of the group begin; of other nodes it is `NO_START`.
        bvh: the id of the tree as one over boxes, which has the groups.
        points: address of a vec3 for each point.
        indices: address of three int32 for each face: the numbers of its points.
        velocities: address of a vec3 for each point, or zero.
        nodes: address of the nodes of the tree, `BvhNode`.
        order: address of an int32 for each face: the faces in the order of leaves.
        moments: zero, or address of the moments of nodes, as mesh_winding.py describes them.
        slots: zero, or address of an int32 for each node: where its moments are, or -1 without. Zero if node n has
            slot n.
        num_points: the number of points, and likewise of faces and nodes.
    """

    id: uint64
    wide_nodes: uint64
    blocks: uint64
    sources: uint64
    starts: uint64
    bvh: uint64
    points: uint64
    indices: uint64
    velocities: uint64
    nodes: uint64
    order: uint64
    moments: uint64
    slots: uint64
    num_points: int32
    num_faces: int32
    num_nodes: int32


@builtin
def _mesh_data(id: uint64) -> MeshData:
    """The mesh of an id that was checked."""
    return structure_of(id, MeshData)


@builtin
def _mesh_at(id: uint64) -> MeshData:
    """The mesh of an id."""
    return structure_at(id, MESH, MeshData, _UNKNOWN)


@builtin
def _mesh_node(data: MeshData, number: int32) -> BvhNode:
    return node_at(data.nodes, data.num_nodes, number)


@builtin
def _mesh_face(data: MeshData, place: int32) -> int32:
    """The face at a place of a leaf."""
    return prim.array_at(data.order, data.num_faces, int32)[place]


@builtin
def _mesh_corner(data: MeshData, index: int32) -> int32:
    """The point at a corner; the corners of all faces are counted together."""
    return prim.array_at(data.indices, data.num_faces * 3, int32)[index]


@builtin
def _mesh_vector(data: MeshData, address: uint64, index: int32) -> Vec[3, float32]:
    """The position or velocity at a corner."""
    return prim.array_at(address, data.num_points, Vec[3, float32])[_mesh_corner(data, index)]


@builtin
def _mesh_position(data: MeshData, index: int32) -> Vec[3, float64]:
    """The position of a corner."""
    return prim.cast(_mesh_vector(data, data.points, index), Vec[3, float64])


# Where a derivative is wanted, autodiff/analysis/structure_arrays.py puts elements of arrays in the place of calls of
# the next four functions. Whatever else reads positions has no derivative.


@builtin
def _mesh_point(id: uint64, number: int32) -> Vec[3, float32]:
    """The position of a point. The id was checked."""
    data = _mesh_data(id)
    return prim.array_at(data.points, data.num_points, Vec[3, float32])[number]


@builtin
def _mesh_velocity(id: uint64, number: int32) -> Vec[3, float32]:
    """The velocity of a point. The id was checked, and the mesh has velocities."""
    data = _mesh_data(id)
    return prim.array_at(data.velocities, data.num_points, Vec[3, float32])[number]


@builtin
def _mesh_points(id: uint64, data: MeshData) -> Array[Vec[3, float32]]:
    """The positions of all points of the mesh `data`, which has the id."""
    return prim.array_at(data.points, data.num_points, Vec[3, float32])


@builtin
def _mesh_velocities(id: uint64, data: MeshData) -> Array[Vec[3, float32]]:
    """The velocities of all points likewise, or a null array."""
    count = prim.select(data.velocities == uint64(0), 0, data.num_points)
    return prim.array_at(data.velocities, count, Vec[3, float32])


@builtin
def _mesh_triangle(id: uint64, face: int32) -> tuple[Vec[3, float32], Vec[3, float32], Vec[3, float32]]:
    """The positions of the corners of a face. The id was checked."""
    data, first = _mesh_data(id), 3 * face
    return (
        _mesh_point(id, _mesh_corner(data, first)),
        _mesh_point(id, _mesh_corner(data, first + 1)),
        _mesh_point(id, _mesh_corner(data, first + 2)),
    )


@builtin
def _mesh_offset(data: MeshData, index: int32, origin: Vec[3, float32]) -> Vec[3, float64]:
    """The position of a corner, seen from `origin`. The difference is rounded in single precision."""
    return prim.cast(_mesh_vector(data, data.points, index) - origin, Vec[3, float64])


# -- products that native queries round in the same way ----------------------------------------------------------------


@builtin
def _mesh_dot(a: Vec[3, float64], b: Vec[3, float64]) -> float64:
    return prim.fma(a[2], b[2], prim.fma(a[1], b[1], a[0] * b[0]))


@builtin
def _mesh_cross(a: Vec[3, float64], b: Vec[3, float64]) -> Vec[3, float64]:
    return Vec[3, float64](
        prim.fma(a[1], b[2], -(a[2] * b[1])),
        prim.fma(a[2], b[0], -(a[0] * b[2])),
        prim.fma(a[0], b[1], -(a[1] * b[0])),
    )


@builtin
def _mesh_normal(a: Vec[3, float32], b: Vec[3, float32], c: Vec[3, float32]) -> Vec[3, float32]:
    """The unit normal of a triangle; zero without area."""
    first = prim.cast(a, Vec[3, float64])
    normal = _mesh_cross(prim.cast(b, Vec[3, float64]) - first, prim.cast(c, Vec[3, float64]) - first)
    length = prim.sqrt(_mesh_dot(normal, normal))
    return prim.cast(normal * prim.select(length > 0.0, 1.0 / length, 0.0), Vec[3, float32])


# -- what a mesh has at a face or a corner ---------------------------------------------------------------------------


@builtin
def _mesh_has_face(data: MeshData, face: int32) -> boolean:
    """True if a mesh has such a face. Otherwise the launch raises, as it has if there is no mesh."""
    found = face >= 0 and face < data.num_faces
    if not found and data.id != uint64(0):
        prim.fail("bounds", "face {0} is out of range for a mesh of {1} faces", face, data.num_faces)
    return found


@builtin
def _mesh_has_corner(data: MeshData, index: int32) -> boolean:
    """True if a mesh has such a corner. Otherwise the launch raises, as it has if there is no mesh."""
    found = index >= 0 and index < 3 * data.num_faces
    if not found and data.id != uint64(0):
        prim.fail("bounds", "corner {0} is out of range for a mesh of {1} corners", index, 3 * data.num_faces)
    return found


@builtin
def _mesh_mix(a: Vec[3, float32], b: Vec[3, float32], c: Vec[3, float32], u: float32, v: float32) -> Vec[3, float32]:
    """The weighted sum of what the corners of a face have."""
    return a * u + b * v + c * (float32(1.0) - u - v)


@builtin
def mesh_eval_position(id: uint64, face: int32, u: float32, v: float32) -> Vec[3, float32]:
    """Position of a point of a face of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        face: the number of a face, an int32.
        u: the weight of its first corner, a float32.
        v: the weight of its second corner; the third one has 1 - u - v.

    Returns:
        The weighted sum of the corners, a vec3. A face that is out of range is a KernelError.

    Error: 3 ULP of the corners.
    Derivative: with respect to `u`, `v` and the points of the mesh.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> wp.mesh_eval_position(mesh.id, 0, 0.5, 0.25)
    vec3f([1.0, 1.0, 0.0])
    """
    data, out = _mesh_at(id), Vec[3, float32](0.0, 0.0, 0.0)
    if _mesh_has_face(data, face):
        a, b, c = _mesh_triangle(id, face)
        out = _mesh_mix(a, b, c, u, v)
    return out


@builtin
def mesh_eval_velocity(id: uint64, face: int32, u: float32, v: float32) -> Vec[3, float32]:
    """Velocity at a point of a face of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        face: the number of a face, an int32.
        u: the weight of its first corner, a float32.
        v: the weight of its second corner; the third one has 1 - u - v.

    Returns:
        The weighted sum of the velocities at the corners, a vec3; zero if the mesh has no velocities. A face that is
        out of range is a KernelError.

    Error: 3 ULP of the velocities.
    Derivative: with respect to `u`, `v` and the velocities of the mesh.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"), velocities=corners)
    >>> wp.mesh_eval_velocity(mesh.id, 0, 0.5, 0.25)
    vec3f([1.0, 1.0, 0.0])
    """
    data, out = _mesh_at(id), Vec[3, float32](0.0, 0.0, 0.0)
    if _mesh_has_face(data, face) and data.velocities != uint64(0):
        a, b = _mesh_velocity(id, _mesh_corner(data, 3 * face)), _mesh_velocity(id, _mesh_corner(data, 3 * face + 1))
        out = _mesh_mix(a, b, _mesh_velocity(id, _mesh_corner(data, 3 * face + 2)), u, v)
    return out


@builtin
def mesh_eval_face_normal(id: uint64, face: int32) -> Vec[3, float32]:
    """Unit normal of a face of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        face: the number of a face, an int32.

    Returns:
        The normal on the side from which the corners run counterclockwise, a vec3; zero for a face without area. A face
        that is out of range is a KernelError.

    Error: 2 ULP.
    Derivative: with respect to the points of the mesh; 0 for a face without area.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> wp.mesh_eval_face_normal(mesh.id, 0)
    vec3f([0.0, 0.0, 1.0])
    """
    data, out = _mesh_at(id), Vec[3, float32](0.0, 0.0, 0.0)
    if _mesh_has_face(data, face):
        a, b, c = _mesh_triangle(id, face)
        out = _mesh_normal(a, b, c)
    return out


@builtin
def mesh_get_index(id: uint64, index: int32) -> int32:
    """Point at a corner of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        index: the number of the corner, an int32: 3 * face + 0, 1 or 2.

    Returns:
        The number of the point, an int32. A corner that is out of range is a KernelError.

    Error: exact.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([2, 0, 1], dtype=int, device="cpu"))
    >>> wp.mesh_get_index(mesh.id, 0)
    2
    """
    data, out = _mesh_at(id), -1
    if _mesh_has_corner(data, index):
        out = _mesh_corner(data, index)
    return out


@builtin
def mesh_get_point(id: uint64, index: int32) -> Vec[3, float32]:
    """Position of a corner of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        index: the number of the corner, an int32: 3 * face + 0, 1 or 2.

    Returns:
        The position of its point, a vec3. A corner that is out of range is a KernelError.

    Error: exact.
    Derivative: with respect to the points of the mesh.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([2, 0, 1], dtype=int, device="cpu"))
    >>> wp.mesh_get_point(mesh.id, 0)
    vec3f([0.0, 4.0, 0.0])
    """
    data, out = _mesh_at(id), Vec[3, float32](0.0, 0.0, 0.0)
    if _mesh_has_corner(data, index):
        out = _mesh_point(id, _mesh_corner(data, index))
    return out


@builtin
def mesh_get_velocity(id: uint64, index: int32) -> Vec[3, float32]:
    """Velocity at a corner of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        index: the number of the corner, an int32: 3 * face + 0, 1 or 2.

    Returns:
        The velocity of its point, a vec3; zero if the mesh has no velocities. A corner that is out of range is a
        KernelError.

    Error: exact.
    Derivative: with respect to the velocities of the mesh.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([2, 0, 1], dtype=int, device="cpu"), velocities=corners)
    >>> wp.mesh_get_velocity(mesh.id, 0)
    vec3f([0.0, 4.0, 0.0])
    """
    data, out = _mesh_at(id), Vec[3, float32](0.0, 0.0, 0.0)
    if _mesh_has_corner(data, index) and data.velocities != uint64(0):
        out = _mesh_velocity(id, _mesh_corner(data, index))
    return out
