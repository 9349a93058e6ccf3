"""Kernels that work in blocks of threads, on a GPU: the operations of ir/ops.py that only they have.

All threads of a block come to each barrier, shuffle and ballot (passes/barriers.py sees to that), and blocks are whole:
the instructions for all threads of a block or warp will do.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.nodes import Operation
from ...lang.types import I32, U32
from ..function import FunctionEmitter
from ..lane_arithmetic import LaneValue
from .cuda_ops import CudaLanes

_ALIGN = 16
_CODES = ("thread_index", "block_index", "shared", "shared_part", "barrier", "shuffle", "ballot")


class CudaBlocks(FunctionEmitter):
    """Operations of kernels that work in blocks. Functions that work in blocks are inlined into the kernel."""

    symbol: str
    in_blocks: bool

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
