"""Operations that GPU threads execute differently from CPU lanes: atomics, reports, the C library's functions,
conversions.

A kernel for a GPU is emitted for one lane by the code that serves CPUs. These classes, named by `PARTS`, take the place
of the CPU's where instructions differ. `cuda_kernel.py` has the kernel around them.
"""

from __future__ import annotations

import re

from ...ir.ops import EXCHANGES, UPDATES
from ...lang.types import BOOL, F16, F32, F64, I32, I64, U32, Scalar
from ..accumulate.reductions import Reductions
from ..atomics import REDUCIBLE, Atomics, combining
from ..fmod import fmod
from ..function import Emitters
from ..lane_arithmetic import LaneArithmetic, LaneValue
from ..runtime_calls import Reports
from ..writer import NARROW, Leaf, literal, llvm_type, memory_type

_NEVER = (1 << 63) - 1  # wc_failure.thread while nothing failed
STRUCTURES = 80  # where the memory of descriptors is told in the launch's record, behind its wc_failure
_PRINTED = 32  # operands that one call of vprintf takes
_WARP = (16, 8, 4, 2, 1)


class CudaLanes(LaneArithmetic):
    """Arithmetic of one thread."""

    def libm(self, name: str, t: Scalar, args: list[LaneValue]) -> LaneValue:
        """Functions of the C library come from libdevice, in double; remainders are our own."""
        if name == "fmod":
            kind = F64 if t is F64 else F32
            self.declare(fmod(kind))
            ty = llvm_type(kind)
            given = ", ".join(f"{ty} {self.cast(a, kind).text}" for a in args)
            return self.cast(LaneValue(kind, self.w.inst(f"call {ty} @fmod_{kind.key}({given})")), t)
        given = ", ".join(f"double {self.cast(a, F64).text}" for a in args)
        self.declare(f"declare double @__nv_{name}({', '.join(['double'] * len(args))})")
        return self.cast(LaneValue(F64, self.w.inst(f"call double @__nv_{name}({given})")), t)

    def _cast(self, s: Scalar, t: Scalar, n: int, x: str) -> str:
        """The conversion instruction clamps by itself, and makes 0 of NaN."""
        if s is F32 and t in (I32, U32):
            name = "llvm.nvvm.f2i.rz" if t is I32 else "llvm.nvvm.f2ui.rz"
            return self.intrinsic(name, "i32", ("float", x))
        return super()._cast(s, t, n, x)

    def from_thread(self, how: str, v: LaneValue, where: str, threads: str = "-1") -> LaneValue:
        """The value of another thread of the warp: a `shuffle` of ir/ops.py. `threads` has a bit for each that is here.
        The instruction is for 32 bits: smaller numbers are extended, larger ones go in two parts.
        """
        t = v.type
        ty, bits, inst = llvm_type(t), llvm_type(t) if t is BOOL else f"i{t.bits}", self.w.inst
        raw = inst(f"bitcast {ty} {v.text} to {bits}") if ty != bits else v.text
        if bits == "i32":
            moved = self._shuffle(how, raw, where, threads)
        elif bits == "i64":
            low = inst(f"trunc i64 {raw} to i32")
            high = inst(f"trunc i64 {inst(f'lshr i64 {raw}, 32')} to i32")
            low, high = (inst(f"zext i32 {self._shuffle(how, x, where, threads)} to i64") for x in (low, high))
            moved = inst(f"or i64 {low}, {inst(f'shl i64 {high}, 32')}")
        else:
            wide = inst(f"zext {bits} {raw} to i32")
            moved = inst(f"trunc i32 {self._shuffle(how, wide, where, threads)} to {bits}")
        return LaneValue(t, inst(f"bitcast {bits} {moved} to {ty}") if ty != bits else moved)

    def _shuffle(self, how: str, value: str, where: str, threads: str) -> str:
        name = {"lane": "idx", "xor": "bfly"}.get(how, how)
        given = ("i32", threads), ("i32", value), ("i32", where), ("i32", "0" if how == "up" else "31")
        return self.intrinsic(f"llvm.nvvm.shfl.sync.{name}.i32", "i32", *given)


