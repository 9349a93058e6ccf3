"""Memory of GPUs for descriptors of structures, such as hash grids. A kernel finds a structure by its descriptor, whose
address is a part of the structure's id.

A GPU that reads at a wrong address is lost for the process. So all descriptors of a GPU lie in one range of memory,
which is never given back, and kernels compare an id with that range before they read.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from . import cuda_capture, cuda_memory

_SIZE = 1 << 21  # bytes
_ROOM_BEHIND = 256  # bytes, so that a descriptor of any kind can be read at each address of the range


class DescriptorMemory:
    """The memory of descriptors of a GPU, an allocation. `span` is its address, and its size for kernels."""

    def __init__(self, device: Any):
        self.allocation = cuda_memory.Allocation(device, _SIZE + _ROOM_BEHIND)
        zeros = bytes(_SIZE + _ROOM_BEHIND)
        write(device, self.allocation.ptr, zeros)
        self.span = (self.allocation.ptr, _SIZE)
        self._device, self._used = device, 0

    def take(self, nbytes: int) -> int:
        """Return the address of `nbytes` bytes, which are zero.

        Raises:
            MemoryError: there are too many structures.
        """
        if self._used + nbytes > _SIZE:
            raise MemoryError(f"{self._device} has no room for more descriptors of structures: delete hash grids")
        self._used += nbytes
        return self.span[0] + self._used - nbytes


def write(device: Any, address: int, content: bytes) -> None:
    """Write to memory of a GPU at once, whatever is captured."""
    host = ctypes.create_string_buffer(content, len(content))
    cuda_capture.upload(address, device, ctypes.addressof(host), len(content))


@cache
def of(device: Any) -> DescriptorMemory:
    """The memory of descriptors of a GPU, for as long as the process."""
    return DescriptorMemory(device)
