"""Marching cubes and surface nets side by side with warp-lang's, each in its own process, on the same fields.

    python benchmarks/surfaces.py [--size 128] [--rounds 7] [--peer-python PYTHON]

Before any time is taken, the vertices of both are compared, and the area of the triangles. The implementations then
take turns. The processor time of the fastest call of each is reported, summed over threads, as other programs on the
machine add less to it than to the time that passes.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import sys
import time
from typing import Any

import numpy as np
from harness import peers
from harness.contenders import Contender, serve
from harness.report import ALONE, OURS, WARP, machine, table

# Class -> how many times faster it is to be.
METHODS = {"IsoSurfaceMarchingCubes": 10, "IsoSurfaceNets": 2}
FIELDS = ("sphere", "waves")


def field(name: str, n: int) -> np.ndarray:
    """A sphere cuts few cells, the waves about one in ten."""
    x, y, z = (a.astype(np.float32) for a in np.mgrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j, -1 : 1 : n * 1j])
    if name == "sphere":
        return np.sqrt(x * x + y * y + z * z) - np.float32(0.7)
    return np.sin(7 * x) * np.cos(9 * y) + np.sin(7 * y) * np.cos(9 * z) + np.sin(7 * z) * np.cos(9 * x)


class Worker:
    """One implementation; answers the questions of `Contender`."""

    def __init__(self, package: str, threads: int):
        self.wp = importlib.import_module(package)
        self.wp.config.quiet = True
        if package != "warp":
            self.wp.config.num_threads = threads
        self.wp.set_device("cpu")
        self.geometry = importlib.import_module(f"{package}.geometry")
        self.field: Any = None
        self.method: Any = None

    def load(self, method: str, name: str, n: int) -> dict[str, float]:
        """Take a method and a field. Return numbers of vertices and triangles, the mean of vertices, and the area."""
        self.field = self.wp.array(field(name, n), dtype=float)
        self.method = getattr(self.geometry, method)
        found = self.method.extract(self.field, 0.0)
        vertices, triangles = found[0].numpy().astype(float), found[1].numpy().reshape(-1, 3)
        a, b, c = np.moveaxis(vertices[triangles], 1, 0)
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
        mean = float(np.abs(vertices).mean())
        return {"vertices": len(vertices), "triangles": len(triangles), "mean": mean, "area": float(area)}

    def time(self) -> float:
        """Return the seconds of processor time of a call."""
        start = time.process_time()
        self.method.extract(self.field, 0.0)
        return time.process_time() - start


def differences(facts: dict[str, dict[str, float]]) -> list[str]:
    """What implementations disagree about: areas by more than the choice of diagonals makes."""
    tolerance = {"vertices": 0.0, "triangles": 0.0, "mean": 1e-5, "area": 1e-3}
    expected = facts[WARP]
    return [
        f"{label}: {what} is {found[what]:g}, and {expected[what]:g} with {WARP}"
        for label, found in facts.items()
        for what, limit in tolerance.items()
        if abs(found[what] - expected[what]) > limit * expected[what]
    ]


def fastest(contenders: dict[str, Contender], rounds: int) -> dict[str, float]:
    """Let the implementations take turns. Return the least time of each."""
    turns = [{label: contender.ask("time") for label, contender in contenders.items()} for _ in range(rounds)]
    return {label: min(turn[label] for turn in turns) for label in contenders}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128, help="nodes in each direction (default: 128)")
    parser.add_argument("--rounds", type=int, default=7, help="calls of each implementation (default: 7)")
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
    rows = []
    for method, name in itertools.product(METHODS, FIELDS):
        facts = {label: contender.ask("load", method, name, options.size) for label, contender in contenders.items()}
        if wrong := differences(facts):
            print(*wrong, sep="\n")
            return 1
        turns = [
            {label: contender.ask("time") for label, contender in contenders.items()} for _ in range(options.rounds)
        ]
        best = {label: min(turn[label] for turn in turns) for label in contenders}
        each = [f"{seconds * 1e3:.1f}" for seconds in best.values()]
        ratios = [f"{best[WARP] / best[label]:.1f}" for label in (ALONE, OURS)]
        row = f"{method}, {name} {options.size}³"
        rows.append([row, f"{facts[OURS]['triangles']:,}", *each, *ratios, str(METHODS[method])])
    about = machine()
    print(f"{about['processor']}; {about['cores']} cores; {about['system']}; {about['date']}")
    header = ("processor ms", "triangles", WARP, ALONE, f"ours, {options.threads}", "warp ÷ ours, 1", "warp ÷ ours")
    print(table((*header, "goal"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
