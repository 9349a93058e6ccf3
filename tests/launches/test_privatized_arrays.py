"""Sums of integers, which cores add to in copies of an array: NumPy says what must come out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import omni.warp_core as wp

N = 300_000  # a launch of several chunks, whose last group of lanes is not full
TYPES = {wp.int32: np.int32, wp.uint32: np.uint32, wp.int64: np.int64, wp.uint64: np.uint64}


@wp.kernel
def count(keys: wp.array(dtype=int), bins: wp.array(dtype=int)):
    wp.atomic_add(bins, keys[wp.tid()], 1)


@wp.kernel
def tickets(bins: wp.array(dtype=int), largest: wp.array(dtype=int)):
    wp.atomic_max(largest, 0, wp.atomic_add(bins, wp.tid() % 3, 1))


@pytest.fixture(autouse=True)
def several_threads():
    before, wp.config.num_threads = wp.config.num_threads, 4
    yield
    wp.config.num_threads = before


def keys_below(bins: int, n: int = N) -> np.ndarray:
    return np.random.default_rng(bins).integers(0, bins, n).astype(np.int32)


@pytest.mark.parametrize("lanes", [None, 1, 4])
@pytest.mark.parametrize("bins", [1, 16, 5000, 8 * N])
def test_histograms_are_exact(bins, lanes):
    kernel = wp.kernel(count.func, lanes=lanes) if lanes else count
    keys, found = keys_below(bins), wp.zeros(bins, dtype=int)
    for launches in (1, 2, 3):  # the first does not know how long a thread takes
        wp.launch(kernel, N, [keys, found])
        np.testing.assert_array_equal(found.numpy(), launches * np.bincount(keys, minlength=bins))


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_wrap_around_as_those_of_numpy(dtype):
    @wp.kernel
    def scatter(keys: wp.array(dtype=int), x: wp.array(dtype=dtype), out: wp.array(dtype=dtype)):
        i = wp.tid()
        if (i & 3) == 1:
            wp.atomic_sub(out, keys[i], x[i])
        else:
            wp.atomic_add(out, keys[i], x[i])

    kind = np.iinfo(TYPES[dtype])
    x = np.random.default_rng(3).integers(0, kind.max, N, dtype=kind.dtype)
    keys, out = keys_below(700), wp.full(700, 5, dtype=dtype)
    wp.launch(scatter, N, [keys, x, out])
    expected = np.full(700, 5, kind.dtype)
    is_less = np.arange(N) & 3 == 1
    np.subtract.at(expected, keys[is_less], x[is_less])
    np.add.at(expected, keys[~is_less], x[~is_less])
    np.testing.assert_array_equal(out.numpy(), expected)


def test_vectors_and_components():
    @wp.kernel
    def scatter(keys: wp.array(dtype=int), pairs: wp.array(dtype=wp.vec2i), firsts: wp.array(dtype=wp.vec2i)):
        i = wp.tid()
        wp.atomic_add(pairs, keys[i], wp.vec2i(i, 2))
        wp.atomic_add(firsts, keys[N - 1 - i], wp.vec2i(1, 0))

    keys, pairs, firsts = keys_below(50), wp.zeros(50, dtype=wp.vec2i), wp.zeros(50, dtype=wp.vec2i)
    wp.launch(scatter, N, [keys, pairs, firsts])
    sums = np.zeros((50, 2), np.int32)
    np.add.at(sums, keys, np.stack([np.arange(N), np.full(N, 2)], 1).astype(np.int32))
    np.testing.assert_array_equal(pairs.numpy(), sums)
    np.testing.assert_array_equal(firsts.numpy()[:, 0], np.bincount(keys, minlength=50))
    assert not firsts.numpy()[:, 1].any()


def test_what_lies_between_the_elements_stays():
    whole = np.full((40, 7), 9, np.int32)
    column = wp.array(whole, dtype=int, copy=False)[:, 3]
    keys = keys_below(40)
    wp.launch(count, N, [keys, column])
    np.testing.assert_array_equal(whole[:, 3], 9 + np.bincount(keys, minlength=40))
    assert (np.delete(whole, 3, axis=1) == 9).all()


def test_elements_that_are_not_whole_integers_apart():
    record = np.zeros(30, np.dtype([("tag", np.uint16), ("count", np.int32)]))
    bins = wp.array(record["count"], dtype=int, copy=False)
    keys = keys_below(30)
    wp.launch(count, N, [keys, bins])
    np.testing.assert_array_equal(record["count"], np.bincount(keys, minlength=30))
    assert not record["tag"].any()


def test_one_array_under_two_names():
    @wp.kernel
    def twice(keys: wp.array(dtype=int), a: wp.array(dtype=int), b: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(a, keys[i], 1)
        wp.atomic_add(b, keys[i], 10)

    keys, bins = keys_below(20), wp.zeros(20, dtype=int)
    wp.launch(twice, N, [keys, bins, bins])
    np.testing.assert_array_equal(bins.numpy(), 11 * np.bincount(keys, minlength=20))


def test_a_reader_under_another_name_sees_the_array():
    """Each thread adds to an element that no thread reads, through an array that is both."""

    @wp.kernel
    def copy_up(x: wp.array(dtype=int), out: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(out, N + (i * 7) % N, x[i])

    both = wp.array(np.concatenate([np.arange(N), np.zeros(N)]).astype(np.int32), dtype=int)
    wp.launch(copy_up, N, [both, both])
    expected = np.zeros(N, np.int64)
    np.add.at(expected, np.arange(N) * 7 % N, np.arange(N))
    np.testing.assert_array_equal(both.numpy()[N:], expected)


def test_launches_of_other_threads_lose_nothing():
    """Some add in place, some need the old value and so add atomically."""
    keys, bins, largest = keys_below(3), wp.zeros(3, dtype=int), wp.zeros(1, dtype=int)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(6):
            pool.submit(wp.launch, count, N, [keys, bins])
            pool.submit(wp.launch, tickets, N, [bins, largest])
    np.testing.assert_array_equal(bins.numpy(), 6 * np.bincount(keys, minlength=3) + 6 * N // 3)


def test_places_outside_are_found_and_the_rest_is_added():
    keys = keys_below(10)
    keys[N // 2] = 1 << 29
    bins = wp.zeros(10, dtype=int)
    with pytest.raises(RuntimeError, match="count"):
        wp.launch(count, N, [keys, bins])
    keys[N // 2] = 0
    bins.zero_()
    wp.launch(count, N, [keys, bins])
    np.testing.assert_array_equal(bins.numpy(), np.bincount(keys, minlength=10))


def test_all_threads_add_to_one_element_and_others():
    @wp.kernel
    def mixed(keys: wp.array(dtype=int), bins: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(bins, keys[i], 1)
        wp.atomic_add(bins, 0, 1)

    keys, bins = keys_below(10), wp.zeros(10, dtype=int)
    wp.launch(mixed, N, [keys, bins])
    expected = np.bincount(keys, minlength=10)
    expected[0] += N
    np.testing.assert_array_equal(bins.numpy(), expected)
