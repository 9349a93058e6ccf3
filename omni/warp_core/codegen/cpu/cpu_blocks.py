"""Kernels that work in blocks of threads, on a CPU: one thread of the pool runs a block at a time.

`passes/barrier_fission.py` has split the kernel at its barriers. What stands outside of `threads` and `elements` is
emitted once for a block, as scalar code. Each `threads` becomes a loop over groups of lanes, and so does each row of
the grid of `elements`. Shared arrays lie on the stack. Warps are groups of 32 lanes, so that shuffles stay in
registers. Start with `Blocks.run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.analysis.uniformity import reconverges
from ...ir.interp.block_runner import source_lane
from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import EXCHANGES, OPS
from ...lang.launch_constants import WARP
from ...lang.types import I32, I64, U32, FixedArray, Scalar
from ..atomics import Atomics
from ..joins import PhiJoin
from ..lane_arithmetic import LaneArithmetic, LaneValue
from ..memory_access import Memory
from ..writer import PTR, Leaf, sequence

if TYPE_CHECKING:
    from .cpu_kernel import KernelEmitter

_ALIGN = 64


def whole_warps(fn: Function) -> bool:
    """True if groups of lanes must be warps."""
    return any(op.code in ("shuffle", "ballot") for op in fn.body.walk())


class Blocks:
    """The loops of a kernel's function around its body."""

    def __init__(self, kernel: KernelEmitter):
        self.kernel, self.w = kernel, kernel.w
        self.size = kernel.fn.block_dim
        self.partial = not kernel.shared.options.whole_blocks
        self.first = ""  # the flattened index of the block's first thread
        self.column = ""  # and that in its row
        self.outer: list[LaneValue] = []  # the indices of the row
        self.once = kernel.thread_index, kernel.tids  # those where code is done once

    def run(self) -> None:
        """Run the blocks of [begin, end), which are whole."""
        k, w = self.kernel, self.w
        with w.loop("%begin", "%end", ("blocks", "block", "endblocks")) as (self.first, following):
            number = w.inst(f"udiv i64 {self.first}, {self.size}")
            k.block_index = LaneValue(I32, w.inst(f"trunc i64 {number} to i32"))
            self.find_row()
            k.block_tids = self.outer
            k.run_threads, k.run_elements = self.threads, self.elements
            k.thread, k.values, k.mask = self.first, dict(k.params), None
            if self.size == 1:  # its thread is known where code is done once
                self.at("0", 0)
            self.once = k.thread_index, k.tids
            k.returns = PhiJoin(k, "endblock", [])
            k.region(k.fn.body, k.returns)
            k.returns.finish()
            w.do(f"{following} = add i64 {self.first}, {self.size}")

    def find_row(self) -> None:
        """Find the block in a launch of several dimensions, if rows of the last dimension consist of whole blocks."""
        k, w = self.kernel, self.w
        self.outer, self.column = [], self.first
        if k.arity > 1 and not k.shared.options.flat:
            dims = [k.dim(i) for i in range(k.arity)]
            self.column = w.inst(f"urem i64 {self.first}, {dims[-1]}")
            left = w.inst(f"udiv i64 {self.first}, {dims[-1]}")
            for extent in reversed(dims[1:-1]):
                self.outer.insert(0, LaneValue(I32, w.inst(f"trunc i64 {w.inst(f'urem i64 {left}, {extent}')} to i32")))
                left = w.inst(f"udiv i64 {left}, {extent}")
            self.outer.insert(0, LaneValue(I32, w.inst(f"trunc i64 {left} to i32")))

    def threads(self, op: Operation) -> None:
        """Run a segment for all threads of the block."""
        if self.partial:
            self.present_threads(op)
            return
        w, n = self.w, self.kernel.lanes.lanes
        whole = self.size // n * n
        known = self.kernel.values
        if whole == n:
            self.group(op, "0", None, known)
        elif whole:
            head, done = w.label("group"), w.label("endgroups")
            entry, column, following = w.block, w.name(), w.name()
            w.br(head)
            w.start(head)
            at = len(w.lines)
            self.group(op, column, None, known)
            w.lines.insert(at, f"  {column} = phi i64 [ 0, %{entry} ], [ {following}, %{w.block} ]")
            w.do(f"{following} = add i64 {column}, {n}")
            w.cond_br(w.inst(f"icmp slt i64 {following}, {whole}"), head, done)
            w.start(done)
        if whole < self.size:
            self.group(op, str(whole), f"splat (i64 {self.size % n})", known)
        self.after(known)

    def after(self, known: dict[Value, list[LaneValue]]) -> None:
        """Go on with what is done once for the block."""
        self.kernel.values, self.kernel.mask, self.kernel.thread = known, None, self.first
        self.kernel.thread_index, self.kernel.tids = self.once
        self.kernel.locals.whole = None

    def at(self, column: str, step: int) -> None:
        """Stand at thread `column` of the block, and at those behind it if there is a `step` from lane to lane."""
        k, w = self.kernel, self.w
        k.thread = w.inst(f"add i64 {self.first}, {column}")
        number = column if column.isdigit() else w.inst(f"trunc i64 {column} to i32")
        k.thread_index = LaneValue(I32, number, step)
        indices = None
        if self.outer:
            place = w.inst(f"add i64 {self.column}, {column}")
            indices = [*self.outer, LaneValue(I32, w.inst(f"trunc i64 {place} to i32"), step)]
        k.take_indices(LaneValue(I32, w.inst(f"trunc i64 {k.thread} to i32"), step), indices)

    def elements(self, op: Operation) -> None:
        """Run a region for the elements of a grid, those of a row as lanes."""
        known = self.kernel.values
        self.grid(op, [self.extent(a) for a in op.args], [])
        self.after(known)

    def extent(self, count: Value) -> LaneValue:
        """Return an extent of a grid. A constant stays a literal: it says whether the last group of a row is full."""
        if count.is_const:
            return LaneValue(I64, str(count.const))
        return self.kernel.lanes.cast(self.kernel.get(count)[0], I64)

    def grid(self, op: Operation, extents: list[LaneValue], outer: list[LaneValue]) -> None:
        """The elements whose first coordinates are `outer`; `extents` are those of the others."""
        k, w, known = self.kernel, self.w, self.kernel.values
        extent, *others = extents
        if others:
            with w.loop("0", extent.text, ("elements", "element", "endelements")) as (index, following):
                self.grid(op, others, [*outer, LaneValue(I32, w.inst(f"trunc i64 {index} to i32"))])
                w.do(f"{following} = add i64 {index}, 1")
            return

        count, n, region = extent.literal_int, k.lanes.lanes, op.regions[0]
        k.values = {**known, **{p: [v] for p, v in zip(region.params, outer)}}
        region = self.of_elements(region) if count else region
        of_row = k.values

        def row(column: str) -> None:
            last = LaneValue(I32, w.inst(f"trunc i64 {column} to i32"), 1 if n > 1 else 0)
            k.values = {**of_row, region.params[-1]: [last]}
            self.segment(region)

        if count is not None and count < n:
            k.lanes_before(str(count), "0")
            row("0")
        else:
            k.columns(region, "0", extent.text, row, rest=count is None or count % n > 0)

    def of_elements(self, region: Region) -> Region:
        """Compute what all elements of a row have in common. Returns what is left of the region of an element."""
        left, varying = Region(region.params), {region.params[-1]}
        for op in region.ops:
            if OPS[op.code].pure and varying.isdisjoint(op.args):
                self.kernel.operation(op)
            else:
                varying.update(op.results)
                left.ops.append(op)
        return left

    def present_threads(self, op: Operation) -> None:
        """Run a segment for the threads of a block that may be the last of the launch, and not whole."""
        w, n, known = self.w, self.kernel.lanes.lanes, self.kernel.values
        count = w.inst(f"sub i64 %end, {self.first}")
        count = w.inst(f"select i1 {w.inst(f'icmp slt i64 {count}, {self.size}')}, i64 {count}, i64 {self.size}")
        with w.loop("0", count, ("group", "present", "endgroups")) as (column, following):
            left = w.inst(f"sub i64 {count}, {column}")
            self.group(op, column, self.kernel.lanes.splat(left, I64) if n > 1 else None, known)
            w.do(f"{following} = add i64 {column}, {n}")
        self.after(known)

    def group(self, op: Operation, column: str, left: str | None, known: dict[Value, list[LaneValue]]) -> None:
        """A segment for one group of lanes, from thread `column` of the block on. `left` is how many threads there are,
        in every lane, if the group may not be full.
        """
        k, w, n = self.kernel, self.w, self.kernel.lanes.lanes
        k.mask = None
        if left is not None:
            k.mask = w.inst(f"icmp slt <{n} x i64> {sequence(0, 1, n)}, {left}")
        k.locals.whole = k.mask
        k.values = dict(known)
        self.at(column, 1 if n > 1 else 0)
        whole = k.stashes
        k.stashes = {cell: self.own_cells(cell, values, column) for cell, values in whole.items()}
        self.segment(op.regions[0])
        k.stashes = whole

    def own_cells(self, cell: Scalar, stash: list[LaneValue], column: str) -> list[LaneValue]:
        """The stash of the threads from thread `column` of the block on."""
        base, *others = stash
        offset = self.w.inst(f"mul i64 {column}, {cell.size}")
        return [LaneValue(PTR, self.w.inst(f"getelementptr i8, ptr {base.text}, i64 {offset}"), base.stride), *others]

    def segment(self, region: Region) -> None:
        end = PhiJoin(self.kernel, "endsegment", [])
        self.kernel.region(region, end)
        end.finish()

    def of_index(self, op: Operation) -> LaneValue | None:
        """Which warp of the block and which lane of it a thread is, and the like: `thread_index` divided by a number.
        Groups begin at multiples of their size, so that a quotient is the same in all lanes and a rest goes up.
        """
        index, by = op.args
        if index.op is None or index.op.code != "thread_index" or not by.is_const or by.const <= 0:
            return None
        lanes, first = self.kernel.lanes, self.kernel.thread_index
        assert first is not None
        n, base = lanes.lanes, LaneValue(I32, first.text)
        if n > 1 and reconverges(op, n):
            count = LaneValue(I32, str(by.const))
            return lanes.shift("shr", base, count, None) if op.code == "shr" else lanes.binary("div", base, count)
        size = by.const + (op.code == "and")
        if op.code not in ("and", "rem") or size & (size - 1) or size % n:
            return None
        rest = lanes.binary("and", base, LaneValue(I32, str(size - 1))) if size > n else LaneValue(I32, "0")
        return LaneValue(I32, rest.text, first.stride)

    def stop(self) -> None:
        """End the launch where a thread has failed: others may not find what it should have left."""
        w, mask = self.w, self.kernel.mask
        failed, fine = w.label("failed"), w.label("fine")
        w.cond_br("true" if mask is None else self.kernel.lanes.any(mask), failed, fine)
        w.start(failed)
        w.do("ret void")
        w.start(fine)


