"""Questions about types and values, as `wp.types` has them: what kind a type is, its size, its name, its C type."""

from __future__ import annotations

from typing import Any

from ..late_bound import late
from .annotations import type_or_none
from .types import BOOL, Array, Mat, Packed, Quat, Scalar, Struct, Transform, Type, Vec
from .values.structs import spell
from .values.type_registry import python_type

__all__ = [
    "is_array",
    "is_composite",
    "is_float",
    "is_int",
    "is_matrix",
    "is_quaternion",
    "is_scalar",
    "is_struct",
    "is_transformation",
    "is_value",
    "is_vector",
    "type_ctype",
    "type_is_array",
    "type_is_composite",
    "type_is_float",
    "type_is_int",
    "type_is_matrix",
    "type_is_quaternion",
    "type_is_scalar",
    "type_is_struct",
    "type_is_transformation",
    "type_is_value",
    "type_is_vector",
    "type_repr",
    "type_scalar_type",
    "type_size",
    "type_size_in_bytes",
    "type_to_warp",
    "types_equal",
]


def _named(t: Any) -> Type | None:
    """The type of values that `t` names, or None."""
    found = type_or_none(t)
    return found if isinstance(found, Type) and not isinstance(found, Array) else None


def _of_value(x: Any) -> Any:
    """The type of a value of the kernel language; None for others, NumPy's scalars included."""
    if type(x) in (bool, int, float):
        return type(x)
    return type(x) if isinstance(getattr(type(x), "__wc_type__", None), Type) else None


def type_is_int(t: Any) -> bool:
    """True if a type is one of integers, of any size.

    Args:
        t: a type, such as `int` or `wp.uint8`.

    >>> wp.types.type_is_int(int), wp.types.type_is_int(bool)
    (True, False)
    """
    found = _named(t)
    return isinstance(found, Scalar) and found.is_int and found is not BOOL


def type_is_float(t: Any) -> bool:
    """True if a type is one of floating point numbers, of any size.

    Args:
        t: a type, such as `float` or `wp.float16`.

    >>> wp.types.type_is_float(wp.float64)
    True
    """
    found = _named(t)
    return isinstance(found, Scalar) and found.is_float


def type_is_scalar(t: Any) -> bool:
    """True if a type is one of numbers. `bool` is not.

    Args:
        t: a type.

    >>> wp.types.type_is_scalar(wp.int8), wp.types.type_is_scalar(wp.vec3)
    (True, False)
    """
    return type_is_int(t) or type_is_float(t)


def type_is_vector(t: Any) -> bool:
    """True if a type is one of vectors.

    Args:
        t: a type.

    >>> wp.types.type_is_vector(wp.vec3), wp.types.type_is_vector(wp.quat)
    (True, False)
    """
    return isinstance(_named(t), Vec)


def type_is_matrix(t: Any) -> bool:
    """True if a type is one of matrices.

    Args:
        t: a type.

    >>> wp.types.type_is_matrix(wp.mat22)
    True
    """
    return isinstance(_named(t), Mat)


def type_is_quaternion(t: Any) -> bool:
    """True if a type is one of quaternions.

    Args:
        t: a type.

    >>> wp.types.type_is_quaternion(wp.quatd)
    True
    """
    return isinstance(_named(t), Quat)


def type_is_transformation(t: Any) -> bool:
    """True if a type is one of rigid transforms.

    Args:
        t: a type.

    >>> wp.types.type_is_transformation(wp.transform)
    True
    """
    return isinstance(_named(t), Transform)


def type_is_composite(t: Any) -> bool:
    """True if values of a type consist of components: vectors, matrices, quaternions and transforms.

    Args:
        t: a type.

    >>> wp.types.type_is_composite(wp.vec3), wp.types.type_is_composite(float)
    (True, False)
    """
    return isinstance(_named(t), Packed)


def type_is_value(t: Any) -> bool:
    """True if a type is one of numbers, `bool`, or composite.

    Args:
        t: a type.

    >>> wp.types.type_is_value(bool), wp.types.type_is_value(wp.array)
    (True, False)
    """
    return isinstance(_named(t), (Scalar, Packed))


def type_is_struct(t: Any) -> bool:
    """True if a type is a struct.

    Args:
        t: a type.

    >>> @wp.struct
    ... class Ball:
    ...     radius: float
    >>> wp.types.type_is_struct(Ball)
    True
    """
    return isinstance(_named(t), Struct)


def type_is_array(t: Any) -> bool:
    """True for the classes of arrays. Array annotations are values: see `is_array`.

    Args:
        t: a type.

    >>> wp.types.type_is_array(wp.array), wp.types.type_is_array(wp.array(dtype=float))
    (True, False)
    """
    return isinstance(t, type) and hasattr(t, "requires_grad") and hasattr(t, "shape")


def is_array(x: Any) -> bool:
    """True if a value is an array, or an annotation of one.

    Args:
        x: a value.

    >>> wp.types.is_array(wp.zeros(3, dtype=float)), wp.types.is_array(wp.array[float])
    (True, True)
    """
    return type_is_array(type(x)) or (not isinstance(x, type) and hasattr(x, "ndim") and hasattr(x, "__wc_type__"))


def is_int(x: Any) -> bool:
    """True if a value is an integer of Python or of this package.

    Args:
        x: a value.

    >>> wp.types.is_int(wp.int32(1)), wp.types.is_int(True)
    (True, False)
    """
    return type_is_int(_of_value(x))


