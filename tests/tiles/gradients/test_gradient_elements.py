"""Gradients of what a block computes element by element: loads, stores, arithmetic, maps, views, gathers, scatters."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.gradients.gradient_runs import judge, normal

F = wp.float64
Vector = wp.array[wp.float64]
Matrix = wp.array2d[wp.float64]


@wp.kernel
def arithmetic(a: Matrix, b: Matrix, out: Matrix):
    i, _ = wp.tid()
    x = wp.tile_load(a, shape=(2, 4), offset=(2 * i, 0))
    y = wp.tile_load(b, shape=(2, 4), offset=(2 * i, 0))
    z = x * y - x / y + wp.tile_map(wp.sin, x) * F(2.0)
    z += x
    wp.tile_store(out, -z, offset=(2 * i, 0))


def test_arithmetic():
    judge(arithmetic, 2, normal(4, 4), normal(4, 4) + 3.0, np.zeros((4, 4)))


@wp.kernel
def softmax(a: Matrix, out: Matrix, scale: Vector, total: Vector):
    i = wp.block_index()
    x = wp.tile_load(a[i], shape=9)
    largest = wp.tile_broadcast(wp.tile_max(x), 9)
    e = wp.tile_map(wp.exp, (x - largest) * scale[0])
    s = wp.tile_sum(e)
    wp.tile_store(out[i], e / wp.tile_broadcast(s, 9))
    wp.tile_atomic_add(total, s)


def test_softmax_with_a_scale_that_all_threads_load():
    judge(softmax, 3, normal(3, 9), np.zeros((3, 9)), np.array([0.7]), np.zeros(1))


@wp.kernel
def layer_norm(a: Matrix, gain: Vector, bias: Vector, out: Matrix):
    i = wp.block_index()
    x = wp.tile_load(a[i], shape=6)
    centred = x - wp.tile_broadcast(wp.tile_sum(x) / F(6.0), 6)
    variance = wp.tile_sum(centred * centred) / F(6.0)
    root = wp.tile_map(wp.sqrt, variance + wp.tile_full(shape=1, value=F(1e-5)))
    g, b = wp.tile_load(gain, shape=6), wp.tile_load(bias, shape=6)
    wp.tile_store(out[i], centred / wp.tile_broadcast(root, 6) * g + b)


def test_layer_norm():
    judge(layer_norm, 3, normal(3, 6), normal(6), normal(6, seed=1), np.zeros((3, 6)))


@wp.kernel
def views(a: Matrix, total: Vector, out: Matrix):
    i = wp.block_index()
    x = wp.tile_load(a, shape=(4, 6))
    y = wp.tile_transpose(x)
    section = x[1:3, ::-2]
    moved = wp.tile_view(x, offset=(1, i + 1), shape=(2, 3))
    row = x[i + 2]
    halves = wp.tile_reshape(x, (2, 12))
    wp.tile_atomic_add(total, wp.tile_sum(section * section * moved))
    wp.tile_atomic_add(total, wp.tile_sum(y * y * y))
    wp.tile_atomic_add(total, wp.tile_sum(row * row))
    wp.tile_atomic_add(total, wp.tile_sum(halves[1] * halves[0] * halves[1]))
    wp.tile_store(out, wp.tile_broadcast(row, (4, 6)) * x * x, offset=(4 * i, 0))


def test_views():
    judge(views, 2, normal(4, 6), np.zeros(1), np.zeros((8, 6)))


@wp.func
def decay(x: F, y: F, k: F):
    return wp.exp(-x * y) * k + wp.sqrt(y * y + k)


@wp.kernel
def maps(a: Vector, b: Vector, p: Vector, out: Vector):
    x, y = wp.tile_load(a, shape=8), wp.tile_load(b, shape=8)
    z = wp.tile_map(decay, x, y, p[0])
    z = wp.tile_map(decay, z, wp.tile_map(decay, y, x, p[1] * p[1]), p[0] * p[1])
    wp.tile_store(out, z)


def test_maps_of_functions_with_values():
    judge(maps, 1, normal(8), normal(8, seed=1), np.array([1.7, 0.9]), np.zeros(8))


@wp.func
def cubed(x: F, y: F):
    return x * x * y


@wp.func_grad(cubed)
def _cubed_gradient(x: F, y: F, g: F):
    wp.adjoint[x] += F(2.0) * x * y * g
    wp.adjoint[y] += x * x * g


@wp.func
def scaled(x: F, n: int):
    s = F(1.0)
    for _ in range(n):
        s = s + x * F(0.5)
    return s


@wp.kernel
def functions(a: Vector, b: Vector, n: int, out: Vector):
    x, y = wp.tile_load(a, shape=8), wp.tile_load(b, shape=8)
    wp.tile_store(out, wp.tile_map(cubed, x, y) * wp.tile_map(cubed, y, b[0]) * wp.tile_map(scaled, x, n))


def test_maps_of_functions_with_a_gradient_or_a_loop():
    judge(functions, 1, normal(8), normal(8, seed=1), 3, np.zeros(8))


@wp.kernel
def ragged(a: Vector, out: Vector, total: Vector):
    i = wp.block_index()
    x = wp.tile_load(a, shape=4, offset=4 * i)
    wp.tile_store(out, x * x, offset=4 * i)
    wp.tile_atomic_add(total, wp.tile_sum(x * x * x))


def test_tiles_that_reach_out_of_their_arrays():
    judge(ragged, 2, normal(6), np.zeros(6), np.zeros(1))


@wp.kernel
def indexed(a: Matrix, places: wp.array[int], out: Matrix, total: Matrix):
    at = wp.tile_load(places, shape=3)
    x = wp.tile_load_indexed(a, indices=at, shape=(3, 2), axis=0)
    wp.tile_store_indexed(out, at, x * x * x, axis=0)
    wp.tile_atomic_add_indexed(total, at, x * x, axis=0)


@pytest.mark.parametrize("places", [(4, 0, 2), (1, 7, 3)])
def test_gathers_and_scatters(places):
    judge(indexed, 1, normal(5, 2), np.array(places, dtype=np.int32), np.zeros((5, 2)), np.zeros((5, 2)))


@wp.kernel
def ranges(a: Vector, n: int, out: Vector, total: Vector):
    x = wp.tile_load(a, shape=4)
    s = a[0] * a[1]
    for k in wp.block_range(n):
        out[k] = x[3 - k] * s * a[k]
        if k > 1:
            wp.atomic_add(total, 0, x[k] * x[k])


def test_iterations_that_a_block_shares():
    judge(ranges, 1, normal(4), 4, np.zeros(4), np.zeros(1))


@wp.kernel
def vectors(a: wp.array[wp.vec3d], out: wp.array[wp.vec3d], total: Vector):
    x = wp.tile_load(a, shape=4)
    y = x * F(2.0) + wp.tile_broadcast(wp.tile_sum(x), 4)
    wp.tile_store(out, wp.tile_map(wp.cross, y, x))
    wp.tile_atomic_add(total, wp.tile_sum(wp.tile_map(wp.length, y)))


def test_tiles_of_vectors():
    judge(vectors, 1, normal(4, 3), np.zeros((4, 3)), np.zeros(1))


@wp.struct
class Body:
    mass: F
    count: int
    speed: wp.vec3d


@wp.func
def body(x: F, y: wp.vec3d):
    b = Body()
    b.mass = x * x
    b.count = 3
    b.speed = y * x
    return b


@wp.func
def energy(b: Body, z: F):
    return b.mass * z + wp.dot(b.speed, b.speed) * F(b.count)


@wp.kernel
def structs(a: Vector, b: wp.array[wp.vec3d], out: Vector):
    t = wp.thread_index()
    x, y = wp.tile_load(a, shape=4), wp.tile_load(b, shape=4)
    bodies = wp.tile_map(body, x, y)
    wp.tile_store(out, wp.tile_map(energy, bodies, x) + wp.tile_map(energy, bodies, x * x))
    one = bodies[t % 4]
    wp.atomic_add(out, 0, one.mass * one.speed[1])


def test_tiles_of_structs():
    judge(structs, 1, normal(4), normal(4, 3), np.zeros(4))


@wp.kernel
def made(a: Vector, out: Vector, single: wp.array[wp.float32]):
    x = wp.tile_full(shape=4, value=a[1] * a[2], dtype=F)
    y = wp.tile_arange(4, dtype=F)
    best = wp.tile_broadcast(wp.tile_astype(wp.tile_argmax(x * y), dtype=F), 4)
    z = wp.tile_load(a, shape=4)
    wp.tile_store(out, x * y * y + x * x + z * wp.tile_astype(wp.tile_load(single, shape=4), dtype=F) + best)


def test_constants_types_and_places_of_extremes():
    judge(made, 1, normal(4), np.zeros(4), np.zeros(4, dtype=np.float32))


@wp.kernel
def in_place(a: Vector, out: Vector):
    x = wp.tile_load(a, shape=4)
    wp.tile_store(a, x * x)
    z = wp.tile_load(a, shape=4)
    wp.tile_store(out, z * x)


def test_an_array_that_is_read_and_overwritten():
    judge(in_place, 1, normal(4), np.zeros(4))


@wp.kernel
def infinite_slopes(a: Vector, out: Vector):
    x = wp.tile_load(a, shape=4)
    wp.tile_store(out, wp.tile_broadcast(wp.tile_max(wp.tile_map(wp.log, x)), 4))


def test_elements_that_have_no_part_have_no_slope():
    a = wp.array([0.0, 2.0, 0.0, 1.0], dtype=F, requires_grad=True)
    out = wp.zeros(4, dtype=F, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(infinite_slopes, dim=1, inputs=[a, out], block_dim=4)
    tape.backward(grads={out: wp.ones(4, dtype=F)})
    np.testing.assert_allclose(a.grad.numpy(), [0.0, 2.0, 0.0, 0.0])


@wp.func
def product_with_sine(a: F, b: F):
    return a * wp.sin(b)


@wp.func_grad(product_with_sine)
def product_with_sine_gradient(a: F, b: F, g: F):
    wp.adjoint[a] += g * wp.sin(b)
    wp.adjoint[b] += g * a * wp.cos(b)


@wp.kernel
def by_own_gradients(x: wp.array2d[F], out: wp.array2d[F]):
    i, _ = wp.tid()
    row = wp.tile_load(x[i], shape=6)
    row = wp.tile_map(product_with_sine, row, row * row[1])
    wp.tile_store(out[i], row * product_with_sine(row[2], row[0]))


def test_functions_with_gradients_of_their_own():
    judge(by_own_gradients, 3, normal(3, 6), np.zeros((3, 6)))
