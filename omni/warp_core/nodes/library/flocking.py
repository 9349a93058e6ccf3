"""Sample Prim Flocking: prims that fly as a flock (Reynolds 1987): apart, along with each other, and together.

The prims are those that `prims` names, or those below them. A scene of omni.warp names none: there, shapes with `boid`
in their path fly. Each turns its z axis to where it flies. The state begins anew when time goes back, or when there are
other prims.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pxr import UsdGeom

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..stock.prims.prim_writers import PrimWriter
from ..values.bundles import Bundle, item
from .contacts import at_least_zero
from .device_arrays import device_of, launch, numbers, sent
from .prim_bundles import on_stage, require_room
from .simulation import warn_of_rest

STEPS_PER_SECOND = 60
UNNAMED = "boid"  # in the path of prims that fly where `prims` names none
_MOST_STEPS = 10_000


@wp.kernel
def steer(
    grid: wp.uint64,
    radius: float,
    room: float,
    center: wp.vec3,
    bounds: float,
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
    steering: wp.array[wp.vec3],
):
    """Write the acceleration that each prim wants, in parts of its highest one."""
    i = wp.tid()
    p = x[i]
    away = wp.vec3(0.0, 0.0, 0.0)
    along = wp.vec3(0.0, 0.0, 0.0)
    middle = wp.vec3(0.0, 0.0, 0.0)
    count = 0.0
    near = wp.hash_grid_query(grid, p, radius)
    j = 0
    while wp.hash_grid_query_next(near, j):
        d = p - x[j]
        distance = wp.length(d)
        if j != i and distance < radius:
            count += 1.0
            along += v[j] - v[i]
            middle -= d
            if distance < room and distance > 0.0:
                away += d * ((room - distance) / (distance * room))
    result = 2.0 * away
    if count > 0.0:
        result += 0.8 * wp.normalize(along / count) + 0.4 * middle / (count * radius)
    out = p - center
    if wp.length(out) > bounds:
        result -= 2.0 * wp.normalize(out)
    steering[i] = result


@wp.kernel
def fly(steering: wp.array[wp.vec3], speed: float, dt: float, x: wp.array[wp.vec3], v: wp.array[wp.vec3]):
    """Take one step; a prim flies at half of its speed at least."""
    i = wp.tid()
    u = v[i] + (2.0 * speed * dt) * steering[i]
    u = wp.normalize(u) * wp.clamp(wp.length(u), 0.5 * speed, speed)
    v[i] = u
    x[i] = x[i] + dt * u


class FlockState:
    """The flock between frames."""

    def __init__(self) -> None:
        self.time = math.nan
        self.paths: tuple[str, ...] = ()
        self.seed = 0
        self.scales = np.zeros((0, 3))
        self.kinds: list[str] = []
        self.start = self.center = np.zeros(3)
        self.x: Any = None
        self.v: Any = None
        self.steering: Any = None
        self.grid: Any = None
        self.writer = PrimWriter()


@on_stage
def flock(db: Any) -> None:
    """Compute Sample Prim Flocking. Raises GraphError."""
    state, inputs, device = db.per_instance_state, db.inputs, device_of(db)
    paths, time = _members(db), float(inputs.time)
    warn_of_rest(db, state.time, time)
    if paths != state.paths or inputs.seed != state.seed or not time >= state.time:
        _begin(db, state, paths, device)
        state.time = time
    if time > state.time:
        _fly(db, state, time - state.time)
        state.time = time
    _write(db, state)


def _members(db: Any) -> tuple[str, ...]:
    store, targets = db.host.store, db.inputs.prims
    found: dict[str, None] = {}
    for target in targets:
        below = [str(prim.GetPath()) for prim in store.prims.below(target, recursive=False)]
        found |= dict.fromkeys(path for path in below or [target] if store.is_xformable(path))
    if not targets:
        everything = (str(prim.GetPath()) for prim in store.prims.below("/") if prim.IsA(UsdGeom.Gprim))
        found = dict.fromkeys(path for path in everything if UNNAMED in path.lower())
    if not found:
        raise GraphError("no prim flies: name some in inputs:prims, or the prim above them")
    require_room(len(found), "the prims of the flock", "name fewer prims in inputs:prims")
    return tuple(found)


def _begin(db: Any, state: FlockState, paths: tuple[str, ...], device: str) -> None:
    store, seed = db.host.store, int(db.inputs.seed)
    if state.paths != paths:  # else the prims are where the flock has left them
        matrices = np.array([store.local_to_world(path) for path in paths]).reshape(-1, 4, 4)
        state.scales, state.start = np.linalg.norm(matrices[:, :3, :3], axis=2), matrices[:, 3, :3]
        state.kinds = [str(store.prim(path).GetTypeName()) for path in paths]
        state.center = state.start.mean(0) if len(paths) else np.zeros(3)
    aims = np.random.default_rng(seed & 0xFFFFFFFF).normal(size=(len(paths), 3))
    velocities = aims / np.linalg.norm(aims, axis=1, keepdims=True) * at_least_zero(db.inputs, "speed")
    state.paths, state.seed = paths, db.inputs.seed
    state.x, state.v = (sent(db, a.astype(np.float32), wp.vec3) for a in (state.start, velocities))
    state.steering = wp.zeros(len(paths), dtype=wp.vec3, device=device)
    state.grid = wp.HashGrid(32, 32, 32, device)


def _fly(db: Any, state: FlockState, dt: float) -> None:
    inputs = db.inputs
    radius, room = at_least_zero(inputs, "radius"), at_least_zero(inputs, "separation")
    if radius == 0.0:
        raise GraphError("inputs:radius is 0; it is how far a prim sees others")
    steps = math.ceil(dt * STEPS_PER_SECOND)
    if steps > _MOST_STEPS:
        most = _MOST_STEPS // STEPS_PER_SECOND
        raise GraphError(f"inputs:time goes on by {dt:g} s in a frame, and {most} s are the most")
    center, bounds = wp.vec3(*state.center.tolist()), at_least_zero(inputs, "bounds")
    for _ in range(steps if state.paths else 0):
        state.grid.build(state.x, radius)
        given = [state.grid.id, radius, room, center, bounds, state.x, state.v, state.steering]
        launch(db, steer, len(state.paths), given)
        moving = [state.steering, float(inputs.speed), dt / steps, state.x, state.v]
        launch(db, fly, len(state.paths), moving)


def _write(db: Any, state: FlockState) -> None:
    x, v = (numbers(db, array).astype(np.float64) for array in (state.x, state.v))
    matrices = placed(x, v, state.scales)
    places = [
        (path, Bundle({"sourcePrimType": item("token", kind), "worldMatrix": item("matrixd[4]", matrix)}))
        for path, kind, matrix in zip(state.paths, state.kinds, matrices, strict=True)
    ]
    state.writer.write(db, places, "*")


def placed(x: np.ndarray, v: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return transforms (n, 4, 4), for row vectors, to positions, with the z axis along velocities and y upwards."""
    front = v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-20)
    side = np.cross([0.0, 1.0, 0.0], front)
    size = np.linalg.norm(side, axis=1, keepdims=True)
    side = np.where(size > 1e-6, side / np.maximum(size, 1e-20), [1.0, 0.0, 0.0])
    matrices = np.zeros((len(x), 4, 4))
    for row, axis in enumerate((side, np.cross(front, side), front)):
        matrices[:, row, :3] = axis * scales[:, row : row + 1]
    matrices[:, 3, :3], matrices[:, 3, 3] = x, 1.0
    return matrices
