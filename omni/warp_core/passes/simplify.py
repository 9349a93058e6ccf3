"""Fold everything again and flatten control flow that is decided, tiny or superfluous.

In: any verified function. Out: a new function where

* operations were refolded and shared by the builder (which inlining gave new constants to meet);
* an `if` on a constant is replaced by the region taken, a `for` of few constant iterations by its copies (`unroll`);
* an `if` that only yields, after few cheap pure operations, is replaced by `select`, unless it gives tiles;
* numbers of blocks and indices in a block that follow from the index of the thread are those (`block_numbers`);
* exits in tail position are gone (see `structure_exits`), and blocks that nothing breaks out of any more are replaced
by their
  region.
"""

from __future__ import annotations

from ..ir.clone import Rewriter, exits
from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import COMPARISONS, COUNTS, ELEMENTWISE
from ..lang.types import Tile, element
from .block_numbers import block_number
from .structure_exits import close, outdent
from .unroll import iterations

# An `if` becomes selects when both sides together have no more than this many operations, all of them cheap.
SELECT_LIMIT = 8
_CHEAP = (
    ELEMENTWISE
    | COMPARISONS
    | COUNTS
    | {
        "select",
        "cast",
        "bitcast",
        "make",
        "splat",
        "extract",
        "insert",
        "is_null",
        "tid",
        "block_tid",
        "zero",
        "const",
    }
)
_COSTLY_INTEGER = frozenset(("div", "rem", "floordiv"))


def simplify(function: Function) -> Function:
    """The simplified function; see the module's docstring."""
    return _Simplifier(function.block_dim).rewrite(function)


class _Simplifier(Rewriter):
    def __init__(self, block_dim: int) -> None:
        super().__init__()
        self._block_dim = block_dim
        self._copies = 1  # that unrolled loops make of the code being visited

    def visit_div(self, op: Operation) -> None:
        found = block_number(self.b, op.code, self.args(op), self._block_dim)
        if found is None:
            self._copy(op)
        else:
            self.define(op, (found,))

    visit_floordiv = visit_rem = visit_shr = visit_and = visit_div

    def visit_if(self, op: Operation) -> None:
        cond = self.values[op.args[0]]
        if cond.is_const:
            taken = self.splice(op.regions[0 if cond.const else 1])
            if taken is not None:
                self.define(op, taken)
            return
        first, second = (self._branch(r, op.args[0], c) for r, c in zip(op.regions, (True, False)))
        if _is_small(first, second) and not any(isinstance(v.type, Tile) for v in op.results):
            pairs = zip(self._absorb(first), self._absorb(second))
            self.define(op, [self.b.op("select", cond, x, y) for x, y in pairs])
        else:
            self._emit_if(op, first, second)

    def _branch(self, region: Region, cond: Value, known: bool) -> Region:
        """The new region of an `if`, inside which its condition is known."""
        self.b.push()
        outside = self.values[cond]
        if len(region.ops) > 1 or cond in region.terminator.args:
            self.values[cond] = self.b.bool(known)
        self.visit_ops(region.ops)
        self.values[cond] = outside
        return self.b.pop()

    def _absorb(self, region: Region) -> list[Value]:
        """Move pure operations of a closed region into the open one; returns what the region yields."""
        moved: dict[Value, Value] = {}
        for op in region.ops[:-1]:
            args = [moved.get(a, a) for a in op.args]
            new = (
                self.b.exact(op.attr, op.result.type) if op.code == "const" else self.b.op(op.code, *args, attr=op.attr)
            )
            moved[op.result] = new
            new.name = new.name or op.result.name
        return [moved.get(a, a) for a in region.terminator.args]

    def _emit_if(self, op: Operation, first: Region, second: Region) -> None:
        self.b.loc = op.loc
        new = self.b.emit("if", self.args(op), None, (first, second), [v.type for v in op.results])
        ends = [r.terminator for r in (first, second)]
        if all(end.code != "yield" for end in ends):
            self.b.terminate("unreachable")
            return
        if all(end.code == "yield" for end in ends):
            new = tuple(x if x is y else v for v, x, y in zip(new, ends[0].args, ends[1].args))
        self.define(op, new)

    def visit_for(self, op: Operation) -> None:
        low, high, step, *carried = self.args(op)
        trips = iterations(op, low, high, step, self._copies)
        if trips is None:
            region = self.breakable(op)
            close(region, "continue")
            self._emit(op, (region,))
            return
        self._targets.append(-1)  # nothing names an unrolled loop
        self._copies *= len(trips) or 1
        given: list[Value] | None = carried
        for i in trips:
            if given is not None:
                given = self.splice(op.regions[0], [self.b.const(i, low.type), *given])
        self._copies //= len(trips) or 1
        self._targets.pop()
        if given is not None:
            self.define(op, given)

    def visit_loop(self, op: Operation) -> None:
        region = self.breakable(op)
        close(region, "continue")
        self._emit(op, (region,))

    def visit_block(self, op: Operation) -> None:
        region = self.breakable(op)
        close(region, "break")
        if exits(region):
            self._emit(op, (region,))
            return
        outdent(region)
        end = region.ops.pop() if region.terminator.code == "yield" else None
        self.b.region.ops.extend(region.ops)
        if end is not None:
            self.define(op, end.args)


def _is_small(first: Region, second: Region) -> bool:
    """True if computing both sides costs about as much as branching."""
    size = 0
    for region in (first, second):
        if region.terminator.code != "yield":
            return False
        size += sum(op.code != "const" for op in region.ops) - 1
        if size > SELECT_LIMIT:
            return False
    return all(_is_cheap(op) for region in (first, second) for op in region.ops[:-1])


def _is_cheap(op: Operation) -> bool:
    if op.code in _COSTLY_INTEGER:
        return element(op.args[0].type).is_float
    return op.code in _CHEAP
