"""Surfaces of dense fields, and a field to try them with: a box and a torus that turns above it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import GraphError
from .device_arrays import compute, given, input_array
from .prim_bundles import give, mesh_prim, normals_item

MOST_NODES = 1 << 26  # of a field


@wp.func
def sample(field: wp.array3d[float], p: wp.vec3) -> float:
    """Return a field between its nodes, linear along each axis; outside, the value at the nearest place inside."""
    x = wp.clamp(p[0], 0.0, float(field.shape[0] - 1))
    y = wp.clamp(p[1], 0.0, float(field.shape[1] - 1))
    z = wp.clamp(p[2], 0.0, float(field.shape[2] - 1))
    i = wp.min(int(x), field.shape[0] - 2)
    j = wp.min(int(y), field.shape[1] - 2)
    k = wp.min(int(z), field.shape[2] - 2)
    u, v, w = x - float(i), y - float(j), z - float(k)
    near = wp.lerp(
        wp.lerp(field[i, j, k], field[i, j, k + 1], w), wp.lerp(field[i, j + 1, k], field[i, j + 1, k + 1], w), v
    )
    far = wp.lerp(
        wp.lerp(field[i + 1, j, k], field[i + 1, j, k + 1], w),
        wp.lerp(field[i + 1, j + 1, k], field[i + 1, j + 1, k + 1], w),
        v,
    )
    return wp.lerp(near, far, u)


@wp.kernel
def place_points(
    field: wp.array3d[float],
    nodes: wp.array[wp.vec3],
    cell: wp.vec3,
    middle: wp.vec3,
    points: wp.array[wp.vec3],
    normals: wp.array[wp.vec3],
):
    """Write points that are given in nodes, and the direction in which the field grows there."""
    i = wp.tid()
    p = nodes[i]
    x = wp.vec3(0.5, 0.0, 0.0)
    y = wp.vec3(0.0, 0.5, 0.0)
    z = wp.vec3(0.0, 0.0, 0.5)
    slope = wp.vec3(
        sample(field, p + x) - sample(field, p - x),
        sample(field, p + y) - sample(field, p - y),
        sample(field, p + z) - sample(field, p - z),
    )
    points[i] = wp.cw_mul(p, cell) - middle
    normals[i] = wp.normalize(wp.cw_div(slope, cell))


def surface(db: Any) -> None:
    """Compute Mesh From Volume."""
    inputs = db.inputs
    shape = tuple(int(getattr(inputs, f"dim{axis}")) for axis in (1, 2, 3))
    if min(shape) < 2:
        raise GraphError(f"the field has {' x '.join(map(str, shape))} nodes; it needs two in each direction")
    data = input_array(db, "data")
    if math.prod(shape) != len(data):
        raise GraphError(f"inputs:data has {len(data)} values for {' x '.join(map(str, shape))} nodes")
    if not (np.isfinite(inputs.size).all() and (inputs.size > 0).all() and math.isfinite(inputs.threshold)):
        raise GraphError("inputs:size must be above 0, and inputs:threshold must be finite")
    size = np.asarray(inputs.size, np.float64)
    field = data.reshape(shape)
    verts, indices = wp.MarchingCubes.extract(field, float(inputs.threshold))
    for name, count, most in (
        ("Points", len(verts), inputs.maxPoints),
        ("Triangles", len(indices) // 3, inputs.maxTriangles),
    ):
        if count > most:
            raise GraphError(
                f"the surface has {count} {name.lower()}, and inputs:max{name} is {most}; set a higher one"
            )
    cell = size / (np.array(shape) - 1)
    arguments = [field, verts, wp.vec3(*cell), wp.vec3(*(size / 2))]
    points, normals = compute(db, place_points, len(verts), arguments, *[(len(verts), wp.vec3)] * 2)
    counts, corners = np.full(len(indices) // 3, 3, np.int32), given(db, indices, "int[]")
    prim = mesh_prim(given(db, points, "pointf[3][]"), counts, corners, np.array(inputs.transform))
    give(db, "mesh", prim.having(normals_item(given(db, normals, "normalf[3][]"), "vertex")))


@wp.func
def smooth_minimum(a: float, b: float, radius: float) -> float:
    """Return the lesser of two distances, rounded where they differ by less than a radius (Quilez, 2013)."""
    if radius <= 0.0:
        return wp.min(a, b)
    h = wp.max(radius - wp.abs(a - b), 0.0) / radius
    return wp.min(a, b) - h * h * radius * 0.25


@wp.kernel
def fill_shapes(altitude: float, major: float, minor: float, smooth: float, angle: float, field: wp.array3d[float]):
    """Write the distances to a box around the origin and to a torus that is turned about x, in cells."""
    i, j, k = wp.tid()
    half = 0.5 * float(field.shape[0] - 1)
    p = wp.vec3(float(i) - half, float(j) - half, float(k) - half)
    edge = 0.25 * float(field.shape[0])
    q = wp.vec3(wp.abs(p[0]) - edge, wp.abs(p[1]) - 0.5 * edge, wp.abs(p[2]) - edge)
    outside = wp.vec3(wp.max(q[0], 0.0), wp.max(q[1], 0.0), wp.max(q[2], 0.0))
    box = wp.length(outside) + wp.min(wp.max(q[0], wp.max(q[1], q[2])), 0.0)
    y = p[1] - altitude
    c, s = wp.cos(angle), wp.sin(angle)
    r = wp.vec3(p[0], c * y - s * p[2], s * y + c * p[2])
    ring = wp.sqrt(r[0] * r[0] + r[2] * r[2]) - major
    torus = wp.sqrt(ring * ring + r[1] * r[1]) - minor
    field[i, j, k] = smooth_minimum(box, torus, smooth)


def fill(db: Any) -> None:
    """Compute Sample Procedural Volume."""
    inputs = db.inputs
    if inputs.dim < 2:
        raise GraphError(f"inputs:dim is {inputs.dim}; a field has at least two nodes in each direction")
    if inputs.dim**3 > MOST_NODES:
        raise GraphError(f"inputs:dim is {inputs.dim}, and a field has at most {MOST_NODES} nodes; set a lower one")
    shape = (inputs.dim,) * 3
    numbers = [inputs.torusAltitude, inputs.torusMajorRadius, inputs.torusMinorRadius, inputs.smoothMinRadius]
    angle = float(math.remainder(inputs.time, 2 * math.pi))
    (field,) = compute(db, fill_shapes, shape, [*numbers, angle], (shape, float))
    db.outputs.data_size = field.size  # Kit wants the size first
    db.outputs.data = given(db, field, "float[]")
