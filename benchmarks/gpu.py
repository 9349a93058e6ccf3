"""Programs on a GPU side by side with warp-lang's, each package in its own process; times by events of the GPU.

    make gpu-bench    or    python benchmarks/gpu.py [--only saxpy] [--peer-python PYTHON] [--simulated] [--small]

Every output is compared with a float64 NumPy computation before any time is taken; medians are reported. Then come the
bandwidth of copies and the rate of multiply-adds on the device, of which programs reach a share, sums, scans and sorts,
the gradients of springs, the replay of a graph of 100 small launches, the launch alone, and the time from a new source
file to its result. A peer that is not installed, or cannot use the GPU, is left out and named. `--simulated` tries all
this out without a GPU, `--small` on little data: their numbers mean nothing.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import programs
from contenders import ROOT, Contender, WorkerError, serve
from programs import PROGRAMS
from report import OURS, WARP, machine, table

DEVICE = "cuda:0"
SEED, SAMPLES, REPLAYS, SMALL, COPIED, EDITS = 20, 21, 200, 100, 64 << 20, 7
ELEMENTS, FUSED_THREADS, FUSED_ROUNDS, FUSED_EACH = 1 << 24, 1 << 20, 64, 128  # of sums and sorts; of multiply-adds
TINY = {"BODIES": 64, "IMAGE": 32, "SAMPLES": 1024, "CELLS": 32, "FRAMES": 256, "POINTS": 256, "STREAM": 1000}
ALGORITHMS = {"sum": "sum of 16 M floats", "scan": "scan of 16 M ints", "sort": "sort of 16 M pairs of ints"}
PAIR = 20  # operations on floats that are counted for a pair of bodies
EDITED = """import {package} as wp
@wp.kernel
def edited(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0 + {number}.0
"""


# -- in each package's process ----------------------------------------------------------------------------------------


class Worker:
    """Times programs of kernels_wp.py; the package is the first argument of the process."""

    def __init__(self, package: str, simulated: bool, small: bool) -> None:
        if small:
            for name, size in TINY.items():
                setattr(programs, name, size)
        self.elements = ELEMENTS >> 12 if small else ELEMENTS
        self.threads = FUSED_THREADS >> 12 if small else FUSED_THREADS
        if simulated:
            importlib.import_module("tests.gpu.simulation").install()
        self.kernels: Any = importlib.import_module("kernels_wp")
        self.wp: Any = self.kernels.wp
        self.package = package
        self.copied = COPIED >> 12 if small else COPIED >> 4 if simulated else COPIED
        self.device = self.wp.get_device(DEVICE)

    def facts(self) -> dict[str, str]:
        """The device and the version of the package."""
        return {"device": self.device.name, "version": self.wp.__version__}

    def program(self, name: str) -> float:
        """Seconds of a program; raises if its result is wrong."""
        program = next(p for p in PROGRAMS if p.name == name)
        inputs = program.inputs(np.random.default_rng(SEED))
        expected = program.reference(inputs)
        run, outputs = self.kernels.prepare(name, inputs)
        run()
        for key, correct in expected.items():
            problem = program.tolerance.problem(outputs[key].numpy(), correct)
            if problem:
                raise ValueError(f"{key}: {problem}")
        return self.timed(run)

    def copy(self) -> float:
        """Seconds of a copy from one place of the device to another."""
        a, b = (self.wp.zeros(self.copied, dtype=float, device=DEVICE) for _ in range(2))
        return self.timed(lambda: self.wp.copy(a, b))

    def fused(self) -> float:
        """Seconds of FUSED_THREADS * FUSED_ROUNDS * FUSED_EACH multiply-adds, which need no memory."""
        wp = self.wp
        out = wp.zeros(self.threads, dtype=float, device=DEVICE)
        kernel, args = _multiply_adds(wp), [FUSED_ROUNDS, 0.999, out]
        self.wp.launch(kernel, dim=self.threads, inputs=args, device=DEVICE)
        return self.timed(lambda: wp.launch(kernel, dim=self.threads, inputs=args, device=DEVICE))

    def algorithm(self, name: str) -> float:
        """Seconds of a sum, a scan or a sort; raises if its result is wrong."""
        wp, n = self.wp, self.elements
        numbers = np.random.default_rng(SEED).integers(0, 100, 2 * n).astype(np.int32)
        with wp.ScopedDevice(DEVICE):
            if name == "sum":
                a, out = wp.array(numbers[:n], dtype=float), wp.zeros(1, dtype=float)
                return self._checked(lambda: wp.utils.array_sum(a, out=out), out, [numbers[:n].sum()], 1e-6)
            keys = wp.array(numbers, dtype=int)
            if name == "scan":
                out = wp.zeros(n, dtype=int)
                return self._checked(lambda: wp.utils.array_scan(keys[:n], out), out, np.cumsum(numbers[:n]))
            values = wp.array(np.arange(2 * n), dtype=int)
            return self._checked(
                lambda: wp.utils.radix_sort_pairs(keys, values, n), keys[:n], np.sort(numbers[:n], kind="stable")
            )

    def _checked(self, run: Callable[[], Any], out: Any, expected: Any, tolerance: float = 0.0) -> float:
        run()
        np.testing.assert_allclose(out.numpy(), expected, rtol=tolerance)
        return self.timed(run)

    def gradient(self, name: str) -> list[float]:
        """Some of the gradient of a program of gradients.py, to be compared."""
        case = self._case(name)
        with self.wp.ScopedDevice(DEVICE):
            return case.gradient()

    def backward(self, name: str) -> float:
        """Seconds of going back through a program of gradients.py."""
        case = self._case(name)
        with self.wp.ScopedDevice(DEVICE):
            tape = case.record()
            tape.backward(**case.seed)
            return self.timed(lambda: tape.backward(**case.seed))

    def _case(self, name: str) -> Any:
        with self.wp.ScopedDevice(DEVICE):
            return importlib.import_module("gradients").Case(self.wp, name)

    def graph(self) -> float:
        """Seconds that the device takes for a launch of a graph of small kernels."""
        with self.wp.ScopedDevice(DEVICE):
            run = self.small()
            run()
            with self.wp.ScopedCapture() as capture:
                for _ in range(SMALL):
                    run()
            return self.timed(lambda: self.wp.capture_launch(capture.graph))

    def launch(self) -> float:
        """Seconds of the program's own time for a launch."""
        run, times = self.small(), []
        run()
        for _ in range(SAMPLES):
            self.wp.synchronize_device(DEVICE)
            start = time.perf_counter()
            for _ in range(REPLAYS):
                run()
            times.append((time.perf_counter() - start) / REPLAYS)
        return statistics.median(times)

    def edit(self) -> float:
        """Seconds from a new source file to its result, in a process that has compiled before."""
        times = []
        x = self.wp.zeros(64, dtype=float, device=DEVICE)
        with tempfile.TemporaryDirectory() as folder:
            sys.path.insert(0, folder)
            for number in range(EDITS):
                unique = time.time_ns() % 1_000_000
                name = f"edited_{unique}_{number}"
                (Path(folder) / f"{name}.py").write_text(EDITED.format(package=self.package, number=unique))
                start = time.perf_counter()
                self.wp.launch(importlib.import_module(name).edited, dim=64, inputs=[x], device=DEVICE)
                x.numpy()
                times.append(time.perf_counter() - start)
        return statistics.median(times[1:])

    def small(self) -> Callable[[], None]:
        """A launch that takes the device next to no time."""
        x, y = (np.ones(1024, np.float32) for _ in range(2))
        return self.kernels.prepare("saxpy", {"x": x, "y": y})[0]

    def timed(self, run: Callable[[], Any]) -> float:
        """The median of single runs, between two events."""
        wp, times = self.wp, []
        with wp.ScopedDevice(DEVICE):
            for _ in range(SAMPLES):
                start, end = (wp.Event(DEVICE, enable_timing=True) for _ in range(2))
                wp.record_event(start)
                run()
                wp.record_event(end)
                times.append(wp.get_event_elapsed_time(start, end) * 1e-3)
        return statistics.median(times)


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


# -- all of them ------------------------------------------------------------------------------------------------------


def started(python: str, package: str, simulated: bool, small: bool) -> Contender | None:
    """A worker that can use the GPU; None, after a line that says why, if there is none."""
    options = ["--serve", *["--simulated"] * simulated, *["--small"] * small]
    try:
        worker = Contender(python, __file__, package, *options, BENCHMARK_DEVICE=DEVICE)
        facts = worker.ask("facts")
    except (OSError, WorkerError) as why:
        print(f"{package} is left out: {why}")
        return None
    print(f"{package} {facts['version']} on {facts['device']}")
    return worker


def asked(worker: Contender | None, *question: str) -> Any:
    """What a worker answers, seconds for the most part, or None where there are none."""
    try:
        return worker.ask(*question) if worker else None
    except WorkerError as why:
        print(f"{' '.join(question)}: {why}", file=sys.stderr)
        return None


def compared(name: str, title: str, ours: Contender, theirs: Contender | None) -> list[str]:
    """The row of a gradient, which both must agree on."""
    gradients = [asked(worker, "gradient", name) for worker in (ours, theirs)]
    if all(gradients) and not np.allclose(*gradients, rtol=1e-3, atol=1e-3 * np.abs(gradients[0]).max()):
        return [title, "-", "-", "-", "gradients differ"]
    return row(title, asked(ours, "backward", name), asked(theirs, "backward", name))


def row(title: str, ours: float | None, theirs: float | None, note: str = "") -> list[str]:
    """Microseconds of both, and the ratio."""
    shown = [f"{t * 1e6:.4g}" if t else "-" for t in (ours, theirs)]
    return [title, *shown, f"{theirs / ours:.2f}" if ours and theirs else "-", note]


def main() -> None:
    """Run everything and print a table for docs/gpu.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=[p.name for p in PROGRAMS])
    parser.add_argument("--peer-python", default=sys.executable, help="where warp-lang is installed")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--small", action="store_true", help="little data: to see that all of it works")
    options = parser.parse_args()
    if options.serve:
        serve(Worker, options.package, options.simulated, options.small)
        return
    ours = started(sys.executable, "omni.warp_core", options.simulated, options.small)
    if ours is None:
        sys.exit("there is nothing to measure without a GPU")
    theirs = None if options.simulated else started(options.peer_python, "warp", False, options.small)
    copied = asked(ours, "copy")
    fused = asked(ours, "fused")
    rate = 2 * FUSED_THREADS * FUSED_ROUNDS * FUSED_EACH / fused if fused else 0
    rows = [
        row("copy, 256 MiB", copied, asked(theirs, "copy"), f"{8 * COPIED / copied / 1e9:.0f} GB/s" if copied else ""),
        row("multiply-adds", fused, asked(theirs, "fused"), f"{rate / 1e12:.1f} TFLOP/s"),
    ]
    for program in PROGRAMS:
        if program.name in options.only:
            mine = asked(ours, "program", program.name)
            share = program.moved / mine / (8 * COPIED / copied) if mine and copied else 0
            note = f"{share:.0%} of the copy" if program.moved and share else ""
            if program.name == "nbody" and mine and rate:
                share = PAIR * programs.BODIES**2 / mine / rate
                note = f"{share:.0%} of the multiply-adds, {PAIR} operations a pair"
            rows.append(row(program.title, mine, asked(theirs, "program", program.name), note))
    for name, title in ALGORITHMS.items():
        rows.append(row(title, asked(ours, "algorithm", name), asked(theirs, "algorithm", name)))
    rows.append(compared("springs", "gradients of 1 M springs", ours, theirs))
    for title, method in (
        (f"graph of {SMALL} small launches", "graph"),
        ("launch, without waiting", "launch"),
        ("new source file to result", "edit"),
    ):
        rows.append(row(title, asked(ours, method), asked(theirs, method)))
    if options.simulated or options.small:
        print("These numbers mean nothing: there is no GPU, or next to no data.")
    print(machine())
    print(table(("", f"{OURS}, us", f"{WARP}, us", "warp-lang ÷ ours", ""), rows))
    for worker in (ours, theirs):
        if worker:
            worker.close()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
