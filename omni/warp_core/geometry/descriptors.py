"""Descriptors: how kernels find a structure, such as a hash grid, by its id.

A descriptor is a struct in memory that starts with the id of its structure. The id has the address of the descriptor, a
count of the structures that had it, and their kind. So the id of a structure that is gone is recognised, whether or not
another one took its place, and so is the id of a structure of another kind. Memory of descriptors is never given back:
reading one by an old id is always allowed.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Callable
from functools import cached_property
from struct import Struct
from typing import Any
from weakref import ref

from .. import _native
from ..arrays.array import array
from ..arrays.dtypes import element_of
from ..arrays.factories import zeros
from ..devices import descriptor_memory
from ..dispatch import capture
from ..eager.addressed_memory import register
from ..lib.geometry.structure_ids import ADDRESS, KIND_SHIFT

_AT_ONCE = 256  # descriptors in an allocation
_ADDRESS_BITS = ADDRESS.bit_length()
_LAST_USE = (1 << KIND_SHIFT - _ADDRESS_BITS) - 1
_NULL_STREAM = 0
_CODES = {"u8": "Q", "i4": "i", "f8": "d"}  # NumPy's names of numbers -> those of `struct`


class Descriptors:
    """The descriptors of structures of one kind on one device."""

    def __init__(self, dtype: Any, kind: int, device: Any):
        self.dtype, self.device = dtype, device
        self._kind = kind << KIND_SHIFT
        self._size = element_of(dtype).type.size
        self._free: deque[tuple[array, int]] = deque()  # places, and how often each was used
        self._owners: dict[int, ref] = {}  # by the address of the place; a place goes back when its owner is gone
        self._all: list[array] = []

    def take(self, owner: Any, when_gone: Callable[[int], None] | None = None) -> tuple[array, int]:
        """Return an array of one descriptor and an id, which stands for `owner` until that is gone.

        Then `when_gone` is called with the id.
        """
        if not self._free:
            self._grow()
        place, uses = self._free.pop()
        address = place._address
        number = address | uses + 1 << _ADDRESS_BITS | self._kind

        def give_back(_: ref, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:  # the name may be gone then
            if not is_ending():
                if when_gone is not None:
                    when_gone(number)
                self._give_back(place, uses + 1)

        self._owners[address] = ref(owner, give_back)
        return place, number

    @cached_property
    def _packing(self) -> tuple[Struct, dict[str, Any]]:
        """How the fields of a descriptor lie in its bytes, and what they are without a value, by name."""
        record: Any = element_of(self.dtype).numpy
        code, end, zero = "<", 0, {}
        for name in record.names:
            kind, offset = record.fields[name][:2]
            is_number = kind.shape == ()
            code += f"{offset - end}x" + (_CODES[kind.str[1:]] if is_number else f"{kind.itemsize}s")
            end, zero[name] = offset + kind.itemsize, 0 if is_number else b""
        return Struct(f"{code}{record.itemsize - end}x"), zero

    def pack(self, **fields: Any) -> bytes:
        """Return a descriptor with these numbers, and bytes of vectors and matrices; the others are zero.

        Other arguments count for nothing. To make a struct would take ten times as long.
        """
        packing, zero = self._packing
        return packing.pack(*[fields.get(name, default) for name, default in zero.items()])

    def write(self, place: array, descriptor: bytes) -> None:
        """Write a descriptor at once. Work that was given to a GPU before still finds the old one."""
        if self.device.is_cuda:
            _native.cuda.synchronize_stream(self.device.context, _NULL_STREAM)
            descriptor_memory.write(self.device, place.ptr, descriptor)
        else:
            ctypes.memmove(place._address, descriptor, len(descriptor))

    def _grow(self) -> None:
        places = self._gpu_places() if self.device.is_cuda else self._cpu_places()
        for place in places:
            register(place)
        self._all += places
        self._free.extend((place, 0) for place in reversed(places))

    def _cpu_places(self) -> list[array]:
        memory = zeros(_AT_ONCE, dtype=self.dtype, device=self.device)
        return [memory[i : i + 1] for i in range(_AT_ONCE)]

    def _gpu_places(self) -> list[array]:
        memory = descriptor_memory.of(self.device)
        begin = memory.take(_AT_ONCE * self._size)
        places = [array.__new__(array) for _ in range(_AT_ONCE)]
        for i, place in enumerate(places):
            at = begin + i * self._size
            place._init(element_of(self.dtype), at, (1,), (self._size,), memory.allocation, device=self.device)
        return places

    def _give_back(self, place: array, uses: int) -> None:
        del self._owners[place._address]
        if self.device.is_cuda:
            capture.run_when_idle(self.device, lambda: self._clear_on_gpu(place, uses))
        else:
            ctypes.memset(place._address, 0, self._size)
            self._offer(place, uses)

    def _clear_on_gpu(self, place: array, uses: int) -> None:
        """Clear a descriptor behind all work that was given to the GPU, as memory goes back."""
        self.device.follow_streams_apart()
        _native.cuda.fill(self.device.context, place.ptr, self._size, b"\0", _NULL_STREAM)
        self._offer(place, uses)

    def _offer(self, place: array, uses: int) -> None:
        if uses < _LAST_USE:
            self._free.appendleft((place, uses))
