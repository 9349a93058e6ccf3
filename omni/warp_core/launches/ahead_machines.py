"""The machines that modules are compiled for ahead of time, by the names that programs give them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from .. import config
from ..codegen.target import CUDA_ARCHITECTURES, Target, cpu_targets, cuda, host
from ..devices.device import CPU, Device, get_device

_CUDA = re.compile(r"(?:sm_?)?([0-9]+)")


class Machine(NamedTuple):
    """A target, and a device of its kind; for a GPU that is not here, one that stands for it."""

    target: Target
    device: Device


def devices_of(device: Any) -> list[Device]:
    """Return the devices that a name, a device, or a list of these stands for."""
    return [get_device(d) for d in (device if isinstance(device, (list, tuple)) else [device])]


def own_target(device: Device) -> Target:
    """Return the best target of a device."""
    return cuda(device.arch) if device.is_cuda else host(config.cpu_target)


def machines(device: Any, arch: Any) -> list[Machine]:
    """Return the machines to compile for: those of `arch`, else those of the devices."""
    if arch is None:
        found = [Machine(own_target(d), d) for d in devices_of(device)]
    else:
        several = isinstance(arch, Iterable) and not isinstance(arch, str)
        found = [_machine(a) for a in (arch if several else [arch])]
    return list({m.target.name: m for m in found}.values())


def _machine(arch: Any) -> Machine:
    """Return the machine of a name such as "avx2", "sm_75" or 75."""
    target = _target(arch)
    return Machine(target, Device(target.name, target.name, 0, 1) if target.is_gpu else CPU)


def _target(arch: Any) -> Target:
    number = _CUDA.fullmatch(str(arch))
    if number:
        return cuda(int(number[1]))
    known = [t.name for t in cpu_targets()]
    if arch not in known:
        raise ValueError(f"arch: expected one of {', '.join(known)}, or a compute capability such as 75, got {arch!r}")
    return next(t for t in cpu_targets() if t.name == arch)


def runnable(own: Target, device: Device, arch: Any) -> list[Target]:
    """Return the targets whose code a device runs, the best first; of `arch` alone if that is given."""
    if own.is_gpu:
        known = [cuda(a) for a in reversed(CUDA_ARCHITECTURES) if a <= device.arch]
    else:
        known = [t for t in cpu_targets() if t.lanes <= own.lanes]
    if arch is None:
        return known
    wanted = _target(arch)
    if wanted not in known:
        names = ", ".join(t.name for t in known)
        raise ValueError(f"arch: {device} cannot run code for {wanted.name}, only for {names}")
    return [wanted]
