"""Rebuild a landscape from distances that a laser scanner measures: gradients through the hits of rays on a mesh.

    python examples/terrain.py [picture.png]

The heights of the points of a `wp.Mesh` are wanted. Known is how far each ray of the scanner travels. Each iteration
fits the tree of the mesh to the present heights, and finds the faces that the rays hit. Which face it is has no
derivative, so this launch is not recorded. The next one is: it computes the distance to the plane of the face. Its
gradient moves the three corners of the face, and so the heights.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from pictures import plot_losses, save

import omni.warp_core as wp

CELLS, RAYS = 80, 60_000
ALTITUDE, SPREAD = 3.0, 0.45  # of the scanner above the ground, and the tangent of its angle to both sides

Heights = wp.array2d[float]
Vectors = wp.array(dtype=wp.vec3)
Numbers = wp.array(dtype=float)
Indices = wp.array(dtype=int)


@wp.kernel
def lift(heights: Heights, points: Vectors):
    i, j = wp.tid()
    last = float(heights.shape[0] - 1)
    points[i * heights.shape[1] + j] = wp.vec3(float(j) / last, float(i) / last, heights[i, j])


@wp.kernel
def find(mesh: wp.uint64, start: Vectors, toward: Vectors, face: Indices):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, start[i], toward[i], 1e6)
    face[i] = wp.where(hit.result, hit.face, -1)


@wp.kernel
def measure(points: Vectors, indices: Indices, start: Vectors, toward: Vectors, face: Indices, distance: Numbers):
    i = wp.tid()
    if face[i] >= 0:
        first = 3 * face[i]
        a, b, c = points[indices[first]], points[indices[first + 1]], points[indices[first + 2]]
        n = wp.cross(b - a, c - a)
        distance[i] = wp.dot(n, a - start[i]) / wp.dot(n, toward[i])


@wp.kernel
def difference(distance: Numbers, given: Numbers, loss: Numbers):
    i = wp.tid()
    d = distance[i] - given[i]
    wp.atomic_add(loss, 0, d * d)


@wp.kernel
def descend(heights: Heights, momentum: Heights, gradient: Heights, rate: float):
    i, j = wp.tid()
    momentum[i, j] = 0.9 * momentum[i, j] - rate * gradient[i, j]
    heights[i, j] += momentum[i, j]


def mountains(cells: int, seed: int = 3) -> np.ndarray:
    """Return heights of a fractal landscape: random waves, the shorter the lower; shape (cells, cells)."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(*np.meshgrid(*2 * [np.fft.fftfreq(cells, 1.0 / cells)]))
    waves = np.fft.fft2(rng.normal(size=(cells, cells))) / np.maximum(frequency, 1.5) ** 2.5
    heights = np.fft.ifft2(waves).real
    return 0.35 * (heights - heights.min()) / np.ptp(heights)


def triangles(cells: int) -> np.ndarray:
    """Return two triangles for each cell of the grid, which face up; shape (2 * (cells - 1)², 3)."""
    corner = np.arange(cells * (cells - 1)).reshape(cells - 1, cells)[:, :-1].reshape(-1, 1)
    return np.concatenate([corner + np.array([0, 1, cells + 1]), corner + np.array([0, cells + 1, cells])])


