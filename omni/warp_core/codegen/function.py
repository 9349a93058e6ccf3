"""Emits the operations of one function for a group of lanes: the table from IR operation to code.

`FunctionEmitter` adds to `Control` everything without regions. One emitter writes one LLVM function;
`EmittedModule`-wide state (declarations, callees, failure sites) lives in `ModuleState`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import zip_longest
from typing import Any

from ..ir.analysis.failure_places import failure_places
from ..ir.analysis.uniformity import Cache, Uniformity
from ..ir.analysis.value_range import upper_bound
from ..ir.nodes import Function, Operation, Value
from ..ir.ops import ATOMIC_KINDS, COMPARISONS, ELEMENTWISE, slice_parts
from ..lang.types import F64, I32, I64, Array, Packed, Scalar, element
from .accumulate.accumulation_log import NONE_LOGGED, AccumulationLog, DeferredAdd
from .accumulate.privatization import NONE_PRIVATIZED, PrivateAdds
from .accumulate.reductions import Reductions
from .atomics import Atomics
from .control_flow import Control, Fall, MaskLevel
from .cpu.cpu_blocks import Warps, array_in_block, shared_array
from .debug_info import Lines
from .failure_runs import Failure
from .lane_arithmetic import LaneArithmetic, LaneValue
from .memory_access import Memory, member_range, memory_leaves, path_range
from .runtime_calls import MAX_SLOTS, Reports
from .stack_arrays import Locals, PromotedArray, is_promotable
from .target import Target
from .wide_masks import is_widened, widen
from .writer import PTR, Writer, literal

# Operations with a method `op_<name>` each.
_PLAIN = (
    "const zero libm select cast bitcast make splat extract insert extract_dyn insert_dyn load store atomic shape "
    "extent size alloca array_at is_structure slice view_at is_null tid printf fail call from_end grad stash "
    "thread_index block_index block_tid shared shared_part shuffle ballot threads elements"
)

_NO_SLOT = LaneValue(I64, "0")


@dataclass(frozen=True)
class EmitOptions:
    """Options of emitting a kernel.

    lanes: lane count, 0 for what suits kernel and target. inner_contiguous: all array arguments have a contiguous last
    dimension. flat: lanes run over the flattened launch grid rather than its last dimension. It is for launches whose
    last dimension is shorter than a group of lanes. The grid must have less than 2**31 threads. additions: how
    atomic additions of floats reach memory: "atomic", "logged", or "ordered": logged so that results do not depend on
    how a launch is divided. native: functions of the library that native code runs, by name. serial: each thread sees
    what earlier ones wrote. whole_blocks: launches consist of whole blocks.
    """

    lanes: int = 0
    inner_contiguous: bool = True
    flat: bool = False
    additions: str = "atomic"
    native: frozenset[str] = frozenset()
    serial: bool = False
    whole_blocks: bool = False


@dataclass(frozen=True)
class Emitters:
    """The classes that write what differs between machines: these are a CPU's."""

    lanes: type[LaneArithmetic] = LaneArithmetic
    atomics: type[Atomics] = Atomics
    reports: type[Reports] = Reports
    totals: type[Reductions] = Reductions


@dataclass
class ModuleState:
    """State that the functions of one unit share."""

    target: Target
    options: EmitOptions
    lanes: int
    parts: Emitters = Emitters()
    lines: Lines | None = None
    declarations: dict[str, None] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    names: dict[tuple, str] = field(default_factory=dict)
    facts: Cache = field(default_factory=dict)
    sites: dict[Operation, dict[str, Any]] = field(default_factory=dict)
    numbers: dict[Operation, int] = field(default_factory=dict)  # of the sites
    emit_callee: Callable[..., list[LaneValue]] | None = None

    def declare(self, text: str) -> None:
        self.declarations[text] = None

    def site(self, op: Operation) -> int:
        """The number of a `fail` operation, the same in all copies of the body."""
        if op not in self.sites:
            kind, message = op.attr
            types = [a.type.key for a in op.args]
            self.sites[op] = {"kind": kind, "message": message, "types": types, "loc": op.loc}
            self.numbers[op] = len(self.numbers)
        return self.numbers[op]

    def reports(self, kernel: Function) -> tuple[dict[str, Any], ...]:
        """The sites in the order of their numbers, each with its places in the user's source."""
        places = failure_places(kernel)
        return tuple({**site, "places": places.get(op) or (site["loc"],)} for op, site in self.sites.items())


