"""Loops in which the threads of a block take turns: from the index of the thread, in steps of a block."""

import numpy as np
import pytest

import omni.warp_core as wp


@wp.kernel
def nearest(n: int, x: wp.array[float], least: wp.array[float], place: wp.array[int], turns: wp.array2d[int]):
    block, thread = wp.tid()
    size = wp.block_dim()
    padded = ((n + size - 1) // size) * size
    best = 1.0e10
    where = -1
    count = 0
    for i in range(thread, padded, size):
        value = 1.0e10
        if i < n:
            value = x[i]
        values, indices = wp.tile(value), wp.tile(i)
        at = wp.tile_argmin(values)
        count += 1
        if values[at[0]] < best:
            best = values[at[0]]
            where = indices[at[0]]
    least[block] = best
    place[block] = where
    turns[block, thread] = count


@pytest.mark.parametrize("block_dim", [1, 32, 48, 64, 128])
@pytest.mark.parametrize("n", [-3, 0, 1, 7, 64, 65, 200])
def test_all_threads_take_as_many_turns(device, n, block_dim):
    numbers = np.random.default_rng(1).random(max(n, 1)).astype(np.float32)
    x = wp.array(numbers, device=device)
    least = wp.zeros(2, dtype=float, device=device)
    place, turns = (wp.zeros(shape, dtype=int, device=device) for shape in (2, (2, block_dim)))
    wp.launch_tiled(nearest, 2, [n, x, least, place, turns], block_dim=block_dim, device=device)
    assert (turns.numpy() == -(-max(n, 0) // block_dim)).all()
    assert (place.numpy() == (numbers.argmin() if n > 0 else -1)).all()
    assert (least.numpy() == (numbers.min() if n > 0 else np.float32(1.0e10))).all()


@wp.kernel
def squares(n: int, x: wp.array[float], total: wp.array[float]):
    block, thread = wp.tid()
    size = wp.block_dim()
    for i in range(thread, size * ((n + size - 1) // size), size):
        value = 0.0
        if i < n:
            value = x[i] * x[i]
        parts = wp.tile_sum(wp.tile(value))
        if thread == 0:
            wp.atomic_add(total, block, parts[0])


def test_such_a_loop_has_a_gradient():
    numbers = np.random.default_rng(1).random(100).astype(np.float32)
    x = wp.array(numbers, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(squares, 1, [len(numbers), x, total], block_dim=32)
    np.testing.assert_allclose(total.numpy(), [(numbers.astype(np.float64) ** 2).sum()], rtol=1e-5)
    tape.backward(grads={total: wp.ones_like(total)})
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * numbers, rtol=1e-6)


@wp.kernel
def to_the_end(n: int, x: wp.array[float], total: wp.array[float]):
    block, thread = wp.tid()
    for i in range(thread, n, wp.block_dim()):
        wp.atomic_add(total, block, wp.tile_sum(wp.tile(x[i]))[0])


def test_turns_that_some_threads_do_not_take_are_refused():
    x, total = wp.ones(100), wp.zeros(1)
    with pytest.raises(wp.CompileError, match="the count differs between threads"):
        wp.launch_tiled(to_the_end, 1, [100, x, total], block_dim=32)
