"""The scalar types as Python classes: `wp.float32`, `wp.int8` and the rest.

A class names its type in annotations and dtypes; an instance is a typed number that computes exactly as compiled code
does (see `semantics`). Integers wrap, `/` truncates on integers, floats round once to their own width. There is no
implicit conversion between two typed numbers; a plain Python number takes the type of the typed operand if it fits.
Start with `ScalarValue`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextvars import ContextVar
from operator import index
from typing import Any, ClassVar

from ... import _native
from ...late_bound import late
from .. import semantics
from ..types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, SCALARS, U8, U16, U32, U64, Scalar

__all__ = [  # noqa: RUF022 - in the order of their widths
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "handle",
]

Number = semantics.Number

# Components of vectors and elements of structs are plain Python numbers where Python has the type (bool, int32,
# float32). While a kernel is interpreted, all numbers are typed, so that integers wrap as they must.
typed_components: ContextVar[builtins.bool] = _native.typed_components
PLAIN = frozenset((BOOL, I32, F32))

SCALAR_CLASSES: dict[Scalar, type[ScalarValue]] = {}


def component(t: Scalar, value: Number) -> Any:
    """`value`, which is in the range of `t`, as user code sees a component: plain or typed."""
    if t in PLAIN and not typed_components.get():
        return value
    return SCALAR_CLASSES[t]._make(value)


def plain_number(value: Any) -> Number | None:
    """The Python number inside a typed scalar, a Python or a NumPy number, or an integer of another library, such as an
    enumeration made by pybind11; None for anything else.
    """
    if isinstance(value, ScalarValue):
        return value.value
    if isinstance(value, (int, float)):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        item = value.item()
        return item if isinstance(item, (int, float)) else None
    is_integer = hasattr(type(value), "__index__") and not hasattr(value, "shape")  # which arrays have, of any size
    return index(value) if is_integer else None


def scalar_type_of(value: Any) -> Scalar | None:
    """The type of a typed scalar or of a NumPy scalar; None for Python literals and for what is no scalar."""
    if isinstance(value, ScalarValue):
        return value.__wc_type__
    if isinstance(value, (int, float)):  # includes numpy.float64, which users write where they mean a literal
        return None
    if getattr(value, "shape", None) != ():
        return None
    return _BY_NUMPY_NAME.get(getattr(getattr(value, "dtype", None), "name", ""))


def operand(t: Scalar, value: Any) -> Number | None:
    """`value` as an operand next to type `t`, or None if it is no number. Raises TypeError if it would need a cast."""
    number = plain_number(value)
    if number is None:
        return None
    u = scalar_type_of(value)
    if u is t:
        return number
    name = SCALAR_CLASSES[t].__name__
    if u is not None:
        raise TypeError(
            f"operands are {name} and {SCALAR_CLASSES[u].__name__}: there is no implicit conversion between typed "
            f"numbers; convert one, for example wp.{name}(x)"
        )
    if not semantics.fits(number, t):
        raise TypeError(f"{number!r} does not fit {name}; convert it explicitly, for example wp.{name}({number!r})")
    return semantics.convert(number, t)


def _binary(name: str) -> tuple[Callable, Callable]:
    rule = semantics.BINARY[name]

    def forward(self: ScalarValue, other: Any) -> Any:
        t = self.__wc_type__
        x = other.value if type(other) is type(self) else operand(t, other)
        return NotImplemented if x is None else self._make(rule(t, self.value, x))

    def reverse(self: ScalarValue, other: Any) -> Any:
        t = self.__wc_type__
        x = operand(t, other)
        return NotImplemented if x is None else self._make(rule(t, x, self.value))

    return forward, reverse


def _comparison(name: str) -> Callable:
    rule = semantics.COMPARE[name]

    def compare(self: ScalarValue, other: Any) -> Any:
        x = plain_number(other)
        if x is None:
            return NotImplemented
        t = self.__wc_type__
        if t.is_float and scalar_type_of(other) is None:
            x = semantics.convert(x, t)  # a literal takes the type of the operand, so float32(0.1) == 0.1
        return rule(self.value, x)

    return compare


class ComponentCType:
    """The type of `ctypes` that a number has, or a component, as an attribute of a class of values."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        t = owner.__wc_type__
        return late("ctype_of")(getattr(t, "scalar", t))