def shared_array(memory: Memory, t: FixedArray) -> list[LaneValue]:
    """The array value of new shared memory."""
    return array_in_block(t, LaneValue(PTR, memory.w.alloca(f"[{max(1, t.bytes)} x i8], align {_ALIGN}")))


def array_in_block(t: FixedArray, address: LaneValue) -> list[LaneValue]:
    """The array value of memory at an address."""
    rows = [t.dtype.size]
    for extent in reversed(t.shape[1:]):
        rows.insert(0, rows[0] * extent)
    return [address, LaneValue(PTR, "null"), *(LaneValue(I64, str(x)) for x in (*t.shape, *rows))]


class BlockAtomics(Atomics):
    """Updates of shared memory: the thread of the machine that runs the block is alone with it."""

    def emit(
        self,
        kind: str,
        address: LaneValue,
        leaf: Leaf,
        value: LaneValue,
        compare: LaneValue | None,
        used: bool,
        mask: str | None,
    ) -> LaneValue:
        """Elements that lie in a row are updated at once."""
        linear = address.mostly.value if address.mostly is not None else address
        if compare is not None or linear.stride is None or abs(linear.stride) < leaf.size:
            return super().emit(kind, address, leaf, value, compare, used, mask)
        if address.mostly is None:
            return self._in_a_row(kind, address, leaf, value, mask)

        def wide() -> list[LaneValue]:
            return [self._in_a_row(kind, linear, leaf, value, mask)]

        def scattered() -> list[LaneValue]:
            return [
                super(BlockAtomics, self).emit(kind, LaneValue(PTR, address.text, None), leaf, value, None, used, mask)
            ]

        return self.memory.either(address.mostly.condition, (wide, scattered), (leaf,))[0]

    def _in_a_row(self, kind: str, address: LaneValue, leaf: Leaf, value: LaneValue, mask: str | None) -> LaneValue:
        (old,) = self.memory.load(address, leaf, 0, 1, mask)  # type: ignore[arg-type]
        new = value if kind in EXCHANGES else self.updated(kind, old, value)
        self.memory.store(address, leaf, 0, [new], mask)  # type: ignore[arg-type]
        return old

    def _one(self, kind: str, address: str, t: Scalar, value: str, compare: str | None) -> str:
        if compare is not None:
            return super()._one(kind, address, t, value, compare)
        at = LaneValue(PTR, address)
        old = self.memory.load_side_by_side(at, t)
        new = LaneValue(t, value) if kind in EXCHANGES else self.updated(kind, old, LaneValue(t, value))
        self.memory.store_side_by_side(at, t, new)
        return old.text


