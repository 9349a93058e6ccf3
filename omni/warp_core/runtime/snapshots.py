"""Copies of the memory that some arrays show, in slots of one block that is made once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _native
from .array import array
from .kept import memory_at, merged, span_of


class Snapshots:
    """Room for `slots` copies of what `arrays` show."""

    def __init__(self, arrays: Sequence[array], slots: int = 1):
        self.spans = merged([span_of(a) for a in arrays])
        self.nbytes = sum(high - low for low, high in self.spans)
        self._arrays = list(arrays)  # keeps their memory
        self._block = np.empty((slots, self.nbytes), np.uint8)  # the system gives pages as they are first written

    def save(self, slot: int = 0) -> None:
        """Copy what the arrays have now."""
        at = self._block[slot].ctypes.data if self.spans else 0
        for low, high in self.spans:
            _native.copy(at, low, high - low)
            at += high - low

    def restore(self, slot: int = 0) -> None:
        """Give the arrays what they had."""
        at = self._block[slot].ctypes.data if self.spans else 0
        for low, high in self.spans:
            _native.copy(low, at, high - low)
            at += high - low

    def same(self, slot: int = 0) -> bool:
        """Whether the arrays have, bit for bit, what they had."""
        at = 0
        for low, high in self.spans:
            if memory_at((low, high)) != self._block[slot, at : at + high - low].tobytes():
                return False
            at += high - low
        return True
