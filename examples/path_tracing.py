"""Trace paths of light through a scene that is a signed distance function.

    python examples/path_tracing.py [picture.jpg]

The function returns the distance of a point to the nearest surface. A ray can travel so far at once without missing a
surface. Each thread follows one path from a pixel: surfaces turn the path into a random direction until it reaches the
sky. On its way the path collects the light of the lamps. Each launch adds one path to each pixel.
"""

from __future__ import annotations

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from rich.progress import track

import omni.warp_core as wp

WIDTH, HEIGHT, PASSES = 640, 400, 200
BOUNCES, MARCH = 8, 160  # how long a path and a ray may be, in surfaces and in steps
NEAR, FAR = wp.constant(0.0005), wp.constant(30.0)


@wp.struct
class Material:
    """What a surface does with light."""

    albedo: wp.vec3  # fraction of the light that leaves the surface again
    emission: wp.vec3
    mirror: float  # fraction of the paths that a mirror reflects; the others scatter


@wp.struct
class View:
    """A camera and the sky."""

    eye: wp.vec3
    turn: wp.quat  # rotation of the camera, which looks along -z without it
    focus: float  # focal length divided by the height of the picture
    horizon: wp.vec3  # radiance of the sky there
    zenith: wp.vec3


def tracer(scene: wp.Function) -> wp.Kernel:
    """Return the kernel for a scene: a function of a point that returns its distance and the index of the material."""

    @wp.func
    def normal(p: wp.vec3) -> wp.vec3:
        a, b = wp.vec3(1.0, -1.0, -1.0), wp.vec3(-1.0, -1.0, 1.0)
        c, d = wp.vec3(-1.0, 1.0, -1.0), wp.vec3(1.0, 1.0, 1.0)
        slope = a * scene(p + a * NEAR)[0] + b * scene(p + b * NEAR)[0]
        return wp.normalize(slope + c * scene(p + c * NEAR)[0] + d * scene(p + d * NEAR)[0])

    @wp.func
    def march(origin: wp.vec3, direction: wp.vec3) -> float:
        """Return the distance to the first surface, or -1 if the ray leaves the scene."""
        t = 0.0
        for _ in range(MARCH):
            d, _material = scene(origin + t * direction)
            if d < NEAR:
                return t
            t += d
            if t > FAR:
                break
        return -1.0

    @wp.kernel
    def trace(view: View, materials: wp.array[Material], index: int, picture: wp.array2d[wp.vec3]):
        i, j = wp.tid()
        rows, columns = picture.shape[0], picture.shape[1]
        state = wp.rand_init(index, i * columns + j)
        x = (float(j) + wp.randf(state) - 0.5 * float(columns)) / float(rows)
        y = (0.5 * float(rows) - float(i) - wp.randf(state)) / float(rows)
        direction = wp.quat_rotate(view.turn, wp.normalize(wp.vec3(x, y, -view.focus)))
        origin = view.eye
        weight, light = wp.vec3(1.0), wp.vec3(0.0)
        for _ in range(BOUNCES):
            t = march(origin, direction)
            if t < 0.0:
                light += wp.cw_mul(weight, wp.lerp(view.horizon, view.zenith, wp.max(direction.y, 0.0)))
                break
            p = origin + t * direction
            n = normal(p)
            m = materials[scene(p)[1]]
            light += wp.cw_mul(weight, m.emission)
            weight = wp.cw_mul(weight, m.albedo)
            if wp.randf(state) < m.mirror:
                direction = direction - 2.0 * wp.dot(direction, n) * n
            else:  # the density of these directions is the cosine to the normal, divided by pi
                direction = wp.normalize(n + wp.sample_unit_sphere_surface(state))
            origin = p + 4.0 * NEAR * n
        picture[i, j] += light

    return trace


@wp.func
def sphere(p: wp.vec3, center: wp.vec3, radius: float) -> float:
    return wp.length(p - center) - radius


@wp.func
def gyroid(p: wp.vec3) -> float:
    """Return the distance to a ball that a periodic surface carves."""
    q = 7.5 * p
    labyrinth = wp.dot(wp.vec3(wp.sin(q.x), wp.sin(q.y), wp.sin(q.z)), wp.vec3(wp.cos(q.y), wp.cos(q.z), wp.cos(q.x)))
    return wp.max(wp.length(p) - 1.0, (wp.abs(labyrinth) - 0.3) / 16.0)


@wp.func
def nearer(d0: float, material0: int, d1: float, material1: int):
    if d1 < d0:
        return d1, material1
    return d0, material0


@wp.func
def still_life(p: wp.vec3):
    """A carved ball with a lamp inside, two mirrors, two blue balls, and the floor."""
    d, m = nearer(p.y + 1.0, 0, gyroid(p), 1)
    d, m = nearer(d, m, sphere(p, wp.vec3(0.0), 0.55), 2)
    mirrors = wp.min(sphere(p, wp.vec3(1.75, -0.4, -0.5), 0.6), sphere(p, wp.vec3(-1.5, -0.65, 0.75), 0.35))
    d, m = nearer(d, m, mirrors, 3)
    blue = wp.min(sphere(p, wp.vec3(-1.75, -0.5, -0.6), 0.5), sphere(p, wp.vec3(1.15, -0.75, 0.9), 0.25))
    return nearer(d, m, blue, 4)


MATERIALS = [
    Material(wp.vec3(0.62, 0.6, 0.58), wp.vec3(0.0), 0.0),
    Material(wp.vec3(0.85, 0.83, 0.8), wp.vec3(0.0), 0.0),
    Material(wp.vec3(0.0), wp.vec3(7.0, 3.1, 0.95), 0.0),
    Material(wp.vec3(0.92, 0.92, 0.94), wp.vec3(0.0), 1.0),
    Material(wp.vec3(0.12, 0.3, 0.62), wp.vec3(0.0), 0.12),
]


DUSK = View(
    wp.vec3(0.0, 1.0, 5.2), wp.quat_rpy(-0.24, 0.0, 0.0), 1.55, wp.vec3(0.52, 0.32, 0.26), wp.vec3(0.04, 0.13, 0.4)
)


def render(kernel: wp.Kernel, view: View, materials: list, shape: tuple[int, int], passes: int) -> np.ndarray:
    """Return the radiance at each pixel, the mean of `passes` paths; shape (rows, columns, 3)."""
    picture = wp.zeros(shape, dtype=wp.vec3)
    table = wp.array(materials, dtype=Material)
    for index in track(range(passes), description="paths"):
        wp.launch(kernel, dim=shape, inputs=[view, table, index], outputs=[picture])
    return picture.numpy() / passes


def main(file: str = "path_tracing.jpg", shape: tuple[int, int] = (HEIGHT, WIDTH), passes: int = PASSES) -> np.ndarray:
    """Render, report and save; return the radiance."""
    kernel = tracer(still_life)
    began = time.perf_counter()
    light = render(kernel, DUSK, MATERIALS, shape, passes)
    seconds = time.perf_counter() - began
    print(f"{passes} paths for each of {shape[1]} x {shape[0]} pixels in {seconds:.1f} s")
    plt.imsave(file, (1.0 - np.exp(-1.4 * light)) ** (1.0 / 2.2), pil_kwargs={"quality": 90})
    print(f"wrote {file}")
    return light


if __name__ == "__main__":
    main(*sys.argv[1:2])
