"""Vectors, matrices and builtins in Python itself, side by side with warp-lang's, each in its own process.

    python benchmarks/values.py [--only vec3 dot] [--rounds N] [--peer-python PYTHON]

Each case is an expression. Both packages must give the same numbers before any time is taken. Then they take turns. The
benchmark reports the fastest round of each, as nanoseconds for one evaluation without those of an empty loop. Calls of
builtins are timed once they are compiled, see docs/design/launches.md.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import timeit
from typing import Any, NamedTuple

import numpy as np
from harness import peers
from harness.contenders import Contender, serve
from harness.report import OURS, WARP, machine, table

SAMPLE_SECONDS = 0.05
WARM_UP = 3000  # evaluations

SETUP = """
a, b = wp.vec3(1.0, 2.0, 3.0), wp.vec3(-4.0, 5.0, 0.5)
m = wp.mat44(*(0.25 * i for i in range(16)))
q = wp.quat(0.5, 0.5, -0.5, 0.5)
t = wp.transform(a, q)
n = np.array([1.0, 2.0, 3.0], dtype=np.float32)
"""


class Case(NamedTuple):
    """An expression, and the nanoseconds it may take (0: no goal)."""

    expression: str
    goal: int = 0


CASES = (
    Case("wp.vec3(1.0, 2.0, 3.0)", 300),
    Case("wp.vec3([1.0, 2.0, 3.0])"),
    Case("wp.vec3(n)"),
    Case("wp.mat44(m)"),
    Case("a[1]"),
    Case("a.x"),
    Case("a[0:2]"),
    Case("m[1, 2]"),
    Case("list(a)"),
    Case("a + b"),
    Case("2.0 * a"),
    Case("m * m"),
    Case("q * q"),
    Case("t * t"),
    Case("a == b"),
    Case("hash(a)"),
    Case("np.array(a)"),
    Case("str(a)"),
    Case("pickle.loads(pickle.dumps(a))"),
    Case("wp.dot(a, b)", 1000),
    Case("wp.cross(a, b)"),
    Case("wp.sin(0.5)", 1000),
    Case("wp.normalize(a)"),
    Case("wp.inverse(m + m * m)"),
    Case("wp.quat_rotate(q, a)"),
    Case("wp.transform_point(t, a)"),
)


def numbers(value: Any) -> list[float]:
    """The numbers of a result, to compare."""
    return np.ravel(np.asarray(value, dtype=np.float64)).tolist() if not isinstance(value, str) else []


class Worker:
    """One implementation, in a process of its own."""

    def __init__(self, package: str) -> None:
        wp = importlib.import_module(package)
        if package == "warp":
            wp.config.quiet = True
            wp.init()
        self.space = {"wp": wp, "np": np, "pickle": importlib.import_module("pickle")}
        exec(SETUP, self.space)

    def prepare(self, expression: str) -> list[float] | str:
        """The numbers of the result, or why it has no numbers; then some evaluations to warm up."""
        try:
            result = eval(expression, self.space)
        except Exception as why:
            return f"{type(why).__name__}: {why}"
        timeit.timeit(expression, globals=self.space, number=WARM_UP)
        return [] if expression.startswith("hash") else numbers(result)

    def time(self, expression: str, count: int) -> float:
        """Seconds for one evaluation."""
        empty = timeit.timeit("pass", number=count)
        return max(0.0, timeit.timeit(expression, globals=self.space, number=count) - empty) / count


def measure(case: Case, contenders: dict[str, Contender], rounds: int) -> tuple[dict[str, float], bool]:
    """Nanoseconds of each contender that can evaluate the case, and whether their results agree."""
    results = {label: contender.ask("prepare", case.expression) for label, contender in contenders.items()}
    able = {label: contenders[label] for label, found in results.items() if not isinstance(found, str)}
    found = [results[label] for label in able]
    agree = OURS in able and all(np.allclose(found[0], other, rtol=1e-5, atol=1e-6) for other in found)
    best = {label: contender.ask("time", case.expression, 500) for label, contender in able.items()}
    counts = {label: max(500, int(SAMPLE_SECONDS / max(seconds, 1e-8))) for label, seconds in best.items()}
    for _ in range(rounds):
        for label, contender in able.items():
            best[label] = min(best[label], contender.ask("time", case.expression, counts[label]))
    return {label: seconds * 1e9 for label, seconds in best.items()}, agree


def row(case: Case, best: dict[str, float]) -> list[str]:
    """Nanoseconds of both, and the ratio."""
    times = [f"{best[label]:,.0f}" if label in best else "refused" for label in (WARP, OURS)]
    ratio = f"{best[WARP] / max(best[OURS], 1.0):.1f}" if WARP in best and OURS in best else "-"
    return [f"`{case.expression}`", *times, ratio, f"{case.goal:,}" if case.goal else ""]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="cases whose expressions contain one of these words")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each implementation (default: 5)")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peers (default: make one)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Worker, options.serve)
        return 0
    theirs = options.peer_python or str(peers.python())
    contenders = {
        WARP: Contender(theirs, __file__, "--serve", "warp"),
        OURS: Contender(sys.executable, __file__, "--serve", "omni.warp_core"),
    }
    done, wrong = [], []
    for case in CASES:
        if not options.only or any(word in case.expression for word in options.only):
            best, agree = measure(case, contenders, options.rounds)
            done.append(row(case, best))
            wrong += [] if agree else [case.expression]
    facts = machine()
    print(f"{facts['processor']}; {facts['cores']} cores; {facts['system']}; {facts['date']}")
    print(f"Different results: {wrong}" if wrong else "All results agree")
    print("\n" + table(("ns for an evaluation", WARP, OURS, "warp ÷ ours", "goal"), done))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
