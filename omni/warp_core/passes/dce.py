"""Remove what has no effect and is not used: operations, results of regions, carried values of loops.

In place. In: any verified function. Out: every operation left has an effect, leads to one, or defines a used value; an
`if`, `for`, `loop` or `block` has used results only. Loads and calls of functions without effects count as pure; a loop
without effects is assumed to end.

Marking starts from effects and exits and follows operands; for results of region operations it follows the values that
the region's ends give at that position.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.analysis.alias import local_arrays
from ..ir.analysis.effects import works_on_tiles
from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import BREAKABLE, OPS

# What goes where its result is not used, regions and calls aside.
REMOVABLE = frozenset(name for name, row in OPS.items() if row.pure) | {
    *("load", "alloca", "shared", "shuffle", "ballot"),
    *("tile_set", "tile_of_threads", "tile_empty", "tile_to_memory", "tile_from_memory"),
}
_REGIONS = frozenset(name for name, row in OPS.items() if row.regions)
_RETURN_DEPTH = 1 << 30


def dce(function: Function) -> None:
    """Remove dead code from `function`."""
    marker = _Marker(dead_stores(function))
    marker.scan(function.body)
    marker.roots(function.body)
    marker.run()
    _sweep(function.body, marker)


def has_effects(function: Function) -> bool:
    """True if a call of `function` has side effects."""
    if works_on_tiles(function):
        return False
    local = local_arrays(function)
    for op in function.body.walk():
        if op.code == "call":
            if has_effects(op.attr):
                return True
        elif op.code in ("store", "atomic") and op.args[0] in local:
            continue
        elif op.code not in REMOVABLE and op.code not in _REGIONS and not OPS[op.code].terminator:
            return True
    return False


def dead_stores(function: Function) -> set[Operation]:
    """The stores into local arrays that nothing reads."""
    local = local_arrays(function)
    if not local:
        return set()
    accesses = [op for op in function.body.walk() if op.args and op.args[0] in local]
    read = {local[op.args[0]] for op in accesses if op.code in ("load", "atomic")}
    return {op for op in accesses if op.code == "store" and local[op.args[0]] not in read}


class _Marker:
    def __init__(self, idle: set[Operation]) -> None:
        self._idle = idle
        self.live: set[Value] = set()
        self.needed: set[Operation] = set()
        # Of each breakable operation: the terminators that end an iteration, and those that leave.
        self.continues: dict[Operation, list[Operation]] = {}
        self.breaks: dict[Operation, list[Operation]] = {}
        self._effects: set[Operation] = set()
        self._must: set[Operation] = set()
        self._owner: dict[Value, Operation] = {}
        self._nest: list[Operation] = []
        self._work: list[Value] = []
        self._pure_callees: dict[Function, bool] = {}

    # -- before marking: which operations have effects, which exits name which operation ------------------------

    def scan(self, region: Region) -> int:
        """Record the effects in `region`. Returns how far its exits reach: -1 nowhere, 0 out of the region's owner…"""
        return max((self._scan(op) for op in region.ops), default=-1)

    def _scan(self, op: Operation) -> int:
        if not op.regions:
            if OPS[op.code].terminator:
                return self._scan_terminator(op)
            if op.code not in REMOVABLE and op not in self._idle and not self._is_pure_call(op):
                self._effects.add(op)
                self._must.add(op)
            return -1
        breakable = op.code in BREAKABLE
        if breakable:
            self.breaks[op], self.continues[op] = [], []
            self._nest.append(op)
        reach = -1
        for region in op.regions:
            self._owner.update((p, op) for p in region.params)
            reach = max(reach, self.scan(region))
            if breakable and region.terminator.code == "yield":
                (self.breaks if op.code == "block" else self.continues)[op].append(region.terminator)
        if breakable:
            self._nest.pop()
            reach -= 1
        if any(inner in self._effects for region in op.regions for inner in region.ops):
            self._effects.add(op)
        if reach >= 0 or op in self._effects:
            self._must.add(op)
        return max(reach, -1)

    def _scan_terminator(self, op: Operation) -> int:
        if op.code == "return":
            return _RETURN_DEPTH
        if op.code not in ("break", "continue"):
            return -1
        depth = op.attr or 0
        (self.breaks if op.code == "break" else self.continues)[self._nest[-1 - depth]].append(op)
        return depth

    def _is_pure_call(self, op: Operation) -> bool:
        if op.code != "call":
            return False
        callee = op.attr
        if callee not in self._pure_callees:
            self._pure_callees[callee] = not has_effects(callee)
        return self._pure_callees[callee]

    # -- marking ------------------------------------------------------------------------------------------------

    def roots(self, region: Region) -> None:
        """Mark what must happen when `region` runs."""
        for op in region.ops:
            if op in self._must:
                self._need(op)
        if region.terminator.code == "return":
            self._work += region.terminator.args

    def run(self) -> None:
        """Follow operands until nothing new is found."""
        while self._work:
            value = self._work.pop()
            if value in self.live:
                continue
            self.live.add(value)
            if value.op is None:
                self._use_param(value)
            else:
                self._need(value.op)
                if value.op.regions:
                    self._use_result(value.op, value.index)

    def _need(self, op: Operation) -> None:
        if op in self.needed:
            return
        self.needed.add(op)
        if op.code == "for":
            self._work += op.args[:3]
        elif op.code != "loop":
            self._work += op.args
        for region in op.regions:
            self.roots(region)

    def _use_param(self, value: Value) -> None:
        owner = self._owner.get(value)
        if owner is None or owner.code not in ("for", "loop"):
            return
        first = 1 if owner.code == "for" else 0
        i = owner.regions[0].params.index(value) - first
        if i >= 0:
            self._use_carried(owner, i)
            if owner.code == "for":
                self._work.append(owner.results[i])

    def _use_carried(self, op: Operation, i: int) -> None:
        self._work.append(op.args[i + (3 if op.code == "for" else 0)])
        self._work += [end.args[i] for end in self.continues[op]]

    def _use_result(self, op: Operation, i: int) -> None:
        if op.code not in BREAKABLE:
            self._work += [r.terminator.args[i] for r in op.regions if r.terminator.code == "yield"]
            return
        self._work += [end.args[i] for end in self.breaks[op]]
        if op.code == "for":
            self._work.append(op.regions[0].params[i + 1])
            self._use_carried(op, i)


