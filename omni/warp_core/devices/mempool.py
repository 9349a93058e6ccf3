"""Memory pools of GPUs, and access of one GPU to the memory of another.

A pool serves allocations in the order of a stream's work and keeps what is freed for reuse, up to a threshold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _native
from . import cuda_memory
from .device import DeviceLike, get_device

__all__ = [
    "MemoryReport",
    "ScopedMempool",
    "ScopedMempoolAccess",
    "ScopedPeerAccess",
    "get_memory_report",
    "get_mempool_release_threshold",
    "get_mempool_used_mem_current",
    "get_mempool_used_mem_high",
    "is_mempool_access_enabled",
    "is_mempool_access_supported",
    "is_mempool_enabled",
    "is_mempool_supported",
    "is_peer_access_enabled",
    "is_peer_access_supported",
    "set_mempool_access_enabled",
    "set_mempool_enabled",
    "set_mempool_release_threshold",
    "set_peer_access_enabled",
]

driver = _native.cuda

_THRESHOLD, _RESERVED_HIGH, _USED, _USED_HIGH = 4, 6, 7, 8  # attributes of pools


class MemoryReport(NamedTuple):
    """Bytes of a GPU. `live` is in arrays and other allocations of this package. `used` is that of its pool and
    `reserved` what the pool has from the device, each with the most so far. `free` is for any program, and `total` is
    all. A device without a pool has zeros for it.
    """

    live: int
    used: int
    used_high: int
    reserved: int
    reserved_high: int
    free: int
    total: int

    def __str__(self) -> str:
        return (
            f"{self.live} bytes live; pool: {self.used} used (at most {self.used_high}), {self.reserved} reserved "
            f"(at most {self.reserved_high}); device: {self.free} free of {self.total}"
        )


def get_memory_report(device: DeviceLike = None) -> MemoryReport:
    """Return a report of the memory of a GPU.

    Args:
        device: the GPU; by default the current device.

    Returns:
        The numbers of bytes, with names; as a string, a line to print.

    Raises:
        RuntimeError: the device is no GPU.

    >>> for gpu in wp.get_cuda_devices():
    ...     print(wp.get_memory_report(gpu))
    """
    found: Any = get_device(device)
    if not found.is_cuda:
        raise RuntimeError(f"memory reports exist only for CUDA devices, got '{found}'")
    numbers = (_USED, _USED_HIGH, cuda_memory.RESERVED, _RESERVED_HIGH)
    pool = [driver.pool_attribute(found.ordinal, n) if found.is_mempool_supported else 0 for n in numbers]
    return MemoryReport(cuda_memory.live[found], *pool, *driver.memory_info(found.context))


def is_mempool_supported(device: DeviceLike) -> bool:
    """True if a device has a memory pool. The CPU does not.

    Args:
        device: a device or its name.

    >>> wp.is_mempool_supported("cpu")
    False
    """
    return get_device(device).is_mempool_supported


def is_mempool_enabled(device: DeviceLike) -> bool:
    """True if allocations on a device come from its pool.

    Args:
        device: a device or its name.

    >>> wp.is_mempool_enabled("cpu")
    False
    """
    return get_device(device).is_mempool_enabled


def set_mempool_enabled(device: DeviceLike, enable: bool) -> None:
    """Let allocations on a GPU come from its pool, or not. What was allocated before goes back where it came from.

    Args:
        device: a GPU or its name.
        enable: whether they do.

    Raises:
        ValueError: the device has no pool.

    >>> for gpu in wp.get_cuda_devices():
    ...     wp.set_mempool_enabled(gpu, gpu.is_mempool_supported)
    """
    found = get_device(device)
    if enable:
        _pool_of(found)
    found.is_mempool_enabled = bool(enable)


def set_mempool_release_threshold(device: DeviceLike, threshold: int | float) -> None:
    """Set how much freed memory the pool of a GPU keeps when it synchronises.

    Args:
        device: the GPU.
        threshold: bytes from 2 on; up to 1, the share of the memory of the device.

    Raises:
        ValueError: the device has no pool.
        ValueError: the threshold is negative.

    >>> for gpu in wp.get_cuda_devices():
    ...     wp.set_mempool_release_threshold(gpu, 64 << 20)
    """
    found = _pool_of(get_device(device))
    if threshold < 0:
        raise ValueError(f"threshold: must not be negative, got {threshold}")
    nbytes = int(threshold * found.total_memory if threshold <= 1 else threshold)
    driver.set_pool_attribute(found.ordinal, _THRESHOLD, nbytes)


def get_mempool_release_threshold(device: DeviceLike = None) -> int:
    """Return how many bytes of freed memory the pool of a GPU keeps.

    Args:
        device: a device or its name; by default the current one.

    >>> for gpu in wp.get_cuda_devices():
    ...     assert wp.get_mempool_release_threshold(gpu) >= 0
    """
    return _attribute(device, _THRESHOLD)


def get_mempool_used_mem_current(device: DeviceLike = None) -> int:
    """Return how many bytes of the pool of a GPU are in use.

    Args:
        device: a device or its name; by default the current one.

    >>> for gpu in wp.get_cuda_devices():
    ...     assert wp.get_mempool_used_mem_current(gpu) >= 0
    """
    return _attribute(device, _USED)


def get_mempool_used_mem_high(device: DeviceLike = None) -> int:
    """The most bytes of the pool of a GPU that were in use at a time.

    Args:
        device: a device or its name; by default the current one.

    >>> for gpu in wp.get_cuda_devices():
    ...     assert wp.get_mempool_used_mem_high(gpu) >= 0
    """
    return _attribute(device, _USED_HIGH)


def _attribute(device: DeviceLike, attribute: int) -> int:
    return driver.pool_attribute(_pool_of(get_device(device)).ordinal, attribute)


def _pool_of(device: Any) -> Any:
    if not device.is_mempool_supported:
        raise ValueError(f"{device} has no memory pool")
    return device


class ScopedMempool:
    """A `with` block in which a GPU's allocations come from its pool, or do not."""

    def __init__(self, device: DeviceLike, enable: bool):
        self.device, self.enable = get_device(device), enable

    def __enter__(self) -> None:
        self._saved = self.device.is_mempool_enabled
        set_mempool_enabled(self.device, self.enable)

    def __exit__(self, *exc: object) -> None:
        set_mempool_enabled(self.device, self._saved)


