"""`wp.utils` and `wp.map` on GPUs: the suites of the CPU's algorithms, with arrays made on the GPU."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.algo.test_cast import ALL, converted, same, samples


@pytest.mark.parametrize("target", ALL, ids=lambda d: d.__name__)
def test_casts_between_all_types(gpu, target):
    for source in ALL:
        with wp.ScopedDevice("cpu"):
            a = samples(source)
        out = wp.empty(a.size, dtype=target)
        wp.utils.array_cast(a.to(gpu), out)
        wrong = [(x, y, w) for x, y in zip(a.list(), out.list()) if not same(y, w := converted(x, target))]
        assert not wrong, f"from {source.__name__}: {len(wrong)} wrong, such as (from, got, expected) {wrong[:3]}"


def test_casts_of_components_parts_and_views(gpu):
    x = np.arange(12).reshape(4, 3)
    a, flat = wp.array(x, dtype=wp.vec3i), wp.full(20, 9.0)
    wp.utils.array_cast(a, flat)
    assert flat.list() == [*range(12), *[9] * 8]
    wp.utils.array_cast(flat, a, count=6)
    wp.utils.array_cast(a[::2], flat[::2])
    assert flat.list()[:12:2] == [0, 1, 2, 6, 7, 8]
    b = wp.array([1.0, -2.0], dtype=float)
    wp.utils.array_cast(b, b.view(wp.int32))
    assert b.view(wp.int32).list() == [1, -2]
    with pytest.raises(ValueError, match="out_array: is on cpu, but in_array is on cuda"):
        wp.utils.array_cast(b, wp.zeros(2, dtype=int, device="cpu"))


def test_maps(gpu):
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([10, 20, 30])
    a, b = wp.array(x), wp.array(y)
    with wp.ScopedDevice("cpu"):  # they run where the arrays are
        made = wp.map(lambda p, q: p * 2.0 + q, a, b, block_dim=64)
        assert made.device is gpu
        np.testing.assert_array_equal(made.numpy(), 2 * x + y)
        np.testing.assert_array_equal((a + b - 1.0).numpy(), x + y - 1)
    a *= 3.0
    np.testing.assert_array_equal(a.numpy(), 3 * x)
    low, high = wp.map(lambda p, q: (wp.min(p, q), wp.max(p, q)), a, 5.0)
    np.testing.assert_array_equal(low.numpy(), np.minimum(3 * x, 5))
    np.testing.assert_array_equal(high.numpy(), np.maximum(3 * x, 5))
    flat = wp.array(np.arange(8.0), dtype=float)
    wp.map(wp.neg, flat[:-1], out=flat[1:])
    assert flat.list() == [0, 0, -1, -2, -3, -4, -5, -6]
    with pytest.raises(ValueError, match="is on the CPU but the launch is on"):
        wp.map(wp.add, a, wp.zeros((2, 3), dtype=float, device="cpu"))
