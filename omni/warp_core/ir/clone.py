"""Rebuilding functions: `copy_function` copies as is, `Rewriter` sends every operation through the builder again.

A pass that replaces operations subclasses `Rewriter` and defines `visit_<code>` for the operations it changes; the
rest is copied, refolded and shared by the builder. `values` maps old values to new ones. Exits keep naming the right
operation when a pass adds breakable operations or takes them away: `_targets` holds the nesting level of the new
counterpart of each old breakable operation around the place, `_level` the current one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import MethodType
from typing import Any

from .builder import Builder
from .nodes import Function, Loc, Operation, Region, Value
from .ops import BREAKABLE, OPS


def copy_function(function: Function) -> Function:
    """An independent copy of `function`; callees are shared."""
    values: dict[Value, Value] = {}
    new = like(function, [])
    new.body = copy_region(function.body, values)
    return new


def like(function: Function, params: list[Value]) -> Function:
    f = function
    new = Function(f.name, params, f.results, f.is_kernel, f.loc, f.is_library, f.is_cold, f.block_dim)
    new.gradient, new.replay, new.left = f.gradient, f.replay, f.left
    return new


def copy_region(region: Region, values: dict[Value, Value]) -> Region:
    """A copy of a region; `values` maps what it takes from outside, and then also what is inside, to the new values."""
    new = Region([Value(p.type, name=p.name) for p in region.params])
    values.update(zip(region.params, new.params))
    for op in region.ops:
        copy = Operation(op.code, [values[a] for a in op.args], op.attr, op.loc)
        copy.results = tuple(Value(v.type, copy, i, v.name) for i, v in enumerate(op.results))
        values.update(zip(op.results, copy.results))
        copy.regions = tuple(copy_region(r, values) for r in op.regions)
        new.ops.append(copy)
    return new


def exits(region: Region, depth: int = 0) -> list[Operation]:
    """The `break` and `continue` in `region` that name the operation it belongs to, `depth` breakables outside."""
    found = []
    for op in region.ops:
        if op.regions:
            inner = depth + (op.code in BREAKABLE)
            for r in op.regions:
                found += exits(r, inner)
        elif op.code in ("break", "continue") and (op.attr or 0) == depth:
            found.append(op)
    return found


def op_count(function: Function) -> int:
    """The size of a function: its operations without constants."""
    return sum(op.code != "const" for op in function.body.walk())


@cache
def _visitors(rewriter: type[Rewriter]) -> dict[str, Callable[[Any, Operation], None]]:
    """Return the method of a class that rebuilds each kind of operation."""
    return {
        code: getattr(rewriter, f"visit_{code}", rewriter._terminator if row.terminator else rewriter._copy)
        for code, row in OPS.items()
    }


class Rewriter:
    """Rebuilds a function through the builder; see the module's docstring."""

    def __init__(self) -> None:
        self.values: dict[Value, Value] = {}
        self._targets: list[int] = []
        self._level = 0
        self._visitors: dict[str, Callable[[Operation], None]] = {
            code: MethodType(method, self)
            for code, method in _visitors(type(self)).items()  # type: ignore[arg-type]
        }

    def rewrite(self, function: Function) -> Function:
        """The new function; the old one is left as it was."""
        params = [Value(p.type, name=p.name) for p in function.params]
        new = like(function, params)
        self.b = Builder(new)
        self.values.update(zip(function.params, params))
        self.visit_ops(function.body.ops)
        return new

    # -- for passes ---------------------------------------------------------------------------------------------

    def args(self, op: Operation) -> list[Value]:
        """The new operands of `op`."""
        values = self.values
        return [values[a] for a in op.args]

    def place(self, loc: Loc | None) -> Loc | None:
        """The source position of an operation that was at `loc`."""
        return loc

    def visit_ops(self, ops: Sequence[Operation]) -> None:
        """Rebuild operations into the open region, up to one that leaves it."""
        visitors, b = self._visitors, self.b
        for op in ops:
            b.loc = self.place(op.loc)
            visitors[op.code](op)
            if (op.regions or op.code == "call") and b.terminated:
                return

    def rebuild(self, region: Region) -> Region:
        """A new region with the operations of `region`."""
        params = region.params
        new = self.b.push([p.type for p in params], [p.name for p in params])
        self.values.update(zip(params, new))
        self.visit_ops(region.ops)
        return self.b.pop()

    def splice(self, region: Region, args: Sequence[Value] = ()) -> list[Value] | None:
        """Rebuild `region` into the open one; returns what it yields, or None if it leaves."""
        self.values.update(zip(region.params, args))
        last = region.terminator
        if last.code != "yield":
            self.visit_ops(region.ops)
            return None
        self.visit_ops(region.ops[:-1])
        return None if self.b.terminated else self.args(last)

    def define(self, op: Operation, new: Sequence[Value]) -> None:
        """Say what the results of `op` have become."""
        for old, value in zip(op.results, new):
            self.values[old] = value
            if old.name and not value.name:
                value.name = old.name

    def breakable(self, op: Operation) -> Region:
        """The new region of a for, loop or block."""
        self._level += 1
        self._targets.append(self._level)
        region = self.rebuild(op.regions[0])
        self._targets.pop()
        self._level -= 1
        return region

    # -- defaults -----------------------------------------------------------------------------------------------

    def _copy(self, op: Operation) -> None:
        self.define(op, (self.b.op(op.code, *self.args(op), attr=op.attr),))

    def _terminator(self, op: Operation) -> None:
        self.b.terminate(op.code, self.args(op), op.attr)

    def visit_const(self, op: Operation) -> None:
        self.define(op, (self.b.exact(op.attr, op.results[0].type),))

    def visit_call(self, op: Operation) -> None:
        self.define(op, self.b.emit("call", self.args(op), op.attr, results=[v.type for v in op.results]))

    def visit_if(self, op: Operation) -> None:
        regions = tuple(map(self.rebuild, op.regions))
        self._emit(op, regions)

    def visit_for(self, op: Operation) -> None:
        self._emit(op, (self.breakable(op),))

    visit_loop = visit_block = visit_for
    visit_threads = visit_elements = visit_tile_map = visit_tile_reduce = visit_if

    def _emit(self, op: Operation, regions: tuple[Region, ...]) -> None:
        self.b.loc = self.place(op.loc)
        self.define(op, self.b.emit(op.code, self.args(op), op.attr, regions, [v.type for v in op.results]))

    def visit_break(self, op: Operation) -> None:
        depth = self._level - self._targets[-1 - (op.attr or 0)]
        self.b.terminate(op.code, self.args(op), depth)

    visit_continue = visit_break
