"""Between memory order and lanes: `a0 b0 c0 a1 b1 c1 …` in registers to columns `a0 a1 …`, `b0 b1 …`, and back.

A stream of k columns is k registers, lane after lane. It is taken apart in steps: a stream of w columns becomes one of
its first columns and one of its last, until each has one column. A register of a narrower stream draws on few registers
of the wider one. Each of them after the first costs one shuffle of two registers, at which all targets are good.
`_plan` finds the steps with the fewest shuffles (nine columns, a 3 x 3 matrix: 40, where every column by itself takes
72). Start with `Interleaver`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .writer import Writer, shuffle_mask

# What each position of a register takes: (register, element), or None where it does not matter.
Picks = tuple[tuple[int, int] | None, ...]


class Interleaver:
    """Emits shuffles of registers of `n` elements of one LLVM type."""

    def __init__(self, writer: Writer, n: int, element: str):
        self.w, self.n, self.type = writer, n, f"<{n} x {element}>"

    def split(self, stream: Sequence[str], wanted: range) -> list[str]:
        """The columns `wanted` of a stream of as many columns as registers."""
        return self._split(list(stream), wanted.start, wanted.stop)

    def _split(self, stream: list[str], first: int, end: int) -> list[str]:
        width = len(stream)
        if width == 1:
            return stream
        columns: list[str] = []
        for a, b in _steps(self.n, width, first, end):
            part = [self._gather(stream, picks) for picks in _split_picks(self.n, width, a, b)]
            columns += self._split(part, max(first, a) - a, min(end, b) - a)
        return columns

    def join(self, columns: Sequence[str]) -> list[str]:
        """The stream of these columns."""
        width = len(columns)
        if width == 1:
            return list(columns)
        at = _join_plan(self.n, width)[1]
        registers = self.join(columns[:at]) + self.join(columns[at:])
        return [self._gather(registers, picks) for picks in _join_picks(self.n, width, at)]

    def _gather(self, registers: Sequence[str], picks: Picks) -> str:
        """One register made of elements of several: two of them in one shuffle, each further one in another."""
        sources = _sources(picks)
        first, rest = sources[0], sources[1:]
        result = registers[first]
        here = [pick[1] if pick and pick[0] == first else None for pick in picks]
        if not rest:
            return self._shuffle(result, "poison", here)
        for source in rest:
            taken = [self.n + pick[1] if pick and pick[0] == source else None for pick in picks]
            result = self._shuffle(result, registers[source], [t if h is None else h for h, t in zip(here, taken)])
            here = [i if h is not None or t is not None else None for i, (h, t) in enumerate(zip(here, taken))]
        return result

    def _shuffle(self, a: str, b: str, indices: Sequence[int | None]) -> str:
        if all(x is None or x == i for i, x in enumerate(indices)):
            return a
        return self.w.inst(f"shufflevector {self.type} {a}, {self.type} {b}, {shuffle_mask(indices)}")


def _sources(picks: Picks) -> list[int]:
    return sorted({pick[0] for pick in picks if pick is not None})


@cache
def _split_picks(n: int, width: int, a: int, b: int) -> list[Picks]:
    """For each register of the stream of columns `a` to `b` of one of `width` columns, where its elements are."""
    places = [divmod(q, b - a) for q in range(n * (b - a))]
    elements = [divmod(lane * width + a + column, n) for lane, column in places]
    return [tuple(elements[i : i + n]) for i in range(0, len(elements), n)]


@cache
def _join_picks(n: int, width: int, at: int) -> list[Picks]:
    """For each register of a stream of `width` columns, where its elements are in one of the first `at` columns
    followed by one of the others.
    """
    elements: list[tuple[int, int]] = []
    for lane in range(n):
        elements += [divmod(lane * at + column, n) for column in range(at)]
        others = width - at
        elements += [divmod(n * at + lane * others + column, n) for column in range(others)]
    return [tuple(elements[i : i + n]) for i in range(0, len(elements), n)]


def _steps(n: int, width: int, first: int, end: int) -> list[tuple[int, int]]:
    """The ranges of columns that a stream of `width` is split into when `first` to `end` are wanted."""
    return [(a, b) for a, b in _plan(n, width, first, end)[1] if a < end and b > first]


@cache
def _plan(n: int, width: int, first: int, end: int) -> tuple[int, list[tuple[int, int]]]:
    """(shuffles, ranges of columns of the next streams) with the fewest shuffles."""
    if width == 1:
        return 0, []
    each = [(i, i + 1) for i in range(first, end)]
    plans = [(sum(_split_cost(n, width, a, b) for a, b in each), each)]
    for at in range(1, width):
        parts = [(a, b) for a, b in ((0, at), (at, width)) if a < end and b > first]
        cost = 0
        for a, b in parts:
            cost += _split_cost(n, width, a, b) + _plan(n, b - a, max(first, a) - a, min(end, b) - a)[0]
        plans.append((cost, parts))
    return min(plans)


@cache
def _join_plan(n: int, width: int) -> tuple[int, int]:
    """(shuffles, columns of the first of the two streams) that make a stream of `width` with the fewest shuffles."""
    plans = [(0, 0)] if width == 1 else []
    for at in range(1, width):
        parts = _join_plan(n, at)[0] + _join_plan(n, width - at)[0]
        plans.append((parts + sum(map(_shuffles, _join_picks(n, width, at))), at))
    return min(plans)


def _split_cost(n: int, width: int, a: int, b: int) -> int:
    return sum(map(_shuffles, _split_picks(n, width, a, b)))


def _shuffles(picks: Picks) -> int:
    return max(1, len(_sources(picks)) - 1)
