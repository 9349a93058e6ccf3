"""Neighbours of points side by side: hash grids, warp-lang's, and SciPy's tree, each in its own process.

    python benchmarks/neighbours.py [--points 1000000] [--rounds 5] [--peer-python PYTHON]

Points fill a cube, and each has about 30 neighbours within the radius. Kernels count them and sum up densities as in
SPH, for points as they come and in the order of the grid. The implementations take turns, and the fastest call of each
is reported. On one thread the time is that of the processor, so that other work on the machine hardly counts; on
several it is that of the clock. Sums of the results are compared before any time is taken.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
import time
from typing import Any

import numpy as np
from harness import peers
from harness.contenders import Contender, serve
from harness.report import ALONE, OURS, WARP, machine, table

TREE = "cKDTree"
SEED, NEIGHBOURS = 11, 30
GOALS = {"build": 2.0, "count": None, "count in order": None, "density": None, "density in order": 4.0}
ASKED = 100_000  # points of which the tree is asked; its time is scaled
TOLERANCE = 1e-4  # of sums


def inputs(count: int) -> tuple[np.ndarray, float]:
    """Points in the unit cube, and the radius."""
    points = np.random.default_rng(SEED).uniform(size=(count, 3)).astype(np.float32)
    return points, (NEIGHBOURS / count / (4.0 / 3.0 * math.pi)) ** (1.0 / 3.0)


class Worker:
    """Hash grids of one package, in a process of its own."""

    def __init__(self, package: str, threads: int) -> None:
        self.wp = wp = importlib.import_module(package)
        wp.config.quiet = True
        if package != "warp":
            wp.config.num_threads = threads
        wp.set_device("cpu")
        self.clock = time.process_time if threads == 1 else time.perf_counter

        @wp.kernel
        def count(
            grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, in_order: int, found: wp.array(dtype=float)
        ):
            i = wp.tid()
            if in_order != 0:
                i = wp.hash_grid_point_id(grid, i)
            here = points[i]
            total = float(0.0)  # noqa: UP018 - a variable, as the next one: literals are constants for warp-lang
            other = int(0)  # noqa: RUF046, UP018
            query = wp.hash_grid_query(grid, here, radius)
            while wp.hash_grid_query_next(query, other):
                if wp.length(here - points[other]) <= radius:
                    total += 1.0
            found[i] = total

        @wp.kernel
        def density(
            grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, in_order: int, found: wp.array(dtype=float)
        ):
            i = wp.tid()
            if in_order != 0:
                i = wp.hash_grid_point_id(grid, i)
            here = points[i]
            total = float(0.0)  # noqa: UP018 - see above
            other = int(0)  # noqa: RUF046, UP018
            query = wp.hash_grid_query(grid, here, radius)
            while wp.hash_grid_query_next(query, other):
                away = here - points[other]
                room = 1.0 - wp.dot(away, away) / (radius * radius)
                if room > 0.0:
                    total += room * room * room
            found[i] = total

        self.kernels = {"count": count, "density": density}

    def load(self, size: int) -> None:
        points, self.radius = inputs(size)
        side = min(int(1.0 / self.radius) + 1, 256)
        self.points = self.wp.array(points, dtype=self.wp.vec3)
        self.grid, self.found = self.wp.HashGrid(side, side, side), self.wp.zeros(size, dtype=float)
        self.run("build")

    def run(self, name: str) -> None:
        if name == "build":
            self.grid.build(self.points, self.radius)
        else:
            kernel = self.kernels[name.split()[0]]
            arguments = [self.grid.id, self.points, self.radius, int(name.endswith("order")), self.found]
            self.wp.launch(kernel, len(self.points), arguments)

    def total(self, name: str) -> float:
        self.run(name)
        return float(self.found.numpy().sum(dtype=np.float64))

    def time(self, name: str) -> float:
        start = self.clock()
        self.run(name)
        return self.clock() - start


class Tree:
    """SciPy's tree on one thread: it is built, and counts neighbours."""

    def load(self, size: int) -> None:
        self.spatial: Any = importlib.import_module("scipy.spatial")
        self.points, self.radius = inputs(size)
        self.time("build")

    def total(self) -> float:
        """The number of neighbours of all points."""
        return float(self.tree.count_neighbors(self.tree, self.radius))

    def time(self, name: str) -> float:
        start = time.process_time()
        if name == "build":
            self.tree = self.spatial.cKDTree(self.points)
            return time.process_time() - start
        asked = self.points[:ASKED]
        self.tree.query_ball_point(asked, self.radius, return_length=True)
        return (time.process_time() - start) * len(self.points) / len(asked)


def check(contenders: dict[str, Contender]) -> str:
    """What is wrong with sums of the results; "" if nothing is."""
    wrong = []
    for name in list(GOALS)[1:]:
        judge = contenders[TREE].ask("total") if name.startswith("count") else contenders[WARP].ask("total", name)
        for label in (WARP, ALONE, OURS):
            error = abs(contenders[label].ask("total", name) / judge - 1.0)
            wrong += [f"{name}, {label}: the sum is off by {error:.1e}"] if error > TOLERANCE else []
    return "\n".join(wrong)


def measure(contenders: dict[str, Contender], name: str, rounds: int) -> dict[str, float]:
    """The least seconds of each implementation that can do it."""
    takes_part = {k: c for k, c in contenders.items() if k != TREE or name in ("build", "count")}
    best = dict.fromkeys(takes_part, math.inf)
    for _ in range(rounds):
        for label, contender in takes_part.items():
            best[label] = min(best[label], contender.ask("time", name))
    return best


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="calls of each implementation (default: 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has warp-lang (default: make one)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if options.serve:
        package, threads = options.serve
        serve(*((Tree,) if package == TREE else (Worker, package, int(threads))))
        return 0
    theirs = options.peer_python or str(peers.python())
    contenders = {
        WARP: Contender(theirs, __file__, "--serve", "warp", 1),
        TREE: Contender(sys.executable, __file__, "--serve", TREE, 1),
        ALONE: Contender(sys.executable, __file__, "--serve", "omni.warp_core", 1),
        OURS: Contender(sys.executable, __file__, "--serve", "omni.warp_core", options.threads),
    }
    try:
        for contender in contenders.values():
            contender.ask("load", options.points)
        wrong = check(contenders)
        rows = []
        for name, goal in GOALS.items():
            best = measure(contenders, name, options.rounds)
            figures = [f"{best[label] * 1e3:,.1f} ms" if label in best else "-" for label in contenders]
            ratios = [f"{best[WARP] / best[label]:.2f}" for label in (ALONE, OURS)]
            rows.append([name, *figures, *ratios, f"{goal:g}" if goal else "-"])
    finally:
        for contender in contenders.values():
            contender.close()
    facts = machine()
    print(f"{facts['processor']}; {facts['cores']} cores; {facts['system']}; {facts['date']}")
    print(wrong or f"{options.points:,} points. All sums agree\n")
    header = (
        "",
        WARP,
        TREE,
        ALONE,
        f"ours, {options.threads}",
        "warp ÷ ours, 1",
        f"warp ÷ ours, {options.threads}",
        "goal",
    )
    print(table(header, rows))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
