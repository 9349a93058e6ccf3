"""Let a column of water collapse in a tank: smoothed particle hydrodynamics (SPH) with a hash grid.

    python examples/dam_break.py [picture.jpg]

Every time step builds a hash grid of the particles. One launch sums up the density at each particle, another one the
forces of pressure and viscosity between it and its neighbours. Both ends of a pair compute the same force with opposite
signs, so the forces keep momentum. Walls are mirrors, behind which the water goes on. Two steps are captured as a
graph, which then runs without Python. The program writes the animation as a USD stage beside the picture;
`omni-warp preview` draws the last frame.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from pxr import Gf, Usd, UsdGeom, Vt
from rich.progress import track

import omni.warp_core as wp
from omni.warp_core import cli

TANK = (1.6, 0.9, 0.36)  # metres; y points up
COLUMN = (0.5, 0.6, 0.36)
SPACING, FPS, FRAMES = 0.03, 30, 21
GRAVITY, REST_DENSITY = 9.81, 1000.0

Vectors = wp.array(dtype=wp.vec3)
Numbers = wp.array(dtype=float)


@wp.struct
class Fluid:
    """What decides how the water moves, in metres, seconds and kilograms."""

    dt: float
    support: float  # particles interact if they are closer
    scale: float  # of `weight`, so that its integral over space is 1
    mass: float  # of a particle
    sound: float  # speed; the water is nearly incompressible if this is ten times its own
    viscosity: float  # of pairs that approach each other, without a unit
    gravity: float
    low: wp.vec3  # corners of the tank
    high: wp.vec3


@wp.func
def fourth_power(x: float) -> float:
    """Return x⁴ without a call of pow()."""
    return (x * x) * (x * x)


@wp.func
def weight(distance: float, fluid: Fluid) -> float:
    """Return Wendland's C2 function in three dimensions."""
    s = wp.min(distance / fluid.support, 1.0)
    return fluid.scale * fourth_power(1.0 - s) * (1.0 + 4.0 * s)


@wp.func
def slope(distance: float, fluid: Fluid) -> float:
    """Return the factor that makes the gradient of `weight` of the difference of two places."""
    left = 1.0 - wp.min(distance / fluid.support, 1.0)
    return -20.0 * fluid.scale / (fluid.support * fluid.support) * (left * left * left)


@wp.func
def pressure(density: float, fluid: Fluid) -> float:
    """Return the pressure by Tait's equation. Water that thins out splashes; it does not pull."""
    ratio = wp.max(density / REST_DENSITY, 1.0)
    seventh_power = fourth_power(ratio) * ratio * ratio * ratio
    return fluid.sound * fluid.sound * REST_DENSITY / 7.0 * (seventh_power - 1.0)


@wp.func
def is_seen(here: float, there: float, wall: float, support: float):
    """Return whether the image of `there` in a wall may be near; all are coordinates across the wall."""
    return wp.abs(here + there - 2.0 * wall) < support


@wp.func
def in_mirror(place: wp.vec3, axis: int, wall: float) -> wp.vec3:
    """Return the place behind a wall that looks like `place` in front of it."""
    place[axis] = 2.0 * wall - place[axis]
    return place


@wp.kernel
def find_density(grid: wp.uint64, x: Vectors, fluid: Fluid, density: Numbers):
    i = wp.hash_grid_point_id(grid, wp.tid())
    here, total, j = x[i], 0.0, 0
    query = wp.hash_grid_query(grid, here, fluid.support)
    while wp.hash_grid_query_next(query, j):
        there = x[j]
        total += weight(wp.length(here - there), fluid)
        for k in range(3):  # the water goes on behind walls, as in a mirror
            if is_seen(here[k], there[k], fluid.low[k], fluid.support):
                total += weight(wp.length(here - in_mirror(there, k, fluid.low[k])), fluid)
            if is_seen(here[k], there[k], fluid.high[k], fluid.support):
                total += weight(wp.length(here - in_mirror(there, k, fluid.high[k])), fluid)
    density[i] = fluid.mass * total


