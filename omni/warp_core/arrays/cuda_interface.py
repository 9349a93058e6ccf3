"""Memory of GPUs that other libraries offer by the CUDA array interface, as CuPy and Numba do.

Start with `import_cuda_array_interface`. `Interface.of` is the only place that reads what another library has written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..devices.device import get_cuda_devices, get_device, why_no_gpu
from . import dlpack, layouts
from .dtypes import Element, element, element_of, scalar_of_numpy

_NEWEST = 3  # version of the protocol
_MOST = 2**63  # numbers of bytes, extents and strides are less


class Interface(NamedTuple):
    """What an object tells of its memory, checked.

    Attributes:
        pointer: the address; 0 if there are no elements.
        read_only: whether the memory must not be written.
        dtype: the numbers.
        shape: the extents.
        strides: the strides in bytes.
        stream: the handle of the stream that still works there, or None.
    """

    pointer: int
    read_only: bool
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    stream: Any

    @classmethod
    def of(cls, owner: Any, given: Any) -> Interface:
        """The interface of `owner`.

        Raises:
            TypeError, ValueError: it is not as the protocol has it.
        """
        reader = _Reader(f"the __cuda_array_interface__ of {type(owner).__name__}", given)
        version = reader.value("version", _NEWEST)
        if version not in range(_NEWEST + 1):
            raise ValueError(
                f"{reader.name} is of version {version!r}, but only versions up to {_NEWEST} are known: share the "
                "memory by DLPack, wp.from_dlpack(x)"
            )
        if reader.value("mask", None) is not None:
            raise TypeError(f"{reader.name} has a mask, which arrays do not support: pass the data without it")
        pointer, read_only = reader.data()
        dtype = reader.numbers()
        shape = reader.integers("shape")
        strides = reader.integers("strides", layouts.c_strides(shape, dtype.itemsize))
        reader.check_place(pointer, dtype, shape, strides)
        return cls(pointer, read_only, dtype, shape, strides, reader.value("stream", None))


_REQUIRED = object()


class _Reader:
    """Reads a dictionary that another library has made. Errors name it and the entry."""

    def __init__(self, name: str, given: Any):
        if not isinstance(given, dict):
            raise TypeError(f"{name} is {given!r}, not a dictionary, as the protocol has it: pass a copy on the CPU")
        self.name, self.given = name, given

    def value(self, key: str, default: Any = _REQUIRED) -> Any:
        """One entry."""
        found = self.given.get(key, default)
        if found is _REQUIRED:
            raise ValueError(
                f"{self.name} has no {key!r}, without which its memory cannot be read: it needs 'data', 'shape' and "
                "'typestr'"
            )
        return found

    def refusal(self, key: str, expected: str, kind: type[Exception] = TypeError) -> Exception:
        """The error for an entry that is not as it should be."""
        return kind(f"{self.name} has {key}={self.given[key]!r}, but {key!r} is {expected}")

    def data(self) -> tuple[int, bool]:
        """The address, and whether the memory is read-only."""
        found = self.value("data")
        if not isinstance(found, (tuple, list)) or len(found) != 2 or not hasattr(found[0] or 0, "__index__"):
            raise self.refusal("data", "an address and whether it is read-only, such as (address, False)")
        address = (found[0] or 0).__index__()
        if not 0 <= address < 2**64:
            raise self.refusal("data", "an address of 64 bits and whether it is read-only", ValueError)
        return address, bool(found[1])

    def numbers(self) -> np.dtype:
        """The type of the numbers."""
        found = self.value("typestr")
        try:
            if not isinstance(found, str):
                raise TypeError
            return np.dtype(found)
        except TypeError:
            raise self.refusal("typestr", "a name of NumPy for a type, such as '<f4'") from None

    def integers(self, key: str, default: Any = _REQUIRED) -> tuple[int, ...]:
        """A tuple of integers; the default stands for None."""
        found = self.value(key, default if default is _REQUIRED else None)
        if found is None and default is not _REQUIRED:
            return tuple(default)
        try:
            integers = tuple(n.__index__() for n in found)
        except (TypeError, AttributeError):
            raise self.refusal(key, "a tuple of integers") from None
        if any(not -_MOST <= n < _MOST for n in integers):
            raise self.refusal(key, "a tuple of integers of 64 bits", ValueError)
        return integers

    def check_place(self, pointer: int, dtype: np.dtype, shape: tuple, strides: tuple) -> None:
        """Raise ValueError if elements cannot be where the dictionary says."""
        if any(n < 0 for n in shape):
            raise ValueError(f"{self.name} has shape={shape}, but no extent is negative")
        if len(strides) != len(shape):
            raise ValueError(f"{self.name} has shape={shape} and strides={strides}, but each dimension has one stride")
        if 0 in shape:
            return
        if pointer == 0:
            raise ValueError(
                f"{self.name} has no data: its address is 0, but its shape {shape} has elements: pass memory"
            )
        low, high = layouts.span(shape, strides, dtype.itemsize)
        if pointer + low < 0 or pointer + high > 2**64:
            raise ValueError(f"{self.name} has shape={shape} and strides={strides}, which no memory can hold")
        steps = [s for n, s in zip(shape, strides) if n > 1]
        if any(place % dtype.alignment for place in (pointer, *steps)):
            raise ValueError(f"{self.name} has memory that is not aligned to its {dtype}: pass a copy")


def shown(kind: Any, data: Any, dtype: Any, device: Any) -> Any:
    """Data for an array: one over the memory of `data` if only DLPack or CUDA's interface leads there, else `data`."""
    if _native.exchange.has_table(data) or (hasattr(data, "__dlpack__") and not _is_for_numpy(data)):
        return dlpack.import_dlpack(kind, data, name="data")
    if hasattr(data, "__cuda_array_interface__") and not hasattr(data, "__array_interface__"):
        return over(kind, data, dtype, device)
    return data


