"""Splits a kernel that works in blocks at its barriers, for processors that run a block in one thread.

In: a kernel after all other passes, as `blocks.check_blocks` lets it pass. Out: a new form in which one run is a whole
block. Code between two barriers becomes a *segment*, an operation `threads` whose region runs for every thread of the
block before anything behind it runs. Barriers are gone. Around segments stands what all threads do alike, done once:
values that are the same in all of them (`blocks.uniform_facts`), stores of such values, and the branches and loops that
hold barriers. There, too, stands what the block does for each element of a grid (`elements`).

What a thread computes in one segment and uses in another is computed again where that takes only its index and values
of the block. Else it lies in a *slot*, a shared array with an element for each thread. What branches and loops around
segments hand on, if it differs between threads, lies in slots too. What is done once takes what it needs from the first
thread's. Start with `split`.
"""

from __future__ import annotations

from ..ir.analysis.alias import is_own, underlying_object
from ..ir.analysis.barrier_regions import (
    Segment,
    constant,
    ended,
    exits,
    holding_segments,
    last_segment,
    make,
    region_of,
    to_breaks,
    truth,
)
from ..ir.clone import copy_function
from ..ir.nodes import Function, Loc, Operation, Region, Value
from ..ir.ops import BREAKABLE, MEETINGS, OPS
from ..lang.errors import PassError
from ..lang.types import BOOL, I32, MAX_NDIM, VOID, Array, FixedArray, Type, leaves
from .barriers import shared_bytes, uniform_facts
from .dce import dce, has_effects

MEMORY = 1 << 21  # bytes on the stack for a block: shared arrays, and slots
_ONCE = frozenset(("load", "store", "shared", "fail", "yield", "break", "continue", "unreachable"))
_SLOW = frozenset(("libm", "sqrt", "div", "rem", "floordiv"))  # not computed again for integers' sake either


def split(kernel: Function) -> Function:
    """The form of `kernel` that runs a block at a time."""
    new = copy_function(kernel)
    _Splitter(new).run()
    dce(new)
    total = shared_bytes(new)
    if total > MEMORY:
        reason = f"what a block keeps from one barrier to the next takes {total} bytes; {MEMORY} is the most on a CPU"
        last = max((op for op in new.body.ops if op.code == "shared"), key=lambda op: op.attr.bytes)
        raise PassError("too-large", reason, last, help="launch with a smaller block_dim")
    return new


