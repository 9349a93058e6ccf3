"""Gradients and replays of the user's that read what a launch left: each call needs elements of its own.

The judges are central differences of the same launches without a tape.
"""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

D = wp.array(dtype=wp.float64)
I = wp.array(dtype=int)
TWICE = "a thread may call it again for the same elements"


@wp.func
def multiply(a: D, i: int, v: wp.float64):
    a[i] = a[i] * v


@wp.func_grad(multiply)
def multiply_gradient(a: D, i: int, v: wp.float64):
    got = wp.adjoint[a][i]
    wp.adjoint[v] += got * a[i] / v
    wp.adjoint[a][i] = got * v


@wp.func
def take_slot(counter: I, slots: I, i: int, step: int):
    slots[i] = wp.atomic_add(counter, 0, step)
    return slots[i]


@wp.func_replay(take_slot)
def taken_slot(counter: I, slots: I, i: int, step: int):
    return slots[i]


def run(kernel, x, *rest):
    """Launch a kernel by one thread; the last array is what it makes."""
    wp.launch(kernel, 1, inputs=[x, *rest])
    return rest[-1]


def both_gradients(kernel, values, make):
    """The gradient by `values` of a weighted sum of what a kernel makes, by a tape and by central differences."""
    x = wp.array(values, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        made = run(kernel, x, *make())
    weights = np.arange(1.0, made.size + 1.0)
    tape.backward(grads={made: wp.array(weights, dtype=wp.float64)})

    def weighted(numbers):
        return float(run(kernel, wp.array(numbers, dtype=wp.float64), *make()).numpy() @ weights)

    step = 1e-6 * np.eye(len(values))
    return x.grad.numpy(), [(weighted(values + h) - weighted(values - h)) / 2e-6 for h in step]


def doubles(count, value=1.0):
    return wp.full(count, value, dtype=wp.float64, requires_grad=True)


def multiplied():
    """Arguments for kernels that multiply elements of an array."""
    return wp.array([1, 1], dtype=int), doubles(6)


def slotted():
    """Arguments for kernels that take slots."""
    return wp.array([1, 1], dtype=int), wp.zeros(1, dtype=int), wp.zeros(12, dtype=int), doubles(12)


@wp.kernel
def in_a_loop(x: D, places: I, a: D):
    for k in range(x.shape[0]):
        multiply(a, 0, x[k])


@wp.kernel
def of_two_values(x: D, places: I, a: D):
    multiply(a, 0, x[0])
    multiply(a, 0, x[1])


@wp.kernel
def at_places_from_memory(x: D, places: I, a: D):
    multiply(a, places[0], x[0])
    multiply(a, places[1], x[1])


@wp.kernel
def at_places_that_meet_in_the_next_iteration(x: D, places: I, a: D):
    for k in range(2):
        multiply(a, k, x[0])
        multiply(a, k + 1, x[1])


@wp.kernel
def in_loops_whose_products_meet(x: D, places: I, a: D):
    for j in range(2):
        for k in range(3):
            multiply(a, 2 * j + k, x[k])


@wp.kernel
def from_both_ends(x: D, places: I, a: D):
    multiply(a, -1, x[0])
    multiply(a, 5, x[1])


@wp.kernel
def with_other_steps(x: D, places: I, counter: I, slots: I, y: D):
    for k in range(3):
        y[take_slot(counter, slots, 0, k + 1)] = x[k] * x[k]


@wp.kernel
def slots_from_memory(x: D, places: I, counter: I, slots: I, y: D):
    y[take_slot(counter, slots, places[0], 1)] = x[0] * x[0]
    y[take_slot(counter, slots, places[1], 1)] = x[1] * x[1]


@pytest.mark.parametrize(
    "kernel",
    [
        in_a_loop,
        of_two_values,
        at_places_from_memory,
        at_places_that_meet_in_the_next_iteration,
        in_loops_whose_products_meet,
        from_both_ends,
    ],
)
def test_gradients_that_would_read_what_another_call_left_are_refused(kernel):
    with pytest.raises(wp.CompileError, match=TWICE):
        both_gradients(kernel, np.array([1.5, 2.0, 3.0]), multiplied)


@pytest.mark.parametrize("kernel", [with_other_steps, slots_from_memory])
def test_replays_that_would_read_what_another_call_left_are_refused(kernel):
    with pytest.raises(wp.CompileError, match=TWICE):
        both_gradients(kernel, np.array([1.5, 2.0, 3.0]), slotted)


@wp.kernel
def in_lines_of_their_own(x: D, places: I, a: D):
    n = places[0]
    multiply(a, n, x[0])
    multiply(a, n + 1, x[1])
    multiply(a, n + 3, x[2])


@wp.kernel
def in_iterations_of_their_own(x: D, places: I, a: D):
    n = places[0]
    for k in range(x.shape[0]):
        multiply(a, n + k, x[k])


@wp.kernel
def in_nested_loops(x: D, places: I, a: D):
    for j in range(2):
        for k in range(3):
            multiply(a, 3 * j + k, x[k] * x[j])


@wp.kernel
def with_lines_in_a_loop(x: D, places: I, a: D):
    for k in range(3):
        multiply(a, 2 * k, x[k] * x[0])
        multiply(a, 2 * k + 1, x[k])


@wp.kernel
def at_products(x: D, places: I, a: D):
    n = places[0]
    for k in range(x.shape[0]):
        multiply(a, n * n + k, x[k])


@wp.kernel
def slots_in_nested_loops(x: D, places: I, counter: I, slots: I, y: D):
    for j in range(3):
        for k in range(4):
            if k > j:
                continue
            y[take_slot(counter, slots, 4 * j + k, 1)] = x[j] * x[k] * x[k]


@wp.kernel
def slots_in_a_loop_with_an_exit(x: D, places: I, counter: I, slots: I, y: D):
    for k in range(x.shape[0]):
        if x[k] > 2.5:
            break
        y[take_slot(counter, slots, k, 1)] = x[k] * x[k]


@pytest.mark.parametrize(
    "kernel",
    [
        in_lines_of_their_own,
        in_iterations_of_their_own,
        in_nested_loops,
        with_lines_in_a_loop,
        at_products,
    ],
)
def test_calls_with_places_of_their_own(kernel):
    got, expected = both_gradients(kernel, np.array([1.5, 2.0, 3.0]), multiplied)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("kernel", [slots_in_nested_loops, slots_in_a_loop_with_an_exit])
def test_slots_in_loops(kernel):
    got, expected = both_gradients(kernel, np.array([1.5, 2.0, 3.0]), slotted)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


# -- what was there before ------------------------------------------------------------------------------------------


def adding(states):
    """A kernel that squares what a function adds to, whose gradient states what becomes of earlier values or not."""

    @wp.func
    def add(a: D, i: int, v: wp.float64):
        a[i] = a[i] + v * v
        return a[i]

    @wp.func_grad(add)
    def add_gradient(a: D, i: int, v: wp.float64, got: wp.float64):
        wp.adjoint[v] += wp.float64(2.0) * v * (wp.adjoint[a][i] + got)
        if wp.static(states):
            wp.adjoint[a][i] = wp.adjoint[a][i] + got
        else:
            wp.adjoint[a][i] += got

    @wp.kernel(module="unique")
    def k(x: D, places: I, a: D):
        a[0] = x[1] * x[2]
        r = add(a, 0, x[0])
        a[1] = r * r * a[0]

    return k


def test_a_gradient_that_states_what_earlier_values_get():
    kernel = adding(True)
    got, expected = both_gradients(kernel, np.array([1.5, 2.0, 3.0]), multiplied)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_a_gradient_that_leaves_open_what_earlier_values_get_is_refused():
    kernel = adding(False)
    with pytest.raises(wp.CompileError, match="does not say what becomes of what was there before") as caught:
        both_gradients(kernel, np.array([1.5, 2.0, 3.0]), multiplied)
    assert "a[i] = a[i] + v * v" in caught.value.diagnostics[0].place.text


def test_reading_what_the_function_itself_has_stored_leaves_nothing_open():
    @wp.func
    def put(a: D, i: int, v: wp.float64):
        a[i] = v * v
        return a[i]

    @wp.func_grad(put)
    def put_gradient(a: D, i: int, v: wp.float64, got: wp.float64):
        wp.adjoint[v] += wp.float64(2.0) * v * (wp.adjoint[a][i] + got)

    @wp.kernel(module="unique")
    def k(x: D, places: I, a: D):
        a[0] = x[1] * x[2]
        a[1] = put(a, 0, x[0]) * a[0]

    got, expected = both_gradients(k, np.array([1.5, 2.0, 3.0]), multiplied)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_loops_that_count_for_themselves():
    @wp.kernel
    def counted(x: D, counter: I, slots: I, y: D):
        k = 0
        while k < x.shape[0]:
            slot = take_slot(counter, slots, k, 1)
            y[slot] = x[k] * x[k]
            k += 1

    @wp.kernel
    def left_early(x: D, places: I, a: D):
        k, at = 0, 5
        while True:
            if k >= x.shape[0]:
                break
            multiply(a, at, x[k])
            k += 1
            at -= 2

    @wp.kernel
    def in_place(x: D, places: I, a: D):
        k, at = 0, 0
        while k < x.shape[0]:
            multiply(a, at, x[k])
            k += 1

    def slots():
        return wp.zeros(1, dtype=int), wp.zeros(12, dtype=int), doubles(12)

    values = np.array([2.0, 3.0, 5.0])
    for kernel, make in ((counted, slots), (left_early, multiplied)):
        found, expected = both_gradients(kernel, values, make)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(wp.CompileError, match=TWICE):
        both_gradients(in_place, values, multiplied)


def test_what_a_thread_takes_in_some_iterations():
    @wp.kernel
    def in_a_branch(x: D, counter: I, slots: I, y: D):
        n = 0
        for k in range(x.shape[0]):
            if x[k] > 2.5:
                slot = take_slot(counter, slots, n, 1)
                y[slot] = x[k] * x[k]
                n += 1

    @wp.kernel
    def behind_continue(x: D, counter: I, slots: I, y: D):
        n = 0
        for k in range(x.shape[0]):
            if x[k] < 2.5:
                continue
            slot = take_slot(counter, slots, n + 3, 1)
            y[slot] = x[k] * x[k]
            n += 1

    @wp.kernel
    def before_the_count(x: D, counter: I, slots: I, y: D):
        n = 0
        for k in range(x.shape[0]):
            slot = take_slot(counter, slots, n, 1)
            y[slot] = x[k] * x[k]
            if x[k] > 2.5:
                n += 1

    @wp.kernel
    def back_and_forth(x: D, counter: I, slots: I, y: D):
        n = 1
        for k in range(x.shape[0]):
            if x[k] > 2.5:
                slot = take_slot(counter, slots, n, 1)
                y[slot] = x[k] * x[k]
                n += 1
            else:
                n -= 1

    def make():
        return wp.zeros(1, dtype=int), wp.zeros(12, dtype=int), doubles(12)

    values = np.array([3.0, 2.0, 5.0])
    for kernel in (in_a_branch, behind_continue):
        found, expected = both_gradients(kernel, values, make)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    for kernel in (before_the_count, back_and_forth):
        with pytest.raises(wp.CompileError, match=TWICE):
            both_gradients(kernel, values, make)


def test_branches_of_unrolled_loops():
    @wp.kernel
    def in_a_branch(x: D, counter: I, slots: I, y: D):
        n = 0
        for k in range(3):
            if x[k] > 2.5:
                slot = take_slot(counter, slots, n + 1, 1)
                y[slot] = x[k] * x[k]
                n += 1

    @wp.kernel
    def in_either_branch(x: D, counter: I, slots: I, y: D):
        if x[0] > 2.5:
            y[take_slot(counter, slots, 0, 1)] = x[0] * x[1]
        else:
            y[take_slot(counter, slots, 0, 1)] = x[0] * x[2]

    @wp.kernel
    def before_the_count(x: D, counter: I, slots: I, y: D):
        n = 0
        for k in range(3):
            slot = take_slot(counter, slots, n, 1)
            y[slot] = x[k] * x[k]
            if x[k] > 2.5:
                n += 1

    def make():
        return wp.zeros(1, dtype=int), wp.zeros(12, dtype=int), doubles(12)

    for values in np.array([[3.0, 2.0, 5.0], [2.0, 3.0, 4.0]]):
        for kernel in (in_a_branch, in_either_branch):
            found, expected = both_gradients(kernel, values, make)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    with pytest.raises(wp.CompileError, match=TWICE):
        both_gradients(before_the_count, values, make)


def test_indices_that_are_computed_in_many_steps():
    """Comparing two such indices must not follow each use of each step: there are 2 ** 60 ways through them."""
    text = (
        "import omni.warp_core as wp\n"
        "def kernel_of(multiply):\n"
        "    @wp.kernel\n"
        "    def k(x: wp.array(dtype=wp.float64), m: int, a: wp.array(dtype=wp.float64)):\n"
        "        p = m\n" + 60 * "        p = p + p * m\n" + "        for i in range(3):\n"
        "            multiply(a, p + i, x[i])\n"
        "    return k\n"
    )
    space = {}
    exec(compile(text, "<steps>", "exec"), space)
    found, wanted = both_gradients(
        space["kernel_of"](multiply), np.array([1.3, 0.7, 2.1]), lambda: (0, doubles(3, 1.5))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
