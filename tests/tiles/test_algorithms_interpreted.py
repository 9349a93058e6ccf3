"""The IR interpreter, which reports races, computes the same bits with algorithms over tiles as compiled kernels do."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.test_factor import factor_kernel, positive, solve_kernel
from tests.tiles.test_fft import numbers, transform_kernel
from tests.tiles.test_matmul import accumulating_kernel, factors, product_kernel
from tests.tiles.test_sort_scan import scan_kernel, sort_kernel
from tests.tiles.tile_runs import interpreted, launched

SOLVE = (wp.tile_cholesky_solve, wp.tile_cholesky_solve_inplace)


def cases():
    """(name, kernel, inputs)."""
    single = np.float32
    yield "product", product_kernel(5, 7, 9, wp.float32), factors(5, 7, 9, single)
    yield "sum of products", accumulating_kernel(9, 3, 2, wp.float64, 2.0, 3.0), factors(9, 3, 2, np.float64)
    for n in (12, 11):
        yield f"transform of {n}", transform_kernel((2, n), wp.vec2f), [numbers((2, n), single)]
    yield "factor", factor_kernel(5, wp.float32, "lower"), [positive(5, single)] * 2
    for sides in (0, 3, 9):
        shape = (5, sides) if sides else (5,)
        kernel, _ = solve_kernel(5, sides, wp.float32, *SOLVE)
        yield f"solution for {sides}", kernel, [positive(5, single), np.ones(shape, single)]
    keys = np.random.default_rng(3).integers(0, 9, 70).astype(single)
    yield "sort", sort_kernel((70,), wp.float32), [keys, np.arange(70, dtype=np.int32)]
    yield "scan", scan_kernel((70,), wp.float32, wp.tile_scan_exclusive), [keys / 7, 0 * keys]


CASES = {name: (kernel, list(inputs)) for name, kernel, inputs in cases()}


@pytest.mark.parametrize("block_dim", [1, 32])
@pytest.mark.parametrize("name", CASES)
def test_interpreted_and_compiled_kernels_give_the_same_bits(name, block_dim):
    kernel, inputs = CASES[name]
    for one, other in zip(*(run(kernel, 1, inputs, block_dim) for run in (interpreted, launched))):
        assert one.tobytes() == other.tobytes()
