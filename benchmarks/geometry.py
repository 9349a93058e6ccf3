"""Meshes and trees over boxes side by side with warp-lang's and with Embree, each in its own process.

    python benchmarks/geometry.py [--triangles 100000] [--queries 100000] [--rounds 5] [--peer-python PYTHON]

The peers' Python has warp-lang, and embreex if Embree is to take part. The implementations take turns, and the fastest
call of each is reported. On one thread the time is that of the processor, so that other work on the machine hardly
counts; on several it is that of the clock. Hits and distances are compared with warp-lang's before any time is taken,
and so are the numbers of boxes that queries find. There is one box for each triangle.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import peers
from harness.contenders import Contender, WorkerError, serve
from harness.report import ALONE, OURS, WARP, machine, table

EMBREE = "Embree"
SEED = 5
GOALS = {"build": 1.5, "refit": 2.0, "incoherent": 4.0, "primary": 3.0, "in a box": 4.0, "near": 4.0}
BOXES = ("box tree", "box tree again", "near boxes", "boxes on rays")  # without goals
TOLERANCE = 1e-4  # of distances
COUNTS = 1e-3  # of the sum of numbers of boxes: rays that only touch may count or not


def bumpy_sphere(triangles: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and faces of a sphere with waves."""
    n = int((triangles / 2) ** 0.5)
    down, around = np.meshgrid(np.linspace(0, np.pi, n + 1), np.arange(n) * 2 * np.pi / n, indexing="ij")
    p = np.stack([np.sin(down) * np.cos(around), np.sin(down) * np.sin(around), np.cos(down)], -1).reshape(-1, 3)
    p *= 1 + 0.1 * np.prod(np.sin(p * [8, 7, 9]), axis=1, keepdims=True)
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    a, b = i * n + j, i * n + (j + 1) % n
    faces = [np.stack(t, -1).reshape(-1, 3) for t in ((a, a + n, b), (b, a + n, b + n))]
    return p.astype(np.float32), np.concatenate(faces).astype(np.int32)


def inputs(triangles: int, queries: int) -> dict[str, np.ndarray]:
    """The mesh, rays from a sphere around it towards its box, rays of a camera, and points."""
    rng = np.random.default_rng(SEED)
    points, faces = bumpy_sphere(triangles)
    start = rng.normal(size=(queries, 3))
    start *= 3 / np.linalg.norm(start, axis=1, keepdims=True)
    side = int(queries**0.5)
    x, y = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side))
    camera = np.stack([x.ravel(), y.ravel(), np.full(side * side, -1.5)], 1)
    made = {
        "points": points,
        "incoherent start": start,
        "incoherent dir": rng.uniform(-1, 1, (queries, 3)) - start,
        "primary start": np.tile([0.0, 0.0, 3.0], (side * side, 1)),
        "primary dir": camera / np.linalg.norm(camera, axis=1, keepdims=True),
        "in a box": rng.uniform(-1.5, 1.5, (queries, 3)),
        "near": points[rng.integers(len(points), size=queries)] + rng.normal(size=(queries, 3)) * 0.02,
    }
    centre, half = rng.uniform(-1, 1, (triangles, 3)), rng.uniform(0.002, 0.02, (triangles, 3))
    made |= {"lowers": centre - half, "uppers": centre + half}
    made |= {"near boxes start": made["in a box"] - 0.03, "near boxes dir": made["in a box"] + 0.03}
    made |= {"boxes on rays start": start, "boxes on rays dir": made["incoherent dir"]}
    made["incoherent dir"] /= np.linalg.norm(made["incoherent dir"], axis=1, keepdims=True)
    return {"faces": faces, **{key: value.astype(np.float32) for key, value in made.items()}}


