"""Simulated GPUs: the driver of tests/gpu/simulator, built with the compiler that built the native module, and kernels
that run as CPU code in its place.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import omni.warp_core as wp
from omni.warp_core.runtime import plans

SOURCE = Path(__file__).parent / "simulator" / "driver.cpp"


def built() -> Path:
    """The simulator as a library, built if its source has changed."""
    name = f"omni_warp_simulator_{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    library = Path(tempfile.gettempdir()) / name
    if not library.exists():
        made = library.with_suffix(f".{os.getpid()}")
        compiler = os.environ.get("CXX", "c++")
        subprocess.run([compiler, "-std=c++20", "-O1", "-shared", "-fPIC", SOURCE, "-o", made], check=True)
        os.replace(made, library)
    return library


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The simulator with its functions for tests: simulator_fail, simulator_pending, simulator_allocations."""
    return ctypes.CDLL(str(built()))


def install() -> None:
    """Let the package use the simulator, and run kernels as CPU code where it would run them on a GPU."""
    wp.config.cuda_driver = str(built())
    load = plans.load

    def simulated(kernel, options, variant=0):
        loaded = load(kernel, options, variant)
        if options.device and not isinstance(loaded, _Twin):
            cpu = load(kernel, options._replace(device=0), variant | plans.ATOMIC)
            return _Twin(loaded.artifact, cpu)
        return loaded

    plans.load = simulated


_CpuKernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_Entry = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint)
_entries: list = []
_LAUNCH_BYTES, _DIMS, _FAILURE, _FAILURE_BYTES = 80, 8, 40, 80  # of codegen/nvptx.py and abi.h


class _Twin(plans.Loaded):
    """Code for a GPU whose kernel runs as CPU code: the image names a function of this process."""

    def __init__(self, artifact, cpu):
        self._cpu, self._kernel = cpu, _CpuKernel(cpu.address)
        self._entry = _Entry(self._run)
        _entries.append(self._entry)  # as modules stay loaded that launches need
        address = ctypes.cast(self._entry, ctypes.c_void_p).value
        sizes = f"{max(1, artifact.grid.argument_bytes)} {_LAUNCH_BYTES}"
        super().__init__(artifact._replace(machine_code=f"{artifact.symbol} {address} {sizes}\n".encode()))

    def _run(self, parameters, threads):
        """What the simulator calls for a launch."""
        launch = parameters[1]
        count = ctypes.c_int64.from_address(launch).value
        failure = ctypes.c_void_p.from_address(launch + _FAILURE).value
        if not self.artifact.grid.strided:
            assert threads >= count
        # A wc_context (context.h): a mutex, then the record of the first failure.
        context = (ctypes.c_char * 512)()
        record = ctypes.addressof(context) + 40
        ctypes.c_int64.from_address(record).value = (1 << 63) - 1
        ctypes.c_int32.from_address(record + 8).value = -1
        self._kernel(parameters[0], launch + _DIMS, 0, count, ctypes.addressof(context))
        if failure:
            ctypes.memmove(failure, record, _FAILURE_BYTES)
