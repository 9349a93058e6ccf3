"""Unrecorded writes: changes of memory with gradients between two steps of a tape.

Gradients of an array that a step reads go to the step that wrote it. If other code, such as NumPy, has written there
meanwhile, they would go to the wrong step. So a tape seals the memory with gradients that its steps use. Native code
(native/python/tape/mutation_tracker.cpp) reports writes of this package. Of exported memory it keeps a fingerprint.
Start with `use`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import _native
from ..arrays import layouts
from ..arrays.array import array
from ..dispatch import call_site
from ..dispatch.call_site import CallSite

_native.on_unseen_write(call_site.here)


def use(
    seals: _native.MutationTracker,
    arrays: list[array],
    place: CallSite,
    name: Callable[[int], str],
    covers: Callable[[int], bool] = lambda number: False,
) -> None:
    """Record that an operation at call site `place` uses arrays with gradients.

    Args:
        seals: of the tape.
        arrays: what the step reads or writes; those of integers hand on no gradient and may change.
        place: where the step is recorded.
        name: what messages call an array, by its number.
        covers: whether the step overwrites all of an array, so that it does not matter what was there.

    Raises:
        RuntimeError: the memory of an array was changed since the tape used it, by something that is not recorded.
        ValueError: elements of an array share memory with each other.
    """
    numbers = [number for number, a in enumerate(arrays) if a._require_element().is_active]
    active = [arrays[number] for number in numbers]
    for number, a in zip(numbers, active):
        check_apart(a, name(number))
    found = first_change(seals, active, place, lambda at: covers(numbers[at]))
    if found is not None:
        at, how, before, writer = found
        raise RuntimeError(f"{name(numbers[at])}: {_reason(how, before, writer)}")


def first_change(
    tracker: _native.MutationTracker, arrays: list[array], place: CallSite, covers: Callable[[int], bool]
) -> tuple[int, int, CallSite, CallSite | None] | None:
    """Record that an operation uses arrays, unless one was changed since its last use and is not overwritten.

    Return the number of that array, how it was changed, the call site of the last use, and that of the change.
    """
    while (found := tracker.use(arrays, place)) is not None:
        if not (covers(found[0]) and tracker.renew(arrays[found[0]])):
            return found
    return None


def check_apart(a: array, name: str) -> None:
    """Refuse an array whose elements share memory: reversed code takes the gradient of each for that of one thread."""
    if layouts.has_internal_overlap(a):
        raise ValueError(
            f"{name}: elements of this array share memory (shape {a.shape}, strides {a.strides}), so that they have no "
            "gradients of their own. Pass the array that it was made of, and find the elements by their indices in the "
            "kernel; if nothing is to flow through it, pass a copy: wp.clone(a, requires_grad=False)"
        )


def _reason(how: int, before: CallSite, writer: CallSite | None) -> str:
    used = f"a step that was recorded at {before} used this memory"
    lost = "gradients would go on to what was there before"
    if how == _native.CHANGED:
        return (
            f"{used}, and since then NumPy or another library has changed it, which no tape sees: {lost}. Use assign, "
            "fill_, wp.copy or `a[...] =`, which are recorded, or another array; a step of your own is told with "
            "tape.record_func"
        )
    by = f"at {writer}" if writer is not None else "by something that has no gradient"
    return (
        f"{used}, and since then it was overwritten {by}, which the tape has not recorded: {lost}. Do so inside of "
        "`with tape:` (without record_tape=False), or begin a new tape, or this one anew with tape.reset()"
    )


def names_of(what: str, names: Sequence[str]) -> Callable[[int], str]:
    """Return the names of arrays in messages."""
    return lambda number: f"{what}: `{names[number]}`"
