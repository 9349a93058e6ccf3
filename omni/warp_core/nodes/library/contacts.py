"""Contacts of simulated points with a ground and with a mesh that moves: what Cloth and Particle Simulate share.

A point that is too near to a surface gets the velocity that an implicit step of a damped spring would give it. So stiff
contacts need no small steps. Friction is Coulomb's, and for slow points viscous. Surfaces only push.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..graph.bundle_exchange import input_bundle
from ..values.bundles import EMPTY, Bundle
from .device_arrays import launch
from .point_arrays import Faces, moved_on, points_on
from .prim_bundles import find_prim, world_matrix

MOST_STEPS = 20_000  # in one frame


@wp.struct
class Contact:
    """How surfaces answer: spring (N/m), damper (N s/m), friction of slow points (N s/m) and Coulomb's coefficient."""

    elastic: float
    damping: float
    friction: float
    coefficient: float


@wp.func
def pushed(v: wp.vec3, n: wp.vec3, gap: float, inverse_mass: float, dt: float, contact: Contact) -> wp.vec3:
    """Return the velocity, relative to a surface with the normal n, of a point at a distance of `gap`."""
    result = v
    if gap < 0.0:
        along = wp.dot(v, n)
        soft = dt * inverse_mass
        wanted = (along - soft * contact.elastic * gap) / (1.0 + soft * contact.damping + dt * soft * contact.elastic)
        push = wp.max(wanted - along, 0.0)
        across = v - along * n
        speed = wp.length(across)
        slowed = wp.min(contact.coefficient * push, speed * (1.0 - 1.0 / (1.0 + soft * contact.friction)))
        result = (along + push) * n + across * (1.0 - slowed / wp.max(speed, 1.0e-20))
    return result


@wp.struct
class Step:
    """What acts on all points in one step of `dt`: gravity, contacts, and where the collider and the ground begin."""

    gravity: wp.vec3
    dt: float
    contact: Contact
    thickness: float
    ground: float


@wp.func
def stepped(
    v: wp.vec3, force: wp.vec3, w: float, step: Step, n: wp.vec3, surface: wp.vec3, to_mesh: float, to_ground: float
) -> wp.vec3:
    """Return the velocity of a point after a step; `w` is its inverse mass, `surface` the velocity of the collider."""
    u = v + step.dt * (w * force + step.gravity)
    u = surface + pushed(u - surface, n, to_mesh, w, step.dt, step.contact)
    return pushed(u, wp.vec3(0.0, 1.0, 0.0), to_ground, w, step.dt, step.contact)


@wp.kernel
def find_planes(
    mesh: wp.uint64,
    reach: float,
    x: wp.array[wp.vec3],
    normals: wp.array[wp.vec3],
    offsets: wp.array[float],
    speeds: wp.array[wp.vec3],
):
    """Write the plane through the nearest point of a mesh, and the velocity there; without one, a plane far below."""
    i = wp.tid()
    p = x[i]
    offsets[i] = -1.0e30
    near = wp.mesh_query_point(mesh, p, reach)
    if near.result:
        closest = wp.mesh_eval_position(mesh, near.face, near.u, near.v)  # type: ignore[arg-type]
        away = (p - closest) * near.sign
        n = wp.mesh_eval_face_normal(mesh, near.face)  # type: ignore[arg-type]
        if wp.length(away) > 1.0e-6:
            n = wp.normalize(away)
        normals[i] = n
        offsets[i] = wp.dot(n, closest)
        speeds[i] = wp.mesh_eval_velocity(mesh, near.face, near.u, near.v)  # type: ignore[arg-type]


class Planes:
    """The planes of the collider that points have near them, as find_planes writes them."""

    def __init__(self, count: int, device: str):
        self.normals = wp.zeros(count, dtype=wp.vec3, device=device)
        self.offsets = wp.full(count, -1.0e30, dtype=float, device=device)
        self.speeds = wp.zeros(count, dtype=wp.vec3, device=device)


@wp.kernel
def blend(before: wp.array[wp.vec3], now: wp.array[wp.vec3], part: float, out: wp.array[wp.vec3]):
    """Write points between two states."""
    i = wp.tid()
    out[i] = before[i] + (now[i] - before[i]) * part


