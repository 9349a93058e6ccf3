# Written by `python -m tools.docs` from the source of the package; edit that, or tools/stubs/head.pyi.
# Of overloads that fit the first is taken, as in the library.
# mypy: disable-error-code="overload-overlap, overload-cannot-match"
"""`wp.types`: the functions that make vector, matrix, quaternion and transform types, and the scalar types."""

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
