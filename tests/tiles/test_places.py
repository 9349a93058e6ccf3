"""Tiles that change: elements, sections, views of names, and tiles that functions are passed."""

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.tile_runs import interpreted, results

f32 = np.float32
X = np.arange(24, dtype=f32).reshape(4, 6)


@wp.kernel
def copies(x: wp.array2d[float], out: wp.array3d[float]):
    a = wp.tile_load(x, (4, 6))
    b = a
    b += 1.0
    a -= b
    a *= 2.0
    c = a / b
    c /= 2.0
    wp.tile_store(out[0], a)
    wp.tile_store(out[1], b)
    wp.tile_store(out[2], c)


def test_assignments_copy():
    _, out = results(copies, 1, X, np.zeros((3, 4, 6), f32))
    a, b = (X - (X + 1)) * 2, X + 1
    np.testing.assert_array_equal(out, [a, b, a / b / 2])


@wp.kernel
def elements(x: wp.array2d[float], v: wp.array[wp.vec3], n: int):
    t = wp.tile_load(x, (4, 6))
    u = wp.tile_load(v, 4)
    t[0, 1] = 50.0
    t[n, -1] = t[0, 1] + 1.0
    t[2][3] = 7.0
    t[2, 0] *= 3.0
    u[1][2] = 9.0
    u[2].x = 4.0
    u[3] = wp.vec3(1.0, 2.0, 3.0)
    wp.tile_store(x, t)
    wp.tile_store(v, u)


def test_elements():
    v, n = np.zeros((4, 3), f32), 1
    found, u = results(elements, 1, X, v, n)
    t = X.copy()
    t[0, 1], t[n, -1], t[2, 3] = 50, 51, 7
    t[2, 0] *= 3
    np.testing.assert_array_equal(found, t)
    np.testing.assert_array_equal(u, [[0, 0, 0], [0, 0, 9], [4, 0, 0], [1, 2, 3]])


@wp.kernel
def from_threads(out: wp.array[float], counts: wp.array[int], v: wp.array[wp.vec2]):
    _, t = wp.tid()
    a = wp.tile_zeros(32)
    c = wp.tile_zeros(4, dtype=int)
    u = wp.tile_zeros(2, dtype=wp.vec2)
    if t % 3 == 1:
        a[t] = float(t)
    else:
        c[t % 4] += 1
        c[0] -= 2
    for k in range(t):
        u[k % 2][1] += 1.0
    c[3] |= 8
    if t == 5:
        a[0] = a[5 - t] + 0.5
    wp.tile_store(out, a)
    wp.tile_store(counts, c)
    wp.tile_store(v, u)


