"""Rigid transforms: a translation and a rotation, applied as `translation + rotate(rotation, x)`.

Their product does first the right one, then the left one. Functions on points and vectors also take 4 x 4 matrices.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import Any, Constant, F, Mat, Quat, Transform, Vec
from ..lang.ref_params import ref
from ..lang.registry import INTRINSICS, builtin
from ..lang.values.scalars import float32
from .quaternions import quat_inverse, quat_rotate

transformation = INTRINSICS["transformation"]


@builtin
def transform_identity() -> Transform[float32]:
    """The transform that moves nothing.

    It also takes a scalar type, known when the kernel compiles: `dtype=wp.float64`.

    Returns:
        The transform of that type with translation 0 and rotation (0, 0, 0, 1).

    Error: exact.

    Derivative: none.

    >>> wp.transform_get_rotation(wp.transform_identity())
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    return Transform[float32](0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@builtin(name="transform_identity")
def _transform_identity_of(dtype: Constant) -> Any:
    return transformation(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, dtype=dtype)


@builtin
def transform_get_translation(xform: Transform[F]) -> Vec[3, F]:
    """Translation of a transform.

    Args:
        xform: a transform.

    Returns:
        A vector of three components.

    Error: exact.
    Derivative: 1.

    >>> wp.transform_get_translation(wp.transform_identity())
    vec3f([0.0, 0.0, 0.0])
    """
    return Vec[3, F](xform[0], xform[1], xform[2])


@builtin
def transform_get_rotation(xform: Transform[F]) -> Quat[F]:
    """Rotation of a transform.

    Args:
        xform: a transform.

    Returns:
        A quaternion.

    Error: exact.
    Derivative: 1.

    >>> wp.transform_get_rotation(wp.transform_identity())
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    return Quat[F](xform[3], xform[4], xform[5], xform[6])


@builtin
def transform_set_translation(xform: ref[Transform[F]], p: Vec[3, F]) -> None:
    """Replaces the translation of a transform; in a kernel, `xform.p = p` does the same.

    Args:
        xform: the variable, field or array element to change.
        p: the new translation.

    Returns:
        Nothing.

    Error: exact.
    Derivative: 1 in `p` and in the rotation.

    >>> t = wp.transform_identity()
    >>> wp.transform_set_translation(t, wp.vec3(1.0, 2.0, 3.0))
    >>> wp.transform_get_translation(t)
    vec3f([1.0, 2.0, 3.0])
    """
    xform.p = p


@builtin
def transform_set_rotation(xform: ref[Transform[F]], q: Quat[F]) -> None:
    """Replaces the rotation of a transform; in a kernel, `xform.q = q` does the same.

    Args:
        xform: the variable, field or array element to change.
        q: the new rotation; it is stored as it is.

    Returns:
        Nothing.

    Error: exact.
    Derivative: 1 in `q` and in the translation.

    >>> t = wp.transform_identity()
    >>> wp.transform_set_rotation(t, wp.quat(1.0, 0.0, 0.0, 0.0))
    >>> wp.transform_get_rotation(t)
    quatf([1.0, 0.0, 0.0, 0.0])
    """
    xform.q = q


@builtin
def transform_multiply(a: Transform[F], b: Transform[F]) -> Transform[F]:
    """Composition of two transforms; also written `a * b`.

    Args:
        a: applied last.
        b: applied first.

    Returns:
        The transform of x to a(b(x)).

    Error: 8 ULP of the lengths involved.
    Derivative: that of the formula.

    >>> wp.transform_multiply(wp.transform_identity(), wp.transform_identity()) == wp.transform_identity()
    True
    """
    p, q = transform_get_translation(a), transform_get_rotation(a)
    moved = p + quat_rotate(q, transform_get_translation(b))
    return Transform[F](moved, q * transform_get_rotation(b))


@builtin(name="mul")
def _mul_transforms(a: Transform[F], b: Transform[F]) -> Transform[F]:
    return transform_multiply(a, b)


@builtin
def transform_point(xform: Transform[F], point: Vec[3, F]) -> Vec[3, F]:
    """Point moved by a transform.

    Args:
        xform: a transform, or a 4 x 4 matrix whose last row is not used.
        point: a position.

    Returns:
        translation + rotate(rotation, point); for a matrix, the first three components of matrix * (point, 1).

    Error: 8 ULP of the lengths involved.
    Derivative: quat_rotate_inv(rotation, g) in `point`; that of the formula in `xform`.

    >>> wp.transform_point(wp.transform_identity(), wp.vec3(1.0, 2.0, 3.0))
    vec3f([1.0, 2.0, 3.0])
    """
    return transform_get_translation(xform) + quat_rotate(transform_get_rotation(xform), point)


@builtin(name="transform_point")
def _matrix_point(xform: Mat[4, 4, F], point: Vec[3, F]) -> Vec[3, F]:
    return Vec[3, F](
        [xform[i, 0] * point[0] + xform[i, 1] * point[1] + xform[i, 2] * point[2] + xform[i, 3] for i in range(3)]
    )


@builtin
def transform_vector(xform: Transform[F], vector: Vec[3, F]) -> Vec[3, F]:
    """Direction turned by a transform; the translation plays no part.

    Args:
        xform: a transform, or a 4 x 4 matrix of which the upper left 3 x 3 block is used.
        vector: a direction.

    Returns:
        rotate(rotation, vector); for a matrix, block * vector.

    Error: 6 ULP of length(vector).
    Derivative: quat_rotate_inv(rotation, g) in `vector`; that of the formula in `xform`.

    >>> wp.transform_vector(wp.transform_identity(), wp.vec3(1.0, 2.0, 3.0))
    vec3f([1.0, 2.0, 3.0])
    """
    return quat_rotate(transform_get_rotation(xform), vector)


@builtin(name="transform_vector")
def _matrix_vector(xform: Mat[4, 4, F], vector: Vec[3, F]) -> Vec[3, F]:
    return Vec[3, F]([xform[i, 0] * vector[0] + xform[i, 1] * vector[1] + xform[i, 2] * vector[2] for i in range(3)])


@builtin
def transform_inverse(xform: Transform[F]) -> Transform[F]:
    """Transform that undoes another.

    Args:
        xform: a transform with a unit rotation.

    Returns:
        The transform of xform(x) to x.

    Error: 8 ULP of the lengths involved.
    Derivative: that of the formula.

    >>> wp.transform_get_translation(wp.transform_inverse(wp.transform_identity()))
    vec3f([-0.0, -0.0, -0.0])
    """
    back = quat_inverse(transform_get_rotation(xform))
    return Transform[F](prim.neg(quat_rotate(back, transform_get_translation(xform))), back)
