"""From an IR kernel to LLVM assembly for an NVIDIA GPU: one thread of the launch for each thread of the device.

The operations are emitted by the code that serves CPUs, for one lane, with the parts of `cuda_ops.py` in the place of a
CPU's. Here is the function around them. Start with `emit_cuda`.

**What a launch passes.** The entry takes two parameters by value. The first is the argument block: all parameters in
order, laid out like the fields of a C struct (as for a CPU's `wc_kernel`, abi.h). The second is `LAUNCH`:

    int64 threads        the product of the launch dimensions
    int64 dims[4]        launch dimensions, 1 beyond the last
    void* failure        a `wc_failure` of abi.h that the device can write, `thread` set to INT64_MAX. The first thread
                         that fails takes it. Behind it are the address and size (uint64) of the memory of descriptors.
                         Null will do for kernels without sites that use no structures.
    void* stash[2]       memory for what the loops of an adjoint keep: for cells of 4 bytes, and for cells of 8
    int64 cells[2]       how many cells each thread has there

Blocks are one-dimensional, of up to `GpuOptions.block_dim` threads. Thread t of the grid (block * block size + thread)
runs thread t of the launch; there must be at least as many. Kernels that add up over the whole launch, and adjoints
with a value stack, are *strided*: thread t runs t, t + n, t + 2 n, … of the launch, where n is the size of the grid. So
any grid will do. A grid that fills the device once is best, and the value stack stays small. All other kernels lack the
loop, since it would hold registers and keep the next index for work that the hardware does for nothing. Kernels that
work in blocks of threads run in blocks of exactly `Function.block_dim`, which the launch is a multiple of where threads
do something together.

Cell i of a stash lies at base + (i * n + t) * size: cells of neighbouring threads lie side by side, and a warp's
accesses are whole lines. A thread that needs more reports the site of kind "gradient-memory" and leaves. The value of
the report is the number of cells it asked for, so that a launch may run again with as many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...ir.analysis.affine_index import launch_invariants
from ...ir.analysis.alias import Provenance, is_own, provenance
from ...ir.interp.block_runner import takes_whole_blocks
from ...ir.nodes import Function, Loc, Operation, Value
from ...ir.ops import index_count
from ...ir.printer import reachable
from ...lang.types import I32, I64
from ..accumulate.accumulation_log import NONE_LOGGED
from ..accumulate.eligibility import additions
from ..accumulate.reductions import gathered
from ..cpu.cpu_kernel import EmittedModule, KernelEmitter, completed, emit_call
from ..debug_info import Lines, Metadata
from ..function import EmitOptions, ModuleState
from ..joins import PhiJoin
from ..lane_arithmetic import LaneValue
from ..target import GpuOptions, Target
from ..writer import PTR
from .cuda_blocks import CudaBlocks, synchronized
from .cuda_ops import PARTS, CudaAtomics

# Where the fields of `LAUNCH` lie, and its size.
_THREADS, _DIMS, _FAILURE, _STASH, _CELLS, _LAUNCH_BYTES = 0, 8, 40, 48, 64, 80


def emit_cuda(fn: Function, target: Target, options: EmitOptions, gpu: GpuOptions) -> EmittedModule:
    """Emit kernel `fn`. It must be verified IR without `assert` operations (the checks pass removes them)."""
    metadata = Metadata()
    metadata.node("!{}")
    shared = ModuleState(target, options, 1, PARTS, Lines(metadata, fn) if gpu.lines else None)
    shared.emit_callee = emit_call
    kernel = _CudaKernel(shared, fn, gpu)
    kernel.emit()
    block_dim = fn.block_dim or gpu.block_dim
    bounds = {"maxntidx": block_dim, "maxnreg": gpu.max_registers, "minctasm": gpu.min_blocks}
    notes = [metadata.node(f'!{{ptr @{kernel.symbol}, !"{name}", i32 {n}}}') for name, n in bounds.items() if n]
    attributes = ["attributes #0 = { nounwind }"]
    named = [f"!nvvm.annotations = !{{{', '.join(notes)}}}", *(shared.lines.named() if shared.lines else [])]
    header = f'target triple = "{target.triple}"'
    text = "\n".join([header, *shared.functions, *shared.declarations, *attributes, *named, *metadata.lines(), ""])
    return EmittedModule(
        text,
        kernel.symbol,
        kernel.arity,
        lanes=1,
        params=tuple((p.name, p.type) for p in fn.params),
        sites=shared.reports(fn),
        accumulation=completed(additions(fn, log=False).facts, options, has_reductions=kernel.strided),
        strided=kernel.strided,
        stashes=tuple(cell.size for cell in kernel.cells),
        needs=tuple(dict(reversed(list(_libm_calls(fn)))).items()),
    )


def _libm_calls(fn: Function) -> Iterator[tuple[str, Loc | None]]:
    """Functions of the C library that are called, and for which line of the user's."""
    for op in fn.body.walk():
        if op.code == "libm" and op.attr != "fmod":
            yield op.attr, op.loc
        elif op.code == "call":
            for name, loc in _libm_calls(op.attr):
                yield name, op.loc if op.attr.is_library else loc


