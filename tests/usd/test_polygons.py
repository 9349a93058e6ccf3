"""Triangles of polygons: areas, orientation and corners, against formulas in float64 and hand-written triangles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni.warp_core.usd.polygons import triangulate


def turned(flat, normal):
    """Points of a plane in space, counterclockwise around `normal`."""
    normal = np.asarray(normal, float) / np.linalg.norm(normal)
    u = np.cross(normal, [0.3, 0.5, -0.8])
    u /= np.linalg.norm(u)
    return np.asarray(flat, float) @ np.stack([u, np.cross(normal, u)])


def areas(points, triangles):
    a, b, c = (points[triangles[:, k]].astype(float) for k in range(3))
    return np.cross(b - a, c - a) / 2


def shoelace(flat):
    x, y = np.asarray(flat, float).T
    return (x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def triangles_of(points, **more):
    points = np.asarray(points, np.float32)
    if points.shape[1] == 2:
        points = np.pad(points, ((0, 0), (0, 1)))
    return points, triangulate(points, np.array([len(points)]), np.arange(len(points)), **more).triangles


def require_covered(points, triangles, area):
    """All triangles turn the same way, so that equal areas mean that they neither overlap nor leave the polygon."""
    pieces = areas(points, triangles)
    total = pieces.sum(0)
    assert len(triangles) == len(points) - 2
    assert np.linalg.norm(total) == pytest.approx(area, rel=1e-5)
    assert np.linalg.norm(pieces, axis=1).sum() == pytest.approx(area, rel=1e-5)


SHAPES = {
    "arrow": [(0, 0), (2, -1), (1, 0), (2, 1)],
    "ell": [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)],
    "comb": [(0, 0), (12, 0), *[(x, 3 - 2 * (x % 2)) for x in range(12, -1, -1)]],
    "square with points on its edges": [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1)],
    "square with a hole and a slit": [(0, 0), (4, 0), (4, 4), (0, 4), (0, 0), (1, 1), (1, 3), (3, 3), (3, 1), (1, 1)],
    "spiral": [(0, 0), (5, 0), (5, 5), (1, 5), (1, 2), (3, 2), (3, 3), (2, 3), (2, 4), (4, 4), (4, 1), (0, 1)],
    "ring of corners": [(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 40, endpoint=False)],
}


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (1, 2, 3), (-3, 1, -2)])
@pytest.mark.parametrize("shape", SHAPES)
def test_triangles_cover_the_polygon(shape, normal):
    flat = SHAPES[shape]
    area = shoelace(flat)
    points, triangles = triangles_of(turned(flat, normal))
    require_covered(points, triangles, abs(area))
    wanted = np.asarray(normal) / np.linalg.norm(normal) * area
    assert areas(points, triangles).sum(0) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("flat", "wanted"),
    [
        ([(0, 0), (1, 0), (1, 1), (0, 1)], [[0, 1, 2], [0, 2, 3]]),
        ([(0, 0), (1, 0), (0, 1)], [[0, 1, 2]]),
        ([(1, 0), (2, 1), (0, 1), (1, 0.5)][::-1], None),
        ([(0, 0), (2, -1), (1, 0), (2, 1)], [[0, 1, 2], [2, 3, 0]]),
    ],
)
def test_small_polygons_by_hand(flat, wanted):
    points, triangles = triangles_of(flat)
    require_covered(points, triangles, abs(shoelace(flat)))
    assert wanted is None or triangles.tolist() == wanted


def test_flipped_triangles_turn_the_other_way():
    for flat in SHAPES.values():
        _, there = triangles_of(flat)
        _, back = triangles_of(flat, flip=True)
        assert np.array_equal(back, there[:, [0, 2, 1]])


def test_many_faces_keep_their_order():
    random = np.random.default_rng(2)
    shapes = [SHAPES[name] for name in random.choice(list(SHAPES), 300)]
    counts = np.array([len(s) for s in shapes])
    points = np.concatenate([np.pad(np.asarray(s, np.float32), ((0, 0), (0, 1))) for s in shapes])
    found = triangulate(points, counts, np.arange(len(points)), holes=[3, 299])
    for face, (flat, first) in enumerate(zip(shapes, np.cumsum(counts) - counts)):
        own = found.triangles[found.faces == face]
        if face in (3, 299):
            assert not len(own)
        else:
            assert own.min() >= first and own.max() < first + len(flat)
            assert np.array_equal(own - first, triangles_of(flat)[1])
    assert (np.diff(found.faces) >= 0).all() and np.array_equal(found.corners, found.triangles)


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((6, 3)),
        np.full((5, 3), np.nan),
        [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)],
        [(0, 0), (1, 1), (1, 0), (0, 1)],
        [(0, 0), (0, 0), (1, 0), (1, 0), (0, 1)],
        [(np.cos(a), np.sin(a)) for a in np.arange(5) * 4 * np.pi / 5],
        [(1e30, 0), (0, 1e30), (-1e30, 0), (0, -1e20)],
        [(np.inf, 0), (0, 1), (-1, -np.inf), (2, 0)],
    ],
    ids=["equal", "nan", "in a line", "bow tie", "repeated", "pentagram", "huge", "infinite"],
)
def test_degenerate_polygons_give_as_many_triangles_of_their_own_corners(points):
    points, triangles = triangles_of(points)
    assert len(triangles) == len(points) - 2
    assert sorted(set(triangles.ravel().tolist())) == list(range(len(points)))
    edges = {(a, b) for t in triangles.tolist() for a, b in zip(t, t[1:] + t[:1])}
    assert {(i, (i + 1) % len(points)) for i in range(len(points))} <= edges, "each side of the polygon is used"


def star(radii, angles):
    steps = np.cumsum(np.asarray(angles) + 0.05)
    steps *= 2 * np.pi / (steps[-1] + 0.05)
    return np.stack([radii * np.cos(steps), radii * np.sin(steps)], 1)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(3, 24))
def test_random_star_shaped_polygons(data, corners):
    radii = data.draw(st.lists(st.floats(0.05, 10.0), min_size=corners, max_size=corners))
    angles = data.draw(st.lists(st.floats(0.0, 1.0), min_size=corners, max_size=corners))
    normal = data.draw(st.sampled_from([(0, 0, 1), (1, 1, 1), (-2, 0.1, 0.3)]))
    steps = np.cumsum(np.asarray(angles) + 0.05)
    steps *= 2 * np.pi / steps[-1]
    if max(np.diff(np.concatenate([[0.0], steps]))) > 3.0:  # the centre would be outside of the polygon
        return
    flat = star(np.asarray(radii), angles)
    points, triangles = triangles_of(turned(flat, normal))
    require_covered(points, triangles, abs(shoelace(flat)))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), min_size=2, max_size=12))
def test_random_staircases(columns):
    """Polygons between two step functions on a grid: many corners in a line and at the same height."""
    lower = [(x, low) for i, (low, _) in enumerate(columns) for x in (i, i + 1)]
    upper = [(x, 6 + high) for i, (_, high) in enumerate(columns) for x in (i, i + 1)]
    flat = [*lower, *upper[::-1]]
    points, triangles = triangles_of(flat)
    area = sum(6 + high - low for low, high in columns)
    require_covered(points, triangles, area)


def test_random_soup_ends_and_keeps_its_signed_area():
    """Corners at random cross each other: no triangulation covers them, but the signed areas add up."""
    random = np.random.default_rng(8)
    for _ in range(200):
        flat = random.integers(0, 5, (random.integers(3, 30), 2))
        points, triangles = triangles_of(flat)
        assert areas(points, triangles).sum(0)[2] == pytest.approx(shoelace(flat), abs=1e-4)
