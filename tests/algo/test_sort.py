"""Sorting against NumPy's stable argsort, of keys mapped to integers in the order that the documentation states."""

import itertools

import numpy as np
import pytest

import omni.warp_core as wp

KEYS = (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
VALUES = (np.int32, np.uint32, np.float32, np.int64, np.uint64, np.float64)
SIZES = (0, 1, 2, 3, 31, 39, 40, 41, 255, 256, 1001, 65_535, 65_536, 65_537, 200_003)


def ranks(keys: np.ndarray) -> np.ndarray:
    """Unsigned integers in the order of the keys: of numbers by value, then -0.0 < 0.0; NaN by their sign at an end."""
    unsigned = np.dtype(f"u{keys.itemsize}")
    bits = keys.view(unsigned)
    top = unsigned.type(1) << unsigned.type(8 * keys.itemsize - 1)
    if keys.dtype.kind == "u":
        return bits
    if keys.dtype.kind == "i":
        return bits ^ top
    return np.where(bits & top, ~bits, bits | top)


def random_keys(rng, dtype, n: int) -> np.ndarray:
    raw = rng.integers(0, 256, n * np.dtype(dtype).itemsize, np.uint8)
    keys = raw.view(dtype)  # every bit pattern, NaNs and denormals among them
    if np.dtype(dtype).kind == "f":
        special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0], dtype)
        some = rng.random(n) < 0.3
        keys[some] = rng.choice(special, some.sum())
    return keys


def sort(keys: np.ndarray, values: np.ndarray, *args, **kwargs) -> tuple[np.ndarray, np.ndarray]:
    n = len(keys)
    k, v = (wp.array(np.concatenate([x, np.zeros_like(x)])) for x in (keys, values))
    wp.utils.radix_sort_pairs(k, v, n, *args, **kwargs)
    return k.numpy()[:n], v.numpy()[:n]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", KEYS)
def test_all_sizes(dtype, threads):
    rng = np.random.default_rng(1)
    for n in SIZES:
        keys, values = random_keys(rng, dtype, n), np.arange(n, dtype=np.int32)
        order = np.argsort(ranks(keys), kind="stable")
        k, v = sort(keys, values)
        assert same_bits(k, keys[order]), n
        assert same_bits(v, values[order]), n


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("key", (np.int32, np.float64))
def test_values_of_every_type_move_unchanged(key, dtype):
    rng = np.random.default_rng(2)
    for n in (7, 500, 70_000):
        keys, values = random_keys(rng, key, n), random_keys(rng, dtype, n)
        order = np.argsort(ranks(keys), kind="stable")
        assert same_bits(sort(keys, values)[1], values[order])


def test_values_may_be_vectors():
    keys = wp.array([2, 1, 0, 0], dtype=wp.int32)
    values = wp.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], dtype=wp.vec2)
    wp.utils.radix_sort_pairs(keys, values, 2)
    assert values.numpy()[:2].tolist() == [[3.0, 4.0], [1.0, 2.0]]


