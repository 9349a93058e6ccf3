"""Derivatives of what queries of meshes find. Which face it is changes in jumps, and has no derivative.

A search gives numbers without derivatives. `_mesh_hit_at` and `_mesh_near_at` pass these numbers on. They have the
derivatives of the place on the face with respect to the query and to the corners, by an equation that holds at the
place. Their rules take weights from results, so that second derivatives are right, too.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Vec
from ...lang.registry import builtin, gradient
from ...lang.values.scalars import float32, float64, int32, uint64
from .mesh_data import _mesh_cross, _mesh_dot

ON_EDGE = 3.0e-7  # a weight that is zero but for the rounding of the two others


@gradient
def _mesh_point_gradient(id: uint64, number: int32, point: Vec[3, float32], g: Vec[3, float32]) -> None:
    """None: points of a mesh whose arrays the kernel does not get are constants."""


@gradient
def _mesh_velocity_gradient(id: uint64, number: int32, velocity: Vec[3, float32], g: Vec[3, float32]) -> None:
    """None, as for points."""


@gradient
def _mesh_winding_gradient(
    id: uint64, point: Vec[3, float32], accuracy: float32, winding: float64, g: float64
) -> tuple[Vec[3, float32], float32]:
    """It decides about signs alone."""
    return Vec[3, float32](0.0, 0.0, 0.0), float32(0.0)


@gradient
def _mesh_first_hit_gradient(
    id: uint64,
    start: Vec[3, float32],
    dir: Vec[3, float32],
    max_t: float32,
    root: int32,
    face: int32,
    t: float32,
    u: float32,
    v: float32,
    sign: float32,
    of_t: float32,
    of_u: float32,
    of_v: float32,
    of_sign: float32,
) -> tuple[Vec[3, float32], Vec[3, float32], float32]:
    """Zero: `_mesh_hit_at` has the derivatives."""
    return Vec[3, float32](0.0, 0.0, 0.0), Vec[3, float32](0.0, 0.0, 0.0), float32(0.0)


@gradient
def _mesh_closest_gradient(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    face: int32,
    u: float32,
    v: float32,
    of_u: float32,
    of_v: float32,
) -> tuple[Vec[3, float32], float32]:
    """Zero: `_mesh_near_at` has the derivatives."""
    return Vec[3, float32](0.0, 0.0, 0.0), float32(0.0)


@builtin
def _mesh_scaled(a: Vec[3, float64], factor: float64) -> Vec[3, float32]:
    return prim.cast(a * factor, Vec[3, float32])


@gradient
def _mesh_hit_at_gradient(
    t_found: float32,
    u_found: float32,
    v_found: float32,
    start: Vec[3, float32],
    dir: Vec[3, float32],
    a: Vec[3, float32],
    b: Vec[3, float32],
    c: Vec[3, float32],
    t: float32,
    u: float32,
    v: float32,
    of_t: float32,
    of_u: float32,
    of_v: float32,
) -> tuple[
    float32,
    float32,
    float32,
    Vec[3, float32],
    Vec[3, float32],
    Vec[3, float32],
    Vec[3, float32],
    Vec[3, float32],
]:
    """Of start + t dir = u a + v b + (1 - u - v) c. `pull` solves the transposed system for (t, u, v)."""
    last, ray = prim.cast(c, Vec[3, float64]), prim.cast(dir, Vec[3, float64])
    p, q = prim.cast(a, Vec[3, float64]) - last, prim.cast(b, Vec[3, float64]) - last
    normal = _mesh_cross(p, q)
    pull = normal * float64(of_t) + _mesh_cross(ray, q) * float64(of_u) + _mesh_cross(p, ray) * float64(of_v)
    pull = pull * (1.0 / _mesh_dot(ray, normal))
    x, y = float64(u), float64(v)
    return (
        float32(0.0),
        float32(0.0),
        float32(0.0),
        _mesh_scaled(pull, -1.0),
        _mesh_scaled(pull, -float64(t)),
        _mesh_scaled(pull, x),
        _mesh_scaled(pull, y),
        _mesh_scaled(pull, 1.0 - x - y),
    )


@builtin
def _mesh_ratio(x: float64, y: float64) -> float64:
    """The ratio of x and y, or zero where an edge has no length."""
    return prim.select(y > 0.0, x / y, 0.0)


@builtin
def _mesh_pulls(
    p: Vec[3, float64], q: Vec[3, float64], u: float32, v: float32, of_u: float64, of_v: float64
) -> tuple[float64, float64]:
    """How far the adjoints of (u, v) pull along `p` and `q`, the edges from the last corner: the adjoints times the
    inverse of the matrix of the edges' products. On an edge only its direction counts, and at a corner none.
    """
    pp, pq, qq = _mesh_dot(p, p), _mesh_dot(p, q), _mesh_dot(q, q)
    no_u, no_v = u == float32(0.0), v == float32(0.0)
    no_w = prim.abs(float32(1.0) - u - v) <= float32(ON_EDGE)
    along, area = _mesh_ratio(of_u - of_v, pp - 2.0 * pq + qq), pp * qq - pq * pq
    first = prim.select(no_w, along, _mesh_ratio(qq * of_u - pq * of_v, area))
    second = prim.select(no_w, -along, _mesh_ratio(pp * of_v - pq * of_u, area))
    first = prim.select(no_v, prim.select(no_w, 0.0, _mesh_ratio(of_u, pp)), first)
    second = prim.select(no_v, 0.0, second)
    second = prim.select(no_u, prim.select(no_w or no_v, 0.0, _mesh_ratio(of_v, qq)), second)
    return prim.select(no_u, 0.0, first), second


@gradient
def _mesh_near_at_gradient(
    u_found: float32,
    v_found: float32,
    point: Vec[3, float32],
    a: Vec[3, float32],
    b: Vec[3, float32],
    c: Vec[3, float32],
    u: float32,
    v: float32,
    of_u: float32,
    of_v: float32,
) -> tuple[float32, float32, Vec[3, float32], Vec[3, float32], Vec[3, float32], Vec[3, float32]]:
    """Of (point - near) . edge = 0 for the edges that span the feature which the closest point lies on: the face, an
    edge or a corner.
    """
    last = prim.cast(c, Vec[3, float64])
    p, q = prim.cast(a, Vec[3, float64]) - last, prim.cast(b, Vec[3, float64]) - last
    first, second = _mesh_pulls(p, q, u, v, float64(of_u), float64(of_v))
    x, y = float64(u), float64(v)
    rest, pull = prim.cast(point, Vec[3, float64]) - last - p * x - q * y, p * first + q * second
    return (
        float32(0.0),
        float32(0.0),
        _mesh_scaled(pull, 1.0),
        prim.cast(rest * first - pull * x, Vec[3, float32]),
        prim.cast(rest * second - pull * y, Vec[3, float32]),
        prim.cast(rest * (-first - second) - pull * (1.0 - x - y), Vec[3, float32]),
    )
