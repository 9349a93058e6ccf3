"""Additions of integers without atomic instructions: each core of a launch adds in a copy that is its own.

The runtime gives each core a number of bytes for each array, by which its copy is away from the array
(native/include/warp_core/privatize.h). It is 0 on the core that adds to the array itself. Where copies would take
longer than they save, it is `_SHARED`, and the additions are atomic instructions after all. `eligibility` says which
additions may take this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...ir.nodes import Operation
from ...lang.types import I64, Scalar, Type
from ..atomics import Atomics
from ..lane_arithmetic import LaneArithmetic, LaneValue
from ..memory_access import Memory, leaf_count, memory_leaves
from ..writer import llvm_type, sequence

_DELTAS = 32  # the offset of wc_log.deltas (native/include/warp_core/abi.h)
_SHARED = -(1 << 63)  # wc_log.deltas of an array that has no copies
_AT_ONCE = 8  # lanes of one turn of a loop

NONE_PRIVATIZED: Mapping[Operation, int] = {}


class PrivateAdds:
    """Emits additions to copies through a `LaneArithmetic`. `operations` gives the number of the array of each."""

    def __init__(self, lanes: LaneArithmetic, memory: Memory, atomics: Atomics, operations: Mapping[Operation, int]):
        self.lanes, self.w, self.memory, self.atomics = lanes, lanes.w, memory, atomics
        self.operations = operations
        self.deltas: dict[int, tuple[str, str]] = {}  # of each array: the bytes to its copy, and if it has one
        self.unused = ""  # an element for each lane that is off

    def open(self) -> None:
        """Find the copies of the core that is about to run a range."""
        if not self.operations:
            return
        self.lanes.declare("declare ptr @wc_log_of_thread()")
        log = self.w.inst("call ptr @wc_log_of_thread()")
        table = self.w.inst(f"load ptr, ptr {self.w.inst(f'getelementptr i8, ptr {log}, i64 {_DELTAS}')}")
        for i in sorted(set(self.operations.values())):
            delta = self.w.inst(f"load i64, ptr {self.w.inst(f'getelementptr i64, ptr {table}, i64 {i}')}")
            self.deltas[i] = delta, self.w.inst(f"icmp ne i64 {delta}, {_SHARED}")
        self.unused = self.w.alloca(llvm_type(I64, self.lanes.lanes))

    def add(
        self, op: Operation, address: LaneValue, t: Type, first: int, values: list[LaneValue], mask: str | None
    ) -> None:
        """Add or subtract leaves, from `first` on, of the elements of type `t` at `address`."""
        delta, has_copy = self.deltas[self.operations[op]]
        kind = op.attr[0]

        def plainly() -> None:
            given = [self.lanes.unary("neg", v) if kind == "sub" else v for v in values]
            self._plainly(self.memory.advance(address, LaneValue(I64, delta)), t, first, given, mask)

        def atomically() -> None:
            for (offset, leaf), value in zip(memory_leaves(t)[first:], values):
                self.atomics.emit(kind, self.memory.displace(address, offset), leaf, value, None, False, mask)

        self.memory.either(has_copy, (plainly, atomically))

    def _plainly(self, address: LaneValue, t: Type, first: int, values: list[LaneValue], mask: str | None) -> None:
        if address.uniform:
            values = [self.atomics.reduced("add", v, mask) for v in values]
        elif address.stride == t.size and not self.memory.rarely:
            whole = self.memory.load(address, t, 0, leaf_count(t), mask)
            for i, v in enumerate(values, first):
                whole[i] = self.lanes.binary("add", whole[i], v)
            self.memory.store(address, t, 0, whole, mask)
            return
        for (offset, leaf), value in zip(memory_leaves(t)[first:], values):
            assert isinstance(leaf, Scalar)
            at = self.memory.displace(address, offset)
            if address.uniform:
                self._one(at.text, leaf, value.text)
            else:
                self._each(at, leaf, value, mask)

    def _one(self, at: str, leaf: Scalar, value: str) -> None:
        ty = llvm_type(leaf)
        old = self.w.inst(f"load {ty}, ptr {at}, align {leaf.align}")
        self.w.do(f"store {ty} {self.w.inst(f'add {ty} {old}, {value}')}, ptr {at}, align {leaf.align}")

    def _each(self, address: LaneValue, leaf: Scalar, value: LaneValue, mask: str | None) -> None:
        """Add lane by lane. Lanes that are off add to an element that nothing reads: that takes no branches."""
        n, w = self.lanes.lanes, self.w
        pointers = self.lanes.vector(address)
        if mask is not None:
            spare = w.inst(f"getelementptr i64, ptr {self.unused}, <{n} x i64> {sequence(0, 1, n)}")
            pointers = w.inst(f"select <{n} x i1> {mask}, <{n} x ptr> {pointers}, <{n} x ptr> {spare}")
        at = self.atomics.spilled(LaneValue(address.type, pointers, None))
        given = self.atomics.spilled(value)

        def turn(lane: str) -> None:
            for k in range(min(n, _AT_ONCE)):
                here = w.inst(f"add i64 {lane}, {k}") if k else lane
                self._one(at(here), leaf, given(here))

        if n <= _AT_ONCE:
            turn("0")
        else:
            self._loop(turn)

    def _loop(self, turn: Callable[[str], None]) -> None:
        """Run `turn` for the first of each few lanes."""
        w = self.w
        head, done = w.label("lanes"), w.label("endlanes")
        entry = w.block
        w.br(head)
        w.start(head)
        lane, following = w.name(), w.name()
        w.do(f"{lane} = phi i64 [ 0, %{entry} ], [ {following}, %{head} ]")
        turn(lane)
        w.do(f"{following} = add i64 {lane}, {_AT_ONCE}")
        w.cond_br(w.inst(f"icmp ult i64 {following}, {self.lanes.lanes}"), head, done)
        w.start(done)
