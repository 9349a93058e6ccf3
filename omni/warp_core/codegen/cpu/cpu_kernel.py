"""From an IR kernel to LLVM assembly for a CPU: the outermost loops, and the functions that stay calls.

A kernel becomes one function that runs a range of the flattened launch grid. The last dimension runs over lanes: full
groups execute a body without masks, and what is left of a row executes a second, masked copy of it. Large kernels have
the masked body only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...ir.analysis.alias import is_made_by
from ...ir.analysis.uniformity import Cache, analyze
from ...ir.launch_facts import Accumulation, StencilTarget
from ...ir.nodes import Function, Loc, Operation, Region, Value
from ...lang.launch_constants import WARP
from ...lang.types import I32, I64, Array, Scalar, Type
from ..accumulate.accumulation_log import DeferredAdd
from ..accumulate.eligibility import Additions, additions, together
from ..accumulate.privatization import NONE_PRIVATIZED
from ..accumulate.reductions import gathered
from ..accumulate.stencil_scatter import following
from ..function import EmitOptions, FunctionEmitter, ModuleState
from ..joins import LaneAccumulator, PhiJoin
from ..lane_arithmetic import LaneValue
from ..memory_access import memory_leaves, with_inner_strides
from ..target import Target
from ..vector_width import max_lanes, preferred_lanes
from ..writer import PTR, llvm_type, sequence
from .cpu_blocks import BlockAtomics, Blocks, whole_warps
from .native_calls import emit_native_call, name_of

# From this many operations on, one masked body serves full groups too: masks cost larger kernels no time, and a second
# body takes as long to compile as the first.
_TWO_BODIES_LIMIT = 100
_MOST_CELLS = 1 << 30


@dataclass(frozen=True)
class EmittedModule:
    """The result: assembly `text` that defines `symbol` as a `wc_kernel`.

    `sites` are the failures that debug code can report, `arity` is the number of launch dimensions of the kernel.
    `params` has the (name, type) of its parameters, in the order of the argument block. `accumulation` describes its
    additions to arrays, the same for all variants of a kernel. For a GPU only: `strided` and `stashes` as in `nvptx`,
    `needs` the functions of the C library that are called, and where.
    """

    text: str
    symbol: str
    arity: int
    lanes: int
    params: tuple[tuple[str, Type], ...]
    sites: tuple[dict[str, Any], ...]
    accumulation: Accumulation
    strided: bool = False
    stashes: tuple[int, ...] = ()
    needs: tuple[tuple[str, Loc | None], ...] = ()


def emit_cpu(fn: Function, target: Target, options: EmitOptions) -> EmittedModule:
    """Emit kernel `fn`. It must be verified IR without `assert` operations (the checks pass removes them)."""
    known: Cache = {}
    lanes = max_lanes(fn, options.lanes) if options.lanes else preferred_lanes(fn, target, known)
    totals = frozenset() if options.serial else gathered(fn)
    found = _additions(fn, options.additions, totals)
    if options.additions == "ordered" and found.numbered:
        lanes = 1  # the thread before has its numbers before this one takes any
    lanes = WARP if whole_warps(fn) else lanes
    shared = ModuleState(target, options, lanes, facts=known)
    shared.emit_callee = emit_call
    stencils, numbers = following(fn, found.operations, arity(fn), totals)
    in_place = options.inner_contiguous and not options.flat
    facts = analyze(fn, (False,) * len(fn.params), lanes, shared.facts)
    others = {op: at for op, at in found.operations.items() if op not in totals and op not in numbers}
    logged = DeferredAdd(found.operations, numbers if in_place else {}, together(fn, others, facts.varying))
    KernelEmitter(shared, fn, totals, logged, found.privatized).emit()
    header = [f'target triple = "{target.triple}"']
    # Probing large frames page by page keeps a stack that is too small for them from growing over other memory.
    words = f'nounwind "min-legal-vector-width"="{target.vector_bits}" "probe-stack"="inline-asm"'
    attributes = f"attributes #0 = {{ {words} }}"
    text = "\n".join([*header, *shared.functions, *shared.declarations, attributes, ""])
    params = tuple((p.name, p.type) for p in fn.params)
    accumulation = completed(found.facts, options, bool(totals), stencils)
    return EmittedModule(text, "kernel", arity(fn), lanes, params, shared.reports(fn), accumulation)


def _additions(fn: Function, how: str, totals: frozenset[Operation]) -> Additions:
    """Return the additions without atomic instructions. Reductions alone do not need the log, unless their order
    counts.
    """
    if how == "atomic":
        return additions(fn, False)
    found = additions(fn, True, totals)
    return additions(fn, False, totals) if how == "logged" and found.operations.keys() <= totals else found


def completed(
    found: Accumulation, options: EmitOptions, has_reductions: bool, stencils: tuple[StencilTarget, ...] = ()
) -> Accumulation:
    """Return the facts about the additions of a kernel with those that its code decides."""
    if found == Accumulation():
        return found
    return found._replace(in_order=options.additions == "ordered", has_reductions=has_reductions, stencils=stencils)


def arity(fn: Function) -> int:
    """The number of launch dimensions `fn` asks for: that of its widest `tid`, callees included."""
    widest, todo, seen = 1, [fn], {fn}
    while todo:
        for op in todo.pop().body.walk():
            if op.code in ("tid", "block_tid"):
                widest = max(widest, op.attr[1])
            elif op.code == "call" and op.attr not in seen:
                seen.add(op.attr)
                todo.append(op.attr)
    return widest


class KernelEmitter(FunctionEmitter):
    """The kernel's own function."""

    def __init__(
        self,
        shared: ModuleState,
        fn: Function,
        totals: frozenset[Operation],
        logged: DeferredAdd,
        privatized: Mapping[Operation, int] = NONE_PRIVATIZED,
    ):
        facts = analyze(fn, (False,) * len(fn.params), shared.lanes, shared.facts)
        super().__init__(shared, facts, totals, logged, privatized=privatized)
        self.fn, self.arity = fn, arity(fn)
        self.params: dict[Value, list[LaneValue]] = {}
        self.blocks = Blocks(self) if fn.block_dim and not shared.target.is_gpu else None

    def op_fail(self, op: Operation) -> None:
        super().op_fail(op)
        if self.blocks:
            self.blocks.stop()

    def elementwise(self, op: Operation) -> None:
        found = self.blocks.of_index(op) if self.blocks and len(op.args) == 2 else None
        if found is not None:
            self.one(op, [found])
        else:
            super().elementwise(op)

    def op_atomic(self, op: Operation) -> None:
        usual = self.atomics
        if self.blocks and is_made_by(op.args[0], "shared"):
            self.atomics = BlockAtomics(self.lanes, self.memory)
        super().op_atomic(op)
        self.atomics = usual

    def emit(self) -> None:
        self.begin(self.fn, "kernel")
        self.load_parameters()
        self.find_stashes()
        self.log.open()
        self.private_adds.open()
        if self.blocks:
            self.blocks.run()
        elif self.arity == 1 or self.shared.options.flat:
            self.row("%begin", "%end", "%begin", [])
        else:
            self.rows()
        self.totals.finish()
        self.w.do("ret void")
        self.define("void @kernel(ptr %args, ptr %dims, i64 %begin, i64 %end, ptr %context)")

    def load_parameters(self) -> None:
        block = LaneValue(PTR, "%args")
        at = 0
        for param in self.fn.params:
            t = param.type
            at = -(-at // t.align) * t.align
            values = self.memory.load(self.memory.displace(block, at), t, 0, len(memory_leaves(t)), None)
            inner = self.shared.options.inner_contiguous
            self.params[param] = with_inner_strides(values, t) if inner else values
            at += t.size

    def find_stashes(self) -> None:
        """Ask the runtime for the stashes of this thread of the pool."""
        for cell in sorted({op.attr for op in self.fn.body.walk() if op.code == "stash"}, key=lambda t: t.size):
            self.shared.declare("declare ptr @wc_stash(i32)")
            self.shared.declare("declare i64 @wc_stash_bytes(i32)")
            base = self.w.inst(f"call ptr @wc_stash(i32 {cell.size})")
            size = self.w.inst(f"call i64 @wc_stash_bytes(i32 {cell.size})")
            cells = self.w.inst(f"udiv i64 {size}, {cell.size * self.sharing()}")
            self.stashes[cell] = self.stash(cell, base, self.countable(cells))

    def sharing(self) -> int:
        """How many threads have their cells in the stash of a thread of the pool."""
        return self.fn.block_dim or self.shared.lanes

    def countable(self, cells: str) -> str:
        """As many cells of a stash as adjoints number with an int32, the next frame included."""
        return self.lanes.binary("min", LaneValue(I64, cells), LaneValue(I64, str(_MOST_CELLS))).text

    def stash(self, cell: Scalar, base: str, cells: str) -> list[LaneValue]:
        """Cells of neighbouring threads lie side by side."""
        n = self.sharing()
        stride = cell.size if min(n, self.shared.lanes) > 1 else 0
        return [
            LaneValue(PTR, base, stride),
            LaneValue(PTR, "null"),
            LaneValue(I64, cells),
            LaneValue(I64, str(n * cell.size)),
        ]

    # -- the launch grid ----------------------------------------------------------------------------------------

    def rows(self) -> None:
        """Cut [begin, end) into rows of the last dimension."""
        w = self.w
        dims = [self.dim(k) for k in range(self.arity)]
        with w.loop("%begin", "%end", ("row", "inrow", "endrows")) as (flat, following):
            column = w.inst(f"urem i64 {flat}, {dims[-1]}")
            index = w.inst(f"udiv i64 {flat}, {dims[-1]}")
            outer: list[str] = []
            for k in range(self.arity - 2, 0, -1):
                outer.insert(0, w.inst(f"urem i64 {index}, {dims[k]}"))
                index = w.inst(f"udiv i64 {index}, {dims[k]}")
            outer.insert(0, index)
            start = w.inst(f"sub i64 {flat}, {column}")
            row_end = w.inst(f"add i64 {start}, {dims[-1]}")
            cut = w.inst(f"icmp slt i64 {row_end}, %end")
            stop = w.inst(f"select i1 {cut}, i64 {row_end}, i64 %end")
            stop_column = w.inst(f"sub i64 {stop}, {start}")
            self.row(column, stop_column, flat, [w.inst(f"trunc i64 {i} to i32") for i in outer])
            w.do(f"{following} = add i64 {stop}, 0")

    def dim(self, k: int) -> str:
        place = self.w.inst(f"getelementptr i64, ptr %dims, i64 {k}")
        return self.w.inst(f"load i64, ptr {place}")

    def unflatten(self, index: LaneValue) -> list[LaneValue]:
        """The launch indices of flattened thread numbers, lane by lane."""
        indices: list[LaneValue] = []
        for k in range(self.arity - 1, 0, -1):
            extent = LaneValue(I32, self.w.inst(f"trunc i64 {self.dim(k)} to i32"))
            indices.insert(0, self.lanes.binary("rem", index, extent))
            index = self.lanes.binary("div", index, extent)
        return [index, *indices]

    def take_indices(self, whole: LaneValue, indices: list[LaneValue] | None = None) -> None:
        """The threads at hand are those with the flattened indices `whole`."""
        found = indices or self.unflatten(whole)
        self.tids = lambda k, count: found[k] if count == self.arity else whole

    def row(self, start: str, stop: str, flat: str, outer: list[str]) -> None:
        """Run columns [start, stop); `flat` is the flattened index of `start`."""
        self.columns(self.fn.body, start, stop, lambda column: self.body(column, start, flat, outer))

    def columns(self, region: Region, start: str, stop: str, body: Callable[[str], None], rest: bool = True) -> None:
        """Go through columns [start, stop) in groups of lanes. `body` emits `region` for the group that begins at a
        column. Lanes at and past `stop` are off; without `rest` there are none. Full groups have a body of their own if
        that is small.
        """
        w, n = self.w, self.lanes.lanes
        rest = rest and n > 1
        two = rest and sum(1 for _ in region.walk()) <= _TWO_BODIES_LIMIT
        head, full, last, done = (w.label(hint) for hint in ("group", "full", "rest", "endrow"))
        entry, column, following = w.block, w.name(), w.name()
        w.br(head)
        w.start(head)
        at = len(w.lines)
        w.do(f"{following} = add i64 {column}, {n}")
        if two:
            w.cond_br(w.inst(f"icmp sle i64 {following}, {stop}"), full, last)
        else:
            w.cond_br(w.inst(f"icmp slt i64 {column}, {stop}"), full, done)
        w.start(full)
        self.lanes_before(stop if rest and not two else None, column)
        body(column)
        w.lines.insert(at, f"  {column} = phi i64 [ {start}, %{entry} ], [ {following}, %{w.block} ]")
        w.br(head)
        if two:
            w.start(last)
            tail = w.label("tail")
            w.cond_br(w.inst(f"icmp slt i64 {column}, {stop}"), tail, done)
            w.start(tail)
            self.memory.rarely = self.blocks is None
            self.lanes_before(stop, column)
            body(column)
            self.memory.rarely = False
            w.br(done)
        w.start(done)

    def lanes_before(self, stop: str | None, column: str) -> None:
        """Lanes run columns from `column` on; with `stop`, those at and past it are off."""
        w, n = self.w, self.lanes.lanes
        self.mask = None
        if stop is not None:
            left = w.inst(f"sub i64 {stop}, {column}")
            lanes_left = self.lanes.splat(left, I64)
            self.mask = w.inst(f"icmp slt <{n} x i64> {sequence(0, 1, n)}, {lanes_left}")
            if not self.memory.rarely:
                self.memory.often_full = self.mask, w.inst(f"icmp sge i64 {left}, {n}")
        self.locals.whole = self.mask

    def body(self, column: str, start: str, flat: str, outer: list[str]) -> None:
        """One group of lanes from `column` on."""
        w, n = self.w, self.lanes.lanes
        first = LaneValue(I32, w.inst(f"trunc i64 {column} to i32"), 1 if n > 1 else 0)
        offset = w.inst(f"sub i64 {column}, {start}")
        self.thread = w.inst(f"add i64 {flat}, {offset}")
        whole = LaneValue(I32, w.inst(f"trunc i64 {self.thread} to i32"), first.stride)
        indices = [LaneValue(I32, text) for text in outer] + [first] if outer or self.arity == 1 else None
        self.take_indices(whole, indices)
        self.values = dict(self.params)
        self.returns = PhiJoin(self, "endbody", [])
        self.region(self.fn.body, self.returns)
        self.returns.finish()


def emit_call(caller: FunctionEmitter, fn: Function, varying: tuple[bool, ...], args: list[Value]) -> list[LaneValue]:
    """Call `fn` for the active lanes, emitting it first if this is the first such call."""
    shared, lanes = caller.shared, caller.lanes.lanes
    if name_of(fn) in shared.options.native:
        return emit_native_call(caller, fn, args)
    facts = analyze(fn, varying, lanes, shared.facts)
    known = _known_strides(caller, args)
    key = (fn, varying, tuple(known.items()))
    if key not in shared.names:
        shared.names[key] = f"f{len(shared.names)}"
        _FunctionBody(shared, fn, varying, shared.names[key]).emit(known)
    operands = []
    for arg, is_varying in zip(args, varying):
        for v in caller.get(arg):
            n = lanes if is_varying else 1
            operands.append(f"{llvm_type(v.type, n)} {caller.lanes.operand(v, n)}")
    if lanes > 1:
        operands.append(f"<{lanes} x i1> {caller.mask or 'splat (i1 true)'}")
    operands += ["ptr %context", f"i64 {caller.thread}"]
    slots = _result_slots(fn, facts.results_varying)
    result = _result_type(slots, lanes)
    call = f"call {result} @{shared.names[key]}({', '.join(operands)})"
    if not slots:
        caller.w.do(call)
        return []
    whole = caller.w.inst(call)
    parts = [caller.w.inst(f"extractvalue {result} {whole}, {i}") for i in range(len(slots))]
    return [LaneValue(leaf, text, None if v else 0) for (leaf, v), text in zip(slots, parts)]


def _known_strides(caller: FunctionEmitter, args: list[Value]) -> dict[tuple[int, int], str]:
    """(argument, leaf) of the array strides that are literals: the callee is emitted for them."""
    found = {}
    for i, arg in enumerate(args):
        if isinstance(arg.type, Array):
            last = len(memory_leaves(arg.type)) - 1
            stride = caller.get(arg)[last]
            if stride.literal_int is not None:
                found[i, last] = stride.text
    return found


def _result_slots(fn: Function, varying: tuple[bool, ...]):
    return [(leaf, v) for t, v in zip(fn.results, varying) for _, leaf in memory_leaves(t)]


def _result_type(slots, lanes: int) -> str:
    if not slots:
        return "void"
    return "{ " + ", ".join(llvm_type(leaf, lanes if v else 1) for leaf, v in slots) + " }"


class _FunctionBody(FunctionEmitter):
    """A device function that stays a call: parameters are registers, vectors where the caller's values vary."""

    def __init__(self, shared: ModuleState, fn: Function, varying: tuple[bool, ...], name: str):
        facts = analyze(fn, varying, shared.lanes, shared.facts)
        super().__init__(shared, facts)
        self.fn, self.varying, self.name = fn, varying, name

    def emit(self, known: dict[tuple[int, int], str]) -> None:
        """Write the function. `known` are (argument, leaf) that are literals in all calls of this copy."""
        lanes, w = self.lanes.lanes, self.w
        signature = []
        for i, (param, is_varying) in enumerate(zip(self.fn.params, self.varying)):
            names = [w.name() for _ in memory_leaves(param.type)]
            kinds = [leaf for _, leaf in memory_leaves(param.type)]
            signature += [f"{llvm_type(k, lanes if is_varying else 1)} {n}" for k, n in zip(kinds, names)]
            self.values[param] = [
                LaneValue(k, known[i, j]) if (i, j) in known else LaneValue(k, n, None if is_varying else 0)
                for j, (k, n) in enumerate(zip(kinds, names))
            ]
        if lanes > 1:
            signature.append(f"<{lanes} x i1> %mask")
            self.mask = self.locals.whole = "%mask"
        signature += ["ptr %context", "i64 %thread"]
        self.begin(self.fn, self.name)
        values = self.run()
        slots = _result_slots(self.fn, self.facts.results_varying)
        result = _result_type(slots, lanes)
        whole = "poison"
        for i, ((leaf, v), value) in enumerate(zip(slots, values)):
            n = lanes if v else 1
            whole = w.inst(f"insertvalue {result} {whole}, {llvm_type(leaf, n)} {self.lanes.operand(value, n)}, {i}")
        w.do(f"ret {result} {whole}" if slots else "ret void")
        self.define(f"internal {result} @{self.name}({', '.join(signature)}) noinline")

    def run(self) -> list[LaneValue]:
        """Emit the body; the results."""
        slots = _result_slots(self.fn, self.facts.results_varying)
        if not self.facts.return_divergent:
            join = PhiJoin(self, "endfunction", slots)
            self.returns = join
            self.region(self.fn.body, join)
            return join.finish()
        leave = LaneAccumulator(self, self.w.label("endfunction"), slots)
        self.returns = leave
        leave.reset()
        self.region(self.fn.body, leave)
        self.w.start(leave.label)
        return leave.load()[0]
