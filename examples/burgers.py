"""A wave whose crest overtakes its foot becomes a shock: Burgers' equation by a discontinuous Galerkin method.

    python examples/burgers.py [burgers.png]

The wave moves along the diagonal of a square, each height at its own speed: `du/dt + div(flux(u)) = 0`. Before the
shock, the solution is known: heights move along straight lines. Numbers of a cell are those at its Gauss points, where
the mass matrix is diagonal. Steps in time are those of a Runge-Kutta method, and slopes are limited after each.
"""

from __future__ import annotations

import sys

import numpy as np
from pictures import BLUE, GREY, ORANGE, plt, save

import omni.warp_core as wp
import omni.warp_core.fem as fem

MIDDLE, RADIUS = 0.35, 0.25  # of the wave at the start
STEP = 0.1  # as a part of the size of a cell, which the wave crosses at a speed of 1 along each axis
SHOCK = 2.0**0.5 * RADIUS / np.pi  # when the first heights meet
# What a stage has of the values at the beginning of the step, and of its own; and its part of the step.
STAGES = ((0.0, 1.0), (0.75, 0.25), (1.0 / 3.0, 2.0 / 3.0))


@fem.integrand
def bump(s: fem.Sample, domain: fem.Domain, middle: float, radius: float):
    r = wp.length(domain(s) - wp.vec2(middle, middle))
    return wp.cos(0.5 * wp.pi * wp.min(r / radius, 1.0)) ** 2.0


@wp.func
def flux(u: float):
    return wp.vec2(0.5 * u * u, 0.5 * u * u)


@fem.integrand
def inside(s: fem.Sample, u: fem.Field, v: fem.Field):
    """What flows within cells."""
    return wp.dot(flux(u(s)), fem.grad(v, s))


