"""Fills on a tape, which native code records where it can: the gradient ends there, whatever way they take."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

N = 37


@wp.kernel
def add_square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i] * x[i]


def made(n: int = N) -> wp.array:
    return wp.array(np.arange(n, dtype=np.float32), dtype=float, requires_grad=True)


FILLS = {
    "zero_": lambda y: y.zero_(),
    "fill_": lambda y: y.fill_(2.0),
    "slice": lambda y: y[:].fill_(2.0),
    "by NumPy before": lambda y: (y.numpy().fill(5.0), y.zero_()),
}


@pytest.mark.parametrize("how", FILLS)
@pytest.mark.parametrize("nested", [False, True])
def test_a_gradient_ends_at_a_fill(how, nested):
    x, y = made(), made()

    def steps():
        wp.launch(add_square, N, [x, y])
        FILLS[how](y)
        wp.launch(add_square, N, [x, y])

    with wp.Tape() as tape:
        steps()
        if nested:
            wp.launch(add_square, N, [x, y])
    tape.backward(grads={y: wp.full(N, 1.0, dtype=float)})
    np.testing.assert_allclose(x.grad.numpy(), (4.0 if nested else 2.0) * np.arange(N))  # not of the first launch


def test_a_part_is_filled():
    x, y = made(), made()
    with wp.Tape() as tape:
        wp.launch(add_square, N, [x, y])
        y[::2].fill_(7.0)
    tape.backward(grads={y: wp.full(N, 1.0, dtype=float)})
    expected = 2.0 * np.arange(N)
    expected[::2] = 0.0
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_what_the_adjoint_needs_survives_a_fill():
    x, y = made(), made()
    with wp.Tape() as tape:
        wp.launch(add_square, N, [x, y])
        x.zero_()
    tape.backward(grads={y: wp.full(N, 1.0, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * np.arange(N))  # of the elements before the fill
    np.testing.assert_array_equal(x.numpy(), np.zeros(N))


def test_a_step_is_named_by_the_fill_of_the_program():
    y = made()
    with wp.Tape() as tape:
        y.zero_()
        y.fill_(1.0)
    assert [note.called for note in tape.notes] == ["zero", "fill"]
    assert {note.file for note in tape.notes} == {__file__}
    assert tape.notes[1].line == tape.notes[0].line + 1


def test_clearing_reaches_every_gradient():
    shapes = wp.array(np.ones((4, 6), np.float32), dtype=float, requires_grad=True)
    column, x, y = shapes[:, 2], made(4), made(4)
    with wp.Tape() as tape:
        wp.launch(add_square, 4, [column, y])
        wp.launch(add_square, 4, [x, y])
    tape.backward(grads={y: wp.full(4, 3.0, dtype=float)})
    assert shapes.grad.numpy()[:, 2].all() and x.grad.numpy()[1:].all()
    tape.zero()
    assert not any(a.grad.numpy().any() for a in (shapes, x, y))
