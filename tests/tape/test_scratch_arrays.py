"""Arrays without a gradient in which one kernel keeps numbers for itself: its gradient would end there."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import compiler

D = wp.array(dtype=wp.float64)
ENDS = "argument `s.* reads an array without a gradient, which kernel .* made of arrays with one"


@wp.struct
class Pair:
    x: D
    scratch: D


@wp.kernel
def stored(x: D, scratch: D, y: D):
    i = wp.tid()
    scratch[i] = x[i] * x[i]
    y[i] = scratch[i] * x[i]


@wp.kernel
def summed(x: D, scratch: D, y: D):
    i = wp.tid()
    wp.atomic_add(scratch, i, x[i] * x[i])
    y[i] = scratch[i] * x[i]


@wp.kernel
def in_the_next_iteration(x: D, scratch: D, y: D):
    i = wp.tid()
    for _ in range(2):
        y[i] = y[i] + scratch[i] * x[i]
        scratch[i] = x[i] * x[i]


@wp.kernel
def in_branches(x: D, scratch: D, y: D):
    i = wp.tid()
    if x[i] > 0.0:
        scratch[i] = x[i] * x[i]
    if x[i] > 1.5:
        y[i] = scratch[i] * x[i]


@wp.kernel
def before_the_store(x: D, scratch: D, y: D):
    i = wp.tid()
    y[i] = scratch[i] * x[i]
    scratch[i] = x[i] * x[i]


@wp.kernel
def in_the_other_branch(x: D, scratch: D, y: D):
    i = wp.tid()
    if x[i] > 1.5:
        scratch[i] = x[i] * x[i]
    else:
        y[i] = scratch[i] * x[i]


@wp.kernel
def of_constants(x: D, scratch: D, y: D):
    i = wp.tid()
    scratch[i] = wp.float64(3.0)
    y[i] = scratch[i] * x[i]


@wp.kernel
def to_choose(x: D, scratch: D, y: D):
    i = wp.tid()
    scratch[i] = x[i] * x[i]
    if scratch[i] > 2.0:
        y[i] = wp.float64(3.0) * x[i]


@wp.kernel
def at_other_places(x: D, scratch: D, y: D):
    i = wp.tid()
    if i == 0:
        scratch[2] = x[i] * x[i]
        for j in range(2):
            y[j] = scratch[j] * x[i]


@wp.kernel
def by_steps_of_a_loop(x: D, scratch: D, y: D):
    if wp.tid() == 0:
        for j in range(3):
            y[j] = scratch[j] * x[j]
            scratch[j] = x[j] * x[j]


@wp.kernel
def by_steps_of_a_while_loop(x: D, scratch: D, y: D):
    j = wp.tid()
    while j < 3:
        y[j] = scratch[j] * x[j]
        scratch[j] = x[j] * x[j]
        j += 3


@wp.kernel
def by_former_steps(x: D, scratch: D, y: D):
    if wp.tid() == 0:
        for j in range(3):
            y[j] = scratch[j] * x[j]
            if j < 2:
                scratch[j + 1] = x[j] * x[j]


@wp.kernel
def behind_constants(x: D, scratch: D, y: D):
    i = wp.tid()
    scratch[i] = wp.float64(2.0)
    y[i] = scratch[i] * x[i]
    scratch[i] = x[i] * x[i]


@wp.kernel
def to_round(x: D, scratch: D, y: D):
    i = wp.tid()
    scratch[i] = x[i] * x[i]
    y[i] = wp.float64(int(scratch[i] + wp.float64(0.5))) * x[i]


@wp.kernel
def to_count(x: D, scratch: D, y: D):
    i = wp.tid()
    scratch[i] = x[i] * x[i]
    scratch[i] = scratch[i] + wp.float64(1.0)
    y[i] = x[i] * x[i]


@wp.kernel
def of_a_struct(s: Pair, y: D):
    i = wp.tid()
    s.scratch[i] = s.x[i] * s.x[i]
    y[i] = s.scratch[i] * s.x[i]


@wp.kernel
def beside_in_a_struct(s: Pair, y: D):
    i = wp.tid()
    s.scratch[i] = s.x[i] * s.x[i]
    s.scratch[i] = s.scratch[i] + wp.float64(1.0)
    y[i] = wp.float64(int(s.scratch[i])) * s.x[i]


VALUES = np.array([1.0, 2.0, 3.0])


def made(kernel, values, requires_grad):
    """What a kernel makes of values, the array of these, and the tape."""
    x = wp.array(values, dtype=wp.float64, requires_grad=True)
    scratch = wp.full(3, 0.5, dtype=wp.float64, requires_grad=requires_grad)
    y = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, 3, inputs=[x, scratch, y])
    return y, x, tape


def gradient(kernel, requires_grad):
    y, x, tape = made(kernel, VALUES, requires_grad)
    tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
    return x.grad.numpy()


def differences(kernel):
    """The same by central differences."""

    def total(values):
        return made(kernel, values, False)[0].numpy().sum()

    return [(total(VALUES + step) - total(VALUES - step)) / 2e-6 for step in 1e-6 * np.eye(3)]


@pytest.mark.parametrize("kernel", [stored, summed, in_the_next_iteration, in_branches, by_former_steps])
def test_numbers_that_a_kernel_reads_again_need_a_gradient(kernel):
    with pytest.raises(RuntimeError, match=ENDS):
        gradient(kernel, False)
    np.testing.assert_allclose(gradient(kernel, True), differences(kernel), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        *(before_the_store, in_the_other_branch, of_constants, to_choose, at_other_places, by_steps_of_a_loop),
        *(by_steps_of_a_while_loop, behind_constants, to_round, to_count),
    ],
)
def test_other_numbers_need_none(kernel):
    np.testing.assert_allclose(gradient(kernel, False), differences(kernel), rtol=1e-6, atol=1e-8)


def test_views_of_one_memory():
    @wp.kernel
    def k(x: D, first: D, scratch: D, y: D):
        i = wp.tid()
        first[i] = x[i] * x[i]
        y[i] = scratch[i] * x[i]

    x, y = (wp.array(VALUES, dtype=wp.float64, requires_grad=True) for _ in range(2))
    memory = wp.zeros(6, dtype=wp.float64)
    for part, ends in ((memory[:3], True), (memory[3:], False)):
        with wp.Tape() as tape:
            wp.launch(k, 3, inputs=[x, memory[:3], part, y])
        if ends:
            with pytest.raises(RuntimeError, match=ENDS):
                tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
        else:
            tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
            assert x.grad.list() == [0.0, 0.0, 0.0]


def test_arrays_in_structs():
    pair = Pair()
    pair.x = wp.array(VALUES, dtype=wp.float64, requires_grad=True)
    pair.scratch = wp.zeros(3, dtype=wp.float64)
    y = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(of_a_struct, 3, inputs=[pair, y])
    with pytest.raises(RuntimeError, match=ENDS):
        tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
    with wp.Tape() as tape:
        wp.launch(beside_in_a_struct, 3, inputs=[pair, y])
    tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
    assert pair.x.grad.list() == [2.0, 5.0, 10.0]  # the rounded factor, x * x + 1


def test_what_nothing_is_to_flow_through():
    x = wp.array(VALUES, dtype=wp.float64, requires_grad=True)
    scratch, y = wp.zeros(3, dtype=wp.float64), wp.zeros(3, dtype=wp.float64, requires_grad=True)
    scratch.requires_grad = False
    with wp.Tape() as tape:
        wp.launch(stored, 3, inputs=[x, scratch, y])
    tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
    np.testing.assert_allclose(x.grad.numpy(), VALUES**2)


def test_a_single_adjoint():
    @wp.kernel
    def linear(x: D, scratch: D, y: D):
        i = wp.tid()
        scratch[i] = wp.float64(2.0) * x[i]
        y[i] = wp.float64(3.0) * scratch[i]

    x, y = (wp.array(VALUES, dtype=wp.float64, requires_grad=True) for _ in range(2))
    for scratch in (wp.zeros(3, dtype=wp.float64), wp.zeros(3, dtype=wp.float64, requires_grad=True)):
        y.grad.fill_(1.0)
        given = {"inputs": [x, scratch], "outputs": [y], "adjoint": True, "adj_inputs": [None, None]}
        if scratch.requires_grad:
            wp.launch(linear, 3, **given, adj_outputs=[None])
            assert x.grad.list() == [6.0, 6.0, 6.0]
        else:
            with pytest.raises(RuntimeError, match=ENDS):
                wp.launch(linear, 3, **given, adj_outputs=[None])


def test_which_arrays_are_read_again():
    def pairs(kernel):
        found = compiler.effects(kernel)
        return {tuple((found.arrays[n].param, *found.arrays[n].path) for n in pair[:2]) for pair in found.rereads}

    assert pairs(stored) == {((1,), (0,)), ((1,), (1,))}
    assert pairs(of_a_struct) == {((0, "scratch"), (0, "x")), ((0, "scratch"), (0, "scratch"))}
    assert ((1,), (1,)) not in pairs(before_the_store) | pairs(in_the_other_branch)
    assert pairs(in_the_next_iteration) >= {((1,), (1,)), ((2,), (1,))}
