"""Vectors, matrices, quaternions and transforms at Python scope: what their classes share, and what is rare.

Instances are native (native/python/values/values.h): their memory, access, operators, comparison and construction from
the usual arguments. Native code calls the methods of `Components` that begin with an underscore for everything else.
The classes here are bases; `values` makes one subclass per type. Start with `Components`.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from types import GenericAlias
from typing import Any, ClassVar

from ... import _native
from ...late_bound import late
from .. import semantics
from ..types import Packed, parse_type
from .scalars import SCALAR_CLASSES, ComponentCType, operand, plain_number, scalar_type_of
from .type_registry import python_type, wc_type


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (str, bytes, dict)) or getattr(value, "shape", None) == ():
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _is_sized(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


def _equal(a: Any, b: Any) -> bool:
    if _is_sequence(a) and _is_sequence(b):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b))
    return bool(a == b)


def _is_number(value: Any) -> bool:
    """True if `value` is one typed, Python or NumPy number."""
    return plain_number(value) is not None


class Components(_native.Value, metaclass=_native.ValueClass):
    """Base of vectors, matrices, quaternions and transforms.

    Values can be changed in place. They hash by their components, as equal values must, so one that is a key of a
    dictionary has to stay as it is.
    """

    __slots__ = ()
    __wc_type__: ClassVar[Packed]
    _wp_scalar_type_: ClassVar[type]
    _length_: ClassVar[int]
    _shape_: ClassVar[tuple[int, ...]]
    _type_ = ComponentCType()
    # lengths of sequence arguments that together give the components
    _parts: ClassVar[tuple[tuple[int, ...], ...]] = ()

    def __class_getitem__(cls, parameters: Any) -> GenericAlias:
        """A kind of values in an annotation of a Python function, `Vector[Any, Int]`."""
        if hasattr(cls, "__wc_type__"):
            raise TypeError(f"{cls.__name__} is one type, and takes no parameters in brackets")
        return GenericAlias(cls, parameters)

    @classmethod
    def _parse(cls, *args: Any) -> tuple[Any, ...]:
        """The components that constructor arguments stand for: all of them, one for all, or sequences of them."""
        n = cls._length_
        if len(args) == 1 and _is_number(args[0]):
            args *= n
        elif len(args) == 1 and (n != 1 or hasattr(args[0], "__len__")):
            args = cls._split(args[0])
        lengths = tuple(0 if cls._is_component(a) else len(a) if _is_sized(a) else -1 for a in args)
        if lengths != (0,) * n and (lengths in cls._parts):
            args = tuple(x for a, length in zip(args, lengths) for x in (a if length else (a,)))
        elif -1 in lengths:
            bad = args[lengths.index(-1)]
            raise TypeError(f"{cls.__name__}() takes numbers or sequences of them, got {type(bad).__name__}: {bad!r}")
        elif lengths != (0,) * n:
            given = f"{len(args)} values" if not any(lengths) else f"arguments of lengths {[x or 1 for x in lengths]}"
            raise ValueError(f"{cls.__name__}() has {n} components, got {given}")
        return tuple(cls._convert(i, x) for i, x in enumerate(args))

    @classmethod
    def _split(cls, value: Any) -> tuple[Any, ...]:
        """A single sequence argument as separate arguments."""
        if not _is_sized(value):
            kind = type(value).__name__
            raise TypeError(f"{cls.__name__}() takes numbers or sequences of them, got {kind}: {value!r}")
        if isinstance(value, Components):  # the numbers are typed, so that they convert as in kernels
            s = value.__wc_type__.scalar
            return tuple(SCALAR_CLASSES[s]._make(x) for x in value._leaves())
        return tuple(value)

    @classmethod
    def _is_component(cls, value: Any) -> bool:
        """True if `value` is a number, or converts to the float that the component is."""
        converts = cls.__wc_type__.scalar.is_float and hasattr(type(value), "__float__") and not _is_sized(value)
        return _is_number(value) or converts

    @classmethod
    def _convert(cls, index: int, value: Any) -> Any:
        """A component's number; `index` is for the error message."""
        s = cls.__wc_type__.scalar
        number = plain_number(value)
        name = SCALAR_CLASSES[s].__name__
        if number is None and cls._is_component(value):
            number = float(value)
        if number is None:
            raise TypeError(f"{cls.__name__}() takes numbers, got {type(value).__name__} at {index}: {value!r}")
        if s.is_int and isinstance(number, float) and scalar_type_of(value) is None:
            raise TypeError(f"{cls.__name__}() takes {name} components, got the float {number!r} at {index}")
        return semantics.convert(number, s)

    @classmethod
    def from_ptr(cls, ptr: int) -> Any:
        """Return a copy of the value at an address in memory.

        Args:
            ptr: the address of the first component; there must be a value of this type.

        Raises:
            ValueError: the address is 0.
        """
        return late("value_at")(cls, ptr)

    def _operand(self, value: Any) -> Any:
        """Return a scalar operand as a number in range, or None for others. Raises TypeError if a cast is needed."""
        return operand(self.__wc_type__.scalar, value)

    def _equals(self, other: Any) -> bool:
        """True if the components equal those of a sequence, nested like this value."""
        return _is_sequence(other) and _equal(self, other)

    def _assign(self, places: list[int], value: Any) -> None:
        """Set the components at flat indices to one number or to as many as a sequence has."""
        values = [value] * len(places) if _is_number(value) else self._flatten(value)
        if len(values) != len(places):
            raise ValueError(f"cannot assign {len(values)} components to {len(places)} of a {type(self).__name__}")
        for i, x in zip(places, values):
            self._save(i, self._convert(i, x))

    @staticmethod
    def _flatten(value: Any) -> list[Any]:
        return list(value)

    def to_list(self) -> list:
        """Return the components as plain numbers; the rows of a matrix as lists."""
        numbers = list(self._leaves())
        if len(self._shape_) == 1:
            return numbers
        rows, columns = self._shape_
        return [numbers[columns * i : columns * (i + 1)] for i in range(rows)]

    def __str__(self) -> str:
        return f"[{', '.join(str(x) for x in self._leaves())}]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(repr(x) for x in self)}])"

    def __reduce__(self) -> tuple:
        return _rebuild, (self.__wc_type__.key, self._leaves())


