"""Rewrite structured code so that every region has one way out, as reversing it needs.

In: any verified function. Out: a new function with the same meaning, without `block`, in which

* regions of `if` and `for` end in `yield`;
* the region of a `loop` ends in `if done { break results } else { yield }` and `yield next`;
* the body ends in its only `return`.

An exit that crosses regions becomes a number, its *code*, next to the values it carries; what would have been skipped
stands under an `if` that asks for the code. A `for` that can be left becomes a `loop` that counts its iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ...ir.clone import Rewriter
from ...ir.nodes import Function, Operation, Value
from ...ir.ops import BREAKABLE, OPS
from ...lang.types import I32, Type
from .trip_count import index_at, trip_count

NORMAL = 0  # the code of reaching a region's end


def single_exit(function: Function) -> Function:
    """The rewritten function."""
    return _SingleExit(function).rewrite(function)


@dataclass
class Outcome:
    """The end of a region: its exit code, and the values of each possible code."""

    code: Value | int
    gives: Mapping[int, Sequence[Value]]

    @property
    def is_normal(self) -> bool:
        """True if the end is the only exit."""
        return list(self.gives) == [NORMAL]


Exit = tuple[Operation | None, str]


class _SingleExit(Rewriter):
    def __init__(self, function: Function):
        super().__init__()
        self._function = function
        self._codes: dict[Exit, int] = {}
        self._types: dict[int, list[Type]] = {}
        self._nest: list[Operation] = []

    def visit_ops(self, ops: Sequence[Operation]) -> None:
        """The body: all ways lead to its return."""
        outcome = self._region(ops, [])
        self.b.terminate("return", outcome.gives.get(self._code(None, "return"), ()))

    # -- exits ------------------------------------------------------------------------------------------------------

    def _code(self, op: Operation | None, kind: str) -> int:
        """The number of leaving `op` (the function, if None) by `kind`."""
        code = self._codes.setdefault((op, kind), len(self._codes) + 1)
        if code not in self._types:
            if op is None:
                self._types[code] = list(self._function.results)
            elif kind == "continue":
                self._types[code] = [a.type for a in op.args[3 if op.code == "for" else 0 :]]
            else:
                self._types[code] = [v.type for v in op.results]
        return code

    def _exit(self, op: Operation) -> int:
        """The code of a terminator."""
        if op.code == "yield":
            return NORMAL
        if op.code == "return":
            return self._code(None, "return")
        return self._code(self._nest[-1 - (op.attr or 0)], op.code)

    def _reach(self, ops: Sequence[Operation]) -> set[int]:
        """The codes that `ops` may end with; NORMAL stands for the end of their own region."""
        for op in ops:
            if OPS[op.code].terminator:
                return set() if op.code == "unreachable" else {self._exit(op)}
        return set()

    def _leaving(self, ops: Sequence[Operation]) -> set[int]:
        """The codes other than NORMAL that `ops`, or regions inside them, may end with."""
        found = self._reach(ops) - {NORMAL}
        for op in ops:
            breakable = op.code in BREAKABLE
            if breakable:
                self._nest.append(op)
            for region in op.regions:
                found |= self._leaving(region.ops)
            if breakable:
                self._nest.pop()
                found -= {self._code(op, "break"), self._code(op, "continue")}
        return found

    # -- regions ----------------------------------------------------------------------------------------------------

    def _region(self, ops: Sequence[Operation], normal: list[Type]) -> Outcome:
        """Emit `ops` into the open region. `normal` are the types that reaching their end gives."""
        for i, op in enumerate(ops):
            self.b.loc = op.loc
            if OPS[op.code].terminator:
                code = self._exit(op) if op.code != "unreachable" else NORMAL
                return Outcome(code, {code: self.args(op)} if op.code != "unreachable" else {})
            if not op.regions:
                self._visitors[op.code](op)
                continue
            outcome = self._region_op(op)
            if not outcome.is_normal:
                return self._rest(outcome, op, ops[i + 1 :], normal)
            self.define(op, outcome.gives[NORMAL])
        return Outcome(NORMAL, {})

    def _rest(self, outcome: Outcome, op: Operation, rest: Sequence[Operation], normal: list[Type]) -> Outcome:
        """Emit the operations after one that may have exited: they run if it ended normally."""
        if NORMAL not in outcome.gives:
            return outcome
        left = {code: values for code, values in outcome.gives.items() if code != NORMAL}

        def goes_on() -> Outcome:
            self.define(op, outcome.gives[NORMAL])
            return self._region(rest, normal)

        stayed = self._is(outcome.code, NORMAL)
        return self._either(
            stayed, goes_on, lambda: Outcome(outcome.code, left), {NORMAL, *left, *self._leaving(rest)}, normal
        )

    def _either(
        self,
        condition: Value,
        first: Callable[[], Outcome],
        second: Callable[[], Outcome],
        codes: set[int],
        normal: list[Type],
    ) -> Outcome:
        """An `if` both sides of which end normally, giving the code and the values of all `codes`."""
        order = sorted(codes)
        types: list[Type] = [I32] * (len(order) > 1) + [t for c in order for t in self._given(c, normal)]
        regions = []
        for side in (first, second):
            self.b.push()
            outcome = side()
            values: list[Value] = []
            if len(order) > 1:
                values.append(outcome.code if isinstance(outcome.code, Value) else self.b.i32(outcome.code))
            for c in order:
                values += outcome.gives[c] if c in outcome.gives else map(self.b.zero, self._given(c, normal))
            self.b.terminate("yield", values)
            regions.append(self.b.pop())
        results = list(self.b.emit("if", [condition], None, tuple(regions), types))
        return self._unpack(results, order, normal)

    def _given(self, code: int, normal: list[Type]) -> list[Type]:
        return normal if code == NORMAL else self._types[code]

    def _unpack(self, results: list[Value], order: list[int], normal: list[Type]) -> Outcome:
        code = results.pop(0) if len(order) > 1 else order[0]
        gives = {}
        for c in order:
            count = len(self._given(c, normal))
            gives[c], results = results[:count], results[count:]
        return Outcome(code, gives)

    def _is(self, code: Value | int, wanted: int) -> Value:
        if isinstance(code, int):
            return self.b.bool(code == wanted)
        return self.b.op("eq", code, self.b.i32(wanted))

    # -- operations with regions ------------------------------------------------------------------------------------

    def _region_op(self, op: Operation) -> Outcome:
        return getattr(self, f"_{op.code}")(op)

    def _if(self, op: Operation) -> Outcome:
        (condition,) = self.args(op)
        normal = [v.type for v in op.results]
        first, second = (partial(self._region, region.ops, normal) for region in op.regions)
        codes = set().union(*(self._leaving(r.ops) for r in op.regions))
        if any(r.terminator.code == "yield" for r in op.regions):
            codes.add(NORMAL)
        return self._either(condition, first, second, codes or {NORMAL}, normal)

    def _elements(self, op: Operation) -> Outcome:
        """What is done for one element ends where its region ends."""
        (region,) = op.regions
        new = self.b.push([p.type for p in region.params], [p.name for p in region.params])
        self.values.update(zip(region.params, new))
        outcome = self._region(region.ops, [v.type for v in region.terminator.args])
        self.b.terminate("yield", outcome.gives.get(NORMAL, ()))
        made = self.b.pop()
        self.b.loc = op.loc
        results = self.b.emit(op.code, self.args(op), op.attr, (made,), [v.type for v in op.results])
        return Outcome(NORMAL, {NORMAL: results})

    _tile_map = _tile_reduce = _elements

    def _block(self, op: Operation) -> Outcome:
        normal = [v.type for v in op.results]
        self._nest.append(op)
        outcome = self._region(op.regions[0].ops, normal)
        self._nest.pop()
        return self._joined(outcome, self._code(op, "break"))

    def _joined(self, outcome: Outcome, code: int) -> Outcome:
        """`outcome` with `code` counted as normal."""
        gives = dict(outcome.gives)
        if code not in gives:
            return outcome
        taken = gives.pop(code)
        if NORMAL in gives:
            here = self._is(outcome.code, code)
            taken = [self.b.op("select", here, x, y) for x, y in zip(taken, gives[NORMAL])]
        gives[NORMAL] = taken
        if isinstance(outcome.code, int):
            return Outcome(NORMAL, gives)
        normal = self.b.i32(NORMAL)
        return Outcome(self.b.op("select", self._is(outcome.code, code), normal, outcome.code), gives)

    def _for(self, op: Operation) -> Outcome:
        self._nest.append(op)
        leaving = self._leaving(op.regions[0].ops) - {self._code(op, "continue")}
        outcome = self._counted_loop(op) if leaving else self._plain_for(op)
        self._nest.pop()
        return outcome

    def _plain_for(self, op: Operation) -> Outcome:
        region = op.regions[0]
        carried = self._types[self._code(op, "continue")]
        new = self.b.push([p.type for p in region.params], [p.name for p in region.params])
        self.values.update(zip(region.params, new))
        outcome = self._joined(self._region(region.ops, carried), self._code(op, "continue"))
        self.b.terminate("yield", outcome.gives.get(NORMAL, [*map(self.b.zero, carried)]))
        body = self.b.pop()
        self.b.loc = op.loc
        results = self.b.emit("for", self.args(op), None, (body,), [v.type for v in op.results])
        return Outcome(NORMAL, {NORMAL: results})

    def _counted_loop(self, op: Operation) -> Outcome:
        """A `for` that can be left: a loop over the number of the iteration."""
        low, high, step, *init = self.args(op)
        count = trip_count(self.b, low, high, step)
        zero = self.b.const(0, count.type)
        region, leave = op.regions[0], self._code(op, "break")
        carried = [v.type for v in init]
        k, *values = self.b.push([count.type, *carried], ["k", *(p.name for p in region.params[1:])])

        def iteration() -> Outcome:
            self.values.update(zip(region.params, [index_at(self.b, low, step, k), *values]))
            return self._joined(self._region(region.ops, carried), self._code(op, "continue"))

        codes = {NORMAL, leave, *self._leaving(region.ops)} - {self._code(op, "continue")}
        inside = self.b.op("ne", k, count)  # of more iterations than the type of `count` has numbers, too
        outcome = self._either(inside, iteration, lambda: Outcome(leave, {leave: values}), codes, carried)
        following = self.b.op("add", k, self.b.const(1, k.type))
        gives = {**outcome.gives, NORMAL: [following, *outcome.gives[NORMAL]]}
        return self._close_loop(op, [zero, *init], Outcome(outcome.code, gives))

    def _loop(self, op: Operation) -> Outcome:
        region = op.regions[0]
        carried = self._types[self._code(op, "continue")]
        new = self.b.push([p.type for p in region.params], [p.name for p in region.params])
        self.values.update(zip(region.params, new))
        self._nest.append(op)
        outcome = self._joined(self._region(region.ops, carried), self._code(op, "continue"))
        self._nest.pop()
        return self._close_loop(op, self.args(op), outcome)

    def _close_loop(self, op: Operation, init: Sequence[Value], outcome: Outcome) -> Outcome:
        """End the open region of a loop with its test, and make the loop."""
        following = outcome.gives.get(NORMAL) or [*map(self.b.zero, [v.type for v in init])]
        stays = self._is(outcome.code, NORMAL) if NORMAL in outcome.gives else self.b.bool(False)
        left = {code: values for code, values in outcome.gives.items() if code != NORMAL}
        outcome = self._joined(Outcome(outcome.code, left), self._code(op, "break"))
        order = sorted(outcome.gives)
        values = [v for code in order for v in outcome.gives[code]]
        if len(order) > 1:
            assert isinstance(outcome.code, Value)
            values.insert(0, outcome.code)
        self.b.push()
        self.b.terminate("yield")
        on = self.b.pop()
        self.b.push()
        self.b.terminate("break", values)
        off = self.b.pop()
        self.b.emit("if", [self.b.op("not", stays)], None, (off, on))
        self.b.terminate("yield", following)
        body = self.b.pop()
        self.b.loc = op.loc
        results = list(self.b.emit("loop", init, None, (body,), [v.type for v in values]))
        return self._unpack(results, order, [v.type for v in op.results])
