"""Volumes of bits, small integers and quantised floats, against OpenVDB's tools and arrays in NumPy."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.volumes.grid_builder import Placement, Tiles, build_grid, leaves_of_voxels
from omni.warp_core.volumes.grid_tree import GridError, child_offsets, read_grid, read_header, read_inner_nodes
from omni.warp_core.volumes.layout import (
    FP16,
    FPN,
    HALF,
    INDEX,
    INDEX_MASK,
    ON_INDEX,
    ON_INDEX_MASK,
    VALUE_TYPES,
    offset_of,
)
from omni.warp_core.volumes.nvdb_file import read_grids
from omni.warp_core.volumes.vdb.vdb_file import read_vdb

from .expected_vdb import BACKGROUNDS, TILES, leaf, number_mask, unpacked

pytestmark = pytest.mark.cpu
CUBE = np.argwhere(np.ones((8, 8, 8)))


@wp.kernel
def query(
    volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), places: wp.array(dtype=wp.vec3), found: wp.array2d(dtype=float)
):
    i = wp.tid()
    found[i, 0] = wp.volume_lookup_f(volume, voxels[i][0], voxels[i][1], voxels[i][2])
    found[i, 1] = wp.volume_sample_f(volume, places[i], wp.Volume.LINEAR)
    found[i, 2] = wp.volume_sample_f(volume, places[i], wp.Volume.CLOSEST)


def queries(volume: wp.Volume, voxels: np.ndarray, places: np.ndarray) -> np.ndarray:
    found = wp.zeros((len(voxels), 3), dtype=float)
    inputs = [volume.id, wp.array(voxels, dtype=wp.vec3i), wp.array(places, dtype=wp.vec3), found]
    wp.launch(query, len(voxels), inputs)
    return found.numpy()


@pytest.mark.parametrize("kind", ["fp4", "fp8", "fp16", "fpN"])
def test_codes_stand_for_what_nanovdb_decodes(kind, tmp_path):
    """nanovdb_convert made the .vdb of the .nvdb. Our conversion of that has plain floats."""
    judge = read_vdb(unpacked(f"shared_{kind}.vdb", tmp_path))
    coded = wp.Volume.load_from_nvdb(unpacked(f"shared_{kind}.nvdb", tmp_path))
    plain = wp.Volume.load_from_vdb(unpacked(f"shared_{kind}.vdb", tmp_path))
    assert coded.dtype is wp.float32 and coded.get_tile_count() == 7
    voxels = (judge.leaf_origins[:, None] + CUBE).reshape(-1, 3)
    voxels = np.concatenate([voxels, [np.add(origin, extent - 1) for origin, extent, *_ in TILES], [[-9000, 0, 0]]])
    places = voxels + np.random.default_rng(1).uniform(-1, 1, voxels.shape)
    found, expected = queries(coded, voxels, places), queries(plain, voxels, places)
    np.testing.assert_allclose(found[: judge.leaf_values.size, 0], judge.leaf_values.ravel(), rtol=3e-7, atol=2e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-5)
    assert len(np.unique(found[:, 0])) > 12  # not only values of tiles


def a_volume(number: int, values: np.ndarray | None, tile: float, background: float) -> wp.Volume:
    """Some voxels around the origin, and a tile of 8x8x8 voxels from (64, 0, 0) on."""
    value_type = VALUE_TYPES[number]
    leaves = leaves_of_voxels(VOXELS, values, background)
    tiles = Tiles(np.int32([[64, 0, 0]]), np.int32([8]), np.array([tile], value_type.base), np.array([True]))
    data = build_grid(leaves, value_type, background, Placement(np.eye(3), np.zeros(3)), tiles=tiles)
    return wp.Volume(wp.array(data, dtype=wp.uint8))


VOXELS = np.unique(np.random.default_rng(4).integers(-20, 20, (500, 3)), axis=0).astype(np.int32)
IN_TILE = [[64, 0, 0], [71, 7, 7]]


def test_halves(tmp_path):
    rng = np.random.default_rng(5)
    halves = (rng.normal(size=len(VOXELS)) * 10.0 ** rng.integers(-8, 5, len(VOXELS))).astype(np.float16)
    assert (np.abs(halves) < 6e-5).any()  # subnormal ones
    volume, judge = a_volume(HALF, halves, -2.5, 0.5), a_volume(1, halves.astype(np.float32), -2.5, 0.5)
    assert volume.dtype is wp.float32 and volume.get_grid_info().type_str == "half"
    voxels = np.concatenate([VOXELS, IN_TILE, [[500, 0, 0]]])
    places = voxels + rng.uniform(-1, 1, voxels.shape)
    found = queries(volume, voxels, places)
    np.testing.assert_array_equal(found[:, 0], np.concatenate([halves.astype(np.float32), [-2.5, -2.5, 0.5]]))
    np.testing.assert_array_equal(found, queries(judge, voxels, places))
    np.testing.assert_array_equal(volume.get_voxel_values().numpy(), judge.get_voxel_values().numpy())
    volume.save_to_nvdb(tmp_path / "half.nvdb")
    again = wp.Volume.load_from_nvdb(tmp_path / "half.nvdb")
    assert again.get_grid_info().type_str == "half"
    np.testing.assert_array_equal(again.get_voxel_values().numpy(), judge.get_voxel_values().numpy())


def test_halves_cannot_be_stored_nor_differentiated():
    volume = a_volume(HALF, np.ones(len(VOXELS), np.float16), 0.0, 0.0)
    with pytest.raises(ValueError, match="has codes or halves in place of values"):
        wp.volume_store_f(volume.id, *VOXELS[0].tolist(), 1.0)
    with pytest.raises(TypeError, match="values of half in a volume have no gradient"):
        volume.requires_grad = True
    assert volume.values is None


@pytest.mark.parametrize("number, plain", [(INDEX_MASK, INDEX), (ON_INDEX_MASK, ON_INDEX)])
def test_masks_beside_indices(number, plain):
    """They change no index. A bit is the value of a voxel in a leaf."""

    @wp.kernel
    def number_of(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), found: wp.array(dtype=int)):
        i = wp.tid()
        found[i] = wp.volume_lookup_index(volume, voxels[i][0], voxels[i][1], voxels[i][2])

    def numbers(volume: wp.Volume, voxels: np.ndarray) -> list[int]:
        found = wp.zeros(len(voxels), dtype=int)
        wp.launch(number_of, len(voxels), [volume.id, wp.array(voxels, dtype=wp.vec3i), found])
        return found.list()

    data = a_volume(number, None, 255.0, 0.0).array().numpy()
    masks = np.random.default_rng(6).integers(0, 256, (len(read_grid(data).leaf.nodes), 64), np.uint8)
    read_grid(data).leaf.nodes["values"] = masks
    volume, judge = wp.Volume(wp.array(data, dtype=wp.uint8)), a_volume(plain, None, 255.0, 0.0)
    assert volume.is_index and volume.dtype is wp.bool and judge.dtype is None
    assert np.array_equal(volume.get_voxels().numpy(), judge.get_voxels().numpy())
    voxels = np.concatenate([volume.get_tiles().numpy()[0] + CUBE, IN_TILE])
    assert numbers(volume, voxels) == numbers(judge, voxels)
    bits = np.unpackbits(masks, axis=1, bitorder="little").astype(bool)
    assert np.array_equal(looked_up(volume, voxels), np.append(bits[0], [False, False]))
    active = np.unpackbits(read_grid(data).leaf.nodes["value_mask"], axis=1, bitorder="little").astype(bool)
    assert np.array_equal(volume.get_voxel_values().numpy(), bits[active] if number == ON_INDEX_MASK else bits.ravel())
    with pytest.raises(ValueError, match="has a bit for each voxel"):
        wp.volume_store(volume.id, *VOXELS[0].tolist(), True)


@pytest.mark.parametrize("kind", ["fp4", "fpN"])
def test_codes_cannot_be_stored(kind, tmp_path):
    volume = wp.Volume.load_from_nvdb(unpacked(f"shared_{kind}.nvdb", tmp_path))
    with pytest.raises(ValueError, match="has codes or halves in place of values"):
        wp.volume_store_f(volume.id, -16, 0, 0, 1.0)


def fpn_grid(folder) -> np.ndarray:
    return read_grids(unpacked("shared_fpN.nvdb", folder))[0].read()


def test_variable_bits_keep_what_surrounds_the_leaves(tmp_path):
    data = fpn_grid(tmp_path)
    extra = np.zeros(288 + 64, np.uint8)  # an array that the grid carries along
    extra[:32].view("<u8")[:] = 288, 8, 8, 0
    extra[288:].view("<u8")[:] = np.arange(8)
    data[640:648].view("<i8")[0], data[648:652].view("<u4")[0] = data.size, 1
    data = np.concatenate([data, extra])
    data[32:40].view("<u8")[0] = data.size
    behind = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0).array().numpy()
    volume = wp.Volume(wp.array(np.concatenate([data, behind]), dtype=wp.uint8))
    assert volume.get_grid_info().type_str == "fp16"
    assert volume.feature_array(0, dtype=wp.uint64).list() == list(range(8))
    assert volume.load_next_grid().get_tile_count() == 1
    volume.save_to_nvdb(tmp_path / "wide.nvdb")
    again = wp.Volume.load_from_nvdb(tmp_path / "wide.nvdb")
    assert np.array_equal(again.array().numpy(), volume.array().numpy())


def test_a_leaf_inside_of_another_node_is_refused(tmp_path):
    data = fpn_grid(tmp_path)
    grid = read_inner_nodes(data, read_header(data), VALUE_TYPES[FP16])
    node, entry, offsets = child_offsets(grid.lower)
    last = np.argmax(grid.lower.offsets)  # its table has zeros, which make a leaf of codes of a bit
    place = int(grid.lower.offsets[last]) + grid.layout.lower.itemsize - 256
    first = int(np.argmin(offsets))
    at = int(grid.lower.offsets[node[first]]) + offset_of(grid.layout.lower, "table") + 8 * int(entry[first])
    data[at : at + 8].view("<i8")[0] += place - int(offsets[first])
    with pytest.raises(GridError, match="a leaf begins before the end of an inner node"):
        wp.Volume(wp.array(data, dtype=wp.uint8))


EDITS = {
    "bits": (15, 0xA2, "overlaps the next or the end"),
    "end": (15, 0x82, "overlaps the next or the end"),
}


@pytest.mark.parametrize("name", EDITS)
def test_sizes_of_leaves_are_not_believed(name, tmp_path):
    data = fpn_grid(tmp_path)
    assert data[636] == FPN
    first = 672 + int(data[672:680].view("<i8")[0])
    at, value, text = EDITS[name]
    data[first + at] = value
    with pytest.raises(GridError, match=text):
        wp.Volume(wp.array(data, dtype=wp.uint8))


def looked_up(volume: wp.Volume, voxels: np.ndarray) -> np.ndarray:
    """What a kernel finds, of the volume's type."""
    dtype = volume.dtype

    @wp.kernel
    def look_up(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), found: wp.array(dtype=dtype)):
        i = wp.tid()
        found[i] = wp.volume_lookup(volume, voxels[i][0], voxels[i][1], voxels[i][2], dtype=dtype)

    found = wp.zeros(len(voxels), dtype=dtype)
    wp.launch(look_up, len(voxels), [volume.id, wp.array(voxels, dtype=wp.vec3i), found])
    return found.numpy()


