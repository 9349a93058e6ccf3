"""Which elements of arrays accesses are of, and whether those of two accesses differ.

An index is a sum of values that stay the same, of constants, and of numbers of iterations. Start with `Indices`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..nodes import Operation, Value
from ..ops import slice_parts
from .alias import Location, is_by_address, location
from .linear_form import linear_form
from .loop_steps import Step, branches, steps
from .value_numbers import NOTHING, ValueNumbers, is_plain

_Term = int | tuple[int]  # the number of an index of the block, or that of a value


class _Count(NamedTuple):
    """How a value counts the iterations of a loop: by which step, and how many there are at most."""

    loop: Operation
    step: int
    iterations: float


class Index(NamedTuple):
    """An index of an access, a sum: what stays the same in all iterations, constants, and multiples of counts. It is
    `vague` if it has other terms.
    """

    rest: Mapping[_Term, int]
    constant: int
    counts: tuple[tuple[int, _Count], ...] = ()
    vague: bool = False

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest number, without the rest."""
        ends = [c * count.step * (count.iterations - 1) for c, count in self.counts]
        return self.constant + sum(min(e, 0) for e in ends), self.constant + sum(max(e, 0) for e in ends)


class Indices:
    """Finds the indices of accesses in the arrays that a launch has."""

    def __init__(self, loops: set[Operation]):
        self._counts = {loop.regions[0].params[0]: count for loop in loops if (count := _count_of_range(loop))}
        self._carried = {param: (loop, found) for loop in loops for param, found in _carried(loop)}
        self._varying = {v for loop in loops for v in _made_in(loop)}
        self._value_numbers = ValueNumbers()

    def __call__(
        self, op: Operation, given: Mapping[Value, Value] = NOTHING, place: Operation | None = None
    ) -> tuple[Index, ...] | None:
        """Return the indices of an access. Values stand for those that are `given` for them, and the access for one at
        the place of another operation.
        """
        _, indices = indices_of_whole(op)
        return None if indices is None else tuple(self._index(indices[n], given, place or op) for n in sorted(indices))

    def _index(self, value: Value, given: Mapping[Value, Value], place: Operation) -> Index:
        if value.op is not None and value.op.code == "from_end":  # lets indices below zero count from the end
            value = value.op.args[0]
        form = linear_form(value, given)
        known = {t: count for t in form if isinstance(t, Value) and (count := self._count(t, place))}
        counts = [(c, known[t]) for t, c in form.items() if t in known]
        rest = {t: c for t, c in form.items() if t is not None and t not in known}
        varying: dict[Value, bool] = {}
        vague = any(isinstance(t, Value) and self._varies(t, given, varying) for t in rest)
        named = {(self._value_numbers.of(t, given),) if isinstance(t, Value) else t: c for t, c in rest.items()}
        return Index(named, form.get(None, 0), tuple(counts), vague)

    def _count(self, value: Value, place: Operation) -> _Count | None:
        """How a value counts the iterations that come to a place."""
        if value not in self._carried:
            return self._counts.get(value)
        loop, found = self._carried[value]
        inside = branches(loop.regions[0], place)
        own = {step.step for step in found if inside is not None and step.meets(inside)}
        step = own.pop() if len(own) == 1 else None
        is_count = step and all(other.step in (0, step) for other in found)
        return _Count(loop, step, math.inf) if step and is_count else None

    def _varies(self, value: Value, given: Mapping[Value, Value], known: dict[Value, bool]) -> bool:
        """True if a value may be another one in other iterations. `known` are answers for others."""
        value = given.get(value, value)
        if value not in known:
            operands = value.op.args if value.op is not None and is_plain(value) else None
            if operands is None:
                known[value] = value in self._varying
            else:
                known[value] = any(self._varies(a, given, known) for a in operands)
        return known[value]


def _count_of_range(loop: Operation) -> _Count | None:
    """How the number of a `for` loop counts, None if its step is not known."""
    if loop.code != "for":
        return None
    low, high, step = loop.args[:3]
    if not step.is_const or not step.const or (low.is_const and low.const < 0):
        return None
    is_known = low.is_const and high.is_const
    return _Count(loop, step.const, max(math.ceil((high.const - low.const) / step.const), 1) if is_known else math.inf)


def _carried(loop: Operation) -> Iterator[tuple[Value, list[Step]]]:
    """The values that a loop carries from one iteration to the next, and by how much these differ."""
    region = loop.regions[0]
    carried = region.params[1 if loop.code == "for" else 0 :]
    yield from ((param, steps(loop, param, following)) for param, following in zip(carried, region.terminator.args))


def _made_in(loop: Operation) -> Iterator[Value]:
    """The values that may be others in each iteration."""
    yield from loop.regions[0].params
    for op in loop.regions[0].walk():
        yield from op.results
        for region in op.regions:
            yield from region.params


def told_apart(indices: Sequence[Index]) -> set[Operation]:
    """The loops of which an index of a call, in several writes, is another one in each iteration."""
    first = indices[0]
    if any(i.vague or i.rest != first.rest or i.counts != first.counts for i in indices):
        return set()
    reach: float = max(i.constant for i in indices) - min(i.constant for i in indices)
    told = set()
    for step, count in sorted(((abs(c * n.step), n) for c, n in first.counts), key=lambda pair: pair[0]):
        if step <= reach:
            return set()
        reach += step * (count.iterations - 1)
        told.add(count.loop)
    return told


def always_differ(a: Index, b: Index) -> bool:
    if a.vague or b.vague or a.rest != b.rest:
        return False
    (low, high), (first, last) = a.reach, b.reach
    if not a.rest and min(low, first) < 0 <= max(high, last):  # one of them may count from the end
        return False
    divisor = math.gcd(*(c * count.step for c, count in (*a.counts, *b.counts)))
    return high < first or last < low or (divisor > 0 and (a.constant - b.constant) % divisor != 0)


def indices_of_whole(op: Operation) -> tuple[Location | None, dict[int, Value] | None]:
    """The array that a store changes, and the indices there; None where they are not known."""
    array = op.args[0]
    indices: dict[int, Value] | None = dict(enumerate(op.args[1 : 1 + array.type.ndim]))
    while indices is not None and array.op is not None and array.op.code == "slice":
        indices = _behind(array.op, indices)
        array = array.op.args[0]
    return location(array), None if is_by_address(array) else indices


def _behind(slicing: Operation, indices: dict[int, Value]) -> dict[int, Value] | None:
    """Indices of a slice as those of the array it is taken from; None if it begins or steps anywhere."""
    found, rest = {}, iter(sorted(indices.items()))
    dimensions = slicing.args[0].type.ndim
    parts = slice_parts(slicing.args[1:], slicing.attr)
    for at in range(dimensions):
        letter, operands = parts[at] if at < len(parts) else (":", ())
        if letter == "i":
            found[at] = operands[0]
        elif operands:
            return None
        else:
            found[at] = next(rest)[1]
    return found
