"""Structures that kernels search on GPUs: what differs from the CPU. tests/geometry has the rest."""

import gc

import numpy as np
import pytest

import omni.warp_core as wp
from tests.on_gpu import MODE


@wp.kernel
def first_of(grid: wp.uint64, result: wp.array(dtype=int)):
    result[0] = wp.hash_grid_point_id(grid, 0)


def grid_of(count: int, device) -> wp.HashGrid:
    grid = wp.HashGrid(4, 4, 4, device=device)
    grid.build(wp.zeros(count, dtype=wp.vec3, device=device), 1.0)
    return grid


def first(grid: wp.HashGrid) -> int:
    result = wp.full(1, -5, dtype=int, device=grid.device)
    wp.launch(first_of, 1, [grid.id, result], device=grid.device)
    return result.list()[0]


@pytest.mark.skipif(MODE == "simulated", reason="simulated GPUs run code for the CPU, which can read at any address")
def test_ids_of_other_devices_are_errors(gpu):
    grids = [grid_of(1, device) for device in ("cpu", *wp.get_cuda_devices())]
    for device in wp.get_cuda_devices():
        for grid in grids:
            result = wp.zeros(1, dtype=int, device=device)
            if grid.device is device:
                wp.launch(first_of, 1, [grid.id, result], device=device)
            else:
                with pytest.raises(wp.KernelError, match=f"{int(grid.id)} is no id of a hash grid"):
                    wp.launch(first_of, 1, [grid.id, result], device=device)


def test_points_on_another_device_are_refused(gpu):
    grid = wp.HashGrid(2, 2, 2, device="cpu")
    with pytest.raises(ValueError, match=f"points: is on {gpu}, but the grid is on cpu"):
        grid.build(wp.zeros(3, dtype=wp.vec3, device=gpu), 1.0)
    with pytest.raises(ValueError, match=f"points: is on cpu, but the grid is on {gpu}"):
        wp.HashGrid(2, 2, 2, device=gpu).build(wp.zeros(3, dtype=wp.vec3, device="cpu"), 1.0)


def test_grids_are_made_before_a_capture(gpu):
    with wp.ScopedCapture(device=gpu):
        with pytest.raises(RuntimeError, match=r"making a wp\.HashGrid while a graph is captured"):
            wp.HashGrid(2, 2, 2, device=gpu)
        wp.HashGrid(2, 2, 2, device="cpu")


def test_a_grid_that_goes_during_a_capture(gpu):
    """Its descriptor is cleared behind the capture, and not used for another grid before."""
    old = grid_of(1, gpu)
    number = int(old.id)
    with wp.ScopedCapture(device=gpu):
        del old
        gc.collect()
    others = [grid_of(1, gpu) for _ in range(600)]
    assert number not in [int(g.id) for g in others]
    assert [first(g) for g in others[::100]] == [0] * 6
    with pytest.raises(wp.KernelError, match=f"{number} is no id of a hash grid"):
        wp.launch(first_of, 1, [wp.uint64(number), wp.zeros(1, dtype=int, device=gpu)], device=gpu)


def test_a_grid_is_used_on_another_stream(gpu):
    stream = wp.Stream(gpu)
    points = wp.array(np.random.default_rng(1).uniform(-3, 3, (2000, 3)), dtype=wp.vec3, device=gpu)
    with wp.ScopedStream(stream):
        grid = wp.HashGrid(8, 8, 8, device=gpu)
        for _ in range(3):
            grid.build(points, 0.5)
        result = first(grid)
    wp.synchronize_device(gpu)
    assert result == first(grid)


def test_a_graph_that_was_captured_before_any_grid(gpu):
    """Graphs know where descriptors are, whenever the grids are made."""
    result, number = wp.zeros(1, dtype=int, device=gpu), wp.zeros(1, dtype=wp.uint64, device=gpu)
    wp.launch(last_of, 1, [number, result], device=gpu)
    with wp.ScopedCapture(device=gpu) as capture:
        wp.launch(last_of, 1, [number, result], device=gpu)
    grid = grid_of(7, gpu)
    number.fill_(grid.id)
    wp.capture_launch(capture.graph)
    assert result.list() == [6]


@wp.kernel
def last_of(grids: wp.array(dtype=wp.uint64), result: wp.array(dtype=int)):
    if grids[0] != wp.uint64(0):
        result[0] = wp.hash_grid_point_id(grids[0], 6)


