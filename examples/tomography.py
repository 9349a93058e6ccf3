"""Find the densities of a cloud from its shadows: gradients go to the voxels of a sparse volume.

    python examples/tomography.py [picture.png]

Parallel light comes through a hidden cloud from some directions. Each pixel has the share of light that is left. A
second volume begins as faint haze. A tape follows its shadows, and its gradient says how each voxel has to change. Then
a picture from a direction that the descent has never seen compares both.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from pictures import plot_losses, save, show_field

import omni.warp_core as wp

VOXELS = 40  # along each edge of the box, whose middle is the origin
EXTENT = 2.0  # of the box
VIEWS = 12
ITERATIONS = 50
RATE = 0.25  # the longest step of a voxel
PUFFS = [[0.1, -0.2, 0.0, 0.45], [-0.35, 0.1, 0.2, 0.3], [0.35, 0.3, -0.25, 0.28], [-0.1, -0.45, -0.4, 0.22]]
UNSEEN = 0.4  # of the step between two views


@wp.kernel
def puff(volume: wp.uint64, puffs: wp.array[wp.vec4], voxels: wp.array[wp.vec3i]):
    i = wp.tid()
    v = voxels[i]
    place = wp.volume_index_to_world(volume, wp.vec3(float(v[0]), float(v[1]), float(v[2])))
    density = 0.0
    for n in range(puffs.shape[0]):
        p = puffs[n]
        depth = (p[3] - wp.length(place - wp.vec3(p[0], p[1], p[2]))) / p[3]
        density = wp.max(density, wp.smoothstep(0.0, 0.35, depth))
    waves = wp.sin(9.0 * place[0]) * wp.sin(8.0 * place[1] + 1.0) * wp.sin(10.0 * place[2])
    wp.volume_store_f(volume, v[0], v[1], v[2], 4.0 * density * (0.75 + 0.5 * waves))


@wp.kernel
def cast_shadows(volume: wp.uint64, angles: wp.array[float], steps: int, light: wp.array3d[float]):
    view, i, j = wp.tid()
    across = EXTENT * ((float(j) + 0.5) / float(light.shape[2]) - 0.5)
    up = EXTENT * (0.5 - (float(i) + 0.5) / float(light.shape[1]))
    turn, length = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), angles[view]), EXTENT / float(steps)
    depth = 0.0
    for k in range(steps):
        place = wp.quat_rotate(turn, wp.vec3(across, up, (float(k) + 0.5) * length - 0.5 * EXTENT))
        depth += length * wp.volume_sample_f(volume, wp.volume_world_to_index(volume, place), wp.Volume.LINEAR)
    light[view, i, j] = wp.exp(-depth)


@wp.kernel
def difference(light: wp.array3d[float], given: wp.array3d[float], loss: wp.array[float]):
    view, i, j = wp.tid()
    d = light[view, i, j] - given[view, i, j]
    wp.atomic_add(loss, 0, d * d / float(light.size))


@wp.kernel
def adam(
    values: wp.array2d[float],
    gradient: wp.array2d[float],
    mean: wp.array2d[float],
    square: wp.array2d[float],
    iteration: int,
):
    """A step of Adam (Kingma and Ba, 2015); densities stay positive."""
    leaf, voxel = wp.tid()
    g = gradient[leaf, voxel]
    m, s = wp.lerp(g, mean[leaf, voxel], 0.9), wp.lerp(g * g, square[leaf, voxel], 0.99)
    mean[leaf, voxel], square[leaf, voxel] = m, s
    step = m / (1.0 - 0.9 ** float(iteration)) / (wp.sqrt(s / (1.0 - 0.99 ** float(iteration))) + 1.0e-9)
    values[leaf, voxel] = wp.max(values[leaf, voxel] - RATE * step, 0.0)


def empty_box(voxels: int) -> wp.Volume:
    """Return a volume of zeros that fills the box."""
    spacing = EXTENT / voxels
    corner = 0.5 * spacing - 0.5 * EXTENT
    return wp.Volume.allocate([0, 0, 0], [voxels - 1] * 3, spacing, translation=[corner] * 3)


def hidden_cloud(voxels: int = VOXELS) -> wp.Volume:
    """Return the cloud that is to be found."""
    volume = empty_box(voxels)
    places = volume.get_voxels()
    wp.launch(puff, places.size, [volume.id, wp.array(PUFFS, dtype=wp.vec4), places])
    return volume


def shadows(volume: wp.Volume, angles: np.ndarray, pixels: int) -> wp.array:
    """Return the share of light that comes through, an array (angle, row, column)."""
    light = wp.zeros((len(angles), pixels, pixels), dtype=float, requires_grad=True)
    wp.launch(cast_shadows, light.shape, [volume.id, wp.array(angles, dtype=float), 2 * pixels, light])
    return light


def fit(given: wp.array, angles: np.ndarray, voxels: int = VOXELS, iterations: int = ITERATIONS):
    """Return the volume whose shadows are the given ones, and the losses on the way."""
    volume, losses = empty_box(voxels), []
    volume.values.fill_(0.05)
    volume.requires_grad = True
    moments = [wp.zeros(volume.values.shape, dtype=float) for _ in range(2)]
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    for iteration in range(iterations):
        loss.zero_()
        with wp.Tape() as tape:
            light = shadows(volume, angles, given.shape[1])
            wp.launch(difference, light.shape, [light, given, loss])
        tape.backward(loss)
        losses.append(float(loss.numpy()[0]))
        wp.launch(adam, volume.values.shape, [volume.values, volume.grad, *moments, iteration + 1])
        tape.zero()
    return volume, losses


def main(file: str = "tomography.png", voxels: int = VOXELS, views: int = VIEWS, iterations: int = ITERATIONS):
    """Fit the volume and draw how it went; return both volumes and the losses."""
    angles = np.pi * np.arange(views) / views
    unseen = np.array([np.pi * UNSEEN / views])
    hidden = hidden_cloud(voxels)
    found, losses = fit(shadows(hidden, angles, voxels), angles, voxels, iterations)
    _, axes = plt.subplots(1, 4, figsize=(10, 2.8), width_ratios=[1, 1, 1, 1.4])
    pictures = [shadows(v, unseen, voxels).numpy()[0] for v in (hidden, found)]
    show_field(axes[0], pictures[0], "hidden cloud")
    show_field(axes[1], pictures[1], f"found from {views} other views")
    show_field(axes[2], 5.0 * np.abs(pictures[1] - pictures[0]), "difference, 5 times")
    plot_losses(axes[3], losses, "mean square error of the views")
    save(file)
    return hidden, found, losses


if __name__ == "__main__":
    main(*sys.argv[1:2])
