"""Distances of meshes and boxes whose squares are too small or too large for single precision."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.scenes import distances_to_each

pytestmark = pytest.mark.cpu
QUERIES, FACES = 40, 100
RADIUS = 0.5
ROUNDING = 1e-5


@wp.kernel
def ask(
    mesh: wp.uint64,
    bvh: wp.uint64,
    p: wp.array(dtype=wp.vec3),
    radius: float,
    near: wp.array(dtype=int),
    far: wp.array(dtype=int),
    faces: wp.array2d(dtype=int),
    boxes: wp.array2d(dtype=int),
):
    i = wp.tid()
    near[i] = wp.mesh_query_point_no_sign(mesh, p[i], 1e38).face
    far[i] = wp.mesh_query_furthest_point_no_sign(mesh, p[i], 0.0).face
    of_mesh, of_bvh = wp.mesh_query_sphere(mesh, p[i], radius), wp.bvh_query_sphere(bvh, p[i], radius)
    index = 0
    while wp.mesh_query_next(of_mesh, index):
        faces[i, index] += 1
    while wp.bvh_query_next(of_bvh, index):
        boxes[i, index] += 1


def given(x):
    return wp.array(np.float32(x), dtype=wp.vec3)


def zeros(*shape):
    return wp.zeros(shape, dtype=int)


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("scale", [1e-30, 10**-22.5, 1e-22, 1.0, 1e20, 1e30])
def test_queries_by_distance_are_right_at_every_scale(scale, mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    rng = np.random.default_rng(3)
    corners = np.float32((rng.normal(size=(FACES, 1, 3)) + rng.normal(size=(FACES, 3, 3)) * 0.15) * scale)
    p, radius = np.float32(rng.normal(size=(QUERIES, 3)) * scale), np.float32(RADIUS * scale)
    numbers = np.arange(3 * FACES)
    mesh = wp.Mesh(given(corners.reshape(-1, 3)), wp.array(numbers, dtype=int))
    bvh = wp.Bvh(given(corners.min(1)), given(corners.max(1)))
    near, far, faces, boxes = zeros(QUERIES), zeros(QUERIES), zeros(QUERIES, FACES), zeros(QUERIES, FACES)
    wp.launch(ask, QUERIES, [mesh.id, bvh.id, given(p), float(radius), near, far, faces, boxes])

    corners, p, limit = corners.astype(float) / scale, p.astype(float)[:, None] / scale, float(radius) / scale
    each = numbers.reshape(-1, 3)
    to_face = np.array([distances_to_each(corners.reshape(-1, 3), each, q[0]) for q in p])
    to_box = np.linalg.norm(np.maximum(np.maximum(corners.min(1) - p, p - corners.max(1)), 0), axis=2)
    to_farthest = np.linalg.norm(corners - p[:, None], axis=3).max(2)
    rows = np.arange(QUERIES)
    np.testing.assert_allclose(to_face[rows, near.numpy()], to_face.min(1), atol=ROUNDING)
    np.testing.assert_allclose(to_farthest[rows, far.numpy()], to_farthest.max(1), atol=ROUNDING)
    for found, distance in ((faces, to_face), (boxes, to_box)):
        sure = np.abs(distance - limit) > ROUNDING
        assert sure.mean() > 0.99
        assert (found.numpy() == (distance <= limit))[sure].all()
