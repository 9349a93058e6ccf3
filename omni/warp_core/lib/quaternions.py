"""Quaternions in the order x, y, z, w, as rotations.

Rotation functions take unit quaternions and do not normalise what they get; their formulas for other quaternions are
part of the interface. `axis, angle` pairs follow the right-hand rule. Start with `quat_rotate`.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import Any, Constant, F, Mat, Quat, Vec
from ..lang.ref_params import ref
from ..lang.registry import INTRINSICS, builtin
from ..lang.values.scalars import float32
from . import matrices  # noqa: F401 - the first overloads of mul
from .trigonometry import asin, atan2, cos, sin
from .vectors import cross, dot, length, normalize

quaternion = INTRINSICS["quaternion"]


@builtin(name="mul")
def _mul_quats(a: Quat[F], b: Quat[F]) -> Quat[F]:
    return Quat[F](
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2],
        a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@builtin
def quat_identity() -> Quat[float32]:
    """The quaternion of no rotation.

    It also takes a scalar type, known when the kernel compiles: `dtype=wp.float64`.

    Returns:
        The quaternion (0, 0, 0, 1) of that type.

    Error: exact.

    Derivative: none.

    >>> wp.quat_identity()
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    return Quat[float32](0.0, 0.0, 0.0, 1.0)


@builtin(name="quat_identity")
def _quat_identity_of(dtype: Constant) -> Any:
    return quaternion(0.0, 0.0, 0.0, 1.0, dtype=dtype)


@builtin
def _imaginary(q: Quat[F]) -> Vec[3, F]:
    return Vec[3, F](q[0], q[1], q[2])


