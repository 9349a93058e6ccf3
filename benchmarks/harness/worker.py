"""One implementation in a process of its own, which answers questions of `run.py` (see `contenders`).

python worker.py PACKAGE THREADS          PACKAGE: omni.warp_core, warp, or one of KERNELS
"""

import gc
import importlib
import itertools
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from harness.contenders import serve
from kernels import programs

# The module that has the kernels of a package.
KERNELS = {
    "numba": "kernels.in_numba",
    "jax": "kernels.in_jax",
    "drjit": "kernels.in_drjit",
    "taichi": "kernels.in_taichi",
    "quadrants": "kernels.in_taichi",
}


def timed(run: Callable[[], Any], times: int) -> dict[str, float]:
    """Seconds that `times` runs take, by the clock on the wall and of processor time."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(times):
        run()
    return {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


def numpy_copy(x: np.ndarray, y: np.ndarray, threads: int) -> Callable[[], Any]:
    """A function that copies x to y with NumPy, a slice for each thread."""
    bounds = np.linspace(0, x.size, threads + 1).astype(int)
    slices = [slice(a, b) for a, b in itertools.pairwise(bounds)]
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(lambda s: np.copyto(y[s], x[s]), slices))


class Worker:
    """Holds what is loaded: names and the functions that run them once."""

    def __init__(self, package: str, threads: int) -> None:
        self.package, self.threads = package, threads
        self.kernels: Any = importlib.import_module(KERNELS.get(package, "kernels.in_wp"))
        self.kernels.set_threads(threads)
        self.runs: dict[str, Callable[[], Any]] = {}

    def load(self, name: str, inputs: str, outputs: str) -> dict[str, Any]:
        """Run program `name` once on the arrays in file `inputs`, and write its results to `outputs`."""
        with np.load(inputs) as file:
            run, arrays = self.kernels.prepare(name, dict(file))
        first = timed(run, 1)
        np.savez(outputs, **{key: self.kernels.fetch(array) for key, array in arrays.items()})
        self.runs = {name: run}  # lets go of the arrays of the program before
        return {"first": first["seconds"]}

    def load_copies(self, size: int) -> dict[str, Any]:
        """Make ready to copy `size` floats with NumPy and, in this package's worker, with a kernel."""
        x, y = np.ones(size, np.float32), np.zeros(size, np.float32)
        self.runs = {"numpy copy": numpy_copy(x, y, self.threads)}
        if "copy" in self.kernels.CALLS:
            self.runs["kernel copy"], _ = self.kernels.prepare("copy", {"x": x, "y": y})
        return {"names": list(self.runs)}

    def differentiate(self, name: str, seed: int, rounds: int) -> list[float] | None:
        """Seconds of the fastest run of a program and of its adjoint, or None where it has no gradient."""
        program = next(p for p in programs.PROGRAMS if p.name == name)
        runs = self.kernels.prepare_backward(name, program.inputs(np.random.default_rng(seed)))
        return runs and [min(timed(run, 1)["seconds"] for _ in range(rounds)) for run in runs]

    def time(self, name: str, runs: int) -> dict[str, Any]:
        return timed(self.runs[name], runs)

    def versions(self) -> dict[str, Any]:
        module = importlib.import_module(self.package)
        return {self.package: _version(module), "numpy": np.__version__, "python": platform.python_version()}


def _version(module: Any) -> str:
    found = module.__version__
    return found if isinstance(found, str) else ".".join(map(str, found))


def main() -> None:
    gc.disable()
    serve(Worker, sys.argv[1], int(sys.argv[2]))


if __name__ == "__main__":
    main()
