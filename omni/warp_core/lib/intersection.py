"""Segments and triangles in space: closest points, intersection."""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, Mat, Vec
from ..lang.registry import builtin
from ..lang.values.scalars import bool as boolean
from ..lang.values.scalars import float32, float64, int32
from .scalar_functions import clamp
from .vectors import cross, dot, length

CLOSE, CLOSE_DOUBLE = 2.4e-7, 4.5e-16  # what rounding makes of a volume that is zero, in units of its edges


@builtin
def closest_point_edge_edge(p1: Vec[3, F], q1: Vec[3, F], p2: Vec[3, F], q2: Vec[3, F], epsilon: F) -> Vec[3, F]:
    """Closest points of two segments.

    Args:
        p1: start of the first segment.
        q1: its end.
        p2: start of the second segment.
        q2: its end.
        epsilon: segments whose squared length is at most this count as points.

    Returns:
        (s, t, d): the points p1 + s * (q1 - p1) and p2 + t * (q2 - p2) have the least distance d. Of parallel segments
        any such pair.

    Error: float32 some ULP of the lengths, times the condition number of the pair of directions in s and t.
    Derivative: that of the branch taken.

    >>> x, y = wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)
    >>> wp.closest_point_edge_edge(-x, x, y * 2.0, y, 1e-6)
    vec3f([0.5, 1.0, 1.0])
    """
    zero, one = F(0.0), F(1.0)
    d1, d2, r = q1 - p1, q2 - p2, p1 - p2
    a, e, b = dot(d1, d1), dot(d2, d2), dot(d1, d2)
    c, f = dot(d1, r), dot(d2, r)
    s, t = zero, zero
    if a <= epsilon and e <= epsilon:
        s = zero
    elif a <= epsilon:
        t = clamp(f / e, zero, one)
    elif e <= epsilon:
        s = clamp(prim.neg(c) / a, zero, one)
    else:
        spread = a * e - b * b
        s = clamp((b * f - c * e) / spread, zero, one) if spread > zero else zero
        t = (b * s + f) / e
        if t < zero:
            t, s = zero, clamp(prim.neg(c) / a, zero, one)
        elif t > one:
            t, s = one, clamp((b - c) / a, zero, one)
    return Vec[3, F](s, t, length(r + d1 * s - d2 * t))


@builtin
def _extent(v: Vec[3, F]) -> F:
    return prim.abs(v[0]) + prim.abs(v[1]) + prim.abs(v[2])


@builtin
def _snapped(volume: F, limit: F) -> F:
    """Zero for a volume that rounding may have made of zero."""
    return prim.select(prim.abs(volume) <= limit, F(0.0), volume)


@builtin
def _one_sided(a: F, b: F, c: F) -> boolean:
    """True if three numbers are strictly of one sign."""
    least, most = prim.min(prim.min(a, b), c), prim.max(prim.max(a, b), c)
    return prim.bit_or(least > F(0.0), most < F(0.0))


@builtin
def _pierces(p: F, q: F, a: F, b: F, c: F) -> boolean:
    """True if a segment with ends on sides `p`, `q` of a plane meets the triangle whose edges it passes on a, b, c."""
    across = prim.min(p, q) <= F(0.0) and prim.max(p, q) >= F(0.0)
    least, most = prim.min(prim.min(a, b), c), prim.max(prim.max(a, b), c)
    return across and prim.bit_or(least >= F(0.0), most <= F(0.0))


@builtin
def _apart(normal: Vec[3, F], v: Mat[3, 3, F], u: Mat[3, 3, F]) -> boolean:
    """True if an edge of triangle `v`, in the plane at right angles to `normal`, has all of `u` outside."""
    apart = False
    for i in range(3):
        a = v[i]
        side = cross(normal, v[(i + 1) % 3] - a)
        inner = dot(side, v[(i + 2) % 3] - a)
        x, y, z = dot(side, u[0] - a), dot(side, u[1] - a), dot(side, u[2] - a)
        most, least = prim.max(prim.max(x, y), z), prim.min(prim.min(x, y), z)
        apart = apart or prim.select(inner > F(0.0), most < F(0.0), least > F(0.0))
    return apart