def scan(rays: int) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and directions of rays, from a scanner that flies over the land on three lines."""
    rng = np.random.default_rng(4)
    start = np.stack([rng.uniform(size=rays), rng.integers(0, 3, rays) / 2.0, np.full(rays, ALTITUDE)], 1)
    target = np.stack([*rng.uniform(size=(2, rays)), np.zeros(rays)], 1)
    aside = np.clip((target - start)[:, :2] / ALTITUDE, -SPREAD, SPREAD)
    toward = np.concatenate([aside, np.full((rays, 1), -1.0)], 1)
    return start, toward / np.linalg.norm(toward, axis=1, keepdims=True)


class Land:
    """Land that is to be found: `parameters` are its heights, `given` are the distances that were measured."""

    def __init__(self, hidden: np.ndarray, rays: int = RAYS):
        self.parameters = wp.array(hidden, dtype=float, requires_grad=True)
        self.mesh = wp.Mesh(
            wp.zeros(hidden.size, dtype=wp.vec3, requires_grad=True),
            wp.array(triangles(len(hidden)).ravel(), dtype=int),
        )
        self.rays = [wp.array(numbers, dtype=wp.vec3) for numbers in scan(rays)]
        self.face = wp.zeros(rays, dtype=int)
        self.distance = wp.zeros(rays, dtype=float, requires_grad=True)
        self.given = wp.zeros(rays, dtype=float)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)
        self.scan()
        wp.copy(self.given, self.distance)
        self.parameters.fill_(float(hidden.mean()))

    def scan(self) -> None:
        """Find the distance of each ray to the land as it is now."""
        mesh, rays = self.mesh, self.rays
        wp.launch(lift, dim=self.parameters.shape, inputs=[self.parameters], outputs=[mesh.points])
        mesh.refit()
        wp.launch(find, dim=self.face.size, inputs=[mesh.id, *rays], outputs=[self.face], record_tape=False)
        inputs = [mesh.points, mesh.indices, *rays, self.face]
        wp.launch(measure, dim=self.face.size, inputs=inputs, outputs=[self.distance])

    def run(self) -> None:
        """Scan the land, and compare the distances with those that are given."""
        self.loss.zero_()
        self.scan()
        wp.launch(difference, dim=self.face.size, inputs=[self.distance, self.given], outputs=[self.loss])


def fit(land: Land, iterations: int = 200, rate: float = 0.005) -> tuple[list[float], np.ndarray]:
    """Improve the heights; gives the loss of each iteration, and the heights after a tenth of the iterations."""
    losses, early = [], land.parameters.numpy().copy()
    momentum = wp.zeros(land.parameters.shape, dtype=float)
    for i in range(iterations):
        tape = wp.Tape()
        with tape:
            land.run()
        tape.backward(land.loss)
        losses.append(land.loss.numpy()[0])
        wp.launch(descend, dim=momentum.shape, inputs=[land.parameters, momentum, land.parameters.grad, rate])
        tape.zero()
        if i == iterations // 10:
            early = land.parameters.numpy().copy()
    return losses, early


def show_land(axes: plt.Axes, heights: np.ndarray, hidden: np.ndarray, title: str) -> None:
    """Draw heights as a map that the sun lights from the upper left, in the colours of the hidden land."""
    south, east = np.gradient(0.5 * len(heights) * heights)
    light = (1.1 + 0.6 * (south + east)) / np.sqrt(1.0 + south**2 + east**2)
    colors = plt.get_cmap("gist_earth")((heights - hidden.min() + 0.1) / (np.ptp(hidden) + 0.12))[..., :3]
    axes.imshow(np.clip(colors * light[..., None], 0.0, 1.0), interpolation="bicubic")
    axes.set_title(title)
    axes.set_axis_off()


def draw(hidden: np.ndarray, land: Land, early: np.ndarray, losses: list[float], file: str) -> None:
    """The land soon after the start, the land that was found, the hidden one, and the loss."""
    _, (first, second, third, last) = plt.subplots(1, 4, figsize=(9, 2.4))
    show_land(first, early, hidden, f"after {len(losses) // 10 + 1} iterations")
    show_land(second, land.parameters.numpy(), hidden, "found")
    show_land(third, hidden, hidden, "hidden")
    plot_losses(last, losses, "sum of squared differences")
    save(file)


def main(file: str = "terrain.jpg", iterations: int = 200) -> list[float]:
    """Fit, tell and draw; gives the losses."""
    hidden = mountains(CELLS)
    land = Land(hidden)
    losses, early = fit(land, iterations)
    away = np.abs(land.parameters.numpy() - hidden).mean()
    print(f"loss {losses[0]:.3g} -> {losses[-1]:.3g}; the heights are {away:.2g} off on average")
    draw(hidden, land, early, losses, file)
    return losses


if __name__ == "__main__":
    main(*sys.argv[1:2])
