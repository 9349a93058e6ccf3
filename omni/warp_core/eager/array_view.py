"""Arrays as an interpreted kernel sees them: elements read and written one at a time, by address, with bounds checked.

`ArrayCells` does for interpreted code what an array parameter does in a compiled kernel. It reads and writes elements
of any type leaf by leaf, so vectors, structs and arrays inside structs need no special case.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..lang import semantics
from ..lang.types import MAX_NDIM, Array, FixedArray, Scalar, Type, leaves
from ..lang.values.scalars import int32
from ..lang.values.structs import spell
from ..lang.values.value_classes import from_leaves, python_type, to_leaves

_DESCRIPTOR = struct.Struct(f"<2Q{2 * MAX_NDIM}q")  # wc_array of native/include/warp_core/abi.h


def counted(n: int) -> int32:
    """A number of elements as an int32. Raises ValueError if there are more than that counts."""
    if n >= 1 << 31:
        raise ValueError(
            f"an array of {n} elements is too long for int32 indices, whose limit is 2147483647: pass parts of it"
        )
    return int32(n)


class Address(int):
    """The address of an array, and bytes behind or before it. It stays one, where a number would become an int32."""

    def __add__(self, by: Any) -> Address:
        return Address(int(self) + by.__index__())

    __radd__ = __add__

    def __sub__(self, by: Any) -> Address:
        return Address(int(self) - by.__index__())


class ArrayCells:
    """A view of memory as `ndim` dimensions of elements; `owner` is kept alive by it."""

    __slots__ = ("__wc_type__", "_shape", "_strides", "begin", "grad_address", "owner")

    def __init__(
        self, t: Array, begin: int, shape: tuple[int, ...], strides: tuple[int, ...], owner: Any = None, grad: int = 0
    ):
        self.__wc_type__, self.begin, self._shape, self._strides = t, begin, shape, strides
        self.owner, self.grad_address = owner, grad

    @classmethod
    def of(cls, array: Any, t: Array) -> ArrayCells:
        """The cells of a runtime array (None: no memory).

        Raises:
            RuntimeError: the array is on a GPU.
        """
        if array is None or isinstance(array, cls):
            return array or cls(t, 0, (0,) * t.ndim, (0,) * t.ndim)
        if array.device_id:
            raise RuntimeError(
                f"the array is on {array.device}, but Python code can only read CPU memory: use .to('cpu')"
            )
        return cls(t, array._address or 0, tuple(array.shape), tuple(array.strides), array, array.grad_ptr)

    # -- what kernels may ask -----------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple:
        """The extents."""
        return tuple(counted(n) for n in self._shape)

    @property
    def strides(self) -> tuple:
        """Bytes from one element to the next, for each dimension."""
        return tuple(int32(n) for n in self._strides)

    @property
    def ndim(self) -> Any:
        """The number of dimensions."""
        return int32(len(self._shape))

    @property
    def size(self) -> Any:
        """The number of elements."""
        total = 1
        for n in self._shape:
            total *= n
        return counted(total)

    @property
    def dtype(self) -> Any:
        """The Python class of an element."""
        return python_type(self.__wc_type__.dtype)

    @property
    def ptr(self) -> Address:
        """The address of the first element."""
        return Address(self.begin)

    @property
    def grad(self) -> ArrayCells:
        """The gradient as an array of the same shape."""
        return ArrayCells(self.__wc_type__, self.grad_address, self._shape, self._strides, self.owner)

    def __bool__(self) -> bool:
        return self.begin != 0

    def __len__(self) -> int:
        return self._shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        indices = key if isinstance(key, tuple) else (key,)
        if any(isinstance(i, slice) for i in indices):
            return self._section(indices)
        if len(indices) < len(self._shape):
            return self._rows(indices)
        return read(self.__wc_type__.dtype, self.address(indices), self.owner)

    def __setitem__(self, key: Any, value: Any) -> None:
        indices = key if isinstance(key, tuple) else (key,)
        if len(indices) != len(self._shape):
            raise IndexError(f"cannot assign with {len(indices)} indices to an array of {len(self._shape)} dimensions")
        if getattr(self.owner, "readonly", False):
            raise ValueError("the array is read-only, but the kernel writes it; pass a copy")
        write(self.__wc_type__.dtype, self.address(indices), value)

    def accessed(self, kind: str, path: tuple = ()) -> AbstractContextManager:
        """Reads and writes of an element in here are one access: "atomic", or a "write" to the part at `path`."""
        return nullcontext()

    def descriptor(self) -> bytes:
        """The array as a struct in memory holds it."""
        rest = MAX_NDIM - len(self._shape)
        fields = (*self._shape, *(1,) * rest, *self._strides, *(0,) * rest)
        return _DESCRIPTOR.pack(self.begin, self.grad_address, *fields)

    # -- addresses ----------------------------------------------------------------------------------------------

    def address(self, indices: tuple) -> int:
        """Address of the element, or of the first element of the row, at `indices`."""
        if len(indices) > len(self._shape):
            raise IndexError(f"{len(indices)} indices into an array of {len(self._shape)} dimensions")
        at = self.begin
        for index, extent, stride in zip(indices, self._shape, self._strides):
            i = index.__index__()
            if i < 0:
                i += extent
            if not 0 <= i < extent:
                shown = ", ".join(str(x) for x in indices)
                raise IndexError(f"index ({shown}) is out of range for an array of shape {self._shape}")
            at += i * stride
        return at

    def _rows(self, indices: tuple) -> ArrayCells:
        n = len(indices)
        at = self.address(indices)
        t = Array(self.__wc_type__.dtype, len(self._shape) - n)
        return self._view(t, at, self._shape[n:], self._strides[n:])

    def _section(self, key: tuple) -> ArrayCells:
        """The view that slices, and indices between them, name."""
        at = self.address(tuple(0 if isinstance(k, slice) else k for k in key)) if 0 not in self._shape else self.begin
        shape, strides = [], []
        for k, extent, stride in zip(key, self._shape, self._strides):
            if isinstance(k, slice):
                start, stop, step = k.indices(extent)
                at += start * stride
                shape.append(len(range(start, stop, step)))
                strides.append(stride * step)
        n = len(key)
        shape, strides = [*shape, *self._shape[n:]], [*strides, *self._strides[n:]]
        return self._view(Array(self.__wc_type__.dtype, len(shape)), at, tuple(shape), tuple(strides))

    def _view(self, t: Array, at: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> ArrayCells:
        grad = self.grad_address and self.grad_address + at - self.begin
        return ArrayCells(t, at, shape, strides, self.owner, grad)

    def __repr__(self) -> str:
        return f"<{spell(self.__wc_type__)}, shape {self._shape}>"


class LocalCells(ArrayCells):
    """A local array: memory of its own, which is copied when it is bound to a name."""

    __slots__ = ("type",)

    def __init__(self, t: FixedArray):
        strides = [t.dtype.size * math.prod(t.shape[k + 1 :]) for k in range(t.ndim)]
        memory = ctypes.create_string_buffer(t.bytes)
        super().__init__(t, ctypes.addressof(memory), t.shape, tuple(strides), memory)
        self.type = t

    def copy(self) -> LocalCells:
        """Another array with the same elements."""
        new = LocalCells(self.type)
        ctypes.memmove(new.begin, self.begin, self.type.bytes)
        return new

    def view(self) -> ArrayCells:
        """The array as one that is shared."""
        return ArrayCells(self.type.view, self.begin, self._shape, self._strides, self.owner)


def _bytes(address: int, size: int) -> Any:
    return (ctypes.c_char * size).from_address(address)


def _read_leaf(t: Type, address: int, owner: Any) -> Any:
    if isinstance(t, Array):
        ptr, grad, *rest = _DESCRIPTOR.unpack(_bytes(address, t.size).raw)
        shape, strides = rest[:MAX_NDIM], rest[MAX_NDIM:]
        return ArrayCells(t, ptr, tuple(shape[: t.ndim]), tuple(strides[: t.ndim]), owner, grad)
    assert isinstance(t, Scalar)
    return semantics.from_bits(int.from_bytes(_bytes(address, t.size).raw, "little"), t)


def read(t: Type, address: int, owner: Any = None) -> Any:
    """The value of type `t` at `address`."""
    return from_leaves(t, [_read_leaf(leaf, address + offset, owner) for offset, leaf in leaves(t)])


def write(t: Type, address: int, value: Any) -> None:
    """Store `value`, which must be of type `t` (or a literal that fits it), at `address`."""
    for (offset, leaf), x in zip(leaves(t), to_leaves(value, t)):
        if isinstance(leaf, Array):
            data = ArrayCells.of(x, leaf).descriptor()
        else:
            assert isinstance(leaf, Scalar)
            data = semantics.bits_of(x, leaf).to_bytes(leaf.size, "little")
        ctypes.memmove(address + offset, data, leaf.size)
