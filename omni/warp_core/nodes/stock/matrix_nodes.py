"""Matrices and rotations: products, inverses, transforms from and to translation, rotation and scale.

Matrices act on row vectors, as in USD: the rows of a transform are its axes, and the last one is its translation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..graph.node_graph import GraphError, NodeType
from ..values.attribute_types import AttributeType, parse
from .declaration import attribute, data_node, untyped
from .operands import (
    Inputs,
    Typed,
    array_of,
    decimal,
    pack,
    promoted,
    repeated,
    require_shape,
    rows,
    tuple_type,
    typed,
    with_dtype,
)
from .rotations import (
    AXES,
    ORDERS,
    frame,
    from_axis,
    from_euler,
    from_quaternion,
    nearest,
    to_euler,
    to_quaternion,
    unit,
)

_SQUARES = ((2, 2), (3, 3), (4, 4))
_LARGEST = float(np.finfo(np.float32).max)  # times identity: the inverse that Kit gives a singular matrix


def _together(*operands: Typed) -> tuple[list[np.ndarray], bool]:
    """The elements as float64, equally many of each operand, and whether any is an array."""
    return [part.astype(np.float64) for part in repeated(*operands)], any(o.type.is_array for o in operands)


def _require_finite(operand: Typed) -> Typed:
    if not np.all(np.isfinite(operand.elements)):
        raise GraphError(f"{operand.name} has a component that is NaN or infinite; there is no such rotation")
    return operand


# -- algebra ----------------------------------------------------------------------------------------------------------


def _multiply(inputs: Inputs) -> Typed:
    a, b = (require_shape(o, (2,), (3,), (4,), *_SQUARES) for o in inputs.numbers("a", "b"))
    if a.type.shape[-1] != b.type.shape[0]:
        raise GraphError(f"inputs:a is of type {a.type} and inputs:b is of type {b.type}; they have no product")
    (left, right), is_array = _together(a, b)
    product = (left if a.type.shape[1:] else left[:, None, :]) @ (right if b.type.shape[1:] else right[:, :, None])
    if a.type.shape[1:] and b.type.shape[1:]:
        return pack(product, array_of(a.type, is_array))
    vectors = [o for o in (a, b) if not o.type.shape[1:]]
    dtype = promoted(vectors) if promoted(vectors).kind == "f" else np.dtype(np.float64)
    if len(vectors) == 2:
        return pack(product[:, 0, 0], tuple_type(dtype, 1, is_array))
    return pack(rows(product), array_of(with_dtype(vectors[0].type, dtype), is_array))


def _of_matrices(*shapes: tuple[int, int]) -> Callable:
    """Turn a function of matrices into that of a node with the input `matrix`."""

    def node(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Inputs], Typed]:
        def compute(inputs: Inputs) -> Typed:
            operand = require_shape(inputs["matrix"], *shapes)
            return pack(function(operand.elements), operand.type)

        return compute

    return node


@_of_matrices(*_SQUARES)
def _invert(matrices: np.ndarray) -> np.ndarray:
    regular = np.isfinite(matrices).all(axis=(1, 2))
    regular[regular] = np.linalg.det(matrices[regular]) != 0
    out = np.broadcast_to(_LARGEST * np.identity(matrices.shape[-1]), matrices.shape).copy()
    out[regular] = np.linalg.inv(matrices[regular])
    return out


@_of_matrices(*_SQUARES)
def _transpose(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, 1, 2)


def _orthonormalize(inputs: Inputs) -> Typed:
    operand = _require_finite(require_shape(inputs["matrix"], (3, 3), (4, 4)))
    out = operand.elements.copy()
    out[:, :3, :3] = nearest(out[:, :3, :3])
    return pack(out, operand.type)


def _transform_vector(inputs: Inputs) -> Typed:
    matrix = require_shape(inputs["matrix"], (3, 3), (4, 4))
    vector = require_shape(inputs.numbers("vector")[0], (3,))
    (matrices, vectors), is_array = _together(matrix, vector)
    if matrices.shape[-1] == 4:
        vectors = np.append(vectors, np.ones((len(vectors), 1)), axis=1)
    out = np.einsum("ni,nij->nj", vectors, matrices)
    out = out[:, :3] / out[:, 3:] if matrices.shape[-1] == 4 else out
    return pack(out, array_of(with_dtype(vector.type, decimal([vector])), is_array))


# -- rotations --------------------------------------------------------------------------------------------------------


def _rotation(operand: Typed, order: str) -> np.ndarray:
    """The rotation matrices that a matrix, Euler angles or a quaternion stands for. Raises GraphError."""
    elements = _require_finite(operand).elements.astype(np.float64)
    if elements.shape[1:] == (3,):
        return from_euler(elements, order)
    if elements.shape[1:] == (4,):
        if not np.all(np.any(elements, axis=1)):
            raise GraphError(f"{operand.name} is a quaternion of length 0; there is no such rotation")
        return from_quaternion(elements)
    return nearest(elements[:, :3, :3])


def _order(inputs: Inputs) -> str:
    return inputs.choice("rotationOrder", dict(zip(ORDERS, ORDERS)))


def _any_rotation(inputs: Inputs, name: str, *more: tuple[int, ...]) -> Typed:
    return require_shape(inputs.numbers(name)[0], (3,), (4,), (3, 3), (4, 4), *more)


def _rotate_vector(inputs: Inputs) -> Typed:
    rotation, vector = _any_rotation(inputs, "rotation"), require_shape(inputs.numbers("vector")[0], (3,))
    matrix = rotation
    if len(rotation.type.shape) == 1:
        matrix = Typed(_rotation(rotation, _order(inputs)), parse("matrixd[3][]"), rotation.name)
    (matrices, vectors), _ = _together(matrix, vector)
    out = np.einsum("ni,nij->nj", vectors, matrices[:, :3, :3])
    is_array = rotation.type.is_array or vector.type.is_array
    return pack(out, array_of(with_dtype(vector.type, decimal([vector])), is_array))


def _get_rotation(to: Callable[[np.ndarray, str], np.ndarray], family: str) -> Callable[[Inputs], Typed]:
    """The function of a node that gives a rotation in another form; `family` names its type without the letter."""

    def compute(inputs: Inputs) -> Typed:
        operand, order = _any_rotation(inputs, "matrix"), _order(inputs)
        kind = parse(family)
        if kind.base != "matrixd":
            kind = with_dtype(kind, decimal([operand]))
        return pack(to(_rotation(operand, order), order), array_of(kind, operand.type.is_array))

    return compute


def _set_rotation(inputs: Inputs) -> Typed:
    matrix, angle = require_shape(inputs["matrix"], (4, 4)), _any_rotation(inputs, "rotationAngle", ())
    if angle.type.shape:
        rotation = _rotation(angle, _order(inputs))
    else:
        axes = {**AXES, "Custom": inputs["rotationAxis"].value}
        axis = np.asarray(inputs.choice("fixedRotationAxis", axes), np.float64)
        if not np.any(axis):
            raise GraphError("inputs:rotationAxis is zero; there is no such axis")
        rotation = from_axis(axis, _require_finite(angle).elements.astype(np.float64))
    return _with_part(matrix, Typed(rotation, parse("matrixd[3][]"), angle.name), (slice(0, 3), slice(0, 3)), angle)


def _with_part(matrix: Typed, part: Typed, where: tuple[slice | int, slice], given: Typed) -> Typed:
    """`matrix` with a part of it replaced."""
    (matrices, parts), _ = _together(matrix, part)
    matrices[:, where[0], where[1]] = parts
    return pack(matrices, array_of(matrix.type, matrix.type.is_array or given.type.is_array))


def _set_quaternion(inputs: Inputs) -> Typed:
    matrix = require_shape(inputs["matrix"], (4, 4))
    quaternion = require_shape(inputs.numbers("quaternion")[0], (4,))
    rotation = Typed(_rotation(quaternion, ""), parse("matrixd[3][]"), quaternion.name)
    return _with_part(matrix, rotation, (slice(0, 3), slice(0, 3)), quaternion)


# -- translation and scale --------------------------------------------------------------------------------------------

_VECTOR = AttributeType("vectord", 3)


def _get_translation(inputs: Inputs) -> Typed:
    matrix = require_shape(inputs["matrix"], (4, 4))
    return pack(matrix.elements[:, 3, :3], array_of(_VECTOR, matrix.type.is_array))


def _set_translation(inputs: Inputs) -> Typed:
    matrix = require_shape(inputs["matrix"], (4, 4))
    translation = require_shape(inputs.numbers("translation")[0], (3,))
    return _with_part(matrix, translation, (3, slice(0, 3)), translation)


def _get_scale(inputs: Inputs) -> Typed:
    matrix = require_shape(inputs["matrix"], (3, 3), (4, 4))
    scale = np.linalg.norm(matrix.elements[:, :3, :3], axis=2)
    return pack(scale, array_of(_VECTOR, matrix.type.is_array))


def _set_scale(inputs: Inputs) -> Typed:
    matrix = require_shape(inputs["matrix"], (3, 3), (4, 4))
    scale = require_shape(inputs.numbers("scale")[0], (3,))
    (matrices, scales), is_array = _together(matrix, scale)
    matrices[:, :3, :3] = unit(matrices[:, :3, :3]) * scales[:, :, None]
    return pack(matrices, array_of(matrix.type, is_array))


# -- whole transforms -------------------------------------------------------------------------------------------------


def _make_transform(inputs: Inputs) -> Typed:
    out = np.identity(4)
    rotation = _rotation(inputs["rotationXYZ"], _order(inputs))[0]
    out[:3, :3] = inputs["scale"].value[:, None] * rotation
    out[3, :3] = inputs["translation"].value
    return typed(out, "matrixd[4]")


def _directions(inputs: Inputs, start: str, target: str) -> tuple[np.ndarray, np.ndarray]:
    """The way from `start` to `target`, and the direction up. Raises GraphError."""
    way = _require_finite(inputs[target]).value - _require_finite(inputs[start]).value
    if not np.any(way):
        raise GraphError(f"inputs:{start} and inputs:{target} are the same point, so there is no direction to look")
    up = _require_finite(inputs["up"]).value
    return way, up if np.any(up) else np.array(AXES["Y"])


def _look_at(inputs: Inputs) -> Typed:
    way, up = _directions(inputs, "eye", "center")
    out = np.identity(4)
    out[:3, :3] = frame(-way, up)
    out[3, :3] = inputs["eye"].value
    return typed(out, "matrixd[4]")


def _look_at_rotation(inputs: Inputs) -> dict[str, Typed]:
    way, up = _directions(inputs, "start", "target")
    forward = _require_finite(inputs["forward"]).value
    if not np.any(forward):
        raise GraphError("inputs:forward is zero, so it has no direction")
    rotation = (frame(forward, up).T @ frame(way, up))[None]
    return {
        "orientation": typed(to_quaternion(rotation)[0], "quatd[4]"),
        "rotateXYZ": typed(to_euler(rotation, "XYZ")[0], "double[3]"),
    }


# -- declarations -----------------------------------------------------------------------------------------------------

_MATRIX = "A matrix, or an array of them"
_TRANSFORM = "A transform, or an array of them"
_ROTATION = "A rotation: a matrix, Euler angles in degrees, or a quaternion; or an array of them"
_TERM = "A matrix or a vector, or an array of them"
_POINT = "A vector of 3 numbers, or an array of them"
_IN_ORDER = {"rotationOrder": attribute("token", "The axes of Euler angles, first one first", "XYZ", ",".join(ORDERS))}
_IN, _OUT = untyped(_TRANSFORM, "matrix"), untyped(_TRANSFORM, "matrix")
_TURN = {
    "rotationAngle": attribute("any", f"An angle in degrees around the axis. {_ROTATION}"),
    "fixedRotationAxis": attribute("token", "The axis of an angle", "Y", "X,Y,Z,Custom"),
    "rotationAxis": attribute("vectord[3]", "The axis if fixedRotationAxis is Custom", [0.0, 1.0, 0.0]),
}
_ZERO, _ONE = [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
_TRS = {
    "translation": attribute("vectord[3]", "The translation", _ZERO),
    "rotationXYZ": attribute("vectord[3]", "Euler angles in degrees", _ZERO),
    "scale": attribute("vectord[3]", "Factors along the three axes", _ONE),
}
_VIEW = {
    "eye": attribute("vectord[3]", "Where the view is from", [1.0, 0.0, 0.0]),
    "center": attribute("vectord[3]", "The point in the middle of the view", _ZERO),
    "up": attribute("vectord[3]", "The direction that is up in the view", [0.0, 1.0, 0.0]),
}
_AIM = {
    "start": attribute("pointd[3]", "The position to look from", _ZERO),
    "target": attribute("pointd[3]", "The position to look at", _ZERO),
    "forward": attribute("double[3]", "The direction that turns to the target", [0.0, 0.0, 1.0]),
    "up": attribute("double[3]", "The direction up; +Y if it is zero", _ZERO),
}
_AIMED = {
    "orientation": attribute("quatd[4]", "The rotation"),
    "rotateXYZ": attribute("double[3]", "The rotation as Euler angles in degrees"),
}

# Name, version, description, inputs, outputs, function of the node, what differs from Kit.
_ROWS = (
    ("MatrixMultiply", 1, "a * b; a vector a is a row, a vector b a column", untyped(_TERM, "a", "b"),
     untyped(_TERM, "output"), _multiply, ""),
    ("OgnInvertMatrix", 1, "The inverse; a singular matrix gives a large one", untyped(_MATRIX, "matrix"),
     untyped(_MATRIX, "invertedMatrix"), _invert, ""),
    ("Transpose", 1, "The transposed matrix", untyped(_MATRIX, "matrix"), untyped(_MATRIX, "result"), _transpose, ""),
    ("Orthonormalize", 1, "The nearest rotation, with the translation of the matrix", _IN,
     untyped(_TRANSFORM, "result"), _orthonormalize, "mirroring is removed"),
    ("TransformVector", 1, "vector * matrix, for a 4 x 4 matrix with its translation", _IN | untyped(_POINT, "vector"),
     untyped(_POINT, "result"), _transform_vector, ""),
    ("RotateVector", 1, "The vector, rotated; a matrix rotates without its translation",
     untyped(_ROTATION, "rotation") | _IN_ORDER | untyped(_POINT, "vector"), untyped(_POINT, "result"),
     _rotate_vector, ""),
    ("GetMatrix4Rotation", 2, "The rotation as Euler angles in degrees", untyped(_ROTATION, "matrix") | _IN_ORDER,
     untyped(_POINT, "rotation"), _get_rotation(to_euler, "vectord[3]"), ""),
    ("GetMatrix4Quaternion", 2, "The rotation as a quaternion", untyped(_ROTATION, "matrix") | _IN_ORDER,
     untyped("A quaternion, or an array of them", "quaternion"),
     _get_rotation(lambda m, order: to_quaternion(m), "quatd[4]"), ""),
    ("GetMatrix4RotationMatrix", 1, "The rotation as a 3 x 3 matrix", untyped(_ROTATION, "matrix") | _IN_ORDER,
     untyped(_MATRIX, "rotation"), _get_rotation(lambda m, order: m, "matrixd[3]"), ""),
    ("SetMatrix4Rotation", 2, "The matrix with another rotation", _IN | _TURN | _IN_ORDER, _OUT, _set_rotation,
     "the scale of the matrix is lost"),
    ("SetMatrix4Quaternion", 1, "The matrix with another rotation",
     _IN | untyped("A quaternion, or an array of them", "quaternion"), _OUT, _set_quaternion,
     "the scale of the matrix is lost"),
    ("GetMatrix4Translation", 1, "The translation of a transform", _IN, untyped(_POINT, "translation"),
     _get_translation, ""),
    ("SetMatrix4Translation", 1, "The matrix with another translation", _IN | untyped(_POINT, "translation"), _OUT,
     _set_translation, ""),
    ("GetMatrix4Scale", 1, "The lengths of the axes of a transform", _IN, untyped(_POINT, "scale"), _get_scale, ""),
    ("SetMatrix4Scale", 1, "The matrix with axes of other lengths", _IN | untyped(_POINT, "scale"), _OUT,
     _set_scale, ""),
    ("MakeTransform", 2, "A transform that scales, rotates, and translates, in this order", _TRS | _IN_ORDER,
     {"transform": attribute("matrixd[4]", "The transform")}, _make_transform, ""),
    ("MakeTransformLookAt", 1, "The transform of a camera: it looks along -Z, and +Y is up", _VIEW,
     {"transform": attribute("matrixd[4]", "The transform")}, _look_at, ""),
    ("GetLookAtRotation", 1, "The rotation that turns a direction to a target", _AIM, _AIMED, _look_at_rotation,
     "without up, +Y is up, not the stage's up axis"),
)  # fmt: skip

TYPES: list[NodeType] = [data_node(*row) for row in _ROWS]
