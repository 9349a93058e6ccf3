"""Where vectors and the like keep their components: ctypes arrays, which offer the buffer protocol, wherever ctypes has
the element type, and lists of rounded numbers for the 16-bit floats.

A storage class has `_load(key)` and `_save(key, value)` for an index or a slice (a slice gives a list), `_set(values)`
for all components, and either the buffer protocol or `_wc_pack() -> bytes` for the memory layout.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from . import semantics
from .types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Scalar

_CTYPES: dict[Scalar, Any] = {
    BOOL: ctypes.c_bool,
    I8: ctypes.c_int8,
    I16: ctypes.c_int16,
    I32: ctypes.c_int32,
    I64: ctypes.c_int64,
    U8: ctypes.c_uint8,
    U16: ctypes.c_uint16,
    U32: ctypes.c_uint32,
    U64: ctypes.c_uint64,
    F32: ctypes.c_float,
    F64: ctypes.c_double,
}


class Rounded:
    """Storage for 16-bit floats: a list of numbers of the type's precision."""

    __slots__ = ("_numbers",)
    _numbers: list[float]
    _scalar: Scalar
    _length_: int

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """All components zero, as ctypes arrays begin."""
        self = object.__new__(cls)
        self._numbers = [0.0] * cls._length_
        return self

    def _load(self, key: Any) -> Any:
        return self._numbers[key]

    def _save(self, key: Any, value: Any) -> None:
        self._numbers[key] = semantics.convert(float(value), self._scalar)

    def _set(self, values: Sequence[Any]) -> None:
        self._numbers[:] = [semantics.convert(float(x), self._scalar) for x in values]

    def _wc_pack(self) -> bytes:
        return b"".join(semantics.bits_of(x, self._scalar).to_bytes(2, "little") for x in self._numbers)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """For NumPy: float16 as such, bfloat16, which NumPy lacks, widened to float32."""
        half = self._scalar is F16
        data = self._wc_pack() if half else struct.pack(f"<{len(self._numbers)}f", *self._numbers)
        return {"shape": (len(self._numbers),), "typestr": "<f2" if half else "<f4", "data": data, "version": 3}


def _set_all(self: ctypes.Array, values: Sequence[Any]) -> None:
    ctypes.Array.__setitem__(self, slice(None), values)  # not through __init__, which comes back by __setitem__


def storage_class(scalar: Scalar, count: int) -> type:
    """The base class that stores `count` components of type `scalar`."""
    if scalar in (F16, BF16):
        return type("_Store", (Rounded,), {"__slots__": (), "_scalar": scalar, "_length_": count})
    base = _CTYPES[scalar] * count
    body = {"_load": ctypes.Array.__getitem__, "_save": ctypes.Array.__setitem__, "_set": _set_all}
    metaclass: Any = type(base)
    return metaclass("_Store", (base,), body)
