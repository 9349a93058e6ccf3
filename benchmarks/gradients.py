"""Gradients side by side with warp-lang's: a launch on a tape and its backward, each package in its own process.

    python benchmarks/gradients.py [--only loss] [--rounds N] [--threads N] [--peer-python PYTHON]

The gradients of both are compared before any time is taken; then they take turns, and the fastest round of each is
reported: the launch alone, the launch on a tape with what the tape keeps, and `backward`. warp-lang runs CPU kernels on
one thread; `--threads` sets ours.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import peers
from report import OURS, WARP, machine, table

HERE = Path(__file__).resolve().parent


class Program(NamedTuple):
    """A program, what its ratio should be, and of which part."""

    name: str
    title: str
    goal: float


PROGRAMS = (
    Program("loss", "scalar loss over 1 M vec3", 8),
    Program("springs", "spring forces, 1 M springs", 3),
    Program("nbody", "n-body, 2048 bodies, all pairs", 8),
)


# -- in each package's process ----------------------------------------------------------------------------------------


def kernels(wp: Any) -> dict[str, Any]:
    """The kernels, one source for both packages."""

    @wp.kernel
    def loss(x: wp.array(dtype=wp.vec3), total: wp.array(dtype=float)):
        i = wp.tid()
        d = x[i] - wp.vec3(0.1, 0.2, 0.3)
        wp.atomic_add(total, 0, wp.dot(d, d) * wp.length(d))

    @wp.kernel
    def springs(
        x: wp.array(dtype=wp.vec3),
        first: wp.array(dtype=int),
        second: wp.array(dtype=int),
        rest: wp.array(dtype=float),
        force: wp.array(dtype=wp.vec3),
    ):
        k = wp.tid()
        i = first[k]
        j = second[k]
        d = x[i] - x[j]
        length = wp.length(d)
        f = d / length * (10.0 * (length - rest[k]))
        wp.atomic_sub(force, i, f)
        wp.atomic_add(force, j, f)

    @wp.kernel
    def nbody(x: wp.array(dtype=wp.vec3), n: int, force: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        p = x[i]
        total = wp.vec3(0.0, 0.0, 0.0)
        for j in range(n):
            d = x[j] - p
            r = 1.0 / wp.sqrt(wp.dot(d, d) + 0.01)
            total = total + d * (r * r * r)
        force[i] = total

    return {"loss": loss, "springs": springs, "nbody": nbody}


class Case:
    """One program with its arrays."""

    def __init__(self, wp: Any, name: str):
        r = np.random.default_rng(20)
        n = 2048 if name == "nbody" else 1_000_000
        self.wp, self.n, self.kernel = wp, n, kernels(wp)[name]
        self.x = self._points(r, n)
        if name == "loss":
            self.out = wp.zeros(1, dtype=float, requires_grad=True)
            self.args = [self.x, self.out]
            self.seed = {"loss": self.out}
            return
        self.out = wp.zeros(n, dtype=wp.vec3, requires_grad=True)
        self.seed = {"grads": {self.out: self._points(r, n)}}
        if name == "nbody":
            self.args = [self.x, n, self.out]
        else:  # neighbours in memory, as the edges of a mesh are
            i = np.arange(n, dtype=np.int32)
            ends = [wp.array(a.astype(np.int32), dtype=int) for a in (i, (i + r.integers(1, 64, n)) % n)]
            self.args = [self.x, *ends, wp.array(r.random(n, dtype=np.float32), dtype=float), self.out]

    def _points(self, r: Any, n: int) -> Any:
        return self.wp.array(r.random((n, 3), dtype=np.float32), dtype=self.wp.vec3, requires_grad=True)

    def launch(self) -> None:
        self.wp.launch(self.kernel, dim=self.n, inputs=self.args)

    def record(self) -> Any:
        tape = self.wp.Tape()
        with tape:
            self.launch()
        return tape

    def gradient(self) -> list[float]:
        self.x.grad.zero_()
        self.record().backward(**self.seed)
        return self.x.grad.numpy()[:: max(1, self.n // 500)].ravel().tolist()

    def times(self) -> list[float]:
        """Seconds of a launch, of one on a tape, and of its backward."""
        start = time.perf_counter()
        self.launch()
        launched = time.perf_counter()
        tape = self.record()
        recorded = time.perf_counter()
        tape.backward(**self.seed)
        return [launched - start, recorded - launched, time.perf_counter() - recorded]


def serve(package: str, threads: int) -> None:
    """Answer questions on standard input: [name] for the gradient, [name, "times"] for the times."""
    wp = importlib.import_module(package)
    if threads and package != "warp":
        wp.config.num_threads = threads
    cases: dict[str, Case] = {}
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print goes elsewhere
    for line in sys.stdin:
        name, *what = json.loads(line)
        case = cases.get(name) or cases.setdefault(name, Case(wp, name))
        print(json.dumps(case.times() if what else case.gradient()), file=answers, flush=True)


# -- in the benchmark's ----------------------------------------------------------------------------------------------


def contender(python: str, package: str, threads: int) -> Callable[..., list[float]]:
    command = [python, __file__, "--serve", package, "--threads", str(threads)]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdin and process.stdout

    def ask(*question: str) -> list[float]:
        print(json.dumps(question), file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    return ask


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[p.name for p in PROGRAMS], help="programs to run (default: all)")
    parser.add_argument("--rounds", type=int, default=9, help="samples of each package")
    parser.add_argument("--threads", type=int, default=0, help="our threads (default: all cores)")
    parser.add_argument("--peer-python", help="an interpreter that has warp-lang (default: make one)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
        return
    asks = {
        OURS: contender(sys.executable, "omni.warp_core", options.threads),
        WARP: contender(options.peer_python or str(peers.python()), "warp", 1),
    }
    rows = []
    for program in PROGRAMS:
        if options.only and program.name not in options.only:
            continue
        found = {label: np.array(ask(program.name)) for label, ask in asks.items()}
        scale = np.abs(found[WARP]).max()
        np.testing.assert_allclose(found[OURS], found[WARP], rtol=1e-3, atol=1e-4 * scale, err_msg=program.title)
        samples = {label: [ask(program.name, "times") for _ in range(options.rounds)] for label, ask in asks.items()}
        ours, warp = (1e3 * np.array(samples[label]).min(axis=0) for label in (OURS, WARP))
        both = (warp[1] + warp[2]) / (ours[1] + ours[2])
        rows.append(
            [
                program.title,
                *(f"{a:.2f} / {b:.2f} / {c:.2f}" for a, b, c in (warp, ours)),
                f"{warp[2] / ours[2]:.1f}",
                f"{both:.1f}",
                f"{program.goal:g}",
                f"{ours[2] / ours[0]:.1f}",
            ]
        )
    facts = machine()
    print(f"{facts['processor']}; {facts['cores']} cores; {facts['system']}; {facts['date']}")
    print(
        "Milliseconds of launch / recorded launch / backward; ratios of backward, and of recorded launch and backward."
    )
    head = ["program", WARP, OURS, "warp ÷ ours, backward", "both", "goal", "our backward ÷ launch"]
    print("\n" + table(head, rows))


if __name__ == "__main__":
    main()
