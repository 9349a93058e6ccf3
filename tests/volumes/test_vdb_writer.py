"""Files of OpenVDB that this package writes, read by OpenVDB and nanovdb_convert in processes of their own.

Where they are not installed, this package reads them, and values follow from coordinates (expected_vdb.py).
"""

import json
import shutil
import subprocess

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import cli
from omni.warp_core.volumes.grid_tree import read_grid
from omni.warp_core.volumes.nvdb_file import read_grids, write_grids
from omni.warp_core.volumes.vdb.inactive_values import inactive_values
from omni.warp_core.volumes.vdb.vdb_conversion import convert_file, grid_buffer_of
from omni.warp_core.volumes.vdb.vdb_file import list_vdb, read_vdb
from omni.warp_core.volumes.vdb.vdb_writer import write_vdb

from .expected_vdb import BACKGROUNDS, DTYPES, check_grid, unpacked
from .test_openvdb import PYTHON, dense, openvdb  # noqa: F401

pytestmark = pytest.mark.cpu
CODECS = ("none", "zip", "blosc")
KINDS = [kind for kind in BACKGROUNDS if kind not in ("mask", "vec3i")]  # vec3i becomes vec3d
NANOVDB = shutil.which("nanovdb_convert")

READ = """
import json, sys, numpy as np, pyopenvdb as vdb
origin, shape = json.loads(sys.argv[3])
found, arrays = {}, {}
for grid in vdb.readAll(sys.argv[1])[0]:
    array = np.zeros((*shape, 3) if isinstance(grid, vdb.Vec3SGrid) else shape,
                     bool if isinstance(grid, vdb.BoolGrid) else np.float32)
    grid.copyToArray(array, ijk=tuple(origin))
    arrays[grid.name] = array
    found[grid.name] = {
        "class": grid.gridClass, "active": grid.activeVoxelCount(), "leaves": grid.leafCount(),
        "background": grid.background, "box": grid.evalActiveVoxelBoundingBox(),
        "corner": grid.transform.indexToWorld((1, 2, 3)), "uniform": grid.transform.isLinear,
    }
np.savez(sys.argv[2], **arrays)
print(json.dumps(found))
"""


def read_by_openvdb(path, tmp_path, origin, shape):
    """What OpenVDB says about the grids of a file, and the values of a box, by the name of the grid."""
    place = json.dumps([[int(i) for i in origin], list(shape)])
    command = [PYTHON, "-E", "-c", READ, str(path), str(tmp_path / "read.npz"), place]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(found), np.load(tmp_path / "read.npz")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_leaf_and_tile_comes_back(kind, codec, tmp_path):
    """All ways to save inactive values are in the leaves of this grid."""
    grid = read_vdb(unpacked("types_zip_mask.vdb", tmp_path), kind)
    write_vdb(tmp_path / "ours.vdb", [grid_buffer_of(grid)], codec)
    ours = read_vdb(tmp_path / "ours.vdb", kind)
    check_grid(ours, kind, BACKGROUNDS[kind], 7)
    assert ours.grid_class == grid.grid_class and ours.voxel_count == grid.voxel_count
    np.testing.assert_allclose(ours.transform, grid.transform, rtol=1e-12)


def test_masks_have_no_values(tmp_path):
    grid = read_vdb(unpacked("types_zip_mask.vdb", tmp_path), "mask")
    write_vdb(tmp_path / "ours.vdb", [grid_buffer_of(grid)])
    ours = read_vdb(tmp_path / "ours.vdb")
    for field in ("leaf_masks", "leaf_origins", "tile_origins", "tile_active", "tile_extents"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(grid, field))
    assert ours.type == "mask"


