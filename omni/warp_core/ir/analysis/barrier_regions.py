"""The pieces of a kernel between its barriers, and how control flow lies around them.

`passes/barrier_fission.py` makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...lang.types import BOOL, Scalar
from ..nodes import Loc, Operation, Region, Value
from ..ops import BREAKABLE, MEETINGS, OPS, result_type


def make(code: str, args: Sequence[Value] = (), attr: object = None, loc: Loc | None = None) -> Operation:
    """An operation with one result, or none."""
    op = Operation(code, list(args), attr, loc)
    op.results = (Value(result_type(code, [a.type for a in args], attr), op),)
    return op


class Segment:
    """Code between two barriers, which `op` will run for all threads of a block.

    `repeats`: a loop runs it again. `head` stands before all else, and `behind` after some of the operations. `seen` is
    what values of other segments are called here.
    """

    def __init__(self, ops: list[Operation], repeats: bool):
        self.ops, self.repeats = ops, repeats
        self.head: list[Operation] = []
        self.behind: dict[Operation, list[Operation]] = {}
        self.seen: dict[Value, Value] = {}
        self._index: Value | None = None
        self.op = Operation("threads", [], None, ops[0].loc)

    @property
    def index(self) -> Value:
        """The index of the thread."""
        if self._index is None:
            self._index = self.first(make("thread_index"))
        return self._index

    def first(self, op: Operation) -> Value:
        """Put `op` before all others."""
        self.head.append(op)
        return op.result

    def walk(self) -> Iterator[Operation]:
        """All of its operations, those in regions included."""
        return Region.walk(region_of(self.ops))


def constant(value: int, t: Scalar) -> Operation:
    """A constant."""
    op = Operation("const", [], value)
    op.results = (Value(t, op),)
    return op


def truth(value: bool) -> Operation:
    """A truth value."""
    return constant(value, BOOL)


def region_of(ops: list[Operation]) -> Region:
    """A region without parameters."""
    region = Region()
    region.ops = ops
    return region


def exits(region: Region, depth: int) -> Iterator[tuple[Operation, int]]:
    """Each `break` and `continue`, with the number of breakable operations around it, `depth` at the region."""
    for op in region.ops:
        if op.code in ("break", "continue"):
            yield op, depth
        for inner in op.regions:
            yield from exits(inner, depth + (op.code in BREAKABLE))


def ended(ops: list[Operation]) -> Region:
    """A region that ends with nothing to hand on, unless it has an end."""
    if ops and OPS[ops[-1].code].terminator:
        return region_of(ops)
    return region_of([*ops, Operation("yield", [])])


def to_breaks(region: Region, depth: int, gone: Value | None, segment: Segment) -> None:
    """Turn each `return` into a `break` out of `depth` breakable operations and the one around them all."""
    ops: list[Operation] = []
    for op in region.ops:
        for inner in op.regions:
            to_breaks(inner, depth + (op.code in BREAKABLE), gone, segment)
        if op.code == "return":
            if gone is not None:
                yes = truth(True)
                ops += [yes, make("store", (gone, segment.index, yes.result), (), op.loc)]
            op.code, op.attr = "break", depth
        ops.append(op)
    region.ops[:] = ops


def holding_segments(body: Region, divergent: set[Operation]) -> set[Operation]:
    """The operations with barriers inside, and those in which all threads leave such an operation, or the kernel."""
    found = {op for op in body.walk() if any(o.code in MEETINGS for r in op.regions for o in r.walk())}

    def visit(region: Region, around: list[Operation], frames: list[Operation]) -> bool:
        more = False
        for op in region.ops:
            if op.code in ("break", "continue", "return") and op not in divergent:
                target = None if op.code == "return" else frames[-1 - (op.attr or 0)]
                if target is None or target in found:
                    crossed = around if target is None else around[around.index(target) + 1 :]
                    more |= not found.issuperset(crossed)
                    found.update(crossed)
            for inner in op.regions:
                more |= visit(inner, [*around, op], [*frames, op] if op.code in BREAKABLE else frames)
        return more

    while visit(body, [], []):
        pass
    return found


def last_segment(body: Region, around: set[Operation]) -> set[Operation]:
    """All operations that nothing but one segment of the kernel's own body follows."""
    last = max((i for i, op in enumerate(body.ops) if op.code in MEETINGS or op in around), default=-1)
    return {inner for op in body.ops[last + 1 :] for inner in region_of([op]).walk()}
