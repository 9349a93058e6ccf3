"""A rewriter that leaves values out where control flow hands them on."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.clone import Rewriter
from ...ir.nodes import Operation, Region, Value


class DroppingRewriter(Rewriter):
    """Leaves out operands, results and parameters that `drops` names, of operations that it copies."""

    def drops(self, value: Value) -> bool:
        """True if the new function has something else than a value for `value` of the old one."""
        raise NotImplementedError

    def _kept(self, values: Sequence[Value]) -> list[Value]:
        return [v for v in values if not self.drops(v)]

    def args(self, op: Operation) -> list[Value]:
        return [self.values[a] for a in op.args if not self.drops(a)]

    def define(self, op: Operation, new: Sequence[Value]) -> None:
        for old, value in zip(self._kept(op.results), new):
            self.values[old] = value
            value.name = value.name or old.name

    def rebuild(self, region: Region) -> Region:
        params = self._kept(region.params)
        self.values.update(zip(params, self.b.push([p.type for p in params], [p.name for p in params])))
        self.visit_ops(region.ops)
        return self.b.pop()

    def _emit(self, op: Operation, regions: tuple[Region, ...]) -> None:
        self.b.loc = self.place(op.loc)
        results = [v.type for v in self._kept(op.results)]
        self.define(op, self.b.emit(op.code, self.args(op), op.attr, regions, results))
