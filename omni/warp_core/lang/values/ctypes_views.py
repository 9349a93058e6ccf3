"""Numbers, vectors, matrices and structs for `ctypes`: their C types, and values at addresses in memory.

Memory of a vector or matrix itself is shared by `c_type.from_buffer(value)`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
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


@cache
def array_class(cls: Any, length: int) -> Any:
    """Return the class of arrays of `ctypes` whose items are values of a class, `wp.vec3 * 4`. Items share the memory.

    >>> (wp.vec2i * 2).from_buffer_copy(np.arange(4, dtype=np.int32))[1]
    vec2i([2, 3])
    """
    item: Any = ctype_of(cls.__wc_type__)
    array: Any = item * length

    class _Values(array):
        def __getitem__(self, i: int) -> Any:
            return cls.from_buffer(super().__getitem__(i))

        def __setitem__(self, i: int, value: Any) -> None:
            super().__setitem__(i, item.from_buffer_copy(value if isinstance(value, cls) else cls(*value)))

        def __iter__(self) -> Iterator[Any]:
            return (self[i] for i in range(length))

    _Values.__name__ = _Values.__qualname__ = f"{cls.__name__}_Array_{length}"
    return _Values


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
