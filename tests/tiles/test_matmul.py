"""Products of tiles, judged by NumPy in float64."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.matrix_runs import UNIT, same_in_all_blocks

SHAPES = [(1, 1, 1), (8, 8, 8), (5, 7, 3), (17, 9, 33), (64, 32, 48), (16, 1, 40), (1, 20, 1), (3, 40, 100)]
TYPES = {wp.float16: np.float16, wp.float32: np.float32, wp.float64: np.float64}


def factors(m, k, n, kind):
    rng = np.random.default_rng(m * 100 + n)
    return (rng.standard_normal(shape).astype(kind) for shape in ((m, k), (k, n), (m, n)))


def bound(a, b, c, sums, result):
    """What rounding may change: every addition in the type of the sums, and the result once."""
    size = np.abs(a.astype(float)) @ np.abs(b.astype(float)) + np.abs(c.astype(float))
    return ((a.shape[1] + 2) * UNIT[sums] + UNIT[result]) * size + 6e-8 * (result is np.float16)


def product_kernel(m, k, n, dtype):
    @wp.kernel
    def multiply(x: wp.array(dtype=dtype, ndim=2), y: wp.array(dtype=dtype, ndim=2), z: wp.array(dtype=dtype, ndim=2)):
        a, b = wp.tile_load(x, (m, k)), wp.tile_load(y, (k, n))
        wp.tile_store(z, wp.tile_matmul(a, b))

    return multiply


@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_of_floats_is_numpys_for_every_size_of_a_block(shape):
    a, b, c = factors(*shape, np.float32)
    *_, found = same_in_all_blocks(product_kernel(*shape, wp.float32), (a, b, c), (wp.float32,) * 3)
    assert (np.abs(found - a.astype(float) @ b) <= bound(a, b, 0 * c, np.float32, np.float32)).all()


@pytest.mark.parametrize("dtype", [wp.float16, wp.float64])
def test_a_product_has_the_type_of_its_factors(dtype):
    kind = TYPES[dtype]
    sums = np.float32 if kind is np.float16 else kind
    a, b, c = factors(12, 20, 10, kind)
    *_, found = same_in_all_blocks(product_kernel(12, 20, 10, dtype), (a, b, c), (dtype,) * 3, (1, 64))
    assert (np.abs(found - a.astype(float) @ b.astype(float)) <= bound(a, b, 0 * c, sums, kind)).all()


def test_half_precision_sums_in_single_and_rounds_once():
    a, b = np.full((1, 4096), 1.0, np.float16), np.full((4096, 1), 1.0, np.float16)
    *_, found = same_in_all_blocks(product_kernel(1, 4096, 1, wp.float16), (a, b, [[0.0]]), (wp.float16,) * 3, (32,))
    assert found[0, 0] == 4096.0  # sums of halves would stop at 2048


@wp.kernel
def in_bfloat16(x: wp.array2d(dtype=wp.bfloat16), y: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
    a = wp.tile_load(x, (6, 6))
    out = wp.tile_load(y, (6, 6))
    wp.tile_matmul(a, a, out)
    wp.tile_store(y, out)
    wp.tile_store(z, wp.tile_matmul(a, a))


def test_bfloat16_multiplies_into_float32():
    rounded = wp.array(np.random.default_rng(3).standard_normal((6, 6)), dtype=wp.bfloat16)
    y, z = wp.ones((6, 6), dtype=float), wp.zeros((6, 6), dtype=float)
    wp.launch_tiled(in_bfloat16, dim=1, inputs=[rounded, y, z], block_dim=32)
    a = np.array(rounded.list(), float).reshape(6, 6)
    np.testing.assert_allclose(z.numpy(), a @ a, atol=1e-5)
    np.testing.assert_allclose(y.numpy(), a @ a + 1.0, atol=1e-5)


def accumulating_kernel(m, k, n, dtype, alpha, beta):
    @wp.kernel
    def accumulate(
        x: wp.array(dtype=dtype, ndim=2), y: wp.array(dtype=dtype, ndim=2), z: wp.array(dtype=dtype, ndim=2)
    ):
        a, b, out = wp.tile_load(x, (m, k)), wp.tile_load(y, (k, n)), wp.tile_load(z, (m, n))
        wp.tile_matmul(a, b, out, alpha=alpha, beta=beta)
        wp.tile_store(z, out)

    return accumulate


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (2.0, 0.5), (-0.3, 1.0), (1.0, 0.0)])
def test_out_becomes_alpha_times_the_product_plus_beta_times_out(alpha, beta):
    a, b, c = factors(9, 21, 18, np.float64)
    kernel = accumulating_kernel(9, 21, 18, wp.float64, alpha, beta)
    *_, found = same_in_all_blocks(kernel, (a, b, c), (wp.float64,) * 3)
    np.testing.assert_allclose(found, alpha * a @ b + beta * c, rtol=1e-13, atol=1e-13)


def test_out_is_not_read_if_beta_is_zero():
    a, b, c = factors(4, 4, 4, np.float32)
    kernel = accumulating_kernel(4, 4, 4, wp.float32, 1.0, 0.0)
    *_, found = same_in_all_blocks(kernel, (a, b, np.full_like(c, np.nan)), (wp.float32,) * 3)
    np.testing.assert_allclose(found, a @ b, rtol=1e-5, atol=1e-5)


@wp.kernel
def with_factors(x: wp.array2d(dtype=float), z: wp.array2d(dtype=float), alpha: float, beta: float):
    a, out = wp.tile_load(x, (3, 3)), wp.tile_load(z, (3, 3))
    wp.tile_matmul(a, a, out, alpha, beta)
    wp.tile_store(z, out)
    wp.tile_store(x, wp.tile_matmul(a, a, alpha))


def test_factors_may_be_known_at_launch_only():
    x = np.arange(9.0).reshape(3, 3)
    a, c = wp.array(x, dtype=float), wp.array(np.full((3, 3), np.nan), dtype=float)
    wp.launch_tiled(with_factors, dim=1, inputs=[a, c, 2.0, 0.0], block_dim=32)
    np.testing.assert_array_equal(c.numpy(), 2.0 * x @ x)
    np.testing.assert_array_equal(a.numpy(), 2.0 * x @ x)


def test_sums_go_upwards_so_that_products_of_parts_give_the_same_bits():
    @wp.kernel
    def in_parts(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
        out = wp.tile_zeros((8, 24))
        for k in range(4):
            a = wp.tile_load(x, (8, 16), offset=(0, 16 * k))
            b = wp.tile_load(y, (16, 24), offset=(16 * k, 0))
            wp.tile_matmul(a, b, out)
        wp.tile_store(z, out)

    a, b, c = factors(8, 64, 24, np.float32)
    types = (wp.float32,) * 3
    *_, parts = same_in_all_blocks(in_parts, (a, b, c), types)
    *_, whole = same_in_all_blocks(product_kernel(8, 64, 24, wp.float32), (a, b, c), types)
    assert parts.tobytes() == whole.tobytes()


def test_the_operator_multiplies_matrices_also_transposed_ones():
    @wp.kernel
    def gram(x: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
        a = wp.tile_load(x, (5, 3))
        wp.tile_store(z, wp.tile_transpose(a) @ a)

    a = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    _, found = same_in_all_blocks(gram, (a, np.zeros((3, 3))), (wp.float32,) * 2)
    np.testing.assert_allclose(found, a.T.astype(float) @ a, rtol=1e-5, atol=1e-5)


def test_infinities_and_nan_spread_as_in_numpy():
    a, b, c = factors(4, 4, 4, np.float32)
    a[1, 2], b[0, 3] = np.inf, np.nan
    *_, found = same_in_all_blocks(product_kernel(4, 4, 4, wp.float32), (a, b, c), (wp.float32,) * 3)
    with np.errstate(invalid="ignore"):
        want = a @ b
    np.testing.assert_array_equal(np.isnan(found), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(want))
