"""Gradients of branches and loops around operations of tiles."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.gradients.gradient_runs import judge, normal

F = wp.float64
Vector = wp.array[wp.float64]
Matrix = wp.array2d[wp.float64]


@wp.kernel
def accumulated(a: Matrix, b: Matrix, n: int, out: Matrix, total: Vector):
    acc = wp.tile_zeros(shape=(2, 2), dtype=F)
    for k in range(n):
        x = wp.tile_load(a, shape=(2, 2), offset=(2 * k, 0))
        y = wp.tile_load(b, shape=(2, 2), offset=(2 * k, 0))
        acc += x * y * x
    if n > 2:
        acc = acc * acc
    else:
        acc = acc + acc
    wp.tile_store(out, acc)
    wp.tile_atomic_add(total, wp.tile_sum(acc))


@pytest.mark.parametrize("n", [0, 2, 3])
def test_sums_in_a_loop(n):
    judge(accumulated, 1, normal(6, 2), normal(6, 2, seed=1), n, np.zeros((2, 2)), np.zeros(1))


@wp.kernel
def squared(a: Vector, n: int, out: Vector):
    y = wp.tile_load(a, shape=5)
    for _ in range(n):
        y = y * y
    wp.tile_store(out, y)


def test_squares_in_a_loop_follow_the_tile_of_each_iteration():
    judge(squared, 1, normal(5), 3, np.zeros(5), block_dims=(1, 2, 8))


@wp.kernel
def carried(a: Matrix, n: int, out: Matrix, total: Vector):
    x = wp.tile_load(a, shape=(3, 3))
    y = x
    s = F(0.3)
    for k in range(n):
        s = s * a[0, k] * s + F(1.0)
        if s > F(0.5):
            y = wp.tile_map(wp.sin, y) * s + x
        else:
            y = y * y * s
        z = wp.tile_sum(y)
        wp.tile_atomic_add(total, z * z)
    wp.tile_store(out, y)


def test_a_loop_that_carries_a_tile_and_a_number():
    judge(carried, 1, normal(3, 3), 3, np.zeros((3, 3)), np.zeros(1), block_dims=(1, 2, 4, 16))


@wp.kernel
def until(a: Vector, out: Vector):
    y = wp.tile_load(a, shape=4)
    count = 0
    while count < 5:
        y = y * y + wp.tile_load(a, shape=4) * F(0.1)
        if count == 2:
            break
        count += 1
    wp.tile_store(out, y)


def test_a_while_loop_with_break():
    judge(until, 1, normal(4) * 0.5, np.zeros(4))


@wp.kernel
def worlds(a: Matrix, state: wp.array[int], out: Matrix):
    i = wp.block_index()
    if state[i] == 1:
        return
    x = wp.tile_load(a[i], shape=4)
    if state[i] == 2:
        x = x * x
    else:
        x = -x * wp.tile_broadcast(wp.tile_sum(x), 4)
    wp.tile_store(out[i], x)


def test_blocks_that_leave_early():
    judge(worlds, 3, normal(3, 4), np.array([0, 1, 2], dtype=np.int32), np.zeros((3, 4)))