@wp.kernel
def find_speeds(before: wp.array[wp.vec3], now: wp.array[wp.vec3], dt: float, out: wp.array[wp.vec3]):
    """Write the velocities of points that move evenly from one state to another."""
    i = wp.tid()
    out[i] = (now[i] - before[i]) / dt


class Collider:
    """The mesh of the input `collider` in the space of the solver; it moves evenly from frame to frame."""

    def __init__(self) -> None:
        self._prim: Bundle | None = None
        self._faces = Faces()
        self._before: Any = None
        self._now: Any = None
        self.mesh: Any = None

    def read(self, db: Any, scale: float, dt: float) -> None:
        """Take the collider of this frame. Raises GraphError."""
        bundle = input_bundle(db, "collider")
        prim = None if bundle is EMPTY else find_prim(bundle, "collider", "Mesh")
        self._before = self._now
        if prim is not self._prim:
            self._take(db, prim, scale)
        if self.mesh is not None and dt > 0.0:
            launch(db, find_speeds, len(self._now), [self._before, self._now, dt, self.mesh.velocities])

    def _take(self, db: Any, prim: Bundle | None, scale: float) -> None:
        self._prim = prim
        is_new = prim is not None and self._faces.take(db, prim)
        if prim is None or not len(self._faces.triangles):
            self.mesh = None
            return
        points = moved_on(db, points_on(db, prim), to_metres(prim, scale))
        if self.mesh is None or is_new:
            still: Any = wp.zeros(len(points), dtype=wp.vec3, device=points.device)
            self.mesh = wp.Mesh(wp.clone(points), self._faces.corners, still)
            self._before = points
        self._now = points

    def find_planes(self, db: Any, x: Any, reach: float, part: float, planes: Planes) -> None:
        """Write the planes near points, when a part of the frame (0 to 1) has passed."""
        if self.mesh is None:
            planes.offsets.fill_(-1.0e30)
            return
        if self._before is not self._now:
            launch(db, blend, len(self._now), [self._before, self._now, part, self.mesh.points])
            self.mesh.refit()
        launch(db, find_planes, len(x), [self.mesh.id, reach, x, planes.normals, planes.offsets, planes.speeds])


def to_metres(prim: Bundle, scale: float) -> np.ndarray:
    """Return the matrix from the space of a prim to metres in the world."""
    return world_matrix(prim) @ np.diag([1 / scale, 1 / scale, 1 / scale, 1.0])


def contact_of(inputs: Any) -> Any:
    """Return the contact that the inputs of a node describe. Raises GraphError."""
    contact = Contact()
    contact.elastic = at_least_zero(inputs, "contactElasticStiffness")
    contact.damping = at_least_zero(inputs, "contactDampingStiffness")
    contact.friction = at_least_zero(inputs, "contactFrictionStiffness")
    contact.coefficient = at_least_zero(inputs, "contactFrictionCoeff")
    return contact


def at_least_zero(inputs: Any, name: str) -> float:
    """Return a number of a node. Raises GraphError if it is negative or not finite."""
    value = float(getattr(inputs, name))
    if not (math.isfinite(value) and value >= 0):
        raise GraphError(f"inputs:{name} is {value:g}; it must be at least 0")
    return value


def require_scale(inputs: Any) -> float:
    """Return the units of the scene in a metre. Raises GraphError."""
    scale = float(inputs.globalScale)
    if not (math.isfinite(scale) and scale > 0):
        raise GraphError(f"inputs:globalScale is {scale:g}; it is the number of units in a metre, and above 0")
    return scale


def require_steps(substeps: int, seconds: float, longest: float, remedy: str) -> int:
    """Return how many steps one of `substeps` parts of a frame takes, so that none is longer than `longest` seconds.

    Raises GraphError for no substeps, and for more steps than a frame may take.
    """
    if substeps < 1:
        raise GraphError(f"inputs:substepCount is {substeps}; it must be at least 1")
    steps = max(math.ceil(seconds / substeps / longest), 1) if longest > 0 else MOST_STEPS
    if steps * substeps > MOST_STEPS:
        raise GraphError(
            f"{seconds:g} s need {steps * substeps} steps, each of at most {longest:.3g} s, and {MOST_STEPS} are the "
            f"most in a frame; {remedy}"
        )
    return steps
