"""Drop a cloth on a ball: particles and springs, one launch a time step.

    python examples/cloth.py [picture.jpg]

Each thread sums up the forces on one particle, so no two threads write to the same element. The two ends of a spring
compute the same force with opposite signs, so springs keep the momentum of the cloth. The program writes the animation
as a USD stage beside the picture; `omni-warp preview` draws the last frame. The cloth does not collide with itself.
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

SIDE, SIZE = 128, 2.0  # particles along a side, metres
FPS, FRAMES = 30, 70
BALL, RADIUS = wp.vec3(0.0, 0.35, 0.0), 0.6

Vectors = wp.array2d[wp.vec3]


@wp.struct
class Physics:
    """What decides how a cloth moves, in metres and seconds."""

    dt: float
    rest: float  # length of the springs along the sides of the grid
    stiffness: float  # of a spring per mass of a particle, 1/s²
    damping: float  # of the change of its length, 1/s
    gravity: wp.vec3
    ball: wp.vec3
    radius: float
    friction: float


@wp.func
def spring(dx: wp.vec3, dv: wp.vec3, rest: float, physics: Physics) -> wp.vec3:
    """Return the acceleration by a spring to a neighbour; `dx` and `dv` are relative position and velocity."""
    length = wp.length(dx)
    direction = dx / length
    return (physics.stiffness * (length - rest) + physics.damping * wp.dot(dv, direction)) * direction


@wp.func
def collide(x: wp.vec3, v: wp.vec3, physics: Physics):
    """Return position and velocity after contact with the ball."""
    away = x - physics.ball
    distance = wp.length(away)
    if distance >= physics.radius:
        return x, v
    n = away / distance
    into = wp.min(wp.dot(v, n), 0.0)
    along = v - wp.dot(v, n) * n
    grip = wp.min(physics.friction * -into / (wp.length(along) + 1e-9), 1.0)
    return physics.ball + physics.radius * n, v - into * n - grip * along


@wp.func
def acceleration(x: Vectors, v: Vectors, i: int, j: int, physics: Physics) -> wp.vec3:
    """Return the acceleration of a particle by gravity and its springs."""
    force = physics.gravity
    for a in range(-2, 3):
        for b in range(-2, 3):
            squared = a * a + b * b
            if squared in (1, 2, 4):  # neighbours along the sides, along the diagonals, and the second along the sides
                m, n = i + a, j + b
                if 0 <= m < x.shape[0] and 0 <= n < x.shape[1]:
                    rest = physics.rest * wp.sqrt(float(squared))
                    force += spring(x[m, n] - x[i, j], v[m, n] - v[i, j], rest, physics)
    return force


@wp.kernel
def advance(x: Vectors, v: Vectors, physics: Physics, next_x: Vectors, next_v: Vectors):
    i, j = wp.tid()
    speed = v[i, j] + physics.dt * acceleration(x, v, i, j, physics)
    next_x[i, j], next_v[i, j] = collide(x[i, j] + physics.dt * speed, speed, physics)


class Cloth:
    """A square of `side` x `side` particles that starts flat and at rest above the ball; `changes` to its physics."""

    def __init__(self, side: int = SIDE, **changes):
        rest = SIZE / (side - 1)
        # Finer grids need stiffer springs for the same cloth, and a shorter time step for these.
        settings = {
            "dt": 1.0 / (FPS * side),
            "rest": rest,
            "stiffness": 250.0 * (side - 1) ** 2,
            "damping": 0.45 * side,
        }
        settings |= {"gravity": wp.vec3(0.0, -9.81, 0.0), "ball": BALL, "radius": RADIUS, "friction": 0.35}
        self.physics = Physics(**(settings | changes))
        z, x = np.meshgrid(*2 * [np.linspace(-SIZE / 2, SIZE / 2, side)], indexing="ij")
        flat = np.stack([x, np.full_like(x, BALL.y + RADIUS + 0.05), z], -1)
        self.x, self.v = wp.array(flat, dtype=wp.vec3), wp.zeros((side, side), dtype=wp.vec3)
        self._next = wp.zeros_like(self.x), wp.zeros_like(self.v)

    def step(self) -> None:
        """Advance by one time step."""
        now = self.x, self.v
        wp.launch(advance, dim=self.x.shape, inputs=[*now, self.physics], outputs=self._next)
        (self.x, self.v), self._next = self._next, now


class Recording:
    """An animation of a cloth as a USD stage."""

    def __init__(self, file: str, cloth: Cloth):
        self.stage = Usd.Stage.CreateNew(file)
        self.stage.SetFramesPerSecond(FPS)
        self.stage.SetTimeCodesPerSecond(FPS)
        UsdGeom.SetStageUpAxis(self.stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        side = cloth.x.shape[0]
        corner = np.arange(side * (side - 1)).reshape(side - 1, side)[:, :-1].ravel()
        self.mesh = UsdGeom.Mesh.Define(self.stage, "/Cloth")
        self.mesh.CreateFaceVertexCountsAttr(np.full(len(corner), 4, np.int32))
        self.mesh.CreateFaceVertexIndicesAttr(
            np.stack([corner, corner + side, corner + side + 1, corner + 1], -1).astype(np.int32).ravel()
        )
        squares = np.add.outer(*2 * [np.arange(side) * 12 // side]) % 2
        colors = np.where(squares.ravel()[:, None], (0.75, 0.06, 0.05), (0.85, 0.8, 0.7)).astype(np.float32)
        self.mesh.CreateDisplayColorPrimvar("vertex").Set(Vt.Vec3fArray.FromNumpy(colors))
        ball = UsdGeom.Points.Define(self.stage, "/Ball")
        ball.CreatePointsAttr([Gf.Vec3f(*BALL)])
        ball.CreateWidthsAttr([1.96 * RADIUS])
        ball.CreateDisplayColorAttr([Gf.Vec3f(0.1, 0.25, 0.45)])
        camera = UsdGeom.Camera.Define(self.stage, "/Camera")
        pose = Gf.Matrix4d().SetLookAt(Gf.Vec3d(3.0, 2.9, 4.0), Gf.Vec3d(0.0, 0.4, 0.0), Gf.Vec3d.YAxis())
        camera.AddTransformOp().Set(pose.GetInverse())

    def add(self, frame: int, cloth: Cloth) -> None:
        """Write the particles as the points of a frame."""
        points = Vt.Vec3fArray.FromNumpy(cloth.x.numpy().reshape(-1, 3))
        self.mesh.GetPointsAttr().Set(points, frame)
        self.stage.SetEndTimeCode(frame)


def main(file: str = "cloth.jpg", side: int = SIDE, frames: int = FRAMES) -> Cloth:
    """Simulate, report, write the stage and draw its last frame; return the cloth."""
    cloth = Cloth(side)
    stage = os.path.splitext(file)[0] + ".usdc"
    recording = Recording(stage, cloth)
    began = time.perf_counter()
    for frame in track(range(frames), description="cloth"):
        for _ in range(side):
            cloth.step()
        recording.add(frame, cloth)
    print(f"{frames * side:,} steps of {side}² particles in {time.perf_counter() - began:.1f} s")
    recording.stage.Save()
    cli.main(["preview", stage, "--frame", str(frames - 1), "-o", file])
    return cloth


if __name__ == "__main__":
    main(*sys.argv[1:2])
