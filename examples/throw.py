"""Throw a ball so that it comes back from a wall and a floor into a basket: the gradient goes through the bounces.

    python examples/throw.py [picture.png]

The whole flight is one kernel with a loop over time. `tape.backward` runs it in reverse and gives the derivative of the
miss by the velocity of the throw; plain gradient descent does the rest. A bounce falls between two steps: only because
the kernel works out when, the path depends smoothly on the velocity, and the gradient shows the way.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from pictures import GREY, LIGHT, ORANGE, plot_losses, save

import omni.warp_core as wp

GRAVITY = wp.constant(9.81)
WALL = wp.constant(3.0)  # where the wall stands, in metres; the floor is at 0
BOUNCE = wp.constant(0.7)  # of the speed, what a bounce leaves
BASKET = wp.constant(wp.vec2(0.5, 1.0))
STEPS, DT = 170, 0.01


@wp.kernel
def fly(velocity: wp.array[wp.vec2], steps: int, dt: float, path: wp.array[wp.vec2]):
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
def miss(path: wp.array[wp.vec2], loss: wp.array[float]):
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
def descend(x: wp.array[wp.vec2], gradient: wp.array[wp.vec2], rate: float):
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
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
    left.axvspan(3.0, 3.4, color=LIGHT)
    left.plot(*np.stack(paths[1:20:2], axis=-1).swapaxes(0, 1), color="#c8d7eb", linewidth=0.8)
    left.plot(*paths[0].T, color=GREY)
    left.plot(*paths[-1].T)
    left.plot(0.0, 1.0, "o", color="black")
    left.plot(0.5, 1.0, "o", color=ORANGE, markersize=8)
    left.annotate("basket", (0.57, 1.07), color=ORANGE)
    left.set(title="throws: the first grey, the last blue", xlabel="m", ylabel="m", xlim=(-1.0, 3.4), ylim=(0.0, 2.5))
    left.set_aspect("equal")
    plot_losses(right, losses, "squared distance from the basket, m²")
    save(file)


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
