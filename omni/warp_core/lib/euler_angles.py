"""Rotations as angles about axes: Euler angles of any axis sequence, and the twist about a given axis."""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, Quat, Vec
from ..lang.registry import builtin
from ..lang.values.scalars import int32
from .quaternions import _imaginary
from .scalar_functions import sqrt
from .trigonometry import atan2, cos, sin
from .vectors import dot, normalize

HALF_PI = 1.5707963267948966


@builtin
def _about(axis: int32, angle: F) -> Quat[F]:
    half = angle * F(0.5)
    q = Quat[F](F(0.0), F(0.0), F(0.0), cos(half))
    q[axis] = sin(half)
    return q


@builtin
def quat_from_euler(e: Vec[3, F], i: int32, j: int32, k: int32) -> Quat[F]:
    """Rotation from Euler angles.

    Args:
        e: angles in radians: e[0] about x, e[1] about y, e[2] about z.
        i: axis of the first rotation: 0, 1 or 2.
        j: axis of the second one, not `i`.
        k: axis of the third one, not `j`.

    Returns:
        The unit quaternion q_k * q_j * q_i, with q_n the rotation by e[n] about the fixed axis n.

    Error: 5 ULP of 1.
    Derivative: that of the formula in `e`.

    >>> wp.quat_from_euler(wp.vec3(0.0, 0.0, 0.0), 0, 1, 2)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    return _about(k, e[k]) * _about(j, e[j]) * _about(i, e[i])


@builtin
def quat_to_euler(q: Quat[F], i: int32, j: int32, k: int32) -> Vec[3, F]:
    """Euler angles of a rotation.

    Args:
        q: a quaternion of any length but zero.
        i: axis of the first rotation: 0, 1 or 2.
        j: axis of the second one, not `i`.
        k: axis of the third one, not `j`.

    Returns:
        The angles e in radians, by axis, as `quat_from_euler` takes them. Where `k` equals `i`, the third angle stands
        at the axis that is left over. The second angle is in [-pi/2, pi/2], or in [0, pi] where `k` equals `i`; the
        others are in [-2 pi, 2 pi].

    Error: 8 ULP of pi, away from the ends of the range of the second angle.
    Derivative: that of the formula (Bernardes and Viollet, "Quaternion to Euler angles conversion", 2022).

    >>> round(wp.quat_to_euler(wp.quat(1.0, 0.0, 0.0, 1.0), 0, 1, 2)[0], 6)
    1.570796
    """
    proper = i == k
    last = 3 - i - j if proper else k
    odd = F((i - j) * (j - last) * (last - i)) * F(0.5)
    w, x, y, z = q[3], q[i], q[j], q[last] * odd
    a, b = prim.select(proper, w, w - y), prim.select(proper, x, x + z)
    c, d = prim.select(proper, y, y + w), prim.select(proper, z, z - x)
    half_sum, half_difference = atan2(b, a), atan2(d, c)
    second = F(2.0) * atan2(sqrt(c * c + d * d), sqrt(a * a + b * b))
    third = half_sum + half_difference
    e = Vec[3, F](F(0.0))
    e[i] = half_sum - half_difference
    e[j] = prim.select(proper, second, second - F(HALF_PI))
    e[last] = prim.select(proper, third, third * odd)
    return e


@builtin
def quat_twist(axis: Vec[3, F], q: Quat[F]) -> Quat[F]:
    """Part of a rotation that is about an axis.

    Args:
        axis: direction, of length 1.
        q: a unit quaternion.

    Returns:
        Return the unit quaternion t about `axis` such that q * inverse(t) turns about an axis at right angles to it. It
        is the identity where `q` is half a turn about such an axis.

    Error: 4 ULP of 1.
    Derivative: that of the formula.

    >>> wp.quat_twist(wp.vec3(0.0, 0.0, 1.0), wp.quat(0.0, 0.0, 1.0, 0.0))
    quatf([0.0, 0.0, 1.0, 0.0])
    """
    v = axis * dot(_imaginary(q), axis)
    return normalize(Quat[F](v[0], v[1], v[2], q[3]))


@builtin
def quat_twist_angle(axis: Vec[3, F], q: Quat[F]) -> F:
    """Return the angle by which a rotation turns about an axis.

    Args:
        axis: direction, of length 1.
        q: a unit quaternion.

    Returns:
        The angle of `quat_twist` in radians, in [0, pi] if the last component of `q` is not negative, else in
        (pi, 2 pi].

    Error: 4 ULP of pi.
    Derivative: that of the formula.

    >>> wp.quat_twist_angle(wp.vec3(0.0, 0.0, 1.0), wp.quat(0.0, 0.0, 0.0, 1.0))
    0.0
    """
    return F(2.0) * atan2(prim.abs(dot(_imaginary(q), axis)), q[3])


@builtin
def quat_twist_angle_signed(axis: Vec[3, F], q: Quat[F]) -> F:
    """Return the signed angle by which a rotation turns about an axis.

    Args:
        axis: direction, of length 1.
        q: a unit quaternion.

    Returns:
        The angle of `quat_twist` in radians, positive by the right-hand rule; in [-pi, pi] if the last component of
        `q` is not negative, else in [-2 pi, 2 pi].

    Error: 4 ULP of pi.
    Derivative: that of the formula.

    >>> wp.quat_twist_angle_signed(wp.vec3(0.0, 0.0, 1.0), wp.quat(0.0, 0.0, 0.0, 1.0))
    0.0
    """
    return F(2.0) * atan2(dot(_imaginary(q), axis), q[3])