def is_float(x: Any) -> bool:
    """True if a value is a float of Python or of this package.

    Args:
        x: a value.

    >>> wp.types.is_float(1.0)
    True
    """
    return type_is_float(_of_value(x))


def is_scalar(x: Any) -> bool:
    """True if a value is a number of Python or of this package.

    Args:
        x: a value.

    >>> wp.types.is_scalar(1), wp.types.is_scalar(wp.vec3())
    (True, False)
    """
    return type_is_scalar(_of_value(x))


def is_vector(x: Any) -> bool:
    """True if a value is a vector.

    Args:
        x: a value.

    >>> wp.types.is_vector(wp.vec3()), wp.types.is_vector((1.0, 2.0, 3.0))
    (True, False)
    """
    return type_is_vector(_of_value(x))


def is_matrix(x: Any) -> bool:
    """True if a value is a matrix.

    Args:
        x: a value.

    >>> wp.types.is_matrix(wp.mat22())
    True
    """
    return type_is_matrix(_of_value(x))


def is_quaternion(x: Any) -> bool:
    """True if a value is a quaternion.

    Args:
        x: a value.

    >>> wp.types.is_quaternion(wp.quat())
    True
    """
    return type_is_quaternion(_of_value(x))


def is_transformation(x: Any) -> bool:
    """True if a value is a rigid transform.

    Args:
        x: a value.

    >>> wp.types.is_transformation(wp.transform())
    True
    """
    return type_is_transformation(_of_value(x))


def is_composite(x: Any) -> bool:
    """True if a value consists of components.

    Args:
        x: a value.

    >>> wp.types.is_composite(wp.quat())
    True
    """
    return type_is_composite(_of_value(x))


def is_value(x: Any) -> bool:
    """True if a value is a number, a bool, or composite.

    Args:
        x: a value.

    >>> wp.types.is_value(True), wp.types.is_value(None)
    (True, False)
    """
    return type_is_value(_of_value(x))


def is_struct(x: Any) -> bool:
    """True if a value is an instance of a struct.

    Args:
        x: a value.

    >>> wp.types.is_struct(1.0)
    False
    """
    return type_is_struct(_of_value(x))


def type_size(t: Any) -> int:
    """Return the number of components: 1 for numbers and structs.

    Args:
        t: a type.

    Raises:
        TypeError: If `t` is not the type of a value.

    >>> wp.types.type_size(wp.mat33), wp.types.type_size(float)
    (9, 1)
    """
    found = _required(t)
    return found.count if isinstance(found, Packed) else 1


def type_size_in_bytes(t: Any) -> int:
    """Return the size of an element in an array, in bytes.

    Args:
        t: a type.

    Raises:
        TypeError: If `t` is not the type of a value.

    >>> wp.types.type_size_in_bytes(wp.vec3)
    12
    """
    return _required(t).size


def type_to_warp(t: Any) -> Any:
    """Return the type that kernels have for one of Python's: `wp.float32` for `float`; other types are themselves.

    Args:
        t: a type.

    >>> wp.types.type_to_warp(int) is wp.int32, wp.types.type_to_warp(wp.vec3) is wp.vec3
    (True, True)
    """
    return python_type(_required(t)) if t in (bool, int, float) else t


def type_scalar_type(t: Any) -> Any:
    """Return the type of the components: that of the numbers in a vector, and a scalar type itself.

    Args:
        t: a type.

    >>> wp.types.type_scalar_type(wp.mat33d) is wp.float64, wp.types.type_scalar_type(float) is float
    (True, True)
    """
    found = _named(t)
    return python_type(found.scalar) if isinstance(found, Packed) else t


def _required(t: Any) -> Type:
    found = _named(t)
    if found is None:
        raise TypeError(f"expected the type of a value, such as float or wp.vec3, got {t!r}")
    return found


def types_equal(a: Any, b: Any) -> bool:
    """True if two types are the same to kernels.

    Args:
        a: a type, or an annotation of an array.
        b: another one.

    >>> wp.types.types_equal(float, wp.float32), wp.types.types_equal(wp.array[int], wp.array2d[int])
    (True, False)
    """
    first, second = type_or_none(a), type_or_none(b)
    return first is not None and first == second


def _spelt(t: Any) -> str:
    found = _named(t)
    return spell(found) if isinstance(found, (Scalar, Packed)) else ""


def type_repr(t: Any) -> str:
    """Return the name of a type for messages.

    Args:
        t: a type, or an annotation of an array.

    >>> wp.types.type_repr(wp.vec3), wp.types.type_repr(wp.array2d[float])
    ('vec3f', 'array(ndim=2, dtype=float32)')
    """
    if is_array(t):
        return f"array(ndim={t.ndim}, dtype={_spelt(t.dtype) or type_repr(t.dtype)})"
    if t in (bool, int, float):
        return str(t.__name__)
    return _spelt(t) or (f"{t.__module__}.{t.__qualname__}" if isinstance(t, type) else str(t))


def type_ctype(t: Any) -> Any:
    """Return the type of `ctypes` for values of a type: an array of numbers for composite ones, a C struct for structs.

    Args:
        t: a type.

    Raises:
        TypeError: If `t` is not the type of a number or struct, or composite.

    >>> import ctypes
    >>> ctypes.sizeof(wp.types.type_ctype(wp.vec3))
    12
    """
    found = _required(t)
    if not isinstance(found, (Scalar, Packed, Struct)):
        raise TypeError(f"{t!r} has no type of ctypes: numbers, vectors, matrices and structs have")
    return late("ctype_of")(found)
