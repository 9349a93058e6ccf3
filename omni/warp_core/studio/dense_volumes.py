"""Volumes for the page: fog as a dense grid of bytes, level sets as triangles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..usd.pictures.drawables import GREY
from ..usd.pictures.drawn_volumes import GLOW, LEVEL_SET, THICKNESS, DrawnVolume

MOST_SAMPLES = 128  # along each axis
_EMBER = np.array([1.0, 0.42, 0.12], np.float32)  # color of a glow without its own


@wp.kernel
def sample_grid(volume: wp.uint64, low: wp.vec3, step: wp.vec3, values: wp.array3d[float]):
    """Write the values of a volume at the nodes of a dense grid; the first axis of `values` is z."""
    k, j, i = wp.tid()
    place = low + wp.cw_mul(step, wp.vec3(float(i), float(j), float(k)))
    values[k, j, i] = wp.volume_sample_f(volume, place, wp.Volume.LINEAR)


def sampled(volume: DrawnVolume) -> tuple[np.ndarray, np.ndarray]:
    """Return values at the nodes of a grid, axes z, y, x, and the matrix (4, 4) from node numbers to the prim."""
    extent = volume.grid.high - volume.grid.low
    counts = np.clip(np.ceil(extent) + 1, 2, MOST_SAMPLES).astype(int)
    step = extent / (counts - 1)
    values = wp.zeros(tuple(counts[::-1]), dtype=float, device="cpu")
    arguments = [volume.grid.volume.id, wp.vec3(*volume.grid.low), wp.vec3(*step), values]
    wp.launch(sample_grid, values.shape, arguments, device="cpu")
    place = np.diag([*step, 1.0])
    place[:3, 3] = volume.grid.low
    return values.numpy(), volume.matrix @ place


def fog_arrays(volume: DrawnVolume) -> dict[str, np.ndarray]:
    """Return the arrays of fog or glow: `fog` (z, y, x) bytes, `fog_place` and `fog_look`.

    `fog_place` (16,) takes the unit cube to the space of the prim, column after column. `fog_look` has the extinction
    of the greatest byte for each unit of length, a color, and 1 for glow.
    """
    values, place = sampled(volume)
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    most = max(float(values.max()), 1e-30)
    cube = place @ np.diag([*(np.array(values.shape[::-1]) - 1.0), 1.0])
    is_glow = volume.grid.kind == GLOW
    color = volume.color if volume.color is not None else _EMBER if is_glow else GREY
    longest = max(float(np.linalg.norm(cube[:3, :3], axis=0).max()), 1e-30)
    strength = THICKNESS / longest if is_glow else volume.extinction * most
    return {
        "fog": np.rint(255.0 * np.clip(values / most, 0.0, 1.0)).astype(np.uint8),
        "fog_place": cube.T.reshape(-1).astype(np.float32),
        "fog_look": np.array([strength, *color, float(is_glow)], np.float32),
    }


def surface_of(volume: DrawnVolume) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices and triangles of a level set in the space of its prim."""
    values, place = sampled(volume)
    field: Any = wp.array(values, dtype=float, device="cpu")
    found, indices = wp.MarchingCubes.extract(field, 0.0)
    nodes = found.numpy().reshape(-1, 3)[:, ::-1]
    vertices = nodes @ place[:3, :3].T + place[:3, 3]
    return vertices.astype(np.float32), indices.numpy().reshape(-1, 3).astype(np.int32)


def volume_arrays(volumes: tuple[DrawnVolume, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of the volumes of a prim: the triangles of its level sets, and one fog or glow."""
    solid = [volume for volume in volumes if volume.is_solid]
    surfaces = [(surface_of(v), v.color) for v in solid if v.grid.kind == LEVEL_SET]
    if surfaces:
        first = np.cumsum([0, *(len(vertices) for (vertices, _), _ in surfaces)])
        color = next((color for _, color in surfaces if color is not None), GREY)
        yield "vertices", np.concatenate([vertices for (vertices, _), _ in surfaces])
        yield "triangles", np.concatenate([t + np.int32(at) for ((_, t), _), at in zip(surfaces, first)])
        yield "colors", np.rint(255.0 * np.sqrt(np.clip(color, 0.0, 1.0)))[None].astype(np.uint8)
    cloud = next((volume for volume in solid if volume.grid.kind != LEVEL_SET), None)
    if cloud is not None:
        yield from fog_arrays(cloud).items()
