"""Forward dataflow over structured regions: sets of facts about values, which grow until nothing more is found.

An analysis has a `SetFacts`, and a function that visits one operation and adds what follows from it. `handed_on` gives
the values that reach the results of a structured operation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from ..nodes import Operation, Region, Value

Fact = TypeVar("Fact")


class SetFacts(Generic[Fact]):
    """The facts about values, and about other subjects of an analysis, such as memory."""

    def __init__(self) -> None:
        self._known: dict[Hashable, frozenset[Fact]] = {}
        self._has_grown = True

    def of(self, subject: Hashable) -> frozenset[Fact]:
        """Return the facts about a subject."""
        return self._known.get(subject, frozenset())

    def of_any(self, subjects: Iterable[Hashable]) -> frozenset[Fact]:
        """Return the facts about any of some subjects."""
        return frozenset[Fact]().union(*map(self.of, subjects))

    def add(self, subject: Hashable, facts: frozenset[Fact]) -> None:
        """Add facts about a subject."""
        known = self.of(subject)
        if not facts <= known:
            self._known[subject] = known | facts
            self._has_grown = True

    def solve(self, body: Region, visit: Callable[[Operation], None]) -> None:
        """Visit the operations of a region in order, until no visit adds a fact."""
        operations = list(body.walk())
        while self._has_grown:
            self._has_grown = False
            for op in operations:
                visit(op)


def handed_on(op: Operation) -> Iterator[tuple[Value, list[Value]]]:
    """Yield each result of an operation, and each parameter of its regions, with the values that regions hand on there.

    The values that a loop carries count as one: each may get what any of them gets.
    """
    if op.code == "if":
        ends = [region.terminator.args for region in op.regions if region.terminator.code == "yield"]
        yield from ((result, [args[i] for args in ends]) for i, result in enumerate(op.results))
        return
    inner = (end for region in op.regions for end in region.walk() if end.code in ("yield", "break", "continue"))
    values = [value for end in inner for value in end.args]
    yield from ((value, values) for value in (*op.results, *(p for region in op.regions for p in region.params)))