@pytest.mark.parametrize("codec", CODECS)
def test_openvdb_reads_what_we_write(openvdb, codec, tmp_path):  # noqa: F811
    rng = np.random.default_rng(5)
    shape, origin = (40, 30, 130), (0, 0, 0)
    fog = (rng.random(shape) * (rng.random(shape) < 0.3)).astype(np.float32)
    i, j, k = np.indices(shape)
    ball = np.clip(np.sqrt((i - 20) ** 2 + (j - 15) ** 2 + (k - 10) ** 2) - 8, -3, 3).astype(np.float32)
    wind = rng.standard_normal((*shape, 3)).astype(np.float32)
    place = {"min_world": (-3.0, 4.0, 5.0), "voxel_size": 0.5, "device": "cpu"}
    paths = []
    for name, array, background in (("fog", fog, 0.0), ("ball", ball, 3.0), ("wind", wind, (0.0, 0.0, 0.0))):
        volume = wp.Volume.load_from_numpy(array, bg_value=background, **place)
        paths.append(tmp_path / f"{name}.vdb")
        volume.save_to_vdb(paths[-1], codec)
        found, values = read_by_openvdb(paths[-1], tmp_path, origin, shape)
        (key,) = found
        np.testing.assert_array_equal(values[key], array)
        assert found[key]["active"] == volume.get_voxel_count()
        np.testing.assert_allclose(found[key]["corner"], [-2.5, 5.0, 6.5])
        np.testing.assert_allclose(found[key]["background"], background)


def test_openvdb_reads_the_grids_of_a_file(openvdb, tmp_path):  # noqa: F811
    source = unpacked("types_blosc_mask.vdb", tmp_path)
    names = ["float", "vec3s", "bool"]
    convert_file(source, tmp_path / "ours.vdb", names, "blosc")
    origin, shape = (-16, -8, 0), (104, 16, 8)
    found, values = read_by_openvdb(tmp_path / "ours.vdb", tmp_path, origin, shape)
    for name in names:
        grid = read_vdb(source, name)
        np.testing.assert_array_equal(values[name], dense(grid, origin, shape), err_msg=name)
        assert found[name]["active"] == grid.voxel_count and found[name]["leaves"] == 7
        assert found[name]["class"] == grid.grid_class
        np.testing.assert_array_equal(found[name]["box"], grid.index_bbox)


@pytest.mark.skipif(NANOVDB is None, reason="nanovdb_convert is not installed")
@pytest.mark.parametrize("kind", ["double", "int32", "int64", "vec3s", "mask", "float"])
def test_nanovdb_reads_what_we_write(kind, tmp_path):
    buffer = grid_buffer_of(read_vdb(unpacked("types_blosc_mask.vdb", tmp_path), kind))
    write_vdb(tmp_path / "ours.vdb", [buffer], "blosc")
    subprocess.run([NANOVDB, "ours.vdb", "theirs.nvdb"], cwd=tmp_path, check=True, capture_output=True)
    (theirs,) = (read_grid(grid.read()) for grid in read_grids(tmp_path / "theirs.nvdb"))
    ours = read_grid(buffer)
    assert theirs.name == kind and int(theirs.tree["num_voxels"]) == int(ours.tree["num_voxels"])
    order = [np.lexsort(grid.leaf.origins.T) for grid in (ours, theirs)]
    for field in ("value_mask", "values"):
        got, wanted = (grid.leaf.reached[rows][field] for grid, rows in zip((theirs, ours), order[::-1]))
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(theirs.header["map"]["mat_d"], ours.header["map"]["mat_d"])


def test_codes_become_the_floats_that_kernels_see(tmp_path):
    for name in ("fp4", "fp8", "fp16", "fpN"):
        file = unpacked(f"shared_{name}.nvdb", tmp_path)
        convert_file(file, tmp_path / "ours.vdb")
        for number, entry in enumerate(list_vdb(tmp_path / "ours.vdb")):
            grid = read_vdb(tmp_path / "ours.vdb", index=number)
            volume = wp.Volume._of(read_grids(file)[number].read(), "cpu")
            voxels = grid.leaf_origins[0] + np.stack(np.unravel_index(np.arange(512), (8, 8, 8)), -1)
            seen = [wp.volume_lookup_f(volume.id, *map(int, voxel)) for voxel in voxels[::37]]
            np.testing.assert_allclose(grid.leaf_values[0][::37], seen, rtol=1e-6, err_msg=entry.name)


def test_volumes_of_indices_are_refused(tmp_path):
    volume = wp.Volume.allocate_by_voxels(wp.zeros(1, dtype=wp.vec3i, device="cpu"), 1.0, device="cpu")
    with pytest.raises(ValueError, match=r"has values of type onindex; a \.vdb file can have float, double"):
        volume.save_to_vdb(tmp_path / "index.vdb")
    assert not any(tmp_path.iterdir())


