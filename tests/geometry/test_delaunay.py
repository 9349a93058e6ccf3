"""Flips of edges against SciPy's Delaunay triangulations, and the test of Delaunay in exact integers."""

from collections import Counter

import numpy as np
import pytest
from scipy.spatial import Delaunay

import omni.warp_core as wp
from omni.warp_core import _native as native

flip = wp.geometry.delaunay_edge_flip
SHEAR = np.array([[3.0, 1.0], [0.2, 0.4]])


def areas(points, triangles) -> np.ndarray:
    """Areas in float64, positive for counter clockwise triangles."""
    a, b, c = np.moveaxis(np.asarray(points, np.float64)[triangles], 1, 0)
    return ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2


def triangulate(points) -> np.ndarray:
    """SciPy's Delaunay triangles, counter clockwise."""
    triangles = Delaunay(points).simplices
    return np.where(areas(points, triangles)[:, None] < 0, triangles[:, ::-1], triangles)


def sheared(n, seed=1) -> tuple[np.ndarray, np.ndarray]:
    """Points, and triangles that were Delaunay before the points were sheared."""
    points = np.random.default_rng(seed).random((n, 2)).astype(np.float32)
    return (points @ SHEAR).astype(np.float32), triangulate(points)


def as_set(triangles) -> set:
    """Triangles as sets of points; they may begin with any of them."""
    found = {frozenset(t) for t in np.asarray(triangles).tolist()}
    assert len(found) == len(triangles)
    return found


def given(points, triangles, device=None) -> list:
    return [wp.array(points, dtype=wp.vec2, device=device), wp.array(triangles, dtype=int, device=device)]


def border(triangles) -> set:
    sides = Counter((int(t[i - 1]), int(t[i])) for t in triangles for i in range(3))
    assert max(sides.values()) == 1
    return {side for side in sides if side[::-1] not in sides}


def circle(a, b, c, d) -> int:
    """Positive if d is inside of the circle through a, b, c; exact in integers."""
    rows = [[int(p[0] - d[0]), int(p[1] - d[1])] for p in (a, b, c)]
    (ax, ay), (bx, by), (cx, cy) = rows
    a2, b2, c2 = (x * x + y * y for x, y in rows)
    return a2 * (bx * cy - cx * by) + b2 * (cx * ay - ax * cy) + c2 * (ax * by - bx * ay)


def failing_edges(points, triangles) -> int:
    """How many inner edges fail the test of Delaunay, exactly."""
    opposite = {(t[(i + 1) % 3], t[(i + 2) % 3]): (t, t[i]) for t in triangles.tolist() for i in range(3)}
    count = 0
    for (u, v), (t, _) in opposite.items():
        if u < v and (v, u) in opposite:
            count += circle(*points[t], points[opposite[v, u][1]]) > 0
    return count


# -- Delaunay ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n, seed", [(4, 1), (5, 2), (30, 3), (400, 4)])
def test_sheared_triangles_become_those_of_scipy(n, seed, device):
    points, triangles = sheared(n, seed)
    arrays = given(points, triangles, device)
    flips = flip(*arrays)
    found = arrays[1].numpy()
    assert as_set(found) == as_set(Delaunay(points).simplices)
    assert flips.device == arrays[1].device and flips.shape == (1,) and flips.dtype == wp.int32
    assert (flips.list()[0] > 0) == (as_set(found) != as_set(triangles))
    assert (areas(points, found) > 0).all() and border(found) == border(triangles)
    assert flip(*arrays).list() == [0] and np.array_equal(arrays[1].numpy(), found)


@pytest.mark.parametrize("seed", range(4))
def test_no_edge_fails_the_test_in_exact_integers(seed):
    """Many points of a small lattice lie on one circle, or on a line."""
    rng = np.random.default_rng(seed)
    lattice = np.stack(np.meshgrid(np.arange(12), np.arange(12)), -1).reshape(-1, 2)
    points = lattice[rng.permutation(144)[:90]]
    triangles = triangulate(points @ SHEAR)
    assert failing_edges(points, triangles) > 10
    arrays = given(points, triangles)
    flip(*arrays)
    found = arrays[1].numpy()
    assert failing_edges(points, found) == 0
    assert (areas(points, found)[areas(points, triangles).argsort()[10:]] >= 0).all()
    assert areas(points, found).sum() == areas(points, triangles).sum()


