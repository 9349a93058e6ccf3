"""Find where the heat was: the picture after diffusion is known, and the one before it is wanted.

    python examples/heat.py [picture.png]

Thirty steps of diffusion are launched on a tape. Its gradient says for every cell how the final picture would change
with the heat that was there in the beginning, and gradient descent finds the beginning from nothing.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from pictures import plot_losses, save, show_field

import omni.warp_core as wp

CELLS = 64
SPREAD = 0.2  # of the differences to the neighbours, what flows in a step
STEPS = 30

Field = wp.array2d[float]


@wp.kernel
def diffuse(before: Field, spread: float, after: Field):
    i, j = wp.tid()
    last = before.shape[0] - 1
    up, down = before[wp.max(i - 1, 0), j], before[wp.min(i + 1, last), j]
    left, right = before[i, wp.max(j - 1, 0)], before[i, wp.min(j + 1, last)]
    after[i, j] = before[i, j] + spread * (up + down + left + right - 4.0 * before[i, j])


@wp.kernel
def difference(found: Field, given: Field, loss: wp.array[float]):
    i, j = wp.tid()
    d = found[i, j] - given[i, j]
    wp.atomic_add(loss, 0, d * d)


@wp.kernel
def descend(heat: Field, gradient: Field, rate: float):
    i, j = wp.tid()
    heat[i, j] = wp.max(heat[i, j] - rate * gradient[i, j], 0.0)  # there is no negative heat


class Heat:
    """The heat that is to be found: `parameters` is the field before, `given` the one after `steps` steps."""

    def __init__(self, hidden: np.ndarray, steps: int = STEPS):
        shape = hidden.shape
        self.fields = [wp.zeros(shape, dtype=float, requires_grad=True) for _ in range(steps + 1)]
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)
        self.parameters = self.fields[0]
        self.given = wp.zeros(shape, dtype=float)
        self.parameters.assign(hidden)
        self.diffuse()
        wp.copy(self.given, self.fields[-1])
        self.parameters.zero_()

    def diffuse(self) -> None:
        """From the first field to the last."""
        for before, after in zip(self.fields, self.fields[1:]):
            wp.launch(diffuse, dim=before.shape, inputs=[before, SPREAD], outputs=[after])

    def run(self) -> None:
        """Let the heat spread, and compare it with what is given."""
        self.loss.zero_()
        self.diffuse()
        wp.launch(difference, dim=self.given.shape, inputs=[self.fields[-1], self.given], outputs=[self.loss])


def fit(heat: Heat, iterations: int = 300, rate: float = 0.9) -> list[float]:
    """Improve the field; gives the loss of each iteration."""
    losses = []
    for _ in range(iterations):
        tape = wp.Tape()
        with tape:
            heat.run()
        tape.backward(heat.loss)
        losses.append(heat.loss.numpy()[0])
        wp.launch(descend, dim=heat.given.shape, inputs=[heat.parameters, heat.parameters.grad, rate])
        tape.zero()
    return losses


def letters(text: str = "wp") -> np.ndarray:
    """Hot letters on a cold plate."""
    figure = plt.figure(figsize=(1, 1), dpi=CELLS)
    figure.text(0.5, 0.5, text, fontsize=40, ha="center", va="center")
    figure.canvas.draw()
    picture = np.array(figure.canvas.buffer_rgba())
    plt.close(figure)
    return 1.0 - picture[..., 0] / np.float32(255.0)


def draw(hidden: np.ndarray, heat: Heat, losses: list[float], file: str) -> None:
    """What was hidden, what was given, what was found, and the loss."""
    _, (first, second, third, last) = plt.subplots(1, 4, figsize=(9, 2.4))
    show_field(first, hidden, "hidden: heat before", cmap="inferno")
    show_field(second, heat.given.numpy(), f"given: after {STEPS} steps", cmap="inferno")
    show_field(third, heat.parameters.numpy(), "found: heat before", cmap="inferno")
    plot_losses(last, losses, "sum of squared differences")
    save(file)


def main(file: str = "heat.png", iterations: int = 300) -> list[float]:
    """Fit, tell and draw; gives the losses."""
    hidden = letters()
    heat = Heat(hidden)
    losses = fit(heat, iterations)
    away = np.abs(heat.parameters.numpy() - hidden).mean()
    print(f"loss {losses[0]:.3g} -> {losses[-1]:.3g}; the heat found is {away:.3f} away from the hidden one on average")
    draw(hidden, heat, losses, file)
    return losses


if __name__ == "__main__":
    main(*sys.argv[1:2])
