"""CUDA GPUs: the driver, loaded when a GPU is first asked for, and the devices that it has. Start with `devices`.

The driver is reached through native code (native/src/devices/cuda.cpp), which finds it in the system's library; nothing
needs CUDA to be installed. Contexts are the primary ones, which other libraries in the process use as well.
"""

from __future__ import annotations

import os
import uuid
import weakref
from functools import cached_property, lru_cache
from typing import Any

from .. import _native, config
from .device import Device
from .stream import Stream

driver = _native.cuda

_MAX_BLOCK, _SM_COUNT, _UVA, _MAJOR, _MINOR, _MAX_SHARED, _POOLS = 1, 16, 41, 75, 76, 97, 115


@lru_cache(maxsize=1)
def problem() -> str | None:
    """Loads the driver. Returns why no GPU can be used, or None if one can."""
    try:
        driver.load(config.cuda_driver)
        if driver.device_count():
            return None
    except RuntimeError as why:
        return str(why)
    return "the CUDA driver finds no GPU"


@lru_cache(maxsize=1)
def devices() -> tuple[CudaDevice, ...]:
    """All GPUs; none if there is no driver."""
    return () if problem() else tuple(CudaDevice(i) for i in range(driver.device_count()))


class CudaDevice(Device):
    """A GPU. Its context is made when it is first needed."""

    is_uva = True
    is_primary = True
    has_stream = True
    is_cubin_supported = True

    def __init__(self, ordinal: int):
        name, self.pci_bus_id, identity, self._total_memory = driver.device_facts(ordinal)
        super().__init__(f"cuda:{ordinal}", name, ordinal, ordinal + 1)
        self.uuid = f"GPU-{uuid.UUID(bytes=identity)}"
        self.arch = 10 * self._attribute(_MAJOR) + self._attribute(_MINOR)
        self.sm_count = self._attribute(_SM_COUNT)
        self.max_block_dim = self._attribute(_MAX_BLOCK)
        self.max_shared_memory_per_block = self._attribute(_MAX_SHARED)
        self.is_uva = bool(self._attribute(_UVA))
        self.is_mempool_supported = self.is_mempool_enabled = bool(self._attribute(_POOLS))
        self._process = os.getpid()
        self._stream: Stream | None = None
        # Streams of other libraries with which the null stream does not keep in order.
        self.streams_apart: weakref.WeakSet[Stream] = weakref.WeakSet()

    def _attribute(self, number: int) -> int:
        return driver.device_attribute(self.ordinal, number)

    @cached_property
    def _retained(self) -> int:
        return driver.retain(self.ordinal)

    @property
    def context(self) -> int:
        """The handle of the primary context.

        Raises:
            RuntimeError: this process was forked after CUDA had been used, which CUDA does not survive.
        """
        if os.getpid() != self._process:
            raise RuntimeError(
                "CUDA cannot be used in a forked process: start it with multiprocessing.get_context('spawn')"
            )
        return self._retained

    @property
    def has_context(self) -> bool:
        """True if the context exists, whichever library created it."""
        return driver.has_context(self.ordinal)

    @property
    def total_memory(self) -> int:
        """Memory of the device in bytes."""
        return self._total_memory

    @property
    def free_memory(self) -> int:
        """Free memory of the device in bytes. What memory pools hold for reuse does not count as free."""
        return driver.memory_info(self.context)[0]

    @property
    def stream(self) -> Stream:
        """The stream that launches and copies go to."""
        if self._stream is None:
            self.stream = self._first_stream
        assert self._stream is not None
        return self._stream

    @stream.setter
    def stream(self, stream: Stream) -> None:
        if stream.device is not self:
            raise RuntimeError(f"a stream of {stream.device} cannot be the stream of {self}")
        self._stream = stream
        driver.set_stream(self.id, stream.cuda_stream)

    @cached_property
    def _first_stream(self) -> Stream:
        return Stream(self)

    @cached_property
    def null_stream(self) -> Stream:
        """The stream with handle 0, with which other streams keep in order."""
        return Stream(self, cuda_stream=0)

    def set_stream(self, stream: Stream, sync: bool = True) -> None:
        """Make `stream` the one that launches go to; with `sync` it waits for the one before."""
        if sync:
            stream.wait_stream(self.stream)
        self.stream = stream

    @property
    def is_capturing(self) -> bool:
        """True if launches are being captured in a graph."""
        return self._stream is not None and self._stream.is_capturing

    def synchronize(self) -> None:
        """Wait until all streams of the device have finished."""
        driver.synchronize(self.context)

    def follow_streams_apart(self) -> None:
        """Let the null stream, in whose order memory and code go back, wait for those that it does not follow."""
        for stream in list(self.streams_apart):
            driver.follow(self.context, 0, stream.cuda_stream)

    def can_access(self, other: Any) -> bool:
        """True if kernels of this device can access the memory of another."""
        return other is self or (isinstance(other, CudaDevice) and other.ordinal in self._peers)

    @cached_property
    def _peers(self) -> set[int]:
        return set()


config.watch("verify_cuda", driver.set_verify)
driver.set_verify(config.verify_cuda)
