"""Loads, stores and additions of tiles: offsets, bounds, strides, indices."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.tile_runs import results

f32 = np.float32


@wp.kernel
def moved(x: wp.array2d[float], y: wp.array2d[float], row: int, column: int):
    t = wp.tile_load(x, shape=(3, 4), offset=(row, column))
    wp.tile_store(y, t + 100.0, offset=(row, column))


def test_what_is_outside_is_zero_and_left_alone():
    x = np.arange(30, dtype=f32).reshape(5, 6)
    for row, column in ((1, 1), (-1, 2), (3, -2), (9, 0)):
        _, y = results(moved, 1, x, np.zeros((5, 6), f32), row, column)
        wanted = np.zeros((5, 6), f32)
        r, c = slice(max(0, row), max(0, row + 3)), slice(max(0, column), column + 4)
        wanted[r, c] = x[r, c] + 100
        np.testing.assert_array_equal(y, wanted)


@wp.kernel
def shown(x: wp.array[float], y: wp.array[float]):
    wp.tile_store(y, wp.tile_load(x, 6, offset=-2))


def test_loads_outside_give_zero():
    _, y = results(shown, 1, np.array([1, 2, 3], f32), np.full(6, 9, f32))
    np.testing.assert_array_equal(y, [0, 0, 1, 2, 3, 0])


@wp.kernel
def rows(x: wp.array2d[float], y: wp.array2d[float]):
    i, _ = wp.tid()
    wp.tile_store(y[i], wp.tile_load(x[i], 8, bounds_check=False) + wp.tile_load(x[i, ::-1], 8, aligned=False))


def test_rows_and_strides():
    x = np.arange(24, dtype=f32).reshape(3, 8)
    _, y = results(rows, 3, x, np.zeros((3, 8), f32))
    np.testing.assert_array_equal(y, x + x[:, ::-1])


@wp.kernel
def four_dimensions(x: wp.array4d[float], y: wp.array4d[float]):
    wp.tile_store(y, 2.0 * wp.tile_load(x, (2, 1, 3, 2), offset=(0, 1, 0, 0)), offset=(0, 1, 0, 0))


def test_four_dimensions():
    x = np.arange(24, dtype=f32).reshape(2, 2, 3, 2)
    _, y = results(four_dimensions, 1, x, np.zeros_like(x))
    x[:, 0] = 0
    np.testing.assert_array_equal(y, 2 * x)


@wp.kernel
def added(x: wp.array[float], sums: wp.array[float], before: wp.array[float]):
    i, _ = wp.tid()
    wp.tile_atomic_add(sums, wp.tile_load(x, 4, offset=4 * i))
    if i == 2:
        old = wp.tile_atomic_add(sums, wp.tile_ones(6), offset=-1)
        wp.tile_store(before, old)


def test_additions():
    x = np.arange(12, dtype=f32)
    _, sums, before = results(added, 3, x, np.zeros(4, f32), np.full(6, 9, f32))
    total = x.reshape(3, 4).sum(0)
    np.testing.assert_array_equal(sums, total + 1)
    np.testing.assert_array_equal(before, [0, *total, 0])


@wp.kernel
def vectors(x: wp.array[wp.vec3], y: wp.array[wp.vec3], m: wp.array[wp.mat22]):
    t = wp.tile_load(x, 4)
    wp.tile_store(y, t * 2.0 - t / 4.0)
    wp.tile_atomic_add(y, t, offset=1)
    wp.tile_store(m, -wp.tile_load(m, 2))


def test_vectors():
    x = np.arange(12, dtype=f32).reshape(4, 3)
    _, y, m = results(vectors, 1, x, np.zeros((4, 3), f32), np.ones((2, 2, 2), f32))
    wanted = x * 2 - x / 4
    wanted[1:] += x[:-1]
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(m, -np.ones((2, 2, 2)))


@wp.kernel
def selected(x: wp.array2d[float], places: wp.array[int], y: wp.array2d[float], z: wp.array2d[float]):
    p = wp.tile_load(places, 3)
    t = wp.tile_load_indexed(x, p, shape=(3, 2), offset=(1, 1))
    wp.tile_store(y, t)
    wp.tile_store_indexed(z, p, wp.tile_transpose(t), axis=1)
    wp.tile_atomic_add_indexed(z, indices=p, t=t, axis=0)


def test_indices():
    x, places = np.arange(15, dtype=f32).reshape(5, 3), np.array([3, -1, 4], np.int32)
    _, _, y, z = results(selected, 1, x, places, np.zeros((3, 2), f32), np.zeros((5, 5), f32))
    t = np.zeros((3, 2), f32)
    for k, p in enumerate(places + 1):
        t[k] = x[p, 1:3] if p < 5 else 0
    np.testing.assert_array_equal(y, t)
    wanted = np.zeros((5, 5), f32)
    for k, p in enumerate(places):
        if p >= 0:
            wanted[0:2, p] = t[k]
    for k, p in enumerate(places):
        if p >= 0:
            wanted[p, :2] += t[k]
    np.testing.assert_array_equal(z, wanted)


def _large_function(store):
    """A function that is too large to be inlined at two calls."""
    cases = "\n".join(
        f"    if x[i + {j}] > 0:\n        v = wp.vec4i(x[i + {j}], v[0], v[1], v[2])" for j in range(1, 40)
    )
    text = f"""
import omni.warp_core as wp

@wp.func
def pick(x: wp.array[int], i: int):
    v = wp.vec4i(x[i], -1, -1, -1)
{cases}
    {store}
    return v

@wp.kernel
def k(x: wp.array[int], rows: wp.array2d[float], out: wp.array2d[float]):
    b = wp.tid()
    v = pick(x, b)
    w = pick(x, b + 1)
    wp.tile_store(out[b], wp.tile_load(rows[v[0]], shape=8) + wp.tile_load(rows[w[0]], shape=8))
"""
    space: dict = {}
    wp.kernel_from_source(text, namespace=space)
    return space["k"]


@pytest.mark.parametrize("effect", ["pass", "if x[i] > 9:\n        print(i)"])
def test_functions_give_all_threads_of_a_block_what_they_read(effect):
    x, rows = np.zeros(64, np.int32), np.arange(32, dtype=np.float32).reshape(4, 8)
    x[0] = 2
    out = wp.zeros((1, 8), dtype=float)
    wp.launch_tiled(_large_function(effect), dim=[1], inputs=[wp.array(x), wp.array(rows), out], block_dim=32)
    np.testing.assert_array_equal(out.numpy()[0], rows[2] + rows[0])


def test_functions_that_write_what_they_read_are_refused():
    x, rows, out = wp.zeros(64, dtype=int), wp.zeros((4, 8), dtype=float), wp.zeros((1, 8), dtype=float)
    with pytest.raises(wp.CompileError, match="differs between the threads of a block"):
        wp.launch_tiled(_large_function("x[i] = 3"), dim=[1], inputs=[x, rows, out], block_dim=32)
