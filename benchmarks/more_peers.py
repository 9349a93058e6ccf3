"""Some of the programs beside further packages: JAX, Dr.Jit, Taichi and Quadrants, each in its own process.

    make bench        or        python benchmarks/more_peers.py [--only nbody mix] [--peer-python PYTHON]

As run.py does, it compares every output with float64 NumPy before it takes any time. Then all take turns, on all cores.
The last columns are their times over ours: below 1 the other package is faster. A package that does not start is left
out. `--processor-time` counts the time that all threads of a process compute, where other work shares the machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import peers
from harness.contenders import WorkerError
from harness.report import OURS, machine, table
from kernels.programs import PROGRAMS
from run import Timed, run_program

PACKAGES = {"JAX": "jax", "Dr.Jit": "drjit", "Taichi": "taichi", "Quadrants": "quadrants"}
NAMES = ("nbody", "mandelbrot", "mix", "stencil", "saxpy", "particles")


class ProcessorTimed(Timed):
    """A contender whose samples are processor time."""

    def sample(self, name: str, runs: int) -> float:
        before = self.cpu
        super().sample(name, runs)
        return (self.cpu - before) / runs


def started(
    kind: type[Timed], label: str, python: str, package: str, threads: int
) -> tuple[Timed, dict[str, Any]] | None:
    """A contender and its versions; None if it does not start."""
    contender = kind(label, python, package, threads)
    try:
        return contender, contender.ask("versions")
    except WorkerError as why:
        print(f"{label} is left out: {why}")
        contender.close()
        return None


def row(title: str, median: dict[str, float], labels: list[str]) -> list[str]:
    """Milliseconds of each package, and of those that are not ours over ours."""
    times = [f"{median[label] * 1e3:.3g} ms" if label in median else "failed" for label in labels]
    ours = median.get(OURS)
    others = labels[1:]
    return [title, *times, *(f"{median[n] / ours:.2f}" if ours and n in median else "-" for n in others)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="programs to run (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each implementation (default: 5)")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peers (default: make one)")
    parser.add_argument("--processor-time", action="store_true", help="count processor time of all threads")
    options = parser.parse_args()
    threads = os.cpu_count() or 1
    theirs = options.peer_python or str(peers.python("more-peers.txt", ".venv-more-peers"))
    wanted = [(OURS, sys.executable, "omni.warp_core"), *((k, theirs, v) for k, v in PACKAGES.items())]
    kind = ProcessorTimed if options.processor_time else Timed
    found = [pair for how in wanted if (pair := started(kind, *how, threads)) is not None]
    contenders, labels = [c for c, _ in found], [c.label for c, _ in found]
    print(f"{machine()['processor']}; {threads} cores; {machine()['date']}")
    for contender, versions in found:
        print(f"  {contender.label}: " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for program in PROGRAMS:
            if program.name in options.only:
                median = run_program(program, contenders, options.rounds, Path(scratch))["median"]
                rows.append(row(program.title, median, labels))
    for contender in contenders:
        contender.close()
    print("\n" + table(("program", *labels, *(f"{label} ÷ ours" for label in labels[1:])), rows))


if __name__ == "__main__":
    main()
