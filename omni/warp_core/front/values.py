"""Values of expressions while a kernel is lowered: an IR `Value`, or one of the compile-time kinds below.

Locals are bound to IR values, tuples of them, or compile-time objects; literals get a type when they are bound.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..ir.nodes import Loc, Value
from ..lang.generics import spell
from ..lang.semantics import convert, int_range
from ..lang.types import BOOL, F32, I32, I64, FixedArray, Scalar, Tile, Type

if TYPE_CHECKING:
    from .context import Context


class UntypedLiteral:
    """A bare number of the source: it has no type until it meets one."""

    __slots__ = ("value",)

    def __init__(self, value: bool | int | float):
        self.value = value

    @property
    def type(self) -> Scalar:
        """The type it takes where nothing else asks for one."""
        if isinstance(self.value, bool):
            return BOOL
        return I32 if isinstance(self.value, int) else F32

    def fits(self, t: Type) -> bool:
        """True if the literal has an exact meaning as `t`; decimal fractions may round, integers may not."""
        if not isinstance(t, Scalar):
            return False
        v = self.value
        if isinstance(v, bool):
            return t is BOOL
        if isinstance(v, int):
            if t.is_float:
                return abs(v) < 2**1024 and convert(v, t) == v
            return t.is_int and int_range(t)[0] <= v <= int_range(t)[1]
        return t.is_float


class EnumMember(UntypedLiteral):
    """A member of an enum whose value is a number: that number, and what `.value` and `.name` are asked of."""

    __slots__ = ("member",)

    def __init__(self, member: enum.Enum):
        super().__init__(member.value)
        self.member = member


class Static:
    """A Python object known when the kernel compiles: a string, None, a module, a type, a function."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any):
        self.obj = obj


class TupleValue:
    """A tuple whose items are front values."""

    __slots__ = ("items",)

    def __init__(self, items):
        self.items: tuple[Front, ...] = tuple(items)

    @property
    def size(self) -> int:
        """The number of items, those of its tuples included."""
        return sum(i.size if isinstance(i, TupleValue) else 1 for i in self.items)


class ArrayShape(TupleValue):
    """The numbers of elements of an array in each dimension."""

    __slots__ = ()


@dataclass(slots=True)
class PassedItem:
    """A run-time item of a tuple that a function is called with. `parameter` brings its value."""

    parameter: str


class FormattedString(TupleValue):
    """An f-string with run-time parts: a tuple that prints without separators. `specs` has a format for each part."""

    __slots__ = ("specs",)

    def __init__(self, items, specs):
        super().__init__(items)
        self.specs: tuple[str, ...] = tuple(specs)


@dataclass(slots=True)
class ElementRef:
    """A place inside an array element, not loaded yet: `array[indices]` and members below it (`path`, with the values
    of dynamic component indices in `dynamic`). Of several components, these are its `run`, a `places.Run`.
    """

    array: Value
    indices: tuple[Value, ...]
    type: Type
    path: tuple[int, ...] = ()
    dynamic: tuple[Value, ...] = ()
    run: Any = None

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.array, *self.indices, *self.dynamic)


@dataclass(slots=True, eq=False)
class TileView:
    """Elements of a tile in another arrangement, not copied yet. `root` is the local that holds the tile, so that the
    elements can be changed, or a tile without a name. `at` gives the coordinates in the root of those in the view, None
    if they are the same; `strides` are counted in elements of the root.
    """

    root: str | Value
    type: Tile
    strides: tuple[int, ...]
    at: Callable[[list[Value]], list[Value]] | None = None
    home: Any = None  # the region in which a local is bound to it


@dataclass(slots=True)
class Address:
    """The address of an array (`a.ptr`) and an int64 of bytes behind it: what `wp.array(ptr=...)` makes a view of."""

    array: Value
    offset: Value


@dataclass(slots=True)
class Closure:
    """A lambda: its body is lowered at each call."""

    node: ast.Lambda
    home: Context
    names: dict[str, Any]


@dataclass(slots=True)
class Undefined:
    """A local that some path leaves unassigned; reading it is an error that names both lines."""

    where: Loc | None
    why: str


