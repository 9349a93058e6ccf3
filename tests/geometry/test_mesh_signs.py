"""Queries of meshes that count, compare with boxes, or tell inside from outside, against all faces in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.scenes import SCENES, box, distances_to_each, soup, sphere

CLOSED = {"box": box, "sphere": sphere}


def mesh_of(points, faces):
    return wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces.ravel(), dtype=wp.int32))


def vectors(a):
    return wp.array(np.ascontiguousarray(a, np.float32), dtype=wp.vec3)


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
    found[i, 7] = wp.mesh_query_point_sign_normal(mesh, p[i], 100.0).sign
    found[i, 8] = wp.mesh_query_point_sign_parity(mesh, p[i], 100.0).sign
    near = wp.mesh_query_point_no_sign(mesh, p[i], 100.0)
    found[i, 5] = float(near.face)
    found[i, 6] = near.u + 10.0 * near.v


def signs(mesh, p):
    found = wp.zeros((len(p), 9), dtype=float)
    wp.launch(find_signs, len(p), [mesh.id, vectors(p), found])
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
    for column in (0, 1, 2, 7, 8):
        assert np.array_equal(found[:, column], expected)
    assert np.array_equal(found[:, 3:5], found[:, 5:7])


def star():
    """Four sharp spikes on a tetrahedron, where the normal of the closest face alone gives wrong signs."""
    core = np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], float)
    faces = np.array([(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)])
    tips = core[faces].mean(1) * 12.0
    spikes = [(f[k], f[(k + 1) % 3], 4 + i) for i, f in enumerate(faces) for k in range(3)]
    return np.concatenate([core, tips]).astype(np.float32), np.array(spikes)


def dot(v, w):
    return v[0] * w[0] + v[1] * w[1] + v[2] * w[2]


def winding(points, faces, p):
    """The winding number of a mesh around points, in full spheres."""
    corners = points.astype(float)[faces].transpose(1, 2, 0)[:, :, None]
    blocks = np.array_split(p.astype(float), len(p) * len(faces) // 10_000 + 1)  # blocks that fit in the cache
    return np.concatenate([_winding(corners, block) for block in blocks])


def _winding(corners, p):
    a, b, c = corners - p.T[:, :, None]
    x, y, z = (np.sqrt(dot(v, v)) for v in (a, b, c))
    normal = b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]
    cosines = x * y * z + dot(a, b) * z + dot(b, c) * x + dot(c, a) * y
    return np.arctan2(dot(a, normal), cosines).sum(1) / (2 * np.pi)


def test_signs_by_normals_at_edges_and_corners(mode):
    points, faces = star()
    rng = np.random.default_rng(6)
    tips, along = points[4:][rng.integers(4, size=900)], 1 + rng.normal(size=(900, 1)) * 0.05
    p = np.concatenate([tips * along + rng.normal(size=(900, 3)) * 0.3, rng.normal(size=(300, 3)) * 2])
    p = p.astype(np.float32)
    turns = winding(points, faces, p.astype(float))
    inside = turns > 0.5 if turns.max() > 0.5 else turns < -0.5
    faces = faces if turns.max() > 0.5 else faces[:, ::-1]
    found = signs(mesh_of(points, faces), p)
    assert 0.02 < inside.mean() < 0.6
    assert np.array_equal(found[:, 7], np.where(inside, -1.0, 1.0))
    a, b, c = (points[faces[found[:, 5].astype(int), k]].astype(float) for k in range(3))
    by_face = (np.cross(b - a, c - a) * (p - a)).sum(1) < 0
    assert (by_face != inside).sum() > 5  # of the face that is named alone


@pytest.mark.parametrize("thickness", [1e-2, 1e-3, 1e-4])
def test_signs_by_normals_of_a_thin_plate(thickness, mode):
    points, faces = box()
    half = points.max(0) * (1.0, 1.0, thickness)
    p = (np.random.default_rng(3).uniform(-1.5, 1.5, (20_000, 3)) * half).astype(np.float32)
    inside = (np.abs(p) < half.astype(np.float32)).all(1)
    found = signs(mesh_of((points * (1.0, 1.0, thickness)).astype(np.float32), faces), p)
    assert 0.2 < inside.mean() < 0.4
    assert np.array_equal(found[:, 7], np.where(inside, -1.0, 1.0))


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
    found, mesh = wp.zeros((300, 2), dtype=int), mesh_of(points, faces)
    wp.launch(count_hits, 300, [mesh.id, vectors(start), vectors(direction), 0.5, found])
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
    found, mesh = wp.zeros((40, len(faces)), dtype=int), mesh_of(points, faces)
    wp.launch(mark_overlaps, 40, [mesh.id, vectors(low), vectors(high), found])
    below, above = points[faces].min(1), points[faces].max(1)
    expected = ((below <= high[:, None]) & (above >= low[:, None])).all(2)
    assert np.array_equal(found.numpy(), expected)
    assert expected[0].all()
    assert expected[1].any()


@wp.kernel
def mark_faces_in_balls(
    mesh: wp.uint64,
    p: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    found: wp.array2d(dtype=int),
    again: wp.array2d(dtype=int),
):
    i = wp.tid()
    query = wp.mesh_query_sphere(mesh, p[i], radius[i])
    face = 0
    while wp.mesh_query_next(query, face):
        found[i, face] += 1
    other = wp.mesh_query_sphere(mesh, p[i], radius[i])
    while wp.mesh_query_aabb_next(other, face):
        again[i, face] += 1


@pytest.mark.parametrize("scene", SCENES)
def test_faces_in_balls(scene, mode):
    points, faces = SCENES[scene]()
    rng = np.random.default_rng(4)
    size = np.abs(points).max()
    p = (rng.normal(size=(40, 3)) * 0.6 * size).astype(np.float32)
    radius = (size * rng.random(40)).astype(np.float32)
    p[0], radius[0] = points[faces[0, 0]], 0.0
    p[1], radius[1] = points[faces[0, 0]], -1.0
    radius[2], radius[3] = np.inf, np.nan
    found, again = (wp.zeros((40, len(faces)), dtype=int) for _ in range(2))
    mesh, given = mesh_of(points, faces), wp.array(radius, dtype=float)
    wp.launch(mark_faces_in_balls, 40, [mesh.id, vectors(p), given, found, again])
    distance = np.array([distances_to_each(points, faces, q) for q in p])
    reach = np.maximum(radius, 0)[:, None]
    decided = np.abs(distance - reach) > 1e-6 * size
    decided[[0, 1]] = True
    decided[:, ~np.isfinite(distance).all(0)] = False
    assert np.array_equal(found.numpy()[decided], (distance <= reach)[decided])
    assert np.array_equal(found.numpy(), again.numpy())
    assert found.numpy()[:2, 0].all() and found.numpy()[2].all() and not found.numpy()[3].any()


@wp.kernel
def mark_overlaps_by_next(mesh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array(dtype=int)):
    query = wp.mesh_query_aabb(mesh, low, high)
    face = 0
    while wp.mesh_query_next(query, face):
        found[face] += 1


def test_boxes_by_the_common_name():
    points, faces = soup(60, seed=2)
    found = wp.zeros(len(faces), dtype=int)
    mesh = mesh_of(points, faces)
    wp.launch(mark_overlaps_by_next, 1, [mesh.id, wp.vec3(0.0), wp.vec3(1.0), found])
    expected = ((points[faces].min(1) <= 1) & (points[faces].max(1) >= 0)).all(1)
    assert np.array_equal(found.numpy(), expected) and 0 < expected.sum() < 60


@wp.kernel
def older_forms(mesh: wp.uint64, p: wp.vec3, found: wp.array2d(dtype=float)):
    sign = 0.0
    face = -1
    u = 0.0
    v = 0.0
    if wp.mesh_query_point_no_sign(mesh, p, 100.0, face, u, v):
        found[0, 0], found[0, 1], found[0, 2] = float(face), u, v
    if wp.mesh_query_point_sign_normal(mesh, p, 100.0, sign, face, u, v, 1.0e-3):
        found[1, 0], found[1, 1], found[1, 2], found[1, 3] = float(face), u, v, sign
    if wp.mesh_query_point_sign_winding_number(mesh, p, 100.0, sign, face, u, v):
        found[2, 0], found[2, 1], found[2, 2], found[2, 3] = float(face), u, v, sign
    if wp.mesh_query_furthest_point_no_sign(mesh, p, 0.0, face, u, v):
        found[3, 0], found[3, 1], found[3, 2] = float(face), u, v


def test_older_forms_with_variables():
    points, faces = box()
    mesh, p, found = mesh_of(points, faces), wp.vec3(0.1, 0.2, 0.4), wp.zeros((4, 4), dtype=float)
    wp.launch(older_forms, 1, [mesh.id, p, found])
    near, far = wp.mesh_query_point(mesh.id, p, 100.0), wp.mesh_query_furthest_point_no_sign(mesh.id, p, 0.0)
    assert near.sign == -1.0
    place = [int(near.face), near.u, near.v]
    assert found.numpy()[:3].tolist() == [[*place, 0.0], [*place, -1.0], [*place, -1.0]]
    assert found.numpy()[3].tolist() == [int(far.face), far.u, far.v, 0.0]


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
    found, mesh = wp.zeros(50, dtype=float), mesh_of(points, faces)
    wp.launch(find_farthest, 50, [mesh.id, vectors(p), 0.0, found])
    used = points[np.unique(faces)].astype(float)
    expected = np.linalg.norm(used[None] - p[:, None].astype(float), axis=2).max(1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    least = float(np.median(expected))
    wp.launch(find_farthest, 50, [mesh.id, vectors(p), least, found])
    decided = np.abs(expected - least) > 1e-5 * least
    assert np.array_equal((found.numpy() >= 0)[decided], (expected > least)[decided])


def test_queries_of_no_mesh_are_errors():
    low = wp.vec3(0.0, 0.0, 0.0)
    for query, *more in (
        (wp.mesh_query_point, 1.0),
        (wp.mesh_query_point_sign_winding_number, 1.0),
        (wp.mesh_query_point_sign_normal, 1.0),
        (wp.mesh_query_furthest_point_no_sign, 0.0),
        (wp.mesh_query_sphere, 1.0),
        (wp.mesh_query_aabb, low),
        (wp.mesh_query_ray_anyhit, low, 1.0),
        (wp.mesh_query_ray_count_intersections, low),
    ):
        with pytest.raises(ValueError, match="0 is no id of a mesh"):
            query(wp.uint64(0), low, *more)