class CudaAtomics(Atomics):
    """Atomics among the threads of the device. Where all threads of a launch update one element, the threads of a warp
    first bring together what they have: `together` says that the next operation is such a one.
    """

    lanes: CudaLanes
    scope = ' syncscope("device")'
    together = False
    anywhere = True  # the address may be in the thread's own memory: it came as an argument

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
        assert isinstance(leaf, Scalar)
        if self.together and not used and kind in REDUCIBLE:
            self.once(kind, address.text, leaf, value)
            return LaneValue(leaf, literal(0, leaf))
        if self.together and used and kind in ("add", "sub") and value.literal_int is not None and leaf.bits >= 32:
            return self._counted(kind, address.text, leaf, value.literal_int)
        return super().emit(kind, address, leaf, value, compare, used, mask)

    def once(self, kind: str, address: str, leaf: Leaf, value: LaneValue, mask: str | None = None) -> None:
        """One atomic for a warp whose threads are all here, else one for each thread. All addresses are the same one,
        or null for threads that do not take part.
        """
        assert isinstance(leaf, Scalar)
        w = self.w
        whole, some, leader, done = (w.label(hint) for hint in ("warp", "threads", "leader", "counted"))
        active = self._sreg("activemask", "")
        here = w.inst(f"icmp ne ptr {address}, null")
        w.cond_br(w.inst(f"icmp eq i32 {active}, -1"), whole, some)
        w.start(whole)
        reduced = self._reduce_warp(kind, leaf, value).text
        voters = self.lanes.intrinsic("llvm.nvvm.vote.ballot.sync", "i32", ("i32", "-1"), ("i1", here))
        before = w.inst(f"and i32 {voters}, {self._sreg('lanemask.lt')}")
        first = w.inst(f"icmp eq i32 {before}, 0")
        w.cond_br(w.inst(f"and i1 {here}, {first}"), leader, done)
        w.start(leader)
        self._one(kind, address, leaf, reduced, None)
        w.br(done)
        w.start(some)
        alone = w.label("alone")
        w.cond_br(here, alone, done)
        w.start(alone)
        self._one(kind, address, leaf, value.text, None)
        w.br(done)
        w.start(done)

    def _sreg(self, name: str, prefix: str = "read.ptx.sreg.") -> str:
        return self.lanes.intrinsic(f"llvm.nvvm.{prefix}{name}", "i32")

    def _reduce_warp(self, kind: str, t: Scalar, value: LaneValue) -> LaneValue:
        """Emit the reduction over the 32 threads of a warp, with the result in each of them."""
        if t.is_int and t.bits == 32 and int(self.lanes.target.cpu.removeprefix("sm_")) >= 80:
            name = _redux(kind, t)
            arguments = ("i32", value.text), ("i32", "-1")
            return LaneValue(t, self.lanes.intrinsic(f"llvm.nvvm.redux.sync.{name}", "i32", *arguments))
        for distance in _WARP:
            other = self.lanes.from_thread("xor", value, str(distance))
            value = self.lanes.binary(combining(kind), value, other)
        return value

    def _counted(self, kind: str, address: str, t: Scalar, step: int) -> LaneValue:
        """The threads that are here each take `step` of a counter: one of them takes all, the others their turn."""
        w, ty = self.w, llvm_type(t)
        leader, join = w.label("leader"), w.label("counted")
        active = self._sreg("activemask", "")
        below = w.inst(f"and i32 {active}, {self._sreg('lanemask.lt')}")
        bit = w.inst(f"and i32 {active}, {w.inst(f'sub i32 0, {active}')}")
        under = w.inst(f"sub i32 {bit}, 1")  # a bit for each lane below the first that is here
        count, rank, lowest = (
            self.lanes.intrinsic("llvm.ctpop.i32", "i32", ("i32", x)) for x in (active, below, under)
        )
        entry = w.block
        w.cond_br(w.inst(f"icmp eq i32 {rank}, 0"), leader, join)
        w.start(leader)
        whole = w.inst(f"mul {ty} {self._as(t, count)}, {step}")
        old = self._one(kind, address, t, whole, None)
        last = w.block
        w.br(join)
        w.start(join)
        first = w.phi(ty, [("0", entry), (old, last)])
        first = self.lanes.from_thread("lane", LaneValue(t, first), lowest, active).text
        mine = w.inst(f"mul {ty} {self._as(t, rank)}, {step}")
        return LaneValue(t, w.inst(f"{kind} {ty} {first}, {mine}"))

    def _as(self, t: Scalar, count: str) -> str:
        return count if t.bits == 32 else self.w.inst(f"zext i32 {count} to i{t.bits}")

    def _one(self, kind: str, address: str, t: Scalar, value: str, compare: str | None) -> str:
        """There are no atomic instructions for a thread's own memory."""
        if not self.anywhere:
            return self._shared(kind, address, t, value, compare)
        w = self.w
        own, shared, done = w.label("own"), w.label("shared"), w.label("changed")
        w.cond_br(self.lanes.intrinsic("llvm.nvvm.isspacep.local", "i1", ("ptr", address)), own, shared)
        w.start(own)
        edges = [(self._alone(kind, address, t, value, compare), w.block)]
        w.br(done)
        w.start(shared)
        self.anywhere = False
        edges.append((self._shared(kind, address, t, value, compare), w.block))
        self.anywhere = True
        w.br(done)
        w.start(done)
        return w.phi(memory_type(t), edges)

    def _alone(self, kind: str, address: str, t: Scalar, value: str, compare: str | None) -> str:
        """Emit the effect of an atomic operation without an atomic instruction."""
        ty = memory_type(t)
        old = self.w.inst(f"load {ty}, ptr {address}, align {t.align}")
        new = value
        if kind == "cas":
            bits = f"i{8 * t.size}"
            a, b = (self._bitcast(ty, bits, x) if ty != bits else x for x in (old, compare))
            new = self.w.inst(f"select i1 {self.w.inst(f'icmp eq {bits} {a}, {b}')}, {ty} {value}, {ty} {old}")
        elif kind not in EXCHANGES:
            new = self.updated(kind, LaneValue(t, old), LaneValue(t, value)).text
        self.w.do(f"store {ty} {new}, ptr {address}, align {t.align}")
        return old

    def _shared(self, kind: str, address: str, t: Scalar, value: str, compare: str | None) -> str:
        if t.is_float and kind == "sub":
            return self._one("add", address, t, self.lanes.unary("neg", LaneValue(t, value)).text, None)
        if t is F16 and kind == "add":
            half = self.w.inst(f"bitcast i16 {value} to half")
            old = self.w.inst(f"atomicrmw fadd ptr {address}, half {half}{self.scope} monotonic")
            return self.w.inst(f"bitcast half {old} to i16")
        if t.is_float and t not in NARROW and kind in ("min", "max"):
            return self._extremum(kind, address, t, value)
        return super()._one(kind, address, t, value, compare)

    def _extremum(self, kind: str, address: str, t: Scalar, value: str) -> str:
        """Floats without a sign are ordered as their bits are, as signed integers even below those with a sign. Floats
        with a sign are ordered the other way round, as unsigned integers above those without.

        NaN changes nothing: it goes to memory as the integer at the end of that order. One in memory gives way to a
        number, by the same order if its sign is right. Else the integer instruction leaves it there, which is known by
        what was found, and it is exchanged.
        """
        w, ty, bits = self.w, llvm_type(t), f"i{t.bits}"
        exponent = {32: 0xFF, 64: 0x7FF}[t.bits] << {32: 23, 64: 52}[t.bits]  # the bits of infinity
        if kind == "max":
            last, order, stays = -1, "sgt", exponent
        else:
            last, order, stays = (1 << (t.bits - 1)) - 1, "ugt", exponent - (1 << (t.bits - 1))
        number = w.inst(f"fcmp ord {ty} {value}, {value}")
        raw = w.inst(f"select i1 {number}, {bits} {self._bitcast(ty, bits, value)}, {bits} {last}")
        loop, plain, signed, met, taken, done = (
            w.label(hint) for hint in ("extremum", "plain", "signed", "met", "exchange", "updated")
        )
        w.br(loop)
        w.start(loop)
        w.cond_br(w.inst(f"icmp sge {bits} {raw}, 0"), plain, signed)
        edges = []
        for label, name in ((plain, kind), (signed, "umin" if kind == "max" else "umax")):
            w.start(label)
            edges.append((w.inst(f"atomicrmw {name} ptr {address}, {bits} {raw}{self.scope} monotonic"), w.block))
            w.br(met)
        w.start(met)
        found = w.phi(bits, edges)
        w.cond_br(w.inst(f"and i1 {number}, {w.inst(f'icmp {order} {bits} {found}, {stays}')}"), taken, done)
        w.start(taken)
        pair = w.inst(f"cmpxchg ptr {address}, {bits} {found}, {bits} {raw}{self.scope} monotonic monotonic")
        w.cond_br(w.inst(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), done, loop)
        w.start(done)
        return self._bitcast(bits, ty, found)


