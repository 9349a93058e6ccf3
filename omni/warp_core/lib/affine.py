"""4 x 4 matrices of transforms: translation, rotation and scale to a matrix and back. Vectors are columns."""

from __future__ import annotations

from ..lang.generics import F, Mat, Quat, Transform, Vec
from ..lang.registry import builtin
from .matrices import transpose
from .quaternions import quat_from_matrix, quat_to_matrix
from .transforms import transform_get_rotation, transform_get_translation
from .vectors import length, normalize


@builtin
def transform_compose(position: Vec[3, F], rotation: Quat[F], scale: Vec[3, F]) -> Mat[4, 4, F]:
    """Matrix of a scale, a rotation and a translation, applied in this order.

    Args:
        position: the translation.
        rotation: a unit quaternion.
        scale: a factor for each axis.

    Returns:
        The 4 x 4 matrix M such that transform_point(M, x) is position + rotate(rotation, scale * x).

    Error: 5 ULP of the scale.
    Derivative: that of the formula.

    >>> m = wp.transform_compose(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity(), wp.vec3(2.0, 2.0, 2.0))
    >>> wp.transform_point(m, wp.vec3(1.0, 1.0, 1.0))
    vec3f([3.0, 4.0, 5.0])
    """
    r = quat_to_matrix(rotation)
    out = Mat[4, 4, F](F(0.0))
    for i in range(3):
        for j in range(3):
            out[i, j] = r[i, j] * scale[j]
        out[i, 3] = position[i]
    out[3, 3] = F(1.0)
    return out


@builtin
def _columns(m: Mat[4, 4, F]) -> Mat[3, 3, F]:
    """The columns of the upper left block, as rows."""
    return Mat[3, 3, F]([m[i, j] for j in range(3) for i in range(3)])


@builtin
def transform_decompose(m: Mat[4, 4, F]) -> tuple[Vec[3, F], Quat[F], Vec[3, F]]:
    """Translation, rotation and scale of a matrix.

    Args:
        m: a 4 x 4 matrix without shear and reflection, as `transform_compose` makes them.

    Returns:
        position: the last column.
        rotation: unit quaternion of the other columns, brought to length 1.
        scale: the lengths of those columns.

    Error: 8 ULP of 1 in the rotation, 3 ULP in the scale.
    Derivative: that of the formula.

    >>> m = wp.transform_compose(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity(), wp.vec3(2.0, 1.0, 4.0))
    >>> wp.transform_decompose(m)[2]
    vec3f([2.0, 1.0, 4.0])
    """
    c = _columns(m)
    turned = Mat[3, 3, F]([normalize(c[j])[i] for i in range(3) for j in range(3)])
    scale = Vec[3, F](length(c[0]), length(c[1]), length(c[2]))
    return Vec[3, F](m[0, 3], m[1, 3], m[2, 3]), quat_from_matrix(turned), scale


@builtin
def transform_from_matrix(mat: Mat[4, 4, F]) -> Transform[F]:
    """Rigid transform of a matrix.

    Args:
        mat: a 4 x 4 matrix whose upper left block is a rotation.

    Returns:
        The transform with that rotation and the last column as translation.

    Error: 6 ULP of 1 in the rotation.
    Derivative: that of the formula.

    >>> wp.transform_from_matrix(wp.transform_to_matrix(wp.transform_identity())) == wp.transform_identity()
    True
    """
    rotation = quat_from_matrix(transpose(_columns(mat)))
    return Transform[F](Vec[3, F](mat[0, 3], mat[1, 3], mat[2, 3]), rotation)


@builtin
def transform_to_matrix(xform: Transform[F]) -> Mat[4, 4, F]:
    """Matrix of a rigid transform.

    Args:
        xform: a transform with a unit rotation.

    Returns:
        The 4 x 4 matrix M such that transform_point(M, x) is transform_point(xform, x).

    Error: 4 ULP of 1.
    Derivative: that of the formula.

    >>> wp.trace(wp.transform_to_matrix(wp.transform_identity()))
    4.0
    """
    position, rotation = transform_get_translation(xform), transform_get_rotation(xform)
    return transform_compose(position, rotation, Vec[3, F](F(1.0)))
