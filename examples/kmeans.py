"""Divide five million stars into 64 clusters by k-means.

    python examples/kmeans.py [picture.jpg]

One launch labels each star with the nearest centroid, and adds the star to the sum of its cluster. A second, small
launch moves each centroid to the mean of its stars. Each of the two can only lower the inertia, the sum of the squared
distances between stars and their centroids.
"""

from __future__ import annotations

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import hsv_to_rgb
from pictures import save
from rich.progress import track

import omni.warp_core as wp

STARS, CLUSTERS, ITERATIONS = 5_000_000, 64, 40

Points = wp.array(dtype=wp.vec2)
Sums = wp.array(dtype=wp.vec3d)  # of x, of y, and of ones; float64, as millions of numbers are added


@wp.kernel
def galaxy(seed: int, arms: int, points: Points):
    """Stars along the arms of a spiral, dense in the middle."""
    i = wp.tid()
    state = wp.rand_init(seed, i)
    radius = -0.22 * wp.log(1.0 - 0.985 * wp.randf(state))
    arm = float(wp.randi(state, 0, arms)) * wp.TAU / float(arms)
    angle = arm + 2.3 * wp.log(radius + 0.08) + 0.28 * wp.randn(state)
    points[i] = radius * wp.vec2(wp.cos(angle), wp.sin(angle)) + 0.02 * wp.vec2(wp.randn(state), wp.randn(state))


@wp.kernel
def label_points(points: Points, centroids: Points, labels: wp.array[int], sums: Sums, inertia: wp.array[wp.float64]):
    i = wp.tid()
    p = points[i]
    nearest, least = 0, wp.INF
    for k in range(centroids.shape[0]):
        distance = wp.length_sq(p - centroids[k])
        if distance < least:
            nearest, least = k, distance
    labels[i] = nearest
    wp.atomic_add(sums, nearest, wp.vec3d(wp.float64(p.x), wp.float64(p.y), wp.float64(1.0)))
    wp.atomic_add(inertia, 0, wp.float64(least))


@wp.kernel
def move_centroids(sums: Sums, centroids: Points):
    k = wp.tid()
    count = sums[k].z
    if count > wp.float64(0.0):  # a cluster without stars stays where it is
        centroids[k] = wp.vec2(float(sums[k].x / count), float(sums[k].y / count))


class KMeans:
    """A division of `points` into clusters; the centroids start at the first points."""

    def __init__(self, points: wp.array, clusters: int):
        self.points = points
        self.centroids = wp.clone(points[:clusters])
        self.labels = wp.zeros(len(points), dtype=int)
        self.sums = wp.zeros(clusters, dtype=wp.vec3d)
        self.inertia = wp.zeros(1, dtype=wp.float64)

    def label(self) -> float:
        """Label the points and sum up the clusters; return the inertia."""
        self.sums.zero_()
        self.inertia.zero_()
        outputs = [self.labels, self.sums, self.inertia]
        wp.launch(label_points, dim=len(self.points), inputs=[self.points, self.centroids], outputs=outputs)
        return float(self.inertia.numpy()[0])

    def move(self) -> None:
        """Move the centroids to the means of their clusters."""
        wp.launch(move_centroids, dim=len(self.centroids), inputs=[self.sums], outputs=[self.centroids])


def stars(count: int = STARS) -> wp.array:
    points = wp.empty(count, dtype=wp.vec2)
    wp.launch(galaxy, dim=count, inputs=[7, 3], outputs=[points])
    return points


def draw(k: KMeans, inertias: list[float], file: str, pixels: int = 540) -> None:
    """Draw the stars, each in the colour of its cluster, and the inertia."""
    edges = np.linspace(-1.0, 1.0, pixels + 1)
    x, y = k.points.numpy().T
    centroids = k.centroids.numpy()
    hue = (np.arctan2(centroids[:, 1], centroids[:, 0]) / (2.0 * np.pi) + 3.0 * np.hypot(*centroids.T)) % 1.0
    colors = hsv_to_rgb(np.stack([hue, np.full_like(hue, 0.65), np.ones_like(hue)], -1))[k.labels.numpy()]
    count, *light = (np.histogram2d(y, x, edges, weights=w)[0] for w in (None, *colors.T))
    bright = np.log1p(count) / np.log1p(count.max())
    picture = np.stack(light, -1) / np.maximum(count, 1.0)[..., None] * bright[..., None]
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 4.5), width_ratios=(1.4, 1))
    left.imshow(np.clip(1.5 * picture, 0.0, 1.0), extent=(-1, 1, -1, 1), origin="lower")
    left.plot(*centroids.T, "o", markersize=3, color="white", markeredgecolor="black", markeredgewidth=0.6)
    left.set(title=f"{len(x):,} stars in {len(centroids)} clusters", xlim=(-1, 1), ylim=(-1, 1))
    left.set_axis_off()
    right.plot(inertias)
    right.set(title="inertia", xlabel="iteration")
    save(file)


def main(file: str = "kmeans.jpg", count: int = STARS, iterations: int = ITERATIONS) -> KMeans:
    """Find the clusters, report and draw; return the division."""
    k = KMeans(stars(count), CLUSTERS)
    k.label()  # compiles the kernel
    inertias, began = [], time.perf_counter()
    for _ in track(range(iterations), description="k-means"):
        inertias.append(k.label())
        k.move()
    seconds = (time.perf_counter() - began) / iterations
    print(f"inertia {inertias[0]:.4g} -> {inertias[-1]:.4g}; {1e3 * seconds:.1f} ms an iteration")
    print(f"{count * CLUSTERS / seconds / 1e9:.2f} G distances/s, {12e-9 * count / seconds:.2f} GB/s")
    draw(k, inertias, file)
    return k


if __name__ == "__main__":
    main(*sys.argv[1:2])
