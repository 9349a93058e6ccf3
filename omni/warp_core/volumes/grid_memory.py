"""Bytes of grid buffers on their way between the host and the memory of a device."""

from __future__ import annotations

import numpy as np

from ..arrays.array import array
from ..arrays.factories import empty
from ..arrays.transfer import put
from ..devices.device import Device
from ..eager.addressed_memory import register
from ..lang.values.scalars import uint8
from .layout import ALIGNMENT, GRID, offset_of

_SIZE_AT = offset_of(GRID, "grid_size")


def aligned(data: np.ndarray, device: Device) -> array:
    """Return a copy of bytes on a device. It begins at a multiple of 32, where Python code finds it by its address."""
    whole = empty(data.size + ALIGNMENT, dtype=uint8, device=device)
    start = -whole.ptr % ALIGNMENT
    memory = whole[start : start + data.size]
    put(memory, data)
    register(memory)
    return memory


def bytes_at(address: int, size: int, device: Device) -> np.ndarray:
    """Return bytes in memory of a device: in place on the CPU, a copy on a GPU. 0 is the size that a grid says."""

    def part(start: int, count: int) -> np.ndarray:
        return array(ptr=address + start, shape=count, dtype=uint8, device=device).numpy()

    return part(0, size or int(part(_SIZE_AT, 8).view(np.uint64)[0]))


def host_view(memory: array) -> np.ndarray:
    """Return the bytes of a volume for its tree, which nothing changes: in place on the CPU, a copy on a GPU."""
    return memory.numpy() if memory.device.is_cuda else memory._numbers()
