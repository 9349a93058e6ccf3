"""Samples of textures against the definition in float64, SciPy, and values that warp-lang 1.19 gave."""

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

import omni.warp_core as wp
from omni.warp_core import TextureAddressMode as Address
from omni.warp_core import TextureFilterMode as Filter

from .texture_reference import sampled

SHAPES = {1: (7,), 2: (5, 6), 3: (4, 3, 5)}
CLASSES = {1: wp.Texture1D, 2: wp.Texture2D, 3: wp.Texture3D}
PLACES = {1: float, 2: wp.vec2, 3: wp.vec3}
RESULTS = {1: float, 2: wp.vec2, 4: wp.vec4}
DTYPES = ("f4", "f2", "u1", "i1", "u2", "i2", "u4", "i4")


@cache
def sampler(ndim, channels):
    texture, place, result = CLASSES[ndim], PLACES[ndim], RESULTS[channels]

    @wp.kernel
    def sample(tex: texture, places: wp.array(dtype=place), lods: wp.array(dtype=float), out: wp.array(dtype=result)):
        i = wp.tid()
        out[i] = wp.texture_sample(tex, places[i], dtype=result, lod=lods[i])

    return sample


def samples(tex, places, lods=None, channels=None, **options):
    """What a kernel samples at places of shape (n, ndim): an array of shape (n, channels)."""
    channels = channels or tex.num_channels
    places = np.asarray(places, np.float32).reshape(-1, tex.ndim)
    given = wp.array(places if tex.ndim > 1 else places[:, 0], dtype=PLACES[tex.ndim])
    lods = np.zeros(len(places), np.float32) if lods is None else np.asarray(lods, np.float32)
    out = wp.zeros(len(places), dtype=RESULTS[channels])
    inputs = [tex, given, wp.array(lods, dtype=float), out]
    wp.launch(sampler(tex.ndim, channels), dim=len(places), inputs=inputs, **options)
    return out.numpy().reshape(len(places), channels).astype(np.float64)


def numbers(rng, shape, dtype):
    if dtype[0] == "f":
        return rng.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def places_around(rng, shape, normalized, count=60):
    """Places in and beyond a texture, borders of texels among them: u, v, w."""
    extents = np.array(shape[::-1], float)
    texels = rng.uniform(-2.5 * extents, 3.5 * extents, (count, len(shape)))
    texels[::4] = np.round(2.0 * texels[::4]) / 2.0
    return (texels / extents if normalized else texels).astype(np.float32)


def expected(data, places, modes, lods=None, **options):
    lods = np.zeros(len(places)) if lods is None else lods
    return np.array([sampled(data, p.tolist(), modes, lod=float(lod), **options) for p, lod in zip(places, lods)])


def tolerance(data):
    """A few roundings of float32, of coordinates up to four times the texture and of the blend."""
    largest = np.abs(data.astype(np.float64)).max() if data.dtype.kind == "f" or data.itemsize == 4 else 1.0
    return 2e-5 * largest


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("mode", list(Address))
def test_modes(device, ndim, mode, linear):
    rng = np.random.default_rng([ndim, mode])
    data = numbers(rng, (*SHAPES[ndim], 1), "f4")
    for normalized in (True, False):
        tex = CLASSES[ndim](data, filter_mode=Filter(linear), address_mode=mode, normalized_coords=normalized)
        places = places_around(rng, SHAPES[ndim], False)
        if not linear:  # in float32, a coordinate by a border of two texels may count for either
            places = np.floor(places) + 0.5
        if normalized:
            places = (places / np.array(SHAPES[ndim][::-1])).astype(np.float32)
        wanted = expected(data, places, (mode,) * ndim, linear=linear, normalized=normalized)
        np.testing.assert_allclose(samples(tex, places), wanted, atol=tolerance(data))


def test_an_address_mode_for_each_axis(device):
    rng = np.random.default_rng(1)
    data = numbers(rng, (*SHAPES[3], 2), "f4")
    places = places_around(rng, SHAPES[3], True, 20)
    for modes in itertools.permutations(Address, 3):
        tex = wp.Texture3D(data, address_mode=modes)
        assert (tex.address_mode_u, tex.address_mode_v, tex.address_mode_w) == modes
        np.testing.assert_allclose(samples(tex, places), expected(data, places, modes), atol=tolerance(data))


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_types(device, dtype, channels):
    rng = np.random.default_rng([channels, DTYPES.index(dtype)])
    data = numbers(rng, (*SHAPES[2], channels), dtype)
    linear = dtype not in ("u4", "i4")
    tex = wp.Texture2D(data, address_mode=Address.WRAP, normalized_coords=False)
    assert tex.filter_mode is Filter(linear)
    places = places_around(rng, SHAPES[2], False)
    if not linear:
        places = np.floor(places) + 0.25
    wanted = expected(data, places, (0, 0), linear=linear, normalized=False)
    np.testing.assert_allclose(samples(tex, places), wanted, atol=tolerance(data))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_at_centres_are_exact(device, dtype):
    rng = np.random.default_rng(5)
    data = numbers(rng, (9, 2), dtype)
    limits = (-np.inf, np.inf) if dtype[0] == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    data[:2] = np.array(limits, dtype)[:, None] if dtype[0] != "f" else data[:2]
    tex = wp.Texture1D(data, filter_mode=Filter.CLOSEST, normalized_coords=False)
    largest = {"u1": 255, "u2": 65535, "i1": 127, "i2": 32767}.get(dtype, 1)
    values = data.astype(np.float32) / np.float32(largest)
    wanted = np.maximum(values, -1.0) if largest > 1 else values
    assert samples(tex, np.arange(9) + 0.5).tolist() == wanted.astype(float).tolist()


