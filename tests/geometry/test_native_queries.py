"""Native queries of meshes find what the library finds, to the bit, whichever lanes ask."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.scenes import SCENES, box, collinear, soup, sphere

pytestmark = pytest.mark.cpu


def far():
    """A mesh far from the origin, where coordinates are coarse."""
    points, faces = sphere(10, 12)
    return points * np.float32(3.0) + np.float32(4e5), faces


def needles():
    """Long thin triangles through one another."""
    points, faces = soup(200, seed=8)
    points[faces[:, 1]] = points[faces[:, 0]] + (points[faces[:, 1]] - points[faces[:, 0]]) * np.float32(1e-4)
    points[faces[:, 2]] *= np.float32(1e3)
    return points, faces


def flat():
    """A plane grid, whose boxes have no height."""
    x, y = np.meshgrid(np.arange(20), np.arange(20))
    points = np.stack([x.ravel(), y.ravel(), np.zeros(400)], -1)
    i = (np.arange(19)[:, None] * 20 + np.arange(19)).ravel()
    return points.astype(np.float32), np.concatenate(
        [np.stack([i, i + 1, i + 20], 1), np.stack([i + 1, i + 21, i + 20], 1)]
    )


def huge():
    """Triangles whose products of four lengths overflow in single precision."""
    points, faces = soup(100, seed=10)
    points[:, 2] *= np.float32(1e-3)
    return points * np.float32(1e12), faces


def tiny():
    """Triangles whose normals underflow in single precision."""
    points, faces = soup(100, seed=11)
    return points * np.float32(1e-12), faces


def large():
    """More triangles than one wide node or subtree holds."""
    points, faces = soup(6000, seed=9)
    return points, faces


ALL = {**SCENES, **{f.__name__: f for f in (collinear, far, needles, flat, huge, tiny, large)}}


@wp.kernel
def ask(
    mesh: wp.uint64,
    p: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    most: wp.array(dtype=float),
    part: int,
    found: wp.array2d(dtype=float),
    normal: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    if (i // part) * part == i:
        hit = wp.mesh_query_ray(mesh, p[i], d[i], most[i])
        near = wp.mesh_query_point_no_sign(mesh, p[i], most[i])
        found[i, 0] = float(hit.face)
        found[i, 1] = hit.t
        found[i, 2] = hit.u
        found[i, 3] = hit.v
        found[i, 4] = hit.sign
        found[i, 5] = float(near.face)
        found[i, 6] = near.u
        found[i, 7] = near.v
        found[i, 8] = float(wp.mesh_query_ray_count_intersections(mesh, p[i], d[i]))
        found[i, 9] = wp.mesh_query_point(mesh, p[i], most[i]).sign
        far = wp.mesh_query_furthest_point_no_sign(mesh, p[i], most[i] if wp.isfinite(most[i]) else 0.0)
        found[i, 10] = float(far.face)
        found[i, 11] = far.u
        found[i, 12] = far.v
        normal[i] = hit.normal


def rays_at(points, faces, count, seed=4):
    """Rays through corners, along edges and axes, from corners and faces, between points of a lattice, which has the
    corners of some scenes, and past everything.
    """
    rng = np.random.default_rng(seed)
    corners = points[faces[rng.integers(len(faces), size=count)]].astype(np.float64)
    weights = rng.dirichlet((1, 1, 1), size=count)
    weights[::3] = np.eye(3)[rng.integers(3, size=len(weights[::3]))]
    weights[1::6, 2] = 0.0
    target = (corners * weights[..., None]).sum(1)
    size = np.abs(points - points.mean(0)).max() + 1e-3
    start = target + rng.normal(size=(count, 3)) * size * 10.0 ** rng.uniform(-3, 1, (count, 1))
    start[::7] = corners[::7, 0]
    start[3::7] = target[3::7] - np.eye(3)[rng.integers(3, size=len(target[3::7]))] * size
    d = target - start
    d[5::11] = rng.normal(size=d[5::11].shape)
    d[6::13] = np.eye(3)[rng.integers(3, size=len(d[6::13]))]
    d[7::17] = (corners[:, 1] - corners[:, 0])[7::17]
    start[9::19] = np.round(start[9::19] * 2) / 2
    d[9::19] = rng.integers(-2, 3, size=d[9::19].shape)
    d[:4] = [(0, 0, 0), (np.nan, 1, 0), (np.inf, 0, 0), (1e-40, 1, 0)]
    start[4:7] = [(np.nan, 0, 0), (np.inf, 0, 0), (1e30, 0, 0)]
    most = np.where(np.arange(count) % 5 == 0, 10.0 ** rng.uniform(-4, 1, count), np.inf)
    most[8:11] = [0.0, -1.0, np.nan]
    return start.astype(np.float32), d.astype(np.float32), most.astype(np.float32)


def answers(mesh, given, part):
    count = len(given[0])
    found, normal = wp.zeros((count, 13), dtype=float, device="cpu"), wp.zeros(count, dtype=wp.vec3, device="cpu")
    p, d = (wp.array(a, dtype=wp.vec3, device="cpu") for a in given[:2])
    most = wp.array(given[2], dtype=float, device="cpu")
    wp.launch(ask, count, [mesh.id, p, d, most, part, found, normal], device="cpu")
    return np.concatenate([found.numpy(), normal.numpy()], axis=1)


@pytest.mark.parametrize("scene", ALL)
@pytest.mark.parametrize("part", [1, 3])
def test_both_find_the_same_to_the_bit(scene, part, monkeypatch):
    points, faces = ALL[scene]()
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), wp.array(faces.ravel(), dtype=wp.int32, device="cpu"))
    given = rays_at(points, faces, 1003)
    found = {}
    for mode in ("release", "debug"):
        monkeypatch.setattr(wp.config, "mode", mode)
        found[mode] = answers(mesh, given, part)
    assert found["release"].tobytes() == found["debug"].tobytes()
    asked = np.arange(1003) % part == 0
    assert (found["release"][asked, 0] >= 0).mean() > 0.1
    assert (found["release"][asked, 5] >= 0).mean() > 0.7
    assert (found["release"][asked, 8] > 0).mean() > 0.1
    assert (found["release"][asked, 10] >= 0).mean() > 0.5
    assert not found["release"][~asked].any()


@wp.kernel
def list_near(
    mesh: wp.uint64,
    p: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    found: wp.array2d(dtype=int),
):
    """Write how many faces are in a ball and near a box, and a number that depends on their order."""
    i = wp.tid()
    face = 0
    ball = wp.mesh_query_sphere(mesh, p[i], radius[i])
    while wp.mesh_query_next(ball, face):
        found[i, 0] += 1
        found[i, 1] = found[i, 1] * 31 + face
    near = wp.mesh_query_aabb(mesh, p[i], high[i])
    while wp.mesh_query_next(near, face):
        found[i, 2] += 1
        found[i, 3] = found[i, 3] * 31 + face


@pytest.mark.parametrize("scene", [box, flat, sphere, soup, collinear, far, needles, huge, tiny])
def test_both_find_the_same_faces_near_places_in_the_same_order(scene, monkeypatch):
    """Also where a ball just touches a corner or a face."""
    points, faces = scene()
    rng, count = np.random.default_rng(7), 240
    corner, other = (points[rng.choice(faces.ravel(), count)] for _ in range(2))
    size = np.abs(points - points.mean(0)).max()
    p = (corner + rng.normal(size=(count, 3)) * rng.choice([0.0, 0.1, 0.5], (count, 1)) * size).astype(np.float32)
    p[::4] = (corner + 0.25 * size * np.eye(3)[rng.integers(3, size=count)])[::4]
    radius = np.linalg.norm((other - p).astype(np.float64), axis=1) * rng.choice([1.0, 0.2], count)
    radius[::4] = 0.25 * size
    radius[1:8] = [0.0, -1.0, np.inf, np.nan, 1e-30, 1e30, 3e38]
    p[8:11] = [(np.nan, 0, 0), (np.inf, 0, 0), (3e38, -3e38, 0)]
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), wp.array(faces.ravel(), dtype=int, device="cpu"))
    given = [wp.array(a.astype(np.float32), dtype=wp.vec3, device="cpu") for a in (p, np.maximum(p, other))]
    given.append(wp.array(radius.astype(np.float32), dtype=float, device="cpu"))
    found = {}
    for mode in ("release", "debug"):
        monkeypatch.setattr(wp.config, "mode", mode)
        found[mode] = wp.zeros((count, 4), dtype=int, device="cpu")
        wp.launch(list_near, count, [mesh.id, *given, found[mode]], device="cpu")
    assert np.array_equal(found["release"].numpy(), found["debug"].numpy())
    assert (found["debug"].numpy()[:, [0, 2]] > 0).mean() > 0.3


@pytest.mark.parametrize("scene", [box, flat, sphere])
def test_what_rays_hit_does_not_depend_on_the_tree(scene, monkeypatch):
    """Also where they pass exactly through common corners and edges of faces."""
    points, faces = scene()
    rng = np.random.default_rng(6)
    corner = points[faces[rng.integers(len(faces), size=600), 0]].astype(float)
    d = np.where(rng.random((600, 3)) < 0.5, rng.integers(-2, 3, (600, 3)), rng.normal(size=(600, 3)))
    d[::3] = corner[::-3]  # along faces, and from corner to corner
    start = corner - d * rng.choice([0.0, 1.0, 1e-3, 1e3], (600, 1))
    given = np.float32(start), np.float32(d), np.full(600, np.inf, np.float32)
    arrays = wp.array(points, dtype=wp.vec3, device="cpu"), wp.array(faces.ravel(), dtype=wp.int32, device="cpu")
    alone = wp.array(np.arange(len(faces), dtype=np.int32), dtype=int, device="cpu")
    expected = answers(wp.Mesh(*arrays), given, 1)[:, :10]
    for mode in ("release", "debug"):
        monkeypatch.setattr(wp.config, "mode", mode)
        for more in ({"bvh_leaf_size": 1}, {"bvh_leaf_size": 8, "bvh_constructor": "lbvh"}, {"groups": alone}):
            assert np.array_equal(answers(wp.Mesh(*arrays, **more), given, 1)[:, :10], expected)
    assert (expected[:, 8] > 1).mean() > 0.1


def test_native_code_is_called_in_release_mode_alone(monkeypatch):
    calls = {}
    for mode in ("release", "debug"):
        monkeypatch.setattr(wp.config, "mode", mode)
        mesh = wp.Mesh(
            wp.array(box()[0], dtype=wp.vec3, device="cpu"), wp.array(box()[1].ravel(), dtype=int, device="cpu")
        )
        moved = wp.array(box()[0] * 2, dtype=wp.vec3, device="cpu")
        mesh.points.assign(moved)  # without refit: the library reads the points, native code its copy
        answer = answers(mesh, tuple(np.float32(a) for a in ([(0.1, 0.2, 0)], [(0, 0, 1)], [9])), 1)
        calls[mode] = answer[0, 1]
    assert calls["release"] == 1.0 != calls["debug"]
