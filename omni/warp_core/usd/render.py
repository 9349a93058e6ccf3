"""One picture: runs the kernels of raster.py over what gather.py found. Start with `Renderer.draw`."""

from __future__ import annotations

from typing import Any

import numpy as np

import omni.warp_core as wp

from . import raster
from .camera import View, look_at
from .gather import Drawable

SUPERSAMPLING = 2
SHADOW_SIZE = 2048


def _axes(view: View) -> list[Any]:
    return [wp.vec3(*map(float, v)) for v in (view.eye, view.right, view.up, view.forward)]


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
        depths = self._depths(scene, view)
        screen, point_screen = self._fill(scene, view, depths, width, height, self._cells)
        light = self._light(scene, view)
        light_depths = self._depths(scene, light)
        self._fill(scene, light, light_depths, SHADOW_SIZE, SHADOW_SIZE, self._light_cells)
        faces = np.zeros((len(scene.triangles), 3), np.float32)
        normals = np.zeros((len(scene.vertices), 3), np.float32)
        wp.launch(raster.face_normals, len(faces), [scene.vertices, scene.triangles, faces])
        wp.launch(raster.vertex_normals, len(normals), [faces, scene.starts, scene.around, normals])
        wp.launch(
            raster.shade,
            (height, width),
            [
                *(self._cells, width, height, screen, scene.vertices, scene.triangles, faces, normals),
                *(np.ascontiguousarray(scene.colors), point_screen, scene.points),
                *(np.ascontiguousarray(scene.point_colors), scene.radii),
                *(*_axes(view), view.scale, int(view.perspective), depths[0]),
                *(*_axes(light), light.scale, *light_depths, SHADOW_SIZE, self._light_cells),
                wp.vec3(*map(float, self.up)),
                self._image,
            ],
        )
        pixels = np.zeros((self.height, self.width, 3), np.uint8)
        wp.launch(raster.resolve, (self.height, self.width), [self._image, width, SUPERSAMPLING, pixels])
        return pixels

    def _fill(
        self, scene: Drawable, view: View, depths: tuple[float, float], width: int, height: int, cells: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw everything into a z-buffer; returns where vertices and points are on the screen."""
        wp.launch(raster.clear, len(cells), [cells])
        screen = np.zeros((len(scene.vertices), 3), np.float32)
        point_screen = np.zeros((len(scene.points), 3), np.float32)
        lens = [view.scale, int(view.perspective), *depths, width, height]
        wp.launch(raster.project, len(screen), [scene.vertices, *_axes(view), *lens, screen])
        wp.launch(raster.project, len(point_screen), [scene.points, *_axes(view), *lens, point_screen])
        wp.launch(raster.draw_triangles, len(scene.triangles), [screen, scene.triangles, width, height, cells])
        disc = [view.scale, int(view.perspective), depths[0], len(scene.triangles), width, height]
        wp.launch(raster.draw_points, len(scene.points), [point_screen, scene.radii, *disc, cells])
        return screen, point_screen

    def _depths(self, scene: Drawable, view: View) -> tuple[float, float]:
        """Nearest and farthest distance along the view of what is drawn, with some air."""
        low, high = scene.bounds()
        corners = np.stack(np.meshgrid(*zip(low, high), indexing="ij"), -1).reshape(-1, 3)
        depths = (corners - view.eye) @ view.forward
        reach = max(float(depths.max() - depths.min()), 1e-6)
        nearest = float(depths.min()) - 0.01 * reach
        if view.perspective:
            nearest = max(nearest, 1e-3 * reach, 1e-6)
        return nearest, max(float(depths.max()) + 0.01 * reach, nearest + 1e-6)

    def _light(self, scene: Drawable, view: View) -> View:
        """The key light as a camera: from over the viewer's left shoulder, seeing everything."""
        low, high = scene.bounds()
        centre, radius = (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, 1e-6)
        flat = view.forward - (view.forward @ self.up) * self.up
        flat = flat / max(np.linalg.norm(flat), 1e-6)
        direction = 1.0 * self.up - 0.25 * flat - 0.75 * view.right
        eye = centre + direction / np.linalg.norm(direction) * radius * 2
        return look_at(eye, centre, self.up, 0.5 / (radius * 1.02), perspective=False)
