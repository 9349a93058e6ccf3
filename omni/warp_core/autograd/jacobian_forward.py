"""Jacobians column by column, by running a function in forward mode."""

from __future__ import annotations

import numpy as np

from ..arrays.array import array
from ..forward_mode.trace import JvpTrace
from ..lang.errors import CompileError
from .basis_sweeps import Numbers, checked_blocks, preserved, results_of, shaped, sweep
from .flatten import State, count, is_float, numbers
from .targets import Mask, Target


def prefers_forward(target: Target, mask: Mask | None, most: int) -> bool:
    """True if forward mode needs fewer runs and cannot miss a dependence that reverse mode sees.

    Of programs it does not see the steps that they record on tapes themselves; through arrays without gradient it
    carries what a tape does not.
    """
    if not target.launches_only or any(is_float(a) and a.grad is None for a in target.arrays()):
        return False
    with preserved(target, True):
        outputs = target.call()
        pairs = target.pairs(outputs, mask)
        heights = [count(outputs[o]) for o in {o for _, o in pairs}]
        rows = sum(h if most <= 0 else min(h, most) for h in heights)
        if sum(count(target.inputs[i]) for i in {i for i, _ in pairs}) >= rows:
            return False
        try:
            with JvpTrace(strict=True) as follower:
                for i, _ in pairs:
                    follower.shadows.ensure(target.inputs[i]).zero_()
                target.call()
        except CompileError:  # as of what has a gradient of its own, which has no direction
            return False
    return True


def forward(target: Target, mask: Mask | None, most: int, num_blocks: int | None, restore: bool = True) -> Numbers:
    """Jacobians by one run for each component of an input, or of a block of it. Arguments are those of `reverse`."""
    with preserved(target, restore) as before:
        outputs = target.call()
        results, pairs = results_of(target), target.pairs(outputs, mask)
        blocks = checked_blocks(target, outputs, pairs, num_blocks)
        found: Numbers = {}
        for i in dict.fromkeys(i for i, _ in pairs):
            outs = [o for j, o in pairs if j == i]
            found |= _columns(target, i, outs, outputs, blocks, before if restore else None)
    results.restore()
    for rows in found.values():
        if most > 0:
            rows[:, most:] = np.nan
    return shaped(found, pairs, num_blocks)


def _columns(
    target: Target, i: int, outs: list[int], outputs: list[array], blocks: int, before: State | None
) -> Numbers:
    """The Jacobians of some outputs for one input, of shape (blocks, rows, columns)."""
    x = target.inputs[i]

    def push(seed: array) -> list[np.ndarray]:
        if before is not None:
            before.restore()
        follower = JvpTrace(strict=True)
        follower.shadows.ensure(x)[...] = seed
        with follower:
            made = target.call()
        tangents = [follower.shadows.of(made[o]) for o in outs]
        return [np.zeros(count(made[o])) if t is None else numbers(t) for o, t in zip(outs, tangents)]

    what = [f"output {o} of one block depends on input `{target.labels[i]}` of another block" for o in outs]
    swept = sweep(push, x, [outputs[o] for o in outs], 0, blocks, what)
    return {(i, o): np.swapaxes(columns, 1, 2) for o, columns in zip(outs, swept)}
