"""`wp.Tape`: records what computes a loss, and runs it backwards for the gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autodiff.leaves import is_active
from . import recording
from .array import array
from .backward import Inactive, Recorded, arrays_in, record
from .scopes import Scopes


class Tape(Scopes):
    """Records launches and copies inside `with tape:`; `backward` then adds to the gradients of all arrays involved.

    What an adjoint will read is copied when a launch is recorded, so that later writes change no gradient.

    >>> import omni.warp_core as wp
    >>> @wp.kernel
    ... def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    ...     i = wp.tid()
    ...     y[i] = x[i] * x[i]
    >>> x, y = wp.full(1, 3.0, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    >>> tape = wp.Tape()
    >>> with tape:
    ...     wp.launch(square, dim=1, inputs=[x, y])
    >>> tape.backward(y)
    >>> x.grad.list()
    [6.0]
    """

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[Recorded | Inactive | tuple[Callable[[], None], list[array]]] = []

    def __enter__(self) -> Tape:
        recording.begin(self)
        return self

    def __exit__(self, *exception: object) -> None:
        recording.end()

    # -- recording --------------------------------------------------------------------------------------------------

    def record_launch(self, kernel: Any, dim: Any, args: Sequence[Any]) -> Recorded | Inactive:
        """Note a launch that is about to run. Raises CompileError if the kernel cannot be differentiated.

        Returns what has to be told when it has run (`launched`).
        """
        step = record(kernel, dim, args)
        self.launches.append(step)
        self._note()
        return step

    def record_func(self, backward: Callable[[], None], arrays: Sequence[array]) -> None:
        """Note a step of your own.

        Args:
            backward: called when its turn comes; it reads the gradients of what the step wrote, and adds to those of
                what it read.
            arrays: the arrays that the step touches; `zero` clears their gradients too.
        """
        self.launches.append((backward, list(arrays)))
        self._note(getattr(backward, "__name__", "step"))

    # -- gradients --------------------------------------------------------------------------------------------------

    def backward(self, loss: array | None = None, grads: dict[array, array] | None = None) -> None:
        """Run everything recorded backwards. Gradients are added to those that arrays have already.

        Args:
            loss: an array of one element whose gradient is set to 1.
            grads: gradients to start with, by array; instead of a loss, or besides it.

        Raises:
            ValueError: if `loss` is not one element, or nothing was recorded.
            RuntimeError: if the loss or an array of `grads` has no gradient.
        """
        if not self.launches:
            raise ValueError("nothing is recorded on this tape: launch inside `with tape:`")
        recording.refuse_following("running a tape backwards")
        self._start(loss, grads or {})
        self._run_backwards()

    def _run_backwards(self) -> None:
        with recording.Paused():
            for step in reversed(self.launches):
                step.backward() if isinstance(step, (Recorded, Inactive)) else step[0]()

    def _start(self, loss: array | None, grads: dict[array, array]) -> None:
        if loss is None and not grads:
            raise ValueError("loss: give the array of the loss, or gradients to start with (grads={array: gradient})")
        if loss is not None:
            if not isinstance(loss, array) or loss.size != 1:
                shape = getattr(loss, "shape", type(loss).__name__)
                raise ValueError(f"loss: expected an array of one element, got {shape}; sum it up, or use grads=")
            _gradient(loss, "loss").fill_(1)
        for a in (*grads, *([loss] if loss is not None else [])):
            if not is_active(a._require_element().type):
                raise ValueError(f"{a._require_element().name} arrays have no gradient: only floating point numbers do")
        for a, g in grads.items():
            _gradient(a, "grads")[...] = g

    @property
    def gradients(self) -> dict[array, array]:
        """The gradient of each recorded array that has one."""
        return {a: a.grad for a in self._arrays() if a.grad is not None}

    adjoints = gradients

    def get_adjoint(self, a: array) -> array | None:
        """The gradient of one array."""
        return a.grad

    def zero(self) -> None:
        """Set the gradients of all recorded arrays to zero."""
        for g in self.gradients.values():
            g.zero_()

    def reset(self) -> None:
        """Forget everything recorded, and set the gradients to zero."""
        self.zero()
        self.launches.clear()
        self.notes.clear()
        self.scopes.clear()

    def _arrays(self) -> list[array]:
        found: list[Any] = []
        for step in self.launches:
            found += step.args if isinstance(step, (Recorded, Inactive)) else step[1]
        return [a for value in found for a in arrays_in(value)]


def _gradient(a: array, name: str) -> array:
    if a.grad is None:
        raise RuntimeError(f"{name}: the array has no gradient; make it with requires_grad=True")
    return a.grad
