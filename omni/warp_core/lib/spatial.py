"""Spatial vectors: six components, the angular part (velocity, torque) first, then the linear one (velocity, force).

A twist is a velocity, a wrench a force; their scalar product is a power. Start with `spatial_top`.
"""

from __future__ import annotations

from ..lang.generics import F, Mat, Transform, Vec
from ..lang.registry import builtin
from .quaternions import quat_rotate
from .transforms import transform_get_rotation, transform_get_translation
from .vectors import cross, dot


@builtin
def spatial_top(svec: Vec[6, F]) -> Vec[3, F]:
    """Angular part of a spatial vector.

    Args:
        svec: a spatial vector.

    Returns:
        The first three components.

    Error: exact.
    Derivative: 1.

    >>> wp.spatial_top(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    vec3f([1.0, 2.0, 3.0])
    """
    return Vec[3, F](svec[0], svec[1], svec[2])


@builtin
def spatial_bottom(svec: Vec[6, F]) -> Vec[3, F]:
    """Linear part of a spatial vector.

    Args:
        svec: a spatial vector.

    Returns:
        The last three components.

    Error: exact.
    Derivative: 1.

    >>> wp.spatial_bottom(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    vec3f([4.0, 5.0, 6.0])
    """
    return Vec[3, F](svec[3], svec[4], svec[5])


@builtin
def _joined(top: Vec[3, F], bottom: Vec[3, F]) -> Vec[6, F]:
    return Vec[6, F](top[0], top[1], top[2], bottom[0], bottom[1], bottom[2])


@builtin
def spatial_dot(a: Vec[6, F], b: Vec[6, F]) -> F:
    """Inner product of spatial vectors: the power of a wrench on a twist.

    Args:
        a: a spatial vector.
        b: another of the same type.

    Returns:
        The sum of a[i] * b[i], a scalar.

    Error: one rounding for each term.
    Derivative: `b` in `a`, `a` in `b`.

    >>> wp.spatial_dot(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    7.0
    """
    return dot(a, b)


@builtin
def spatial_cross(a: Vec[6, F], b: Vec[6, F]) -> Vec[6, F]:
    """Cross product of two twists.

    Args:
        a: a twist (w, v).
        b: a twist (x, y).

    Returns:
        The twist (cross(w, x), cross(v, x) + cross(w, y)).

    Error: one rounding for each term.
    Derivative: that of the formula.

    >>> x, y = wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), wp.spatial_vector(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    >>> wp.spatial_top(wp.spatial_cross(x, y))
    vec3f([0.0, 0.0, 1.0])
    """
    w, x = spatial_top(a), spatial_top(b)
    return _joined(cross(w, x), cross(spatial_bottom(a), x) + cross(w, spatial_bottom(b)))


@builtin
def spatial_cross_dual(a: Vec[6, F], b: Vec[6, F]) -> Vec[6, F]:
    """Cross product of a twist and a wrench.

    Args:
        a: a twist (w, v).
        b: a wrench (n, f).

    Returns:
        The wrench (cross(w, n) + cross(v, f), cross(w, f)).

    Error: one rounding for each term.
    Derivative: that of the formula.

    >>> x, y = wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), wp.spatial_vector(0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    >>> wp.spatial_bottom(wp.spatial_cross_dual(x, y))
    vec3f([0.0, 0.0, 1.0])
    """
    w, f = spatial_top(a), spatial_bottom(b)
    return _joined(cross(w, spatial_top(b)) + cross(spatial_bottom(a), f), cross(w, f))


@builtin
def spatial_adjoint(r: Mat[3, 3, F], s: Mat[3, 3, F]) -> Mat[6, 6, F]:
    """Matrix that takes twists to another frame.

    Args:
        r: rotation matrix of the frame.
        s: skew(p) * r, for the position p of the frame.

    Returns:
        The spatial matrix of the blocks r, 0 over s, r.

    Error: exact.
    Derivative: linear in `r` and `s`.

    >>> wp.trace(wp.spatial_adjoint(wp.diag(wp.vec3(1.0, 2.0, 3.0)), wp.skew(wp.vec3(1.0, 2.0, 3.0))))
    12.0
    """
    out = Mat[6, 6, F](F(0.0))
    for i in range(3):
        for j in range(3):
            out[i, j] = r[i, j]
            out[i + 3, j] = s[i, j]
            out[i + 3, j + 3] = r[i, j]
    return out


@builtin
def transform_twist(t: Transform[F], x: Vec[6, F]) -> Vec[6, F]:
    """Twist in another frame.

    Args:
        t: rigid transform from the frame of `x` to the other one, with rotation R and translation p.
        x: a twist (w, v).

    Returns:
        The twist (R w, R v + cross(p, R w)).

    Error: 8 ULP of the lengths involved.
    Derivative: linear in `x`; that of the formula in `t`.

    >>> wp.transform_twist(wp.transform_identity(), wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))[3]
    4.0
    """
    q = transform_get_rotation(t)
    w = quat_rotate(q, spatial_top(x))
    return _joined(w, quat_rotate(q, spatial_bottom(x)) + cross(transform_get_translation(t), w))


@builtin
def transform_wrench(t: Transform[F], x: Vec[6, F]) -> Vec[6, F]:
    """Wrench in another frame.

    Args:
        t: rigid transform from the frame of `x` to the other one, with rotation R and translation p.
        x: a wrench (n, f).

    Returns:
        The wrench (R n + cross(p, R f), R f).

    Error: 8 ULP of the lengths involved.
    Derivative: linear in `x`; that of the formula in `t`.

    >>> wp.transform_wrench(wp.transform_identity(), wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))[0]
    1.0
    """
    q = transform_get_rotation(t)
    f = quat_rotate(q, spatial_bottom(x))
    return _joined(quat_rotate(q, spatial_top(x)) + cross(transform_get_translation(t), f), f)


@builtin
def velocity_at_point(qd: Vec[6, F], r: Vec[3, F]) -> Vec[3, F]:
    """Velocity of a point of a moving body.

    Args:
        qd: the twist (w, v) of the body.
        r: position of the point, from where the twist is taken.

    Returns:
        cross(w, r) + v.

    Error: one rounding for each term.
    Derivative: that of the formula.

    >>> wp.velocity_at_point(wp.spatial_vector(0.0, 0.0, 1.0, 1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))
    vec3f([0.0, 0.0, 0.0])
    """
    return cross(spatial_top(qd), r) + spatial_bottom(qd)
