"""The types of the kernel language: immutable, interned, free of behaviour.

Every stage speaks about values through these objects, so two types are equal exactly when they are the same object.
Start with `Scalar` and the constants below it; aggregates are built by calling `Vec(3, F32)` and the like, which
return the one interned instance. Memory layout (size, alignment, offsets) is C-like and the same on every device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_interned: dict[tuple, Type] = {}


class Type:
    """Base of all types. `key` identifies the type in text form, in hashes and in packs."""

    __slots__ = ("align", "key", "size")
    key: str
    size: int
    align: int

    def __repr__(self) -> str:
        return self.key

    def __reduce__(self):
        return parse_type, (self.key,)

    @property
    def is_differentiable(self) -> bool:
        """True if a value of this type carries a derivative: it is or has a floating point number.

        An array does not. It refers to memory, and its elements carry derivatives if their type does.
        """
        return False


def _intern(cls: type, *args) -> Type:
    """The one type of these arguments. Extents come as plain ints: True would name another type than the equal 1."""
    found = _interned.get((cls, *args))
    if found is None:
        found = object.__new__(cls)
        found._init(*args)  # type: ignore[attr-defined]
        # setdefault keeps identity when two threads build the same type at once
        found = _interned.setdefault((cls, *args), found)
    return found


class Scalar(Type):
    """A number or truth value. `kind` is one of bool, int, uint, float, bfloat; `bits` its width in registers."""

    __slots__ = ("bits", "kind")
    kind: str
    bits: int

    def __new__(cls, key: str, kind: str, bits: int) -> Scalar:
        return _intern(cls, key, kind, bits)  # type: ignore[return-value]

    def _init(self, key: str, kind: str, bits: int) -> None:
        self.key, self.kind, self.bits = key, kind, bits
        self.size = self.align = max(1, bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind in ("float", "bfloat")

    @property
    def is_differentiable(self) -> bool:
        return self.is_float

    @property
    def is_int(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.kind == "int"


BOOL = Scalar("bool", "bool", 1)
I8, I16, I32, I64 = (Scalar(f"i{b}", "int", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (Scalar(f"u{b}", "uint", b) for b in (8, 16, 32, 64))
F16, F32, F64 = (Scalar(f"f{b}", "float", b) for b in (16, 32, 64))
BF16 = Scalar("bf16", "bfloat", 16)
SCALARS = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64)
SCALAR_BY_KEY = {s.key: s for s in SCALARS}


class Packed(Type):
    """Base of aggregates made of `count` scalars of one type, laid out without gaps."""

    __slots__ = ("count", "scalar")
    count: int
    scalar: Scalar

    def _set(self, key: str, count: int, scalar: Scalar) -> None:
        self.key, self.count, self.scalar = key, count, scalar
        self.size, self.align = count * scalar.size, scalar.align

    @property
    def is_differentiable(self) -> bool:
        return self.scalar.is_float


class Vec(Packed):
    """A column vector of `count` components."""

    __slots__ = ()

    def __new__(cls, count: int, scalar: Scalar) -> Vec:
        return _intern(cls, int(count), scalar)  # type: ignore[return-value]

    def _init(self, count: int, scalar: Scalar) -> None:
        self._set(f"vec{count}<{scalar.key}>", count, scalar)


class Mat(Packed):
    """A matrix of `rows` x `cols` components in row-major order."""

    __slots__ = ("cols", "rows")
    rows: int
    cols: int

    def __new__(cls, rows: int, cols: int, scalar: Scalar) -> Mat:
        return _intern(cls, int(rows), int(cols), scalar)  # type: ignore[return-value]

    def _init(self, rows: int, cols: int, scalar: Scalar) -> None:
        self.rows, self.cols = rows, cols
        self._set(f"mat{rows}x{cols}<{scalar.key}>", rows * cols, scalar)


class Quat(Packed):
    """A quaternion; components in the order x, y, z, w."""

    __slots__ = ()

    def __new__(cls, scalar: Scalar) -> Quat:
        return _intern(cls, scalar)  # type: ignore[return-value]

    def _init(self, scalar: Scalar) -> None:
        self._set(f"quat<{scalar.key}>", 4, scalar)


class Transform(Packed):
    """A rigid transform: translation x, y, z, then rotation quaternion x, y, z, w."""

    __slots__ = ()

    def __new__(cls, scalar: Scalar) -> Transform:
        return _intern(cls, scalar)  # type: ignore[return-value]

    def _init(self, scalar: Scalar) -> None:
        self._set(f"transform<{scalar.key}>", 7, scalar)


class Struct(Type):
    """A record with named fields, laid out like a C struct. Identity is the name together with the fields."""

    __slots__ = ("fields", "index", "name", "offsets")
    name: str
    fields: tuple[tuple[str, Type], ...]
    offsets: tuple[int, ...]
    index: dict[str, int]

    def __new__(cls, name: str, fields: tuple[tuple[str, Type], ...]) -> Struct:
        return _intern(cls, name, tuple(fields))  # type: ignore[return-value]

    def _init(self, name: str, fields: tuple[tuple[str, Type], ...]) -> None:
        self.name, self.fields = name, fields
        self.index = {field: i for i, (field, _) in enumerate(fields)}
        self.key = f"struct {name}{{{', '.join(f'{n}: {t.key}' for n, t in fields)}}}"
        offsets, at, align = [], 0, 1
        for _, t in fields:
            at = -(-at // t.align) * t.align
            offsets.append(at)
            at, align = at + t.size, max(align, t.align)
        self.offsets = tuple(offsets)
        self.align, self.size = align, max(1, -(-at // align) * align)

    @property
    def is_differentiable(self) -> bool:
        return any(t.is_differentiable for _, t in self.fields)


MAX_NDIM = 4


class Array(Type):
    """A view of device memory: `ndim` (1 to 4) dimensions of elements of `dtype`, with byte strides.

    In memory (kernel arguments, struct fields) an array is the descriptor `wc_array` of native/include/warp_core/abi.h:
    data pointer, gradient pointer, four shapes, four strides, all 64-bit.
    """

    __slots__ = ("dtype", "head", "ndim")
    dtype: Type
    ndim: int
    head: str  # what the key begins with

    def __new__(cls, dtype: Type, ndim: int = 1) -> Array:
        return _intern(cls, dtype, int(ndim))  # type: ignore[return-value]

    def _init(self, dtype: Type, ndim: int) -> None:
        self.dtype, self.ndim, self.head = dtype, ndim, f"array{ndim}"
        self.key = f"{self.head}<{dtype.key}>"
        self.size, self.align = 16 + 16 * MAX_NDIM, 8


class FixedArray(Array):
    """An array of the thread's own: the memory of one variable, with extents known when the kernel compiles.

    As a value it is a descriptor like that of any array; `view` is the type of arrays that it can be passed as.
    """

    __slots__ = ("shape", "view")
    shape: tuple[int, ...]
    view: Array

    def __new__(cls, dtype: Type, shape: tuple[int, ...]) -> FixedArray:  # type: ignore[override]
        return _intern(cls, dtype, tuple(map(int, shape)))  # type: ignore[return-value]

    def _init(self, dtype: Type, shape: tuple[int, ...]) -> None:  # type: ignore[override]
        super()._init(dtype, len(shape))
        self.shape, self.view = shape, Array(dtype, len(shape))
        self.head = f"fixed{'x'.join(map(str, shape))}"
        self.key = f"{self.head}<{dtype.key}>"

    @property
    def bytes(self) -> int:
        """The memory that one thread's array takes."""
        return math.prod(self.shape) * self.dtype.size


