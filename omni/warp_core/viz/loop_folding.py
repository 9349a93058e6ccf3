"""Steps in groups: the scopes that a program marked, and loops where steps come several times in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_LONGEST = 256  # steps, scopes and inner loops in one turn of a loop


@dataclass(eq=False)
class Group:
    """A scope: steps and groups in the order of the tape."""

    label: str = ""
    children: list[Any] = field(default_factory=list)

    def steps(self) -> Iterator[Any]:
        """All steps, those of inner groups too."""
        for child in self.children:
            if isinstance(child, Group):
                yield from child.steps()
            else:
                yield child

    def paths(self) -> Iterator[tuple[Any, list[Group]]]:
        """All steps, each with the groups around it from the outermost in."""
        for child in self.children:
            if isinstance(child, Group):
                yield from ((step, [self, *path]) for step, path in child.paths())
            else:
                yield child, [self]


@dataclass(eq=False)
class Loop(Group):
    """A sequence that comes several times in a row; `children` are those of the first turn."""

    turns: list[list[Any]] = field(default_factory=list)


def tree(steps: Sequence[Any], scopes: Sequence[tuple[int, str | None, Any]]) -> Group:
    """The steps in their scopes, which are given as (index of the next step, name or None for an end, metadata)."""
    open_groups = [Group()]
    marks = list(scopes)
    for i in range(len(steps) + 1):
        while marks and marks[0][0] <= i:
            name = marks.pop(0)[1]
            if name is None:
                open_groups.pop()
            else:
                made = Group(name)
                open_groups[-1].children.append(made)
                open_groups.append(made)
        if i < len(steps):
            open_groups[-1].children.append(steps[i])
    return open_groups[0]


def loops(group: Group, key: Callable[[Any], Any]) -> Group:
    """The group with its repeated sequences made loops; steps of equal `key` count as the same."""
    numbers: dict[Any, int] = {}
    return _looped(group, key, numbers)[0]


def _looped(group: Group, key: Callable[[Any], Any], numbers: dict[Any, int]) -> tuple[Group, int]:
    """The group, and a number that equal groups share."""
    children, tokens = [], []
    for child in group.children:
        made, token = (
            _looped(child, key, numbers) if isinstance(child, Group) else (child, _number(key(child), numbers))
        )
        children.append(made)
        tokens.append(token)
    length = 1
    while length <= min(_LONGEST, len(tokens) // 2):  # short turns first: they are parts of the longer ones
        if _comes_again(np.array(tokens), length):
            children, tokens = _pass(children, tokens, numbers, length)
            length = 1
        else:
            length += 1
    return Group(group.label, children), _number((group.label, *tokens), numbers)


def _comes_again(tokens: np.ndarray, length: int) -> bool:
    """True if a sequence of this length is followed by an equal one."""
    differ = np.flatnonzero(tokens[:-length] != tokens[length:])
    return bool((np.diff(differ, prepend=-1, append=len(tokens) - length) > length).any())


def _number(key: Any, numbers: dict[Any, int]) -> int:
    return numbers.setdefault(key, len(numbers))


def _pass(children: list[Any], tokens: list[int], numbers: dict[Any, int], length: int) -> tuple[list[Any], list[int]]:
    """The sequence with turns of one length made loops."""
    made: list[Any] = []
    kept: list[int] = []
    i = 0
    while i < len(tokens):
        turn = tokens[i : i + length]
        count = 1
        while tokens[i + count * length : i + (count + 1) * length] == turn and len(turn) == length:
            count += 1
        if count == 1:
            made.append(children[i])
            kept.append(tokens[i])
            i += 1
            continue
        turns = [children[i + k * length : i + (k + 1) * length] for k in range(count)]
        made.append(Loop(f"{count} times", turns[0], turns))
        kept.append(_number(("loop", count, *turn), numbers))
        i += length * count
    return made, kept
