"""Attribute types as types of the kernel language, and array values as memory that kernels use.

Matrices keep USD's row-vector order: element [i][j] of the attribute is element [i, j] in the kernel. Quaternions are
i, j, k, w on both sides. A token is a 64-bit hash.
"""

from __future__ import annotations

import hashlib

import numpy as np

from ...arrays.array import array
from ...lang import types as kt
from ...lang.values.type_registry import python_type
from .attribute_types import MATRICES, AttributeType
from .attribute_values import Value

_SCALARS = {
    "bool": kt.BOOL,
    "uint8": kt.U8,
    "int32": kt.I32,
    "uint32": kt.U32,
    "int64": kt.I64,
    "uint64": kt.U64,
    "float16": kt.F16,
    "float32": kt.F32,
    "float64": kt.F64,
}


def element_type(t: AttributeType) -> kt.Type | None:
    """The kernel type of one element of an attribute, None for types that kernels do not know."""
    if t.base == "token":
        return kt.U64
    if not t.is_numeric:
        return None
    scalar = _SCALARS[str(t.dtype)]
    if t.base in MATRICES:
        return kt.Mat(t.count, t.count, scalar)
    if t.base.startswith("quat"):
        return kt.Quat(scalar)
    return kt.Vec(t.count, scalar) if t.shape else scalar


def token_number(text: str) -> int:
    """The number a token is in a kernel: the same text always gives the same number, the empty one 0."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") if text else 0


def as_array(values: np.ndarray, dtype: kt.Type, shape: tuple[int, ...]) -> array:
    """NumPy memory of shape (n, *components) as a kernel array of `shape` on the CPU, without a copy."""
    scalar = kt.element(dtype)
    if values.dtype == np.bool_ and scalar is not kt.BOOL:
        values = values.view(np.int8 if scalar is kt.I8 else np.uint8)
    inner = (
        (dtype.rows, dtype.cols)
        if isinstance(dtype, kt.Mat)
        else (dtype.count,)
        if isinstance(dtype, kt.Packed)
        else ()
    )
    return array(values.reshape((*shape, *inner)), dtype=python_type(dtype), device="cpu", copy=False)


def as_numbers(value: Value, t: AttributeType) -> np.ndarray:
    """An array attribute's value as NumPy numbers."""
    if t.base == "token":
        return np.array([token_number(text) for text in value], np.uint64)
    return np.asarray(value, t.dtype)
