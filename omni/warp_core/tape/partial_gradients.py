"""Gradients that a failed run backwards leaves as partial sums.

They cannot be undone, as copies of all gradients would cost every `backward` time and memory. So they become NaN, which
no later computation takes for a gradient, and `backward` refuses them until they are cleared. Start with `spoil`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np

from ..arrays import layouts, transfer
from ..arrays.array import array
from ..devices.interval_map import IntervalMap
from ..dispatch import call_site, capture, observers
from ..launches import plans

_NAN = b"\xff"  # every byte of an element: NaN in each floating point type, and one that no arithmetic makes


Aside = Sequence[tuple[array, array]]  # gradients that are to be added at the end, as `seeds.begin` gives them

# Backward passes that have failed and whose partial sums are not NaN yet: the error, the steps, the steps that had not
# run, and the gradients that were set aside (None if the pass failed before).
failed: list[tuple[BaseException, Sequence[Any], Iterator[Any], Aside | None]] = []


class Spoiled(NamedTuple):
    """A gradient with partial sums in it, and what to tell of it."""

    gradient: weakref.ref[array]
    why: str


spoiled: list[Spoiled] = []
_lock = threading.RLock()


def spoil() -> None:
    """Set the partial sums of all that `failed` to NaN, and other gradients back to what they were."""
    with _lock:
        for failure in failed[::-1]:
            _spoil(*failure)
            failed.remove(failure)


def _spoil(error: BaseException, steps: Sequence[Any], left: Iterator[Any], aside: Aside | None) -> None:
    place = call_site.here()
    why = f"`{place.called}` at {place} raised {type(error).__name__} before it had added all terms"
    begun = steps if aside is None else _begun(error, steps, length_hint(left))
    arrays = [a for step in begun for a in step.arrays if a._grad is not None]
    active = {layouts.identity(a._grad): a for a in arrays if a._require_element().is_active}
    with observers.NotRecording():
        for gradient, was in reversed(aside or ()):
            transfer.copy(gradient, was)
        for a in active.values():
            transfer.fill(a._grad, _NAN * a._grad._require_element().type.size)
    whole = [a._grad if a._claim is None else a._claim.gradient for a in arrays]
    spoiled.extend(Spoiled(weakref.ref(g), why) for g in {id(g): g for g in whole}.values())


def _begun(error: BaseException, steps: Sequence[Any], left: int) -> Sequence[Any]:
    """The steps that may have changed gradients: a launch for which no code could be made has not."""
    if left < len(steps) and hasattr(steps[left], "kernel") and plans.was_making_code(error):
        left += 1
    return steps[left:]


def check(arrays: Iterable[array]) -> None:
    """Raise RuntimeError if the gradient of an array is a partial sum, after `failed` or `spoiled`.

    A graph that is captured may overwrite it later, so nothing is refused there: its gradients would be NaN.
    """
    if capture.innermost() is not None:
        return
    spoil()
    spans = _still_spoiled()
    for a in arrays:
        why = None if a._grad is None else spans.meeting(layouts.byte_range(a._grad))
        if why is not None and _is_spoiled(a._grad):
            raise RuntimeError(
                f"the gradient of an array of shape {a.shape} is a partial sum: {why}. Clear it, by tape.zero() of the "
                "tape that failed or by `zero_()` on the gradient, and call backward again"
            )


def _still_spoiled() -> IntervalMap[str]:
    """Forget gradients that were overwritten or are gone; where the others are, and why."""
    spans: IntervalMap[str] = IntervalMap()
    left = []
    for entry in spoiled:
        gradient = entry.gradient()
        if gradient is not None and _is_spoiled(gradient):
            left.append(entry)
            spans.add(layouts.byte_range(gradient), entry.why)
    spoiled[:] = left
    return spans


def _is_spoiled(gradient: Any) -> bool:
    """True if an element of a gradient is what `spoil` has written there."""
    size = gradient._require_element().type.size
    elements = np.ascontiguousarray(gradient._numbers()).view(np.uint8).reshape(-1, size)
    return bool((elements == _NAN[0]).all(axis=1).any())