@wp.kernel
def sample_one(volume: wp.uint64, result: wp.array(dtype=float)):
    result[0] = wp.volume_sample_f(volume, wp.vec3(), wp.Volume.LINEAR)


@wp.kernel
def first_corner(mesh: wp.uint64, result: wp.array(dtype=int)):
    result[0] = wp.mesh_get_index(mesh, 0)


def test_arrays_of_a_tree_over_boxes_are_on_one_device(gpu):
    points = wp.zeros(3, dtype=wp.vec3, device=gpu)
    with pytest.raises(ValueError, match=f"groups: is on cpu, but lowers is on {gpu}"):
        wp.Bvh(points, points, groups=wp.zeros(3, dtype=int, device="cpu"))
    with pytest.raises(ValueError, match=f"uppers: is on cpu, but lowers is on {gpu}"):
        wp.Bvh(points, wp.zeros(3, dtype=wp.vec3, device="cpu"))


def test_trees_over_boxes_are_made_before_a_capture(gpu):
    points = wp.zeros(3, dtype=wp.vec3, device=gpu)
    with wp.ScopedCapture(device=gpu), pytest.raises(RuntimeError, match=r"making a wp\.Bvh while a graph is captured"):
        wp.Bvh(points, points)


def mesh_on(device, count=3):
    corners = np.tile(np.eye(3, dtype=np.float32), (count, 1))
    return wp.Mesh(
        wp.array(corners, dtype=wp.vec3, device=device),
        wp.array(np.arange(3 * count, dtype=np.int32), dtype=int, device=device),
    )


def corner_of(mesh) -> int:
    result = wp.full(1, -5, dtype=int, device=mesh.device)
    wp.launch(first_corner, 1, [mesh.id, result], device=mesh.device)
    return result.list()[0]


def test_arrays_of_a_mesh_are_on_one_device(gpu):
    here, there = mesh_on(gpu), mesh_on("cpu")
    with pytest.raises(ValueError, match=f"indices: is on cpu, but the mesh is on {gpu}"):
        wp.Mesh(here.points, there.indices)
    with pytest.raises(ValueError, match=f"velocities: is on cpu, but the mesh is on {gpu}"):
        wp.Mesh(here.points, here.indices, there.points)
    with pytest.raises(ValueError, match=f"groups: is on cpu, but the mesh is on {gpu}"):
        wp.Mesh(here.points, here.indices, groups=wp.zeros(3, dtype=int, device="cpu"))
    with pytest.raises(ValueError, match=f"points: is on cpu, but the mesh is on {gpu}"):
        here.points = there.points
    with pytest.raises(ValueError, match=f"velocities: is on {gpu}, but the mesh is on cpu"):
        there.velocities = here.points


def test_meshes_are_made_before_a_capture(gpu):
    given = mesh_on(gpu)
    with wp.ScopedCapture(device=gpu):
        with pytest.raises(RuntimeError, match=r"making a wp\.Mesh while a graph is captured"):
            wp.Mesh(given.points, given.indices)
        with pytest.raises(RuntimeError, match=r"assigning wp\.Mesh\.points"):
            given.points = given.points
        mesh_on("cpu")


def test_a_mesh_is_made_and_refitted_on_another_stream(gpu):
    with wp.ScopedStream(wp.Stream(gpu)):
        mesh = mesh_on(gpu, 100)
        mesh.points.assign(mesh.points.numpy() * 3)
        mesh.refit()
        assert corner_of(mesh) == 0
    wp.synchronize_device(gpu)
    assert mesh._bvh.nodes.numpy()["upper"][0].tolist() == [3.0, 3.0, 3.0]


@pytest.mark.skipif(MODE == "simulated", reason="simulated GPUs run code for the CPU, which can read at any address")
def test_volumes_and_meshes_of_the_cpu_are_errors(gpu):
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, device="cpu")
    with pytest.raises(wp.KernelError, match="is no id of a volume"):
        wp.launch(sample_one, 1, [volume.id, wp.zeros(1, dtype=float, device=gpu)], device=gpu)
    mesh = wp.Mesh(wp.zeros(3, dtype=wp.vec3, device="cpu"), wp.zeros(3, dtype=int, device="cpu"))
    with pytest.raises(wp.KernelError, match="is no id of a mesh"):
        wp.launch(first_corner, 1, [mesh.id, wp.zeros(1, dtype=int, device=gpu)], device=gpu)