def argument_bytes(fn: Function) -> int:
    """The size of the argument block."""
    at = 0
    for param in fn.params:
        at = -(-at // param.type.align) * param.type.align + param.type.size
    return at


class _CudaKernel(CudaBlocks, KernelEmitter):
    atomics: CudaAtomics

    def __init__(self, shared: ModuleState, fn: Function, gpu: GpuOptions):
        in_blocks = fn.block_dim > 0
        super().__init__(shared, fn, frozenset() if in_blocks else gathered(fn), NONE_LOGGED)
        self.in_blocks = in_blocks
        self.arrays, self.invariant = Arrays(fn, gpu), launch_invariants(fn)
        self.symbol = re.sub(r"\W", "_", fn.name, flags=re.ASCII)[:100] + "_kernel"
        self.cells = sorted({op.attr for op in fn.body.walk() if op.code == "stash"}, key=lambda t: t.size)
        self.strided = bool(self.totals.operations or self.cells)
        self.atomics.anywhere = False  # LLVM sees which arrays are the thread's own
        self.synchronized = synchronized(fn.body)
        self.number = self.grid = ""  # this thread's number in the grid, and the grid's size
        self.present = str(fn.block_dim)

    def emit(self) -> None:
        w = self.w
        self.begin(self.fn, self.symbol)
        self.load_parameters()
        self.number = self.counted("ctaid.x", "tid.x")
        self.grid = self.counted("nctaid.x") if self.strided else ""
        self.find_stashes()
        record = self.in_global(w.inst(f"load ptr, ptr {self.field(_FAILURE)}, align 8"))
        w.do(f"%context = getelementptr i8, ptr {record}, i64 0")
        if takes_whole_blocks(self.fn):
            self.thread = self.number
            self.run_thread()
            self.finish()
            return
        threads = w.inst(f"load i64, ptr {self.field(_THREADS)}, align 8")
        if self.in_blocks:
            left = LaneValue(I64, w.inst(f"sub i64 {threads}, {self.counted('ctaid.x')}"))
            self.present = self.lanes.binary("min", left, LaneValue(I64, self.present)).text
        head, inside, done = w.label("threads"), w.label("thread"), w.label("endthreads")
        entry, following = w.block, w.name()
        self.thread = w.name() if self.strided else self.number
        w.br(head)
        w.start(head)
        at = len(w.lines)
        w.cond_br(w.inst(f"icmp slt i64 {self.thread}, {threads}"), inside, done)
        w.start(inside)
        self.run_thread()
        if self.strided:
            w.lines.insert(at, f"  {self.thread} = phi i64 [ {self.number}, %{entry} ], [ {following}, %{w.block} ]")
            w.do(f"{following} = add i64 {self.thread}, {self.grid}")
        w.br(head if self.strided else done)
        w.start(done)
        self.totals.finish()
        self.finish()

    def finish(self) -> None:
        self.w.do("ret void")
        args = f"ptr byval([{max(8, argument_bytes(self.fn))} x i8]) align 16 %args"
        self.define(f"ptx_kernel void @{self.symbol}({args}, ptr byval([{_LAUNCH_BYTES} x i8]) align 8 %launch)")

    def load_parameters(self) -> None:
        """Arrays lie in global memory, which is told to LLVM once for each."""
        super().load_parameters()
        for values in self.params.values():
            for i, v in enumerate(values):
                if v.type is PTR:
                    values[i] = LaneValue(PTR, self.in_global(v.text))

    def in_global(self, address: str) -> str:
        there = self.w.inst(f"addrspacecast ptr {address} to ptr addrspace(1)")
        return self.w.inst(f"addrspacecast ptr addrspace(1) {there} to ptr")

    # -- the launch ---------------------------------------------------------------------------------------------

    def field(self, offset: int) -> str:
        return self.w.inst(f"getelementptr i8, ptr %launch, i64 {offset}")

    def register(self, name: str) -> str:
        number = self.lanes.intrinsic(f"llvm.nvvm.read.ptx.sreg.{name}", "i32")
        return self.w.inst(f"zext i32 {number} to i64")

    def counted(self, blocks: str, threads: str = "") -> str:
        """So many blocks of threads, and threads."""
        product = self.w.inst(f"mul i64 {self.register(blocks)}, {self.register('ntid.x')}")
        return self.w.inst(f"add i64 {product}, {self.register(threads)}") if threads else product

    def find_stashes(self) -> None:
        for cell in self.cells:
            which = 8 * (cell.size > 4)
            memory = self.in_global(self.w.inst(f"load ptr, ptr {self.field(_STASH + which)}, align 8"))
            cells = self.w.inst(f"load i64, ptr {self.field(_CELLS + which)}, align 8")
            mine = self.memory.advance(
                LaneValue(PTR, memory), LaneValue(I64, self.w.inst(f"mul i64 {self.number}, {cell.size}"))
            )
            stride = self.w.inst(f"mul i64 {self.grid}, {cell.size}")
            self.stashes[cell] = [
                mine,
                LaneValue(PTR, "null"),
                LaneValue(I64, self.countable(cells)),
                LaneValue(I64, stride),
            ]

    def run_thread(self) -> None:
        """The body, for thread `self.thread` of the launch."""
        indices = self.unflattened()
        whole = LaneValue(I32, self.w.inst(f"trunc i64 {self.thread} to i32")) if self.arity > 1 else indices[0]
        self.block_tids = indices[:-1]
        self.tids = lambda k, count: indices[k] if count == self.arity else whole
        self.values = dict(self.params)
        self.returns = PhiJoin(self, "endbody", [])
        self.region(self.fn.body, self.returns)
        self.returns.finish()

    def unflattened(self) -> list[LaneValue]:
        """The launch indices of the thread. LLVM adds a short cut to a 64-bit division, for operands of 32 bits: they
        are in all launches that are not huge.
        """
        w, left = self.w, self.thread
        found: list[str] = []
        for k in range(self.arity - 1, 0, -1):
            extent = w.inst(f"load i64, ptr {self.field(_DIMS + 8 * k)}, align 8")
            quotient = w.inst(f"udiv i64 {left}, {extent}")
            found.insert(0, w.inst(f"sub i64 {left}, {w.inst(f'mul i64 {quotient}, {extent}')}"))
            left = quotient
        return [LaneValue(I32, w.inst(f"trunc i64 {x} to i32")) for x in (left, *found)]

    # -- memory -------------------------------------------------------------------------------------------------

    def op_load(self, op: Operation) -> None:
        self.memory.aligned = self.arrays.alignment(op)
        self.memory.note = ", !invariant.load !0" if self.arrays.is_constant(op) else ""
        super().op_load(op)
        self.memory.aligned, self.memory.note = 1, ""

    def op_store(self, op: Operation) -> None:
        self.memory.aligned = self.arrays.alignment(op)
        super().op_store(op)
        self.memory.aligned = 1

    def op_atomic(self, op: Operation) -> None:
        indices = op.args[1 : 1 + index_count(op.args[0].type, op.attr[1])]
        at_one_place = op.args[0] in self.fn.params and self.invariant.issuperset(indices)
        self.atomics.together = at_one_place
        super().op_atomic(op)
        self.atomics.together = False


def _writes(fn: Function) -> bool:
    """Whether a function writes memory that may not be the thread's own."""
    return any(op.code in ("store", "atomic") and not is_own(op.args[0]) for op in fn.body.walk())


class Arrays:
    """Facts about the arrays of a kernel: their alignment, and which of them are only read."""

    def __init__(self, fn: Function, gpu: GpuOptions):
        self.fn, self.gpu = fn, gpu
        self.written: set[Provenance] | None = set()  # None: anything may be written
        for op in fn.body.walk():
            if op.code in ("store", "atomic"):
                self._write(op.args[0])
            elif op.code == "call" and any(_writes(f) for f in reachable([op.attr])):
                self.written = None
        if not gpu.disjoint:
            self.written = None

    def _write(self, array: Value) -> None:
        if is_own(array):
            return
        found = self.provenance(array)
        if found is None:
            self.written = None
        elif self.written is not None:
            self.written.add(found)

    def provenance(self, array: Value) -> Provenance | None:
        """Return how an array is derived from a parameter, slices aside; None where that is not known."""
        found = provenance(array)
        return found._replace(is_view=False) if found.object in self.fn.params else None

    def is_constant(self, op: Operation) -> bool:
        """Whether nothing writes what a load reads while the kernel runs."""
        found = self.provenance(op.args[0])
        return found is not None and self.written is not None and found not in self.written

    def alignment(self, op: Operation) -> int:
        """Return the known alignment of the address of the accessed element."""
        array = op.args[0].type
        if not self.gpu.aligned or -1 in op.attr or self.provenance(op.args[0]) is None:
            return 1
        return min(16, array.dtype.size & -array.dtype.size)
