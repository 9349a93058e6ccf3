"""Gradients that stand in arrays when `Tape.backward` is called without a loss: it starts with them.

They must be the program's. A pass leaves sums in gradients, which look the same: those of a loss that atomics made, of
arrays that a kernel updates, of inputs. So a pass marks what it has touched, and whatever sets a whole gradient removes
the mark. Start with `check`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..arrays import transfer
from ..arrays.array import array
from ..arrays.grad_binding import PROGRAM
from ..dispatch import capture
from ..dispatch.call_site import CallSite


def mark(arrays: Iterable[array], place: CallSite) -> None:
    """Record that a call of `backward` has left sums in the gradients of arrays."""
    for a in arrays:
        gradient, claim = a._grad, a._claim
        if gradient is not None:
            gradient._set_by = place
            if claim is not None and claim.gradient is not gradient:
                claim.gradient._set_by = place


def check(written: Sequence[array], may_start: bool) -> None:
    """Raise unless the gradients of the arrays that a tape has written are those that the program has set.

    Args:
        written: the arrays.
        may_start: whether a function of the program is recorded, which may set the first gradients itself.

    Raises:
        RuntimeError: an earlier backward pass left one, and it may not be zero.
        ValueError: all are zero, and the program has set none.
    """
    gradients = list({id(a._grad): a._grad for a in written if a._grad is not None}.values())
    for gradient in gradients:
        place = gradient._set_by
        if isinstance(place, CallSite) and _may_be_set(gradient):
            raise RuntimeError(
                f"`{place.called}` at {place} left a gradient in an array of shape {gradient.shape}. backward without "
                "a loss starts with the gradients of arrays that the tape wrote: it would propagate this one again. "
                "Clear it with tape.zero(), or by zero_() on the gradient of the whole array, and set gradients "
                "afterwards. Or name the gradients to start with: tape.backward(grads={y: y.grad})"
            )
    if not may_start and not any(gradient._set_by is PROGRAM or _may_be_set(gradient) for gradient in gradients):
        raise ValueError(
            "loss: give the array of the loss, or gradients to start with. All gradients of arrays that the tape wrote "
            "are zero. Set some (y.grad.fill_(1.0), y.grad = ...), or call backward(grads={y: gradient}); "
            "grads={y: y.grad} starts with the one that y has"
        )


def _may_be_set(gradient: array) -> bool:
    """True if a gradient is not zero, or if a graph is captured, where it is not known yet."""
    return capture.innermost() is not None or transfer.any_set(gradient)
