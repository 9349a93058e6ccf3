"""Speed of the forward simulations in the examples, as a fraction of the machine's limit.

    python benchmarks/gallery.py [--rounds N] [--threads N]

Each round launches a step of an example, and a copy that moves the bytes that the step must move at least. The two take
turns, so that other programs disturb both. The report has the medians. `--threads 1` counts processor time, which is
meaningful on a busy machine too; otherwise the clock counts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from harness.report import machine, table

import omni.warp_core as wp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

import cloth
import kmeans
import path_tracing
import shallow_water


class Case(NamedTuple):
    """A step, the bytes that it must read and write, and what it works on."""

    name: str
    step: Callable[[], Any]
    moved: int
    items: int


@wp.kernel
def copy(source: wp.array(dtype=float), target: wp.array(dtype=float)):
    i = wp.tid()
    target[i] = source[i]


def cases() -> list[Case]:
    """The examples in their full sizes. A float takes four bytes."""
    sea = shallow_water.Sea(*shallow_water.archipelago())
    cells = shallow_water.CELLS**2
    fabric = cloth.Cloth()
    particles = cloth.SIDE**2
    division = kmeans.KMeans(kmeans.stars(), kmeans.CLUSTERS)
    tracer = path_tracing.tracer(path_tracing.still_life)
    shape = path_tracing.HEIGHT, path_tracing.WIDTH
    materials = wp.array(path_tracing.MATERIALS, dtype=path_tracing.Material)
    picture = wp.zeros(shape, dtype=wp.vec3)
    trace = [path_tracing.DUSK, materials, 0]
    return [
        Case("shallow water, a cell", sea.step, 7 * 4 * cells, cells),
        Case("cloth, a particle", fabric.step, 12 * 4 * particles, particles),
        Case(
            "path tracing, a path",
            lambda: wp.launch(tracer, dim=shape, inputs=trace, outputs=[picture]),
            6 * 4 * picture.size,
            picture.size,
        ),
        Case("k-means, a point", division.label, 3 * 4 * kmeans.STARS, kmeans.STARS),
    ]


def measure(case: Case, rounds: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Return the median seconds of a step and of a copy of as many bytes."""
    source, target = (wp.zeros(case.moved // 8, dtype=float) for _ in range(2))
    launches = case.step, lambda: wp.launch(copy, dim=source.shape, inputs=[source], outputs=[target])
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 2):
        for launch, found in zip(launches, seconds):
            began = clock()
            launch()
            if turn > 1:  # the first rounds compile and warm up
                found.append(clock() - began)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    wp.config.num_threads = options.threads
    clock = time.process_time if options.threads == 1 else time.perf_counter
    rows = []
    for case in cases():
        step, copied = measure(case, options.rounds, clock)
        row = f"{1e3 * step:.3g} ms", f"{1e9 * step / case.items:.3g} ns", f"{case.moved / step / 1e9:.1f} GB/s"
        rows.append((case.name, *row, f"{case.moved / copied / 1e9:.1f} GB/s", f"{step / copied:.2f}"))
    print(*(f"{key}: {value}" for key, value in machine().items()), sep="\n")
    print(table(("step", "time", "each", "moves", "a copy moves", "step ÷ copy"), rows))


if __name__ == "__main__":
    main()
