"""Running sums and run lengths against NumPy."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.native.objects import native

NUMBERS = (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
SIZES = (0, 1, 2, 3, 4, 5, 7, 1000, 16_383, 16_384, 16_385, 100_001)


def exact_sums(x: np.ndarray, inclusive: bool) -> np.ndarray:
    """Wrapping sums of integers, sums of floats in extended precision."""
    wide = np.longdouble if x.dtype.kind == "f" else x.dtype
    sums = np.cumsum(x, axis=0, dtype=wide)
    return sums if inclusive else np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])


def scanned(x: np.ndarray, inclusive: bool, dtype=None) -> np.ndarray:
    source = wp.array(x) if dtype is None else wp.array(x, dtype=dtype)
    out = wp.empty_like(source)
    wp.utils.array_scan(source, out, inclusive=inclusive)
    return out.numpy()


def assert_sums(got: np.ndarray, x: np.ndarray, inclusive: bool) -> None:
    want = exact_sums(x, inclusive)
    if x.dtype.kind != "f":
        assert (got == want).all()
        return
    # Sums in double are off by the additions' roundings at most; the result is rounded once more.
    slack = np.cumsum(np.abs(x), axis=0, dtype=np.float64) * len(x) * 2.0**-53
    assert (np.abs(got - want) <= slack + np.abs(want) * np.finfo(x.dtype).eps / 2).all()


@pytest.mark.parametrize("inclusive", (True, False))
@pytest.mark.parametrize("dtype", NUMBERS)
def test_all_sizes(dtype, inclusive, threads):
    rng = np.random.default_rng(1)
    for n in SIZES:
        x = rng.normal(0, 1000, n).astype(dtype) if np.dtype(dtype).kind == "f" else rng.integers(
            0, 256, n * np.dtype(dtype).itemsize, np.uint8).view(dtype)  # fmt: skip
        assert_sums(scanned(x, inclusive), x, inclusive)


@pytest.mark.parametrize("inclusive", (True, False))
@pytest.mark.parametrize("dtype", (wp.vec3, wp.vec2d, wp.vec4i, wp.types.vector(7, wp.float32), wp.mat33))
def test_components(dtype, inclusive, threads):
    rng = np.random.default_rng(2)
    for n in (0, 1, 5, 30_000):
        source = wp.zeros(n, dtype=dtype)
        x = rng.integers(-100, 100, source.numpy().shape).astype(source.numpy().dtype)
        assert_sums(scanned(x, inclusive, dtype), x, inclusive)


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_float_sums_do_not_depend_on_threads(dtype):
    x = np.random.default_rng(3).normal(size=300_000).astype(dtype)
    before, results = native.get_num_threads(), []
    for count in (1, 2, 3, 4, 16):
        native.set_num_threads(count)
        results.append(scanned(x, True).tobytes())
    native.set_num_threads(before)
    assert len(set(results)) == 1


@pytest.mark.parametrize("inclusive", (True, False))
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_float_sums_do_not_depend_on_vectors(dtype, inclusive):
    """Components of vectors are added by plain loops, numbers side by side by those for the processor."""
    x = np.random.default_rng(6).normal(size=8_003).astype(dtype)
    apart = scanned(np.stack([x, x], axis=1), inclusive, wp.types.vector(2, dtype))
    np.testing.assert_array_equal(apart[:, 0], scanned(x, inclusive))


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_sums_never_decrease(dtype, threads):
    rng = np.random.default_rng(4)
    for scale in (1.0, 1e-8, 1e8):
        x = (rng.random(200_000) ** 8 * scale).astype(dtype)
        for inclusive in (True, False):
            assert (np.diff(scanned(x, inclusive)) >= 0).all()


def test_infinities_and_nan_stay():
    x = np.array([1.0, np.inf, 2.0, np.nan, 1.0, 3.0], np.float32)
    np.testing.assert_array_equal(scanned(x, True), np.array([1, np.inf, np.inf, np.nan, np.nan, np.nan], np.float32))
    np.testing.assert_array_equal(scanned(x[:3], False), np.array([0, 1, np.inf], np.float32))


@pytest.mark.parametrize("inclusive", (True, False))
@pytest.mark.parametrize("n", (3, 100_000))
def test_in_place(n, inclusive, threads):
    for dtype in (np.int32, np.float32):
        x = np.random.default_rng(5).integers(-5, 5, n).astype(dtype)
        a = wp.array(x)
        wp.utils.array_scan(a, a, inclusive)
        assert_sums(a.numpy(), x, inclusive)


def test_strided_arrays_and_more_dimensions():
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    out = wp.zeros((4, 12), dtype=wp.int32)
    wp.utils.array_scan(wp.array(x)[:, ::2], out[:, ::4])
    assert out.numpy()[:, ::4].ravel().tolist() == np.cumsum(x[:, ::2]).tolist()
    assert not out.numpy()[:, 1::4].any()
    assert scanned(x, True).ravel().tolist() == np.cumsum(x).tolist()


FLOATS = wp.zeros(10)


@pytest.mark.parametrize(
    ("source", "out", "error", "why"),
    [
        (wp.zeros(3), wp.zeros(4), ValueError, "out_array: expected 3 elements like in_array, got 4"),
        (wp.zeros(3), wp.zeros(3, dtype=wp.float64), TypeError, "out_array: expected float32 elements"),
        (wp.zeros(3, dtype=wp.int8), wp.zeros(3, dtype=wp.int8), TypeError, "in_array: expected elements of int32"),
        (wp.zeros(3, dtype=wp.float16), wp.zeros(3, dtype=wp.float16), TypeError, "got float16"),
        (FLOATS[:6], FLOATS[2:8], ValueError, "out_array: shares memory with in_array"),
        ([1.0], wp.zeros(1), TypeError, "in_array: expected an array, got list"),
        (wp.zeros(1), 3, TypeError, "out_array: expected an array, got int"),
    ],
)
def test_bad_scans(source, out, error, why):
    with pytest.raises(error, match=why):
        wp.utils.array_scan(source, out)


def runs_of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(x), 1), bool), x[1:] != x[:-1]]))
    return x[starts], np.diff(np.concatenate([starts, [len(x)]]))


def encoded(x: np.ndarray, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    values, lengths = wp.full(len(x), 99, dtype=wp.array(x).dtype), wp.full(len(x), 99, dtype=wp.int32)
    runs = wp.utils.runlength_encode(wp.array(x), values, lengths, value_count=n)
    assert (values.numpy()[runs:] == 99).all()
    assert (lengths.numpy()[runs:] == 99).all()
    return values.numpy()[:runs], lengths.numpy()[:runs]


@pytest.mark.parametrize("dtype", (np.int32, np.uint32, np.int64, np.uint64))
@pytest.mark.parametrize("mean", (1, 2, 10, 5000, 10**9))
def test_runs(dtype, mean, threads):
    rng = np.random.default_rng(6)
    for n in (0, 1, 2, 1023, 1024, 1025, 32_767, 32_768, 32_769, 150_001):
        x = np.cumsum(rng.random(n) < 1 / mean).astype(dtype) * dtype(2**31 - 1)
        values, lengths = encoded(x)
        want_values, want_lengths = runs_of(x)
        assert (values == want_values).all()
        assert (lengths == want_lengths).all()


def test_some_of_the_values():
    x = np.array([1, 1, 2, 2, 2, 1], np.int32)
    assert [a.tolist() for a in encoded(x, 4)] == [[1, 2], [2, 2]]
    assert [a.tolist() for a in encoded(x, 0)] == [[], []]


def test_the_number_of_runs_may_go_to_an_array():
    x = wp.array([5, 5, 6], dtype=wp.int32)
    count = wp.full(2, 9, dtype=wp.int32)
    assert wp.utils.runlength_encode(x, wp.empty_like(x), wp.empty_like(x), run_count=count) is count
    assert count.list() == [2, 9]


def test_values_may_be_overwritten_by_their_runs():
    x = np.repeat(np.arange(50_000, dtype=np.int32), 3)
    a, lengths = wp.array(x), wp.empty(x.size, dtype=wp.int32)
    n = wp.utils.runlength_encode(a, a, lengths)
    assert a.numpy()[:n].tolist() == list(range(50_000))
    assert (lengths.numpy()[:n] == 3).all()


I8 = wp.zeros(8, dtype=wp.int32)


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ((wp.zeros(3), wp.zeros(3), I8), TypeError, "values: expected elements of int32, uint32, int64 or uint64"),
        ((I8, wp.zeros(8), I8), TypeError, "run_values: expected int32 elements like values, got float32"),
        ((I8, I8, wp.zeros(8, dtype=wp.int64)), TypeError, "run_lengths: expected elements of int32, got int64"),
        ((I8, I8, I8), ValueError, "run_lengths: shares memory with run_values"),
        ((I8, wp.zeros(3, dtype=int), wp.zeros(8, dtype=int)), ValueError, "value_count: got 8, but .* 3 run_values"),
        ((I8, wp.zeros(8, dtype=int), wp.zeros(3, dtype=int)), ValueError, "3 run_lengths"),
        ((I8, wp.zeros(8, dtype=int), wp.zeros(8, dtype=int), None, -1), ValueError, "must not be negative"),
        ((I8, wp.zeros(9, dtype=int), wp.zeros(9, dtype=int), None, 9), ValueError, "8 values"),
        ((I8, wp.zeros(16, dtype=int)[::2], wp.zeros(8, dtype=int)), ValueError, "run_values: expected a contiguous"),
        ((I8, wp.zeros(8, dtype=int), wp.zeros(8, dtype=int), wp.zeros(1)), TypeError, "run_count: expected elements"),
        ((I8, wp.zeros(8, dtype=int), wp.zeros(8, dtype=int), wp.zeros(0, dtype=int)), ValueError, "at least one"),
    ],
)
def test_bad_runs(arguments, error, why):
    with pytest.raises(error, match=why):
        wp.utils.runlength_encode(*arguments)
