"""Tiles of constants and of values of threads, and what functions make of their elements."""

from typing import Any

import numpy as np

import omni.warp_core as wp
from tests.tiles.tile_runs import results

f32 = np.float32


@wp.kernel
def constants(out: wp.array2d[float], whole: wp.array[int], value: float):
    wp.tile_store(out, wp.tile_zeros((1, 4)))
    wp.tile_store(out, wp.tile_ones((1, 4), storage="shared"), offset=(1, 0))
    wp.tile_store(out, wp.tile_full((1, 4), value), offset=(2, 0))
    wp.tile_store(out, wp.tile_full(shape=(1, 4), value=7, dtype=float), offset=(3, 0))
    wp.tile_store(whole, wp.tile_arange(2, 12, 3, dtype=int))


def test_constants():
    out, whole = results(constants, 1, np.full((4, 4), 9, f32), np.zeros(4, np.int32), 2.5)
    np.testing.assert_array_equal(out, np.repeat(np.array([0, 1, 2.5, 7], f32), 4).reshape(4, 4))
    np.testing.assert_array_equal(whole, np.arange(2, 12, 3))


@wp.kernel
def ranges(out: wp.array2d[float]):
    wp.tile_store(out, wp.tile_reshape(wp.tile_arange(5), (1, 5)))
    wp.tile_store(out, wp.tile_reshape(wp.tile_arange(0.0, 1.0, 0.2), (1, 5)), offset=(1, 0))
    wp.tile_store(out, wp.tile_reshape(wp.tile_arange(4, -1, -1), (1, 5)), offset=(2, 0))


def test_ranges():
    found = results(ranges, 1, np.zeros((3, 5), f32))
    step = f32(0.2)
    np.testing.assert_array_equal(found, [np.arange(5), np.arange(5, dtype=f32) * step, np.arange(4, -1, -1)])


@wp.kernel
def ones_of_types(v: wp.array[wp.vec3], m: wp.array[wp.mat22], q: wp.array[wp.quat]):
    wp.tile_store(v, wp.tile_ones(2, dtype=wp.vec3))
    wp.tile_store(m, wp.tile_ones(2, dtype=wp.mat22))
    wp.tile_store(q, wp.tile_ones(2, dtype=wp.quat))


def test_ones_of_types():
    v, m, q = results(ones_of_types, 1, np.zeros((2, 3), f32), np.zeros((2, 2, 2), f32), np.zeros((2, 4), f32))
    assert (v == 1).all() and (m == 1).all()
    np.testing.assert_array_equal(q, [[1, 0, 0, 0]] * 2)


@wp.kernel
def of_threads(out: wp.array2d[float], parts: wp.array2d[float], back: wp.array[float]):
    i, t = wp.tid()
    x = float(t * t + i)
    wp.tile_store(out, wp.tile_reshape(wp.tile(x), (1, wp.block_dim())), offset=(i, 0))
    v = wp.vec2(x, 1.0 - x)
    split = wp.tile(v)
    wp.tile_store(parts, split)
    again = wp.untile(split)
    whole = wp.untile(wp.tile(v, preserve_type=True))
    back[t] = again[1] + whole[0]


def test_values_of_threads():
    for n in (1, 32):
        x = np.arange(n, dtype=f32) ** 2
        given = np.zeros((2, n), f32), np.zeros((2, n), f32), np.zeros(n, f32)
        out, parts, back = results(of_threads, 2, *given, block_dims=(n,))
        np.testing.assert_array_equal(out, [x, x + 1])
        np.testing.assert_array_equal(parts, [x + 1, 1 - (x + 1)])
        np.testing.assert_array_equal(back, np.ones(n))


@wp.kernel
def matrices_of_threads(out: wp.array3d[float], sums: wp.array[float]):
    _, t = wp.tid()
    m = wp.mat22(float(t), 2.0, 3.0, 4.0)
    wp.tile_store(out, wp.tile(m))
    n = wp.untile(wp.tile(m) * 2.0)
    sums[t] = n[0, 0] + n[1, 0]


def test_matrices_of_threads():
    out, sums = results(matrices_of_threads, 1, np.zeros((2, 2, 32), f32), np.zeros(32, f32), block_dims=(32,))
    np.testing.assert_array_equal(out[0, 0], np.arange(32))
    np.testing.assert_array_equal(out[1, 1], np.full(32, 4))
    np.testing.assert_array_equal(sums, 2 * np.arange(32) + 6)


@wp.func
def weighted(x: float, y: float, by: float):
    return wp.vec2(x * by, y)


@wp.kernel
def mapped(x: wp.array[float], out: wp.array[float], pairs: wp.array[wp.vec2], by: float):
    a = wp.tile_load(x, 4)
    wp.tile_store(out, wp.tile_map(wp.sqrt, a))
    wp.tile_store(out, wp.tile_map(wp.add, a, 3.0), offset=4)
    wp.tile_store(out, wp.tile_map(lambda u: u * u, a), offset=8)
    wp.tile_store(pairs, wp.tile_map(weighted, a, a + a, by))


