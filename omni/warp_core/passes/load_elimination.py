"""Merge equal loads when nothing could have written in between.

In place. In: any verified function. Out: a load of the same array, indices and path as an earlier one uses its result.
Any store, atomic or call with effects forgets everything, whatever array it names: arrays may overlap. Those that are
known to be apart, such as local arrays that do not escape, are not: a write to one forgets only what was loaded from it
or from an unknown place. What was loaded before an `if` is known inside it; inside a loop it is known only if the
loop does not write there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ..ir.analysis.alias import local_arrays
from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import ELEMENT_OPS, MEETINGS
from .dce import has_effects

# Memory that is apart from all other; None is any but local arrays.
Place = Hashable
# (place that is read; access) -> value
Known = dict[tuple, Value]

_REPEATED = ELEMENT_OPS | {"for", "loop"}


def _anywhere(array: Value) -> Place:
    return None


def eliminate_loads(function: Function, place: Callable[[Value], Place] = _anywhere) -> None:
    """Reuse loaded values in `function`. `place` tells where arrays lie that are not local."""
    _LoadEliminator(local_arrays(function), place).visit(function.body, {})


class _LoadEliminator:
    def __init__(self, local: dict[Value, Value], place: Callable[[Value], Place]):
        self.local, self._other = local, place
        self.own = set(local.values())
        self.replaced: dict[Value, Value] = {}
        self._written: dict[Operation, set[Place]] = {}
        self._effects: dict[Function, bool] = {}

    def place(self, array: Value) -> Place:
        """The memory that an array lies in."""
        return self.local[array] if array in self.local else self._other(array)

    def visit(self, region: Region, known: Known) -> None:
        """Merge in `region`; `known` are the loads before it, and afterwards those still good behind it."""
        ops: list[Operation] = []
        for op in region.ops:
            op.args = [self.replaced.get(a, a) for a in op.args]
            if op.code == "load":
                key = (self.place(op.args[0]), op.attr, *map(id, op.args))
                if key in known:
                    self.replaced[op.result] = known[key]
                    continue
                known[key] = op.result
            for inner in op.regions:
                before = dict(known)
                if op.code in _REPEATED:
                    self.forget(before, op)
                self.visit(inner, before)
            self.forget(known, op)
            ops.append(op)
        region.ops = ops

    def forget(self, known: Known, op: Operation) -> None:
        """Drop what `op` may have written over."""
        written = self.written(op)
        others = written - self.own
        for key in list(known) if written else ():
            place = key[0]
            unclear = place not in self.own and (None in others or (place is None and others))
            if place in written or unclear:
                del known[key]

    def written(self, op: Operation) -> set[Place]:
        """Return the places to which `op` writes."""
        if op not in self._written:
            found: set[Place] = set()
            if op.code in ("store", "atomic"):
                found.add(self.place(op.args[0]))
            elif op.code in MEETINGS:
                found.add(None)  # other threads of the block
            elif op.code == "call" and self.has_effects(op.attr):
                found.add(None)
            self._written[op] = found.union(*(self.written(inner) for region in op.regions for inner in region.ops))
        return self._written[op]

    def has_effects(self, callee: Function) -> bool:
        """True if a call may write."""
        if callee not in self._effects:
            self._effects[callee] = has_effects(callee)
        return self._effects[callee]
