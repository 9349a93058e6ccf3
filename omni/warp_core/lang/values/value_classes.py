"""The classes of vectors, matrices, quaternions and transforms, and the way between values and their leaf numbers.

There is one class per type, made when first asked for; the usual ones have names (`vec3`, `mat44d`), the others come
from `vector`, `matrix`, `quaternion` and `transformation`. What the classes do is in `value_methods`. The rest of the
package uses `python_type`, `wc_type`, `to_leaves` and `from_leaves`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _native
from ...late_bound import late
from .. import semantics
from ..annotations import open_type, type_or_none
from ..generics import Pattern, TypeVar
from ..registry import INTRINSICS
from ..types import (
    BF16,
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
from .scalars import SCALAR_CLASSES, component, plain_number
from .type_registry import python_type, register_maker, wc_type
from .value_methods import Components, Matrix, Quaternion, SpatialVector, Transformation, Vector, widened

SUFFIXES = {F16: "h", F32: "f", F64: "d", I8: "b", I16: "s", I32: "i", I64: "l"}
SUFFIXES |= {U8: "ub", U16: "us", U32: "ui", U64: "ul"}


def to_leaves(value: Any, t: Type) -> tuple[Any, ...]:
    """`value` checked and taken apart into the leaf numbers of type `t`, in memory order.

    Accepts a value of the type itself, Python and NumPy numbers for scalars, and sequences for packed types. Leaves of
    array type are arrays or None.

    Raises:
        TypeError: If `value` would need a conversion that loses its kind (float to int, one vector type to another).
        ValueError: If it has the wrong number of components or is out of range.
    """
    if getattr(value, "__wc_type__", None) is t:
        return (value.value,) if isinstance(t, Scalar) else value._leaves()
    if isinstance(t, Scalar):
        return (scalar_leaf(value, t),)
    cls = python_type(t)
    if isinstance(t, Packed) and hasattr(value, "__len__") and not isinstance(value, Components):
        return cls._parse(value)
    name, given = cls.__name__, type(value).__name__
    home = "wp" if name.isidentifier() else "wp.types"
    helps = f"; convert it: {home}.{name}(...)" if isinstance(t, Packed) else ""
    raise TypeError(f"expected {name}, got {given}{helps}")


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


def _define(t: Packed) -> Any:
    base = SpatialVector if isinstance(t, Vec) and t.count == 6 else _BASES[type(t)]
    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": __name__,
        "__doc__": base.__doc__,
        "__wc_type__": t,
        "_length_": t.count,
        "_parts": _parts(t),
        "_shape_": (t.rows, t.cols) if isinstance(t, Mat) else (t.count,),
        "_wp_scalar_type_": SCALAR_CLASSES[t.scalar],
    }
    if t.scalar is BF16:
        body["__array_interface__"] = widened
    return _native.ValueClass(_name(t), (base,), body)


for _kind in _BASES:
    register_maker(_kind, _define)
_native.set_class_maker(lambda key: python_type(parse_type(key)))
_native.set_array_maker(lambda cls, length: late("ctypes_array")(cls, length))


def _scalar_dtype(dtype: Any, what: str, floats_only: bool = False) -> Scalar:
    t = wc_type(dtype)
    if not isinstance(t, Scalar) or (floats_only and not t.is_float):
        raise TypeError(f"{what} takes a {'floating point' if floats_only else 'scalar'} dtype, got {dtype!r}")
    return t


def _pattern(head: str, extents: Sequence[Any], dtype: Any) -> Pattern | None:
    """The pattern with these parameters if one of them is left open: `typing.Any` or a type variable."""
    found = [open_type(p) for p in (*extents, dtype)]
    params = [n if t is None else t for n, t in zip((*extents, type_or_none(dtype)), found)]
    counts = all(isinstance(n, TypeVar) or (type(n) is int and n > 0) for n in params[:-1])
    if found.count(None) == len(found) or not counts:
        return None  # one type, or a mistake that is told there
    if not isinstance(params[-1], TypeVar):
        _scalar_dtype(dtype, "a generic type")
    return Pattern(head, tuple(params))


def vector(length: int, dtype: Any) -> Any:
    """The class of vectors of `length` components of scalar type `dtype`.

    In annotations of generic kernels and functions, `Any` or a type variable may stand in place of either.

    Args:
        length: How many components, at least 1.
        dtype: Their scalar type.

    Returns:
        The class; equal arguments give the same one.

    Raises:
        ValueError: The length is no positive integer.
        TypeError: `dtype` is no scalar type.

    >>> wp.types.vector(length=2, dtype=float)(1, 2)
    vec2f([1.0, 2.0])
    """
    if (found := _pattern("Vec", [length], dtype)) is not None:
        return found
    if not isinstance(length, int) or length < 1:
        raise ValueError(f"vector() takes a length of at least 1, got {length!r}")
    return python_type(Vec(length, _scalar_dtype(dtype, "vector()")))


def matrix(shape: tuple[int, int], dtype: Any) -> Any:
    """The class of matrices of `shape` (rows, columns) of scalar type `dtype`.

    In annotations of generic kernels and functions, `Any` or a type variable may stand in place of each.

    Args:
        shape: (rows, columns), each at least 1.
        dtype: The scalar type of the components.

    Returns:
        The class; equal arguments give the same one.

    Raises:
        ValueError: The shape is no pair of positive integers.
        TypeError: `dtype` is no scalar type.

    >>> str(wp.types.matrix(shape=(1, 2), dtype=float)(1, 2))
    '[[1.0, 2.0]]'
    """
    pair = isinstance(shape, (tuple, list)) and len(shape) == 2
    if pair and (found := _pattern("Mat", shape, dtype)) is not None:
        return found
    if not (pair and all(isinstance(n, int) and n > 0 for n in shape)):
        raise ValueError(f"matrix() takes a shape of (rows, columns), got {shape!r}")
    return python_type(Mat(*shape, _scalar_dtype(dtype, "matrix()")))


def quaternion(dtype: Any = float) -> Any:
    """The class of quaternions of floating point type `dtype`.

    Args:
        dtype: The scalar type of the components.

    Returns:
        The class; equal arguments give the same one.

    Raises:
        TypeError: `dtype` is no floating point type.

    >>> wp.types.quaternion(float)(0, 0, 0, 1)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
    return _pattern("Quat", [], dtype) or python_type(Quat(_scalar_dtype(dtype, "quaternion()", floats_only=True)))


