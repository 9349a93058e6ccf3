"""Floating point operations of a launch, to compare with a machine's rate of multiply-adds.

Additions, multiplications, divisions and square roots count as one, a fused multiply-add as two, each component of a
vector on its own; what moves, compares or converts counts nothing. They are counted in the intermediate code after all
passes. A kernel may have one loop; conditional parts count as if they were always done. How often the loop runs,
threads that the interpreter runs tell, or the reference. Start with `of_launch`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from kernels import programs

from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function, Region
from omni.warp_core.lang.types import Type, leaves
from omni.warp_core.passes import pipeline

WEIGHTS = {"add": 1, "sub": 1, "mul": 1, "div": 1, "sqrt": 1, "fma": 2}
SAMPLED = 64  # threads

Arrays = dict[str, np.ndarray]
ROUNDS: dict[str, Callable[[Arrays], float]] = {  # of the loop, in a thread on average
    "nbody": lambda inputs: programs.BODIES,
    "mandelbrot": lambda inputs: float(programs.PROGRAMS[1].reference(inputs)["counts"].mean()),
}


def of_launch(name: str, kernel: Any, dim: Any, inputs: Arrays) -> float:
    """Operations of a launch of a program of programs.py."""
    function = pipeline.run(lower_kernel(kernel))
    outside, inside = counted(function.body)
    threads = math.prod(dim) if isinstance(dim, tuple) else dim
    if not inside:
        return threads * outside
    rounds = ROUNDS[name](inputs) if name in ROUNDS else interpreted_rounds(function, inputs)
    return threads * (outside + rounds * inside)


def counted(region: Region) -> tuple[float, float]:
    """Operations outside of loops, and in one round of them."""
    outside = inside = 0.0
    for op in region.ops:
        for result in op.results[:1]:
            outside += WEIGHTS.get(op.code, 0) * _floats(result.type)
        parts = [op.attr.body] if op.code == "call" else op.regions
        for out, within in map(counted, parts):
            if op.code in ("for", "loop"):
                inside += out + within
            else:
                outside, inside = outside + out, inside + within
    return outside, inside


def _floats(t: Type) -> int:
    return sum(getattr(leaf, "is_float", False) for _, leaf in leaves(t))


def interpreted_rounds(function: Function, inputs: Arrays) -> float:
    """How often the loops of a thread run on average, where the kernel takes one input array and then its outputs."""
    (given,) = inputs.values()
    first, *others = (p.type.dtype for p in function.params)
    rows = [tuple(float(x) for x in np.ravel(row)) for row in given[:SAMPLED]]
    args = [MemArray(first, (len(rows),), rows), *(MemArray(t, (len(rows),)) for t in others)]
    context = interp.Context((len(rows),))
    run, before = interp.compiled(function), context.steps
    for i in range(len(rows)):
        context.index = (i,)
        run(context, *args)
    return (before - context.steps) / len(rows)
