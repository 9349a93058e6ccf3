"""Negative indices count from the end, also those that are known only when the kernel runs; NumPy is the judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp

N = 45  # full groups of lanes and a rest, at every width


@wp.struct
class Point:
    p: wp.vec3
    mass: float


def shifted(a: wp.array(dtype=float), k: int, out: wp.array2d(dtype=float)):
    i = wp.tid()
    out[0, i] = a[i - 1]
    out[1, i] = a[i - k]
    out[2, -1 - i] = a[wp.int64(i) - wp.int64(k)]


def partly(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if i % 3 != 1:
        out[i - 2] = a[i - 20]


def rows(a: wp.array2d(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec3)):
    i, j = wp.tid()
    row = a[i - 2]
    out[i, j] = row[j - 1] + a[i - 1, j - 3]


def structs(a: wp.array(dtype=Point), out: wp.array(dtype=Point)):
    i = wp.tid()
    out[i - 4] = a[i - 1]
    out[i - 4].mass += a[i - 2].p[i % 3 - 3]


def sums(a: wp.array(dtype=float), into: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(into, i % 2 - 2, a[-i])
    into[i % 3 - 5] += a[i - 1]


def loops(a: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    total, k = 0, 4
    while k > -7:
        k -= 1
        total += a[k] * (i + 1)
    for j in range(2, -3, -1):
        total += a[j - i] - a[i - j]
    out[i] = total


def narrow(a: wp.array(dtype=float), at: wp.array(dtype=Any), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[at[i]]


LANES = pytest.mark.parametrize("lanes", [None, 1, 4])


def launch(func, lanes, dim, *args):
    wp.launch(wp.kernel(func, lanes=lanes), dim, inputs=list(args))


@LANES
def test_shifted(lanes):
    a, out = np.arange(N, dtype=np.float32), np.zeros((3, N), np.float32)
    launch(shifted, lanes, N, a, 7, out)
    np.testing.assert_array_equal(out, [np.roll(a, 1), np.roll(a, 7), np.roll(a, 7)[::-1]])


@LANES
def test_partly(lanes):
    a, out, expected = np.arange(N, dtype=np.float32), np.zeros(N, np.float32), np.zeros(N, np.float32)
    launch(partly, lanes, N, a, out)
    for i in range(N):
        if i % 3 != 1:
            expected[i - 2] = a[i - 20]
    np.testing.assert_array_equal(out, expected)


@LANES
def test_rows(lanes):
    a = np.arange(3 * N * 5, dtype=np.float32).reshape(5, N, 3)
    out = wp.zeros((5, N), dtype=wp.vec3)
    launch(rows, lanes, (5, N), wp.array(a, dtype=wp.vec3), out)
    expected = np.roll(a, (2, 1), (0, 1)) + np.roll(a, (1, 3), (0, 1))
    np.testing.assert_array_equal(out.numpy(), expected)


@LANES
def test_structs(lanes):
    a = np.zeros(N, np.dtype(Point.numpy_dtype()))
    a["p"], a["mass"] = np.arange(3 * N).reshape(N, 3), np.arange(N)
    given, out = wp.array(a, dtype=Point), wp.zeros(N, dtype=Point)
    launch(structs, lanes, N, given, out)
    i = np.arange(N)
    expected = np.roll(np.roll(a, 1), -4)
    expected["mass"] += np.roll(np.roll(a["p"], 2, axis=0)[i, i % 3 - 3], -4)
    for field in ("p", "mass"):
        np.testing.assert_array_equal(out.numpy()[field], expected[field])


@LANES
def test_sums(lanes):
    a, into, expected = np.arange(N, dtype=np.float32), np.zeros(6, np.float32), np.zeros(6, np.float32)
    launch(sums, lanes, N, a, into)
    for i in range(N):
        expected[i % 2 - 2] += a[-i]
        expected[i % 3 - 5] += a[i - 1]
    np.testing.assert_array_equal(into, expected)


@LANES
def test_loops(lanes):
    a, out = np.arange(100, 100 + 3 * N, dtype=np.int32), np.zeros(N, np.int32)
    launch(loops, lanes, N, a, out)
    for i in range(N):
        total = sum(int(a[k]) * (i + 1) for k in range(3, -8, -1))
        total += sum(int(a[j - i]) - int(a[i - j]) for j in range(2, -3, -1))
        assert out[i] == total


@LANES
@pytest.mark.parametrize("number, length", [(np.int8, 200), (np.int8, 70_000), (np.int16, 70_000)])
def test_arrays_longer_than_their_indices_count(lanes, number, length):
    a, at = np.arange(length, dtype=np.float32), np.arange(-N, N, 2).astype(number)
    at[0], at[1] = np.iinfo(number).min, np.iinfo(number).max
    out = np.zeros(N, np.float32)
    launch(narrow, lanes, N, a, at, out)
    np.testing.assert_array_equal(out, a[at])


@pytest.mark.cpu
def test_interpreted_and_checked():
    a, out = np.arange(N, dtype=np.float32), np.zeros((3, N), np.float32)
    kernel = wp.kernel(shifted)
    for mode in ("interpret", "debug"):
        wp.config.mode = mode
        try:
            wp.launch(kernel, N, [a, 7, out])
            np.testing.assert_array_equal(out, [np.roll(a, 1), np.roll(a, 7), np.roll(a, 7)[::-1]])
            with pytest.raises((wp.KernelError, IndexError), match=r"-46|out of range"):
                wp.launch(kernel, 1, [a, 46, out])
        finally:
            wp.config.mode = "release"


def test_long_chains_of_choices_end():
    @wp.kernel
    def chained(a: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
        i = wp.tid()
        k = i
        for _ in range(3):
            k = k - 1 if k > n else n - k
            k = k if k < n else k - n
            k = n - k if k > i else k + 1
        out[i] = a[k - n]

    a, out = np.arange(9, dtype=np.float32), np.zeros(3, np.float32)
    wp.launch(chained, 3, [a, 4, out])
    for i in range(3):
        k, n = i, 4
        for _ in range(3):
            k = k - 1 if k > n else n - k
            k = k if k < n else k - n
            k = n - k if k > i else k + 1
        assert out[i] == a[k - n]
