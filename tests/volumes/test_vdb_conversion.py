"""Conversion of `.vdb` files, against nanovdb_convert, and by kernels that look up values of known coordinates."""

import os
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import cli
from omni.warp_core.volumes.grid_tree import read_grid
from omni.warp_core.volumes.nvdb_file import read_grids
from omni.warp_core.volumes.vdb.vdb_conversion import convert_file, grid_buffer_of, index_buffer_of
from omni.warp_core.volumes.vdb.vdb_file import read_vdb

from .expected_vdb import BACKGROUNDS, TILES, leaf, unpacked, value

pytestmark = pytest.mark.cpu
CUBE = np.argwhere(np.ones((8, 8, 8)))
CONVERTED = {
    "float": "float", "double": "double", "int32": "int32", "int64": "int64", "bool": "bool", "vec3s": "vec3f",
    "vec3d": "vec3d", "vec3i": "vec3d",
}  # fmt: skip


def in_order(level):
    """The nodes of a level, sorted by their origins, as programs order the root's children differently."""
    return level.reached[np.lexsort(level.origins.T)]


CONVERTED_BY_NANOVDB = {  # file of nanovdb_convert, which of its grids, the file that it read, which of its grids
    "density": ("stream_none.nvdb", 0, "stream.vdb", 0),
    "shared": ("stream_none.nvdb", 1, "stream.vdb", 1),
    "second": ("stream_none.nvdb", 2, "stream.vdb", 2),
    "bool": ("bool.nvdb", 0, "types_blosc_mask.vdb", 4),
    "mask": ("mask.nvdb", 0, "types_blosc_mask.vdb", 8),
}


@pytest.mark.parametrize("name", CONVERTED_BY_NANOVDB)
def test_builds_the_tree_that_nanovdb_builds(name, tmp_path):
    nvdb, first, vdb, second = CONVERTED_BY_NANOVDB[name]
    theirs = read_grid(read_grids(unpacked(nvdb, tmp_path))[first].read())
    ours = read_grid(grid_buffer_of(read_vdb(unpacked(vdb, tmp_path), index=second)))
    for field in ("bbox", "num_tiles", "background"):
        np.testing.assert_array_equal(ours.root[field], theirs.root[field], err_msg=field)
    for field in ("key", "state", "value"):
        got, expected = (grid.tiles[np.argsort(grid.tiles["key"])][field] for grid in (ours, theirs))
        np.testing.assert_array_equal(got, expected, err_msg=field)
    for level in ("upper", "lower", "leaf"):
        got, expected = (in_order(getattr(grid, level)) for grid in (ours, theirs))
        assert len(got) == len(expected)
        inner, leaves = ("bbox", "value_mask", "child_mask"), ("bbox_min", "bbox_size", "values", "value_mask")
        for field in leaves if level == "leaf" else inner:
            np.testing.assert_array_equal(got[field], expected[field], err_msg=f"{level} {field}")
        if level != "leaf":
            is_tile = np.unpackbits(got["child_mask"], axis=1, bitorder="little") == 0
            np.testing.assert_array_equal(got["table"]["value"][is_tile], expected["table"]["value"][is_tile])
    for field in ("name", "grid_class", "grid_type", "voxel_size", "world_bbox", "grid_size", "map"):
        np.testing.assert_array_equal(ours.header[field], theirs.header[field], err_msg=field)


@pytest.mark.parametrize("kind", CONVERTED)
def test_kernels_find_the_values_of_each_type(kind, tmp_path):
    grid = read_vdb(unpacked("types_blosc_mask.vdb", tmp_path), kind)
    data = grid_buffer_of(grid)
    tree = read_grid(data)
    assert tree.value_type.name == CONVERTED[kind] and len(tree.leaf.nodes) == 7
    volume = wp.Volume(wp.array(data, dtype=wp.uint8, device="cpu"))
    background = np.asarray(BACKGROUNDS[kind])
    cases = [((-5, 9, 3), background), ((-9000, 0, 0), background)]
    cases += [(tuple(np.add(origin, extent - 1)), value(kind, n)) for origin, extent, n, _ in TILES]
    for number in range(7):
        origin, _, values = leaf(kind, number, BACKGROUNDS[kind])
        cases += [(tuple(origin + np.unravel_index(at, (8, 8, 8))), values[at]) for at in (0, 7, 100, 511)]
    places = wp.array([place for place, _ in cases], dtype=wp.vec3i, device="cpu")
    out = wp.empty(len(cases), dtype=volume.dtype, device="cpu")

    @wp.kernel
    def look_up(volume: wp.uint64, places: wp.array(dtype=wp.vec3i), out: wp.array(dtype=out.dtype)):
        i = wp.tid()
        place = places[i]
        out[i] = wp.volume_lookup(volume, place[0], place[1], place[2], dtype=out.dtype)

    wp.launch(look_up, dim=len(cases), inputs=[volume.id, places, out], device="cpu")
    np.testing.assert_array_equal(out.numpy(), np.array([expected for _, expected in cases]))


