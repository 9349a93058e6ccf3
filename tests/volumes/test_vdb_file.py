"""`.vdb` files that OpenVDB wrote, against values computed from the coordinates of their voxels; and damaged files."""

import struct

import numpy as np
import pytest

from omni.warp_core.volumes.file_cursor import VolumeFileError
from omni.warp_core.volumes.vdb.vdb_file import list_vdb, read_vdb

from .expected_vdb import BACKGROUNDS, check_grid, number_mask, unpacked

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("file", ["types_blosc_mask.vdb", "types_zip_mask.vdb"])
@pytest.mark.parametrize("kind", [kind for kind in BACKGROUNDS if kind != "mask"])
def test_reads_values_masks_and_tiles_of_each_type(file, kind, tmp_path):
    grid = read_vdb(unpacked(file, tmp_path), kind)
    check_grid(grid, kind, BACKGROUNDS[kind], 7)
    in_tiles = 8**3 + 128**3 + 4096**3
    assert grid.voxel_count == in_tiles + sum(number_mask(n).sum() for n in range(7))
    np.testing.assert_array_equal(grid.index_bbox, [(-16, 0, -8), (8191, 4095, 4095)])


def test_values_of_a_mask_grid_are_its_mask(tmp_path):
    grid = read_vdb(unpacked("types_blosc_mask.vdb", tmp_path), "mask")
    assert grid.type == "mask" and grid.leaf_values.dtype == bool
    np.testing.assert_array_equal(grid.leaf_origins, [(-16, 0, 0), (-8, 0, 0), (0, 0, 0)])
    for row, x0 in enumerate((-16, -8, 0)):
        x, y, z = np.indices((8, 8, 8)).reshape(3, -1)
        np.testing.assert_array_equal(grid.leaf_values[row], (7 * (x + x0) + 13 * y + 29 * z) % 101 % 3 == 0)
    np.testing.assert_array_equal(np.packbits(grid.leaf_values, axis=1, bitorder="little"), grid.leaf_masks)
    assert grid.tile_origins.tolist() == [[64, 0, 0]] and grid.tile_active.tolist() == [True]


@pytest.mark.parametrize("name", ["none", "zip", "mask", "blosc"])
def test_reads_each_compression(name, tmp_path):
    path = unpacked(f"{name}.vdb", tmp_path)
    check_grid(read_vdb(path, "float"), "float", 3.5, 7)
    check_grid(read_vdb(path, "vec3s"), "vec3s", (1, 2, 3), 3)


@pytest.mark.parametrize("name", ["half_blosc_mask", "half_zip_mask"])
@pytest.mark.parametrize("kind", ["float", "double", "vec3s", "int32"])
def test_reads_floats_saved_with_16_bits(name, kind, tmp_path):
    check_grid(read_vdb(unpacked(f"{name}.vdb", tmp_path), kind), kind, BACKGROUNDS[kind], 7)


