"""The worker of gpu.py for this package and for warp-lang: the first argument of the process says which."""

from __future__ import annotations

import ctypes
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from harness.gpu_worker import SAMPLES, SEED, TINY_SHIFT, GpuWorker, Run, Sample
from kernels.programs import PROGRAMS

DEVICE = "cuda:0"
REPLAYS, SMALL, EDITS = 200, 100, 7
FUSED_THREADS, FUSED_ROUNDS, FUSED_EACH = 1 << 20, 64, 128  # multiply-adds: FUSED_EACH in a round
EDITED = """import {package} as wp
@wp.kernel
def edited(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0 + {number}.0
"""


class Worker(GpuWorker):
    """Times in_wp.py and what only these two packages have."""

    def __init__(self, package: str, small: bool, simulated: bool) -> None:
        super().__init__(small, simulated)
        if simulated:
            importlib.import_module("tests.gpu.simulation").install()
        self.package = package
        self.kernels: Any = importlib.import_module("kernels.in_wp")
        self.wp: Any = self.kernels.wp
        self.device = self.wp.get_device(DEVICE)
        self.threads = FUSED_THREADS >> (TINY_SHIFT if small else 0)

    def facts(self) -> dict[str, str]:
        return {"device": self.device.name, "version": self.wp.__version__}

    def prepare(self, name: str, inputs: dict[str, np.ndarray]) -> tuple[Run, dict[str, Any]]:
        return self.kernels.prepare(name, inputs)

    def fetch(self, array: Any) -> np.ndarray:
        return array.numpy()

    def elapsed(self, run: Run) -> float:
        wp = self.wp
        with wp.ScopedDevice(DEVICE):
            start, end = (wp.Event(DEVICE, enable_timing=True) for _ in range(2))
            wp.record_event(start)
            run()
            wp.record_event(end)
            return wp.get_event_elapsed_time(start, end) * 1e-3

    def prepare_algorithm(self, name: str, numbers: np.ndarray) -> tuple[Run, Any]:
        wp, n = self.wp, len(numbers) // 2
        with wp.ScopedDevice(DEVICE):
            if name == "sum":
                a, total = wp.array(numbers[:n], dtype=float), wp.zeros(1, dtype=float)
                return (lambda: wp.utils.array_sum(a, out=total)), total.numpy
            keys = wp.array(numbers, dtype=int)
            if name == "scan":
                out = wp.zeros(n, dtype=int)
                return (lambda: wp.utils.array_scan(keys[:n], out)), out.numpy
            values = wp.array(np.arange(2 * n), dtype=int)
            return (lambda: wp.utils.radix_sort_pairs(keys, values, n)), lambda: keys[:n].numpy()

    # -- limits of the device -----------------------------------------------------------------------------------------

    def copy(self, seconds: float) -> tuple[float, int, float]:
        """Seconds of a copy from one place of the device to another; then the bytes that it reads and writes."""
        a, b = (self.wp.zeros(self.copied, dtype=float, device=DEVICE) for _ in range(2))
        return *self.timed(lambda: self.wp.copy(a, b), seconds), 8.0 * self.copied

    def fused(self, seconds: float) -> tuple[float, int, float]:
        """Seconds of multiply-adds that need no memory; then how many operations those are."""
        wp, n = self.wp, self.threads
        out = wp.zeros(n, dtype=float, device=DEVICE)
        kernel, args = _multiply_adds(wp), [FUSED_ROUNDS, 0.999, out]
        wp.launch(kernel, dim=n, inputs=args, device=DEVICE)
        found = self.timed(lambda: wp.launch(kernel, dim=n, inputs=args, device=DEVICE), seconds)
        return *found, 2.0 * n * FUSED_ROUNDS * FUSED_EACH

    def operations(self, name: str) -> float:
        """Operations on floats that all threads of a program do."""
        counting: Any = importlib.import_module("kernels.operations")
        program = next(p for p in PROGRAMS if p.name == name)
        inputs = program.inputs(np.random.default_rng(SEED))
        kernel, dim, _, _ = self.kernels.loaded(name, inputs)
        return counting.of_launch(name, kernel, dim, inputs)

    # -- gradients ----------------------------------------------------------------------------------------------------

    def gradient(self, name: str) -> list[float]:
        """Some of the gradient of a program of gradients.py, to be compared."""
        case = self._case(name)
        with self.wp.ScopedDevice(DEVICE):
            return case.gradient()

    def backward(self, name: str, seconds: float) -> Sample:
        """Seconds of going back through a program of gradients.py."""
        case = self._case(name)
        with self.wp.ScopedDevice(DEVICE):
            tape = case.record()
            tape.backward(**case.seed)
            return self.timed(lambda: tape.backward(**case.seed), seconds)

    def _case(self, name: str) -> Any:
        with self.wp.ScopedDevice(DEVICE):
            return importlib.import_module("gradients").Case(self.wp, name)

    # -- launches -----------------------------------------------------------------------------------------------------

    def graph(self, seconds: float) -> Sample:
        """Seconds that the device takes for a launch of a graph of small kernels."""
        with self.wp.ScopedDevice(DEVICE):
            graph = self._small_graph()
            return self.timed(lambda: self.wp.capture_launch(graph), seconds)

    def replays(self) -> dict[str, list[float]]:
        """Return the seconds of a launch of that graph through this package and by the driver alone, in turns. Both are
        measured on the device between two events, and as the program's time where many launches follow one another.
        """
        wp = self.wp
        with wp.ScopedDevice(DEVICE):
            graph = self._small_graph()
            ours = lambda: wp.capture_launch(graph)  # noqa: E731
            with self._driver_launch(graph.work.exec) as theirs:
                pairs = [(self.elapsed(ours), self.elapsed(theirs)) for _ in range(SAMPLES)]
                many = [(self._each(ours), self._each(theirs)) for _ in range(SAMPLES)]
        return {
            what: [statistics.median(t) for t in zip(*times)] for what, times in (("device", pairs), ("host", many))
        }

    def launch(self, seconds: float) -> Sample:
        """Seconds of the program's own time for a launch."""
        run, times, start = self._small(), [], time.perf_counter()
        while len(times) < SAMPLES and time.perf_counter() - start < seconds:
            times.append(self._each(run))
        return statistics.median(times), len(times)

    def edit(self, seconds: float) -> Sample:
        """Seconds from a new source file to its result, in a process that has compiled before."""
        times, begun = [], time.perf_counter()
        x = self.wp.zeros(64, dtype=float, device=DEVICE)
        with tempfile.TemporaryDirectory() as folder:
            sys.path.insert(0, folder)
            while len(times) < EDITS and (len(times) < 2 or time.perf_counter() - begun < seconds):
                unique = time.time_ns() % 1_000_000
                name = f"edited_{unique}_{len(times)}"
                (Path(folder) / f"{name}.py").write_text(EDITED.format(package=self.package, number=unique))
                start = time.perf_counter()
                self.wp.launch(importlib.import_module(name).edited, dim=64, inputs=[x], device=DEVICE)
                x.numpy()
                times.append(time.perf_counter() - start)
        return statistics.median(times[1:]), len(times) - 1

    def _each(self, run: Run) -> float:
        """Seconds of each of many runs without waiting in between."""
        run()
        self.wp.synchronize_device(DEVICE)
        start = time.perf_counter()
        for _ in range(REPLAYS):
            run()
        return (time.perf_counter() - start) / REPLAYS

    def _small(self) -> Run:
        """A launch that takes the device next to no time."""
        x, y = (np.ones(1024, np.float32) for _ in range(2))
        return self.kernels.prepare("saxpy", {"x": x, "y": y})[0]

    def _small_graph(self) -> Any:
        run = self._small()
        run()
        with self.wp.ScopedCapture() as capture:
            for _ in range(SMALL):
                run()
        return capture.graph

    @contextmanager
    def _driver_launch(self, graph: int) -> Iterator[Run]:
        """A function that calls the driver to launch one of its graphs on the current stream."""
        driver = ctypes.CDLL(self.wp.config.cuda_driver)
        stream = ctypes.c_void_p(self.wp.get_stream(DEVICE).cuda_stream)
        handle, popped = ctypes.c_void_p(graph), ctypes.c_void_p()

        def launch() -> None:
            if error := driver.cuGraphLaunch(handle, stream):
                raise RuntimeError(f"cuGraphLaunch: error {error}")

        driver.cuCtxPushCurrent_v2(ctypes.c_void_p(self.device.context))
        try:
            yield launch
        finally:
            self.wp.synchronize_device(DEVICE)
            driver.cuCtxPopCurrent_v2(ctypes.byref(popped))


def _multiply_adds(wp: Any) -> Any:
    """A kernel of four chains of multiply-adds in each thread, FUSED_EACH of them in a round."""

    @wp.kernel
    def chains(rounds: int, by: float, out: wp.array(dtype=float)):
        i = wp.tid()
        start = float(i)
        a = start
        b = start + 1.0
        c = start + 2.0
        d = start + 3.0
        for _round in range(rounds):
            for _each in range(32):
                a = a * by + 1.0
                b = b * by + 1.0
                c = c * by + 1.0
                d = d * by + 1.0
        out[i] = a + b + c + d

    return chains
