"""Cloth Simulate: a mesh as cloth that falls, folds, hangs on springs, and lies on a collider and on the ground.

simulation.py says how it goes on with time. The state begins anew when the cloth gets other faces.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import omni.warp_core as wp

from ...usd.polygons import FACES
from ..graph.attribute import GraphError
from ..graph.bundle_exchange import output_bundle
from ..values.bundles import Bundle, item
from .cloth_model import Corners, ElementForces, Material, Rest, corners_of, longest_step, rest_of
from .contacts import Step, at_least_zero, stepped
from .device_arrays import compute, given, launch, prim_array, sent
from .prim_bundles import count_of, normals_item, triangles_of
from .simulation import Simulation


@wp.kernel
def advance(
    starts: wp.array[int],
    slots: wp.array[int],
    forces: wp.array[wp.vec3],
    inverse_mass: wp.array[float],
    step: Step,
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
        to_mesh = wp.dot(normals[i], x[i]) - offsets[i] - step.thickness
        to_ground = x[i][1] - step.ground - step.thickness
        u = stepped(v[i], f, w, step, normals[i], speeds[i], to_mesh, to_ground)
        v[i] = u
        x[i] = x[i] + step.dt * u


@wp.kernel
def find_normals(
    starts: wp.array[int],
    slots: wp.array[int],
    triangles: wp.array[int],
    points: wp.array[wp.vec3],
    normals: wp.array[wp.vec3],
):
    """Write the normals of points: the mean of those of the triangles around each, by area."""
    i = wp.tid()
    n = wp.vec3(0.0, 0.0, 0.0)
    for k in range(starts[i], starts[i + 1]):
        t = 3 * (slots[k] // 3)
        a = points[triangles[t]]
        n += wp.cross(points[triangles[t + 1]] - a, points[triangles[t + 2]] - a)
    normals[i] = n / wp.max(wp.length(n), 1.0e-20)


@wp.kernel
def gather(x: wp.array[wp.vec3], points: wp.array[int], scale: float, out: wp.array[wp.vec3]):
    """Write the positions of points, in units of the scene."""
    i = wp.tid()
    out[i] = x[points[i]] * scale


class Cloth(Simulation):
    """The cloth of one node between frames."""

    port, kind, what = "cloth", "Mesh", "a mesh"
    remedy = "set lower stiffnesses, or a coarser mesh"

    def __init__(self) -> None:
        super().__init__()
        self._rest: Rest | None = None
        self._elements: ElementForces | None = None
        self._corners: Corners | None = None
        self._inverse_mass = np.zeros(0)
        self._start = np.zeros((0, 3))
        self._ends: Any = None  # of springs
        self._material: Any = None
        self._bending = self._spring = (0.0, 0.0)

    def identity(self, inputs: Any, source: Bundle) -> tuple:
        """See Simulation."""
        faces = tuple(np.asarray(source.value(n, ())).tobytes() for n in FACES)
        arrays = tuple(np.asarray(v).tobytes() for v in (inputs.springIndexPairs, inputs.fixedPoints))
        return count_of(source, "points"), faces, float(inputs.clothDensity), arrays

    def begin(self, db: Any, source: Bundle, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See Simulation."""
        inputs, triangles = db.inputs, triangles_of(source)
        density = at_least_zero(inputs, "clothDensity")
        if density == 0.0:
            raise GraphError("inputs:clothDensity is 0; cloth has a mass for each square metre, in kg")
        pairs = np.asarray(inputs.springIndexPairs, np.int32).reshape(-1, 2)
        fixed = np.asarray(inputs.fixedPoints, np.int32).reshape(-1)
        _require_points("springIndexPairs", pairs, len(x))
        _require_points("fixedPoints", fixed, len(x))
        rest = rest_of(x, triangles, pairs)
        masses = np.zeros(len(x))
        np.add.at(masses, rest.triangles.ravel(), np.repeat(rest.areas * density / 3, 3))
        with np.errstate(divide="ignore"):
            inverse = np.where(masses > 0, 1 / masses, 0.0)  # a point without a triangle stays
        inverse[fixed] = 0.0
        self._rest, self._inverse_mass, self._start = rest, inverse, x
        put = partial(sent, db)
        self._ends = put(pairs.ravel(), int)
        self._elements = ElementForces(rest, put)
        self._corners = corners_of(triangles, len(x), put)
        return np.zeros_like(x), inverse

    def prepare(self, inputs: Any, scale: float) -> float:
        """See Simulation."""
        assert self._rest is not None
        material = self._material = Material()
        material.mu, material.area = (at_least_zero(inputs, f"clothTri{n}Stiffness") for n in ("Elastic", "Area"))
        material.damping = at_least_zero(inputs, "clothTriDampingStiffness")
        material.drag, material.lift = at_least_zero(inputs, "clothTriDrag"), at_least_zero(inputs, "clothTriLift")
        bending = self._bending = _both(inputs, "clothEdgeBendingStiffness", "clothEdgeDampingStiffness")
        spring = self._spring = _both(inputs, "springElasticStiffness", "springDampingStiffness")
        stiff = 2 * (2 * material.mu + material.area)  # strained triangles are up to twice as stiff
        damp = material.damping + material.drag + material.lift
        parts = (stiff, bending[0], spring[0]), (damp, bending[1], spring[1])
        return longest_step(self._rest, self._start, self._inverse_mass, *parts)

    def step(self, db: Any, step: Any) -> None:
        """See Simulation."""
        elements, planes = self._elements, self.planes
        assert elements is not None
        elements.compute(self.x, self.v, self._material, self._bending, self._spring)
        arguments = [elements.starts, elements.slots, elements.forces, self.weights, step]
        launch(db, advance, len(self.x), [*arguments, planes.normals, planes.offsets, planes.speeds, self.x, self.v])

    def finish(self, db: Any, prim: Bundle, scale: float) -> Bundle:
        """Return the prim with its normals, and give the springs as curves."""
        output_bundle(db, "visualization", self._springs(db, scale))
        corners, points = self._corners, prim_array(db, prim, "points", "pointf[3][]")
        assert corners is not None
        arguments, size = [corners.starts, corners.slots, corners.triangles, points], len(points)
        (normals,) = compute(db, find_normals, size, arguments, (size, wp.vec3))
        return prim.having(normals_item(given(db, normals, "normalf[3][]"), "vertex"))

    def _springs(self, db: Any, scale: float) -> Bundle:
        """Return the springs as curves, a bundle without prims if there are none."""
        size = len(self._ends)
        if not size:
            return Bundle()
        (ends,) = compute(db, gather, size, [self.x, self._ends, scale], (size, wp.vec3))
        curves = Bundle(
            {
                "sourcePrimType": item("token", "BasisCurves"),
                "worldMatrix": item("matrixd[4]", np.identity(4)),
                "type": item("token", "linear"),
                "points": item("pointf[3][]", given(db, ends, "pointf[3][]")),
                "curveVertexCounts": item("int[]", np.full(size // 2, 2, np.int32)),
            }
        )
        return Bundle({}, {"prim0": curves})


def _both(inputs: Any, *names: str) -> tuple[float, float]:
    first, second = (at_least_zero(inputs, name) for name in names)
    return first, second


def _require_points(name: str, indices: np.ndarray, count: int) -> None:
    wrong = indices[(indices < 0) | (indices >= count)]
    if len(wrong):
        raise GraphError(f"inputs:{name} names the point {wrong[0]}, and the cloth has {count}")
