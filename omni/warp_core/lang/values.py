"""Vectors, matrices, quaternions and transforms as Python classes, and the way between values and their leaf numbers.

There is one class per type; the usual ones have names (`vec3`, `mat44d`), the others come from `vector`, `matrix`,
`quaternion` and `transformation`. Start with `Components`, what all of them share; `packing` holds their storage. The
rest of the package uses `python_type`, `wc_type`, `to_leaves` and `from_leaves`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from . import semantics
from .scalars import SCALAR_CLASSES, component, operand, plain_number, scalar_type_of
from .storage import storage_class
from .types import (
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Mat,
    Packed,
    Quat,
    Scalar,
    Transform,
    Type,
    Vec,
    parse_type,
)

SUFFIXES = {
    F16: "h",
    F32: "f",
    F64: "d",
    I8: "b",
    I16: "s",
    I32: "i",
    I64: "l",
    U8: "ub",
    U16: "us",
    U32: "ui",
    U64: "ul",
}
_PYTHON_SCALARS: dict[Any, Scalar] = {bool: BOOL, int: I32, float: F32}
_classes: dict[Type, Any] = {}


def register(t: Type, cls: Any) -> None:
    """Make `cls` the Python type of `t` (structs do)."""
    _classes[t] = cls


def wc_type(dtype: Any) -> Type:
    """The type that a dtype or annotation names: a class of this package, or Python's bool, int or float.

    Raises:
        TypeError: If `dtype` names no type of the language.
    """
    t = getattr(dtype, "__wc_type__", None)
    if isinstance(t, Type):
        return t
    if isinstance(dtype, type) and dtype in _PYTHON_SCALARS:
        return _PYTHON_SCALARS[dtype]
    raise TypeError(f"{dtype!r} is not a type of the kernel language (scalars, vec, mat, quat, transform, @wp.struct)")


def python_type(t: Type) -> Any:
    """The Python class of values of type `t`."""
    cls = SCALAR_CLASSES.get(t) or _classes.get(t)  # type: ignore[call-overload]
    return cls if cls is not None else _define(t)


def to_leaves(value: Any, t: Type) -> tuple[Any, ...]:
    """`value` checked and taken apart into the leaf numbers of type `t`, in memory order.

    Accepts a value of the type itself, Python and NumPy numbers for scalars, and sequences for packed types.

    Raises:
        TypeError: If `value` would need a conversion that loses its kind (float to int, one vector type to another).
        ValueError: If it has the wrong number of components or is out of range.
    """
    if getattr(value, "__wc_type__", None) is t:
        return (value.value,) if isinstance(t, Scalar) else value._leaves()
    if isinstance(t, Scalar):
        return (scalar_leaf(value, t),)
    cls = python_type(t)
    if isinstance(t, Packed) and isinstance(value, Components):
        raise TypeError(f"expected {cls.__name__}, got {type(value).__name__}; convert it with {cls.__name__}(...)")
    return cls._parse(value)


def scalar_leaf(value: Any, t: Scalar) -> semantics.Number:
    """A plain number for a slot of type `t`: in range for integers, rounded for floats."""
    number = plain_number(value)
    name = SCALAR_CLASSES[t].__name__
    if number is None:
        raise TypeError(f"expected {name}, got {type(value).__name__}: {value!r}")
    if t.is_int:
        if isinstance(number, float):
            raise TypeError(f"expected {name}, got the float {number!r}; convert it with int(...)")
        low, high = semantics.int_range(t)
        if not low <= number <= high:
            raise ValueError(f"{number} is out of range for {name} ({low} to {high})")
        return int(number)
    return semantics.convert(number, t)


def from_leaves(t: Type, leaves: Sequence[Any]) -> Any:
    """The Python value of type `t` made of leaf numbers that are in range."""
    if isinstance(t, Scalar):
        return component(t, leaves[0])
    return python_type(t)._from(leaves)


# -- operators ------------------------------------------------------------------------------------------------------


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


def _equal(a: Any, b: Any) -> bool:
    if hasattr(a, "__len__") and hasattr(b, "__len__"):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b))
    return bool(a == b)


def _number_of(value: Any) -> bool:
    return plain_number(value) is not None


class Components:
    """What vectors, matrices, quaternions and transforms share. Values are mutable, hence not hashable."""

    __slots__ = ()
    __wc_type__: ClassVar[Packed]
    _wp_scalar_type_: ClassVar[type]
    _length_: ClassVar[int]
    _with_same: ClassVar[frozenset[str]] = frozenset(("add", "sub"))
    _with_scalar: ClassVar[frozenset[str]] = frozenset(("mul", "div"))
    _parts: ClassVar[
        tuple[tuple[int, ...], ...]
    ] = ()  # lengths of sequence arguments that together give the components
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *args: Any):
        if len(args) == self._length_:
            try:
                self._set(args)
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
        if len(args) == 1 and _number_of(args[0]):
            args *= n
        elif len(args) == 1 and (n != 1 or hasattr(args[0], "__len__")):
            args = cls._split(args[0])
        lengths = tuple(0 if _number_of(a) else len(a) if hasattr(a, "__len__") else -1 for a in args)
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
        if not hasattr(value, "__len__") or isinstance(value, (str, bytes)):
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
        found = self._load(key)
        if type(found) is list:
            return vector(len(found), SCALAR_CLASSES[s])._from(found)
        return component(s, found)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, slice):
            self._save(key, self._convert(key, value))
            return
        places = range(self._length_)[key]
        values = [value] * len(places) if _number_of(value) else list(value)
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
        product = _PRODUCTS.get((self._kind, getattr(other, "_kind", None)))
        if product is not None and self.__wc_type__.scalar is other.__wc_type__.scalar:
            return product(self, other)
        return _combine("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _combine("mul", self, other, reverse=True)

    def __matmul__(self, other: Any) -> Any:
        if Mat not in (self._kind, getattr(other, "_kind", None)):
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
        return hasattr(other, "__len__") and not isinstance(other, (str, bytes)) and _equal(self, other)

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


def _attribute(index: int) -> property:
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
        return vector(3, self._wp_scalar_type_)._from(self._load(slice(0, 3)))

    @p.setter
    def p(self, value: Any) -> None:
        self[0:3] = value

    @property
    def q(self) -> Any:
        """The rotation, a copy."""
        return quaternion(self._wp_scalar_type_)._from(self._load(slice(3, 7)))

    @q.setter
    def q(self, value: Any) -> None:
        self[3:7] = value


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

    def __len__(self) -> int:
        return self._shape_[0]

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._shape_[0])])

    def _row_class(self, cols: int) -> Any:
        return vector(cols, self._wp_scalar_type_)

    def _locate(self, key: Any) -> tuple[list[list[int]], bool, bool]:
        """Flat indices that `key` selects by rows, and whether rows and columns were single."""
        key = key if isinstance(key, tuple) else (key, slice(None))
        if len(key) != 2:
            raise IndexError(f"a {type(self).__name__} has two dimensions, got {len(key)} indices")
        picked = []
        for k, extent, what in zip(key, self._shape_, ("row", "column")):
            try:
                at = range(extent)[k]
            except IndexError:
                raise IndexError(f"{what} {k} is out of range for {type(self).__name__} with {extent}") from None
            picked.append(at if isinstance(k, slice) else (at,))
        flat = [[r * self._shape_[1] + c for c in picked[1]] for r in picked[0]]
        return flat, not isinstance(key[0], slice), not isinstance(key[1], slice)

    def __getitem__(self, key: Any) -> Any:
        places, one_row, one_col = self._locate(key)
        found = [[self._load(i) for i in row] for row in places]
        if one_row and one_col:
            return component(self.__wc_type__.scalar, found[0][0])
        if one_row or one_col:
            flat = [x for row in found for x in row]
            return self._row_class(len(flat))._from(flat)
        shape = (len(found), len(found[0]) if found else 0)
        return matrix(shape, self._wp_scalar_type_)._from([x for row in found for x in row])

    def __setitem__(self, key: Any, value: Any) -> None:
        places = [i for row in self._locate(key)[0] for i in row]
        values = [value] * len(places) if _number_of(value) else _flatten(value)
        if len(values) != len(places):
            raise ValueError(f"cannot assign {len(values)} components to {len(places)} of a {type(self).__name__}")
        for i, x in zip(places, values):
            self._save(i, self._convert(i, x))

    def __str__(self) -> str:
        cols = self._shape_[1]
        leaves = self._leaves()
        rows = (leaves[i : i + cols] for i in range(0, len(leaves), cols or 1))
        return "[" + ",\n ".join(f"[{', '.join(str(x) for x in row)}]" for row in rows) + "]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _flatten(value: Any) -> list[Any]:
    if isinstance(value, Components):
        return list(value._leaves())
    return [x for row in value for x in (_flatten(row) if hasattr(row, "__len__") else (row,))]


# -- products -------------------------------------------------------------------------------------------------------


def _dot(s: Scalar, a: Sequence[Any], b: Sequence[Any]) -> Any:
    add, mul = semantics.BINARY["add"], semantics.BINARY["mul"]
    total = mul(s, a[0], b[0])
    for x, y in zip(a[1:], b[1:]):
        total = add(s, total, mul(s, x, y))
    return total


def _multiply(a: Any, b: Any, rows: int, inner: int, cols: int) -> list[Any]:
    s, x, y = a.__wc_type__.scalar, a._leaves(), b._leaves()
    return [_dot(s, x[r * inner : (r + 1) * inner], y[c::cols]) for r in range(rows) for c in range(cols)]


def _check_inner(a: Any, b: Any, m: int, n: int) -> None:
    if m != n:
        raise TypeError(
            f"cannot multiply {type(a).__name__} by {type(b).__name__}: inner dimensions {m} and {n} differ"
        )


def _mat_mat(a: Any, b: Any) -> Any:
    (rows, inner), (other, cols) = a._shape_, b._shape_
    _check_inner(a, b, inner, other)
    return matrix((rows, cols), a._wp_scalar_type_)._from(_multiply(a, b, rows, inner, cols))


def _mat_vec(a: Any, b: Any) -> Any:
    rows, inner = a._shape_
    _check_inner(a, b, inner, len(b))
    return vector(rows, a._wp_scalar_type_)._from(_multiply(a, b, rows, inner, 1))


def _vec_mat(a: Any, b: Any) -> Any:
    inner, cols = b._shape_
    _check_inner(a, b, len(a), inner)
    return vector(cols, a._wp_scalar_type_)._from(_multiply(a, b, 1, inner, cols))


def _quat_quat(a: Any, b: Any) -> Any:
    s = a.__wc_type__.scalar
    ax, ay, az, aw = a._leaves()
    bx, by, bz, bw = b._leaves()
    return a._from(
        [
            _dot(s, (aw, bw, ay, -by), (bx, ax, bz, az)),
            _dot(s, (aw, bw, az, -bz), (by, ay, bx, ax)),
            _dot(s, (aw, bw, ax, -bx), (bz, az, by, ay)),
            _dot(s, (aw, -ax, -ay, -az), (bw, bx, by, bz)),
        ]
    )


def _transform_transform(a: Any, b: Any) -> Any:
    v = quaternion(a._wp_scalar_type_)._from((*b.p._leaves(), 0))
    q = a.q
    conjugate = q._from((*(-q)._leaves()[:3], q._leaves()[3]))
    rotated = (q * v * conjugate)._leaves()[:3]
    p = a.p + a.p._from(rotated)
    return a._from((*p._leaves(), *(q * b.q)._leaves()))


_PRODUCTS: dict[tuple, Callable] = {
    (Mat, Mat): _mat_mat,
    (Mat, Vec): _mat_vec,
    (Vec, Mat): _vec_mat,
    (Quat, Quat): _quat_quat,
    (Transform, Transform): _transform_transform,
}

# -- classes --------------------------------------------------------------------------------------------------------

_BASES: dict[type, type[Components]] = {Vec: Vector, Mat: Matrix, Quat: Quaternion, Transform: Transformation}


def _parts(t: Packed) -> tuple[tuple[int, ...], ...]:
    if isinstance(t, Mat):
        return ((t.cols,) * t.rows,)
    if isinstance(t, Quat):
        return ((3, 0),)
    if isinstance(t, Transform):
        return ((3, 4),)
    return ((3, 3),) if t.count == 6 else ()


def _name(t: Packed) -> str:
    suffix, dtype = SUFFIXES.get(t.scalar), SCALAR_CLASSES[t.scalar].__name__
    if isinstance(t, Vec):
        return f"vec{t.count}{suffix}" if suffix and t.count < 5 else f"vector(length={t.count}, dtype={dtype})"
    if isinstance(t, Mat):
        usual = suffix and t.rows == t.cols and 2 <= t.rows <= 4
        return f"mat{t.rows}{t.cols}{suffix}" if usual else f"matrix(shape=({t.rows}, {t.cols}), dtype={dtype})"
    kind = "quat" if isinstance(t, Quat) else "transform"
    return f"{kind}{suffix}" if suffix else f"{kind}({dtype})"


def _define(t: Type) -> Any:
    if not isinstance(t, Packed):
        raise TypeError(f"type {t} has no Python class")
    base, store = _BASES[type(t)], storage_class(t.scalar, t.count)
    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": __name__,
        "__wc_type__": t,
        "_kind": type(t),
        "_parts": _parts(t),
        "_shape_": (t.rows, t.cols) if isinstance(t, Mat) else (t.count,),
        "_wp_scalar_type_": SCALAR_CLASSES[t.scalar],
    }
    if isinstance(t, (Vec, Quat)):
        body.update({name: _attribute(i) for i, name in enumerate("xyzw"[: t.count])})
    cls = type(store)(_name(t), (base, store), body)
    return _classes.setdefault(t, cls)


def _scalar_dtype(dtype: Any, what: str, floats_only: bool = False) -> Scalar:
    t = wc_type(dtype)
    if not isinstance(t, Scalar) or (floats_only and not t.is_float):
        raise TypeError(f"{what} takes a {'floating point' if floats_only else 'scalar'} dtype, got {dtype!r}")
    return t


def vector(length: int, dtype: Any) -> Any:
    """The class of vectors of `length` components of scalar type `dtype`.

    >>> vector(length=2, dtype=float)(1, 2)
    vec2f([1.0, 2.0])
    """
    if not isinstance(length, int) or length < 1:
        raise ValueError(f"vector() takes a length of at least 1, got {length!r}")
    return python_type(Vec(length, _scalar_dtype(dtype, "vector()")))


def matrix(shape: tuple[int, int], dtype: Any) -> Any:
    """The class of matrices of `shape` (rows, columns) of scalar type `dtype`.

    >>> str(matrix(shape=(1, 2), dtype=float)(1, 2))
    '[[1.0, 2.0]]'
    """
    if not (isinstance(shape, (tuple, list)) and len(shape) == 2 and all(isinstance(n, int) and n > 0 for n in shape)):
        raise ValueError(f"matrix() takes a shape of (rows, columns), got {shape!r}")
    return python_type(Mat(*shape, _scalar_dtype(dtype, "matrix()")))


def quaternion(dtype: Any = float) -> Any:
    """The class of quaternions of floating point type `dtype`.

    >>> quaternion(float)(0, 0, 0, 1)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    return python_type(Quat(_scalar_dtype(dtype, "quaternion()", floats_only=True)))


