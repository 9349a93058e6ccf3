"""Devices by name: the CPU, and the CUDA GPUs of the machine, which are looked for when one is first asked for.

Start with `get_device`.
"""

from __future__ import annotations

import importlib
import os
import platform
from functools import cache
from typing import Any

from .. import _native

__all__ = [
    "Device",
    "DeviceLike",
    "ScopedDevice",
    "get_cuda_device",
    "get_cuda_device_count",
    "get_cuda_devices",
    "get_device",
    "get_devices",
    "get_preferred_device",
    "is_cpu_available",
    "is_cuda_available",
    "is_device_available",
    "set_device",
]


class UnavailableDevice(RuntimeError, ValueError):
    """A GPU that is not there. Programs for warp-lang expect a ValueError for "cuda:0", a RuntimeError for "cuda"."""


class Device:
    """A place where arrays live and kernels run.

    Attributes:
        alias: The name that selects it, such as "cpu".
        name: What it is called in the machine.
        ordinal: Its index among GPUs, -1 for the CPU.
        id: The number that native code knows it by.
        is_uva: Whether GPU and CPU share one address space; False for the CPU itself.
        has_stream: Whether launches go to a stream; the CPU runs them at once.
        arch: The compute capability of a GPU, 0 for the CPU.
        sm_count: The multiprocessors of a GPU, 0 for the CPU.
        max_block_dim: The most threads that a block can have.
        max_shared_memory_per_block: The bytes that the threads of a block of a GPU can share, 0 for the CPU.
        is_cubin_supported: Whether kernels for it are assembled before they are loaded; False for the CPU.
        null_stream: The stream of a GPU with handle 0, with which other streams keep in order; None for the CPU.
    """

    # What programs ask a device for; these are the answers for the CPU.
    is_uva = False
    is_primary = False
    is_mempool_supported = False
    is_mempool_enabled = False
    is_ipc_supported = False
    has_stream = False
    uuid: str | None = None
    pci_bus_id: str | None = None
    arch = 0
    sm_count = 0
    max_block_dim = 1024
    max_shared_memory_per_block = 0
    is_cubin_supported = False
    null_stream: Any = None

    def __init__(self, alias: str, name: str, ordinal: int, id: int):
        self.alias, self.name, self.ordinal, self.id = alias, name, ordinal, id

    @property
    def is_cpu(self) -> bool:
        """True if this is the CPU."""
        return self.ordinal < 0

    @property
    def is_cuda(self) -> bool:
        """True if this is a CUDA GPU."""
        return self.ordinal >= 0

    @property
    def has_context(self) -> bool:
        """True if a GPU's context has been made."""
        return False

    @property
    def context(self) -> Any:
        """The handle of a GPU's context."""
        return None

    @property
    def is_capturing(self) -> bool:
        """True if launches are being captured in a graph."""
        return False

    @property
    def stream(self) -> Any:
        """The stream that launches on a GPU go to."""
        return None

    @property
    def total_memory(self) -> int:
        """Memory of the device in bytes; 0 where the system does not tell."""
        return _memory("SC_PHYS_PAGES")

    @property
    def free_memory(self) -> int:
        """Free memory of the device in bytes; 0 where the system does not tell."""
        return _memory("SC_AVPHYS_PAGES")

    def can_access(self, other: Device | str) -> bool:
        """True if kernels on this device can use the memory of another one."""
        return get_device(other) is self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self is other
        return other == self.alias if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.alias)

    def __str__(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        return repr(self.alias)


def _memory(pages: str) -> int:
    try:
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


DeviceLike = Device | str | None  # what stands for a device: itself, its name, or None for the current one

CPU = Device("cpu", platform.machine() or "CPU", -1, 0)
_default = CPU


def device_of(number: int) -> Device:
    """The device that native code knows by a number."""
    return CPU if number == 0 else _numbered()[number]


@cache
def _numbered() -> tuple[Device, ...]:
    return CPU, *get_cuda_devices()


@cache
def _gpus() -> Any:
    """The module that knows the GPUs. Importing it loads nothing; asking it for devices loads the driver."""
    return importlib.import_module(f"{__package__}.cuda_device")


def why_no_gpu() -> str | None:
    """Return the reason why GPUs cannot be used; None if one can."""
    return _gpus().problem()


def get_device(ident: Device | str | None = None) -> Device:
    """The device that `ident` names.

    Args:
        ident: A device, its name, or None for the default device.

    Returns:
        The device.

    Raises:
        RuntimeError: For a CUDA device that is not there. It is a ValueError, too.
        ValueError: For a name that is no device.

    >>> wp.get_device("cpu").is_cpu
    True
    """
    if ident is None:
        return _default
    if isinstance(ident, Device):
        return ident
    if isinstance(ident, str) and ident == "cpu":
        return CPU
    if isinstance(ident, str) and ident.partition(":")[0] == "cuda":
        return _gpu(ident)
    raise ValueError(f"{ident!r} is not a device; available: {get_devices()}")


def _gpu(ident: str) -> Device:
    """The GPU of a name: "cuda" is the current one, or the first."""
    gpus = get_cuda_devices()
    if not gpus:
        raise UnavailableDevice(f"device {ident!r} is not available: {why_no_gpu()}; available: 'cpu'")
    if ident == "cuda":
        return _default if _default.is_cuda else gpus[0]
    found = next((d for d in gpus if d.alias == ident), None)
    if found is None:
        raise UnavailableDevice(f"device {ident!r} is not available; available: {get_devices()}")
    return found


def set_device(ident: Device | str) -> None:
    """Choose the default device, used where no device is given.

    Args:
        ident: A device or its name.

    Raises:
        RuntimeError, ValueError: As `get_device`.

    >>> wp.set_device("cpu")
    """
    global _default
    _default = get_device(ident)
    _native.set_default_device(_default.id)


def get_devices() -> list[Device]:
    """All devices that can be used.

    >>> wp.get_devices()
    ['cpu']
    """
    return [CPU, *get_cuda_devices()]


def get_preferred_device() -> Device:
    """The first GPU if there is one, else the CPU."""
    return next(iter(get_cuda_devices()), CPU)


def get_cuda_devices() -> list[Device]:
    """The CUDA GPUs that can be used."""
    return list(_gpus().devices())


def get_cuda_device_count() -> int:
    """Return the number of CUDA GPUs that can be used."""
    return len(get_cuda_devices())


def get_cuda_device(ordinal: int | None = None) -> Device:
    """A CUDA GPU.

    Args:
        ordinal: Its index; the current one if left out.

    Raises:
        RuntimeError: If it cannot be used.
    """
    return get_device("cuda" if ordinal is None else f"cuda:{ordinal}")


def is_cpu_available() -> bool:
    """True if the CPU can be used, which is always so."""
    return True


def is_cuda_available() -> bool:
    """True if a CUDA GPU can be used."""
    return bool(get_cuda_devices())


def is_device_available(device: Device | str) -> bool:
    """True if a device can be used.

    Args:
        device: A device or its name.

    >>> wp.is_device_available("cuda:7")
    False
    """
    try:
        get_device(device)
    except (RuntimeError, ValueError):
        return False
    return True


class ScopedDevice:
    """A context in which a device is the default device.

    Args:
        device: A device or its name; None keeps the one in force.

    >>> with wp.ScopedDevice("cpu") as device:
    ...     device.alias
    'cpu'
    """

    def __init__(self, device: Device | str | None):
        self.device = get_device(device)

    def __enter__(self) -> Device:
        self._saved = get_device()
        set_device(self.device)
        return self.device

    def __exit__(self, *exc: Any) -> None:
        set_device(self._saved)
