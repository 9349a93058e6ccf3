"""Sorted tiles and running sums, judged by NumPy."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.matrix_runs import same_in_all_blocks

INTEGERS = {wp.int32: np.int32, wp.uint32: np.uint32, wp.int64: np.int64, wp.uint64: np.uint64}
FLOATS = {wp.float32: (np.float32, np.uint32), wp.float64: (np.float64, np.uint64)}


def sort_kernel(shape, dtype):
    @wp.kernel
    def sort(x: wp.array(dtype=dtype, ndim=len(shape)), y: wp.array(dtype=int, ndim=len(shape))):
        keys, values = wp.tile_load(x, shape), wp.tile_load(y, shape)
        wp.tile_sort(keys, values)
        wp.tile_store(x, keys)
        wp.tile_store(y, values)

    return sort


def check_sorted(keys, order, dtype, blocks=(64,)):
    """`order` are numbers that NumPy sorts as the keys should be."""
    shape = keys.shape
    places = np.arange(keys.size, dtype=np.int32).reshape(shape)
    found, values = same_in_all_blocks(sort_kernel(shape, dtype), (keys, places), (dtype, wp.int32), blocks)
    want = np.argsort(order.ravel(), kind="stable")
    np.testing.assert_array_equal(values.ravel(), want)
    assert found.tobytes() == keys.ravel()[want].tobytes()


@pytest.mark.parametrize("n", [1, 2, 3, 31, 64, 65, 127, 200, 256, 1000])
def test_sorting_is_stable_for_every_length(n):
    keys = np.random.default_rng(n).integers(-9, 9, n).astype(np.float32) + np.float32(0.0)
    check_sorted(keys, keys, wp.float32, (1, 32, 64, 100) if n in (3, 65, 200) else (64,))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_sorted_over_their_whole_range(dtype):
    kind = INTEGERS[dtype]
    limits = np.iinfo(kind)
    keys = np.random.default_rng(7).integers(limits.min, limits.max, 150, dtype=kind, endpoint=True)
    keys[[3, 50, 51, 149]] = limits.min, limits.max, limits.min, limits.max
    check_sorted(keys, keys, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros_infinities_and_nan_have_a_fixed_order(dtype):
    kind, bits = FLOATS[dtype]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 3.0, -3.0], kind)
    keys = np.random.default_rng(8).permutation(np.tile(special, 9))
    pattern = keys.view(bits)
    sign = bits(1) << bits(8 * kind(0).nbytes - 1)
    check_sorted(keys, np.where(pattern & sign, ~pattern, pattern | sign), dtype, (1, 64))


def test_tiles_of_several_dimensions_are_sorted_in_row_major_order():
    keys = np.random.default_rng(9).integers(0, 30, (3, 5, 7)).astype(np.int32)
    check_sorted(keys, keys, wp.int32)


def test_values_may_be_vectors():
    @wp.kernel
    def sort(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
        keys, values = wp.tile_load(x, 90), wp.tile_load(y, 90)
        wp.tile_sort(keys, values)
        wp.tile_store(y, values)

    rng = np.random.default_rng(10)
    keys, values = rng.random(90).astype(np.float32), rng.random((90, 3)).astype(np.float32)
    _, found = same_in_all_blocks(sort, (keys, values), (wp.float32, wp.vec3), (32,))
    np.testing.assert_array_equal(found, values[np.argsort(keys)])


# -- scans ------------------------------------------------------------------------------------------------------------


def scan_kernel(shape, dtype, function):
    @wp.kernel
    def scan(x: wp.array(dtype=dtype, ndim=len(shape)), y: wp.array(dtype=dtype, ndim=len(shape))):
        wp.tile_store(y, function(wp.tile_load(x, shape)))

    return scan


def scanned(values, dtype, function, blocks=(64,)):
    _, found = same_in_all_blocks(
        scan_kernel(values.shape, dtype, function), (values, np.zeros_like(values)), (dtype,) * 2, blocks
    )
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 16, 33, 100, 512])
def test_running_sums_of_integers_are_numpys(n):
    values = np.random.default_rng(n).integers(-1000, 1000, n).astype(np.int32)
    blocks = (1, 32, 64, 100) if n in (3, 100) else (64,)
    sums = np.cumsum(values)
    np.testing.assert_array_equal(scanned(values, wp.int32, wp.tile_scan_inclusive, blocks), sums)
    np.testing.assert_array_equal(scanned(values, wp.int32, wp.tile_scan_exclusive, blocks), sums - values)


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.float16])
def test_running_sums_of_floats_are_numpys_to_rounding(dtype):
    kind = {wp.float32: np.float32, wp.float64: np.float64, wp.float16: np.float16}[dtype]
    values = np.random.default_rng(2).random(300).astype(kind)
    want = np.cumsum(values.astype(float))
    tolerance = {2: 2.0**-11, 4: 10 * 2.0**-24, 8: 10 * 2.0**-53}[kind(0).nbytes]
    found = scanned(values, dtype, wp.tile_scan_inclusive, (1, 32, 100))
    np.testing.assert_allclose(found.astype(float), want, rtol=tolerance)


def test_integers_wrap_around():
    values = np.full(4, 2**31 - 1, np.int32)
    assert scanned(values, wp.int32, wp.tile_scan_inclusive).tolist() == [2**31 - 1, -2, 2**31 - 3, -4]


def test_scans_go_through_rows():
    values = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    found = scanned(values, wp.int32, wp.tile_scan_inclusive)
    np.testing.assert_array_equal(found, np.cumsum(values).reshape(2, 3, 4))


@pytest.mark.parametrize("name", ["max", "min"])
def test_running_extremes_skip_nan(name):
    function = {"max": wp.tile_scan_max_inclusive, "min": wp.tile_scan_min_inclusive}[name]
    accumulate = {"max": np.fmax, "min": np.fmin}[name].accumulate
    values = np.random.default_rng(4).standard_normal(77).astype(np.float32)
    values[[0, 1, 20, 76]] = np.nan
    np.testing.assert_array_equal(scanned(values, wp.float32, function, (1, 32, 100)), accumulate(values))
    integers = np.random.default_rng(5).integers(-50, 50, 40).astype(np.int32)
    np.testing.assert_array_equal(scanned(integers, wp.int32, function), accumulate(integers))
