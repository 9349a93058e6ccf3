"""Drop `from_end` where the index is never negative.

In place. In: any verified function. Out: a `from_end` whose index has a lower bound of zero or more is replaced by the
index. Bounds come from the operations that compute a value, from the conditions that hold where it is used, and for
loop-carried values by induction. Integers are taken not to wrap around on their way to an index.

`Guards` collects where each condition holds; `Bounds.lower` is the question that the pass asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import BREAKABLE, COUNTS, ELEMENT_OPS
from ..lang.types import Scalar

_STEPS = 300  # of one question; a bound that takes longer to find is not found
_DEPTH = 30
_NEVER_NEGATIVE = COUNTS | {"tid", "popcount", "thread_index", "block_index", "block_tid"}


def normalize_indices(function: Function) -> None:
    """Replace every superfluous `from_end` in `function` by its index."""
    guards = Guards(function)
    bounds = Bounds(guards)
    dropped: dict[Value, Value] = {}
    for op in guards.indices:
        index = op.args[0]
        if bounds.is_non_negative(index, guards.at[op]):
            dropped[op.result] = index
    if dropped:
        _replace(function.body, dropped)


def _replace(region: Region, dropped: dict[Value, Value]) -> None:
    region.ops = [op for op in region.ops if not (op.code == "from_end" and op.result in dropped)]
    for op in region.ops:
        for i, a in enumerate(op.args):
            while a in dropped:
                a = dropped[a]
            op.args[i] = a
        for inner in op.regions:
            _replace(inner, dropped)


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition that is known to be true or false, and those known before it."""

    condition: Value
    holds: bool
    outer: Guard | None


class Guards:
    """Known facts at the indices, and at the exits of every region operation."""

    def __init__(self, function: Function):
        self.indices: list[Operation] = []
        self.at: dict[Operation, Guard | None] = {}
        self.home: dict[Value, Operation] = {}  # parameter of a region -> the operation it belongs to
        self.next: dict[Operation, list[Operation]] = {}  # loop -> what goes on to its next iteration
        self.leave: dict[Operation, list[Operation]] = {}  # if, block or loop -> what gives its results
        self._open: list[Operation] = []
        self._region(function.body, None, None)

    def _region(self, region: Region, owner: Operation | None, known: Guard | None) -> None:
        for op in region.ops:
            if op.code == "from_end":
                self.indices.append(op)
                self.at[op] = known
            elif op.code in ("yield", "break", "continue"):
                self.at[op] = known
                self._exit(op, owner)
            elif op.code == "if":
                known = self._if(op, known)
            elif op.code in ELEMENT_OPS:
                self.home.update((p, op) for p in op.regions[0].params)
                self._region(op.regions[0], op, known)
            elif op.regions:
                self._breakable(op, known)

    def _exit(self, op: Operation, owner: Operation | None) -> None:
        if op.code == "yield":
            assert owner is not None
            onward = owner.code in ("for", "loop")
            (self.next if onward else self.leave).setdefault(owner, []).append(op)
        else:
            (self.next if op.code == "continue" else self.leave).setdefault(self._open[-1 - op.attr], []).append(op)

    def _if(self, op: Operation, known: Guard | None) -> Guard | None:
        """Return the facts after an `if`: more than before if one of its sides does not come back."""
        after = known
        for region, holds in zip(op.regions, (True, False)):
            self._region(region, op, Guard(op.args[0], holds, known))
            if region.terminator.code != "yield":
                after = Guard(op.args[0], not holds, after)
        return after

    def _breakable(self, op: Operation, known: Guard | None) -> None:
        for p in op.regions[0].params:
            self.home[p] = op
        assert op.code in BREAKABLE
        self._open.append(op)
        self._region(op.regions[0], op, known)
        self._open.pop()


