"""Meshes and their queries, against all triangles in double precision and against Embree."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.geometry.mesh import _descriptors
from tests.geometry.scenes import (
    SCENES,
    box,
    collinear,
    distance_to_all,
    distances_to_each,
    equal,
    hit_by_all,
    one,
    soup,
    sphere,
)
from tests.on_gpu import MODE

MANY = 16 if MODE == "emulated" else 400
MODES = {"release": MANY, "debug": MANY, "interpret": 4}  # rays or points that each looks at


@wp.kernel
def cast_rays(
    mesh: wp.uint64,
    start: wp.array(dtype=wp.vec3),
    direction: wp.array(dtype=wp.vec3),
    max_t: float,
    t: wp.array(dtype=float),
    face: wp.array(dtype=int),
    place: wp.array(dtype=wp.vec3),
    side: wp.array(dtype=float),
):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, start[i], direction[i], max_t)
    t[i] = -1.0
    face[i] = hit.face
    side[i] = hit.sign
    if hit.result:
        t[i] = hit.t
        place[i] = wp.mesh_eval_position(mesh, hit.face, hit.u, hit.v)


@wp.kernel
def find_closest(
    mesh: wp.uint64,
    p: wp.array(dtype=wp.vec3),
    max_dist: float,
    face: wp.array(dtype=int),
    place: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    near = wp.mesh_query_point_no_sign(mesh, p[i], max_dist)
    face[i] = near.face
    if near.result:
        place[i] = wp.mesh_eval_position(mesh, near.face, near.u, near.v)


def vectors(a):
    return wp.array(np.ascontiguousarray(a, np.float32), dtype=wp.vec3)


def mesh_of(points, faces, **more):
    return wp.Mesh(vectors(points), wp.array(faces.ravel(), dtype=int), **more)


def rays(mesh, start, direction, max_t=1e30):
    n = len(start)
    t, side = (wp.zeros(n, dtype=float) for _ in range(2))
    face, place = wp.zeros(n, dtype=int), wp.zeros(n, dtype=wp.vec3)
    given = [mesh.id, vectors(start), vectors(direction), max_t, t, face, place, side]
    wp.launch(cast_rays, dim=n, inputs=given)
    return t.numpy(), face.numpy(), place.numpy(), side.numpy()


def closest(mesh, p, max_dist=1e18):
    face, place = wp.zeros(len(p), dtype=int), wp.zeros(len(p), dtype=wp.vec3)
    wp.launch(find_closest, dim=len(p), inputs=[mesh.id, vectors(p), max_dist, face, place])
    return face.numpy(), place.numpy()


def some_rays(points, faces, count, seed=1):
    """Rays towards random points of random faces, from outside and from near by, and some past all of them."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet((1, 1, 1), size=count)
    target = (points[faces[rng.integers(len(faces), size=count)]] * weights[..., None]).sum(1)
    start = target + rng.normal(size=(count, 3)) * np.where(np.arange(count) % 2, 4.0, 0.3)[:, None]
    direction = np.where((np.arange(count) % 8 == 7)[:, None], rng.normal(size=(count, 3)), target - start)
    return start.astype(np.float32), direction.astype(np.float32)


