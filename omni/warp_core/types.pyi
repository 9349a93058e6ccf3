# Written by `python -m tools.docs` from the source of the package; edit that, or tools/stubs/head.pyi.
# Of overloads that fit the first is taken, as in the library.
# mypy: disable-error-code="overload-overlap, overload-cannot-match"
"""`wp.types`: the scalar types, functions that make vector, matrix, quaternion and transform types, and questions about
types and values.
"""

from typing import Any

from . import array as array
from . import bfloat16 as bfloat16
from . import bool as bool
from . import float16 as float16
from . import float32 as float32
from . import float64 as float64
from . import int16 as int16
from . import int32 as int32
from . import int64 as int64
from . import int8 as int8
from . import uint16 as uint16
from . import uint32 as uint32
from . import uint64 as uint64
from . import uint8 as uint8

def is_array(x: Any) -> Any:
    """True if a value is an array, or an annotation of one.

    Args:
        x: a value.

    >>> wp.types.is_array(wp.zeros(3, dtype=float)), wp.types.is_array(wp.array[float])
    (True, True)
    """

def is_composite(x: Any) -> Any:
    """True if a value consists of components.

    Args:
        x: a value.

    >>> wp.types.is_composite(wp.quat())
    True
    """

def is_float(x: Any) -> Any:
    """True if a value is a float of Python or of this package.

    Args:
        x: a value.

    >>> wp.types.is_float(1.0)
    True
    """

def is_int(x: Any) -> Any:
    """True if a value is an integer of Python or of this package.

    Args:
        x: a value.

    >>> wp.types.is_int(wp.int32(1)), wp.types.is_int(True)
    (True, False)
    """

def is_matrix(x: Any) -> Any:
    """True if a value is a matrix.

    Args:
        x: a value.

    >>> wp.types.is_matrix(wp.mat22())
    True
    """

def is_quaternion(x: Any) -> Any:
    """True if a value is a quaternion.

    Args:
        x: a value.

    >>> wp.types.is_quaternion(wp.quat())
    True
    """

def is_scalar(x: Any) -> Any:
    """True if a value is a number of Python or of this package.

    Args:
        x: a value.

    >>> wp.types.is_scalar(1), wp.types.is_scalar(wp.vec3())
    (True, False)
    """

def is_struct(x: Any) -> Any:
    """True if a value is an instance of a struct.

    Args:
        x: a value.

    >>> wp.types.is_struct(1.0)
    False
    """

def is_transformation(x: Any) -> Any:
    """True if a value is a rigid transform.

    Args:
        x: a value.

    >>> wp.types.is_transformation(wp.transform())
    True
    """

def is_value(x: Any) -> Any:
    """True if a value is a number, a bool, or composite.

    Args:
        x: a value.

    >>> wp.types.is_value(True), wp.types.is_value(None)
    (True, False)
    """

def is_vector(x: Any) -> Any:
    """True if a value is a vector.

    Args:
        x: a value.

    >>> wp.types.is_vector(wp.vec3()), wp.types.is_vector((1.0, 2.0, 3.0))
    (True, False)
    """

def matrix(shape: tuple[int, int], dtype: Any) -> Any:
    """The class of matrices of `shape` (rows, columns) of scalar type `dtype`.

    In annotations of generic kernels and functions, `Any` or a type variable may stand in place of each.

    Args:
        shape: (rows, columns), each at least 1.
        dtype: The scalar type of the components.

    Returns:
        The class; equal arguments give the same one.

    Raises:
        ValueError: The shape is no pair of positive integers.
        TypeError: `dtype` is no scalar type.

    >>> str(wp.types.matrix(shape=(1, 2), dtype=float)(1, 2))
    '[[1.0, 2.0]]'
    """

def quaternion(dtype: Any = ...) -> Any:
    """The class of quaternions of floating point type `dtype`.

    Args:
        dtype: The scalar type of the components.

    Returns:
        The class; equal arguments give the same one.

    Raises:
        TypeError: `dtype` is no floating point type.

    >>> wp.types.quaternion(float)(0, 0, 0, 1)
    quatf([0.0, 0.0, 0.0, 1.0])
    """

def transformation(dtype: Any = ...) -> Any:
    """The class of transforms of floating point type `dtype`.

    Args:
        dtype: The scalar type of the components.

    Returns:
        The class; equal arguments give the same one.

    Raises:
        TypeError: `dtype` is no floating point type.

    >>> wp.types.transformation(float)((1, 2, 3)).p
    vec3f([1.0, 2.0, 3.0])
    """

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

def type_is_array(t: Any) -> Any:
    """True for the classes of arrays. Array annotations are values: see `is_array`.

    Args:
        t: a type.

    >>> wp.types.type_is_array(wp.array), wp.types.type_is_array(wp.array(dtype=float))
    (True, False)
    """

