"""Closest points of segments and intersection of triangles against optimisation, exact cases and the peer's answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear

import omni.warp_core as wp

FLOATS = [(wp.float32, wp.vec3, 1e-5), (wp.float64, wp.vec3d, 1e-9)]


def nearest(p1, q1, p2, q2):
    """The distance of two segments by constrained least squares."""
    fit = lsq_linear(np.stack([q1 - p1, p2 - q2], axis=1), p2 - p1, bounds=(0.0, 1.0), tol=1e-14)
    return np.sqrt(2.0 * fit.cost)


def segments():
    rng = np.random.default_rng(4)
    p = rng.normal(size=(60, 4, 3))
    p[0, 3] = p[0, 2] + 2.0 * (p[0, 1] - p[0, 0])  # parallel
    p[1, 2:] = p[1, :2]  # the same
    p[2, 2:] = p[2, 1] + [[0.0] * 3, [1.0, 0.0, 0.0]]  # a common end
    p[3:6, 1] = p[3:6, 0]  # points
    p[5:8, 3] = p[5:8, 2]
    return p


@pytest.mark.parametrize(("dtype", "vector", "close"), FLOATS, ids=["single", "double"])
def test_closest_points_of_segments(dtype, vector, close):
    for corners in segments():
        given = [vector(*c.tolist()) for c in corners]
        p1, q1, p2, q2 = (np.array(v, np.float64) for v in given)
        s, t, d = (float(x) for x in wp.closest_point_edge_edge(*given, dtype(1e-12)))
        assert 0.0 <= s <= 1.0
        assert 0.0 <= t <= 1.0
        assert d == pytest.approx(np.linalg.norm(p1 + s * (q1 - p1) - p2 - t * (q2 - p2)), abs=close)
        assert d == pytest.approx(nearest(p1, q1, p2, q2), abs=close)


def test_short_segments_count_as_points():
    x, y = wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)
    assert wp.closest_point_edge_edge(x, x * 1.01, y, y * 1.01, 1e-3) == wp.vec3(0.0, 0.0, float(np.float32(2**0.5)))
    assert wp.closest_point_edge_edge(x, x * 1.01, -y, y, 1e-3) == wp.vec3(0.0, 0.5, 1.0)


def meet(corners):
    """Whether some point is a mean of both triangles' corners, by linear programming."""
    v, u = corners[:3].astype(float), corners[3:].astype(float)
    equal = np.vstack([np.hstack([v.T, -u.T]), [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    return linprog(np.zeros(6), A_eq=equal, b_eq=[0, 0, 0, 1, 1], bounds=[(0, None)] * 6).status == 0


@pytest.mark.parametrize(("dtype", "vector"), [(wp.float32, wp.vec3), (wp.float64, wp.vec3d)])
def test_triangles_in_general_position(dtype, vector):
    @wp.kernel
    def decide(p: wp.array2d(dtype=vector), out: wp.array(dtype=int)):
        i = wp.tid()
        out[i] = wp.intersect_tri_tri(p[i, 0], p[i, 1], p[i, 2], p[i, 3], p[i, 4], p[i, 5])

    corners = np.random.default_rng(8).uniform(-1, 1, (400, 6, 3)).astype(np.float32)
    out = wp.zeros(400, dtype=int)
    wp.launch(decide, dim=400, inputs=[wp.array(corners, dtype=vector), out])
    expected = np.array([meet(c) for c in corners])
    assert 0.2 < expected.mean() < 0.8
    np.testing.assert_array_equal(out.numpy(), expected)


CORNER = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
# What warp-lang 1.19 answers where triangles touch or lie in one plane: observed, and true.
SPECIAL = {
    "same": (CORNER, 1),
    "overlap in the plane": ([(0.2, 0.2, 0), (1.2, 0.2, 0), (0.2, 1.2, 0)], 1),
    "apart in the plane": ([(2, 2, 0), (3, 2, 0), (2, 3, 0)], 0),
    "contained": ([(0.1, 0.1, 0), (0.2, 0.1, 0), (0.1, 0.2, 0)], 1),
    "crossed in the plane": ([(-0.5, 0.3, 0), (1.5, 0.3, 0), (0.5, 0.4, 0)], 1),
    "common corner": ([(1, 0, 0), (2, 0, 0), (2, 0, 1)], 1),
    "corner in the plane": ([(1, 0, 0), (2, 0, 0), (1, 1, 0)], 1),
    "corner inside": ([(0.2, 0.2, 0), (0.2, 0.2, 1), (0.3, 0.2, 1)], 1),
    "common edge": ([(0, 0, 0), (1, 0, 0), (0, 0, 1)], 1),
    "a segment through it": ([(0.2, 0.2, -1), (0.2, 0.2, 1), (0.2, 0.2, 1)], 1),
    "parallel": ([(0, 0, 0.1), (1, 0, 0.1), (0, 1, 0.1)], 0),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_touching_triangles(name):
    other, expected = SPECIAL[name]
    v, u = ([wp.vec3(*map(float, p)) for p in t] for t in (CORNER, other))
    assert wp.intersect_tri_tri(*v, *u) == expected
    assert wp.intersect_tri_tri(*u, *v) == expected
    assert wp.intersect_tri_tri(*reversed(v), *u) == expected


def test_triangles_with_a_common_corner_meet():
    rng = np.random.default_rng(3)
    for _ in range(40):
        v, u = ([wp.vec3(*rng.normal(size=3).tolist()) for _ in range(3)] for _ in range(2))
        u[rng.integers(3)] = v[rng.integers(3)]
        assert wp.intersect_tri_tri(*v, *u) == 1


def test_half_precision_triangles():
    halves = [
        [wp.vec3h(*map(wp.float16, p)) for p in t] for t in (CORNER, *(SPECIAL[n][0] for n in ("parallel", "same")))
    ]
    assert wp.intersect_tri_tri(*halves[0], *halves[1]) == 0
    assert wp.intersect_tri_tri(*halves[0], *halves[2]) == 1