def test_maps():
    x = np.array([1, 4, 9, 2], f32)
    _, out, pairs = results(mapped, 1, x, np.zeros(12, f32), np.zeros((4, 2), f32), 0.5)
    np.testing.assert_array_equal(out, np.concatenate([np.sqrt(x), x + 3, x * x]))
    np.testing.assert_array_equal(pairs, np.stack([x * f32(0.5), x + x], 1))


@wp.kernel
def converted(x: wp.array[float], whole: wp.array[int], wide: wp.array[wp.float64]):
    a = wp.tile_load(x, 4)
    wp.tile_store(whole, wp.tile_astype(a, int))
    wp.tile_store(wide, wp.tile_astype(a, dtype=wp.float64) * wp.float64(0.1))


def test_conversions():
    x = np.array([1.75, -4.5, 9, 0.1], f32)
    _, whole, wide = results(converted, 1, x, np.zeros(4, np.int32), np.zeros(4))
    np.testing.assert_array_equal(whole, x.astype(int))
    np.testing.assert_array_equal(wide, x.astype(float) * 0.1)


@wp.kernel
def random_numbers(whole: wp.array2d[int], fractions: wp.array[float], small: wp.array[int], seed: int):
    state = wp.rand_init(seed)
    wp.tile_store(whole, wp.tile_randi((3, 5), state))
    wp.tile_store(fractions, wp.tile_randf(7, rng=state, min=2.0, max=3.0))
    wp.tile_store(small, wp.tile_randi(2, state, 0, 100))


def drawn(count, block_dim, seed, function, *bounds):
    """The numbers that the threads of a block draw, each from a state of its own."""
    out, states = [], {}
    for e in range(count):
        thread = e % block_dim
        if thread not in states:
            states[thread] = _advanced(wp.uint32(int(wp.rand_init(seed)) + thread))
        out.append(function(states[thread], *bounds))
        states[thread] = _advanced(states[thread])
    return np.array(out)


def _advanced(state):
    """PCG-RXS-M-XS, as randi draws it."""
    b = (int(state) * 747796405 + 2891336453) & 0xFFFFFFFF
    c = (((b >> ((b >> 28) + 4)) ^ b) * 277803737) & 0xFFFFFFFF
    return wp.uint32((c >> 22) ^ c)


def test_random_numbers():
    for block_dim in (1, 4, 32):
        given = np.zeros((3, 5), np.int32), np.zeros(7, f32), np.zeros(2, np.int32)
        whole, fractions, small = results(random_numbers, 1, *given, 11, block_dims=(block_dim,))
        np.testing.assert_array_equal(whole.ravel(), drawn(15, block_dim, 11, wp.randi))
        np.testing.assert_array_equal(fractions, drawn(7, block_dim, 11, wp.randf, 2.0, 3.0).astype(f32))
        np.testing.assert_array_equal(small, drawn(2, block_dim, 11, wp.randi, 0, 100))


@wp.kernel
def one_thread(out: wp.array2d[int], n: int):
    i, t = wp.tid()
    wp.tile_store(out, wp.tile_from_thread((2, 3), 10 * t + i, n), offset=(2 * i, 0))


def test_value_of_one_thread():
    out = results(one_thread, 2, np.zeros((4, 3), np.int32), 3, block_dims=(32,))
    np.testing.assert_array_equal(out, [[30] * 3] * 2 + [[31] * 3] * 2)


@wp.struct
class Pair:
    a: float
    b: wp.vec3


@wp.kernel
def structs(x: wp.array[Pair], out: wp.array[float]):
    t = wp.tile_load(x, 3)
    u = t[1]
    out[0] = u.a + t[2].b[1]
    u.a = 9.0
    t[0] = u
    t[2].b = wp.vec3(7.0, 8.0, 9.0)
    t[2].a += 1.0
    wp.tile_store(x, t)


def test_structs():
    x, out = wp.zeros(3, dtype=Pair), wp.zeros(1, dtype=float)
    for block_dim in (1, 32):
        x.assign([Pair(), Pair(), Pair()])
        rows = x.numpy()
        rows["a"], rows["b"][2] = [1, 2, 3], [4, 5, 6]
        x.assign(rows)
        wp.launch_tiled(structs, 1, [x, out], block_dim=block_dim)
        np.testing.assert_array_equal(x.numpy()["a"], [9, 2, 4])
        np.testing.assert_array_equal(x.numpy()["b"], [[0, 0, 0], [0, 0, 0], [7, 8, 9]])
        assert out.numpy()[0] == 2 + 5


@wp.kernel
def of_any_type(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    t = wp.tile_load(x, shape=wp.static(2 * 2))
    wp.tile_store(y, t * t.dtype(2) + t)


def test_generic_kernels():
    for t in (int, wp.int64, wp.uint8, float, wp.float16, wp.float64):
        x, y = wp.array([1, 2, 3, 4], dtype=t), wp.zeros(4, dtype=t)
        wp.launch_tiled(of_any_type, 1, [x, y], block_dim=32)
        np.testing.assert_array_equal(y.numpy(), [3, 6, 9, 12])