class ScalarValue(_native.Number):
    """A number of a fixed type. `value` holds it as a Python number that is in range and rounded."""

    __slots__ = ()
    __wc_type__: ClassVar[Scalar]
    _length_ = 1  # for programs that ask types for their components
    _type_ = ComponentCType()

    def __init_subclass__(cls) -> None:
        if "__wc_type__" in cls.__dict__:
            SCALAR_CLASSES[cls.__wc_type__] = cls
            _native.set_number_class(cls.__wc_type__.key, cls)

    def __init__(self, value: Any = 0):
        number = plain_number(value)
        if number is None:
            raise TypeError(f"{type(self).__name__}() takes a number, got {type(value).__name__}: {value!r}")
        self.value = semantics.convert(number, self.__wc_type__)

    @classmethod
    def _parse(cls, value: Any) -> tuple[Number, ...]:
        return (cls(value).value,)

    def __reduce__(self) -> tuple:
        return type(self), (self.value,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def __str__(self) -> str:
        t = self.__wc_type__
        return semantics.shortest(self.value, t) if t.is_float else str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> builtins.bool:
        return self.value != 0

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def _wc_pack(self) -> bytes:
        t = self.__wc_type__
        return semantics.bits_of(self.value, t).to_bytes(t.size, "little")

    __eq__ = _comparison("eq")
    __ne__ = _comparison("ne")
    __lt__ = _comparison("lt")
    __le__ = _comparison("le")
    __gt__ = _comparison("gt")
    __ge__ = _comparison("ge")


class _Bits(ScalarValue):
    """Methods that booleans and integers share."""

    __slots__ = ()
    __and__, __rand__ = _binary("and")
    __or__, __ror__ = _binary("or")
    __xor__, __rxor__ = _binary("xor")

    def __invert__(self) -> Any:
        return self._make(semantics.UNARY["not"](self.__wc_type__, self.value))


class _Numeric(ScalarValue):
    """Methods that integers and floats share."""

    __slots__ = ()
    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("div")
    __floordiv__, __rfloordiv__ = _binary("floordiv")
    __mod__, __rmod__ = _binary("rem")

    def __neg__(self) -> Any:
        return self._make(semantics.UNARY["neg"](self.__wc_type__, self.value))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._make(semantics.UNARY["abs"](self.__wc_type__, self.value))

    def __round__(self, ndigits: int | None = None) -> Any:
        return type(self)(round(self.value, ndigits))

    def __pow__(self, other: Any) -> Any:
        x = operand(self.__wc_type__, other)
        return NotImplemented if x is None else self._make(semantics.power(self.__wc_type__, self.value, x))

    def __rpow__(self, other: Any) -> Any:
        x = operand(self.__wc_type__, other)
        return NotImplemented if x is None else self._make(semantics.power(self.__wc_type__, x, self.value))


class _Integer(_Numeric, _Bits):
    __slots__ = ()
    __lshift__, __rlshift__ = _binary("shl")
    __rshift__, __rrshift__ = _binary("shr")

    def __index__(self) -> int:
        return self.value  # type: ignore[return-value]


class int8(_Integer):
    """A signed integer of 8 bits."""

    __slots__ = ()
    __wc_type__ = I8


class int16(_Integer):
    """A signed integer of 16 bits."""

    __slots__ = ()
    __wc_type__ = I16


class int32(_Integer):
    """A signed integer of 32 bits; `int` in annotations and dtypes means this type.

    >>> wp.int32(2**31 - 1) + 1
    int32(-2147483648)
    """

    __slots__ = ()
    __wc_type__ = I32


class int64(_Integer):
    """A signed integer of 64 bits."""

    __slots__ = ()
    __wc_type__ = I64


class uint8(_Integer):
    """An unsigned integer of 8 bits."""

    __slots__ = ()
    __wc_type__ = U8


class uint16(_Integer):
    """An unsigned integer of 16 bits."""

    __slots__ = ()
    __wc_type__ = U16


class uint32(_Integer):
    """An unsigned integer of 32 bits."""

    __slots__ = ()
    __wc_type__ = U32


class uint64(_Integer):
    """An unsigned integer of 64 bits."""

    __slots__ = ()
    __wc_type__ = U64


handle = uint64  # the type of ids of meshes, volumes and other structures, as later versions of warp-lang name it


class float16(_Numeric):
    """A half precision float: 11 significant bits, at most 65504."""

    __slots__ = ()
    __wc_type__ = F16


class bfloat16(_Numeric):
    """The upper half of a float32: 8 significant bits, the range of float32."""

    __slots__ = ()
    __wc_type__ = BF16


class float32(_Numeric):
    """A single precision float; `float` in annotations and dtypes means this type.

    >>> wp.float32(1.0) / 3
    float32(0.3333333432674408)
    """

    __slots__ = ()
    __wc_type__ = F32


class float64(_Numeric):
    """A double precision float."""

    __slots__ = ()
    __wc_type__ = F64


class bool(_Bits):
    """A truth value, one byte in memory. From here on this module's `bool` is the class, not the builtin."""

    __slots__ = ()
    __wc_type__ = BOOL


_BY_NUMPY_NAME = {SCALAR_CLASSES[t].__name__: t for t in SCALARS}
