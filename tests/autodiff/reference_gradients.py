"""Gradients of kernels by central differences in float64 and by dual numbers, and the verdict on an adjoint."""

from __future__ import annotations

import linecache
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.adjoint import AFTER, BEFORE, Adjoint, adjoint_kernel
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir import verifier
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang.errors import NotDifferentiable
from omni.warp_core.lang.types import F64, I32
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.autodiff import dual_numbers
from tests.autodiff.dual_numbers import Dual, slope

THREADS = 3
N = 4  # the loop bound that programs get
STEP = 1e-6
LARGE = 1e6
DIRECTIONS = 2  # for dual numbers
PART = 3  # where those have judged, differences judge each third element

Arrays = dict[str, list[float]]


def kernel_of(text: str, name: str) -> wp.Kernel:
    """The kernel `program` of a source text."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"wp": wp, "F": wp.array(dtype=wp.float64), "Q": wp.indexedarray(dtype=wp.float64), "__name__": name}
    space |= {"G": wp.array3d(dtype=wp.float64), "Any": Any}
    exec(compile(text, name, "exec"), space)
    return space["program"]


def inputs(seed: int, kind: str = "narrow", threads: int = THREADS) -> Arrays:
    """The numbers in the arrays of program `seed`; wide and rich ones have more."""
    r = random.Random(seed)
    sizes = {"x": 4 * threads, "y": 2 * threads, "z": threads}
    if kind != "narrow":
        sizes |= {"lo": 2, "hi": 2, "q": threads}
    if kind == "rich":
        sizes |= {"g": 6 * threads}
    return {name: [r.uniform(-1.0, 1.5 if name == "x" else 1.0) for _ in range(n)] for name, n in sizes.items()}


def places(count: int) -> list[int]:
    """What the elements of `q` are indexed by."""
    return list(range(count))[::-1]


def shape_of(name: str, count: int) -> tuple[int, ...]:
    """The shape of an array of `count` numbers."""
    return (count // 6, 2, 3) if name == "g" else (count,)


def arguments(values: Arrays) -> list:
    """The arguments of a program. `q` is seen through indices, `g` has three dimensions."""
    made = {name: MemArray(F64, shape_of(name, len(v)), list(v)) for name, v in values.items()}
    found: list = [N if name == "n" else made[name] for name in ("x", "n", "y", "z")]
    found += [made[name] for name in ("lo", "hi") if name in made]
    if "q" in made:
        count = len(values["q"])
        found.append((made["q"], MemArray(I32, (count,), places(count))))
    if "g" in made:
        found.append(made["g"])
    return found


def memory(args: list) -> dict[str, MemArray]:
    """The arrays among the arguments of a program by name."""
    arrays = [a[0] if isinstance(a, tuple) else a for a in args if a is not N]
    return dict(zip(("x", "y", "z", "lo", "hi", "q", "g"), arrays))


def forward(function: Function, values: Arrays) -> Arrays:
    args = arguments(values)
    interp.run_kernel(function, args, THREADS)
    return {name: a.values() for name, a in memory(args).items() if name != "x"}


def loss(function: Function, values: Arrays, weights: Arrays) -> float:
    out = forward(function, values)
    return sum(w * v for name in weights for w, v in zip(weights[name], out[name]))


@dataclass
class Verdict:
    """`kind` is right, refused, wrong, or unclear where differences do not agree with each other."""

    kind: str
    detail: str = ""
    large: bool = False  # derivatives are so large that the rounding of one product may change them


def fused_or_not(judge: Callable[[bool], Verdict]) -> Verdict:
    """The verdict on code with fused products, which round otherwise. Where sines of large numbers turn that into
    anything, the verdict on code without.
    """
    fused = judge(True)
    return judge(False) if fused.kind == "wrong" and fused.large else fused


def verdict(text: str, seed: int, kind: str = "narrow") -> Verdict:
    """Compare the adjoint of a program with central differences at one point."""
    function = lower_kernel(kernel_of(text, f"<gradient {seed}>"))
    try:
        adjoint = adjoint_kernel(function, library_gradient)
    except NotDifferentiable as why:
        return Verdict("refused", why.reason)
    verifier.verify(adjoint.function)
    values, r = inputs(seed, kind), random.Random(-seed)
    weights = {name: [r.uniform(-1.0, 1.0) for _ in v] for name, v in values.items() if name != "x"}

    def judge(fused: bool) -> Verdict:
        ready = run(adjoint.function, PassOptions(contract=fused and AFTER not in adjoint.reads))
        verifier.verify(ready)
        found = backward(function, adjoint._replace(function=ready), THREADS, values, weights)
        said = by_duals(function, values, weights, found)
        if said.kind == "wrong":
            return said
        # Dual numbers have judged all elements, and differences judge the dual numbers too.
        part = slice(seed % PART, None, PART) if said.kind == "right" else slice(None)
        return compare(function, values, weights, found, part)

    return fused_or_not(judge)


def by_duals(function: Function, values: Arrays, weights: Arrays, found: Arrays) -> Verdict:
    """Compare gradients with the derivatives along some directions that dual numbers carry."""
    for seed in range(DIRECTIONS):
        r = random.Random(seed)
        along = {name: [r.uniform(-1.0, 1.0) for _ in v] for name, v in values.items()}
        moving = {name: [Dual(x, d) for x, d in zip(v, along[name])] for name, v in values.items()}
        args = arguments(moving)
        try:
            dual_numbers.run_kernel(function, args, THREADS)
        except dual_numbers.Unsupported:
            return Verdict("unclear")
        out = memory(args)
        told = sum(w * slope(x) for name in weights for w, x in zip(weights[name], out[name].values()))
        parts = [g * d for name, gradient in found.items() for g, d in zip(gradient, along[name])]
        if not math.isfinite(told):
            return Verdict("unclear")
        if abs(told - sum(parts)) > 1e-9 * (1.0 + sum(map(abs, parts))):
            detail = f"along direction {seed}: {sum(parts)} instead of {told} by dual numbers"
            return Verdict("wrong", detail, large=max(map(abs, parts)) > LARGE)
    return Verdict("right")


def backward(function: Function, adjoint: Adjoint, threads: int, values: Arrays, weights: Arrays) -> Arrays:
    """Gradients of all arrays, by running the adjoint in the interpreter."""
    before, after = arguments(values), arguments(values)
    interp.run_kernel(function, after, threads)
    args = [b if time == BEFORE else a for a, b, time in zip(after, before, adjoint.reads)]
    arrays = memory(args)
    for name, a in arrays.items():
        a.grad = MemArray(F64, a.shape, list(weights.get(name, [0.0] * len(values[name]))))
    interp.run_kernel(adjoint.function, args, threads)
    return {name: a.grad.values() for name, a in arrays.items()}


def interpreted(kernel: wp.Kernel, threads: int, values: Arrays, weights: Arrays) -> Arrays:
    """Gradients of a kernel, by its adjoint in the interpreter."""
    function = lower_kernel(kernel)
    adjoint = adjoint_kernel(function, library_gradient)
    return backward(function, adjoint, threads, values, weights)


def compare(function: Function, values: Arrays, weights: Arrays, found: Arrays, part: slice = slice(None)) -> Verdict:
    """Compare a part of the elements of each gradient with central differences."""
    unclear = 0
    rounding = 1e-9 * abs(loss(function, values, weights))  # of a difference, by the step
    for name, gradient in found.items():
        for k, g in list(enumerate(gradient))[part]:
            slope = difference(function, values, weights, name, k, STEP)
            allowed = 1e-5 * (1.0 + abs(slope) + abs(g)) + rounding
            if abs(slope - g) <= allowed:
                continue
            if not math.isfinite(slope):
                unclear += 1
                continue
            # A kink or a jump, where smaller steps say something else; or values so large that no step is small enough
            # for their sines.
            finer = [difference(function, values, weights, name, k, STEP / n) for n in (3.0, 10.0)]
            if max(abs(slope), abs(g)) > LARGE or any(abs(f - slope) > allowed for f in finer):
                unclear += 1
                continue
            return Verdict("wrong", f"{name}[{k}]: {g} instead of {slope}")
    return Verdict("unclear" if unclear else "right")


def difference(function: Function, values: Arrays, weights: Arrays, name: str, k: int, step: float) -> float:
    results = []
    for moved_by in (-step, step):
        moved = {n: list(v) for n, v in values.items()}
        moved[name][k] += moved_by
        results.append(loss(function, moved, weights))
    return (results[1] - results[0]) / (2.0 * step)
