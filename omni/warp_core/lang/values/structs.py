"""User-defined records: `@wp.struct` turns an annotated class into a type of the kernel language.

Fields become checked properties. Vectors and nested structs are stored by value: assigning one copies it, and
`s.position.x = 1.0` writes into `s`. Fields of arrays, indexed and fabric arrays too, hold a reference or None. Start
with `struct`.
"""

from __future__ import annotations

import dataclasses
import inspect
import struct as binary
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from ... import _native, config
from .. import semantics
from ..annotations import evaluate
from ..array_structs.array_struct_types import fabric_name, fabric_parts, indexed_array, is_array_struct
from ..inference import annotations_of
from ..keys import key_of
from ..types import Array, FixedArray, Packed, Scalar, Struct, Type, leaves
from .scalars import SCALAR_CLASSES, component
from .struct_memory import binary_format, numpy_spec, numpy_value
from .type_registry import python_type, register, wc_type
from .value_classes import from_leaves, to_leaves

__all__ = ["struct"]


class StructField(NamedTuple):
    """A field of a struct, as programs that look into structs ask for it: its name, and its type as annotated."""

    label: str
    type: Any


class StructType(type):
    """The class of struct classes. These attributes are those of the class alone, so fields may have the same names."""

    @property
    def vars(cls) -> dict[str, StructField]:
        """The fields by name."""
        fields = cls.__wc_type__.fields  # type: ignore[attr-defined]
        return {name: StructField(name, a) for (name, _), a in zip(fields, annotations_of(t for _, t in fields))}

    @property
    def cls(cls) -> type:
        """The class itself, which has what the class that was decorated has."""
        return cls

    @property
    def key(cls) -> str:
        """The name of the class, qualified by where it is nested in."""
        return key_of(cls.__qualname__)


