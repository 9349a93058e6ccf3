"""Fourier transforms of tiles, judged by NumPy in float64."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.matrix_runs import UNIT, same_in_all_blocks

SMOOTH = [1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 35, 49, 60, 64, 100, 128, 210, 1000, 1024]
OTHERS = [11, 13, 22, 37, 97, 101, 131]
COMPLEX = {wp.float32: (wp.vec2f, np.float32), wp.float64: (wp.vec2d, np.float64)}


def transform_kernel(shape, dtype, inverse=False):
    @wp.kernel
    def transform(x: wp.array(dtype=dtype, ndim=len(shape))):
        rows = wp.tile_load(x, shape)
        if wp.static(inverse):
            wp.tile_ifft(rows)
        else:
            wp.tile_fft(rows)
        wp.tile_store(x, rows)

    return transform


def numbers(shape, kind):
    return np.random.default_rng(sum(shape)).standard_normal((*shape, 2)).astype(kind)


def as_complex(pairs):
    return pairs[..., 0].astype(float) + 1j * pairs[..., 1]


def check(found, given, inverse, kind):
    """The error that rounding may make grows with the number of passes; it is counted in the size of the result."""
    z = as_complex(given)
    n = z.shape[-1]
    want = np.fft.ifft(z) * n if inverse else np.fft.fft(z)
    size = np.sqrt(np.mean(np.abs(want) ** 2))
    assert np.abs(as_complex(found) - want).max() <= 4.0 * (2 + np.log2(n)) * UNIT[kind] * size


@pytest.mark.parametrize("n", SMOOTH + OTHERS)
def test_a_transform_is_numpys_for_every_size_of_a_block(n):
    given = numbers((n,), np.float32)
    blocks = (1, 32, 64, 100) if n in (1, 7, 60, 64, 101) else (64,)
    (found,) = same_in_all_blocks(transform_kernel((n,), wp.vec2f), (given,), (wp.vec2f,), blocks)
    check(found, given, False, np.float32)


@pytest.mark.parametrize("scalar", [wp.float32, wp.float64])
@pytest.mark.parametrize("n", [8, 30, 22, 1])
def test_inverse_transforms_are_not_divided_by_the_length(n, scalar):
    dtype, kind = COMPLEX[scalar]
    given = numbers((n,), kind)
    (found,) = same_in_all_blocks(transform_kernel((n,), dtype, True), (given,), (dtype,), (1, 64))
    check(found, given, True, kind)


@pytest.mark.parametrize("shape", [(3, 16), (2, 3, 10), (2, 2, 2, 13), (40, 6)])
def test_every_row_along_the_last_axis_is_transformed(shape):
    given = numbers(shape, np.float64)
    (found,) = same_in_all_blocks(transform_kernel(shape, wp.vec2d), (given,), (wp.vec2d,), (1, 32, 100))
    check(found, given, False, np.float64)


@pytest.mark.parametrize("n", [256, 243, 134])
def test_a_transform_and_its_inverse_multiply_by_the_length(n):
    @wp.kernel
    def there_and_back(x: wp.array(dtype=wp.vec2d)):
        row = wp.tile_load(x, n)
        wp.tile_fft(row)
        wp.tile_ifft(row)
        wp.tile_store(x, row)

    given = numbers((n,), np.float64)
    (found,) = same_in_all_blocks(there_and_back, (given,), (wp.vec2d,), (64,))
    np.testing.assert_allclose(found, n * given, atol=1e-12 * n)


def test_a_copy_keeps_the_numbers_of_before():
    @wp.kernel
    def keep(x: wp.array(dtype=wp.vec2f), y: wp.array(dtype=wp.vec2f)):
        row = wp.tile_load(x, 6)
        copy = row
        wp.tile_fft(row)
        wp.tile_store(x, copy)
        wp.tile_store(y, row)

    given = numbers((6,), np.float32)
    kept, found = same_in_all_blocks(keep, (given, 0 * given), (wp.vec2f,) * 2)
    np.testing.assert_array_equal(kept, given)
    check(found, given, False, np.float32)


def test_a_view_and_a_tile_of_a_loop_are_transformed_in_place():
    @wp.kernel
    def middle(x: wp.array2d(dtype=wp.vec2d), times: int):
        rows = wp.tile_load(x, (3, 6))
        for _k in range(times):
            wp.tile_fft(rows[1])
        if times > 1:
            wp.tile_ifft(rows[2])
        wp.tile_store(x, rows)

    given = numbers((3, 6), np.float64)
    x = wp.array(given, dtype=wp.vec2d)
    wp.launch_tiled(middle, dim=1, inputs=[x, 3], block_dim=32)
    z = as_complex(given)
    want = [z[0], np.fft.fft(np.fft.fft(np.fft.fft(z[1]))), 6 * np.fft.ifft(z[2])]
    np.testing.assert_allclose(as_complex(x.numpy()), want, atol=1e-11)


@wp.func
def spectrum(row: wp.tile[wp.vec2d, 6]):
    wp.tile_fft(row)


def test_a_function_transforms_the_tile_of_its_caller():
    @wp.kernel
    def transform(x: wp.array(dtype=wp.vec2d)):
        row = wp.tile_load(x, 6)
        spectrum(row)
        wp.tile_store(x, row)

    given = numbers((6,), np.float64)
    (found,) = same_in_all_blocks(transform, (given,), (wp.vec2d,))
    check(found, given, False, np.float64)
