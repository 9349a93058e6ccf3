"""Let smoke rise around a ball: stable fluids on a staggered grid, with a volume for each frame.

    python examples/smoke.py [picture.jpg]

Hot smoke enters at the floor, rises, and parts at a ball. Each time step moves velocity, smoke and heat along the flow,
lets heat push upwards, and then removes the divergence: a pressure is found by successive over-relaxation, cell by cell
in two colours. Velocities are at the faces of cells, so that the pressure of two neighbours acts on the face between
them. `wp.render.UsdRenderer` writes each frame as a `.nvdb` file beside a USD stage, and `omni-warp preview` draws the
last one.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from blocks import sparse_volume
from pxr import Gf, UsdGeom
from rich.progress import track

import omni.warp_core as wp
from omni.warp_core import cli

CELLS = (64, 96, 64)  # y points up
FPS, FRAMES, STEPS = 24, 38, 2
FLOOR, BALL = (0.16, 0.17, 0.19), (0.55, 0.09, 0.04)

Field = wp.array3d[float]
Vectors = wp.array3d[wp.vec3]  # component c of element i, j, k is at the lower face of that cell along c
Smoke = wp.array3d[wp.vec2]  # density and heat


@wp.struct
class Room:
    """The room and its physics. Lengths are in cells, times in seconds."""

    nx: int
    ny: int
    nz: int
    dt: float
    lift: float  # acceleration by heat 1
    swirl: float  # how much of the rotation that the grid loses is given back
    decay: float  # of heat, per second
    source: wp.vec3
    source_radius: float
    ball: wp.vec3
    ball_radius: float


@wp.func
def is_air(i: int, j: int, k: int, room: Room) -> bool:
    """Return whether smoke can be in a cell. The room has walls and a floor, and no ceiling."""
    inside = i >= 0 and i < room.nx and j >= 0 and k >= 0 and k < room.nz
    place = wp.vec3(float(i) + 0.5, float(j) + 0.5, float(k) + 0.5)
    return inside and wp.length(place - room.ball) > room.ball_radius


@wp.func
def component(v: Vectors, p: wp.vec3, c: int) -> float:
    """Return component c of an array of vectors at a place that counts from element 0, interpolated."""
    x = wp.clamp(p[0], 0.0, float(v.shape[0]) - 1.001)
    y = wp.clamp(p[1], 0.0, float(v.shape[1]) - 1.001)
    z = wp.clamp(p[2], 0.0, float(v.shape[2]) - 1.001)
    i, j, k = int(x), int(y), int(z)
    a, b, w = x - float(i), y - float(j), z - float(k)
    low = (v[i, j, k][c] * (1.0 - w) + v[i, j, k + 1][c] * w) * (1.0 - b)
    low += (v[i, j + 1, k][c] * (1.0 - w) + v[i, j + 1, k + 1][c] * w) * b
    high = (v[i + 1, j, k][c] * (1.0 - w) + v[i + 1, j, k + 1][c] * w) * (1.0 - b)
    high += (v[i + 1, j + 1, k][c] * (1.0 - w) + v[i + 1, j + 1, k + 1][c] * w) * b
    return low * (1.0 - a) + high * a


@wp.func
def velocity_at(v: Vectors, p: wp.vec3) -> wp.vec3:
    """Return the velocity at a place; cell i, j, k has its centre at i + 1/2, j + 1/2, k + 1/2."""
    x = component(v, p - wp.vec3(0.0, 0.5, 0.5), 0)
    y = component(v, p - wp.vec3(0.5, 0.0, 0.5), 1)
    z = component(v, p - wp.vec3(0.5, 0.5, 0.0), 2)
    return wp.vec3(x, y, z)


@wp.func
def origin_of(v: Vectors, p: wp.vec3, dt: float) -> wp.vec3:
    """Return where the air at a place was a time step ago, by the midpoint rule."""
    middle = p - 0.5 * dt * velocity_at(v, p)
    return p - dt * velocity_at(v, middle)


@wp.func
def smoke_at(smoke: Smoke, p: wp.vec3) -> wp.vec2:
    """Return density and heat at a place, interpolated between the centres of cells."""
    x = wp.clamp(p[0] - 0.5, 0.0, float(smoke.shape[0]) - 1.001)
    y = wp.clamp(p[1] - 0.5, 0.0, float(smoke.shape[1]) - 1.001)
    z = wp.clamp(p[2] - 0.5, 0.0, float(smoke.shape[2]) - 1.001)
    i, j, k = int(x), int(y), int(z)
    a, b, w = x - float(i), y - float(j), z - float(k)
    low = (smoke[i, j, k] * (1.0 - w) + smoke[i, j, k + 1] * w) * (1.0 - b)
    low += (smoke[i, j + 1, k] * (1.0 - w) + smoke[i, j + 1, k + 1] * w) * b
    high = (smoke[i + 1, j, k] * (1.0 - w) + smoke[i + 1, j, k + 1] * w) * (1.0 - b)
    high += (smoke[i + 1, j + 1, k] * (1.0 - w) + smoke[i + 1, j + 1, k + 1] * w) * b
    return low * (1.0 - a) + high * a


@wp.kernel
def advect_velocity(v: Vectors, room: Room, moved: Vectors):
    i, j, k = wp.tid()
    corner = wp.vec3(float(i), float(j), float(k))
    result = wp.vec3()
    for c in range(3):
        face = corner + wp.vec3(0.5, 0.5, 0.5)
        face[c] = corner[c]
        before = origin_of(v, face, room.dt)
        shift = wp.vec3(0.5, 0.5, 0.5)
        shift[c] = 0.0
        result[c] = component(v, before - shift, c)
    moved[i, j, k] = result


@wp.kernel
def advect_smoke(v: Vectors, smoke: Smoke, room: Room, moved: Smoke):
    i, j, k = wp.tid()
    here = wp.vec3(float(i) + 0.5, float(j) + 0.5, float(k) + 0.5)
    moved[i, j, k] = smoke_at(smoke, origin_of(v, here, room.dt))


@wp.kernel
def correct_smoke(v: Vectors, smoke: Smoke, moved: Smoke, room: Room, seconds: float, corrected: Smoke):
    """MacCormack: go there and back again, and take half of the difference off. Then add the source."""
    i, j, k = wp.tid()
    here = wp.vec3(float(i) + 0.5, float(j) + 0.5, float(k) + 0.5)
    before = origin_of(v, here, room.dt)
    back = smoke_at(moved, origin_of(v, here, -room.dt))
    value = moved[i, j, k] + 0.5 * (smoke[i, j, k] - back)
    x = wp.clamp(int(before[0] - 0.5), 0, smoke.shape[0] - 2)
    y = wp.clamp(int(before[1] - 0.5), 0, smoke.shape[1] - 2)
    z = wp.clamp(int(before[2] - 0.5), 0, smoke.shape[2] - 2)
    least, most = smoke[x, y, z], smoke[x, y, z]
    for n in range(8):  # no new extremes
        corner = smoke[x + (n >> 2), y + (n >> 1 & 1), z + (n & 1)]
        least, most = wp.min(least, corner), wp.max(most, corner)
    value = wp.min(wp.max(value, least), most)
    value[1] *= wp.exp(-room.decay * room.dt)
    away = wp.length(here - room.source) / room.source_radius
    if away < 1.0:
        state = wp.rand_init(5)
        flicker = 0.75 + 0.6 * wp.noise(state, 0.45 * here + wp.vec3(0.0, -9.0 * seconds, 4.0 * seconds))
        value = wp.max(value, wp.vec2(flicker, flicker) * wp.min(3.0 * (1.0 - away), 1.0))
    if not is_air(i, j, k, room):
        value = wp.vec2()
    corrected[i, j, k] = value


@wp.kernel
def find_rotation(v: Vectors, rotation: Vectors):
    i, j, k = wp.tid()
    a = wp.vec3i(wp.max(i - 1, 0), wp.max(j - 1, 0), wp.max(k - 1, 0))
    b = wp.vec3i(wp.min(i + 1, v.shape[0] - 1), wp.min(j + 1, v.shape[1] - 1), wp.min(k + 1, v.shape[2] - 1))
    dx, dy, dz = v[b[0], j, k] - v[a[0], j, k], v[i, b[1], k] - v[i, a[1], k], v[i, j, b[2]] - v[i, j, a[2]]
    rotation[i, j, k] = 0.5 * wp.vec3(dy[2] - dz[1], dz[0] - dx[2], dx[1] - dy[0])


@wp.kernel
def push(v: Vectors, smoke: Smoke, rotation: Vectors, room: Room, pushed: Vectors):
    """Let heat rise, strengthen eddies (vorticity confinement), and stop the air at faces of walls and of the ball."""
    i, j, k = wp.tid()
    force = wp.vec3(0.0, 0.5 * room.lift * (smoke[i, j, k][1] + smoke[i, wp.max(j - 1, 0), k][1]), 0.0)
    if i > 0 and j > 0 and k > 0 and i < v.shape[0] - 1 and j < v.shape[1] - 1 and k < v.shape[2] - 1:
        uphill = wp.vec3(
            wp.length(rotation[i + 1, j, k]) - wp.length(rotation[i - 1, j, k]),
            wp.length(rotation[i, j + 1, k]) - wp.length(rotation[i, j - 1, k]),
            wp.length(rotation[i, j, k + 1]) - wp.length(rotation[i, j, k - 1]),
        )
        force += room.swirl * wp.cross(uphill / (wp.length(uphill) + 1.0e-4), rotation[i, j, k])
    result = v[i, j, k] + room.dt * force
    here = is_air(i, j, k, room)
    if not (here and is_air(i - 1, j, k, room)):
        result[0] = 0.0
    if not (here and is_air(i, j - 1, k, room)):
        result[1] = 0.0
    if not (here and is_air(i, j, k - 1, room)):
        result[2] = 0.0
    pushed[i, j, k] = result


@wp.func
def divergence(v: Vectors, i: int, j: int, k: int) -> float:
    """Return what flows out of a cell. Air that passes the upper end keeps its speed; walls have none."""
    here, n = v[i, j, k], v.shape[1] - 1
    total = -here[0] - here[1] - here[2]
    if i + 1 < v.shape[0]:
        total += v[i + 1, j, k][0]
    if j < n:
        total += v[i, j + 1, k][1]
    else:
        total += here[1]
    if k + 1 < v.shape[2]:
        total += v[i, j, k + 1][2]
    return total


@wp.kernel
def relax(v: Vectors, room: Room, color: int, weight: float, pressure: Field):
    """One half of a sweep: the cells of one colour, whose neighbours all have the other one."""
    i, j, half = wp.tid()
    k = 2 * half + ((i + j + color) & 1)
    if k >= room.nz or not is_air(i, j, k, room):
        return
    total, count = 0.0, 0.0
    for axis in range(3):
        for side in range(2):
            step = wp.vec3i()
            step[axis] = 2 * side - 1
            x, y, z = i + step[0], j + step[1], k + step[2]
            if is_air(x, y, z, room):
                count += 1.0
                if y < room.ny:  # beyond the upper end the pressure is 0
                    total += pressure[x, y, z]
    if count > 0.0:
        best = (total - divergence(v, i, j, k)) / count
        pressure[i, j, k] += weight * (best - pressure[i, j, k])


@wp.kernel
def project(pressure: Field, room: Room, v: Vectors):
    """Take the gradient of the pressure off. Faces of walls and of the ball stay as they are."""
    i, j, k = wp.tid()
    if not is_air(i, j, k, room):
        return
    here, result = pressure[i, j, k], v[i, j, k]
    if is_air(i - 1, j, k, room):
        result[0] -= here - pressure[i - 1, j, k]
    if is_air(i, j - 1, k, room):
        result[1] -= here - pressure[i, j - 1, k]
    if is_air(i, j, k - 1, room):
        result[2] -= here - pressure[i, j, k - 1]
    v[i, j, k] = result


class Fire:
    """Smoke in a room of so many cells; `changes` to the physics."""

    def __init__(self, cells=CELLS, **changes):
        x, y, z = cells
        settings = {
            "nx": x, "ny": y, "nz": z, "dt": 1.0 / (FPS * STEPS), "lift": 4.2 * y, "swirl": 9.0, "decay": 0.25,
            "source": wp.vec3(0.5 * x, 0.06 * y, 0.5 * z), "source_radius": 0.1 * x,
            "ball": wp.vec3(0.6 * x, 0.42 * y, 0.58 * z), "ball_radius": 0.15 * x,
        }  # fmt: skip
        self.room = Room(**(settings | changes))
        self.v, self._v = (wp.zeros(cells, dtype=wp.vec3) for _ in range(2))
        self.rotation = wp.zeros(cells, dtype=wp.vec3)
        self.smoke, self._moved, self._smoke = (wp.zeros(cells, dtype=wp.vec2) for _ in range(3))
        self.pressure = wp.zeros(cells, dtype=float)
        self.seconds = 0.0

    def make_incompressible(self, sweeps: int = 18) -> None:
        """Find the pressure, starting from that of the last time step, and remove the divergence."""
        x, y, z = self.v.shape
        for sweep in range(2 * sweeps):
            wp.launch(relax, (x, y, (z + 1) // 2), [self.v, self.room, sweep & 1, 1.75, self.pressure])
        wp.launch(project, self.v.shape, [self.pressure, self.room, self.v])

    def step(self) -> None:
        """Advance by one time step."""
        cells, room = self.v.shape, self.room
        wp.launch(advect_smoke, cells, [self.v, self.smoke, room, self._moved])
        wp.launch(correct_smoke, cells, [self.v, self.smoke, self._moved, room, self.seconds, self._smoke])
        wp.launch(advect_velocity, cells, [self.v, room, self._v])
        self.smoke, self._smoke = self._smoke, self.smoke
        wp.launch(find_rotation, cells, [self._v, self.rotation])
        wp.launch(push, cells, [self._v, self.smoke, self.rotation, room, self.v])
        self.make_incompressible()
        self.seconds += room.dt

    def volume(self, spacing: float) -> wp.Volume:
        """Return the density as a sparse volume."""
        return sparse_volume(wp.array(self.smoke.numpy()[..., 0].copy(), dtype=float), spacing, 0.004)


def scene(file: str, cells, spacing: float) -> wp.render.UsdRenderer:
    """Return a renderer with a camera, whose room has the size that the cells have."""
    renderer = wp.render.UsdRenderer(file, fps=FPS)
    camera = UsdGeom.Camera.Define(renderer.stage, "/Camera")
    x, y, z = (spacing * n for n in cells)
    eye, target = Gf.Vec3d(0.5 * x + 1.3 * y, 0.75 * y, 0.5 * z + 1.7 * y), Gf.Vec3d(0.53 * x, 0.46 * y, 0.5 * z)
    camera.AddTransformOp().Set(Gf.Matrix4d().SetLookAt(eye, target, Gf.Vec3d.YAxis()).GetInverse())
    camera.CreateFocalLengthAttr(38.0)
    return renderer


def main(file: str = "smoke.jpg", cells=CELLS, frames: int = FRAMES) -> Fire:
    """Simulate, write each frame, draw the last one; return the fire."""
    fire, spacing = Fire(cells), 2.0 / cells[1]
    stage = os.path.splitext(file)[0] + ".usdc"
    renderer, room = scene(stage, cells, spacing), fire.room
    began = time.perf_counter()
    for frame in track(range(frames), description="smoke"):
        for _ in range(STEPS):
            fire.step()
        renderer.begin_frame(frame / FPS)
        middle = (0.5 * spacing * cells[0], -0.01, 0.5 * spacing * cells[2])
        renderer.render_box("floor", middle, (0.0, 0.0, 0.0, 1.0), (1.6, 0.01, 1.6), color=FLOOR)
        place = [float(spacing * room.ball[axis]) for axis in range(3)]
        renderer.render_sphere("ball", place, (0.0, 0.0, 0.0, 1.0), spacing * (room.ball_radius - 0.5), color=BALL)
        smoke = renderer.render_volume("smoke", fire.volume(spacing), 3 * [0.5 * spacing], grid_class="fogVolume")
        UsdGeom.Gprim(renderer.stage.GetPrimAtPath(smoke)).CreateDisplayOpacityAttr([0.5])
        renderer.end_frame()
    print(f"{frames * STEPS} steps of {np.prod(cells):,} cells in {time.perf_counter() - began:.1f} s")
    renderer.save()
    cli.main(["preview", stage, "--frame", str(frames - 1), "-o", file])
    return fire


if __name__ == "__main__":
    main(*sys.argv[1:2])
