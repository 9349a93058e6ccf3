"""Atomics on one element, gathered for a whole range of the launch: `atomic_add(loss, 0, x)` above all.

Where every thread updates the same element and no thread reads it, the range keeps a total for each lane in a register
and updates memory once, at its end: threads do not contend for the element, and a sum of floats has many short partial
sums. `gathered` finds those atomics. Their array is a parameter that the kernel uses for nothing else that order could
matter to, and their indices are the same for all threads. (Another parameter may be the same array; reading an element
that others update at the same time has no defined result anyway.) `Reductions` emits them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from ...ir.analysis.affine_index import launch_invariants
from ...ir.nodes import Function, Operation, Value
from ...ir.ops import COUNTS, index_count
from ..atomics import REDUCIBLE, Atomics, combining, neutral
from ..lane_arithmetic import LaneArithmetic, LaneValue
from ..memory_access import memory_leaves
from ..writer import NARROW, PTR, Leaf, constant, llvm_type
from .accumulation_log import AccumulationLog

_LOOKS_AT_NO_ELEMENT = COUNTS | {"is_null"}
_MOST_MERGES = 1024


def gathered(function: Function) -> frozenset[Operation]:
    """The atomics of kernel `function` that are gathered: those that can be, up to a limit.

    LLVM merges each total at each place where a thread may end. Debug mode ends it at each failed check: 64 totals and
    some 300 checks took 17 s to compile.
    """
    exits = 1 + sum(op.code == "return" for op in function.body.walk())
    found = _reducible(function)
    totals = accumulate(len(memory_leaves(op.args[-1].type)) for op in found)
    return frozenset(op for op, total in zip(found, totals) if exits * total <= _MOST_MERGES)


def _reducible(function: Function) -> list[Operation]:
    """The atomics that can be gathered."""
    users: dict[Value, list[Operation]] = {}
    for op in function.body.walk():
        for arg in op.args:
            users.setdefault(arg, []).append(op)
    invariant = launch_invariants(function)
    found: list[Operation] = []
    for param in function.params:
        uses = [op for op in users.get(param, ()) if op.code not in _LOOKS_AT_NO_ELEMENT]
        unseen = all(op.code == "atomic" and op.args[0] is param and op.result not in users for op in uses)
        if unseen and len({combining(op.attr[0]) for op in uses}) == 1:
            found += [op for op in uses if _is_total(op, invariant)]
    return found


def _is_total(op: Operation, invariant: set[Value]) -> bool:
    kind, path = op.attr
    indices = op.args[1 : 1 + index_count(op.args[0].type, path)]
    leaves = [leaf for _, leaf in memory_leaves(op.args[-1].type)]
    plain = not any(leaf in NARROW for leaf in leaves)
    return kind in REDUCIBLE and plain and invariant.issuperset(indices)


class Reductions:
    """The totals of one kernel, in stack slots, which LLVM turns into registers."""

    def __init__(self, lanes: LaneArithmetic, atomics: Atomics, log: AccumulationLog, operations: Iterable[Operation]):
        self.lanes, self.w, self.atomics, self.log = lanes, lanes.w, atomics, log
        self.operations = frozenset(operations)
        self.slots: dict[tuple[Operation, int], tuple[bool, str, Leaf, str, str]] = {}

    def add(
        self, op: Operation, index: int, leaf: Leaf, address: LaneValue, value: LaneValue, mask: str | None
    ) -> None:
        """Take `value` of the active lanes into the total of component `index` of an operation."""
        kind, n = op.attr[0], self.lanes.lanes
        if (op, index) not in self.slots:
            logged = op in self.log.operations
            slots = self._slot(leaf, n, neutral(kind, leaf)), self._slot(PTR, 1, None)
            self.slots[op, index] = (logged, kind, leaf, *slots)
        *_, total, place = self.slots[op, index]
        ty = llvm_type(leaf, n)
        old = LaneValue(leaf, self.w.inst(f"load {ty}, ptr {total}"), None)
        new = self.lanes.vector(self.lanes.binary(combining(kind), value, old))
        at = address.text
        if mask is not None:
            new = self.w.inst(f"select <{n} x i1> {mask}, {ty} {new}, {ty} {old.text}")
            before = self.w.inst(f"load ptr, ptr {place}")
            at = self.w.inst(f"select i1 {self.lanes.any(mask)}, ptr {at}, ptr {before}")
        self.w.do(f"store {ty} {new}, ptr {total}")
        self.w.do(f"store ptr {at}, ptr {place}")

    def _slot(self, leaf: Leaf, n: int, start: object) -> str:
        """A stack slot that holds `start` when the function begins."""
        ty = llvm_type(leaf, n)
        place = self.w.alloca(ty)
        self.w.allocas.append(f"  store {ty} {constant(start, leaf, n)}, ptr {place}")
        return place

    def finish(self) -> None:
        """Update memory with what has come together; elements that no thread asked for are left alone."""
        for logged, kind, leaf, total, place in self.slots.values():
            some, done = self.w.label("total"), self.w.label("nototal")
            address = self.w.inst(f"load ptr, ptr {place}")
            self.w.cond_br(self.w.inst(f"icmp ne ptr {address}, null"), some, done)
            self.w.start(some)
            value = self.w.inst(f"load {llvm_type(leaf, self.lanes.lanes)}, ptr {total}")
            if logged:
                self.log.add_one(kind, LaneValue(PTR, address), [LaneValue(leaf, value, None)], None)
            else:
                self.atomics.once(kind, address, leaf, LaneValue(leaf, value, None))
            self.w.br(done)
            self.w.start(done)
