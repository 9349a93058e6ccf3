"""Types of arrays and tiles in annotations: `wp.array[wp.vec3]`, `wp.array[float, 2]`, `wp.tile[float, 4, 8]`."""

from __future__ import annotations

import typing
from typing import Any

from .annotations import open_type, type_or_none
from .generics import Any as AnyType
from .generics import Pattern, TypeVar, spell_pattern
from .types import MAX_NDIM, Array, FixedArray, Packed, Scalar, Tile, Type
from .values.type_registry import wc_type

__all__ = ["Annotation", "ArrayAnnotation", "TileAnnotation", "UnionMember", "fixedarray", "tile_type"]


def check_ndim(ndim: Any) -> int:
    """`ndim`, or that of `Literal[ndim]`, as an int from 1 to 4; raises ValueError otherwise.

    >>> from typing import Literal
    >>> check_ndim(Literal[2])
    2
    """
    if typing.get_origin(ndim) is typing.Literal:
        (ndim,) = typing.get_args(ndim)
    if not isinstance(ndim, int) or not 1 <= ndim <= MAX_NDIM:
        raise ValueError(f"arrays have 1 to {MAX_NDIM} dimensions, got ndim={ndim!r}")
    return ndim


def array_type(dtype: Any, ndim: Any) -> Type | Pattern:
    """The type of arrays of `dtype`; a pattern, for parameters of generic functions, where that is left open, or the
    number of dimensions is `typing.Any`.
    """
    element = open_type(dtype)
    if isinstance(element, Pattern) and element.head == "Array":
        raise TypeError("an array cannot be the element of an array")
    if element is None and ndim is not Any:
        return Array(wc_type(dtype), ndim)
    return Pattern("Array", (wc_type(dtype) if element is None else element, AnyType if ndim is Any else ndim))


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


class UnionMember:
    """An object that stands for a class in annotations: `wp.array2d[float] | None`."""

    __slots__ = ()

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007 - this is what `|` does

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, self]  # noqa: UP007


class Annotation(UnionMember):
    """An array type as an annotation: the `dtype` as the user wrote it, and the number of dimensions or `Any`.

    Annotations of one type are equal, and make unions as classes do.
    """

    __slots__ = ("dtype", "ndim")

    def __init__(self, dtype: Any, ndim: Any = 1):
        self.dtype, self.ndim = dtype, ndim if ndim is Any else check_ndim(ndim)

    @property
    def _element(self) -> Any:
        """The type of the elements, or what stands in its place."""
        found = type_or_none(self.dtype)
        return self.dtype if found is None else found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Annotation):
            return NotImplemented
        return (type(self), self._element, self.ndim) == (type(other), other._element, other.ndim)

    def __hash__(self) -> int:
        return hash((type(self), self._element, self.ndim))

    def __call__(self, *args: Any, **kwargs: Any) -> typing.NoReturn:
        """Refuse: annotations make no arrays. (Unions of Python 3.10 take only what can be called.)"""
        raise TypeError(f"{self!r} is an annotation: make an array with wp.array(data, dtype=...)")

    def _spelt(self, name: str) -> str:
        element = self._element
        if isinstance(element, (Type, Pattern, TypeVar)):
            prefix = "wp." if isinstance(element, (Scalar, Packed)) else ""
            shown = prefix + spell_pattern(element)
        else:
            shown = str(element)
        dimensions = "" if self.ndim in (1, Any) else f"{self.ndim}d"
        return f"wp.{name}{dimensions}[{shown}{', Any' if self.ndim is Any else ''}]"


class ArrayAnnotation(Annotation):
    """`wp.array[float]`, `wp.array2d[wp.vec3]`, `wp.array[float, Any]`."""

    __slots__ = ()

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

    def __repr__(self) -> str:
        return self._spelt("array")


ArrayAnnotation.__name__ = "_ArrayAnnotation"  # by which programs for warp-lang tell such annotations


class TileAnnotation:
    """The type of a tile, for parameters of functions. Its `dtype` and extents may be type variables."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: Any, shape: Any):
        extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        if not 1 <= len(extents) <= MAX_NDIM:
            raise ValueError(f"tiles have between one and four dimensions, got shape={shape!r}")
        self.dtype, self.shape = dtype, tuple(map(_checked_extent, extents))
        if isinstance(self.__wc_type__, Tile) and isinstance(self.__wc_type__.dtype, (Array, Tile)):
            raise TypeError(f"the elements of a tile are no arrays or tiles, got {dtype!r}")

    @property
    def __wc_type__(self) -> Type | Pattern:
        """The type; a pattern where something is left open."""
        found = open_type(self.dtype)
        dtype = wc_type(self.dtype) if found is None else found
        if found is None and all(isinstance(n, int) for n in self.shape):
            return Tile(dtype, self.shape)
        return Pattern("Tile", (dtype, *self.shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TileAnnotation) and self.__wc_type__ == other.__wc_type__

    def __hash__(self) -> int:
        return hash(self.__wc_type__)

    def __repr__(self) -> str:
        return f"wp.{spell_pattern(self.__wc_type__)}"


def _checked_extent(n: Any) -> Any:
    variable = type_or_none(n)
    if isinstance(variable, TypeVar):
        return variable
    if type(n) is not int or n < 1:
        raise ValueError(f"the extents of a tile are positive integers, got {n!r}")
    return n


def tile_type(item: Any) -> TileAnnotation:
    """Parse the contents of the brackets of `wp.tile[...]`: a dtype and one to four extents."""
    dtype, *shape = item if isinstance(item, tuple) else (item,)
    return TileAnnotation(dtype, shape)
