"""Descriptors: how kernels find a structure, such as a hash grid, by its id.

A descriptor is a struct in memory that starts with the id of its structure. The lower 48 bits of the id are the
address of the descriptor. The upper 16 bits count the structures that had it, so that the id of a structure that is
gone is recognised, whether or not another one took its place. Memory of descriptors is never given back: reading one by
an old id is always allowed.
"""

from __future__ import annotations

import ctypes
from typing import Any
from weakref import finalize

from ..arrays.array import array
from ..arrays.factories import zeros
from ..devices.device import Device
from ..eager.addressed_memory import register
from ..lib.hash_grid_queries import ADDRESS

_AT_ONCE = 256  # descriptors in an allocation
_ADDRESS_BITS = ADDRESS.bit_length()
_LAST_USE = (1 << 64 - _ADDRESS_BITS) - 1


class Descriptors:
    """The descriptors of structures of one kind on one device."""

    def __init__(self, dtype: Any, device: Device):
        self.dtype, self.device = dtype, device
        self._free: list[tuple[array, int]] = []  # places, and how often each was used
        self._all: list[array] = []

    def take(self, owner: Any) -> tuple[array, int]:
        """Return an array of one descriptor and an id, which stands for `owner` until that is gone."""
        if not self._free:
            self._grow()
        place, uses = self._free.pop()
        finalize(owner, self._give_back, place, uses + 1).atexit = False
        return place, place.ptr | uses + 1 << _ADDRESS_BITS

    def _grow(self) -> None:
        memory = zeros(_AT_ONCE, dtype=self.dtype, device=self.device)
        places = [memory[i : i + 1] for i in reversed(range(_AT_ONCE))]
        self._all += places
        self._free += [(place, 0) for place in places]
        for place in places:
            register(place)

    def _give_back(self, place: array, uses: int) -> None:
        ctypes.memset(place.ptr, 0, place._require_element().type.size)
        if uses < _LAST_USE:
            self._free.insert(0, (place, uses))
