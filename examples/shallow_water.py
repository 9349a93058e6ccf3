"""Send a tsunami through an archipelago: shallow water on a grid, one launch a time step.

    python examples/shallow_water.py [picture.jpg]

A cell stores the elevation of the surface; its sides store the speed of the water through them. What flows out of a
cell flows into its neighbour, so the volume of water cannot change. Waves travel at sqrt(g * depth): they slow down
over the shelves of the islands, turn around them, and pile up. The speed itself is not advected, which is right while
waves are low beside the depth.
"""

from __future__ import annotations

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LightSource
from pictures import save
from rich.progress import track

import omni.warp_core as wp

GRAVITY = 9.81
CELLS, SPACING = 1024, 500.0  # a square of 512 km; the spacing in metres
COURANT = 0.45  # how far a wave over the deepest water travels in a step, in cells

Field = wp.array2d[float]


@wp.struct
class Water:
    """The state of the water in each cell."""

    elevation: Field  # of the surface above rest, in metres
    u: Field  # m/s through the west side of each cell, positive eastwards
    v: Field  # m/s through the north side of each cell, positive southwards


@wp.func
def side(speed: float, kick: float, e0: float, e1: float, depth0: float, depth1: float):
    """Return the new speed through the side between cells 0 and 1, and the flow in m²/s. Land is a wall."""
    depth = wp.min(depth0, depth1)
    if depth <= 0.0:
        return 0.0, 0.0
    new = speed - kick * (e1 - e0)
    return new, new * (depth + (e0 if new > 0.0 else e1))


@wp.kernel
def advance(before: Water, depth: Field, kick: float, ratio: float, after: Water):
    """Advance one cell by a time step: `ratio` is dt / spacing in s/m, `kick` is the gravity times that."""
    i, j = wp.tid()
    i, j = i + 1, j + 1  # the rim is land
    e, d = before.elevation[i, j], depth[i, j]
    u, west = side(before.u[i, j], kick, before.elevation[i, j - 1], e, depth[i, j - 1], d)
    _, east = side(before.u[i, j + 1], kick, e, before.elevation[i, j + 1], d, depth[i, j + 1])
    v, north = side(before.v[i, j], kick, before.elevation[i - 1, j], e, depth[i - 1, j], d)
    _, south = side(before.v[i + 1, j], kick, e, before.elevation[i + 1, j], d, depth[i + 1, j])
    after.elevation[i, j] = e + ratio * (west - east + north - south)
    after.u[i, j] = u
    after.v[i, j] = v


def still_water(shape: tuple[int, int]) -> Water:
    return Water(*(wp.zeros(shape, dtype=float) for _ in range(3)))


class Sea:
    """Water over a bed: `depth` in metres (land where it is not positive), `spacing` of the cells in metres."""

    def __init__(self, depth: np.ndarray, elevation: np.ndarray, spacing: float = SPACING):
        walled = np.pad(depth[1:-1, 1:-1], 1)
        self.depth = wp.array(walled, dtype=float)
        self.now, self.next = still_water(depth.shape), still_water(depth.shape)
        self.now.elevation.assign(np.where(walled > 0.0, elevation, 0.0))
        self.ratio = COURANT / float(np.sqrt(GRAVITY * walled.max()))  # dt / spacing
        self.dt = self.ratio * spacing

    def step(self) -> None:
        """Advance by one time step."""
        rows, columns = self.depth.shape
        inputs = [self.now, self.depth, GRAVITY * self.ratio, self.ratio, self.next]
        wp.launch(advance, dim=(rows - 2, columns - 2), inputs=inputs)
        self.now, self.next = self.next, self.now


def archipelago(cells: int = CELLS) -> tuple[np.ndarray, np.ndarray]:
    """Return the depth of a sea with islands on wide shelves, and the waves that an earthquake leaves on it."""
    rng = np.random.default_rng(5)
    y, x = np.mgrid[:cells, :cells] / cells
    bed = np.full((cells, cells), -4000.0)
    for cx, cy, size in zip(rng.uniform(0.4, 0.92, 15), rng.uniform(0.1, 0.9, 15), rng.uniform(0.008, 0.03, 15)):
        away = np.hypot(x - cx, y - cy) / size
        bed += 2600.0 * np.exp(-((away / 3.0) ** 2)) + 2500.0 * np.exp(-(away**1.4))
    for octave in range(5):  # rough ground
        (kx, ky), phase = 2.0**octave * rng.normal(0.0, 14.0, (2, 4, 1, 1)), rng.uniform(0.0, 6.3, (4, 1, 1))
        bed += 150.0 * 0.6**octave * np.sin(kx * x + ky * y + phase).sum(0)
    across, along = (x - 0.16) / 0.035, (y - 0.5) / 0.12
    return -bed, 5.0 * np.exp(-(across**2) - along**2) * np.cos(4.0 * across)


def shade(sea: Sea) -> np.ndarray:
    """Return a picture of the sea and the land from above, lit from the north-west."""
    light = LightSource(315, 35)
    depth, elevation = sea.depth.numpy(), np.tanh(sea.now.elevation.numpy() / 1.5)
    floor = plt.get_cmap("ocean")(0.86 - 0.42 * np.clip(depth / 4500.0, 0.0, 1.0))[..., :3]
    crest = np.clip(elevation, 0.0, 1.0)[..., None] ** 0.8
    water = light.shade_rgb(floor * (1.0 - 0.75 * crest) + 0.75 * crest, elevation, vert_exag=12.0, blend_mode="soft")
    land = light.shade_rgb(plt.get_cmap("gist_earth")(0.5 - depth / 3500.0)[..., :3], -depth, vert_exag=0.02)
    return np.where((depth > 0.0)[..., None], water, land)[1:-1, 1:-1]


def draw(pictures: list[tuple[float, np.ndarray]], file: str) -> None:
    _, axes = plt.subplots(1, len(pictures), figsize=(9, 3.3))
    for panel, (minutes, picture) in zip(axes, pictures):
        panel.imshow(picture)
        panel.set_title(f"{minutes:.0f} min")
        panel.set_axis_off()
    save(file)


def main(file: str = "shallow_water.jpg", cells: int = CELLS) -> Sea:
    """Simulate, report and draw; return the sea."""
    sea = Sea(*archipelago(cells))
    pictures, steps = [], [int(cells * part / COURANT) for part in (0.22, 0.48, 0.78)]
    first = sea.now.elevation.numpy().astype(float)
    began, waited = time.perf_counter(), 0.0
    for i in track(range(steps[-1] + 1), description="waves"):
        if i in steps:
            pause = time.perf_counter()
            pictures.append((i * sea.dt / 60.0, shade(sea)))
            waited += time.perf_counter() - pause
        sea.step()
    seconds = time.perf_counter() - began - waited
    moved = 28e-9 * cells**2 * i  # reads four numbers of a cell and writes three
    print(f"{i} steps of {cells}² cells in {seconds:.2f} s: {moved / seconds:.1f} GB/s")
    change = (sea.now.elevation.numpy().sum(dtype=float) - first.sum()) / first.clip(0.0).sum()
    print(f"the volume changed by {change:.1e} of what the earthquake raised")
    draw(pictures, file)
    return sea


if __name__ == "__main__":
    main(*sys.argv[1:2])
