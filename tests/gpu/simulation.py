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
from omni.warp_core.devices import cuda_capture
from omni.warp_core.launches import plans

SOURCE = Path(__file__).parent / "simulator" / "driver.cpp"
HEADERS = Path(__file__).parents[2] / "native" / "include"

_kept: list = []


def built() -> Path:
    """The simulator as a library, built if its source has changed."""
    texts = b"".join(path.read_bytes() for path in sorted(SOURCE.parent.iterdir()))
    name = f"omni_warp_simulator_{hashlib.sha256(texts).hexdigest()[:16]}.so"
    library = Path(tempfile.gettempdir()) / name
    if not library.exists():
        made = library.with_suffix(f".{os.getpid()}")
        compiler = os.environ.get("CXX", "c++")
        subprocess.run(
            [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-I", HEADERS, SOURCE, "-o", made], check=True
        )
        os.replace(made, library)
    return library


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The simulator with its functions for tests: simulator_fail, simulator_pending and so on."""
    return ctypes.CDLL(str(built()))


def install() -> None:
    """Let the package use the simulator, and run kernels as CPU code where it would run them on a GPU."""
    wp.config.cuda_driver = str(built())
    load, request = plans.load, plans.request

    def request_of_twin(kernel, options, variant, target=None):
        """Twins run the library as GPUs do: native queries read trees that meshes on GPUs do not have."""
        wanted = request(kernel, options, variant, target)
        return wanted._replace(native=False) if isinstance(options, _TwinOptions) else wanted

    def simulated(kernel, options, variant=0):
        loaded = load(kernel, options, variant)
        if options.device and not isinstance(loaded, _Twin):
            of_cpu = _TwinOptions(*options._replace(device=0))
            cpu = load(kernel, of_cpu, variant & plans.STRIDED | plans.ATOMIC)
            return _Twin(loaded.artifact, cpu)
        return loaded

    plans.load, plans.request = simulated, request_of_twin
    cuda_capture.condition_image = lambda: b"wc_set_condition 1 0 1\n"  # the simulator knows what that does


class _TwinOptions(plans.Options):
    """Options of CPU code that stands in for code of a GPU."""


class _Twin(plans.LoadedKernel):
    """Code for a GPU whose kernel runs as CPU code: the image names a function of this process."""

    def __init__(self, artifact, cpu):
        _kept.append(cpu)  # as modules stay loaded that launches need
        grid = artifact.grid
        image = f"{artifact.symbol} {cpu.address} {max(1, grid.argument_bytes)} {int(grid.strided)}\n"
        super().__init__(artifact._replace(machine_code=image.encode()))