def test_bits(tmp_path):
    volume = wp.Volume.load_from_nvdb(unpacked("bool.nvdb", tmp_path))
    assert volume.dtype is wp.bool
    leaves = [leaf("bool", number, BACKGROUNDS["bool"]) for number in range(7)]
    voxels = np.concatenate([origin + CUBE for origin, _, _ in leaves] + [[[66, 1, 1], [73, 1, 1], [-9000, 0, 0]]])
    expected = np.concatenate([values for _, _, values in leaves] + [[False, True, True]])
    assert np.array_equal(looked_up(volume, voxels), expected)
    with pytest.raises(ValueError, match="has a bit for each voxel"):
        wp.volume_store(volume.id, 0, 0, 0, True)
    with pytest.raises(ValueError, match="has values of another type"):
        wp.volume_sample_f(volume.id, wp.vec3(), wp.Volume.LINEAR)


def test_masks(tmp_path):
    volume = wp.Volume.load_from_nvdb(unpacked("mask.nvdb", tmp_path))
    assert volume.dtype is wp.bool and volume.get_grid_info().type_str == "mask"
    origins = np.array([[8 * number - 16, 0, 0] for number in range(3)])
    voxels = (origins[:, None] + CUBE).reshape(-1, 3)
    expected = (7 * voxels[:, 0] + 13 * voxels[:, 1] + 29 * voxels[:, 2]) % 101 % 3 == 0
    assert np.array_equal(expected[:512], number_mask(0))
    assert np.array_equal(looked_up(volume, voxels), expected)
    assert looked_up(volume, np.array([[66, 1, 1], [72, 0, 0], [9000, 0, 0]])).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "background", [wp.int16(-7), wp.uint8(200), wp.vec3ub(1, 2, 3), wp.vec3us(1, 2, 60000), wp.vec4ub(9, 8, 7, 6), True]
)
def test_small_values(background, tmp_path):
    plain = np.asarray(getattr(background, "value", background))
    if hasattr(background, "value"):
        plain = plain.astype(np.int16 if isinstance(background, wp.int16) else np.uint8)
    rng = np.random.default_rng(1)
    dense = rng.integers(0, 2 if plain.dtype == bool else 200, (9, 10, 11, *plain.shape)).astype(plain.dtype)
    first = wp.Volume.load_from_numpy(dense, bg_value=background)
    first.save_to_nvdb(tmp_path / "small.nvdb")
    volume = wp.Volume.load_from_nvdb(tmp_path / "small.nvdb")
    inside = np.argwhere(np.ones(dense.shape[:3]))
    outside = np.array([[9, 0, 0], [0, 0, 11], [-1, 0, 0], [500, 500, 500]])
    found = looked_up(volume, np.concatenate([inside, outside]))
    assert np.array_equal(found[: len(inside)], dense.reshape(-1, *plain.shape))
    assert (found[len(inside) :] == plain).all()


