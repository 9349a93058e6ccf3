"""Gradients side by side with warp-lang's: a launch on a tape and its backward, each package in its own process.

    python benchmarks/gradients.py [--only loss] [--rounds N] [--threads N] [--peer-python PYTHON]

The gradients of both are compared before any time is taken; then they take turns, and the fastest round of each is
reported: the launch alone, the launch on a tape with what the tape keeps, and `backward`. warp-lang runs CPU kernels on
one thread; `--threads` sets ours. Then come figures of this package alone. They are the distance of `backward` from
what the machine allows (`LIMITS`), and the cost of `config.deterministic`. Backward over forward follows for the
programs of `kernels`. Last come the time to compile an adjoint in a process that has compiled before, and the time of
a launch of 16 threads.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import peers
from harness.contenders import Contender, serve
from harness.report import OURS, WARP, machine, table
from kernels.programs import PROGRAMS as EXAMPLES

HERE = Path(__file__).resolve().parent
IN_ORDER = "deterministic"
EXAMPLE_SEED, EXAMPLE_ROUNDS = 20, 5
COMPILED = 15  # times that an adjoint is compiled
EVICTED = np.zeros(1 << 23)  # 64 MiB, twice what caches hold
UPDATED = 36  # bytes per element that `g += c * x` of vec3 moves


SMALL, SMALL_ROUNDS = 16, 300  # threads of launches that cost what all do, and how often these are timed


class Program(NamedTuple):
    """A program, its expected ratio, and the bytes per thread that `backward` must move. Each array that it reads or
    writes counts once, a gradient that it adds to counts twice. 0 where arithmetic is what takes the time.
    """

    name: str
    title: str
    goal: float
    moved: int


PROGRAMS = (
    Program("loss", "scalar loss over 1 M vec3", 8, 36),  # x; the gradient of x
    Program("springs", "spring forces, 1 M springs", 3, 72),  # x, both ends, rest; the seed and its copy; as above
    Program("nbody", "n-body, 2048 bodies, all pairs", 8, 0),
)
LIMITS = (
    "The limit is the time of `g += c * x` on the same threads after the same launches, for what backward must move;\n"
    "of n-body, which moves next to nothing, the time of the launch, whose numbers backward needs again."
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

    @wp.kernel
    def update(x: wp.array(dtype=wp.vec3), c: float, g: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        g[i] = g[i] + c * x[i]

    return {"loss": loss, "springs": springs, "nbody": nbody, "update": update}


class Case:
    """One program with its arrays, of as many threads as its title says or of `n`."""

    def __init__(self, wp: Any, name: str, n: int = 0):
        r = np.random.default_rng(20)
        n = n or (2048 if name == "nbody" else 1_000_000)
        known = kernels(wp)
        self.wp, self.n, self.kernel, self.update = wp, n, known[name], known["update"]
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

    def update_time(self) -> float:
        """Seconds that it takes to add to the gradient of x, after two launches, as `backward` in `times`."""
        self.launch()
        self.launch()
        start = time.perf_counter()
        self.wp.launch(self.update, dim=self.n, inputs=[self.x, 0.0, self.x.grad])
        return time.perf_counter() - start

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


class Worker:
    """One package; `mode` is a line of it in the tables."""

    def __init__(self, package: str, threads: str, mode: str):
        self.wp = wp = importlib.import_module(package)
        if package != "warp":
            wp.config.num_threads = int(threads)
            wp.config.deterministic = mode == IN_ORDER
        self.cases: dict[str, Case] = {}

    def _case(self, name: str) -> Case:
        if name not in self.cases:
            self.cases[name] = Case(self.wp, name)
        return self.cases[name]

    def _cold(self, name: str) -> Case:
        """The same, with nothing of its arrays in the caches, whoever's turn it was before."""
        np.add(EVICTED, 1, out=EVICTED)
        return self._case(name)

    def gradient(self, name: str) -> list[float]:
        return self._case(name).gradient()

    def times(self, name: str) -> list[float]:
        return self._cold(name).times()

    def update_time(self, name: str) -> float:
        return self._cold(name).update_time()

    def small(self, name: str) -> list[float]:
        """Microseconds of a launch of few threads, of one on a tape, and of its backward."""
        case = Case(self.wp, name, SMALL)
        return [1e6 * t for t in np.array([case.times() for _ in range(SMALL_ROUNDS)]).min(axis=0)]

    def compile_time(self, name: str) -> float:
        """Milliseconds that the adjoint of a kernel takes to compile, warm."""
        plans, compiler = (importlib.import_module(f"omni.warp_core.{m}") for m in ("launches.plans", "compiler"))
        kernel = kernels(self.wp)[name]
        request = plans.request(kernel, plans.options_for(kernel)._replace(adjoint="distinct"), 0)
        compiler.compile(request)
        return 1e3 * fastest(lambda: compiler.compile(request), COMPILED)


