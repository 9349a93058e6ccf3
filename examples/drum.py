"""Mix grains in a turning drum: the discrete element method (DEM) with a hash grid.

    python examples/drum.py [picture.jpg]

Grains are balls of one size. Every time step builds a hash grid of them. Each thread sums up the forces on one grain,
whose neighbours a query of the grid gives. Two grains that overlap push each other like a spring with a damper, and
friction slows their sliding. The drum and its glass plates do the same. Both grains of a pair compute the same force
with opposite signs, so contacts keep momentum. Two steps are captured as a graph, which then runs without Python. The
program writes the animation as a USD stage beside the picture; `omni-warp preview` draws the last frame.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from pxr import Gf, UsdGeom
from rich.progress import track

import omni.warp_core as wp
from omni.warp_core import cli

RADIUS, DEPTH = 0.5, 0.14  # metres, of the drum
GRAIN, FPS, FRAMES = 0.011, 30, 140
COLORS = np.array([(0.75, 0.28, 0.04), (0.04, 0.2, 0.38)], np.float32)

Vectors = wp.array(dtype=wp.vec3)


@wp.struct
class Sand:
    """What decides how grains move, in metres and seconds. Forces are divided by the mass of a grain."""

    dt: float
    radius: float  # of a grain
    stiffness: float  # of a contact, 1/s²
    damping: float  # of the approach in a contact, 1/s
    sliding: float  # friction for each speed of sliding, 1/s; it is never more than Coulomb's
    friction: float  # Coulomb's coefficient
    gravity: wp.vec3
    drum: float  # radius of the drum, which turns about z
    depth: float  # of the drum, from z = 0
    spin: float  # of the drum, rad/s


@wp.func
def contact(overlap: float, n: wp.vec3, slip: wp.vec3, friction: float, sand: Sand) -> wp.vec3:
    """Return the force of a body that a grain overlaps; n points to the grain, whose velocity from there is `slip`."""
    if overlap <= 0.0:
        return wp.vec3()
    along = wp.dot(slip, n)
    push = wp.max(sand.stiffness * overlap - sand.damping * along, 0.0)  # contacts do not pull
    sideways = slip - along * n
    grip = wp.min(sand.sliding, friction * push / (wp.length(sideways) + 1e-9))
    return push * n - grip * sideways


@wp.func
def walls(x: wp.vec3, v: wp.vec3, sand: Sand) -> wp.vec3:
    """Return the force of the drum and of its plates, which are smooth."""
    distance = wp.length(wp.vec2(x.x, x.y)) + 1e-9
    inwards = wp.vec3(-x.x, -x.y, 0.0) / distance
    carried = sand.spin * sand.drum * wp.vec3(inwards.y, -inwards.x, 0.0)
    force = contact(distance + sand.radius - sand.drum, inwards, v - carried, sand.friction, sand)
    force += contact(sand.radius - x.z, wp.vec3(0.0, 0.0, 1.0), v, 0.0, sand)
    force += contact(x.z + sand.radius - sand.depth, wp.vec3(0.0, 0.0, -1.0), v, 0.0, sand)
    return force


@wp.kernel
def advance(grid: wp.uint64, x: Vectors, v: Vectors, sand: Sand, next_x: Vectors, next_v: Vectors):
    i = wp.hash_grid_point_id(grid, wp.tid())
    here, speed, j = x[i], v[i], 0
    force = sand.gravity + walls(here, speed, sand)
    query = wp.hash_grid_query(grid, here, 2.0 * sand.radius)
    while wp.hash_grid_query_next(query, j):
        away = here - x[j]
        distance = wp.length(away)
        if j != i and distance < 2.0 * sand.radius:
            n = away / (distance + 1e-9)
            force += contact(2.0 * sand.radius - distance, n, speed - v[j], sand.friction, sand)
    speed += sand.dt * force
    next_x[i], next_v[i] = here + sand.dt * speed, speed


def heap(grain: float) -> np.ndarray:
    """Return a lattice of grains in the lower half of the drum, a little disturbed; shape (n, 3)."""
    spacing, wall = 2.02 * grain, 1.1 * grain
    sides = (
        np.arange(-RADIUS, RADIUS, spacing),
        np.arange(-RADIUS, 0.0, spacing),
        np.arange(wall, DEPTH - wall, spacing),
    )
    places = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 3)
    places = places[np.hypot(places[:, 0], places[:, 1]) < RADIUS - wall]
    return places + np.random.default_rng(1).uniform(-0.01 * grain, 0.01 * grain, places.shape)


class Drum:
    """Grains at rest in the lower half of a drum; `changes` to the physics."""

    def __init__(self, grain: float = GRAIN, **changes):
        stiffness = 9.81 * RADIUS / grain / (0.1 * grain)  # the lowest grains overlap by a tenth of their radius
        rate = np.sqrt(2.0 * stiffness)  # of the vibration of two grains that touch
        settings = {
            "dt": 0.3 / rate,
            "radius": grain,
            "stiffness": stiffness,
            "damping": 0.3 * rate,
            "sliding": 0.5 * rate,
            "friction": 0.6,
            "gravity": wp.vec3(0.0, -9.81, 0.0),
            "drum": RADIUS,
            "depth": DEPTH,
            "spin": 1.6,
        }
        self.sand = Sand(**(settings | changes))
        self.x = wp.array(heap(grain), dtype=wp.vec3)
        self.v = wp.zeros_like(self.x)
        self._next = wp.zeros_like(self.x), wp.zeros_like(self.v)
        self.grid = wp.HashGrid(*(int(extent / (2.0 * grain)) + 1 for extent in (2.0 * RADIUS, 2.0 * RADIUS, DEPTH)))
        self.grid.reserve(self.x.size)
        self._graph = None

    def step(self) -> None:
        """Advance by one time step."""
        self.grid.build(self.x, 2.0 * self.sand.radius)
        now = self.x, self.v
        wp.launch(advance, self.x.size, [self.grid.id, *now, self.sand], self._next)
        (self.x, self.v), self._next = self._next, now

    def two_steps(self) -> None:
        """Advance by two time steps, after which the state is in the same arrays as before."""
        if self._graph is None:
            with wp.ScopedCapture() as capture:
                self.step()
                self.step()
            self._graph = capture.graph
        wp.capture_launch(self._graph)


def case() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, triangles and their colours: the drum and its back plate, which has a mark on each eighth."""
    turn = np.linspace(0.0, 2.0 * np.pi, 97)
    edge = RADIUS * np.stack([np.cos(turn), np.sin(turn)], 1)
    points = np.concatenate([np.c_[edge, 0.0 * turn], np.c_[edge, 0.0 * turn + DEPTH], np.c_[0.0 * edge, 0.0 * turn]])
    k = np.arange(96)
    wall = np.concatenate([np.c_[k + 98, k + 1, k], np.c_[k + 97, k + 98, k]])
    plate = np.c_[k, k + 1, k + 194]
    colors = np.where((np.r_[k, k, k] % 12 == 0)[:, None], (0.32, 0.3, 0.28), (0.12, 0.115, 0.11))
    return points, np.concatenate([wall, plate]), colors