class Worker:
    """One implementation of meshes with ids, in a process of its own."""

    def __init__(self, package: str, threads: int) -> None:
        self.wp = wp = importlib.import_module(package)
        if package == "warp":
            wp.config.quiet = True
        else:
            importlib.import_module(f"{package}._native").set_num_threads(threads)
        self.clock = time.process_time if threads == 1 else time.perf_counter

        @wp.kernel
        def cast(
            mesh: wp.uint64,
            start: wp.array(dtype=wp.vec3),
            direction: wp.array(dtype=wp.vec3),
            distance: wp.array(dtype=float),
        ):
            i = wp.tid()
            hit = wp.mesh_query_ray(mesh, start[i], direction[i], 1.0e6)
            distance[i] = -1.0
            if hit.result:
                distance[i] = hit.t

        @wp.kernel
        def approach(mesh: wp.uint64, start: wp.array(dtype=wp.vec3), distance: wp.array(dtype=float)):
            i = wp.tid()
            near = wp.mesh_query_point_no_sign(mesh, start[i], 1.0e6)
            distance[i] = wp.length(start[i] - wp.mesh_eval_position(mesh, near.face, near.u, near.v))

        @wp.kernel
        def overlap(
            bvh: wp.uint64, low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), count: wp.array(dtype=float)
        ):
            i = wp.tid()
            query = wp.bvh_query_aabb(bvh, low[i], high[i])
            box = int(0)  # noqa: RUF046, UP018 - a variable, as the next one: literals are constants for warp-lang
            found = int(0)  # noqa: RUF046, UP018
            while wp.bvh_query_next(query, box):
                found += 1
            count[i] = float(found)

        @wp.kernel
        def cross(
            bvh: wp.uint64, start: wp.array(dtype=wp.vec3), along: wp.array(dtype=wp.vec3), count: wp.array(dtype=float)
        ):
            i = wp.tid()
            query = wp.bvh_query_ray(bvh, start[i], along[i])
            box = int(0)  # noqa: RUF046, UP018 - a variable, as the next one: literals are constants for warp-lang
            found = int(0)  # noqa: RUF046, UP018
            while wp.bvh_query_next(query, box):
                found += 1
            count[i] = float(found)

        self.kernels = {"near boxes": overlap, "boxes on rays": cross}
        self.cast, self.approach = cast, approach
        self.rebuilt = None if package == "warp" else "lbvh"  # the fastest that each has on a CPU

    def load(self, file: str) -> None:
        with np.load(file) as given:
            data = dict(given)
        faces = self.wp.array(data.pop("faces").ravel(), dtype=int, device="cpu")
        self.data = {key: self.wp.array(value, dtype=self.wp.vec3, device="cpu") for key, value in data.items()}
        self.faces = faces
        self.mesh = self.wp.Mesh(self.data["points"], faces)
        self.bvh = self.wp.Bvh(self.data["lowers"], self.data["uppers"])

    def run(self, name: str) -> None:
        if name == "build":
            self.mesh = self.wp.Mesh(self.data["points"], self.faces)
        elif name == "refit":
            self.mesh.refit()
        elif name == "box tree":
            self.bvh = self.wp.Bvh(self.data["lowers"], self.data["uppers"])
        elif name == "box tree again":
            self.bvh.rebuild(self.rebuilt)
        else:
            is_ray = f"{name} dir" in self.data
            arrays = [self.data[f"{name} start"], self.data[f"{name} dir"]] if is_ray else [self.data[name]]
            self.distance = self.wp.zeros(len(arrays[0]), dtype=float, device="cpu")
            kernel = self.kernels.get(name, self.cast if is_ray else self.approach)
            id = self.bvh.id if name in BOXES else self.mesh.id
            self.wp.launch(kernel, len(arrays[0]), [id, *arrays, self.distance], device="cpu")

    def distances(self, name: str, file: str) -> None:
        self.run(name)
        np.save(file, self.distance.numpy())

    def time(self, name: str) -> float:
        start = self.clock()
        self.run(name)
        return self.clock() - start


class Embree:
    """Embree's rays, one at a time on one thread."""

    def __init__(self) -> None:
        self.construction = importlib.import_module("embreex.mesh_construction")
        self.core = importlib.import_module("embreex.rtcore_scene")

    def ready(self) -> bool:
        """True if Embree is there: otherwise there is no worker to ask."""
        return True

    def load(self, file: str) -> None:
        with np.load(file) as given:
            self.data = dict(given)

    def time(self, name: str) -> float:
        if name == "build" or not hasattr(self, "scene"):
            start = time.process_time()
            self.scene = self.core.EmbreeScene()
            self.construction.TriangleMesh(self.scene, self.data["points"], self.data["faces"])
            self.scene.run(np.float32([[9, 9, 9]]), np.float32([[0, 0, 1]]), query="DISTANCE")  # builds the tree
            if name == "build":
                return time.process_time() - start
        start = time.process_time()
        self.scene.run(self.data[f"{name} start"], self.data[f"{name} dir"], query="DISTANCE")
        return time.process_time() - start