@wp.func
def interaction(dx: wp.vec3, dv: wp.vec3, density: float, other: float, fluid: Fluid) -> wp.vec3:
    """Return the acceleration by a neighbour; `dx` and `dv` are the place and velocity seen from there."""
    if wp.length_sq(dx) >= fluid.support * fluid.support:
        return wp.vec3()
    along = wp.min(wp.dot(dx, dv), 0.0)
    nearness = 0.5 * fluid.support * along / (wp.length_sq(dx) + 0.0025 * fluid.support * fluid.support)
    push = pressure(density, fluid) / (density * density) + pressure(other, fluid) / (other * other)
    friction = -2.0 * fluid.viscosity * fluid.sound * nearness / (density + other)
    return -fluid.mass * (push + friction) * slope(wp.length(dx), fluid) * dx


@wp.kernel
def advance(grid: wp.uint64, x: Vectors, v: Vectors, density: Numbers, fluid: Fluid, next_x: Vectors, next_v: Vectors):
    i = wp.hash_grid_point_id(grid, wp.tid())
    here, speed, d = x[i], v[i], density[i]
    force, j = wp.vec3(0.0, -fluid.gravity, 0.0), 0
    query = wp.hash_grid_query(grid, here, fluid.support)
    while wp.hash_grid_query_next(query, j):
        there = x[j]
        force += interaction(here - there, speed - v[j], d, density[j], fluid)
        for k in range(3):
            image = in_mirror(v[j], k, 0.0)
            if is_seen(here[k], there[k], fluid.low[k], fluid.support):
                force += interaction(here - in_mirror(there, k, fluid.low[k]), speed - image, d, density[j], fluid)
            if is_seen(here[k], there[k], fluid.high[k], fluid.support):
                force += interaction(here - in_mirror(there, k, fluid.high[k]), speed - image, d, density[j], fluid)
    speed += fluid.dt * force
    place = here + fluid.dt * speed
    for k in range(3):  # nothing leaves the tank
        if place[k] < fluid.low[k] or place[k] > fluid.high[k]:
            place[k] = wp.clamp(place[k], fluid.low[k], fluid.high[k])
            speed[k] = 0.0
    next_x[i], next_v[i] = place, speed


def lattice(size, spacing: float) -> np.ndarray:
    """Return the centres of the cubes of `spacing` that fill a block."""
    axes = [np.arange(0.5 * spacing, extent, spacing) for extent in size]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)


def particle_mass(spacing: float, support: float, scale: float) -> float:
    """Return the mass that gives a cubic lattice of particles the density of water."""
    reach = int(support / spacing) + 1
    s = spacing * np.linalg.norm(lattice(3 * [2 * reach + 1], 1.0) - reach - 0.5, axis=1) / support
    s = s[s < 1.0]
    return REST_DENSITY / (scale * (1.0 - s) ** 4 * (1.0 + 4.0 * s)).sum()


