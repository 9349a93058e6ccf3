"""Waves of an ocean: a sum of trochoidal waves whose heights follow the spectrum of a wind.

The spectrum is that of Pierson and Moskowitz (1964), S(w) = 0.0081 g^2 / w^5 exp(-0.74 (g / (U w))^4) for a wind of the
speed U. Waves obey w^2 = g k tanh(k d) in water of depth d. Their directions and phases are low-discrepancy sequences,
so that every play has the same ocean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..graph.bundle_exchange import output_bundle
from ..values.bundles import Bundle, map_prims
from .device_arrays import compute, given, sent
from .point_arrays import points_on
from .prim_bundles import require_bundle, with_points

WAVES = 64
GRAVITY = 9.81
_PHILLIPS, _PEAK = 0.0081, 0.74
_GOLDEN, _PLASTIC = (math.sqrt(5) - 1) / 2, 0.7548776662466927  # steps of the two sequences


def wave_table(wind: float, depth: float, directionality: float, direction: float) -> np.ndarray:
    """Return the waves, one a row: wave number along x and z, amplitude, frequency, phase; lengths in metres.

    Args:
        wind: Wind speed in m/s, above 0.
        depth: Depth of the water, above 0.
        directionality: 1 for waves in one direction, 0 for all directions alike.
        direction: Of the wind, in degrees from x towards z.
    """
    peak = GRAVITY / wind * (4 * _PEAK / 5) ** 0.25  # where the spectrum is largest
    edges = np.geomspace(0.6 * peak, 5.0 * peak, WAVES + 1)
    frequency, width = np.sqrt(edges[1:] * edges[:-1]), np.diff(edges)
    spectrum = _PHILLIPS * GRAVITY**2 / frequency**5 * np.exp(-_PEAK * (GRAVITY / (wind * frequency)) ** 4)
    numbers = np.arange(WAVES)
    angle = np.radians(direction) + 2 * np.pi * (1 - directionality) * ((numbers * _GOLDEN) % 1 - 0.5)
    k = _wave_numbers(frequency, depth)
    phase = 2 * np.pi * ((numbers * _PLASTIC) % 1)
    return np.stack([k * np.cos(angle), k * np.sin(angle), np.sqrt(2 * spectrum * width), frequency, phase], -1)


def _wave_numbers(frequency: np.ndarray, depth: float) -> np.ndarray:
    """Return k of w^2 = g k tanh(k d), by Newton's method from the number in deep or in shallow water."""
    k = np.maximum(frequency**2 / GRAVITY, frequency / math.sqrt(GRAVITY * depth))
    for _ in range(20):
        t = np.tanh(k * depth)
        value = GRAVITY * k * t - frequency**2
        k = k - value / (GRAVITY * (t + k * depth * (1 - t * t)))
    return k


@wp.kernel
def sum_waves(
    points: wp.array[wp.vec3],
    waves: wp.array2d[float],
    shift: wp.vec3,
    scale: float,
    amplitude: float,
    out: wp.array[wp.vec3],
):
    """Write points moved by all waves; the last column of `waves` is the phase at this time."""
    i = wp.tid()
    p = points[i] + shift
    x, z = p[0] / scale, p[2] / scale
    moved = wp.vec3(0.0, 0.0, 0.0)
    for n in range(waves.shape[0]):
        kx, kz = waves[n, 0], waves[n, 1]
        k = wp.sqrt(kx * kx + kz * kz)
        angle = kx * x + kz * z - waves[n, 3]
        a = waves[n, 2]
        s = a * wp.sin(angle)
        moved += wp.vec3(-s * kx / k, a * wp.cos(angle), -s * kz / k)
    out[i] = p + amplitude * scale * moved


def deform(db: Any) -> None:
    """Compute Sample Ocean Deform."""
    inputs, bundle = db.inputs, require_bundle(db, "mesh", "a mesh")
    for name in ("scale", "waterDepth", "windSpeed", "clipmapCellSize"):
        value = getattr(inputs, name)
        if not (math.isfinite(value) and value > 0):
            raise GraphError(f"inputs:{name} is {value}; it must be above 0")
    directionality = min(max(inputs.directionality, 0.0), 1.0)
    table = wave_table(inputs.windSpeed, inputs.waterDepth, directionality, inputs.direction)
    phases = np.remainder(table[:, 3] * inputs.time - table[:, 4], 2 * np.pi)
    waves = sent(db, np.column_stack([table[:, :3], phases]).astype(np.float32).ravel(), float).reshape((WAVES, 4))
    cell = inputs.clipmapCellSize  # the mesh follows the camera by whole cells, so that its points do not swim
    shift = [float(np.floor(inputs.cameraPos[axis] / cell) * cell) for axis in (0, 2)]
    numbers = [wp.vec3(shift[0], 0.0, shift[1]), inputs.scale, inputs.amplitude]

    def moved(prim: Bundle) -> Bundle:
        points = points_on(db, prim)
        (out,) = compute(db, sum_waves, len(points), [points, waves, *numbers], (len(points), wp.vec3))
        return with_points(prim, given(db, out, "pointf[3][]"))

    output_bundle(db, "mesh", map_prims(bundle, moved))
