"""Volumes on GPUs: what differs from the CPU. tests/volumes has the rest."""

import gc

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.volumes.grid_builder import Placement, build_grid, leaves_of_voxels
from omni.warp_core.volumes.layout import HALF, VALUE_TYPES
from tests.on_gpu import MODE


@wp.kernel
def sample(volume: wp.uint64, places: wp.array(dtype=wp.vec3), values: wp.array(dtype=float)):
    i = wp.tid()
    values[i] = wp.volume_sample_f(volume, places[i], wp.Volume.LINEAR)


@wp.kernel
def double(volume: wp.uint64):
    i = wp.tid()
    wp.volume_store_f(volume, i, 0, 0, 2.0 * wp.volume_lookup_f(volume, i, 0, 0))


def noise(device, shape=(9, 10, 20)) -> wp.Volume:
    values = np.random.default_rng(1).integers(-128, 128, shape).astype(np.float32)
    return wp.Volume.load_from_numpy(values, voxel_size=0.5, bg_value=0.25, device=device)


def sampled(volume: wp.Volume, number=None) -> np.ndarray:
    """Samples of `noise`. Nothing rounds at these places: all devices agree, with fused multiply-add or without."""
    places = np.random.default_rng(2).integers(-12, 88, (300, 3)).astype(np.float32) / 4.0
    values = wp.zeros(300, dtype=float, device=volume.device)
    number = volume.id if number is None else number
    wp.launch(
        sample, 300, [number, wp.array(places, dtype=wp.vec3, device=volume.device), values], device=volume.device
    )
    return values.numpy()


def first_row(volume: wp.Volume) -> list[float]:
    return [wp.volume_lookup_f(volume.id, i, 0, 0) for i in range(8)]


def test_copies_between_devices_have_the_same_values(gpu):
    first = noise("cpu")
    expected = sampled(first)
    for device in ("cuda:0", wp.get_cuda_devices()[-1], "cpu"):
        copied = wp.Volume(first.array().to(device))
        assert copied.device is wp.get_device(device) and copied.id != first.id
        assert np.array_equal(sampled(copied), expected)
        first = copied


def test_memory_of_a_gpu_that_holds_several_grids(gpu):
    grids = [noise("cpu"), wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=5.0, device="cpu")]
    both = wp.array(np.concatenate([g.array().numpy() for g in grids]), dtype=wp.uint8, device=gpu)
    only = wp.Volume.load_from_address(both.ptr, device=gpu)
    assert only.load_next_grid() is None and np.array_equal(sampled(only), sampled(grids[0]))
    second = wp.Volume.load_from_address(both.ptr, both.size, device=gpu).load_next_grid()
    assert second.device is gpu and wp.volume_lookup_f(second.id, 0, 0, 0) == 5.0


def test_halves_are_decoded(gpu):
    rng = np.random.default_rng(4)
    voxels = rng.integers(0, 20, (4000, 3)).astype(np.int32)
    leaves = leaves_of_voxels(voxels, rng.normal(size=4000).astype(np.float16), 0.25)
    data = build_grid(leaves, VALUE_TYPES[HALF], 0.25, Placement(np.eye(3), np.zeros(3)))
    first = wp.Volume(wp.array(data, dtype=wp.uint8, device="cpu"))
    expected = sampled(first)
    assert len(np.unique(expected)) > 100
    np.testing.assert_allclose(sampled(wp.Volume(first.array().to(gpu))), expected, rtol=1e-6, atol=1e-6)


def test_files_have_the_values_that_kernels_stored(gpu, tmp_path):
    volume = noise(gpu)
    before = first_row(volume)
    wp.launch(double, 8, [volume.id], device=gpu)
    volume.save_to_nvdb(tmp_path / "doubled.nvdb", codec="zip")
    for device in ("cpu", gpu):
        loaded = wp.Volume.load_from_nvdb(tmp_path / "doubled.nvdb", device=device)
        assert loaded.device is wp.get_device(device) and first_row(loaded) == [2.0 * x for x in before]