def test_results_of_other_lengths(device):
    rng = np.random.default_rng(2)
    for dtype, channels in itertools.product(("f4", "u1", "i2"), (1, 2, 4)):
        data = numbers(rng, (4, 3, channels), dtype)
        tex = wp.Texture2D(data)
        places = places_around(rng, (4, 3), True, 10)
        whole = np.zeros((10, 4))
        whole[:, :channels] = expected(data, places, (1, 1))
        for length in RESULTS:
            found = samples(tex, places, channels=length)
            np.testing.assert_allclose(found, whole[:, :length], atol=tolerance(data))


@pytest.mark.parametrize(("mode", "name"), [(0, "grid-wrap"), (1, "nearest"), (2, "reflect"), (3, "grid-constant")])
@pytest.mark.parametrize("ndim", [2, 3])
def test_scipy(device, ndim, mode, name):
    rng = np.random.default_rng(ndim)
    data = rng.normal(size=SHAPES[ndim]).astype(np.float32)
    texels = rng.uniform(-8.0, 12.0, (200, ndim)).astype(np.float32)
    tex = CLASSES[ndim](data, address_mode=mode, normalized_coords=False)
    wanted = map_coordinates(data.astype(float), texels.T[::-1].astype(float) - 0.5, order=1, mode=name)
    np.testing.assert_allclose(samples(tex, texels)[:, 0], wanted, atol=1e-5)


# Places that count texels, and what warp-lang 1.19 gives there for texels 10, 20, 40, 80.
PEER_PLACES = [-9.0, -5.5, -4.75, -4.25, -1.5, -1, -0.75, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3.5, 3.75, 4, 4.25, 4.5]
PEER = {
    (0, 0): [80, 40, 80, 80, 40, 80, 80, 80, 10, 10, 10, 10, 20, 20, 40, 80, 80, 10, 10, 10],
    (0, 1): [10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 20, 20, 40, 80, 80, 80, 80, 80],
    (0, 2): [10, 40, 80, 80, 20, 10, 10, 10, 10, 10, 10, 10, 20, 20, 40, 80, 80, 80, 80, 80],
    (0, 3): [0, 0, 0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 20, 20, 40, 80, 80, 0, 0, 0],
    (1, 0): [60, 40, 70, 62.5, 40, 60, 70, 62.5, 45, 27.5, 10, 12.5, 15, 20, 30, 80, 62.5, 45, 27.5, 10],
    (1, 1): [10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 12.5, 15, 20, 30, 80, 80, 80, 80, 80],
    (1, 2): [15, 40, 70, 80, 20, 15, 12.5, 10, 10, 10, 10, 12.5, 15, 20, 30, 80, 80, 80, 80, 80],
    (1, 3): [0, 0, 0, 0, 0, 0, 0, 2.5, 5, 7.5, 10, 12.5, 15, 20, 30, 80, 60, 40, 20, 0],
}


@pytest.mark.parametrize(("filter_mode", "mode"), PEER)
def test_values_of_warp_lang(device, filter_mode, mode):
    data = np.array([10, 20, 40, 80], np.float32)
    tex = wp.Texture1D(data, filter_mode=filter_mode, address_mode=mode, normalized_coords=False)
    assert samples(tex, PEER_PLACES)[:, 0].tolist() == PEER[filter_mode, mode]
    whole = wp.Texture1D(data, filter_mode=filter_mode, address_mode=mode)
    assert samples(whole, np.array(PEER_PLACES) / 4)[:, 0].tolist() == PEER[filter_mode, mode]


def test_levels_of_warp_lang(device):
    squares = np.arange(1, 9, dtype=np.float32) ** 2
    tex = wp.Texture1D(squares, num_mip_levels=4, filter_mode=Filter.LINEAR)
    wanted = {
        -1.0: [1.9, 8.5, 20.5, 47.7],
        0.25: [2.05, 8.75, 20.75, 47.95],
        1.0: [2.5, 9.5, 21.5, 48.7],
        1.5: [5.0, 10.3, 23.5, 46.1],
        2.5: [16.5, 18.3, 25.5, 34.5],
        7.0: [25.5] * 4,
        np.inf: [25.5] * 4,
    }
    for lod, values in wanted.items():
        np.testing.assert_allclose(samples(tex, [0.1, 0.3, 0.5, 0.8], [lod] * 4)[:, 0], values, rtol=1e-6)


