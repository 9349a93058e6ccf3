"""Programs that are easily differentiated wrong, with gradients by hand. They run compiled, through a tape."""

from __future__ import annotations

import math

import numpy as np
import pytest

import omni.warp_core as wp

F = wp.array(dtype=float)


@wp.kernel
def product(x: F, n: int, y: F):
    p = 1.0
    for i in range(n):
        p = p * x[i]
    y[0] = p


@wp.kernel
def weighted_mean(x: F, w: F, n: int, y: F):
    s = 0.0
    total = 0.0
    for i in range(n):
        s += w[i] * x[i]
        total += w[i]
    y[0] = s / total


@wp.kernel
def before_loop(x: F, n: int, out: F):
    y = x[0] * x[0]
    s = 0.0
    for _ in range(n):
        s += 1.0
    out[0] = y * s


@wp.kernel
def component(x: F, out: F):
    v = wp.vec3(0.0)
    v[0] = v[0] + x[0]
    v[0] = v[0] + x[0]
    v[0] = v[0] + x[0]
    out[0] = v[0]


@wp.kernel
def scale(a: F, b: F):
    i = wp.tid()
    a[i] *= b[i]


@wp.kernel
def square_in_place(a: F):
    i = wp.tid()
    a[i] = a[i] * a[i]


@wp.kernel
def square(x: F, y: F):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def sines(x: F, out: F):
    v = x[0]
    k = 0
    while k < 4:
        v = wp.sin(v)
        k += 1
    out[0] = v


@wp.kernel
def running_maximum(x: F, n: int, out: F):
    m = x[0]
    for i in range(1, n):
        if x[i] <= m:
            continue
        m = x[i]
    out[0] = m


def gradients(kernel, args, of, seed, meanwhile=lambda arrays: None):
    """Gradients of the arrays `of`; `seed` is the index of the output, whose gradient is 1."""
    arrays = [wp.array(a, dtype=float, requires_grad=True) if isinstance(a, list) else a for a in args]
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, 1, inputs=arrays)
    meanwhile(arrays)
    tape.backward(arrays[seed])
    return [arrays[i].grad.list() for i in of]


def along(v: float, times: int) -> float:
    slope = 1.0
    for _ in range(times):
        slope, v = slope * math.cos(v), math.sin(v)
    return slope


TABLE = {
    "product in a loop": (product, [[2.0, 2.0, 2.0], 3, [0.0]], [0], 2, [[4.0, 4.0, 4.0]]),
    "weighted mean": (weighted_mean, [[1.0, 5.0, 9.0], [1.0] * 3, 3, [0.0]], [0], 3, [[1 / 3] * 3]),
    "value from before a loop": (before_loop, [[3.0], 3, [0.0]], [0], 2, [[18.0]]),
    "component of a local": (component, [[1.0], [0.0]], [0], 1, [[3.0]]),
    "in-place product": (scale, [[10.0], [2.0]], [1], 0, [[10.0]]),
    "in-place square": (square_in_place, [[3.0]], [0], 0, [[6.0]]),
    "sines in a while loop": (sines, [[1.0], [0.0]], [0], 1, [[along(1.0, 4)]]),
    "running maximum": (running_maximum, [[1.0, 5.0, 2.0], 3, [0.0]], [0], 2, [[0.0, 1.0, 0.0]]),
}


@pytest.mark.parametrize("name", TABLE)
def test_gradient(device, name):
    kernel, args, of, seed, expected = TABLE[name]
    np.testing.assert_allclose(gradients(kernel, args, of, seed), expected, rtol=2e-6)


def test_overwritten_between_launch_and_backward():
    found = gradients(square, [[3.0], [0.0]], [0], 1, lambda arrays: arrays[0].fill_(5.0))
    assert found == [[6.0]]


def test_overwritten_through_numpy():
    def overwrite(arrays):
        arrays[0].numpy()[:] = 5.0

    assert gradients(square, [[3.0], [0.0]], [0], 1, overwrite) == [[6.0]]


def test_one_array_as_input_and_output():
    a = wp.array([3.0, 2.0], dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[a, a])
    tape.backward(grads={a: wp.ones(2, dtype=float)})
    assert a.list() == [9.0, 4.0]
    assert a.grad.list() == [6.0, 4.0]
