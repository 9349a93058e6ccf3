"""The forces in cloth: triangles that resist strain, edges that resist bending, springs, air.

Triangles are of a St. Venant-Kirchhoff material: with the deformation F and the strain E = (F^T F - 1) / 2, the energy
of an area is mu E:E + lambda tr(E)^2 / 2. Bending follows the angle between neighbors (Bridson, Marino, Fedkiw 2003;
Grinspun et al. 2003). Every element writes the forces on its corners, and every point sums those in a fixed order, so
that results do not depend on the order of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import omni.warp_core as wp

Put = Callable[[np.ndarray, Any], Any]  # takes numbers and the type of their elements, returns an array of a device


@wp.struct
class Material:
    """Stiffness and damping of triangles (N/m, N s/m), and drag and lift of the air (N s/m^3)."""

    mu: float
    area: float
    damping: float
    drag: float
    lift: float


@wp.kernel
def stretch(
    corners: wp.array[wp.vec3i],
    inverse: wp.array[wp.mat22],
    areas: wp.array[float],
    material: Material,
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
    forces: wp.array2d[wp.vec3],
):
    """Write the forces on the corners of triangles; `inverse` is that of the edges at rest, as columns."""
    t = wp.tid()
    c = corners[t]
    m = inverse[t]
    a = x[c[1]] - x[c[0]]
    b = x[c[2]] - x[c[0]]
    da = v[c[1]] - v[c[0]]
    db = v[c[2]] - v[c[0]]
    f0 = a * m[0, 0] + b * m[1, 0]
    f1 = a * m[0, 1] + b * m[1, 1]
    g0 = da * m[0, 0] + db * m[1, 0]
    g1 = da * m[0, 1] + db * m[1, 1]
    e00 = 0.5 * (wp.dot(f0, f0) - 1.0)
    e11 = 0.5 * (wp.dot(f1, f1) - 1.0)
    e01 = 0.5 * wp.dot(f0, f1)
    trace = material.area * (e00 + e11)
    s00 = 2.0 * material.mu * e00 + trace + material.damping * wp.dot(f0, g0)
    s11 = 2.0 * material.mu * e11 + trace + material.damping * wp.dot(f1, g1)
    s01 = 2.0 * material.mu * e01 + material.damping * 0.5 * (wp.dot(f0, g1) + wp.dot(f1, g0))
    p0 = (f0 * s00 + f1 * s01) * areas[t]
    p1 = (f0 * s01 + f1 * s11) * areas[t]
    on_a = -(p0 * m[0, 0] + p1 * m[0, 1])
    on_b = -(p0 * m[1, 0] + p1 * m[1, 1])
    normal = wp.cross(a, b)
    size = 0.5 * wp.length(normal)
    wind = (v[c[0]] + v[c[1]] + v[c[2]]) / 3.0
    n = wp.normalize(normal)
    air = -(size / 3.0) * (material.drag * wind + material.lift * wp.dot(n, wind) * n)
    forces[t, 0] = air - on_a - on_b
    forces[t, 1] = air + on_a
    forces[t, 2] = air + on_b


@wp.func
def slope(e: wp.vec3, n: wp.vec3, from_tip: wp.vec3) -> wp.vec3:
    """Return the share of one triangle in the gradient of the angle at an end of the edge e."""
    return n * (wp.dot(from_tip, e) / (wp.length(e) * wp.length_sq(n)))


@wp.kernel
def bend(
    edges: wp.array[wp.vec4i],
    rest: wp.array[float],
    weights: wp.array[float],
    stiffness: float,
    damping: float,
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
    forces: wp.array2d[wp.vec3],
):
    """Write the forces on the two tips and the two ends of inner edges."""
    i = wp.tid()
    k = edges[i]
    x1, x2, x3, x4 = x[k[0]], x[k[1]], x[k[2]], x[k[3]]
    e = x4 - x3
    n1 = wp.cross(x1 - x3, x1 - x4)
    n2 = wp.cross(x2 - x4, x2 - x3)
    zero = wp.vec3(0.0, 0.0, 0.0)
    u1, u2, u3, u4 = zero, zero, zero, zero
    strength = 0.0
    if wp.length_sq(n1) > 0.0 and wp.length_sq(n2) > 0.0 and wp.length_sq(e) > 0.0:
        u1 = n1 * (wp.length(e) / wp.length_sq(n1))
        u2 = n2 * (wp.length(e) / wp.length_sq(n2))
        u3 = slope(e, n1, x1 - x4) + slope(e, n2, x2 - x4)
        u4 = -slope(e, n1, x1 - x3) - slope(e, n2, x2 - x3)
        angle = wp.atan2(wp.dot(wp.cross(n2, n1), wp.normalize(e)), wp.dot(n1, n2))
        away = angle - rest[i]
        turns = 6.2831853
        away = away - turns * wp.round(away / turns)
        rate = wp.dot(u1, v[k[0]]) + wp.dot(u2, v[k[1]]) + wp.dot(u3, v[k[2]]) + wp.dot(u4, v[k[3]])
        strength = -weights[i] * (stiffness * away + damping * rate)
    forces[i, 0] = u1 * strength
    forces[i, 1] = u2 * strength
    forces[i, 2] = u3 * strength
    forces[i, 3] = u4 * strength


@wp.kernel
def pull(
    pairs: wp.array[wp.vec2i],
    lengths: wp.array[float],
    stiffness: float,
    damping: float,
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
    forces: wp.array2d[wp.vec3],
):
    """Write the forces on the ends of springs."""
    i = wp.tid()
    k = pairs[i]
    away = x[k[1]] - x[k[0]]
    n = wp.normalize(away)
    f = n * (stiffness * (wp.length(away) - lengths[i]) + damping * wp.dot(v[k[1]] - v[k[0]], n))
    forces[i, 0] = f
    forces[i, 1] = -f


@dataclass
class Rest:
    """Cloth at rest, in NumPy: the elements, and what their forces need.

    `triangles` (m, 3), `inverse` (m, 2, 2), `areas` (m,); `edges` (k, 4) with `angles` and `weights`; `springs` (s, 2)
    with `lengths`. `starts` and `slots` list, for each point, where in the forces of all elements its own are.
    """

    triangles: np.ndarray
    inverse: np.ndarray
    areas: np.ndarray
    edges: np.ndarray
    angles: np.ndarray
    weights: np.ndarray
    springs: np.ndarray
    lengths: np.ndarray
    starts: np.ndarray
    slots: np.ndarray


def rest_of(points: np.ndarray, triangles: np.ndarray, springs: np.ndarray) -> Rest:
    """Return cloth whose rest is the shape of `points` (n, 3). Triangles without an area are left out."""
    x = points.astype(np.float64)
    a, b = x[triangles[:, 1]] - x[triangles[:, 0]], x[triangles[:, 2]] - x[triangles[:, 0]]
    areas = 0.5 * np.linalg.norm(np.cross(a, b), axis=1)
    kept = areas > 1e-12 * max(float(np.max(np.sum(a * a, -1), initial=0.0)), 1e-300)
    triangles, areas, a, b = triangles[kept], areas[kept], a[kept], b[kept]
    edges, angles, weights = _bends(x, triangles)
    lengths = np.linalg.norm(x[springs[:, 1]] - x[springs[:, 0]], axis=1)
    corners = np.concatenate([triangles.ravel(), edges.ravel(), springs.ravel()])
    slots = np.argsort(corners, kind="stable")
    starts = np.searchsorted(corners[slots], np.arange(len(points) + 1))
    return Rest(
        triangles, _inverses(a, b, areas), areas, edges, angles, weights, springs, lengths, starts, slots
    )  # fmt: skip


def _inverses(a: np.ndarray, b: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Return the inverse of the edges of triangles in their planes, with the first edge along the first axis."""
    length = np.linalg.norm(a, axis=1)
    along, across = np.sum(a * b, axis=1) / length, 2 * areas / length
    found = np.zeros((len(a), 2, 2))
    found[:, 0, 0], found[:, 0, 1], found[:, 1, 1] = 1 / length, -along / (length * across), 1 / across
    return found