def disagreement(found: np.ndarray, expected: np.ndarray, is_count: bool) -> str:
    """How distances, or numbers of boxes, differ from warp-lang's; "" if they do not."""
    if is_count:
        missing = abs(found.sum(dtype=np.float64) / expected.sum(dtype=np.float64) - 1.0)
        return f"numbers of boxes differ by {missing:.1e}" if missing > COUNTS else ""
    hits, differ = (found >= 0) & (expected >= 0), (found >= 0) != (expected >= 0)
    error = np.abs(found - expected)[hits].max(initial=0)
    if differ.mean() > TOLERANCE or error > TOLERANCE:
        return f"{differ.sum()} hits differ, distances by up to {error:.1e}"
    return ""


def check(contenders: dict[str, Contender], name: str, scratch: Path) -> str:
    """Ask for distances, and return what is wrong with them."""
    for label in (WARP, ALONE, OURS):
        contenders[label].ask("distances", name, str(scratch / f"{label}.npy"))
    expected = np.load(scratch / f"{WARP}.npy")
    found = {label: disagreement(np.load(scratch / f"{label}.npy"), expected, name in BOXES) for label in (ALONE, OURS)}
    return "; ".join(f"{name}, {label}: {text}" for label, text in found.items() if text)


def row(name: str, count: int, best: dict[str, float]) -> list[str]:
    """Milliseconds, or millions of queries a second, then the ratios."""
    per_second = count > 1
    figures = [
        (f"{count / best[c] / 1e6:.2f} M/s" if per_second else f"{best[c] * 1e3:.2f} ms") if c in best else "-"
        for c in (WARP, EMBREE, ALONE, OURS)
    ]
    ratios = [f"{best[of] / best[ours]:.2f}" if of in best else "-" for of, ours in RATIOS]
    return [name, *figures, *ratios, f"{GOALS[name]:g}" if name in GOALS else "-"]


RATIOS = ((EMBREE, ALONE), (WARP, ALONE), (WARP, OURS))


def run(contenders: dict[str, Contender], options: argparse.Namespace, scratch: Path) -> tuple[list[list[str]], str]:
    """Return the rows of the table, and what is wrong with the results."""
    data = inputs(options.triangles, options.queries)
    np.savez(scratch / "inputs.npz", **data)
    for contender in contenders.values():
        contender.ask("load", str(scratch / "inputs.npz"))
    names = [*GOALS, *BOXES]
    wrong = [check(contenders, name, scratch) for name in names if name in data or f"{name} start" in data]
    rows = []
    for name in names:
        takes_part = {c: w for c, w in contenders.items() if c != EMBREE or name in ("build", "incoherent", "primary")}
        best = {label: worker.ask("time", name) for label, worker in takes_part.items()}
        for _ in range(options.rounds):
            for label, worker in takes_part.items():
                best[label] = min(best[label], worker.ask("time", name))
        count = len(data.get(f"{name} start", data.get(name, "-")))
        rows.append(row(name, count, best))
    return rows, "\n".join(filter(None, wrong))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triangles", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7, help="calls of each implementation (default: 7)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peers (default: make one)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def embree(python: str) -> dict[str, Contender]:
    """Return Embree as a contender, if the peers' Python has it."""
    worker = Contender(python, __file__, "--serve", EMBREE, 1)
    try:
        worker.ask("ready")
    except WorkerError:
        return {}
    return {EMBREE: worker}


def main() -> int:
    options = parse_arguments()
    if options.serve:
        package, threads = options.serve
        serve(*((Embree,) if package == EMBREE else (Worker, package, int(threads))))
        return 0
    theirs = options.peer_python or str(peers.python())
    contenders = {
        WARP: Contender(theirs, __file__, "--serve", "warp", 1),
        **embree(theirs),
        ALONE: Contender(sys.executable, __file__, "--serve", "omni.warp_core", 1),
        OURS: Contender(sys.executable, __file__, "--serve", "omni.warp_core", options.threads),
    }
    with tempfile.TemporaryDirectory() as scratch:
        rows, wrong = run(contenders, options, Path(scratch))
    facts = machine()
    print(f"{facts['processor']}; {facts['cores']} cores; {facts['system']}; {facts['date']}")
    print(wrong or f"{options.triangles:,} triangles. All results agree with warp-lang's\n")
    header = ("", WARP, EMBREE, ALONE, f"ours, {options.threads}", "Embree ÷ ours, 1", "warp ÷ ours, 1", "warp ÷ ours")
    print(table((*header, "goal"), rows))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