# -- access of one GPU to another -------------------------------------------------------------------------------------


def _gpus(target: DeviceLike, peer: DeviceLike) -> tuple[Any, Any] | None:
    """Both devices if they are different GPUs."""
    a, b = get_device(target), get_device(peer)
    return (a, b) if a.is_cuda and b.is_cuda and a is not b else None


def is_peer_access_supported(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """True if `peer_device` could use the memory of `target_device` in its kernels.

    Args:
        target_device: the device whose memory it is.
        peer_device: the device that uses it.

    >>> wp.is_peer_access_supported("cpu", "cpu")
    True
    """
    pair = _gpus(target_device, peer_device)
    if pair is None:
        return get_device(target_device) is get_device(peer_device)
    return driver.can_access_peer(pair[1].ordinal, pair[0].ordinal)


def is_peer_access_enabled(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """True if `peer_device` uses the memory of `target_device` in its kernels.

    Args:
        target_device: the device whose memory it is.
        peer_device: the device that uses it.

    >>> wp.is_peer_access_enabled("cpu", "cpu")
    True
    """
    pair = _gpus(target_device, peer_device)
    if pair is None:
        return get_device(target_device) is get_device(peer_device)
    return pair[0].ordinal in pair[1]._peers


def set_peer_access_enabled(target_device: DeviceLike, peer_device: DeviceLike, enable: bool) -> None:
    """Let `peer_device` use the memory of `target_device` that comes from no pool, or forbid it.

    Args:
        target_device: the device whose memory it is.
        peer_device: the device that uses it.
        enable: whether it may.

    Raises:
        RuntimeError: the two cannot reach each other.

    >>> a, b = (*wp.get_cuda_devices(), "cpu", "cpu")[:2]
    >>> if wp.is_peer_access_supported(a, b):
    ...     wp.set_peer_access_enabled(a, b, True)
    """
    target, peer = _reachable(target_device, peer_device, is_peer_access_supported)
    if target is not None:
        driver.set_peer_access(peer.context, target.context, bool(enable))
        (peer._peers.add if enable else peer._peers.discard)(target.ordinal)


def is_mempool_access_supported(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """True if `peer_device` could use memory of the pool of `target_device`.

    Args:
        target_device: the device whose memory it is.
        peer_device: the device that uses it.

    >>> wp.is_mempool_access_supported("cpu", "cpu")
    False
    """
    return get_device(target_device).is_mempool_supported and is_peer_access_supported(target_device, peer_device)


def is_mempool_access_enabled(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """True if `peer_device` can use memory of the pool of `target_device`.

    Args:
        target_device: the device whose memory it is.
        peer_device: the device that uses it.

    >>> wp.is_mempool_access_enabled("cpu", "cpu")
    False
    """
    pair = _gpus(target_device, peer_device)
    if pair is None:
        return get_device(target_device) is get_device(peer_device) and is_mempool_supported(target_device)
    return driver.pool_access(pair[0].ordinal, pair[1].ordinal)


def set_mempool_access_enabled(target_device: DeviceLike, peer_device: DeviceLike, enable: bool) -> None:
    """Let `peer_device` use memory of the pool of `target_device`, or forbid it.

    Args:
        target_device: the device whose memory it is.
        peer_device: the device that uses it.
        enable: whether it may.

    Raises:
        RuntimeError: there is no pool, or the two cannot reach each other.

    >>> a, b = (*wp.get_cuda_devices(), "cpu", "cpu")[:2]
    >>> if wp.is_mempool_access_supported(a, b):
    ...     wp.set_mempool_access_enabled(a, b, True)
    """
    target, peer = _reachable(target_device, peer_device, is_mempool_access_supported)
    if target is not None:
        driver.set_pool_access(target.ordinal, peer.ordinal, bool(enable))


def _reachable(target: DeviceLike, peer: DeviceLike, supported: Any) -> tuple[Any, Any]:
    if not supported(target, peer):
        raise RuntimeError(f"{get_device(peer)} cannot access the memory of {get_device(target)}")
    return _gpus(target, peer) or (None, None)


class _ScopedAccess:
    """A `with` block in which access is enabled or not."""

    _is: Any
    _set: Any

    def __init__(self, target_device: DeviceLike, peer_device: DeviceLike, enable: bool):
        self.target, self.peer, self.enable = get_device(target_device), get_device(peer_device), enable

    def __enter__(self) -> None:
        self._saved = type(self)._is(self.target, self.peer)
        type(self)._set(self.target, self.peer, self.enable)

    def __exit__(self, *exc: object) -> None:
        type(self)._set(self.target, self.peer, self._saved)


class ScopedPeerAccess(_ScopedAccess):
    """A `with` block in which one GPU can use the memory of another, or cannot: see `set_peer_access_enabled`."""

    _is, _set = staticmethod(is_peer_access_enabled), staticmethod(set_peer_access_enabled)


class ScopedMempoolAccess(_ScopedAccess):
    """A `with` block in which one GPU can use another's pool, or cannot: see `set_mempool_access_enabled`."""

    _is, _set = staticmethod(is_mempool_access_enabled), staticmethod(set_mempool_access_enabled)
