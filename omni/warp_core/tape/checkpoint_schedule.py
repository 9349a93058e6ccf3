"""Binomial checkpointing: the order of steps in which few snapshots suffice to reverse all of them.

To reverse a step its starting state is needed again. With s snapshots, n <= C(s + r, s) steps can be reversed with no
step run more than r times. The least number of steps that run again is r n - C(s + r, s + 1) (Griewank and Walther,
Algorithm 799: revolve, ACM Transactions on Mathematical Software 26, 2000). Start with `schedule`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import NamedTuple


class Action(NamedTuple):
    """One action of a schedule, by its `kind`.

    "save": keep the current state, before step `first`, in slot `slot`.
    "restore": take the state before step `first` from slot `slot`.
    "advance": run the steps from `first` up to, and without, `last`.
    "reverse": reverse step `first`, whose starting state is the current one.
    """

    kind: str
    first: int
    last: int = 0
    slot: int = 0


def schedule(n: int, snapshots: int) -> Iterator[Action]:
    """Return the actions that reverse `n` steps, the last one first, from the state before step 0.

    Slot 0 keeps the first state until the end, so that all can be done again.
    """
    kept = [0]  # slot -> the step whose starting state it has
    yield Action("save", 0)
    at = 0  # the state there is; a reversed step leaves its end
    for step in reversed(range(n)):
        if at != kept[-1]:
            at = kept[-1]
            yield Action("restore", at, slot=len(kept) - 1)
        while len(kept) < snapshots and at < step:
            ahead = at + split(step + 1 - at, snapshots - len(kept) + 1)
            yield Action("advance", at, ahead)
            at = ahead
            if at < step:
                yield Action("save", at, slot=len(kept))
                kept.append(at)
        if at < step:
            yield Action("advance", at, step)
        yield Action("reverse", step)
        at = step + 1
        if kept[-1] == step and step:
            kept.pop()


def advances(n: int, snapshots: int) -> int:
    """Return the number of steps that the schedule advances over."""
    r = repetitions(n, snapshots)
    return r * n - comb(snapshots + r, snapshots + 1)


def repetitions(n: int, snapshots: int) -> int:
    """Return how often the schedule advances over a step at most."""
    r = 0
    while comb(snapshots + r, r) < n:
        r += 1
    return r


def split(n: int, snapshots: int) -> int:
    """Return how many of `n` steps to advance before the next snapshot, where one of `snapshots` is at the start."""
    r = repetitions(n, snapshots)
    reached = comb(snapshots + r - 1, r - 1)  # what all snapshots do with one repetition less
    rest = comb(snapshots + r - 2, r - 1)  # and all but the one at the start
    return max(1, min(reached, n - rest))
