"""Conversion of `.vdb` files, against nanovdb_convert, and by kernels that look up values of known coordinates."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import cli
from omni.warp_core.volumes.grid_tree import read_grid
from omni.warp_core.volumes.nvdb_file import read_grids
from omni.warp_core.volumes.vdb_conversion import convert_file, grid_buffer_of
from omni.warp_core.volumes.vdb_file import read_vdb

from .expected_vdb import BACKGROUNDS, TILES, leaf, unpacked, value

pytestmark = pytest.mark.cpu
CONVERTED = {
    "float": "float", "double": "double", "int32": "int32", "int64": "int64", "bool": "int32", "vec3s": "vec3f",
    "vec3d": "vec3d", "vec3i": "vec3d",
}  # fmt: skip


def in_order(level):
    """The nodes of a level, sorted by their origins, as programs order the root's children differently."""
    return level.reached[np.lexsort(level.origins.T)]


@pytest.mark.parametrize("number", range(3))
def test_builds_the_tree_that_nanovdb_builds(number, tmp_path):
    theirs = read_grid(read_grids(unpacked("stream_none.nvdb", tmp_path))[number].read())
    ours = read_grid(grid_buffer_of(read_vdb(unpacked("stream.vdb", tmp_path), index=number)))
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


def test_a_transform_goes_with_the_grid(tmp_path):
    grid = read_vdb(unpacked("types_blosc_mask.vdb", tmp_path), "bool")  # turned, scaled and moved
    spot = read_grid(grid_buffer_of(grid)).header["map"]
    index = np.array([3.0, -7.0, 11.0])
    place = spot["mat_d"] @ index + spot["vec_d"]
    np.testing.assert_allclose(place, (-3 * -7 + 5, 2 * 3 + 6, 4 * 11 + 7))
    np.testing.assert_allclose(spot["inv_mat_d"] @ (place - spot["vec_d"]), index)


def test_converts_masks_halfs_and_empty_grids(tmp_path):
    mask = read_grid(grid_buffer_of(read_vdb(unpacked("types_blosc_mask.vdb", tmp_path), "mask")))
    assert mask.value_type.name == "int32"
    assert int(mask.leaf.nodes["values"].sum()) == 1030 - 512  # a tile of 8x8x8 voxels is active too
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
        np.testing.assert_array_equal(before.read(), after.read())


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["several.vdb", "out.vdb"], cli.USAGE, "out.vdb: only .nvdb files can be written"),
        (
            ["several.vdb", "out.nvdb", "--grid", "smoke"],
            cli.USAGE,
            "there is no grid 'smoke'; the grids of",
        ),
        (["several.vdb", "out.nvdb"], cli.INPUT, "grid 'frustum', byte"),
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
