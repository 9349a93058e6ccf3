"""Sparse matrices and solvers side by side with warp-lang's and SciPy's, each in its own process, on the same data.

    python benchmarks/sparse.py [--size 300] [--rounds 5] [--only mv cg] [--peer-python PYTHON]

The matrix is that of a grid of `size` x `size` cells, each joined with its four neighbours. Triplets come in random
order.
Before any time is taken, results of all are compared. The implementations then take turns. The processor time of the
fastest call of each is reported, summed over threads, as other programs on the machine add less to it than to the time
that passes.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from harness import peers
from harness.contenders import Contender, serve
from harness.report import ALONE, OURS, WARP, machine, table

SCIPY = "SciPy"
# Task -> what it does.
TASKS = {
    "triplets": "matrix from triplets",
    "mapped": "new values by a map",
    "mv": "A x",
    "mv of blocks": "A x, 3 x 3 blocks",
    "mv transposed": "x A",
    "transpose": "A transposed",
    "sum": "A + B",
    "product": "A A",
    "cg": "a step of CG",
}
STEPS = 50


def triplets(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix of a grid, shifted so that it is well-conditioned: rows, columns, values in random order."""
    n = size * size
    grid = scipy.sparse.diags_array(
        [-1.0, -1.0, 4.5, -1.0, -1.0], offsets=[-size, -1, 0, 1, size], shape=(n, n), dtype=np.float32
    ).tocoo()
    order = np.random.default_rng(3).permutation(grid.nnz)
    rows, columns = grid.coords
    return rows[order].astype(np.int32), columns[order].astype(np.int32), grid.data[order].astype(np.float32)