def test_stores_of_small_values():
    """Threads write neighbours, which share words of memory."""

    @wp.kernel
    def store(shorts: wp.uint64, colours: wp.uint64):
        i, j, k = wp.tid()
        number = (i * 8 + j) * 8 + k
        wp.volume_store(shorts, i, j, k, wp.int16(number - 300))
        wp.volume_store(colours, i, j, k, wp.vec3ub(wp.uint8(i), wp.uint8(j), wp.uint8(k)))

    shorts = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=wp.int16(1))
    colours = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=wp.vec3ub())
    wp.launch(store, (8, 8, 8), [shorts.id, colours.id])
    assert np.array_equal(looked_up(shorts, CUBE), np.arange(512) - 300)
    assert np.array_equal(looked_up(colours, CUBE), CUBE)


@pytest.mark.parametrize("background", [True, wp.uint8(1), wp.vec3us(1, 2, 3)])
def test_small_values_are_not_interpolated(background):
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=background)
    found = wp.volume_sample(volume.id, wp.vec3(0.4, 0.0, 0.0), wp.Volume.CLOSEST, dtype=volume.dtype)
    assert found == background
    with pytest.raises(ValueError, match="integers, which cannot be interpolated"):
        wp.volume_sample(volume.id, wp.vec3(0.4, 0.0, 0.0), wp.Volume.LINEAR, dtype=volume.dtype)


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint8, wp.bool, wp.vec3ub, wp.float16, wp.vec2])
def test_gradients_of_other_types_do_not_compile(dtype):
    gradient = wp.mat33 if dtype is wp.vec3ub else wp.vec3

    @wp.kernel
    def slope(volume: wp.uint64):
        grad = gradient()
        wp.volume_sample_grad(volume, wp.vec3(), wp.Volume.LINEAR, grad, dtype=dtype)

    with pytest.raises(wp.CompileError, match=r"takes one of float32, float64, vec3f, .*, not " + dtype.__name__):
        wp.launch(slope, 1, [wp.uint64(0)])


@pytest.mark.parametrize("dtype", [wp.float16, wp.uint64, wp.vec2, wp.mat22])
def test_types_without_volumes_do_not_compile(dtype):
    @wp.kernel
    def query(volume: wp.uint64):
        wp.volume_lookup(volume, 0, 0, 0, dtype=dtype)
        wp.volume_sample(volume, wp.vec3(), wp.Volume.CLOSEST, dtype=dtype)
        wp.volume_store(volume, 0, 0, 0, dtype())

    with pytest.raises(wp.CompileError, match="takes one of float32, .*, not " + dtype.__name__) as caught:
        wp.launch(query, 1, [wp.uint64(0)])
    assert str(caught.value).count("not " + dtype.__name__) == 3