def _sweep(region: Region, marker: _Marker) -> None:
    region.ops = [op for op in region.ops if op in marker.needed or OPS[op.code].terminator]
    for op in region.ops:
        if op.regions:
            _trim(op, marker)
            for inner in op.regions:
                _sweep(inner, marker)


def _trim(op: Operation, marker: _Marker) -> None:
    """Drop the unused results and carried values of `op`."""
    live = marker.live
    results = [i for i, v in enumerate(op.results) if v in live]
    if op.code in ("for", "loop"):
        first = 1 if op.code == "for" else 0
        params = op.regions[0].params
        carried = [i for i in range(len(params) - first) if params[i + first] in live]
        op.args = op.args[: 3 * first] + _pick(op.args[3 * first :], carried)
        op.regions[0].params = params[:first] + _pick(params[first:], carried)
        for end in marker.continues[op]:
            end.args = _pick(end.args, carried)
    ends = marker.breaks.get(op, [])
    if op.code == "if":
        ends = [r.terminator for r in op.regions if r.terminator.code == "yield"]
    for end in ends:
        end.args = _pick(end.args, results)
    op.results = tuple(_pick(op.results, results))
    for i, value in enumerate(op.results):
        value.index = i


def _pick(values: Sequence[Value], keep: Sequence[int]) -> list[Value]:
    return [values[i] for i in keep]
