"""One picture: runs the kernels of raster_kernels.py and volume_kernels.py over what drawables.py found.

Start with `Renderer.draw`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import omni.warp_core as wp

from . import raster_kernels, volume_kernels
from .camera import View, look_at
from .drawables import GREY, Drawable
from .drawn_volumes import FOG, GLOW, LEVEL_SET, DrawnVolume

SUPERSAMPLING = 2  # as volume_kernels.SAMPLES
SHADOW_SIZE = 2048
HAZE_SIZE = 512  # of the shadow of fog
NODES = 72  # of the light in fog, along the longest axis
BAND = 8  # rows that are drawn between two looks at the clock
WHITE = np.array([0.92, 0.93, 0.95], np.float32)  # of fog
FLAME = np.array([0.20, 0.055, 0.008], np.float32)  # of a glow for each unit of its optical depth


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
        self._haze = np.zeros((HAZE_SIZE, HAZE_SIZE, 3), np.float32)

    def draw(self, scene: Drawable, view: View, tick: Callable[[], None] = lambda: None) -> np.ndarray:
        """A picture of shape (height, width, 3), uint8. `tick` is called again and again while volumes are drawn."""
        width, height = self._fine
        key = self._light(scene, view)
        lens = _lens(view, self._depths(scene, view), width, height)
        light = _lens(key, self._depths(scene, key), SHADOW_SIZE, SHADOW_SIZE)
        volumes = _VolumePainter(scene, tick)
        screen, point_screen = self._fill(scene, lens, self._cells)
        volumes.draw_level_sets(lens, self._cells)
        self._fill(scene, light, self._light_cells)
        volumes.draw_level_sets(light, self._light_cells)
        self._haze[:] = (1.0, light.far, light.near)
        volumes.cast_haze(light, self._haze)
        faces, normals = self._normals(scene)
        lights = [light, self._light_cells, self._haze, wp.vec3(*map(float, self.up)), self._image]
        surface = [screen, scene.vertices, scene.triangles, faces, normals, scene.normals, scene.colors]
        wp.launch(raster_kernels.shade_triangles, (height, width), [self._cells, lens, *surface, *lights])
        if len(scene.points):
            discs = [len(scene.triangles), lens, point_screen, scene.points, scene.point_colors, scene.radii]
            wp.launch(raster_kernels.shade_points, (height, width), [self._cells, *discs, *lights])
        volumes.shade_level_sets(lens, self._cells, lights)
        volumes.march_fog(view, lens, self._cells, lights)
        volumes.march_glow(lens, self._cells, self._image)
        pixels = np.zeros((self.height, self.width, 3), np.uint8)
        wp.launch(raster_kernels.resolve, (self.height, self.width), [self._image, width, SUPERSAMPLING, pixels])
        return pixels

    def count_ticks(self, scene: Drawable) -> int:
        """Return how often `draw` calls `tick`."""
        rows = [self._fine[1], SHADOW_SIZE] if scene.volumes else []
        surfaces = [volume for volume in scene.volumes if volume.grid.kind == LEVEL_SET]
        fog = [int(_lattice(volume)[0]) for volume in scene.volumes if volume.grid.kind == FOG]
        bands = sum(-(-n // BAND) for n in rows) * len(surfaces)
        bands += -(-self.height // BAND) * sum(volume.grid.kind == GLOW for volume in scene.volumes)
        return bands + sum(-(-n // BAND) for n in (self.height, HAZE_SIZE)) * len(fog) + sum(fog)

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
        given = [scene.vertices, scene.triangles, faces, scene.starts, scene.around, normals]
        wp.launch(raster_kernels.vertex_normals, len(normals), given)
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


class _VolumePainter:
    """Draws the volumes of a scene into a picture, in bands of rows."""

    def __init__(self, scene: Drawable, tick: Callable[[], None]):
        self._tick = tick
        self._surfaces = [volume for volume in scene.volumes if volume.grid.kind == LEVEL_SET]
        self._fog = [volume for volume in scene.volumes if volume.grid.kind == FOG]
        self._glows = [volume for volume in scene.volumes if volume.grid.kind == GLOW]
        self._first = len(scene.triangles) + len(scene.points) + 1  # number of the first level set in a z-buffer

    def draw_level_sets(self, lens: Any, cells: np.ndarray) -> None:
        """Draw level sets into a z-buffer."""
        for number, volume in enumerate(self._surfaces, self._first):
            start = [*_inputs(volume, GREY), lens]
            for row, rows in self._bands(lens.height):
                wp.launch(volume_kernels.draw_level_set, (rows, lens.width), [*start, row, number, cells])

    def shade_level_sets(self, lens: Any, cells: np.ndarray, lights: list) -> None:
        """Colour the pixels that show level sets."""
        for number, volume in enumerate(self._surfaces, self._first):
            identifier, medium, _ = _inputs(volume, GREY)
            inputs = [identifier, medium, lens, number, cells, *lights]
            wp.launch(volume_kernels.shade_level_set, (lens.height, lens.width), inputs)

    def cast_haze(self, light: Any, haze: np.ndarray) -> None:
        """Draw the shadow of fog."""
        for volume in self._fog:
            for row, rows in self._bands(len(haze)):
                wp.launch(volume_kernels.cast_haze, (rows, len(haze)), [*_inputs(volume, WHITE), light, row, haze])

    def march_fog(self, view: View, lens: Any, cells: np.ndarray, lights: list) -> None:
        """Put fog over the picture, the farthest one first."""
        light, light_cells, haze, up, image = lights
        for volume in sorted(self._fog, key=lambda v: -float(np.linalg.norm(v.corners.mean(0) - view.eye))):
            start = _inputs(volume, WHITE)
            spacing, nodes = self._gather_light(volume, light, light_cells, np.ones_like(haze[:2, :2]), up)
            step = [*start, spacing, nodes, lens, light, up, cells]
            for row, rows in self._bands(lens.height // SUPERSAMPLING):
                wp.launch(volume_kernels.march_fog, (rows, lens.width // SUPERSAMPLING), [*step, row, image])

    def march_glow(self, lens: Any, cells: np.ndarray, image: np.ndarray) -> None:
        """Add the light of glows to the picture."""
        for volume in self._glows:
            smoke = _inputs(volume if volume.smoke is None else volume.smoke, WHITE)
            start = [*_inputs(volume, FLAME), *smoke[:2], volume.smoke is not None, lens, cells]
            for row, rows in self._bands(lens.height // SUPERSAMPLING):
                shape = (rows, lens.width // SUPERSAMPLING)
                wp.launch(volume_kernels.march_glow, shape, [*start, row, image])

    def _gather_light(
        self, volume: DrawnVolume, light: Any, light_cells: np.ndarray, haze: np.ndarray, up: Any
    ) -> tuple[Any, np.ndarray]:
        """Return the distances of nodes in voxels, and the light at the nodes of a lattice over the volume."""
        counts = _lattice(volume)
        spacing = wp.vec3(*((volume.grid.high - volume.grid.low) / (counts - 1)).tolist())
        to_world = wp.mat33(*volume.matrix[:3, :3].ravel().tolist())
        nodes = np.zeros((*counts, 3), np.float32)
        inputs = [*_inputs(volume, WHITE), to_world, spacing, light, light_cells, haze, up]
        for row in range(counts[0]):
            wp.launch(volume_kernels.gather_light, (1, *counts[1:].tolist()), [*inputs, row, nodes])
            self._tick()
        return spacing, nodes

    def _bands(self, height: int) -> Iterator[tuple[int, int]]:
        """Give the first row of each band of a picture and the number of its rows."""
        for row in range(0, height, BAND):
            yield row, min(BAND, height - row)
            self._tick()


def _lattice(volume: DrawnVolume) -> np.ndarray:
    """Return the number of nodes along each axis, at which the light in fog is known."""
    extent = volume.grid.high - volume.grid.low
    return np.clip(np.ceil(extent / extent.max() * NODES), 4, np.maximum(extent + 1.0, 4)).astype(int)


def _inputs(volume: DrawnVolume, color: np.ndarray) -> list:
    """Return what kernels need to know of a volume; `color` is for one without its own."""
    grid, inverse = volume.grid, np.linalg.inv(volume.matrix)
    medium = volume_kernels.Medium()
    medium.to_index, medium.offset = wp.mat33(*inverse[:3, :3].ravel().tolist()), wp.vec3(*inverse[:3, 3].tolist())
    for name in ("low", "high", "first"):
        setattr(medium, name, wp.vec3(*getattr(grid, name).tolist()))
    medium.width, medium.voxel, medium.extinction = float(grid.width), volume.voxel, volume.extinction
    medium.distance = volume.distance if grid.kind == LEVEL_SET else 0.0
    own = None if grid.kind == GLOW else volume.color
    medium.color = wp.vec3(*(color if own is None else own).tolist())
    diagonal = float(np.linalg.norm(np.ptp(volume.corners, axis=0)))
    medium.step = max(0.7 * volume.voxel, diagonal / 768.0)
    return [grid.volume.id, medium, grid.blocks]