def test_threads_change_elements():
    given = np.zeros(32, f32), np.zeros(4, np.int32), np.zeros((2, 2), f32)
    out, counts, v = results(from_threads, 1, *given, block_dims=(32,))
    t = np.arange(32)
    wanted = np.where(t % 3 == 1, t, 0).astype(f32)
    wanted[0] = 0.5
    np.testing.assert_array_equal(out, wanted)
    others = t[t % 3 != 1]
    c = np.bincount(others % 4, minlength=4)
    c[0] -= 2 * len(others)
    c[3] |= 8
    np.testing.assert_array_equal(counts, c)
    np.testing.assert_array_equal(v[:, 1], [sum((i + 1) // 2 for i in t), sum(i // 2 for i in t)])


@wp.kernel
def sections(x: wp.array2d[float], y: wp.array2d[float]):
    t = wp.tile_load(x, (4, 6))
    t[1:3, ::2] = wp.tile_ones((2, 3))
    t[0] = t[3]
    t[:, 1] += t[:, 2]
    t[3, 1:] = t[3, :-1]
    t[2, :2] = 8.0
    wp.tile_store(y, t)


def test_sections():
    _, y = results(sections, 1, X, np.zeros_like(X))
    t = X.copy()
    t[1:3, ::2] = 1
    t[0] = t[3]
    t[:, 1] += t[:, 2]
    t[3, 1:] = t[3, :-1].copy()
    t[2, :2] = 8
    np.testing.assert_array_equal(y, t)


@wp.kernel
def views(x: wp.array2d[float], y: wp.array2d[float], rows: wp.array2d[float]):
    t = wp.tile_load(x, (4, 6))
    v = wp.tile_view(t, offset=(1, 2), shape=(2, 3))
    w = wp.tile_transpose(v)
    row = t[3]
    v[0, 0] = 100.0
    v += wp.tile_ones((2, 3))
    w[2, 1] = 200.0
    row *= 2.0
    t[3, 0] = 300.0
    wp.tile_store(y, t)
    wp.tile_store(rows[0], row)
    t = wp.tile_zeros((4, 6))
    row += 1.0
    wp.tile_store(rows[1], row)
    wp.tile_store(rows[2], t[3])


def test_views_are_places_of_a_name():
    _, y, rows = results(views, 1, X, np.zeros_like(X), np.zeros((3, 6), f32))
    t = X.copy()
    v, row = t[1:3, 2:5], t[3]
    v[0, 0] = 100
    v += 1
    v.T[2, 1] = 200
    row *= 2
    t[3, 0] = 300
    np.testing.assert_array_equal(y, t)
    np.testing.assert_array_equal(rows, [row, row + 1, np.zeros(6)])


@wp.kernel
def carried(x: wp.array2d[float], y: wp.array2d[float], n: int):
    t = wp.tile_load(x, (4, 6))
    v = t[1]
    for i in range(n):
        v += 1.0
        if i == 2:
            t[0] = v
        s = t[i]
        s[0] = float(i)
    while v[0] < 50.0:
        w = wp.tile_view(t, (1,))
        w += 7.0
    wp.tile_store(y, t)


def test_loops_and_branches_carry_what_views_change():
    n = 4
    _, y = results(carried, 1, X, np.zeros_like(X), n)
    t = X.copy()
    v = t[1]
    for i in range(n):
        v += 1
        if i == 2:
            t[0] = v
        t[i][0] = i
    while v[0] < 50:
        v += 7
    np.testing.assert_array_equal(y, t)


@wp.func
def doubled(t: Any, by: float):
    t *= by


@wp.func
def through(t: wp.tile[float, 6]):
    doubled(t, 2.0)
    row = t[1:3]
    row += 100.0
    return wp.tile_sum(row)


@wp.func
def own(t: Any):
    t[0] = 1.0
    t = t * 3.0
    t += 1.0
    return t


@wp.func
def unchanged(t: Any, x: float):
    x += 1.0
    return t + x


@wp.kernel
def called(x: wp.array2d[float], y: wp.array2d[float], rows: wp.array2d[float], n: int):
    t = wp.tile_load(x, (4, 6))
    doubled(t, 3.0)
    s = through(t[1])
    v = t[2]
    for _i in range(n):
        through(v)
    r = own(t[3])
    u = unchanged(t[0], 1.0)
    doubled(t[0] + 1.0, 5.0)
    wp.tile_store(y, t)
    wp.tile_store(rows[0], r)
    wp.tile_store(rows[1], u)
    wp.tile_store(rows[2], s)


def test_functions_change_the_tiles_of_their_caller():
    n = 3
    _, y, rows = results(called, 1, X, np.zeros_like(X), np.zeros((3, 6), f32), n)
    t = X * 3

    def through(t):
        t *= 2
        t[1:3] += 100
        return t[1:3].sum()

    s = through(t[1])
    for _ in range(n):
        through(t[2])
    t[3, 0] = 1
    np.testing.assert_array_equal(y, t)
    np.testing.assert_array_equal(rows, [t[3] * 3 + 1, t[0] + 2, [s, 0, 0, 0, 0, 0]])


@wp.kernel
def swapped(x: wp.array2d[float], n: int):
    a, b = wp.tile_load(x[0], 6), wp.tile_load(x[1], 6)
    pair = (a, b)
    for _i in range(n):
        a, b = b, a + b
    if n > 2:
        c = pair[0]
    else:
        c = a
    a[0] = 0.5
    wp.tile_store(x[0], a)
    wp.tile_store(x[1], b)
    wp.tile_store(x[2], c)
    wp.tile_store(x[3], pair[1])


def test_tiles_in_tuples_and_branches():
    for n in (1, 5):
        found = results(swapped, 1, X, n)
        a, b = X[0], X[1]
        for _ in range(n):
            a, b = b, a + b
        c = X[0] if n > 2 else a
        a = np.array([0.5, *a[1:]])
        np.testing.assert_array_equal(found, [a, b, c, X[1]])


@wp.kernel
def racing(out: wp.array[float]):
    _, t = wp.tid()
    a = wp.tile_zeros(4)
    a[1] = float(t)
    wp.tile_store(out, a)


def test_threads_that_race_are_told():
    with pytest.raises(Exception, match="threads 0 and 1 of a block race for element 1 of a tile"):
        interpreted(racing, 1, [np.zeros(4, f32)], 4)
