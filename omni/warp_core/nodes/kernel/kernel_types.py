"""Attribute types as types of the kernel language, and attribute values as kernel arguments.

Matrices keep USD's row-vector order: element [i][j] of the attribute is element [i, j] in the kernel. Quaternions are
i, j, k, w on both sides. A bool is an int8 in struct style, as scenes of omni.warp expect; a token is a 64-bit hash.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang import types as kt
from ...lang.values.structs import spell
from ...lang.values.type_registry import python_type
from ..values.attribute_types import BASES, MATRICES, AttributeType
from ..values.attribute_values import Value

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


def struct_element_type(t: AttributeType) -> kt.Type | None:
    """The same for the fields of `Inputs` and `Outputs`."""
    found = element_type(t)
    return kt.I8 if found is kt.BOOL else found


def usd_type(t: kt.Type) -> str | None:
    """Return the name of the plainest USD type that a parameter of type `t` can take, None if USD has none.

    >>> from omni.warp_core.lang import types
    >>> usd_type(types.Array(types.Vec(3, types.F32), 1)), usd_type(types.Mat(4, 4, types.F64))
    ('float3[]', 'matrix4d')
    """
    is_array = isinstance(t, kt.Array)
    element = t.dtype if isinstance(t, kt.Array) else t
    plain = (AttributeType(base, n) for base, info in BASES.items() for n in info.tuples)
    found = next((a for a in plain if element_type(a) is element), None)
    return found.sdf + "[]" * is_array if found else None


def token_number(text: str) -> int:
    """The number a token is in a kernel: the same text always gives the same number, the empty one 0."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") if text else 0


def fits(given: kt.Type, wanted: kt.Type) -> bool:
    """True if memory of elements `given` can be viewed as elements `wanted`: equal numbers, arranged alike or flat."""
    if given is wanted or (given is kt.BOOL and wanted in (kt.I8, kt.U8)):
        return True
    same_scalar = kt.element(given) is kt.element(wanted)
    return same_scalar and given.size == wanted.size and not isinstance(given, kt.Mat)


def spelled(t: kt.Type) -> str:
    """A kernel type in the words of the user."""
    return spell(t)


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


def as_scalar(value: Value, t: AttributeType, wanted: kt.Type) -> Any:
    """A single value as an argument of type `wanted`."""
    if t.base == "token":
        return token_number(value)
    if isinstance(wanted, kt.Scalar):
        if wanted is kt.BOOL:
            return bool(value)
        return float(value) if wanted.is_float else int(value)
    return python_type(wanted)(*np.asarray(value).ravel().tolist())