@pytest.mark.parametrize("distinct", (1, 2, 255, 5000))
def test_equal_keys_keep_their_order(distinct, threads):
    rng = np.random.default_rng(3)
    keys = rng.integers(-distinct // 2, distinct // 2 + 1, 150_000).astype(np.int32)
    _, v = sort(keys, np.arange(keys.size, dtype=np.int32))
    assert same_bits(v, np.argsort(keys, kind="stable").astype(np.int32))


@pytest.mark.parametrize("dtype", (np.int32, np.int64, np.float64))
def test_keys_that_share_most_bits(dtype, threads):
    rng, n = np.random.default_rng(12), 300_000
    skewed = np.where(rng.random(n) < 0.9, 5, rng.integers(-(2**30), 2**30, n))
    narrow = 2**20 + rng.integers(0, 1000, n)
    powers = 2 ** rng.integers(0, 31, n) - 1
    constant = np.full(n, -7)
    for keys in (skewed, narrow, powers, constant, np.arange(n), -np.arange(n)):
        keys = keys.astype(dtype)
        order = np.argsort(keys, kind="stable")
        k, v = sort(keys, np.arange(n, dtype=np.int32))
        assert same_bits(k, keys[order])
        assert same_bits(v, order.astype(np.int32))


def test_the_order_of_special_floats():
    inf, nan = np.float32(np.inf), np.float32(np.nan)
    ordered = np.array([-nan, -inf, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, inf, nan], np.float32)
    shuffle = np.random.default_rng(4).permutation(ordered.size)
    k, v = sort(ordered[shuffle], shuffle.astype(np.int32))
    assert v.tolist() == list(range(ordered.size))
    assert same_bits(k, ordered)


@pytest.mark.parametrize("bits", [(0, 8), (4, 12), (3, 3), (0, 31), (31, 32), (5, 6), (0, 32), (17, 32)])
@pytest.mark.parametrize("n", (30, 1000, 80_000))
def test_only_some_bits(bits, n, threads):
    keys = np.random.default_rng(5).integers(0, 2**32, n, np.uint32)
    begin, end = bits
    field = (keys.astype(np.uint64) >> np.uint64(begin)) & np.uint64(2 ** (end - begin) - 1)
    order = np.argsort(field, kind="stable")
    k, v = sort(keys, np.arange(n, dtype=np.int32), begin_bit=begin, end_bit=end)
    assert same_bits(k, keys[order])
    assert v.tolist() == order.tolist()


@pytest.mark.parametrize("n", (20, 30_000, 100_000))
def test_what_is_beyond_the_scratch_stays(n):
    keys, values = wp.full(2 * n + 5, 7, dtype=wp.int32), wp.full(2 * n + 9, 8, dtype=wp.int64)
    keys[:n] = np.random.default_rng(6).integers(0, 1000, n).astype(np.int32)
    wp.utils.radix_sort_pairs(keys, values, n)
    assert (np.diff(keys.numpy()[:n]) >= 0).all()
    assert (keys.numpy()[2 * n :] == 7).all()
    assert (values.numpy() == 8).all()


def cuts(rng, n: int, segments: int) -> np.ndarray:
    return np.sort(rng.integers(0, n + 1, segments + 1)).astype(np.int32)


@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize(("n", "segments"), [(0, 3), (1, 1), (100, 30), (10_000, 3000), (10_000, 7), (300_000, 3)])
def test_segments(dtype, n, segments, threads):
    rng = np.random.default_rng(7)
    keys, bounds = random_keys(rng, dtype, n), cuts(rng, n, segments)
    k = wp.array(np.concatenate([keys, keys]))
    v = wp.array(np.arange(2 * n, dtype=np.int32))
    wp.utils.segmented_sort_pairs(k, v, n, wp.array(bounds))
    order = np.arange(n)
    for a, b in itertools.pairwise(bounds):
        order[a:b] = a + np.argsort(ranks(keys[a:b]), kind="stable")
    assert same_bits(k.numpy()[:n], keys[order])
    assert v.numpy()[:n].tolist() == order.tolist()


def test_segments_with_gaps_and_in_any_order():
    keys = np.arange(10, dtype=np.int32)[::-1]
    k, v = wp.array(np.concatenate([keys, keys])), wp.array(np.arange(20, dtype=np.int32))
    starts, ends = wp.array([7, 0, 5], dtype=wp.int32), wp.array([10, 3, 5], dtype=wp.int32)
    wp.utils.segmented_sort_pairs(k, v, 10, starts, ends)
    assert k.numpy()[:10].tolist() == [7, 8, 9, 6, 5, 4, 3, 0, 1, 2]
    assert v.numpy()[:10].tolist() == [2, 1, 0, 3, 4, 5, 6, 9, 8, 7]


def test_segment_bounds_may_be_strided():
    k, v = wp.array([2, 1, 4, 3] * 2, dtype=wp.int32), wp.zeros(8, dtype=wp.int32)
    wp.utils.segmented_sort_pairs(k, v, 4, wp.array([0, 99, 2, 99, 4, 99], dtype=wp.int32)[::2])
    assert k.numpy()[:4].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("starts", "ends", "why"),
    [
        ([0, 7], None, r"segment 0 is \[0, 7\).*within the 6 pairs"),
        ([-1, 3], None, r"segment 0 is \[-1, 3\)"),
        ([0, 3], [2, 1], r"segment 1 is \[3, 1\)"),
        ([0, 2], [4, 6], r"\[0, 4\) and \[2, 6\) overlap"),
        ([3, 0], [6, 4], r"\[0, 4\) and \[3, 6\) overlap"),
        ([0, 3], [3], "expected 2 ends"),
        ([[0, 3]], None, "one dimension"),
    ],
)
def test_segments_that_are_wrong_sort_nothing(starts, ends, why):
    k, v = wp.array(np.arange(12, dtype=np.int32)[::-1].copy()), wp.zeros(12, dtype=wp.int32)
    ends = None if ends is None else wp.array(ends, dtype=wp.int32)
    starts = wp.array(starts, dtype=wp.int32, ndim=np.ndim(starts))
    with pytest.raises(ValueError, match=why):
        wp.utils.segmented_sort_pairs(k, v, 6, starts, ends)
    assert k.numpy().tolist() == list(range(11, -1, -1))


