"""The tape that records at the moment, and what arrays tell it of changes that no kernel makes.

Copies carry gradients back to where they came from; whatever is overwritten by something else has none any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_active: list[Any] = []
_watchers: list[Callable[[], None]] = []


def tape() -> Any:
    """The tape that records now, or None."""
    return _active[-1] if _active else None


def begin(recording: Any) -> None:
    """Let a tape record from now on."""
    _active.append(recording)
    _tell()


def end() -> None:
    """Let the tape that began last record no more."""
    _active.pop()
    _tell()


class Paused:
    """A `with` block in which nothing is recorded."""

    def __enter__(self) -> None:
        begin(None)

    def __exit__(self, *exception: object) -> None:
        end()


def watch(changed: Callable[[], None]) -> None:
    """Call `changed` whenever recording begins or ends."""
    _watchers.append(changed)


def _tell() -> None:
    for changed in _watchers:
        changed()


# -- changes that are not launches ------------------------------------------------------------------------------------


def overwritten(a: Any) -> None:
    """Note that the elements of `a` have got other values, which depend on nothing recorded."""
    recording = tape()
    if recording is not None and a.grad is not None:
        recording.record_func(a.grad.zero_, [a])


def copied(dest: Any, src: Any) -> None:
    """Note that the elements of `src` were copied to those of `dest`; both are arrays of one shape."""
    recording = tape()
    if recording is None or dest.grad is None:
        return

    def backward() -> None:
        if src.grad is not None:
            accumulate(src.grad, dest.grad.numpy())
        dest.grad.zero_()

    recording.record_func(backward, [dest, src])


def accumulate(grad: Any, more: Any) -> None:
    """Add numbers to a gradient array."""
    numbers = grad.numpy()
    np.add(numbers, more, out=numbers, casting="same_kind")


def refuse(what: str, **arrays: Any) -> None:
    """Raise if a tape records and one of the arrays has a gradient, which `what` would lose."""
    if tape() is None:
        return
    for name, a in arrays.items():
        if getattr(a, "grad", None) is not None:
            raise RuntimeError(
                f"{what} has no gradient, and {name} requires one while a tape records; "
                "call it outside of the tape, or on arrays without requires_grad"
            )
