"""Cloth Simulate: a mesh as cloth that falls, folds, hangs on springs, and lies on a collider and on the ground.

The solver works in metres in the world: the points of the scene over `globalScale`. It takes symplectic Euler steps, as
many as stability wants. The state begins anew when time goes back, or when the cloth gets other faces.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import GraphError
from ..values.bundles import Bundle, item
from . import contacts
from .bundle_exchange import output_bundle
from .cloth_model import ElementForces, Material, Rest, longest_step, rest_of
from .contacts import Collider, Contact, Planes, at_least_zero, pushed
from .device_launch import device_of, on_device
from .prim_bundles import find_prim, give, normals_item, points_of, require_bundle, triangles_of, with_points
from .prim_bundles import world_matrix as world_of


@wp.kernel
def advance(
    starts: wp.array[int],
    slots: wp.array[int],
    forces: wp.array[wp.vec3],
    inverse_mass: wp.array[float],
    gravity: wp.vec3,
    dt: float,
    contact: Contact,
    thickness: float,
    ground: float,
    normals: wp.array[wp.vec3],
    offsets: wp.array[float],
    speeds: wp.array[wp.vec3],
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
):
    """Take one step of each point that is not fixed."""
    i = wp.tid()
    w = inverse_mass[i]
    if w > 0.0:
        f = wp.vec3(0.0, 0.0, 0.0)
        for k in range(starts[i], starts[i + 1]):
            f += forces[slots[k]]
        u = v[i] + dt * (w * f + gravity)
        n = normals[i]
        surface = speeds[i]
        u = surface + pushed(u - surface, n, wp.dot(n, x[i]) - offsets[i] - thickness, w, dt, contact)
        u = pushed(u, wp.vec3(0.0, 1.0, 0.0), x[i][1] - ground - thickness, w, dt, contact)
        v[i] = u
        x[i] = x[i] + dt * u


class ClothState:
    """The cloth between frames."""

    def __init__(self) -> None:
        self.time = math.nan
        self.made_of: tuple = ()
        self.collider = Collider()
        self.rest: Rest | None = None
        self.elements: Any = None
        self.inverse_mass = np.zeros(0)
        self.start = np.zeros((0, 3))
        self.x: Any = None
        self.v: Any = None
        self.weights: Any = None
        self.planes: Any = None
        self.bundle: Bundle | None = None  # that of the output, and of which points
        self.moved = True


def simulate(db: Any) -> None:
    """Compute Cloth Simulate. Raises GraphError."""
    state, inputs, device = db.per_instance_state, db.inputs, device_of(db)
    source = find_prim(require_bundle(db, "cloth", "a mesh"), "cloth", "Mesh")
    scale, time = contacts.require_scale(inputs), float(inputs.time)
    if not inputs.enabled:
        state.made_of = ()
        give(db, "cloth", source)
        return
    if _identity(inputs, source) != state.made_of or not time >= state.time:
        _begin(state, inputs, source, scale, device)
        state.time = time
    dt = time - state.time
    state.collider.read(db, scale, dt, device)
    if dt > 0:
        _advance(state, inputs, scale, dt, device)
    state.time = time
    _give(db, state, source, scale)


def _identity(inputs: Any, source: Bundle) -> tuple:
    """Return what a simulation belongs to: with another one, it begins anew."""
    names = ("faceVertexCounts", "faceVertexIndices")
    faces = tuple(np.asarray(source.value(name, ())).tobytes() for name in names)
    numbers = (float(inputs.clothDensity), float(inputs.globalScale), world_of(source).tobytes())
    arrays = tuple(np.asarray(v).tobytes() for v in (inputs.springIndexPairs, inputs.fixedPoints))
    return (len(source.value("points", ())), faces, numbers, arrays)


def _begin(state: ClothState, inputs: Any, source: Bundle, scale: float, device: str) -> None:
    matrix = world_of(source)
    points = (points_of(source) @ matrix[:3, :3] + matrix[3, :3]) / scale
    density = at_least_zero(inputs, "clothDensity")
    if density == 0.0:
        raise GraphError("inputs:clothDensity is 0; cloth has a mass for each square metre, in kg")
    pairs = np.asarray(inputs.springIndexPairs, np.int32).reshape(-1, 2)
    fixed = np.asarray(inputs.fixedPoints, np.int32).reshape(-1)
    _require_points("springIndexPairs", pairs, len(points))
    _require_points("fixedPoints", fixed, len(points))
    rest = rest_of(points, triangles_of(source), pairs)
    masses = np.zeros(len(points))
    np.add.at(masses, rest.triangles.ravel(), np.repeat(rest.areas * density / 3, 3))
    with np.errstate(divide="ignore"):
        inverse = np.where(masses > 0, 1 / masses, 0.0)  # a point without a triangle stays
    inverse[fixed] = 0.0
    state.rest, state.elements, state.inverse_mass, state.start = rest, ElementForces(rest, device), inverse, points
    state.x, state.v = on_device(points.astype(np.float32), device), wp.zeros(len(points), dtype=wp.vec3, device=device)
    state.weights = on_device(inverse.astype(np.float32), device)
    state.planes = Planes(len(points), device)
    state.made_of, state.moved = _identity(inputs, source), True


def _require_points(name: str, indices: np.ndarray, count: int) -> None:
    wrong = indices[(indices < 0) | (indices >= count)]
    if len(wrong):
        raise GraphError(f"inputs:{name} names the point {wrong[0]}, and the cloth has {count}")


def _advance(state: ClothState, inputs: Any, scale: float, dt: float, device: str) -> None:
    material = Material()
    material.mu, material.area = (at_least_zero(inputs, f"clothTri{n}Stiffness") for n in ("Elastic", "Area"))
    material.damping = at_least_zero(inputs, "clothTriDampingStiffness")
    material.drag, material.lift = at_least_zero(inputs, "clothTriDrag"), at_least_zero(inputs, "clothTriLift")
    bending = tuple(at_least_zero(inputs, f"clothEdge{n}Stiffness") for n in ("Bending", "Damping"))
    spring = tuple(at_least_zero(inputs, f"spring{n}Stiffness") for n in ("Elastic", "Damping"))
    substeps = int(inputs.substepCount)
    steps = contacts.require_steps(
        substeps, dt, _longest(state, material, bending, spring), "set lower stiffnesses, or a coarser mesh"
    )
    step = dt / (steps * substeps)
    gravity = wp.vec3(*(np.asarray(inputs.gravity, np.float64) / scale).tolist())
    thickness = at_least_zero(inputs, "colliderContactDistance") / scale
    reach = at_least_zero(inputs, "colliderContactQueryRange") / scale + thickness
    ground = float(inputs.groundAltitude) / scale if inputs.groundEnabled else -1e30
    planes, elements = state.planes, state.elements
    given = [elements.starts, elements.slots, elements.forces, state.weights, gravity, step]
    given += [contacts.contact_of(inputs), thickness, ground, planes.normals, planes.offsets, planes.speeds]
    for part in range(substeps):
        state.collider.find_planes(state.x, reach, (part + 1) / substeps, planes, device)
        for _ in range(steps):
            elements.compute(state.x, state.v, material, bending, spring)
            wp.launch(advance, dim=len(state.x), inputs=[*given, state.x, state.v], device=device)
    state.moved = True


def _longest(state: ClothState, material: Any, bending: tuple, spring: tuple) -> float:
    assert state.rest is not None
    stiff = 2 * (2 * material.mu + material.area), bending[0], spring[0]  # strained triangles are up to twice as stiff
    damp = material.damping + material.drag + material.lift, bending[1], spring[1]
    return longest_step(state.rest, state.start, state.inverse_mass, stiff, damp)


def _give(db: Any, state: ClothState, source: Bundle, scale: float) -> None:
    if not state.moved and state.bundle is not None:
        give(db, "cloth", state.bundle)
        return
    world, velocities = state.x.numpy() * np.float32(scale), state.v.numpy() * np.float32(scale)
    if not np.isfinite(world).all():
        raise GraphError("the cloth flew apart; set a higher inputs:substepCount or lower stiffnesses")
    try:
        inverse = np.linalg.inv(world_of(source))
    except np.linalg.LinAlgError:
        raise GraphError("the transform of the cloth cannot be inverted; a scale in it is 0") from None
    points = (world @ inverse[:3, :3] + inverse[3, :3]).astype(np.float32)
    moving = {"velocities": item("vectorf[3][]", (velocities @ inverse[:3, :3]).astype(np.float32))}
    prim = with_points(source, points).having(moving | normals_item(_normals(points, triangles_of(source)), "vertex"))
    state.bundle, state.moved = prim, False
    give(db, "cloth", prim)
    output_bundle(db, "visualization", _springs(db.inputs, world))


def _normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the normals of points: the mean of those of the triangles around each, by area."""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    found = np.zeros_like(points)
    np.add.at(found, triangles.ravel(), np.repeat(np.cross(b - a, c - a), 3, axis=0))
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-20)


def _springs(inputs: Any, world: np.ndarray) -> Bundle:
    """Return the springs as curves, a bundle without prims if there are none."""
    pairs = np.asarray(inputs.springIndexPairs, np.int32).reshape(-1, 2)
    if not len(pairs):
        return Bundle()
    curves = Bundle(
        {
            "sourcePrimType": item("token", "BasisCurves"),
            "worldMatrix": item("matrixd[4]", np.identity(4)),
            "type": item("token", "linear"),
            "points": item("pointf[3][]", world[pairs.ravel()]),
            "curveVertexCounts": item("int[]", np.full(len(pairs), 2, np.int32)),
        }
    )
    return Bundle({}, {"prim0": curves})
