"""Volumes from `.nvdb` and `.vdb` files and back, with values that are computed from coordinates."""

import io

import numpy as np
import pytest

import omni.warp_core as wp

from .expected_vdb import leaf, unpacked

pytestmark = pytest.mark.cpu


@wp.kernel
def look_up(volume: wp.uint64, places: wp.array(dtype=wp.vec3i), out: wp.array(dtype=float)):
    i = wp.tid()
    place = places[i]
    out[i] = wp.volume_lookup_f(volume, place[0], place[1], place[2])


def check_density(volume):
    """The volume is the first grid of stream.vdb."""
    corners = np.indices((8, 8, 8)).reshape(3, -1).T
    expected = [leaf("float", number, 0) for number in range(7)]
    places = np.concatenate([origin + corners for origin, _, _ in expected]).astype(np.int32)
    out = wp.zeros(len(places), dtype=float, device="cpu")
    wp.launch(look_up, len(places), [volume.id, wp.array(places, dtype=wp.vec3i, device="cpu"), out], device="cpu")
    np.testing.assert_array_equal(out.numpy(), np.concatenate([values for _, _, values in expected]))
    assert volume.get_grid_info().name == "density"


@pytest.mark.parametrize("codec", ["none", "zip", "blosc"])
@pytest.mark.parametrize("given", ["path", "bytes", "file"])
def test_loads_nvdb_files_of_each_codec(codec, given, tmp_path):
    path = unpacked(f"stream_{codec}.nvdb", tmp_path)
    source = {"path": path, "bytes": path.read_bytes(), "file": io.BytesIO(path.read_bytes())}[given]
    volume = wp.Volume.load_from_nvdb(source, device="cpu")
    check_density(volume)
    shared = volume.load_next_grid()
    assert shared.get_grid_info().name == "shared" and tuple(shared.get_voxel_size()) == (0.5, 0.5, 0.5)
    assert shared.load_next_grid().load_next_grid() is None


@pytest.mark.parametrize(
    "given", [str, lambda path: path, lambda path: path.read_bytes(), lambda path: path.open("rb")]
)
def test_loads_vdb_files(given, tmp_path):
    source = given(unpacked("stream.vdb", tmp_path))
    check_density(wp.Volume.load_from_vdb(source, "density", device="cpu"))
    if hasattr(source, "close"):
        source.close()


def test_picks_a_grid_of_a_vdb_file(tmp_path):
    path = unpacked("several.vdb", tmp_path)
    check_density(wp.Volume.load_from_vdb(path, device="cpu"))
    shared = wp.Volume.load_from_vdb(path, "shared", device="cpu")
    assert tuple(shared.get_voxel_size()) == (0.5, 0.5, 0.5) and shared.dtype == wp.float32
    assert wp.Volume.load_from_vdb(path, "density", 1, device="cpu").get_tile_count() == 2
    assert wp.Volume.load_from_vdb(path, "empty", device="cpu").dtype == wp.int32
    with pytest.raises(KeyError, match="has 0 grids named 'smoke'"):
        wp.Volume.load_from_vdb(path, "smoke", device="cpu")
    with pytest.raises(ValueError, match="grid 'frustum'"):
        wp.Volume.load_from_vdb(path, "frustum", device="cpu")


@pytest.mark.parametrize("codec", ["none", "zip", "blosc"])
def test_what_is_saved_is_loaded_again(codec, tmp_path):
    volume = wp.Volume.load_from_vdb(unpacked("stream.vdb", tmp_path), device="cpu")
    volume.save_to_nvdb(tmp_path / "saved.nvdb", codec)
    again = wp.Volume.load_from_nvdb(tmp_path / "saved.nvdb", device="cpu")
    check_density(again)
    np.testing.assert_array_equal(again.array().numpy(), volume.array().numpy())


def test_a_file_without_grids_is_an_error():
    with pytest.raises(ValueError, match="the buffer holds no grid"):
        wp.Volume.load_from_nvdb(b"NanoVDB0" + (32 << 21).to_bytes(4, "little") + bytes(4), device="cpu")
