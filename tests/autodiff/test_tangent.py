"""Tangents of random programs and of programs that are easily differentiated wrong.

Of a random program, the tangents of outputs agree with central differences along the direction, and with its gradient:
the dot product of the tangents with weights is that of the weights' gradient with the direction.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.jvp.tangent import tangent_kernel
from omni.warp_core.autodiff.jvp.tangent_values import carries
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir import verifier
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.lang.errors import NotDifferentiable
from omni.warp_core.lang.types import F64
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.autodiff import reference_gradients, test_gradient_table, test_shadow_memory
from tests.autodiff.corpus import random_programs
from tests.autodiff.reference_gradients import LARGE, STEP, THREADS, Arrays

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_PROGRAMS", "0:15").split(":"))
CHUNK = 10


def tangent_of(function, fused=True):
    made = tangent_kernel(function, tuple(carries(p.type) for p in function.params), library_gradient)
    verifier.verify(made)
    ready = run(made, PassOptions(contract=fused))
    verifier.verify(ready)
    return ready


def moved(values: Arrays, along: Arrays, step: float) -> Arrays:
    return {name: [x + step * d for x, d in zip(v, along[name])] for name, v in values.items()}


def pushed(ready, values: Arrays, along: Arrays) -> tuple[Arrays, Arrays]:
    """Values and tangents of `y` and `z`."""
    args = reference_gradients.arguments(values)
    tangents = [MemArray(F64, (len(d),), list(d)) for d in (along[name] for name in "xyz")]
    interp.run_kernel(ready, [*args, *tangents], THREADS)
    return {n: args[i].values() for n, i in (("y", 2), ("z", 3))}, {
        n: tangents[i].values() for n, i in (("y", 1), ("z", 2))
    }


def verdict(seed: int) -> reference_gradients.Verdict:
    function = lower_kernel(reference_gradients.kernel_of(random_programs.text(seed), f"<tangent {seed}>"))
    return reference_gradients.fused_or_not(lambda fused: verdict_on(function, seed, fused))


def verdict_on(function, seed: int, fused: bool) -> reference_gradients.Verdict:
    try:
        ready = tangent_of(function, fused)
        adjoint = adjoint_kernel(function, library_gradient)
    except NotDifferentiable as why:
        return reference_gradients.Verdict("refused", why.reason)
    values, r = reference_gradients.inputs(seed), random.Random(-seed)
    along, weights = ({name: [r.uniform(-1.0, 1.0) for _ in v] for name, v in values.items()} for _ in range(2))
    out, tangents = pushed(ready, values, along)
    large = bool(max(np.max(np.abs(t)) for t in tangents.values()) > LARGE)
    for name, expected in reference_gradients.forward(function, values).items():
        if not np.allclose(out[name], expected, rtol=1e-9, atol=1e-9):
            return reference_gradients.Verdict("wrong", f"{name} is {out[name]} instead of {expected}", large)
    del weights["x"]
    pulling = adjoint._replace(function=run(adjoint.function, PassOptions(contract=fused)))
    gradients = reference_gradients.backward(function, pulling, THREADS, values, weights)
    pulled = sum(np.dot(g, along[name]) for name, g in gradients.items())
    forward = sum(np.dot(t, weights[name]) for name, t in tangents.items())
    size = sum(np.dot(np.abs(g), np.abs(along[name])) for name, g in gradients.items())
    if abs(pulled - forward) > 1e-9 * (1.0 + size):
        return reference_gradients.Verdict("wrong", f"forward {forward}, reverse {pulled}", large)
    return differences(function, values, along, tangents)


def differences(function, values: Arrays, along: Arrays, tangents: Arrays) -> reference_gradients.Verdict:
    def slopes(step: float) -> dict:
        up, down = (reference_gradients.forward(function, moved(values, along, s)) for s in (step, -step))
        return {name: (np.array(up[name]) - down[name]) / (2.0 * step) for name in up}

    found, finer = slopes(STEP), [slopes(STEP / n) for n in (3.0, 10.0)]
    unclear = 0
    for name, expected in found.items():
        allowed = 1e-5 * (1.0 + np.abs(expected) + np.abs(tangents[name]))
        off = np.abs(expected - tangents[name]) > allowed
        # A kink or a jump, where smaller steps say something else; or values too large for any step.
        shaky = np.maximum(np.abs(expected), np.abs(tangents[name])) > LARGE
        for f in finer:
            shaky |= np.abs(f[name] - expected) > allowed
        if (off & ~shaky).any():
            return reference_gradients.Verdict("wrong", f"{name}: {tangents[name]} instead of {expected}")
        unclear += int(off.any())
    return reference_gradients.Verdict("unclear" if unclear else "right")


@pytest.mark.parametrize("first", range(LOW, HIGH, CHUNK))
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_programs(first, record_property):
    verdicts = {seed: verdict(seed) for seed in range(first, min(first + CHUNK, HIGH))}
    counts = Counter(v.kind for v in verdicts.values())
    record_property("tangents", dict(counts))
    print(dict(counts))
    assert not {seed: v.detail for seed, v in verdicts.items() if v.kind == "wrong"}
    assert counts["right"] >= 0.9 * len(verdicts)


@pytest.mark.parametrize("seed", range(300, 312))
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_compiled_as_interpreted(seed):
    kernel = reference_gradients.kernel_of(random_programs.text(seed), f"<tangent compiled {seed}>")
    kernel.lanes = (None, 1, 4, 8, 16)[seed % 5]
    threads = THREADS
    ready = tangent_of(lower_kernel(kernel))
    values, r = reference_gradients.inputs(seed), random.Random(seed)
    along = {name: [r.uniform(-1.0, 1.0) for _ in v] for name, v in values.items()}
    out, expected = pushed(ready, values, along)
    args, directions = ({n: wp.array(v, dtype=wp.float64) for n, v in d.items()} for d in (values, along))
    wp.jvp(
        kernel,
        threads,
        [args["x"], reference_gradients.N, args["y"], args["z"]],
        tangents={args[n]: directions[n] for n in "xyz"},
    )
    for name in "yz":
        np.testing.assert_allclose(args[name].numpy(), out[name], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(directions[name].numpy(), expected[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", test_gradient_table.TABLE)
def test_table_agrees_with_gradients(name):
    """The tangent of the output along each element of an input is that element of its gradient."""
    kernel, args, of, seed, expected = test_gradient_table.TABLE[name]
    for which, gradient in zip(of, expected):
        for k, slope in enumerate(gradient):
            arrays = [wp.array(a, dtype=float) if isinstance(a, list) else a for a in args]
            tangents = [wp.zeros_like(a) if isinstance(a, wp.array) else None for a in arrays]
            tangents[which][k] = 1.0
            wp.jvp(kernel, 1, arrays, tangents=tangents)
            assert math.isclose(tangents[seed].numpy()[0], slope, rel_tol=2e-6)


LOCAL = [
    (test_shadow_memory.ring, test_shadow_memory.ring_judge),
    (test_shadow_memory.table, test_shadow_memory.table_judge),
    (test_shadow_memory.records, test_shadow_memory.records_judge),
]


@pytest.mark.parametrize("lanes", [None, 1, 4])
@pytest.mark.parametrize(("func", "expected"), LOCAL)
def test_local_array(func, expected, lanes):
    n, values = 7, np.random.default_rng(3).uniform(-1.2, 1.2, 21)
    x, y = (wp.array(v, dtype=wp.float64) for v in (values, np.zeros(21)))
    (dy,) = wp.jvp(wp.kernel(func, lanes=lanes), 21, [x, n], [y], tangents=[wp.ones(21, dtype=wp.float64)])
    np.testing.assert_allclose(y.numpy(), [expected(v, n) for v in values], rtol=1e-12)
    slopes = [(expected(v + STEP, n) - expected(v - STEP, n)) / (2 * STEP) for v in values]
    np.testing.assert_allclose(dy.numpy(), slopes, rtol=1e-6, atol=1e-6)
