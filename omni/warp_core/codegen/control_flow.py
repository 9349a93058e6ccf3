"""Structured control flow for lanes: uniform conditions branch, varying ones mask.

`Control` emits regions and the region operations. A region is emitted toward a *fall*: the exit that its `yield` takes,
and that it bails out to once none of its lanes is active. Facts from `uniformity` decide between real control flow and
masks: a construct that is not in `facts.masked` keeps its mask, and its exits are plain branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import islice
from typing import NamedTuple

from ..ir.analysis.uniformity import Uniformity
from ..ir.nodes import Operation, Region, Value
from ..ir.ops import BREAKABLE, OPS
from ..lang.types import BOOL, I64, U64, Scalar
from .failure_runs import Failure, failure, guards_from
from .joins import LaneAccumulator, PhiJoin
from .lane_arithmetic import LaneArithmetic, LaneValue
from .memory_access import memory_leaves
from .writer import Leaf, Writer, llvm_type

Fall = PhiJoin | LaneAccumulator

# A varying `if` whose two sides cost no more than this runs both and selects; the unit is about one instruction.
_SPECULATION_LIMIT = 16
_COHERENT_LIMIT = 60
_COSTLY = {"libm": 100, "div": 4, "rem": 8, "floordiv": 8, "sqrt": 4}


class MaskLevel(NamedTuple):
    """A breakable construct being emitted: where `break` and `continue` go."""

    leave: Fall
    next: Fall


class Control:
    """Emits regions. The function emitter derives from this and adds the operations without regions."""

    lanes: LaneArithmetic
    w: Writer
    facts: Uniformity
    mask: str | None
    values: dict[Value, list[LaneValue]]
    levels: list[MaskLevel]
    copied: bool
    failures: list[Failure]
    returns: Fall
    handlers: dict[str, Callable[[Operation], None]]

    # -- values -------------------------------------------------------------------------------------------------

    def get(self, value: Value) -> list[LaneValue]:
        return self.values[value]

    def gets(self, values: Sequence[Value]) -> list[LaneValue]:
        return [v for value in values for v in self.values[value]]

    def sets(self, results: Sequence[Value], leaves: list[LaneValue]) -> None:
        at = 0
        for result in results:
            n = len(memory_leaves(result.type))
            self.values[result] = leaves[at : at + n]
            at += n

    def slots(self, values: Sequence[Value]) -> list[tuple[Leaf, bool]]:
        return [(leaf, v in self.facts.varying) for v in values for _, leaf in memory_leaves(v.type)]

    # -- regions ------------------------------------------------------------------------------------------------

    def region(self, region: Region, fall: Fall) -> None:
        """Emit all of `region`; the block is ended when this returns."""
        guards: list[int] = []  # that are decided where the last of them stands
        idle = self.w.label("idle")
        is_left = False
        for i, op in enumerate(region.ops):
            if OPS[op.code].terminator:
                self.terminator(op, fall)
                break
            if not guards and failure(op) is not None:
                guards = guards_from(region.ops, i)
            if guards[-1:] == [i]:
                is_left |= self.guard([region.ops[k] for k in guards], fall, idle)
                guards = []
            elif i not in guards:
                self.operation(op)
                if op in self.facts.leaky and not harmless(region.ops[i + 1 :]):
                    self.leave_if_idle(fall)
        if is_left:
            self.w.start(idle)
            fall.bail()

    def guard(self, guards: list[Operation], fall: Fall, idle: str) -> bool:
        """Emit guards that follow each other: lanes for which one does not hold report the first, and leave. True if
        control goes to the block `idle` when none is left.
        """
        failures = [f for f in map(failure, guards) if f is not None]
        ok = reduce(partial(self.lanes.binary, "and"), (self.get(f.ok)[0] for f in failures))
        failed, fine = self.w.label("failed"), self.w.label("fine")
        entry, before = self.mask, self.w.block
        model = next((g for g in guards if g.regions[1].terminator in self.facts.divergent), guards[0])
        if ok.uniform:
            self.w.cond_br(ok.text, fine, failed)
            self.w.start(failed)
            self.fail(failures, model.regions[1])
            self.terminator(model.regions[1].terminator, fall)
            self.w.start(fine)
            self.mask = entry
            return False
        holds = self.lanes.vector(ok)
        self.mask = self.lanes.mask_and(entry, self.lanes.mask_not(holds))
        self.w.cond_br(self.lanes.any(self.mask), failed, fine)
        self.w.start(failed)
        self.fail(failures, model.regions[1])
        end = model.regions[1].terminator
        target = None if end.code == "unreachable" else self.target(end, fall)
        if isinstance(target, LaneAccumulator):
            target.accumulate(self.gets(end.args))
        left = self.lanes.mask_and(entry, holds)
        self.w.cond_br(self.lanes.any(left), fine, idle)
        edges = [(entry or "splat (i1 true)", before), (left, self.w.block)]
        self.w.start(fine)
        self.mask = self.w.phi(llvm_type(BOOL, self.lanes.lanes), edges)
        return True

    def fail(self, failures: list[Failure], region: Region) -> None:
        """Report the first of the failures, and define what lanes leave a region of a guard with."""
        self.failures = failures
        for op in region.ops[:-1]:
            self.operation(op)
        self.failures = []

    def operation(self, op: Operation) -> None:
        self.handlers[op.code](op)

    def leave_if_idle(self, fall: Fall) -> None:
        if self.mask is None:
            return
        some, none = self.w.label("some"), self.w.label("none")
        self.w.cond_br(self.lanes.any(self.mask), some, none)
        self.w.start(none)
        fall.bail()
        self.w.start(some)

    def terminator(self, op: Operation, fall: Fall) -> None:
        if op.code == "unreachable":
            fall.bail() if self.mask is not None else self.w.do("unreachable")
            return
        target = self.target(op, fall)
        if op in self.facts.divergent and target is not fall:
            if isinstance(target, LaneAccumulator):
                target.accumulate(self.gets(op.args))
            fall.bail()
        else:
            target.take(self.gets(op.args))

    def target(self, op: Operation, fall: Fall) -> Fall:
        if op.code == "yield":
            return fall
        if op.code == "return":
            return self.returns
        level = self.levels[-1 - op.attr]
        return level.leave if op.code == "break" else level.next

    # -- if -----------------------------------------------------------------------------------------------------

    def if_(self, op: Operation) -> None:
        (cond,) = self.get(op.args[0])
        if cond.uniform:
            self.uniform_if(op, cond)
        elif all(speculatable(r) for r in op.regions):
            self.speculate(op, cond)
        else:
            self.varying_if(op, cond)

    def uniform_if(self, op: Operation, cond: LaneValue) -> None:
        labels = self.w.label("then"), self.w.label("else")
        join = PhiJoin(self, "endif", self.slots(op.results))
        entry = self.mask
        self.w.cond_br(cond.text, *labels)
        for label, region in zip(labels, op.regions):
            self.w.start(label)
            self.mask = entry
            self.region(region, join)
        self.sets(op.results, join.finish())

    def speculate(self, op: Operation, cond: LaneValue) -> None:
        sides = []
        for region in op.regions:
            for inner in region.ops[:-1]:
                self.operation(inner)
            sides.append(self.gets(region.terminator.args))
        self.sets(op.results, [self.lanes.select(cond, a, b) for a, b in zip(*sides)])

    def varying_if(self, op: Operation, cond: LaneValue) -> None:
        entry = self.mask
        c = self.lanes.vector(cond)
        masks = self.lanes.mask_and(entry, c), self.lanes.mask_and(entry, self.lanes.mask_not(c))
        sides, ends = [], []
        for region, mask in zip(op.regions, masks):
            self.mask = mask
            values = self.side(region)
            if values is not None:
                sides.append(values)
                ends.append(self.mask)
        if len(sides) == 2:
            self.sets(op.results, [self.lanes.select(cond, a, b) for a, b in zip(*sides)])
            self.keep_same(op)
        elif sides:
            self.sets(op.results, sides[0])
        self.mask = entry if op not in self.facts.leaky else self.merged(ends)

    def keep_same(self, op: Operation) -> None:
        """A result that is one and the same value on both sides needs no selecting, and stays uniform if it is."""
        for result, a, b in zip(op.results, *(r.terminator.args for r in op.regions)):
            if a is b:
                self.values[result] = self.values[a]

    def merged(self, masks: Sequence[str | None]) -> str:
        """The lanes that came through the sides of an `if`."""
        if not masks:
            return "zeroinitializer"
        first = masks[0] or "splat (i1 true)"
        return first if len(masks) == 1 else self.lanes.mask_or(first, masks[1] or "splat (i1 true)")

    def side(self, region: Region) -> list[LaneValue] | None:
        """One side of a varying `if` under the mask already set; None when no lane comes out of it."""
        end = region.terminator
        if len(region.ops) == 1 and end.code == "yield":
            return self.gets(end.args)
        if len(region.ops) == 1 and end.code in ("break", "continue", "return") and len(end.args) <= 4:
            target = self.target(end, self.returns)
            if isinstance(target, LaneAccumulator):  # a kernel's return carries nothing: its lanes just go
                target.accumulate(self.gets(end.args))
            return None
        assert self.mask is not None
        inside, skip = self.w.label("side"), self.w.label("skip")
        join = PhiJoin(self, "endside", self.slots(end.args) if end.code == "yield" else [])
        outermost = not self.copied and prefers_branch(region)
        if outermost:
            self.copied = True
            self.coherent(region, join)
        self.w.cond_br(self.lanes.any(self.mask), inside, skip)
        self.w.start(inside)
        self.region(region, join)
        self.copied = self.copied and not outermost
        self.w.start(skip)
        join.bail()
        values = join.finish()
        return values if end.code == "yield" else None

    def coherent(self, region: Region, join: PhiJoin) -> None:
        """A copy of the region without masks, for when all lanes are active; goes on in the block for the others."""
        mask = self.mask
        assert mask is not None
        whole, some = self.w.label("whole"), self.w.label("partial")
        self.w.cond_br(self.lanes.all(mask), whole, some)
        self.w.start(whole)
        self.mask = None
        self.region(region, join)
        self.w.start(some)
        self.mask = mask

    # -- loops --------------------------------------------------------------------------------------------------

    def block(self, op: Operation) -> None:
        region = op.regions[0]
        if op not in self.facts.masked:
            join = PhiJoin(self, "endblock", self.slots(op.results))
            self.inside(region, MaskLevel(join, join), join)
            self.sets(op.results, join.finish())
            return
        entry, leaky = self.mask, op in self.facts.leaky
        leave = LaneAccumulator(self, self.w.label("endblock"), self.slots(op.results), track=leaky)
        leave.reset()
        self.inside(region, MaskLevel(leave, leave), leave)
        self.w.start(leave.label)
        values, arrived = leave.load()
        self.mask = arrived if leaky else entry
        self.sets(op.results, values)

    def inside(self, region: Region, level: MaskLevel, fall: Fall) -> None:
        self.levels.append(level)
        self.region(region, fall)
        self.levels.pop()

    def loop(self, op: Operation) -> None:
        region = op.regions[0]
        if op in self.facts.masked:
            self.masked_loop(op, region.params, op.args, None)
        else:
            self.plain_loop(op, region.params, op.args, None)

    def for_(self, op: Operation) -> None:
        region = op.regions[0]
        counter = Counter(self, op)
        if op in self.facts.masked:
            self.masked_loop(op, region.params[1:], op.args[3:], counter)
        else:
            self.plain_loop(op, region.params[1:], op.args[3:], counter)

    def plain_loop(self, op: Operation, carried: list[Value], init: list[Value], counter: Counter | None) -> None:
        """Real control flow; the mask is the same throughout."""
        leave = PhiJoin(self, "endloop", self.slots(op.results))
        latch = PhiJoin(self, "latch", self.slots(carried))
        head = LoopHeader(self, carried, init, counter, None)
        if counter:
            self.exhaust(counter, carried, leave)
        entry = self.mask
        self.inside(op.regions[0], MaskLevel(leave, latch), latch)
        if latch.edges:
            following = latch.finish()
            head.close(following, counter.step() if counter else None, None)
            self.w.br(head.label)
        head.write()
        self.mask = entry
        self.sets(op.results, leave.finish())

    def exhaust(self, counter: Counter, carried: list[Value], leave: Fall) -> None:
        """Leave the loop at its head when a uniform count has run out."""
        body, done = self.w.label("body"), self.w.label("done")
        self.w.cond_br(counter.in_range().text, body, done)
        self.w.start(done)
        leave.take(self.gets(carried))
        self.w.start(body)

    def masked_loop(self, op: Operation, carried: list[Value], init: list[Value], counter: Counter | None) -> None:
        """Lanes leave or skip ahead at different times; the loop runs until none is left."""
        region = op.regions[0]
        entry, leaky = self.mask, op in self.facts.leaky
        leave = LaneAccumulator(self, self.w.label("endloop"), self.slots(op.results), track=leaky)
        following = LaneAccumulator(self, self.w.label("latch"), self.slots(carried), next_sites(region) > 1)
        leave.reset()
        head = LoopHeader(self, carried, init, counter, self.mask or "splat (i1 true)")
        self.mask = head.mask
        if counter and counter.uniform:
            self.exhaust(counter, carried, leave)
        elif counter:
            self.drop_exhausted(counter, carried, leave)
        following.reset()
        self.inside(region, MaskLevel(leave, following), following)
        self.w.start(following.label)
        values, mask = following.load()
        head.close(values, counter.step() if counter else None, mask)
        self.w.cond_br(self.lanes.any(mask), head.label, leave.label)
        head.write()
        self.w.start(leave.label)
        results, arrived = leave.load()
        self.mask = arrived if leaky else entry
        self.sets(op.results, results)

    def drop_exhausted(self, counter: Counter, carried: list[Value], leave: LaneAccumulator) -> None:
        """Lanes whose own count has run out leave the loop at its head."""
        assert self.mask is not None
        running = self.lanes.vector(counter.in_range())
        inside = self.lanes.mask_and(self.mask, running)
        self.mask = self.lanes.mask_and(self.mask, self.lanes.mask_not(running))
        leave.accumulate(self.gets(carried))
        self.mask = inside
        body = self.w.label("body")
        self.w.cond_br(self.lanes.any(inside), body, leave.label)
        self.w.start(body)


class Counter:
    """The index of a `for`: counted in 64 bits, so that stepping past the end does not wrap around. What needs these
    itself goes on at the last or first number of its type where it would, which no range includes.
    """

    def __init__(self, control: Control, op: Operation):
        self.c, self.param = control, op.regions[0].params[0]
        t = self.param.type
        assert isinstance(t, Scalar)
        lo, hi, step = (control.get(a)[0] for a in op.args[:3])
        self.unit = step.literal_int in (1, -1)
        self.type = t if self.unit or t.bits == I64.bits else I64
        self.lo, self.hi, self.by = (control.lanes.cast(v, self.type) for v in (lo, hi, step))
        self.varying = self.param in control.facts.varying
        self.uniform = not self.varying and hi.uniform
        self.current = LaneValue(self.type, "")

    def begin(self, text: str) -> None:
        """Bind the head's phi, and the loop's index parameter to it."""
        self.current = LaneValue(self.type, text, None if self.varying else 0)
        self.c.values[self.param] = [self.c.lanes.cast(self.current, self.param.type)]

    def in_range(self) -> LaneValue:
        lanes, known = self.c.lanes, self.by.literal_int
        if known is not None:
            return (
                lanes.binary("lt" if known > 0 else "gt", self.current, self.hi) if known else LaneValue(BOOL, "false")
            )
        zero = LaneValue(self.type, "0")
        up = lanes.binary("and", lanes.binary("gt", self.by, zero), lanes.binary("lt", self.current, self.hi))
        down = lanes.binary("and", lanes.binary("lt", self.by, zero), lanes.binary("gt", self.current, self.hi))
        return lanes.binary("or", up, down)

    def step(self) -> LaneValue:
        lanes = self.c.lanes
        following = lanes.binary("add", self.current, self.by)
        if self.unit or self.param.type.bits < I64.bits:
            return following
        up = lanes.binary("gt", self.by, LaneValue(self.type, "0"))
        back = lanes.select(up, *(lanes.binary(way, following, self.current) for way in ("lt", "gt")))
        first, last = (0, -1) if self.type is U64 else (-(1 << 63), (1 << 63) - 1)
        end = lanes.select(up, LaneValue(self.type, str(last)), LaneValue(self.type, str(first)))
        return lanes.select(back, end, following)


class LoopHeader:
    """The first block of a loop. Its phis are written last, when the values from the latch are known."""

    def __init__(
        self, control: Control, carried: list[Value], init: list[Value], counter: Counter | None, mask: str | None
    ):
        self.c, self.w = control, control.w
        lanes = control.lanes.lanes
        slots = control.slots(carried)
        starts = control.gets(init)
        if counter:
            slots = [(counter.type, counter.varying), *slots]
            starts = [counter.lo, *starts]
        self.types = [llvm_type(leaf, lanes if varying else 1) for leaf, varying in slots]
        self.starts = [control.lanes.vector(v) if varying else v.text for v, (_, varying) in zip(starts, slots)]
        self.varying = [varying for _, varying in slots]
        if mask is not None:
            self.types.append(f"<{lanes} x i1>")
            self.starts.append(mask)
        self.names = [self.w.name() for _ in self.types]
        self.mask = self.names[-1] if mask is not None else None
        self.entry, self.label = self.w.block, self.w.label("loop")
        self.back: tuple[str, list[str]] | None = None
        self.w.br(self.label)
        self.w.start(self.label)
        self.at = len(self.w.lines)
        self.bind(carried, counter, slots)

    def bind(self, carried: list[Value], counter: Counter | None, slots) -> None:
        names = list(self.names)
        if counter:
            counter.begin(names.pop(0))
            slots = slots[1:]
        leaves = [LaneValue(leaf, n, None if varying else 0) for (leaf, varying), n in zip(slots, names)]
        self.c.sets(carried, leaves)

    def close(self, values: list[LaneValue], index: LaneValue | None, mask: str | None) -> None:
        """The values with which the latch, the current block, comes back."""
        following = ([index] if index else []) + values
        texts = [self.c.lanes.vector(v) if varying else v.text for v, varying in zip(following, self.varying)]
        if mask is not None:
            texts.append(mask)
        self.back = self.w.block, texts

    def write(self) -> None:
        lines = []
        for i, (name, ty, start) in enumerate(zip(self.names, self.types, self.starts)):
            back = f", [ {self.back[1][i]}, %{self.back[0]} ]" if self.back else ""
            lines.append(f"  {name} = phi {ty} [ {start}, %{self.entry} ]{back}")
        self.w.lines[self.at : self.at] = lines


def prefers_branch(region: Region) -> bool:
    """True if a second copy of the region, for all lanes, pays. The region must be small, no lane may leave it early,
    and it must access memory, where wide accesses are several times faster than masked ones.
    """
    ops = list(islice(region.walk(), _COHERENT_LIMIT + 1))
    if len(ops) > _COHERENT_LIMIT or any(op.code in ("break", "continue", "return") for op in ops):
        return False
    return any(op.code in ("load", "store", "atomic") for op in ops)


def speculatable(region: Region) -> bool:
    """True if running the region for inactive lanes is harmless and cheap."""
    return region.terminator.code == "yield" and harmless(region.ops)


def harmless(ops: list[Operation]) -> bool:
    """True if these operations are pure and cheaper than a test of the mask and a branch."""
    cost = 0
    for op in ops[:-1]:
        if not OPS[op.code].pure:
            return False
        width = sum(len(memory_leaves(r.type)) for r in op.results)
        cost += 0 if op.code in ("const", "extract", "make", "splat") else width * _COSTLY.get(op.code, 1)
    return cost <= _SPECULATION_LIMIT


def next_sites(region: Region, depth: int = 0) -> int:
    """Return the number of places in a loop's body that go to its next iteration."""
    count = 0
    for op in region.ops:
        if (op.code == "continue" and op.attr == depth) or (op.code == "yield" and depth == 0):
            count += 1
        for inner in op.regions:
            inner_depth = depth + (op.code in BREAKABLE)
            count += next_sites(inner, inner_depth) - _own_yield(op, inner, inner_depth)
    return count


def _own_yield(op: Operation, region: Region, depth: int) -> int:
    """The yield of an `if` inside the body is not an exit of the loop."""
    return int(depth == 0 and op.code == "if" and region.terminator.code == "yield")
