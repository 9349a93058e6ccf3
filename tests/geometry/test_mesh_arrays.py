"""The arrays of a mesh in kernels: `wp.mesh_get`, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.scenes import box
from tests.geometry.test_bvh import put


@pytest.fixture(params=["release", "debug", pytest.param("interpret", marks=pytest.mark.cpu)])
def mode(request, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", request.param)
    return request.param


@wp.func
def corner(points: wp.array(dtype=wp.vec3), i: int):
    return points[i]


@wp.kernel
def energy(mesh: wp.uint64, scale: float, out: wp.array(dtype=float)):
    """Of each face: the sum of squares of its corners, and of their velocities."""
    i = wp.tid()
    arrays = wp.mesh_get(mesh)
    total = 0.0
    for k in range(3):
        number = arrays.indices[3 * i + k]
        total += scale * wp.length_sq(corner(arrays.points, number))
        if arrays.velocities:
            total += wp.length_sq(arrays.velocities[number])
    out[i] = total


@wp.kernel
def energy_by_list(meshes: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    out[0] = wp.mesh_get(meshes[0]).points[0][0]


@wp.kernel
def sizes(mesh: wp.uint64, out: wp.array(dtype=int)):
    arrays = wp.mesh_get(mesh)
    out[0], out[1], out[2] = arrays.points.shape[0], arrays.velocities.shape[0], arrays.indices.shape[0]


@wp.func
def clear(a: wp.array(dtype=wp.vec3)):
    a[0] = wp.vec3()


@wp.kernel
def write_directly(mesh: wp.uint64, other: wp.array(dtype=wp.vec3)):
    arrays = wp.mesh_get(mesh)
    arrays.points[0] = wp.vec3()


@wp.kernel
def write_in_function(mesh: wp.uint64, other: wp.array(dtype=wp.vec3)):
    arrays = wp.mesh_get(mesh)
    clear(arrays.velocities)


@wp.kernel
def write_to_a_choice(mesh: wp.uint64, other: wp.array(dtype=wp.vec3)):
    points = wp.mesh_get(mesh).points
    if wp.tid() > 5:
        points = other
    points[0] = wp.vec3()


@wp.kernel
def add_to_indices(mesh: wp.uint64, other: wp.array(dtype=wp.vec3)):
    wp.atomic_add(wp.mesh_get(mesh).indices, 0, 1)


@wp.kernel
def write_elsewhere(mesh: wp.uint64, other: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    other[i] = wp.mesh_get(mesh).points[i]


def mesh_of(velocities=True, requires_grad=False):
    points, faces = box()
    arrays = [wp.array(points * k, dtype=wp.vec3, requires_grad=requires_grad) for k in (1.0, np.float32(3.0))]
    return wp.Mesh(arrays[0], put(faces.ravel(), int), arrays[1] if velocities else None)


def expected(points, velocities, scale):
    faces = box()[1]
    return (scale * (points[faces] ** 2).sum((1, 2))) + (
        0 if velocities is None else (velocities[faces] ** 2).sum((1, 2))
    )


@pytest.mark.parametrize("velocities", [True, False])
def test_kernels_read_the_arrays(velocities, mode):
    mesh, out = mesh_of(velocities), wp.zeros(12, dtype=float)
    wp.launch(energy, 12, [mesh.id, 2.0, out])
    points = box()[0]
    np.testing.assert_allclose(out.numpy(), expected(points, points * 3 if velocities else None, 2.0), rtol=1e-6)


def test_their_sizes(mode):
    out = wp.zeros(3, dtype=int)
    for mesh, found in (
        (mesh_of(), [8, 8, 36]),
        (mesh_of(False), [8, 0, 36]),
        (wp.Mesh(wp.zeros(2, dtype=wp.vec3), wp.zeros(0, dtype=int)), [2, 0, 0]),
        (wp.Mesh(wp.zeros(0, dtype=wp.vec3), wp.zeros(0, dtype=int)), [0, 0, 0]),
    ):
        wp.launch(sizes, 1, [mesh.id, out])
        assert out.list() == found


def test_ids_without_a_mesh_are_errors(mode):
    for bad in (wp.uint64(0), wp.Bvh(*[wp.zeros(1, dtype=wp.vec3)] * 2).id):
        with pytest.raises((wp.KernelError, ValueError), match=f"{int(bad)} is no id of a mesh"):
            wp.launch(sizes, 1, [bad, wp.zeros(3, dtype=int)])


@pytest.mark.parametrize("kernel", [write_directly, write_in_function, write_to_a_choice, add_to_indices])
def test_kernels_that_write_them_are_refused(kernel):
    mesh = mesh_of()
    with pytest.raises(wp.CompileError, match="can only be read, as a tape would not see the write"):
        wp.launch(kernel, 1, [mesh.id, wp.zeros(8, dtype=wp.vec3)])


@pytest.mark.cpu
def test_interpreted_kernels_that_write_them_are_refused(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "interpret")
    mesh = mesh_of()
    with pytest.raises(ValueError, match="the array is read-only"):
        wp.launch(write_directly, 1, [mesh.id, wp.zeros(8, dtype=wp.vec3)])


def test_kernels_may_write_other_arrays():
    mesh, other = mesh_of(), wp.zeros(8, dtype=wp.vec3)
    wp.launch(write_elsewhere, 8, [mesh.id, other])
    assert np.array_equal(other.numpy(), box()[0])


def test_gradients():
    """Of sums of squares: twice the coordinates, once for each face at a point, as they were at the launch."""
    mesh, out = mesh_of(requires_grad=True), wp.zeros(12, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(energy, 12, [mesh.id, 2.0, out])
    with wp.Tape():
        mesh.points.zero_()
    tape.backward(grads={out: wp.ones(12, dtype=float)})
    points, faces = box()
    count = np.bincount(faces.ravel())[:, None]
    np.testing.assert_allclose(mesh.points.grad.numpy(), 4 * points * count, rtol=1e-6)
    np.testing.assert_allclose(mesh.velocities.grad.numpy(), 2 * 3 * points * count, rtol=1e-6)


def test_ids_from_arrays_are_refused_where_gradients_would_be_lost():
    mesh, out = mesh_of(requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    ids = wp.array([mesh.id], dtype=wp.uint64)
    wp.launch(energy_by_list, 1, [ids, out])
    assert out.list() == [-1.0]
    with wp.Tape(), pytest.raises(RuntimeError, match=r"gets the id of a wp\.Mesh from an array"):
        wp.launch(energy_by_list, 1, [ids, out])


def test_python_code_reads_them():
    mesh, still = mesh_of(), mesh_of(False)
    arrays = wp.mesh_get(mesh.id)
    assert [tuple(arrays.points[0]), tuple(arrays.velocities[7]), int(arrays.indices[1])] == [(-1,) * 3, (3,) * 3, 1]
    with pytest.raises(ValueError, match="the array is read-only"):
        arrays.points[0] = wp.vec3()
    assert not wp.mesh_get(still.id).velocities