def transformation(dtype: Any = float) -> Any:
    """The class of transforms of floating point type `dtype`.

    Args:
        dtype: The scalar type of the components.

    Returns:
        The class; equal arguments give the same one.

    Raises:
        TypeError: `dtype` is no floating point type.

    >>> wp.types.transformation(float)((1, 2, 3)).p
    vec3f([1.0, 2.0, 3.0])
    """
    return _pattern("Transform", [], dtype) or python_type(
        Transform(_scalar_dtype(dtype, "transformation()", floats_only=True))
    )


_MAKERS: tuple[Any, ...] = (vector, matrix, quaternion)
for _maker in _MAKERS:  # in kernels they make values, as `wp.vector` and the others do
    _maker.__wc_intrinsic__ = INTRINSICS[_maker.__name__]


def transform_expand(t: Any) -> Any:
    """A `wp.transform` of seven numbers: the translation x, y, z and the quaternion x, y, z, w.

    Args:
        t: a sequence of seven numbers, or a transform.

    Raises:
        TypeError, ValueError: these are not seven numbers.

    >>> transform_expand([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    transformf([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    """
    return python_type(Transform(F32))(*t)


def _named() -> dict[str, Type]:
    """The types whose classes have names in the public interface."""
    table: dict[str, Type] = {}
    for n in (2, 3, 4):
        table |= {f"vec{n}{suffix}": Vec(n, s) for s, suffix in SUFFIXES.items()}
        table[f"vec{n}"] = Vec(n, F32)
    for s in (F32, F64, F16):
        kinds: dict[str, Type] = {f"mat{n}{n}": Mat(n, n, s) for n in (2, 3, 4)}
        kinds |= {"quat": Quat(s), "transform": Transform(s)}
        kinds |= {"spatial_vector": Vec(6, s), "spatial_matrix": Mat(6, 6, s)}
        table |= {name + SUFFIXES[s]: t for name, t in kinds.items()}
        if s is F32:
            table |= kinds
    return table | {older: table[name] for older, name in OLDER_NAMES.items()}


OLDER_NAMES = {"spatial_transform": "transform"}
NAMED = _named()
__all__ = [*sorted(NAMED), "transform_expand"]


def __getattr__(name: str) -> Any:
    if name not in NAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    cls = globals()[name] = python_type(NAMED[name])
    return cls