def type_is_composite(t: Any) -> Any:
    """True if values of a type consist of components: vectors, matrices, quaternions and transforms.

    Args:
        t: a type.

    >>> wp.types.type_is_composite(wp.vec3), wp.types.type_is_composite(float)
    (True, False)
    """

def type_is_float(t: Any) -> Any:
    """True if a type is one of floating point numbers, of any size.

    Args:
        t: a type, such as `float` or `wp.float16`.

    >>> wp.types.type_is_float(wp.float64)
    True
    """

def type_is_int(t: Any) -> Any:
    """True if a type is one of integers, of any size.

    Args:
        t: a type, such as `int` or `wp.uint8`.

    >>> wp.types.type_is_int(int), wp.types.type_is_int(bool)
    (True, False)
    """

def type_is_matrix(t: Any) -> Any:
    """True if a type is one of matrices.

    Args:
        t: a type.

    >>> wp.types.type_is_matrix(wp.mat22)
    True
    """

def type_is_quaternion(t: Any) -> Any:
    """True if a type is one of quaternions.

    Args:
        t: a type.

    >>> wp.types.type_is_quaternion(wp.quatd)
    True
    """

def type_is_scalar(t: Any) -> Any:
    """True if a type is one of numbers. `bool` is not.

    Args:
        t: a type.

    >>> wp.types.type_is_scalar(wp.int8), wp.types.type_is_scalar(wp.vec3)
    (True, False)
    """

def type_is_struct(t: Any) -> Any:
    """True if a type is a struct.

    Args:
        t: a type.

    >>> @wp.struct
    ... class Ball:
    ...     radius: float
    >>> wp.types.type_is_struct(Ball)
    True
    """

def type_is_transformation(t: Any) -> Any:
    """True if a type is one of rigid transforms.

    Args:
        t: a type.

    >>> wp.types.type_is_transformation(wp.transform)
    True
    """

def type_is_value(t: Any) -> Any:
    """True if a type is one of numbers, `bool`, or composite.

    Args:
        t: a type.

    >>> wp.types.type_is_value(bool), wp.types.type_is_value(wp.array)
    (True, False)
    """

def type_is_vector(t: Any) -> Any:
    """True if a type is one of vectors.

    Args:
        t: a type.

    >>> wp.types.type_is_vector(wp.vec3), wp.types.type_is_vector(wp.quat)
    (True, False)
    """

def type_repr(t: Any) -> Any:
    """Return the name of a type for messages.

    Args:
        t: a type, or an annotation of an array.

    >>> wp.types.type_repr(wp.vec3), wp.types.type_repr(wp.array2d[float])
    ('vec3f', 'array(ndim=2, dtype=float32)')
    """

def type_scalar_type(t: Any) -> Any:
    """Return the type of the components: that of the numbers in a vector, and a scalar type itself.

    Args:
        t: a type.

    >>> wp.types.type_scalar_type(wp.mat33d) is wp.float64, wp.types.type_scalar_type(float) is float
    (True, True)
    """

def type_size(t: Any) -> Any:
    """Return the number of components: 1 for numbers and structs.

    Args:
        t: a type.

    Raises:
        TypeError: If `t` is not the type of a value.

    >>> wp.types.type_size(wp.mat33), wp.types.type_size(float)
    (9, 1)
    """

def type_size_in_bytes(t: Any) -> Any:
    """Return the size of an element in an array, in bytes.

    Args:
        t: a type.

    Raises:
        TypeError: If `t` is not the type of a value.

    >>> wp.types.type_size_in_bytes(wp.vec3)
    12
    """

def type_to_warp(t: Any) -> Any:
    """Return the type that kernels have for one of Python's: `wp.float32` for `float`; other types are themselves.

    Args:
        t: a type.

    >>> wp.types.type_to_warp(int) is wp.int32, wp.types.type_to_warp(wp.vec3) is wp.vec3
    (True, True)
    """

def types_equal(a: Any, b: Any) -> Any:
    """True if two types are the same to kernels.

    Args:
        a: a type, or an annotation of an array.
        b: another one.

    >>> wp.types.types_equal(float, wp.float32), wp.types.types_equal(wp.array[int], wp.array2d[int])
    (True, False)
    """

def vector(length: int, dtype: Any) -> Any:
    """The class of vectors of `length` components of scalar type `dtype`.

    In annotations of generic kernels and functions, `Any` or a type variable may stand in place of either.

    Args:
        length: How many components, at least 1.
        dtype: Their scalar type.

    Returns:
        The class; equal arguments give the same one.

    Raises:
        ValueError: The length is no positive integer.
        TypeError: `dtype` is no scalar type.

    >>> wp.types.vector(length=2, dtype=float)(1, 2)
    vec2f([1.0, 2.0])
    """