class Tile(Type):
    """Elements of `dtype` that a block of threads works on together: a value that cannot be changed in place, with 1 to
    4 extents known when the kernel compiles. All threads of the block have the same tile.
    """

    __slots__ = ("dtype", "head", "ndim", "shape")
    dtype: Type
    shape: tuple[int, ...]
    ndim: int
    head: str  # what the key begins with

    def __new__(cls, dtype: Type, shape: Sequence[int]) -> Tile:
        return _intern(cls, dtype, tuple(map(int, shape)))  # type: ignore[return-value]

    def _init(self, dtype: Type, shape: tuple[int, ...]) -> None:
        self.dtype, self.shape, self.ndim = dtype, shape, len(shape)
        self.head = f"tile{'x'.join(map(str, shape))}"
        self.key = f"{self.head}<{dtype.key}>"
        self.size, self.align = math.prod(shape) * dtype.size, dtype.align

    @property
    def memory(self) -> FixedArray:
        """The memory that holds the elements, in row-major order."""
        return FixedArray(self.dtype, self.shape)

    @property
    def is_differentiable(self) -> bool:
        return self.dtype.is_differentiable


class Void(Type):
    """The type of an operation without a result."""

    __slots__ = ()

    def __new__(cls) -> Void:
        return _intern(cls)  # type: ignore[return-value]

    def _init(self) -> None:
        self.key, self.size, self.align = "void", 0, 1


