"""A `select` of tiles becomes an `if`, through which the passes behind follow tiles."""

from __future__ import annotations

from ...ir.clone import Rewriter
from ...ir.nodes import Function, Operation, Region, Value
from ...lang.types import Tile


def branch_on_tiles(kernel: Function) -> Function:
    """Return the kernel without `select` of tiles."""
    has_any = any(op.code == "select" and isinstance(op.result.type, Tile) for op in kernel.body.walk())
    return _Brancher().rewrite(kernel) if has_any else kernel


class _Brancher(Rewriter):
    def visit_select(self, op: Operation) -> None:
        if not isinstance(op.result.type, Tile):
            self._copy(op)
            return
        condition, first, second = self.args(op)
        regions = self._giving(first), self._giving(second)
        self.define(op, self.b.emit("if", [condition], None, regions, [first.type]))

    def _giving(self, value: Value) -> Region:
        self.b.push()
        self.b.terminate("yield", [value])
        return self.b.pop()
