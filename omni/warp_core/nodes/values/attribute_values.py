"""Attribute values: their one canonical form, reading them from text or JSON, and converting between types.

Canonical forms: scalar numbers are Python numbers, tuples and matrices NumPy arrays of `AttributeType.shape`. Arrays
are NumPy arrays of shape (n, *shape). Texts are `str`, arrays of tokens tuples of `str`, and targets tuples of paths.
Bundles are `Bundle` objects, which never change.
Start with `coerce` (checked, for what people write) and `converter` (for connections).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from .attribute_types import MATRICES, AttributeType
from .bundles import EMPTY, Bundle

Value = Any
_SPECIAL = {"inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "nan": np.nan, "snan": np.nan}


class ValueTypeError(ValueError):
    """A value that an attribute of this type cannot hold."""


def zero(t: AttributeType) -> Value:
    """The empty value of a type: 0, "", an identity matrix, an array without elements."""
    if t.is_bundle:
        return EMPTY
    if t.is_paths or (t.is_array and not t.is_numeric):
        return ()
    if t.is_any:
        return None
    if t.is_text:
        return ""
    if t.is_array:
        return np.zeros((0, *t.shape), t.dtype)
    if t.base in MATRICES:
        return np.identity(t.count)
    return np.zeros(t.shape, t.dtype) if t.shape else t.dtype.type(0).item()


def coerce_scalar(value: Any, t: AttributeType) -> Value:
    """Return a finite number or text of Python as a value of type `t`; None if `coerce` has to look closer.

    Large scenes consist of such values, and an array of NumPy for each takes most of the time of loading it.
    """
    limits = t.scalar_range
    if limits is None:
        return value if type(value) is str and t.is_text and not t.is_array else None
    kind, least, greatest = limits
    if type(value) is not kind or not least <= value <= greatest:
        return None
    return t.dtype.type(value).item() if kind is float else value


def coerce(value: Any, t: AttributeType) -> Value:
    """`value` (from JSON, Python or NumPy) as the canonical value of type `t`. Raises ValueTypeError."""
    scalar = coerce_scalar(value, t)
    if scalar is not None:
        return scalar
    if t.is_any:
        return value
    if t.is_bundle:
        if isinstance(value, Bundle):
            return value
        raise ValueTypeError(f"bundle needs a bundle from a node, got {_short(value)}")
    if t.is_paths:
        return _texts([value] if isinstance(value, str) else value, t)
    if t.is_text or t.base == "token":
        return _texts(value, t) if t.is_array else _text(value, t)
    array = _numbers(value, t)
    expected = ((len(array) if array.ndim else 0, *t.shape)) if t.is_array else t.shape
    if t.is_array and array.size == 0:
        return zero(t)
    if t.base in MATRICES and array.size == np.prod(expected) and array.ndim in (1, len(expected) - 1):
        array = array.reshape(expected)
    if array.shape != expected:
        raise ValueTypeError(f"{t} needs {_shape_words(t)}, got {_short(value)}")
    return array if array.shape or t.is_array else array.item()


def _shape_words(t: AttributeType) -> str:
    one = "true or false" if t.base == "bool" else "one number"
    one = f"{' x '.join(map(str, t.shape))} numbers" if t.shape else one
    return f"a list of elements of {one}" if t.is_array else one


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _text(value: Any, t: AttributeType) -> str:
    if isinstance(value, str):
        return value
    raise ValueTypeError(f"{t} needs a text, got {_short(value)}")


def _texts(value: Any, t: AttributeType) -> tuple[str, ...]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise ValueTypeError(f"{t} needs a list of texts, got {_short(value)}")
    return tuple(_text(v.item() if isinstance(v, np.str_) else v, t) for v in value)


def _special_floats(value: Any) -> Any:
    if isinstance(value, str) and value.lower() in _SPECIAL:
        return _SPECIAL[value.lower()]
    if isinstance(value, (list, tuple)):
        return [_special_floats(v) for v in value]
    return value


def _numbers(value: Any, t: AttributeType) -> np.ndarray:
    """`value` as an array of the type's dtype, refusing what would change its meaning."""
    if t.dtype.kind == "f":
        value = _special_floats(value)
    try:
        raw = np.asarray(value)
    except (ValueError, OverflowError):
        raise ValueTypeError(f"{t} needs {_shape_words(t)}, got {_short(value)}") from None
    if raw.dtype == t.dtype or raw.size == 0:
        return raw.astype(t.dtype, copy=False)
    if raw.dtype.kind not in "buif":
        raise ValueTypeError(f"{t} needs {_shape_words(t)}, got {_short(value)}")
    if t.dtype.kind == "b":
        if not np.isin(raw, (0, 1)).all():
            raise ValueTypeError(f"{t} needs true or false, got {_short(value)}")
    elif t.dtype.kind in "ui":
        limits = np.iinfo(t.dtype)
        if raw.dtype.kind == "f" and not (np.isfinite(raw).all() and (raw == np.trunc(raw)).all()):
            raise ValueTypeError(f"{t} needs whole numbers, got {_short(value)}")
        if int(raw.min()) < limits.min or int(raw.max()) > limits.max:
            raise ValueTypeError(f"{t} holds {limits.min} to {limits.max}, got {_short(value)}")
    with np.errstate(over="ignore"):
        return raw.astype(t.dtype)


