"""The number of threads that a block of a launch should have."""

from __future__ import annotations

from typing import Any

from .. import _native
from ..devices.device import DeviceLike, get_device
from ..lang.kernel import Kernel
from ..lang.launch_constants import DEFAULT_BLOCK_DIM

__all__ = ["get_suggested_block_size"]

_THREADS_OF_MULTIPROCESSOR = 39  # an attribute of GPUs


def get_suggested_block_size(kernel: Kernel, device: DeviceLike = None) -> tuple[int, int]:
    """Return how many threads a block should have, and how many such blocks fill the device.

    Args:
        kernel: the kernel.
        device: the device; by default the current one.

    Returns:
        (1, 1) on the CPU, which splits launches by itself. On a GPU the usual size, or the bound that the kernel sets
        by `launch_bounds`: kernels are compiled for the size of their blocks.

    Raises:
        TypeError: `kernel` is no kernel.

    >>> @wp.kernel
    ... def fill(x: wp.array[float]):
    ...     x[wp.tid()] = 1.0
    >>> wp.get_suggested_block_size(fill, "cpu")
    (1, 1)
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel: expected a kernel, got {type(kernel).__name__}")
    found: Any = get_device(device)
    if found.is_cpu:
        return 1, 1
    most, _ = kernel.options.get("launch_bounds") or (DEFAULT_BLOCK_DIM, 0)
    block_dim = min(DEFAULT_BLOCK_DIM, most)
    threads = _native.cuda.device_attribute(found.ordinal, _THREADS_OF_MULTIPROCESSOR)
    return block_dim, max(1, threads // block_dim) * found.sm_count
