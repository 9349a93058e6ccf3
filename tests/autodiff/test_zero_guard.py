"""A value that was not selected has no gradient, although its slope may be infinite where it was computed."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel

F = wp.array(dtype=float)
X = np.array([0.0, 2.0, 0.0, 4.0, 0.5], dtype=np.float32)
SLOPES = np.array([0.0, -0.25, 0.0, -0.0625, -4.0])  # of 1 / x, where x is above zero


def replaced_in_memory(x: F, y: F):
    i = wp.tid()
    y[i] = 1.0 / x[i]
    if x[i] == 0.0:
        y[i] = 7.0


def added_and_replaced(x: F, y: F):
    i = wp.tid()
    positive = float(x[i] > 0.0)
    y[i] += 1.0 / x[i]
    y[i] = positive / (x[i] + 1.0 - positive)


def used_in_a_branch(x: F, y: F):
    i = wp.tid()
    inverse = 1.0 / x[i]
    if x[i] > 0.0:
        y[i] = inverse
    else:
        y[i] = 7.0


def after_an_early_return(x: F, y: F):
    i = wp.tid()
    inverse = 1.0 / x[i]
    if x[i] == 0.0:
        return
    y[i] = inverse


def replaced_in_a_variable(x: F, y: F):
    i = wp.tid()
    v = 1.0 / x[i]
    if x[i] == 0.0:
        v = 7.0
    y[i] = v


def forgotten_by_the_next_iteration(x: F, y: F):
    i = wp.tid()
    v = 0.0
    for k in range(2):
        v = 1.0 / (x[i] * float(k))
    if x[i] > 0.0:
        y[i] = v


def in_a_loop_that_is_not_run(x: F, y: F):
    i = wp.tid()
    inverse = 1.0 / x[i]
    for _ in range(int(x[i] > 0.0)):
        y[i] += inverse


def a_sum_that_is_not_used(x: F, y: F):
    i = wp.tid()
    total = 0.0
    for k in range(2):
        total += float(k) / x[i]
    if x[i] > 0.0:
        y[i] = total


def in_some_iterations(x: F, y: F):
    i = wp.tid()
    v = 1.0 / x[i]
    for k in range(x.shape[0]):
        if k == 1 and x[i] > 0.0:
            y[i] += v
        v += 1.0


def in_the_iteration_after(x: F, y: F):
    i = wp.tid()
    v = 0.0
    for k in range(x.shape[0]):
        if k == 1 and x[i] > 0.0:
            y[i] += v
        v += 1.0 / x[i]


def before_a_loop_is_left(x: F, y: F):
    i = wp.tid()
    v = 0.0
    while True:
        v = 1.0 / x[i]
        if x[i] == 0.0:
            v = 3.0
            break
        y[i] = v
        break


def in_local_arrays(x: F, y: F):
    i = wp.tid()
    a = wp.zeros(shape=2, dtype=float)
    a[0] = 7.0
    a[1] = 1.0 / x[i]
    y[i] = a[int(x[i] > 0.0)]


def a_component(x: F, y: F):
    i = wp.tid()
    positive = float(x[i] > 0.0)
    v = wp.cw_div(wp.vec2(1.0, 7.0), wp.vec2(x[i], 1.0))
    y[i] = v[1] * (1.0 - positive)
    if x[i] > 0.0:
        y[i] = v[0]


def below_a_limit(x: F, y: F):
    i = wp.tid()
    y[i] = wp.min(1.0 / x[i], 9.0)


def between_limits(x: F, y: F):
    i = wp.tid()
    y[i] = wp.clamp(1.0 / x[i], -9.0, 9.0)


def the_least_component(x: F, y: F):
    i = wp.tid()
    y[i] = wp.min(wp.vec3(9.0, 1.0 / x[i], 8.0))


def the_lesser_components(x: F, y: F):
    i = wp.tid()
    y[i] = wp.min(wp.vec2(1.0 / x[i], 3.0), wp.vec2(9.0, 3.0))[0]


PROGRAMS = (
    below_a_limit,
    between_limits,
    the_least_component,
    the_lesser_components,
    replaced_in_memory,
    added_and_replaced,
    used_in_a_branch,
    after_an_early_return,
    replaced_in_a_variable,
    forgotten_by_the_next_iteration,
    in_a_loop_that_is_not_run,
    a_sum_that_is_not_used,
    in_some_iterations,
    in_the_iteration_after,
    before_a_loop_is_left,
    in_local_arrays,
    a_component,
)


@pytest.mark.parametrize("lanes", [None, 1])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_not_chosen(program, lanes):
    x = wp.array(X, dtype=float, requires_grad=True)
    y = wp.zeros(len(X), dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(wp.kernel(program, lanes=lanes), len(X), inputs=[x, y])
    tape.backward(grads={y: wp.ones(len(X), dtype=float)})
    assert np.allclose(x.grad.numpy(), SLOPES)


def test_what_is_not_the_least_of_all():
    @wp.kernel
    def least(x: F, y: F):
        wp.atomic_min(y, 0, 1.0 / x[wp.tid()])

    x, y = wp.array(X, dtype=float, requires_grad=True), wp.full(1, 9.0, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(least, len(X), inputs=[x, y])
    tape.backward(y)
    assert x.grad.list() == [0.0, 0.0, 0.0, -0.0625, 0.0]


def test_components_that_are_not_used():
    @wp.kernel
    def first(x: wp.array(dtype=wp.vec3), y: F):
        i = wp.tid()
        y[i] = wp.cw_div(wp.vec3(1.0), x[i])[0]

    x, y = wp.array([[2.0, 0.0, 0.0]], dtype=wp.vec3, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(first, 1, inputs=[x, y])
    tape.backward(y)
    assert x.grad.numpy().tolist() == [[-0.25, 0.0, 0.0]]


def test_sums_choose_nothing():
    """Adjoints of loops that only add up, as all pairs of bodies do, are not slowed down."""

    @wp.kernel
    def forces(x: wp.array(dtype=wp.vec3), n: int, force: wp.array(dtype=wp.vec3), potential: F):
        i = wp.tid()
        p = x[i]
        total, energy = wp.vec3(0.0), 0.0
        for j in range(n):
            for k in range(3):
                d = x[j] - p * float(k)
                r = 1.0 / wp.sqrt(wp.dot(d, d) + 0.01)
                total = total + d * (r * r * r)
                energy -= r
        force[i] = total
        potential[i] = energy

    adjoint = adjoint_kernel(lower_kernel(forces), library_gradient).function
    assert not any(op.code == "eq" for op in adjoint.body.walk())
