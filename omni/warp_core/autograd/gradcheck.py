"""`gradcheck` and `gradcheck_tape`: are gradients what differences say?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..lang.types import BF16, F16, F32, F64
from ..tape.launch_vjp import RecordedLaunch
from ..tape.tape import Tape
from .basis_sweeps import Numbers, preserved
from .finite_differences import central
from .flatten import State, count, place_of, scalar_of
from .gradcheck_report import Row, failures, show
from .jacobian_reverse import reverse
from .jacobians import as_array, metadata_of
from .launch_targets import Unchecked, target_of_launch
from .plot import jacobian_plot
from .targets import Mask, Target, target_of

# By the coarser type of input and output: what differences, with the steps that are chosen for the type, may be off by.
TOLERANCE = {F64: (1e-6, 1e-5), F32: (1e-3, 1e-2), F16: (0.1, 0.1), BF16: (0.3, 0.2)}  # absolute, relative
_COARSEST = (BF16, F16, F32, F64)


def gradcheck(
    function: Any,
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    input_output_mask: Mask | None = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
    plot_relative_error: bool = False,
    plot_absolute_error: bool = False,
    show_summary: bool = True,
    restore_inputs: bool = True,
) -> bool:
    """True if the gradients of a function agree with central differences.

    An entry of a Jacobian passes if |gradient - difference| <= atol + rtol * |difference|; NaN does not.

    Args:
        function: As for `jacobian`: a kernel, a function of the kernel language, or a Python function.
        dim: As for `jacobian`.
        inputs: As for `jacobian`.
        outputs: As for `jacobian`.
        eps: The step of the differences, see `jacobian_fd`.
        atol: The absolute tolerance. If left out, that of the coarser type of input and output: 1e-6 for float64, 1e-3
            for float32.
        rtol: The relative tolerance; likewise 1e-5 for float64, 1e-2 for float32.
        raise_exception: Raise if an entry does not pass, instead of returning False.
        input_output_mask: As for `jacobian`.
        device: As for `jacobian`.
        max_blocks: Accepted; has no effect.
        block_dim: For a kernel, how many threads a block has, as for `wp.launch`.
        max_inputs_per_var: How many components of each input to check, all if not positive.
        max_outputs_per_var: How many components of each output to check, all if not positive.
        plot_relative_error: Draw the relative errors, see `jacobian_plot`.
        plot_absolute_error: Draw the absolute errors.
        show_summary: Print a table with the worst entry of each pair.
        restore_inputs: As for `jacobian`.

    Returns:
        Whether all entries pass.

    Raises:
        ValueError: If an entry does not pass and `raise_exception` is set; and as `jacobian`.

    >>> @wp.kernel
    ... def square(x: wp.array[float], y: wp.array[float]):
    ...     i = wp.tid()
    ...     y[i] = x[i] * x[i]
    >>> x, y = wp.array([1.0, 2.0], dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    >>> wp.autograd.gradcheck(square, dim=2, inputs=[x], outputs=[y], show_summary=False)
    True
    """
    options = {"device": device, "block_dim": block_dim, "max_blocks": max_blocks}
    target = target_of(function, dim, inputs, outputs, None, options)
    checked = _Check(eps, atol, rtol, max_inputs_per_var, max_outputs_per_var, restore_inputs)
    rows = checked.rows(target, input_output_mask)
    for relative, wanted in ((True, plot_relative_error), (False, plot_absolute_error)):
        if wanted:
            checked.plot(relative)
    return _conclude(rows, show_summary, raise_exception)


def gradcheck_tape(
    tape: Tape,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    input_output_masks: dict[str, Mask] | None = None,
    blacklist_kernels: Sequence[str] | None = None,
    whitelist_kernels: Sequence[str] | None = None,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
    plot_relative_error: bool = False,
    plot_absolute_error: bool = False,
    show_summary: bool = True,
    reverse_launches: bool = False,
    skip_to_launch_index: int = 0,
) -> bool:
    """`gradcheck` of each launch that a tape has recorded, at the values the arrays had then.

    The launches run again on copies; nothing of the tape changes. Steps that are no launches, such as copies and those
    of `record_func`, are not checked: `gradcheck` of a Python function covers them.

    Args:
        tape: The tape.
        eps: As for `gradcheck`.
        atol: As for `gradcheck`.
        rtol: As for `gradcheck`.
        raise_exception: As for `gradcheck`.
        input_output_masks: By the name of a kernel, as `input_output_mask` of `gradcheck`. Inputs are all parameters,
            outputs those the kernel writes.
        blacklist_kernels: Names of kernels not to check.
        whitelist_kernels: Names of the only kernels to check.
        max_inputs_per_var: As for `gradcheck`.
        max_outputs_per_var: As for `gradcheck`.
        plot_relative_error: As for `gradcheck`.
        plot_absolute_error: As for `gradcheck`.
        show_summary: As for `gradcheck`.
        reverse_launches: Begin with the last launch.
        skip_to_launch_index: How many launches to leave out before the first that is checked.

    Returns:
        Whether all entries of all launches pass.

    Raises:
        TypeError: If `tape` is not a tape.
        ValueError: As `gradcheck`.
    """
    if not isinstance(tape, Tape):
        raise TypeError(f"tape: expected a wp.Tape, got {type(tape).__name__}")
    checked = _Check(eps, atol, rtol, max_inputs_per_var, max_outputs_per_var, True)
    rows = []
    launches = [step for step in tape.launches if isinstance(step, RecordedLaunch)]
    for step in (launches[::-1] if reverse_launches else launches)[skip_to_launch_index:]:
        name = step.kernel.name
        if name in (blacklist_kernels or ()) or (whitelist_kernels and name not in whitelist_kernels):
            continue
        found = checked.launch(step, (input_output_masks or {}).get(name))
        rows += found
        for relative, wanted in ((True, plot_relative_error), (False, plot_absolute_error)):
            if wanted and not (len(found) == 1 and found[0].skipped):
                checked.plot(relative)
    return _conclude(rows, show_summary, raise_exception)


def _conclude(rows: list[Row], show_summary: bool, raise_exception: bool) -> bool:
    if show_summary:
        show(rows)
    wrong = failures(rows)
    if wrong and raise_exception:
        raise ValueError("gradients do not agree with finite differences:\n" + "\n".join(wrong))
    return not wrong


class _Check:
    """Compares targets, with the options of a call."""

    def __init__(
        self, eps: float | None, atol: float | None, rtol: float | None, columns: int, rows: int, restore: bool
    ):
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self.most_columns, self.most_rows, self.restore = columns, rows, restore
        self._last: tuple[Target, Numbers, Numbers] | None = None

    def launch(self, step: RecordedLaunch, mask: Mask | None) -> list[Row]:
        """The comparison of a recorded launch, or why it cannot be compared."""
        try:
            target, default = target_of_launch(step)
        except Unchecked as why:
            return [Row(step.kernel.name, skipped=str(why))]
        return self.rows(target, mask if mask is not None else default)

    def rows(self, target: Target, mask: Mask | None) -> list[Row]:
        """The comparison of each pair."""
        before = State(target.arrays(), gradients=False)
        gradients = reverse(target, mask, self.most_rows, None, self.restore)
        if self.restore:
            before.restore()  # an output that the target also reads is as it was, too
        differences = central(target, mask, self.most_columns, self.eps, self.restore)
        self._last = target, gradients, differences
        with preserved(target, self.restore):
            outputs = target.call()
        return [self._row(target, outputs, pair, gradients[pair], differences[pair]) for pair in gradients]

    def _row(self, target: Target, outputs: Sequence[Any], pair: Any, found: np.ndarray, judge: np.ndarray) -> Row:
        x, y = target.inputs[pair[0]], outputs[pair[1]]
        labels = target.labels[pair[0]], target.labels_of(outputs)[pair[1]]
        height = count(y) if self.most_rows <= 0 else min(self.most_rows, count(y))
        width = count(x) if self.most_columns <= 0 else min(self.most_columns, count(x))
        got, want = found[:height, :width], judge[:height, :width]
        blank = Row(target.name, *labels)
        if not got.size:
            return blank
        coarser = next(t for t in _COARSEST if t in (scalar_of(x), scalar_of(y)))
        atol, rtol = (own if given is None else given for given, own in zip((self.atol, self.rtol), TOLERANCE[coarser]))
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.abs(got - want)
            error[np.isnan(error)] = np.inf
            excess = error / (atol + rtol * np.abs(want) + np.finfo(float).tiny)
            relative = np.where(error == 0, 0.0, error / np.abs(want))
        row, column = np.unravel_index(np.argmax(excess), excess.shape)
        return replace(
            blank,
            entries=got.size,
            place=f"{labels[1]}{place_of(y, int(row))} by {labels[0]}{place_of(x, int(column))}",
            gradient=float(got[row, column]),
            difference=float(want[row, column]),
            absolute=float(error[row, column]),
            relative=float(relative[row, column]),
            passed=bool((error <= atol + rtol * np.abs(want)).all()),
        )

    def plot(self, relative: bool) -> None:
        """Draw the errors of the comparison that was made last."""
        assert self._last is not None
        target, gradients, differences = self._last
        errors = {}
        for pair, got in gradients.items():
            error = np.abs(got - differences[pair])
            with np.errstate(invalid="ignore", divide="ignore"):
                shown = np.where(error == 0, 0.0, error / np.abs(differences[pair])) if relative else error
            errors[pair] = as_array(shown, target.inputs[pair[0]])
        title = f"{target.name}: {'relative' if relative else 'absolute'} errors"
        jacobian_plot(errors, metadata_of(target), target.inputs, title=title)
