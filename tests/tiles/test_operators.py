"""Operators on tiles, element by element."""

import numpy as np

import omni.warp_core as wp
from tests.tiles.tile_runs import results

f32 = np.float32


@wp.kernel
def arithmetic(x: wp.array[float], y: wp.array[float], out: wp.array2d[float], s: float):
    a, b = wp.tile_load(x, 8), wp.tile_load(y, 8)
    wp.tile_store(out[0], a + b)
    wp.tile_store(out[1], a - b)
    wp.tile_store(out[2], a * b)
    wp.tile_store(out[3], a / b)
    wp.tile_store(out[4], -a)
    wp.tile_store(out[5], a * 2.0 + s)
    wp.tile_store(out[6], s / a - 1.0)
    wp.tile_store(out[7], a // b)
    wp.tile_store(out[8], a % b)
    wp.tile_store(out[9], a**2.0)


def test_arithmetic():
    x, y = np.linspace(-3, 5, 8, dtype=f32), np.linspace(1, 2, 8, dtype=f32)
    s = f32(0.75)
    *_, out = results(arithmetic, 1, x, y, np.zeros((10, 8), f32), 0.75)
    wanted = [x + y, x - y, x * y, x / y, -x, x * 2 + s, s / x - f32(1), np.floor(x / y), np.fmod(x, y), x * x]
    np.testing.assert_allclose(out, np.array(wanted, f32), rtol=1e-6)


@wp.kernel
def bits(x: wp.array[int], out: wp.array2d[int]):
    a = wp.tile_load(x, 8)
    b = wp.tile_arange(8, dtype=int)
    wp.tile_store(out[0], a & b)
    wp.tile_store(out[1], a | 4)
    wp.tile_store(out[2], a ^ b)
    wp.tile_store(out[3], ~a)
    wp.tile_store(out[4], a << 1)


def test_bits():
    x, b = np.array([5, 1, -7, 12, 0, 9, 3, 100], np.int32), np.arange(8, dtype=np.int32)
    _, out = results(bits, 1, x, np.zeros((5, 8), np.int32))
    np.testing.assert_array_equal(out, [x & b, x | 4, x ^ b, ~x, x << 1])


@wp.kernel
def comparisons(x: wp.array[float], out: wp.array2d[int]):
    a = wp.tile_load(x, 4)
    wp.tile_store(out[0], wp.tile_astype(a > 0.0, int))
    wp.tile_store(out[1], wp.tile_astype(a == -a, int))
    wp.tile_store(out[2], wp.tile_astype(a <= 1.0, int))
    wp.tile_store(out[3], wp.tile_astype((a > -1.0) & ~(a > 1.0) | (a == 3.0), int))


def test_comparisons():
    x = np.array([0, -1, 1, 3], f32)
    _, out = results(comparisons, 1, x, np.zeros((4, 4), np.int32))
    np.testing.assert_array_equal(out, [x > 0, x == -x, x <= 1, (x > -1) & ~(x > 1) | (x == 3)])


@wp.kernel
def broadcasting(x: wp.array[float], out: wp.array2d[float]):
    row = wp.tile_load(x, 4)
    column = wp.tile_reshape(wp.tile_load(x, 3), (3, 1))
    wp.tile_store(out, column * 10.0 + row)


def test_broadcasting():
    x = np.array([1, 2, 3, 4], f32)
    _, out = results(broadcasting, 1, x, np.zeros((3, 4), f32))
    np.testing.assert_array_equal(out, x[:3, None] * 10 + x)


@wp.kernel
def functions(x: wp.array[float], v: wp.array[wp.vec3], out: wp.array2d[float]):
    a = wp.tile_load(x, 4)
    wp.tile_store(out[0], wp.sin(a))
    wp.tile_store(out[1], wp.max(a, 0.5))
    wp.tile_store(out[2], wp.length(wp.tile_load(v, 4)))
    wp.tile_store(out[3], wp.clamp(a, -1.0, 1.0))


def test_functions_of_the_language():
    x, v = np.array([-2, 0.25, 1, 3], f32), np.arange(12, dtype=f32).reshape(4, 3)
    *_, out = results(functions, 1, x, v, np.zeros((4, 4), f32))
    wanted = [np.sin(x), np.maximum(x, 0.5), np.linalg.norm(v, axis=1), np.clip(x, -1, 1)]
    np.testing.assert_allclose(out, np.array(wanted), rtol=1e-6)


@wp.kernel
def vectors(v: wp.array[wp.vec2], x: wp.array[float], out: wp.array2d[wp.vec2]):
    a, s = wp.tile_load(v, 4), wp.tile_load(x, 4)
    wp.tile_store(out[0], a * s)
    wp.tile_store(out[1], s * a)
    wp.tile_store(out[2], a + wp.vec2(1.0, 2.0))
    wp.tile_store(out[3], 2.0 * a)


def test_vectors_and_numbers():
    v, x = np.arange(8, dtype=f32).reshape(4, 2), np.array([1, 2, 3, 4], f32)
    *_, out = results(vectors, 1, v, x, np.zeros((4, 4, 2), f32))
    np.testing.assert_array_equal(out, [v * x[:, None], v * x[:, None], v + np.array([1, 2]), 2 * v])
