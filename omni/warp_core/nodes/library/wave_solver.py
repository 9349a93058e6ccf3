"""Waves on a grid: the wave equation with damping, h_tt = c^2 (h_xx + h_zz) - k h_t, reflected at the edges.

Symplectic Euler steps, as many for a frame as stability wants: c dt sqrt(1/dx^2 + 1/dz^2) stays below 0.9. Points of
the surface that are inside of the collider are held `amplitude` below the rest, and the surface is free elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..graph.bundle_exchange import input_bundle
from ..values.bundles import EMPTY, Bundle, item
from .device_arrays import compute, device_of, given, launch, prim_array
from .grid_mesh import GridState, cells_of, require_size
from .point_arrays import Faces, moved_on, points_on
from .prim_bundles import between, find_prim, give, normals_item, world_matrix
from .simulation import warn_of_rest

MOST_STEPS = 1000  # in one frame
COURANT = 0.9
_ANYWHERE = 1e18  # a distance to search whose square a float can hold


@wp.kernel
def find_inside(mesh: wp.uint64, reach: float, rest: wp.array[wp.vec3], inside: wp.array[wp.uint8]):
    """Mark the points of the surface at rest that are inside of the collider."""
    i = wp.tid()
    near = wp.mesh_query_point(mesh, rest[i], reach)
    inside[i] = wp.uint8(near.result and near.sign < 0.0)


@wp.kernel
def advance(
    height: wp.array2d[float],
    inside: wp.array2d[wp.uint8],
    pull: wp.vec2,
    brake: float,
    dt: float,
    held: float,
    velocity: wp.array2d[float],
    after: wp.array2d[float],
):
    """Take one step; `pull` is c^2 dt over the square of the cell along z and x."""
    i, j = wp.tid()
    last_i = height.shape[0] - 1
    last_j = height.shape[1] - 1
    h = height[i, j]
    along = height[wp.min(i + 1, last_i), j] + height[wp.max(i - 1, 0), j] - 2.0 * h
    across = height[i, wp.min(j + 1, last_j)] + height[i, wp.max(j - 1, 0)] - 2.0 * h
    v = (velocity[i, j] + pull[0] * along + pull[1] * across) * brake
    if inside[i, j] != wp.uint8(0):
        velocity[i, j] = 0.0
        after[i, j] = -held
    else:
        velocity[i, j] = v
        after[i, j] = h + dt * v


@wp.kernel
def raise_points(
    rest: wp.array2d[wp.vec3],
    height: wp.array2d[float],
    cell: wp.vec2,
    points: wp.array2d[wp.vec3],
    normals: wp.array2d[wp.vec3],
):
    """Write the points of the surface and their normals; `cell` is the size of a cell along z and x."""
    i, j = wp.tid()
    below = wp.max(i - 1, 0)
    above = wp.min(i + 1, height.shape[0] - 1)
    left = wp.max(j - 1, 0)
    right = wp.min(j + 1, height.shape[1] - 1)
    along = (height[above, j] - height[below, j]) / (float(above - below) * cell[0])
    across = (height[i, right] - height[i, left]) / (float(right - left) * cell[1])
    points[i, j] = rest[i, j] + wp.vec3(0.0, height[i, j], 0.0)
    normals[i, j] = wp.normalize(wp.vec3(-across, 1.0, -along))


class WaveState(GridState):
    """The surface between frames."""

    def __init__(self) -> None:
        super().__init__()
        self.time = math.nan
        self.height: Any = None
        self.velocity: Any = None
        self.collider: tuple[Bundle, bytes] | None = None
        self.faces = Faces()
        self.inside: Any = None


def steps_of(dt: float, speed: float, cell: tuple[float, float]) -> int:
    """Return the number of steps for a time. Raises GraphError for a speed that takes too many."""
    steps = math.ceil(dt * speed * math.hypot(1 / cell[0], 1 / cell[1]) / COURANT)
    if steps > MOST_STEPS:
        raise GraphError(
            f"waves of speed {speed:g} on cells of {min(cell):g} need {steps} steps in a frame, and {MOST_STEPS} are "
            "the most; set a larger inputs:cellSize or a lower inputs:speed"
        )
    return max(steps, 1)


def solve(db: Any) -> None:
    """Compute Wave Solve."""
    state, inputs = db.per_instance_state, db.inputs
    require_size(inputs.size)
    cells, time = cells_of(inputs.size, inputs.cellSize), inputs.time
    if not (math.isfinite(inputs.speed) and inputs.speed >= 0 and math.isfinite(inputs.damping)):
        raise GraphError("inputs:speed must not be below 0, and inputs:damping must be finite")
    warn_of_rest(db, state.time, time)
    if state.grid(inputs.size, cells, inputs.transform) or not time >= state.time:
        _reset(state, cells, device_of(db))
        state.time = time
    _find_inside(db, state, cells)
    if time > state.time:
        _step(state, inputs, cells, time - state.time, device_of(db))
        state.time = time
    _give(db, state, _cell(inputs, cells))


def _reset(state: WaveState, cells: tuple[int, int], device: str) -> None:
    shape = (cells[1] + 1, cells[0] + 1)
    state.height, state.velocity = (wp.zeros(shape, dtype=float, device=device) for _ in range(2))
    state.inside = wp.zeros(shape, dtype=wp.uint8, device=device)
    state.collider = None


def _find_inside(db: Any, state: WaveState, cells: tuple[int, int]) -> None:
    bundle = input_bundle(db, "collider")
    if bundle is EMPTY:
        return
    prim, world = find_prim(bundle, "collider", "Mesh"), db.inputs.transform
    if state.collider is not None and state.collider[0] is prim and state.collider[1] == world.tobytes():
        return
    points = moved_on(db, points_on(db, prim), between(world_matrix(prim), world))
    state.faces.take(db, prim)
    state.collider = (prim, world.tobytes())
    if not len(state.faces.triangles):
        state.inside.zero_()
        return
    mesh, rest = wp.Mesh(points, state.faces.corners), prim_array(db, state.prim, "points", "pointf[3][]")
    launch(db, find_inside, len(rest), [mesh.id, _ANYWHERE, rest, state.inside.flatten()])


def _cell(inputs: Any, cells: tuple[int, int]) -> tuple[float, float]:
    """Return the size of a cell along z and x."""
    return float(inputs.size[1]) / cells[1], float(inputs.size[0]) / cells[0]


def _step(state: WaveState, inputs: Any, cells: tuple[int, int], dt: float, device: str) -> None:
    cell = _cell(inputs, cells)
    steps = steps_of(dt, inputs.speed, cell)
    dt /= steps
    pull = wp.vec2(*(inputs.speed**2 * dt / c**2 for c in cell))
    brake = 1.0 / (1.0 + max(inputs.damping, 0.0) * dt)
    after = wp.empty_like(state.height)
    for _ in range(steps):
        arguments = [state.height, state.inside, pull, brake, dt, inputs.amplitude, state.velocity, after]
        wp.launch(advance, dim=state.height.shape, inputs=arguments, device=device)
        state.height, after = after, state.height


def _give(db: Any, state: WaveState, cell: tuple[float, float]) -> None:
    shape = state.height.shape
    rest = prim_array(db, state.prim, "points", "pointf[3][]").reshape(shape)
    points, normals = compute(db, raise_points, shape, [rest, state.height, wp.vec2(*cell)], *[(shape, wp.vec3)] * 2)
    moved_points = {"points": item("pointf[3][]", given(db, points, "pointf[3][]"))}
    rising = normals_item(given(db, normals, "normalf[3][]"), "vertex")
    give(db, "mesh", state.prim.having({**moved_points, **rising}))
