"""Values as the emitter holds them, and their arithmetic.

A `V` is one leaf (scalar or address) for all lanes: *uniform* (one register for all, stride 0), *linear* (base plus
lane number times a constant stride, only the base in a register), or *varying* (a vector register, stride None).
Arithmetic stays in the cheapest form that holds the result; `Lanes.vector` makes the full vector when one is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..lang.semantics import int_range
from ..lang.types import BF16, BOOL, F16, F32, F64, I16, I32, I64, Scalar
from .target import Target
from .writer import NARROW, PTR, Leaf, Writer, constant, literal, llvm_scalar, llvm_type, sequence, shuffle_mask


class V:
    """One leaf value. `text` is the register or literal: the vector when varying, else the (base) scalar."""

    __slots__ = ("mostly", "stride", "text", "type")
    type: Any  # a Scalar, or PTR for addresses; arithmetic asks for the former only
    text: str
    stride: int | None
    mostly: Mostly | None

    def __init__(self, type: Leaf, text: str, stride: int | None = 0, mostly: Mostly | None = None):
        self.type, self.text, self.stride, self.mostly = type, text, stride, mostly

    @property
    def uniform(self) -> bool:
        return self.stride == 0

    @property
    def literal_int(self) -> int | None:
        """The value of an integer literal."""
        return int(self.text) if self.stride == 0 and self.text.lstrip("-").isdigit() else None

    def same(self, other: V) -> bool:
        return self.text == other.text and self.stride == other.stride


class Mostly(NamedTuple):
    """A linear value that a varying one equals whenever the (scalar) condition holds, which it does nearly always."""

    condition: str
    value: V


_FLOAT_OPS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INT_OPS = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_ROUNDING = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"}
_MAX_STRIDE = 1 << 20


class Lanes:
    """Emits arithmetic on `V`s into a writer, `lanes` lanes wide."""

    def __init__(self, writer: Writer, lanes: int, target: Target, declare):
        self.w, self.lanes, self.target, self.declare = writer, lanes, target, declare

    # -- forms --------------------------------------------------------------------------------------------------

    def const(self, value, t: Leaf) -> V:
        return V(t, literal(value, t))

    def vector(self, v: V) -> str:
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

    def operand(self, v: V, lanes: int) -> str:
        return self.vector(v) if lanes > 1 else v.text

    def width(self, *values: V) -> int:
        """1 when all are uniform, else the lane count."""
        return 1 if all(v.uniform for v in values) else self.lanes

    def result(self, t: Leaf, text: str, lanes: int) -> V:
        return V(t, text, 0 if lanes == 1 else None)

    def intrinsic(self, name: str, result: str, *args: tuple[str, str]) -> str:
        """Call an LLVM intrinsic with (type, operand) arguments."""
        self.declare(f"declare {result} @{name}({', '.join(t for t, _ in args)})")
        return self.w.inst(f"call {result} @{name}({', '.join(f'{t} {x}' for t, x in args)})")

    def suffix(self, t: Scalar, lanes: int) -> str:
        """The type suffix of intrinsic names."""
        base = f"f{t.bits}" if t.is_float else f"i{t.bits}"
        return base if lanes == 1 else f"v{lanes}{base}"

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def binary(self, code: str, a: V, b: V) -> V:
        """An elementwise operation or comparison of two scalars of one type."""
        linear = self._linear(code, a, b)
        if linear is not None:
            return linear
        n = self.width(a, b)
        t = a.type
        if code in _COMPARE:
            return self.result(BOOL, self._compare(code, t, n, self.operand(a, n), self.operand(b, n)), n)
        if t in NARROW and code == "floordiv":  # the quotient is rounded before it is floored
            return self.unary("floor", self.binary("div", a, b))
        if t in NARROW:
            return self.cast(self.binary(code, self.cast(a, F32), self.cast(b, F32)), t)
        method = getattr(self, f"_{code}", None)
        if method is not None:
            return self.result(t, method(t, n, a, b), n)
        op = (_FLOAT_OPS if t.is_float else _INT_OPS)[code]
        return self.result(t, self._inst(op, t, n, self.operand(a, n), self.operand(b, n)), n)

    def _inst(self, op: str, t: Leaf, n: int, *args: str) -> str:
        return self.w.inst(f"{op} {llvm_type(t, n)} {', '.join(args)}")

    def _linear(self, code: str, a: V, b: V) -> V | None:
        """Integer sums and constant multiples of linear values stay linear."""
        if a.stride is None or b.stride is None or (a.uniform and b.uniform):
            return None
        t = a.type
        if not t.is_int or t.bits < 32 or code not in ("add", "sub", "mul"):
            return None
        stride: int | None = a.stride + b.stride if code == "add" else a.stride - b.stride
        if code == "mul":
            stride = _scaled(a, b) or _scaled(b, a)
        if stride is None or abs(stride) > _MAX_STRIDE:
            return None
        return V(t, self._inst(_INT_OPS[code], t, 1, a.text, b.text), stride)

    def from_end(self, index: V, extent: V) -> V:
        """An index that counts from the end when negative. Linear ones rarely are, but their first lanes may be."""
        t = index.type
        if not t.is_signed:
            return index
        negative = self.binary("lt", index, V(t, "0"))
        found = self.select(negative, self.binary("add", index, extent), index)
        if not index.stride or not extent.uniform:
            return found
        last = self.lanes - 1 if index.stride < 0 else 0
        lowest = self._inst("add", t, 1, index.text, str(last * index.stride))
        return V(t, found.text, None, Mostly(self._inst("icmp sge", t, 1, lowest, "0"), index))

    def _compare(self, code: str, t: Scalar, n: int, a: str, b: str) -> str:
        if t in NARROW:
            a, b, t = self._widen(t, n, a), self._widen(t, n, b), F32
        if t.is_float:
            return self._inst(f"fcmp {'une' if code == 'ne' else 'o' + _COMPARE[code]}", t, n, a, b)
        sign = "" if code in ("eq", "ne") else "s" if t.is_signed else "u"
        return self._inst(f"icmp {sign}{_COMPARE[code]}", t, n, a, b)

    def _select(self, t: Leaf, n: int, cond: str, a: str, b: str) -> str:
        cond_type, ty = llvm_type(BOOL, n), llvm_type(t, n)
        return self.w.inst(f"select {cond_type} {cond}, {ty} {a}, {ty} {b}")

    def _min(self, t: Scalar, n: int, a: V, b: V) -> str:
        return self._extremum("lt", t, n, a, b)

    def _max(self, t: Scalar, n: int, a: V, b: V) -> str:
        return self._extremum("gt", t, n, a, b)

    def _extremum(self, code: str, t: Scalar, n: int, a: V, b: V) -> str:
        x, y = self.operand(a, n), self.operand(b, n)
        return self._select(t, n, self._compare(code, t, n, x, y), x, y)

    def shift(self, code: str, a: V, b: V, most: int | None) -> V:
        """`shl` or `shr` by a count known to be between 0 and `most`, if that is not None. One outside the width shifts
        everything out, which LLVM leaves undefined.
        """
        t, n = a.type, self.width(a, b)
        op = "shl" if code == "shl" else "ashr" if t.is_signed else "lshr"
        x, y = self.operand(a, n), self.operand(b, n)
        most = b.literal_int if most is None else most
        if most is not None and 0 <= most < t.bits:
            return self.result(t, self._inst(op, t, n, x, y), n)
        known = self._inst("icmp ult", t, n, y, constant(t.bits, t, n))
        if op == "ashr":
            return self.result(t, self._inst(op, t, n, x, self._select(t, n, known, y, constant(t.bits - 1, t, n))), n)
        shifted = self._inst(op, t, n, x, self._select(t, n, known, y, constant(0, t, n)))
        return self.result(t, self._select(t, n, known, shifted, constant(0, t, n)), n)

    # -- integer division: total (0 for a zero divisor), without the traps of the hardware's instruction ------------

    def _div(self, t: Scalar, n: int, a: V, b: V) -> str:
        x, y = self.operand(a, n), self.operand(b, n)
        return self._inst("fdiv", t, n, x, y) if t.is_float else self._quotient(t, n, x, y, b.literal_int)

    def _quotient(self, t: Scalar, n: int, x: str, y: str, known: int | None) -> str:
        if known is not None and known not in (0, -1):
            return self._inst("sdiv" if t.is_signed else "udiv", t, n, x, y)
        zero, one = constant(0, t, n), constant(1, t, n)
        by_zero = self._inst("icmp eq", t, n, y, zero)
        safe = self._select(t, n, by_zero, one, y)
        if t.is_signed:
            by_minus_one = self._inst("icmp eq", t, n, y, constant(-1, t, n))
            safe = self._select(t, n, by_minus_one, one, safe)
        q = self._divide_by_float(t, n, x, safe) if n > 1 and t.bits <= 32 else None
        q = q or self._inst("sdiv" if t.is_signed else "udiv", t, n, x, safe)
        if t.is_signed:
            q = self._select(t, n, by_minus_one, self._inst("sub", t, n, zero, x), q)
        return self._select(t, n, by_zero, zero, q)

    def _divide_by_float(self, t: Scalar, n: int, x: str, y: str) -> str:
        """Vectors have no integer division; a double quotient of 32-bit integers truncates to the exact one."""
        ty, wide = llvm_type(t, n), llvm_type(F64, n)
        to, back = ("sitofp", "fptosi") if t.is_signed else ("uitofp", "fptoui")
        a = self.w.inst(f"{to} {ty} {x} to {wide}")
        b = self.w.inst(f"{to} {ty} {y} to {wide}")
        q = self.w.inst(f"fdiv {wide} {a}, {b}")
        return self.w.inst(f"{back} {wide} {q} to {ty}")

    def _rem(self, t: Scalar, n: int, a: V, b: V) -> str:
        if t.is_float:
            return self.libm("fmod", t, [a, b]).text
        x, y = self.operand(a, n), self.operand(b, n)
        return self._remainder(t, n, x, y, b.literal_int)

    def _remainder(self, t: Scalar, n: int, x: str, y: str, known: int | None) -> str:
        if known is not None and known not in (0, -1):
            return self._inst("srem" if t.is_signed else "urem", t, n, x, y)
        q = self._quotient(t, n, x, y, known)
        r = self._inst("sub", t, n, x, self._inst("mul", t, n, q, y))
        by_zero = self._inst("icmp eq", t, n, y, constant(0, t, n))
        return self._select(t, n, by_zero, constant(0, t, n), r)

    def _floordiv(self, t: Scalar, n: int, a: V, b: V) -> str:
        x, y = self.operand(a, n), self.operand(b, n)
        if t.is_float:
            return self._unary_intrinsic("floor", t, n, self._inst("fdiv", t, n, x, y))
        q = self._quotient(t, n, x, y, b.literal_int)
        if not t.is_signed:
            return q
        r = self._remainder(t, n, x, y, b.literal_int)
        zero = constant(0, t, n)
        inexact = self._inst("icmp ne", t, n, r, zero)
        opposite = self._inst("icmp slt", t, n, self._inst("xor", t, n, r, y), zero)
        below = self._inst("and", BOOL, n, inexact, opposite)
        return self._select(t, n, below, self._inst("sub", t, n, q, constant(1, t, n)), q)

    # -- one operand --------------------------------------------------------------------------------------------

    def unary(self, code: str, a: V) -> V:
        t, n = a.type, self.width(a)
        if t in NARROW:
            return self.cast(self.unary(code, self.cast(a, F32)), t)
        if code == "neg" and a.stride and t.bits >= 32:
            return V(t, self._inst("sub", t, 1, "0", a.text), -a.stride)
        x = self.operand(a, n)
        return self.result(t, self._unary(code, t, n, x), n)

    def _unary(self, code: str, t: Scalar, n: int, x: str) -> str:
        if code == "neg":
            return self._inst("fneg", t, n, x) if t.is_float else self._inst("sub", t, n, constant(0, t, n), x)
        if code == "not":
            ones = constant(True, t, n) if t is BOOL else constant(-1, t, n)
            return self._inst("xor", t, n, x, ones)
        if code == "abs" and not t.is_float:
            if not t.is_signed:
                return x
            ty = llvm_type(t, n)
            return self.intrinsic(f"llvm.abs.{self.suffix(t, n)}", ty, (ty, x), ("i1", "false"))
        name = {"abs": "fabs", "popcount": "ctpop"}.get(code) or _ROUNDING[code]
        return self._unary_intrinsic(name, t, n, x)

    def _unary_intrinsic(self, name: str, t: Scalar, n: int, x: str) -> str:
        ty = llvm_type(t, n)
        return self.intrinsic(f"llvm.{name}.{self.suffix(t, n)}", ty, (ty, x))

    def multiply_add(self, a: V, b: V, c: V) -> V:
        """a*b + c, rounded once."""
        t, n = a.type, self.width(a, b, c)
        if t in NARROW:
            return self.cast(self.multiply_add(*(self.cast(v, F64) for v in (a, b, c))), t)
        if not self.target.fma:
            return self._soft_multiply_add(a, b, c) if t is F32 else self.libm("fma", t, [a, b, c])
        ty = llvm_type(t, n)
        args = [(ty, self.operand(v, n)) for v in (a, b, c)]
        return self.result(t, self.intrinsic(f"llvm.fma.{self.suffix(t, n)}", ty, *args), n)

    def _soft_multiply_add(self, a: V, b: V, c: V) -> V:
        """In double, where the product is exact; the sum is rounded to odd, so that only the last rounding counts."""
        a, b, c = (self.cast(v, F64) for v in (a, b, c))
        product = self.binary("mul", a, b)
        total = self.binary("add", product, c)
        high = self.binary("sub", total, c)  # the error of the sum, after Knuth
        low = self.binary("sub", total, high)
        error = self.binary("add", self.binary("sub", product, high), self.binary("sub", c, low))
        n = self.width(total, error)
        bits, sign = self.bitcast(total, I64), self.bitcast(error, I64)
        even = self.binary("eq", self.binary("and", bits, V(I64, "1")), V(I64, "0"))
        inexact = V(BOOL, self._inst("fcmp one", F64, n, self.operand(error, n), constant(0.0, F64, n)), total.stride)
        away = self.binary("ge", self.binary("xor", bits, sign), V(I64, "0"))
        step = self.select(away, V(I64, "1"), V(I64, "-1"))
        odd = self.select(self.binary("and", even, inexact), self.binary("add", bits, step), bits)
        return self.cast(self.bitcast(odd, F64), F32)

    def select(self, cond: V, a: V, b: V) -> V:
        if a.same(b):
            return a
        if cond.uniform:
            n = self.width(a, b)
            ty = llvm_type(a.type, n)
            x, y = self.operand(a, n), self.operand(b, n)
            return self.result(a.type, self.w.inst(f"select i1 {cond.text}, {ty} {x}, {ty} {y}"), n)
        n = self.lanes
        return V(a.type, self._select(a.type, n, self.vector(cond), self.vector(a), self.vector(b)), None)

    # -- conversions --------------------------------------------------------------------------------------------

    def cast(self, a: V, t: Scalar) -> V:
        s = a.type
        if s is t:
            return a
        if a.stride and s.is_int and t.is_int and s.bits >= 32 and t.bits >= s.bits:
            return V(t, self._cast(s, t, 1, a.text), a.stride)  # an index does not wrap on its way to memory
        n = self.width(a)
        return self.result(t, self._cast(s, t, n, self.operand(a, n)), n)

    def _cast(self, s: Scalar, t: Scalar, n: int, x: str) -> str:
        if s is t:
            return x
        if s in NARROW:
            return self._cast(F32, t, n, self._widen(s, n, x))
        if t is BOOL:
            op = "fcmp une" if s.is_float else "icmp ne"
            return self._inst(op, s, n, x, constant(0, s, n))
        if t in NARROW:
            return self._narrow(s, t, n, x)
        if s.is_float and t.is_int and n > 1:
            return self._truncate(s, t, n, x)
        if s.is_float and t.is_int:
            kind = "fptosi" if t.is_signed else "fptoui"
            name = f"llvm.{kind}.sat.{self.suffix(t, n)}.{self.suffix(s, n)}"
            return self.intrinsic(name, llvm_type(t, n), (llvm_type(s, n), x))
        return self._convert(_conversion(s, t), s, t, n, x)

    def _truncate(self, s: Scalar, t: Scalar, n: int, x: str) -> str:
        """Toward zero, to the nearest there is, NaN to 0: in vectors, where LLVM's own intrinsic goes lane by lane."""
        (low, high), wide = int_range(t), t if t.bits >= 32 else I32
        lost = max(0, high.bit_length() - (53 if s is F64 else 24))
        top = high >> lost << lost  # the largest number below that `s` can hold
        inside = self._select(s, n, self._compare("gt", s, n, x, constant(low, s, n)), x, constant(low, s, n))
        inside = self._select(s, n, self._compare("lt", s, n, inside, constant(top, s, n)), inside, constant(top, s, n))
        result = self._convert("fptosi" if wide.is_signed else "fptoui", s, wide, n, inside)
        if top != high:
            above = self._compare("gt", s, n, x, constant(top, s, n))
            result = self._select(wide, n, above, constant(high, wide, n), result)
        if low:
            number = self._inst("fcmp ord", s, n, x, x)
            result = self._select(wide, n, number, result, constant(0, wide, n))
        return self._convert("trunc", wide, t, n, result)

    def _convert(self, op: str, s: Leaf, t: Leaf, n: int, x: str) -> str:
        if llvm_scalar(s) == llvm_scalar(t):
            return x
        return self.w.inst(f"{op} {llvm_type(s, n)} {x} to {llvm_type(t, n)}")

    # -- 16-bit floats: bits in registers, computed in float -------------------------------------------------------

    def _widen(self, s: Scalar, n: int, x: str) -> str:
        if s is F16 and self.target.half:
            half = self.w.inst(f"bitcast {llvm_type(I16, n)} {x} to {_halves(n)}")
            return self.w.inst(f"fpext {_halves(n)} {half} to {llvm_type(F32, n)}")
        bits = self._convert("zext", I16, I32, n, x)
        if s is BF16:
            return self._as_float(n, self._inst("shl", I32, n, bits, constant(16, I32, n)))
        return self._widen_half_bits(n, bits)

    def _widen_half_bits(self, n: int, bits: str) -> str:
        """Shift the bits into a float's place and scale the exponent by multiplying; infinities and NaN need more."""
        magnitude = self._inst("and", I32, n, bits, constant(0x7FFF, I32, n))
        shifted = self._inst("shl", I32, n, magnitude, constant(13, I32, n))
        scaled = self._inst("fmul", F32, n, self._as_float(n, shifted), constant(2.0**112, F32, n))
        special = self._as_float(n, self._inst("or", I32, n, shifted, constant(0x7F800000, I32, n)))
        finite = self._inst("icmp ult", I32, n, magnitude, constant(0x7C00, I32, n))
        value = self._as_bits(n, self._select(F32, n, finite, scaled, special))
        sign = self._inst("and", I32, n, bits, constant(0x8000, I32, n))
        sign = self._inst("shl", I32, n, sign, constant(16, I32, n))
        return self._as_float(n, self._inst("or", I32, n, value, sign))

    def _as_float(self, n: int, x: str) -> str:
        return self.w.inst(f"bitcast {llvm_type(I32, n)} {x} to {llvm_type(F32, n)}")

    def _as_bits(self, n: int, x: str) -> str:
        return self.w.inst(f"bitcast {llvm_type(F32, n)} {x} to {llvm_type(I32, n)}")

    def _narrow(self, s: Scalar, t: Scalar, n: int, x: str) -> str:
        """Round to nearest even once, whatever `s`: through a float rounded to odd."""
        x, lost = self._to_float_odd(s, n, x)
        if lost:
            x = self._as_float(n, self._inst("or", I32, n, self._as_bits(n, x), lost))
        if t is BF16:
            return self._narrow_bf16(n, x)
        if not self.target.half:
            return self._narrow_half_bits(n, x)
        half = self.w.inst(f"fptrunc {llvm_type(F32, n)} {x} to {_halves(n)}")
        return self.w.inst(f"bitcast {_halves(n)} {half} to {llvm_type(I16, n)}")

    def _narrow_bf16(self, n: int, x: str) -> str:
        bits = self._as_bits(n, x)
        lsb = self._inst("and", I32, n, self._inst("lshr", I32, n, bits, constant(16, I32, n)), constant(1, I32, n))
        bias = self._inst("add", I32, n, lsb, constant(0x7FFF, I32, n))
        rounded = self._inst("lshr", I32, n, self._inst("add", I32, n, bits, bias), constant(16, I32, n))
        nan = self._inst("fcmp uno", F32, n, x, x)
        return self._convert("trunc", I32, I16, n, self._select(I32, n, nan, constant(0x7FC0, I32, n), rounded))

    def _narrow_half_bits(self, n: int, x: str) -> str:
        """Normal numbers round by adding half of the lost place; for small ones the float adder does the rounding."""
        bits = self._as_bits(n, x)
        sign = self._inst("lshr", I32, n, bits, constant(16, I32, n))
        sign = self._inst("and", I32, n, sign, constant(0x8000, I32, n))
        magnitude = self._inst("and", I32, n, bits, constant(0x7FFFFFFF, I32, n))
        lsb = self._inst("lshr", I32, n, magnitude, constant(13, I32, n))
        lsb = self._inst("and", I32, n, lsb, constant(1, I32, n))
        bias = self._inst("add", I32, n, lsb, constant(0xFFF - (112 << 23), I32, n))
        normal = self._inst("lshr", I32, n, self._inst("add", I32, n, magnitude, bias), constant(13, I32, n))
        aligned = self._inst("fadd", F32, n, self._as_float(n, magnitude), constant(0.5, F32, n))
        small = self._inst("sub", I32, n, self._as_bits(n, aligned), constant(0x3F000000, I32, n))
        is_small = self._inst("icmp ult", I32, n, magnitude, constant(113 << 23, I32, n))
        finite = self._select(I32, n, is_small, small, normal)
        over = self._inst("icmp uge", I32, n, magnitude, constant(143 << 23, I32, n))
        nan = self._inst("icmp ugt", I32, n, magnitude, constant(0x7F800000, I32, n))
        special = self._select(I32, n, nan, constant(0x7E00, I32, n), constant(0x7C00, I32, n))
        result = self._inst("or", I32, n, sign, self._select(I32, n, over, special, finite))
        return self._convert("trunc", I32, I16, n, result)

    def _to_float_odd(self, s: Scalar, n: int, x: str) -> tuple[str, str | None]:
        """`x` as a float truncated toward zero, and 1 where bits were lost: together a rounding to odd."""
        if s.is_float and s.bits <= 32:
            return self._cast(s, F32, n, x), None
        wide = self._cast(s, F64, n, self._sticky(s, n, x) if s.is_int and s.bits == 64 else x)
        near = self._cast(F64, F32, n, wide)
        bits = self.w.inst(f"bitcast {llvm_type(F32, n)} {near} to {llvm_type(I32, n)}")
        back = self._cast(F32, F64, n, near)
        a, b = self._unary_intrinsic("fabs", F64, n, back), self._unary_intrinsic("fabs", F64, n, wide)
        over = self._convert("zext", BOOL, I32, n, self._inst("fcmp ogt", F64, n, a, b))
        inf = self._inst("fcmp oeq", F64, n, a, constant(float("inf"), F64, n))
        down = self._select(I32, n, inf, bits, self._inst("sub", I32, n, bits, over))
        lost = self._convert("zext", BOOL, I32, n, self._inst("fcmp one", F64, n, back, wide))
        lost = self._select(I32, n, inf, constant(0, I32, n), lost)
        return self.w.inst(f"bitcast {llvm_type(I32, n)} {down} to {llvm_type(F32, n)}"), lost

    def _sticky(self, s: Scalar, n: int, x: str) -> str:
        """A 64-bit integer cut to the 53 bits of a double, the lowest of them set if bits were lost."""
        low = self._inst("and", s, n, x, constant(0x7FF, s, n))
        lost = self._inst("icmp ne", s, n, low, constant(0, s, n))
        cut = self._inst("or", s, n, self._inst("sub", s, n, x, low), constant(1 << 11, s, n))
        high = self._inst("add", s, n, x, constant(1 << 53, s, n))
        big = self._inst("icmp ugt", s, n, high, constant(1 << 54, s, n))
        return self._select(s, n, self._inst("and", BOOL, n, lost, big), cut, x)

    def bitcast(self, a: V, t: Scalar) -> V:
        n = self.width(a)
        return self.result(t, self._convert("bitcast", a.type, t, n, self.operand(a, n)), n)

    # -- C library ----------------------------------------------------------------------------------------------

    def libm(self, name: str, t: Scalar, args: list[V]) -> V:
        """Call a function of the C library for each lane, in double."""
        n = self.width(*args)
        wide = [self.operand(self.cast(v, F64), n) for v in args]
        signature = ", ".join(["double"] * len(args))
        self.declare(f"declare double @{name}({signature})")
        if n == 1:
            return self.cast(V(F64, self.w.inst(f"call double @{name}({', '.join('double ' + a for a in wide)})")), t)
        ty = llvm_type(F64, n)
        helper = f"wide_{name}_{n}"
        self.declare(_lanewise(helper, name, len(args), n))
        call = self.w.inst(f"call {ty} @{helper}({', '.join(f'{ty} {a}' for a in wide)})")
        return self.cast(V(F64, call, None), t)

    # -- masks --------------------------------------------------------------------------------------------------

    def any(self, mask: str) -> str:
        """Whether a mask has a lane set, as an i1."""
        return self._inst("icmp ne", _bits(self.lanes), 1, self.mask_bits(mask), "0")

    def all(self, mask: str) -> str:
        """Whether a mask has every lane set, as an i1."""
        return self._inst("icmp eq", _bits(self.lanes), 1, self.mask_bits(mask), "-1")

    def mask_bits(self, mask: str) -> str:
        return self.w.inst(f"bitcast <{self.lanes} x i1> {mask} to i{self.lanes}")

    def mask_and(self, a: str | None, b: str) -> str:
        return b if a is None else self._inst("and", BOOL, self.lanes, a, b)

    def mask_or(self, a: str, b: str) -> str:
        return self._inst("or", BOOL, self.lanes, a, b)

    def mask_not(self, a: str) -> str:
        return self._inst("xor", BOOL, self.lanes, a, "splat (i1 true)")

    def extract(self, v: V, lane: str) -> str:
        """The scalar of one lane; `lane` is an i64 operand."""
        if v.uniform or self.lanes == 1:
            return v.text
        return self.w.inst(f"extractelement {llvm_type(v.type, self.lanes)} {self.vector(v)}, i64 {lane}")

    def shuffle(self, t: Leaf, n: int, a: str, b: str, indices) -> str:
        ty = llvm_type(t, n)
        return self.w.inst(f"shufflevector {ty} {a}, {ty} {b}, {shuffle_mask(indices)}")


