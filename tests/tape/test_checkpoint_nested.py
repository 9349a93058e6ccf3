"""wp.checkpointed in a step of wp.checkpointed: the bits of plain loops, in the memory of one step."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.tape import checkpoint as tapes
from tests.tape.test_checkpoint import (
    CELLS,
    SNAPSHOT,
    F,
    Wave,
    active,
    add,
    add_squares,
    move,
    note,
    ones,
    push,
    refused,
    scale,
    scale_by,
)


def nested(sizes, step, state, budget):
    """`step` in loops inside of each other, each of them one of `wp.checkpointed`; it gets the numbers of all loops."""

    def run(sizes, numbers):
        if sizes:
            wp.checkpointed(
                lambda i: run(sizes[1:], (*numbers, i)), sizes[0], state=state, memory_budget=budget, progress=False
            )
        else:
            step(*numbers)

    run(sizes, ())


@pytest.mark.parametrize("sizes, snapshots", [((4, 5), 2), ((1, 7), 1), ((7, 1), 3), ((3, 2, 4), 2), ((2, 1), 1)])
def test_steps_in_steps(sizes, snapshots):
    found = []
    for checkpointed in (True, False):
        wave = Wave()
        total, history = active([0.0]), active(np.zeros(60))

        def step(*numbers, wave=wave, total=total, history=history):
            wp.launch(push, dim=CELLS, inputs=[wave.u, wave.v, wave.stiffness, wave.force])
            wp.copy(wave.v, wave.force)
            wp.launch(move, dim=CELLS, inputs=[wave.u, wave.v, 0.1 + 0.01 * sum(numbers)])
            wp.launch(add_squares, dim=CELLS, inputs=[wave.u, total])
            number = 0
            for i, size in zip(numbers, sizes):
                number = number * size + i
            wp.launch(note, dim=1, inputs=[wave.u, number, history])

        tape = wp.Tape()
        with tape:
            if checkpointed:
                nested(sizes, step, [wave.u, wave.v], snapshots * SNAPSHOT)
            else:
                for numbers in np.ndindex(*sizes):
                    step(*map(int, numbers))
        tape.backward(grads={a: ones(a) for a in (wave.u, wave.v, total, history)})
        tape.backward(grads={a: ones(a) for a in (wave.u, wave.v, total, history)})
        arrays = (wave.u, wave.v, wave.stiffness, total, history)
        found.append([x.numpy().copy() for a in arrays for x in (a, a.grad)])
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


@wp.kernel
def bend(x: F):
    i = wp.tid()
    x[i] = wp.sin(x[i])


def test_steps_in_steps_keep_few_states(monkeypatch):
    """The tape of an outer step holds no copies of what inner steps overwrite: as much as that of one inner step."""
    used, run_backwards = [], tapes._ReplayTape._run_backwards

    def noted(tape, *args):
        used.append(tape.memory_used)
        run_backwards(tape, *args)

    monkeypatch.setattr(tapes._ReplayTape, "_run_backwards", noted)
    x, start = active([1.0, 2.0]), np.array([1.0, 2.0])
    tape = wp.Tape()
    with tape:
        nested((3, 50), lambda i, j: wp.launch(bend, dim=2, inputs=[x]), [x], 5 * x.capacity)
    tape.backward(grads={x: ones(x)})
    slope = np.ones(2)
    for _ in range(150):
        slope, start = slope * np.cos(start), np.sin(start)
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-4)
    assert len(used) == 3 + 3 * 50
    assert max(used) == x.capacity


@pytest.mark.parametrize("budget", [1, 2, 40])
def test_loops_of_steps_among_launches(budget):
    """Each outer step has two loops of other states, and launches around them."""
    found = []
    for checkpointed in (True, False):
        x, y, rate, total = active([1.0, 2.0]), active([0.5, 0.25]), active([0.9, 0.8]), active([0.0])

        def loop(n, state, step, checkpointed=checkpointed):
            if checkpointed:
                wp.checkpointed(step, n, state=state, memory_budget=budget * state[0].capacity)
            else:
                for i in range(n):
                    step(i)

        def step(i, loop=loop, x=x, y=y, rate=rate, total=total):
            wp.launch(scale, dim=2, inputs=[x, 0.5 + 0.1 * i])
            loop(3, [y], lambda j: wp.launch(add, dim=2, inputs=[y, x]))
            wp.launch(bend, dim=2, inputs=[y])
            loop(4, [x], lambda j: wp.launch(scale_by, dim=2, inputs=[x, rate]))
            wp.launch(add_squares, dim=2, inputs=[x, total])
            wp.launch(add, dim=2, inputs=[x, y])

        tape = wp.Tape()
        with tape:
            if checkpointed:
                wp.checkpointed(step, 5, state=[x, y], memory_budget=2 * budget * x.capacity)
            else:
                for i in range(5):
                    step(i)
        for _ in range(2):
            tape.backward(grads={a: ones(a) for a in (x, y, total)})
        found.append([b.numpy().copy() for a in (x, y, rate, total) for b in (a, a.grad)])
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


def test_arrays_that_steps_in_steps_make():
    """Each step makes an array by a product of matrices."""
    x, w = active(np.full((2, 2), 0.5)), active([[0.5, 0.25], [0.125, 1.0]])
    found = []
    for sizes in ((2, 3), ()):
        x.assign(np.full((2, 2), 0.5))
        x.grad.zero_()
        w.grad.zero_()

        def step(*_):
            y = x @ w
            wp.copy(x, y)

        tape = wp.Tape()
        with tape:
            if sizes:
                nested(sizes, step, [x], 4 * x.capacity)
            else:
                for _ in range(6):
                    step()
        tape.backward(grads={x: ones(x)})
        found.append((x.grad.numpy().copy(), w.grad.numpy().copy()))
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


def test_steps_in_steps_that_cannot_run_again():
    rng = np.random.default_rng(0)
    x = active([1.0, 2.0])

    def by_number(i):
        wp.checkpointed(lambda j: wp.launch(scale, dim=2, inputs=[x, 1.0 + rng.random()]), 3, state=[x])

    def forgotten(i):
        wp.checkpointed(lambda j: wp.launch(add, dim=2, inputs=[x, x]), 3, state=[other])

    refused(by_number, [x], "when it ran again|steps that ran again")
    other = active([1.0, 2.0])
    refused(forgotten, [x, other], "is read and written by steps, and is not in `state`")
