"""Tile types in annotations."""

from typing import Any, TypeVar

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.lang.generics import N, Pattern
from omni.warp_core.lang.types import F32, F64, Tile, Vec
from tests.tiles.tile_runs import results

f32 = np.float32
T = TypeVar("T")


def test_annotations_name_types():
    assert wp.tile[float, 4, 8].__wc_type__ is Tile(F32, (4, 8))
    assert wp.tile(dtype=wp.vec3d, shape=5).__wc_type__ is Tile(Vec(3, F64), (5,))
    assert wp.tile[float, 4] == wp.tile(dtype=float, shape=(4,))
    assert wp.tile[Any, 4, N].__wc_type__.params[1:] == (4, N)
    assert isinstance(wp.tile[T, 4].__wc_type__, Pattern)
    assert repr(wp.tile[wp.vec3, 2, 3]) == "wp.tile[vec3f, 2, 3]"


@pytest.mark.parametrize("shape", [(), (1, 2, 3, 4, 5), (0,), (2.5,)])
def test_shapes_of_no_tile_are_refused(shape):
    with pytest.raises(ValueError):
        wp.tile(dtype=float, shape=shape)


def test_elements_are_no_arrays():
    with pytest.raises(TypeError, match="no arrays or tiles"):
        wp.tile(dtype=wp.array[float], shape=4)


def test_functions_on_tiles_work_in_kernels_only():
    with pytest.raises(RuntimeError, match="only inside a kernel"):
        wp.tile_zeros(4)
    with pytest.raises(RuntimeError, match="only inside a kernel"):
        wp.tile(3.0)


@wp.func
def fixed(t: wp.tile[float, 4]):
    return wp.tile_sum(t)


@wp.func
def by_call(t: wp.tile(dtype=float, shape=(4,)), by: float):
    return t * by


@wp.func
def generic(t: wp.tile[Any, 2, N]):
    return t[0] + t[1]


@wp.func
def any_type(t: Any):
    return t - t.dtype(1.0), len(t)


@wp.func
def of_one_type(t: T, u: T) -> T:
    return t + u


@wp.kernel
def through_functions(x: wp.array[float], out: wp.array2d[float]):
    t = wp.tile_load(x, 4)
    wp.tile_store(out[0], wp.tile_broadcast(fixed(t), (4,)))
    wp.tile_store(out[1], by_call(t, 3.0))
    wp.tile_store(out[2], wp.tile_broadcast(generic(wp.tile_reshape(t, (2, 2))), (2, 2))[0])
    less, n = any_type(t)
    wp.tile_store(out[3], of_one_type(less, t) * float(n))


def test_functions_take_tiles():
    x = np.array([1, 2, 3, 4], f32)
    _, out = results(through_functions, 1, x, np.zeros((4, 4), f32))
    np.testing.assert_array_equal(out, [[10] * 4, 3 * x, [4, 6, 0, 0], (2 * x - 1) * 4])
