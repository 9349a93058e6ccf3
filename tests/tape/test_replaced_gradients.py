"""Gradients that are replaced, shared or asked for late: the right numbers, or an error."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.arrays import grad_binding
from tests.kernels import square


@wp.kernel
def product(x: wp.array(dtype=float), m: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * m[i]


def made(*numbers, requires_grad=True):
    return wp.array(numbers, dtype=float, requires_grad=requires_grad)


def replace(a):
    a.grad = wp.zeros_like(a)


@pytest.mark.parametrize("between", [True, False])
@pytest.mark.parametrize("view", [lambda a: a[:], lambda a: a.reshape((2, 1)).flatten()])
def test_a_gradient_that_is_replaced_is_not_that_of_views(between, view):
    x, m, y = made(2.0, 3.0), made(0.0, 0.0), made(0.0, 0.0)
    seen, tape = view(m), wp.Tape()
    with tape:
        wp.launch(square, dim=2, inputs=[x, seen])
        if between:
            replace(m)
        wp.launch(square, dim=2, inputs=[m, y])
    if not between:
        replace(m)
    with pytest.raises(ValueError, match="was given its own gradient later"):
        tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.list() == [0.0, 0.0]


def test_a_gradient_that_is_replaced_of_an_array_that_only_views_of_were_recorded():
    x, y = made(2.0), made(0.0)
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[x[:], y])
    replace(x)
    with pytest.raises(ValueError, match="was given its own gradient later"):
        tape.backward(y)


def test_a_gradient_that_is_replaced_without_views_is_the_one_that_is_added_to():
    x, y = made(2.0), made(0.0)
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[x, y])
    before = x.grad
    replace(x)
    tape.backward(y)
    assert (before.list(), x.grad.list()) == ([0.0], [4.0])


@pytest.mark.parametrize("before", [True, False])
def test_arrays_that_share_a_gradient_are_refused(before):
    x, m, y = made(2.0, 3.0), made(0.0, 0.0), made(0.0, 0.0)
    if before:
        x.grad = m.grad
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x, m])
        wp.launch(product, dim=2, inputs=[x, m, y])
    x.grad = m.grad
    with pytest.raises(ValueError, match="share gradient memory but not their elements"):
        tape.backward(grads={y: wp.ones_like(y)})


def test_parts_of_one_gradient_for_arrays_of_their_own_are_fine():
    x, m, y = made(2.0), made(5.0), made(0.0)
    parts = wp.zeros(2, dtype=float)
    x.grad, m.grad = parts[:1], parts[1:]
    with wp.Tape() as tape:
        wp.launch(product, dim=1, inputs=[x, m, y])
    tape.backward(y)
    assert parts.list() == [5.0, 2.0]


def test_nothing_flows_through_what_had_no_gradient_when_it_was_recorded():
    x, m, y = made(2.0), made(0.0), made(0.0)
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[x, m])
        m.requires_grad = False
        wp.launch(product, dim=1, inputs=[x, m, y])
    m.requires_grad = True
    with pytest.raises(RuntimeError, match="`product`: an array got requires_grad after the launch"):
        tape.backward(y)


def test_a_gradient_that_was_dropped_and_asked_for_again_is_not_that_of_views(monkeypatch):
    monkeypatch.setattr(grad_binding, "_usual", True)  # as if no test before had replaced one
    x, y = made(2.0), made(0.0)
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[x[:], y])
    assert grad_binding._usual
    x.requires_grad = False
    x.requires_grad = True
    with pytest.raises(ValueError, match="was given its own gradient later"):
        tape.backward(y)


LATE = "got requires_grad after the launch was recorded|reads an array without a gradient"


@pytest.mark.parametrize("step", ["launch", "launch of nothing with a gradient", "copy", "copy to a view"])
def test_a_gradient_that_comes_late_to_memory_of_recorded_views(step):
    x, y, z = made(2.0, requires_grad="nothing" not in step), made(0.0, requires_grad=False), made(0.0)
    seen, tape = y[:], wp.Tape()
    with tape:
        if "launch" in step:
            wp.launch(square, dim=1, inputs=[x[:], seen])
        else:
            wp.copy(seen if "view" in step else y, x)
        x.requires_grad = y.requires_grad = True
        wp.launch(square, dim=1, inputs=[y, z])
    with pytest.raises(RuntimeError, match=LATE):
        tape.backward(z)


def test_memory_without_a_gradient_that_is_overwritten_when_it_has_one():
    x, y, z = made(2.0), made(0.0, requires_grad=False), made(0.0)
    tape = wp.Tape()
    with tape:
        wp.copy(y, x)
        y.requires_grad = True
        for write in (lambda: y.fill_(3.0), lambda: wp.launch(square, dim=1, inputs=[x, y]), lambda: wp.copy(y, x)):
            write()
            wp.launch(product, dim=1, inputs=[y, y, z])
    tape.backward(z)
    assert x.grad.list() == [4.0]


def test_a_gradient_that_is_taken_away_from_what_a_copy_wrote():
    x, y, z = made(2.0), made(0.0), made(0.0)
    with wp.Tape() as tape:
        wp.copy(y, x)
        wp.copy(z, y)
    y.requires_grad = False
    with pytest.raises(RuntimeError, match="taken away"):
        tape.backward(z)


@pytest.mark.cpu
@pytest.mark.parametrize("other", ["address", "NumPy"])
def test_memory_at_an_address_has_one_gradient(other):
    memory = np.zeros(2, np.float32)

    def at(**others):
        return wp.array(ptr=memory.ctypes.data, shape=2, dtype=float, **others)

    x, y, z = made(1.0, 2.0), at(requires_grad=True), made(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x, y])
        wp.launch(square, dim=2, inputs=[at() if other == "address" else memory, z])
    tape.backward(grads={z: wp.ones_like(z)})
    assert x.grad.list() == [4.0, 32.0]


@pytest.mark.cpu
def test_memory_at_an_address_with_two_gradients():
    memory = np.zeros(2, np.float32)
    y, z = (wp.array(ptr=memory.ctypes.data, shape=2, dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape(), pytest.raises(ValueError, match="was given its own gradient later"):
        wp.launch(square, dim=2, inputs=[made(1.0, 2.0), y])
    del z
