"""Kernels that work in blocks of threads, on a GPU: the operations of ir/ops.py that only they have.

All threads of a block come to each barrier, shuffle and ballot (passes/barriers.py sees to that), and blocks are whole:
the instructions for all threads of a block or warp will do. Only a kernel whose threads share nothing but iterations
(`elements`) may have a block that lacks threads. Those have exited, and barriers do not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from ...ir.nodes import Operation, Region
from ...ir.ops import MEETINGS, OPS
from ...lang.types import I32, I64, U32
from ..function import FunctionEmitter
from ..joins import PhiJoin
from ..lane_arithmetic import LaneValue
from .cuda_ops import CudaLanes

_ALIGN = 16
_CODES = ("thread_index", "block_index", "shared", "shared_part", "barrier", "elements", "shuffle", "ballot")


class CudaBlocks(FunctionEmitter):
    """Operations of kernels that work in blocks. Functions that work in blocks are inlined into the kernel."""

    symbol: str
    in_blocks: bool
    synchronized: set[Operation]  # those that nothing but arithmetic separates from a barrier before
    present: str  # how many threads the block has

    def _handlers(self) -> dict[str, Callable[[Operation], None]]:
        return super()._handlers() | {code: getattr(self, f"op_{code}") for code in _CODES}

    def op_thread_index(self, op: Operation) -> None:
        self.one(op, [LaneValue(I32, self.lanes.intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", "i32"))])

    def op_block_index(self, op: Operation) -> None:
        self.one(op, [LaneValue(I32, self.lanes.intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", "i32"))])

    def op_shared(self, op: Operation) -> None:
        """A variable of the block's; LLVM sees from the cast which memory accesses go to."""
        t = op.attr
        name = f"@{self.symbol}_shared{len(self.stack)}"
        self.shared.declare(f"{name} = internal addrspace(3) global [{max(1, t.bytes)} x i8] undef, align {_ALIGN}")
        self.stack[op.result] = name
        there = self.w.inst(f"addrspacecast ptr addrspace(3) {name} to ptr")
        self.one(op, self.locals.descriptor(t, there, False))

    def op_shared_part(self, op: Operation) -> None:
        t, offset = op.attr
        name = self.stack[op.args[0]]
        at = self.w.inst(f"getelementptr i8, ptr addrspace(3) {name}, i64 {offset}")
        self.stack[op.result] = at
        self.one(op, self.locals.descriptor(t, self.w.inst(f"addrspacecast ptr addrspace(3) {at} to ptr"), False))

    def op_barrier(self, op: Operation) -> None:
        self.shared.declare("declare void @llvm.nvvm.barrier0()")
        self.w.do("call void @llvm.nvvm.barrier0()")

    def op_elements(self, op: Operation) -> None:
        """Thread t runs elements t, t + n, … of n threads. Barriers keep them apart from what stands around them."""
        if op not in self.synchronized:
            self.op_barrier(op)
        w, wide = self.w, [self.lanes.cast(self.get(a)[0], I64) for a in op.args]
        extents = [self.lanes.binary("max", n, LaneValue(I64, "0")) for n in wide]
        count = reduce(partial(self.lanes.binary, "mul"), extents)
        first = w.inst(f"zext i32 {self.lanes.intrinsic('llvm.nvvm.read.ptx.sreg.tid.x', 'i32')} to i64")
        with w.loop(first, count.text, ("elements", "element", "endelements")) as (number, following):
            left = LaneValue(I64, number)
            at: list[LaneValue] = []
            for extent in reversed(extents[1:]):
                at.insert(0, self.lanes.binary("rem", left, extent))
                left = self.lanes.binary("div", left, extent)
            for param, index in zip(op.regions[0].params, [left, *at]):
                self.values[param] = [self.lanes.cast(index, I32)]
            end = PhiJoin(self, "endelement", [])
            self.region(op.regions[0], end)
            end.finish()
            w.do(f"{following} = add i64 {number}, {self.present}")
        self.op_barrier(op)

    def op_shuffle(self, op: Operation) -> None:
        assert isinstance(self.lanes, CudaLanes)
        (by,) = self.get(op.args[1])
        self.one(op, [self.lanes.from_thread(op.attr, v, by.text) for v in self.get(op.args[0])])

    def op_ballot(self, op: Operation) -> None:
        (said,) = self.get(op.args[0])
        given = ("i32", "-1"), ("i1", said.text)
        self.one(op, [LaneValue(U32, self.lanes.intrinsic("llvm.nvvm.vote.ballot.sync", "i32", *given))])

    def op_fail(self, op: Operation) -> None:
        """The thread reports and leaves; those that go on do not wait for it."""
        super().op_fail(op)
        if self.in_blocks:
            self.w.do("ret void")
            self.w.start(self.w.label("left"))


def synchronized(region: Region) -> set[Operation]:
    """The operations of a region, and of those in it, that nothing but arithmetic separates from a barrier before."""
    found: set[Operation] = set()
    behind_barrier = False
    for op in region.ops:
        if behind_barrier:
            found.add(op)
        behind_barrier = op.code in MEETINGS or (behind_barrier and OPS[op.code].pure)
        for inner in op.regions:
            found |= synchronized(inner)
    return found
