"""Trilinear samples of a level set, beside warp-lang: `python benchmarks/volumes.py --peer-python /path/to/python`.

Both packages sample the same grid buffer at the same places. Figures are millions of samples for each CPU second, and
for each second of the clock, the best of several launches.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness.sample_rates import print_rates

RADIUS, BAND = 250, 3  # voxels
COUNT, LAUNCHES = 2_000_000, 6


def level_set(path: Path) -> None:
    """Write the bytes of a grid: the distance to a sphere, in a band around it."""
    from omni.warp_core.volumes.grid_builder import Leaves, Placement, build_grid, leaf_origins
    from omni.warp_core.volumes.layout import VALUE_TYPES

    side = np.arange(-RADIUS - 8, RADIUS + 9, 8, dtype=np.int32) & ~7
    corners = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    corners = corners[np.abs(np.linalg.norm(corners + 3.5, axis=1) - RADIUS) < BAND + 7]
    cube = np.argwhere(np.ones((8, 8, 8), bool))
    distances = np.concatenate(
        [np.linalg.norm(part[:, None] + cube, axis=2) - RADIUS for part in np.array_split(corners, 64)]
    )
    near = (np.abs(distances) < BAND).any(axis=1)
    origins, number = leaf_origins(corners[near])
    distances = distances[near][np.argsort(number)].clip(-BAND, BAND).astype(np.float32)
    leaves = Leaves(origins, np.packbits(np.abs(distances) < BAND, axis=1, bitorder="little"), distances)
    build_grid(leaves, VALUE_TYPES[1], BAND, Placement(np.eye(3), np.zeros(3))).tofile(path)


def places() -> dict[str, np.ndarray]:
    """Places in the band: in random order, in the order of leaves, and in that of voxels in leaves."""
    rng = np.random.default_rng(1)
    ways = rng.normal(size=(COUNT, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    random = (ways * (RADIUS + rng.uniform(-2.5, 2.5, (COUNT, 1)))).astype(np.float32)
    leaf, voxel = np.floor(random / 8), np.floor(random)
    by_leaf, by_voxel = np.lexsort(leaf.T[::-1]), np.lexsort([*voxel.T[::-1], *leaf.T[::-1]])
    return {"random": random, "by leaf": random[by_leaf], "by voxel": random[by_voxel]}


def measure(path: str, wp: Any) -> dict[str, list[float]]:
    """Million samples for each CPU second and each second, and their sum, by the order of places."""

    @wp.kernel
    def sample(volume: wp.uint64, places: wp.array(dtype=wp.vec3), values: wp.array(dtype=float)):
        i = wp.tid()
        values[i] = wp.volume_sample_f(volume, places[i], wp.Volume.LINEAR)

    volume = wp.Volume(wp.array(np.fromfile(path, np.uint8), dtype=wp.uint8, device="cpu"))
    found = {}
    for name, points in places().items():
        inputs = [volume.id, wp.array(points, dtype=wp.vec3, device="cpu"), wp.zeros(COUNT, dtype=float, device="cpu")]
        best = [np.inf, np.inf]
        for _ in range(LAUNCHES):
            start = time.process_time(), time.perf_counter()
            wp.launch(sample, COUNT, inputs, device="cpu")
            best = [min(best[0], time.process_time() - start[0]), min(best[1], time.perf_counter() - start[1])]
        found[name] = [COUNT / 1e6 / t for t in best] + [float(inputs[2].numpy().sum(dtype=float))]
    return found


def run(python: str, package: str, path: Path) -> dict[str, list[float]]:
    """What another process measures with a package."""
    worker = [python, __file__, "--measure", package, str(path)]
    done = subprocess.run(worker, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print a table; `--measure` prints the figures of one package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", default="", help="a Python that has warp-lang")
    parser.add_argument("--measure", nargs=2, metavar=("PACKAGE", "FILE"))
    options = parser.parse_args()
    if options.measure:
        package, path = options.measure
        module = __import__(package, fromlist=["kernel"])
        print(json.dumps(measure(path, module)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sphere.grid"
        level_set(path)
        ours = run(sys.executable, "omni.warp_core", path)
        peer = run(options.peer_python, "warp", path) if options.peer_python else {}
    print("million trilinear samples a CPU second, and a second of the clock")
    print_rates(ours, peer, COUNT)


if __name__ == "__main__":
    main()
