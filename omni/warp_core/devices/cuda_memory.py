"""Memory of GPUs: allocations, and copies and fills on the current stream of a device; pinned memory of the host.

What is freed goes back in the order of the null stream, which follows all others: work that was given before still has
it. Pinned memory goes back when the copies from and to it have ended.

Of copies from and to other memory of the host, pageable memory, CUDA's documentation says that they *might* wait. So
nothing is left to that: small pieces go to a GPU by way of pinned memory (`Stage`), after all others we wait.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections import Counter
from functools import cache
from typing import Any

from .. import _native
from ..dispatch import capture
from . import cuda_capture
from .device import CPU, get_cuda_devices, why_no_gpu
from .stream import Event

driver = _native.cuda

RESERVED = 5  # attribute of a pool: the bytes that it holds

live: Counter[Any] = Counter()  # bytes of allocations in use, by device


class Allocation:
    """Memory of a GPU for as long as it is used: `ptr` and `nbytes`; `shared` says whether others have the address."""

    __slots__ = ("__weakref__", "device", "nbytes", "pooled", "ptr", "shared")

    def __init__(self, device: Any, nbytes: int):
        self.device, self.nbytes, self.shared = device, nbytes, False
        self.pooled = pooled = device.is_mempool_enabled
        self.ptr = _allocate(device, max(nbytes, 1), pooled)
        live[device] += nbytes
        weakref.finalize(self, _release, device, self.ptr, nbytes, pooled).atexit = False


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
                raise MemoryError(_no_room(device, nbytes)) from None
        gc.collect()
        capture.catch_up(device)
        device.synchronize()
    raise AssertionError


def _allocate_apart(device: Any, nbytes: int, pooled: bool) -> int:
    """Allocate at once during a capture, perhaps on the current stream."""
    with cuda_capture.relaxed():
        side = cuda_capture.side_stream(device).cuda_stream
        ptr = driver.allocate(device.context, nbytes, side, pooled)
        driver.synchronize_stream(device.context, side)
    return ptr


def _no_room(device: Any, nbytes: int) -> str:
    free, total = driver.memory_info(device.context)
    held = driver.pool_attribute(device.ordinal, RESERVED) if device.is_mempool_supported else 0
    return (
        f"{device} has no room for {nbytes} bytes: {free} of its {total} bytes are free, arrays take "
        f"{live[device]}, its memory pool holds {held}, and other libraries and processes hold the rest. "
        "Delete arrays, or graphs and tapes that keep arrays alive. The device can be used as before"
    )


def _release(device: Any, ptr: int, nbytes: int, pooled: bool) -> None:
    live[device] -= nbytes
    capture.run_when_idle(device, lambda: _give_back(device, ptr, pooled))


def _give_back(device: Any, ptr: int, pooled: bool) -> None:
    device.follow_streams_apart()
    driver.release_memory(device.context, ptr, 0, pooled)


class Pinned:
    """Memory of the host that GPUs copy from and to by themselves, while the program goes on: `ptr` and `nbytes`.

    Raises:
        RuntimeError: no GPU can be used.
        MemoryError: there is no room.
    """

    __slots__ = ("__weakref__", "_uses", "nbytes", "ptr", "shared")

    def __init__(self, nbytes: int):
        gpus = get_cuda_devices()
        if not gpus:
            raise RuntimeError(f"pinned memory needs a GPU, and this process cannot use one: {why_no_gpu()}")
        _let_go()
        self.nbytes, self.shared = nbytes, False
        context = gpus[0].context
        try:
            with cuda_capture.relaxed():
                self.ptr = driver.allocate_pinned(context, max(nbytes, 1))
        except driver.Error as why:
            raise MemoryError(f"no room for {nbytes} bytes of pinned memory: {why}") from None
        self._uses: dict[Any, Any] = {}  # stream -> the event behind the last copy there
        weakref.finalize(self, _part, context, self.ptr, self._uses).atexit = False

    def used(self, stream: Any) -> None:
        """Record that work of a stream copies from or to the memory, now or whenever the graph that captures is run."""
        captured = capture.gpu()
        if captured is None:
            self.noted(stream, stream.record_event())
        else:
            captured.pinned.append(self)

    def noted(self, stream: Any, event: Any) -> None:
        """Record that work of a stream up to an event uses the memory."""
        self._uses[stream] = event

    def wait(self) -> None:
        """Wait until all copies have ended."""
        if self._uses:
            with cuda_capture.relaxed():
                while self._uses:
                    _, event = self._uses.popitem()  # the name keeps the event alive while the driver waits for it
                    driver.synchronize_event(event.device.context, event.cuda_event)


_parted: list[tuple[int, int, dict[Any, Any]]] = []  # pinned memory without an owner, which copies still use


def _part(context: int, ptr: int, uses: dict[Any, Any]) -> None:
    _parted.append((context, ptr, uses))
    _let_go()


def _let_go() -> None:
    """Give back the pinned memory without an owner that no copy uses."""
    for entry in [] if capture.active() else list(_parted):
        context, ptr, uses = entry
        if all(event.is_complete for event in uses.values()):
            _parted.remove(entry)
            driver.release_pinned(context, ptr)


def copy(to: int, to_device: Any, from_: int, from_device: Any, nbytes: int, pinned: Pinned | None = None) -> None:
    """Copy bytes where at least one side is on a GPU, in the order of that GPU's stream.

    Copies to a GPU from pageable memory of the host have read it when this returns; copies from a GPU to pageable
    memory have ended. Those from and to `pinned` memory have only begun. Between two GPUs both streams are followed.
    """
    if nbytes == 0:
        return
    device = to_device if to_device.is_cuda else from_device
    capture.check_gpu(device)
    stream = device.stream
    if to_device.is_cuda and from_device.is_cuda:
        if to_device is not from_device:
            capture.check_gpu(from_device)
            stream.wait_stream(from_device.stream)
        driver.copy(device.context, to, from_, nbytes, stream.cuda_stream)
        if to_device is not from_device:
            from_device.stream.wait_stream(stream)  # else the source could be overwritten meanwhile
    elif pinned is not None:
        driver.copy(device.context, to, from_, nbytes, stream.cuda_stream)
        pinned.used(stream)
    elif to_device.is_cuda and nbytes <= Stage.PIECE:
        stage(device).upload(to, from_, nbytes, stream)
    else:
        capture.refuse("copying between a GPU and memory that is not pinned", device)
        with cuda_capture.relaxed():
            driver.synchronize_stream(device.context, stream.cuda_stream)  # the copy would wait, but not let Ctrl-C in
            driver.copy(device.context, to, from_, nbytes, stream.cuda_stream)
            driver.synchronize_stream(device.context, stream.cuda_stream)


class Stage:
    """Pinned memory in which small pieces of other memory of the host wait for a GPU, so that the program need not."""

    PIECE, PIECES = 1 << 14, 64

    def __init__(self, device: Any):
        self.device, self.memory, self._next, self._lock = device, Pinned(self.PIECE * self.PIECES), 0, threading.Lock()
        self._done = [Event(device) for _ in range(self.PIECES)]

    def upload(self, to: int, host: int, nbytes: int, stream: Any) -> None:
        """Copy at most `PIECE` bytes in the order of a stream."""
        capture.refuse("copying from memory that is not pinned to a GPU", self.device)
        with self._lock, cuda_capture.relaxed():
            at, done = self.memory.ptr + self._next * self.PIECE, self._done[self._next]
            self._next = (self._next + 1) % self.PIECES
            driver.synchronize_event(self.device.context, done.cuda_event)
            ctypes.memmove(at, host, nbytes)
            driver.copy(self.device.context, to, at, nbytes, stream.cuda_stream)
            stream.record_event(done)


@cache
def stage(device: Any) -> Stage:
    """The stage of a GPU, for as long as the process."""
    return Stage(device)


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
    cuda_capture.upload(kept.ptr, device, host, nbytes)
    copy(to, device, kept.ptr, device, nbytes)
    captured.keep(kept)


def fill(device: Any, ptr: int, nbytes: int, pattern: bytes) -> None:
    """Fill memory of a GPU with a whole number of patterns."""
    if nbytes:
        capture.check_gpu(device)
        driver.fill(device.context, ptr, nbytes, pattern, device.stream.cuda_stream)
