"""Fit a hanging net: how long must each thread be, so that its knots hang where they should?

    python examples/net.py [picture.png]

Knots on a grid are tied by threads that pull like springs. The net falls, swings and comes to rest within some hundred
steps on a tape. The gradient of the distance from the wanted shape goes back through all of them.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from pictures import BLUE, GREY, ORANGE, plot_losses, save

import omni.warp_core as wp

COLUMNS, ROWS = 13, 9
STEPS, DT = 150, 0.02
STIFFNESS, DAMPING, GRAVITY = wp.constant(400.0), wp.constant(3.0), wp.constant(9.81)

Points = wp.array(dtype=wp.vec2)
Numbers = wp.array(dtype=float)


@wp.kernel
def pull(x: Points, ends: wp.array[wp.vec2i], rest: Numbers, force: Points):
    """Each thread pulls at its two knots."""
    i = wp.tid()
    a, b = ends[i][0], ends[i][1]
    along = x[b] - x[a]
    tension = STIFFNESS * (wp.length(along) - rest[i]) * wp.normalize(along)
    wp.atomic_add(force, a, tension)
    wp.atomic_sub(force, b, tension)


@wp.kernel
def move(x: Points, v: Points, force: Points, held: wp.array[wp.bool], dt: float):
    """Each knot of mass 1 moves, unless it is held."""
    i = wp.tid()
    if not held[i]:
        v[i] += (force[i] - DAMPING * v[i] - wp.vec2(0.0, GRAVITY)) * dt
        x[i] += v[i] * dt


@wp.kernel
def distance(x: Points, wanted: Points, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(x[i] - wanted[i]))


@wp.kernel
def descend(rest: Numbers, gradient: Numbers, rate: float):
    i = wp.tid()
    rest[i] -= rate * gradient[i]


class Net:
    """A net held along its upper edge: `parameters` are the lengths of its threads at rest."""

    def __init__(self) -> None:
        knots = np.arange(COLUMNS * ROWS).reshape(ROWS, COLUMNS)
        across = np.stack([knots[:, :-1].ravel(), knots[:, 1:].ravel()], 1)
        down = np.stack([knots[:-1].ravel(), knots[1:].ravel()], 1)
        grid = np.stack(np.meshgrid(np.arange(COLUMNS), -np.arange(ROWS)), -1).reshape(-1, 2)
        self.ends = wp.array(np.concatenate([across, down]), dtype=wp.vec2i)
        self.held = wp.array(np.arange(COLUMNS * ROWS) < COLUMNS, dtype=wp.bool)
        self.start = wp.array(grid, dtype=wp.vec2)
        self.x, self.v, self.force = (wp.zeros_like(self.start, requires_grad=True) for _ in range(3))
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)
        self.parameters = wp.ones(len(across) + len(down), dtype=float, requires_grad=True)
        self.wanted = self.make_wanted(grid)

    def make_wanted(self, grid: np.ndarray) -> wp.array:
        """The shape of a net whose threads downwards have other lengths in each column."""
        ends = self.ends.numpy()
        column, is_down = grid[ends[:, 0], 0], ends[:, 1] - ends[:, 0] == COLUMNS
        self.parameters.assign(1.0 + 0.2 * is_down * np.cos(column * (4 * np.pi / (COLUMNS - 1))))
        self.hang()
        self.parameters.fill_(1.0)
        return wp.clone(self.x, requires_grad=False)

    def hang(self) -> None:
        """Let the net fall and come to rest."""
        wp.copy(self.x, self.start)
        self.v.zero_()
        for _ in range(STEPS):
            self.force.zero_()
            wp.launch(pull, dim=self.ends.size, inputs=[self.x, self.ends, self.parameters], outputs=[self.force])
            wp.launch(move, dim=self.x.size, inputs=[self.x, self.v, self.force, self.held, DT])

    def run(self) -> None:
        """Let the net hang, and measure how far its knots are from where they should be."""
        self.loss.zero_()
        self.hang()
        wp.launch(distance, dim=self.x.size, inputs=[self.x, self.wanted], outputs=[self.loss])


def fit(net: Net, iterations: int = 50, rate: float = 0.005) -> tuple[list[float], list[np.ndarray]]:
    """Improve the threads; gives the loss of each iteration, and where the knots were at first and last."""
    losses, shapes = [], []
    for i in range(iterations):
        tape = wp.Tape()
        with tape:
            net.run()
        tape.backward(net.loss)
        losses.append(net.loss.numpy()[0])
        if i in (0, iterations - 1):
            shapes.append(net.x.numpy().copy())
        wp.launch(descend, dim=net.parameters.size, inputs=[net.parameters, net.parameters.grad, rate])
        tape.zero()
    return losses, shapes


def draw(net: Net, losses: list[float], shapes: list[np.ndarray], file: str) -> None:
    """The net before and after, over the wanted knots, and the loss."""
    _, (before, after, right) = plt.subplots(1, 3, figsize=(9, 3))
    for axes, title, shape, color in (
        (before, "all threads alike", shapes[0], GREY),
        (after, "threads fitted", shapes[1], BLUE),
    ):
        axes.plot(*shape[net.ends.numpy()].T, color=color, linewidth=0.8)
        axes.plot(*net.wanted.numpy().T, "o", color=ORANGE, markersize=2.5)
        axes.set(title=title, xlabel="m", ylabel="m", xlim=(-0.7, 12.7), ylim=(-11.3, 0.7), xticks=(0, 5, 10))
        axes.set_aspect("equal")
    plot_losses(right, losses, "sum of squared distances, m²")
    save(file)


def main(file: str = "net.png", iterations: int = 50) -> list[float]:
    """Fit, tell and draw; gives the losses."""
    net = Net()
    losses, shapes = fit(net, iterations)
    print(f"loss {losses[0]:.3g} -> {losses[-1]:.3g}")
    draw(net, losses, shapes, file)
    return losses


if __name__ == "__main__":
    main(*sys.argv[1:2])