def _is_for_numpy(data: Any) -> bool:
    names = ("__array__", "__array_interface__", "__cuda_array_interface__")
    return any(hasattr(data, name) for name in names) or isinstance(data, _native.ArrayBase)


def over(kind: Any, data: Any, dtype: Any, device: Any) -> Any:
    """An array over memory of a GPU that `data` offers by either protocol; `device` if it does not say which GPU.

    Raises:
        RuntimeError: no GPU can be used here.
    """
    if not get_cuda_devices():
        what = f"the {type(data).__name__} is in CUDA memory"
        raise RuntimeError(f"data: {what}, but this process cannot use a GPU: {why_no_gpu()}")
    where = gpu_of(data)
    if where is not None:
        device = get_device(f"cuda:{where}")
    elif not device.is_cuda:
        device = get_device("cuda")
    return import_cuda_array_interface(kind, data, dtype, device)


def gpu_of(data: Any) -> int | None:
    """The number of the GPU that an object says its memory is on, or None."""
    if not hasattr(data, "__dlpack_device__"):
        return None
    kind, number = data.__dlpack_device__()
    return int(number) if kind in (dlpack.CUDA, dlpack.MANAGED) and number >= 0 else None


def import_cuda_array_interface(kind: Any, owner: Any, dtype: Any, device: Any) -> Any:
    """An array over the memory that the CUDA array interface of `owner` tells of; `owner` is kept alive.

    The current stream waits for the one that the interface names, if it does.

    Raises:
        TypeError: the memory does not hold elements of the type, or has a mask.
        ValueError: the interface is not as the protocol has it, or its stream is gone.
    """
    found = Interface.of(owner, owner.__cuda_array_interface__)
    scalar = scalar_of_numpy(found.dtype)
    wanted = element_of(dtype) if dtype is not None else None
    number = element(scalar) if scalar is not None else wanted
    if number is None:
        raise TypeError(f"no element type for the NumPy type {found.dtype}")
    if number.numpy != found.dtype:
        raise TypeError(f"expected elements of {number.name}, got {found.dtype}")
    made = _over(kind, owner, found, number, wanted or number, device)
    if found.stream is not None:
        dlpack.wait_for(device, found.stream)
    return made


def _over(kind: Any, owner: Any, found: Interface, number: Element, wanted: Element, device: Any) -> Any:
    """An array over memory; trailing dimensions hold the components of the elements."""
    shape, strides = found.shape, found.strides
    split = len(shape) - len(wanted.inner)
    if split < 0 or number.numpy != wanted.numpy or shape[split:] != wanted.inner:
        raise TypeError(f"expected elements of {wanted.name}, got {number.name} of shape {shape}")
    if strides[split:] != wanted.inner_strides and 0 not in shape:
        raise ValueError("the components of an element must be contiguous")
    made = kind.__new__(kind)
    flags = _native.READONLY if found.read_only else 0
    outer = layouts.check_shape(shape[:split]) if split else (1,)
    steps = strides[:split] if split else (wanted.type.size,)
    made._init(wanted, found.pointer, outer, steps, owner, flags, device)
    return made