@wp.kernel
def number_of(volume: wp.uint64, places: wp.array(dtype=wp.vec3i), numbers: wp.array(dtype=int)):
    i = wp.tid()
    numbers[i] = wp.volume_lookup_index(volume, places[i][0], places[i][1], places[i][2])


@pytest.mark.parametrize("kind", ["float", "bool", "vec3d"])
def test_volumes_of_indices_carry_the_values_along(kind, tmp_path):
    grid = read_vdb(unpacked("types_blosc_mask.vdb", tmp_path), kind)
    with pytest.raises(ValueError, match=f"grid '{kind}' has active tiles of more than 8x8x8 voxels"):
        index_buffer_of(grid)
    grid = replace(grid, tile_active=grid.tile_active & (grid.tile_extents == 8))
    volume = wp.Volume(wp.array(index_buffer_of(grid), dtype=wp.uint8, device="cpu"))
    voxels, values = [np.array([64, 0, 0]) + CUBE], [np.repeat(value(kind, 50)[None], 512, axis=0)]  # of a tile
    for number in range(7):
        origin, active, found = leaf(kind, number, BACKGROUNDS[kind])
        voxels.append(origin + CUBE[active])
        values.append(found[active])
    places = wp.array(np.concatenate([*voxels, [[72, 0, 0], [-9000, 0, 0]]]), dtype=wp.vec3i, device="cpu")
    numbers = wp.zeros(places.size, dtype=int, device="cpu")
    wp.launch(number_of, places.size, [volume.id, places, numbers], device="cpu")
    *found, beside, outside = numbers.numpy()
    assert (beside, outside) == (-1, -1) and sorted(found) == list(range(volume.get_voxel_count()))
    carried = volume.feature_array(0)
    assert carried.dtype is {"float": wp.float32, "bool": wp.uint8, "vec3d": wp.vec3d}[kind]
    np.testing.assert_array_equal(carried.numpy()[np.array(found)], np.concatenate(values))
    assert volume.get_feature_array_info(0).name == kind == volume.get_grid_info().name


def test_loads_a_volume_of_indices(tmp_path):
    volume = wp.Volume.load_from_vdb(unpacked("types_zip_mask.vdb", tmp_path), "mask", device="cpu", on_index=True)
    assert volume.is_index and volume.get_voxel_count() == 1030 == volume.feature_array(0).size
    volume.save_to_nvdb(tmp_path / "indices.nvdb")
    again = wp.Volume.load_from_nvdb(tmp_path / "indices.nvdb", device="cpu")
    assert again.feature_array(0).numpy().all() and again.get_voxel_count() == 1030


def test_a_transform_goes_with_the_grid(tmp_path):
    grid = read_vdb(unpacked("types_blosc_mask.vdb", tmp_path), "bool")  # turned, scaled and moved
    spot = read_grid(grid_buffer_of(grid)).header["map"]
    index = np.array([3.0, -7.0, 11.0])
    place = spot["mat_d"] @ index + spot["vec_d"]
    np.testing.assert_allclose(place, (-3 * -7 + 5, 2 * 3 + 6, 4 * 11 + 7))
    np.testing.assert_allclose(spot["inv_mat_d"] @ (place - spot["vec_d"]), index)


def test_converts_masks_halfs_and_empty_grids(tmp_path):
    mask = read_grid(grid_buffer_of(read_vdb(unpacked("types_blosc_mask.vdb", tmp_path), "mask")))
    assert mask.value_type.name == "mask"
    # a tile of 8x8x8 voxels is active too
    assert int(np.unpackbits(mask.leaf.nodes["value_mask"]).sum()) == 1030 - 512
    empty = read_grid(grid_buffer_of(read_vdb(unpacked("several.vdb", tmp_path), "empty")))
    assert empty.root["background"] == 9 and len(empty.leaf.nodes) == 0


