"""Type parameters and patterns of generic signatures, and how they are matched.

    def dot(a: Vec[N, T], b: Vec[N, T]) -> T: ...

`Vec[N, T]` is a pattern over the type variables N (a length) and T (a scalar type). Matching argument types against the
parameters of a signature binds the variables (`unify`). Inside the body of a function a type variable stands for what
it was bound to, so `T(0)` and `range(N)` mean what they say. A pattern without variables is the type itself:
`Vec[3, float]` is `types.Vec(3, F32)`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable

from . import types
from .array_structs.array_struct_types import fabric, fabric_name, fabric_parts, indexed, indexed_array
from .types import Type


class TypeVar:
    """A variable of a signature. `kind` says what it may stand for: see `_ADMITS`; `among`, if not empty, names the
    only types. Every occurrence of a `free` one stands on its own.
    """

    __slots__ = ("among", "free", "kind", "name")

    def __init__(self, name: str, kind: str, free: bool = False, among: tuple[Type, ...] = ()):
        self.name, self.kind, self.free, self.among = name, kind, free, among

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name  # copies are the variable itself

    def __call__(self, *args):
        """At Python scope a type variable means nothing; in a kernel body `T(x)` converts to the bound type."""
        raise TypeError(f"type variable {self.name} works only inside generic functions")


_ADMITS = {
    "scalar": lambda t: isinstance(t, types.Scalar) and t is not types.BOOL,
    "any_scalar": lambda t: isinstance(t, types.Scalar),
    "float": lambda t: isinstance(t, types.Scalar) and t.is_float,
    "int": lambda t: isinstance(t, types.Scalar) and t.is_int,
    "length": lambda t: isinstance(t, int),
    "type": lambda t: isinstance(t, Type),
    "any": lambda t: isinstance(t, (Type, int)),
    "record": lambda t: isinstance(t, types.Struct),
    "constant": lambda t: False,  # bound to compile-time values by the caller, never to a type
}

Any = TypeVar("Any", "any", free=True)
Scalar = TypeVar("Scalar", "scalar")
Float = TypeVar("Float", "float")
Int = TypeVar("Int", "int")
AnyScalar = TypeVar("AnyScalar", "any_scalar")
T = TypeVar("T", "scalar")
U = TypeVar("U", "scalar")
F = TypeVar("F", "float")
S = TypeVar("S", "type")
N, M, K, L = (TypeVar(name, "length") for name in "NMKL")
Constant = TypeVar("Constant", "constant")  # a compile-time argument: a type, number, string or function


class Pattern:
    """A type constructor applied to parameters of which some are type variables or patterns."""

    __slots__ = ("head", "params")

    def __init__(self, head: str, params: tuple):
        self.head, self.params = head, params

    def __repr__(self) -> str:
        return f"{self.head}[{', '.join(map(spell_pattern, self.params))}]"

    def __eq__(self, other) -> bool:
        return isinstance(other, Pattern) and (self.head, self.params) == (other.head, other.params)

    def __hash__(self) -> int:
        return hash((self.head, self.params))


class Reference:
    """A parameter that the function may change for its caller; `pattern` is the type, or pattern, of what is passed."""

    __slots__ = ("pattern",)

    def __init__(self, pattern: typing.Any):
        self.pattern = pattern

    @property
    def __wc_type__(self) -> Reference:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash((Reference, self.pattern))

    def __repr__(self) -> str:
        return f"wp.ref[{spell_pattern(self.pattern)}]"


class TuplePattern:
    """A parameter that takes a tuple. `items` are the types and patterns of its items; a `repeated` one has a single
    item, which stands for any number of them.
    """

    __slots__ = ("items", "repeated")

    def __init__(self, items: tuple, repeated: bool = False):
        self.items, self.repeated = items, repeated

    def items_for(self, count: int) -> tuple | None:
        """The patterns of `count` items, None if the tuple has another number of them."""
        if self.repeated:
            return self.items * count
        return self.items if len(self.items) == count else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TuplePattern) and (self.items, self.repeated) == (other.items, other.repeated)

    def __hash__(self) -> int:
        return hash((TuplePattern, self.items, self.repeated))

    def __repr__(self) -> str:
        return f"tuple[{', '.join(map(spell_pattern, self.items))}{', ...' if self.repeated else ''}]"


def plain(pattern: typing.Any) -> typing.Any:
    """The type or pattern of a parameter's value."""
    return pattern.pattern if isinstance(pattern, Reference) else pattern


