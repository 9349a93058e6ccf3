"""Stacks of a block, judged by lists in Python."""

import numpy as np
import pytest

import omni.warp_core as wp

CAPACITY = 70


@wp.kernel
def work(pushed: wp.array2d(dtype=int), has: wp.array2d(dtype=bool), found: wp.array3d(dtype=int)):
    _block, t = wp.tid()
    s = wp.tile_stack(capacity=CAPACITY, dtype=int)
    for k in range(pushed.shape[0]):
        found[0, k, t] = wp.tile_stack_push(s, pushed[k, t], has[k, t])
        found[1, k, t] = wp.tile_stack_count(s)
    for k in range(pushed.shape[0]):
        value, slot = wp.tile_stack_pop(s)
        found[2, k, t] = value
        found[3, k, t] = slot
        found[4, k, t] = wp.tile_stack_count(s)


def expected(pushed, has):
    """The same with a list."""
    rounds, size = pushed.shape
    out = np.zeros((5, rounds, size), int)
    stack = []
    for k in range(rounds):
        for t in range(size):
            fits = has[k, t] and len(stack) < CAPACITY
            out[0, k, t] = len(stack) if fits else -1
            stack += [pushed[k, t]] if fits else []
        out[1, k] = len(stack)
    for k in range(rounds):
        for t in range(size):
            out[3, k, t] = len(stack) - 1
            out[2, k, t] = stack.pop() if stack else 0
        out[4, k] = len(stack)
    return out


@pytest.mark.parametrize("size", [1, 4, 32, 64, 100])
def test_threads_push_and_pop_in_their_order(size):
    rng = np.random.default_rng(size)
    pushed, has = rng.integers(1, 1000, (3, size)), rng.random((3, size)) < 0.6
    found = wp.zeros((5, 3, size), dtype=int)
    given = [wp.array(pushed, dtype=int), wp.array(has, dtype=bool), found]
    wp.launch_tiled(work, dim=1, inputs=given, block_dim=size)
    np.testing.assert_array_equal(found.numpy(), expected(pushed, has))


@wp.kernel
def vectors(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    _block, t = wp.tid()
    s = wp.tile_stack(capacity=40, dtype=wp.vec3)
    slot = wp.tile_stack_push(s, x[t], True)
    wp.tile_stack_clear(s)
    slot = wp.tile_stack_push(s, 2.0 * x[t], t > 1)
    value, _slot = wp.tile_stack_pop(s)
    y[t] = value


def test_elements_may_be_vectors_and_a_stack_can_be_cleared():
    given = np.random.default_rng(1).random((32, 3)).astype(np.float32)
    x, y = wp.array(given, dtype=wp.vec3), wp.zeros(32, dtype=wp.vec3)
    wp.launch_tiled(vectors, dim=1, inputs=[x, y], block_dim=32)
    want = np.zeros((32, 3), np.float32)
    want[:30] = 2.0 * given[:1:-1]
    np.testing.assert_array_equal(y.numpy(), want)


def test_each_block_has_a_stack_of_its_own():
    @wp.kernel
    def count(x: wp.array2d(dtype=int)):
        block, t = wp.tid()
        s = wp.tile_stack(capacity=32, dtype=int)
        slot = wp.tile_stack_push(s, t, t < block)
        x[block, t] = wp.tile_stack_count(s)

    x = wp.zeros((5, 8), dtype=int)
    wp.launch_tiled(count, dim=5, inputs=[x], block_dim=8)
    np.testing.assert_array_equal(x.numpy(), np.repeat(np.arange(5)[:, None], 8, 1))
