"""Differentiate a million steps of a vibrating string in a fixed memory.

    python examples/million.py [steps [picture.png]]

A tape of all steps would keep what each of them overwrites: gigabytes. `wp.checkpointed` keeps a few hundred snapshots
and runs steps again from these. The picture shows the memory of the process, and which step runs when.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import matplotlib.pyplot as plt
import numpy as np
from pictures import ORANGE, save

import omni.warp_core as wp

CELLS = 64
BUDGET = 256 * 1024  # bytes for snapshots
DAMPING = wp.constant(wp.float64(1e-6))

Field = wp.array(dtype=wp.float64)


@wp.kernel
def swing(now: Field, last: Field, stiffness: Field):
    """The next state of the string, in place of the last one. Its ends are held."""
    i = wp.tid()
    left = wp.float64(0.0)
    right = wp.float64(0.0)
    if i > 0:
        left = now[i - 1]
    if i < now.shape[0] - 1:
        right = now[i + 1]
    pull = stiffness[i] * (left - wp.float64(2.0) * now[i] + right)
    last[i] = now[i] + (wp.float64(1.0) - DAMPING) * (now[i] - last[i]) + pull


@wp.kernel
def energy(u: Field, loss: Field):
    i = wp.tid()
    wp.atomic_add(loss, 0, u[i] * u[i])


class String:
    """A plucked string: `parameters` are the stiffness of its cells."""

    def __init__(self, steps: int, budget: int = BUDGET):
        self.steps, self.budget = steps, budget
        place = np.arange(CELLS) / CELLS
        self.pluck = wp.array(np.exp(-((place - 0.3) ** 2) / 0.005), dtype=wp.float64)
        self.parameters = wp.array(0.2 + 0.05 * np.cos(9.0 * place), dtype=wp.float64, requires_grad=True)
        self.a, self.b = (wp.zeros(CELLS, dtype=wp.float64, requires_grad=True) for _ in range(2))
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.at, self.runs = 0, 0

    def step(self, i: int) -> None:
        """Step `i`: the two fields take turns."""
        self.at, self.runs = i, self.runs + 1
        now, last = (self.a, self.b) if i % 2 == 0 else (self.b, self.a)
        wp.launch(swing, dim=CELLS, inputs=[now, last, self.parameters])

    def run(self) -> None:
        """Pluck the string, let it swing, and measure the squares of where it is in the end."""
        self.loss.zero_()
        wp.copy(self.a, self.pluck)
        wp.copy(self.b, self.pluck)
        wp.checkpointed(self.step, self.steps, state=[self.a, self.b], memory_budget=self.budget)
        wp.launch(energy, dim=CELLS, inputs=[self.a], outputs=[self.loss])


class Order(String):
    """A string that notes in which order its steps run."""

    def __init__(self, steps: int, budget: int):
        super().__init__(steps, budget)
        self.order: list[int] = []

    def step(self, i: int) -> None:
        """Step `i`."""
        self.order.append(i)
        super().step(i)


class Watch:
    """Notes the memory of the process and the step that runs, a few times each second, while its `with` block runs."""

    def __init__(self, string: String, interval: float):
        self.string, self.interval = string, interval
        self.times: list[float] = []
        self.megabytes: list[float] = []
        self.at: list[int] = []

    def __enter__(self) -> Watch:
        self._begun, self._done = time.perf_counter(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(self.interval):
            self.times.append(time.perf_counter() - self._begun)
            self.megabytes.append(resident())
            self.at.append(self.string.at)


def differentiate(string: String) -> None:
    """Set the gradient of the loss by the stiffness."""
    tape = wp.Tape()
    with tape:
        string.run()
    tape.backward(string.loss)


def resident() -> float:
    """The memory of this process, in megabytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def draw(string: String, watch: Watch, reversed_at: float, file: str) -> None:
    """Memory over time, the step that ran at each time, and all of that for a short string."""
    _, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 3))
    left.plot(watch.times, watch.megabytes)
    left.set(title="memory of the process, MB", xlabel="s", ylim=(0, 1.25 * max(watch.megabytes)))
    left.annotate(" backward begins", (reversed_at, 0.1 * max(watch.megabytes)), color=ORANGE)
    middle.plot(watch.times, watch.at, linewidth=1)
    middle.set(title="which step runs", xlabel="s")
    middle.yaxis.set_major_formatter("{x:,.0f}")
    order = Order(100, budget=5 * 2 * 8 * CELLS)
    differentiate(order)
    right.plot(order.order)
    right.set(title="100 steps with 5 snapshots", xlabel="steps run so far")
    for axes, begin in ((left, reversed_at), (middle, reversed_at), (right, 100)):
        axes.axvline(begin, color=ORANGE, linewidth=1)
        axes.margins(x=0)
    save(file)


def main(steps: int = 20_000, file: str = "million.png") -> String:
    """Differentiate, tell and draw; gives the string."""
    differentiate(String(3))  # compiles the kernels
    string = String(steps)
    tape = wp.Tape()
    with Watch(string, interval=max(0.002, steps * 1e-7)) as watch:
        begun, busy = time.perf_counter(), -time.process_time()
        with tape:
            string.run()
        forward = time.perf_counter() - begun
        tape.backward(string.loss)
        whole, busy = time.perf_counter() - begun, busy + time.process_time()
    print(
        f"{steps:,} steps: {forward:.1f} s forward, {whole - forward:.1f} s backward ({busy:.1f} s of processor time)"
    )
    print(f"{string.runs:,} steps ran; the process took {max(watch.megabytes) - watch.megabytes[0]:.1f} MB more")
    draw(string, watch, forward, file)
    return string


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
