"""Drop a cloth on a turning knot: particles that collide with a moving triangle mesh.

    python examples/mesh_cloth.py [picture.jpg]

The cloth is that of cloth.py. Before each step a kernel moves the points of the mesh and stores their velocities, and
`wp.Mesh.refit` fits its tree to them. Each particle asks for the closest point of the mesh, and whether it is inside.
Friction is relative to the velocity of that point, so the knot winds the cloth up. The program writes the animation as
a USD stage beside the picture; `omni-warp preview` draws the last frame.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from cloth import Physics, Vectors, acceleration
from pxr import Gf, UsdGeom
from rich.progress import track
from shapes import Shape, trefoil, tube

import omni.warp_core as wp
from omni.warp_core import cli

SIDE, SIZE = 72, 1.7  # particles along a side, metres
FPS, FRAMES = 30, 50
TURN, HEIGHT = 1.0, 0.45  # radians per second, metres from the middle of the knot to the cloth


@wp.struct
class Contact:
    """What a particle does near the mesh."""

    thickness: float  # particles stay as far from the surface
    reach: float  # of the search for the closest point: more than a particle moves in a step
    friction: float


@wp.kernel
def turn(rest: wp.array[wp.vec3], angle: float, rate: float, x: wp.array[wp.vec3], v: wp.array[wp.vec3]):
    i = wp.tid()
    up = wp.vec3(0.0, 1.0, 0.0)
    x[i] = wp.quat_rotate(wp.quat_from_axis_angle(up, angle), rest[i])
    v[i] = rate * wp.cross(up, x[i])


@wp.func
def collide(mesh: wp.uint64, x: wp.vec3, v: wp.vec3, contact: Contact):
    """Return position and velocity after contact with the mesh."""
    near = wp.mesh_query_point(mesh, x, contact.reach)
    if not near.result:
        return x, v
    surface = wp.mesh_eval_position(mesh, near.face, near.u, near.v)
    away = near.sign * (x - surface)  # points outwards, also from a particle that is inside
    if near.sign > 0.0 and wp.length(away) >= contact.thickness:
        return x, v
    n = wp.normalize(away)
    carried = wp.mesh_eval_velocity(mesh, near.face, near.u, near.v)
    slip = v - carried
    into = wp.min(wp.dot(slip, n), 0.0)
    along = slip - wp.dot(slip, n) * n
    grip = wp.min(contact.friction * -into / (wp.length(along) + 1e-9), 1.0)
    return surface + contact.thickness * n, v - into * n - grip * along


@wp.kernel
def advance(
    mesh: wp.uint64, x: Vectors, v: Vectors, physics: Physics, contact: Contact, next_x: Vectors, next_v: Vectors
):
    i, j = wp.tid()
    speed = v[i, j] + physics.dt * acceleration(x, v, i, j, physics)
    next_x[i, j], next_v[i, j] = collide(mesh, x[i, j] + physics.dt * speed, speed, contact)


def knot(steps: int = 192, sides: int = 20) -> Shape:
    """Return the knot that the cloth falls on."""
    return tube(1.0 * trefoil(steps), 0.14, sides)


class Drape:
    """A square of `side` x `side` particles that starts flat and at rest above a closed mesh which turns."""

    def __init__(self, shape: Shape, side: int = SIDE, rate: float = TURN):
        points, triangles = shape
        self.rate, self.steps = rate, 0
        self._rest = wp.array(points, dtype=wp.vec3)
        velocities = wp.zeros_like(self._rest)
        self.mesh = wp.Mesh(wp.clone(self._rest), wp.array(triangles.ravel(), dtype=int), velocities)
        rest = SIZE / (side - 1)
        self.physics = Physics(
            dt=1.0 / (FPS * side),
            rest=rest,
            stiffness=250.0 * (side - 1) ** 2,
            damping=0.45 * side,
            gravity=wp.vec3(0.0, -9.81, 0.0),
        )
        self.contact = Contact(thickness=0.012, reach=0.025, friction=0.6)
        z, x = np.meshgrid(*2 * [np.linspace(-SIZE / 2, SIZE / 2, side)], indexing="ij")
        self.x = wp.array(np.stack([x, np.full_like(x, HEIGHT), z], -1), dtype=wp.vec3)
        self.v = wp.zeros((side, side), dtype=wp.vec3)
        self._next = wp.zeros_like(self.x), wp.zeros_like(self.v)

    def step(self) -> None:
        """Advance by one time step: first the mesh, then the cloth."""
        self.steps += 1
        mesh, angle = self.mesh, self.rate * self.steps * self.physics.dt
        wp.launch(turn, mesh.points.size, [self._rest, angle, self.rate], [mesh.points, mesh.velocities])
        mesh.refit()
        now = self.x, self.v
        wp.launch(advance, self.x.shape, [mesh.id, *now, self.physics, self.contact], self._next)
        (self.x, self.v), self._next = self._next, now


class Recording:
    """An animation of the cloth and the mesh as a USD stage."""

    def __init__(self, file: str, drape: Drape):
        self.renderer = wp.render.UsdRenderer(file, fps=FPS)
        side = drape.x.shape[0]
        corner = np.arange(side * (side - 1)).reshape(side - 1, side)[:, :-1].reshape(-1, 1)
        self.faces = corner + np.array([0, side, side + 1, 0, side + 1, 1])
        stripes = (np.arange(side) * 16 // side % 2)[:, None, None]
        self.colors = np.broadcast_to(np.where(stripes, (0.03, 0.14, 0.3), (0.8, 0.76, 0.66)), (side, side, 3))
        camera = UsdGeom.Camera.Define(self.renderer.stage, "/Camera")
        pose = Gf.Matrix4d().SetLookAt(Gf.Vec3d(2.0, 3.4, 4.5), Gf.Vec3d(0.0, -0.15, 0.0), Gf.Vec3d.YAxis())
        camera.AddTransformOp().Set(pose.GetInverse())

    def add(self, frame: int, drape: Drape) -> None:
        """Write both surfaces as a frame."""
        self.renderer.begin_frame(frame / FPS)
        mesh = drape.mesh
        self.renderer.render_mesh("knot", mesh.points, mesh.indices, colors=(0.65, 0.27, 0.06))
        cloth, colors = drape.x.flatten(), self.colors.reshape(-1, 3).astype(np.float32)
        self.renderer.render_mesh("cloth", cloth, self.faces.ravel().astype(np.int32), colors=colors)
        self.renderer.end_frame()


def main(file: str = "mesh_cloth.jpg", side: int = SIDE, frames: int = FRAMES) -> Drape:
    """Simulate, report, write the stage and draw its last frame; return the cloth."""
    drape = Drape(knot(), side)
    stage = os.path.splitext(file)[0] + ".usdc"
    recording = Recording(stage, drape)
    began = time.perf_counter()
    for frame in track(range(frames), description="cloth"):
        for _ in range(side):
            drape.step()
        recording.add(frame, drape)
    print(f"{frames * side:,} steps of {side}² particles in {time.perf_counter() - began:.1f} s")
    recording.renderer.save()
    cli.main(["preview", stage, "--frame", str(frames - 1), "-o", file])
    return drape


if __name__ == "__main__":
    main(*sys.argv[1:2])