@builtin
def quat_from_axis_angle(axis: Vec[3, F], angle: F) -> Quat[F]:
    """Rotation about an axis.

    The older form `wp.quat_from_axis_angle(x, y, z, angle)` takes the components of the axis.

    Args:
        axis: direction, of length 1.
        angle: in radians.

    Returns:
        The quaternion (axis * sin(angle / 2), cos(angle / 2)).

    Error: 3 ULP in each component.
    Derivative: that of the formula.

    >>> wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    half = angle * F(0.5)
    return Quat[F](axis * sin(half), cos(half))


@builtin(name="quat_from_axis_angle")
def _quat_from_axis_components(x: F, y: F, z: F, angle: F) -> Quat[F]:
    return quat_from_axis_angle(Vec[3, F](x, y, z), angle)


@builtin
def quat_to_axis_angle(q: Quat[F]) -> tuple[Vec[3, F], F]:
    """Axis and angle of a rotation.

    The older form with variables for the results, `wp.quat_to_axis_angle(q, axis, angle)`, assigns them.

    Args:
        q: a quaternion.

    Returns:
        axis: unit vector, or zero for no rotation.
        angle: in radians, in [0, pi].

    Error: 4 ULP.
    Derivative: that of the formula; 0 at the identity.

    >>> wp.quat_to_axis_angle(wp.quat(0.0, 0.0, 1.0, 0.0))[0]
    vec3f([0.0, 0.0, 1.0])
    """
    v = _imaginary(q)
    size = length(v)
    axis = normalize(v)
    return prim.select(q[3] < F(0.0), prim.neg(axis), axis), F(2.0) * atan2(size, prim.abs(q[3]))


@builtin(name="quat_to_axis_angle")
def _quat_to_axis_angle_into(q: Quat[F], axis: ref[Vec[3, F]], angle: ref[F]) -> None:
    axis, angle = quat_to_axis_angle(q)


@builtin
def quat_inverse(q: Quat[F]) -> Quat[F]:
    """Conjugate of a quaternion: the inverse rotation of a unit quaternion.

    Args:
        q: a quaternion.

    Returns:
        quat(-x, -y, -z, w).

    Error: exact.
    Derivative: the conjugate of the gradient.

    >>> wp.quat_inverse(wp.quat(1.0, 0.0, 0.0, 0.0))
    quatf([-1.0, -0.0, -0.0, 0.0])
    """
    return Quat[F](prim.neg(q[0]), prim.neg(q[1]), prim.neg(q[2]), q[3])


@builtin
def quat_rotate(q: Quat[F], x: Vec[3, F]) -> Vec[3, F]:
    """Vector turned by a rotation.

    Args:
        q: a unit quaternion.
        x: a vector.

    Returns:
        x * (2 * w**2 - 1) + cross(v, x) * 2 * w + v * 2 * dot(v, x), with v the imaginary part of `q`.

    Error: 6 ULP of length(x).
    Derivative: quat_rotate_inv(q, g) in `x`; that of the formula in `q`.

    >>> wp.quat_rotate(wp.quat(0.0, 0.0, 1.0, 0.0), wp.vec3(1.0, 2.0, 3.0))
    vec3f([-1.0, -2.0, 3.0])
    """
    v, w = _imaginary(q), q[3]
    return x * (F(2.0) * w * w - F(1.0)) + cross(v, x) * (F(2.0) * w) + v * (F(2.0) * dot(v, x))


@builtin
def quat_rotate_inv(q: Quat[F], x: Vec[3, F]) -> Vec[3, F]:
    """Vector turned back by a rotation.

    Args:
        q: a unit quaternion.
        x: a vector.

    Returns:
        quat_rotate(quat_inverse(q), x).

    Error: 6 ULP of length(x).
    Derivative: quat_rotate(q, g) in `x`; that of the formula in `q`.

    >>> wp.quat_rotate_inv(wp.quat(0.0, 0.0, 1.0, 0.0), wp.vec3(1.0, 2.0, 3.0))
    vec3f([-1.0, -2.0, 3.0])
    """
    v, w = _imaginary(q), q[3]
    return x * (F(2.0) * w * w - F(1.0)) - cross(v, x) * (F(2.0) * w) + v * (F(2.0) * dot(v, x))


@builtin
def quat_to_matrix(q: Quat[F]) -> Mat[3, 3, F]:
    """Rotation matrix of a quaternion.

    Args:
        q: a unit quaternion.

    Returns:
        The 3 x 3 matrix whose columns are the rotated axes.

    Error: 4 ULP of 1.
    Derivative: that of the formula.

    >>> wp.quat_to_matrix(wp.quat(0.0, 0.0, 1.0, 0.0)) * wp.vec3(1.0, 0.0, 0.0)
    vec3f([-1.0, 0.0, 0.0])
    """
    x, y, z, w = q[0], q[1], q[2], q[3]
    two = F(2.0)
    d = two * w * w - F(1.0)
    return Mat[3, 3, F](
        d + two * x * x,
        two * (x * y - w * z),
        two * (x * z + w * y),
        two * (x * y + w * z),
        d + two * y * y,
        two * (y * z - w * x),
        two * (x * z - w * y),
        two * (y * z + w * x),
        d + two * z * z,
    )


@builtin
def quat_from_matrix(m: Mat[3, 3, F]) -> Quat[F]:
    """Quaternion of a rotation matrix.

    Args:
        m: a 3 x 3 rotation matrix, or a 4 x 4 matrix whose upper left part is one.

    Returns:
        The unit quaternion. Of the two, the one whose largest component is positive.

    Error: 6 ULP of 1.
    Derivative: that of the branch taken.

    >>> wp.quat_from_matrix(wp.mat33(1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0))
    quatf([1.0, 0.0, 0.0, 0.0])
    """
    one = F(1.0)
    a, b, c = m[0, 0], m[1, 1], m[2, 2]
    xw, yw, zw = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    xy, xz, yz = m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1]
    by_w = Quat[F](xw, yw, zw, one + (a + b + c))
    by_x = Quat[F](one + (a - b - c), xy, xz, xw)
    by_y = Quat[F](xy, one + (b - a - c), yz, yw)
    by_z = Quat[F](xz, yz, one + (c - a - b), zw)
    by_axis = prim.select(prim.bit_and(a >= b, a >= c), by_x, prim.select(b >= c, by_y, by_z))
    return normalize(prim.select(a + b + c >= F(0.0), by_w, by_axis))


@builtin(name="quat_from_matrix")
def _quat_from_affine(m: Mat[4, 4, F]) -> Quat[F]:
    rows = Mat[3, 3, F]([m[i, j] for i in range(3) for j in range(3)])
    return quat_from_matrix(rows)


@builtin
def quat_rpy(roll: F, pitch: F, yaw: F) -> Quat[F]:
    """Rotation from roll, pitch and yaw.

    Args:
        roll: about x, in radians, applied first.
        pitch: about y, in radians.
        yaw: about z, in radians, applied last.

    Returns:
        The unit quaternion.

    Error: 5 ULP of 1.
    Derivative: that of the formula.

    >>> wp.quat_rpy(0.0, 0.0, 0.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    half = F(0.5)
    sr, sp, sy = sin(roll * half), sin(pitch * half), sin(yaw * half)
    cr, cp, cy = cos(roll * half), cos(pitch * half), cos(yaw * half)
    return Quat[F](
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


@builtin
def quat_to_rpy(q: Quat[F]) -> Vec[3, F]:
    """Roll, pitch and yaw of a rotation.

    Args:
        q: a unit quaternion.

    Returns:
        The angles in radians, as `quat_rpy` takes them.

    Error: 8 ULP of pi, away from a pitch of +-pi/2.
    Derivative: that of the formula.

    >>> wp.quat_to_rpy(wp.quat(0.0, 0.0, 0.0, 1.0))
    vec3f([0.0, 0.0, 0.0])
    """
    x, y, z, w = q[0], q[1], q[2], q[3]
    one, two = F(1.0), F(2.0)
    roll = atan2(two * (w * x + y * z), one - two * (x * x + y * y))
    pitch = asin(prim.min(prim.max(two * (w * y - z * x), prim.neg(one)), one))
    yaw = atan2(two * (w * z + x * y), one - two * (y * y + z * z))
    return Vec[3, F](roll, pitch, yaw)


@builtin
def quat_slerp(a: Quat[F], b: Quat[F], t: F) -> Quat[F]:
    """Interpolation between rotations at constant speed, the short way round.

    Args:
        a: rotation at t = 0, a unit quaternion.
        b: rotation at t = 1, a unit quaternion.
        t: a number.

    Returns:
        a * exp(t * log(inverse(a) * b)).

    Error: 8 ULP of 1.
    Derivative: that of the formula, also where `a` and `b` are equal.

    >>> wp.quat_slerp(wp.quat_identity(), wp.quat(0.0, 0.0, 1.0, 0.0), 0.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    zero, one = F(0.0), F(1.0)
    turn = quat_inverse(a) * b
    v, w = _imaginary(turn), turn[3]
    size, across = length(v), prim.abs(w)
    part = t * atan2(size, across)
    # sin(part) / size has a limit where there is no turn, and it is what the derivative is made of.
    apart = size > zero
    scale = prim.select(apart, sin(part) / prim.select(apart, size, one), t / prim.select(across > zero, across, one))
    return a * Quat[F](v * prim.select(w < zero, prim.neg(scale), scale), cos(part))


@builtin
def _difference_of_products(a: F, b: F, c: F, d: F) -> F:
    """A * b - c * d, exactly zero where it is zero and else good to 2 ULP."""
    w = c * d
    return prim.fma(a, b, prim.neg(w)) + prim.fma(prim.neg(c), d, w)


@builtin
def quat_between_vectors(a: Vec[3, F], b: Vec[3, F]) -> Quat[F]:
    """Shortest rotation that turns one direction into another.

    Args:
        a: a vector of any length but zero.
        b: another.

    Returns:
        The unit quaternion; the identity where the directions are opposite or a vector is zero.

    Error: 8 ULP of 1, away from opposite directions.
    Derivative: that of the formula.

    >>> wp.quat_between_vectors(wp.vec3(1.0, 0.0, 0.0), wp.vec3(2.0, 0.0, 0.0))
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    u, v = normalize(a), normalize(b)
    x = _difference_of_products(u[1], v[2], u[2], v[1])
    y = _difference_of_products(u[2], v[0], u[0], v[2])
    z = _difference_of_products(u[0], v[1], u[1], v[0])
    return normalize(Quat[F](x, y, z, prim.max(F(1.0) + dot(u, v), F(0.0))))
