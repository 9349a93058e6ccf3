"""bfloat16 of NumPy, which the package ml_dtypes adds and JAX brings; values of JAX without memory."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import omni.warp_core as wp
from tests.kernels import double

bfloat16 = ml_dtypes.bfloat16


@wp.kernel
def doubled(x: wp.array(dtype=wp.bfloat16), y: wp.array(dtype=wp.bfloat16)):
    i = wp.tid()
    y[i] = x[i] + x[i]


def test_arrays_of_bfloat16_come_in_and_go_out():
    x = np.array([0.5, -1.0, 3.0], dtype=bfloat16)
    for made in (wp.array(x), wp.from_numpy(x), wp.array(x, dtype=wp.bfloat16)):
        assert (made.dtype, made.list()) == (wp.bfloat16, [0.5, -1.0, 3.0])
    assert wp.dtype_from_numpy(x.dtype) is wp.bfloat16
    shared = wp.array(x, copy=False)
    shared.fill_(2.0)
    assert x.tolist() == [2.0] * 3
    assert shared.numpy().view(bfloat16).tolist() == [2.0] * 3
    there = jnp.from_dlpack(wp.array([1.5, 2.5], dtype=wp.bfloat16))
    assert (there.dtype, there.tolist()) == (bfloat16, [1.5, 2.5])
    assert wp.from_dlpack(there).list() == [1.5, 2.5]


def test_launches_take_arrays_of_bfloat16():
    x, y = np.array([0.5, -1.0, 3.0], dtype=bfloat16), np.zeros(3, bfloat16)
    wp.launch(doubled, dim=3, inputs=[x, y])
    assert y.tolist() == [1.0, -2.0, 6.0]
    wp.launch(doubled, dim=2, inputs=[x[::-2], y])
    assert y.tolist() == [6.0, 1.0, 6.0]


def deleted():
    x = jnp.zeros(3)
    x.delete()
    return x


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jax.jit(lambda x: wp.launch(double, dim=3, inputs=[x]))(jnp.zeros(3)), TypeError, "`x` .*jax_kernel"),
        (lambda: jax.jit(wp.from_dlpack)(jnp.zeros(3)), TypeError, "traced by JAX .* wp.jax_kernel"),
        (lambda: wp.launch(double, dim=3, inputs=[deleted()]), ValueError, "argument `x` .* JAX has deleted it"),
        (lambda: wp.launch(double, dim=3, inputs=[jnp.zeros(3)]), ValueError, "argument `x` is read-only"),
        (lambda: wp.array(np.zeros(2, ml_dtypes.float8_e5m2)), TypeError, "float8_e5m2"),
    ],
)
def test_what_has_no_memory_or_no_type_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
