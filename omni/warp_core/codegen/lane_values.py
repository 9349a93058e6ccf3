"""Values as the emitter holds them, and the instructions that bring them into another form.

A `LaneValue` is one leaf (scalar or address) for all lanes. It is *uniform* (one register for all, stride 0) or
*linear* (base plus lane number times a constant stride, with only the base in a register). Otherwise it is *varying* (a
vector register, stride None).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..lang.types import BOOL, Scalar
from .target import Target
from .writer import PTR, Leaf, Writer, literal, llvm_scalar, llvm_type, sequence


class LaneValue:
    """One leaf value. `text` is the register or literal: the vector when varying, else the (base) scalar."""

    __slots__ = ("indexed", "mostly", "stride", "text", "type")
    type: Any  # a Scalar, or PTR for addresses; arithmetic asks for the former only
    text: str
    stride: int | None
    mostly: SpeculatedLinear | None
    indexed: IndexedAddress | None

    def __init__(self, type: Leaf, text: str, stride: int | None = 0, mostly: SpeculatedLinear | None = None):
        self.type, self.text, self.stride, self.mostly = type, text, stride, mostly
        self.indexed = None

    def for_each_lane(self) -> LaneValue:
        """The same varying value, where it is not linear."""
        found = LaneValue(self.type, self.text, None)
        found.indexed = self.indexed
        return found

    @property
    def uniform(self) -> bool:
        return self.stride == 0

    @property
    def literal_int(self) -> int | None:
        """The value of an integer literal."""
        return int(self.text) if self.stride == 0 and self.text.lstrip("-").isdigit() else None

    def same(self, other: LaneValue) -> bool:
        return self.text == other.text and self.stride == other.stride


class SpeculatedLinear(NamedTuple):
    """A linear value that a varying one equals whenever the (scalar) condition holds, which it does nearly always."""

    condition: str
    value: LaneValue


class IndexedAddress(NamedTuple):
    """What a varying address is made of: a scalar base, and for each lane an int32 that counts steps of some bytes."""

    base: str
    indices: str
    step: int


class Forms:
    """Writes values in the forms that instructions take, and single instructions, into a writer, `lanes` lanes wide."""

    def __init__(self, writer: Writer, lanes: int, target: Target, declare):
        self.w, self.lanes, self.target, self.declare = writer, lanes, target, declare

    def const(self, value, t: Leaf) -> LaneValue:
        return LaneValue(t, literal(value, t))

    def vector(self, v: LaneValue) -> str:
        """`v` as a full vector operand (as a scalar when there is one lane)."""
        if v.stride is None or self.lanes == 1:
            return v.text
        if v.stride == 0:
            return self.splat(v.text, v.type)
        if v.type is PTR:
            offsets = sequence(0, v.stride, self.lanes)
            return self.w.inst(f"getelementptr i8, ptr {v.text}, <{self.lanes} x i64> {offsets}")
        steps = sequence(0, v.stride, self.lanes, v.type)
        return self.w.inst(f"add {llvm_type(v.type, self.lanes)} {self.splat(v.text, v.type)}, {steps}")

    def splat(self, text: str, t: Leaf, lanes: int = 0) -> str:
        lanes = lanes or self.lanes
        scalar = llvm_scalar(t)
        if not text.startswith("%"):
            return f"splat ({scalar} {text})"
        one = self.w.inst(f"insertelement <{lanes} x {scalar}> poison, {scalar} {text}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.w.inst(f"shufflevector <{lanes} x {scalar}> {one}, <{lanes} x {scalar}> poison, {zeros}")

    def operand(self, v: LaneValue, lanes: int) -> str:
        return self.vector(v) if lanes > 1 else v.text

    def width(self, *values: LaneValue) -> int:
        """1 when all are uniform, else the lane count."""
        return 1 if all(v.uniform for v in values) else self.lanes

    def result(self, t: Leaf, text: str, lanes: int) -> LaneValue:
        return LaneValue(t, text, 0 if lanes == 1 else None)

    def intrinsic(self, name: str, result: str, *args: tuple[str, str]) -> str:
        """Call an LLVM intrinsic with (type, operand) arguments."""
        self.declare(f"declare {result} @{name}({', '.join(t for t, _ in args)})")
        return self.w.inst(f"call {result} @{name}({', '.join(f'{t} {x}' for t, x in args)})")

    def suffix(self, t: Scalar, lanes: int) -> str:
        """The type suffix of intrinsic names."""
        base = f"f{t.bits}" if t.is_float else f"i{t.bits}"
        return base if lanes == 1 else f"v{lanes}{base}"

    # -- single instructions ------------------------------------------------------------------------------------

    def _inst(self, op: str, t: Leaf, n: int, *args: str) -> str:
        return self.w.inst(f"{op} {llvm_type(t, n)} {', '.join(args)}")

    def _select(self, t: Leaf, n: int, cond: str, a: str, b: str) -> str:
        cond_type, ty = llvm_type(BOOL, n), llvm_type(t, n)
        return self.w.inst(f"select {cond_type} {cond}, {ty} {a}, {ty} {b}")

    def _unary_intrinsic(self, name: str, t: Scalar, n: int, x: str) -> str:
        ty = llvm_type(t, n)
        return self.intrinsic(f"llvm.{name}.{self.suffix(t, n)}", ty, (ty, x))
