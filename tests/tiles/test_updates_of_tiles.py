"""Functions that change tiles: assignments, scatters, sums in place; and tiles of indices."""

import numpy as np

import omni.warp_core as wp
from tests.tiles.tile_runs import results

f32 = np.float32
X = np.arange(24, dtype=f32).reshape(4, 6)


@wp.kernel
def assigned(x: wp.array2d[float], n: int):
    t = wp.tile_load(x, (4, 6))
    wp.tile_assign(t, wp.tile_ones((2, 3), dtype=int), offset=(n, 1))
    wp.tile_assign(t[0], wp.tile_arange(2))
    wp.tile_axpy(3.0, wp.tile_ones(6), t[3])
    wp.tile_axpy(src=t, dest=t, alpha=1.0)
    wp.tile_store(x, t)


def test_assignments():
    n = 2
    found = results(assigned, 1, X, n)
    t = X.copy()
    t[n : n + 2, 1:4] = 1
    t[0, :2] = [0, 1]
    t[3] += 3
    np.testing.assert_array_equal(found, 2 * t)


@wp.kernel
def diagonal(x: wp.array2d[float], d: wp.array[float]):
    wp.tile_store(x, wp.tile_diag_add(wp.tile_load(x, (3, 3)), wp.tile_load(d, 3)))


def test_diagonal():
    x, d = np.arange(9, dtype=f32).reshape(3, 3), np.array([10, 20, 30], f32)
    found, _ = results(diagonal, 1, x, d)
    np.testing.assert_array_equal(found, x + np.diag(d))


@wp.kernel
def scattered(p: wp.array[int], sums: wp.array2d[float], picked: wp.array[int], bits: wp.array[int]):
    _, t = wp.tid()
    a = wp.tile_zeros((2, 3))
    wp.tile_scatter_add(a, p[t] % 2, p[t] % 3, float(t), p[t] >= 0)
    wp.tile_scatter_add(a, 1, 2, value=0.5, has_value=t < 4, atomic=True)
    b = wp.tile_full(32, -1, dtype=int)
    wp.tile_scatter_masked(b, 31 - t, p[t], p[t] > 3)
    c = wp.tile_zeros(2, dtype=int)
    wp.tile_add_inplace(c, t % 2, t)
    wp.tile_bit_or_inplace(c, 0, value=1)
    wp.tile_store(sums, a)
    wp.tile_store(picked, b)
    wp.tile_store(bits, c)


def test_scatters():
    p = np.random.default_rng(6).integers(-2, 8, 32).astype(np.int32)
    given = p, np.zeros((2, 3), f32), np.zeros(32, np.int32), np.zeros(2, np.int32)
    _, sums, picked, bits = results(scattered, 1, *given, block_dims=(32,))
    a, b = np.zeros((2, 3)), np.full(32, -1)
    for t, q in enumerate(p):
        if q >= 0:
            a[q % 2, q % 3] += t
        if q > 3:
            b[31 - t] = q
    a[1, 2] += 2
    np.testing.assert_array_equal(sums, a)
    np.testing.assert_array_equal(picked, b)
    np.testing.assert_array_equal(bits, [sum(range(0, 32, 2)) | 1, sum(range(1, 32, 2))])


@wp.kernel
def selected(x: wp.array2d[float], p: wp.array[int], rows: wp.array2d[float], columns: wp.array2d[float]):
    t = wp.tile_load(x, (4, 6))
    i = wp.tile_load(p, 3)
    r = t[i]
    t[0, 0] = 99.0
    wp.tile_store(rows, r)
    wp.tile_store(columns, t[:, i])
    wp.tile_store(columns, wp.tile_slice_indexed(t[0], i)[:1] + wp.tile_ones((1, 1)), offset=(0, 0))


def test_tiles_of_indices():
    p = np.array([3, -4, 1], np.int32)
    _, _, rows, columns = results(selected, 1, X, p, np.zeros((3, 6), f32), np.zeros((4, 3), f32))
    np.testing.assert_array_equal(rows, X[p])
    t = X.copy()
    t[0, 0] = 99
    wanted = t[:, p]
    wanted[0, 0] = t[0, p[0]] + 1
    np.testing.assert_array_equal(columns, wanted)


@wp.kernel
def chosen(x: wp.array[float], y: wp.array[float], out: wp.array2d[float]):
    a, b = wp.tile_load(x, 4), wp.tile_load(y, 4)
    wp.tile_store(out[0], wp.where(a > b, a, b))
    wp.tile_store(out[1], min(a, b))
    wp.tile_store(out[2], abs(a) + wp.tile_sum(b)[0])
    wp.tile_store(out[3], wp.add(a, b) + wp.neg(b))


def test_choices():
    x, y = np.array([1, -2, 3, -4], f32), np.array([0, 1, 5, -6], f32)
    *_, out = results(chosen, 1, x, y, np.zeros((4, 4), f32))
    np.testing.assert_array_equal(out, [np.maximum(x, y), np.minimum(x, y), abs(x) + y.sum(), x])
