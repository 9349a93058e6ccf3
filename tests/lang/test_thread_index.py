"""Functions that ask for the thread's index, however long they are."""

import numpy as np

import omni.warp_core as wp


@wp.func
def long_one(x: float):
    """More operations than are put into the caller otherwise, with a `tid` in between."""
    for _ in range(3):
        if x > 0.5:
            x = wp.sin(x) * wp.cos(x) + wp.atan2(x, 2.0) - wp.pow(x, 0.3) * wp.tanh(x) + float(wp.tid()) * 0.25
        else:
            x = wp.exp(x) / (1.0 + x * x) + wp.log(2.0 + x) - wp.asin(x * 0.5) * 0.125 + wp.cosh(x) * 0.01
        x = wp.max(x, 0.1) - wp.min(x * x, 2.0) * wp.sqrt(x * x + 1.0) * wp.sign(x - 0.3)
        x = wp.clamp(x, -1.0, 1.0)
        while x > 0.9:
            x = x * 0.5 + wp.sin(x * 3.0) * 0.25 - wp.cos(x * 5.0) * 0.125
    return x


@wp.func
def through(x: float):
    return long_one(x) + long_one(x + 1.0)


@wp.kernel
def kernel(out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = through(float(i) * 0.01)


def test_a_long_function_asks_for_the_thread():
    out, judge = (wp.zeros(100, dtype=float) for _ in range(2))
    wp.launch(kernel, dim=100, inputs=[out])
    wp.launch(kernel, dim=100, inputs=[judge], interpret=True)
    np.testing.assert_allclose(out.numpy(), judge.numpy(), rtol=1e-4)
