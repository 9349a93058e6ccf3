"""Gradients of the library's algorithms on tiles."""

import numpy as np

import omni.warp_core as wp
from tests.tiles.gradients.gradient_runs import judge, normal

F = wp.float64
Vector = wp.array[wp.float64]
Matrix = wp.array2d[wp.float64]


@wp.kernel
def products(a: Matrix, b: Matrix, factors: Vector, out: Matrix):
    x = wp.tile_load(a, shape=(3, 4))
    y = wp.tile_load(b, shape=(4, 2))
    z = wp.tile_matmul(x, y)
    sums = wp.tile_load(out, shape=(3, 2))
    wp.tile_matmul(x * x, y, sums, alpha=factors[0], beta=factors[1])
    wp.tile_store(out, sums * z)


def test_products_with_factors():
    judge(products, 1, normal(3, 4), normal(4, 2), np.array([0.7, -1.3]), normal(3, 2))


@wp.kernel
def blocked(a: Matrix, b: Matrix, n: int, out: Matrix):
    i, j = wp.tid()
    acc = wp.tile_zeros(shape=(2, 2), dtype=F)
    for k in range(n):
        x = wp.tile_load(a, shape=(2, 2), offset=(2 * i, 2 * k))
        y = wp.tile_load(b, shape=(2, 2), offset=(2 * k, 2 * j))
        wp.tile_matmul(x, y, acc)
    wp.tile_store(out, acc * acc, offset=(2 * i, 2 * j))


def test_a_product_of_blocks_in_a_loop():
    judge(blocked, (2, 2), normal(4, 6), normal(6, 4), 3, np.zeros((4, 4)))


@wp.kernel
def transforms(a: wp.array2d[wp.vec2d], out: wp.array2d[wp.vec2d]):
    x = wp.tile_load(a, shape=(2, 6))
    y = x * F(2.0)
    wp.tile_fft(x)
    wp.tile_ifft(y)
    wp.tile_store(out, wp.tile_map(wp.cw_mul, x, y))


def test_fourier_transforms():
    judge(transforms, 1, normal(2, 6, 2), np.zeros((2, 6, 2)))


@wp.kernel
def scans(a: Matrix, out: Matrix):
    x = wp.tile_load(a, shape=(3, 4))
    y = wp.tile_scan_inclusive(x) * wp.tile_scan_exclusive(x)
    wp.tile_store(out, y + wp.tile_scan_max_inclusive(x) * wp.tile_scan_min_inclusive(x))


def test_scans():
    judge(scans, 1, normal(3, 4), np.zeros((3, 4)))


@wp.kernel
def sorted_pairs(a: Vector, b: Vector, out: Vector):
    keys, values = wp.tile_load(a, shape=7), wp.tile_load(b, shape=7)
    wp.tile_sort(keys, values)
    wp.tile_store(out, keys * values * values)


def test_sorted_keys_and_values():
    judge(sorted_pairs, 1, normal(7), normal(7, seed=1), np.zeros(7))


def _positive(n):
    x = normal(n, n)
    return x @ x.T + n * np.eye(n)


@wp.kernel
def factors(a: Matrix, b: Vector, lower: Matrix, upper: Matrix, out: Vector):
    x, y = wp.tile_load(a, shape=(4, 4)), wp.tile_load(b, shape=4)
    first = wp.tile_cholesky(x)
    second = wp.tile_cholesky(x, fill_mode="upper")
    wp.tile_store(lower, first * first)
    wp.tile_store(upper, second * second)
    wp.tile_store(out, wp.tile_cholesky_solve(first, y) * y + wp.tile_cholesky_solve(second, y, fill_mode="upper"))


def test_factors_and_solutions():
    judge(factors, 1, _positive(4), normal(4), np.zeros((4, 4)), np.zeros((4, 4)), np.zeros(4))


@wp.kernel
def triangles(a: Matrix, b: Matrix, out: Matrix):
    x, y = wp.tile_load(a, shape=(3, 3)), wp.tile_load(b, shape=(3, 2))
    wp.tile_store(out, wp.tile_lower_solve(x, y) * wp.tile_upper_solve(x, y))


def test_triangular_systems():
    judge(triangles, 1, normal(3, 3) + 3.0 * np.eye(3), normal(3, 2), np.zeros((3, 2)))