@pytest.mark.parametrize("level_filter", list(Filter))
@pytest.mark.parametrize("dtype", ["f4", "f2", "u1", "i1", "i4"])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_levels_of_detail(device, ndim, dtype, level_filter):
    rng = np.random.default_rng([ndim, level_filter])
    shape = {1: (11,), 2: (6, 9), 3: (5, 4, 6)}[ndim]
    data = numbers(rng, (*shape, 2), dtype)
    whole = dtype == "i4"
    level_filter = Filter.CLOSEST if whole else level_filter
    tex = CLASSES[ndim](data, num_mip_levels=0, mip_filter_mode=level_filter, normalized_coords=False)
    levels = max(shape).bit_length()
    assert tex.num_mip_levels == levels and tex.is_mipmapped
    places = places_around(rng, shape, False, 40)
    if whole:
        places = np.floor(places) + 0.3
    lods = np.round(rng.uniform(-1.0, levels, 40) * 8.0) / 8.0 + 1 / 32
    options = {"linear": not whole, "normalized": False, "levels": levels, "level_linear": level_filter == 1}
    wanted = expected(data, places, (1,) * ndim, lods, **options)
    np.testing.assert_allclose(samples(tex, places, lods), wanted, atol=tolerance(data))


def test_levels_round_to_even(device):
    data = np.array([0, 1, 2, 255, 255, 254, 3, 4], np.uint8)
    tex = wp.Texture1D(data, num_mip_levels=3, filter_mode=Filter.CLOSEST)
    one, two = (255.0 * samples(tex, [0.1, 0.3, 0.6, 0.8], [lod] * 4)[:, 0] for lod in (1.0, 2.0))
    assert one.round(3).tolist() == [0, 128, 254, 4] and two.round(3).tolist() == [64, 64, 129, 129]


@pytest.mark.parametrize("mode", list(Address))
@pytest.mark.parametrize("linear", [False, True])
def test_coordinates_that_are_not_finite_or_far_away(device, mode, linear):
    data = np.array([10, 20, 40, 80], np.float32)
    far = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, 2.0**31, -(2.0**31), 1e37]
    repeats = mode in (Address.WRAP, Address.MIRROR)
    for normalized in (True, False):
        tex = wp.Texture1D(data, address_mode=mode, filter_mode=Filter(linear), normalized_coords=normalized)
        found = samples(tex, far)[:, 0]
        assert np.isnan(found[0])
        if repeats:
            assert np.isnan(found[1:3]).all() and np.isin(found[3:], [10, 20, 40, 80, 45]).all()
        else:
            low, high = (0, 0) if mode == Address.BORDER else (10, 80)
            assert found[1:].tolist() == [high, low, high, low, high, high, low, high]
    assert samples(wp.Texture1D(data, num_mip_levels=1), [0.5], [np.nan])[0, 0] == 30.0


@pytest.mark.parametrize("level_filter", list(Filter))
def test_a_level_of_detail_that_is_nan(device, level_filter):
    tex = wp.Texture2D(np.ones((4, 4, 4), np.uint8), num_mip_levels=3, mip_filter_mode=level_filter)
    assert np.isnan(samples(tex, [[0.5, 0.5]], [np.nan])).all()


def test_nan_in_one_coordinate_of_several(device):
    for linear, modes in itertools.product((0, 1), itertools.product(Address, repeat=3)):
        tex = wp.Texture3D(np.ones((2, 2, 2), np.float32), filter_mode=linear, address_mode=modes)
        for axis in range(3):
            place = [0.5, 0.5, 0.5]
            place[axis] = np.nan
            assert np.isnan(samples(tex, [place])).all()


def test_one_texel(device):
    for mode in Address:
        tex = wp.Texture3D(np.full((1, 1, 1), 3.0, np.float32), address_mode=mode, num_mip_levels=0)
        assert samples(tex, [[0.5, 0.5, 0.5]])[0, 0] == 3.0
        found = samples(tex, [[7.25, 0.5, 0.5]])[0, 0]
        assert found == (0.0 if mode == Address.BORDER else 3.0)


@pytest.mark.cpu
def test_all_ways_to_sample_agree():
    rng = np.random.default_rng(8)
    for ndim in (1, 2, 3):
        tex = CLASSES[ndim](numbers(rng, (*SHAPES[ndim], 4), "u1"), address_mode=Address.MIRROR, num_mip_levels=2)
        places = places_around(rng, SHAPES[ndim], True, 8)
        lods = rng.uniform(0.0, 1.0, 8)
        compiled = samples(tex, places, lods)
        np.testing.assert_allclose(samples(tex, places, lods, interpret=True), compiled, atol=1e-6)
        for place, lod, wanted in zip(places, lods, compiled):
            called = wp.texture_sample(tex, *map(float, place), dtype=wp.vec4, lod=float(np.float32(lod)))
            np.testing.assert_allclose([*called], wanted, atol=1e-6)
