"""Conversions of numbers, lane by lane: LLVM's own where they say what is wanted, and 16-bit floats, which are bits in
registers and computed in float.
"""

from __future__ import annotations

from ..lang.semantics import int_range
from ..lang.types import BF16, BOOL, F16, F32, F64, I16, I32, Scalar
from .lane_values import Forms, LaneValue, SpeculatedLinear
from .writer import NARROW, Leaf, constant, llvm_scalar, llvm_type


class Conversions(Forms):
    """Emits conversions of `LaneValue`s."""

    def cast(self, a: LaneValue, t: Scalar, wraps: bool = True) -> LaneValue:
        """`a` as a number of type `t`. `wraps`: lanes of a linear integer may have wrapped around."""
        s = a.type
        if s is t:
            return a
        linear = None
        if a.stride and s.is_int and t.is_int and s.bits >= 32 and t.bits >= s.bits:
            linear = LaneValue(t, self._cast(s, t, 1, a.text), a.stride)
            if not wraps or t.bits == s.bits:
                return linear
        n = self.width(a)
        found = self.result(t, self._cast(s, t, n, self.operand(a, n)), n)
        found.mostly = SpeculatedLinear(self._within(a), linear) if linear else None
        return found

    def _within(self, a: LaneValue) -> str:
        """Return the condition that no lane of a linear integer has wrapped around, so that lanes may count on from the
        first.
        """
        assert a.stride is not None
        (low, high), reach = int_range(a.type), a.stride * (self.lanes - 1)
        if reach > 0:
            return self._compare("le", a.type, 1, a.text, constant(high - reach, a.type))
        return self._compare("ge", a.type, 1, a.text, constant(low - reach, a.type))

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

    def _compare(self, code: str, t: Scalar, n: int, a: str, b: str) -> str:
        if t in NARROW:
            a, b, t = self._widen(t, n, a), self._widen(t, n, b), F32
        if t.is_float:
            return self._inst(f"fcmp {'une' if code == 'ne' else 'o' + code}", t, n, a, b)
        sign = "" if code in ("eq", "ne") else "s" if t.is_signed else "u"
        return self._inst(f"icmp {sign}{code}", t, n, a, b)

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

    def bitcast(self, a: LaneValue, t: Scalar) -> LaneValue:
        n = self.width(a)
        return self.result(t, self._convert("bitcast", a.type, t, n, self.operand(a, n)), n)


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
