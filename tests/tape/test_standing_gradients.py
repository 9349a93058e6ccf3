"""`Tape.backward` without a loss: from gradients that the program has set, never from those of an earlier pass."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), sums: wp.array(dtype=float)):
    wp.atomic_add(sums, 0, x[wp.tid()])


@pytest.fixture
def arrays():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    return x, wp.zeros(3, dtype=float, requires_grad=True), wp.zeros(3, dtype=float, requires_grad=True)


def _recorded(x, y, z):
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x, y])
        wp.launch(square, dim=3, inputs=[y, z])
    return tape


def _assigned(z, value):
    z.grad = wp.array(value, dtype=float)


SETTERS = {
    "fill_": lambda z, value: z.grad.fill_(value[0]),
    "assign": lambda z, value: z.grad.assign(value),
    "copy": lambda z, value: wp.copy(z.grad, wp.array(value, dtype=float)),
    "index": lambda z, value: z.grad.__setitem__(..., value),
    "grad": _assigned,
}


@pytest.mark.parametrize("how", SETTERS)
def test_it_starts_with_what_the_program_set(arrays, how):
    x, y, z = arrays
    tape = _recorded(x, y, z)
    for n in (1.0, 2.0):  # twice, without a call of zero: the gradient of z is set anew
        SETTERS[how](z, np.full(3, n, np.float32))
        tape.backward()
        np.testing.assert_allclose(x.grad.numpy(), (1.0 if n == 1.0 else 3.0) * 4.0 * x.numpy() ** 3)


def test_seeds_of_several_arrays_add_up(arrays):
    x, y, z = arrays
    tape = _recorded(x, y, z)
    y.grad.fill_(10.0)
    z.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), 20.0 * x.numpy() + 4.0 * x.numpy() ** 3)


def test_a_gradient_of_zeros_that_the_program_set_gives_zeros(arrays):
    tape = _recorded(*arrays)
    arrays[2].grad = wp.zeros(3, dtype=float)
    tape.backward()
    assert arrays[0].grad.list() == [0.0, 0.0, 0.0]


def test_without_any_gradient_the_loss_is_missing(arrays):
    with pytest.raises(ValueError, match=r"give the array of the loss.*y\.grad\.fill_\(1\.0\)"):
        _recorded(*arrays).backward()


@pytest.fixture
def summed(arrays):
    """A tape whose backward pass leaves a gradient in the array that atomics add to."""
    x, sums = arrays[0], wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(total, dim=3, inputs=[x, sums])
    tape.backward(sums)
    assert sums.grad.list() == [1.0]
    return x, sums, tape


def test_what_an_earlier_pass_left_is_refused_until_it_is_cleared(summed):
    x, sums, tape = summed
    with pytest.raises(RuntimeError, match=r"`backward` at .*test_standing_gradients\.py:\d+ left a gradient"):
        tape.backward()
    assert x.grad.list() == [1.0, 1.0, 1.0]
    tape.zero()
    sums.grad.fill_(5.0)
    tape.backward()
    assert x.grad.list() == [5.0, 5.0, 5.0]


def _with_a_copy(sums):
    return wp.clone(sums)


def _with_a_view(sums):
    return sums[0:1]


def _with_the_array(sums):
    return sums


@pytest.mark.parametrize("made", [_with_a_copy, _with_a_view, _with_the_array])
def test_it_is_refused_on_other_tapes_and_through_views_and_copies(summed, made):
    x, sums, _ = summed
    target = made(sums)
    with wp.Tape() as other:
        wp.launch(total, dim=3, inputs=[x, target])
    with pytest.raises(RuntimeError, match="left a gradient"):
        other.backward()


def test_a_part_that_is_set_does_not_hide_the_rest(arrays):
    x, sums = arrays[0], wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(total, dim=3, inputs=[x, sums])
    tape.backward(grads={sums: wp.ones(2, dtype=float)})
    sums.grad[0:1].fill_(1.0)
    with pytest.raises(RuntimeError, match="left a gradient"):
        tape.backward()


def test_the_gradient_of_an_input_is_no_seed_of_a_later_tape(arrays):
    x, y, z = arrays
    _recorded(x, y, z).backward(grads={z: wp.ones(3, dtype=float)})
    with wp.Tape() as tape:  # writes the input of the first tape
        wp.launch(square, dim=3, inputs=[z, x])
    with pytest.raises(RuntimeError, match="left a gradient"):
        tape.backward()


def test_in_a_graph_the_gradients_are_those_of_each_launch(arrays):
    x, y, _ = arrays
    with wp.ScopedCapture() as capture:
        tape = wp.Tape()
        with tape:
            wp.launch(square, dim=3, inputs=[x, y])
        y.grad.fill_(1.0)
        tape.backward()
    for n in (1.0, 2.0):
        x.grad.zero_()
        x.fill_(n)
        wp.capture_launch(capture.graph)
        assert x.grad.list() == [2.0 * n] * 3


def test_functions_of_the_program_may_set_the_first_gradients(arrays):
    x, y, _ = arrays
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[x, y])
        tape.record_func(lambda: y.grad.fill_(3.0), [y])
    tape.backward()
    assert x.grad.list() == [6.0, 12.0, 18.0]
