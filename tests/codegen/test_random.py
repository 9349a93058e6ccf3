"""Random programs, as written and optimised, at every width against the interpreter.

OMNI_WARP_RANDOM_PROGRAMS sets how many (each is compiled several times).
"""

from __future__ import annotations

import os

import pytest

from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.printer import print_function
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.codegen.machine import Machine, targets
from tests.ir.generate import Options, copy_inputs, generate, make_inputs, same

_COUNT = int(os.environ.get("OMNI_WARP_RANDOM_PROGRAMS", "30"))
_THREADS = 23


def _check(fn, expected, inputs, target, lanes) -> None:
    got = copy_inputs(inputs)
    Machine(fn, target, lanes).run(got, _THREADS)
    for p, a, b in zip(fn.params, expected, got):
        assert same(a, b), f"{p.name} differs on {target.name} with {lanes} lanes\n{a}\n{b}\n{print_function(fn)}"


@pytest.mark.parametrize("seed", range(_COUNT))
def test_random_program(seed):
    fn = generate(seed, Options(functions=seed % 3))
    inputs = make_inputs(fn, seed, _THREADS)
    expected = copy_inputs(inputs)
    interp.run_kernel(fn, expected, _THREADS)
    levels = targets()
    _check(fn, expected, inputs, levels[-1], levels[-1].lanes)
    outlined = run(fn, PassOptions(contract=False, inline_limit=0))
    _check(outlined, expected, inputs, levels[-1], 8)
    optimised = run(fn, PassOptions(contract=False))
    _check(optimised, expected, inputs, levels[seed % len(levels)], 0)
    _check(optimised, expected, inputs, levels[-1], 1)


@pytest.mark.parametrize("seed", range(_COUNT // 3))
def test_fused_multiply_adds_are_the_same_at_every_width(seed):
    fn = run(generate(seed + 10_000), PassOptions(contract=True))
    inputs = make_inputs(fn, seed, _THREADS)
    expected = copy_inputs(inputs)
    interp.run_kernel(fn, expected, _THREADS)
    for target in targets():
        _check(fn, expected, inputs, target, 0)
    _check(fn, expected, inputs, targets()[-1], 1)
