"""Queries of hash grids find the same points in the same order, whichever code runs them and whatever else is asked."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.test_hash_grid import SETS, built, vectors

MOST = 400


def walk(grid: wp.uint64, centres: wp.array(dtype=wp.vec3), radii: wp.array(dtype=float), order: wp.array2d(dtype=int)):
    """Write down the points that a query finds."""
    i = wp.tid()
    query = wp.hash_grid_query(grid, centres[i], radii[i])
    index, k = 0, 0
    while wp.hash_grid_query_next(query, index):
        order[i, k] = index
        k += 1


def walk_group(
    grid: wp.uint64, centres: wp.array(dtype=wp.vec3), radii: wp.array(dtype=float), order: wp.array2d(dtype=int)
):
    i = wp.tid()
    query = wp.hash_grid_query(grid, centres[i], radii[i], i % 3)
    index, k = 0, 0
    while wp.hash_grid_query_next(query, index):
        order[i, k] = index
        k += 1


WALKS = {(f, lanes): wp.kernel(f, lanes=lanes) for f in (walk, walk_group) for lanes in (1, 16)}


def found(kernel, grid, centres, radii) -> np.ndarray:
    order = wp.full((len(centres), MOST), -1, dtype=int)
    wp.launch(kernel, len(centres), [grid.id, vectors(centres), wp.array(radii, dtype=float), order])
    return order.numpy()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dims", [(8, 8, 8), (1, 1, 1), (2, 3, 16)])
@pytest.mark.parametrize("function", [walk, walk_group])
def test_one_lane_many_lanes_and_debug_mode_find_the_same(name, dims, function, monkeypatch):
    rng = np.random.default_rng(1)
    points = SETS[name](rng).astype(np.float32)
    grid = wp.HashGrid(*dims)
    grid.build(vectors(points), 0.5, wp.array(rng.integers(0, 3, len(points)), dtype=int))
    centres = np.concatenate([points[:90], rng.uniform(-3, 3, (37, 3)).astype(np.float32)])
    radii = rng.choice([0.0, 0.5, 1.3, 30.0, np.inf, np.nan, -1.0], len(centres)).astype(np.float32)
    one, many = (found(WALKS[function, lanes], grid, centres, radii) for lanes in (1, 16))
    monkeypatch.setattr(wp.config, "mode", "debug")
    debug = found(WALKS[function, 1], grid, centres, radii)
    assert np.array_equal(one, debug)
    assert np.array_equal(many, debug)
    assert (one >= 0).any()


def test_the_interpreter_finds_the_same(monkeypatch):
    points = np.random.default_rng(2).uniform(-1, 1, (60, 3)).astype(np.float32)
    grid, radii = built(points, 0.4), np.full(12, 0.7, np.float32)
    expected = found(WALKS[walk, 1], grid, points[:12], radii)
    monkeypatch.setattr(wp.config, "mode", "interpret")
    assert np.array_equal(found(WALKS[walk, 1], grid, points[:12], radii), expected)


def test_points_that_are_too_far_are_left_out():
    """Too far is farther than the radius of the query and that of the build, and an eighth of the latter more."""
    points = np.random.default_rng(3).uniform(-1, 1, (300, 3)).astype(np.float32)
    distance = np.linalg.norm(points[:, None].astype(float) - points[None], axis=2)
    for width, radius in ((0.5, 0.5), (0.5, 0.3), (0.2, 0.5)):
        order = found(WALKS[walk, 1], built(points, width), points, np.full(300, radius, np.float32))
        for i in range(300):
            assert distance[i, order[i][order[i] >= 0]].max() <= (max(width, radius) + width / 8) * (1 + 1e-5)


@pytest.mark.parametrize("radius", [0.3, 0.5, 1.1])
def test_points_that_have_come_nearer_since_the_build_are_found_where_cells_cover_them(radius):
    """Programs move points for some steps before they build again. Each moves by a sixteenth of a cell here."""
    rng, width = np.random.default_rng(4), 0.5
    before = rng.uniform(-2, 2, (400, 3)).astype(np.float32)
    step = rng.normal(0, 1, (400, 3))
    after = (before + step / np.linalg.norm(step, axis=1)[:, None] * width / 16 * 0.999).astype(np.float32)
    order = found(WALKS[walk, 1], built(before, width), after, np.full(400, radius, np.float32))
    cubes = np.floor(before / width)
    low, high = np.floor((after - radius * 1.00001) / width), np.floor((after + radius * 1.00001) / width)
    covered = ((cubes >= low[:, None]) & (cubes <= high[:, None])).all(axis=2)
    near = np.linalg.norm(after[:, None].astype(float) - after[None], axis=2) <= radius
    far_before = np.linalg.norm(after[:, None].astype(float) - before[None], axis=2) > max(radius, width)
    assert (near & covered & far_before).any() or radius < width
    for i in range(400):
        assert set(np.flatnonzero(near[i] & covered[i])) <= set(order[i])


@wp.kernel
def walk_in_turns(grid: wp.uint64, centres: wp.array(dtype=wp.vec3), radius: float, order: wp.array2d(dtype=int)):
    """Advance two queries and the copy of one by the same call, in turns."""
    i = wp.tid()
    n = centres.shape[0]
    first = wp.hash_grid_query(grid, centres[i], radius)
    second = wp.hash_grid_query(grid, centres[n - 1 - i], radius)
    for k in range(order.shape[1] // 2):
        query = first
        if k & 1 == 1:
            query = second
        index = -1
        wp.hash_grid_query_next(query, index)
        order[i, k] = index
        if k & 1 == 0:
            first = query
        else:
            second = query
    again = first
    for k in range(order.shape[1] // 2, order.shape[1]):
        query = again
        if k & 3 == 1:
            query = first
        index = -1
        wp.hash_grid_query_next(query, index)
        order[i, k] = index
        if k & 3 == 1:
            first = query
        else:
            again = query


def test_queries_in_turns_do_not_mix(monkeypatch):
    """Each of them finds more points than native code finds at once."""
    points = np.random.default_rng(4).uniform(-1, 1, (500, 3)).astype(np.float32)
    grid, orders = built(points, 0.6), []
    for mode in ("release", "debug"):
        monkeypatch.setattr(wp.config, "mode", mode)
        order = wp.full((40, 600), -2, dtype=int)
        wp.launch(walk_in_turns, 40, [grid.id, vectors(points[:40]), 0.8, order])
        orders.append(order.numpy())
    assert np.array_equal(*orders)
    assert (orders[0] >= 0).sum(1).max() > 2 * 64


@wp.kernel
def count_pairs(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, found: wp.array(dtype=int)):
    """Count the neighbours of neighbours, with a query inside of a query."""
    i = wp.tid()
    total, j, k = 0, 0, 0
    outer = wp.hash_grid_query(grid, points[i], radius)
    while wp.hash_grid_query_next(outer, j):
        if wp.length(points[i] - points[j]) <= radius:
            inner = wp.hash_grid_query(grid, points[j], radius)
            while wp.hash_grid_query_next(inner, k):
                if wp.length(points[j] - points[k]) <= radius:
                    total += 1
    found[i] = total


def test_a_query_inside_of_a_query():
    points = np.random.default_rng(5).uniform(-1, 1, (400, 3)).astype(np.float32)
    grid, total = built(points, 0.45), wp.zeros(400, dtype=int)
    wp.launch(count_pairs, 400, [grid.id, vectors(points), 0.45, total])
    near = np.linalg.norm(points[:, None].astype(float) - points[None], axis=2) <= 0.45
    assert np.array_equal(total.numpy(), near.astype(int) @ near.sum(1))


def test_sums_do_not_depend_on_lanes_or_threads(monkeypatch):
    """Additions keep the order of the points, to the bit."""

    def add(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, sums: wp.array(dtype=float)):
        i = wp.tid()
        total, index = 0.0, 0
        query = wp.hash_grid_query(grid, points[i], radius)
        while wp.hash_grid_query_next(query, index):
            away = points[i] - points[index]
            room = 1.0 - wp.dot(away, away) / (radius * radius)
            if room > 0.0:
                total += room * room * room
        sums[i] = total

    points = vectors(np.random.default_rng(6).uniform(-1, 1, (5000, 3)))
    grid, results = wp.HashGrid(16, 16, 16), []
    grid.build(points, 0.2)
    for lanes, threads in ((1, 1), (1, 2), (16, 1)):
        monkeypatch.setattr(wp.config, "num_threads", threads)
        sums = wp.zeros(5000, dtype=float)
        wp.launch(wp.kernel(add, lanes=lanes), 5000, [grid.id, points, 0.2, sums])
        results.append(sums.numpy().tobytes())
    assert results[0] == results[1] == results[2]
