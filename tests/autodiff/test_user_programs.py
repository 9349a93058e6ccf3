"""Programs in the style of users against central differences: simulations, methods, idioms of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.autodiff.corpus import derivative_agreement, kernel_idioms, numerical_methods, simulations, user_programs

STEPS = (1e-6, 2.5e-7)
MODULES = (derivative_agreement, kernel_idioms, numerical_methods, simulations)


def made(values, inputs, grad):
    return {name: wp.array(v, dtype=inputs[name][1], requires_grad=grad) for name, v in values.items()}


def slope(function, inputs, values, name, at, step):
    ends = []
    for by in (-step, step):
        moved = {n: v.copy() for n, v in values.items()}
        moved[name][at] += by
        ends.append(float(function(**made(moved, inputs, False)).numpy()[0]))
    return (ends[1] - ends[0]) / (2.0 * step)


@pytest.mark.parametrize("name", user_programs.PROGRAMS)
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_gradient(name):
    function, inputs = user_programs.PROGRAMS[name]
    assert function.__module__ in {m.__name__ for m in MODULES}
    r = np.random.default_rng(100)
    values = {n: r.uniform(-1.0, 1.0, (*shape, *getattr(t, "_shape_", ()))) for n, (shape, t) in inputs.items()}
    arrays = made(values, inputs, True)
    given = dict(arrays)
    tape = wp.Tape()
    with tape:
        loss = function(**arrays)
    tape.backward(loss)
    unclear = 0
    for n, v in values.items():
        found = given[n].grad.numpy()
        for at in np.ndindex(v.shape):
            expected = slope(function, inputs, values, n, at, STEPS[0])
            allowed = 1e-5 * (1.0 + abs(found[at]) + abs(expected))
            if abs(expected - found[at]) > allowed:  # wrong, or a kink nearby
                finer = slope(function, inputs, values, n, at, STEPS[1])
                assert abs(expected - finer) > allowed, (n, at, found[at], expected)
                unclear += 1
    assert unclear <= 2
