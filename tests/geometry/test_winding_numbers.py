"""Winding numbers of meshes, exact and by moments, against the sum of all solid angles in NumPy's float64."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.lib.geometry.mesh_winding import _mesh_winding
from tests.geometry.scenes import SCENES, soup, sphere
from tests.geometry.test_mesh_signs import winding
from tests.on_gpu import MODE

COUNT = 24 if MODE == "emulated" else 400


@wp.kernel
def count_turns(
    mesh: wp.uint64, p: wp.array(dtype=wp.vec3), accuracy: float, part: int, found: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    if (i // part) * part == i:
        found[i] = _mesh_winding(mesh, p[i], accuracy)


def turns(mesh, p, accuracy=2.0, part=1):
    given, found = (
        wp.array(np.float32(p), dtype=wp.vec3, device=mesh.device),
        wp.zeros(len(p), dtype=wp.float64, device=mesh.device),
    )
    wp.launch(count_turns, len(p), [mesh.id, given, accuracy, part, found], device=mesh.device)
    return found.numpy()


def mesh_of(points, faces, device, **more):
    given = wp.array(np.float32(points), dtype=wp.vec3, device=device)
    return wp.Mesh(given, wp.array(faces.ravel().astype(np.int32), dtype=int, device=device), **more)


def opened():
    """A sphere with a hole."""
    points, faces = sphere(40, 50)
    return points, faces[points[faces].mean(1)[:, 2] < 0.7]


def moved(scene, by, size=1.0):
    points, faces = scene()
    return lambda: (points * np.float32(size) + np.float32(by), faces)


def many():
    return soup(3000, seed=12)


def places(points, faces, count=COUNT, seed=3):
    """Points around a mesh, and near its faces."""
    rng = np.random.default_rng(seed)
    centre, size = points.mean(0), np.abs(points - points.mean(0)).max()
    around = centre + rng.normal(size=(count // 2, 3)) * size
    corner = points[faces[rng.integers(len(faces), size=count - count // 2), 0]]
    return np.float32(np.concatenate([around, corner + rng.normal(size=corner.shape) * 0.02 * size]))


MESHES = {"sphere": lambda: sphere(40, 50), "opened": opened, "many": many, "far": moved(opened, 300.0, 20.0)}


@pytest.mark.parametrize("scene", MESHES)
def test_moments_are_near_the_sum_of_all_angles(scene, device):
    points, faces = MESHES[scene]()
    p = places(points, faces)
    exact = winding(points, faces, p.astype(float))
    mesh = mesh_of(points, faces, device, support_winding_number=True)
    rounding = 1e-6 if scene != "far" else 1e-4  # coordinates are coarse there
    for accuracy, most in ((1.5, 0.03), (2.0, 0.006), (4.0, 3e-4), (1e6, 0.0)):
        error = np.abs(turns(mesh, p, accuracy) - exact)
        assert error.max() < most + rounding
    assert np.abs(turns(mesh, p, 2.0) - exact).max() > 1e-5  # moments were used
    assert np.array_equal(turns(mesh, p, 0.0), turns(mesh, p, 1.0))


@pytest.mark.parametrize("scene", SCENES)
def test_without_moments_the_sum_is_exact(scene, device):
    points, faces = SCENES[scene]()
    p = places(points, faces, COUNT // 2)
    exact = winding(points, faces, p.astype(float))
    assert np.abs(turns(mesh_of(points, faces, device), p) - exact).max() < 1e-6 * max(1, np.abs(exact).max())


@pytest.mark.cpu
@pytest.mark.parametrize("scene", [*MESHES, *SCENES, "huge", "tiny", "enormous"])
@pytest.mark.parametrize("has_moments", [False, True])
def test_native_code_and_the_library_agree_to_the_bit(scene, has_moments, monkeypatch):
    scales = {"huge": 1e12, "tiny": 1e-16, "enormous": 3e18}
    points, faces = moved(many, 0.0, scales[scene])() if scene in scales else {**SCENES, **MESHES}[scene]()
    p, found = places(points, faces), {}
    p[:3] = points[faces[0, 0]], points.max(0) * 3, -points.max(0) * 9
    mesh = mesh_of(points, faces, "cpu", support_winding_number=has_moments)
    for mode in ("release", "debug"):
        monkeypatch.setattr(wp.config, "mode", mode)
        found[mode] = turns(mesh, p, 2.0), turns(mesh, p, 2.0, 3), turns(mesh, p, float("nan"))
    for native, library in zip(found["release"], found["debug"]):
        assert native.tobytes() == library.tobytes()
    assert np.array_equal(found["debug"][1][::3], found["debug"][0][::3]) and not found["debug"][1][1::3].any()
    with np.errstate(all="ignore"):
        exact = winding(points.astype(float), faces, p.astype(float))
    assert np.abs(found["debug"][0] - exact)[3:].max() < 0.006 * max(1, np.abs(exact).max())


@pytest.mark.parametrize(
    "options", [{"bvh_leaf_size": 1}, {"bvh_leaf_size": 8, "bvh_constructor": "lbvh"}, {"groups": 3}]
)
def test_every_tree_has_right_moments(options, device):
    points, faces = opened()
    p, more = places(points, faces), dict(options)
    if "groups" in more:
        more["groups"] = wp.array(np.arange(len(faces)) * 3 // len(faces), dtype=int, device=device)
    mesh = mesh_of(points, faces, device, support_winding_number=True, **more)
    assert np.abs(turns(mesh, p) - winding(points, faces, p.astype(float))).max() < 0.006


def test_a_refit_updates_moments(device):
    points, faces = opened()
    mesh = mesh_of(points, faces, device, support_winding_number=True)
    bent = np.float32(points * (1.0, 0.5, 2.0) + np.sin(3 * points[:, [1, 2, 0]]) * 0.2 + (0, 4, 0))
    mesh.points.assign(wp.array(bent, dtype=wp.vec3, device=device))
    mesh.refit()
    p = places(bent, faces)
    found = turns(mesh, p)
    assert np.abs(found - winding(bent, faces, p.astype(float))).max() < 0.006
    assert np.abs(found - winding(points, faces, p.astype(float))).max() > 0.3


def test_signs_by_moments(device):
    points, faces = opened()
    p = places(points, faces)
    exact = winding(points, faces, p.astype(float))
    mesh = mesh_of(points, faces, device, support_winding_number=True)
    given, found = wp.array(p, dtype=wp.vec3, device=device), wp.zeros(len(p), dtype=float, device=device)
    wp.launch(find_signs, len(p), [mesh.id, given, found], device=device)
    decided = np.abs(exact - 0.5) > 0.006
    assert np.array_equal(found.numpy()[decided] < 0, exact[decided] > 0.5) and decided.mean() > 0.9


@wp.kernel
def find_signs(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), found: wp.array(dtype=float)):
    i = wp.tid()
    found[i] = wp.mesh_query_point_sign_winding_number(mesh, p[i], 100.0).sign


@wp.kernel
def signed_distance(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    near = wp.mesh_query_point_sign_winding_number(mesh, p[i], 100.0)
    d = near.sign * wp.length(p[i] - wp.mesh_eval_position(mesh, near.face, near.u, near.v))
    wp.atomic_add(loss, 0, d)


def test_an_adjoint_finds_the_sign_of_the_launch(device):
    """A refit between the launch and the backward pass turns the mesh inside out, so all signs would change."""
    points, faces = sphere(10, 12)
    mesh = mesh_of(points, faces, device, support_winding_number=True)
    p = wp.array(np.float32([(0.2, 0.1, 0.5), (0.0, 1.5, 0.2)]), dtype=wp.vec3, requires_grad=True, device=device)
    loss = wp.zeros(1, dtype=float, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(signed_distance, 2, [mesh.id, p, loss], device=device)
    mesh.points.assign(wp.array(points * np.float32(-1), dtype=wp.vec3, device=device))
    mesh.refit()
    tape.backward(loss)
    outwards = p.numpy() / np.linalg.norm(p.numpy(), axis=1, keepdims=True)
    assert ((p.grad.numpy() * outwards).sum(1) > 0.9).all()


def test_a_graph_refits_moments(device):
    points, faces = opened()
    mesh = mesh_of(points, faces, device, support_winding_number=True)
    p = places(points, faces)
    given, found = wp.array(p, dtype=wp.vec3, device=device), wp.zeros(COUNT, dtype=wp.float64, device=device)
    with wp.ScopedCapture(device=device) as capture:
        mesh.refit()
        wp.launch(count_turns, COUNT, [mesh.id, given, 2.0, 1, found], device=device)
    mesh.points.assign(wp.array(points[:, [1, 0, 2]], dtype=wp.vec3, device=device))
    wp.capture_launch(capture.graph)
    assert np.abs(found.numpy() - winding(points[:, [1, 0, 2]], faces, p.astype(float))).max() < 0.006