def test_points_on_a_circle_keep_their_edges():
    """The squares of a lattice, with diagonals at random."""
    rng = np.random.default_rng(1)
    points = np.stack(np.meshgrid(np.arange(9), np.arange(9)), -1).reshape(-1, 2) + 1000
    triangles = []
    for corner in (9 * y + x for y in range(8) for x in range(8)):
        a, b, c, d = np.roll([corner, corner + 1, corner + 10, corner + 9], rng.integers(2))
        triangles += [(a, b, c), (a, c, d)]
    arrays = given(points, triangles)
    assert flip(*arrays).list() == [0] and np.array_equal(arrays[1].numpy(), triangles)


def test_a_fan_takes_many_flips():
    """All triangles of a convex polygon meet in one corner, so that its edges depend on each other."""
    x = np.sort(np.random.default_rng(5).uniform(-1, 2, 60))
    points = np.stack([x, x * x], 1).astype(np.float32)
    triangles = np.array([(0, a, a + 1) for a in range(1, 59)])
    arrays = given(points, triangles)
    assert flip(*arrays).list()[0] > 50
    assert as_set(arrays[1].numpy()) == as_set(Delaunay(points).simplices)


# -- limits ------------------------------------------------------------------------------------------------------------


def test_each_pass_leaves_a_triangulation():
    points, triangles = sheared(300, 6)
    arrays, total, steps = given(points, triangles), 0, 0
    whole = flip(*given(points, triangles)).list()[0]
    while flips := flip(*arrays, max_passes=1).list()[0]:
        found = arrays[1].numpy()
        assert (areas(points, found) > 0).all() and border(found) == border(triangles)
        total, steps = total + flips, steps + 1
    assert steps > 3 and total >= whole > 300
    assert as_set(arrays[1].numpy()) == as_set(Delaunay(points).simplices)


def test_new_triangles_exceed_the_area():
    points, triangles = sheared(200, 7)
    arrays, least = given(points, triangles), 2e-4
    assert (areas(points, triangulate(points)) < least).any()
    flip(*arrays, area_epsilon=least)
    found = as_set(arrays[1].numpy())
    new = np.array([sorted(t) for t in found - as_set(triangles)])
    assert len(new) > 50 and np.abs(areas(points, new)).min() > least
    assert found != as_set(Delaunay(points).simplices)


def test_new_triangles_have_an_area_at_the_reference():
    square = np.array([(0.0, 0.0), (1.0, 0.0), (1.1, 1.0), (0.0, 0.3)])
    degenerate = square.copy()
    degenerate[3] = (2.0, -1.0)  # on a line with points 1 and 2, and there are no triangles 1, 2, 3
    degenerate[2] = (1.5, -0.5)
    for reference, expected in ((square, 1), (square[:, ::-1], 1), (1e-6 * square, 0), (degenerate, 0)):
        arrays = given(square, [[0, 1, 2], [0, 2, 3]])
        assert flip(*arrays, wp.array(reference, dtype=wp.vec2)).list() == [expected]
    arrays = given(square, [[0, 1, 2], [0, 2, 3]])
    assert flip(*arrays, wp.array(1e-6 * square, dtype=wp.vec2), ref_area_epsilon=0.0).list() == [1]


@pytest.mark.parametrize(
    "triangles",
    [
        [[0, 1, 2], [3, 2, 0]],  # in opposite directions
        [[0, 1, 2], [0, 2, 3], [0, 2, 4]],  # three at an edge
        [[0, 1, 2], [2, 1, 0]],  # twice the same
        [[0, 1, 2]],
        np.zeros((0, 3), int),
    ],
)
def test_other_edges_stay(triangles):
    points = np.array([(0.0, 0.0), (1.0, 0.0), (1.1, 1.0), (0.0, 0.3), (0.2, 0.9)])
    arrays = given(points, triangles)
    assert flip(*arrays).list() == [0] and np.array_equal(arrays[1].numpy(), triangles)


def test_points_that_are_not_finite_flip_nothing():
    for bad in (np.nan, np.inf, 1e38):
        points = np.array([(0.0, 0.0), (1.0, 0.0), (bad, 1.0), (0.0, 0.3)])
        arrays = given(points, [[0, 1, 2], [0, 2, 3]])
        assert flip(*arrays).list()[0] == (bad == 1e38)  # that quad is convex, and the edge to its far corner is long


