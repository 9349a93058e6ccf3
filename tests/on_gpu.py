"""The suites that are not about a device, run with a GPU as the default one: `install`, which tests/conftest.py calls.

`OMNI_WARP_GPU_TESTS` says on which: "real", "simulated" (tests/gpu/simulator), or "emulated": simulated ones that run
the very PTX (tests/ptx). Tests marked `cpu` are about the CPU alone and left out: they read memory in place, look at
what is compiled for a CPU, or fork. So are those of `CPU_SUITES`, unless they take the fixture `device`.
"""

from __future__ import annotations

import os

import numpy as np

import omni.warp_core as wp
from omni.warp_core.codegen.target import host
from omni.warp_core.lang.generics import Pattern
from omni.warp_core.lang.types import Array
from omni.warp_core.lang.values.value_classes import python_type

MODE = os.environ.get("OMNI_WARP_GPU_TESTS", "")
# What the fixture `device` makes the default device: two GPUs where they are simulated, to tell them apart.
DEVICES = {"": ["cpu"], "real": ["cuda:0"]}.get(MODE, ["cuda:0", "cuda:1"])
CPU_SUITES = ("codegen", "errors", "examples", "fuzz", "ir", "native", "nodes", "render", "typing", "usd", "values")

# Whether the CPU code of this run rounds as a GPU does. Processors without fused multiply-add round products, too.
CPU_FUSES = host(wp.config.cpu_target).fma

_launch = wp.launch


def install() -> None:
    """Make a GPU the default device."""
    if MODE == "simulated":
        from tests.gpu import simulation

        simulation.install()
    elif MODE == "emulated":
        from tests.ptx import driver

        driver.install()
    wp.set_device("cuda:0")


def launch(kernel, dim, inputs=(), outputs=(), *args, **kwargs):
    """`wp.launch`, which many tests give NumPy arrays: those go to the GPU, and what it leaves there comes back."""
    device = wp.get_device(kwargs.get("device"))
    if not device.is_cuda or not any(isinstance(x, np.ndarray) for x in (*(inputs or ()), *(outputs or ()))):
        return _launch(kernel, dim, inputs, outputs, *args, **kwargs)
    lent: list = []
    n = len(inputs)
    given = [_lend(x, t, device, lent) for x, (_, t) in zip((*inputs, *outputs), kernel.params)]
    done = _launch(kernel, dim, given[:n], given[n:], *args, **kwargs)
    for mine, there in lent:
        if mine.flags.writeable:
            mine[...] = there.numpy().reshape(mine.shape)
    return done


def _lend(x, t, device, lent):
    """`x` as an argument on the device; arrays that share memory are lent once."""
    if not isinstance(x, np.ndarray):
        return x
    dtype = python_type(t.dtype) if isinstance(t, Array) and not isinstance(t, Pattern) else None
    for mine, there in lent:
        if mine is x:
            return there
    made = wp.array(np.ascontiguousarray(x), dtype=dtype, device=device)
    lent.append((x, made))
    return made