class Bounds:
    """Lower bounds of integers."""

    def __init__(self, guards: Guards):
        self.guards = guards
        self._assumed: dict[Value, int] = {}
        self._steps = self._depth = 0

    def is_non_negative(self, value: Value, known: Guard | None) -> bool:
        """True if `value` is at least zero wherever `known` holds."""
        self._steps = 0
        found = self.lower(value, known)
        return found is not None and found >= 0

    def lower(self, value: Value, known: Guard | None) -> int | None:
        """The greatest lower bound of `value` that is found, or None."""
        self._steps += 1
        if self._steps > _STEPS or self._depth == _DEPTH or not isinstance(value.type, Scalar) or not value.type.is_int:
            return None
        self._depth += 1
        found = self._structural(value, known)
        guard = known
        while guard is not None:
            found = self._guarded(value, guard.condition, guard.holds, found, known)
            guard = guard.outer
        self._depth -= 1
        return found

    # -- conditions -------------------------------------------------------------------------------------------------

    def _guarded(
        self, value: Value, condition: Value, holds: bool, found: int | None, known: Guard | None
    ) -> int | None:
        """`found`, raised to what the condition says about `value`."""
        op = condition.op
        if op is None:
            return found
        if op.code == "not":
            return self._guarded(value, op.args[0], not holds, found, known)
        if op.code == ("and" if holds else "or"):
            for part in op.args:
                found = self._guarded(value, part, holds, found, known)
            return found
        if op.code in _ORDERS:
            return self._compared(value, op, holds, found, known)
        return found

    def _compared(self, value: Value, op: Operation, holds: bool, found: int | None, known: Guard | None) -> int | None:
        relation = _ORDERS[op.code if holds else _OPPOSITE[op.code]]
        a, b = op.args
        if a is value:
            found = self._told(relation.first, b, found, known)
        if b is value:
            found = self._told(relation.second, a, found, known)
        return found

    def _told(self, relation: str, other: Value, found: int | None, known: Guard | None) -> int | None:
        """`found`, raised by being `gt`, `ge` or `ne` the other value."""
        if relation == "ne":
            return found + 1 if found is not None and other.is_const and found == other.const else found
        if not relation:
            return found
        # Only of what was known earlier, so that two conditions do not ask each other for ever.
        limit = other.const if other.is_const else self.lower(other, known.outer if known else None)
        return found if limit is None else _greater(found, limit + (relation == "gt"))

    # -- operations -------------------------------------------------------------------------------------------------

    def _structural(self, value: Value, known: Guard | None) -> int | None:
        if value in self._assumed:
            return self._assumed[value]
        op = value.op
        if op is None:
            home = self.guards.home.get(value)
            found = None if home is None else self._parameter(value, home, known)
        elif op.code == "const":
            found = value.const
        elif op.code in _NEVER_NEGATIVE:
            found = 0
        elif op.regions:
            found = self._result(value, op)
        else:
            rule = _RULES.get(op.code)
            found = rule(self, op, known) if rule else None
        return _greater(found, 0) if value.type.kind == "uint" else found

    def _parameter(self, value: Value, loop: Operation, known: Guard | None) -> int | None:
        if loop.code in ELEMENT_OPS:
            return None if loop.code == "tile_reduce" else 0
        if loop.code == "for" and value is loop.regions[0].params[0]:
            low, high, step, *_ = loop.args
            if not step.is_const:
                return None
            if step.const > 0:
                return self.lower(low, known)
            last = self.lower(high, known)
            return None if last is None else last + 1
        return self._carried(value, loop, known)

    def _carried(self, value: Value, loop: Operation, known: Guard | None) -> int | None:
        """By induction: the bound of the first value, if every iteration that begins above it ends above it."""
        i = loop.regions[0].params.index(value)
        first = self.lower(loop.args[i + 2 if loop.code == "for" else i], known)
        if first is None:
            return None
        self._assumed[value] = first
        kept = all(
            (bound := self.lower(site.args[i - (loop.code == "for")], self.guards.at[site])) is not None
            and bound >= first
            for site in self.guards.next.get(loop, ())
        )
        del self._assumed[value]
        return first if kept else None

    def _result(self, value: Value, op: Operation) -> int | None:
        """The least of what the exits of a region operation give."""
        found = [self.lower(site.args[value.index], self.guards.at[site]) for site in self.guards.leave.get(op, ())]
        if op.code == "for":
            found.append(self.lower(op.regions[0].params[1 + value.index], None))
        return None if not found or None in found else min(found)  # type: ignore[type-var]

    def _all(self, op: Operation, known: Guard | None) -> list[int] | None:
        """The bounds of all operands."""
        found = [self.lower(a, known) for a in op.args]
        return None if None in found else found  # type: ignore[return-value]

    def _sum(self, op: Operation, known: Guard | None) -> int | None:
        found = self._all(op, known)
        return None if found is None else sum(found)

    def _difference(self, op: Operation, known: Guard | None) -> int | None:
        a, b = op.args
        found = self.lower(a, known) if b.is_const else None
        return None if found is None else found - b.const

    def _product(self, op: Operation, known: Guard | None) -> int | None:
        found = self._all(op, known)
        return found[0] * found[1] if found is not None and min(found) >= 0 else None

    def _positive(self, op: Operation, known: Guard | None) -> int | None:
        found = self._all(op, known)
        return 0 if found is not None and min(found) >= 0 else None

    def _remainder(self, op: Operation, known: Guard | None) -> int | None:
        found = self.lower(op.args[0], known)
        return 0 if found is not None and found >= 0 else None

    def _masked(self, op: Operation, known: Guard | None) -> int | None:
        found = (self.lower(a, known) for a in op.args)
        return 0 if any(x is not None and x >= 0 for x in found) else None

    def _least(self, op: Operation, known: Guard | None) -> int | None:
        found = self._all(op, known)
        return None if found is None else min(found)

    def _greatest(self, op: Operation, known: Guard | None) -> int | None:
        return _greater(*(self.lower(a, known) for a in op.args))

    def _chosen(self, op: Operation, known: Guard | None) -> int | None:
        condition, a, b = op.args
        first = self.lower(a, Guard(condition, True, known))
        other = None if first is None else self.lower(b, Guard(condition, False, known))
        return None if first is None or other is None else min(first, other)

    def _cast(self, op: Operation, known: Guard | None) -> int | None:
        source, target = op.args[0].type, op.attr
        if not isinstance(source, Scalar) or source.is_float:
            return None
        fits = source.bits < target.bits or (source.bits == target.bits and source.is_signed)
        if source.kind == "bool":
            return 0
        return self.lower(op.args[0], known) if fits else None

    def _absolute(self, op: Operation, known: Guard | None) -> int | None:
        return 0


def _greater(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


class _Relation(NamedTuple):
    """A fact from a comparison that holds: its first operand is gt, ge or ne the second."""

    first: str
    second: str


_ORDERS = {
    "lt": _Relation("", "gt"),
    "le": _Relation("", "ge"),
    "gt": _Relation("gt", ""),
    "ge": _Relation("ge", ""),
    "eq": _Relation("ge", "ge"),
    "ne": _Relation("ne", "ne"),
}
_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}

_RULES: dict[str, Any] = {
    "add": Bounds._sum,
    "sub": Bounds._difference,
    "mul": Bounds._product,
    "div": Bounds._positive,
    "floordiv": Bounds._positive,
    "rem": Bounds._remainder,
    "and": Bounds._masked,
    "or": Bounds._positive,
    "xor": Bounds._positive,
    "shr": Bounds._remainder,
    "min": Bounds._least,
    "max": Bounds._greatest,
    "abs": Bounds._absolute,
    "select": Bounds._chosen,
    "cast": Bounds._cast,
}
