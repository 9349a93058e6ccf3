"""Gradients of kernels that query meshes in loops, against differences of the same sums and paths in float64."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.test_mesh_gradients import given, round_mesh, unit

pytestmark = pytest.mark.cpu


@wp.kernel
def around(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    """A sum over the faces in a ball, and one over those near a box, that goes on from one face to the next."""
    i = wp.tid()
    total = 0.0
    query = wp.mesh_query_sphere(mesh, p[i], 0.7)
    face = 0
    while wp.mesh_query_next(query, face):
        total = 0.9 * total + wp.length_sq(p[i] - wp.mesh_eval_position(mesh, face, 0.2, 0.3))
    box = wp.mesh_query_aabb(mesh, p[i] - wp.vec3(0.5), p[i] + wp.vec3(0.5))
    while wp.mesh_query_next(box, face):
        total = 0.9 * total + wp.dot(wp.mesh_eval_face_normal(mesh, face), p[i])
    out[i] = total


@wp.kernel
def bounce(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    """The length of a path that faces reflect, inside of a sphere."""
    i = wp.tid()
    place, way, total = p[i], d[i], 0.0
    for _ in range(3):
        hit = wp.mesh_query_ray(mesh, place, way, 100.0)
        if hit.result:
            total += hit.t * wp.length(way)
            way -= 2.0 * wp.dot(way, hit.normal) * hit.normal
            place = wp.mesh_eval_position(mesh, hit.face, hit.u, hit.v) + 0.01 * way
    far = wp.mesh_query_furthest_point_no_sign(mesh, place, 0.0)
    out[i] = total + wp.length(place - wp.mesh_eval_position(mesh, far.face, far.u, far.v))


def exact_around(points, faces, order, p):
    total = 0.0
    a, b, c = (points[faces[:, k]] for k in range(3))
    normals = unit(np.cross(b - a, c - a))
    for kind, face in order:
        if kind == "ball":
            total = 0.9 * total + ((p - 0.2 * a[face] - 0.3 * b[face] - 0.5 * c[face]) ** 2).sum()
        else:
            total = 0.9 * total + normals[face] @ p
    return total


def exact_bounce(points, faces, p, d):
    total = 0.0
    a, b, c = (points[faces[:, k]] for k in range(3))
    normals = unit(np.cross(b - a, c - a))
    for _ in range(3):
        t, u, v = np.linalg.solve(np.stack([np.broadcast_to(-d, a.shape), a - c, b - c], -1), (p - c)[..., None])[
            ..., 0
        ].T
        inside = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0)
        face = np.flatnonzero(inside)[t[inside].argmin()]
        total += t[face] * np.linalg.norm(d)
        p = p + t[face] * d
        d = d - 2 * (d @ normals[face]) * normals[face]
        p = p + 0.01 * d
    return total + np.linalg.norm(points - p, axis=1).max()


def central(f, x, h=1e-6):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += h
        down[place] -= h
        found[place] = (f(up) - f(down)) / (2 * h)
    return found


def gradients_of(kernel, mesh, arrays):
    count = len(arrays[0])
    out = wp.zeros(count, dtype=float, requires_grad=True, device="cpu")
    with wp.Tape() as tape:
        wp.launch(kernel, dim=count, inputs=[mesh.id, *arrays, out], device="cpu")
    mesh.points.assign(mesh.points.numpy() * np.float32(0.5))
    mesh.refit()
    tape.backward(grads={out: wp.ones(count, dtype=float, device="cpu")})
    return out.numpy(), [a.grad.numpy() for a in (mesh.points, *arrays)]


def test_sums_over_faces_near_a_place():
    points, faces = round_mesh()
    x = np.array([(0.9, 0.2, 0.1), (0.1, -0.8, 0.5)])
    mesh = wp.Mesh(given(points), wp.array(faces.ravel(), dtype=int, device="cpu"))
    orders = []
    for p in np.float32(x):  # the order of the walk
        order = []
        found = wp.zeros(200, dtype=int, device="cpu")
        wp.launch(list_faces, dim=1, inputs=[mesh.id, wp.vec3(*p), found], device="cpu")
        for code in found.list():
            if code:
                order.append(("ball" if code > 0 else "box", abs(code) - 1))
        orders.append(order)
        assert len(order) > 5
    points = points.astype(float)
    value, (of_points, of_p) = gradients_of(around, mesh, [given(x)])

    def total(points, x):
        return sum(exact_around(points, faces, order, p) for order, p in zip(orders, x))

    assert value.sum() == pytest.approx(total(points, x), rel=1e-5)
    np.testing.assert_allclose(of_points, central(lambda q: total(q, x), points), atol=2e-4)
    np.testing.assert_allclose(of_p, central(lambda q: total(points, q), x), atol=2e-4)


@wp.kernel
def list_faces(mesh: wp.uint64, p: wp.vec3, found: wp.array(dtype=int)):
    query = wp.mesh_query_sphere(mesh, p, 0.7)
    face, n = 0, 0
    while wp.mesh_query_next(query, face):
        found[n] = face + 1
        n += 1
    box = wp.mesh_query_aabb(mesh, p - wp.vec3(0.5), p + wp.vec3(0.5))
    while wp.mesh_query_next(box, face):
        found[n] = -face - 1
        n += 1


def test_paths_that_faces_reflect():
    points, faces = round_mesh()
    rng = np.random.default_rng(12)
    p, d = rng.normal(size=(6, 3)) * 0.2, rng.normal(size=(6, 3))
    mesh = wp.Mesh(given(points), wp.array(faces.ravel(), dtype=int, device="cpu"))
    value, (of_points, of_p, of_d) = gradients_of(bounce, mesh, [given(p), given(d)])
    points, p, d = (np.float32(x).astype(float) for x in (points, p, d))

    def total(points, p, d):
        return sum(exact_bounce(points, faces, q, e) for q, e in zip(p, d))

    assert value.sum() == pytest.approx(total(points, p, d), rel=1e-4)
    expected = central(lambda x: total(x, p, d), points)
    np.testing.assert_allclose(of_points, expected, atol=1e-3 * np.abs(expected).max())
    for got, f, x in ((of_p, lambda x: total(points, x, d), p), (of_d, lambda x: total(points, p, x), d)):
        expected = central(f, x)
        np.testing.assert_allclose(got, expected, atol=1e-3 * np.abs(expected).max())
