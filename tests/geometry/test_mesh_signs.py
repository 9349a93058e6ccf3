"""Queries of meshes that count, compare with boxes, or tell inside from outside, against all faces in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.scenes import SCENES, box, soup, sphere

CLOSED = {"box": box, "sphere": sphere}


def mesh_of(points, faces):
    return wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), wp.array(faces.ravel(), dtype=wp.int32, device="cpu"))


def vectors(a):
    return wp.array(np.ascontiguousarray(a, np.float32), dtype=wp.vec3, device="cpu")


@pytest.fixture(params=["release", "debug"])
def mode(request, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", request.param)


@wp.kernel
def find_signs(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), found: wp.array2d(dtype=float)):
    i = wp.tid()
    by_rays = wp.mesh_query_point(mesh, p[i], 100.0)
    found[i, 0] = by_rays.sign
    found[i, 1] = wp.mesh_query_point_sign_winding_number(mesh, p[i], 100.0).sign
    sign = 0.0
    face = 0
    u = 0.0
    v = 0.0
    if wp.mesh_query_point(mesh, p[i], 100.0, sign, face, u, v):
        found[i, 2] = sign
        found[i, 3] = float(face)
        found[i, 4] = u + 10.0 * v
    near = wp.mesh_query_point_no_sign(mesh, p[i], 100.0)
    found[i, 5] = float(near.face)
    found[i, 6] = near.u + 10.0 * near.v


def signs(mesh, p):
    found = wp.zeros((len(p), 7), dtype=float, device="cpu")
    wp.launch(find_signs, len(p), [mesh.id, vectors(p), found], device="cpu")
    return found.numpy()


def is_inside(name, p):
    """True for points inside of the solid; the sphere of triangles is a little smaller than the round one."""
    if name == "box":
        return (np.abs(p) < 1).all(1)
    return np.linalg.norm(p, axis=1) < 1


@pytest.mark.parametrize("name", CLOSED)
def test_signs_of_closed_meshes(name, mode):
    rng = np.random.default_rng(1)
    p = rng.normal(size=(500, 3))
    p = p[np.abs(np.linalg.norm(p, axis=1) - 1) > 0.02] if name == "sphere" else p
    p = np.concatenate([p, [(0, 0, 0), (0.5, 0.5, 0.5), (0.25, 0, 0), (0, 0, 3), (2, 2, 2)]]).astype(np.float32)
    found, expected = signs(mesh_of(*CLOSED[name]()), p), np.where(is_inside(name, p), -1.0, 1.0)
    for column in range(3):
        assert np.array_equal(found[:, column], expected)
    assert np.array_equal(found[:, 3:5], found[:, 5:])


def test_the_winding_number_closes_holes():
    points, faces = sphere()
    opened = faces[points[faces].mean(1)[:, 2] < 0.95]
    found = signs(mesh_of(points, opened), [(0, 0, 0), (0, 0, -0.9), (0, 0, 1.5), (0, 0, -1.5)])
    assert found[:, 1].tolist() == [-1, -1, 1, 1]


def test_the_threshold_and_the_side_of_faces():
    points, faces = box()
    inverted, p = mesh_of(points, faces[:, ::-1]), wp.vec3(0.0, 0.1, 0.2)
    assert wp.mesh_query_point_sign_winding_number(inverted.id, p, 10.0).sign == 1.0
    assert wp.mesh_query_point_sign_winding_number(inverted.id, p, 10.0, 2.0, -1.5).sign == -1.0
    assert wp.mesh_query_point(inverted.id, p, 10.0).sign == -1.0
    assert not wp.mesh_query_point(inverted.id, p, 0.1).result


@wp.kernel
def count_hits(
    mesh: wp.uint64, p: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), most: float, found: wp.array2d(dtype=int)
):
    i = wp.tid()
    found[i, 0] = wp.mesh_query_ray_count_intersections(mesh, p[i], d[i])
    if wp.mesh_query_ray_anyhit(mesh, p[i], d[i], most):
        found[i, 1] = 1


def test_hits_are_counted(mode):
    points, faces = soup(400, seed=3)
    rng = np.random.default_rng(2)
    start, direction = (rng.normal(size=(300, 3)).astype(np.float32) for _ in range(2))
    found, mesh = wp.zeros((300, 2), dtype=int, device="cpu"), mesh_of(points, faces)
    wp.launch(count_hits, 300, [mesh.id, vectors(start), vectors(direction), 0.5, found], device="cpu")
    a, b, c = (points[faces[:, k]].astype(float) for k in range(3))
    for s, d, (count, hits) in zip(start.astype(float), direction.astype(float), found.numpy()):
        system = np.stack([b - a, c - a, np.broadcast_to(-d, a.shape)], axis=-1)
        u, v, t = np.linalg.solve(system, (s - a)[..., None])[..., 0].T
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0)
        assert count == hit.sum()
        assert hits == (hit & (t < 0.5)).any()
    assert 0.1 < found.numpy()[:, 1].mean() < 0.9


@wp.kernel
def mark_overlaps(
    mesh: wp.uint64, low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), found: wp.array2d(dtype=int)
):
    i = wp.tid()
    query = wp.mesh_query_aabb(mesh, low[i], high[i])
    face = 0
    while wp.mesh_query_aabb_next(query, face):
        found[i, face] += 1


@pytest.mark.parametrize("scene", SCENES)
def test_faces_in_boxes(scene, mode):
    points, faces = SCENES[scene]()
    rng = np.random.default_rng(4)
    size = np.abs(points).max()
    low = (rng.normal(size=(40, 3)) * 0.4 * size).astype(np.float32)
    high = low + np.float32(size) * rng.random((40, 3)).astype(np.float32)
    low[0], high[0] = -4 * size, 4 * size
    low[1] = high[1] = points[faces[0, 0]]
    low[2], high[2] = 1.0, -1.0
    found, mesh = wp.zeros((40, len(faces)), dtype=int, device="cpu"), mesh_of(points, faces)
    wp.launch(mark_overlaps, 40, [mesh.id, vectors(low), vectors(high), found], device="cpu")
    below, above = points[faces].min(1), points[faces].max(1)
    expected = ((below <= high[:, None]) & (above >= low[:, None])).all(2)
    assert np.array_equal(found.numpy(), expected)
    assert expected[0].all()
    assert expected[1].any()


@wp.kernel
def find_farthest(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), least: float, found: wp.array(dtype=float)):
    i = wp.tid()
    far = wp.mesh_query_furthest_point_no_sign(mesh, p[i], least)
    found[i] = -1.0
    if far.result:
        found[i] = wp.length(p[i] - wp.mesh_eval_position(mesh, far.face, far.u, far.v))


@pytest.mark.parametrize("scene", SCENES)
def test_farthest_points(scene, mode):
    points, faces = SCENES[scene]()
    p = np.random.default_rng(5).normal(size=(50, 3)).astype(np.float32)
    found, mesh = wp.zeros(50, dtype=float, device="cpu"), mesh_of(points, faces)
    wp.launch(find_farthest, 50, [mesh.id, vectors(p), 0.0, found], device="cpu")
    used = points[np.unique(faces)].astype(float)
    expected = np.linalg.norm(used[None] - p[:, None].astype(float), axis=2).max(1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    least = float(np.median(expected))
    wp.launch(find_farthest, 50, [mesh.id, vectors(p), least, found], device="cpu")
    decided = np.abs(expected - least) > 1e-5 * least
    assert np.array_equal((found.numpy() >= 0)[decided], (expected > least)[decided])


def test_queries_of_no_mesh_are_errors():
    low = wp.vec3(0.0, 0.0, 0.0)
    for query, *more in (
        (wp.mesh_query_point, 1.0),
        (wp.mesh_query_point_sign_winding_number, 1.0),
        (wp.mesh_query_furthest_point_no_sign, 0.0),
        (wp.mesh_query_aabb, low),
        (wp.mesh_query_ray_anyhit, low, 1.0),
        (wp.mesh_query_ray_count_intersections, low),
    ):
        with pytest.raises(ValueError, match="0 is no id of a mesh"):
            query(wp.uint64(0), low, *more)