@pytest.fixture(params=["release", "debug", pytest.param("interpret", marks=pytest.mark.cpu)])
def mode(request, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", request.param)
    return request.param


@pytest.mark.parametrize("scene", SCENES)
def test_rays_hit_what_all_triangles_say(scene, mode):
    points, faces = SCENES[scene]()
    start, direction = some_rays(points, faces, MODES[mode])
    t, face, place, _ = rays(mesh_of(points, faces), start, direction)
    decided = 0
    for i in range(len(t)):
        expected, margin = hit_by_all(points, faces, start[i].astype(np.float64), direction[i].astype(np.float64))
        if margin < 1e-5:
            continue
        decided += 1
        assert (t[i] >= 0) == np.isfinite(expected)
        assert (face[i] >= 0) == np.isfinite(expected)
        if np.isfinite(expected):
            assert t[i] == pytest.approx(expected, rel=1e-5, abs=1e-6)
            reach = np.abs(start[i]).max() + np.abs(points[faces[face[i]]]).max()
            np.testing.assert_allclose(place[i], start[i] + direction[i] * expected, atol=2e-6 * reach, rtol=1e-5)
    assert decided >= len(t) // 4


@pytest.mark.parametrize("scene", [*SCENES, "collinear"])
def test_closest_points_are_those_of_all_triangles(scene, mode):
    points, faces = {**SCENES, "collinear": collinear}[scene]()
    start, _ = some_rays(points, faces, MODES[mode], seed=2)
    face, place = closest(mesh_of(points, faces), start)
    assert (face >= 0).all()
    for p, q, f in zip(start.astype(np.float64), place, face):
        distances = distances_to_each(points, faces, p)
        expected = distances.min()
        size = np.abs(points[faces[f]] - p).max()
        assert np.linalg.norm(q - p) == pytest.approx(expected, rel=1e-5, abs=1e-6 * size)
        assert distances[f] == pytest.approx(expected, rel=1e-5, abs=1e-6 * size)


def test_embree_finds_the_same_hits():
    core = pytest.importorskip("embreex.rtcore_scene", reason="embreex is not installed: no comparison with Embree")
    triangles = pytest.importorskip("embreex.mesh_construction")
    points, faces = sphere(60, 80)
    start, direction = some_rays(points, faces, 20_000)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    scene = core.EmbreeScene()
    triangles.TriangleMesh(scene, points, faces)
    expected = scene.run(start, direction, query="DISTANCE")
    t, _, _, _ = rays(mesh_of(points, faces), start, direction)
    missed = expected > 1e20
    assert 0.05 < missed.mean() < 0.6
    both = (t >= 0) & ~missed
    np.testing.assert_allclose(t[both], expected[both], rtol=2e-4)
    differ = np.flatnonzero(((t < 0) != missed) | (both & ~np.isclose(t, expected, rtol=1e-5, atol=1e-6)))
    assert len(differ) < 20  # of 20000: Embree decides in single precision
    for i in differ:
        exact, margin = hit_by_all(points, faces, start[i].astype(np.float64), direction[i].astype(np.float64))
        assert margin < 1e-5 or t[i] == pytest.approx(exact, rel=1e-6)


def test_no_ray_passes_between_faces():
    """From inside of a closed mesh, exactly through its corners and points of its edges."""
    points, faces = sphere()
    corners = points[faces].astype(np.float64)
    shares = np.linspace(0, 1, 7)[:, None, None, None]
    targets = (corners * shares + np.roll(corners, 1, axis=1) * (1 - shares)).reshape(-1, 3)
    for origin in ((0, 0, 0), (0.1, -0.2, 0.3)):
        start = np.broadcast_to(np.float32(origin), targets.shape)
        t, _, _, side = rays(mesh_of(points, faces), start, targets - start)
        assert (t > 0).all()
        assert (side == -1).all()


def test_rays_along_the_edges_and_axes_of_a_box():
    points, faces = box()
    mesh = mesh_of(points, faces)
    grid = np.stack(np.meshgrid([-1, -0.5, 0, 1], [-1, 0.25, 1]), -1).reshape(-1, 2)
    for axis in range(3):
        start = np.insert(grid, axis, 3.0, axis=1)
        t, _, _, side = rays(mesh, start, np.broadcast_to(-np.eye(3)[axis], start.shape))
        assert np.array_equal(t, np.full(len(grid), 2.0))
        assert (side == 1).all()


def test_closest_points_of_a_box():
    points, faces = box()
    p = np.array([(2, 3, 4), (0, 0.5, 3), (1.5, 1.5, 0.25), (0.9, 0, 0), (1, 1, 1), (0.5, 1, 0.5)])
    expected = [(1, 1, 1), (0, 0.5, 1), (1, 1, 0.25), (1, 0, 0), (1, 1, 1), (0.5, 1, 0.5)]
    np.testing.assert_allclose(closest(mesh_of(points, faces), p)[1], expected, atol=1e-6)


def test_limits_are_exclusive():
    mesh = mesh_of(*one())
    down, start = [(0, 0, -1.0)], [(0.25, 0.25, 2.0)]
    assert rays(mesh, start, down, 2.0)[1][0] == -1
    assert rays(mesh, start, down, np.nextafter(np.float32(2), np.float32(3)))[1][0] == 0
    assert closest(mesh, start, 2.0)[0][0] == -1
    assert closest(mesh, start, 2.001)[0][0] == 0
    assert closest(mesh, start, -5.0)[0][0] == -1


def test_of_equal_faces_the_first_one_is_named():
    mesh = mesh_of(*equal())
    start = [(0.25, 0.25, 2.0)]
    assert rays(mesh, start, [(0, 0, -1.0)])[1][0] == 0
    assert closest(mesh, start)[0][0] == 0


def test_rays_that_are_no_rays_hit_nothing():
    mesh = mesh_of(*box())
    bad = [(0, 0, 0), (np.nan, 0, 1), (0, np.nan, 0)]
    assert (rays(mesh, np.zeros((3, 3)), bad)[1] == -1).all()
    assert (rays(mesh, np.full((1, 3), np.nan), [(0, 0, 1)])[1] == -1).all()


def test_direction_of_any_length():
    mesh = mesh_of(*one())
    for length in (1e-12, 1.0, 1e12):
        t, face, _, _ = rays(mesh, [(0.25, 0.25, 2.0)], [(0, 0, -length)], 1e30)
        assert face[0] == 0
        assert t[0] == pytest.approx(2.0 / length, rel=1e-6)


@wp.kernel
def older_form(mesh: wp.uint64, start: wp.vec3, direction: wp.vec3, out: wp.array(dtype=float)):
    t = 0.0
    u = 0.0
    v = 0.0
    sign = 0.0
    n = wp.vec3()
    f = 0
    if wp.mesh_query_ray(mesh, start, direction, 1.0e6, t, u, v, sign, n, f):
        out[0], out[1], out[2], out[3], out[4], out[5] = t, u, v, sign, n[2], float(f)


def test_older_form_with_variables(mode):
    points, faces = one()
    out = wp.zeros(6, dtype=float)
    mesh = mesh_of(points, faces[:, ::-1])
    given = [mesh.id, wp.vec3(0.25, 0.5, 2.0), wp.vec3(0.0, 0.0, -1.0), out]
    wp.launch(older_form, dim=1, inputs=given)
    assert out.list() == [2.0, 0.5, 0.25, -1.0, -1.0, 0.0]


@wp.kernel
def look_up(mesh: wp.uint64, corner: int, out: wp.array(dtype=wp.vec3), index: wp.array(dtype=int)):
    face = corner // 3
    index[0] = wp.mesh_get_index(mesh, corner)
    out[0] = wp.mesh_get_point(mesh, corner)
    out[1] = wp.mesh_get_velocity(mesh, corner)
    out[2] = wp.mesh_eval_position(mesh, face, 0.5, 0.25)
    out[3] = wp.mesh_eval_velocity(mesh, face, 0.5, 0.25)
    out[4] = wp.mesh_eval_face_normal(mesh, face)


def looked_up(mesh, corner):
    out, index = wp.zeros(5, dtype=wp.vec3), wp.zeros(1, dtype=int)
    wp.launch(look_up, dim=1, inputs=[mesh.id, corner, out, index])
    return index.list()[0], out.numpy()


def test_what_a_mesh_has_at_a_corner(mode):
    points, faces = soup(9)
    velocities = points[::-1].copy()
    given = vectors(velocities)
    mesh = mesh_of(points, faces, velocities=given)
    index, out = looked_up(mesh, 13)
    a, b, c = points[faces[4]]
    normal = np.cross(b.astype(np.float64) - a, c.astype(np.float64) - a)
    assert index == 13
    assert np.array_equal(out[:2], [points[13], velocities[13]])
    np.testing.assert_allclose(out[2], a * 0.5 + b * 0.25 + c * 0.25, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(out[3], (velocities[faces[4]].T * [0.5, 0.25, 0.25]).sum(1), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(out[4], normal / np.linalg.norm(normal), atol=1e-6)
    mesh.velocities = None
    assert not looked_up(mesh, 13)[1][[1, 3]].any()


@pytest.mark.parametrize("corner", [-1, -4, 27, 1 << 30])
def test_faces_out_of_range_are_errors(corner, mode):
    with pytest.raises((wp.KernelError, ValueError), match=r"corner .* is out of range for a mesh of 27 corners"):
        looked_up(mesh_of(*soup(9)), corner)


# -- construction and life --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"points": [1.0]}, TypeError, r"points: expected an array, got list; write wp.array\(points, dtype=wp.v"),
        ({"points": wp.zeros(3, dtype=wp.vec3d)}, TypeError, "points: expected elements of"),
        ({"points": wp.zeros((3, 1), dtype=wp.vec3)}, ValueError, "points: expected one dimension"),
        ({"points": wp.zeros(6, dtype=wp.vec3)[::2]}, ValueError, "points: expected a contiguous array"),
        ({"points": vectors([(0, 0, 0), (1, np.nan, 0), (0, 1, 0)])}, ValueError, r"points\[1\] is .*nan"),
        ({"points": vectors([(0, 0, 0), (1, 0, 0), (0, np.inf, 0)])}, ValueError, r"points\[2\] is .*inf"),
        ({"indices": wp.zeros(4, dtype=int)}, ValueError, "three for each face"),
        ({"bvh_constructor": "octree"}, ValueError, "bvh_constructor: expected"),
        ({"bvh_leaf_size": 9}, ValueError, "bvh_leaf_size: got 9, but leaves have 8 faces"),
        ({"bvh_leaf_size": 0}, ValueError, "bvh_leaf_size: expected at least one face"),
        (
            {"indices": wp.zeros(3, dtype=wp.int64)},
            TypeError,
            r"int32, got int64; write wp.array\(indices.numpy\(\), dtype=",
        ),
        ({"indices": wp.array([0, 1, 3], dtype=int)}, ValueError, r"indices\[2\] is 3, out of range"),
        ({"indices": wp.array([0, -1, 2], dtype=int)}, ValueError, r"indices\[1\] is -1, out of range"),
        ({"velocities": wp.zeros(2, dtype=wp.vec3)}, ValueError, "velocities: 2 of them"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(change, error, message):
    points, faces = one()
    given = {"points": vectors(points), "indices": wp.array(faces.ravel(), dtype=int)}
    with pytest.raises(error, match=message):
        wp.Mesh(**{**given, **change})


def test_faces_are_not_replaced():
    mesh = mesh_of(*one())
    with pytest.raises(AttributeError, match="indices"):
        mesh.indices = wp.zeros(0, dtype=int)
    assert mesh.indices.size == 3


def test_refit_follows_points():
    points, faces = sphere()
    moving = vectors(points)
    mesh = wp.Mesh(moving, wp.array(faces.ravel(), dtype=int))
    moved = (points * [1.0, 2.0, 0.5] + [5.0, 0.0, 0.0] + 0.1 * np.sin(5 * points[:, ::-1])).astype(np.float32)
    moving.assign(moved)
    mesh.refit()
    start, direction = some_rays(moved, faces, MANY)
    found, fresh = (rays(m, start, direction) for m in (mesh, mesh_of(moved, faces)))
    assert np.array_equal(found[0], fresh[0])
    assert np.array_equal(closest(mesh, start)[0], closest(mesh_of(moved, faces), start)[0])
    mesh.points = vectors(points)
    assert np.array_equal(rays(mesh, start, direction)[0], rays(mesh_of(points, faces), start, direction)[0])


def test_programs_may_restore_all_arrays_of_a_mesh():
    points, faces = sphere()
    mesh = mesh_of(points, faces)
    arrays = {name: a for name, a in vars(mesh).items() if isinstance(a, wp.array)}
    before = {name: a.numpy() for name, a in arrays.items()}
    moved = (points * [1.0, 2.0, 0.5]).astype(np.float32)
    mesh.points = vectors(moved)
    for name, a in arrays.items():
        a.assign(before[name])
    start, direction = some_rays(moved, faces, MANY)
    assert np.array_equal(rays(mesh, start, direction)[0], rays(mesh_of(moved, faces), start, direction)[0])


def test_a_graph_refits_and_queries():
    points, faces = sphere()
    moving = vectors(points)
    mesh = wp.Mesh(moving, wp.array(faces.ravel(), dtype=int))
    p = vectors([(2.0, 0.1, 0.0), (0.0, 0.2, 3.0)])
    face, place = wp.zeros(2, dtype=int), wp.zeros(2, dtype=wp.vec3)
    with wp.ScopedCapture() as capture:
        mesh.refit()
        wp.launch(find_closest, dim=2, inputs=[mesh.id, p, 1e6, face, place])
    for scale in (1.0, 0.5):
        moving.assign(points * np.float32(scale))
        wp.capture_launch(capture.graph)
        distances = [distance_to_all(points * np.float32(scale), faces, q) for q in p.numpy().astype(float)]
        np.testing.assert_allclose(np.linalg.norm(place.numpy() - p.numpy(), axis=1), distances, rtol=1e-5)


def test_refit_refuses_points_that_are_not_finite():
    points, faces = one()
    moving = vectors(points)
    mesh = wp.Mesh(moving, wp.array(faces.ravel(), dtype=int))
    moving.assign(points + np.float32([[0, 0, 0], [0, np.nan, 0], [0, 0, 0]]))
    with pytest.raises(ValueError, match=r"points\[1\] is \[.*nan.*\], which is not finite"):
        mesh.refit()
    moving.assign(points)
    assert rays(mesh, [(0.25, 0.25, 2.0)], [(0, 0, -1.0)])[1][0] == 0


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("leaf_size", [1, 4])
def test_trees_hold_every_face_once(scene, leaf_size):
    points, faces = SCENES[scene]()
    mesh = mesh_of(points, faces, bvh_leaf_size=leaf_size)
    nodes, order = mesh._bvh.nodes.numpy(), mesh._bvh.order.numpy()
    low, high, child, count = (nodes[name] for name in ("lower", "upper", "child", "count"))
    places, stack, deepest = [], [(0, 1, len(nodes))], 0
    while stack:
        node, depth, end = stack.pop()
        deepest = max(deepest, depth)
        if count[node] > 0:
            corners = points[faces[order[child[node] : child[node] + count[node]]]].reshape(-1, 3)
            places += range(child[node], child[node] + count[node])
            assert count[node] <= leaf_size
            assert end == node + 1
            assert np.array_equal(low[node], corners.min(0))
            assert np.array_equal(high[node], corners.max(0))
        else:
            assert -count[node] == end
            for inner, behind in ((node + 1, child[node]), (child[node], end)):
                assert (low[node] <= low[inner]).all()
                assert (high[node] >= high[inner]).all()
                stack.append((inner, depth + 1, behind))
    assert sorted(places) == list(range(len(faces)))
    assert sorted(order) == list(range(len(faces)))
    assert deepest <= 64


@pytest.mark.cpu
def test_threads_do_not_change_a_tree(monkeypatch):
    points, faces = sphere(200, 200)
    trees = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(wp.config, "num_threads", threads)
        mesh = mesh_of(points, faces)
        trees.append((mesh._bvh.nodes.numpy().tobytes(), mesh._bvh.order.numpy().tobytes()))
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.cpu
def test_native_code_checks_what_it_is_given():
    points, faces = one()
    given = vectors(points), wp.array(faces.ravel(), dtype=int)
    for wrong in ((given[0][:2], given[1]), (given[0], given[1][:2]), (given[1], given[1])):
        with pytest.raises(ValueError, match=r"fit|range|type"):
            _native.TriangleBvh(*wrong, None, 4, False, False)
    with pytest.raises(ValueError, match="number of groups"):
        _native.TriangleBvh(*given, wp.zeros(2, dtype=int), 4, False, False)
    tree = _native.TriangleBvh(*given, None, 4, False, False)
    with pytest.raises(ValueError, match="number of faces"):
        tree.refit(given[0], wp.array([0, 1, 2, 0, 1, 2], dtype=int))


def test_ids_of_meshes_that_are_gone_are_errors(mode):
    mesh = mesh_of(*one())
    old = mesh.id
    del mesh
    gc.collect()
    others = [mesh_of(*one()) for _ in range(70)]  # one of them takes the record
    assert old not in {m.id for m in others}
    start, direction = vectors([(0, 0, 1)]), vectors([(0, 0, -1)])
    out = [wp.zeros(1, dtype=t) for t in (float, int, wp.vec3, float)]
    for bad in (old, wp.uint64(0), wp.uint64(64)):
        with pytest.raises((wp.KernelError, ValueError), match=f"{int(bad)} is no id of a mesh that exists"):
            wp.launch(cast_rays, dim=1, inputs=[bad, start, direction, 1.0, *out])


@pytest.mark.skipif(MODE == "simulated", reason="simulated GPUs run code for the CPU, which can read at any address")
def test_addresses_that_are_no_mesh_are_errors(mode):
    mesh, index = mesh_of(*one()), wp.zeros(1, dtype=int)
    nowhere = wp.uint64(int(mesh.id) & ~((1 << 48) - 1) | 64)
    with pytest.raises((wp.KernelError, ValueError), match=r"address|no memory|no id of a mesh"):
        wp.launch(look_up, 1, [nowhere, 0, wp.zeros(9, dtype=wp.vec3), index])


def test_some_lanes_may_have_a_mesh_that_is_gone():
    """The ids come from an array: each lane looks at its own."""

    @wp.kernel
    def each(meshes: wp.array(dtype=wp.uint64), t: wp.array(dtype=float)):
        i = wp.tid()
        t[i] = wp.mesh_query_ray(meshes[i], wp.vec3(0.2, 0.2, float(i)), wp.vec3(0.0, 0.0, -1.0), 1e6).t

    kept = [mesh_of(one()[0] - [0, 0, k], one()[1]) for k in range(37)]
    ids = np.array([int(m.id) for m in kept], np.uint64)
    t = wp.zeros(37, dtype=float)
    wp.launch(each, dim=37, inputs=[wp.array(ids, dtype=wp.uint64), t])
    assert np.array_equal(t.numpy(), 2.0 * np.arange(37))
    ids[[5, 30]] = 0
    with pytest.raises(wp.KernelError, match="thread 5: 0 is no id of a mesh"):
        wp.launch(each, dim=37, inputs=[wp.array(ids, dtype=wp.uint64), t])


@wp.kernel
def find_faces(
    mesh: wp.uint64, p: wp.array(dtype=wp.vec3), face: wp.array(dtype=int), weights: wp.array(dtype=wp.vec2)
):
    i = wp.tid()
    near = wp.mesh_query_point_no_sign(mesh, p[i], 100.0)
    face[i] = near.face
    weights[i] = wp.vec2(near.u, near.v)


@wp.kernel
def distances(
    points: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    p: wp.array(dtype=wp.vec3),
    face: wp.array(dtype=int),
    weights: wp.array(dtype=wp.vec2),
    distance: wp.array(dtype=float),
):
    i = wp.tid()
    u, v, f = weights[i][0], weights[i][1], 3 * face[i]
    q = points[indices[f]] * u + points[indices[f + 1]] * v + points[indices[f + 2]] * (1.0 - u - v)
    distance[i] = wp.length(p[i] - q)


def test_derivatives_of_distances_by_two_kernels():
    """As u and v are where the distance is least, their derivatives do not count."""
    corners, faces = sphere(8, 10)
    rng = np.random.default_rng(3)
    queries = rng.normal(size=(20, 3)) * 2.0
    indices = wp.array(faces.ravel(), dtype=int)
    points, p = (wp.array(np.float32(a), dtype=wp.vec3, requires_grad=True) for a in (corners, queries))
    face, weights = wp.zeros(20, dtype=int), wp.zeros(20, dtype=wp.vec2)
    distance = wp.zeros(20, dtype=float, requires_grad=True)

    def measure(points, p):
        mesh.refit()
        wp.launch(find_faces, 20, [mesh.id, p, face, weights], record_tape=False)
        wp.launch(distances, 20, [points, indices, p, face, weights, distance])
        return distance

    mesh = wp.Mesh(points, indices)
    with wp.Tape() as tape:
        measure(points, p)
    tape.backward(grads={distance: wp.ones(20, dtype=float)})
    directions = rng.normal(size=corners.shape), rng.normal(size=queries.shape)
    for gradient, moves in ((points.grad, (1, 0)), (p.grad, (0, 1))):
        step = 1e-5
        total = [
            sum(
                distance_to_all(corners + sign * moves[0] * step * directions[0], faces, q)
                for q in queries + sign * moves[1] * step * directions[1]
            )
            for sign in (1, -1)
        ]
        expected = (total[0] - total[1]) / (2 * step)
        assert (gradient.numpy() * directions[moves[1]]).sum() == pytest.approx(expected, rel=1e-3)
        tangents = [vectors(d) if m else None for d, m in zip(directions, moves)]
        _, tangent = wp.jvp(measure, (points, p), tangents)
        assert tangent.numpy().sum() == pytest.approx(expected, rel=1e-3)


def test_meshes_leave_no_descriptors_behind():
    mesh = mesh_of(*one())
    before = len(_descriptors(mesh.device)._all)
    for _ in range(300):
        mesh_of(*one())
    gc.collect()
    assert len(_descriptors(mesh.device)._all) <= before + 256


def test_a_mesh_without_faces_finds_nothing(mode):
    mesh = mesh_of(np.zeros((3, 3)), np.zeros((0, 3), np.int32))
    mesh.refit()
    assert rays(mesh, [(0, 0, 1)], [(0, 0, -1)])[1][0] == -1
    assert closest(mesh, [(0, 0, 1)])[0][0] == -1
    with pytest.raises((wp.KernelError, ValueError), match="corner 0 is out of range for a mesh of 0 corners"):
        looked_up(mesh, 0)


def test_hints_lead_to_an_array_that_fits():
    points = wp.array(np.eye(3), dtype=wp.vec3)
    with pytest.raises(
        TypeError, match=r"got vec3i; write wp\.array\(indices\.numpy\(\)\.flatten\(\), dtype=wp\.int32\)"
    ):
        wp.Mesh(points, wp.array([[0, 1, 2]], dtype=wp.vec3i))
    with pytest.raises(TypeError, match=r"points: expected elements of vec3f, got vec2f$"):  # no call makes it fit
        wp.Mesh(wp.zeros(3, dtype=wp.vec2), wp.array([0, 1, 2], dtype=int))
    with pytest.raises(TypeError, match=r"got float32; write wp\.array\(points\.numpy\(\), dtype=wp\.vec3f\)"):
        wp.Mesh(wp.zeros((3, 3), dtype=float), wp.array([0, 1, 2], dtype=int))