class Worker:
    """An implementation by a package like warp; answers the questions of `Contender`."""

    def __init__(self, package: str, threads: int):
        self.wp = importlib.import_module(package)
        self.wp.config.quiet = True
        if package != "warp":
            self.wp.config.num_threads = threads
        self.wp.set_device("cpu")
        self.sparse = importlib.import_module(f"{package}.sparse")
        self.linear = importlib.import_module(f"{package}.optim.linear")
        self.call: Callable[[], Any] = lambda: None

    def load(self, task: str, size: int) -> float:
        """Take a task, and return a number that its result must have."""
        wp, sparse, n = self.wp, self.sparse, size * size
        rows, columns, values = triplets(size)
        entries = wp.array(rows, dtype=int), wp.array(columns, dtype=int), wp.array(values, dtype=float)
        A = sparse.bsr_from_triplets(n, n, *entries)
        A.nnz_sync()
        x, y = wp.array(np.linspace(0.0, 1.0, n, dtype=np.float32), dtype=float), wp.zeros(n, dtype=float)
        self.call = getattr(self, "_" + task.replace(" ", "_"))(A, entries, x, y, n)
        result = self.call()
        return self._number(x if result is None else result, n)

    def _number(self, result: Any, n: int) -> float:
        if isinstance(result, self.sparse.BsrMatrix):
            result = result @ self.wp.array(np.linspace(0.0, 1.0, n, dtype=np.float32), dtype=float)
        return float(np.abs(result.numpy().astype(np.float64)).sum())

    def _triplets(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        return lambda: self.sparse.bsr_from_triplets(n, n, *entries)

    def _mapped(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        B = self.sparse.bsr_zeros(n, n, float)
        mapping = self.sparse.bsr_set_from_triplets(B, *entries, prune_numerical_zeros=False, build_mapping=True)
        B.nnz_sync()

        def call() -> Any:
            self.sparse.bsr_set_from_mapped_values(B, mapping, entries[2])
            return B

        return call

    def _mv(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        return lambda: self.sparse.bsr_mv(A, x, y)

    def _mv_of_blocks(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        wp = self.wp
        blocks = np.repeat(entries[2].numpy(), 9).reshape(-1, 3, 3)
        B = self.sparse.bsr_from_triplets(n, n, *entries[:2], wp.array(blocks, dtype=wp.mat33))
        B.nnz_sync()
        v = wp.array(np.linspace(0.0, 1.0, 3 * n, dtype=np.float32).reshape(n, 3), dtype=wp.vec3)
        out = wp.zeros(n, dtype=wp.vec3)
        return lambda: self.sparse.bsr_mv(B, v, out)

    def _mv_transposed(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        return lambda: self.sparse.bsr_mv(A, x, y, transpose=True)

    def _transpose(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        return lambda: self.sparse.bsr_transposed(A)

    def _sum(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        B = self.sparse.bsr_identity(n, float)
        return lambda: A + B

    def _product(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        return lambda: self.sparse.bsr_mm(A, A)

    def _cg(self, A: Any, entries: Any, x: Any, y: Any, n: int) -> Callable[[], Any]:
        options = {"tol": 1e-30, "maxiter": STEPS, "check_every": STEPS}
        state = self.linear.cg(A, x, y, **options, run=False)

        def call() -> Any:
            y.zero_()
            state()
            return y

        return call

    def time(self) -> float:
        """Return the seconds of processor time of a call."""
        start = time.process_time()
        self.call()
        return time.process_time() - start


class SciPyWorker:
    """The same by SciPy."""

    def load(self, task: str, size: int) -> float:
        """As that of `Worker`."""
        n = size * size
        rows, columns, values = triplets(size)
        A = scipy.sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
        x = np.linspace(0.0, 1.0, n, dtype=np.float32)
        wide = np.linspace(0.0, 1.0, 3 * n, dtype=np.float32)
        blocks = scipy.sparse.kron(A, np.ones((3, 3), dtype=np.float32), format="bsr")
        B = scipy.sparse.eye_array(n, dtype=np.float32, format="csr")

        def solve() -> Any:
            return scipy.sparse.linalg.cg(A, x, rtol=0.0, atol=0.0, maxiter=STEPS)[0]

        def build() -> Any:
            made = scipy.sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
            made.sum_duplicates()
            return made

        self.call: Callable[[], Any] = {
            "triplets": build,
            "mapped": build,
            "mv": lambda: A @ x,
            "mv of blocks": lambda: blocks @ wide,
            "mv transposed": lambda: A.T @ x,
            "transpose": lambda: A.T.tocsr(),
            "sum": lambda: A + B,
            "product": lambda: A @ A,
            "cg": solve,
        }[task]
        result = self.call()
        return float(np.abs((result @ x if scipy.sparse.issparse(result) else result).astype(np.float64)).sum())

    def time(self) -> float:
        """Return the seconds of processor time of a call."""
        start = time.process_time()
        self.call()
        return time.process_time() - start


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=300, help="cells in each direction (default: 300)")
    parser.add_argument("--rounds", type=int, default=5, help="calls of each implementation (default: 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peers (default: make one)")
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if options.serve:
        package, *threads = options.serve
        serve(*((SciPyWorker,) if package == "scipy" else (Worker, package, int(threads[0]))))
        return 0
    theirs = options.peer_python or str(peers.python())
    contenders = {
        WARP: Contender(theirs, __file__, "--serve", "warp", 1),
        SCIPY: Contender(sys.executable, __file__, "--serve", "scipy"),
        ALONE: Contender(sys.executable, __file__, "--serve", "omni.warp_core", 1),
        OURS: Contender(sys.executable, __file__, "--serve", "omni.warp_core", options.threads),
    }
    rows = []
    for task in options.only:
        numbers = {label: contender.ask("load", task, options.size) for label, contender in contenders.items()}
        expected = numbers[SCIPY]
        if any(abs(number - expected) > 1e-4 * expected for number in numbers.values()):
            print(f"{task}: results differ: {numbers}")
            return 1
        turns = [
            {label: contender.ask("time") for label, contender in contenders.items()} for _ in range(options.rounds)
        ]
        share = STEPS if task == "cg" else 1
        best = {label: min(turn[label] for turn in turns) / share for label in contenders}
        each = [f"{seconds * 1e3:.3g}" for seconds in best.values()]
        ratios = [f"{best[label] / best[ALONE]:.2g}" for label in (WARP, SCIPY)]
        rows.append([TASKS[task], *each, *ratios])
    about = machine()
    print(f"{about['processor']}; {about['cores']} cores; {about['system']}; {about['date']}")
    header = ("processor ms", WARP, SCIPY, ALONE, f"ours, {options.threads}", "warp ÷ ours, 1", "SciPy ÷ ours, 1")
    print(table(header, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
