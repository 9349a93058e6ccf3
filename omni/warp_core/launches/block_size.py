"""The number of threads that a block of a launch should have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from .. import _native, config
from ..devices.device import CPU, Device, DeviceLike, get_device
from ..lang.errors import CompileError
from ..lang.kernel import Kernel, on_redefinition
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from .plans import options_for, plan_for, works_in_blocks, works_on_tiles

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


_PARTING = frozenset(("divergence", "block-range"))  # codes of errors
# Of kernels: sizes of blocks whose threads part where a block must stay together.
_parting: WeakKeyDictionary[Kernel, set[int]] = WeakKeyDictionary()
on_redefinition.append(_parting.clear)


def block_dim_for(kernel: Kernel, value: Any, device: Device, dim: Any = None) -> int:
    """The threads of a block, as the launch says, if that makes a difference."""
    if device.is_cpu and not works_in_blocks(kernel):
        return DEFAULT_BLOCK_DIM
    if value is None:
        return (
            _possible_blocks(kernel, DEFAULT_BLOCK_DIM, dim) if device.is_cpu else _bounded(kernel, DEFAULT_BLOCK_DIM)
        )
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"kernel `{kernel.name}`: block_dim must be an integer, got {type(value).__name__}")
    if not 1 <= value.__index__() <= device.max_block_dim:
        raise ValueError(f"kernel `{kernel.name}`: block_dim: {device} takes 1 to {device.max_block_dim}, got {value}")
    return _possible_blocks(kernel, value.__index__(), dim) if device.is_cpu else _bounded(kernel, value.__index__())


def _bounded(kernel: Kernel, block_dim: int) -> int:
    """The threads of a block on a GPU, within what the kernel says by `launch_bounds`."""
    most, _ = kernel.options.get("launch_bounds") or (block_dim, 0)
    if block_dim > most and works_in_blocks(kernel):
        raise ValueError(
            f"kernel `{kernel.name}`: block_dim: launch_bounds limits the kernel to {most} threads per "
            f"block, got {block_dim}: launch with block_dim={most}"
        )
    return min(block_dim, most)


def _possible_blocks(kernel: Kernel, block_dim: int, dim: Any) -> int:
    """The threads of a block of a CPU launch that asks for `block_dim`. In the dialect of warp-lang, whose blocks have
    one thread on a CPU, it is one where larger blocks cannot run.
    """
    if config.dialect != "warp-lang" or dim is None or kernel.options.get("tiled") or not works_on_tiles(kernel):
        return block_dim
    return block_dim if _stays_together(kernel, block_dim) and _fills_blocks(kernel, block_dim, dim) else 1


def _stays_together(kernel: Kernel, block_dim: int) -> bool:
    """True if the threads of a block come to all that they do together. Raises CompileError for other mistakes."""
    if _parts(kernel, block_dim):
        return False
    try:
        plan_for(kernel, options_for(kernel, CPU, block_dim))
    except CompileError as why:
        if not _is_parting(why):
            raise
        _note_parting(kernel, block_dim)
        return False
    return True


def run_tiled(kernel: Kernel, run: Callable[[int], Any], block_dim: int, device: DeviceLike) -> Any:
    """Return `run(block_dim)`, which launches blocks of so many threads. In the dialect of warp-lang, whose blocks have
    one thread on a CPU, it is `run(1)` where the threads of larger ones part.
    """
    may_shrink = config.dialect == "warp-lang" and get_device(device).is_cpu
    if may_shrink and _parts(kernel, block_dim):
        return run(1)
    try:
        return run(block_dim)
    except CompileError as why:
        if not may_shrink or not _is_parting(why):
            raise
    _note_parting(kernel, block_dim)
    return run(1)


def _parts(kernel: Kernel, block_dim: int) -> bool:
    """True if it is known that threads of blocks of this size part."""
    return block_dim in _parting.get(kernel, ())


def _note_parting(kernel: Kernel, block_dim: int) -> None:
    _parting.setdefault(kernel, set()).add(block_dim)


def _is_parting(why: CompileError) -> bool:
    """True if the threads of a block part, and nothing else is wrong with a kernel."""
    return {mistake.code for mistake in why.diagnostics} <= _PARTING


def _fills_blocks(kernel: Kernel, block_dim: int, dim: Any) -> bool:
    """True if the threads of a launch make whole blocks, or need not."""
    whole_blocks = plan_for(kernel, options_for(kernel, CPU, block_dim)).whole_blocks
    return not whole_blocks or thread_count(dim) % block_dim == 0


def thread_count(dim: Any) -> int:
    """Return how many threads a launch has."""
    return math.prod(dim) if isinstance(dim, (tuple, list)) else dim
