"""Gradients of reductions of tiles."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.gradients.gradient_runs import judge, normal, refused

F = wp.float64
Vector = wp.array[wp.float64]
Matrix = wp.array2d[wp.float64]


@wp.kernel
def sums(a: Matrix, columns: Vector, rows: Vector):
    x = wp.tile_load(a, shape=(3, 20))
    wp.tile_atomic_add(columns, wp.tile_sum(x, axis=0) * wp.tile_sum(x, axis=0))
    wp.tile_atomic_add(rows, wp.tile_sum(x, axis=1) * wp.tile_broadcast(wp.tile_sum(x), 3))
    wp.tile_atomic_add(rows, wp.tile_broadcast(wp.tile_dot(x, x), 3))


def test_sums():
    judge(sums, 1, normal(3, 20), np.zeros(20), np.zeros(3))


@wp.kernel
def products(a: Matrix, out: Vector, rows: Vector):
    x = wp.tile_load(a, shape=(3, 4))
    wp.tile_atomic_add(out, wp.tile_reduce(wp.mul, x))
    wp.tile_atomic_add(rows, wp.tile_reduce(wp.mul, x, axis=1))


@pytest.mark.parametrize("zeros", [(), ((1, 2),), ((1, 2), (1, 3)), ((0, 0), (1, 2))])
def test_products_some_factors_of_which_are_zero(zeros):
    x = normal(3, 4)
    for at in zeros:
        x[at] = 0.0
    judge(products, 1, x, np.zeros(1), np.zeros(3))


@wp.kernel
def extremes(a: Matrix, out: Vector, rows: Vector):
    x = wp.tile_load(a, shape=(3, 20))
    wp.tile_atomic_add(out, wp.tile_min(x) * wp.tile_max(x))
    wp.tile_atomic_add(rows, wp.tile_reduce(wp.max, x, axis=1) * wp.tile_reduce(wp.min, x, axis=1))


def test_extremes():
    judge(extremes, 1, normal(3, 20), np.zeros(1), np.zeros(3))


@wp.kernel
def largest(a: Vector, out: Vector):
    wp.tile_store(out, wp.tile_max(wp.tile_load(a, shape=6)))


@pytest.mark.parametrize(
    ("values", "winner"),
    [((1.0, 3.0, 3.0, 3.0, 2.0, 3.0), 1), ((float("nan"), 1.0, 4.0, float("nan"), 4.0, 0.0), 2)],
)
def test_the_first_of_equal_elements_wins_and_nan_never_does(values, winner):
    a = wp.array(values, dtype=F, requires_grad=True)
    out = wp.zeros(1, dtype=F, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(largest, dim=1, inputs=[a, out], block_dim=4)
    tape.backward(grads={out: wp.array([2.5], dtype=F)})
    np.testing.assert_array_equal(a.grad.numpy(), np.where(np.arange(6) == winner, 2.5, 0.0))


@wp.func
def mixed(x: F, y: F):
    return x + y + x * y


@wp.kernel
def other_reductions(a: Vector, out: Vector):
    wp.tile_store(out, wp.tile_reduce(mixed, wp.tile_load(a, shape=6)))


def test_other_reductions_are_refused():
    refused(other_reductions, "a reduction of a tile has a gradient if it adds, multiplies numbers")
