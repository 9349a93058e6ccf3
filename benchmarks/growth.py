"""Growth of times with the size of meshes, sets of points and grids, beside warp-lang: rows, and a picture of them.

    python benchmarks/growth.py [--most 7] [--rows growth.json] [--picture growth.png] [--peer-python PYTHON]

Sizes go from 10^LEAST to 10^MOST, two for each power of ten. For each size, each implementation has a process of its
own, one after the other. The fastest call of each is reported, as nanoseconds for each item: a triangle, point or voxel
that is built, or one of 200,000 queries. On one thread the time is that of the processor, so that other work on the
machine hardly counts; on several it is that of the clock. The picture needs matplotlib.

An answer that takes longer than --limit seconds leaves a gap. Rows are printed as they are measured, and kept in
--rows: a later call with the same file measures the sizes that are not in it yet.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from geometry import bumpy_sphere
from harness import peers
from harness.contenders import Contender, WorkerError, serve
from harness.report import ALONE, OURS, WARP, machine, table
from surfaces import field

QUERIES, SEED = 200_000, 7
# The items of each panel of the picture -> what is done with them.
OPERATIONS = {
    "triangles": ("build", "refit", "ray", "closest point"),
    "points": ("build", "neighbours"),
    "voxels": ("marching cubes", "build", "trilinear sample"),
}
STYLES = ("-", "--", ":")  # of the implementations
BUILDS = {"build", "refit", "neighbours", "marching cubes"}  # their time is divided by the size


class Worker:
    """One implementation; answers the questions of `Contender`."""

    def __init__(self, package: str, threads: int):
        self.wp = wp = importlib.import_module(package)
        wp.config.quiet = True
        if package != "warp":
            wp.config.num_threads = threads
        wp.set_device("cpu")
        self.clock = time.process_time if threads == 1 else time.perf_counter
        self.calls: dict[str, Callable[[], Any]] = {}

        @wp.kernel
        def cast(
            mesh: wp.uint64,
            start: wp.array(dtype=wp.vec3),
            toward: wp.array(dtype=wp.vec3),
            found: wp.array(dtype=float),
        ):
            i = wp.tid()
            found[i] = wp.mesh_query_ray(mesh, start[i], toward[i], 1.0e6).t

        @wp.kernel
        def approach(mesh: wp.uint64, start: wp.array(dtype=wp.vec3), found: wp.array(dtype=float)):
            i = wp.tid()
            found[i] = wp.mesh_query_point_no_sign(mesh, start[i], 1.0e6).u

        @wp.kernel
        def count(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, found: wp.array(dtype=float)):
            i = wp.hash_grid_point_id(grid, wp.tid())
            here = points[i]
            total = float(0.0)  # noqa: UP018 (warp-lang's way to say that it changes)
            other = int(0)  # noqa: UP018, RUF046
            query = wp.hash_grid_query(grid, here, radius)
            while wp.hash_grid_query_next(query, other):
                if wp.length(here - points[other]) <= radius:
                    total += 1.0
            found[i] = total

        @wp.kernel
        def sample(volume: wp.uint64, places: wp.array(dtype=wp.vec3), found: wp.array(dtype=float)):
            i = wp.tid()
            found[i] = wp.volume_sample_f(volume, places[i], wp.Volume.LINEAR)

        self.cast, self.approach, self.count, self.sample = cast, approach, count, sample

    def load(self, items: str, size: int) -> int:
        """Make the data of a panel. Return how many items there are."""
        self.calls.clear()
        rng = np.random.default_rng(SEED)
        return {"triangles": self._triangles, "points": self._points, "voxels": self._voxels}[items](size, rng)

    def time(self, call: str) -> float:
        """Return the seconds of a call."""
        start = self.clock()
        self.calls[call]()
        return self.clock() - start

    def _vectors(self, numbers: np.ndarray) -> Any:
        return self.wp.array(numbers.astype(np.float32), dtype=self.wp.vec3)

    def _queries(self, kernel: Any, *arguments: Any) -> Callable[[], None]:
        found = self.wp.zeros(QUERIES, dtype=float)
        return lambda: self.wp.launch(kernel, QUERIES, [*arguments, found])

    def _triangles(self, size: int, rng: np.random.Generator) -> int:
        """Rays go from a sphere around the mesh into its box; points are near the surface."""
        points, faces = bumpy_sphere(size)
        corners, indices = self._vectors(points), self.wp.array(faces.ravel(), dtype=int)
        mesh = self.wp.Mesh(corners, indices)
        start = rng.normal(size=(QUERIES, 3))
        start *= 3.0 / np.linalg.norm(start, axis=1, keepdims=True)
        toward = rng.uniform(-1.0, 1.0, (QUERIES, 3)) - start
        toward /= np.linalg.norm(toward, axis=1, keepdims=True)
        near = points[rng.integers(len(points), size=QUERIES)] + 0.02 * rng.normal(size=(QUERIES, 3))
        self.calls["build"] = lambda: self.wp.Mesh(corners, indices)
        self.calls["refit"] = mesh.refit
        self.calls["ray"] = self._queries(self.cast, mesh.id, self._vectors(start), self._vectors(toward))
        self.calls["closest point"] = self._queries(self.approach, mesh.id, self._vectors(near))
        self.kept = mesh  # its id is in the queries
        return len(faces)

    def _points(self, size: int, rng: np.random.Generator) -> int:
        """Points fill a cube; each has about 30 neighbours."""
        points, radius = self._vectors(rng.uniform(size=(size, 3))), (30.0 / size / (4.0 / 3.0 * math.pi)) ** (1 / 3)
        side = min(int(1.0 / radius) + 1, 256)
        grid, found = self.wp.HashGrid(side, side, side), self.wp.zeros(size, dtype=float)
        self.calls["build"] = lambda: grid.build(points, radius)
        self.calls["neighbours"] = lambda: self.wp.launch(self.count, size, [grid.id, points, radius, found])
        grid.build(points, radius)
        return size

    def _voxels(self, size: int, rng: np.random.Generator) -> int:
        """A cube of voxels, dense in both structures."""
        n = round(size ** (1.0 / 3.0))
        values = field("waves", n)
        dense = self.wp.array(values, dtype=float)
        volume = self.wp.Volume.load_from_numpy(values, device="cpu")
        places = self._vectors(rng.uniform(1.0, n - 2.0, (QUERIES, 3)))
        self.calls["marching cubes"] = lambda: self.wp.MarchingCubes.extract(dense, 0.0)
        self.calls["build"] = lambda: self.wp.Volume.load_from_numpy(values, device="cpu")
        self.calls["trilinear sample"] = self._queries(self.sample, volume.id, places)
        self.kept = volume
        return n**3


def measure(contender: Contender, items: str, size: int, options: Any) -> tuple[int, dict[str, float]]:
    """Return how many items there are, and the least seconds of each operation up to the first without an answer."""
    found: dict[str, float] = {}
    try:
        size = contender.ask("load", items, size, within=options.limit)
        for call in OPERATIONS[items]:  # the first round compiles and warms up
            seconds = [contender.ask("time", call, within=options.limit) for _ in range(options.rounds + 1)]
            found[call] = min(seconds[1:])
    except WorkerError as why:
        print(f"{items}, {size:,}: {why}", file=sys.stderr)
    return size, found


def rows_of(kinds: dict[str, tuple[Any, ...]], items: str, size: int, options: Any) -> list[dict[str, Any]]:
    """Return a row for each operation: the nanoseconds for an item, by implementation; NaN where there is no answer.

    One implementation at a time has a process: 10^7 triangles take some gigabytes in each.
    """
    count, seconds = size, {}
    for label, (python, *arguments) in kinds.items():
        contender = Contender(python, __file__, "--serve", *arguments)
        try:
            count, seconds[label] = measure(contender, items, size, options)
        finally:
            contender.close()
    rows = []
    for call in OPERATIONS[items]:
        divisor = count if call in BUILDS else QUERIES
        times = {label: 1e9 * found.get(call, math.nan) / divisor for label, found in seconds.items()}
        print(f"{items}: {call}, {count:,}:", *(f"{label} {t:.1f}" for label, t in times.items()), flush=True)
        rows.append({"items": items, "call": call, "wanted": size, "size": count, **times})
    return rows


def measure_all(kinds: dict[str, tuple[Any, ...]], options: Any) -> list[dict[str, Any]]:
    """Return the rows of all sizes. Those in the file of rows are not measured again."""
    kept = Path(options.rows) if options.rows else None
    rows = json.loads(kept.read_text()) if kept and kept.exists() else []
    done = {(row["items"], row["wanted"]) for row in rows}
    sizes = [round(10 ** (options.least + step / 2)) for step in range(round(2 * (options.most - options.least)) + 1)]
    for size, items in ((size, items) for size in sizes for items in OPERATIONS):
        if (items, size) not in done:
            rows += rows_of(kinds, items, size, options)
            if kept:
                kept.write_text(json.dumps(rows))
    order = list(OPERATIONS)
    return sorted(rows, key=lambda row: (order.index(row["items"]), row["size"]))


def draw(rows: list[dict[str, Any]], labels: list[str], file: str) -> None:
    """Draw a panel for each kind of items: the time of an item over their number."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(OPERATIONS), figsize=(11, 3.9), dpi=110, constrained_layout=True)
    for axes, (items, calls) in zip(panels, OPERATIONS.items()):
        for color, call in zip(("#1f5fa8", "#de7814", "#3a8a3a", "#8d4fa3"), calls):
            chosen = [row for row in rows if (row["items"], row["call"]) == (items, call)]
            for label, style in zip(labels, STYLES):
                sizes, times = [row["size"] for row in chosen], [row[label] for row in chosen]
                axes.loglog(sizes, times, style, color=color, marker=".", label=call if style == "-" else None)
        axes.set_title(items, loc="left")
        axes.set(xlabel=f"number of {items}", ylabel="ns for an item or a query" if items == "triangles" else None)
        axes.grid(color="#dedede")
        axes.legend(fontsize=8)
    lines = [plt.Line2D([], [], linestyle=style, color="#555555") for style in STYLES]
    figure.legend(lines, labels, loc="outside upper right", ncols=len(labels), fontsize=8)
    plt.savefig(file)
    print(f"wrote {file}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=float, default=4.0, help="exponent of the least size (default: 4)")
    parser.add_argument("--most", type=float, default=7.0, help="exponent of the largest size (default: 7)")
    parser.add_argument("--rounds", type=int, default=5, help="calls of each implementation (default: 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for an answer (default: 300)")
    parser.add_argument("--rows", metavar="FILE", help="keep the rows there, as JSON")
    parser.add_argument("--picture", metavar="FILE", help="draw the rows")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peers (default: make one)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.picture and importlib.util.find_spec("matplotlib") is None:
        parser.error("--picture needs matplotlib; install it with: pip install matplotlib")
    return options


def main() -> int:
    options = parse_arguments()
    if options.serve:
        serve(Worker, options.serve[0], int(options.serve[1]))
        return 0
    theirs = options.peer_python or str(peers.python())
    kinds = {
        OURS: (sys.executable, "omni.warp_core", options.threads),
        ALONE: (sys.executable, "omni.warp_core", 1),
        WARP: (theirs, "warp", 1),
    }

    rows = measure_all(kinds, options)
    print(*(f"{key}: {value}" for key, value in machine().items()), sep="\n")
    cells = [
        (
            f"{r['items']}: {r['call']}",
            f"{r['size']:,}",
            *(f"{r[k]:.1f}" for k in kinds),
            f"{r[WARP] / r[ALONE]:.1f}",
        )
        for r in rows
    ]
    print(table(("ns", "size", *kinds, "warp ÷ ours, 1 thread"), cells))
    if options.picture:
        draw(rows, list(kinds), options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
