"""Reductions of tiles: their order, axes, extremes with NaN, ties."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.tile_runs import results, total

f32 = np.float32


def sums_of(shape):
    ndim = len(shape)

    @wp.kernel
    def k(x: wp.array(dtype=float, ndim=ndim), out: wp.array[float]):
        wp.tile_store(out, wp.tile_sum(wp.tile_load(x, shape)))

    return k


@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (16,), (17,), (40,), (3, 7), (2, 3, 4), (2, 2, 2, 5)])
def test_sums_have_one_order(shape):
    x = np.random.default_rng(1).normal(size=shape).astype(f32)
    _, out = results(sums_of(shape), 1, x, np.zeros(1, f32), block_dims=(1, 32))
    assert out[0] == total(x)


@wp.kernel
def along(x: wp.array3d[float], a: wp.array2d[float], b: wp.array2d[float], c: wp.array2d[float]):
    t = wp.tile_load(x, (2, 20, 3))
    wp.tile_store(a, wp.tile_sum(t, axis=0))
    wp.tile_store(b, wp.tile_sum(t, axis=1))
    wp.tile_store(c, wp.tile_sum(t, axis=2))


def test_axes():
    x = np.random.default_rng(2).normal(size=(2, 20, 3)).astype(f32)
    _, a, b, c = results(along, 1, x, np.zeros((20, 3), f32), np.zeros((2, 3), f32), np.zeros((2, 20), f32))
    for axis, found in enumerate((a, b, c)):
        wanted = np.apply_along_axis(total, axis, x)
        np.testing.assert_array_equal(found, wanted)


@wp.func
def larger_length(a: wp.vec2, b: wp.vec2):
    return wp.where(wp.length(a) > wp.length(b), a, b)


@wp.kernel
def reduced(x: wp.array[float], v: wp.array[wp.vec2], out: wp.array[float], longest: wp.array[wp.vec2]):
    t, u = wp.tile_load(x, 5), wp.tile_load(v, 4)
    wp.tile_store(out, wp.tile_reduce(wp.mul, t))
    wp.tile_store(out, wp.tile_reduce(wp.max, t), offset=1)
    wp.tile_store(out, wp.tile_reduce(lambda a, b: a + b, t), offset=2)
    wp.tile_store(longest, wp.tile_reduce(larger_length, u))
    wp.tile_store(longest, wp.tile_sum(u), offset=1)


def test_reductions_by_a_function():
    x, v = np.array([1, -2, 3, 0.5, 4], f32), np.array([[1, 2], [-5, 0], [3, 3], [0, 1]], f32)
    *_, out, longest = results(reduced, 1, x, v, np.zeros(3, f32), np.zeros((2, 2), f32))
    np.testing.assert_array_equal(out, [np.prod(x), 4, x.sum()])
    np.testing.assert_array_equal(longest, [[-5, 0], v.sum(0)])


@wp.kernel
def extremes(x: wp.array2d[float], out: wp.array[float], places: wp.array[int]):
    t = wp.tile_load(x, (4, 5))
    wp.tile_store(out, wp.tile_min(t))
    wp.tile_store(out, wp.tile_max(t), offset=1)
    wp.tile_store(places, wp.tile_argmin(t))
    wp.tile_store(places, wp.tile_argmax(t), offset=1)


def check_extremes(x):
    _, out, places = results(extremes, 1, x.astype(f32), np.zeros(2, f32), np.zeros(2, np.int32))
    return out, places


def test_extremes():
    x = np.random.default_rng(3).integers(-3, 3, (4, 5))  # with ties
    out, places = check_extremes(x)
    np.testing.assert_array_equal(out, [x.min(), x.max()])
    np.testing.assert_array_equal(places, [x.argmin(), x.argmax()])


def test_a_nan_counts_as_missing():
    x = np.random.default_rng(4).normal(size=(4, 5))
    x[0, 0] = x[2, 3] = np.nan
    out, places = check_extremes(x)
    np.testing.assert_array_equal(out, np.array([np.nanmin(x), np.nanmax(x)], f32))
    np.testing.assert_array_equal(places, [np.nanargmin(x), np.nanargmax(x)])
    out, places = check_extremes(np.full((4, 5), np.nan))
    assert np.isnan(out).all()
    np.testing.assert_array_equal(places, [0, 0])


@wp.kernel
def inner(x: wp.array2d[float], out: wp.array[float]):
    t = wp.tile_load(x, (4, 9))
    wp.tile_store(out, wp.tile_dot(t, t + 1.0))


def test_inner_product():
    x = np.random.default_rng(5).normal(size=(4, 9)).astype(f32)
    _, out = results(inner, 1, x, np.zeros(1, f32))
    assert out[0] == total(x * (x + f32(1)))
