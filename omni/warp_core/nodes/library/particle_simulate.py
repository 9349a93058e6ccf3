"""Particle Simulate: grains as balls that push, rub and hold each other (Cundall and Strack 1979), and lie on surfaces.

The solver works in metres in the world: the points of the scene over `globalScale`. Each particle sums the forces of
its neighbors itself, so results do not depend on the order of threads. The state begins anew when time goes back, or
when there are other particles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..values.bundles import Bundle, item
from . import contacts
from .contacts import Collider, Contact, Planes, at_least_zero, pushed
from .device_launch import device_of, on_device
from .prim_bundles import array_of, find_prim, give, points_of, require_bundle, with_points, world_matrix

NEIGHBORS = 12  # that touch a ball of the same size
_MOST_CELLS = 128  # of the grid, along each axis


@wp.kernel
def touch(
    grid: wp.uint64,
    reach: float,
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
    radii: wp.array[float],
    contact: Contact,
    cohesion: float,
    forces: wp.array[wp.vec3],
):
    """Write the sum of the forces that its neighbors have on each particle."""
    i = wp.tid()
    p = x[i]
    f = wp.vec3(0.0, 0.0, 0.0)
    near = wp.hash_grid_query(grid, p, reach)
    j = 0
    while wp.hash_grid_query_next(near, j):
        away = p - x[j]
        distance = wp.length(away)
        gap = distance - radii[i] - radii[j]
        if j != i and gap < cohesion and distance > 0.0:
            n = away / distance
            u = v[i] - v[j]
            along = wp.dot(u, n)
            push = -contact.elastic * gap
            if gap < 0.0:
                push -= contact.damping * wp.min(along, 0.0)
            across = u - along * n
            speed = wp.length(across)
            rub = wp.min(contact.friction * speed, contact.coefficient * wp.abs(push))
            f += n * push - across * (rub / wp.max(speed, 1.0e-20))
    forces[i] = f


@wp.func
def held(x: float, reach: float, elastic: float) -> float:
    """Return the force along the normal with which a surface at a distance of x holds a particle."""
    return wp.where(x > 0.0 and x < reach, -elastic * x, 0.0)


@wp.kernel
def advance(
    forces: wp.array[wp.vec3],
    inverse_mass: wp.array[float],
    radii: wp.array[float],
    gravity: wp.vec3,
    dt: float,
    contact: Contact,
    adhesion: float,
    thickness: float,
    ground: float,
    normals: wp.array[wp.vec3],
    offsets: wp.array[float],
    speeds: wp.array[wp.vec3],
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
):
    """Take one step of each particle that has a finite mass."""
    i = wp.tid()
    w = inverse_mass[i]
    if w > 0.0:
        n = normals[i]
        up = wp.vec3(0.0, 1.0, 0.0)
        surface = speeds[i]
        to_mesh = wp.dot(n, x[i]) - offsets[i] - thickness - radii[i]
        to_ground = x[i][1] - ground - radii[i]
        f = forces[i] + n * held(to_mesh, adhesion, contact.elastic) + up * held(to_ground, adhesion, contact.elastic)
        u = v[i] + dt * (w * f + gravity)
        u = surface + pushed(u - surface, n, to_mesh, w, dt, contact)
        u = pushed(u, up, to_ground, w, dt, contact)
        v[i] = u
        x[i] = x[i] + dt * u


class ParticleState:
    """The particles between frames."""

    def __init__(self) -> None:
        self.time = math.nan
        self.made_of: tuple = ()
        self.collider = Collider()
        self.x: Any = None
        self.v: Any = None
        self.radii: Any = None
        self.weights: Any = None
        self.reach = self.lightest = 0.0
        self.planes: Any = None
        self.grid: Any = None
        self.forces: Any = None
        self.prim: Bundle | None = None


def simulate(db: Any) -> None:
    """Compute Particle Simulate. Raises GraphError."""
    state, inputs, device = db.per_instance_state, db.inputs, device_of(db)
    source = find_prim(require_bundle(db, "particles", "particles"), "particles", "Points")
    scale, time = contacts.require_scale(inputs), float(inputs.time)
    if not inputs.enabled:
        state.made_of = ()
        give(db, "particles", source)
        return
    identity = (len(source.value("points", ())), scale, world_matrix(source).tobytes())
    if identity != state.made_of or not time >= state.time:
        _begin(state, source, scale, device)
        state.made_of, state.time = identity, time
    dt = time - state.time
    state.collider.read(db, scale, dt, device)
    if dt > 0 and len(state.x):
        _advance(state, inputs, scale, dt, device)
    state.time = time
    state.prim = state.prim or _moved(state, source, scale)
    give(db, "particles", state.prim)


def _begin(state: ParticleState, source: Bundle, scale: float, device: str) -> None:
    matrix, points = world_matrix(source), points_of(source)
    count = len(points)
    widths = _each(source, "widths", count, None)
    masses = _each(source, "masses", count, 1.0)
    velocities = array_of(source, "velocities", "vectorf[3][]")
    if len(velocities) not in (0, count):
        raise GraphError(f"the particles have {len(velocities)} velocities for {count} points")
    if not ((widths > 0).all() and (masses >= 0).all()):
        raise GraphError("the widths of particles must be above 0, and their masses at least 0")
    with np.errstate(divide="ignore"):
        inverse = np.where(masses > 0, 1 / masses, 0.0)  # without a mass, a particle stays
    radii = widths / 2 / scale
    state.x = on_device(((points @ matrix[:3, :3] + matrix[3, :3]) / scale).astype(np.float32), device)
    start = velocities @ matrix[:3, :3] / scale if len(velocities) else np.zeros((count, 3))
    state.v = on_device(start.astype(np.float32), device)
    state.radii, state.weights = (on_device(a.astype(np.float32), device) for a in (radii, inverse))
    state.reach, state.lightest = 2 * float(radii.max(initial=0.0)), float(inverse.max(initial=0.0))
    state.planes, state.forces = Planes(count, device), wp.zeros(count, dtype=wp.vec3, device=device)
    side = int(min(max(8, 2 ** math.ceil(math.log2(max(count, 1)) / 3 + 1)), _MOST_CELLS))
    state.grid = wp.HashGrid(side, side, side, device)
    state.prim = None


def _each(source: Bundle, name: str, count: int, missing: float | None) -> np.ndarray:
    """Return one number for each particle; one value in the prim counts for all. Raises GraphError."""
    found = array_of(source, name, "float[]").astype(np.float64)
    if not len(found) and missing is not None:
        found = np.array([missing])
    if len(found) not in (1, count) or not np.isfinite(found).all():
        raise GraphError(f"the particles need {name}: one finite number for all, or one for each of {count} points")
    return np.broadcast_to(found, count)


def _advance(state: ParticleState, inputs: Any, scale: float, dt: float, device: str) -> None:
    contact, substeps = contacts.contact_of(inputs), int(inputs.substepCount)
    cohesion, adhesion = (at_least_zero(inputs, f"particlesContact{n}") / scale for n in ("Cohesion", "Adhesion"))
    thickness = at_least_zero(inputs, "colliderContactDistance") / scale
    around = at_least_zero(inputs, "colliderContactQueryRange") / scale + thickness + state.reach
    stiffest = 2 * NEIGHBORS * state.lightest
    decay = stiffest * (contact.damping + contact.friction)
    longest = 1.0 / max(math.sqrt(stiffest * contact.elastic), decay, 1e-30)
    steps = contacts.require_steps(substeps, dt, longest, "set lower stiffnesses, or larger masses")
    step = dt / (steps * substeps)
    gravity = wp.vec3(*(np.asarray(inputs.gravity, np.float64) / scale).tolist())
    ground = float(inputs.groundAltitude) / scale if inputs.groundEnabled else -1e30
    planes, count, reach = state.planes, len(state.x), state.reach + cohesion
    near = [state.grid.id, reach, state.x, state.v, state.radii, contact, cohesion, state.forces]
    given = [state.forces, state.weights, state.radii, gravity, step, contact, adhesion, thickness, ground]
    given += [planes.normals, planes.offsets, planes.speeds, state.x, state.v]
    for part in range(substeps):
        state.collider.find_planes(state.x, around, (part + 1) / substeps, planes, device)
        for _ in range(steps):
            state.grid.build(state.x, reach)
            wp.launch(touch, dim=count, inputs=near, device=device)
            wp.launch(advance, dim=count, inputs=given, device=device)
    state.prim = None


def _moved(state: ParticleState, source: Bundle, scale: float) -> Bundle:
    world, velocities = state.x.numpy() * np.float32(scale), state.v.numpy() * np.float32(scale)
    if not np.isfinite(world).all():
        raise GraphError("the particles flew apart; set a higher inputs:substepCount or lower stiffnesses")
    try:
        inverse = np.linalg.inv(world_matrix(source))
    except np.linalg.LinAlgError:
        raise GraphError("the transform of the particles cannot be inverted; a scale in it is 0") from None
    points = (world @ inverse[:3, :3] + inverse[3, :3]).astype(np.float32)
    moving = (velocities @ inverse[:3, :3]).astype(np.float32)
    return with_points(source, points).having({"velocities": item("vectorf[3][]", moving)})
