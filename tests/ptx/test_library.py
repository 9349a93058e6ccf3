"""Library functions and their adjoints as PTX, against the interpreter: bit by bit, but for those that call libdevice.

OMNI_WARP_PTX_PARTS says how many of 16 parts of the functions are taken.
"""

from __future__ import annotations

import math
import os
import random
from typing import Any

import pytest

from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.codegen.cuda import ptx
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray, Trap, unflatten
from omni.warp_core.ir.interp.block_runner import has_any
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang.errors import NotDifferentiable
from omni.warp_core.lang.types import Array, leaves
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.ir.generate import copy_inputs, random_value, same
from tests.ptx.test_semantics import PtxGpu
from tools import costs

_PARTS = 16
_COUNT = int(os.environ.get("OMNI_WARP_PTX_PARTS", "2"))
_THREADS = 40


@pytest.mark.parametrize("capability", [75, 90])
@pytest.mark.parametrize("part", range(_COUNT))
def test_functions(part, capability):
    functions = [
        row
        for row in costs.functions()
        if not any(isinstance(p.type, Array) for p in row[1].params) and not has_any(row[1], frozenset(("array_at",)))
    ]
    compared = 0
    for name, function in sorted(functions, key=lambda row: row[0])[part + _PARTS // 2 * (capability == 90) :: _PARTS]:
        for fn in _with_adjoint(costs.kernel(function)):
            compared += _compare(fn, name, capability)
    assert compared > 20


def _with_adjoint(fn: Function) -> list[Function]:
    try:
        return [fn, adjoint_kernel(fn, library_gradient).function]
    except NotDifferentiable:
        return [fn]


def _compare(fn: Function, name: str, capability: int) -> bool:
    fn = run(fn, PassOptions(contract=False))
    gpu = PtxGpu(fn, capability, block=64)
    usual = bool(gpu.unit.needs)  # libdevice differs in last bits, which awkward numbers magnify
    if usual and ptx.find_libdevice() is None:
        return False
    expected = _inputs(fn, usual)
    got = copy_inputs(expected)
    for a, b in zip(expected, got):
        if a.grad is not None:
            b.grad = copy_inputs([a.grad])[0]
    try:
        interp.run_kernel(fn, expected, _THREADS)
    except (Trap, interp.Failure):
        return False  # what the function does not take
    gpu.run(got, _THREADS)
    for p, a, b in zip(fn.params, expected, got):
        for x, y in ((a, b), (a.grad, b.grad)):
            assert x is None or (_near if usual else same)(x, y), (name, p.name)
    return True


def _inputs(fn: Function, usual: bool) -> list[MemArray]:
    rng = random.Random(1)

    def value(t: Any) -> Any:
        if usual:
            return unflatten(
                [rng.uniform(0.1, 0.9) if leaf.is_float else rng.randint(0, 9) for _, leaf in leaves(t)], t
            )
        return random_value(rng, t)

    arrays = [MemArray(t, (_THREADS,), [value(t) for _ in range(_THREADS)]) for t in (p.type.dtype for p in fn.params)]
    for a in arrays:
        if any(leaf.is_float for _, leaf in leaves(a.dtype)):
            a.grad = MemArray(a.dtype, (_THREADS,), [value(a.dtype) for _ in range(_THREADS)])
    return arrays


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, MemArray):
        return all(map(_near, a.values(), b.values()))
    if isinstance(a, tuple):
        return all(map(_near, a, b))
    return same(a, b) or (isinstance(a, float) and math.isclose(a, b, rel_tol=1e-11, abs_tol=1e-11))
