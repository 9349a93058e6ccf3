"""Samples of textures, beside warp-lang: `python benchmarks/textures.py --peer-python /path/to/python`.

Both packages sample the same textures at the same places, in random order or along rows. Figures are millions of
samples for each CPU second, and for each second of the clock, the best of several launches.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from harness.sample_rates import print_rates

COUNT, LAUNCHES = 2_000_000, 6
CASES = ("3-D float32", "2-D RGBA8", "2-D float32", "2-D float32 rows", "2-D RGBA8 levels")


def measure(wp: Any) -> dict[str, list[float]]:
    """Million samples for each CPU second and each second, and the sum of them, by the case."""

    @wp.kernel
    def sample_volume(tex: wp.Texture3D, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        out[i] = wp.vec4(wp.texture_sample(tex, places[i], dtype=float), 0.0, 0.0, 0.0)

    @wp.kernel
    def sample_colours(tex: wp.Texture2D, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        out[i] = wp.texture_sample(tex, places[i][0], places[i][1], dtype=wp.vec4)

    @wp.kernel
    def sample_numbers(tex: wp.Texture2D, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        out[i] = wp.vec4(wp.texture_sample(tex, places[i][0], places[i][1], dtype=float), 0.0, 0.0, 0.0)

    @wp.kernel
    def sample_levels(tex: wp.Texture2D, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        out[i] = wp.texture_sample(tex, places[i][0], places[i][1], dtype=wp.vec4, lod=2.0 * places[i][2])

    rng = np.random.default_rng(1)
    random = rng.random((COUNT, 3), dtype=np.float32)
    along = np.stack((np.arange(COUNT) % 2000, np.arange(COUNT) // 2000, np.zeros(COUNT)), axis=1)
    rows = ((along + 0.37) / 2000.0).astype(np.float32)
    cube = rng.random((128, 128, 128), dtype=np.float32)
    bytes_ = rng.integers(0, 256, (1024, 1024, 4), dtype=np.uint8)
    numbers = rng.random((1024, 1024), dtype=np.float32)
    wrap = wp.TextureAddressMode.WRAP
    colours = wp.Texture2D(bytes_, address_mode=wrap, device="cpu")
    levels = wp.Texture2D(bytes_, num_mip_levels=4, device="cpu")
    field = wp.Texture2D(numbers, device="cpu")
    given = (
        (sample_volume, wp.Texture3D(cube, device="cpu"), random),
        (sample_colours, colours, random),
        (sample_numbers, field, random),
        (sample_numbers, field, rows),
        (sample_levels, levels, random),
    )
    found = {}
    for name, (kernel, tex, places) in zip(CASES, given):
        out = wp.zeros(COUNT, dtype=wp.vec4, device="cpu")
        inputs = [tex, wp.array(places, dtype=wp.vec3, device="cpu"), out]
        best = [np.inf, np.inf]
        for _ in range(LAUNCHES):
            start = time.process_time(), time.perf_counter()
            wp.launch(kernel, COUNT, inputs, device="cpu")
            best = [min(best[0], time.process_time() - start[0]), min(best[1], time.perf_counter() - start[1])]
        found[name] = [COUNT / 1e6 / t for t in best] + [float(out.numpy().sum(dtype=float))]
    return found


def run(python: str, package: str) -> dict[str, list[float]]:
    """What another process measures with a package."""
    done = subprocess.run([python, __file__, "--measure", package], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print a table; `--measure` prints the figures of one package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", default="", help="a Python that has warp-lang")
    parser.add_argument("--measure", metavar="PACKAGE")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(__import__(options.measure, fromlist=["kernel"]))))
        return
    ours = run(sys.executable, "omni.warp_core")
    peer = run(options.peer_python, "warp") if options.peer_python else {}
    print("million samples a CPU second, and a second of the clock")
    print_rates(ours, peer, COUNT)


if __name__ == "__main__":
    main()