# -- how it runs -------------------------------------------------------------------------------------------------------


def test_results_do_not_depend_on_threads():
    points, triangles = sheared(2000, 8)
    before, results = native.get_num_threads(), set()
    for count in (1, 2, 7):
        native.set_num_threads(count)
        arrays = given(points, triangles)
        flip(*arrays)
        results.add(arrays[1].numpy().tobytes())
    native.set_num_threads(before)
    assert len(results) == 1


def test_a_graph_flips_whatever_triangles_there_are(device):
    points, triangles = sheared(60, 9)
    other, other_triangles = sheared(60, 10)
    arrays = given(points, triangles, device)
    arrays[1] = wp.zeros((len(triangles) + 20, 3), dtype=int, device=device)
    with wp.ScopedCapture(device=device) as captured:
        flips = flip(*arrays)
    for p, t in ((points, triangles), (other, other_triangles), (other, triangulate(other))):
        arrays[0].assign(p)
        padded = np.zeros((len(triangles) + 20, 3), int)  # the others have wrong indices, and take no part
        padded[: len(t)] = t
        padded[len(t) :, 2] = [-5, 10**9] * ((len(padded) - len(t)) // 2) + [7] * ((len(padded) - len(t)) % 2)
        arrays[1].assign(padded)
        wp.capture_launch(captured.graph)
        found = arrays[1].numpy()
        assert as_set(found[: len(t)]) == as_set(Delaunay(p).simplices)
        assert np.array_equal(found[len(t) :], padded[len(t) :])
        assert (flips.list()[0] > 0) == (as_set(found[: len(t)]) != as_set(t))


@wp.kernel
def measure(points: wp.array(dtype=wp.vec2), triangles: wp.array2d(dtype=int), longest: wp.array(dtype=float)):
    i = wp.tid()
    longest[i] = wp.length(points[triangles[i, 1]] - points[triangles[i, 0]])


def test_tapes_see_the_triangles_as_they_were():
    points, triangles = sheared(40, 11)
    gradients = []
    for flips_between in (False, True):
        arrays = given(points, triangles)
        arrays[0].requires_grad = True
        length = wp.zeros(len(triangles), dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(measure, dim=len(triangles), inputs=[*arrays, length])
            if flips_between:
                assert flip(*arrays).list()[0] > 0
        tape.backward(grads={length: wp.ones_like(length)})
        gradients.append(arrays[0].grad.numpy())
    assert np.array_equal(*gradients) and gradients[0].any()


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda p, t: flip(p, wp.array([[0, 1, 4]], dtype=int)), ValueError, r"triangle 0 has the points \[0, 1, 4\]"),
        (lambda p, t: flip(p, wp.array([[0, 1, 2], [0, -1, 3]], dtype=int)), ValueError, "from 0 to 3"),
        (lambda p, t: flip(p, wp.array([[0, 1, 1]], dtype=int)), ValueError, "three different numbers"),
        (lambda p, t: flip(p, t.flatten()), ValueError, r"indices: expected shape \(m, 3\), got \(6,\)"),
        (lambda p, t: flip(p.numpy(), t), TypeError, "positions: expected an array"),
        (lambda p, t: flip(wp.zeros(4, dtype=wp.vec3), t), TypeError, "expected elements of vec2"),
        (lambda p, t: flip(p, t, p[:3]), ValueError, r"shape \(n,\) for both, got \(4,\) and \(3,\)"),
        (lambda p, t: flip(p, t, max_passes=0), ValueError, "max_passes: expected at least one pass, got 0"),
        (lambda p, t: flip(p, t, area_epsilon=-1.0), ValueError, "area_epsilon: expected a finite number from 0"),
        (lambda p, t: flip(p, t, ref_area_epsilon=np.nan), ValueError, "ref_area_epsilon: expected a finite"),
        (lambda p, t: flip(p, t, area_epsilon="x"), TypeError, "area_epsilon: expected a number, got 'x'"),
    ],
)
def test_wrong_arguments(call, error, text):
    points, triangles = given(np.array([(0.0, 0.0), (1.0, 0.0), (1.1, 1.0), (0.0, 0.3)]), [[0, 1, 2], [0, 2, 3]])
    with pytest.raises(error, match=text):
        call(points, triangles)
    assert triangles.numpy().tolist() == [[0, 1, 2], [0, 2, 3]]
