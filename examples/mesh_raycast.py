"""Light a scene of triangles: paths of light whose rays a mesh answers.

    python examples/mesh_raycast.py [picture.jpg]

All shapes are one `wp.Mesh`. Each thread follows one path: `wp.mesh_query_ray` gives the face that a ray hits and where
on the face, and `wp.mesh_query_ray_anyhit` tells whether the sun is seen from there. Normals of the points, weighted by
the barycentric coordinates of the hit, make faces look smooth. Every launch adds one path per pixel to the picture.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from rich.progress import track
from shapes import Shape, circle, floor, joined, moved, sphere, trefoil, tube, vertex_normals

import omni.warp_core as wp

WIDTH, HEIGHT, PASSES = 640, 400, 96
FAR, NEAR = 1e6, 1e-4
SURFACES = 4  # that a path of light touches at most


@wp.struct
class Material:
    """Reflects `albedo` of the light; `mirror` of the paths go on as from a mirror, the others in any direction."""

    albedo: wp.vec3
    mirror: float


@wp.struct
class Light:
    """The sun, which is a disc in the sky, and the sky, from the horizon to the zenith."""

    toward: wp.vec3  # direction to the sun, of length 1
    spread: float  # radius of the sun at distance 1
    sun: wp.vec3  # what a white surface that faces the sun reflects of it
    horizon: wp.vec3
    zenith: wp.vec3


@wp.struct
class Camera:
    """A camera that looks along -z before it is turned. The picture is 1 high at the distance `focus`."""

    eye: wp.vec3
    turn: wp.quat
    focus: float
    blur: float  # pixels that the rays of a pixel are spread over


@wp.struct
class Scene:
    """A mesh, a normal for each of its points, and a material for each of its faces."""

    mesh: wp.uint64
    indices: wp.array[int]
    normals: wp.array[wp.vec3]
    parts: wp.array[int]
    materials: wp.array[Material]


@wp.func
def smooth_normal(scene: Scene, face: int, u: float, v: float) -> wp.vec3:
    """Return the normals of the corners of a face, weighted by the barycentric coordinates."""
    a, b, c = scene.indices[3 * face], scene.indices[3 * face + 1], scene.indices[3 * face + 2]
    return wp.normalize(u * scene.normals[a] + v * scene.normals[b] + (1.0 - u - v) * scene.normals[c])


@wp.func
def sunlight(scene: Scene, light: Light, p: wp.vec3, n: wp.vec3, state: wp.uint32) -> wp.vec3:
    """Return the light of a point of the sun that reaches p, times the cosine to the normal."""
    toward = wp.normalize(light.toward + light.spread * wp.sample_unit_sphere(state))
    slope = wp.dot(n, toward)
    if slope <= 0.0 or wp.mesh_query_ray_anyhit(scene.mesh, p, toward, FAR):
        return wp.vec3()
    return slope * light.sun


@wp.kernel
def trace(scene: Scene, light: Light, camera: Camera, index: int, picture: wp.array2d[wp.vec3]):
    i, j = wp.tid()
    state = wp.rand_init(index, i * picture.shape[1] + j)
    size = float(picture.shape[0])
    x = float(j) + 0.5 + camera.blur * (wp.randf(state) - 0.5) - 0.5 * float(picture.shape[1])
    y = float(i) + 0.5 + camera.blur * (wp.randf(state) - 0.5) - 0.5 * size
    origin, direction = camera.eye, wp.quat_rotate(camera.turn, wp.normalize(wp.vec3(x, -y, -camera.focus * size)))
    weight, seen = wp.vec3(1.0), wp.vec3()
    for _ in range(SURFACES):
        hit = wp.mesh_query_ray(scene.mesh, origin, direction, FAR)
        if not hit.result:
            seen += wp.cw_mul(weight, wp.lerp(light.horizon, light.zenith, wp.max(direction.y, 0.0)))
            break
        material = scene.materials[scene.parts[hit.face]]
        front = wp.where(hit.sign > 0.0, 1.0, -1.0)  # a ray may see a face from behind
        n, p = front * smooth_normal(scene, hit.face, hit.u, hit.v), origin + hit.t * direction
        origin = p + NEAR * front * hit.normal
        weight = wp.cw_mul(weight, material.albedo)
        if wp.randf(state) < material.mirror:
            direction = direction - 2.0 * wp.dot(direction, n) * n
        else:  # the density of these directions is the cosine to the normal, divided by pi
            seen += wp.cw_mul(weight, sunlight(scene, light, origin, n, state))
            direction = wp.normalize(n + wp.sample_unit_sphere_surface(state))
    picture[i, j] += seen


class World:
    """Shapes as one mesh, each with a material."""

    def __init__(self, shapes: Sequence[Shape], materials: Sequence[Material]):
        points, triangles, parts = joined(shapes)
        normals = wp.array(vertex_normals(points, triangles), dtype=wp.vec3)
        self.mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(triangles.ravel(), dtype=int))
        parts = wp.array(parts, dtype=int)
        self.scene = Scene(self.mesh.id, self.mesh.indices, normals, parts, wp.array(materials, dtype=Material))

    def render(self, light: Light, camera: Camera, shape: tuple[int, int], passes: int) -> np.ndarray:
        """Return the radiance at each pixel, the mean of `passes` paths; shape (rows, columns, 3)."""
        picture = wp.zeros(shape, dtype=wp.vec3)
        for index in track(range(passes), description="paths"):
            wp.launch(trace, dim=shape, inputs=[self.scene, light, camera, index], outputs=[picture])
        return picture.numpy() / passes


def look(eye: Sequence[float], target: Sequence[float], focus: float, blur: float = 1.0) -> Camera:
    """Return a camera at `eye` that looks at `target`; the vertical is upright in the picture."""
    back = np.subtract(eye, target) / np.linalg.norm(np.subtract(eye, target))
    pitch, yaw = -float(np.arcsin(back[1])), float(np.arctan2(back[0], back[2]))
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), yaw) * wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), pitch)
    return Camera(wp.vec3(*eye), turn, focus, blur)


def still_life() -> World:
    """A knot of gold, two linked rings and balls on a floor."""
    tilt = np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])
    lean = np.array([(0.96, -0.28, 0.0), (0.28, 0.96, 0.0), (0.0, 0.0, 1.0)])
    return World(
        [
            floor(60.0),
            moved(tube(1.15 * trefoil(480), 0.17, 48), (0.0, 0.96, -0.4), tilt),
            moved(tube(circle(0.52), 0.13, 48), (-1.75, 0.13, 0.75)),
            moved(tube(circle(0.52), 0.13, 48), (-1.3, 0.64, 0.6), lean @ tilt),
            moved(sphere(0.5, 96), (1.75, 0.5, 0.55)),
            moved(sphere(0.26, 96), (1.0, 0.26, 1.35)),
            moved(sphere(0.2, 96), (-0.45, 0.2, 1.55)),
        ],
        [
            Material(wp.vec3(0.34, 0.3, 0.27), 0.0),
            Material(wp.vec3(0.9, 0.58, 0.22), 0.8),
            Material(wp.vec3(0.1, 0.32, 0.55), 0.1),
            Material(wp.vec3(0.75, 0.16, 0.08), 0.1),
            Material(wp.vec3(0.93, 0.93, 0.95), 1.0),
            Material(wp.vec3(0.15, 0.42, 0.2), 0.08),
            Material(wp.vec3(0.85, 0.8, 0.7), 0.0),
        ],
    )


MORNING = Light(
    wp.normalize(wp.vec3(-0.75, 0.8, 0.55)),
    0.05,
    wp.vec3(2.1, 1.75, 1.3),
    wp.vec3(0.62, 0.56, 0.52),
    wp.vec3(0.08, 0.2, 0.48),
)
VIEW = look((0.7, 2.1, 6.6), (0.0, 0.85, 0.0), 1.85)


def main(file: str = "mesh_raycast.jpg", shape: tuple[int, int] = (HEIGHT, WIDTH), passes: int = PASSES) -> np.ndarray:
    """Render, report and save; return the radiance."""
    world = still_life()
    began = time.perf_counter()
    radiance = world.render(MORNING, VIEW, shape, passes)
    faces, seconds = world.mesh.indices.size // 3, time.perf_counter() - began
    print(f"{passes} paths for each of {shape[1]} x {shape[0]} pixels, {faces:,} faces, in {seconds:.1f} s")
    plt.imsave(file, (1.0 - np.exp(-1.2 * radiance)) ** (1.0 / 2.2), pil_kwargs={"quality": 90})
    print(f"wrote {file}")
    return radiance


if __name__ == "__main__":
    main(*sys.argv[1:2])