@builtin
def _rows(a: Vec[3, F], b: Vec[3, F], c: Vec[3, F]) -> Mat[3, 3, F]:
    return Mat[3, 3, F](a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@builtin(cold=True)
def _flat(normal: Vec[3, F], v: Mat[3, 3, F], u: Mat[3, 3, F]) -> int32:
    """True if two triangles in one plane overlap: no edge of either has the other one outside."""
    return 0 if _apart(normal, v, u) or _apart(normal, u, v) else 1


@builtin
def _sides(v: Mat[3, 3, F], u: Mat[3, 3, F], close: F) -> Vec[3, F]:
    """On which side of the plane of `v` each corner of `u` is."""
    e, f = v[1] - v[0], v[2] - v[0]
    normal, limit = cross(e, f), close * _extent(e) * _extent(f)
    d0, d1, d2 = u[0] - v[0], u[1] - v[0], u[2] - v[0]
    return Vec[3, F](
        _snapped(dot(normal, d0), limit * _extent(d0)),
        _snapped(dot(normal, d1), limit * _extent(d1)),
        _snapped(dot(normal, d2), limit * _extent(d2)),
    )


@builtin
def _passing(a: Vec[3, F], b: Vec[3, F], u: Mat[3, 3, F], close: F) -> Vec[3, F]:
    """On which side the line from `a` to `b` passes each edge of a triangle."""
    along, r0, r1, r2 = b - a, u[0] - a, u[1] - a, u[2] - a
    limit, x, y, z = close * _extent(along), _extent(r0), _extent(r1), _extent(r2)
    return Vec[3, F](
        _snapped(dot(along, cross(r0, r1)), limit * x * y),
        _snapped(dot(along, cross(r1, r2)), limit * y * z),
        _snapped(dot(along, cross(r2, r0)), limit * z * x),
    )


@builtin
def _meet(v: Mat[3, 3, F], u: Mat[3, 3, F], close: F) -> int32:
    """True if two triangles, given by the rows, meet: an edge of one pierces the other."""
    a = _sides(v, u, close)
    if _one_sided(a[0], a[1], a[2]):
        return 0
    b = _sides(u, v, close)
    if _one_sided(b[0], b[1], b[2]):
        return 0
    zero = F(0.0)
    if a[0] == zero and a[1] == zero and a[2] == zero:
        return _flat(cross(v[1] - v[0], v[2] - v[0]), v, u)
    x, y, z = _passing(v[0], v[1], u, close), _passing(v[1], v[2], u, close), _passing(v[2], v[0], u, close)
    met = _pierces(b[0], b[1], x[0], x[1], x[2])
    met = met or _pierces(b[1], b[2], y[0], y[1], y[2])
    met = met or _pierces(b[2], b[0], z[0], z[1], z[2])
    met = met or _pierces(a[0], a[1], x[0], y[0], z[0])
    met = met or _pierces(a[1], a[2], x[1], y[1], z[1])
    met = met or _pierces(a[2], a[0], x[2], y[2], z[2])
    return 1 if met else 0


@builtin
def intersect_tri_tri(
    v0: Vec[3, float32],
    v1: Vec[3, float32],
    v2: Vec[3, float32],
    u0: Vec[3, float32],
    u1: Vec[3, float32],
    u2: Vec[3, float32],
) -> int32:
    """True if two triangles meet.

    Args:
        v0: a corner of the first triangle.
        v1: another.
        v2: the third.
        u0: a corner of the second triangle.
        u1: another.
        u2: the third.

    Returns:
        1 if the triangles have a point in common, also on their edges or within one plane, else 0.

    Error: triangles closer than some ULP of their extents count as touching.
    Derivative: none.

    >>> x, y, z = wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0), wp.vec3(0.0, 0.0, 1.0)
    >>> wp.intersect_tri_tri(x, y, z, wp.vec3(0.0, 0.0, 0.0), x + y + z, x)
    1
    """
    return _meet(_rows(v0, v1, v2), _rows(u0, u1, u2), CLOSE)


@builtin(name="intersect_tri_tri")
def _intersect_double(
    v0: Vec[3, float64],
    v1: Vec[3, float64],
    v2: Vec[3, float64],
    u0: Vec[3, float64],
    u1: Vec[3, float64],
    u2: Vec[3, float64],
) -> int32:
    return _meet(_rows(v0, v1, v2), _rows(u0, u1, u2), CLOSE_DOUBLE)


@builtin(name="intersect_tri_tri")
def _intersect_half(v0: Vec[3, F], v1: Vec[3, F], v2: Vec[3, F], u0: Vec[3, F], u1: Vec[3, F], u2: Vec[3, F]) -> int32:
    v, u = _rows(v0, v1, v2), _rows(u0, u1, u2)
    return _meet(prim.cast(v, Mat[3, 3, float32]), prim.cast(u, Mat[3, 3, float32]), CLOSE)
