"""Particle Simulate: grains as balls that push, rub and hold each other (Cundall and Strack 1979), and lie on surfaces.

simulation.py says how it goes on with time. Each particle sums the forces of its neighbors itself, so results do not
depend on the order of threads. The state begins anew when there are other particles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..values.bundles import Bundle
from .contacts import Contact, Step, at_least_zero, contact_of, stepped
from .device_arrays import device_of, launch, sent
from .prim_bundles import array_of, count_of, world_matrix
from .simulation import Simulation

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
    adhesion: float,
    step: Step,
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
        to_mesh = wp.dot(n, x[i]) - offsets[i] - step.thickness - radii[i]
        to_ground = x[i][1] - step.ground - radii[i]
        elastic = step.contact.elastic
        f = forces[i] + n * held(to_mesh, adhesion, elastic) + up * held(to_ground, adhesion, elastic)
        u = stepped(v[i], f, w, step, n, speeds[i], to_mesh, to_ground)
        v[i] = u
        x[i] = x[i] + step.dt * u


class Particles(Simulation):
    """The particles of one node between frames."""

    port, kind, what = "particles", "Points", "particles"
    remedy = "set lower stiffnesses, or larger masses"

    def __init__(self) -> None:
        super().__init__()
        self._radii: Any = None
        self._forces: Any = None
        self._grid: Any = None
        self._lightest = self._cohesion = self._adhesion = 0.0

    def identity(self, inputs: Any, source: Bundle) -> tuple:
        """See Simulation."""
        return (count_of(source, "points"),)

    def begin(self, db: Any, source: Bundle, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See Simulation."""
        count, scale = len(x), float(db.inputs.globalScale)
        widths, masses = _each(source, "widths", count, None), _each(source, "masses", count, 1.0)
        velocities = array_of(source, "velocities", "vectorf[3][]")
        if len(velocities) not in (0, count):
            raise GraphError(f"the particles have {len(velocities)} velocities for {count} points")
        if not ((widths > 0).all() and (masses >= 0).all()):
            raise GraphError("the widths of particles must be above 0, and their masses at least 0")
        with np.errstate(divide="ignore"):
            inverse = np.where(masses > 0, 1 / masses, 0.0)  # without a mass, a particle stays
        radii = widths / 2 / scale
        self.reach, self._lightest = 2 * float(radii.max(initial=0.0)), float(inverse.max(initial=0.0))
        self._radii = sent(db, radii.astype(np.float32), float)
        self._forces = wp.empty(count, dtype=wp.vec3, device=device_of(db))
        side = int(min(max(8, 2 ** math.ceil(math.log2(max(count, 1)) / 3 + 1)), _MOST_CELLS))
        self._grid = wp.HashGrid(side, side, side, device_of(db))
        start = velocities @ world_matrix(source)[:3, :3] / scale if len(velocities) else np.zeros((count, 3))
        return start, inverse

    def prepare(self, inputs: Any, scale: float) -> float:
        """See Simulation."""
        names = ("particlesContactCohesion", "particlesContactAdhesion")
        self._cohesion, self._adhesion = (at_least_zero(inputs, name) / scale for name in names)
        contact, stiffest = contact_of(inputs), 2 * NEIGHBORS * self._lightest
        decay = stiffest * (contact.damping + contact.friction)
        return 1.0 / max(math.sqrt(stiffest * contact.elastic), decay, 1e-30)

    def step(self, db: Any, step: Any) -> None:
        """See Simulation."""
        count, reach, planes = len(self.x), self.reach + self._cohesion, self.planes
        self._grid.build(self.x, reach)
        near = [self._grid.id, reach, self.x, self.v, self._radii, step.contact, self._cohesion, self._forces]
        launch(db, touch, count, near)
        on_each = [self._forces, self.weights, self._radii, self._adhesion, step]
        launch(db, advance, count, [*on_each, planes.normals, planes.offsets, planes.speeds, self.x, self.v])


def _each(source: Bundle, name: str, count: int, missing: float | None) -> np.ndarray:
    """Return one number for each particle; one value in the prim counts for all. Raises GraphError."""
    found = array_of(source, name, "float[]").astype(np.float64)
    if not len(found) and missing is not None:
        found = np.array([missing])
    if len(found) not in (1, count) or not np.isfinite(found).all():
        raise GraphError(f"the particles need {name}: one finite number for all, or one for each of {count} points")
    return np.broadcast_to(found, count)
