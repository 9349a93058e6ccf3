"""Cost of a launch from Python: a kernel that does nothing, so that what remains is the runtime.

    python benchmarks/launch.py

Prints the median and the best of many rounds, in nanoseconds for one launch. Launches on a GPU are those of the
simulated driver (tests/gpu/simulator), told to forget them: what is measured is the cost before the driver's own.
"""

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import omni.warp_core as wp

ROUNDS, PER_ROUND, GRAPH, TAPE = 200, 2000, 100, 1000


@wp.kernel
def nothing(a: wp.array(dtype=float), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=int), s: float, n: int, v: wp.vec3):
    i = wp.tid()
    if i > n:
        a[i] = s


@wp.kernel
def open_types(a: wp.array(dtype=Any), b: wp.array(dtype=Any), c: wp.array(dtype=Any), s: Any, n: Any, v: Any):
    i = wp.tid()
    if i > n:
        a[i] = s


@wp.func
def add(x: float, y: float):
    return x + y


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def measure(run: Callable[[], object], per_round: int = PER_ROUND) -> tuple[float, float]:
    """Median and minimum over the rounds of the time for one call, in nanoseconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(per_round):
            run()
        times.append((time.perf_counter_ns() - start) / per_round)
    return statistics.median(times), min(times)


def main() -> None:
    """Measure the ways to launch and print a line for each."""
    arrays = [wp.zeros(8, dtype=float), wp.zeros(8, dtype=wp.vec3), wp.zeros(8, dtype=int)]
    numpy_arrays = [np.zeros(8, np.float32), np.zeros((8, 3), np.float32), np.zeros(8, np.int32)]
    scalars = [1.0, 100, wp.vec3(1.0, 2.0, 3.0)]
    inputs, numpy_inputs = arrays + scalars, numpy_arrays + scalars
    recorded = wp.launch(nothing, dim=8, inputs=inputs, record_cmd=True)
    x, y = wp.zeros(8, dtype=float), wp.zeros(8, dtype=float)
    with wp.ScopedCapture() as captured:
        for _ in range(GRAPH):
            wp.launch(nothing, dim=8, inputs=inputs)
    cases: dict[str, Callable[[], object]] = {
        "an empty call": lambda: None,
        "launch, 6 arguments": lambda: wp.launch(nothing, dim=8, inputs=inputs),
        "launch, 6 arguments, device named": lambda: wp.launch(nothing, dim=8, inputs=inputs, device="cpu"),
        "launch, 6 arguments, 3 of them NumPy arrays": lambda: wp.launch(nothing, dim=8, inputs=numpy_inputs),
        "launch of a generic kernel, 6 arguments": lambda: wp.launch(open_types, dim=8, inputs=inputs),
        "recorded launch": lambda: recorded.launch(),
        "recorded launch, one argument changed": lambda: (recorded.set_param_at_index(3, 2.0), recorded.launch()),
        "map of two arrays into a third": lambda: wp.map(add, x, x, out=y),
        "sum of two arrays": lambda: x + y,
    }
    for name, run in cases.items():
        median, best = measure(run)
        print(f"{name:<45} median {median:7.0f} ns   best {best:7.0f} ns")
    median, best = (t / GRAPH for t in measure(lambda: wp.capture_launch(captured.graph), 20))
    print(f"{f'launch in a graph of {GRAPH}':<45} median {median:7.0f} ns   best {best:7.0f} ns")
    on_a_tape(16, TAPE)
    on_a_tape(1_000_000, 20)
    on_a_gpu()


def on_a_gpu() -> None:
    """Measure launches on a driver that does nothing. This process runs nothing on GPUs afterwards."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.gpu import simulation

    try:
        simulation.install()
    except (OSError, subprocess.CalledProcessError) as why:
        print(f"launches on a GPU are left out: the simulated driver cannot be built ({why})")
        return
    with wp.ScopedDevice("cuda:0"):
        arrays = [wp.zeros(8, dtype=float), wp.zeros(8, dtype=wp.vec3), wp.zeros(8, dtype=int)]
        inputs = [*arrays, 1.0, 100, wp.vec3(1.0, 2.0, 3.0)]
        recorded = wp.launch(nothing, dim=8, inputs=inputs, record_cmd=True)
        recorded.launch()
        with wp.ScopedCapture() as captured:
            recorded.launch()
        simulation.library().simulator_idle(1)
        cases: dict[str, Callable[[], object]] = {
            "launch on a GPU, 6 arguments": lambda: wp.launch(nothing, dim=8, inputs=inputs),
            "recorded launch on a GPU": lambda: recorded.launch(),
            "graph on a GPU": lambda: wp.capture_launch(captured.graph),
        }
        for name, run in cases.items():
            median, best = measure(run)
            print(f"{name:<45} median {median:7.0f} ns   best {best:7.0f} ns")
        simulation.library().simulator_idle(0)


def on_a_tape(size: int, count: int, rounds: int = 10) -> None:
    """Measure launches that a tape records, each on the result of the one before, and `backward`."""
    arrays = [wp.zeros(size, dtype=float, requires_grad=True) for _ in range(count + 1)]
    seed = wp.ones(size, dtype=float)
    plain, recorded, back, watched = [], [], [], []

    def launches() -> None:
        for x, y in itertools.pairwise(arrays):
            wp.launch(square, dim=size, inputs=[x, y])

    for _ in range(rounds):
        tape = wp.Tape()
        plain.append(_seconds(launches))
        with tape:
            recorded.append(_seconds(launches))
        back.append(_seconds(lambda tape=tape: tape.backward(grads={arrays[-1]: seed})))
        kept = tape.memory_used
        watched.append(_seconds(launches))  # overwrites what the tape needs
    each = [min(times) / count * 1e6 for times in (plain, recorded, back, watched)]
    print(
        f"{f'{count} launches of {size} threads on a tape':<45} each {each[0]:.2f} us, recorded {each[1]:.1f} us, "
        f"backward {each[2]:.1f} us, overwriting {each[3]:.1f} us; "
        f"the tape keeps {kept} and then {tape.memory_used} bytes"
    )


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