def _bends(x: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges that two triangles share: their two tips and two ends, angles at rest, and weights."""
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    tips = np.concatenate([triangles[:, 2], triangles[:, 0], triangles[:, 1]])
    key = np.sort(sides, axis=1)
    order = np.lexsort((key[:, 1], key[:, 0]))
    same = (key[order[1:]] == key[order[:-1]]).all(axis=1)
    first, second = order[:-1][same], order[1:][same]
    edges = np.stack([tips[first], tips[second], sides[first, 0], sides[first, 1]], -1).astype(np.int32)
    x1, x2, x3, x4 = (x[edges[:, i]] for i in range(4))
    e = x4 - x3
    n1, n2 = np.cross(x1 - x3, x1 - x4), np.cross(x2 - x4, x2 - x3)
    length = np.linalg.norm(e, axis=1)
    angles = np.arctan2(np.sum(np.cross(n2, n1) * e, -1) / length, np.sum(n1 * n2, -1))
    weights = 3 * length**2 / (np.linalg.norm(n1, axis=1) + np.linalg.norm(n2, axis=1))
    return edges, angles, weights


@dataclass
class Corners:
    """The triangles around each point, on a device: `slots` are corners, those of a point from its start on."""

    starts: Any
    slots: Any
    triangles: Any


def corners_of(triangles: np.ndarray, count: int, put: Put) -> Corners:
    """Return the corners of triangles (m, 3) at each of `count` points."""
    slots = np.argsort(triangles.ravel(), kind="stable")
    starts = np.searchsorted(triangles.ravel()[slots], np.arange(count + 1))
    return Corners(*(put(a.astype(np.int32), int) for a in (starts, slots, triangles.ravel())))


class ElementForces:
    """The elements of cloth on a device, to which `put` sends arrays, and the memory of the forces on their corners."""

    def __init__(self, rest: Rest, put: Put):
        self.counts = len(rest.triangles), len(rest.edges), len(rest.springs)
        floats = [v.astype(np.float32) for v in (rest.inverse, rest.areas, rest.angles, rest.weights, rest.lengths)]
        inverse, areas, angles, weights, lengths = floats
        self.triangles = put(rest.triangles, wp.vec3i), put(inverse, wp.mat22)
        self.areas = put(areas, float)
        self.edges = put(rest.edges, wp.vec4i)
        self.bends = put(angles, float), put(weights, float)
        self.springs = put(rest.springs.astype(np.int32), wp.vec2i)
        self.lengths = put(lengths, float)
        self.starts, self.slots = (put(v.astype(np.int32), int) for v in (rest.starts, rest.slots))
        m, k, s = self.counts
        self.forces = wp.zeros(max(3 * m + 4 * k + 2 * s, 1), dtype=wp.vec3, device=self.starts.device)
        self._parts = [
            self.forces[low : low + n * width].reshape((n, width)) if n else None
            for low, n, width in ((0, m, 3), (3 * m, k, 4), (3 * m + 4 * k, s, 2))
        ]

    def compute(self, x: Any, v: Any, material: Any, bending: tuple[float, float], spring: tuple[float, float]) -> None:
        """Write the forces on all corners; `bending` and `spring` are stiffness and damping."""
        given: list[tuple[Any, list]] = [
            (stretch, [*self.triangles, self.areas, material]),
            (bend, [self.edges, *self.bends, *bending]),
            (pull, [self.springs, self.lengths, *spring]),
        ]
        for (kernel, inputs), count, part in zip(given, self.counts, self._parts, strict=True):
            if count:
                wp.launch(kernel, dim=count, inputs=[*inputs, x, v, part], device=self.forces.device)


def longest_step(rest: Rest, x: np.ndarray, inverse_mass: np.ndarray, stiffness: tuple, damping: tuple) -> float:
    """Return a time step in which symplectic Euler is stable, from Gershgorin's bound of the frequencies.

    Args:
        rest: The cloth.
        x: Its points at rest.
        inverse_mass: One over the mass of each point.
        stiffness: Of triangles, bending and springs.
        damping: The same.
    """
    norms = np.linalg.norm(rest.inverse, axis=2)  # of the gradients of the second and third corner
    first = np.linalg.norm(rest.inverse.sum(1), axis=1)
    triangle = np.stack([first, norms[:, 0], norms[:, 1]], -1) * np.sqrt(rest.areas)[:, None]
    x1, x2, x3, x4 = (x[rest.edges[:, i]] for i in range(4))
    length = np.linalg.norm(x4 - x3, axis=1)
    heights = [2 * _area(tip, x3, x4) / length for tip in (x1, x2)]
    ends = np.maximum(1 / heights[0] + 1 / heights[1], 0)
    edge = np.stack([1 / heights[0], 1 / heights[1], ends, ends], -1) * np.sqrt(rest.weights)[:, None]
    spring = np.ones((len(rest.springs), 2))

    def bound(factors: tuple) -> float:
        rows = np.zeros(len(x))
        for slopes, corners, factor in zip(
            (triangle, edge, spring), (rest.triangles, rest.edges, rest.springs), factors, strict=True
        ):
            np.add.at(rows, corners.ravel(), (factor * slopes * slopes.sum(1, keepdims=True)).ravel())
        return float(np.max(rows * inverse_mass, initial=0.0))

    frequency, decay = np.sqrt(bound(stiffness)), bound(damping)
    return 1.0 / max(frequency, decay, 1e-30)


def _area(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
