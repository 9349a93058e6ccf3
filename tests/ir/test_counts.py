"""Analysis of 32-bit counts: threads, blocks and elements that kernels number with an int32."""

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.passes import pipeline
from omni.warp_core.passes.counts import counts


def _counts(kernel):
    threads, blocks, arrays = counts(pipeline.run(lower_kernel(kernel)))
    return threads, blocks, {count.name: count.dimensions for count in arrays}


@wp.kernel
def plain(x: wp.array2d(dtype=float), y: wp.array(dtype=float), k: wp.int64):
    i, j = wp.tid()
    x[i, j] = y[j] + y[k] + y[-1] + float(wp.int64(x.size))


@wp.kernel
def many(x: wp.array3d(dtype=float), y: wp.array(dtype=float), z: wp.array2d(dtype=int)):
    i = wp.tid()
    if i < x.shape[1]:
        y[i - 1] = float(z.size)


@wp.struct
class Pair:
    a: wp.array(dtype=float)
    b: wp.array(dtype=float)


@wp.func
def length(x: wp.array(dtype=float)):
    return len(x)


@wp.kernel
def through(p: Pair, q: Pair, n: int):
    x = q.a
    if n > 1:
        p.a[wp.block_index()] = float(length(p.b) + x[1:].shape[0])


def test_indices_that_are_never_negative_and_64_bits_count_nothing():
    assert _counts(plain) == (False, False, {})


def test_each_dimension_and_all_elements():
    assert _counts(many) == (True, False, {"x": 0b10, "y": 0b1, "z": 0b10000})


def test_arrays_in_structs_through_functions_and_slices():
    assert _counts(through) == (False, True, {"p.b": 0b1, "q.a": 0b1})
