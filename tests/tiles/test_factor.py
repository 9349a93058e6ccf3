"""Cholesky factors and solutions of triangular systems of tiles, judged by NumPy in float64."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.matrix_runs import UNIT, same_in_all_blocks

SIZES = [1, 2, 5, 16, 17, 32, 45]
KINDS = {wp.float32: np.float32, wp.float64: np.float64}


def positive(n, kind):
    a = np.random.default_rng(n).standard_normal((n, n))
    return (a @ a.T + n * np.eye(n)).astype(kind)


def factor_kernel(n, dtype, mode):
    @wp.kernel
    def factor(x: wp.array(dtype=dtype, ndim=2), y: wp.array(dtype=dtype, ndim=2)):
        a = wp.tile_load(x, (n, n))
        wp.tile_store(y, wp.tile_cholesky(a, fill_mode=mode))
        wp.tile_cholesky_inplace(a, fill_mode=mode)
        wp.tile_store(x, a)

    return factor


@pytest.mark.parametrize("mode", ["lower", "upper"])
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("n", SIZES)
def test_the_factor_is_numpys_and_the_other_triangle_is_not_read(n, dtype, mode):
    kind = KINDS[dtype]
    a = positive(n, kind)
    other = np.triu_indices(n, 1) if mode == "lower" else np.tril_indices(n, -1)
    given = a.copy()
    given[other] = np.nan
    blocks = (1, 32, 64, 100) if n in (5, 17) else (64,)
    in_place, found = same_in_all_blocks(factor_kernel(n, dtype, mode), (given, a), (dtype,) * 2, blocks)
    want = np.linalg.cholesky(a.astype(float))
    want = want if mode == "lower" else want.T
    np.testing.assert_allclose(found, want, atol=4 * n * UNIT[kind] * np.abs(want).max())
    assert not found[other].any()
    assert in_place.tobytes() == found.tobytes()


@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan])
def test_the_factor_is_nan_from_the_first_pivot_on_that_is_not_positive(pivot):
    a = np.eye(5)
    a[2, 2] = pivot
    for mode in ("lower", "upper"):
        found, _ = same_in_all_blocks(factor_kernel(5, wp.float64, mode), (a, a), (wp.float64,) * 2, (32,))
        triangle = np.tril(np.ones((5, 5))) if mode == "lower" else np.triu(np.ones((5, 5)))
        behind = np.maximum(*np.indices((5, 5))) >= 2
        np.testing.assert_array_equal(np.isnan(found[2:, 2:]), triangle[2:, 2:] > 0)
        np.testing.assert_array_equal(found[~behind], np.eye(5)[~behind])


def solve_kernel(n, sides, dtype, function, in_place, *mode):
    shape = (n, sides) if sides else (n,)

    @wp.kernel
    def solve(x: wp.array(dtype=dtype, ndim=2), y: wp.array(dtype=dtype, ndim=len(shape))):
        a, b = wp.tile_load(x, (n, n)), wp.tile_load(y, shape)
        wp.tile_store(y, function(a, b, *mode))

    @wp.kernel
    def solve_in_place(x: wp.array(dtype=dtype, ndim=2), y: wp.array(dtype=dtype, ndim=len(shape))):
        a, b = wp.tile_load(x, (n, n)), wp.tile_load(y, shape)
        in_place(a, b, *mode)
        wp.tile_store(y, b)

    return solve, solve_in_place


SOLVES = {
    "lower": (wp.tile_lower_solve, wp.tile_lower_solve_inplace, (), np.tril),
    "upper": (wp.tile_upper_solve, wp.tile_upper_solve_inplace, (), np.triu),
    "cholesky": (wp.tile_cholesky_solve, wp.tile_cholesky_solve_inplace, (), lambda a: np.tril(a) @ np.tril(a).T),
    "cholesky upper": (
        wp.tile_cholesky_solve,
        wp.tile_cholesky_solve_inplace,
        ("upper",),
        lambda a: np.triu(a).T @ np.triu(a),
    ),
}


@pytest.mark.parametrize("name", SOLVES)
@pytest.mark.parametrize(("n", "sides"), [(1, 0), (7, 0), (33, 0), (6, 1), (9, 3), (12, 8), (20, 33)])
def test_solutions_are_numpys_in_all_forms(n, sides, name):
    function, in_place, mode, matrix = SOLVES[name]
    rng = np.random.default_rng(n + sides)
    a = rng.standard_normal((n, n)) / n + np.eye(n)
    b = rng.standard_normal((n, sides) if sides else n)
    kernels = solve_kernel(n, sides, wp.float64, function, in_place, *mode)
    blocks = (1, 32, 64, 100) if n == 9 and "upper" in name else (64,)
    found, other = (same_in_all_blocks(k, (a, b), (wp.float64,) * 2, blocks)[1] for k in kernels)
    want = np.linalg.solve(matrix(a), b)
    np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-12)
    assert found.tobytes() == other.tobytes()


def test_float32_solves_to_its_precision():
    a = positive(24, np.float32)
    factor = np.linalg.cholesky(a.astype(float)).astype(np.float32)
    b = np.random.default_rng(1).standard_normal(24).astype(np.float32)
    functions = (wp.tile_cholesky_solve, wp.tile_cholesky_solve_inplace)
    kernel, _ = solve_kernel(24, 0, wp.float32, *functions)
    _, found = same_in_all_blocks(kernel, (factor, b), (wp.float32,) * 2)
    want = np.linalg.solve(a.astype(float), b)
    np.testing.assert_allclose(found, want, atol=100 * UNIT[np.float32] * np.abs(want).max())


def test_few_and_many_right_hand_sides_give_the_same_bits():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((11, 11)) / 11 + np.eye(11), rng.standard_normal((11, 16))
    functions = (wp.tile_lower_solve, wp.tile_lower_solve_inplace)
    many, _ = solve_kernel(11, 16, wp.float64, *functions)
    one, _ = solve_kernel(11, 0, wp.float64, *functions)
    _, found = same_in_all_blocks(many, (a, b), (wp.float64,) * 2, (64,))
    for side in range(16):
        _, alone = same_in_all_blocks(one, (a, b[:, side]), (wp.float64,) * 2, (64,))
        assert alone.tobytes() == found[:, side].tobytes()
