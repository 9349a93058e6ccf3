"""Which values differ between threads that run together, and which exits only some of them take.

Such threads are the lanes of one SIMD group, for code generation, or those of a block, for what a block does together.
They are called lanes here. A value is *varying* when lanes may hold different numbers, *uniform* otherwise. An exit
(yield, break, continue, return) is *divergent* if lanes that are still inside its target may be elsewhere at that
point. Masks must then do it. A construct that contains one is *masked*. It is *leaky* when a divergent exit leaves it
for a target further out, so that fewer lanes may be active behind it.

The analysis walks the function until nothing changes; facts only grow. Positions are tracked as *levels*: the function
is level 0, every for, loop and block one more. At any point a level is *split* when some lanes that are in its current
iteration wait elsewhere: in the other branch of a varying `if`, at the end of the body after a divergent `continue`, or
behind an inner construct that they left by a divergent `break`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...lang.launch_constants import WARP
from ...lang.types import Tile
from ..nodes import Function, Operation, Region, Value
from ..ops import BREAKABLE, COUNTS, ELEMENT_OPS
from .alias import is_made_by, local_arrays


@dataclass
class Uniformity:
    """The result. Sets hold the objects themselves."""

    varying: set[Value] = field(default_factory=set)
    divergent: set[Operation] = field(default_factory=set)
    masked: set[Operation] = field(default_factory=set)
    leaky: set[Operation] = field(default_factory=set)  # fewer lanes may come out of these than went in
    used: set[Value] = field(default_factory=set)  # values that some operation takes
    local: dict[Value, Value] = field(default_factory=dict)  # arrays that are loaded and stored in place: see ir.locals
    results_varying: tuple[bool, ...] = ()
    return_divergent: bool = False

    def size(self) -> int:
        return len(self.varying) + len(self.divergent) + len(self.masked) + len(self.leaky)


@dataclass
class _Level:
    op: Operation | None  # None: the function
    ifs: int = 0  # varying ifs open inside the level
    waits: set[int] = field(default_factory=set)  # levels at whose end lanes of this one wait
    next_sites: list[tuple[Operation, bool]] = field(default_factory=list)
    leave_sites: list[tuple[Operation, bool]] = field(default_factory=list)


# (function, which parameters are varying, lanes) -> facts; shared by all calls of one kernel's compilation
Cache = dict[tuple[Function, tuple[bool, ...], int], Uniformity]
Visit = Callable[[Operation, list[Operation], bool], None]


_OF_LANES = frozenset(("tid", "thread_index", "atomic", "alloca", "stash", "shuffle"))


def is_divergent(op: Operation) -> bool:
    """True if lanes of one group get different results from the same operands."""
    return op.code in _OF_LANES


def reconverges(op: Operation, lanes: int) -> bool:
    """True if an operation returns one result for all lanes of a group, even for divergent operands. Groups begin where
    the index in the block is a multiple of `lanes`.
    """
    if op.code in COUNTS:  # all threads have as many cells
        return is_made_by(op.args[0], "stash")
    if op.code not in ("ballot", "div", "floordiv", "shr") or lanes > WARP:
        return False
    if op.code == "ballot":
        return lanes == WARP
    index, by = op.args
    if index.op is None or index.op.code != "thread_index" or not by.is_const:
        return False
    return by.const > 0 and (1 << min(by.const, 31) if op.code == "shr" else by.const) % lanes == 0


def analyze(
    fn: Function,
    varying_params: tuple[bool, ...],
    lanes: int,
    cache: Cache,
    differs: Callable[[Operation], bool] = is_divergent,
    visitor: Callable[[Uniformity], Visit] | None = None,
) -> Uniformity:
    """Facts about `fn` when its parameters are uniform or varying as given. With one lane nothing varies.

    `differs` says which operations give different results for the same operands. `visitor` makes a function of the
    facts, which is called with each operation, those that it is nested in, and whether some lanes may be elsewhere.
    """
    key = (fn, varying_params, lanes)
    if key not in cache:
        facts = Uniformity(results_varying=(False,) * len(fn.results), local=local_arrays(fn, ("load", "store")))
        facts.used.update(a for op in fn.body.walk() for a in op.args)
        if lanes > 1:
            facts.varying.update(p for p, v in zip(fn.params, varying_params) if v)
            _Walk(fn, facts, lanes, cache, differs).run(visitor)
        cache[key] = facts
    return cache[key]


class _Walk:
    def __init__(self, fn: Function, facts: Uniformity, lanes: int, cache: Cache, differs: Callable[[Operation], bool]):
        self.fn, self.facts, self.lanes, self.cache, self.differs = fn, facts, lanes, cache, differs
        self.visit: Visit | None = None
        self.levels: list[_Level] = []
        self.enclosing: list[Operation] = []

    def run(self, visitor: Callable[[Uniformity], Visit] | None) -> None:
        before = -1
        while self.facts.size() != before:
            before = self.facts.size()
            self.levels = [_Level(None)]
            self.region(self.fn.body, None)
        if visitor:
            self.visit, self.levels = visitor(self.facts), [_Level(None)]
            self.region(self.fn.body, None)
        sites = self.levels[0].leave_sites
        self.facts.return_divergent = any(d for _, d in sites)
        self.facts.results_varying = tuple(
            self.facts.return_divergent or any(op.args[i] in self.facts.varying for op, _ in sites)
            for i in range(len(self.fn.results))
        )

    # -- helpers ------------------------------------------------------------------------------------------------

    def mark(self, *values: Value) -> None:
        self.facts.varying.update(v for v in values if not isinstance(v.type, Tile))  # threads of a block have one tile

    def is_varying(self, value: Value) -> bool:
        return value in self.facts.varying

    def split(self, level: int) -> bool:
        """True if lanes of `level` may be inactive, because of a divergent `if` inside it or an exit that some lanes
        took.
        """
        return any(inner.ifs for inner in self.levels[level:]) or bool(self.levels[level].waits)

    def exit(self, op: Operation, level: int, to_next: bool) -> None:
        """Record that `op` exits to the end of `level`, or to its next iteration."""
        target = self.levels[level]
        divergent = self.split(level)
        if divergent:
            self.facts.divergent.add(op)
            assert target.op is not None
            inside = self.enclosing.index(target.op)
            self.facts.masked.update(self.enclosing[inside:])
            self.facts.leaky.update(self.enclosing[inside + 1 :])
            self.wait(level, to_next)
        (target.next_sites if to_next else target.leave_sites).append((op, divergent))

    def wait(self, level: int, to_next: bool = False) -> None:
        """Some lanes wait at the end of `level`: every level outside misses them until then, and so does `level`
        itself when they wait for its next iteration.
        """
        for outer in self.levels[: level + to_next]:
            outer.waits.add(level)

    # -- walking ------------------------------------------------------------------------------------------------

    def region(self, region: Region, owner: Operation | None) -> None:
        for op in region.ops:
            if self.visit:
                self.visit(op, self.enclosing, self.split(0))
            handler = _HANDLERS.get(op.code)
            if handler:
                handler(self, op)
            elif op.code == "yield":
                self.yield_(op, owner)
            elif (self.differs(op) or any(map(self.is_varying, op.args))) and not reconverges(op, self.lanes):
                self.mark(*op.results)

    def yield_(self, op: Operation, owner: Operation | None) -> None:
        if owner is not None and owner.code in BREAKABLE:
            self.exit(op, len(self.levels) - 1, owner.code != "block")

    def break_(self, op: Operation) -> None:
        self.exit(op, len(self.levels) - 1 - op.attr, False)

    def continue_(self, op: Operation) -> None:
        self.exit(op, len(self.levels) - 1 - op.attr, True)

    def return_(self, op: Operation) -> None:
        divergent = self.split(0)
        if divergent:
            self.facts.divergent.add(op)
            self.facts.masked.update(self.enclosing)
            self.facts.leaky.update(self.enclosing)
        self.levels[0].leave_sites.append((op, divergent))

    def call(self, op: Operation) -> None:
        varying = tuple(a in self.facts.varying for a in op.args)
        facts = analyze(op.attr, varying, self.lanes, self.cache, self.differs)
        self.mark(*(r for r, v in zip(op.results, facts.results_varying) if v))

    def if_(self, op: Operation) -> None:
        varying = self.is_varying(op.args[0])
        self.levels[-1].ifs += varying
        self.enclosing.append(op)
        for region in op.regions:
            self.region(region, op)
        self.enclosing.pop()
        self.levels[-1].ifs -= varying
        yields = [r.terminator for r in op.regions if r.terminator.code == "yield"]
        for i, result in enumerate(op.results):
            values = [y.args[i] for y in yields]
            merges = varying and len(values) == 2 and values[0] is not values[1]
            if merges or any(v in self.facts.varying for v in values):
                self.mark(result)

    def threads(self, op: Operation) -> None:
        self.region(op.regions[0], op)

    def of_elements(self, op: Operation) -> None:
        """A region that is run for each element. Neighbours in a row have equal coordinates but for the last; threads
        may be at different places.
        """
        params = op.regions[0].params
        self.mark(*(params if self.differs(op) else params[-1:]))
        self.enclosing.append(op)
        self.region(op.regions[0], op)
        self.enclosing.pop()

    def of_tile(self, op: Operation) -> None:
        """A tile is the same for all threads, whatever each of them put into it."""

    def breakable(self, op: Operation) -> None:
        level = _Level(op)
        region = op.regions[0]
        self.enter(op, region)
        self.levels.append(level)
        self.enclosing.append(op)
        if op.code == "for" and any(map(self.is_varying, op.args[:3])):
            self.facts.masked.add(op)  # lanes run out at different iterations
        if op in self.facts.masked and op.code != "block":
            self.wait(len(self.levels) - 1)  # from the second iteration on, lanes may have left
        self.region(region, op)
        self.enclosing.pop()
        self.levels.pop()
        for outer in self.levels:
            outer.waits.discard(len(self.levels))
        self.carried(op, region, level)
        self.leave(op, level)

    def enter(self, op: Operation, region: Region) -> None:
        if op.code == "for":
            if self.is_varying(op.args[0]) or self.is_varying(op.args[2]):
                self.mark(region.params[0])
            pairs = zip(region.params[1:], op.args[3:])
        else:
            pairs = zip(region.params, op.args)
        self.mark(*(p for p, init in pairs if self.is_varying(init)))

    def carried(self, op: Operation, region: Region, level: _Level) -> None:
        params = region.params[1:] if op.code == "for" else region.params
        sites = level.next_sites
        blend = len(sites) > 1 and any(d for _, d in sites)
        for i, param in enumerate(params):
            values = {site.args[i] for site, _ in sites}
            if (blend and len(values) > 1) or any(v in self.facts.varying for v in values):
                self.mark(param)

    def leave(self, op: Operation, level: _Level) -> None:
        blend = any(d for _, d in level.leave_sites) or (op.code == "for" and op in self.facts.masked)
        if op.code == "for":
            self.mark(*(r for r, p in zip(op.results, op.regions[0].params[1:]) if self.is_varying(p)))
        for i, result in enumerate(op.results):
            if blend or any(site.args[i] in self.facts.varying for site, _ in level.leave_sites):
                self.mark(result)


_HANDLERS = {
    "break": _Walk.break_,
    "continue": _Walk.continue_,
    "return": _Walk.return_,
    "call": _Walk.call,
    "if": _Walk.if_,
    "for": _Walk.breakable,
    "loop": _Walk.breakable,
    "block": _Walk.breakable,
    "threads": _Walk.threads,
    **dict.fromkeys(ELEMENT_OPS, _Walk.of_elements),
    **dict.fromkeys(("tile_of_threads", "tile_set"), _Walk.of_tile),
}
