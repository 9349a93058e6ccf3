"""Liveness of the memory of tiles: where elements of a tile, or of memory that was made of one, are still needed.

A function has *points*, two for each operation: one where it reads its operands, and the next where its results exist.
An operation with regions has two more behind them. The life of a value is a set of points, kept as an integer with a
bit for each. Two values may share memory if no point is in both of their lives. Start with `lives`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.analysis.alias import underlying_object
from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import BREAKABLE, COUNTS, ELEMENT_OPS
from ...lang.types import Array, Tile

# What may be done with memory of a tile so that its users are all seen.
_SEEN = COUNTS | {"load", "store", "atomic", "slice", "is_null", "call", "tile_from_memory"}


def memory_of(value: Value) -> Value | None:
    """The tile that a value is, or the `tile_to_memory` that gives the array that it is a part of."""
    if isinstance(value.type, Tile):
        return value
    if not isinstance(value.type, Array):
        return None
    found = underlying_object(value)
    return found if found.op is not None and found.op.code == "tile_to_memory" else None


class Lives:
    """The lives of values, by value, and at which points operations read and give results."""

    def __init__(self, function: Function):
        self.of: dict[Value, int] = {}
        self.reads: dict[Operation, int] = {}
        self.ends: dict[Operation, int] = {}
        self.escaped: set[Value] = set()
        self._count = 0
        self._number(function.body)
        self._targets: list[tuple[set[Value], set[Value]]] = []  # what lives behind `continue` and `break`
        self._region(function.body, set())
        for value in self.escaped:
            self.of[value] = (1 << self._count) - 1

    def is_live_behind(self, value: Value, op: Operation) -> bool:
        """True if the memory of `value` is needed after `op`."""
        return bool(self.of.get(value, 0) >> (self.ends[op] + 1) & 1)

    # -- points -------------------------------------------------------------------------------------------------

    def _number(self, region: Region) -> None:
        for op in region.ops:
            self.reads[op] = self.ends[op] = self._next()
            if op.code not in ELEMENT_OPS and op.regions:
                for inner in op.regions:
                    self._number(inner)
                self.ends[op] = self._next()

    def _next(self) -> int:
        self._count += 2
        return self._count - 2

    def _mark(self, values: Iterable[Value], point: int) -> None:
        bit = 1 << point
        for value in values:
            self.of[value] = self.of.get(value, 0) | bit

    # -- backwards ----------------------------------------------------------------------------------------------

    def _region(self, region: Region, live: set[Value], owner: Operation | None = None) -> set[Value]:
        for op in reversed(region.ops):
            live = self._operation(op, live, owner)
        return live

    def _operation(self, op: Operation, live: set[Value], owner: Operation | None) -> set[Value]:
        if op.code == "yield":
            live = live if owner is None or owner.code not in BREAKABLE else self._targets[-1][owner.code == "block"]
        elif op.code in ("break", "continue"):
            live = self._targets[-1 - (op.attr or 0)][op.code == "break"]
        elif op.code in ("return", "unreachable"):
            live = set()
        self._mark(live, self.ends[op] + 1)
        results = {v for v in op.results if memory_of(v) is v}
        self._mark(results, self.ends[op] + 1)
        if op.code == "tile_map":
            self._mark(results, self.reads[op])  # elements are written while others are still to be read
        live = live - results
        if op.code == "if":
            first, second = (self._region(region, set(live), op) for region in op.regions)
            live = first | second
        elif op.code in BREAKABLE:
            live = self._breakable(op, live)
        live = live | self._used(op)
        self._mark(live, self.reads[op])
        return live

    def _breakable(self, op: Operation, live: set[Value]) -> set[Value]:
        region = op.regions[0]
        repeated = live
        if op.code != "block":
            inside = {v for inner in region.walk() for v in self._used(inner)}
            repeated = live | (inside - self._made(region))
        self._targets.append((repeated, live))
        before = self._region(region, set(), op)
        self._targets.pop()
        params = {p for p in region.params if isinstance(p.type, Tile)}
        self._mark(before | repeated | params, self.reads[op] + 1)
        return (before - params) | repeated if op.code != "block" else before

    @staticmethod
    def _made(region: Region) -> set[Value]:
        made = set(region.params)
        for op in region.walk():
            made.update(op.results, *(r.params for r in op.regions))
        return made

    def _used(self, op: Operation) -> set[Value]:
        found = set()
        inner = op.regions[0].walk() if op.code in ELEMENT_OPS else ()
        for user in (op, *inner):
            for arg in user.args:
                memory = memory_of(arg)
                if memory is None:
                    continue
                found.add(memory)
                if isinstance(arg.type, Array) and user.code not in _SEEN:
                    self.escaped.add(memory)
        return found
