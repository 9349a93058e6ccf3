"""Fit solids to a picture: a ray caster that is differentiated tells how to move and size a ball and a box.

    python examples/raycast.py [picture.png]

Every pixel sends a ray through a signed distance field, which says at each point how far the nearest surface is. Where
a ray misses by little, a pixel is partly covered; that makes outlines, too, depend smoothly on the solids.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from pictures import plot_losses, save, show_field

import omni.warp_core as wp

SIZE = 96  # pixels in each direction
MARCH = 24  # steps of a ray
ROUND = wp.constant(0.05)  # how round the edges of the box are
EDGE = wp.constant(0.015)  # how far a surface shades into the background
LIGHT = wp.constant(wp.normalize(wp.vec3(-0.3, 0.9, 0.6)))
VIEW = wp.constant(wp.quat_rpy(-0.45, 0.6, 0.0))  # the camera's turn around the middle
DISTANCE = wp.constant(3.0)

# Of the solids: center and radius of the ball, center and half extents of the box.
HIDDEN = [-0.55, 0.2, 0.1, 0.5, 0.5, -0.2, 0.0, 0.4, 0.25, 0.45]
FIRST = [-0.35, -0.1, 0.0, 0.3, 0.3, 0.1, 0.0, 0.25, 0.35, 0.25]

Numbers = wp.array(dtype=float)
Picture = wp.array2d[float]


@wp.func
def ball(p: wp.vec3, s: Numbers) -> float:
    return wp.length(p - wp.vec3(s[0], s[1], s[2])) - s[3]


@wp.func
def box(p: wp.vec3, s: Numbers) -> float:
    q = wp.abs(p - wp.vec3(s[4], s[5], s[6])) - wp.vec3(s[7], s[8], s[9])
    return wp.length(wp.max(q, wp.vec3(0.0))) + wp.min(wp.max(q), 0.0) - ROUND


@wp.func
def solids(p: wp.vec3, s: Numbers) -> float:
    """The distance from the ball and the box."""
    return wp.min(ball(p, s), box(p, s))


@wp.func
def normal(p: wp.vec3, s: Numbers) -> wp.vec3:
    """The direction away from the surface, from differences at the corners of a tetrahedron."""
    h = 0.01
    a, b = wp.vec3(1.0, -1.0, -1.0), wp.vec3(-1.0, -1.0, 1.0)
    c, d = wp.vec3(-1.0, 1.0, -1.0), wp.vec3(1.0, 1.0, 1.0)
    sums = a * solids(p + a * h, s) + b * solids(p + b * h, s) + c * solids(p + c * h, s) + d * solids(p + d * h, s)
    return wp.normalize(sums)


@wp.kernel
def render(s: Numbers, picture: Picture):
    i, j = wp.tid()
    size = float(picture.shape[0])
    through = wp.vec3((float(j) + 0.5) / size - 0.5, 0.5 - (float(i) + 0.5) / size, -1.2)
    toward = wp.quat_rotate(VIEW, wp.normalize(through))
    p = wp.quat_rotate(VIEW, wp.vec3(0.0, 0.0, DISTANCE))
    nearest = 1.0
    for _ in range(MARCH):
        d = solids(p, s)
        nearest = wp.min(nearest, d)
        p += d * toward
    covered = 1.0 / (1.0 + wp.exp(nearest / EDGE - 2.0))
    shade = 0.25 + 0.75 * wp.max(wp.dot(normal(p, s), LIGHT), 0.0)
    picture[i, j] = covered * shade


@wp.kernel
def difference(picture: Picture, given: Picture, loss: Numbers):
    i, j = wp.tid()
    d = picture[i, j] - given[i, j]
    wp.atomic_add(loss, 0, d * d / float(picture.size))


@wp.kernel
def descend(s: Numbers, gradient: Numbers, rate: float):
    i = wp.tid()
    s[i] -= rate * gradient[i]


class Scene:
    """Solids in front of a camera: `parameters` are their places and sizes, `given` is the picture to match."""

    def __init__(self, size: int = SIZE):
        self.picture = wp.zeros((size, size), dtype=float, requires_grad=True)
        self.given = wp.zeros((size, size), dtype=float)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)
        self.parameters = wp.array(HIDDEN, dtype=float, requires_grad=True)
        wp.launch(render, dim=self.given.shape, inputs=[self.parameters], outputs=[self.given])
        self.parameters.assign(FIRST)

    def run(self) -> None:
        """Draw the solids, and compare with the given picture."""
        self.loss.zero_()
        wp.launch(render, dim=self.given.shape, inputs=[self.parameters], outputs=[self.picture])
        wp.launch(difference, dim=self.given.shape, inputs=[self.picture, self.given], outputs=[self.loss])


def fit(scene: Scene, iterations: int = 250, rate: float = 0.04) -> tuple[list[float], list[np.ndarray]]:
    """Improve the solids; gives the loss of each iteration, and the first and the last picture."""
    losses, pictures = [], []
    for i in range(iterations):
        tape = wp.Tape()
        with tape:
            scene.run()
        tape.backward(scene.loss)
        losses.append(scene.loss.numpy()[0])
        if i in (0, iterations - 1):
            pictures.append(scene.picture.numpy().copy())
        wp.launch(descend, dim=len(FIRST), inputs=[scene.parameters, scene.parameters.grad, rate])
        tape.zero()
    return losses, pictures


def draw(scene: Scene, losses: list[float], pictures: list[np.ndarray], file: str) -> None:
    """The first picture, the last, the given one, and the loss."""
    _, (*images, last) = plt.subplots(1, 4, figsize=(9, 2.4))
    for axes, title, picture in zip(images, ("first", "fitted", "given"), (*pictures, scene.given.numpy())):
        show_field(axes, picture, title)
    plot_losses(last, losses, "mean squared difference")
    save(file)


def main(file: str = "raycast.png", iterations: int = 250) -> list[float]:
    """Fit, tell and draw; gives the losses."""
    scene = Scene()
    losses, pictures = fit(scene, iterations)
    away = np.abs(scene.parameters.numpy() - HIDDEN).max()
    print(f"loss {losses[0]:.3g} -> {losses[-1]:.3g}; no number is more than {away:.3f} off")
    draw(scene, losses, pictures, file)
    return losses


if __name__ == "__main__":
    main(*sys.argv[1:2])
