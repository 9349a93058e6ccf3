"""Base of the workers of gpu.py: sizes, checks of results, and the median of samples within a time.

A worker runs in its own process (see `contenders`) and answers with `[seconds, samples]`. gpu_wp.py has that for this
package and warp-lang, gpu_cupy.py and gpu_numba.py the others. A new one has the four methods that raise here.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from kernels import programs
from kernels.programs import PROGRAMS

SEED, SAMPLES, LEAST = 20, 21, 3
ELEMENTS, COPIED = 1 << 24, 64 << 20  # numbers of sums, scans and sorts; floats of copies
TINY = {"BODIES": 64, "IMAGE": 32, "SAMPLES": 1024, "CELLS": 32, "FRAMES": 256, "POINTS": 256, "STREAM": 1000}
TINY_SHIFT, SIMULATED_SHIFT = 12, 4  # a simulated GPU has little memory

Run = Callable[[], Any]
Sample = tuple[float, int]  # the median of so many


class GpuWorker:
    """Times programs. With `small` on little data, to see that all of it works."""

    def __init__(self, small: bool = False, simulated: bool = False) -> None:
        if small:
            for name, size in TINY.items():
                setattr(programs, name, size)
        self.elements = ELEMENTS >> (TINY_SHIFT if small else 0)
        self.copied = COPIED >> (TINY_SHIFT if small else SIMULATED_SHIFT if simulated else 0)

    # -- what each package has ----------------------------------------------------------------------------------------

    def facts(self) -> dict[str, str]:
        """The device and the version of the package; raises if it cannot use a GPU."""
        raise NotImplementedError

    def prepare(self, name: str, inputs: dict[str, np.ndarray]) -> tuple[Run, dict[str, Any]]:
        """A function that runs a program once, and where its results are. KeyError: there is no such program."""
        raise NotImplementedError

    def prepare_algorithm(self, name: str, numbers: np.ndarray) -> tuple[Run, Callable[[], Any]]:
        """A function that sums, scans or sorts the first half of `numbers`, and one that fetches the result."""
        raise NotImplementedError

    def fetch(self, array: Any) -> np.ndarray:
        """A result as a NumPy array."""
        raise NotImplementedError

    def elapsed(self, run: Run) -> float:
        """Seconds of a run between two events of the GPU."""
        raise NotImplementedError

    # -- questions ----------------------------------------------------------------------------------------------------

    def program(self, name: str, seconds: float) -> Sample | None:
        """Seconds of a program, None where this package has none; raises if its result is wrong."""
        program = next(p for p in PROGRAMS if p.name == name)
        inputs = program.inputs(np.random.default_rng(SEED))
        try:
            run, outputs = self.prepare(name, inputs)
        except KeyError:
            return None
        run()
        for key, correct in program.reference(inputs).items():
            problem = program.tolerance.problem(self.fetch(outputs[key]).reshape(correct.shape), correct)
            if problem:
                raise ValueError(f"{key}: {problem}")
        return self.timed(run, seconds)

    def algorithm(self, name: str, seconds: float) -> Sample | None:
        """Seconds of a sum, a scan or a sort, None where this package has none; raises if its result is wrong."""
        n = self.elements
        numbers = np.random.default_rng(SEED).integers(0, 100, 2 * n).astype(np.int32)
        expected = {"sum": lambda a: [a.sum()], "scan": np.cumsum, "sort": np.sort}[name](numbers[:n])
        try:
            run, result = self.prepare_algorithm(name, numbers)
        except KeyError:
            return None
        run()
        np.testing.assert_allclose(np.atleast_1d(result()), expected, rtol=1e-5 if name == "sum" else 0.0)
        return self.timed(run, seconds)

    def timed(self, run: Run, seconds: float) -> Sample:
        """The median of single runs, as many as there is time for."""
        times, start = [self.elapsed(run)], time.perf_counter()
        while len(times) < SAMPLES and (len(times) < LEAST or time.perf_counter() - start < seconds):
            times.append(self.elapsed(run))
        return statistics.median(times), len(times)
