"""Meshes on GPUs beside those on the CPU: what queries find, graphs, and errors. tests/geometry has the rest."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.scenes import SCENES, box, one, sphere
from tests.on_gpu import MODE

COUNT = 12 if MODE == "emulated" else 200
FLOATS = 16


@wp.kernel
def ask(mesh: wp.uint64, start: wp.array(dtype=wp.vec3), dir: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    """Write what all queries find."""
    i = wp.tid()
    p, d = start[i], dir[i]
    hit = wp.mesh_query_ray(mesh, p, d, 100.0)
    near = wp.mesh_query_point(mesh, p, 100.0)
    far = wp.mesh_query_furthest_point_no_sign(mesh, p, 0.0)
    out[i, 0] = float(hit.face)
    out[i, 1] = hit.t
    out[i, 2] = hit.u
    out[i, 3] = hit.v
    out[i, 4] = hit.sign
    out[i, 5] = hit.normal[0]
    out[i, 6] = float(near.face)
    out[i, 7] = near.u
    out[i, 8] = near.v
    out[i, 9] = near.sign
    out[i, 10] = float(far.face)
    out[i, 11] = far.u
    out[i, 12] = float(wp.mesh_query_ray_count_intersections(mesh, p, d))
    out[i, 13] = wp.mesh_query_point_sign_winding_number(mesh, p, 100.0).sign
    query, face = wp.mesh_query_aabb(mesh, p - wp.vec3(0.5), p + wp.vec3(0.5)), 0
    while wp.mesh_query_aabb_next(query, face):
        out[i, 14] += 1.0
        out[i, 15] += float(face)


def mesh_on(device, points, faces):
    given = np.ascontiguousarray(points, np.float32), np.ascontiguousarray(faces.ravel(), np.int32)
    return wp.Mesh(*(wp.array(a, dtype=t, device=device) for a, t in zip(given, (wp.vec3, int))))


def answers(mesh, start, direction):
    out = wp.zeros((len(start), FLOATS), dtype=float, device=mesh.device)
    given = [wp.array(np.float32(a), dtype=wp.vec3, device=mesh.device) for a in (start, direction)]
    wp.launch(ask, len(start), [mesh.id, *given, out], device=mesh.device)
    return out.numpy()


@pytest.mark.parametrize("scene", SCENES)
def test_queries_find_what_those_on_the_cpu_find(gpu, scene):
    """To the bit, as triangles are judged by the same operations. The trees are others."""
    points, faces = SCENES[scene]()
    rng = np.random.default_rng(4)
    target = points[faces[rng.integers(len(faces), size=COUNT), 0]] + rng.normal(size=(COUNT, 3)) * 0.1
    start = target + rng.normal(size=(COUNT, 3))
    found, expected = (answers(mesh_on(d, points, faces), start, target - start) for d in (gpu, "cpu"))
    angles = FLOATS - 3  # the winding number is a sum of functions that may differ in last bits
    assert (found[:, angles] == expected[:, angles]).mean() > 0.95
    assert np.array_equal(np.delete(found, angles, 1), np.delete(expected, angles, 1))


def test_meshes_of_marching_cubes(gpu):
    x, y, z = np.mgrid[-1:1:12j, -1:1:12j, -1:1:12j]
    field = wp.array(np.sqrt(x * x + y * y + z * z) - 0.7, dtype=float, device=gpu)
    vertices, indices = wp.MarchingCubes.extract(field, 0.0, lower=(-1, -1, -1), upper=(1, 1, 1))
    mesh = wp.Mesh(vertices, indices)
    start = np.random.default_rng(5).normal(size=(COUNT, 3))
    start *= 3.0 / np.linalg.norm(start, axis=1, keepdims=True)
    found = answers(mesh, start, -start)
    assert np.allclose(found[:, 1], 1 - 0.7 / 3, atol=0.02)
    assert (found[:, 12] == 2).mean() > 0.9
    assert (answers(mesh, start * 0.1, start)[:, 9] == -1.0).all()


def test_a_graph_whose_points_are_not_finite(gpu):
    """The boxes stay as they were. A graph that was captured in debug mode raises."""
    points, faces = box()
    mesh = mesh_on(gpu, points, faces)
    graphs = {}
    for mode in ("release", "debug"):
        with wp.ScopedCapture(device=gpu) as capture:
            wp.config.mode = mode
            try:
                mesh.refit()
            finally:
                wp.config.mode = "release"
        graphs[mode] = capture.graph
    before = mesh._bvh.nodes.numpy().tobytes()
    mesh.points.assign(np.where(np.arange(8)[:, None] == 5, np.inf, points))
    wp.capture_launch(graphs["release"])
    with pytest.raises(ValueError, match=r"points\[5\] is \[inf, inf, inf\], which is not finite"):
        wp.capture_launch(graphs["debug"])
    with pytest.raises(ValueError, match=r"points\[5\] is"):
        mesh.refit()
    assert mesh._bvh.nodes.numpy().tobytes() == before
    mesh.points.assign(points * 2)
    wp.capture_launch(graphs["release"])
    assert mesh._bvh.nodes.numpy()["upper"][0].tolist() == [2, 2, 2]


def test_indices_that_changed_are_refused(gpu):
    mesh = mesh_on(gpu, *box())
    mesh.indices[7:8].fill_(8)
    with pytest.raises(ValueError, match=r"indices\[7\] is 8, out of range for 8 points"):
        mesh.refit()


def test_interpreted_kernels_query_a_mesh(gpu, monkeypatch):
    mesh, start = mesh_on(gpu, *box()), [(3.0, 0.2, 0.1)]
    expected = answers(mesh, start, [(-1.0, 0.0, 0.0)])
    monkeypatch.setattr(wp.config, "mode", "interpret")
    assert np.allclose(answers(mesh, start, [(-1.0, 0.0, 0.0)]), expected)
    assert wp.mesh_query_ray(mesh.id, wp.vec3(3.0, 0.2, 0.1), wp.vec3(-1.0, 0.0, 0.0), 9.0).t == 2.0


def test_points_and_velocities_may_be_other_arrays(gpu):
    points, faces = one()
    mesh = mesh_on(gpu, points, faces)
    old = mesh.points
    mesh.points = wp.array(points + np.array([0, 0, 1]), dtype=wp.vec3, device=gpu)
    assert answers(mesh, [(0.2, 0.2, 3.0)], [(0, 0, -1)])[0, 1] == 2.0
    old.fill_(np.nan)
    mesh.refit()
    with pytest.raises(ValueError, match=r"points\[0\] is .*nan"):
        mesh.points = old
    assert answers(mesh, [(0.2, 0.2, 3.0)], [(0, 0, -1)])[0, 1] == 2.0
    mesh.velocities = mesh.points


def test_a_captured_refit_and_a_query_follow_points(gpu):
    points, faces = sphere(6, 8)
    mesh = mesh_on(gpu, points, faces)
    out = wp.zeros((1, FLOATS), dtype=float, device=gpu)
    given = [wp.array(np.float32([v]), dtype=wp.vec3, device=gpu) for v in ((4, 0.01, 0.02), (-1, 0, 0))]
    with wp.ScopedCapture(device=gpu) as capture:
        mesh.refit()
        out.zero_()
        wp.launch(ask, 1, [mesh.id, *given, out], device=gpu)
    for scale in (1.0, 3.0, 0.25):
        mesh.points.assign(points * np.float32(scale))
        wp.capture_launch(capture.graph)
        assert np.array_equal(
            out.numpy(), answers(mesh_on("cpu", points * np.float32(scale), faces), *(g.numpy() for g in given))
        )


def test_queries_at_python_scope_copy_memory_in_parts(gpu, monkeypatch):
    """One query reads hundreds of elements, and copies each part that has some of them once."""
    mesh, copies, to = mesh_on(gpu, *sphere(8, 10)), [], wp.array.to
    monkeypatch.setattr(wp.array, "to", lambda a, *given, **more: copies.append(a) or to(a, *given, **more))
    near = wp.mesh_query_point_no_sign(mesh.id, wp.vec3(0.1, 0.2, 0.3), 9.0)
    monkeypatch.undo()
    assert near.face >= 0
    assert 4 <= len(copies) <= 8  # the descriptor, nodes, order, indices and points