class Water:
    """Particles that fill a column at one end of the tank, at rest; `changes` to the physics."""

    def __init__(self, spacing: float = SPACING, **changes):
        support = 2.6 * spacing
        scale = 21.0 / (2.0 * np.pi * support**3)
        sound = 10.0 * np.sqrt(2.0 * GRAVITY * COLUMN[1])
        settings = {
            "dt": 0.2 * support / sound,
            "support": support,
            "scale": scale,
            "mass": particle_mass(spacing, support, scale),
            "sound": sound,
            "viscosity": 0.08,
            "gravity": GRAVITY,
            "low": wp.vec3(),
            "high": wp.vec3(*TANK),
        }
        self.fluid = Fluid(**(settings | changes))
        self.x = wp.array(lattice(COLUMN, spacing), dtype=wp.vec3)
        self.v = wp.zeros_like(self.x)
        self.density = wp.zeros(self.x.size, dtype=float)
        self._next = wp.zeros_like(self.x), wp.zeros_like(self.v)
        self.grid = wp.HashGrid(*(int(extent / support) + 1 for extent in TANK))
        self.grid.reserve(self.x.size)
        self._graph = None

    def measure(self) -> None:
        """Sort the particles into the grid, and find the density at each."""
        self.grid.build(self.x, self.fluid.support)
        wp.launch(find_density, self.x.size, [self.grid.id, self.x, self.fluid], [self.density])

    def step(self) -> None:
        """Advance by one time step."""
        self.measure()
        now = self.x, self.v
        wp.launch(advance, self.x.size, [self.grid.id, *now, self.density, self.fluid], self._next)
        (self.x, self.v), self._next = self._next, now

    def two_steps(self) -> None:
        """Advance by two time steps, after which the state is in the same arrays as before."""
        if self._graph is None:
            with wp.ScopedCapture() as capture:
                self.step()
                self.step()
            self._graph = capture.graph
        wp.capture_launch(self._graph)


class Recording:
    """An animation of the water as a USD stage, coloured by speed."""

    def __init__(self, file: str, spacing: float):
        self.stage = Usd.Stage.CreateNew(file)
        self.stage.SetFramesPerSecond(FPS)
        self.stage.SetTimeCodesPerSecond(FPS)
        UsdGeom.SetStageUpAxis(self.stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        self.points = UsdGeom.Points.Define(self.stage, "/Water")
        self.points.CreateWidthsAttr([1.1 * spacing])
        self.points.SetWidthsInterpolation("constant")
        self.colors = self.points.CreateDisplayColorPrimvar("vertex")
        floor = UsdGeom.Mesh.Define(self.stage, "/Floor")
        x, _, z = TANK
        floor.CreatePointsAttr([(0, 0, 0), (0, 0, z), (x, 0, z), (x, 0, 0)])
        floor.CreateFaceVertexCountsAttr([4])
        floor.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
        floor.CreateDisplayColorAttr([(0.35, 0.33, 0.3)])
        camera = UsdGeom.Camera.Define(self.stage, "/Camera")
        pose = Gf.Matrix4d().SetLookAt(Gf.Vec3d(1.2, 1.1, 3.1), Gf.Vec3d(0.85, 0.36, 0.18), Gf.Vec3d.YAxis())
        camera.AddTransformOp().Set(pose.GetInverse())

    def add(self, frame: int, water: Water) -> None:
        """Write the particles as the points of a frame."""
        speed = np.minimum(np.linalg.norm(water.v.numpy(), axis=1, keepdims=True) / 3.0, 1.0)
        colors = (1.0 - speed) * (0.02, 0.16, 0.5) + speed * (0.75, 0.9, 1.0)
        self.points.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(water.x.numpy()), frame)
        self.colors.Set(Vt.Vec3fArray.FromNumpy(colors.astype(np.float32)), frame)
        self.stage.SetEndTimeCode(frame)


def main(file: str = "dam_break.jpg", spacing: float = SPACING, frames: int = FRAMES) -> Water:
    """Simulate, report, write the stage and draw its last frame; return the water."""
    water = Water(spacing)
    stage = os.path.splitext(file)[0] + ".usdc"
    recording, pairs = Recording(stage, spacing), round(0.5 / (FPS * water.fluid.dt))
    began = time.perf_counter()
    for frame in track(range(frames), description="dam break"):
        for _ in range(pairs):
            water.two_steps()
        recording.add(frame, water)
    spent = time.perf_counter() - began
    print(f"{2 * pairs * frames:,} steps of {water.x.size:,} particles in {spent:.1f} s")
    recording.stage.Save()
    cli.main(["preview", stage, "--frame", str(frames - 1), "-o", file])
    return water


if __name__ == "__main__":
    main(*sys.argv[1:2])