def transformation(dtype: Any = float) -> Any:
    """The class of transforms of floating point type `dtype`.

    >>> transformation(float)((1, 2, 3)).p
    vec3f([1.0, 2.0, 3.0])
    """
    return python_type(Transform(_scalar_dtype(dtype, "transformation()", floats_only=True)))


def _named() -> dict[str, Any]:
    """The classes that have names in the public interface."""
    table: dict[str, Any] = {}
    for n in (2, 3, 4):
        table.update({f"vec{n}{suffix}": python_type(Vec(n, s)) for s, suffix in SUFFIXES.items()})
        table[f"vec{n}"] = table[f"vec{n}f"]
    for s in (F32, F64, F16):
        suffix = SUFFIXES[s]
        for n in (2, 3, 4):
            table[f"mat{n}{n}{suffix}"] = python_type(Mat(n, n, s))
        table[f"quat{suffix}"] = python_type(Quat(s))
        table[f"transform{suffix}"] = python_type(Transform(s))
        table[f"spatial_vector{suffix}"] = python_type(Vec(6, s))
        table[f"spatial_matrix{suffix}"] = python_type(Mat(6, 6, s))
    for name in ("mat22", "mat33", "mat44", "quat", "transform", "spatial_vector", "spatial_matrix"):
        table[name] = table[name + "f"]
    return table


globals().update(_named())
__all__ = sorted(_named())
