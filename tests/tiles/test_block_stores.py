"""Tiles that a block alone stores to its part of an array: only then may it take over their gradient as it is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.analysis.exclusive_stores import find_exclusive_stores
from omni.warp_core.autodiff.vjp.adjoint import _prepare
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from tests.native.objects import native
from tests.tiles.gradients.gradient_runs import judge, normal

Matrix = wp.array2d[wp.float64]


@wp.kernel
def by_squares(y: Matrix, x: Matrix):
    i, j = wp.tid()
    t = wp.tile_zeros((4, 4), dtype=wp.float64)
    wp.tile_store(y, t, offset=(4 * i, j * 4))
    wp.tile_store(y, t, offset=(4 * i, 4 * j), bounds_check=False)
    wp.tile_store(x, t, offset=(4 * j + 1, 4 * i))


@wp.kernel
def by_rows(y: Matrix, x: Matrix, n: int):
    i = wp.tid()
    wp.tile_store(y[i], wp.tile_zeros(5, dtype=wp.float64), offset=n)
    for k in range(n):
        wp.tile_store(x, wp.tile_zeros((5, 3), dtype=wp.float64), offset=(n + 6 * i, 2 * k))


@wp.kernel
def in_one_direction(y: Matrix, x: Matrix):
    i, j = wp.tid()
    wp.tile_store(y, wp.tile_zeros((4, 4), dtype=wp.float64), offset=(4 * i, 0))
    wp.tile_store(x, wp.tile_zeros((4, 5), dtype=wp.float64), offset=(4 * i, 4 * j))


@wp.kernel
def at_other_places(y: Matrix, x: Matrix, n: int):
    i = wp.tid()
    t = wp.tile_zeros((4, 4), dtype=wp.float64)
    wp.tile_store(y, t, offset=(8 * i, 0))
    wp.tile_store(y, t, offset=(8 * i + 4, 0))
    wp.tile_store(x, t, offset=(n * i, 0))


@wp.kernel
def anywhere(y: Matrix, x: Matrix, places: wp.array[int]):
    i = wp.tid()
    t, indices = wp.tile_zeros((4, 4), dtype=wp.float64), wp.tile_load(places, 4)
    wp.tile_store_indexed(y, indices, t, offset=(4 * i, 0))
    wp.tile_store(x, t, offset=(4 * wp.block_index(), 0))


@wp.kernel
def shared_iterations(y: Matrix, x: Matrix):
    i = wp.tid()
    for p, q in wp.block_range(4, 6):
        y[4 * i + p, q] = wp.float64(1.0)
        x[4 * i + p, p * q] = wp.float64(1.0)


@pytest.mark.parametrize(
    ("kernel", "ndim", "expected"),
    [
        (by_squares, 3, [("y", True), ("y", True), ("x", True)]),
        (by_rows, 2, [("y", True), ("x", True)]),
        (by_rows, 3, [("y", False), ("x", False)]),
        (in_one_direction, 3, [("y", False), ("x", False)]),
        (at_other_places, 2, [("y", False), ("y", False), ("x", False)]),
        (anywhere, 2, [("y", False), ("x", False)]),
        (shared_iterations, 2, [("y", True), ("x", False)]),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_stores_of_one_block(kernel, ndim, expected):
    prepared = _prepare(lower_kernel(kernel, 32, ndim), library_gradient, shared=False)
    owned = find_exclusive_stores(prepared, shared=False)
    found = []
    for op in prepared.body.walk():
        if op.code == "store":
            array = op.args[0]
            while array.op is not None:
                array = array.op.args[0]
            found.append((array.name, op in owned))
    assert found == expected


@wp.kernel
def overlapping(x: Matrix, y: Matrix):
    i = wp.tid()
    t = wp.tile_load(x, (3, 4), offset=(2 * i, 0))
    wp.tile_store(y, t * t, offset=(2 * i, 0))
    wp.tile_store(y, t, offset=(2 * i, 0))


def test_what_is_stored_twice_has_one_gradient():
    judge(overlapping, 1, normal(5, 4), np.zeros((5, 4)))


@wp.kernel
def multiply(a: wp.array2d[float], b: wp.array2d[float], c: wp.array2d[float]):
    i, j = wp.tid()
    total = wp.tile_zeros((16, 24))
    for k in range(0, a.shape[1], 16):
        left = wp.tile_load(a, (16, 16), offset=(16 * i, k))
        wp.tile_matmul(left, wp.tile_load(b, (16, 24), offset=(k, 24 * j)), total)
    wp.tile_store(c, total, offset=(16 * i, 24 * j))


def test_gradients_are_the_same_bits_for_all_blocks_and_threads():
    x, y, weights = (normal(*shape).astype(np.float32) for shape in ((500, 70), (70, 200), (500, 200)))
    found = set()
    before, wide = native.get_num_threads(), weights.astype(np.float64)
    for threads, block_dim in product((1, 2), (1, 32, 64)):
        native.set_num_threads(threads)
        a, b = (wp.array(v, requires_grad=True) for v in (x, y))
        c = wp.zeros((500, 200), dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch_tiled(multiply, (32, 9), inputs=[a, b, c], block_dim=block_dim)
        tape.backward(grads={c: wp.array(weights)})
        found.add(a.grad.numpy().tobytes() + b.grad.numpy().tobytes())
        assert np.allclose(a.grad.numpy(), wide @ y.T, rtol=0, atol=1e-4)
        assert np.allclose(b.grad.numpy(), x.T @ wide, rtol=0, atol=1e-4)
    native.set_num_threads(before)
    assert len(found) == 1
