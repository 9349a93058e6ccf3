"""Gradients through indexed arrays: they are those of the arrays behind them."""

from __future__ import annotations

import numpy as np

import omni.warp_core as wp

F = wp.array(dtype=float)


def integers(*values):
    return wp.array(values, dtype=int)


def numbers(values, dtype=float):
    return wp.array(values, dtype=dtype, requires_grad=True)


@wp.kernel
def squares(x: wp.indexedarray(dtype=float), y: F):
    i = wp.tid()
    y[i] = x[i] * x[i]


def test_read():
    x, y = numbers([1.0, 2.0, 3.0, 4.0]), numbers([0.0] * 3)
    with wp.Tape() as tape:
        wp.launch(squares, 3, inputs=[wp.indexedarray(x, [integers(3, 1, 3)]), y])
    x.fill_(100.0)
    tape.backward(grads={y: wp.array([1.0, 10.0, 100.0], dtype=float)})
    assert x.grad.list() == [0.0, 40.0, 0.0, 8.0 * 101.0]
    tape.zero()
    assert x.grad.list() == [0.0] * 4


def test_plain_array_in_its_place():
    x, y = numbers([1.0, 2.0, 3.0]), numbers([0.0] * 3)
    with wp.Tape() as tape:
        wp.launch(squares, 3, inputs=[x, y])
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert x.grad.list() == [2.0, 4.0, 6.0]


def test_written_and_overwritten():
    @wp.kernel
    def k(x: F, y: wp.indexedarray(dtype=float)):
        i = wp.tid()
        y[i] = y[i] * x[i]
        y[i] += x[i]

    x, y = numbers([5.0, 7.0]), numbers([1.0, 2.0, 3.0, 4.0])
    with wp.Tape() as tape:
        wp.launch(k, 2, inputs=[x, wp.indexedarray(y, [integers(2, 0)])])
    tape.backward(grads={y: wp.array([1.0, 10.0, 100.0, 1000.0], dtype=float)})
    assert x.grad.list() == [(3.0 + 1.0) * 100.0, (1.0 + 1.0) * 1.0]
    assert y.grad.list() == [7.0, 10.0, 500.0, 1000.0]


def test_indices_that_change_afterwards():
    x, y, places = numbers([1.0, 2.0, 3.0]), numbers([0.0] * 2), integers(2, 0)
    with wp.Tape() as tape:
        wp.launch(squares, 2, inputs=[wp.indexedarray(x, [places]), y])
    places.fill_(1)
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.list() == [2.0, 0.0, 6.0]


def test_two_dimensions_and_rows():
    @wp.kernel
    def k(x: wp.indexedarray2d(dtype=wp.vec2), y: F):
        i = wp.tid()
        row = x[i]
        for j in range(x.shape[1]):
            y[i] += wp.dot(row[j], x[i, j]) * float(j + 1)

    values = np.arange(24.0).reshape(3, 4, 2)
    rows, columns = [2, 1], [3, 0, 3]
    for picked in (columns, None):
        x, y = numbers(values, wp.vec2), numbers([0.0] * 2)
        index = None if picked is None else integers(*picked)
        with wp.Tape() as tape:
            wp.launch(k, 2, inputs=[wp.indexedarray(x, [integers(*rows), index]), y])
        tape.backward(grads={y: wp.ones(2, dtype=float)})
        expected = np.zeros_like(values)
        for r in rows:
            for j, c in enumerate(picked or range(4)):
                expected[r, c] += 2.0 * values[r, c] * (j + 1)
        assert np.array_equal(x.grad.numpy(), expected)


@wp.struct
class Holder:
    part: wp.indexedarray(dtype=float)
    scale: float


def test_in_a_struct():
    @wp.kernel
    def k(h: Holder, y: F):
        i = wp.tid()
        y[i] = h.part[i] * h.part[i] * h.scale

    x, y = numbers([1.0, 2.0, 3.0]), numbers([0.0] * 2)
    h = Holder()
    h.part, h.scale = wp.indexedarray(x, [integers(2, 0)]), 3.0
    with wp.Tape() as tape:
        wp.launch(k, 2, inputs=[h, y])
    x.fill_(100.0)
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.list() == [6.0, 0.0, 18.0]
    tape.zero()
    assert x.grad.list() == [0.0] * 3


def test_winner_through_indices():
    @wp.kernel
    def k(x: F, y: wp.indexedarray(dtype=float)):
        i = wp.tid()
        wp.atomic_max(y, 0, x[i] * 2.0)

    x, y = numbers([1.0, 3.0, 2.0]), numbers([-9.0, -9.0])
    with wp.Tape() as tape:
        wp.launch(k, 3, inputs=[x, wp.indexedarray(y, [integers(1)])])
    tape.backward(grads={y: wp.array([5.0, 7.0], dtype=float)})
    assert x.grad.list() == [0.0, 14.0, 0.0]
    assert y.grad.list() == [5.0, 0.0]
