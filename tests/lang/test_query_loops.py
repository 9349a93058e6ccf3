"""`for index in query`: as the `while` loop that advances the query, against distances and boxes of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

RNG = np.random.default_rng(0)
POINTS = RNG.random((60, 3)).astype(np.float32)
RADIUS = 0.3


@wp.kernel
def count(grid: wp.uint64, points: wp.array[wp.vec3], near: wp.array2d[int], radius: float):
    i = wp.tid()
    p = points[i]
    neighbors = wp.hash_grid_query(grid, p, radius)
    for j in neighbors:
        if wp.length(p - points[j]) > radius:
            continue
        near[i, 0] += 1
    for j in wp.hash_grid_query(grid, p, radius):
        for k in wp.hash_grid_query(grid, points[j], radius):
            if k == i:
                near[i, 1] += 1
                break
        else:
            near[i, 2] += 1


@pytest.mark.parametrize("interpret", [False, True])
def test_neighbours(interpret: bool) -> None:
    points, near, grid = wp.array(POINTS, dtype=wp.vec3), wp.zeros((60, 3), dtype=int), wp.HashGrid(8, 8, 8)
    grid.build(points, radius=RADIUS)
    wp.launch(count, dim=60, inputs=[grid.id, points, near, RADIUS], interpret=interpret)
    expected = (np.linalg.norm(POINTS[:, None] - POINTS, axis=2) <= RADIUS).sum(axis=1)
    found = near.numpy()
    assert found[:, 0].tolist() == expected.tolist()
    assert (found[:, 1] >= expected).all() and found[:, 1:].sum() >= found[:, 0].sum()


@wp.func
def boxes_around(tree: wp.uint64, p: wp.vec3, r: float):
    n = 0
    half = wp.vec3(r)
    query = wp.bvh_query_aabb(tree, p - half, p + half)
    for box in query:
        n += box + 1
    return n


@wp.kernel
def around(tree: wp.uint64, points: wp.array[wp.vec3], found: wp.array[int]):
    i = wp.tid()
    found[i] = boxes_around(tree, points[i], 0.1)


def test_boxes() -> None:
    points, found = wp.array(POINTS, dtype=wp.vec3), wp.zeros(60, dtype=int)
    low, high = POINTS - np.float32(0.05), POINTS + np.float32(0.05)
    tree = wp.Bvh(wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3))
    wp.launch(around, dim=60, inputs=[tree.id, points, found])
    p, r = POINTS[:, None], np.float32(0.1)
    meets = ((low <= p + r) & (high >= p - r)).all(axis=2)
    assert found.list() == (meets * np.arange(1, 61)).sum(axis=1).tolist()


def test_names_that_hold_other_things_are_not_queries() -> None:
    @wp.kernel
    def other(tree: wp.uint64, v: wp.vec3, out: wp.array[float]):
        query = wp.bvh_query_aabb(tree, v, v)
        things = v
        for x in things:
            out[0] += x
        for x in v:
            out[0] += x

    out = wp.zeros(1, dtype=float)
    tree = wp.Bvh(wp.zeros(1, dtype=wp.vec3), wp.ones(1, dtype=wp.vec3))
    wp.launch(other, dim=1, inputs=[tree.id, wp.vec3(1.0, 2.0, 3.0), out])
    assert out.list() == [12.0]
