"""Arrays and aggregate values as the interpreter sees them: Python lists and tuples, no NumPy.

A scalar is a Python number (bool for bool), a packed type the tuple of its components, a struct the tuple of its
members, an array a `MemArray` whose elements are such values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..lang import semantics
from ..lang.types import BOOL, Array, Packed, Scalar, Struct, Type, members


class Trap(Exception):
    """A program did what no correct program does: an index out of range, a runaway loop, an unreachable place."""


class MemArray:
    """A view of `shape` elements of `dtype` in the row-major list `data`, beginning at `offset`.

    Slices share `data`. A null array has `data` None and zero extents.

    >>> a = MemArray(F32, (2, 2), [1.0, 2.0, 3.0, 4.0])
    >>> a.slice((1,)).data[a.slice((1,)).locate((0,))]
    3.0
    """

    __slots__ = ("data", "dtype", "offset", "shape")

    def __init__(self, dtype: Type, shape: Sequence[int], data: list | None = None, offset: int = 0):
        self.dtype, self.shape, self.offset = dtype, tuple(shape), offset
        self.data = [zero(dtype)] * math.prod(self.shape) if data is None else data

    @classmethod
    def null(cls, dtype: Type, ndim: int) -> MemArray:
        array = cls(dtype, (0,) * ndim)
        array.data = None  # type: ignore[assignment]
        return array

    @property
    def is_null(self) -> bool:
        return self.data is None

    def locate(self, indices: Sequence[int]) -> int:
        """The position in `data` of the element at `indices`. Raises `Trap` when out of range."""
        at = 0
        for i, n in zip(indices, self.shape):
            if not 0 <= i < n:
                raise Trap(f"index {tuple(indices)} in an array of shape {self.shape}")
            at = at * n + i
        return at + self.offset

    def slice(self, indices: Sequence[int]) -> MemArray:
        """The view with the leading dimensions fixed at `indices`."""
        inner = self.shape[len(indices) :]
        view = MemArray(self.dtype, inner, self.data)
        view.offset = self.locate(indices)
        if indices:
            view.offset = self.offset + (view.offset - self.offset) * math.prod(inner)
        return view

    def values(self) -> list:
        """The elements in row-major order."""
        return [] if self.data is None else self.data[self.offset : self.offset + math.prod(self.shape)]

    def __repr__(self) -> str:
        return f"MemArray({self.dtype}, {self.shape}, {self.values()})"


def zero(t: Type) -> Any:
    """The value of `t` whose bytes are all zero."""
    if isinstance(t, Scalar):
        return False if t is BOOL else 0.0 if t.is_float else 0
    if isinstance(t, Array):
        return MemArray.null(t.dtype, t.ndim)
    return tuple(zero(m) for m in members(t))


def flatten(value: Any, t: Type) -> tuple:
    """The leaves of `value` in memory order."""
    if isinstance(t, Struct):
        return tuple(itertools.chain.from_iterable(flatten(v, m) for v, m in zip(value, members(t))))
    return tuple(value) if isinstance(t, Packed) else (value,)


def unflatten(leaves: Sequence, t: Type) -> Any:
    """The value of `t` with these leaves; inverse of `flatten`."""
    return _take(iter(leaves), t)


def _take(leaves: Iterator, t: Type) -> Any:
    if isinstance(t, Struct):
        return tuple(_take(leaves, m) for m in members(t))
    if isinstance(t, Packed):
        return tuple(itertools.islice(leaves, t.count))
    return next(leaves)


def replace(value: Any, path: Sequence[int], new: Any) -> Any:
    """`value` with the member at the end of `path` replaced."""
    if not path:
        return new
    step = path[0]
    return (*value[:step], replace(value[step], path[1:], new), *value[step + 1 :])


def component(value: tuple, index: int) -> Any:
    """Member `index` of a packed value. Raises `Trap` when out of range."""
    if not 0 <= index < len(value):
        raise Trap(f"component {index} of {len(value)}")
    return value[index]


def read(array: MemArray, indices: Sequence[int], path: Sequence[int]) -> Any:
    """The value at the end of `path` inside the element at `indices`."""
    value = array.data[array.locate(indices)]
    for step in path:
        value = component(value, step)
    return value


def write(array: MemArray, indices: Sequence[int], path: Sequence[int], new: Any) -> None:
    """Replace what `read` returns."""
    at = array.locate(indices)
    if path:
        read(array, indices, path)  # traps
        new = replace(array.data[at], path, new)
    array.data[at] = new


_ATOMICS = {
    "exch": lambda t, old, new: new,
    **{k: semantics.BINARY[k] for k in ["add", "sub", "min", "max", "and", "or", "xor"]},
}


def atomic(kind: str, t: Type, array: MemArray, indices: Sequence[int], path: Sequence[int], *operands: Any) -> Any:
    """Combine each component in memory with the operand's; returns what was there before."""
    old = read(array, indices, path)
    packed = isinstance(t, Packed)
    s = t.scalar if isinstance(t, Packed) else t
    rows = list(zip(old, *operands)) if packed else [(old, *operands)]
    if kind == "cas":
        new = tuple(value if was == expected else was for was, expected, value in rows)
    else:
        new = tuple(_ATOMICS[kind](s, *row) for row in rows)
    write(array, indices, path, new if packed else new[0])
    return old
