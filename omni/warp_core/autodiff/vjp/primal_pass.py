"""The forward code of an adjoint: what the function computes, made to hand over what the reverse code asks for.

Nothing is printed or checked a second time. Memory is written only where the function reads what it wrote (`replayed`);
the launch is then given copies.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial

from ...ir.analysis.alias import is_local, is_own
from ...ir.builder import Builder
from ...ir.clone import Rewriter
from ...ir.nodes import Operation, Region, Value
from ...lang.errors import NotDifferentiable
from ...lang.types import I32
from ..rules.custom_rules import check_own_places, forward_custom, read_final
from ..rules.replay_reads import ReplayReads
from .reverse_pass import Reverse
from .value_stack import CELLS, push

_SILENT = ("printf", "assert", "fail")


class PrimalPass(Rewriter):
    """Rebuilds a function's body without its end; see the module's docstring."""

    def __init__(self, reverse: Reverse, replayed: Set[Value]):
        super().__init__()
        self.reverse, self.replayed = reverse, replayed
        self.top: list[Value] = []
        self._stashing = {op for op in reverse.function.body.walk() if self._stashes(op)}
        for code in _SILENT:
            self._visitors[code] = lambda op: None
        self._visitors["store"] = self._visitors["atomic"] = self._write
        self._visitors["custom"] = partial(forward_custom, self)
        self._replay_reads = ReplayReads(reverse.function, reverse.scopes.shared)
        self.replaying: Operation | None = None  # the `custom` whose replay is being made
        self.unknown: dict[Value, Operation] = {}  # what atomics found, which they do not find again

    def _stashes(self, op: Operation) -> bool:
        """True if an operation in `op` pushes values on the value stack."""
        inside = (inner for region in op.regions for inner in region.walk())
        return any(sum(frame.sizes) for at in (op, *inside) if (frame := self.reverse.frames.get(at)))

    def run(self, b: Builder, params: Sequence[Value]) -> None:
        """Emit the body into the open region of `b`."""
        function = self.reverse.function
        self.b = b
        self.values.update(zip(function.params, params))
        self.top = [b.i32(0) for _ in CELLS]
        self.visit_ops(function.body.ops[:-1])

    def _write(self, op: Operation) -> None:
        if is_own(op.args[0]):
            self._copy(op)
            return
        if self.replaying is not None:
            raise NotDifferentiable(f"the replay of `{self.replaying.attr.callee.name}` writes to an array", op)
        if op.args[0] in self.replayed:
            self._copy(op)
        if op.code == "atomic":
            found = self.values[op.results[0]] = Value(op.results[0].type)
            self.unknown[found] = op

    def visit_load(self, op: Operation) -> None:
        """A load; that of a replay, or behind one, reads what the launch left."""
        self._copy(op)
        if is_local(op.args[0]):
            return
        given = self._replay_reads.before(op, op.args[0]) if self.replaying is None else [self.replaying]
        if self.replaying is not None:
            check_own_places(self.reverse, self.replaying, op, op.args[0])
        for custom in given:
            read_final(self.reverse, custom, op, op.args[0], self.values[op.result])

    # -- regions ----------------------------------------------------------------------------------------------------

    def _threaded(self, op: Operation) -> list[Value]:
        return self.top if op in self._stashing else []

    def visit_if(self, op: Operation) -> None:
        exposed, before = self.reverse.scopes.exposed.get(op, []), list(self.top)
        regions = []
        for branch, region in enumerate(op.regions):
            self.b.push()
            self.top = list(before)
            self.visit_ops(region.ops[:-1])
            given = [self.values[v] if at == branch else self.b.zero(v.type) for at, v, _ in exposed]
            self.b.terminate("yield", [*self.args(region.terminator), *given, *self._threaded(op)])
            regions.append(self.b.pop())
        types = [*(v.type for v in op.results), *(v.type for _, _, v in exposed), *(I32 for _ in self._threaded(op))]
        self.b.loc = op.loc
        found = self.b.emit("if", self.args(op), None, tuple(regions), types)
        self.define(op, found)
        self.values.update(zip((v for _, _, v in exposed), found[len(op.results) :]))
        self.top = list(found[len(types) - 2 :]) if op in self._stashing else before

    def visit_for(self, op: Operation) -> None:
        region = op.regions[0]
        n = len(self._threaded(op))
        before = self.top
        new = self.b.push([p.type for p in region.params] + [I32] * n, [p.name for p in region.params])
        self.values.update(zip(region.params, new))
        self.top = new[len(new) - n :] if n else before
        self.visit_ops(region.ops[:-1])
        self._stash(op)
        self.b.terminate("yield", [*self.args(region.terminator), *self._threaded(op)])
        body = self.b.pop()
        found = self.b.emit(
            "for", [*self.args(op), *before[:n]], None, (body,), [v.type for v in op.results] + [I32] * n
        )
        self.define(op, found)
        self.top = list(found[len(found) - n :]) if n else before

    def visit_loop(self, op: Operation) -> None:
        region = op.regions[0]
        n, before = len(self._threaded(op)), self.top
        counted = self.reverse.scopes.counts.get(op)
        extra = [counted.type] if counted is not None else []
        new = self.b.push([p.type for p in region.params] + [I32] * n + extra, [p.name for p in region.params])
        self.values.update(zip(region.params, new))
        self.top = new[len(region.params) :][:n] if n else before
        self.visit_ops(region.ops[:-2])
        self._stash(op)
        total = [self.b.op("add", new[-1], self.b.const(1, counted.type))] if counted is not None else []
        leave, stay = (self._exit(r, self._threaded(op) + total) for r in region.ops[-2].regions)
        self.b.emit("if", self.args(region.ops[-2]), None, (leave, stay))
        self.b.terminate("yield", [*self.args(region.terminator), *self._threaded(op), *total])
        body = self.b.pop()
        zero = [self.b.const(0, t) for t in extra]
        types = [v.type for v in op.results] + [I32] * n + extra
        found = self.b.emit("loop", [*self.args(op), *before[:n], *zero], None, (body,), types)
        self.define(op, found)
        self.top = list(found[len(op.results) :][:n]) if n else before
        if counted is not None:
            self.values[counted] = found[-1]

    def _exit(self, region: Region, extra: list[Value]) -> Region:
        """The end of a loop's test: leaving gives more than before."""
        self.b.push()
        end = region.terminator
        self.visit_ops(region.ops[:-1])
        if end.code == "break":
            self.b.terminate("break", [*self.args(end), *extra], end.attr)
        else:
            self.b.terminate("yield")
        return self.b.pop()

    def _stash(self, op: Operation) -> None:
        frame = self.reverse.frames.get(op)
        if frame is not None and frame.places:
            self.top = push(self.b, frame, self.top, [self.values[v] for v, _ in frame.places])