def test_grids_of_one_name_stay_apart(tmp_path):
    grids = [np.full((8, 8, 8), n, np.float32) for n in (1.0, 2.0)]
    buffers = [wp.Volume.load_from_numpy(grid, device="cpu").array().numpy() for grid in grids]
    write_vdb(tmp_path / "two.vdb", buffers)
    entries = list_vdb(tmp_path / "two.vdb")
    assert len({entry.unique_name for entry in entries}) == 2 and len({entry.name for entry in entries}) == 1
    values = [read_vdb(tmp_path / "two.vdb", index=n).leaf_values for n in range(2)]
    assert [float(v.max()) for v in values] == [1.0, 2.0]


def test_equal_grids_make_equal_files(tmp_path):
    volume = wp.Volume.load_from_numpy(np.arange(4096.0).reshape(16, 16, 16), device="cpu")
    for codec in CODECS:
        files = [tmp_path / f"{n}.vdb" for n in range(2)]
        for file in files:
            volume.save_to_vdb(file, codec)
        assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(ValueError, match="codec 'lz9' is unknown"):
        volume.save_to_vdb(files[0], "lz9")


def test_an_empty_grid_is_a_file(tmp_path):
    grid = read_vdb(unpacked("types_zip_mask.vdb", tmp_path), "float")
    nothing = {
        **{name: getattr(grid, name)[:0] for name in ("leaf_origins", "leaf_masks", "leaf_values")},
        **{name: getattr(grid, name)[:0] for name in ("tile_origins", "tile_extents", "tile_values", "tile_active")},
    }
    empty = type(grid)(**{**{name: getattr(grid, name) for name in grid.__dataclass_fields__}, **nothing})
    write_vdb(tmp_path / "empty.vdb", [grid_buffer_of(empty)])
    assert read_vdb(tmp_path / "empty.vdb").voxel_count == 0


@pytest.mark.parametrize("kind", ["float", "int32", "bool", "vec3s"])
def test_inactive_values_come_back_by_their_code(kind):
    """Each row of entries, decoded by the words of the format."""
    rng = np.random.default_rng(1)
    background = np.array(BACKGROUNDS[kind], DTYPES[kind])
    minus = ~background if kind == "bool" else -background
    shape = background.shape
    other = [np.broadcast_to(np.array(n, DTYPES[kind]), shape) for n in (7, 9, 11)]
    for pool in ([background], [minus], other[:1], [minus, background], [other[0], background], other[:2], other):
        values = np.stack([pool[n] for n in rng.integers(0, len(pool), 128)])[None]
        inactive = rng.random((1, 128)) < 0.7
        found = inactive_values(values, inactive, background)
        first, second, chosen = found.first[0], found.second[0], found.chosen[0].reshape(-1, *[1] * len(shape))
        decoded = {
            0: background, 1: minus, 2: first, 3: np.where(chosen, background, minus),
            4: np.where(chosen, background, first), 5: np.where(chosen, second, first), 6: values[0],
        }[int(found.codes[0])]  # fmt: skip
        decoded = np.broadcast_to(decoded, values[0].shape)
        np.testing.assert_array_equal(decoded[inactive[0]], values[0][inactive[0]])
        assert found.codes[0] != 6 or (len(pool) == 3 and kind != "bool")


def test_the_command_writes_vdb_files(tmp_path, capsys):
    volume = wp.Volume.load_from_numpy(np.ones((8, 8, 8), np.float32), device="cpu")
    write_grids(tmp_path / "a.nvdb", [volume.array().numpy()])
    assert cli.main(["convert", str(tmp_path / "a.nvdb"), str(tmp_path / "b.VDB"), "--codec", "zip"]) == 0
    assert "1 grid" in capsys.readouterr().out and read_vdb(tmp_path / "b.VDB").voxel_count == 512
    assert cli.main(["convert", str(tmp_path / "a.nvdb"), str(tmp_path / "b.obj")]) == 2
    assert "must end in .nvdb or .vdb" in capsys.readouterr().err
