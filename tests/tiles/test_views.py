"""Tiles whose elements are arranged in another way: sections, transposed, broadcast, reshaped and squeezed ones."""

import numpy as np

import omni.warp_core as wp
from tests.tiles.tile_runs import results

f32 = np.float32
X = np.arange(24, dtype=f32).reshape(4, 6)


@wp.kernel
def sections(x: wp.array2d[float], n: int, rows: wp.array2d[float], blocks: wp.array3d[float]):
    t = wp.tile_load(x, (4, 6))
    wp.tile_store(rows[0], t[1])
    wp.tile_store(rows[1], t[-1, :])
    wp.tile_store(rows[2], wp.tile_view(t, offset=(n,)))
    wp.tile_store(rows[3], t[n - 3][::-1])
    wp.tile_store(rows[4], wp.tile_squeeze(t[2:3]))
    wp.tile_store(blocks[0], t[1:3, ::2])
    wp.tile_store(blocks[1], wp.tile_view(t, offset=(n, 1), shape=(2, 3)))
    wp.tile_store(blocks[2], t[1:][::2, 3:])
    wp.tile_store(blocks[3], t[:2, -1:-4:-1])


def test_sections():
    n = 2
    _, rows, blocks = results(sections, 1, X, n, np.zeros((5, 6), f32), np.zeros((4, 2, 3), f32))
    np.testing.assert_array_equal(rows, [X[1], X[-1], X[n], X[n - 3][::-1], X[2]])
    np.testing.assert_array_equal(blocks, [X[1:3, ::2], X[n : n + 2, 1:4], X[1:][::2, 3:], X[:2, -1:-4:-1]])


@wp.kernel
def arranged(x: wp.array2d[float], a: wp.array2d[float], b: wp.array3d[float], c: wp.array2d[float]):
    t = wp.tile_load(x, (4, 6))
    wp.tile_store(a, wp.tile_transpose(t))
    wp.tile_store(b, wp.tile_broadcast(t[0], (2, 3, 6)))
    wp.tile_store(c, wp.tile_reshape(wp.tile_transpose(t) + 0.0, (3, -1)))


def test_arrangements():
    _, a, b, c = results(arranged, 1, X, np.zeros((6, 4), f32), np.zeros((2, 3, 6), f32), np.zeros((3, 8), f32))
    np.testing.assert_array_equal(a, X.T)
    np.testing.assert_array_equal(b, np.broadcast_to(X[0], (2, 3, 6)))
    np.testing.assert_array_equal(c, X.T.reshape(3, -1))


@wp.kernel
def squeezed(x: wp.array4d[float], a: wp.array[float], b: wp.array2d[float], c: wp.array[float]):
    t = wp.tile_load(x, (1, 3, 1, 1))
    wp.tile_store(a, wp.tile_squeeze(t))
    wp.tile_store(b, wp.tile_squeeze(t, axis=(0, -1)))
    wp.tile_store(c, wp.tile_squeeze(t[:, 1]))


def test_squeezed():
    x = np.array([1, 2, 3], f32).reshape(1, 3, 1, 1)
    _, a, b, c = results(squeezed, 1, x, np.zeros(3, f32), np.zeros((3, 1), f32), np.zeros(1, f32))
    np.testing.assert_array_equal(a, [1, 2, 3])
    np.testing.assert_array_equal(b, [[1], [2], [3]])
    np.testing.assert_array_equal(c, [2])


@wp.kernel
def elements(x: wp.array2d[float], v: wp.array[wp.vec3], out: wp.array[float], n: int):
    t, u = wp.tile_load(x, (4, 6)), wp.tile_load(v, 2)
    out[0] = t[1, 2] + t[n, -1] + t[-n, n]
    out[1] = wp.tile_extract(t, n, 0)
    out[2] = u[1][2] + u[0].x
    out[3] = wp.tile_extract(u, 1, n)
    out[4] = wp.tile_transpose(t)[n, 3] + t[1:, 2][n]
    out[5] = float(t.shape[1] + len(t)) + t.dtype(0.5)


def test_elements():
    v, n = np.arange(6, dtype=f32).reshape(2, 3) + 50, 2
    _, _, out = results(elements, 1, X, v, np.zeros(6, f32), n)
    wanted = [X[1, 2] + X[n, -1] + X[-n, n], X[n, 0], v[1, 2] + v[0, 0], v[1, n], X[3, n] + X[1:, 2][n], 10.5]
    np.testing.assert_array_equal(out, wanted)
