"""Simulations of points that go on with time, over a ground and a collider: the base of Cloth and Particle Simulate.

A solver works in metres in the world: the points of the scene over `globalScale`. It takes symplectic Euler steps, as
many as stability wants. The state begins anew when time goes back, or when `identity` changes. Subclasses of
`Simulation` have the forces.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..values.bundles import Bundle, item
from .contacts import Collider, Planes, Step, at_least_zero, contact_of, require_scale, require_steps, to_metres
from .device_arrays import compute, device_of, given, sent
from .point_arrays import infinite_in, matrix_of, through
from .prim_bundles import find_prim, give, points_of, require_bundle, with_points, world_matrix


@wp.kernel
def leave_metres(
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
    scale: float,
    matrix: wp.mat44d,
    points: wp.array[wp.vec3],
    velocities: wp.array[wp.vec3],
):
    """Write points and velocities in the space of a prim; `matrix` leads there from the world."""
    i = wp.tid()
    points[i] = through(x[i] * scale, 1.0, matrix)
    velocities[i] = through(v[i] * scale, 0.0, matrix)


def warn_of_rest(db: Any, before: float, now: float) -> None:
    """Warn of a time that stands still because nothing drives it. In Kit, the node says nothing."""
    if now == before and hasattr(db, "host") and not db.node.get_attribute("inputs:time").sources:
        db.log_warning(
            f"inputs:time is {now:g} again, and nothing is connected to it, so nothing moves; connect it to "
            "outputs:time of a node omni.graph.nodes.ReadTime"
        )


class Simulation:
    """The points of one node between frames: positions `x`, velocities `v`, and `weights`, one over each mass."""

    port, kind, what = "", "", ""  # the bundle that moves: its name, the type of its prim, and what it holds
    remedy = ""  # against too many steps

    def __init__(self) -> None:
        self._time = math.nan
        self._made_of: tuple | None = None
        self._collider = Collider()
        self._prim: Bundle | None = None  # that of the output
        self.reach = 0.0  # how far a point extends
        self.x: Any = None
        self.v: Any = None
        self.weights: Any = None
        self.planes: Any = None

    def identity(self, inputs: Any, source: Bundle) -> tuple:
        """Return what a simulation belongs to: with another one, it begins anew."""
        raise NotImplementedError

    def begin(self, db: Any, source: Bundle, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the velocities in metres and the inverse masses with which points `x` begin. Raises GraphError."""
        raise NotImplementedError

    def prepare(self, inputs: Any, scale: float) -> float:
        """Take the numbers of this frame. Return the longest stable step. Raises GraphError."""
        raise NotImplementedError

    def step(self, db: Any, step: Any) -> None:
        """Take one step of all points."""
        raise NotImplementedError

    def finish(self, db: Any, prim: Bundle, scale: float) -> Bundle:
        """Return the prim of the output, with what follows from its new points."""
        return prim

    def simulate(self, db: Any) -> None:
        """Compute a frame of the node. Raises GraphError."""
        inputs = db.inputs
        source = find_prim(require_bundle(db, self.port, self.what), self.port, self.kind)
        scale, time = require_scale(inputs), float(inputs.time)
        if not inputs.enabled:
            self._made_of = None
            give(db, self.port, source)
            return
        warn_of_rest(db, self._time, time)
        identity = (scale, world_matrix(source).tobytes(), *self.identity(inputs, source))
        if identity != self._made_of or not time >= self._time:
            self._begin(db, source, scale)
            self._made_of, self._time = identity, time
        dt = time - self._time
        self._collider.read(db, scale, dt)
        if dt > 0 and len(self.x):
            self._advance(db, scale, dt)
        self._time = time
        if self._prim is None:
            self._prim = self.finish(db, self._moved(db, source, scale), scale)
        give(db, self.port, self._prim)

    def _begin(self, db: Any, source: Bundle, scale: float) -> None:
        matrix = to_metres(source, scale)
        x = points_of(source) @ matrix[:3, :3] + matrix[3, :3]
        v, weights = self.begin(db, source, x)
        self.x, self.v = (sent(db, a.astype(np.float32), wp.vec3) for a in (x, v))
        self.weights = sent(db, weights.astype(np.float32), float)
        self.planes, self._prim = Planes(len(x), device_of(db)), None

    def _advance(self, db: Any, scale: float, dt: float) -> None:
        inputs, step = db.inputs, Step()
        substeps, step.contact = int(inputs.substepCount), contact_of(inputs)
        steps = require_steps(substeps, dt, self.prepare(inputs, scale), self.remedy)
        step.dt = dt / (steps * substeps)
        step.gravity = wp.vec3(*(np.asarray(inputs.gravity, np.float64) / scale).tolist())
        step.thickness = at_least_zero(inputs, "colliderContactDistance") / scale
        step.ground = float(inputs.groundAltitude) / scale if inputs.groundEnabled else -1e30
        reach = at_least_zero(inputs, "colliderContactQueryRange") / scale + step.thickness + self.reach
        for part in range(substeps):
            self._collider.find_planes(db, self.x, reach, (part + 1) / substeps, self.planes)
            for _ in range(steps):
                self.step(db, step)
        self._prim = None

    def _moved(self, db: Any, source: Bundle, scale: float) -> Bundle:
        """Return the prim with its points where they are now. Raises GraphError."""
        if infinite_in(db, self.x):
            raise GraphError(f"the {self.port} flew apart; set a higher inputs:substepCount or lower stiffnesses")
        try:
            inverse = np.linalg.inv(world_matrix(source))
        except np.linalg.LinAlgError:
            raise GraphError(f"the transform of the {self.port} cannot be inverted; a scale in it is 0") from None
        arguments, size = [self.x, self.v, scale, matrix_of(inverse)], len(self.x)
        points, velocities = compute(db, leave_metres, size, arguments, *[(size, wp.vec3)] * 2)
        moving = {"velocities": item("vectorf[3][]", given(db, velocities, "vectorf[3][]"))}
        return with_points(source, given(db, points, "pointf[3][]")).having(moving)
