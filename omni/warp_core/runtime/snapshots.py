"""Copies of spans of memory, in slots of one block that is made once. Whoever makes them keeps the memory alive."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .. import _native
from .memory import memory_at, merged


class Snapshots:
    """Room for `slots` copies of spans of memory."""

    def __init__(self, spans: Iterable[tuple[int, int]], slots: int = 1):
        self.spans = merged(list(spans))
        self.nbytes = sum(high - low for low, high in self.spans)
        self._block = np.empty((slots, self.nbytes), np.uint8)  # the system gives pages as they are first written

    def save(self, slot: int = 0) -> None:
        """Copy what is there now."""
        at = self._block[slot].ctypes.data if self.spans else 0
        for low, high in self.spans:
            _native.copy(at, low, high - low)
            at += high - low

    def restore(self, slot: int = 0) -> None:
        """Bring back what was there."""
        at = self._block[slot].ctypes.data if self.spans else 0
        for low, high in self.spans:
            _native.copy(low, at, high - low)
            at += high - low

    def same(self, slot: int = 0) -> bool:
        """Whether the same is there, bit for bit."""
        at = 0
        for low, high in self.spans:
            if memory_at((low, high)) != self._block[slot, at : at + high - low].tobytes():
                return False
            at += high - low
        return True