class Recording:
    """An animation of the drum as a USD stage. Grains have the colour of the side on which they began."""

    def __init__(self, file: str, drum: Drum):
        self.renderer = wp.render.UsdRenderer(file, fps=FPS)
        self.colors = COLORS[(drum.x.numpy()[:, 0] > 0.0).astype(int)]
        camera = UsdGeom.Camera.Define(self.renderer.stage, "/Camera")
        pose = Gf.Matrix4d().SetLookAt(Gf.Vec3d(0.7, 0.4, 3.5), Gf.Vec3d(0.0, 0.0, 0.07), Gf.Vec3d.YAxis())
        camera.AddTransformOp().Set(pose.GetInverse())

    def add(self, frame: int, drum: Drum) -> None:
        """Write the grains and the drum as a frame."""
        half = 0.5 * drum.sand.spin * frame / FPS
        points, triangles, colors = case()
        self.renderer.begin_frame(frame / FPS)
        turned = (0.0, 0.0, np.sin(half), np.cos(half))
        self.renderer.render_mesh("drum", points, triangles, colors=colors, rot=turned, smooth_shading=False)
        self.renderer.render_points("grains", drum.x, radius=drum.sand.radius, colors=self.colors)
        self.renderer.end_frame()


def main(file: str = "drum.jpg", grain: float = GRAIN, frames: int = FRAMES) -> Drum:
    """Simulate, report, write the stage and draw its last frame; return the drum."""
    drum = Drum(grain)
    stage = os.path.splitext(file)[0] + ".usdc"
    recording, pairs = Recording(stage, drum), round(0.5 / (FPS * drum.sand.dt))
    began = time.perf_counter()
    for frame in track(range(frames), description="drum"):
        for _ in range(pairs):
            drum.two_steps()
        recording.add(frame, drum)
    spent = time.perf_counter() - began
    print(f"{2 * pairs * frames:,} steps of {drum.x.size:,} grains in {spent:.1f} s")
    recording.renderer.save()
    cli.main(["preview", stage, "--frame", str(frames - 1), "-o", file])
    return drum


if __name__ == "__main__":
    main(*sys.argv[1:2])
