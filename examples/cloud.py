"""Grow a cloud of noise, write it as a volume of a USD stage, and draw it.

    python examples/cloud.py [picture.jpg]

One launch computes the density at every voxel. Puffs of random size pile up on a flat base, and fractal noise eats into
their rims. A sparse volume gets the blocks of 8x8x8 voxels that have a density, and a second launch stores it there.
The program writes the volume to a `.nvdb` file and a USD stage that names it. `omni-warp preview` lets light through,
which is absorbed and scattered on its way.
"""

from __future__ import annotations

import os
import sys

import numpy as np
from blocks import sparse_volume
from pxr import Gf, Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core import cli

SIZE = (10.0, 5.0, 7.0)  # of the box around the cloud; y points up
VOXELS = 224  # along x
PUFFS = 34


@wp.func
def fractal_noise(state: wp.uint32, place: wp.vec3, octaves: int) -> float:
    """Return noise in octaves, each with twice the frequency and half the amplitude; about from -1 to 1."""
    total, amplitude, p = 0.0, 0.6, place
    for _ in range(octaves):
        total += amplitude * wp.noise(state, p)
        amplitude *= 0.52
        p = p * 2.03 + wp.vec3(17.1, 3.7, 9.2)
    return total


@wp.func
def billows(state: wp.uint32, place: wp.vec3, octaves: int) -> float:
    """Return noise that is round towards high values and has creases at low ones, from 0 to about 1."""
    total, amplitude, p = 0.0, 0.55, place
    for _ in range(octaves):
        total += amplitude * wp.abs(wp.noise(state, p)) * 2.0
        amplitude *= 0.5
        p = p * 2.07 + wp.vec3(5.3, 11.9, 2.4)
    return total


@wp.kernel
def grow(puffs: wp.array[wp.vec4], low: wp.vec3, spacing: float, density: wp.array3d[float]):
    i, j, k = wp.tid()
    place = low + spacing * wp.vec3(float(i), float(j), float(k))
    state = wp.rand_init(7)
    swirl = wp.vec3(
        fractal_noise(state, place * 0.7, 2),
        fractal_noise(state, place * 0.7 + wp.vec3(31.0), 2),
        fractal_noise(state, place * 0.7 + wp.vec3(67.0), 2),
    )
    p = place + 0.35 * swirl
    inside = -1.0e3  # depth below the nearest rim of a puff, in units of its radius
    for n in range(puffs.shape[0]):
        puff = puffs[n]
        away = p - wp.vec3(puff[0], puff[1], puff[2])
        inside = wp.max(inside, puff[3] - wp.length(away))
    inside += 0.9 * (billows(state, p * 0.9, 5) - 0.5)
    base = wp.clamp(3.0 * (place[1] - 0.55) + 0.8 * fractal_noise(state, place * 1.3, 3), 0.0, 1.0)  # the flat bottom
    density[i, j, k] = wp.clamp(3.5 * inside, 0.0, 1.0) * base


def pile(count: int, seed: int = 3) -> np.ndarray:
    """Return centres and radii of puffs, (count, 4): large ones near the middle of the base, small ones around."""
    rng = np.random.default_rng(seed)
    away = rng.uniform(0.0, 1.0, count) ** 0.7
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    radius = 0.45 + 0.75 * (1.0 - away) * rng.uniform(0.5, 1.0, count)
    x = 0.5 * SIZE[0] + 2.9 * away * np.cos(angle)
    z = 0.5 * SIZE[2] + 1.7 * away * np.sin(angle)
    y = 0.95 + 2.5 * (1.0 - away) ** 1.3 * rng.uniform(0.1, 1.0, count)
    return np.stack([x, y, z, radius], 1)


def cloud(voxels: int = VOXELS, puffs: int = PUFFS) -> wp.Volume:
    """Return the cloud, with so many voxels along x."""
    spacing = SIZE[0] / voxels
    density = wp.zeros([8 * round(extent / spacing / 8) for extent in SIZE], dtype=float)
    placed = wp.array(pile(puffs), dtype=wp.vec4)
    wp.launch(grow, density.shape, [placed, wp.vec3(), spacing, density])
    return sparse_volume(density, spacing)


def main(file: str = "cloud.jpg", voxels: int = VOXELS) -> wp.Volume:
    """Grow the cloud, write it and a stage, draw it; return it."""
    grown, base = cloud(voxels), os.path.splitext(os.path.abspath(file))[0]
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    wp.usd.write_volume(stage, "/Cloud", {"density": grown}, file=f"{base}.nvdb", grid_class="fogVolume")
    camera = UsdGeom.Camera.Define(stage, "/Camera")
    pose = Gf.Matrix4d().SetLookAt(Gf.Vec3d(6.2, 0.9, 14.5), Gf.Vec3d(5.0, 2.05, 3.5), Gf.Vec3d.YAxis())
    camera.AddTransformOp().Set(pose.GetInverse())
    camera.CreateFocalLengthAttr(33.0)
    wp.usd.save(stage, f"{base}.usda")
    cli.main(["preview", f"{base}.usda", "-o", file])
    return grown


if __name__ == "__main__":
    main(*sys.argv[1:2])
