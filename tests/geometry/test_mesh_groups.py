"""Groups of the faces of meshes, and trees of meshes as trees over boxes, against all faces in double precision."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.scenes import SCENES, box, hit_by_all, one, soup, sphere
from tests.geometry.test_bvh import found_by, found_by_all, put, some_queries
from tests.geometry.test_mesh import some_rays

MODES = {"release": 80, "debug": 80, "interpret": 3}  # rays
GROUPS = np.int32([-7, 0, 3, 2**31 - 1])
COLUMNS = 6


@pytest.fixture(params=[pytest.param(m, marks=[pytest.mark.cpu] * (m == "interpret")) for m in MODES])
def mode(request, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", request.param)
    return request.param


@wp.kernel
def ask(
    mesh: wp.uint64,
    group: int,
    start: wp.array(dtype=wp.vec3),
    direction: wp.array(dtype=wp.vec3),
    out: wp.array2d(dtype=float),
):
    """Write what a ray finds among the faces of a group."""
    i = wp.tid()
    root = wp.mesh_get_group_root(mesh, group)
    hit = wp.mesh_query_ray(mesh, start[i], direction[i], 100.0, root)
    t, u, v, sign, normal, face = 0.0, 0.0, 0.0, 0.0, wp.vec3(), 0
    wp.mesh_query_ray(mesh, start[i], direction[i], 100.0, t, u, v, sign, normal, face, root)
    out[i, 0] = float(hit.face)
    out[i, 1] = hit.t
    out[i, 2] = hit.u
    out[i, 3] = float(face)
    out[i, 4] = wp.where(wp.mesh_query_ray_anyhit(mesh, start[i], direction[i], 100.0, root), 1.0, 0.0)
    out[i, 5] = float(wp.mesh_query_ray_count_intersections(mesh, start[i], direction[i], root=root))


@wp.kernel
def cast_from(mesh: wp.uint64, root: int, out: wp.array(dtype=float)):
    out[0] = wp.mesh_query_ray(mesh, wp.vec3(0.1, 0.2, 9.0), wp.vec3(0.0, 0.0, -1.0), 100.0, root).t


@wp.kernel
def count_from(mesh: wp.uint64, root: int, out: wp.array(dtype=float)):
    out[0] = float(wp.mesh_query_ray_count_intersections(mesh, wp.vec3(0.1, 0.2, 9.0), wp.vec3(0.0, 0.0, -1.0), root))


@wp.kernel
def find_roots(mesh: wp.uint64, groups: wp.array(dtype=int), roots: wp.array2d(dtype=int)):
    i = wp.tid()
    roots[i, 0] = wp.mesh_get_group_root(mesh, groups[i])
    roots[i, 1] = wp.bvh_get_group_root(wp.mesh_get_bvh(mesh), groups[i])


def mesh_of(points, faces, groups=None, **more):
    given = None if groups is None else put(groups, int)
    return wp.Mesh(put(np.float32(points)), put(faces.ravel(), int), groups=given, **more)


def roots_of(mesh, groups):
    roots = wp.zeros((len(groups), 2), dtype=int)
    wp.launch(find_roots, len(groups), [mesh.id, put(np.int32(groups), int), roots])
    assert np.array_equal(roots.numpy()[:, 0], roots.numpy()[:, 1])
    return roots.numpy()[:, 0].tolist()


def answers(mesh, group, start, direction):
    out = wp.zeros((len(start), COLUMNS), dtype=float)
    wp.launch(ask, len(start), [mesh.id, int(group), put(np.float32(start)), put(np.float32(direction)), out])
    return out.numpy()


def in_groups(count, seed=3):
    groups = np.random.default_rng(seed).choice(GROUPS, p=[0.3, 0.3, 0.39, 0.01], size=count).astype(np.int32)
    groups[-1] = GROUPS[-1]
    return groups


@pytest.mark.parametrize("scene", ["sphere", "soup", "degenerate"])
def test_rays_hit_the_faces_of_a_group(scene, mode):
    points, faces = SCENES[scene]()
    groups = in_groups(len(faces))
    start, direction = (np.float32(x) for x in some_rays(points, faces, MODES[mode]))
    mesh = mesh_of(points, faces, groups)
    hits = 0
    for group in GROUPS:
        mine = np.flatnonzero(groups == group)
        found = answers(mesh, group, start, direction)
        for row, s, d in zip(found, start, direction):
            t, margin = hit_by_all(points, faces[mine], s.astype(float), d.astype(float))
            if margin > 1e-6:
                assert (row[0] >= 0) == (row[4] == 1.0) == (row[5] > 0) == np.isfinite(t)
                assert not np.isfinite(t) or abs(row[1] - t) <= 1e-5 * (1 + t)
            assert row[0] < 0 or groups[int(row[0])] == group
        hits += (found[:, 0] >= 0).sum()
        assert np.array_equal(found[:, 0], found[:, 3])
    assert hits > MODES[mode] // 4


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("more", [{}, {"bvh_leaf_size": 8}, {"bvh_leaf_size": 1, "bvh_constructor": "lbvh"}])
def test_a_group_is_like_a_mesh_of_its_faces(scene, more):
    """To the bit, for groups of all sizes, and after the points have moved."""
    points, faces = SCENES[scene]()
    start, direction = some_rays(points, faces, 60)
    for groups in (in_groups(len(faces)), np.arange(len(faces), dtype=np.int32), np.zeros(len(faces), np.int32)):
        mesh = mesh_of(points, faces, groups, **more)
        for scale in (1.0, 0.5):
            mesh.points.assign(np.float32(points * scale))
            mesh.refit()
            for group in np.unique(groups)[:: max(len(np.unique(groups)) // 4, 1)]:
                mine = np.flatnonzero(groups == group)
                expected = answers(mesh_of(points * scale, faces[mine]), 0, start * scale, direction)
                expected[:, [0, 3]] = np.append(mine, -1)[expected[:, [0, 3]].astype(int)]
                assert np.array_equal(answers(mesh, group, start * scale, direction), expected)


def test_groups_leave_other_queries_as_they_are(mode):
    points, faces = sphere(8, 10)
    start, direction = some_rays(points, faces, MODES[mode])
    expected, mesh = answers(mesh_of(points, faces), 0, start, direction), mesh_of(points, faces, in_groups(160))
    assert np.array_equal(answers(mesh, 1, start, direction), expected)  # there is no such group: all faces
    near = [wp.mesh_query_point(m.id, wp.vec3(0.1, 0.2, 0.3), 9.0) for m in (mesh, mesh_of(points, faces))]
    assert (int(near[0].face), near[0].sign) == (int(near[1].face), -1.0)


def test_roots_of_groups(mode):
    points, faces = soup(60)
    mesh = mesh_of(points, faces, in_groups(60))
    roots = roots_of(mesh, [*GROUPS, -8, 1])
    assert roots[4:] == [-1, -1] and min(roots[:4]) >= 0 and len(set(roots[:4])) == 4
    assert roots_of(mesh_of(points, faces), [0, 3]) == [-1, -1]
    assert roots_of(mesh_of(points, faces, np.full(60, 5, np.int32)), [0, 5]) == [-1, 0]
    assert roots_of(mesh_of(points, faces[:0], np.zeros(0, np.int32)), [0]) == [-1]


@pytest.mark.parametrize("kernel", [cast_from, count_from])
def test_nodes_that_are_no_roots_are_errors(kernel, mode):
    points, faces = sphere(8, 10)
    out, mesh = wp.zeros(1, dtype=float), mesh_of(points, faces, in_groups(160))
    roots = roots_of(mesh, GROUPS)
    others = [n for n in range(1, 40) if n not in roots][:3]
    for root in [*others, 10**6, 2**31 - 1]:
        with pytest.raises((wp.KernelError, IndexError, ValueError), match=f"root {root} is no root of a group of the"):
            wp.launch(kernel, 1, [mesh.id, root, out])
    plain = mesh_of(points, faces)
    with pytest.raises((wp.KernelError, IndexError, ValueError), match="root 1 is no root of a group"):
        wp.launch(kernel, 1, [plain.id, 1, out])
    wp.launch(kernel, 1, [plain.id, 0, out])
    assert out.list()[0] > 0


@pytest.mark.parametrize("scene", ["soup", "degenerate", "equal"])
def test_the_tree_of_a_mesh_is_one_over_the_boxes_of_faces(scene, mode):
    points, faces = SCENES[scene]()
    faces = faces[:100]
    boxes, groups = (points[faces].min(1), points[faces].max(1)), in_groups(len(faces))
    queries = some_queries(boxes, MODES[mode] // 3)
    must, may = (np.array([found_by_all(boxes, query, slack) for query in zip(*queries)]) for slack in (0.0, 2e-6))
    for leaf_size in (1, 4):
        mesh = mesh_of(points, faces, groups, bvh_leaf_size=leaf_size)
        tree = SimpleNamespace(id=wp.mesh_get_bvh(mesh.id), lowers=faces)
        for group, root in zip([*GROUPS, None], [*roots_of(mesh, GROUPS), -1]):
            found = found_by(tree, queries, root)
            mine = np.full(len(faces), True) if group is None else groups == group
            assert not (must & mine & ~found).any()
            assert not (found & ~(may & mine)).any()
    assert must.any()


def test_the_tree_of_a_mesh_follows_its_points_and_ends_with_it(mode):
    points, faces = one()
    mesh = mesh_of(points, faces)
    tree = SimpleNamespace(id=wp.mesh_get_bvh(mesh.id), lowers=faces)
    low, high = (np.float32([[x, x, x]]) for x in (4.5, 5.5))
    query = np.int32([0]), low, high, np.float32([0]), np.float32([0])
    assert not found_by(tree, query).any()
    mesh.points.assign(points + np.float32(5))
    mesh.refit()
    assert found_by(tree, query).all()
    mesh.points = put(points)
    assert not found_by(tree, query).any()
    del mesh
    gc.collect()
    with pytest.raises((wp.KernelError, ValueError), match=f"{int(tree.id)} is no id of a wp.Bvh that exists"):
        found_by(tree, query)


def test_groups_that_do_not_fit():
    points, faces = one()
    for groups, error, text in (
        (wp.zeros(2, dtype=int), ValueError, "groups: 2 of them, but there are 1 faces"),
        (wp.zeros(1, dtype=float), TypeError, "groups: expected elements"),
        (wp.zeros((1, 1), dtype=int), ValueError, "groups: expected one dimension"),
        (np.zeros(1, np.int32), TypeError, "groups: expected"),
    ):
        with pytest.raises(error, match=text):
            wp.Mesh(put(points), put(faces.ravel(), int), groups=groups)


@wp.kernel
def pull(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    """The way of a ray to a group, and a sum over the faces of the group near a place."""
    i = wp.tid()
    root, face = wp.mesh_get_group_root(mesh, 3), 0
    hit = wp.mesh_query_ray(mesh, p[i], wp.vec3(-0.9, -0.25, -0.15), 100.0, root)
    total = hit.t
    query = wp.bvh_query_sphere(wp.mesh_get_bvh(mesh), p[i], 1.2, root)
    while wp.bvh_query_next(query, face):
        total += wp.length_sq(p[i] - wp.mesh_eval_position(mesh, face, 0.2, 0.3))
    out[i] = total


def test_gradients_of_queries_of_a_group():
    """After the launch the points move, and the tree with them."""
    points, faces = box()
    groups = np.int32([3] * 12)
    groups[:2] = 0  # the face at x = -1, behind the others
    p = np.array([[1.9, 0.3, 0.2]])
    mesh = mesh_of(points, faces, groups)
    mesh.points.requires_grad = True
    place = wp.array(np.float32(p), dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(pull, 1, [mesh.id, place, out])
    mesh.points.assign(points * np.float32(0.1))
    mesh.refit()
    tape.backward(out)
    boxes = points[faces].min(1), points[faces].max(1)
    gap = np.maximum(np.maximum(boxes[0] - p[0], p[0] - boxes[1]), 0.0)
    near = (np.linalg.norm(gap, axis=1) <= 1.2) & (groups == 3)
    a, b, c = (points[faces[near, k]].astype(float) for k in range(3))
    away = p[0] - 0.2 * a - 0.3 * b - 0.5 * c
    assert near.sum() > 2
    t = (p[0, 0] - 1) / 0.9
    assert out.list() == [pytest.approx(t + (away**2).sum(), rel=1e-5)]
    expected = 2 * away.sum(0) + (1 / 0.9, 0, 0)
    np.testing.assert_allclose(place.grad.numpy()[0], expected, atol=1e-5)
    of_points = np.zeros((8, 3))
    for k, weight in enumerate((0.2, 0.3, 0.5)):
        np.add.at(of_points, faces[near, k], -2 * weight * away)
    of_points.T[0] -= np.bincount(*weights_of_hit(points, faces, p[0] - t * np.array([0.9, 0.25, 0.15])), 8) / 0.9
    np.testing.assert_allclose(mesh.points.grad.numpy(), of_points, atol=1e-5)


def weights_of_hit(points, faces, place):
    """The corners of the face of a box at x = 1 that a place is on, and its weights."""
    for face in faces[(points[faces][:, :, 0] == 1).all(1)]:
        weights = np.linalg.solve(np.vstack([points[face].T.astype(float)[1:], np.ones(3)]), [*place[1:], 1.0])
        if weights.min() >= 0:
            return face, weights
    raise AssertionError(place)