_BUILD: dict[str, Callable[..., Type]] = {
    "Vec": types.Vec,
    "Mat": types.Mat,
    "Quat": types.Quat,
    "Transform": types.Transform,
    "Array": lambda dtype, ndim=1: types.Array(dtype, ndim),
    "Indexed": lambda dtype, ndim=1: indexed(types.Array(dtype, ndim)),
    "Fabric": fabric,
    "Tile": lambda dtype, *shape: types.Tile(dtype, shape),
}


def _struct_parts(t: types.Struct) -> tuple[str, tuple]:
    array, parts = indexed_array(t), fabric_parts(t)
    return ("Indexed", (array.dtype, array.ndim)) if array else ("Fabric", parts) if parts else ("", ())


# The pattern of a type: its head and its parameters.
_PARTS: dict[type, Callable[[typing.Any], tuple[str, tuple]]] = {
    types.Vec: lambda t: ("Vec", (t.count, t.scalar)),
    types.Mat: lambda t: ("Mat", (t.rows, t.cols, t.scalar)),
    types.Quat: lambda t: ("Quat", (t.scalar,)),
    types.Transform: lambda t: ("Transform", (t.scalar,)),
    types.Array: lambda t: ("Array", (t.dtype, t.ndim)),
    types.Struct: _struct_parts,
    types.Tile: lambda t: ("Tile", (t.dtype, *t.shape)),
}
_PYTHON = {int: types.I32, float: types.F32, bool: types.BOOL}


def _apply(head: str, params: tuple):
    params = (*params, 1) if head == "Array" and len(params) == 1 else params
    params = tuple(getattr(p, "__wc_type__", _PYTHON.get(p, p) if isinstance(p, type) else p) for p in params)
    if any(isinstance(p, (TypeVar, Pattern)) for p in params):
        return Pattern(head, params)
    return _BUILD[head](*params)


class _Head:
    head = ""

    def __class_getitem__(cls, params):
        return _apply(cls.head, params if isinstance(params, tuple) else (params,))


class Vec(_Head):
    """`Vec[N, T]`."""

    head = "Vec"


class Mat(_Head):
    """`Mat[M, N, T]`: rows, columns, scalar type."""

    head = "Mat"


class Quat(_Head):
    """`Quat[T]`."""

    head = "Quat"


class Transform(_Head):
    """`Transform[T]`."""

    head = "Transform"


class Array(_Head):
    """`Array[S]`, `Array[S, ndim]`."""

    head = "Array"


class Tile(_Head):
    """`Tile[S, N]`, `Tile[S, M, N]`: element type and extents."""

    head = "Tile"


def is_generic(pattern) -> bool:
    """True if matching `pattern` needs bindings."""
    if isinstance(pattern, TuplePattern):
        return any(map(is_generic, pattern.items))
    return isinstance(pattern, (TypeVar, Pattern))


def passed(t, pattern):
    """The type as which a function gets an argument of type `t`: views of local arrays, unless it takes those."""
    return t.view if isinstance(t, types.FixedArray) and pattern is not t and not isinstance(pattern, TypeVar) else t


def unify(pattern, t, bindings: dict[str, object]) -> bool:
    """Match type (or length) `t` against `pattern`, adding to `bindings`. False, with bindings in any state, if not."""
    if isinstance(pattern, TypeVar):
        if not admits(pattern, t):
            return False
        bound = t if pattern.free else bindings.setdefault(pattern.name, t)
        return bound is t or (bound == t and isinstance(t, int))
    if isinstance(pattern, Pattern):
        head, parts = _PARTS[type(t)](t) if type(t) in _PARTS else ("", ())
        if head != pattern.head:
            return False
        return len(parts) == len(pattern.params) and all(unify(p, x, bindings) for p, x in zip(pattern.params, parts))
    return pattern is t or (pattern == t and isinstance(t, int))


