"""Springs that add to points, and taped steps of a small cloth, side by side with warp-lang: processor time.

    python benchmarks/springs.py [--only near] [--rounds N] [--threads N] [--peer-python PYTHON]

Each package runs in a process of its own, and they take turns. The least processor time of all threads of each is
reported, so other work on the machine counts little. warp-lang runs CPU kernels on one thread; `--threads` sets ours
(default: 1). A launch takes `processor time / threads` at best.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import gradients
import numpy as np
from harness import peers
from harness.contenders import Contender, serve
from harness.report import OURS, WARP, machine, table

SPRINGS, FEW_POINTS, REACH = 1_000_000, 170_000, 64
STEPS, SIDES = 100, (8, 16, 32)
CASES = {
    "near": "a million springs between neighbours",
    "random": "a million springs, 170,000 random points",
    **{f"cloth{side}": f"{STEPS} taped steps of a cloth of {side**2} points" for side in SIDES},
}
GOAL, IN_A_ROW = "3", 5


def kernels(wp: Any) -> tuple[Any, Any]:
    """The kernels of the cloth, one source for both packages."""

    @wp.kernel
    def springs(
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        first: wp.array(dtype=int),
        second: wp.array(dtype=int),
        rest: wp.array(dtype=float),
        damping: float,
        force: wp.array(dtype=wp.vec3),
    ):
        k = wp.tid()
        i = first[k]
        j = second[k]
        d = x[i] - x[j]
        length = wp.length(d)
        along = d / length
        f = along * (1000.0 * (length - rest[k]) + damping * wp.dot(v[i] - v[j], along))
        wp.atomic_sub(force, i, f)
        wp.atomic_add(force, j, f)

    @wp.kernel
    def integrate(
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        force: wp.array(dtype=wp.vec3),
        dt: float,
        x_next: wp.array(dtype=wp.vec3),
        v_next: wp.array(dtype=wp.vec3),
    ):
        i = wp.tid()
        w = v[i] + (force[i] + wp.vec3(0.0, -9.8, 0.0)) * dt
        v_next[i] = w
        x_next[i] = x[i] + w * dt

    return springs, integrate


class Scatter:
    """One launch: springs between points that are near in memory, or any."""

    def __init__(self, wp: Any, near: bool):
        r = np.random.default_rng(20)
        n = SPRINGS if near else FEW_POINTS
        first = np.arange(SPRINGS) if near else r.integers(0, n, SPRINGS)
        second = (first + r.integers(1, REACH if near else n, SPRINGS)) % n
        ends = [wp.array(a.astype(np.int32), dtype=int) for a in (first, second)]
        x = wp.array(r.random((n, 3), dtype=np.float32), dtype=wp.vec3)
        rest = wp.array(r.random(SPRINGS, dtype=np.float32), dtype=float)
        self.wp, self.kernel, self.force = wp, gradients.kernels(wp)["springs"], wp.zeros(n, dtype=wp.vec3)
        self.args = [x, *ends, rest, self.force]

    def run(self) -> None:
        self.wp.launch(self.kernel, dim=SPRINGS, inputs=self.args)

    def result(self) -> Any:
        self.force.zero_()
        self.run()
        return self.force


class Cloth:
    """Steps on a tape, their gradient, and clearing it."""

    def __init__(self, wp: Any, side: int):
        n, at = side * side, np.arange(side * side).reshape(side, side)
        pairs = ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]), (at[:-1, :-1], at[1:, 1:]))
        first, second = (np.concatenate([p[k].ravel() for p in pairs]).astype(np.int32) for k in (0, 1))
        points = 0.1 * np.array([(at // side).ravel(), (at % side).ravel(), 0 * at.ravel()], np.float32).T
        rest = np.linalg.norm(points[first] - points[second], axis=1).astype(np.float32)

        def made(count: int) -> list[Any]:
            return [wp.zeros(n, dtype=wp.vec3, requires_grad=True) for _ in range(count)]

        self.wp, self.n, self.count = wp, n, len(rest)
        self.springs, self.integrate = kernels(wp)
        self.x, self.v, self.force = made(STEPS + 1), made(STEPS + 1), made(STEPS)
        self.x[0].assign(1.01 * points)
        self.mesh = [wp.array(first, dtype=int), wp.array(second, dtype=int), wp.array(rest, dtype=float), 1.0]
        self.seed = wp.ones(n, dtype=wp.vec3)

    def _backward(self) -> Any:
        tape, x, v = self.wp.Tape(), self.x, self.v
        with tape:
            for k, force in enumerate(self.force):
                force.zero_()
                self.wp.launch(self.springs, dim=self.count, inputs=[x[k], v[k], *self.mesh, force])
                self.wp.launch(self.integrate, dim=self.n, inputs=[x[k], v[k], force, 0.001, x[k + 1], v[k + 1]])
        tape.backward(grads={x[-1]: self.seed})
        return tape

    def run(self) -> None:
        self._backward().zero()

    def result(self) -> Any:
        self.run()
        self._backward()
        return self.x[0].grad


class Worker:
    """One package."""

    def __init__(self, package: str, threads: str):
        self.wp = importlib.import_module(package)
        if package != "warp":
            self.wp.config.num_threads = int(threads)
        self.cases: dict[str, Any] = {}

    def _case(self, name: str) -> Any:
        if name not in self.cases:
            make: Callable[..., Any] = Cloth if name.startswith("cloth") else Scatter
            self.cases[name] = make(self.wp, int(name[5:]) if make is Cloth else name == "near")
        return self.cases[name]

    def result(self, name: str) -> list[float]:
        found = self._case(name).result().numpy()
        return found[:: max(1, len(found) // 500)].ravel().tolist()

    def time(self, name: str) -> float:
        """Milliseconds of processor time, of the fastest of some runs in a row, as programs make them."""
        run, times = self._case(name).run, []
        for _ in range(IN_A_ROW):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        return 1e3 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(CASES), help="cases to run (default: all)")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each package")
    parser.add_argument("--threads", type=int, default=1, help="our threads")
    parser.add_argument("--peer-python", help="an interpreter that has warp-lang (default: make one)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Worker, *options.serve)
        return
    contenders = {
        WARP: Contender(options.peer_python or str(peers.python()), __file__, "--serve", "warp", 1),
        OURS: Contender(sys.executable, __file__, "--serve", "omni.warp_core", options.threads),
    }
    rows = []
    for name in options.only or CASES:
        found = {label: np.array(c.ask("result", name)) for label, c in contenders.items()}
        scale = np.abs(found[WARP]).max()
        np.testing.assert_allclose(found[OURS], found[WARP], rtol=1e-3, atol=1e-4 * scale, err_msg=CASES[name])
        times = [[c.ask("time", name) for c in contenders.values()] for _ in range(options.rounds)]
        warp, ours = np.array(times).min(axis=0)
        rows.append([CASES[name], f"{warp:.2f}", f"{ours:.2f}", f"{warp / ours:.2f}", GOAL])
    facts = machine()
    print(f"{facts['processor']}; {facts['cores']} cores; {facts['system']}; {facts['date']}")
    print(table(["ms of processor time", WARP, OURS, "warp ÷ ours", "goal"], rows))
    for contender in contenders.values():
        contender.close()


if __name__ == "__main__":
    main()
