"""Let a column of 6,000 balls collapse into a heap: discrete elements (DEM) with a hash grid.

    python examples/granular_column.py [picture.jpg]

Balls that overlap push each other apart like springs and lose energy like dampers. They rub by Coulomb's law, which
also makes them spin. (Cundall and Strack, "A discrete numerical model for granular assemblies", 1979. Friction is
viscous at rest here.) Every time step builds a hash grid of the balls, and one launch sums up the forces on each. Both
ends of a contact compute the same force with opposite signs, so contacts keep momentum and angular momentum. Steps are
captured as a graph. The program writes the animation as a USD stage beside the picture, and `omni-warp preview` draws
the last frame.
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

RADIUS, DENSITY, GRAVITY = 0.007, 2500.0, 9.81  # metres, kilograms for a cubic metre
COLUMN = (0.13, 0.30)  # radius and height
FPS, FRAMES = 30, 19
LAYERS = ((0.80, 0.30, 0.10), (0.93, 0.75, 0.42), (0.16, 0.38, 0.52), (0.90, 0.88, 0.80))

Vectors = wp.array(dtype=wp.vec3)


@wp.struct
class Grains:
    """What decides how the balls move, in metres, seconds and kilograms."""

    dt: float
    radius: float
    mass: float
    inertia: float  # of a ball about its centre
    stiffness: float  # force of a contact for each metre of overlap
    damping: float  # force for each metre a second at which balls approach
    rubbing: float  # force for each metre a second at which surfaces slide, up to friction
    friction: float  # the largest force of friction, as a part of that of the contact
    gravity: float


@wp.struct
class Push:
    """A force on a ball, and its torque."""

    force: wp.vec3
    torque: wp.vec3


@wp.func
def contact(normal: wp.vec3, overlap: float, slip: wp.vec3, grains: Grains) -> Push:
    """Return what a contact does to a ball.

    `normal` points to the ball, and `slip` is how fast its surface moves there, seen from the other side.
    """
    push = Push()
    if overlap <= 0.0:
        return push
    approach = wp.dot(slip, normal)
    pressure = wp.max(grains.stiffness * overlap - grains.damping * approach, 0.0)  # balls do not stick
    sliding = slip - approach * normal
    speed = wp.length(sliding)
    rub = wp.min(grains.friction * pressure, grains.rubbing * speed)
    push.force = pressure * normal
    if speed > 0.0:
        push.force -= rub / speed * sliding
    push.torque = -grains.radius * wp.cross(normal, push.force)
    return push


@wp.kernel
def advance(
    grid: wp.uint64,
    x: Vectors,
    v: Vectors,
    w: Vectors,
    grains: Grains,
    next_x: Vectors,
    next_v: Vectors,
    next_w: Vectors,
):
    i = wp.hash_grid_point_id(grid, wp.tid())
    here, speed, spin = x[i], v[i], w[i]
    force, torque, j = wp.vec3(0.0, -grains.gravity * grains.mass, 0.0), wp.vec3(), 0
    query = wp.hash_grid_query(grid, here, 2.0 * grains.radius)
    while wp.hash_grid_query_next(query, j):
        away = here - x[j]
        distance = wp.length(away)
        if j != i and distance > 0.0:
            normal = away / distance
            slip = speed - v[j] - grains.radius * wp.cross(spin + w[j], normal)
            push = contact(normal, 2.0 * grains.radius - distance, slip, grains)
            force += push.force
            torque += push.torque
    up = wp.vec3(0.0, 1.0, 0.0)
    floor = contact(up, grains.radius - here[1], speed - grains.radius * wp.cross(spin, up), grains)
    speed += grains.dt / grains.mass * (force + floor.force)
    next_w[i] = spin + grains.dt / grains.inertia * (torque + floor.torque)
    next_x[i], next_v[i] = here + grains.dt * speed, speed


def column(radius: float, height: float, spacing: float) -> np.ndarray:
    """Return the places of balls on a lattice in a cylinder, each moved a little at random."""
    n = int(radius / spacing) + 1
    axis = spacing * np.arange(-n, n + 1)
    x, y, z = np.meshgrid(axis, spacing * (np.arange(int(height / spacing)) + 0.5), axis, indexing="ij")
    places = np.stack([x, y, z], -1).reshape(-1, 3)
    places = places[np.hypot(places[:, 0], places[:, 2]) < radius]
    return places + np.random.default_rng(7).uniform(-0.01, 0.01, places.shape) * spacing


class Heap:
    """Balls at rest at some places; `changes` to the physics."""

    def __init__(self, places: np.ndarray, **changes):
        radius = changes.get("radius", RADIUS)
        mass = DENSITY * 4.0 / 3.0 * np.pi * radius**3
        stiffness = 4000.0
        settings = {
            "dt": 0.12 * np.sqrt(mass / stiffness),
            "radius": radius,
            "mass": mass,
            "inertia": 0.4 * mass * radius**2,
            "stiffness": stiffness,
            "damping": 0.5 * np.sqrt(mass * stiffness),
            "rubbing": 0.5 * np.sqrt(mass * stiffness),
            "friction": 0.7,
            "gravity": GRAVITY,
        }
        self.grains = Grains(**(settings | changes))
        self.x = wp.array(places, dtype=wp.vec3)
        self.v, self.w = wp.zeros_like(self.x), wp.zeros_like(self.x)
        self._next = tuple(map(wp.zeros_like, (self.x, self.v, self.w)))
        self.grid = wp.HashGrid(32, 16, 32)
        self.grid.reserve(self.x.size)
        self._graph = None

    def step(self) -> None:
        """Advance by one time step."""
        now = self.x, self.v, self.w
        self.grid.build(self.x, 2.0 * self.grains.radius)
        wp.launch(advance, self.x.size, [self.grid.id, *now, self.grains], self._next)
        (self.x, self.v, self.w), self._next = self._next, now

    def two_steps(self) -> None:
        """Advance by two time steps, after which the state is in the same arrays as before."""
        if self._graph is None:
            with wp.ScopedCapture() as capture:
                self.step()
                self.step()
            self._graph = capture.graph
        wp.capture_launch(self._graph)


class Recording:
    """An animation of the balls as a USD stage, coloured by the layer in which each began."""

    def __init__(self, file: str, heap: Heap):
        self.stage = Usd.Stage.CreateNew(file)
        self.stage.SetFramesPerSecond(FPS)
        self.stage.SetTimeCodesPerSecond(FPS)
        UsdGeom.SetStageUpAxis(self.stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        self.points = UsdGeom.Points.Define(self.stage, "/Balls")
        self.points.CreateWidthsAttr([2.0 * heap.grains.radius])
        self.points.SetWidthsInterpolation("constant")
        layer = (heap.x.numpy()[:, 1] / COLUMN[1] * len(LAYERS)).astype(int) % len(LAYERS)
        colors = self.points.CreateDisplayColorPrimvar("vertex")
        colors.Set(Vt.Vec3fArray.FromNumpy(np.array(LAYERS, np.float32)[layer]))
        floor = UsdGeom.Mesh.Define(self.stage, "/Floor")
        floor.CreatePointsAttr([(-1, 0, -1), (-1, 0, 1), (1, 0, 1), (1, 0, -1)])
        floor.CreateFaceVertexCountsAttr([4])
        floor.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
        floor.CreateDisplayColorAttr([(0.30, 0.30, 0.32)])
        camera = UsdGeom.Camera.Define(self.stage, "/Camera")
        pose = Gf.Matrix4d().SetLookAt(Gf.Vec3d(0.55, 0.85, 1.75), Gf.Vec3d(0.0, 0.02, 0.0), Gf.Vec3d.YAxis())
        camera.AddTransformOp().Set(pose.GetInverse())

    def add(self, frame: int, heap: Heap) -> None:
        """Write the balls as the points of a frame."""
        self.points.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(heap.x.numpy()), frame)
        self.stage.SetEndTimeCode(frame)


def main(file: str = "granular_column.jpg", radius: float = RADIUS, frames: int = FRAMES) -> Heap:
    """Simulate, report, write the stage and draw its last frame; return the balls."""
    heap = Heap(column(*COLUMN, 2.0 * radius), radius=radius)
    stage = os.path.splitext(file)[0] + ".usdc"
    recording, pairs = Recording(stage, heap), round(0.5 / (FPS * heap.grains.dt))
    began = time.perf_counter()
    for frame in track(range(frames), description="granular column"):
        recording.add(frame, heap)
        for _ in range(pairs):
            heap.two_steps()
    spent = time.perf_counter() - began
    print(f"{2 * pairs * frames:,} steps of {heap.x.size:,} balls in {spent:.1f} s")
    recording.stage.Save()
    cli.main(["preview", stage, "--frame", str(frames - 1), "-o", file])
    return heap


if __name__ == "__main__":
    main(*sys.argv[1:2])
