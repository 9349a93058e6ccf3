"""A difference of two products rounds both: what cancels in exact arithmetic cancels here. Judged by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

N = 500
LANES = [1, None]


def random(*shape):
    return np.random.default_rng(11).normal(size=shape)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("vector, dtype", [(wp.vec3, np.float32), (wp.vec3d, np.float64)])
def test_what_cancels_is_zero(vector, dtype, lanes, device):
    scalar = wp.float64 if dtype is np.float64 else wp.float32

    @wp.kernel(lanes=lanes)
    def k(a: wp.array[vector], b: wp.array[scalar], out: wp.array2d[scalar]):
        i = wp.tid()
        v = a[i]
        cross = wp.cross(v, v)
        out[i, 0] = wp.abs(cross[0]) + wp.abs(cross[1]) + wp.abs(cross[2])
        out[i, 1] = v[0] * v[1] - v[1] * v[0]
        out[i, 2] = v[0] * v[1] + (-v[1]) * v[0]
        out[i, 3] = v[0] * v[1] + v[1] * -v[0]
        out[i, 4] = -(v[0] * v[1]) + v[1] * v[0]
        out[i, 5] = wp.determinant(wp.matrix_from_rows(wp.vector(v[0], v[1]), wp.vector(v[0], v[1])))
        out[i, 6] = b[i] * b[i] - (scalar(4.0) * v[2]) * (b[i] * b[i] / (scalar(4.0) * v[2]))

    a, b = random(N, 3).astype(dtype), np.exp2(np.round(random(N) * 4.0)).astype(dtype)
    a[:, 2] = np.exp2(np.round(a[:, 2] * 4.0))
    out = wp.zeros((N, 7), dtype=scalar)
    wp.launch(k, N, [wp.array(a, dtype=vector), wp.array(b), out])
    np.testing.assert_array_equal(out.numpy(), 0.0)


@pytest.mark.parametrize("lanes", LANES)
def test_cross_products_have_the_bits_of_numpy(lanes, device):
    @wp.kernel(lanes=lanes)
    def k(a: wp.array[wp.vec3], b: wp.array[wp.vec3], out: wp.array[wp.vec3]):
        i = wp.tid()
        out[i] = wp.cross(a[i], b[i])

    a, b = random(2, N, 3).astype(np.float32)
    out = wp.zeros(N, dtype=wp.vec3)
    wp.launch(k, N, [wp.array(a, dtype=wp.vec3), wp.array(b, dtype=wp.vec3), out])
    np.testing.assert_array_equal(out.numpy(), np.cross(a, b))


def test_gradients_compute_again_what_the_launch_computed(device):
    """The adjoint takes the branch of the launch, where the condition is a difference of products."""

    @wp.kernel
    def k(a: wp.array[wp.vec2], out: wp.array[float]):
        i = wp.tid()
        x = a[i][0]
        y = a[i][1]
        area = x * y - y * x
        if area == 0.0:
            out[i] = 3.0 * x
        else:
            out[i] = 100.0 * x

    a = wp.array(random(N, 2), dtype=wp.vec2, requires_grad=True)
    out = wp.zeros(N, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(k, N, [a, out])
    tape.backward(grads={out: wp.ones(N, dtype=float)})
    np.testing.assert_array_equal(a.grad.numpy(), np.tile([3.0, 0.0], (N, 1)))