class StructValue(metaclass=StructType):
    """Base of the classes made by `struct`. Instances start out zero and are set field by field or by keyword."""

    __slots__ = ("__weakref__", "_values")
    __wc_type__: ClassVar[Struct]
    _defaults: ClassVar[dict[str, Callable[[], Any]]]  # what gives a field its value in a new instance
    _is_leaf: ClassVar[tuple[bool, ...]]  # per field: a number or array, not a value with leaves of its own
    _zeros: ClassVar[tuple[Any, ...]]  # per field: what a number or array is at first
    _parts: ClassVar[tuple[tuple[int, Any], ...]]  # the other fields: their numbers and classes
    _wc_layout: ClassVar[_native.RecordLayout]  # packs
    _packer: ClassVar[binary.Struct]  # unpacks the leaves
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any):
        self._values = list(self._zeros)
        for i, part in self._parts:
            self._values[i] = part()
        if args or kwargs or self._defaults:
            self._set(args, kwargs)

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        t = self.__wc_type__
        if len(args) > len(t.fields):
            raise TypeError(f"struct {t.name} has {len(t.fields)} fields, got {len(args)} values")
        given = dict(zip(t.index, args))
        defaults = {name: make() for name, make in self._defaults.items()}
        for name, value in (defaults | given | kwargs).items():
            if name not in t.index or (name in given and name in kwargs):
                raise TypeError(f"{t.name}() got an unexpected or repeated field {name!r}; fields are {_names(t)}")
            setattr(self, name, value)

    @classmethod
    def _from(cls, flat: Any) -> Any:
        """An instance of leaf values that are in range, in memory order."""
        self = object.__new__(cls)
        rest = iter(flat)
        self._values = [_take(ft, rest) for _, ft in cls.__wc_type__.fields]
        return self

    def _copy(self) -> Any:
        """An instance of its own with the same values."""
        made = object.__new__(type(self))
        made._values = list(self._values)
        for i, part in self._parts:
            value = self._values[i]
            made._values[i] = value._copy() if isinstance(value, StructValue) else part._from(value._leaves())
        return made

    def _leaves(self) -> tuple[Any, ...]:
        flat: list[Any] = []
        for i, (is_leaf, value) in enumerate(zip(self._is_leaf, self._values)):
            if is_leaf:
                flat.append(value)
            elif value is None:
                flat.extend([None] * len(leaves(self.__wc_type__.fields[i][1])))
            else:
                flat.extend(value._leaves())
        return tuple(flat)

    def _wc_pack(self) -> bytes:
        """The struct's memory as kernels see it."""
        return self._wc_layout.pack(self._values)

    @classmethod
    def numpy_dtype(cls) -> dict[str, Any]:
        """The record as `numpy.dtype` takes it: names, formats, byte offsets, itemsize."""
        return numpy_spec(cls.__wc_type__)

    def numpy_value(self) -> tuple:
        """The values as an element of a NumPy array of `numpy_dtype()`.

        >>> Particle = wp.struct(type("Particle", (), {"__annotations__": {"mass": float}}))
        >>> Particle(mass=2.0).numpy_value()
        (2.0,)
        """
        return tuple(numpy_value(t, v) for (_, t), v in zip(self.__wc_type__.fields, self._values))

    def assign(self, other: Any) -> None:
        """Take over the values of all fields of another instance."""
        t = self.__wc_type__
        if getattr(other, "__wc_type__", None) is not t:
            raise TypeError(f"expected struct {t.name}, got {type(other).__name__}")
        self._values = other._copy()._values

    def to(self, device: Any) -> Any:
        """A copy whose arrays are on `device`."""
        made = self._copy()
        made._values = [_moved(t, x, device) for (_, t), x in zip(self.__wc_type__.fields, made._values)]
        return made

    def _typed_leaves(self) -> Any:
        return zip(leaves(self.__wc_type__), self._leaves())

    def __eq__(self, other: object) -> bool:
        """True if all fields are equal. Arrays are equal only to themselves."""
        if type(other) is not type(self):
            return NotImplemented
        pairs = zip(self._typed_leaves(), other._leaves())
        return all(a is b if isinstance(t, Array) else a == b for ((_, t), a), b in pairs)

    def __hash__(self) -> int:
        """Equal values hash equal, so what is in a set or a key must not change."""
        return hash(tuple(id(x) if isinstance(t, Array) else x for (_, t), x in self._typed_leaves()))

    @property
    def _cls(self) -> StructType:
        """The class, by the name that programs for warp-lang look into an instance with: `s._cls.vars`."""
        return type(self)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The fields by name, as `vars(s)` gives them. Changing the dictionary does not change the struct."""
        return {name: getattr(self, name) for name, _ in self.__wc_type__.fields}

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self._leaves())

    def __repr__(self) -> str:
        return self._describe(repr)

    def __str__(self) -> str:
        return self._describe(str)

    def _describe(self, text: Any) -> str:
        """The fields, float32 in the fewest digits: `0.01`, not the float64 nearest to that."""
        lines = []
        for name, t in self.__wc_type__.fields:
            value = getattr(self, name)
            if isinstance(t, Scalar) and t.is_float and isinstance(value, float):
                shown = semantics.shortest(value, t)
            else:
                shown = text(value)
            lines.append(f"{name}={shown},".replace("\n", "\n\t"))
        return f"{self.__wc_type__.name}(\n" + "".join(f"\t{line}\n" for line in lines) + ")"


def _rebuild(cls: Any, flat: tuple) -> Any:
    return cls._from(flat)


def _names(t: Struct) -> str:
    return ", ".join(t.index) or "none"


def _take(t: Type, rest: Iterator[Any]) -> Any:
    if isinstance(t, (Scalar, Array)):
        return next(rest)
    taken = [next(rest) for _ in leaves(t)]
    return None if is_array_struct(t) and all(x is None for x in taken) else from_leaves(t, taken)


def _moved(t: Type, value: Any, device: Any) -> Any:
    """The value of a field whose arrays are on `device`."""
    if value is None or isinstance(t, (Scalar, Packed)):
        return value
    if hasattr(value, "to"):
        return value.to(device)
    return from_leaves(t, [None if a is None else a.to(device) for a in value._leaves()])


def _checked(t: Type, value: Any) -> Any:
    """`value` as it is stored in a field of type `t`."""
    if isinstance(t, Array) or is_array_struct(t):
        u = getattr(value, "__wc_type__", None)
        if value is not None and u is not t:
            given = spell(u) if isinstance(u, (Array, Struct)) else f"{type(value).__name__}"
            raise TypeError(f"expected {spell(t)} or None, got {given}")
        if value is not None and not isinstance(t, Array):
            value._leaves()  # refuses one that was made as an annotation, without data
        return value
    if isinstance(t, Struct) and isinstance(value, tuple):
        return python_type(t)(*value)
    if isinstance(value, StructValue) and value.__wc_type__ is t:
        return value._copy()
    flat = to_leaves(value, t)
    return flat[0] if isinstance(t, Scalar) else from_leaves(t, flat)


def spell(t: Type) -> str:
    """A type in the words of the user: `float32`, `vec3f`, `2-d array of vec3f`."""
    if isinstance(t, Array):
        return f"{t.ndim}-d array of {spell(t.dtype)}"
    if isinstance(t, Scalar):
        return SCALAR_CLASSES[t].__name__
    array = indexed_array(t)
    if array is not None:
        return f"{array.ndim}-d indexed array of {spell(array.dtype)}"
    parts = fabric_parts(t)
    if parts is not None:
        return f"{fabric_name(*parts[1:])} of {spell(parts[0])}"
    return t.name if isinstance(t, Struct) else python_type(t).__name__


def _field(index: int, name: str, t: Type) -> property:
    def get(self: StructValue) -> Any:
        value = self._values[index]
        return component(t, value) if isinstance(t, Scalar) else value

    def put(self: StructValue, value: Any) -> None:
        try:
            self._values[index] = _checked(t, value)
        except (TypeError, ValueError) as e:
            raise type(e)(f"field {name!r} of struct {self.__wc_type__.name}: {e}") from None

    return property(get, put, doc=f"Field of type {spell(t)}.")


def _annotations(cls: type) -> dict[str, Any]:
    """The class's annotations; those written as strings are evaluated where the class was written."""
    frame = sys._getframe(3)  # above `_made`, and `struct` or its decorator
    space = {**frame.f_locals, **vars(cls)}
    return {name: evaluate(a, frame.f_globals, space) for name, a in inspect.get_annotations(cls).items()}