@fem.integrand
def across(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    """What flows across sides: the middle of both fluxes, and a part of the jump, as fast as the faster side."""
    n = fem.normal(domain, s)
    a, b = fem.inner(u, s), fem.outer(u, s)
    speed = wp.max(wp.abs(a), wp.abs(b)) * wp.abs(n[0] + n[1])
    return -fem.jump(v, s) * (0.5 * wp.dot(flux(a) + flux(b), n) + 0.5 * speed * fem.jump(u, s))


@fem.integrand
def weight(s: fem.Sample, v: fem.Field):
    return v(s)


@wp.kernel
def advance(
    start: wp.array(dtype=float),
    share: wp.vec2,
    step: float,
    rate: wp.array(dtype=float),
    mass: wp.array(dtype=float),
    u: wp.array(dtype=float),
):
    """A stage of a step in time."""
    i = wp.tid()
    u[i] = share[0] * start[i] + share[1] * (u[i] + step * rate[i] / mass[i])


@wp.func
def least(a: float, b: float, c: float):
    """The number nearest to zero if all have one sign, else zero."""
    size = wp.min(wp.abs(a), wp.min(wp.abs(b), wp.abs(c)))
    return wp.where(a * b > 0.0 and a * c > 0.0, wp.sign(a) * size, 0.0)


@wp.func
def mean_of(u: wp.array2d(dtype=wp.vec4), i: int, j: int):
    """The mean of a cell; of the nearest one outside."""
    cell = u[wp.clamp(i, 0, u.shape[0] - 1), wp.clamp(j, 0, u.shape[1] - 1)]
    return 0.25 * (cell[0] + cell[1] + cell[2] + cell[3])


@wp.kernel
def limit(u: wp.array2d(dtype=wp.vec4), limited: wp.array2d(dtype=wp.vec4)):
    """Make the slopes of each cell at most those to its neighbours. Numbers of a cell are at the points
    (-x, -x), (-x, x), (x, -x) and (x, x) from its middle, with x of 1 / sqrt(12).
    """
    i, j = wp.tid()
    c, mean = u[i, j], mean_of(u, i, j)
    x = wp.sqrt(1.0 / 12.0)
    along_x, along_y = (c[2] + c[3] - c[0] - c[1]) / (4.0 * x), (c[1] + c[3] - c[0] - c[2]) / (4.0 * x)
    along_x = x * least(along_x, mean_of(u, i + 1, j) - mean, mean - mean_of(u, i - 1, j))
    along_y = x * least(along_y, mean_of(u, i, j + 1) - mean, mean - mean_of(u, i, j - 1))
    ones = wp.vec4(mean, mean, mean, mean)
    limited[i, j] = ones + along_x * wp.vec4(-1.0, -1.0, 1.0, 1.0) + along_y * wp.vec4(-1.0, 1.0, -1.0, 1.0)


class Wave:
    """A wave on a grid.

    Args:
        cells: Number of cells along each side of the square.
    """

    def __init__(self, cells: int):
        self.geometry = fem.Grid2D(res=(cells, cells))
        points = fem.Polynomial.GAUSS_LEGENDRE
        space = fem.make_polynomial_space(self.geometry, degree=1, discontinuous=True, family=points)
        self.in_cells = fem.make_test(space)
        self.on_sides = fem.make_test(space, domain=fem.Sides(self.geometry))
        self.field = space.make_field()
        fem.interpolate(bump, dest=self.field, values={"middle": MIDDLE, "radius": RADIUS})
        self.mass = fem.integrate(weight, fields={"v": self.in_cells}, assembly="nodal")
        self.rate, self.start = wp.zeros_like(self.mass), wp.zeros_like(self.mass)
        self.limited = wp.zeros((cells, cells), dtype=wp.vec4)
        self.time = 0.0

    def run(self, until: float) -> None:
        """Go on to a time."""
        count = int(np.ceil((until - self.time) * self.geometry.res[0] / STEP))
        step = (until - self.time) / count
        for _ in range(count):
            self._step(step)
        self.time = until

    def _step(self, step: float) -> None:
        u = self.field.dof_values
        of_cells = u.reshape((*self.geometry.res, 4)).view(wp.vec4)
        wp.copy(self.start, u)
        for share in STAGES:
            fem.integrate(inside, fields={"u": self.field, "v": self.in_cells}, output=self.rate)
            fem.integrate(across, fields={"u": self.field, "v": self.on_sides}, output=self.rate, add=True)
            wp.launch(advance, u.size, inputs=[self.start, wp.vec2(*share), step, self.rate, self.mass, u])
            wp.launch(limit, self.limited.shape, inputs=[of_cells, self.limited])
            wp.copy(of_cells, self.limited)

    def means(self) -> np.ndarray:
        """The mean of each cell, as a grid."""
        return self.field.dof_values.numpy().reshape(*self.geometry.res, 4).mean(axis=2)


def heights(middles: np.ndarray, time: float) -> np.ndarray:
    """The solution before the shock, at points of the diagonal."""
    starts = np.linspace(0.0, 1.0, 20_001)
    found = np.cos(0.5 * np.pi * np.minimum(np.sqrt(2.0) * np.abs(starts - MIDDLE) / RADIUS, 1.0)) ** 2
    return np.interp(middles, starts + found * time, found)


def draw(snapshots: list[tuple[float, np.ndarray]], file: str) -> None:
    """The wave at the end, and its heights along the diagonal at all times."""
    _, (picture, graph) = plt.subplots(1, 2, figsize=(8, 3.4), width_ratios=(1, 1.3))
    time, means = snapshots[-1]
    picture.imshow(means.T, origin="lower", extent=(0, 1, 0, 1), cmap="viridis")
    picture.plot([0, 1], [0, 1], color="white", linestyle=":", linewidth=0.8)
    picture.set(title=f"the wave at {time:.2f} s")
    picture.grid(visible=False)
    middles = (np.arange(len(means)) + 0.5) / len(means)
    for when, found in snapshots:
        is_smooth = when < SHOCK
        along = np.diag(found)
        graph.plot(middles, along, color=BLUE if is_smooth else ORANGE)
        graph.text(middles[along.argmax()], along.max() + 0.03, f"{when:g}", ha="center")
        if is_smooth:
            graph.plot(middles[::3], heights(middles, when)[::3], ".", color=GREY, markersize=3)
    graph.set(title="along the diagonal, by time; dots: the solution", xlabel="x = y", ylim=(-0.05, 1.15))
    save(file)


def main(file: str = "burgers.png", cells: int = 96) -> float:
    """Run, tell and draw; gives how much of the wave got lost."""
    wave, snapshots = Wave(cells), []
    for time in (0.0, 0.09, 0.2, 0.4):
        if time:
            wave.run(time)
        snapshots.append((time, wave.means()))
    lost = 1.0 - snapshots[-1][1].sum() / snapshots[0][1].sum()
    steepest = np.abs(np.diff(np.diag(snapshots[-1][1]))).max()
    print(f"the wave falls by {steepest:.2f} from one cell to the next; {abs(lost):.0e} of it got lost")
    draw(snapshots, file)
    return float(lost)


if __name__ == "__main__":
    main(*sys.argv[1:2])