def _scaled(a: V, b: V) -> int | None:
    """The stride of linear `a` times literal `b`."""
    return a.stride * b.literal_int if a.stride and b.literal_int is not None else None


class _Bits:
    is_float = False
    kind = "uint"

    def __init__(self, bits: int):
        self.bits = bits


def _bits(lanes: int) -> Leaf:
    return _Bits(lanes)  # type: ignore[return-value]


def _conversion(s: Scalar, t: Scalar) -> str:
    if s.is_float and t.is_float:
        return "fpext" if t.bits > s.bits else "fptrunc"
    if t.is_float:
        return "sitofp" if s.is_signed else "uitofp"
    if t.bits < s.bits:
        return "trunc"
    return "sext" if s.is_signed else "zext"


def _halves(n: int) -> str:
    return "half" if n == 1 else f"<{n} x half>"


def _lanewise(helper: str, name: str, arity: int, n: int) -> str:
    """A function that applies C function `name` to each lane in a loop."""
    ty = f"<{n} x double>"
    params = ", ".join(f"{ty} %a{i}" for i in range(arity))
    spill = "".join(f"  %s{i} = alloca {ty}\n" for i in range(arity))
    fill = "".join(f"  store {ty} %a{i}, ptr %s{i}\n" for i in range(arity))
    load = "".join(
        f"  %p{i} = getelementptr double, ptr %s{i}, i64 %lane\n  %x{i} = load double, ptr %p{i}\n"
        for i in range(arity)
    )
    args = ", ".join(f"double %x{i}" for i in range(arity))
    return (
        f"define internal {ty} @{helper}({params}) noinline nounwind {{\nentry:\n{spill}{fill}  br label %loop\n"
        f"loop:\n  %lane = phi i64 [ 0, %entry ], [ %next, %loop ]\n{load}  %y = call double @{name}({args})\n"
        f"  store double %y, ptr %p0\n  %next = add i64 %lane, 1\n  %more = icmp ult i64 %next, {n}\n"
        f"  br i1 %more, label %loop, label %done\ndone:\n  %r = load {ty}, ptr %s0\n  ret {ty} %r\n}}"
    )
