"""Kernels with tiles side by side with warp-lang's and NumPy's, each in its own process, on the same data.

    python benchmarks/tiles.py [--rows 8192] [--rounds 7] [--only softmax] [--threads 1] [--peer-python PYTHON]

The arrays are of float32 with 1,024 columns. A block works on a row, or on a square of 64 x 64 elements. Tasks with
matrices and sequences are in tile_algorithms.py.
Before any time is taken, results of all are compared. The implementations then take turns. The processor time of the
fastest call of each is reported, summed over threads, as other programs on the machine add less to it than to the time
that passes. `compile` is the processor time of the first launch with an empty kernel cache.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import peers
from harness.contenders import Contender, serve
from harness.report import ALONE, OURS, WARP, machine, table
from kernels.tile_algorithms import ALGORITHMS, arrays
from kernels.tile_algorithms import kernels as algorithms

NUMPY = "NumPy"
COLUMNS, SQUARE = 1024, 64
# Task -> what it does.
TASKS = {
    "scale": "load, scale, store",
    "row sums": "sums of rows",
    "column sums": "sums of columns of squares",
    "softmax": "softmax of rows",
    "transpose": "transpose by squares",
    **{name: algorithm.does for name, algorithm in ALGORITHMS.items()},
}


def data(rows: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal((rows, COLUMNS)).astype(np.float32)


def kernels(wp: Any) -> dict[str, Any]:
    """The kernel of each task, written once for both packages."""

    @wp.kernel(module="unique")
    def scale(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i, j = wp.tid()
        t = wp.tile_load(x, shape=(SQUARE, SQUARE), offset=(i * SQUARE, j * SQUARE))
        wp.tile_store(y, t * 2.0, offset=(i * SQUARE, j * SQUARE))

    @wp.kernel(module="unique")
    def row_sums(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        wp.tile_store(y, wp.tile_sum(wp.tile_load(x[i], shape=COLUMNS)), offset=i)

    @wp.kernel(module="unique")
    def column_sums(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i, j = wp.tid()
        t = wp.tile_load(x, shape=(SQUARE, SQUARE), offset=(i * SQUARE, j * SQUARE))
        wp.tile_store(y[i], wp.tile_sum(t, axis=0), offset=j * SQUARE)

    @wp.kernel(module="unique")
    def softmax(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i = wp.tid()
        t = wp.tile_load(x[i], shape=COLUMNS)
        top = wp.tile_broadcast(wp.tile_max(t), shape=(COLUMNS,))
        e = wp.tile_map(wp.exp, t - top)
        total = wp.tile_sum(e)
        wp.tile_store(y[i], e * (1.0 / total[0]))

    @wp.kernel(module="unique")
    def transpose(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i, j = wp.tid()
        t = wp.tile_load(x, shape=(SQUARE, SQUARE), offset=(i * SQUARE, j * SQUARE))
        wp.tile_store(y, wp.tile_transpose(t), offset=(j * SQUARE, i * SQUARE))

    @wp.kernel(module="unique")
    def none():
        pass

    return {
        "none": none,
        "scale": scale,
        "row sums": row_sums,
        "column sums": column_sums,
        "softmax": softmax,
        "transpose": transpose,
        **algorithms(wp),
    }


def shape_of_result(task: str, rows: int) -> tuple[int, ...]:
    return {
        "row sums": (rows,),
        "column sums": (rows // SQUARE, COLUMNS),
        "transpose": (COLUMNS, rows),
    }.get(task, (rows, COLUMNS))


class Worker:
    """An implementation by a package like warp; answers the questions of `Contender`."""

    def __init__(self, package: str, threads: int, cache: str):
        self.wp = importlib.import_module(package)
        self.wp.config.quiet = True
        self.wp.config.kernel_cache_dir = cache
        if package != "warp":
            self.wp.config.num_threads = threads
        self.wp.set_device("cpu")
        self.kernels = kernels(self.wp)
        self.wp.launch(self.kernels["none"], dim=1)  # loads the compiler
        self.call: Callable[[], Any] = lambda: None

    def load(self, task: str, rows: int) -> tuple[float, float]:
        """Take a task. Returns the processor time of the first launch, and a number that its result must have."""
        wp, kernel = self.wp, self.kernels[task]
        if task in ALGORITHMS:
            blocks, (x, y) = ALGORITHMS[task].blocks(rows), arrays(wp, task, data(rows))
            return self.first(kernel, blocks, x, y)
        x, y = wp.array(data(rows), dtype=float), wp.zeros(shape_of_result(task, rows), dtype=float)
        in_rows = task in ("row sums", "softmax")
        blocks = [rows] if in_rows else [rows // SQUARE, COLUMNS // SQUARE]
        return self.first(kernel, blocks, x, y)

    def first(self, kernel: Any, blocks: list[int], x: Any, y: Any) -> tuple[float, float]:
        """Launch a kernel for the first time. Returns what `load` does."""
        self.call = lambda: self.wp.launch_tiled(kernel, dim=blocks, inputs=[x, y], block_dim=64)
        first = self.time()
        return first, float(np.abs(y.numpy().astype(np.float64)).sum())

    def time(self) -> float:
        """Return the seconds of processor time of a call."""
        start = time.process_time()
        self.call()
        return time.process_time() - start


class NumPyWorker:
    """The same by NumPy."""

    def __init__(self) -> None:
        self.call: Callable[[], Any] = lambda: None

    def load(self, task: str, rows: int) -> tuple[float, float]:
        """As that of `Worker`."""
        x = data(rows)
        if task in ALGORITHMS:
            self.call = lambda: ALGORITHMS[task].by_numpy(x)
            return 0.0, float(np.abs(self.call().astype(np.float64)).sum())
        y = np.zeros(shape_of_result(task, rows), np.float32)

        def softmax() -> None:
            np.subtract(x, x.max(axis=1, keepdims=True), out=y)
            np.exp(y, out=y)
            np.divide(y, y.sum(axis=1, keepdims=True), out=y)

        self.call = {
            "scale": lambda: np.multiply(x, 2.0, out=y),
            "row sums": lambda: np.sum(x, axis=1, out=y),
            "column sums": lambda: np.sum(x.reshape(-1, SQUARE, COLUMNS), axis=1, out=y),
            "softmax": softmax,
            "transpose": lambda: np.copyto(y, x.T),
        }[task]
        self.call()
        return 0.0, float(np.abs(y.astype(np.float64)).sum())

    def time(self) -> float:
        """Return the seconds of processor time of a call."""
        start = time.process_time()
        self.call()
        return time.process_time() - start


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8192, help="rows of the arrays (default: 8192)")
    parser.add_argument("--rounds", type=int, default=7, help="calls of each implementation (default: 7)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peers (default: make one)")
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if options.serve:
        package, *rest = options.serve
        serve(*((NumPyWorker,) if package == "numpy" else (Worker, package, int(rest[0]), rest[1])))
        return 0
    theirs = options.peer_python or str(peers.python())
    with tempfile.TemporaryDirectory() as empty:
        contenders = {
            WARP: Contender(theirs, __file__, "--serve", "warp", 1, f"{empty}/warp"),
            NUMPY: Contender(sys.executable, __file__, "--serve", "numpy"),
            ALONE: Contender(sys.executable, __file__, "--serve", "omni.warp_core", 1, f"{empty}/alone"),
            OURS: Contender(sys.executable, __file__, "--serve", "omni.warp_core", options.threads, f"{empty}/ours"),
        }
        rows = [row(task, contenders, options) for task in options.only]
    about = machine()
    print(f"{about['processor']}; {about['cores']} cores; {about['system']}; {about['date']}")
    shares = ("warp ÷ ours, 1", "NumPy ÷ ours, 1")
    print(table(("processor ms", *contenders, *shares, "compile: warp", "compile: ours"), rows))
    return 0


def row(task: str, contenders: dict[str, Contender], options: argparse.Namespace) -> list[str]:
    """The row of a task in the table. Ends the program if results differ."""
    loaded = {label: contender.ask("load", task, options.rows) for label, contender in contenders.items()}
    _, expected = loaded[NUMPY]
    if any(abs(number - expected) > 1e-4 * expected for _, number in loaded.values()):
        sys.exit(f"{task}: results differ: {loaded}")
    turns = [{label: contender.ask("time") for label, contender in contenders.items()} for _ in range(options.rounds)]
    best = {label: min(turn[label] for turn in turns) for label in contenders}
    each = [f"{seconds * 1e3:.3g}" for seconds in best.values()]
    ratios = [f"{best[label] / best[ALONE]:.2g}" for label in (WARP, NUMPY)]
    return [TASKS[task], *each, *ratios, *(f"{loaded[label][0] * 1e3:.3g}" for label in (WARP, ALONE))]


if __name__ == "__main__":
    sys.exit(main())
