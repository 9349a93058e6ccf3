"""Which gradient belongs to which memory.

Arrays that show the same memory have one gradient. A view has that of its array; others find it by their address, as
each array that gets a gradient lays claim to its memory. Start with `settle`, which a tape calls for what it records,
and `check`, which it calls before it goes backwards, as gradients may have been replaced meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, Literal

from .. import _native
from ..dispatch.call_site import CallSite
from . import layouts
from .layouts import Layout

PROGRAM: Literal["program"] = "program"

# Who has set all elements of a gradient: the program, or the call of `backward` that left sums there. None where it is
# as it was allocated, or has been cleared since.
SetBy = CallSite | Literal["program"] | None

_order = count()
_usual = True  # whether no gradient was ever assigned or replaced, so that there is nothing to `check`


are_linked = False  # whether a gradient was ever linked to tensors of another library


def attach_links(arrays: Iterable[Any]) -> None:
    """Give the gradients of arrays to the tensors of other libraries that share them."""
    if are_linked:
        for link in {a._grad._link for a in arrays if a._grad is not None} - {None}:
            link.attach()


class GradientBinding(_native.GradientSpan):
    """Binds the memory of an array to its gradient in another array, for as long as there are views of the array."""

    def __init__(self, a: Any, gradient: Any):
        super().__init__(*a._span)
        self.gradient, self.base, self.number = gradient, a._address, next(_order)
        self.offset = gradient._address - a._address


def claim(a: Any, gradient: Any, fresh: bool) -> GradientBinding | None:
    """The claim of an array that gets a gradient. Memory at an address that was given is there as long as the array.

    Args:
        a: the array.
        gradient: its gradient.
        fresh: whether this was made for it, so that no other array has it.
    """
    global _usual
    _usual = _usual and fresh and not _native.gradients_in(*a._span)
    return GradientBinding(a, gradient) if a.size else None


def bound_gradient(a: Any) -> Any:
    """The gradient that is bound to the memory of an array, or None."""
    claims = _native.gradients_in(*a._span)
    return max(claims, key=lambda c: c.number).gradient if claims else None


def settle(a: Any, name: str) -> None:
    """Give an array the gradient of the memory that it shows, if that has one.

    Args:
        a: an array that a tape records.
        name: what messages call it.

    Raises:
        ValueError: only a part of its memory has a gradient, or there is another one since, or one of other numbers.
    """
    span = a._span
    claims = _native.gradients_in(*span)
    if not claims or a._requires_grad_off or (len(claims) == 1 and claims[0] is a._claim):
        return
    latest: GradientBinding = max(claims, key=lambda c: c.number)
    if a._grad is None:
        if not (latest.low <= span[0] and span[1] <= latest.high):
            raise ValueError(
                f"{name} has no gradient, but another array that shares part of its memory has one. Set "
                "requires_grad on the whole array and take views from it afterwards"
            )
        if not a._require_element().shows_numbers_of(latest.gradient._require_element()):
            raise ValueError(
                f"{name} has elements of {a._require_element().name} and shares memory with an array of "
                f"{latest.gradient._require_element().name} that has a gradient. Gradients cannot pass "
                "through reinterpreted bits. If no gradient is wanted, take the view of a copy: "
                "wp.clone(a, requires_grad=False)"
            )
        at = Layout(a.shape, a.strides, a._address - latest.base)
        a._attach(latest.gradient._view_of(at, a._require_element()), latest)
    elif latest.offset != a._grad._address - a._address:
        raise ValueError(
            f"{name}: another array with the same memory was given its own gradient later, so the "
            "gradients of the two arrays would not be added up. Take views after the gradient was set, or pass the "
            "same array twice. For a gradient each, copy one of the arrays: wp.clone(a), tensor.clone()"
        )


def check(arrays: Iterable[Any]) -> None:
    """Check that arrays of a tape share gradients where they share memory, and nowhere else.

    Raises:
        ValueError: the gradient of an array was replaced, but not that of another one that shows the same memory; or
            arrays that do not have gradients that do.
    """
    if _usual:
        return
    active = list({id(a): a for a in arrays if a._grad is not None and a.size}.values())
    for a in active:
        settle(a, f"a recorded array of shape {a.shape}")
    high, last = 0, None
    for a in sorted(active, key=lambda a: a._grad._span[0]):
        low, end = a._grad._span
        if (
            last is not None
            and low < high
            and _offset(a) != _offset(last)
            and layouts.may_share_memory(a._grad, last._grad)
        ):
            raise ValueError(
                f"recorded arrays of shapes {last.shape} and {a.shape} share gradient memory but not their "
                "elements, so their gradients would be mixed up: give each array its own gradient"
            )
        if last is None or end > high:
            high, last = end, a


def _offset(a: Any) -> int:
    """Return the distance in bytes from an array to its gradient."""
    return a._grad._address - a._address
