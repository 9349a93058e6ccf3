"""Kinds of memory of arrays, and which devices can use it."""

from __future__ import annotations

import enum
from typing import Any

from .. import _native
from ..devices import cuda_memory
from ..devices.device import DeviceLike, device_of, get_device
from ..devices.mempool import is_mempool_access_enabled

__all__ = ["MemoryKind", "can_access"]


class MemoryKind(enum.IntEnum):
    """Kinds of memory, which `array.memory_kind` gives.

    Attributes:
        UNKNOWN: Memory of a GPU that another library has made.
        HOST: Memory of the CPU.
        PINNED: Memory of the CPU that GPUs copy from and to by themselves.
        CUDA_DEVICE: Memory of a GPU.
        CUDA_MEMPOOL: Memory of a GPU from its pool.
        CUDA_MANAGED: Memory that moves between CPU and GPUs; this package makes none.
    """

    UNKNOWN = 0
    HOST = 1
    PINNED = 2
    CUDA_DEVICE = 3
    CUDA_MEMPOOL = 4
    CUDA_MANAGED = 5


def memory_kind(a: Any) -> MemoryKind:
    """Return the kind of memory of an array."""
    owner = a.owner
    if a.device.is_cpu:
        return MemoryKind.PINNED if isinstance(owner, cuda_memory.Pinned) else MemoryKind.HOST
    if not isinstance(owner, cuda_memory.Allocation):
        return MemoryKind.UNKNOWN
    return MemoryKind.CUDA_MEMPOOL if owner.pooled else MemoryKind.CUDA_DEVICE


def can_access(device: DeviceLike, resource: Any) -> bool:
    """True if kernels on a device can use the memory of an array.

    Args:
        device: the device, or its name.
        resource: the array.

    Raises:
        TypeError: `resource` is no array.

    >>> wp.can_access("cpu", wp.zeros(3))
    True
    """
    where = get_device(device)
    if not isinstance(resource, _native.ArrayBase):
        raise TypeError(f"resource: expected an array, got {type(resource).__name__}")
    kind, home = memory_kind(resource), device_of(resource.device_id)
    if kind is MemoryKind.CUDA_MEMPOOL and where.is_cuda and where is not home:
        return is_mempool_access_enabled(home, where)
    return kind is MemoryKind.PINNED or where.can_access(home)
