"""Align two pictures: gradients go through the coordinates of texture samples.

    python examples/alignment.py [picture.png]

A picture was turned, scaled and moved, in a way that the program does not know. It samples the second picture as a
texture at warped coordinates, and a tape gives the gradient of the difference with respect to the warp. The descent
begins at a coarse level of detail, where shapes are wide enough to meet, and ends at the finest one.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from pictures import plot_losses, save, show_field

import omni.warp_core as wp

SIZE = 160  # pixels along an edge
LEVELS = (5.0, 4.0, 3.0, 2.0, 1.0, 0.0)  # of detail, one after the other
ITERATIONS = 40  # for each of them
RATE = 0.002  # at the finest level; coarser ones take longer steps
HIDDEN = (0.35, 0.12, 0.08, -0.06)  # angle, growth, move to the right and down, in widths of the picture


@wp.func
def warped(p: wp.vec2, warp: wp.array[float]):
    """The place in the second picture that belongs to a place in the first one."""
    c, s = wp.cos(warp[0]), wp.sin(warp[0])
    q = wp.exp(warp[1]) * (p - wp.vec2(0.5, 0.5))
    return wp.vec2(c * q[0] - s * q[1] + 0.5 + warp[2], s * q[0] + c * q[1] + 0.5 + warp[3])


@wp.func
def place_of(i: int, j: int, height: int, width: int):
    return wp.vec2((float(j) + 0.5) / float(width), (float(i) + 0.5) / float(height))


@wp.kernel
def apply(picture: wp.Texture2D, warp: wp.array[float], out: wp.array2d[float]):
    i, j = wp.tid()
    place = warped(place_of(i, j, out.shape[0], out.shape[1]), warp)
    out[i, j] = wp.texture_sample(picture, place, dtype=float)


@wp.kernel
def difference(first: wp.Texture2D, second: wp.Texture2D, warp: wp.array[float], lod: float, loss: wp.array[float]):
    i, j = wp.tid()
    p = place_of(i, j, SIZE, SIZE)
    given = wp.texture_sample(first, p, dtype=float, lod=lod)
    d = wp.texture_sample(second, warped(p, warp), dtype=float, lod=lod) - given
    wp.atomic_add(loss, 0, d * d / float(SIZE * SIZE))


def painted(seed: int = 3) -> np.ndarray:
    """A picture of discs and a grating, dark at its edges, with numbers from 0 to 1."""
    rng = np.random.default_rng(seed)
    y, x = (np.indices((SIZE, SIZE)) + 0.5) / SIZE - 0.5
    picture = np.zeros((SIZE, SIZE))
    for cx, cy, radius, tone in rng.uniform([-0.25, -0.25, 0.03, 0.3], [0.25, 0.25, 0.12, 1.0], (14, 4)):
        inside = np.clip((radius - np.hypot(x - cx, y - cy)) * SIZE, 0.0, 1.0)
        picture += inside * (tone - picture)
    picture *= 0.85 + 0.15 * np.sin(60.0 * x + 25.0 * y)
    return picture.astype(np.float32)


def texture(picture: np.ndarray) -> wp.Texture2D:
    """A texture with all levels of detail, black around the picture."""
    return wp.Texture2D(picture, address_mode=wp.TextureAddressMode.BORDER, num_mip_levels=0)


def moved(picture: np.ndarray, warp: np.ndarray) -> np.ndarray:
    """The picture as it looks at warped coordinates."""
    out = wp.zeros(picture.shape, dtype=float)
    wp.launch(apply, dim=out.shape, inputs=[texture(picture), wp.array(warp, dtype=float), out])
    return out.numpy()


def align(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """The warp by which the second picture looks like the first one, and the losses on the way."""
    textures = texture(first), texture(second)
    warp = wp.zeros(4, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    losses = []
    for lod in LEVELS:
        optimizer = wp.optim.Adam([warp], lr=RATE * (lod + 1.0))
        for _ in range(ITERATIONS):
            loss.zero_()
            with wp.Tape() as tape:
                wp.launch(difference, dim=(SIZE, SIZE), inputs=[*textures, warp, lod, loss])
            tape.backward(loss)
            optimizer.step([warp.grad])
            losses.append(float(loss.numpy()[0]))
            tape.zero()
    return warp.numpy().copy(), losses


def main(file: str = "alignment.png") -> None:
    """Align two pictures, and draw them."""
    second = painted()
    first = moved(second, np.array(HIDDEN))
    warp, losses = align(first, second)
    print("angle, growth, right, down:", *(f"{x:.4f}" for x in warp), "of", *HIDDEN)
    _, axes = plt.subplots(1, 4, figsize=(10.5, 2.7))
    show_field(axes[0], first, "first picture")
    show_field(axes[1], second, "second picture")
    show_field(axes[2], 0.5 + moved(second, warp) - first, "second, aligned, less first")
    plot_losses(axes[3], losses, "difference")
    save(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
