"""Closest points of meshes with a sign: whether a point is inside. Start with `mesh_query_point`."""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, uint64
from .mesh_points import MeshQueryPoint, mesh_query_point_no_sign
from .mesh_rays import _mesh_crossings
from .mesh_winding import _mesh_winding


@builtin
def _mesh_contains(id: uint64, point: Vec[3, float32]) -> boolean:
    """True if two of three rays leave a mesh once more often than they enter it. The id was checked.

    A ray through an edge may count a crossing twice, so one ray alone does not decide.
    """
    first = prim.rem(_mesh_crossings(id, point, Vec[3, float32](0.5377, 0.2341, 0.8100), 0), 2)
    second = prim.rem(_mesh_crossings(id, point, Vec[3, float32](-0.7193, 0.6203, 0.3127), 0), 2)
    votes = first + second
    if votes == 1:
        votes = votes + prim.rem(_mesh_crossings(id, point, Vec[3, float32](0.1619, -0.9127, -0.3754), 0), 2)
    return votes >= 2


@builtin
def mesh_query_point(id: uint64, point: Vec[3, float32], max_dist: float32) -> MeshQueryPoint:
    """Point of a closed mesh that is closest to a point, and whether the point is inside.

    Rays in two or three directions tell by how many faces they hit. The older form with variables for the results,
    `wp.mesh_query_point(id, point, max_dist, sign, face, u, v)`, assigns them and returns whether there is a face.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.

    Returns:
        A MeshQueryPoint, whose `sign` is -1.0 inside. The rest is as `wp.mesh_query_point_no_sign` finds it.

    Error: as for `wp.mesh_query_point_no_sign`. The sign of a mesh with holes is that of most rays.
    Derivative: as for `wp.mesh_query_point_no_sign`; that of the sign is 0.

    >>> points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    >>> faces = wp.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), faces)
    >>> wp.mesh_query_point(mesh.id, wp.vec3(1.0, 1.0, 0.5), 10.0).sign
    -1.0
    """
    found = mesh_query_point_no_sign(id, point, max_dist)
    if found.result and _mesh_contains(id, point):
        found.sign = float32(-1.0)
    return found


@builtin(name="mesh_query_point")
def _mesh_query_point_into(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    sign: ref[float32],
    face: ref[int32],
    u: ref[float32],
    v: ref[float32],
) -> boolean:
    found = mesh_query_point(id, point, max_dist)
    sign, face, u, v = found.sign, found.face, found.u, found.v  # noqa: F841 - they are the caller's
    return found.result


@builtin
def mesh_query_point_sign_parity(
    id: uint64, point: Vec[3, float32], max_dist: float32, n_sample: int32 = 3, perturbation_scale: float32 = 0.1
) -> MeshQueryPoint:
    """Point of a closed mesh that is closest to a point, and whether the point is inside: `wp.mesh_query_point`.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.
        n_sample: for programs written for warp-lang; two or three rays decide here.
        perturbation_scale: for such programs; the directions of the rays are fixed.

    Returns:
        A MeshQueryPoint, whose `sign` is -1.0 inside. The rest is as `wp.mesh_query_point_no_sign` finds it.

    Error: as for `wp.mesh_query_point_no_sign`. The sign of a mesh with holes is that of most rays.
    Derivative: as for `wp.mesh_query_point_no_sign`; that of the sign is 0.

    >>> points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    >>> faces = wp.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), faces)
    >>> wp.mesh_query_point_sign_parity(mesh.id, wp.vec3(1.0, 1.0, 0.5), 10.0).sign
    -1.0
    """
    return mesh_query_point(id, point, max_dist)


@builtin
def mesh_query_point_sign_winding_number(
    id: uint64, point: Vec[3, float32], max_dist: float32, accuracy: float32 = 2.0, threshold: float32 = 0.5
) -> MeshQueryPoint:
    """Point of a mesh that is closest to a point, and whether the mesh winds around the point.

    This works for meshes with holes. A mesh that was made with `support_winding_number=True` takes far faces together.
    Other meshes have all their faces looked at, which is exact, and takes a time in proportion to their number.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.
        accuracy: the faces below a node of the tree are taken together if the point is farther from its centre than
            this many radii. More is more accurate, and slower. Below 1 it counts as 1.
        threshold: the point is inside if the winding number is above this. It is 1 inside of a closed mesh whose faces
            have their front outside, and 0 outside.

    Returns:
        A MeshQueryPoint, whose `sign` is -1.0 inside. The rest is as `wp.mesh_query_point_no_sign` finds it.

    Error: as for `wp.mesh_query_point_no_sign`; in the winding number, 1e-8 for each thousand faces if it is exact.
        Otherwise it is about 0.002 for an `accuracy` of 2, and 0.0001 for 4.
    Derivative: as for `wp.mesh_query_point_no_sign`; that of the sign is 0.

    >>> points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    >>> faces = wp.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), faces)
    >>> wp.mesh_query_point_sign_winding_number(mesh.id, wp.vec3(1.0, 1.0, 0.5), 10.0).sign
    -1.0
    """
    found = mesh_query_point_no_sign(id, point, max_dist)
    if found.result and _mesh_winding(id, point, accuracy) > float64(threshold):
        found.sign = float32(-1.0)
    return found


@builtin(name="mesh_query_point_sign_winding_number")
def _mesh_query_point_sign_winding_number_into(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    sign: ref[float32],
    face: ref[int32],
    u: ref[float32],
    v: ref[float32],
    accuracy: float32 = 2.0,
    threshold: float32 = 0.5,
) -> boolean:
    found = mesh_query_point_sign_winding_number(id, point, max_dist, accuracy, threshold)
    sign, face, u, v = found.sign, found.face, found.u, found.v  # noqa: F841 - they are the caller's
    return found.result
