"""Exchange with PyTorch and JAX beside warp-lang: launches with tensors, conversions, calls in jit, training steps.

    make bench-interop        or        python benchmarks/interop.py --peer-python PYTHON [--rounds N] [--runs N]

Run it with a Python that has this package, PyTorch and JAX; PYTHON has warp-lang beside the same versions of both. The
two packages are in processes of their own and take turns. The figures are microseconds of processor time, the least of
all rounds. harness/interop_worker.py has the cases; each checks its result before it is timed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness.report import machine, table

WORKER = Path(__file__).resolve().parent / "harness" / "interop_worker.py"


class Side:
    """A process that times one package."""

    def __init__(self, python: str, package: str):
        self.package = package
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([python, str(WORKER), package], stdin=pipe, stdout=pipe, text=True)
        start = self.read()
        self.version, self.failed = start["version"], start["failed"]

    def read(self) -> dict[str, Any]:
        """The next answer; lines that the package itself prints are skipped."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit(f"{self.package} has ended with {self.process.wait()}")

    def times(self, runs: int) -> dict[str, float]:
        """The microseconds of each case."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return self.read()


def main() -> None:
    """Let both packages take turns, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10, help="of each case in a round")
    options = parser.parse_args()
    sides = [Side(sys.executable, "omni.warp_core"), Side(options.peer_python, "warp")]
    best: list[dict[str, float]] = [{}, {}]
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        for found, side in zip(best, sides):
            for title, time in side.times(options.runs).items():
                found[title] = min(time, found.get(title, time))
    ours, peer = best
    rows = [
        [title, f"{time:.2f}", *([f"{peer[title]:.2f}", f"{peer[title] / time:.1f}"] if title in peer else ["-", "-"])]
        for title, time in ours.items()
    ]
    print(machine())
    print(f"ours {sides[0].version}, warp-lang {sides[1].version}; µs of processor time, the least")
    print(table(["case", "ours", "warp-lang", "warp-lang ÷ ours"], rows))
    for side in sides:
        for title, why in side.failed.items():
            print(f"{side.package} failed: {title}: {why}")


if __name__ == "__main__":
    main()
