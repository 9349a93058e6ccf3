"""The tape that records at the moment, and what arrays tell it of changes that no kernel makes.

Copies carry gradients back to where they came from; whatever is overwritten by something else has none any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..lang.types import BF16, Struct, Type, element
from .dtypes import bfloat16_bits, bfloat16_numbers

_active: list[Any] = []  # the tape that records, if there is one
_watchers: list[Callable[[], None]] = []


class _Pauses(threading.local):
    count = 0


_pauses = _Pauses()


def tape() -> Any:
    """The tape that records what this thread does now, or None."""
    return _active[0] if _active and not _pauses.count else None


def active() -> bool:
    """Whether a tape records anything."""
    return bool(_active)


def begin(recording: Any) -> None:
    """Let a tape record from now on, whatever thread does something. Raises RuntimeError if one does already."""
    if _active:
        raise RuntimeError("a tape records already, and what it does not see would be missing: end it first")
    _active.append(recording)
    _tell()


def end() -> None:
    """Let no tape record any more."""
    _active.clear()
    _tell()


class Paused:
    """A `with` block in which nothing that this thread does is recorded."""

    def __enter__(self) -> None:
        _pauses.count += 1

    def __exit__(self, *exception: object) -> None:
        _pauses.count -= 1


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
        given = dest.grad.numpy().copy()
        dest.grad.zero_()  # first, as the two may overlap
        if src.grad is not None:
            accumulate(src.grad.numpy(), src.grad._require_element().type, given, dest.grad._require_element().type)

    recording.record_func(backward, [dest, src])


def accumulate(sums: np.ndarray, t: Type, more: np.ndarray, of: Type) -> None:
    """Add numbers that are elements of type `of` to those of type `t`. Integers have no gradient."""
    if isinstance(t, Struct):
        for name, field in t.fields:
            accumulate(sums[name], field, more[name], field)
        return
    to, by = element(t), element(of)
    if not (getattr(to, "is_float", False) and getattr(by, "is_float", False)):
        return
    more = bfloat16_numbers(more) if by is BF16 else more
    if to is BF16:
        sums[...] = bfloat16_bits(bfloat16_numbers(sums) + more)
    else:
        np.add(sums, more, out=sums, casting="same_kind")


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