def ints(n, **kwargs):
    return wp.zeros(n, dtype=wp.int32, **kwargs)


SHARED = ints(16)
READ_ONLY = np.zeros(8, np.int32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ((ints(8), ints(8), 5), ValueError, "count: got 5, but arrays of 8 keys and 8 values have room for 4"),
        ((ints(8), ints(4), 3), ValueError, "room for 2"),
        ((ints(8), ints(8), -1), ValueError, "count: must not be negative"),
        ((ints(8), ints(8), 2**70), ValueError, "count"),
        ((ints(8), ints(8), 1.0), TypeError, "count: expected an integer"),
        ((ints(8), ints(8), True), TypeError, "count: expected an integer"),
        ((np.zeros(8), ints(8), 1), TypeError, "keys: expected an array, got ndarray"),
        ((ints(8), None, 1), TypeError, "values: expected an array, got NoneType"),
        ((wp.zeros(8, dtype=wp.int16), ints(8), 1), TypeError, "keys: expected elements of int32, .* got int16"),
        ((wp.zeros(8, dtype=wp.vec2), ints(8), 1), TypeError, "keys: .* got vec2f"),
        ((ints(8), wp.zeros(8, dtype=wp.vec3), 1), TypeError, "values: expected elements of 4 or 8 bytes, got vec3f"),
        ((ints(16)[::2], ints(8), 4), ValueError, r"keys: expected a contiguous array.*keys\.contiguous"),
        ((ints(8), ints(16)[::2], 4), ValueError, "values: expected a contiguous"),
        ((SHARED[:8], SHARED[4:], 4), ValueError, "values: shares memory with keys"),
        pytest.param(
            (wp.array(READ_ONLY, copy=False), ints(8), 4),
            ValueError,
            "keys: the array is read-only",
            marks=pytest.mark.cpu,
        ),
        ((ints(8), ints(8), 4, 3, 2), ValueError, r"\[3, 2\) is not a range within the 32 bits of a key"),
        ((ints(8), ints(8), 4, -1, 2), ValueError, "is not a range within the 32 bits of a key"),
        ((ints(8), ints(8), 4, 0, 33), ValueError, "is not a range within the 32 bits of a key"),
        ((ints(8), ints(8), 4, 0.5), TypeError, "begin_bit: expected an integer"),
    ],
)
def test_bad_arguments(arguments, error, why):
    with pytest.raises(error, match=why):
        wp.utils.radix_sort_pairs(*arguments)
