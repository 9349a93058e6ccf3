"""Jacobians row by row, by running a tape backwards."""

from __future__ import annotations

import numpy as np

from ..arrays.array import array
from ..tape.tape import Tape
from .basis_sweeps import Numbers, checked_blocks, preserved, results_of, shaped, sweep
from .flatten import State, numbers
from .targets import Mask, Target


def reverse(target: Target, mask: Mask | None, most: int, num_blocks: int | None, restore: bool = True) -> Numbers:
    """Jacobians by one run backwards for each component of an output, or of a block of it.

    Args:
        target: what to differentiate.
        mask: which pairs.
        most: how many components of each output, all if not positive.
        num_blocks: how many blocks, or None for whole Jacobians.
        restore: whether to give arrays their values back.
    """
    with preserved(target, restore):
        tape = Tape()
        with tape:
            outputs = target.call()
        results, pairs = results_of(target), target.pairs(outputs, mask)
        within = State([a for a in tape.gradients if all(a is not b for b in target.arrays())])
        blocks = checked_blocks(target, outputs, pairs, num_blocks)
        found: Numbers = {}
        try:
            for o in dict.fromkeys(o for _, o in pairs):
                found |= _rows(tape, target, [i for i, other in pairs if other == o], o, outputs[o], most, blocks)
        finally:
            within.restore_gradients()
    results.restore()
    return shaped(found, pairs, num_blocks)


def _rows(tape: Tape, target: Target, ins: list[int], o: int, output: array, most: int, blocks: int) -> Numbers:
    """The Jacobians of one output for some inputs, of shape (blocks, rows, columns)."""
    inputs = [target.inputs[i] for i in ins]

    def pull(seed: array) -> list[np.ndarray]:
        tape.zero()
        for a in inputs:
            assert a.grad is not None
            a.grad.zero_()
        tape._backward(grads={output: seed})
        return [numbers(a.grad) for a in inputs if a.grad is not None]

    what = [f"output {o} of one block depends on input `{target.labels[i]}` of another block" for i in ins]
    return {(i, o): rows for i, rows in zip(ins, sweep(pull, output, inputs, most, blocks, what))}
