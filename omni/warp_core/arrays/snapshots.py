"""Copies of spans of memory, in slots of one block on each device that is made once. Whoever makes them keeps the
memory alive.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..devices.cuda_memory import Allocation
from ..devices.device import Device
from .layouts import Span, merge_ranges
from .transfer import copy_bytes, same_bytes

Piece = tuple[Span, Device]  # a span of memory, and where it is


class _Block:
    """Room for copies of spans of one device."""

    def __init__(self, device: Device, spans: Iterable[Span], slots: int):
        self.device, self.spans = device, merge_ranges(list(spans))
        self.nbytes = sum(high - low for low, high in self.spans)
        self._memory: Any
        if device.is_cuda:
            self._memory = Allocation(device, slots * self.nbytes)
            self._first = self._memory.ptr
        else:
            self._memory = np.empty((slots, self.nbytes), np.uint8)  # the system gives pages as they are first written
            self._first = self._memory.ctypes.data

    def places(self, slot: int) -> Iterable[tuple[int, int, int]]:
        """Of each span its address, that of its copy in a slot, and its size."""
        at = self._first + slot * self.nbytes
        for low, high in self.spans:
            yield low, at, high - low
            at += high - low


class Snapshots:
    """Room for `slots` copies of spans of memory."""

    def __init__(self, pieces: Iterable[Piece], slots: int = 1):
        spans: dict[Device, list[Span]] = {}
        for span, device in pieces:
            spans.setdefault(device, []).append(span)
        self._blocks = [_Block(device, found, slots) for device, found in spans.items()]
        self.pieces: list[Piece] = [(span, block.device) for block in self._blocks for span in block.spans]
        self.nbytes = sum(block.nbytes for block in self._blocks)

    def save(self, slot: int = 0) -> None:
        """Copy what is there now."""
        for block in self._blocks:
            for low, at, nbytes in block.places(slot):
                copy_bytes(at, low, nbytes, block.device)

    def restore(self, slot: int = 0) -> None:
        """Bring back what was there."""
        for block in self._blocks:
            for low, at, nbytes in block.places(slot):
                copy_bytes(low, at, nbytes, block.device)

    def same(self, slot: int = 0) -> bool:
        """True if both have the same bytes."""
        return all(
            same_bytes(low, at, nbytes, block.device)
            for block in self._blocks
            for low, at, nbytes in block.places(slot)
        )
