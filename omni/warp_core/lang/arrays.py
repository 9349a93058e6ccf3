"""Array types in annotations: `wp.array[wp.vec3]`, `wp.array2d[float]`, `wp.array[float, 2]`."""

from __future__ import annotations

import typing
from typing import Any

from .annotations import open_type
from .generics import Pattern
from .types import MAX_NDIM, Array, FixedArray, Scalar, Type
from .values.scalars import SCALAR_CLASSES
from .values.type_registry import wc_type

__all__ = ["ArrayAnnotation", "fixedarray"]


def check_ndim(ndim: Any) -> int:
    """`ndim`, or that of `Literal[ndim]`, as an int from 1 to 4; raises ValueError otherwise."""
    if typing.get_origin(ndim) is typing.Literal:
        (ndim,) = typing.get_args(ndim)
    if not isinstance(ndim, int) or not 1 <= ndim <= MAX_NDIM:
        raise ValueError(f"arrays have 1 to {MAX_NDIM} dimensions, got ndim={ndim!r}")
    return ndim


def array_type(dtype: Any, ndim: int) -> Type | Pattern:
    """The type of arrays of `dtype`; a pattern, for parameters of generic functions, where that is left open."""
    element = open_type(dtype)
    if isinstance(element, Pattern) and element.head == "Array":
        raise TypeError("an array cannot be the element of an array")
    return Array(wc_type(dtype), ndim) if element is None else Pattern("Array", (element, ndim))


class fixedarray:
    """The type of a local array, for parameters and results of functions: `wp.fixedarray(dtype=float, shape=4)`.

    Args:
        dtype: the element type.
        shape: one extent or up to four.

    Raises:
        TypeError, ValueError: `shape` is not one to four positive integers.

    >>> wp.fixedarray(dtype=float, shape=(2, 3)).shape
    (2, 3)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: Any, shape: Any):
        extents = shape if isinstance(shape, (tuple, list)) else (shape,)
        if not all(isinstance(n, int) for n in extents):
            raise TypeError(f"shape: expected an integer or up to {MAX_NDIM} integers, got {shape!r}")
        if not 1 <= len(extents) <= MAX_NDIM or min(extents) < 1:
            raise ValueError(f"shape: expected 1 to {MAX_NDIM} positive integers, got {shape!r}")
        self.dtype, self.shape = dtype, tuple(int(n) for n in extents)

    @property
    def __wc_type__(self) -> FixedArray:
        """The type of the local arrays of this shape."""
        return FixedArray(wc_type(self.dtype), self.shape)

    def __repr__(self) -> str:
        return f"wp.fixedarray(dtype={getattr(self.dtype, '__name__', self.dtype)}, shape={self.shape})"


class ArrayAnnotation:
    """An array type as an annotation: the `dtype` as the user wrote it and the number of dimensions."""

    __slots__ = ("dtype", "ndim")

    def __init__(self, dtype: Any, ndim: int = 1):
        self.dtype, self.ndim = dtype, check_ndim(ndim)

    @classmethod
    def from_subscript(cls, item: Any, ndim: int = 1) -> ArrayAnnotation:
        """Parse the contents of the brackets of `wp.array[...]`: a dtype, or a dtype and the number of dimensions."""
        if not isinstance(item, tuple):
            return cls(item, ndim)
        if len(item) != 2:
            raise TypeError(f"expected wp.array[dtype] or wp.array[dtype, ndim], got {len(item)} parameters")
        return cls(*item)

    @property
    def __wc_type__(self) -> Type | Pattern:
        """The array type; a pattern where the dtype is left open."""
        return array_type(self.dtype, self.ndim)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayAnnotation):
            return NotImplemented
        return (self.dtype, self.ndim) == (other.dtype, other.ndim)

    def __hash__(self) -> int:
        return hash((self.dtype, self.ndim))

    def __repr__(self) -> str:
        try:
            t = wc_type(self.dtype)
            name = f"wp.{SCALAR_CLASSES[t].__name__}" if isinstance(t, Scalar) else getattr(self.dtype, "__name__", "?")
        except TypeError:
            name = str(self.dtype)
        return f"wp.array{'' if self.ndim == 1 else f'{self.ndim}d'}[{name}]"
