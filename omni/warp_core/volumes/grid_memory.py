"""Bytes of grid buffers on their way between the host and the memory of a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _native
from ..arrays.array import array
from ..arrays.factories import empty
from ..arrays.layouts import byte_range
from ..arrays.transfer import put
from ..devices.device import Device
from ..dispatch import capture
from ..lang.values.scalars import uint8
from .grid_builder import BuiltGrid, GridPlan, Placement
from .grid_tree import check_size
from .layout import ALIGNMENT, GRID, offset_of

_SIZE_AT = offset_of(GRID, "grid_size")


def refuse_capture(device: Device) -> None:
    """Raise RuntimeError while a graph captures what a GPU does: volumes are made on the host."""
    if device.is_cuda:
        capture.refuse("making a wp.Volume", device)


def filled(write: Callable[[Any], None], count: int, dtype: Any, device: Device) -> array:
    """Return an array that native code fills, which `write` calls with the array, or with one on the host for a GPU."""
    memory = empty(count, dtype=dtype, device=device)
    if device.is_cuda:
        data = np.empty(count, memory._require_element().numpy)
        write(data)
        put(memory, data)
    else:
        _native.before_write(*byte_range(memory))
        write(memory)
    return memory


def aligned(data: np.ndarray, device: Device) -> array:
    """Return a copy of the bytes of a grid on a device, as `filled` returns it. It begins at a multiple of 32."""
    memory = empty(data.size, dtype=uint8, device=device)
    assert memory.ptr % ALIGNMENT == 0
    put(memory, data)
    return memory


def build(plan: GridPlan, background: Any, placement: Placement, device: Device) -> tuple[array, BuiltGrid]:
    """Build a grid in memory of a device, as `aligned` returns it. Returns the grid, too."""
    grids = []
    memory = filled(lambda data: grids.append(plan.write(data, background, placement)), plan.size, uint8, device)
    check_size("", plan.value_type, plan.size)
    return memory, grids[0]


def bytes_at(address: int, size: int, device: Device) -> np.ndarray:
    """Return bytes in memory of a device: in place on the CPU, a copy on a GPU. 0 is the size that a grid says."""

    def part(start: int, count: int) -> np.ndarray:
        return array(ptr=address + start, shape=count, dtype=uint8, device=device).numpy()

    return part(0, size or int(part(_SIZE_AT, 8).view(np.uint64)[0]))


def host_view(memory: array) -> np.ndarray:
    """Return the bytes of a volume for its tree, which nothing changes: in place on the CPU, a copy on a GPU."""
    return memory.numpy() if memory.device.is_cuda else memory._numbers()
