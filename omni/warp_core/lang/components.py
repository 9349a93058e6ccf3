"""Vectors, quaternions and transforms at Python scope: construction, access, operators. Matrices are in `matrices`.

Start with `Components`. The classes here are bases; `values` makes one subclass per type and gives it storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from . import semantics
from .classes import python_type
from .products import PRODUCTS
from .scalars import SCALAR_CLASSES, component, operand, plain_number, scalar_type_of
from .types import Mat, Packed, Quat, Vec, parse_type


def _no_operator(name: str, a: Any, b: Any, reverse: bool) -> TypeError:
    left, right = (b, a) if reverse else (a, b)
    hint = "; for componentwise products use wp.cw_mul and wp.cw_div" if name in ("mul", "div") else ""
    return TypeError(f"no {name!r} for {type(left).__name__} and {type(right).__name__}{hint}")


def _combine(name: str, a: Components, b: Any, reverse: bool = False) -> Any:
    """Componentwise `name` of `a` with a value of its own type or with a scalar."""
    s, rule = a.__wc_type__.scalar, semantics.BINARY[name]
    if isinstance(b, Components):
        if b.__wc_type__ is not a.__wc_type__ or name not in a._with_same:
            raise _no_operator(name, a, b, reverse)
        return a._from([rule(s, x, y) for x, y in zip(a._leaves(), b._leaves())])
    y = operand(s, b)
    if y is None:
        return NotImplemented
    if name not in a._with_scalar:
        raise _no_operator(name, a, b, reverse)
    return a._from([rule(s, y, x) if reverse else rule(s, x, y) for x in a._leaves()])


def _operators(name: str) -> tuple[Callable, Callable]:
    def forward(self: Components, other: Any) -> Any:
        return _combine(name, self, other)

    def reverse(self: Components, other: Any) -> Any:
        return _combine(name, self, other, reverse=True)

    return forward, reverse


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


def is_number(value: Any) -> bool:
    """Whether `value` is one typed, Python or NumPy number."""
    return plain_number(value) is not None


_LITERALS = frozenset((int, float))
_SEQUENCES = frozenset((list, tuple))


class Components:
    """What vectors, matrices, quaternions and transforms share. Values are mutable, hence not hashable."""

    __slots__ = ()
    __wc_type__: ClassVar[Packed]
    _wp_scalar_type_: ClassVar[type]
    _length_: ClassVar[int]
    _strict: ClassVar[bool]  # whether the storage refuses what is no number (that of bool takes any truth value)
    _with_same: ClassVar[frozenset[str]] = frozenset(("add", "sub"))
    _with_scalar: ClassVar[frozenset[str]] = frozenset(("mul", "div"))
    _parts: ClassVar[
        tuple[tuple[int, ...], ...]
    ] = ()  # lengths of sequence arguments that together give the components
    _kind: ClassVar[type[Packed]]
    _shape_: ClassVar[tuple[int, ...]]
    # given by the storage class
    _load: Callable[[Any], Any]
    _save: Callable[[Any, Any], None]
    _set: Callable[[Any], None]
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *args: Any):
        components = args
        if len(args) == 1:
            only = args[0]
            if type(only) in _LITERALS:
                components = args * self._length_
            elif type(only) in _SEQUENCES:
                components = only
        if len(components) == self._length_ and self._strict:
            try:
                self._set(components)
                return
            except (TypeError, ValueError):
                pass  # told in the user's words below
        if args:
            self._set(self._parse(*args))

    @classmethod
    def _from(cls, leaves: Sequence[Any]) -> Any:
        """A value of components that are in range."""
        self = cls.__new__(cls)
        self._set(leaves)
        return self

    @classmethod
    def _parse(cls, *args: Any) -> tuple[Any, ...]:
        """The components that constructor arguments stand for: all of them, one for all, or sequences of them."""
        n = cls._length_
        if len(args) == 1 and is_number(args[0]):
            args *= n
        elif len(args) == 1 and (n != 1 or hasattr(args[0], "__len__")):
            args = cls._split(args[0])
        lengths = tuple(0 if is_number(a) else len(a) if _is_sized(a) else -1 for a in args)
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
        if isinstance(value, Components):
            return value._leaves()
        return tuple(value)

    @classmethod
    def _convert(cls, index: int, value: Any) -> Any:
        s = cls.__wc_type__.scalar
        number = plain_number(value)
        name = SCALAR_CLASSES[s].__name__
        if number is None:
            raise TypeError(f"{cls.__name__}() takes numbers, got {type(value).__name__} at {index}: {value!r}")
        if s.is_int and isinstance(number, float) and scalar_type_of(value) is None:
            raise TypeError(f"{cls.__name__}() takes {name} components, got the float {number!r} at {index}")
        return semantics.convert(number, s)

    # -- access -----------------------------------------------------------------------------------------------------

    def _leaves(self) -> tuple[Any, ...]:
        return tuple(self._load(slice(None)))

    def __len__(self) -> int:
        return self._length_

    def __iter__(self) -> Iterator[Any]:
        s = self.__wc_type__.scalar
        return iter([component(s, x) for x in self._leaves()])

    def __getitem__(self, key: Any) -> Any:
        s = self.__wc_type__.scalar
        try:
            found = self._load(key)
        except IndexError:
            raise self._out_of_range(key) from None
        if type(found) is list:
            return python_type(Vec(len(found), s))._from(found)
        return component(s, found)

    def _out_of_range(self, index: Any) -> IndexError:
        return IndexError(f"component {index} is out of range for {type(self).__name__} with {self._length_}")

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, slice):
            try:
                self._save(key, self._convert(key, value))
            except IndexError:
                raise self._out_of_range(key) from None
            return
        places = range(self._length_)[key]
        values = [value] * len(places) if is_number(value) else list(value)
        if len(values) != len(places):
            raise ValueError(f"cannot assign {len(values)} components to {len(places)} of a {type(self).__name__}")
        for i, x in zip(places, values):
            self._save(i, self._convert(i, x))

    # -- operators --------------------------------------------------------------------------------------------------

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __truediv__, __rtruediv__ = _operators("div")
    __mod__, _ = _operators("rem")

    def __mul__(self, other: Any) -> Any:
        product = PRODUCTS.get((self._kind, getattr(other, "_kind", None)))
        if product is not None and self.__wc_type__.scalar is other.__wc_type__.scalar:
            return product(self, other)
        return _combine("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _combine("mul", self, other, reverse=True)

    def __matmul__(self, other: Any) -> Any:
        if not isinstance(other, Components) or Mat not in (self._kind, other._kind):
            return NotImplemented
        return self * other

    def __neg__(self) -> Any:
        s = self.__wc_type__.scalar
        return self._from([semantics.UNARY["neg"](s, x) for x in self._leaves()])

    def __pos__(self) -> Any:
        return self._from(self._leaves())

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, Components) and self._shape_ == other._shape_:
            return self._leaves() == other._leaves()
        return _is_sequence(other) and _equal(self, other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    # -- text and copies --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return f"[{', '.join(str(x) for x in self._leaves())}]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(repr(x) for x in self)}])"

    def __reduce__(self) -> tuple:
        return _rebuild, (self.__wc_type__.key, self._leaves())


def _rebuild(key: str, leaves: tuple) -> Any:
    return python_type(parse_type(key))._from(leaves)


def attribute(index: int) -> property:
    """The property that reads and writes component `index`."""

    def get(self: Components) -> Any:
        return component(self.__wc_type__.scalar, self._load(index))

    def put(self: Components, value: Any) -> None:
        self._save(index, self._convert(index, value))

    return property(get, put, doc=f"Component {index}.")


class Vector(Components):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""

    __slots__ = ()
    _with_same = frozenset(("add", "sub", "rem"))
    _with_scalar = frozenset(("add", "sub", "mul", "div"))


class Quaternion(Components):
    """A quaternion x, y, z, w: from four numbers, one sequence of them, or a vector and the real part."""

    __slots__ = ()


class Transformation(Components):
    """A rigid transform of translation `p` and rotation `q`; the identity without arguments."""

    __slots__ = ()

    def __init__(self, *args: Any, p: Any = None, q: Any = None):
        if not args:
            super().__init__((0, 0, 0) if p is None else p, (0, 0, 0, 1) if q is None else q)
        elif q is not None and len(args) == 1 and p is None:
            super().__init__(args[0], q)
        elif p is not None or q is not None:
            raise TypeError(f"{type(self).__name__}() takes its parts by position or by name, not both")
        else:
            super().__init__(*args)

    @classmethod
    def _parse(cls, *args: Any) -> tuple[Any, ...]:
        if len(args) == 1 and getattr(args[0], "__len__", int)() == 3:
            args = (args[0], (0, 0, 0, 1))
        return super()._parse(*args)

    @property
    def p(self) -> Any:
        """The translation, a copy."""
        return python_type(Vec(3, self.__wc_type__.scalar))._from(self._load(slice(0, 3)))

    @p.setter
    def p(self, value: Any) -> None:
        self[0:3] = value

    @property
    def q(self) -> Any:
        """The rotation, a copy."""
        return python_type(Quat(self.__wc_type__.scalar))._from(self._load(slice(3, 7)))

    @q.setter
    def q(self, value: Any) -> None:
        self[3:7] = value
