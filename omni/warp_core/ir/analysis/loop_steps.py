"""By how much a value that a loop carries grows in an iteration, on each path through its body.

An iteration that stores at `n`, and then adds 1 to it, stores at another element in each of them: others leave `n`
alone. Start with `steps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from ..nodes import Operation, Region, Value
from .linear_form import linear_form

Choices = Mapping[Operation, int]  # the region of each `if` that a path takes
Loops = tuple[Operation, ...]
LOOPS = ("for", "loop")
_MOST = 64  # paths


class Step(NamedTuple):
    """What a path adds to a value that the loop carries; None for anything else."""

    choices: Choices
    step: int | None

    def meets(self, inside: Choices) -> bool:
        """True if the path may come through these regions."""
        return all(self.choices.get(op, k) == k for op, k in inside.items())


def steps(loop: Operation, param: Value, following: Value) -> list[Step]:
    """Return the step of each path to the next iteration of a loop; none if there are too many paths.

    Args:
        loop: the loop.
        param: the value in an iteration.
        following: the value that it hands on.
    """
    if any(op.code == "continue" for op in loop.regions[0].walk()):  # hands on other values
        return []
    every = (known for way in _ways_on(loop.regions[0]) for known in _values(following, way))
    found = list(islice(every, _MOST + 1))
    return [Step(path, _step(value, param)) for value, path in found] if len(found) <= _MOST else []


def with_loops(region: Region, around: Loops = ()) -> Iterator[tuple[Operation, Loops]]:
    """All operations of a region, each with the loops around it, outermost first."""
    for op in region.ops:
        yield op, around
        for inner in op.regions:
            yield from with_loops(inner, (*around, op) if op.code in LOOPS else around)


def branches(region: Region, op: Operation) -> dict[Operation, int] | None:
    """The regions of each `if` in a region that lead to an operation; None if it is not there."""
    for outer in region.ops:
        if outer is op:
            return {}
        for k, part in enumerate(outer.regions):
            found = branches(part, op)
            if found is not None:
                return {outer: k, **found} if outer.code == "if" else found
    return None


def _step(value: Value, param: Value) -> int | None:
    form = dict(linear_form(value))
    constant = form.pop(None, 0)
    return constant if form == {param: 1} else None


def _ways_on(region: Region) -> Iterator[Choices]:
    """The paths on which a loop with one way out goes on."""
    end = next((op for op in reversed(region.ops) if op.code == "if"), None)
    ends = [inner.terminator.code for inner in end.regions] if end is not None else []
    if end is None or "break" not in ends:
        yield {}
        return
    for is_first, choices in _truths(end.args[0], {}):
        k = 0 if is_first else 1
        if ends[k] != "break":
            yield {**choices, end: k}


def _values(value: Value, choices: Choices) -> Iterator[tuple[Value, Choices]]:
    """What a value may be, and by which path, given a part of the path."""
    op = value.op
    if op is not None and op.code == "if":
        for k, path in _regions(op, choices):
            yield from _values(op.regions[k].terminator.args[op.results.index(value)], path)
    elif op is not None and op.code == "select":
        for is_first, path in _truths(op.args[0], choices):
            yield from _values(op.args[1 if is_first else 2], path)
    else:
        yield value, choices


def _regions(op: Operation, choices: Choices) -> Iterator[tuple[int, Choices]]:
    """The regions that an `if` may take, and the path with it."""
    if op in choices:
        yield choices[op], choices
        return
    for is_first, path in _truths(op.args[0], choices):
        k = 0 if is_first else 1
        if path.get(op, k) == k and op.regions[k].terminator.code == "yield":
            yield k, {**path, op: k}


def _truths(condition: Value, choices: Choices) -> Iterator[tuple[bool, Choices]]:
    """Whether a condition may be true, and whether it may be false, each with the path."""
    op = condition.op
    if op is not None and op.code == "not":
        yield from ((not truth, path) for truth, path in _truths(op.args[0], choices))
        return
    if op is not None and op.code == "eq" and op.args[1].is_const:
        for value, path in _values(op.args[0], choices):
            known = [value.const == op.args[1].const] if value.is_const else [True, False]
            yield from ((truth, path) for truth in known)
        return
    yield from ((truth, choices) for truth in (True, False))
