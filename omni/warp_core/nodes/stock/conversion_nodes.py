"""Conversions of numbers and texts into given types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..graph.node_graph import GraphError, NodeType
from ..values.attribute_types import AttributeType
from .declaration import data_node, untyped
from .operands import Inputs, Typed, bounded, converted, pack, tuple_type, typed

_ABOUT = "A number, a bool, a tuple, or an array of them"
_UNSIGNED = {"Uchar": "uchar", "Uint": "uint", "Uint64": "uint64"}
_OTHERS = {"Bool": "bool", "Double": "double", "Float": "float", "Half": "half", "Int": "int", "Int64": "int64"}


def _to_numbers(base: str) -> Callable[[Inputs], Typed]:
    """Convert to numbers of a type: whole numbers are cut off and saturate, those without sign wrap around."""

    def compute(inputs: Inputs) -> Typed:
        value = inputs["value"]
        if base == "uchar" and value.type.base == "string":
            return typed(np.frombuffer(value.value.encode(), np.uint8), "uchar[]")
        if not value.type.is_numeric:
            raise GraphError(f"inputs:value is of type {value.type}; the node takes numbers and booleans")
        dtype = AttributeType(base).dtype
        kind = tuple_type(dtype, value.type.count, value.type.is_array)
        if kind.shape != value.type.shape or kind.dtype != dtype:
            if value.type.dtype == dtype:  # matrices are double already
                return value
            raise GraphError(
                f"inputs:value is of type {value.type}; there is no {base}[{value.type.count}] of that shape"
            )
        return pack(_wrapped(value.elements, dtype), kind) if dtype.kind == "u" else converted(value, kind, "as asked")

    return compute


def _wrapped(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers modulo the range of an unsigned type; NaN gives 0, and infinity is the largest number."""
    if values.dtype.kind != "f":
        return values.astype(dtype)
    whole = np.trunc(np.nan_to_num(values.astype(np.float64)))
    rest = np.fmod(np.abs(whole), 2.0 ** (8 * dtype.itemsize)).astype(dtype)
    return np.where(whole < 0, dtype.type(0) - rest, rest)


def text_of(operand: Typed) -> str:
    """A value as text: numbers as short as they can be read back, tuples and arrays in brackets."""
    if operand.type.is_text and not operand.type.is_array:
        return operand.value
    if operand.type.is_paths:
        return "[" + ", ".join(operand.value) + "]"
    bounded(operand.elements.size * 24, operand.name)
    return _bracketed(operand.elements if operand.type.is_array else operand.elements[0])


def _bracketed(value: np.ndarray | object) -> str:
    return "[" + ", ".join(map(_bracketed, value)) + "]" if isinstance(value, np.ndarray) else str(value)


def _to_text(kind: str) -> Callable[[Inputs], Typed]:
    return lambda inputs: typed(text_of(inputs["value"]), kind)


_TEXTS = {"String": "string", "Token": "token"}

TYPES: list[NodeType] = [
    *(
        data_node(
            f"To{name}", 1, about, untyped(_ABOUT, "value"), untyped(f"The {base}", "converted"), _to_numbers(base)
        )
        for about, bases in (
            ("The value as another type; integers are cut off and saturate", _OTHERS),
            ("The value without sign; integers are cut off and wrap around", _UNSIGNED),
        )
        for name, base in bases.items()
    ),
    *(
        data_node(
            f"To{name}",
            1,
            "The value as text",
            untyped("A value", "value"),
            {"converted": {"type": kind, "description": "The text"}},
            _to_text(kind),
            "the digits of numbers may differ",
        )
        for name, kind in _TEXTS.items()
    ),
]
