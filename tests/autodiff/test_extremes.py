"""Gradients of atomic minima and maxima: exactly one of the values that are what the element holds in the end."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

F = wp.array(dtype=float)
V = wp.array(dtype=wp.vec3)


@wp.kernel
def lowest(x: F, low: F, high: F):
    i = wp.tid()
    wp.atomic_min(low, 0, x[i] * x[i] + 0.1 * x[i])
    wp.atomic_max(high, i % 2, wp.sin(x[i]) * x[i])


def run(kernel, count, inputs, seeds, overwritten=()):
    with wp.Tape() as tape:
        wp.launch(kernel, count, inputs=inputs)
    for a in overwritten:
        a.fill_(0.0)
    tape.backward(grads={a: wp.array(g, dtype=a.dtype) for a, g in seeds.items()})
    return [a.grad.numpy() for a in inputs]


def numbers(*shape, dtype=float):
    values = np.random.default_rng(5).uniform(-2.0, 2.0, shape)
    return wp.array(values, dtype=dtype, requires_grad=True)


def test_winners():
    x = numbers(1000)
    low, high = wp.full(1, 9.0, dtype=float, requires_grad=True), wp.full(2, -9.0, dtype=float, requires_grad=True)
    got, left, _ = run(lowest, 1000, [x, low, high], {low: [2.0], high: [3.0, 5.0]}, overwritten=[low, high])
    values = x.numpy().astype(float)
    expected = np.zeros(1000)
    peak = np.sin(values) * values
    first = np.argmin(values**2 + 0.1 * values)
    expected[first] = 2.0 * (2.0 * values[first] + 0.1)
    for parity, g in ((0, 3.0), (1, 5.0)):
        k = parity + 2 * np.argmax(peak[parity::2])
        expected[k] += g * (np.sin(values[k]) + values[k] * np.cos(values[k]))
    assert np.allclose(got, expected, atol=1e-5)
    assert not left.any()


def test_what_was_there_before_may_win():
    x, low, high = numbers(10), wp.full(1, -9.0, dtype=float, requires_grad=True), wp.full(2, 9.0, requires_grad=True)
    got, left, _ = run(lowest, 10, [x, low, high], {low: [2.0], high: [3.0, 5.0]})
    assert not got.any()
    assert left.tolist() == [2.0]


def test_one_of_equal_values():
    @wp.kernel
    def k(x: F, y: F):
        wp.atomic_max(y, 0, x[wp.tid()])

    x, y = wp.ones(100, dtype=float, requires_grad=True), wp.ones(1, dtype=float, requires_grad=True)
    got, left = run(k, 100, [x, y], {y: [4.0]})
    assert sorted(got.tolist()) == [0.0] * 99 + [4.0]
    assert left.tolist() == [0.0]


def test_components():
    @wp.kernel
    def k(x: V, y: V):
        wp.atomic_min(y, 0, 2.0 * x[wp.tid()])

    x, y = numbers(50, 3, dtype=wp.vec3), wp.full(1, wp.vec3(9.0), dtype=wp.vec3, requires_grad=True)
    got, _ = run(k, 50, [x, y], {y: [[1.0, 2.0, 3.0]]})
    expected = np.zeros((50, 3))
    expected[x.numpy().argmin(axis=0), range(3)] = [2.0, 4.0, 6.0]
    assert np.array_equal(got, expected)


def test_loop():
    @wp.kernel
    def k(x: F, y: F, n: int):
        for i in range(n):
            wp.atomic_max(y, wp.tid(), wp.cos(x[i]) * 3.0 + x[i])

    x, y = numbers(20), wp.full(1, -9.0, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(k, 1, inputs=[x, y, 20])
    tape.backward(y)
    values = x.numpy().astype(float)
    expected = np.zeros(20)
    best = np.argmax(np.cos(values) * 3.0 + values)
    expected[best] = 1.0 - 3.0 * np.sin(values[best])
    assert np.allclose(x.grad.numpy(), expected, atol=1e-5)


def test_local_array():
    @wp.kernel
    def k(x: F, y: F):
        best = wp.zeros(2, dtype=float)
        for i in range(4):
            wp.atomic_max(best, 0, x[i])
            wp.atomic_add(best, 1, x[i] * x[i])
        y[0] = best[0] * best[1]

    x = wp.array([1.0, 3.0, 2.0, -1.0], dtype=float, requires_grad=True)
    y = wp.zeros(1, dtype=float, requires_grad=True)
    got, _ = run(k, 1, [x, y], {y: [1.0]})
    assert got.tolist() == [6.0, 15.0 + 18.0, 12.0, -6.0]


@wp.kernel
def also_added(x: F, y: F):
    i = wp.tid()
    wp.atomic_min(y, 0, x[i])
    wp.atomic_add(y, 1, x[i])


@wp.kernel
def also_read(x: F, y: F):
    i = wp.tid()
    wp.atomic_min(y, 0, x[i] * y[1])


@wp.kernel
def exchanged(x: F, y: F):
    i = wp.tid()
    wp.atomic_exch(y, 0, x[i])


@wp.kernel
def found(x: F, y: F, z: F):
    i = wp.tid()
    z[i] = wp.atomic_min(y, 0, x[i])


@wp.kernel
def read_while_added(x: F, y: F):
    i = wp.tid()
    wp.atomic_add(y, 0, y[0] * x[i])


@wp.kernel
def bounds(x: F, y: wp.array2d(dtype=float)):
    i = wp.tid()
    wp.atomic_min(y, 0, i % 2, x[i] * 3.0)
    wp.atomic_max(y, 1, i % 2, x[i] * x[i])


def test_minimum_and_maximum_in_one_array():
    x = wp.array([3.0, -1.0, 2.0, 5.0, -4.0], dtype=float, requires_grad=True)
    y = wp.array([[99.0, 99.0], [-99.0, -99.0]], dtype=float, requires_grad=True)
    got, _ = run(bounds, 5, [x, y], {y: [[1.0, 10.0], [100.0, 1000.0]]})
    # Even threads: 3, 2, -4. Odd ones: -1, 5.
    np.testing.assert_array_equal(y.numpy(), [[-12.0, -3.0], [16.0, 25.0]])
    np.testing.assert_array_equal(got, [0.0, 30.0, 0.0, 10000.0, 3.0 - 800.0])


@wp.kernel
def both_of_one_element(x: F, y: F):
    i = wp.tid()
    wp.atomic_min(y, 0, x[i])
    wp.atomic_max(y, 0, x[i])


@wp.kernel
def both_counted_from_both_ends(x: F, y: F):
    i = wp.tid()
    wp.atomic_min(y, -3, x[i])
    wp.atomic_max(y, 0, x[i])


@pytest.mark.parametrize(
    ("kernel", "reason", "under"),
    [
        (read_while_added, "depends on their order", "y[0] * x[i]"),
        (also_added, "writes it as well", "atomic_add"),
        (also_read, "reads it as well", "y[1]"),
        (both_of_one_element, "use another array here", "atomic_min"),
        (both_counted_from_both_ends, "use another array here", "atomic_min"),
        (exchanged, "depends on the order of threads", "atomic_exch"),
        (found, "depends on the order of threads", "atomic_min"),
    ],
)
def test_refused(kernel, reason, under):
    args = [wp.zeros(3, dtype=float, requires_grad=True) for _ in kernel.params]
    with pytest.raises(wp.CompileError, match=reason) as caught, wp.Tape():
        wp.launch(kernel, 3, inputs=args)
    assert under in caught.value.diagnostics[0].place.text


def test_adjoint_without_a_tape_cannot_know_the_winner():
    args = [wp.zeros(3, dtype=float, requires_grad=True) for _ in lowest.params]
    with pytest.raises(ValueError, match=r"wp\.Tape"):
        wp.launch(lowest, 1, inputs=args, adjoint=True)