@pytest.mark.parametrize("codec", ["none", "zip", "blosc"])
def test_tools_of_nanovdb_accept_what_was_converted(codec, tmp_path):
    if not shutil.which("nanovdb_validate"):
        pytest.skip("nanovdb_validate is not installed; on Debian: apt-get install libnanovdb-tools")
    target = tmp_path / "out.nvdb"
    names = convert_file(unpacked("types_zip_mask.vdb", tmp_path), target, codec=codec)
    assert sorted(names) == sorted(BACKGROUNDS)
    subprocess.run(["nanovdb_validate", target], check=True, capture_output=True)
    shown = subprocess.run(["nanovdb_print", target], check=True, capture_output=True, text=True).stdout
    assert shown.count("68721575605") == 8


def test_the_command_converts_the_grids_it_is_told(tmp_path, capsys):
    source, target = unpacked("several.vdb", tmp_path), tmp_path / "out.nvdb"
    wanted = ["--grid", "density", "--grid", "empty", "--codec", "blosc"]
    assert cli.main(["convert", str(source), str(target), *wanted]) == cli.OK
    assert capsys.readouterr().out == f"wrote {target}: 3 grids, 'density', 'density', 'empty'\n"
    assert [(grid.name, grid.codec) for grid in read_grids(target)] == [
        ("density", "blosc"), ("density", "blosc"), ("empty", "blosc"),
    ]  # fmt: skip


def test_the_command_changes_the_codec_of_nvdb_files(tmp_path):
    source, target = unpacked("stream_blosc.nvdb", tmp_path), tmp_path / "out.nvdb"
    assert cli.main(["convert", str(source), str(target), "--codec", "zip"]) == cli.OK
    for before, after in zip(read_grids(source), read_grids(target), strict=True):
        expected = before.read()
        expected[8:16], expected[28] = 255, 3  # no checksum, and the number of grids
        np.testing.assert_array_equal(after.read(), expected)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["several.vdb", "out.obj"], cli.USAGE, "out.obj: the name of a volume file must end in .nvdb or .vdb"),
        (["./a.nvdb", "a.nvdb"], cli.USAGE, "a.nvdb: is the file to convert; write another one"),
        (
            ["several.vdb", "out.nvdb", "--grid", "smoke"],
            cli.USAGE,
            "there is no grid 'smoke'; the grids of",
        ),
        (["several.vdb", "out.nvdb"], cli.INPUT, "grid 'frustum', byte"),
        (["several.vdb", "out.nvdb"], cli.INPUT, "can be read; --grid NAME converts the grids that you name"),
        (["several.vdb", "out.nvdb", "--grid", "frustum"], cli.INPUT, "transforms can be read\n"),
        (["gone.vdb", "out.nvdb"], cli.INPUT, "gone.vdb: cannot be read: No such file"),
        (["several.vdb", "gone/out.nvdb", "--grid", "empty"], cli.OUTPUT, "out.nvdb: cannot be written: No such file"),
    ],
)
def test_the_command_says_what_went_wrong(arguments, code, text, tmp_path, capsys):
    unpacked("several.vdb", tmp_path)
    before = sorted(os.listdir(tmp_path))
    files = [str(tmp_path / name) for name in arguments[:2]]
    assert cli.main(["convert", *files, *arguments[2:]]) == code
    assert text in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == before


def test_other_grids_are_named_only_where_there_are_some(tmp_path, capsys):
    damaged = unpacked("zip.vdb", tmp_path)  # has one grid
    damaged.write_bytes(damaged.read_bytes()[:-400])
    (tmp_path / "junk.vdb").write_text("no volume")
    for name in ("zip.vdb", "junk.vdb"):
        assert cli.main(["convert", str(tmp_path / name), str(tmp_path / "out.nvdb")]) == cli.INPUT
        told = capsys.readouterr().err
        assert "byte" in told and "--grid" not in told


def test_a_vdb_file_that_is_read_as_nvdb_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"byte 0: this is a \.vdb file, which `wp\.Volume\.load_from_vdb` reads"):
        read_grids(unpacked("several.vdb", tmp_path))
