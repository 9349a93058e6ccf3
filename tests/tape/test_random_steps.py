"""Random steps with random states: wp.checkpointed gives the gradients of the whole tape, or refuses."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial

import numpy as np
import pytest

import omni.warp_core as wp

F = wp.array(dtype=float)
N, STEPS = 6, 9
SEEDS = range(*map(int, os.environ.get("OMNI_WARP_STEPS", "0:100").split(":")))


@wp.kernel
def cover(x: F, y: F, by: float):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * by


@wp.kernel
def guarded(x: F, y: F, by: float):
    i = wp.tid()
    if i >= 4:
        return
    y[i] = wp.sin(x[i]) * by


@wp.kernel
def scatter(x: F, y: F, by: float):
    i = wp.tid()
    y[5 - i] = x[i] * by


@wp.kernel
def update(x: F, y: F, by: float):
    i = wp.tid()
    y[i] = 0.5 * y[i] + wp.sin(x[i] * by)


@wp.kernel
def accumulate(x: F, y: F, by: float):
    wp.atomic_add(y, 2, wp.sin(x[wp.tid()]) * by)


@wp.kernel
def into_one(x: F, y: F, by: float):
    if wp.tid() == 0:
        y[int(by * 4.0)] = x[0]


@wp.kernel
def square_own(x: F, y: F, by: float):
    i = wp.tid()
    y[i] = y[i] * y[i] * 0.3 + 0.5


KERNELS = (cover, guarded, scatter, update, accumulate, into_one, square_own)


def launched(kernel, dim, x, y, factor, arrays, i):
    wp.launch(kernel, dim=dim, inputs=[arrays[x], arrays[y], factor + 0.1 * (i % 4)])


def copied(x, y, arrays, i):
    wp.copy(arrays[y], arrays[x])


def part_copied(x, y, arrays, i):
    wp.copy(arrays[y][1:4], arrays[x][:3])


def filled(y, arrays, i):
    arrays[y].fill_(0.25 + 0.01 * i)


def element_assigned(y, arrays, i):
    arrays[y][i % N] = 0.5


def made(x, y, arrays, i):
    fresh = wp.zeros(N, dtype=float, requires_grad=True)
    wp.launch(update, dim=N, inputs=[arrays[x], fresh, 0.3])
    wp.launch(cover, dim=N, inputs=[fresh, arrays[y], 0.9])


def program(rng, count):
    """What a step does, as functions, each with the number of steps after which it comes again."""
    actions = []
    for _ in range(rng.integers(1, 6)):
        x, y = (int(v) for v in rng.choice(count, 2, replace=False))
        kind = rng.integers(0, 12)
        if kind < 7:
            kernel, dim = KERNELS[kind], N if rng.random() < 0.8 else 3
            do = partial(launched, kernel, dim, x, y, round(float(rng.uniform(0.2, 0.9)), 2))
        else:
            choices = (copied, part_copied, made)
            do = partial(choices[kind - 7], x, y) if kind < 10 else partial((filled, element_assigned)[kind - 10], y)
        actions.append((do, int(rng.choice([1, 1, 1, 2, 3, 7]))))
    return actions


def gradients(actions, values, state, budget):
    arrays = [wp.array(v, dtype=float, requires_grad=True) for v in values]
    tape = wp.Tape()

    def step(i):
        for do, every in actions:
            if (i + 1) % every == 0:
                do(arrays, i)

    with tape:
        if state is None:
            for i in range(STEPS):
                step(i)
        else:
            wp.checkpointed(step, STEPS, state=[arrays[i] for i in state], memory_budget=budget)
    seeds = {a: wp.array(np.linspace(0.5, 1.5, N), dtype=float) for a in arrays}
    tape._backward(grads=seeds)  # of arrays that no step uses, too
    return [a.grad.numpy().copy() for a in arrays], [a.numpy().copy() for a in arrays]


def outcome(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    actions, values = program(rng, count), rng.uniform(0.1, 0.9, (count, N))
    state = [i for i in range(count) if rng.random() < 0.6] or [0]
    whole = gradients(actions, values, None, 0)
    try:
        parts = gradients(actions, values, state, int(rng.integers(1, 5)) * 4 * N * len(state))
    except RuntimeError:
        return "refused"
    same = all(np.array_equal(a, b, equal_nan=True) for w, p in zip(whole, parts) for a, b in zip(w, p))
    return "right" if same else f"wrong: {seed}"


def test_right_or_refused():
    found = Counter(outcome(seed) for seed in SEEDS)
    print(dict(found))
    assert not [what for what in found if what.startswith("wrong")]
    assert found["right"] > len(SEEDS) / 4


@pytest.mark.parametrize("seed", SEEDS[:100])
def test_all_arrays_as_state_are_never_refused(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    actions, values = program(rng, count), rng.uniform(0.1, 0.9, (count, N))
    whole = gradients(actions, values, None, 0)
    parts = gradients(actions, values, range(count), 3 * 4 * N * count)
    assert all(np.array_equal(a, b, equal_nan=True) for w, p in zip(whole, parts) for a, b in zip(w, p))
