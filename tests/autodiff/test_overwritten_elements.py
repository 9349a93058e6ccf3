"""Gradients of functions that store to arrays: what was there before has no effect. Room that gradients compute in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import omni.warp_core as wp

F = wp.array(dtype=float)


def numbers(*values):
    return wp.array(values, dtype=float, requires_grad=True)


@wp.struct
class Squares:
    values: F


def overwriting(through, cleared):
    """A function that stores squares, called with an array or a struct, and its gradient."""

    @wp.func
    def put(y: F, i: int, v: float):
        y[i] = v * v

    @wp.func
    def put_in(y: Squares, i: int, v: float):
        put(y.values, i, v)

    if through == "struct":

        @wp.func_grad(put_in)
        def put_in_gradient(y: Squares, i: int, v: float):
            wp.adjoint[v] += 2.0 * v * wp.adjoint[y].values[i]
            if wp.static(cleared):
                wp.adjoint[y].values[i] = 0.0

        return put_in

    @wp.func_grad(put)
    def put_gradient(y: F, i: int, v: float):
        wp.adjoint[v] += 2.0 * v * wp.adjoint[y][i]
        if wp.static(cleared):
            wp.adjoint[y][i] = 0.0

    return put


@pytest.mark.parametrize("through", ["array", "struct"])
@pytest.mark.parametrize("cleared", [True, False])
def test_what_was_overwritten_has_no_gradient_behind_a_custom_function(through, cleared):
    kernel = twice_by(overwriting(through, cleared), through)
    x, y = numbers(3.0, 5.0), numbers(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(kernel, 2, inputs=[x, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    np.testing.assert_allclose(x.grad.numpy(), 2 * (x.numpy() + 1))  # of (x + 1) ** 2, which comes last


def twice_by(put, through):
    """A kernel that sets each element twice."""
    if through == "struct":

        @wp.kernel
        def k(x: F, y: F):
            i = wp.tid()
            s = Squares()
            s.values = y
            put(s, i, 3.0 * x[i])
            put(s, i, x[i] + 1.0)

    else:

        @wp.kernel
        def k(x: F, y: F):
            i = wp.tid()
            put(y, i, 3.0 * x[i])
            put(y, i, x[i] + 1.0)

    return k


@wp.func
def factor(n: int, first: int, a: F, u: F):
    for i in range(n):
        for j in range(i + 1):
            if j < 2 or i == j:
                u[first + i * n + j] = a[first] * float(i + j)
                u[first + i * n + j] = u[first + i * n + j] + 1.0


@wp.func_grad(factor)
def factor_gradient(n: int, first: int, a: F, u: F):
    pass  # no derivative goes through `u`


def test_a_gradient_without_code_cuts_off_what_was_overwritten():
    """The elements that the loops set have no part in the gradient of what was there before, the others all of it."""

    @wp.kernel
    def before(x: F, u: F):
        i = wp.tid()
        u[i] = x[i] * x[i]

    @wp.kernel
    def factors(sizes: wp.array[int], first: wp.array[int], a: F, u: F):
        i = wp.tid()
        factor(sizes[i], first[i], a, u)

    sizes, first = [2, 4, 1], [0, 4, 20]
    x, a, u = numbers(*range(1, 23)), numbers(*range(22)), numbers(*[0.0] * 22)
    with wp.Tape() as tape:
        wp.launch(before, 22, inputs=[x, u])
        wp.launch(factors, 3, inputs=[wp.array(sizes, dtype=int), wp.array(first, dtype=int), a, u])
    tape.backward(grads={u: wp.ones(22, dtype=float)})
    expected = 2.0 * x.numpy()
    for n, at in zip(sizes, first):
        for i, j in itertools.product(range(n), range(n)):
            if j <= i and (j < 2 or i == j):
                expected[at + i * n + j] = 0.0
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    assert not a.grad.numpy().any()


@wp.func
def lower(u: F, i: int, v: float):
    wp.atomic_min(u, i, v)


@wp.func_grad(lower)
def lower_gradient(u: F, i: int, v: float):
    wp.adjoint[v] += wp.adjoint[u][i]


def test_elements_that_an_atomic_sets_are_to_be_cleared_by_the_gradient():
    @wp.kernel
    def k(x: F, u: F):
        lower(u, 0, x[wp.tid()])

    with pytest.raises(wp.CompileError, match=r"`lower` sets elements by a wp.atomic_min"), wp.Tape():
        wp.launch(k, 1, inputs=[numbers(1.0), numbers(2.0)])


@wp.func
def squared_sum(first: int, x: F, y: F, room: F):
    total = 0.0
    for j in range(3):
        total += x[first + j]
    y[first // 3] = total * total


@wp.func_grad(squared_sum)
def squared_sum_gradient(first: int, x: F, y: F, room: F):
    for j in range(3):
        room[first + j] = 0.0
    for j in range(3):
        for k in range(3):
            room[first + j] += x[first + k]
    for j in range(3):
        wp.adjoint[x][first + j] += 2.0 * room[first + j] * wp.adjoint[y][first // 3]


def test_a_gradient_may_compute_in_arrays_that_the_kernel_leaves_alone():
    @wp.kernel
    def k(x: F, y: F, room: F):
        squared_sum(3 * wp.tid(), x, y, room)

    @wp.kernel
    def wrong(x: F, y: F, room: F):
        squared_sum(3 * wp.tid(), x, y, room)
        room[wp.tid()] = x[wp.tid()]

    x, y = numbers(*range(1, 7)), numbers(0.0, 0.0)
    room = wp.array([7.0] * 6, dtype=float)
    with wp.Tape() as tape:
        wp.launch(k, 2, inputs=[x, y, room])
    for _ in range(2):
        tape.zero()
        tape.backward(grads={y: wp.array([1.0, 10.0], dtype=float)})
        assert x.grad.list() == [12.0] * 3 + [300.0] * 3
        assert room.list() == [7.0] * 6
    with pytest.raises(wp.CompileError, match="to arrays that the kernel leaves alone"), wp.Tape():
        wp.launch(wrong, 2, inputs=[x, y, room])
    with pytest.raises(wp.CompileError, match="to arrays that the kernel leaves alone"), wp.Tape():
        wp.launch(k, 2, inputs=[x, y, x])
