"""`wp.func_native`: a kernel that calls C++ text is refused; barriers run. Expected values are by hand."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp


@wp.func_native(snippet="\n    return __builtin_ctzll((unsigned long long)x);\n")
def trailing_zeros(x: wp.uint64) -> int: ...


@wp.func_native(" WP_TILE_SYNC(); ")
def sync():
    pass


def test_a_kernel_that_calls_it_is_refused_at_the_call():
    @wp.kernel
    def k(x: wp.array[int]):
        x[0] = trailing_zeros(wp.uint64(8))

    with pytest.raises(wp.CompileError) as refused:
        wp.launch(k, 1, [wp.zeros(1, dtype=int)])
    text = str(refused.value)
    assert "`trailing_zeros` is C++ text" in text and "x[0] = trailing_zeros" in text and "@wp.func" in text


def test_kernels_beside_it_run():
    @wp.kernel
    def k(x: wp.array[int]):
        x[0] = 8

    x = wp.zeros(1, dtype=int)
    wp.launch(k, 1, [x])
    assert x.list() == [8]


def test_barriers_are_barriers():
    """Each thread reads what its neighbour wrote before the barrier."""

    @wp.kernel
    def rotate(x: wp.array[int], out: wp.array[int]):
        i = wp.tid()
        shared = wp.shared_array(64, dtype=int)
        shared[wp.thread_index()] = x[i]
        sync()
        out[i] = shared[(wp.thread_index() + 1) % wp.block_dim()]

    x, out = wp.array(np.arange(256, dtype=np.int32)), wp.zeros(256, dtype=int)
    wp.launch(rotate, 256, [x, out], block_dim=64)
    np.testing.assert_array_equal(out.numpy(), np.roll(np.arange(256).reshape(4, 64), -1, axis=1).reshape(-1))


def test_the_text_is_a_string():
    with pytest.raises(TypeError, match="expected C\\+\\+ text, got function"):
        wp.func_native(lambda x: x)