class CudaTotals(Reductions):
    """Reductions that a thread computes while it passes over the launch in strides."""

    def finish(self) -> None:
        """Threads without an address have nothing to add, and hand in what changes nothing."""
        for _, kind, leaf, total, place in self.slots.values():
            address = self.w.inst(f"load ptr, ptr {place}")
            value = self.w.inst(f"load {llvm_type(leaf)}, ptr {total}")
            self.atomics.once(kind, address, leaf, LaneValue(leaf, value))


def _redux(kind: str, t: Scalar) -> str:
    if kind in UPDATES:
        return kind if t.is_signed else f"u{kind}"
    return combining(kind)


_FORMAT = re.compile(r"%(?:%|([-+ 0#]*\d*(?:\.\d+)?)(?:hh|h|ll|l|z)?([a-zA-Z]))")
_WIDE = "diuxXo"


class CudaReports(Reports):
    """Output through the driver's vprintf, failures into the launch's record, which `%context` points to."""

    def printf(self, text: str, slots: list[LaneValue], mask: str | None) -> None:
        """Print in calls of as many operands as one may have. Other threads may print between two of them."""
        self.declare("declare i32 @vprintf(ptr, ptr)")
        for piece, kinds in printed_pieces(text):
            given, slots = slots[: len(kinds)], slots[len(kinds) :]
            given = [self._truth(v) if kind == "s" else v for v, kind in zip(given, kinds)]
            buffer = self.w.alloca(f"[{max(1, len(given))} x i64], align 8")
            self._fill(buffer, given, "0")
            self.w.do(f"call i32 @vprintf(ptr {self._string(piece)}, ptr {buffer})")

    def _truth(self, slot: LaneValue) -> LaneValue:
        """The address of the word for a truth value, as a number."""
        yes, no = (f"ptr {self._string(word)}" for word in ("True", "False"))
        word = self.w.inst(f"select i1 {self.w.inst(f'icmp ne i64 {slot.text}, 0')}, {yes}, {no}")
        return LaneValue(I64, self.w.inst(f"ptrtoint ptr {word} to i64"))

    def is_structure(self, address: LaneValue) -> LaneValue:
        """Whether an address lies in the memory of descriptors. The launch's record says where that is."""
        w = self.w
        begin, size = (
            w.inst(f"load i64, ptr {w.inst(f'getelementptr i8, ptr %context, i64 {offset}')}, align 8")
            for offset in (STRUCTURES, STRUCTURES + 8)
        )
        offset = w.inst(f"sub i64 {address.text}, {begin}")
        inside = w.inst(f"icmp ult i64 {offset}, {size}")
        aligned = w.inst(f"icmp eq i64 {w.inst(f'and i64 {offset}, 7')}, 0")
        return LaneValue(BOOL, w.inst(f"and i1 {inside}, {aligned}"))

    def fail(self, site: LaneValue, thread: str, slots: list[LaneValue], mask: str | None) -> None:
        """The first thread to take the record (`wc_failure` of abi.h) writes the rest of it."""
        w = self.w
        won, done = w.label("failed"), w.label("reported")
        pair = w.inst(f"cmpxchg ptr %context, i64 {_NEVER}, i64 {thread}{CudaAtomics.scope} monotonic monotonic")
        w.cond_br(w.inst(f"extractvalue {{ i64, i1 }} {pair}, 1"), won, done)
        w.start(won)
        for offset, number in ((8, site.text), (12, len(slots))):
            at = w.inst(f"getelementptr i8, ptr %context, i64 {offset}")
            w.do(f"store i32 {number}, ptr {at}")
        self._fill(w.inst("getelementptr i8, ptr %context, i64 16"), slots, "0")
        w.br(done)
        w.start(done)


def printed_pieces(text: str) -> list[tuple[str, str]]:
    """A format in parts that vprintf takes: (format, letters of its operands). Integers are 64 bits wide."""
    pieces: list[tuple[str, str]] = []
    piece = kinds = ""
    at = 0
    for m in _FORMAT.finditer(text):
        piece += text[at : m.start()]
        at = m.end()
        if not m[2]:
            piece += "%%"
            continue
        if len(kinds) == _PRINTED:
            pieces.append((piece, kinds))
            piece = kinds = ""
        conversion = "g" if m[2] == "r" else m[2]  # vprintf cannot tell how many digits a number needs
        piece += f"%{m[1]}{'ll' if m[2] in _WIDE else ''}{conversion}"
        kinds += m[2]
    return [*pieces, (piece + text[at:], kinds)]


PARTS = Emitters(CudaLanes, CudaAtomics, CudaReports, CudaTotals)