class Warps:
    """Operations of a warp whose lanes are one group."""

    def __init__(self, lanes: LaneArithmetic, memory: Memory):
        self.lanes, self.memory, self.w = lanes, memory, lanes.w

    def ballot(self, said: LaneValue) -> LaneValue:
        """A bit for each lane."""
        if said.uniform:
            return LaneValue(U32, self.w.inst(f"select i1 {said.text}, i32 -1, i32 0"))
        return LaneValue(U32, self.w.inst(f"bitcast <{WARP} x i1> {self.lanes.vector(said)} to i32"))

    def shuffle(self, kind: str, values: list[LaneValue], by: LaneValue) -> list[LaneValue]:
        """For each lane what another one has."""
        if by.literal_int is not None:
            lanes = [source_lane(kind, lane, by.literal_int) for lane in range(WARP)]
            return [self._constant(v, lanes) for v in values]
        source = self._source(kind, by)
        return [v if v.uniform else self._anywhere(v, source) for v in values]

    def _constant(self, v: LaneValue, lanes: list[int]) -> LaneValue:
        if v.uniform:
            return v
        text = self.lanes.vector(v)
        return LaneValue(v.type, self.lanes.shuffle(v.type, WARP, text, text, lanes), None)

    def _source(self, kind: str, by: LaneValue) -> LaneValue:
        """The lane whose value each lane gets."""
        own, last = LaneValue(I32, "0", 1), LaneValue(I32, str(WARP - 1))
        by = self.lanes.binary("and", by, last)
        if kind == "lane":
            return by
        found = self.lanes.binary({"up": "sub", "down": "add", "xor": "xor"}[kind], own, by)
        there = self.lanes.binary("eq", self.lanes.binary("and", found, last), found)
        return self.lanes.select(there, found, own)

    def _anywhere(self, v: LaneValue, source: LaneValue) -> LaneValue:
        """Through memory."""
        leaf: Leaf = v.type
        place = self.w.alloca(f"[{WARP * leaf.size} x i8], align {_ALIGN}")
        self.memory.store_side_by_side(LaneValue(PTR, place, leaf.size), leaf, v)
        offset = self.lanes.binary("mul", self.lanes.cast(source, I64), LaneValue(I64, str(leaf.size)))
        address = self.memory.advance(LaneValue(PTR, place), offset)
        return self.memory.gather(address, leaf, None)