VOID = Void()


def members(t: Type) -> tuple[Type, ...]:
    """The direct members of an aggregate: components of a packed type, fields of a struct."""
    if isinstance(t, Packed):
        return (t.scalar,) * t.count
    if isinstance(t, Struct):
        return tuple(ft for _, ft in t.fields)
    raise TypeError(f"{t} has no members")


def leaves(t: Type) -> tuple[tuple[int, Type], ...]:
    """(byte offset, scalar or array type) of every leaf of `t`, in memory order."""
    if isinstance(t, Packed):
        return tuple((i * t.scalar.size, t.scalar) for i in range(t.count))
    if isinstance(t, Struct):
        return tuple((off + o, leaf) for off, (_, ft) in zip(t.offsets, t.fields) for o, leaf in leaves(ft))
    return ((0, t),)


def member_at(t: Type, path: Sequence[int]) -> tuple[int, Type]:
    """Return the byte offset and the type of the member of struct `t` to which a path of member numbers leads."""
    offset = 0
    for member in path:
        assert isinstance(t, Struct)
        offset, t = offset + t.offsets[member], t.fields[member][1]
    return offset, t


def element(t: Type) -> Any:
    """The scalar that arithmetic on `t` works on: itself for scalars, the component type for packed types.

    Types without arithmetic are given back too; callers that may meet them look.
    """
    return t.scalar if isinstance(t, Packed) else t


def parse_type(text: str) -> Type:
    """The type whose `key` is `text`. Raises ValueError on anything else."""
    t, rest = _parse(text.strip())
    if rest.strip():
        raise ValueError(f"trailing text in type {text!r}")
    return t


def _parse(s: str) -> tuple[Type, str]:
    s = s.lstrip()
    if s.startswith("struct "):
        return _parse_struct(s)
    for i, c in enumerate(s):
        if not c.isalnum():
            word, rest = s[:i], s[i:]
            break
    else:
        word, rest = s, ""
    if word == "void":
        return VOID, rest
    if word in SCALAR_BY_KEY:
        return SCALAR_BY_KEY[word], rest
    if not rest.startswith("<"):
        raise ValueError(f"unknown type {word!r}")
    inner, rest = _parse(rest[1:])
    if not rest.startswith(">"):
        raise ValueError(f"missing '>' after {inner}")
    return _parametric(word, inner), rest[1:]


def _parametric(word: str, inner: Type) -> Type:
    array = array_type(word, inner)
    if array is not None:
        return array
    if isinstance(inner, Scalar):
        if word == "quat":
            return Quat(inner)
        if word == "transform":
            return Transform(inner)
        if word.startswith("vec") and word[3:].isdigit():
            return Vec(int(word[3:]), inner)
        rows, _, cols = word.removeprefix("mat").partition("x")
        if word.startswith("mat") and rows.isdigit() and cols.isdigit():
            return Mat(int(rows), int(cols), inner)
    raise ValueError(f"unknown type {word}<{inner}>")


def array_type(head: str, dtype: Type) -> Array | Tile | None:
    """The type of arrays or tiles of this `head` and element type, None if it is the head of other types."""
    if head.startswith("array") and head[5:].isdigit():
        return Array(dtype, int(head[5:]))
    for word, kind in (("fixed", FixedArray), ("tile", Tile)):
        extents = head.removeprefix(word).split("x")
        if head.startswith(word) and len(extents) <= MAX_NDIM and all(map(str.isdigit, extents)):
            return kind(dtype, tuple(map(int, extents)))
    return None


def _parse_struct(s: str) -> tuple[Struct, str]:
    name, _, rest = s[len("struct ") :].partition("{")
    fields = []
    while not rest.lstrip().startswith("}"):
        field, _, rest = rest.partition(":")
        t, rest = _parse(rest)
        fields.append((field.strip(), t))
        rest = rest.lstrip().removeprefix(",")
        if not rest:
            raise ValueError(f"unterminated struct {name!r}")
    return Struct(name, tuple(fields)), rest.lstrip()[1:]
