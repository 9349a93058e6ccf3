"""A class of tensors with DLPack's table of functions, made by ctypes: another library, without one."""

from __future__ import annotations

import ctypes
from ctypes import (  # fmt: skip
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)

import numpy as np

CODES = {"i": 0, "u": 1, "f": 2, "b": 6, "c": 5}


class Tensor(Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    ]  # fmt: skip


class Managed(Structure):
    pass


DELETER = CFUNCTYPE(None, POINTER(Managed))
Managed._fields_ = [
    ("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", DELETER), ("flags", c_uint64),
    ("tensor", Tensor),
]  # fmt: skip

SET_ERROR = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
ALLOCATE = ctypes.PYFUNCTYPE(c_int, POINTER(Tensor), POINTER(POINTER(Managed)), c_void_p, SET_ERROR)
FROM_OBJECT = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(POINTER(Managed)))
TO_OBJECT = ctypes.PYFUNCTYPE(c_int, POINTER(Managed), POINTER(c_void_p))
BORROW = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(Tensor))
STREAM = CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class Table(Structure):
    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("previous", c_void_p), ("allocate", ALLOCATE),
        ("from_object", FROM_OBJECT), ("to_object", TO_OBJECT), ("borrow", BORROW), ("current_stream", STREAM),
    ]  # fmt: skip


capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype, capsule_of.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = c_void_p, [py_object, c_char_p]


def table_of(cls) -> Table:
    """The table that a class offers."""
    return Table.from_address(pointer_of(cls.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


class Foreign:
    """A tensor over a NumPy array. `changes` are fields of the DLPack struct that differ from the array's."""

    requires_grad = False
    given_back = 0

    def __init__(self, numbers, read_only=False, **changes):
        self.numbers, self.read_only, self.changes = numbers, read_only, changes
        self.shape = numbers.shape

    def fill(self, t: Tensor) -> None:
        a, n = self.numbers, self.numbers.ndim
        self.extents = (c_int64 * (2 * n))(*a.shape, *(s // a.itemsize for s in a.strides))
        t.data, t.device_type, t.ndim = a.ctypes.data, 1, n
        t.code, t.bits, t.lanes = CODES[a.dtype.kind], 8 * a.itemsize, 1
        t.shape = ctypes.cast(self.extents, POINTER(c_int64))
        t.strides = ctypes.cast(ctypes.byref(self.extents, 8 * n), POINTER(c_int64))
        for name, value in self.changes.items():
            setattr(t, name, value)


_lent: dict[int, tuple] = {}


@DELETER
def _give_back(managed):
    Foreign.given_back += 1
    _lent.pop(ctypes.addressof(managed.contents), None)


@FROM_OBJECT
def _from_object(tensor, out):
    made = Managed(major=1, minor=3, deleter=_give_back, flags=1 if tensor.read_only else 0)
    tensor.fill(made.tensor)
    _lent[ctypes.addressof(made)] = made, tensor
    out[0] = ctypes.pointer(made)
    return 0


@BORROW
def _borrow(tensor, out):
    tensor.fill(out.contents)
    return 0


TABLE = Table(major=1, minor=3, from_object=_from_object, borrow=_borrow)
Foreign.__dlpack_c_exchange_api__ = capsule_of(ctypes.addressof(TABLE), b"dlpack_exchange_api", None)


def numpy_of(managed: Managed) -> np.ndarray:
    """A copy of the elements of a tensor of one's own."""
    t = managed.tensor
    kind = {code: kind for kind, code in CODES.items()}[t.code] if t.code != 4 else "u"
    dtype = np.dtype("?" if kind == "b" else f"{kind}{t.bits // 8}")
    shape = [t.shape[i] for i in range(t.ndim)]
    strides = [t.strides[i] * dtype.itemsize for i in range(t.ndim)]
    nbytes = sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize if all(shape) else 0
    memory = (ctypes.c_char * nbytes).from_address(t.data)
    return np.ndarray(shape, dtype, memory, 0, strides).copy()
