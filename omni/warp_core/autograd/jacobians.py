"""`jacobian`: all derivatives of the outputs of a function by its inputs, by running it backwards for each output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..lang.types import BF16
from ..runtime.array import array
from ..runtime.dtypes import bfloat16_bits
from ..runtime.tape import Tape
from .components import State, count, numbers, scalar_of, set_numbers
from .plot import jacobian_plot
from .targets import FunctionMetadata, Mask, Pair, Target, target_of

Numbers = dict[Pair, np.ndarray]  # float64, (output components, input components); with blocks, one more dimension


def jacobian(
    function: Any,
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    input_output_mask: Mask | None = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_outputs_per_var: int = -1,
    plot_jacobians: bool = False,
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
    *,
    num_blocks: int | None = None,
) -> dict[Pair, array]:
    """The Jacobians of a function for pairs of an input and an output.

    Args:
        function: A kernel; a function of the kernel language, which is mapped over the inputs; or a Python function
            that launches kernels and returns an array or a list of arrays.
        dim: For a kernel, the number of threads to launch.
        inputs: The arguments. Derivatives are taken for arrays of floating point numbers, vectors or matrices with
            `requires_grad`.
        outputs: For a kernel, the arrays it writes, its last parameters; for a Python function that returns nothing,
            the arrays it writes.
        input_output_mask: Pairs (input, output) to differentiate, by position or by the name of the parameter; the
            outputs of a Python function are called output_0, output_1, … All pairs if left out.
        device: Where to run; by default the current device.
        max_blocks: Accepted; of use with a GPU only.
        block_dim: Accepted; of use with a GPU only.
        max_outputs_per_var: How many components of each output to differentiate, all if not positive; the rows of the
            others are NaN.
        plot_jacobians: Draw them, see `jacobian_plot`.
        metadata: Names to show instead of those of the function.
        restore_inputs: Give the arrays their values back. If False, a Python function may keep what it changes.
        num_blocks: For independent copies of one system that lie one after the other in each array: their number. One
            run backwards then serves a component of all copies, and each Jacobian has shape (num_blocks, rows, columns)
            for those of the blocks. Some more runs make sure that the blocks do not depend on each other.

    Returns:
        By (position of the input, position of the output), arrays with a row for each component of the output and a
        column for each element of the input, whose dtype they have. Gradients of the arrays are left as they were.

    Raises:
        TypeError: If an argument has the wrong type, or an input with a gradient is of structs.
        ValueError: If there is nothing to differentiate, the mask names what is not there, or blocks are not
            independent of each other.
        CompileError: If a kernel cannot be differentiated.

    >>> @wp.kernel
    ... def product(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    ...     y[0] = x[0] * x[1]
    >>> x, y = wp.array([3.0, 5.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    >>> wp.autograd.jacobian(product, dim=1, inputs=[x], outputs=[y])[0, 0].numpy().tolist()
    [[5.0, 3.0]]
    """
    options = {"device": device, "block_dim": block_dim, "max_blocks": max_blocks}
    target = target_of(function, dim, inputs, outputs, metadata, options)
    found, _ = reverse(target, input_output_mask, max_outputs_per_var, num_blocks, restore_inputs)
    made = {pair: as_array(rows, target.inputs[pair[0]]) for pair, rows in found.items()}
    if plot_jacobians:
        jacobian_plot(made, metadata_of(target), target.inputs)
    return made


def metadata_of(target: Target) -> FunctionMetadata:
    """The names of a target, for pictures."""
    return FunctionMetadata(target.name, target.labels, target.output_labels)


def as_array(rows: np.ndarray, of: array) -> array:
    """Jacobian numbers as an array: rows of elements like those of the input."""
    kind = of._require_element()
    rounded = bfloat16_bits(rows) if scalar_of(of) is BF16 else rows.astype(kind.numpy)
    made = array._empty(kind, (*rows.shape[:-1], rows.shape[-1] // math.prod(kind.inner)))
    made.numpy()[...] = rounded.reshape(made.numpy().shape)
    return made


# -- running backwards ------------------------------------------------------------------------------------------------


def reverse(
    target: Target, mask: Mask | None, most: int, num_blocks: int | None, restore: bool = True
) -> tuple[Numbers, list[array]]:
    """Jacobians by one run backwards for each component of an output, or of a block of it; and the outputs.

    The arrays have their values and gradients again afterwards; the outputs of a kernel have those of the run.
    """
    before = State(target.arrays())
    tape = Tape()
    with tape:
        outputs = target.call()
    results = State([a for a in target.outputs if all(a is not b for b in target.inputs)], gradients=False)
    pairs = target.pairs(outputs, mask)
    within = State([a for a in tape.gradients if all(a is not b for b in target.arrays())])
    blocks = _checked_blocks(target, outputs, pairs, num_blocks)
    found: Numbers = {}
    try:
        for o in dict.fromkeys(o for _, o in pairs):
            ins = [i for i, other in pairs if other == o]
            found |= _rows(tape, target, ins, o, outputs[o], most, blocks)
    finally:
        if restore:
            before.restore()
            results.restore()
        before.restore_gradients()
        within.restore_gradients()
    return found if num_blocks is not None else {pair: rows[0] for pair, rows in found.items()}, outputs


def _checked_blocks(target: Target, outputs: list[array], pairs: list[Pair], num_blocks: int | None) -> int:
    if num_blocks is None:
        return 1
    labels = target.labels_of(outputs)
    used = {f"input `{target.labels[i]}`": target.inputs[i] for i, _ in pairs}
    used |= {f"output `{labels[o]}`": outputs[o] for _, o in pairs}
    for name, a in used.items():
        if num_blocks < 1 or a.size % num_blocks:
            raise ValueError(f"num_blocks: {name} with {a.size} elements cannot be divided into {num_blocks} blocks")
    return num_blocks


def _rows(tape: Tape, target: Target, ins: list[int], o: int, output: array, most: int, blocks: int) -> Numbers:
    """The Jacobians of one output for some inputs, of shape (blocks, rows, columns)."""
    height = count(output) // blocks
    found = {(i, o): np.full((blocks, height, count(target.inputs[i]) // blocks), np.nan) for i in ins}
    used = height if most <= 0 else min(most, height)
    for row in range(used):
        seed = np.zeros((blocks, height))
        seed[:, row] = 1.0
        for i, pulled in zip(ins, _pulled(tape, [target.inputs[i] for i in ins], output, seed)):
            found[i, o][:, row] = pulled.reshape(blocks, -1)
    if blocks > 1:
        _check_independence(tape, target, ins, output, (blocks, height))
    return found


def _pulled(tape: Tape, inputs: list[array], output: array, seed: np.ndarray) -> list[np.ndarray]:
    """The gradients of the inputs for one of the output."""
    tape.zero()
    for a in inputs:
        assert a.grad is not None
        a.grad.zero_()
    start = array._empty(output._require_element(), output.shape)
    set_numbers(start, seed.ravel())
    tape.backward(grads={output: start})
    return [numbers(a.grad) for a in inputs if a.grad is not None]


def _check_independence(tape: Tape, target: Target, ins: list[int], output: array, shape: tuple[int, int]) -> None:
    """Start from some blocks only, and see that the gradients of all others are zero.

    Any two blocks differ in a bit of their numbers, so it is enough to start once from the blocks that have a bit, and
    once from those that have not.
    """
    weights = np.random.default_rng(0).integers(1, 16, shape)  # exact in every type; sums of them hardly cancel
    numbers_of_blocks = np.arange(shape[0])
    for bit in range((shape[0] - 1).bit_length()):
        for side in (0, 1):
            chosen = numbers_of_blocks >> bit & 1 == side
            pulled = _pulled(tape, [target.inputs[i] for i in ins], output, weights * chosen[:, None])
            for i, gradient in zip(ins, pulled):
                if gradient.reshape(shape[0], -1)[~chosen].any():
                    raise ValueError(
                        f"num_blocks: the blocks are not independent: outputs of one depend on input "
                        f"`{target.labels[i]}` of another; leave num_blocks out"
                    )
