"""Sorting into buckets, of which hash grids are made, against NumPy's stable sort."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native

pytestmark = pytest.mark.cpu
SIZES = [(1, 1), (7, 3), (1000, 65), (40_000, 1), (40_000, 300), (40_000, 2**20), (1_100_000, 2**19), (300_000, 7)]


def buckets_of(kind: str, n: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    numbers = {
        "random": rng.integers(0, count, n),
        "few": rng.integers(0, count, 3)[rng.integers(0, 3, n)],
        "last": np.full(n, count - 1),
        "falling": np.sort(rng.integers(0, count, n))[::-1],
    }[kind]
    return numbers.astype(np.int32)


@pytest.mark.parametrize("kind", ["random", "few", "last", "falling"])
@pytest.mark.parametrize("n, count", SIZES)
def test_items_come_by_bucket_and_then_in_order(kind, n, count, monkeypatch):
    given = buckets_of(kind, n, count)
    expected = np.argsort(given, kind="stable")
    begins = np.searchsorted(given[expected], np.arange(count))
    for threads in (1, 2, 5):
        monkeypatch.setattr(wp.config, "num_threads", threads)
        keys, order, starts = (wp.zeros(size, dtype=int, device="cpu") for size in (2 * n, 2 * n, count))
        starts.fill_(-7)
        keys[:n].assign(given)
        _native.sort_into_buckets(keys, order, n, starts)
        assert np.array_equal(order.numpy()[:n], expected), threads
        assert np.array_equal(starts.numpy(), begins), threads


@pytest.mark.parametrize("key", [-1, 4, 2**31 - 1])
def test_keys_of_no_bucket_are_refused(key):
    keys, order, starts = (wp.zeros(size, dtype=int, device="cpu") for size in (6, 6, 4))
    keys[2:3].fill_(key)
    with pytest.raises(ValueError, match="the number of no bucket"):
        _native.sort_into_buckets(keys, order, 3, starts)
    with pytest.raises(ValueError, match="too small"):
        _native.sort_into_buckets(keys, order, 4, starts)
    with pytest.raises(ValueError, match="int32"):
        _native.sort_into_buckets(keys, order, 2, wp.zeros(4, dtype=float, device="cpu"))
