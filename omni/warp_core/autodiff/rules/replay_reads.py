"""Loads of what a function with a replay has written: the replay writes nothing, so they read what the launch left.

That is right for a load behind all its calls, as no other code may write to the array. A load before them reads the
array as it was before the launch. Between calls, and in a loop around one, it is refused. Start with `ReplayReads`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...ir.analysis.alias import is_local, is_made_by, may_alias
from ...ir.nodes import Function, Operation, Region, Value
from ...lang.errors import NotDifferentiable
from ...lang.types import Array


class _Unwritten(NamedTuple):
    """A call of such a function: the arrays that its replay leaves, and the first and last operation around it."""

    custom: Operation
    arrays: list[Value]
    first: int
    last: int


class ReplayReads:
    """Finds the calls whose writes a load would miss. `shared`: whether arrays of parameters may share memory."""

    def __init__(self, function: Function, shared: bool):
        self._shared = shared
        units = list(_units(function.body, None))
        self._places = {op: place for place, op in enumerate(function.body.walk())} if units else {}
        self._calls = [self._unwritten(custom, around) for custom, around in units]
        for op in self._places:
            if op.code == "call":
                for a in (a for a in op.args if isinstance(a.type, Array)):
                    for custom in self.before(op, a):
                        self._refuse(op, custom)

    def before(self, op: Operation, array: Value) -> list[Operation]:
        """The calls before an operation that reads an array, to which they write.

        Raises:
            NotDifferentiable: it stands between calls, or in a loop with one.
        """
        if not self._calls or is_made_by(array, "array_at"):  # of a mesh or a volume, which the tape has saved
            return []
        place = self._places[op]
        calls = [call for call in self._calls if any(may_alias(array, a, self._shared) for a in call.arrays)]
        found = [call.custom for call in calls if place > call.first]
        if found and any(place <= call.last for call in calls):
            self._refuse(op, found[0])
        return found

    def _unwritten(self, custom: Operation, around: Operation) -> _Unwritten:
        written = [op.args[0] for op in custom.regions[0].walk() if op.code in ("store", "atomic")]
        inside = [self._places[op] for region in around.regions for op in region.walk()]
        first = self._places[around]
        return _Unwritten(custom, [a for a in written if not is_local(a)], first, max(inside, default=first))

    def _refuse(self, op: Operation, custom: Operation) -> None:
        why = f"the kernel reads here what `{custom.attr.callee.name}` wrote, which its replay does not write again"
        raise NotDifferentiable(f"{why}: let the function return it, and the replay as well", op)


def _units(region: Region, loop: Operation | None) -> Iterator[tuple[Operation, Operation]]:
    """Calls of functions with replays in the forward code, each with the outermost loop around it, or itself."""
    for op in region.ops:
        if op.code == "custom" and op.attr.replay:
            yield op, loop or op
            continue
        for inner in op.regions:
            yield from _units(inner, loop or (op if op.code in ("for", "loop") else None))
