"""Element types of arrays: how a dtype looks in memory, to NumPy and to native code. Start with `element_of`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..lang import semantics
from ..lang.types import BF16, SCALARS, Array, Mat, Packed, Scalar, Struct, Type, leaves
from ..lang.values.scalars import SCALAR_CLASSES
from ..lang.values.struct_memory import numpy_spec
from ..lang.values.structs import spell
from ..lang.values.type_registry import python_type, wc_type

__all__ = ["dtype_from_numpy", "dtype_to_numpy"]


class Element(NamedTuple):
    """An element type: a NumPy array of `numpy` items with trailing dimensions `inner` has its memory layout."""

    type: Type
    dtype: Any  # the class users see
    numpy: np.dtype
    inner: tuple[int, ...]
    id: int  # the native number of the type
    holds_arrays: bool  # whether it is a struct with array fields
    is_active: bool  # whether it has floating point numbers, through which gradients flow

    @property
    def name(self) -> str:
        """The type in the user's words."""
        return spell(self.type)

    @property
    def inner_strides(self) -> tuple[int, ...]:
        """Byte strides of the trailing dimensions."""
        size = self.numpy.itemsize
        return (size * self.inner[1], size) if len(self.inner) == 2 else (size,) * len(self.inner)

    def shows_numbers_of(self, other: Element) -> bool:
        """True if memory of `other` elements, viewed as elements of this type, has the same floating point numbers."""
        if self is other or not other.is_active:
            return True
        mine, theirs = leaves(self.type), leaves(other.type)
        if isinstance(self.type, Packed) or isinstance(other.type, Packed):
            return {leaf for _, leaf in mine} == {leaf for _, leaf in theirs}
        return mine == theirs


_elements: dict[Type, Element] = {}
_by_class: dict[type, Element] = {}  # what `element_of` has found


def element(t: Type) -> Element:
    """The element of type `t`."""
    found = _elements.get(t)
    if found is None:
        scalar = t.scalar if isinstance(t, Packed) else t
        inner: tuple[int, ...] = ()
        if isinstance(t, Packed):
            inner = (t.rows, t.cols) if isinstance(t, Mat) else (t.count,)
        parts = {leaf for _, leaf in leaves(t)}
        holds_arrays = any(isinstance(leaf, Array) for leaf in parts)
        number = _native.type_id(t.key, t.size)
        numpy_type = np.dtype(numpy_spec(scalar))
        made = Element(t, python_type(t), numpy_type, inner, number, holds_arrays, t.is_differentiable)
        found = _elements.setdefault(t, made)
    return found


def element_of(dtype: Any) -> Element:
    """The element that a `dtype` argument names: a class of this package, bool, int, float or a NumPy type.

    Raises:
        TypeError: If it names no type that an array can hold.
    """
    if isinstance(dtype, type) and dtype in _by_class:
        return _by_class[dtype]
    try:
        t = wc_type(dtype.type if isinstance(dtype, np.dtype) and dtype.names is None else dtype)
    except TypeError as e:
        raise TypeError(f"dtype: {e}") from None
    if isinstance(t, Array):
        raise TypeError("dtype: an array cannot be the element of an array")
    found = element(t)
    if isinstance(dtype, type):
        if isinstance(t, Struct):
            found = found._replace(dtype=dtype)  # programs may make several classes of one struct type
        _by_class[dtype] = found
    return found


_NUMPY_TYPES = {np.dtype(numpy_spec(t)): t for t in SCALARS if t is not BF16}


def scalar_of_numpy(dtype: np.dtype) -> Scalar | None:
    """The scalar type of a dtype of NumPy in native byte order, or of ml_dtypes, or None."""
    return BF16 if dtype.name == "bfloat16" else _NUMPY_TYPES.get(dtype)


def dtype_from_numpy(numpy_dtype: Any) -> Any:
    """The scalar class for a NumPy dtype.

    Args:
        numpy_dtype: A NumPy dtype or scalar class.

    Returns:
        The class, such as `wp.float32`.

    Raises:
        TypeError: If it has no scalar class.

    >>> wp.dtype_from_numpy(np.float32).__name__
    'float32'
    """
    t = scalar_of_numpy(np.dtype(numpy_dtype))
    if t is None:
        raise TypeError(f"no scalar type for the NumPy dtype {np.dtype(numpy_dtype)}")
    return SCALAR_CLASSES[t]


def dtype_to_numpy(warp_dtype: Any) -> Any:
    """The NumPy scalar class for a scalar class, or the structured dtype of a struct; bfloat16 gives uint16 (bits).

    Args:
        warp_dtype: A scalar class, `int`, `float`, `bool` or a struct.

    Returns:
        The NumPy scalar class or dtype.

    Raises:
        TypeError: For vectors, matrices and what is no type: their arrays are NumPy arrays with more dimensions.

    >>> wp.dtype_to_numpy(float) is np.float32
    True
    """
    found = element_of(warp_dtype)
    if isinstance(found.type, Scalar):
        return found.numpy.type
    if isinstance(found.type, Struct):
        return found.numpy
    raise TypeError(f"{found.name} is {found.inner} items of {found.numpy} in NumPy; ask for its scalar type")


def bfloat16_bits(numbers: np.ndarray) -> np.ndarray:
    """Numbers rounded to bfloat16, as uint16 bits: to nearest even, once, through a float32 rounded to odd."""
    with np.errstate(over="ignore"):
        single = np.asarray(numbers, dtype=np.float32)
    bits = single.view(np.uint32).copy()
    if single.dtype != numbers.dtype:
        inexact = np.isfinite(single) & (single.astype(np.float64) != numbers) & (bits & 1 == 0)
        bits[inexact] += np.where(np.abs(single[inexact]) < np.abs(numbers[inexact]), 1, -1).astype(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(single), np.uint32(semantics.bits_of(float("nan"), BF16)), rounded).astype(np.uint16)


def bfloat16_numbers(bits: np.ndarray) -> np.ndarray:
    """The float32 numbers whose upper halves are `bits`."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
