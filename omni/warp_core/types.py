"""`wp.types`: the functions that make vector, matrix, quaternion and transform types, and the scalar types."""

from __future__ import annotations

from .arrays.array import array
from .lang.values.scalars import (
    bfloat16,
    bool,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .lang.values.value_classes import matrix, quaternion, transformation, vector

__all__ = [
    "array",
    "bfloat16",
    "bool",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "matrix",
    "quaternion",
    "transformation",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vector",
]
