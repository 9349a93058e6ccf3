"""The attribute type that a value of Python has by itself, for attributes whose type is open."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .attribute_types import TOKEN, AttributeType

_BASES = {
    "bool": "bool",
    "uint8": "uchar",
    "int32": "int",
    "int64": "int64",
    "uint32": "uint",
    "uint64": "uint64",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}
_TUPLES = ("int", "half", "float", "double")


def type_of_literal(value: Any) -> AttributeType | None:
    """Return the type of a value; None for one that no type holds.

    A tuple is one element. A list or an array of NumPy has one element for each of its entries. Texts are tokens.

    >>> [str(type_of_literal(v)) for v in (2, 0.5, (1.0, 2.0), [1, 2], [(0, 1.5), (2, 3)], "a", np.float32(1))]
    ['int', 'double', 'double[2]', 'int[]', 'double[2][]', 'token', 'float']
    """
    if isinstance(value, str):
        return TOKEN
    is_array = isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim > 0)
    if is_array and len(value) and all(isinstance(text, str) for text in value):
        return AttributeType("token", 1, True)
    try:
        numbers = np.asarray(value)
    except ValueError:  # entries of several lengths
        return None
    base, shape = _base(numbers, value), numbers.shape[is_array:]
    count = shape[0] if shape else 1
    if base is None or len(shape) > 1 or (shape and not (2 <= count <= 4 and base in _TUPLES)):
        return None
    return AttributeType(base, count, is_array)


def literal(text: str) -> Any:
    """Return what a text of the command line means: JSON, a tuple in parentheses, or the text itself.

    >>> literal("2.5"), literal("(1, 2)"), literal("[[1, 2]]"), literal("/World")
    (2.5, (1, 2), [[1, 2]], '/World')
    """
    plain = text.strip()
    is_tuple = plain.startswith("(") and plain.endswith(")")
    try:
        value = json.loads(f"[{plain[1:-1]}]" if is_tuple else plain)
    except (ValueError, RecursionError):
        return text
    return tuple(value) if is_tuple else value


def _base(numbers: np.ndarray, value: Any) -> str | None:
    """Return the base of a type; Python's own integers are int wherever they fit."""
    is_own = numbers.dtype == np.int64 and not isinstance(value, (np.ndarray, np.generic))
    if is_own and np.array_equal(numbers, numbers.astype(np.int32)):
        return "int"
    return _BASES.get(numbers.dtype.name) if numbers.size else None
