"""`jacobian_fd`: Jacobians by central differences, the judge of those that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.array import array
from .basis_sweeps import Numbers, preserved, results_of
from .flatten import EPSILON, State, count, numbers, scalar_of, set_numbers
from .jacobians import as_array, metadata_of
from .plot import jacobian_plot
from .targets import FunctionMetadata, Mask, Pair, Target, target_of


def jacobian_fd(
    function: Any,
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    input_output_mask: Mask | None = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_inputs_per_var: int = -1,
    eps: float | None = None,
    plot_jacobians: bool = False,
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
) -> dict[Pair, array]:
    """The Jacobians of a function by central differences: two runs for each component of an input.

    Args:
        function: As for `jacobian`.
        dim: As for `jacobian`.
        inputs: As for `jacobian`.
        outputs: As for `jacobian`.
        input_output_mask: As for `jacobian`.
        device: As for `jacobian`.
        max_blocks: Accepted; has no effect.
        block_dim: For a kernel, how many threads a block has, as for `wp.launch`.
        max_inputs_per_var: How many components of each input to change, all if not positive; the columns of the others
            are NaN.
        eps: The step to both sides. If left out, for a component x the cube root of the precision of its type (0.005
            in float32, 6e-6 in float64), times |x| where that is above 1.
        plot_jacobians: Draw them, see `jacobian_plot`.
        metadata: Names to show instead of those of the function.
        restore_inputs: Give the arrays their values back before each run and at the end.

    Returns:
        As `jacobian`.

    Raises:
        TypeError, ValueError: As `jacobian`; or if `eps` is not positive, or too small to change a component.

    >>> @wp.func
    ... def cube(x: wp.float64):
    ...     return x * x * x
    >>> slope = wp.autograd.jacobian_fd(cube, inputs=[2.0])[0, 0]
    >>> bool(abs(slope.numpy()[0, 0] - 12.0) < 1e-8)
    True
    """
    options = {"device": device, "block_dim": block_dim, "max_blocks": max_blocks}
    target = target_of(function, dim, inputs, outputs, metadata, options)
    found = central(target, input_output_mask, max_inputs_per_var, eps, restore_inputs)
    made = {pair: as_array(columns, target.inputs[pair[0]]) for pair, columns in found.items()}
    if plot_jacobians:
        jacobian_plot(made, metadata_of(target), target.inputs)
    return made


def central(target: Target, mask: Mask | None, most: int, eps: float | None, restore: bool = True) -> Numbers:
    """Jacobians by central differences, as float64."""
    if eps is not None and not eps > 0:
        raise ValueError(f"eps: the step must be positive, got {eps}")
    with preserved(target, restore) as before:
        outputs = target.call()
        results, pairs = results_of(target), target.pairs(outputs, mask)
        found: Numbers = {}
        for i in dict.fromkeys(i for i, _ in pairs):
            outs = [o for j, o in pairs if j == i]
            width = count(target.inputs[i])
            for o in outs:
                found[i, o] = np.full((count(outputs[o]), width), np.nan)
            for column in range(width if most <= 0 else min(most, width)):
                for o, slope in zip(outs, _column(target, i, column, outs, eps, before if restore else None)):
                    found[i, o][:, column] = slope
    results.restore()
    return {pair: found[pair] for pair in pairs}


def _column(
    target: Target, i: int, column: int, outs: list[int], eps: float | None, before: State | None
) -> list[np.ndarray]:
    """The derivatives of some outputs by one component of an input."""
    x = target.inputs[i]
    at: list[float] = []
    values: list[list[np.ndarray]] = []
    for sign in (1.0, -1.0):
        if before is not None:
            before.restore()
        here = numbers(x)[column]
        set_numbers(x, here + sign * _step(x, here, eps), column)
        at.append(numbers(x)[column])  # rounded
        found = target.call()
        values.append([numbers(found[o]) for o in outs])
        if before is None:
            set_numbers(x, here, column)
    if at[0] == at[1]:
        raise ValueError(f"eps: {eps} is too small to change {at[0]} in input `{target.labels[i]}`")
    with np.errstate(invalid="ignore", over="ignore"):
        return [(up - down) / (at[0] - at[1]) for up, down in zip(*values)]


def _step(x: array, here: float, eps: float | None) -> float:
    precision = EPSILON[scalar_of(x)]  # type: ignore[index]
    return eps if eps is not None else precision ** (1 / 3) * max(1.0, abs(here))