@dataclass(slots=True)
class MaybeUndefined(Undefined):
    """A local assigned inside `a and (x := b)`: it has its value where the condition is `when`, and none elsewhere."""

    value: Any = None
    when: bool = True


class Poison:
    """A local whose assignment was refused; reading it says nothing more."""


POISON = Poison()

Front = Value | UntypedLiteral | Static | TupleValue | ElementRef | TileView | Address | Closure


def with_parameters(x: Any, renamed: Callable[[str], str]) -> Any:
    """A compile-time argument whose items are passed by parameters of other names."""
    if isinstance(x, PassedItem):
        return PassedItem(renamed(x.parameter))
    return TupleValue([with_parameters(i, renamed) for i in x.items]) if isinstance(x, TupleValue) else x


def spell_front(x: Any) -> str:
    """The type of a front value, in the words of the source."""
    if isinstance(x, (Value, ElementRef, TileView)):
        return spell(x.type)
    if isinstance(x, UntypedLiteral):
        return f"the literal {spell_brief(x)}"
    if isinstance(x, TupleValue):
        return f"({', '.join(map(spell_front, x.items))}{',' if len(x.items) == 1 else ''})"
    if isinstance(x, Address):
        return "the address of an array"
    if isinstance(x, Closure):
        return "a lambda"
    return spell_static(x.obj) if isinstance(x, Static) else "a range"


def spell_brief(x: Any) -> str:
    """A front value in a list of arguments: literals as they are written, anything else by its type."""
    return _shortened(repr(x.value)) if isinstance(x, UntypedLiteral) else spell_front(x)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:28]}...{text[-28:]}"


def spell_static(obj: Any) -> str:
    """A compile-time object in an error."""
    if obj is None or isinstance(obj, str):
        return _shortened(repr(obj))
    name = getattr(obj, "__name__", None)
    if isinstance(obj, type):
        return f"type {name}"
    return f"`{name}`" if name else f"an object of type {type(obj).__name__}"


def flatten(x: Any) -> tuple[Any, list[Value]]:
    """The shape of a binding and its IR values: two bindings can be merged when their shapes are equal."""
    if isinstance(x, Value):
        return x.type, [x]
    if isinstance(x, TupleValue):
        parts = [flatten(i) for i in x.items]
        return tuple(shape for shape, _ in parts), [v for _, vs in parts for v in vs]
    if isinstance(x, Address) and not isinstance(x.array.type, FixedArray):
        return _AddressIn(x.array.type), [x.array, x.offset]
    return _Same(x), []


class _AddressIn(NamedTuple):
    """The shape of an address in arrays of a type."""

    type: Type


class _Same:
    """The shape of a compile-time object: equal only to the shape of the same object."""

    __slots__ = ("x",)

    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return False
        a, b = self.x, other.x
        if isinstance(a, Static) and isinstance(b, Static):
            return a.obj is b.obj or (type(a.obj) is type(b.obj) and a.obj == b.obj)
        return a is b

    __hash__ = None  # type: ignore[assignment]


def unflatten(shape: Any, values: list[Value]) -> Any:
    """The binding of this shape, taking its values from the front of the list."""
    if isinstance(shape, _AddressIn):
        return Address(values.pop(0), values.pop(0))
    if isinstance(shape, tuple):
        return TupleValue([unflatten(s, values) for s in shape])
    if isinstance(shape, _Same):
        return shape.x
    return values.pop(0)


def shape_types(shape: Any) -> list[Type]:
    """The IR types inside a shape, in order."""
    if isinstance(shape, _AddressIn):
        return [shape.type, I64]
    if isinstance(shape, tuple):
        return [t for s in shape for t in shape_types(s)]
    return [] if isinstance(shape, _Same) else [shape]


def spell_shape(shape: Any) -> str:
    """A shape in the words of the source."""
    if isinstance(shape, _AddressIn):
        return f"an address in {spell(shape.type)}"
    if isinstance(shape, tuple):
        return f"({', '.join(map(spell_shape, shape))})"
    return spell_front(shape.x) if isinstance(shape, _Same) else spell(shape)
