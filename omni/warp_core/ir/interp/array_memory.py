"""Arrays and aggregate values as the interpreter sees them: Python lists and tuples, no NumPy.

A scalar is a Python number (bool for bool), a packed type the tuple of its components, and a struct the tuple of its
members. An array is a `MemArray` whose elements are such values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...lang import semantics
from ...lang.types import BOOL, Array, FixedArray, Packed, Scalar, Struct, Type, members
from ..ops import EXCHANGES, UPDATES, slice_parts


class Trap(Exception):
    """A program did what no correct program does: an index out of range, a runaway loop, an unreachable place."""


class MemArray:
    """A view of `shape` elements of `dtype` in the list `data`, beginning at `offset`.

    `strides` counts elements of `data` from one index to the next, row-major where it is not given. Slices share
    `data`. A null array has `data` None and zero extents. `grad` is the array of its gradient, or None. `watch`, if
    any, is told of each access: the array, the position in `data`, the path, "read", "write" or "atomic", and what is
    written.

    >>> a = MemArray(F32, (2, 2), [1.0, 2.0, 3.0, 4.0])
    >>> a.slice("i", (1,)).values(), a.slice(":i", (0,)).values()
    ([3.0, 4.0], [1.0, 3.0])
    """

    __slots__ = ("data", "dtype", "grad", "offset", "shape", "strides", "watch")

    def __init__(
        self,
        dtype: Type,
        shape: Sequence[int],
        data: list | None = None,
        offset: int = 0,
        strides: Sequence[int] | None = None,
    ):
        self.dtype, self.shape, self.offset = dtype, tuple(shape), offset
        self.data = [zero(dtype)] * math.prod(self.shape) if data is None else data
        rows = [math.prod(self.shape[k + 1 :]) for k in range(len(self.shape))]
        self.strides = tuple(rows if strides is None else strides)
        self.grad: MemArray | None = None
        self.watch: Callable[[MemArray, int, Sequence[int], str, Any], None] | None = None

    @classmethod
    def null(cls, dtype: Type, ndim: int) -> MemArray:
        array = cls(dtype, (0,) * ndim)
        array.data = None  # type: ignore[assignment]
        return array

    @classmethod
    def local(cls, t: FixedArray) -> MemArray:
        """The memory of a new local array, nothing in it yet."""
        return cls(t.dtype, t.shape, [None] * math.prod(t.shape))

    @property
    def is_null(self) -> bool:
        return self.data is None

    def locate(self, indices: Sequence[int]) -> int:
        """The position in `data` of the element at `indices`. Raises `Trap` when out of range."""
        at = self.offset
        for i, n, stride in zip(indices, self.shape, self.strides):
            if not 0 <= i < n:
                raise Trap(f"index {tuple(indices)} in an array of shape {self.shape}")
            at += i * stride
        return at

    def slice(self, attr: str | None, operands: Sequence[int]) -> MemArray:
        """The view that the operation `slice` takes. Raises `Trap` when it reaches out of range."""
        parts = slice_parts(operands, attr)
        shape, strides, at = [], [], self.offset
        for (letter, given), n, stride in zip(parts, self.shape, self.strides):
            start, count, step = given if letter == "r" else (given[0], 1, 1) if letter == "i" else (0, n, 1)
            if count < 0 or (count and not (0 <= start < n and 0 <= start + (count - 1) * step < n)):
                raise Trap(f"slice {letter}{tuple(given)} of an array of shape {self.shape}")
            at += start * stride
            if letter != "i":
                shape.append(count)
                strides.append(stride * step)
        rest = len(parts)
        view = MemArray(self.dtype, (*shape, *self.shape[rest:]), self.data, at, (*strides, *self.strides[rest:]))
        view.grad = self.grad and self.grad.slice(attr, operands)
        view.watch = self.watch
        return view

    def view_at(self, offset: int, extents: Sequence[int]) -> MemArray:
        """The view that the operation `view_at` takes. Raises `Trap` when it begins inside an element."""
        first, rest = divmod(offset, self.dtype.size)
        if rest:
            raise Trap(f"a view at byte {offset} of elements of {self.dtype.size} bytes")
        view = MemArray(self.dtype, extents, self.data, self.offset + first)
        view.watch = self.watch
        return view

    def gradient(self) -> MemArray:
        """The array of the gradient; a null array without one."""
        return self.grad or MemArray.null(self.dtype, len(self.shape))

    def values(self) -> list:
        """The elements in row-major order."""
        everywhere = itertools.product(*map(range, self.shape))
        return [] if self.data is None else [self.data[self.locate(i)] for i in everywhere]

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
    if array.watch:
        array.watch(array, array.locate(indices), path, "read", None)
    return _found(array, indices, path)


def _found(array: MemArray, indices: Sequence[int], path: Sequence[int]) -> Any:
    value = array.data[array.locate(indices)]
    if value is None:
        raise Trap(f"element {tuple(indices)} of a local array is read before it is written")
    for step in path:
        value = component(value, step)
    return value


def write(array: MemArray, indices: Sequence[int], path: Sequence[int], new: Any) -> None:
    """Replace what `read` returns."""
    if array.watch:
        array.watch(array, array.locate(indices), path, "write", new)
    _put(array, indices, path, new)


def _put(array: MemArray, indices: Sequence[int], path: Sequence[int], new: Any) -> None:
    at = array.locate(indices)
    if path:
        _found(array, indices, path)  # traps
        new = replace(array.data[at], path, new)
    array.data[at] = new


_ATOMICS = {
    **dict.fromkeys(EXCHANGES, lambda t, old, new: new),
    **{k: semantics.BINARY[UPDATES.get(k, k)] for k in ["add", "sub", "min", "max", "and", "or", "xor"]},
}


def atomic(kind: str, t: Type, array: MemArray, indices: Sequence[int], path: Sequence[int], *operands: Any) -> Any:
    """Combine each component in memory with the operand's; returns what was there before."""
    if array.watch:
        array.watch(array, array.locate(indices), path, "atomic", None)
    old = _found(array, indices, path)
    packed = isinstance(t, Packed)
    s = t.scalar if isinstance(t, Packed) else t
    rows = list(zip(old, *operands)) if packed else [(old, *operands)]
    if kind == "cas":
        new = tuple(value if was == expected else was for was, expected, value in rows)
    else:
        new = tuple(_ATOMICS[kind](s, *row) for row in rows)
    _put(array, indices, path, new if packed else new[0])
    return old
