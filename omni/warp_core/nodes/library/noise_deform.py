"""Noise that moves points: gradient noise along each axis, or its curl, which keeps volumes."""

from __future__ import annotations

import math
from typing import Any

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..graph.bundle_exchange import output_bundle
from ..values.bundles import Bundle, map_prims
from .device_arrays import compute, given
from .point_arrays import points_on
from .prim_bundles import require_bundle, with_points

AXES = {f"{sign}{axis}": (i, {"+": 1.0, "-": -1.0}[sign]) for sign in "+-" for i, axis in enumerate("XYZ")}
_STREAMS = 3  # seeds of one node: one for each axis


@wp.func
def weight(height: float, base: float, falloff: float) -> float:
    """Return how much a point moves: nothing below `base`, everything from `falloff` above it."""
    if falloff <= 0.0:
        return wp.where(height >= base, 1.0, 0.0)
    return wp.clamp((height - base) / falloff, 0.0, 1.0)


@wp.kernel
def deform(
    points: wp.array[wp.vec3],
    seed: int,
    is_curl: bool,
    frequency: float,
    phase: float,
    amplitude: wp.vec3,
    up: wp.vec3,
    base: float,
    falloff: float,
    out: wp.array[wp.vec3],
):
    """Move points by noise of their place and the time; `up` is zero where all points move fully."""
    i = wp.tid()
    p = points[i]
    at = wp.vec4(p[0] * frequency, p[1] * frequency, p[2] * frequency, phase)
    if is_curl:
        d = wp.curlnoise(wp.rand_init(seed), at)
    else:
        d = wp.vec3(
            wp.noise(wp.rand_init(seed), at), wp.noise(wp.rand_init(seed + 1), at), wp.noise(wp.rand_init(seed + 2), at)
        )
    w = 1.0
    if wp.length_sq(up) > 0.0:
        w = weight(wp.dot(p, up), base, falloff)
    out[i] = p + w * wp.cw_mul(d, amplitude)


def _direction(db: Any) -> wp.vec3:
    """Return the axis along which the influence begins, zero for all points alike. Raises GraphError."""
    mode = db.inputs.mode
    if mode == "global":
        return wp.vec3(0.0)
    if mode != "partial":
        raise GraphError(f"inputs:mode is {mode!r}; it must be global or partial")
    if db.inputs.upAxis not in AXES:
        raise GraphError(f"inputs:upAxis is {db.inputs.upAxis!r}; it must be one of {', '.join(AXES)}")
    up = [0.0, 0.0, 0.0]
    axis, sign = AXES[db.inputs.upAxis]
    up[axis] = sign
    return wp.vec3(*up)


def deform_prims(db: Any) -> None:
    """Compute Noise Deform."""
    inputs, up = db.inputs, _direction(db)
    if inputs.func not in ("perlin", "curl"):
        raise GraphError(f"inputs:func is {inputs.func!r}; it must be perlin or curl")
    if not (math.isfinite(inputs.cellSize) and inputs.cellSize > 0):
        raise GraphError(f"inputs:cellSize is {inputs.cellSize}; it must be above 0")
    bundle = require_bundle(db, "prims", "prims with points")
    amplitude = wp.vec3(*(float(inputs.amplitude * a) for a in inputs.axisAmplitude))
    noise = [inputs.seed * _STREAMS, inputs.func == "curl", 1.0 / inputs.cellSize, inputs.time * inputs.speed]

    def moved(prim: Bundle) -> Bundle:
        points = points_on(db, prim)
        if not len(points):
            return prim
        arguments = [points, *noise, amplitude, up, inputs.base, inputs.falloff]
        (out,) = compute(db, deform, len(points), arguments, (len(points), wp.vec3))
        return with_points(prim, given(db, out, "pointf[3][]"))

    output_bundle(db, "prims", map_prims(bundle, moved))


@wp.kernel
def ripple(points: wp.array[wp.vec3], time: float, out: wp.array[wp.vec3]):
    """Move points up and down by a sine that travels along x."""
    i = wp.tid()
    p = points[i]
    out[i] = p + wp.vec3(0.0, 10.0 * wp.sin(time + 0.1 * p[0]), 0.0)


def ripple_mesh(db: Any) -> None:
    """Compute Sample Mesh Deform."""
    bundle = require_bundle(db, "mesh", "a mesh")

    def moved(prim: Bundle) -> Bundle:
        points = points_on(db, prim)
        time = float(math.remainder(db.inputs.time, 2 * math.pi))  # float32 keeps little of a large angle
        (out,) = compute(db, ripple, len(points), [points, time], (len(points), wp.vec3))
        return with_points(prim, given(db, out, "pointf[3][]"))

    output_bundle(db, "mesh", map_prims(bundle, moved))