def test_points_come_from_any_device(gpu):
    rows = np.random.default_rng(3).integers(-20, 20, (50, 3)).astype(np.int32)
    expected = wp.Volume.allocate_by_voxels(wp.array(rows, dtype=wp.vec3i, device="cpu"), 1.0, device="cpu")
    for there in ("cpu", gpu):
        points = wp.array(rows, dtype=wp.vec3i, device=there)
        volume = wp.Volume.allocate_by_voxels(points, voxel_size=1.0, device=gpu)
        voxels = volume.get_voxels()
        assert voxels.device is gpu and np.array_equal(voxels.numpy(), expected.get_voxels().numpy())
        tiles = wp.Volume.allocate_by_tiles(points, voxel_size=1.0, device=gpu).get_tiles()
        assert tiles.device is gpu and np.array_equal(tiles.numpy(), expected.get_tiles().numpy())


def test_a_rebuild_reports_on_the_gpu(gpu):
    points, mask = wp.array([[0, 0, 0], [3, 0, 0]], dtype=wp.vec3i, device=gpu), wp.array([0, 1], dtype=int, device=gpu)
    status = wp.full(1, 77, dtype=wp.uint32, device=gpu)
    volume = wp.Volume.allocate_by_voxels(points, 1.0, device=gpu, max_active_voxels=1, status=status, point_mask=mask)
    number = volume.id
    assert status.list() == [wp.Volume.REBUILD_SUCCESS] and volume.get_voxels().list() == [wp.vec3i(3, 0, 0)]
    assert volume.rebuild(points, status) is status and status.list()[0] & wp.Volume.REBUILD_VOXEL_CAPACITY_EXCEEDED
    volume.rebuild(points[:1])
    assert volume.id == number and wp.volume_lookup_index(number, 0, 0, 0) == 0
    assert wp.volume_lookup_index(number, 3, 0, 0) == -1


def test_a_rebuild_follows_the_launches_before_it(gpu):
    """They run on the tree as it was."""
    tiles = wp.array([[0, 0, 0]], dtype=wp.vec3i, device=gpu)
    volume = wp.Volume.allocate_by_tiles(tiles, voxel_size=1.0, bg_value=1.0, rebuildable=True, device=gpu)
    wp.launch(double, 8, [volume.id], device=gpu)
    values = wp.zeros(1, dtype=float, device=gpu)
    origin = wp.zeros(1, dtype=wp.vec3, device=gpu)
    wp.launch(sample, 1, [volume.id, origin, values], device=gpu)
    volume.rebuild(tiles)
    assert values.list() == [2.0] and first_row(volume) == [1.0] * 8


def test_graphs_store_and_sample(gpu):
    volume = noise(gpu)
    before = first_row(volume)
    wp.launch(double, 8, [volume.id], device=gpu)
    with wp.ScopedCapture(device=gpu) as capture:
        wp.launch(double, 8, [volume.id], device=gpu)
        with pytest.raises(RuntimeError, match=r"making a wp\.Volume while a graph is captured"):
            noise(gpu)
        assert noise("cpu").device.is_cpu
    for _ in range(2):
        wp.capture_launch(capture.graph)
    assert first_row(volume) == [8.0 * x for x in before]


def test_an_id_that_is_gone(gpu):
    volume = noise(gpu)
    old = volume.id
    del volume
    gc.collect()
    with pytest.raises(wp.KernelError, match="is no id of a volume that exists on this device"):
        sampled(noise(gpu), old)
    with pytest.raises(ValueError, match="is no id of a volume"):
        wp.volume_lookup_f(old, 0, 0, 0)


@pytest.mark.skipif(MODE == "simulated", reason="simulated GPUs run code for the CPU, which can read at any address")
def test_ids_of_other_devices_are_errors(gpu):
    volumes = [noise(device, (2, 2, 2)) for device in ("cpu", *wp.get_cuda_devices())]
    for volume in volumes[1:]:
        for other in volumes:
            if other is not volume:
                with pytest.raises(wp.KernelError, match=f"{int(other.id)} is no id of a volume"):
                    sampled(volume, other.id)