def fastest(call: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


# -- in the benchmark's ----------------------------------------------------------------------------------------------


def side_by_side(program: Program, contenders: dict[str, Contender], rounds: int) -> tuple[list[str], ...]:
    """The rows of a program: beside warp-lang, against the limit of the machine, and in order of threads."""
    found = {label: np.array(contender.ask("gradient", program.name)) for label, contender in contenders.items()}
    scale = np.abs(found[WARP]).max()
    for label in contenders:
        np.testing.assert_allclose(found[label], found[WARP], rtol=1e-3, atol=1e-4 * scale, err_msg=program.title)
    samples: dict[str, list] = {label: [] for label in contenders}
    updates = []
    for _ in range(rounds):
        for label, contender in contenders.items():
            samples[label].append(contender.ask("times", program.name))
        updates.append(1e3 * contenders[OURS].ask("update_time", program.name))
    best = {label: 1e3 * np.array(times).min(axis=0) for label, times in samples.items()}
    warp, ours, ordered = best[WARP], best[OURS], best[IN_ORDER]
    both = (warp[1] + warp[2]) / (ours[1] + ours[2])
    times = {label: " / ".join(f"{t:.2f}" for t in best[label]) for label in best}
    beside = [f"{warp[2] / ours[2]:.1f}", f"{both:.1f}", f"{program.goal:g}", f"{ours[2] / ours[0]:.1f}"]
    cost = [f"{ordered[0] / ours[0]:.2f}", f"{ordered[2] / ours[2]:.2f}", "1.5"]
    limit = min(updates) * program.moved / UPDATED if program.moved else ours[0]
    far = [f"{limit:.2f}", f"{ours[2] / limit:.2f}", f"{warp[2] / limit:.1f}", f"{program.goal:g}"]
    return (
        [program.title, times[WARP], times[OURS], *beside],
        [program.title, *far],
        [program.title, times[IN_ORDER], *cost],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[p.name for p in PROGRAMS], help="programs to run (default: all)")
    parser.add_argument("--rounds", type=int, default=9, help="samples of each package")
    parser.add_argument("--threads", type=int, default=0, help="our threads (default: all cores)")
    parser.add_argument("--peer-python", help="an interpreter that has warp-lang (default: make one)")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Worker, *options.serve)
        return

    def ours(mode: str) -> Contender:
        return Contender(sys.executable, __file__, "--serve", "omni.warp_core", options.threads, mode)

    theirs = options.peer_python or str(peers.python())
    contenders = {
        OURS: ours(OURS),
        IN_ORDER: ours(IN_ORDER),
        WARP: Contender(theirs, __file__, "--serve", "warp", 1, WARP),
    }
    chosen = [p for p in PROGRAMS if not options.only or p.name in options.only]
    rows = [side_by_side(program, contenders, options.rounds) for program in chosen]
    facts = machine()
    print(f"{facts['processor']}; {facts['cores']} cores; {facts['system']}; {facts['date']}")
    print(
        "Milliseconds of launch / recorded launch / backward; ratios of backward, and of recorded launch and backward."
    )
    head = ["program", WARP, OURS, "warp ÷ ours, backward", "both", "goal", "our backward ÷ launch"]
    beside, limits, in_order = ([row[k] for row in rows] for k in range(3))
    print("\n" + table(head, beside))
    print("\n" + table(["limit of the machine", "ms", "our backward ÷ it", "warp's ÷ it", "goal"], limits))
    print(LIMITS)
    print("\n" + table(["config.deterministic", "ms", "÷ ours, launch", "backward", "goal"], in_order))
    print(
        "\n"
        + table(
            ["compiling an adjoint, warm", "ms", "goal"],
            [[p.title, f"{contenders[OURS].ask('compile_time', p.name):.0f}", "60"] for p in chosen],
        )
    )
    small = [[p.title, *(f"{t:.1f}" for t in contenders[OURS].ask("small", p.name))] for p in chosen]
    print("\n" + table([f"{SMALL} threads, µs", "launch", "recorded launch", "backward"], small))
    if not options.only:
        report_examples(
            Contender(sys.executable, str(HERE / "harness" / "worker.py"), "omni.warp_core", options.threads)
        )
    for contender in contenders.values():
        contender.close()


def report_examples(worker: Contender) -> None:
    rows, ratios = [], []
    for program in EXAMPLES:
        times = worker.ask("differentiate", program.name, EXAMPLE_SEED, EXAMPLE_ROUNDS)
        if times is not None:
            ratios.append(times[1] / times[0])
            rows.append([program.name, *(f"{1e3 * t:.2f}" for t in times), f"{ratios[-1]:.1f}"])
    worker.close()
    print("\n" + table(["example", "launch, ms", "backward, ms", "backward ÷ launch"], rows))
    print(f"\nMedian: {statistics.median(ratios):.1f}; goal: at most 3")


if __name__ == "__main__":
    main()