def from_text(text: str, t: AttributeType) -> Value:
    """A value typed on a command line: JSON for numbers and lists, the text itself for texts. Raises ValueTypeError."""
    if not t.is_array and (t.is_text or t.base == "token"):
        return text
    plain = text.strip()
    if plain.startswith("(") and plain.endswith(")"):
        plain = plain.replace("(", "[").replace(")", "]")
    try:
        value = json.loads({"True": "true", "False": "false"}.get(plain, plain))
    except (ValueError, RecursionError):
        value = plain  # "inf" and the like are for coerce to judge
    return coerce(value, t)


def same(a: Value, b: Value) -> bool:
    """True if two values are equal, NaN counting as equal to itself."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    return a == b or (a != a and b != b)


def is_unchanged(before: Value, value: Value) -> bool:
    """True if `value` is what an attribute has held since `before` was stored.

    An array in the same memory may have been written to since, as Kernel nodes do in each frame, and counts as changed.
    """
    arrays = isinstance(before, np.ndarray) and isinstance(value, np.ndarray)
    return not (arrays and np.may_share_memory(before, value)) and same(before, value)


def _saturated(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`values` as `dtype`; floats beyond an integer's range give its limit, NaN gives 0."""
    if dtype.kind == "b":
        return values != 0
    if dtype.kind in "ui" and values.dtype.kind == "f":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        wide = np.nan_to_num(values.astype(np.float64), nan=0.0)
        with np.errstate(invalid="ignore"):
            out = wide.astype(dtype)
        return np.where(wide >= float(high), dtype.type(high), np.where(wide <= float(low), dtype.type(low), out))
    if dtype.kind in "ui" and values.dtype.kind in "ui":
        limits, given = np.iinfo(dtype), np.iinfo(values.dtype)
        low, high = max(limits.min, given.min), min(limits.max, given.max)
        return np.clip(values, low, high).astype(dtype)
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def converter(source: AttributeType, target: AttributeType) -> Callable[[Value], Value] | None:
    """The function that carries a value over a connection, None when the two types do not connect.

    Numeric types of equal shape convert into each other, whatever their roles; texts convert among themselves; an
    array never becomes a scalar, nor the other way round.

    >>> from omni.warp_core.nodes.values.attribute_types import parse
    >>> converter(parse("double"), parse("int"))(2.9)
    2
    """
    if source is target:
        return unconverted
    if target.members:
        return unconverted if source in target.members or source.is_any else None
    if target.is_any or source.is_any or source == target:
        return unconverted
    if source.is_execution or target.is_execution:
        return unconverted if source.is_execution and target.base in ("execution", "uint") else None
    if source.is_paths or target.is_paths or source.is_bundle or target.is_bundle:
        return None  # equal types came before
    if source.is_array != target.is_array:
        return None
    if source.is_numeric and target.is_numeric and source.shape == target.shape:
        return unconverted if source.dtype == target.dtype else _numeric_converter(target)
    return unconverted if not source.is_numeric and not target.is_numeric else None


def unconverted(value: Value) -> Value:
    """Return the value as it is."""
    return value


def _numeric_converter(target: AttributeType) -> Callable[[Value], Value]:
    dtype, plain = target.dtype, not (target.shape or target.is_array)

    def convert(value: Value) -> Value:
        out = _saturated(np.asarray(value), dtype)
        return out.item() if plain else out

    return convert
