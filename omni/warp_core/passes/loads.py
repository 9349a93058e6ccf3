"""Merge equal loads when nothing could have written in between.

In place. In: any verified function. Out: a load of the same array, indices and path as an earlier one uses its result.
Any store, atomic or call forgets everything, whatever array it names: arrays may overlap. Local arrays that do not
escape are apart: a write to one forgets only what was loaded from it, and other writes leave it alone. What was loaded
before an `if` is known inside it; inside a loop it is known only if the loop does not write there.
"""

from __future__ import annotations

from ..ir.locals import local_arrays
from ..ir.nodes import Function, Operation, Region, Value

_WRITES = frozenset(("store", "atomic", "call"))

# (local array that is read, or None; access) -> value
Known = dict[tuple, Value]


def merge_loads(function: Function) -> None:
    """Reuse loaded values in `function`."""
    _Merger(local_arrays(function)).visit(function.body, {})


class _Merger:
    def __init__(self, local: dict[Value, Value]):
        self.local = local
        self.replaced: dict[Value, Value] = {}
        self._written: dict[Operation, set[Value | None]] = {}

    def visit(self, region: Region, known: Known) -> None:
        """Merge in `region`; `known` are the loads before it, and afterwards those still good behind it."""
        ops: list[Operation] = []
        for op in region.ops:
            op.args = [self.replaced.get(a, a) for a in op.args]
            if op.code == "load":
                key = (self.local.get(op.args[0]), op.attr, *map(id, op.args))
                if key in known:
                    self.replaced[op.result] = known[key]
                    continue
                known[key] = op.result
            for inner in op.regions:
                before = dict(known)
                if op.code in ("for", "loop"):
                    self.forget(before, op)
                self.visit(inner, before)
            self.forget(known, op)
            ops.append(op)
        region.ops = ops

    def forget(self, known: Known, op: Operation) -> None:
        """Drop what `op` may have written over."""
        written = self.written(op)
        for key in [key for key in known if key[0] in written] if written else ():
            del known[key]

    def written(self, op: Operation) -> set[Value | None]:
        """The local arrays that `op` writes, None for all other memory."""
        if op not in self._written:
            found = {self.local.get(op.args[0]) if op.args else None} if op.code in _WRITES else set()
            self._written[op] = found.union(*(self.written(inner) for region in op.regions for inner in region.ops))
        return self._written[op]