class _Splitter:
    def __init__(self, kernel: Function):
        self.kernel, self.size = kernel, kernel.block_dim
        facts = uniform_facts(kernel)
        self.varying, self.divergent = facts.varying, facts.divergent
        self.around = holding_segments(kernel.body, facts.divergent)
        self.segments: list[Segment] = []
        self.slots: dict[Value, Value] = {}  # of values that differ between threads
        self.given: dict[Operation, list[Value]] = {}  # the operands that operations had at first
        self.made: list[Operation] = []  # the shared arrays that slots are
        self.gone: Value | None = None  # the slot that says whether a thread has returned

    def run(self) -> None:
        body = self.kernel.body
        returns = [op for op in body.walk() if op.code == "return" and op in self.divergent]
        if not last_segment(body, self.around).issuperset(returns):
            self.gone = self.slot(BOOL)
        body.ops = self.region(body, None, [], False)
        owners = {v: s for s in self.segments for op in s.ops for v in op.results}
        self.given = {op: list(op.args) for segment in self.segments for op in segment.ops}
        for segment in self.segments:
            self.connect(segment, owners)
        self.connect_block(body, owners)
        self.local_arrays()
        for segment in self.segments:
            self.close(segment)
        if self.gone is not None:
            body.ops.insert(0, self.all_here())
        body.ops[:0] = self.made

    # -- structure ----------------------------------------------------------------------------------------------

    def region(
        self, region: Region, owner: Operation | None, frames: list[Operation], repeats: bool
    ) -> list[Operation]:
        """The operations of a region that holds segments. `frames` are the breakable operations around it."""
        out: list[Operation] = []
        waiting: list[Operation] = []
        leaving = False  # some threads have returned: what follows is no longer done by all

        def flush() -> None:
            if waiting:
                self.segments.append(Segment(list(waiting), repeats))
                out.append(self.segments[-1].op)
                waiting.clear()

        if owner is not None and owner.code == "block":
            self.gather_exits(region, owner)
        for op in region.ops[:-1]:
            if op.code in MEETINGS:
                flush()
                out += [op] if op.code == "elements" else []
            elif op.code == "alloca" or (not leaving and self.is_done_once(op) and not _takes(op, waiting)):
                if _must_follow(op, waiting):
                    flush()
                out.append(op)
            elif op in self.around and not leaving:
                waiting += self.enter(op)
                flush()
                self.inside(op, frames, repeats)
                out.append(op)
            else:
                _refuse_exits(op)
                waiting.append(op)
                leaving = leaving or any(inner.code == "return" for r in op.regions for inner in r.walk())
        end = region.terminator
        if end.code == "unreachable" and waiting:
            end.code = "return"
        waiting += self.leave(end, owner, frames)
        flush()
        return [*out, end]

    def gather_exits(self, region: Region, owner: Operation) -> None:
        """What follows the last barrier of a block that some threads leave early becomes a block of its own, which each
        thread leaves for itself.
        """
        first = next((i for i, op in enumerate(region.ops) if self.some_leave(op)), None)
        if first is None or any(op.code in MEETINGS for op in region_of(region.ops[first:]).walk()):
            return
        inner = Operation("block", [], None, region.ops[first].loc)
        inner.regions = (region_of(region.ops[first:]),)
        inner.results = tuple(Value(r.type, inner, i) for i, r in enumerate(owner.results))
        region.ops[first:] = [inner, Operation("yield", list(inner.results), None, inner.loc)]

    def some_leave(self, op: Operation) -> bool:
        """True if some threads exit the region around `op` inside `op`."""
        found = (exit for region in op.regions for exit in exits(region, int(op.code in BREAKABLE)))
        return any(inner in self.divergent and (inner.attr or 0) == depth for inner, depth in found)

    def is_done_once(self, op: Operation) -> bool:
        """True if a block executes `op` once for all of its threads."""
        if any(a in self.varying for a in op.args) or any(r in self.varying for r in op.results):
            return False
        if op.regions:
            return op not in self.around and all(self.is_done_once(inner) for r in op.regions for inner in r.ops)
        if op.code == "call":
            return not has_effects(op.attr)
        return OPS[op.code].pure or op.code in _ONCE

    def inside(self, op: Operation, frames: list[Operation], repeats: bool) -> None:
        """Split the regions of an operation that holds segments."""
        repeats = repeats or op.code in ("for", "loop")
        frames = [*frames, op] if op.code in BREAKABLE else frames
        for region in op.regions:
            region.ops = self.region(region, op, frames, repeats)
        first = int(op.code == "for")
        if op.code in ("for", "loop"):
            params = op.regions[0].params
            kept = [i for i, p in enumerate(params[first:]) if p not in self.slots]
            op.regions[0].params = [*params[:first], *(params[first + i] for i in kept)]
            op.args = [*op.args[: 3 * first], *(op.args[3 * first + i] for i in kept)]
        op.results = tuple(r for r in op.results if r not in self.slots)
        for i, value in enumerate(op.results):
            value.index = i

    # -- values in slots ----------------------------------------------------------------------------------------

    def slot(self, t: Type, loc: Loc | None = None) -> Value:
        """Memory for a value of each thread."""
        op = make("shared", attr=FixedArray(t, (self.size,)), loc=loc)
        self.made.append(op)
        return op.result

    def enter(self, op: Operation) -> list[Operation]:
        """Give slots to what `op` hands on and threads differ in; the stores of what its first iteration gets."""
        stores = []
        if op.code in ("for", "loop"):
            first = int(op.code == "for")
            carried = op.regions[0].params[first:]
            for i, (param, init) in enumerate(zip(carried, op.args[3 * first :])):
                given = (param, op.results[i]) if op.code == "for" else (param,)
                if self.varying.intersection(given):
                    slot = self.slot_for(param, op)
                    self.slots.update(dict.fromkeys(given, slot))
                    stores.append(self.store(slot, init, op.loc))
        for result in op.results:
            if result in self.varying and result not in self.slots:
                self.slots[result] = self.slot_for(result, op)
        return stores

    def slot_for(self, value: Value, op: Operation) -> Value:
        if any(isinstance(leaf, Array) for _, leaf in leaves(value.type)):
            reason = "an array that threads of a block choose is used behind a barrier"
            raise PassError("unsupported", reason, op, help="choose it again behind the barrier")
        return self.slot(value.type, op.loc)

    def leave(self, end: Operation, owner: Operation | None, frames: list[Operation]) -> list[Operation]:
        """The stores of what the end of a region hands on in slots; they are taken from it."""
        if end.code in ("return", "unreachable") or owner is None:
            return []
        target = owner if end.code == "yield" else frames[-1 - (end.attr or 0)]
        goes_on = end.code == "continue" or (end.code == "yield" and target.code in ("for", "loop"))
        receivers = target.regions[0].params[int(target.code == "for") :] if goes_on else target.results
        stores, kept = [], []
        for value, receiver in zip(end.args, receivers):
            if receiver in self.slots:
                stores.append(self.store(self.slots[receiver], value, end.loc))
            else:
                kept.append(value)
        end.args = kept
        return stores

    @staticmethod
    def store(slot: Value, value: Value, loc: Loc | None) -> Operation:
        """A store whose index is put in when its segment is known."""
        op = Operation("store", [slot, value, value], (), loc)
        op.results = (Value(VOID, op),)
        return op

    # -- from one segment to another ----------------------------------------------------------------------------

    def connect(self, segment: Segment, owners: dict[Value, Segment]) -> None:
        """Give a segment the values that it takes from others."""
        own: set[Value] = set()
        for op in segment.walk():
            own.update(op.results, *(r.params for r in op.regions))
        for op in list(segment.walk()):
            is_store = op.code == "store" and op.args[0].op in self.made
            op.args = [a if a in own else self.seen(a, segment, owners) for a in op.args]
            if is_store:
                op.args[1] = segment.index

    def seen(self, value: Value, segment: Segment, owners: dict[Value, Segment]) -> Value:
        """Return the name of `value` in a segment that does not define it."""
        if value not in self.slots and value not in owners:
            return value  # of the block
        if value not in segment.seen:
            segment.seen[value] = self._again(value, segment, owners)
        return segment.seen[value]

    def _again(self, value: Value, segment: Segment, owners: dict[Value, Segment]) -> Value:
        op = value.op
        has_arrays = any(isinstance(leaf, Array) for _, leaf in leaves(value.type))
        if value not in self.slots and op is not None and OPS[op.code].pure:
            if op.code == "thread_index":
                return segment.index
            if has_arrays or self.is_cheap(op, owners, 8):
                args = [self.seen(a, segment, owners) for a in self.given[op]]
                return segment.first(make(op.code, args, op.attr, op.loc))
        if has_arrays:
            reason = "an array that a thread has read from memory is used behind a barrier"
            raise PassError("unsupported", reason, op, help="read it again behind the barrier")
        slot = self.kept(value, owners)
        return segment.first(make("load", (slot, segment.index), (), op.loc if op else None))

    def kept(self, value: Value, owners: dict[Value, Segment]) -> Value:
        """The slot of a value."""
        if value not in self.slots:
            op, home = value.op, owners[value]
            assert op is not None
            self.slots[value] = self.slot(value.type, op.loc)
            home.behind.setdefault(op, []).append(make("store", (self.slots[value], home.index, value), (), op.loc))
        return self.slots[value]

    def connect_block(self, body: Region, owners: dict[Value, Segment]) -> None:
        """Give what is done once the values that segments compute, which are the same in all threads."""
        taken: dict[Value, Value] = {}
        loads: dict[Operation, list[Operation]] = {}  # to stand behind a segment
        for op in body.walk():
            for value in op.args:
                if value in owners and value not in taken:
                    first = constant(0, I32)
                    load = make("load", (self.kept(value, owners), first.result), (), op.loc)
                    taken[value] = load.result
                    loads.setdefault(owners[value].op, []).extend((first, load))
            op.args = [taken.get(a, a) for a in op.args]
        for region in (body, *(r for op in body.walk() for r in op.regions)) if loads else ():
            region.ops = [o for op in region.ops for o in (op, *loads.get(op, ()))]

    def is_cheap(self, op: Operation, owners: dict[Value, Segment], depth: int) -> bool:
        """True if `op` can be recomputed from the thread index and values of the block in a few operations."""
        if not OPS[op.code].pure or op.code in _SLOW or depth == 0:
            return False
        inner = [a for a in self.given[op] if a in owners or a in self.slots]
        return all(a not in self.slots and a.op is not None and self.is_cheap(a.op, owners, depth - 1) for a in inner)

    # -- local arrays -------------------------------------------------------------------------------------------

    def local_arrays(self) -> None:
        """Local arrays that outlive a segment become parts of shared ones."""
        for op in [op for op in self.kernel.body.ops if op.code == "alloca"]:
            users = [s for s in self.segments if any(op.result in o.args for o in (*s.head, *s.walk()))]
            if len(users) > 1 or any(s.repeats for s in users):
                self._share(op, users)

    def _share(self, op: Operation, users: list[Segment]) -> None:
        t: FixedArray = op.attr
        if t.ndim == MAX_NDIM:
            reason = f"a local array of {MAX_NDIM} dimensions is used on both sides of a barrier"
            raise PassError("unsupported", reason, op, help="give it fewer dimensions")
        whole = make("shared", attr=FixedArray(t.dtype, (*t.shape, self.size)), loc=op.loc)
        self.made.append(whole)
        for segment in users:
            operations = [*segment.head, *segment.walk()]
            if any(o.code == "call" and op.result in o.args for o in operations):
                reason = "a local array that is passed to a function is used on both sides of a barrier"
                raise PassError("unsupported", reason, op, help="make one for each side")
            index = segment.index
            view = make("slice", (whole.result, index), ":" * t.ndim + "i", op.loc)
            for o in operations:
                o.args = [view.result if a is op.result else a for a in o.args]
            segment.head.insert(1 + segment.head.index(index.op), view)  # type: ignore[arg-type]
        self.kernel.body.ops.remove(op)

    # -- the result ---------------------------------------------------------------------------------------------

    def close(self, segment: Segment) -> None:
        """Make the region of a segment."""
        ops: list[Operation] = []
        for op in segment.ops:
            ops += [op, *segment.behind.get(op, ())]
        if any(op.code == "return" for op in segment.walk()):
            ops = self.leaving(segment, ops)
        ops = [*segment.head, *ops]
        if self.gone is not None:
            ops = self.staying(ops)
        segment.op.regions = (ended(ops),)

    def leaving(self, segment: Segment, ops: list[Operation]) -> list[Operation]:
        """`return` leaves the segment."""
        to_breaks(region_of(ops), 0, self.gone, segment)
        block = Operation("block", [], None, segment.op.loc)
        block.regions = (ended(ops),)
        return [block]

    def staying(self, ops: list[Operation]) -> list[Operation]:
        """Only threads that have not returned do `ops`."""
        assert self.gone is not None
        index = make("thread_index")
        gone = make("load", (self.gone, index.result), ())
        branch = Operation("if", [gone.result])
        branch.regions = (ended([]), ended(ops))
        return [index, gone, branch]

    def all_here(self) -> Operation:
        """At first no thread has returned."""
        assert self.gone is not None
        no, index = truth(False), make("thread_index")
        start = Operation("threads", [])
        start.regions = (ended([no, index, make("store", (self.gone, index.result, no.result), ())]),)
        return start


