"""Numbers, vectors, matrices and structs for `ctypes`: their C types, and values at addresses in memory.

Memory of a vector or matrix itself is shared by `c_type.from_buffer(value)`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from ..types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    MAX_NDIM,
    U8,
    U16,
    U32,
    U64,
    Array,
    Packed,
    Scalar,
    Struct,
)

_OF_SCALARS: dict[Scalar, Any] = {
    BOOL: ctypes.c_bool,
    I8: ctypes.c_int8,
    I16: ctypes.c_int16,
    I32: ctypes.c_int32,
    I64: ctypes.c_int64,
    U8: ctypes.c_uint8,
    U16: ctypes.c_uint16,
    U32: ctypes.c_uint32,
    U64: ctypes.c_uint64,
    F16: ctypes.c_uint16,  # C has no such floats: their bits
    BF16: ctypes.c_uint16,
    F32: ctypes.c_float,
    F64: ctypes.c_double,
}


class _ArrayDescriptor(ctypes.Structure):
    """A member of a struct that is an array, as kernels see it."""

    _fields_ = [
        ("data", ctypes.c_uint64),
        ("grad", ctypes.c_uint64),
        ("shape", ctypes.c_int64 * MAX_NDIM),
        ("strides", ctypes.c_int64 * MAX_NDIM),
    ]


@cache
def ctype_of(t: Scalar | Packed | Struct) -> Any:
    """Return the C type of a number, the array of those of a composite type, or a C struct of the members."""
    if isinstance(t, Packed):
        return _OF_SCALARS[t.scalar] * t.count
    if isinstance(t, Struct):
        members = [(name, _ArrayDescriptor if isinstance(m, Array) else ctype_of(m)) for name, m in t.fields]
        return type(t.name, (ctypes.Structure,), {"_fields_": members})
    return _OF_SCALARS[t]


def value_at(cls: Any, address: int) -> Any:
    """Return a copy of the composite value at an address.

    Raises:
        ValueError: the address is 0.
    """
    if not address:
        raise ValueError(f"{cls.__name__}.from_ptr: the address is 0")
    made = cls()
    memoryview(made).cast("B")[:] = ctypes.string_at(address, cls.__wc_type__.size)
    return made