_class_of = lru_cache(maxsize=None)(lambda key: python_type(parse_type(key)))


def _rebuild(key: str, leaves: tuple) -> Any:
    return _class_of(key)._from(leaves)


@property  # type: ignore[misc]
def widened(self: Components) -> dict[str, Any]:
    """`__array_interface__` of bfloat16 components, a type that NumPy lacks: a copy as float32."""
    leaves = self._leaves()
    data = struct.pack(f"<{len(leaves)}f", *leaves)
    return {"shape": (len(leaves),), "typestr": "<f4", "data": data, "version": 3}


class Vector(Components):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""

    __slots__ = ()


class SpatialVector(Vector):
    """A vector of six: from its components, or from the vectors `w` and `v`, the angular and the linear part."""

    __slots__ = ()

    @classmethod
    def _parse(cls, *args: Any, w: Any = None, v: Any = None, dtype: Any = None) -> tuple[Any, ...]:
        parts = [part for part in (w, v) if part is not None]
        if parts and len(args) + len(parts) != 2:
            raise TypeError(f"{cls.__name__}() needs both of its parts, by position or by name")
        if dtype is not None and wc_type(dtype) is not cls.__wc_type__.scalar:
            raise TypeError(f"{cls.__name__}() cannot have components of type {dtype!r}")
        return super()._parse(*((*args, *parts) or (0,)))


class Quaternion(Components):
    """A quaternion x, y, z, w: from four numbers, one sequence of them, or a vector and the real part."""

    __slots__ = ()


class Transformation(Components):
    """A rigid transform of translation `p` and rotation `q`; the identity without arguments."""

    __slots__ = ()

    @classmethod
    def _parse(cls, *args: Any, p: Any = None, q: Any = None) -> tuple[Any, ...]:
        if not args:
            args = ((0, 0, 0) if p is None else p, (0, 0, 0, 1) if q is None else q)
        elif q is not None and len(args) == 1 and p is None:
            args = (args[0], q)
        elif p is not None or q is not None:
            raise TypeError(f"{cls.__name__}() takes its parts by position or by name, not both")
        elif len(args) == 1 and getattr(args[0], "__len__", int)() == 3:
            args = (args[0], (0, 0, 0, 1))
        return super()._parse(*args)


class Matrix(Components):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""

    __slots__ = ()
    _shape_: ClassVar[tuple[int, int]]

    @classmethod
    def _split(cls, value: Any) -> tuple[Any, ...]:
        rows = super()._split(value)
        shape = getattr(value, "_shape_", None)
        if shape is not None and shape not in (cls._shape_, (cls._length_,)):
            raise ValueError(f"{cls.__name__}() has shape {cls._shape_}, got a {type(value).__name__} of shape {shape}")
        return rows

    @staticmethod
    def _flatten(value: Any) -> list[Any]:
        if isinstance(value, Components):
            return list(value._leaves())
        return [x for row in value for x in (Matrix._flatten(row) if hasattr(row, "__len__") else (row,))]

    def get_row(self, index: int) -> Any:
        """Return a row as a vector."""
        return self[index]

    def set_row(self, index: int, values: Any) -> None:
        """Replace a row by a vector or a sequence of as many numbers."""
        self[index] = values

    def get_col(self, index: int) -> Any:
        """Return a column as a vector."""
        return self[:, index]

    def set_col(self, index: int, values: Any) -> None:
        """Replace a column by a vector or a sequence of as many numbers."""
        self[:, index] = values

    def __str__(self) -> str:
        cols = self._shape_[1]
        leaves = self._leaves()
        rows = (leaves[i : i + cols] for i in range(0, len(leaves), cols or 1))
        return "[" + ",\n ".join(f"[{', '.join(str(x) for x in row)}]" for row in rows) + "]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"
