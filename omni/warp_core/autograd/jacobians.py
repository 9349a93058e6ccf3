"""`jacobian`: all derivatives of the outputs of a function by its inputs.

They come row by row from running a tape backwards (jacobian_reverse.py), or column by column from running the function
in forward mode (jacobian_forward.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.array import array
from ..arrays.dtypes import bfloat16_bits
from ..arrays.transfer import put
from ..lang.types import BF16
from .flatten import scalar_of
from .jacobian_forward import forward, prefers_forward
from .jacobian_reverse import reverse
from .plot import jacobian_plot
from .targets import FunctionMetadata, Mask, Pair, Target, target_of


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
    mode: str = "auto",
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
        max_blocks: Accepted; has no effect.
        block_dim: For a kernel, how many threads a block has, as for `wp.launch`.
        max_outputs_per_var: How many components of each output to differentiate, all if not positive; the rows of the
            others are NaN.
        plot_jacobians: Draw them, see `jacobian_plot`.
        metadata: Names to show instead of those of the function.
        restore_inputs: Give the arrays their values back. If False, a Python function may keep what it changes.
        num_blocks: For independent copies of one system that lie one after the other in each array: their number. One
            run backwards then serves a component of all copies, and each Jacobian has shape (num_blocks, rows, columns)
            for those of the blocks. Some more runs make sure that the blocks do not depend on each other.
        mode: "reverse", with one run backwards for each component of an output. "forward", with one run for each
            component of an input, see `wp.jvp`. "auto": forward for kernels with fewer components in inputs than in
            outputs.

    Returns:
        By (position of the input, position of the output), arrays of the input's dtype. They have a row for each
        component of the output, and a column for each element of the input. Gradients of the arrays are left as they
        were.

    Raises:
        TypeError: If an argument has the wrong type, or an input with a gradient is of structs.
        ValueError: If there is nothing to differentiate, the mask names what is not there, blocks are not independent
            of each other, or `mode` is unknown.
        CompileError: If a kernel cannot be differentiated.

    >>> @wp.kernel
    ... def product(x: wp.array[float], y: wp.array[float]):
    ...     y[0] = x[0] * x[1]
    >>> x, y = wp.array([3.0, 5.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    >>> wp.autograd.jacobian(product, dim=1, inputs=[x], outputs=[y])[0, 0].numpy().tolist()
    [[5.0, 3.0]]
    """
    if mode not in ("auto", "reverse", "forward"):
        raise ValueError(f"mode: expected auto, reverse or forward, got {mode!r}")
    options = {"device": device, "block_dim": block_dim, "max_blocks": max_blocks}
    target = target_of(function, dim, inputs, outputs, metadata, options)
    pushed = mode == "forward" or (mode == "auto" and prefers_forward(target, input_output_mask, max_outputs_per_var))
    run = forward if pushed else reverse
    found = run(target, input_output_mask, max_outputs_per_var, num_blocks, restore_inputs)
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
    made = array._empty(kind, (*rows.shape[:-1], rows.shape[-1] // math.prod(kind.inner)), of.device)
    put(made, rounded.reshape(made.shape + kind.inner))
    return made
