"""Closest points of meshes with a sign by normals: on which side of the closest face, edge or corner a point is.

At an edge or a corner, the normals of all faces around it are added, each weighted by its angle there. For closed
meshes this sum tells the side of a point, where the normal of one face does not. See "Signed distance computation using
the angle weighted pseudonormal" by Baerentzen and Aanaes, 2005.
"""

from __future__ import annotations

import math

from ...lang import prim
from ...lang.generics import Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from ..trigonometry import atan2
from .bvh_nodes import distance_sq
from .mesh_data import MeshData, _mesh_cross, _mesh_data, _mesh_dot, _mesh_face, _mesh_node, _mesh_position
from .mesh_points import MeshQueryPoint, _mesh_closest_of, mesh_query_point_no_sign

TOUCHING = 1.0e-6  # how far away a face may be that touches a point of another one, in units of the latter's size
AT_EDGE = 1.0e-6  # the largest weight for a corner of a face that has such a point on the edge opposite to the corner
ON_EDGE = 1.0e-9  # the same for the face whose point it is: its weights are exact but for rounding
ROUNDING = 2.5e-7  # of a point to float32, four times


@builtin
def _mesh_snapped(u: float64, v: float64, epsilon: float64) -> Vec[3, float64]:
    """The weights of a point, where those up to `epsilon` are zero: the point moves to an edge or a corner."""
    w = 1.0 - u - v
    x, y, z = prim.select(u > epsilon, u, 0.0), prim.select(v > epsilon, v, 0.0), prim.select(w > epsilon, w, 0.0)
    return Vec[3, float64](x, y, z) * (1.0 / (x + y + z))


@builtin
def _mesh_angle(a: Vec[3, float64], b: Vec[3, float64]) -> float64:
    cross = _mesh_cross(a, b)
    return atan2(prim.sqrt(_mesh_dot(cross, cross)), _mesh_dot(a, b))


@builtin
def _mesh_angle_at(a: Vec[3, float64], b: Vec[3, float64], c: Vec[3, float64], weights: Vec[3, float64]) -> float64:
    """The angle of a triangle at a point with such weights: that of a corner, half of a circle on an edge, else a
    circle.
    """
    x, y, z = weights[0] > 0.0, weights[1] > 0.0, weights[2] > 0.0
    angle = float64(math.pi)
    if x and y and z:
        angle = 2.0 * angle
    if x and not y and not z:
        angle = _mesh_angle(b - a, c - a)
    elif y and not x and not z:
        angle = _mesh_angle(c - b, a - b)
    elif z and not x and not y:
        angle = _mesh_angle(a - c, b - c)
    return angle


@builtin
def _mesh_weighted_normal(data: MeshData, face: int32, place: Vec[3, float64], reach: float64) -> Vec[3, float64]:
    """The unit normal of a face times its angle at a place; zero if the face is not there or has no area."""
    a, b = _mesh_position(data, 3 * face) - place, _mesh_position(data, 3 * face + 1) - place
    c = _mesh_position(data, 3 * face + 2) - place
    near, normal = _mesh_closest_of(a, b, c), _mesh_cross(b - a, c - a)
    size = prim.sqrt(_mesh_dot(normal, normal))
    found = Vec[3, float64](0.0, 0.0, 0.0)
    if near[2] <= reach * reach and size > 0.0:
        found = normal * (_mesh_angle_at(a, b, c, _mesh_snapped(near[0], near[1], AT_EDGE)) / size)
    return found


@builtin
def _mesh_normal_around(data: MeshData, place: Vec[3, float64], reach: float64) -> Vec[3, float64]:
    """The sum of the weighted normals of all faces at a place."""
    single = prim.cast(place, Vec[3, float32])
    around = reach + ROUNDING * prim.sqrt(_mesh_dot(place, place))
    total, number = Vec[3, float64](0.0, 0.0, 0.0), 0
    while number < data.num_nodes:
        node = _mesh_node(data, number)
        following = number + 1
        if distance_sq(node, single) <= around * around:
            for at in range(node.child, node.child + node.count):
                total = total + _mesh_weighted_normal(data, _mesh_face(data, at), place, reach)
        elif node.count < 0:
            following = -node.count
        number = following
    return total


@builtin
def _mesh_side(id: uint64, face: int32, point: Vec[3, float32]) -> int32:
    """-1 if a point is behind the faces around its closest point, 1 before them. The id was checked.

    The closest point is found again, as `u` and `v` of float32 miss it by more than the thickness of a thin mesh.
    """
    data, origin = _mesh_data(id), prim.cast(point, Vec[3, float64])
    a, b, c = _mesh_position(data, 3 * face), _mesh_position(data, 3 * face + 1), _mesh_position(data, 3 * face + 2)
    near, normal = _mesh_closest_of(a - origin, b - origin, c - origin), _mesh_cross(b - a, c - a)
    weights = _mesh_snapped(near[0], near[1], ON_EDGE)
    place = a * weights[0] + b * weights[1] + c * weights[2]
    if weights[0] == 0.0 or weights[1] == 0.0 or weights[2] == 0.0:
        size_sq = prim.max(_mesh_dot(b - a, b - a), _mesh_dot(c - a, c - a))
        normal = _mesh_normal_around(data, place, TOUCHING * prim.sqrt(size_sq))
    return prim.select(_mesh_dot(normal, origin - place) < 0.0, -1, 1)


@builtin
def mesh_query_point_sign_normal(
    id: uint64, point: Vec[3, float32], max_dist: float32, epsilon: float32 = 1.0e-3
) -> MeshQueryPoint:
    """Point of a closed mesh that is closest to a point, and on which side of the surface the point is.

    The normals of the faces around the closest point tell the side, each with its angle there as weight. This is faster
    than rays, and right for closed meshes that do not pass through themselves. The older form with variables for the
    results is `wp.mesh_query_point_sign_normal(id, point, max_dist, sign, face, u, v)`.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.
        epsilon: taken, without effect: closest points are known well enough to tell on which face or edge they lie.

    Returns:
        A MeshQueryPoint, whose `sign` is -1.0 behind the surface, and 1.0 before it or on it. The rest is as
        `wp.mesh_query_point_no_sign` finds it.

    Error: as for `wp.mesh_query_point_no_sign`.
    Derivative: as for `wp.mesh_query_point_no_sign`; that of the sign is 0.

    >>> points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    >>> faces = wp.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), faces)
    >>> wp.mesh_query_point_sign_normal(mesh.id, wp.vec3(1.0, 1.0, 0.5), 10.0).sign
    -1.0
    """
    found = mesh_query_point_no_sign(id, point, max_dist)
    if found.result and _mesh_side(id, found.face, point) < 0:
        found.sign = float32(-1.0)
    return found


@builtin(name="mesh_query_point_sign_normal")
def _mesh_query_point_sign_normal_into(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    sign: ref[float32],
    face: ref[int32],
    u: ref[float32],
    v: ref[float32],
    epsilon: float32 = 1.0e-3,
) -> boolean:
    found = mesh_query_point_sign_normal(id, point, max_dist, epsilon)
    sign, face, u, v = found.sign, found.face, found.u, found.v  # noqa: F841 - they are the caller's
    return found.result
