"""Kernels that load tiles, apply one function, and store what it gives; for the tests of algorithms on tiles."""

import numpy as np

import omni.warp_core as wp

BLOCK_SIZES = (1, 32, 64, 100)
UNIT = {np.float16: 2.0**-11, np.float32: 2.0**-24, np.float64: 2.0**-53}


def arrays_of(values, dtypes):
    """Arrays of values, each of its type."""
    return [wp.array(value, dtype=dtype) for value, dtype in zip(values, dtypes)]


def same_in_all_blocks(kernel, values, dtypes, blocks=BLOCK_SIZES):
    """Launch a kernel with fresh arrays for each size of a block; the arrays of one launch, after equal bits in all."""
    first = None
    for size in blocks:
        given = arrays_of(values, dtypes)
        wp.launch_tiled(kernel, dim=1, inputs=given, block_dim=size)
        found = [array.numpy() for array in given]
        first = first or found
        for one, other in zip(first, found):
            assert one.tobytes() == other.tobytes(), f"blocks of {size} threads differ from blocks of {blocks[0]}"
    return first
