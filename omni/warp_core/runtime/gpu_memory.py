"""Memory of GPUs: allocations, and copies and fills on the current stream of a device.

What is freed goes back in the order of the null stream, which follows all others: work that was given before still has
it.
"""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

from .. import _native
from . import capture, gpu_graphs
from .device import CPU

driver = _native.cuda


class Allocation:
    """Memory of a GPU for as long as it is used: `ptr` and `nbytes`; `shared` says whether others have the address."""

    __slots__ = ("__weakref__", "device", "nbytes", "ptr", "shared")

    def __init__(self, device: Any, nbytes: int):
        self.device, self.nbytes, self.shared = device, nbytes, False
        pooled = device.is_mempool_enabled
        self.ptr = _allocate(device, max(nbytes, 1), pooled)
        weakref.finalize(self, _release, device, self.ptr, pooled).atexit = False


def _allocate(device: Any, nbytes: int, pooled: bool) -> int:
    """Raises MemoryError if there is no room, even after waiting for what is being freed."""
    for last in (False, True):
        try:
            if capture.active():
                return _allocate_apart(device, nbytes, pooled)
            return driver.allocate(device.context, nbytes, device.stream.cuda_stream, pooled)
        except driver.Error as why:
            if "OUT_OF_MEMORY" not in str(why):
                raise
            if last or capture.active():
                raise MemoryError(f"{device} has no memory for {nbytes} bytes: {why}") from None
        gc.collect()
        device.synchronize()
    raise AssertionError


def _allocate_apart(device: Any, nbytes: int, pooled: bool) -> int:
    """Allocate at once while somebody captures, perhaps on the current stream."""
    with gpu_graphs.relaxed():
        side = gpu_graphs.side_stream(device).cuda_stream
        ptr = driver.allocate(device.context, nbytes, side, pooled)
        driver.synchronize_stream(device.context, side)
    return ptr


def _release(device: Any, ptr: int, pooled: bool) -> None:
    capture.when_free(device, lambda: driver.release_memory(device.context, ptr, 0, pooled))


def copy(to: int, to_device: Any, from_: int, from_device: Any, nbytes: int) -> None:
    """Copy bytes where at least one side is on a GPU, in the order of that GPU's stream.

    Copies to a GPU from pageable memory of the host have read it when this returns; copies from a GPU to pageable
    memory have ended. Between two GPUs both streams are followed.
    """
    if nbytes == 0:
        return
    device = to_device if to_device.is_cuda else from_device
    capture.check_gpu(device)
    if to_device.is_cuda and from_device.is_cuda and to_device is not from_device:
        capture.check_gpu(from_device)
        to_device.stream.wait_stream(from_device.stream)
        driver.copy(device.context, to, from_, nbytes, device.stream.cuda_stream)
        from_device.stream.wait_stream(to_device.stream)  # else the source could be overwritten meanwhile
        return
    driver.copy(device.context, to, from_, nbytes, device.stream.cuda_stream)


def read(device: Any, ptr: int, nbytes: int) -> bytes:
    """The bytes at an address of a GPU. Waits for its stream."""
    capture.refuse("reading memory of a GPU", device)
    host = (ctypes.c_char * nbytes)()
    if nbytes:
        driver.copy(device.context, ctypes.addressof(host), ptr, nbytes, device.stream.cuda_stream)
        driver.synchronize_stream(device.context, device.stream.cuda_stream)
    return host.raw


def upload(to: int, device: Any, host: int, nbytes: int) -> None:
    """Copy memory of the host that will not last to a GPU. A graph copies what it holds now whenever it runs."""
    captured = capture.gpu()
    if captured is None or not nbytes:
        copy(to, device, host, CPU, nbytes)
        return
    kept = Allocation(device, nbytes)
    gpu_graphs.upload(kept.ptr, device, host, nbytes)
    copy(to, device, kept.ptr, device, nbytes)
    captured.keep(kept)


def fill(device: Any, ptr: int, nbytes: int, pattern: bytes) -> None:
    """Fill memory of a GPU with a whole number of patterns."""
    if nbytes:
        capture.check_gpu(device)
        driver.fill(device.context, ptr, nbytes, pattern, device.stream.cuda_stream)
