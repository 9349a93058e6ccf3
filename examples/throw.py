"""Throw a ball so that it comes back from a wall and a floor into a basket: the gradient goes through the bounces.

    python examples/throw.py [picture.png]

The whole flight is one kernel with a loop over time. `tape.backward` runs it in reverse and gives the derivative of the
miss by the velocity of the throw; plain gradient descent does the rest. A bounce falls between two steps: only because
the kernel works out when, the path depends smoothly on the velocity, and the gradient shows the way.
"""

from __future__ import annotations

import sys

import numpy as np
from picture import BLUE, DARK, GREY, LIGHT, ORANGE, Figure

import omni.warp_core as wp

GRAVITY = wp.constant(9.81)
WALL = wp.constant(3.0)  # where the wall stands, in metres; the floor is at 0
BOUNCE = wp.constant(0.7)  # of the speed, what a bounce leaves
BASKET = wp.constant(wp.vec2(0.5, 1.0))
STEPS, DT = 170, 0.01


@wp.kernel
def fly(velocity: wp.array(dtype=wp.vec2), steps: int, dt: float, path: wp.array(dtype=wp.vec2)):
    x = wp.vec2(0.0, 1.0)
    v = velocity[0]
    path[0] = x
    for i in range(1, steps):
        v.y -= GRAVITY * dt
        x += v * dt
        if x.x > WALL:
            late = (x.x - WALL) / v.x  # how long ago it hit the wall
            v.x = -BOUNCE * v.x
            x.x = WALL + v.x * late
        if x.y < 0.0:
            late = x.y / v.y
            v.y = -BOUNCE * (v.y + GRAVITY * late) - GRAVITY * late
            x.y = v.y * late
        path[i] = x


@wp.kernel
def miss(path: wp.array(dtype=wp.vec2), loss: wp.array(dtype=float)):
    loss[0] = wp.length_sq(path[path.shape[0] - 1] - BASKET)


class Throw:
    """The throw that is to be found: `parameters` are the velocity, in metres per second."""

    def __init__(self) -> None:
        self.parameters = wp.array([[5.0, 3.5]], dtype=wp.vec2, requires_grad=True)
        self.path = wp.zeros(STEPS, dtype=wp.vec2, requires_grad=True)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)

    def run(self) -> None:
        """Throw, and measure by how much the basket is missed."""
        wp.launch(fly, dim=1, inputs=[self.parameters, STEPS, DT], outputs=[self.path])
        wp.launch(miss, dim=1, inputs=[self.path], outputs=[self.loss])


@wp.kernel
def descend(x: wp.array(dtype=wp.vec2), gradient: wp.array(dtype=wp.vec2), rate: float):
    i = wp.tid()
    x[i] -= rate * gradient[i]


def fit(throw: Throw, iterations: int = 80, rate: float = 0.1) -> tuple[list[float], list[np.ndarray]]:
    """Improve the throw; gives the loss and the path of each iteration."""
    losses, paths = [], []
    for _ in range(iterations):
        tape = wp.Tape()
        with tape:
            throw.run()
        tape.backward(throw.loss)
        losses.append(throw.loss.numpy()[0])
        paths.append(throw.path.numpy().copy())
        wp.launch(descend, dim=1, inputs=[throw.parameters, throw.parameters.grad, rate])
        tape.zero()
    return losses, paths


def draw(losses: list[float], paths: list[np.ndarray], file: str) -> None:
    """The paths of all throws, and the loss."""
    figure = Figure(columns=2, size=(420, 300))
    panel = figure.panel("throws: the first grey, the last blue", (-1.0, 3.4), (0.0, 2.7), "metres", equal=True)
    panel.fill([3.0, 3.4, 3.4, 3.0], [0.0, 0.0, 3.0, 3.0], LIGHT)
    for path in paths[1:20]:
        panel.line(path[:, 0], path[:, 1], (200, 215, 235), 1)
    panel.line(paths[0][:, 0], paths[0][:, 1], GREY, 1.5)
    panel.line(paths[-1][:, 0], paths[-1][:, 1], BLUE, 2)
    panel.dots([0.0], [1.0], DARK, 4)
    panel.dots([0.5], [1.0], ORANGE, 6)
    panel.text(0.5, 1.13, "basket", ORANGE, "mm")
    figure.loss(losses, "squared distance from the basket")
    figure.save(file)


def main(file: str = "throw.png", iterations: int = 80) -> list[float]:
    """Fit, tell and draw; gives the losses."""
    throw = Throw()
    losses, paths = fit(throw, iterations)
    vx, vy = throw.parameters.numpy()[0]
    print(f"loss {losses[0]:.3g} -> {losses[-1]:.3g} with a velocity of ({vx:.3f}, {vy:.3f}) m/s")
    draw(losses, paths, file)
    return losses


if __name__ == "__main__":
    main(*sys.argv[1:2])
