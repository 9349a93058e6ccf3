"""Particles that fill a mesh: points of a jittered grid whose distance to the surface lies in a range.

The number of a grid point decides its jitter and its place among the particles. The order of threads does not matter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..values.bundles import Bundle, item
from .device_arrays import compute, given, launch, numbers
from .point_arrays import Faces, bounds_on, moved_on, points_on
from .prim_bundles import (
    between,
    find_prim,
    give,
    points_prim,
    require_bundle,
    require_room,
    world_matrix,
)


@wp.kernel
def find_particles(
    mesh: wp.uint64,
    first: wp.vec3,
    size: wp.vec3i,
    spacing: float,
    jitter: float,
    seed: int,
    reach: float,
    range: wp.vec2,
    points: wp.array[wp.vec3],
    inside: wp.array[int],
):
    """Write the jittered points of a grid, and whether their signed distance lies in the range."""
    n = wp.tid()
    line = n // size[2]
    i = line // size[1]
    j = line - i * size[1]
    k = n - line * size[2]
    state = wp.rand_init(seed, n)
    shift = wp.vec3(wp.randf(state, -0.5, 0.5), wp.randf(state, -0.5, 0.5), wp.randf(state, -0.5, 0.5))
    p = first + spacing * (wp.vec3(float(i), float(j), float(k)) + jitter * shift)
    near = wp.mesh_query_point(mesh, p, reach)
    inside[n] = 0
    if near.result:
        closest = wp.mesh_eval_position(mesh, near.face, near.u, near.v)  # type: ignore[arg-type]
        distance = near.sign * wp.length(p - closest)
        inside[n] = int(distance >= range[0] and distance <= range[1])
    points[n] = p


@wp.kernel
def keep_inside(points: wp.array[wp.vec3], places: wp.array[int], kept: wp.array[wp.vec3]):
    """Write the points that are kept; `places` counts those up to each point."""
    n = wp.tid()
    before = 0
    if n > 0:
        before = places[n - 1]
    if places[n] > before and before < kept.shape[0]:
        kept[before] = points[n]


class FillingState:
    """The particles of the last inputs."""

    def __init__(self) -> None:
        self.source: Bundle | None = None
        self.numbers: tuple = ()
        self.prim = Bundle()
        self.faces = Faces()


def fill_mesh(db: Any) -> None:
    """Compute Particles From Mesh."""
    state, inputs = db.per_instance_state, db.inputs
    source = find_prim(require_bundle(db, "mesh", "a closed mesh"), "mesh", "Mesh")
    if not (math.isfinite(inputs.spacing) and inputs.spacing > 0):
        raise GraphError(f"inputs:spacing is {inputs.spacing}; it must be above 0")
    names = ["seed", "minSdf", "maxSdf", "radius", "spacing", "spacingJitter", "mass", "velocityAmount", "maxPoints"]
    numbers = (*(getattr(inputs, n) for n in names), inputs.transform.tobytes(), inputs.velocityDir.tobytes())
    if state.source is not source or state.numbers != numbers:
        state.prim = _particles(db, inputs, source)
        state.source, state.numbers = source, numbers
    give(db, "particles", state.prim)


def _particles(db: Any, inputs: Any, source: Bundle) -> Bundle:
    world = np.array(inputs.transform)
    places = _places(db, inputs, source, world)
    direction = np.asarray(inputs.velocityDir, np.float64)
    length = float(np.linalg.norm(direction))
    velocity = direction / length * inputs.velocityAmount if length > 0 else np.zeros(3)
    count = len(places)
    return points_prim(given(db, places, "pointf[3][]"), np.full(count, 2.0 * inputs.radius, np.float32), world).having(
        {
            "velocities": item("vectorf[3][]", np.tile(velocity.astype(np.float32), (count, 1))),
            "masses": item("float[]", np.full(count, inputs.mass, np.float32)),
        }
    )


def _places(db: Any, inputs: Any, source: Bundle, world: np.ndarray) -> Any:
    """Return the points of the grid that are kept, on the device of the node."""
    faces = db.per_instance_state.faces
    points = moved_on(db, points_on(db, source), between(world_matrix(source), world))
    faces.take(db, source)
    if not len(faces.triangles):
        return points[:0]
    margin = max(inputs.maxSdf, 0.0)
    if not math.isfinite(margin):
        raise GraphError("inputs:maxSdf must be finite")
    lower, upper = bounds_on(db, points, faces.corners)
    lower, upper = lower - margin, upper + margin
    size = np.maximum(np.floor((upper - lower) / inputs.spacing), 1)
    first = (lower + upper - (size - 1) * inputs.spacing) / 2  # as far from all sides of the box
    require_room(float(np.prod(size)), "the points to look at", "set a larger inputs:spacing")
    count = int(np.prod(size))
    mesh = wp.Mesh(points, faces.corners)
    reach = float(np.linalg.norm(upper - lower)) + inputs.spacing
    arguments = [mesh.id, wp.vec3(*map(float, first)), wp.vec3i(*map(int, size)), inputs.spacing]
    arguments += [inputs.spacingJitter, inputs.seed, reach, wp.vec2(inputs.minSdf, inputs.maxSdf)]
    places, inside = compute(db, find_particles, count, arguments, (count, wp.vec3), (count, int))
    wp.utils.array_scan(inside, inside)
    fitting = int(numbers(db, inside[count - 1 :])[0])
    if fitting > inputs.maxPoints:
        db.log_warning(f"{fitting} particles fit; inputs:maxPoints keeps the first {inputs.maxPoints} of them")
    kept = wp.empty(min(fitting, max(inputs.maxPoints, 0)), dtype=wp.vec3, device=places.device)
    launch(db, keep_inside, count, [places, inside, kept])
    return kept
