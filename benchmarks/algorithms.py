"""The algorithms of wp.utils side by side with warp-lang's, each in its own process, on the same data.

    python benchmarks/algorithms.py [--only sort scan] [--sizes 1000 1000000] [--peer-python PYTHON]

Every output is compared with NumPy before any time is taken; floats to the tolerance printed. The implementations then
take turns, and the fastest call of each is reported: what else runs on the machine only adds to it. warp-lang works
on one thread on the CPU, so this package is timed on one, too. A sort is timed on unsorted keys each time; putting them
back is not.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import peers
from harness.contenders import Contender, serve
from harness.report import ALONE, OURS, WARP, machine, table

SEED = 11
SAMPLE_SECONDS = 0.02  # a sample is as many calls as fill this time
TOLERANCE = 1e-2  # of float results, relative to the largest: warp-lang sums floats one after the other

Arrays = dict[str, np.ndarray]


class Case(NamedTuple):
    """One algorithm. `call` runs it on arrays of either package; those named in `fresh` get their data back before."""

    inputs: Callable[[np.random.Generator, int], Arrays]
    call: Callable[[Any, Any, int], Any]
    expected: Callable[[Arrays, int], Arrays]  # what arrays must hold afterwards, from their beginning
    fresh: tuple[str, ...] = ()
    goal: float = 1.0
    most: int = 10**9  # elements; beyond that a peer takes minutes


def pairs(dtype: Any, values: Any = np.int32) -> Callable[[np.random.Generator, int], Arrays]:
    """Random keys and their places, with room for as much scratch."""

    def make(rng: np.random.Generator, n: int) -> Arrays:
        bits = rng.integers(0, 256, n * np.dtype(dtype).itemsize, np.uint8).view(dtype)
        keys = rng.normal(size=n).astype(dtype) if bits.dtype.kind == "f" else bits
        return {"keys": np.concatenate([keys, keys]), "values": np.arange(2 * n, dtype=values)}

    return make


def sorted_pairs(arrays: Arrays, n: int) -> Arrays:
    order = np.argsort(arrays["keys"][:n], kind="stable")
    return {"keys": arrays["keys"][order], "values": arrays["values"][order]}


def segments(size: int) -> Callable[[np.random.Generator, int], Arrays]:
    def make(rng: np.random.Generator, n: int) -> Arrays:
        return {**pairs(np.int32)(rng, n), "bounds": np.append(np.arange(0, n, size), n).astype(np.int32)}

    return make


def sorted_segments(arrays: Arrays, n: int) -> Arrays:
    bounds, keys = arrays["bounds"], arrays["keys"][:n]
    order = np.lexsort((keys, np.repeat(np.arange(bounds.size - 1), np.diff(bounds))))
    return {"keys": keys[order], "values": arrays["values"][order]}


def numbers(dtype: Any, out: Any, *, two: bool = False) -> Callable[[np.random.Generator, int], Arrays]:
    def make(rng: np.random.Generator, n: int) -> Arrays:
        made = {"x": (rng.random(n) * 100).astype(dtype), "out": np.zeros(n if out else 1, out or dtype)}
        return {**made, "y": rng.random(n).astype(dtype)} if two else made

    return make


def runs(rng: np.random.Generator, n: int) -> Arrays:
    x = np.sort(rng.integers(0, max(1, n // 4), n)).astype(np.int32)
    return {"x": x, "run_values": np.zeros_like(x), "run_lengths": np.zeros_like(x)}


def expected_runs(arrays: Arrays, n: int) -> Arrays:
    values, lengths = np.unique(arrays["x"], return_counts=True)
    return {"run_values": values, "run_lengths": lengths.astype(np.int32)}


def rows(rng: np.random.Generator, n: int) -> Arrays:
    x = rng.random((n // 100 + 1, 100)).astype(np.float32)
    return {"x": x, "columns": np.zeros((1, 100), np.float32), "rows": np.zeros((len(x), 1), np.float32)}


def sort(u: Any, a: Any, n: int) -> None:
    u.radix_sort_pairs(a.keys, a.values, n)


def scan(inclusive: bool) -> Callable[[Any, Any, int], None]:
    return lambda u, a, n: u.array_scan(a.x, a.out, inclusive)


def sums(x: np.ndarray) -> np.ndarray:
    return np.cumsum(x, dtype=np.float64 if x.dtype.kind == "f" else x.dtype)


PAIR = ("keys", "values")
CASES = {
    "sort int32": Case(pairs(np.int32), sort, sorted_pairs, PAIR, 2.0),
    "sort float32": Case(pairs(np.float32), sort, sorted_pairs, PAIR, 2.0),
    "sort int64": Case(pairs(np.int64, np.int64), sort, sorted_pairs, PAIR, 2.0),
    **{
        f"sort segments of {size}": Case(
            segments(size),
            lambda u, a, n: u.segmented_sort_pairs(a.keys, a.values, n, a.bounds),
            sorted_segments, PAIR, 2.0, 100_000,
        )
        for size in (16, 1000)
    },
    "scan int32": Case(numbers(np.int32, np.int32), scan(True), lambda a, n: {"out": sums(a["x"])}),
    "scan float32": Case(numbers(np.float32, np.float32), scan(True), lambda a, n: {"out": sums(a["x"])}),
    "scan float32, exclusive": Case(
        numbers(np.float32, np.float32), scan(False), lambda a, n: {"out": sums(a["x"]) - a["x"]}
    ),
    "run lengths": Case(runs, lambda u, a, n: u.runlength_encode(a.x, a.run_values, a.run_lengths), expected_runs),
    "sum float32": Case(
        numbers(np.float32, None), lambda u, a, n: u.array_sum(a.x, out=a.out), lambda a, n: {"out": sums(a["x"])[-1:]}
    ),
    "sum float32 by rows": Case(
        rows, lambda u, a, n: u.array_sum(a.x, out=a.rows, axis=1), lambda a, n: {"rows": a["x"].sum(1, float)[:, None]}
    ),
    "sum float32 by columns": Case(
        rows,
        lambda u, a, n: u.array_sum(a.x, out=a.columns, axis=0),
        lambda a, n: {"columns": a["x"].sum(0, float)[None]},
    ),
    "inner float32": Case(
        numbers(np.float32, None, two=True),
        lambda u, a, n: u.array_inner(a.x, a.y, out=a.out),
        lambda a, n: {"out": np.array([a["x"].astype(float) @ a["y"]])},
    ),
    **{
        f"cast {source.__name__} to {target.__name__}": Case(
            numbers(source, target),
            lambda u, a, n: u.array_cast(a.x, a.out),
            lambda a, n: {"out": a["x"].astype(a["out"].dtype)},
        )
        for source, target in (
            (np.float32, np.float64), (np.float64, np.float32), (np.int32, np.float32),
            (np.float32, np.int32), (np.float32, np.float16), (np.float16, np.float32),
        )
    },
}  # fmt: skip


class Loaded:
    """The arrays of a case, as attributes."""


class Worker:
    """One implementation, in a process of its own."""

    def __init__(self, package: str, threads: int) -> None:
        self.wp = importlib.import_module(package)
        if package == "warp":
            self.wp.config.quiet = True
        else:
            importlib.import_module(f"{package}._native").set_num_threads(threads)
        self.utils = importlib.import_module(f"{package}.utils")

    def load(self, name: str, n: int, inputs: str, outputs: str) -> None:
        """Run a case once on the arrays in file `inputs` and write what they then hold to `outputs`."""
        self.case, self.n, self.arrays = CASES[name], n, Loaded()
        with np.load(inputs) as file:
            data = dict(file)
        for key, value in data.items():
            dtype = self.wp.dtype_from_numpy(value.dtype)
            setattr(self.arrays, key, self.wp.array(value, dtype=dtype, device="cpu"))
        self.saved = {key: self.wp.clone(getattr(self.arrays, key)) for key in self.case.fresh}
        self.time(1)
        np.savez(outputs, **{key: getattr(self.arrays, key).numpy() for key in data})

    def time(self, calls: int) -> float:
        """The seconds that the fastest of some calls takes."""
        best = float("inf")
        for _ in range(calls):
            for key, value in self.saved.items():
                self.wp.copy(getattr(self.arrays, key), value)
            start = time.perf_counter()
            self.case.call(self.utils, self.arrays, self.n)
            best = min(best, time.perf_counter() - start)
        return best


def problem(expected: Arrays, file: Path) -> str | None:
    """What is wrong with the outputs in `file`, or None."""
    with np.load(file) as outputs:
        for name, want in expected.items():
            got = outputs[name][: len(want)]
            if got.dtype.kind == "f" and name not in PAIR:
                error = np.abs(got - want.astype(float)).max(initial=0) / max(np.abs(want).max(initial=0), 1e-30)
                if not error <= TOLERANCE:
                    return f"{name} is off by {error:.1e}"
            elif not np.array_equal(got, want):
                return f"{name} is wrong"
    return None


def run_case(name: str, n: int, contenders: dict[str, Contender], rounds: int, scratch: Path) -> dict[str, float] | str:
    """The seconds of the fastest call of each contender, or what is wrong."""
    inputs = CASES[name].inputs(np.random.default_rng(SEED), n)
    expected = CASES[name].expected(inputs, n)
    np.savez(scratch / "inputs.npz", **inputs)
    for label, contender in contenders.items():
        contender.ask("load", name, n, str(scratch / "inputs.npz"), str(scratch / "outputs.npz"))
        if wrong := problem(expected, scratch / "outputs.npz"):
            return f"{label}: {wrong}"
    best = {label: contender.ask("time", 3) for label, contender in contenders.items()}
    calls = {label: max(1, int(SAMPLE_SECONDS / seconds)) for label, seconds in best.items()}
    for _ in range(rounds):
        for label, contender in contenders.items():
            best[label] = min(best[label], contender.ask("time", calls[label]))
    return best


def row(name: str, n: int, result: dict[str, float]) -> list[str]:
    """Nanoseconds for one element, then the ratios."""
    each = [f"{result[label] / n * 1e9:.2f}" for label in (WARP, ALONE, OURS)]
    ratios = [f"{result[WARP] / result[label]:.1f}" for label in (ALONE, OURS)]
    return [name, f"{n:,}", *each, *ratios, f"{CASES[name].goal:g}"]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="cases whose names contain one of these words")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 100_000, 10_000_000], help="elements")
    parser.add_argument("--rounds", type=int, default=7, help="samples of each implementation (default: 7)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peers (default: make one)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if options.serve:
        serve(Worker, options.serve[0], int(options.serve[1]))
        return 0
    theirs = options.peer_python or str(peers.python())
    contenders = {
        WARP: Contender(theirs, __file__, "--serve", "warp", 1),
        ALONE: Contender(sys.executable, __file__, "--serve", "omni.warp_core", 1),
        OURS: Contender(sys.executable, __file__, "--serve", "omni.warp_core", options.threads),
    }
    done, wrong = [], False
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            for n in options.sizes:
                if n > CASES[name].most or (options.only and not any(word in name for word in options.only)):
                    continue
                result = run_case(name, n, contenders, options.rounds, Path(scratch))
                if isinstance(result, str):
                    print(f"{name}, {n:,} elements: {result}")
                    wrong = True
                else:
                    done.append(row(name, n, result))
    facts = machine()
    print(f"{facts['processor']}; {facts['cores']} cores; {facts['system']}; {facts['date']}")
    print(f"All outputs agree with NumPy: exactly, sums and conversions of floats to {TOLERANCE:g}\n" * (not wrong))
    header = ("ns for an element", "elements", WARP, ALONE, f"ours, {options.threads}", "warp ÷ ours, 1", "warp ÷ ours")
    print(table((*header, "goal"), done))
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