def _placed(offset: int, field: tuple[str, Type]) -> tuple[int, Type, Any]:
    """A field as `RecordLayout` takes it: its byte offset, its type, and its layout if it is a struct."""
    _, t = field
    return offset, t, getattr(python_type(t), "_wc_layout", None) if isinstance(t, Struct) else None


_NOT_COPIED = frozenset(("__dict__", "__weakref__", "__annotations__", "__slots__"))
# What `@dataclass` adds to a class. A struct has its own.
_OF_DATACLASSES = vars(dataclasses.make_dataclass("_", ())).keys() - vars(type("_", (), {})).keys()


def struct(cls: type | None = None, *, module: Any = None) -> Any:
    """Make an annotated class a struct type, for kernel arguments, array elements and fields of other structs.

    Args:
        cls: A class whose annotations name the types of its fields, or a dataclass. A value given in the class is the
            field's default, and so is that of `dataclasses.field`. With `wp.config.dialect = "warp-lang"` there are no
            defaults. Without a class, the result is a decorator.
        module: Without effect, for programs for warp-lang: structs are compiled with the kernels that use them.

    Returns:
        A class with the same name, annotations and methods. Instances have the fields as attributes, zero unless set.
        For programs that look into it, `key` is its name, `vars` its fields by name, each with a `label` and a `type`,
        and `cls` the class itself.

    Raises:
        TypeError: If a field's annotation is not a type of the kernel language.

    >>> Particle = wp.struct(type("Particle", (), {"__annotations__": {"mass": float, "index": int}}))
    >>> Particle(mass=1.5).mass
    1.5
    """
    return _made(cls) if cls is not None else lambda given: _made(given)


def _made(cls: type) -> Any:
    """The struct type of a class that was written in the frame two calls above."""
    fields = []
    for name, annotation in _annotations(cls).items():
        try:
            fields.append((name, wc_type(annotation)))
        except TypeError as e:
            raise TypeError(f"field {name!r} of struct {cls.__name__}: {e}") from None
        if isinstance(fields[-1][1], FixedArray):
            raise TypeError(
                f"field {name!r} of struct {cls.__name__}: local arrays live in kernels only; "
                "use a vector, wp.types.vector(length, dtype)"
            )
    left = _NOT_COPIED | _OF_DATACLASSES if "__dataclass_fields__" in vars(cls) else _NOT_COPIED
    kept = {k: v for k, v in vars(cls).items() if k not in left}
    kept["__annotations__"] = dict(inspect.get_annotations(cls))
    made = class_of(Struct(cls.__name__, tuple(fields)), kept, _defaults(cls))
    made.__qualname__ = cls.__qualname__
    return made


def _defaults(cls: type) -> dict[str, Callable[[], Any]]:
    """What gives fields their values in a new instance. In the dialect of warp-lang, nothing does: they are zero."""
    if config.dialect == "warp-lang":
        return {}
    given = vars(cls) | vars(cls).get("__dataclass_fields__", {})
    made = {name: _default(given[name]) for name in inspect.get_annotations(cls) if name in given}
    return {name: make for name, make in made.items() if make is not None}


def _default(value: Any) -> Callable[[], Any] | None:
    """What makes the default that a class gives to a field, as itself or by `dataclasses.field`; None without one."""
    if not isinstance(value, dataclasses.Field):
        return lambda: value
    if value.default_factory is not dataclasses.MISSING:
        return value.default_factory
    return None if value.default is dataclasses.MISSING else lambda: value.default


def class_of(
    t: Struct,
    members: Mapping[str, Any] = MappingProxyType({}),
    defaults: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
) -> Any:
    """Make the Python class of a struct type, with these members beside its fields."""
    body = {
        **members,
        "__slots__": (),
        "__wc_type__": t,
        "_defaults": dict(defaults),
        "_is_leaf": tuple(isinstance(ft, (Scalar, Array)) for _, ft in t.fields),
        "_zeros": tuple(semantics.convert(0, ft) if isinstance(ft, Scalar) else None for _, ft in t.fields),
        "_parts": tuple(
            (i, python_type(ft))
            for i, (_, ft) in enumerate(t.fields)
            if not isinstance(ft, (Scalar, Array)) and not is_array_struct(ft)
        ),
        "_packer": binary.Struct(binary_format(t)),
        "_wc_layout": _native.RecordLayout(t.size, [_placed(*field) for field in zip(t.offsets, t.fields)]),
    }
    body |= {name: _field(i, name, ft) for i, (name, ft) in enumerate(t.fields)}
    return register(t, StructType(t.name, (StructValue,), body))
