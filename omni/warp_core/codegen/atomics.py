"""Atomic read-modify-write for all active lanes.

Lanes that update one address, with the old value unused, are first reduced in registers. So memory sees one operation
for a group of lanes, or for a range of threads (see `reductions`), instead of one for a lane. Everything else goes lane
by lane, in order.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.ops import EXCHANGES, UPDATES
from ..lang.semantics import int_range
from ..lang.types import Scalar
from .lane_arithmetic import LaneArithmetic, LaneValue
from .memory_access import Memory, memory_type
from .writer import NARROW, Leaf, constant, literal, llvm_type

REDUCIBLE = frozenset(("add", "sub", "min", "max", "and", "or", "xor"))


class Atomics:
    """Emits atomics through a `LaneArithmetic`."""

    scope = ""  # which threads must see them as atomic, if not all of the machine

    def __init__(self, lanes: LaneArithmetic, memory: Memory):
        self.lanes, self.memory, self.w = lanes, memory, lanes.w

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
        """One atomic of `kind` at `address` for each active lane; the old values."""
        assert isinstance(leaf, Scalar)
        n = self.lanes.lanes
        if n == 1:
            return LaneValue(leaf, self._one(kind, address.text, leaf, value.text, compare.text if compare else None))
        if address.uniform and not used and kind in REDUCIBLE:
            self.once(kind, address.text, leaf, value, mask)
            return LaneValue(leaf, literal(0, leaf))
        return self._each(kind, address, leaf, value, compare, used, mask)

    def once(self, kind: str, address: str, leaf: Leaf, value: LaneValue, mask: str | None = None) -> None:
        """Update one element with what the active lanes give, reduced."""
        assert isinstance(leaf, Scalar)
        self._one(kind, address, leaf, self.reduced(kind, value, mask).text, None)

    def reduced(self, kind: str, value: LaneValue, mask: str | None) -> LaneValue:
        """Return the reduction of the values of the active lanes."""
        return value if self.lanes.lanes == 1 else LaneValue(value.type, self._reduce(kind, value.type, value, mask))

    def _one(self, kind: str, address: str, t: Scalar, value: str, compare: str | None) -> str:
        if t.is_float and (kind == "cas" or t in NARROW):
            return self._on_bits(kind, address, t, value, compare)
        ty = memory_type(t)
        if kind == "cas":
            pair = self.w.inst(f"cmpxchg ptr {address}, {ty} {compare}, {ty} {value}{self.scope} monotonic monotonic")
            return self.w.inst(f"extractvalue {{ {ty}, i1 }} {pair}, 0")
        return self.w.inst(f"atomicrmw {_instruction(kind, t)} ptr {address}, {ty} {value}{self.scope} monotonic")

    def _on_bits(self, kind: str, address: str, t: Scalar, value: str, compare: str | None) -> str:
        """Compare-and-swap loops for what has no instruction: the comparison is of bit patterns."""
        ty, bits = llvm_type(t), f"i{t.bits}"
        if kind == "cas":
            a, b = (self._bitcast(ty, bits, x) for x in (compare, value))
            pair = self.w.inst(f"cmpxchg ptr {address}, {bits} {a}, {bits} {b}{self.scope} monotonic monotonic")
            return self._bitcast(bits, ty, self.w.inst(f"extractvalue {{ {bits}, i1 }} {pair}, 0"))
        loop, done = self.w.label("retry"), self.w.label("swapped")
        first = self.w.inst(f"load atomic {bits}, ptr {address}{self.scope} monotonic, align {t.align}")
        entry = self.w.block
        self.w.br(loop)
        self.w.start(loop)
        old, seen = self.w.name(), self.w.name()
        self.w.do(f"{old} = phi {bits} [ {first}, %{entry} ], [ {seen}, %{loop} ]")
        new = value if kind in EXCHANGES else self.updated(kind, LaneValue(t, old), LaneValue(t, value)).text
        pair = self.w.inst(f"cmpxchg ptr {address}, {bits} {old}, {bits} {new}{self.scope} monotonic monotonic")
        self.w.do(f"{seen} = extractvalue {{ {bits}, i1 }} {pair}, 0")
        self.w.cond_br(self.w.inst(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), done, loop)
        self.w.start(done)
        return old

    def updated(self, kind: str, old: LaneValue, value: LaneValue) -> LaneValue:
        """Return the combination of memory and an operand."""
        return self.lanes.binary(UPDATES.get(kind, kind), old, value)

    def _bitcast(self, a: str, b: str, x: str | None) -> str:
        return self.w.inst(f"bitcast {a} {x} to {b}")

    def _reduce(self, kind: str, t: Scalar, value: LaneValue, mask: str | None) -> str:
        n = self.lanes.lanes
        vector = self.lanes.vector(value)
        ty = llvm_type(t, n)
        if mask is not None:
            others = constant(neutral(kind, t), t, n)
            vector = self.w.inst(f"select <{n} x i1> {mask}, {ty} {vector}, {ty} {others}")
        if t.is_float:
            return self._tree(kind, t, vector)
        name = combining(kind)
        if kind in UPDATES:
            name = ("s" if t.is_signed else "u") + kind
        suffix = self.lanes.suffix(t, n)
        return self.lanes.intrinsic(f"llvm.vector.reduce.{name}.{suffix}", llvm_type(t), (ty, vector))

    def _tree(self, kind: str, t: Scalar, vector: str) -> str:
        """Halve the vector until one lane is left: the same order on every machine of this width."""
        code, n = combining(kind), self.lanes.lanes
        narrow = LaneArithmetic(self.w, n, self.lanes.target, self.lanes.declare)
        while n > 1:
            half = n // 2
            ty = llvm_type(t, n)
            low, high = (self._part(ty, vector, start, half) for start in (0, half))
            narrow.lanes = half
            vector = narrow.binary(
                code, LaneValue(t, low, None if half > 1 else 0), LaneValue(t, high, None if half > 1 else 0)
            ).text
            n = half
        return vector

    def _part(self, ty: str, vector: str, start: int, count: int) -> str:
        if count == 1:
            return self.w.inst(f"extractelement {ty} {vector}, i64 {start}")
        indices = ", ".join(f"i32 {start + i}" for i in range(count))
        return self.w.inst(f"shufflevector {ty} {vector}, {ty} poison, <{count} x i32> <{indices}>")

    def _each(
        self,
        kind: str,
        address: LaneValue,
        leaf: Scalar,
        value: LaneValue,
        compare: LaneValue | None,
        used: bool,
        mask: str | None,
    ) -> LaneValue:
        """A loop over the active lanes, which takes operands from memory, where the vectors are put once."""
        ty = llvm_type(leaf, self.lanes.lanes)
        old = self.w.alloca(ty) if used else ""
        if used:
            self.w.do(f"store {ty} zeroinitializer, ptr {old}")
        at, given, expected = (self.spilled(v) for v in (address, value, compare or value))

        def body(lane: str) -> None:
            result = self._one(kind, at(lane), leaf, given(lane), expected(lane) if compare else None)
            if used:
                place = self.w.inst(f"getelementptr {llvm_type(leaf)}, ptr {old}, i64 {lane}")
                self.w.do(f"store {llvm_type(leaf)} {result}, ptr {place}")

        each_lane(self.lanes, mask, body)
        return (
            LaneValue(leaf, self.w.inst(f"load {ty}, ptr {old}"), None) if used else LaneValue(leaf, literal(0, leaf))
        )

    def spilled(self, v: LaneValue) -> Callable[[str], str]:
        """The scalar of a lane, for a loop over lanes."""
        if v.uniform:
            return lambda lane: v.text
        ty, scalar = llvm_type(v.type, self.lanes.lanes), llvm_type(v.type)
        place = self.w.alloca(ty)
        self.w.do(f"store {ty} {self.lanes.vector(v)}, ptr {place}")

        def load(lane: str) -> str:
            return self.w.inst(f"load {scalar}, ptr {self.w.inst(f'getelementptr {scalar}, ptr {place}, i64 {lane}')}")

        return load


def each_lane(lanes: LaneArithmetic, mask: str | None, body) -> None:
    """A scalar loop that runs `body(lane)` for every active lane; `lane` is an i64 operand."""
    w, n = lanes.w, lanes.lanes
    if n == 1:
        body("0")
        return
    if mask is None:
        bits = str((1 << n) - 1)
    else:
        bits = w.inst(f"zext i{n} {lanes.mask_bits(mask)} to i64")
    head, inside, latch, done = (w.label(hint) for hint in ("lanes", "lane", "nextlane", "endlanes"))
    entry = w.block
    w.br(head)
    w.start(head)
    lane, following = w.name(), w.name()
    w.do(f"{lane} = phi i64 [ 0, %{entry} ], [ {following}, %{latch} ]")
    active = w.inst(f"trunc i64 {w.inst(f'lshr i64 {bits}, {lane}')} to i1")
    w.cond_br(active, inside, latch)
    w.start(inside)
    body(lane)
    w.br(latch)
    w.start(latch)
    w.do(f"{following} = add i64 {lane}, 1")
    w.cond_br(w.inst(f"icmp ult i64 {following}, {n}"), head, done)
    w.start(done)


def _instruction(kind: str, t: Scalar) -> str:
    if kind in EXCHANGES:
        return "xchg"
    if t.is_float:
        return "f" + kind
    if kind in ("min", "max") and not t.is_signed:
        return "u" + kind
    return kind


def combining(kind: str) -> str:
    """The operation that brings together what several lanes give: what all subtract is a sum."""
    return "add" if kind == "sub" else UPDATES.get(kind, kind)


def neutral(kind: str, t: Leaf) -> float:
    """Return the neutral element."""
    assert isinstance(t, Scalar)
    if kind in UPDATES:
        if t.is_float:
            return float("nan")
        low, high = int_range(t)
        return high if kind == "min" else low
    if kind == "and":
        return -1
    return -0.0 if t.is_float else 0