class FunctionEmitter(Control):
    """One function being emitted."""

    def __init__(
        self,
        shared: ModuleState,
        facts: Uniformity,
        totals: Iterable[Operation] = (),
        logged: DeferredAdd = NONE_LOGGED,
        returns: Fall | None = None,
        privatized: Mapping[Operation, int] = NONE_PRIVATIZED,
    ):
        self.shared, self.facts = shared, facts
        self.w = Writer()
        self.scope = ""  # of the function, in debug information
        self.lanes = shared.parts.lanes(self.w, shared.lanes, shared.target, shared.declare)
        self.memory = Memory(self.lanes)
        self.locals = Locals(self.memory)
        self.warps = Warps(self.lanes, self.memory)
        self.stack: dict[Value, str] = {}  # addresses of local arrays
        self.atomics = shared.parts.atomics(self.lanes, self.memory)
        self.log = AccumulationLog(self.lanes, self.memory, self.atomics, logged)
        self.private_adds = PrivateAdds(self.lanes, self.memory, self.atomics, privatized)
        self.totals = shared.parts.totals(self.lanes, self.atomics, self.log, totals)
        self.reports = shared.parts.reports(self.lanes, shared.declare)
        self.mask: str | None = None
        self.values: dict[Value, list[LaneValue]] = {}
        self.levels: list[MaskLevel] = []
        self.failures: list[Failure] = []  # of which the `fail` at hand reports the first
        self.copied = False  # inside a region that is emitted twice: copies of copies would grow without end
        self.thread = "%thread"
        self.stashes: dict[Scalar, list[LaneValue]] = {}  # cell type: the array of the thread's cells
        self.tids: Callable[[int, int], LaneValue] | None = None
        self.thread_index: LaneValue | None = None
        self.block_index: LaneValue | None = None
        self.block_tids: Sequence[LaneValue] = ()  # the indices of the launch that the threads of a block share
        self.run_threads: Callable[[Operation], None] | None = None
        self.run_elements: Callable[[Operation], None] | None = None
        if returns is not None:
            self.returns = returns
        self.handlers = self._handlers()

    def _handlers(self) -> dict[str, Callable[[Operation], None]]:
        table: dict[str, Callable[[Operation], None]] = {
            "if": self.if_,
            "for": self.for_,
            "loop": self.loop,
            "block": self.block,
        }
        for code in ELEMENTWISE | COMPARISONS:
            table[code] = self.elementwise
        for name in _PLAIN.split():
            table[name] = getattr(self, "op_" + name)
        return table

    def operation(self, op: Operation) -> None:
        if self.shared.lines is not None:
            self.w.location = self.shared.lines.location(op.loc, self.scope)
        super().operation(op)

    def begin(self, fn: Function, name: str) -> None:
        """Start writing the body of the LLVM function `name`."""
        if self.shared.lines is not None:
            self.scope = self.shared.lines.scope(fn, name)
            self.w.location = self.shared.lines.location(fn.loc, self.scope)
        self.w.start("first")

    def define(self, head: str) -> None:
        """Make an LLVM function with this head of what has been written."""
        scope = f"!dbg {self.scope} " if self.scope else ""
        lines = ["entry:", *self.w.allocas, "  br label %first", *self.w.lines]
        if is_widened(self.lanes.target, self.lanes.lanes):
            lines = widen(head, lines)
        body = "\n".join(lines)
        self.shared.functions.append(f"define {head} #0 {scope}{{\n{body}\n}}")

    def one(self, op: Operation, leaves: list[LaneValue]) -> None:
        self.values[op.results[0]] = leaves

    # -- constants and arithmetic -------------------------------------------------------------------------------

    def op_const(self, op: Operation) -> None:
        s = element(op.result.type)
        assert isinstance(s, Scalar)
        numbers = op.attr if isinstance(op.attr, tuple) else (op.attr,)
        self.one(op, [LaneValue(s, literal(n, s)) for n in numbers])

    def op_zero(self, op: Operation) -> None:
        self.one(op, [LaneValue(leaf, literal(0, leaf)) for _, leaf in memory_leaves(op.result.type)])

    def elementwise(self, op: Operation) -> None:
        operands = [self.get(a) for a in op.args]
        if op.code == "fma":
            self.one(op, [self.lanes.multiply_add(*leaf) for leaf in zip(*operands)])
        elif op.code in ("shl", "shr"):
            most = upper_bound(op.args[1])
            self.one(op, [self.lanes.shift(op.code, a, b, most) for a, b in zip(*operands)])
        elif len(operands) == 1:
            self.one(op, [self.lanes.unary(op.code, *leaf) for leaf in zip(*operands)])
        else:
            self.one(op, [self.lanes.binary(op.code, *leaf) for leaf in zip(*operands)])

    def op_from_end(self, op: Operation) -> None:
        (index,), (extent,) = (self.get(a) for a in op.args)
        self.one(op, [self.lanes.from_end(index, extent, self._read_side_by_side(op.args[0]))])

    def _read_side_by_side(self, index: Value) -> bool:
        """True if lanes read this index from neighbouring elements of an integer array, so that it may be a row."""
        load = index.op
        if load is None or load.code != "load" or load.attr or self.memory.rarely or self.in_planes(load.args[0]):
            return False
        (inner,) = self.get(load.args[-1])
        return (inner if inner.mostly is None else inner.mostly.value).stride == 1

    def op_libm(self, op: Operation) -> None:
        t = element(op.result.type)
        assert isinstance(t, Scalar)
        self.one(op, [self.lanes.libm(op.attr, t, list(leaf)) for leaf in zip(*(self.get(a) for a in op.args))])

    def op_select(self, op: Operation) -> None:
        (cond,), a, b = (self.get(x) for x in op.args)
        self.one(op, [self.lanes.select(cond, x, y) for x, y in zip(a, b)])

    def op_cast(self, op: Operation) -> None:
        t = element(op.attr)
        source = op.args[0].op
        wraps = source is None or source.code not in ("tid", "block_tid", "thread_index")
        self.one(op, [self.lanes.cast(v, t, wraps) for v in self.get(op.args[0])])

    def op_bitcast(self, op: Operation) -> None:
        self.one(op, [self.lanes.bitcast(self.get(op.args[0])[0], op.attr)])

    # -- aggregates ---------------------------------------------------------------------------------------------

    def op_make(self, op: Operation) -> None:
        self.one(op, self.gets(op.args))

    def op_splat(self, op: Operation) -> None:
        self.one(op, self.get(op.args[0]) * op.attr.count)

    def op_extract(self, op: Operation) -> None:
        start, end = member_range(op.args[0].type, op.attr)
        self.one(op, self.get(op.args[0])[start:end])

    def op_insert(self, op: Operation) -> None:
        start, end = member_range(op.args[0].type, op.attr)
        whole = self.get(op.args[0])
        self.one(op, whole[:start] + self.get(op.args[1]) + whole[end:])

    def op_extract_dyn(self, op: Operation) -> None:
        """A chain of selects; an index outside gives the first component, or zero where a vector is empty."""
        parts, (index,) = self.get(op.args[0]), self.get(op.args[1])
        scalar = op.result.type
        result = parts[0] if parts else LaneValue(scalar, literal(0, scalar))
        for i, part in enumerate(parts[1:], 1):
            here = self.lanes.binary("eq", index, LaneValue(index.type, str(i)))
            result = self.lanes.select(here, part, result)
        self.one(op, [result])

    def op_insert_dyn(self, op: Operation) -> None:
        """An index outside changes nothing."""
        parts, (value,), (index,) = (self.get(a) for a in op.args)
        at = [self.lanes.binary("eq", index, LaneValue(index.type, str(i))) for i in range(len(parts))]
        self.one(op, [self.lanes.select(here, value, part) for here, part in zip(at, parts)])

    # -- memory -------------------------------------------------------------------------------------------------

    def op_alloca(self, op: Operation) -> None:
        t = op.attr
        if op.result not in self.stack:  # a body may be emitted twice
            self.stack[op.result] = self.locals.allocate(t)
        self.one(op, self.locals.descriptor(t, self.stack[op.result], self.in_planes(op.result)))

    def in_planes(self, array: Value) -> bool:
        return array in self.facts.local

    def place(self, op: Operation, path: tuple[int, ...]) -> tuple[LaneValue, Any, int, int]:
        """Where an access goes: (address, element type, first leaf, end leaf). Partial paths keep the element's own
        address, so that neighbouring lanes' elements are recognised, except below a dynamic component.
        """
        spread = self.lanes.lanes if self.in_planes(op.args[0]) else 1
        array = op.args[0].type
        assert isinstance(array, Array)
        indices = [self.get(a)[0] for a in op.args[1 : 1 + array.ndim]]
        address = self.memory.element(self.get(op.args[0]), array, indices)
        offset, start, end, t = path_range(array.dtype, path)
        if -1 not in path:
            return address, array.dtype, start, end
        assert isinstance(t, Packed)
        index = self.memory.wide(self.get(op.args[1 + array.ndim])[0])
        address = self.memory.displace(address, offset * spread)
        scaled = self.lanes.binary("mul", index, LaneValue(I64, str(t.scalar.size * spread)))
        return self.memory.advance(address, scaled), t.scalar, 0, 1

    def picked(self, op: Operation) -> PromotedArray | None:
        """The access of a small local array whose lanes name different elements."""
        array = op.args[0].type
        if self.facts.local.get(op.args[0]) is not op.args[0] or -1 in op.attr:
            return None
        indices = [self.get(a)[0] for a in op.args[1 : 1 + array.ndim]]
        if all(i.uniform for i in indices) or not is_promotable(array):
            return None
        return PromotedArray(self.locals, array, self.stack[op.args[0]], indices)

    def op_load(self, op: Operation) -> None:
        picked = self.picked(op)
        if picked:
            _, start, end, _ = path_range(op.args[0].type.dtype, op.attr)
            self.one(op, picked.load(start, end))
            return
        address, t, start, end = self.place(op, op.attr)
        memory = self.locals if self.in_planes(op.args[0]) else self.memory
        self.one(op, memory.load(address, t, start, end, self.mask))

    def op_store(self, op: Operation) -> None:
        picked = self.picked(op)
        if picked:
            _, start, _, _ = path_range(op.args[0].type.dtype, op.attr)
            picked.store(start, self.get(op.args[-1]), self.mask)
            return
        address, t, start, _ = self.place(op, op.attr)
        memory = self.locals if self.in_planes(op.args[0]) else self.memory
        memory.store(address, t, start, self.get(op.args[-1]), self.mask)

    def op_atomic(self, op: Operation) -> None:
        kind, path = op.attr
        assert kind in ATOMIC_KINDS
        address, t, start, end = self.place(op, path)
        values = self.get(op.args[-1])
        compares = self.get(op.args[-2]) if kind == "cas" else [None] * len(values)
        if op in self.totals.operations and address.uniform and address.mostly is None:
            for i, ((offset, leaf), value) in enumerate(zip(memory_leaves(t)[start:end], values)):
                self.totals.add(op, i, leaf, self.memory.displace(address, offset), value, self.mask)
            self.one(op, [LaneValue(v.type, literal(0, v.type)) for v in values])
            return
        if op in self.log.operations or op in self.private_adds.operations:
            way = self.log if op in self.log.operations else self.private_adds
            way.add(op, address, t, start, values, self.mask)
            self.one(op, [LaneValue(v.type, literal(0, v.type)) for v in values])
            return
        used = op.result in self.facts.used
        results = []
        for (offset, leaf), value, compare in zip(memory_leaves(t)[start:end], values, compares):
            at = self.memory.displace(address, offset)
            results.append(self.atomics.emit(kind, at, leaf, value, compare, used, self.mask))
        self.one(op, results)

    def op_shape(self, op: Operation) -> None:
        self.one(op, [self.lanes.cast(self.get(op.args[0])[2 + op.attr], I32)])

    def op_extent(self, op: Operation) -> None:
        self.one(op, [self.get(op.args[0])[2 + op.attr]])

    def op_size(self, op: Operation) -> None:
        t = op.args[0].type
        assert isinstance(t, Array)
        extents = self.get(op.args[0])[2 : 2 + t.ndim]
        self.one(op, [self.lanes.cast(reduce(partial(self.lanes.binary, "mul"), extents), I32)])

    def op_slice(self, op: Operation) -> None:
        t = op.args[0].type
        assert isinstance(t, Array)
        array = self.get(op.args[0])
        operands = [self.memory.wide(self.get(a)[0]) for a in op.args[1:]]
        self.one(op, self.memory.slice(array, t.ndim, slice_parts(operands, op.attr)))

    def op_view_at(self, op: Operation) -> None:
        array = self.get(op.args[0])
        offset, *extents = [self.memory.wide(self.get(a)[0]) for a in op.args[1:]]
        self.one(op, self.memory.view_at(array[0], offset, extents, op.result.type.dtype.size))  # type: ignore[union-attr]

    def op_grad(self, op: Operation) -> None:
        array = self.get(op.args[0])
        self.one(op, [array[1], LaneValue(PTR, "null"), *array[2:]])

    def op_array_at(self, op: Operation) -> None:
        (address,), (count,) = (self.get(a) for a in op.args)
        data = self.memory.pointer(address)
        size = LaneValue(I64, str(op.attr.size))
        self.one(op, [data, LaneValue(PTR, "null"), self.lanes.cast(count, I64), size])

    def op_is_structure(self, op: Operation) -> None:
        self.one(op, [self.reports.is_structure(self.get(op.args[0])[0])])

    def op_stash(self, op: Operation) -> None:
        self.one(op, self.stashes[op.attr])

    def op_is_null(self, op: Operation) -> None:
        self.one(op, [self.memory.is_null(self.get(op.args[0])[0])])

    # -- threads, calls, reports --------------------------------------------------------------------------------

    def op_tid(self, op: Operation) -> None:
        assert self.tids is not None
        self.one(op, [self.tids(*op.attr)])

    def op_thread_index(self, op: Operation) -> None:
        assert self.thread_index is not None
        self.one(op, [self.thread_index])

    def op_block_tid(self, op: Operation) -> None:
        assert self.block_tids, "launches refuse rows that are no whole blocks"
        self.one(op, [self.block_tids[op.attr[0]]])

    def op_block_index(self, op: Operation) -> None:
        assert self.block_index is not None
        self.one(op, [self.block_index])

    def op_threads(self, op: Operation) -> None:
        assert self.run_threads is not None
        self.run_threads(op)

    def op_elements(self, op: Operation) -> None:
        assert self.run_elements is not None
        self.run_elements(op)

    def op_shared(self, op: Operation) -> None:
        self.one(op, shared_array(self.memory, op.attr))

    def op_shared_part(self, op: Operation) -> None:
        t, offset = op.attr
        self.one(op, array_in_block(t, self.memory.displace(self.get(op.args[0])[0], offset)))

    def op_shuffle(self, op: Operation) -> None:
        (by,) = self.get(op.args[1])
        self.one(op, self.warps.shuffle(op.attr, self.get(op.args[0]), by))

    def op_ballot(self, op: Operation) -> None:
        self.one(op, [self.warps.ballot(self.get(op.args[0])[0])])

    def op_call(self, op: Operation) -> None:
        assert self.shared.emit_callee is not None
        varying = tuple(a in self.facts.varying for a in op.args)
        self.sets(op.results, self.shared.emit_callee(self, op.attr, varying, op.args))

    def op_printf(self, op: Operation) -> None:
        slots = [self.slot(v) for a in op.args for v in self.get(a)]
        self.reports.printf(op.attr, slots, self.mask)

    def op_fail(self, op: Operation) -> None:
        """Report a failure, or the first of several for each lane."""
        site, slots = self.reported(self.failures[-1].op if self.failures else op)
        for ok, earlier in reversed(self.failures[:-1]):
            (holds,) = self.get(ok)
            at, given = self.reported(earlier)
            site = self.lanes.select(holds, site, at)
            slots = [self.lanes.select(holds, a, b) for a, b in zip_longest(slots, given, fillvalue=_NO_SLOT)]
        self.reports.fail(site, self.thread, slots, self.mask)

    def reported(self, op: Operation) -> tuple[LaneValue, list[LaneValue]]:
        """The number of a failure, and its operands as native code takes them."""
        slots = [self.slot(v) for a in op.args for v in self.get(a)]
        return LaneValue(I32, str(self.shared.site(op))), slots[:MAX_SLOTS]

    def slot(self, v: LaneValue) -> LaneValue:
        """`v` in the 64-bit form of the reporting functions."""
        assert isinstance(v.type, Scalar)
        if v.type.is_float:
            return self.lanes.bitcast(self.lanes.cast(v, F64), I64)
        return self.lanes.cast(v, I64)