def _takes(op: Operation, waiting: list[Operation]) -> bool:
    """True if `op`, or one in it, takes a value that one of the `waiting` computes."""
    made = {v for other in waiting for v in other.results}
    return any(not made.isdisjoint(inner.args) for inner in region_of([op]).walk())


def _must_follow(op: Operation, waiting: list[Operation]) -> bool:
    """True if `op`, done once, may access an element that the `waiting` access, and one of the two writes it."""
    once = [o for o in _accesses([op]) if o.code == "store" or (o.code == "load" and is_own(o.args[0]))]
    others = _accesses(waiting) if once else []
    return any(_may_meet(a, b) for a in once for b in others)


def _accesses(ops: list[Operation]) -> list[Operation]:
    return [op for op in region_of(ops).walk() if op.code in ("load", "store", "atomic", "call")]


def _may_meet(a: Operation, b: Operation) -> bool:
    """True if two accesses may be to one element, and not both only read it."""
    if b.code == "call":
        return True
    first, second = underlying_object(a.args[0]), underlying_object(b.args[0])
    return (first is second or not (is_own(first) or is_own(second))) and {a.code, b.code} != {"load"}


def _refuse_exits(op: Operation) -> None:
    """Some threads cannot leave what the block does once."""
    for region in op.regions:
        for inner, depth in exits(region, int(op.code in BREAKABLE)):
            if (inner.attr or 0) >= depth:
                reason = "only some threads of a block may leave here what has a barrier in it"
                raise PassError("divergence", reason, inner, help="put what follows into an `else`")