def substitute(pattern, bindings: dict[str, object]):
    """`pattern` with its variables replaced; still a pattern where a variable is unbound."""
    if isinstance(pattern, TypeVar):
        return pattern if pattern.free else bindings.get(pattern.name, pattern)
    if isinstance(pattern, Pattern):
        return _apply(pattern.head, tuple(substitute(p, bindings) for p in pattern.params))
    if isinstance(pattern, TuplePattern):
        return TuplePattern(tuple(substitute(p, bindings) for p in pattern.items), pattern.repeated)
    return pattern


def admits(variable: TypeVar, t) -> bool:
    """True if `variable` may stand for `t`, bindings aside."""
    return _ADMITS[variable.kind](t) and (not variable.among or t in variable.among)


def spell_pattern(pattern) -> str:
    """A pattern in the words of signatures."""
    if isinstance(pattern, Pattern) and pattern.head == "Fabric":
        dtype, ndim, is_indexed = pattern.params
        return f"{fabric_name(ndim, is_indexed)}[{spell_pattern(dtype)}]"
    if isinstance(pattern, Pattern) and pattern.head in ("Array", "Indexed"):
        dtype, ndim = pattern.params
        head = pattern.head.lower().replace("indexed", "indexedarray")
        if not isinstance(ndim, int):
            return f"{head}[{spell_pattern(dtype)}, {ndim}]"
        return f"{head}{f'{ndim}d' if ndim != 1 else ''}[{spell_pattern(dtype)}]"
    return repr(pattern) if isinstance(pattern, (TypeVar, Pattern, TuplePattern, int)) else spell(pattern)


_SCALAR_NAMES = {"bool": "bool", "bf16": "bfloat16"}
_SUFFIX = {
    types.F32: "f",
    types.F64: "d",
    types.F16: "h",
    types.I32: "i",
    types.I64: "l",
    types.I16: "s",
    types.I8: "b",
    types.U32: "ui",
    types.U64: "ul",
    types.U16: "us",
    types.U8: "ub",
}


def spell(t) -> str:
    """Return the name of a type, that of its class: float32, vec3f, mat33d, array2d[float32], the name of a struct."""
    if isinstance(t, types.Scalar):
        if t.key in _SCALAR_NAMES:
            return _SCALAR_NAMES[t.key]
        return f"{'uint' if t.kind == 'uint' else t.kind}{t.bits}"
    if isinstance(t, types.Vec):
        known = 2 <= t.count <= 4 and t.scalar in _SUFFIX
        return f"vec{t.count}{_SUFFIX[t.scalar]}" if known else f"vector({t.count}, {spell(t.scalar)})"
    if isinstance(t, types.Mat):
        known = t.rows == t.cols and 2 <= t.rows <= 4 and t.scalar in (types.F16, types.F32, types.F64)
        short = f"mat{t.rows}{t.cols}{_SUFFIX.get(t.scalar, '')}"
        return short if known else f"matrix(({t.rows}, {t.cols}), {spell(t.scalar)})"
    if isinstance(t, (types.Quat, types.Transform)):
        return f"{'quat' if isinstance(t, types.Quat) else 'transform'}{_SUFFIX.get(t.scalar, '')}"
    array, parts = indexed_array(t), fabric_parts(t)
    if array:
        return f"indexed{spell(array)}"
    if parts:
        return f"{fabric_name(*parts[1:])}[{spell(parts[0])}]"
    if isinstance(t, types.Struct):
        return t.name
    if isinstance(t, types.Tile):
        return f"tile[{spell(t.dtype)}, {', '.join(map(str, t.shape))}]"
    if isinstance(t, types.FixedArray):
        return f"fixedarray[{spell(t.dtype)}, {t.shape[0] if t.ndim == 1 else t.shape}]"
    if isinstance(t, types.Array):
        return f"array{f'{t.ndim}d' if t.ndim > 1 else ''}[{spell(t.dtype)}]"
    return str(t)
