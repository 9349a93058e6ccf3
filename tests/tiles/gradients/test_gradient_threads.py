"""Gradients where threads and tiles meet: a block value that threads use gets the sum of what they send."""

import numpy as np

import omni.warp_core as wp
from tests.tiles.gradients.gradient_runs import judge, normal, refused

F = wp.float64
Vector = wp.array[wp.float64]


@wp.kernel
def joined(a: Vector, total: Vector, out: Vector):
    t = wp.thread_index()
    x = wp.tile(a[t] * a[t] * a[0])
    s = wp.tile_sum(x)
    out[t] = wp.untile(x * x) * a[t] + s[0]
    wp.atomic_add(total, 0, s[0] * a[t])
    if t % 2 == 0:
        wp.atomic_add(total, 0, x[t] * x[t + 1])


def test_tiles_of_threads_and_elements_in_divergent_code():
    judge(joined, 1, normal(4), np.zeros(1), np.zeros(4), block_dims=(4,))


@wp.kernel
def counted(a: Vector, total: Vector):
    s = wp.tile_sum(wp.tile_load(a, shape=6))
    wp.atomic_add(total, 0, s[0])


def test_code_of_threads_counts_once_for_each_thread():
    for block_dim in (1, 4):
        a = wp.array(np.arange(6.0), dtype=F, requires_grad=True)
        total = wp.zeros(1, dtype=F, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch_tiled(counted, dim=1, inputs=[a, total], block_dim=block_dim)
        tape.backward(loss=total)
        np.testing.assert_array_equal(a.grad.numpy(), np.full(6, float(block_dim)))
    judge(counted, 1, normal(6), np.zeros(1))


@wp.kernel
def vectors_of_threads(a: wp.array[wp.vec3d], total: Vector):
    t = wp.thread_index()
    x = wp.tile_load(a, shape=4)
    s = wp.tile_sum(x)
    u = wp.tile(a[t] * wp.dot(s[0], a[0]))
    wp.tile_atomic_add(total, wp.tile_sum(u[1] * u[2]))
    w = wp.tile(a[t], preserve_type=True)
    v = wp.untile(u)
    wp.atomic_add(total, 0, wp.dot(v, w[1]))


def test_tiles_of_vectors_of_threads():
    judge(vectors_of_threads, 1, normal(4, 3), np.zeros(1), block_dims=(4,))


@wp.kernel
def changed(a: Vector, out: Vector):
    t = wp.thread_index()
    x = wp.tile_load(a, shape=8)
    x[t] = a[t] * x[t + 1]
    x[0] += a[t] * a[1]
    x[3] = x[2] * x[3]
    x[4] -= x[5]
    wp.tile_store(out, x * x)


def test_elements_that_threads_set():
    judge(changed, 1, normal(8), np.zeros(8))


@wp.kernel
def sections(a: Vector, n: int, out: Vector):
    x, y = wp.tile_load(a, shape=8), wp.tile_load(a, shape=8)
    for i in range(n):
        x[i] = y[i] * x[i + 1] * a[0]
    x[2:5] = y[0:3]
    z = x[1::2]
    z *= z
    wp.tile_assign(x, z, offset=4)
    wp.tile_store(out, x * x)


def test_sections_that_are_assigned():
    judge(sections, 1, normal(8), 3, np.zeros(8))


@wp.kernel
def random_factors(a: Vector, out: Vector):
    t = wp.thread_index()
    factors = wp.tile_astype(wp.tile_randf(shape=8, rng=wp.rand_init(3)), dtype=F)
    third = wp.tile_from_thread(shape=8, value=a[t] * a[t], thread_idx=2)
    wp.tile_store(out, third * wp.tile_load(a, shape=8) * factors)


def test_random_numbers_and_the_value_of_one_thread():
    judge(random_factors, 1, normal(8), np.zeros(8), block_dims=(4,))


@wp.kernel
def some_set(a: Vector, out: Vector):
    t = wp.thread_index()
    x = wp.tile_load(a, shape=8)
    if t % 2 == 0:
        x[t] = a[t] * a[t]
    wp.tile_store(out, x * x)


@wp.kernel
def stacked(a: Vector, out: Vector):
    t = wp.thread_index()
    s = wp.tile_stack(8, dtype=F)
    wp.tile_stack_push(s, a[t], True)
    value, _ = wp.tile_stack_pop(s)
    out[t] = value * a[t]


def test_elements_that_some_threads_set_and_stacks_are_refused():
    refused(some_set, "elements of a tile that only some threads of a block set have no gradient yet")
    refused(stacked, "have no gradient yet, tiles aside")


@wp.kernel
def scalar_loop(a: Vector, n: int, out: Vector):
    t = wp.thread_index()
    x = wp.tile_load(a, shape=4)
    s = F(1.0)
    for k in range(n):
        s = s * x[k] * a[t]
    wp.atomic_add(out, t, s)


def test_threads_that_read_elements_in_a_loop():
    judge(scalar_loop, 1, normal(4), 3, np.zeros(4))


@wp.kernel
def shared_memory(a: Vector, out: Vector):
    t = wp.thread_index()
    s = wp.shared_array(shape=4, dtype=F)
    s[t % 4] = a[t]
    wp.syncthreads()
    out[t] = s[0]


def test_shared_arrays_are_refused():
    refused(shared_memory, "wp.shared_array, wp.syncthreads, …) have no gradient yet")
