"""One picture: runs the kernels of raster_kernels.py over what drawables.py found. Start with `Renderer.draw`."""

from __future__ import annotations

from typing import Any

import numpy as np

import omni.warp_core as wp

from . import raster_kernels
from .camera import View, look_at
from .drawables import Drawable

SUPERSAMPLING = 2
SHADOW_SIZE = 2048


def _lens(view: View, depths: tuple[float, float], width: int, height: int) -> Any:
    lens = raster_kernels.Lens()
    for name in ("eye", "right", "up", "forward"):
        setattr(lens, name, wp.vec3(*map(float, getattr(view, name))))
    lens.scale, lens.perspective = view.scale, int(view.perspective)
    lens.near, lens.far = depths
    lens.width, lens.height = width, height
    return lens


class Renderer:
    """Draws pictures of one size; buffers are kept between pictures."""

    def __init__(self, width: int, height: int, up: np.ndarray):
        self.width, self.height, self.up = width, height, up
        self._fine = (width * SUPERSAMPLING, height * SUPERSAMPLING)
        count = self._fine[0] * self._fine[1]
        self._cells = np.zeros(count, np.uint64)
        self._image = np.zeros((count, 3), np.float32)
        self._light_cells = np.zeros(SHADOW_SIZE * SHADOW_SIZE, np.uint64)

    def draw(self, scene: Drawable, view: View) -> np.ndarray:
        """A picture of shape (height, width, 3), uint8."""
        width, height = self._fine
        key = self._light(scene, view)
        lens = _lens(view, self._depths(scene, view), width, height)
        light = _lens(key, self._depths(scene, key), SHADOW_SIZE, SHADOW_SIZE)
        screen, point_screen = self._fill(scene, lens, self._cells)
        self._fill(scene, light, self._light_cells)
        faces, normals = self._normals(scene)
        lights = [light, self._light_cells, wp.vec3(*map(float, self.up)), self._image]
        surface = [screen, scene.vertices, scene.triangles, faces, normals, scene.normals, scene.colors]
        wp.launch(raster_kernels.shade_triangles, (height, width), [self._cells, lens, *surface, *lights])
        if len(scene.points):
            discs = [len(scene.triangles), lens, point_screen, scene.points, scene.point_colors, scene.radii]
            wp.launch(raster_kernels.shade_points, (height, width), [self._cells, *discs, *lights])
        pixels = np.zeros((self.height, self.width, 3), np.uint8)
        wp.launch(raster_kernels.resolve, (self.height, self.width), [self._image, width, SUPERSAMPLING, pixels])
        return pixels

    def _fill(self, scene: Drawable, lens: Any, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw everything into a z-buffer; returns where vertices and points are on the screen."""
        wp.launch(raster_kernels.clear, len(cells), [cells])
        screen, point_screen = np.zeros_like(scene.vertices), np.zeros_like(scene.points)
        wp.launch(raster_kernels.project, len(screen), [scene.vertices, lens, screen])
        wp.launch(raster_kernels.draw_triangles, len(scene.triangles), [screen, scene.triangles, lens, cells])
        if len(scene.points):
            wp.launch(raster_kernels.project, len(point_screen), [scene.points, lens, point_screen])
            wp.launch(
                raster_kernels.draw_points,
                len(scene.points),
                [point_screen, scene.radii, len(scene.triangles), lens, cells],
            )
        return screen, point_screen

    def _normals(self, scene: Drawable) -> tuple[np.ndarray, np.ndarray]:
        """Normals of triangles (not normalised) and of vertices."""
        faces = np.zeros((len(scene.triangles), 3), np.float32)
        normals = np.zeros_like(scene.vertices)
        wp.launch(raster_kernels.face_normals, len(faces), [scene.vertices, scene.triangles, faces])
        wp.launch(raster_kernels.vertex_normals, len(normals), [faces, scene.starts, scene.around, normals])
        return faces, normals

    def _depths(self, scene: Drawable, view: View) -> tuple[float, float]:
        """Nearest and farthest distance along the view of what is drawn, with some air."""
        low, high = scene.bounds
        corners = np.stack(np.meshgrid(*zip(low, high), indexing="ij"), -1).reshape(-1, 3)
        depths = (corners - view.eye) @ view.forward
        reach = max(float(depths.max() - depths.min()), 1e-6)
        nearest = float(depths.min()) - 0.01 * reach
        if view.perspective:
            nearest = max(nearest, 1e-3 * reach, 1e-6)
        return nearest, max(float(depths.max()) + 0.01 * reach, nearest + 1e-6)

    def _light(self, scene: Drawable, view: View) -> View:
        """The key light as a camera: from over the viewer's left shoulder, seeing everything."""
        low, high = scene.bounds
        centre, radius = (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, 1e-6)
        flat = view.forward - (view.forward @ self.up) * self.up
        flat = flat / max(np.linalg.norm(flat), 1e-6)
        direction = 1.0 * self.up - 0.25 * flat - 0.75 * view.right
        eye = centre + direction / np.linalg.norm(direction) * radius * 2
        return look_at(eye, centre, self.up, 0.5 / (radius * 1.02), perspective=False)
