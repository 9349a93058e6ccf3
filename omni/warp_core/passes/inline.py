"""Replace calls of small functions by their bodies.

In: any verified function, and a function that gives the finished form of a callee. Out: a new function in which only
calls of finished functions remain. A callee is small if it has fewer than `limit` operations, counting those of the
small functions that it calls itself: the whole tree of small calls is spliced in one go. Cold callees stay calls, and
so do all but the tiniest in a function that has grown by GROWTH operations: machine code for them would take long.
Callees of which there are many calls stay calls for the same reason (`repeated` of ir/analysis/size.py, `calls`).
Callees that ask for the index of the thread, or work with its block, are replaced whatever they are, for only kernels
know it. A callee that returns early becomes a `block` that it breaks out of. Operations that came in point to their
own place, inlined at the place of the call.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.analysis.size import asks_thread, base_name, has_single_exit, inlined_size
from ..ir.clone import Rewriter
from ..ir.nodes import Function, Loc, Operation, Region, Value

GROWTH = 10_000
TINY = 8


def inline(
    function: Function, limit: int, finished: Callable[[Function], Function], calls: frozenset[str] = frozenset()
) -> Function:
    """`function` with calls of functions below `limit` operations replaced, but for those of the names in `calls`."""
    return _Inliner(limit, finished, calls).rewrite(function)


def inline_calls(function: Function, chosen: Callable[[Function], bool]) -> Function:
    """`function` with all calls of the functions that are chosen replaced, whatever their size."""
    return _ChosenInliner(chosen).rewrite(function)


class _Inliner(Rewriter):
    def __init__(self, limit: int, finished: Callable[[Function], Function], calls: frozenset[str] = frozenset()):
        super().__init__()
        self._limit, self._finished, self._calls = limit, finished, calls
        self._grown = 0
        self._memory: dict[Operation, Value] = {}
        self._return_level: int | None = None
        self._site: Loc | None = None
        self._places: dict[Loc | None, Loc | None] = {}

    def visit_alloca(self, op: Operation) -> None:
        """Memory that comes in with a callee is made at the top of the caller, once for all calls of it: it holds
        nothing between two calls.
        """
        if op not in self._memory:
            new = Operation("alloca", [], op.attr, self.b.loc)
            new.results = (Value(op.attr, new, name=op.result.name),)
            self.b.outermost.ops.insert(0, new)
            self._memory[op] = new.result
        self.values[op.result] = self._memory[op]

    def visit_shared(self, op: Operation) -> None:
        """Each call has its own memory: a thread that is late in one does not see what others do in the next."""
        new = Operation("shared", [], op.attr, self.b.loc)
        new.results = (Value(op.result.type, new, name=op.result.name),)
        self.b.outermost.ops.insert(0, new)
        self.values[op.result] = new.result

    def visit_call(self, op: Operation) -> None:
        callee = op.attr
        if not self._is_chosen(callee):
            self.define(op, self.b.emit("call", self.args(op), self._finished(callee), results=callee.results))
            return
        self._grown += inlined_size(callee, 0)
        self.values.update(zip(callee.params, self.args(op)))
        saved = self._targets, self._return_level, self._places, self._site
        self._targets, self._places, self._site = [], {}, self.b.loc
        if _returns_last(callee.body):
            self.visit_ops(callee.body.ops[:-1])
            self.define(op, self.args(callee.body.terminator))
        else:
            self._block(op, callee)
        self._targets, self._return_level, self._places, self._site = saved

    def _is_chosen(self, callee: Function) -> bool:
        if base_name(callee) in self._calls and not asks_thread(callee):
            return False
        return has_single_exit(callee, self._limit if self._grown < GROWTH else min(TINY, self._limit))

    def _block(self, op: Operation, callee: Function) -> None:
        self._level += 1
        self._return_level = self._level
        self.b.push()
        self.visit_ops(callee.body.ops)
        region = self.b.pop()
        self._level -= 1
        self.b.loc = self._site
        self.define(op, self.b.emit("block", regions=(region,), results=callee.results))

    def visit_return(self, op: Operation) -> None:
        if self._return_level is None:
            self.b.terminate("return", self.args(op))
        else:
            self.b.terminate("break", self.args(op), self._level - self._return_level)

    def place(self, loc: Loc | None) -> Loc | None:
        if self._site is None:
            return loc
        if loc not in self._places:
            self._places[loc] = _inlined(loc, self._site)
        return self._places[loc]


class _ChosenInliner(_Inliner):
    def __init__(self, chosen: Callable[[Function], bool]):
        super().__init__(0, lambda callee: callee)
        self._chosen = chosen

    def _is_chosen(self, callee: Function) -> bool:
        return self._chosen(callee)


def _inlined(loc: Loc | None, site: Loc) -> Loc:
    """`loc` of a callee, seen through a call at `site`."""
    return site if loc is None else loc._replace(inlined=_inlined(loc.inlined, site))


def _returns_last(body: Region) -> bool:
    """True if a function ends with its only `return`."""
    return body.terminator.code == "return" and not any(
        op.code == "return" for outer in body.ops for region in outer.regions for op in region.walk()
    )