def test_reads_transforms_as_matrices_for_columns(tmp_path):
    path = unpacked("types_blosc_mask.vdb", tmp_path)
    expected = {
        "float": [[0.25, 0, 0, 0], [0, 0.25, 0, 0], [0, 0, 0.25, 0]],
        "double": [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0]],
        "int32": [[1, 0, 0, 4], [0, 2, 0, 5], [0, 0, 3, 6]],
        "int64": [[1, 0, 0, 4], [0, 1, 0, 5], [0, 0, 1, 6]],
        "bool": [[0, -3, 0, 5], [2, 0, 0, 6], [0, 0, 4, 7]],
        "vec3d": [[0.5, 0, 0, 4], [0, 0.5, 0, 5], [0, 0, 0.5, 6]],
    }
    for name, rows in expected.items():
        np.testing.assert_array_equal(read_vdb(path, name).transform, [*rows, [0, 0, 0, 1]], err_msg=name)
    quarter_turn = read_vdb(path, "vec3s").transform
    assert np.allclose(np.abs(quarter_turn), [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert np.isclose(np.linalg.det(quarter_turn), 1)


def test_reads_classes_and_metadata(tmp_path):
    path = unpacked("types_blosc_mask.vdb", tmp_path)
    fog, staggered = read_vdb(path, "float"), read_vdb(path, "vec3s")
    assert (fog.grid_class, staggered.grid_class) == ("fog volume", "staggered")
    assert fog.metadata["number"] == 7 and fog.metadata["offset"] == (1, 2, 3)
    assert fog.metadata["matrix"] == (0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 4, 0, 5, 6, 7, 1)


def test_lists_grids_and_tells_grids_of_one_name_apart(tmp_path):
    path = unpacked("several.vdb", tmp_path)
    assert [entry.name for entry in list_vdb(path)] == ["density", "density", "shared", "empty", "frustum", ""]
    check_grid(read_vdb(path, "density"), "float", 0, 7)
    check_grid(read_vdb(path, "density", 1), "float", 1, 2)
    check_grid(read_vdb(path, ""), "float", 0, 1)
    with pytest.raises(KeyError, match="has 2 grids named 'density', so none at 2; its grids: 'density', 'density'"):
        read_vdb(path, "density", 2)
    with pytest.raises(KeyError, match="has 0 grids named 'smoke'"):
        read_vdb(path, "smoke")


def test_an_instance_has_the_tree_of_another_grid_and_its_own_transform(tmp_path):
    path = unpacked("several.vdb", tmp_path)
    grid, shared = read_vdb(path), read_vdb(path, "shared")
    check_grid(shared, "float", 0, 7)
    assert shared.name == "shared"
    np.testing.assert_array_equal(shared.transform, np.diag([0.5, 0.5, 0.5, 1]))
    np.testing.assert_array_equal(grid.transform, np.eye(4))


def test_reads_an_empty_grid(tmp_path):
    grid = read_vdb(unpacked("several.vdb", tmp_path), "empty")
    assert (grid.type, grid.voxel_count, grid.index_bbox) == ("int32", 0, None)
    assert grid.background == 9 and grid.leaf_values.shape == (0, 512) and grid.tile_values.shape == (0,)


def test_reads_the_bytes_of_a_file_as_well(tmp_path):
    check_grid(read_vdb(unpacked("several.vdb", tmp_path).read_bytes(), "density", 1), "float", 1, 2)


def test_refuses_a_frustum_by_name(tmp_path):
    with pytest.raises(VolumeFileError, match=r"several\.vdb: grid 'frustum', byte \d+: the transform is a frustum"):
        read_vdb(unpacked("several.vdb", tmp_path), "frustum")


def test_reads_files_that_do_not_say_where_grids_are(tmp_path):
    path = unpacked("stream.vdb", tmp_path)
    assert [entry.name for entry in list_vdb(path)] == ["density", "shared", "density"]
    check_grid(read_vdb(path, "density"), "float", 0, 7)
    check_grid(read_vdb(path, "shared"), "float", 0, 7)
    check_grid(read_vdb(path, "density", 1), "float", 1, 2)


# -- files written here ---------------------------------------------------------------------------------------------


def text(string):
    return struct.pack("<I", len(string)) + string.encode()


def half_tree(tiles=((0, 0, 0),), children=b""):
    """A tree of halfs: the background 1.5, and tiles of 2.5 in the root."""
    root = b"".join(struct.pack("<3ieB", *origin, 2.5, 1) for origin in tiles)
    return struct.pack("<ieII", 1, 1.5, len(tiles), len(children) // 12) + root + children


def vdb(tree, version=225, tree_type="Tree_half_5_4_3", compression=6, magic=0x56444220, scale=2.0, parent=""):
    """A file with one grid."""
    head = struct.pack("<qIII?", magic, version, 12, 0, True) + b"-" * 36 + struct.pack("<II", 0, 1)
    entry = text("g") + text(tree_type) + text(parent)
    body = struct.pack("<II", compression, 0) + text("UniformScaleMap") + struct.pack("<15d", *[scale] * 15) + tree
    begin = len(head) + len(entry) + 24
    return head + entry + struct.pack("<3q", begin, begin, begin + len(body)) + body


@pytest.fixture
def written(tmp_path):
    def write(data):
        path = tmp_path / "made.vdb"
        path.write_bytes(data)
        return path

    return write


def test_reads_grids_of_halfs(written):
    grid = read_vdb(written(vdb(half_tree())))
    assert grid.type == "half" and grid.background.dtype == np.float16 and grid.background == 1.5
    assert grid.tile_values.tolist() == [2.5] and grid.voxel_count == 4096**3


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "byte 0: the header: 8 bytes are needed, but 0 are left"),
        (vdb(b"", magic=1), "byte 0: this is no .vdb file"),
        (vdb(b"", version=221), "byte 8: version 221 of the format cannot be read, only 222 to 225"),
        (vdb(b"", version=226), "version 226"),
        (vdb(b"", compression=8), "grid 'g', byte .*: compression 8 is not defined"),
        (vdb(half_tree(), scale=0.0), "the transform has no inverse"),
        (vdb(half_tree(), scale=float("nan")), "the transform has no inverse"),
        (vdb(half_tree(), scale=1e200), "the transform has no inverse"),
        (vdb(half_tree(), tree_type="Tree_string_5_4_3"), "the grid is a 'Tree_string_5_4_3'; trees 5_4_3 of float"),
        (vdb(half_tree(), tree_type="Tree_float_4_3"), "Tree_float_4_3"),
        (vdb(half_tree(), parent="h"), "shares the tree of grid 'h', which the file does not have"),
        (vdb(half_tree(), parent="g"), "shares the tree of grid 'g', which the file does not have"),
        (vdb(half_tree([(0, 0, 0), (0, 0, 0)])), "two entries of the tree's root have the same origin"),
        (vdb(half_tree([(0, 8, 0)])), "the origin of an entry is not a multiple of 4096"),
        (vdb(half_tree(children=bytes(12))), "the children of a node: 4096 bytes are needed, but 0 are left"),
        (vdb(struct.pack("<ieII", 1, 0, 2**32 - 1, 0)), "the origin of an entry: 4 bytes are needed, but 0 are left"),
        (vdb(struct.pack("<i", 3)), "trees with 3 buffers"),
    ],
)
def test_says_what_is_wrong_with_a_file(written, data, why):
    with pytest.raises(VolumeFileError, match=why) as error:
        read_vdb(written(data))
    assert "made.vdb" in str(error.value)


def test_refuses_a_file_that_is_cut_off_anywhere(tmp_path):
    data = unpacked("mask.vdb", tmp_path).read_bytes()
    path = tmp_path / "cut.vdb"
    for size in [*range(0, 1200, 7), *range(1200, len(data), 4099), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(VolumeFileError):
            for number in range(2):
                read_vdb(path, index=number)


def test_a_leaf_of_another_mask_is_an_error(tmp_path):
    path = unpacked("mask.vdb", tmp_path)
    data = bytearray(path.read_bytes())
    mask = np.packbits(number_mask(0), bitorder="little").tobytes()
    first = data.index(mask)
    second = data.index(mask, first + 1)
    data[second] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        VolumeFileError, match=r"grid .float., byte \d+: leaf 1 has another mask than in the tree's topology"
    ):
        read_vdb(path, "float")
