"""The arithmetic of values as the emitter holds them: a `LaneValue`, see lane_values.py.

It stays in the cheapest form that holds the result; `LaneArithmetic.vector` makes the full vector when one is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ..ir.ops import COMPARISONS
from ..lang.types import BOOL, F32, F64, I64, Scalar
from .casts import Conversions
from .lane_values import LaneValue, SpeculatedLinear
from .target import ROOT_ESTIMATES
from .writer import NARROW, Leaf, constant, llvm_type, shuffle_mask

__all__ = ["LaneArithmetic", "LaneValue", "SpeculatedLinear"]

_FLOAT_OPS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INT_OPS = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_ROUNDING = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"}
_MAX_STRIDE = 1 << 20


class LaneArithmetic(Conversions):
    """Emits arithmetic on `LaneValue`s into a writer, `lanes` lanes wide."""

    def binary(self, code: str, a: LaneValue, b: LaneValue) -> LaneValue:
        """An elementwise operation or comparison of two scalars of one type."""
        linear = self._linear(code, a, b)
        if linear is not None:
            return linear
        n = self.width(a, b)
        t = a.type
        if code in COMPARISONS:
            return self.result(BOOL, self._compare(code, t, n, self.operand(a, n), self.operand(b, n)), n)
        if t in NARROW and code == "floordiv":  # the quotient is rounded before it is floored
            return self.unary("floor", self.binary("div", a, b))
        if t in NARROW:
            return self.cast(self.binary(code, self.cast(a, F32), self.cast(b, F32)), t)
        method = getattr(self, f"_{code}", None)
        if method is not None:
            return self.result(t, method(t, n, a, b), n)
        op = (_FLOAT_OPS if t.is_float else _INT_OPS)[code]
        found = self.result(t, self._inst(op, t, n, self.operand(a, n), self.operand(b, n)), n)
        found.mostly = self._mostly(code, a, b)
        return found

    def _mostly(self, code: str, a: LaneValue, b: LaneValue) -> SpeculatedLinear | None:
        """When a sum or product of values that are mostly linear is linear."""
        conditions = [v.mostly.condition for v in (a, b) if v.mostly is not None]
        if not conditions:
            return None
        linear = self._linear(code, *(v if v.mostly is None else v.mostly.value for v in (a, b)))
        return None if linear is None else SpeculatedLinear(self.both(conditions), linear)

    def both(self, conditions: Sequence[str]) -> str:
        """Return the condition that both of these scalar conditions hold."""
        return reduce(lambda a, b: self.w.inst(f"and i1 {a}, {b}"), conditions)

    def _linear(self, code: str, a: LaneValue, b: LaneValue) -> LaneValue | None:
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
        return LaneValue(t, self._inst(_INT_OPS[code], t, 1, a.text, b.text), stride)

    def from_end(self, index: LaneValue, extent: LaneValue, beside: bool = False) -> LaneValue:
        """An index that counts from the end when negative. Linear ones rarely are, but their first lanes may be. With
        `beside`, a varying one may well turn out to be linear.
        """
        t = index.type
        if not t.is_signed:
            return index
        if index.mostly is not None:
            return self._mostly_from_end(index, index.mostly, extent)
        negative = self.binary("lt", index, LaneValue(t, "0"))
        found = self.select(negative, self.binary("add", index, extent), index)
        if not extent.uniform or index.uniform:
            return found
        if index.stride is None:
            return LaneValue(t, found.text, None, self._side_by_side(index)) if beside and t.bits >= 32 else found
        last = self.lanes - 1 if index.stride < 0 else 0
        lowest = self._inst("add", t, 1, index.text, str(last * index.stride))
        return LaneValue(t, found.text, None, SpeculatedLinear(self._inst("icmp sge", t, 1, lowest, "0"), index))

    def _mostly_from_end(self, index: LaneValue, mostly: SpeculatedLinear, extent: LaneValue) -> LaneValue:
        found = self.from_end(LaneValue(index.type, index.text, None), extent)
        counted = self.from_end(mostly.value, extent).mostly
        if counted is not None:
            found.mostly = SpeculatedLinear(self.both([mostly.condition, counted.condition]), counted.value)
        return found

    def _side_by_side(self, index: LaneValue) -> SpeculatedLinear:
        """Return the condition that a varying index counts up from a non-negative number, as in identities and wherever
        neighbours were numbered in a row.
        """
        t, n = index.type, self.lanes
        linear = LaneValue(t, self.extract(index, "0"), 1)
        steps = self._inst("icmp eq", t, n, index.text, self.vector(linear))
        ordinary = self._inst("icmp ult", t, 1, linear.text, str((1 << t.bits - 1) - n))
        return SpeculatedLinear(self.w.inst(f"and i1 {self.all(steps)}, {ordinary}"), linear)

    def _min(self, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
        return self._extremum("lt", t, n, a, b)

    def _max(self, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
        return self._extremum("gt", t, n, a, b)

    def _minnum(self, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
        return self._extremum_of_numbers("lt", t, n, a, b)

    def _maxnum(self, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
        return self._extremum_of_numbers("gt", t, n, a, b)

    def _extremum_of_numbers(self, code: str, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
        extremum = self._extremum(code, t, n, a, b)
        x, y = self.operand(a, n), self.operand(b, n)
        return self._select(t, n, self._inst("fcmp ord", t, n, y, y), extremum, x) if t.is_float else extremum

    def _extremum(self, code: str, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
        x, y = self.operand(a, n), self.operand(b, n)
        return self._select(t, n, self._compare(code, t, n, x, y), x, y)

    def shift(self, code: str, a: LaneValue, b: LaneValue, most: int | None) -> LaneValue:
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

    def _div(self, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
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

    def _rem(self, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
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

    def _floordiv(self, t: Scalar, n: int, a: LaneValue, b: LaneValue) -> str:
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

    def unary(self, code: str, a: LaneValue) -> LaneValue:
        t, n = a.type, self.width(a)
        if t in NARROW:
            return self.cast(self.unary(code, self.cast(a, F32)), t)
        if code == "neg" and a.stride and t.bits >= 32:
            return LaneValue(t, self._inst("sub", t, 1, "0", a.text), -a.stride)
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
        if code == "rsqrt":
            return self._reciprocal_root(t, n, x)
        name = {"abs": "fabs", "popcount": "ctpop"}.get(code) or _ROUNDING[code]
        return self._unary_intrinsic(name, t, n, x)

    def _reciprocal_root(self, t: Scalar, n: int, x: str) -> str:
        """1 / sqrt(x): where there is an instruction for the first 11 bits or more, one step of Newton gives the rest.

        The step makes NaN of 0 and infinity, for which the estimate is exact.
        """
        if t is not F32 or n < min(ROOT_ESTIMATES) or not self.target.triple.startswith("x86_64"):
            return self._inst("fdiv", t, n, constant(1.0, t, n), self._unary_intrinsic("sqrt", t, n, x))
        y = self._root_estimate(n, x)
        half = self._inst("fmul contract", t, n, x, constant(0.5, t, n))
        error = self._inst("fmul contract", t, n, self._inst("fmul contract", t, n, half, y), y)
        factor = self._inst("fsub contract", t, n, constant(1.5, t, n), error)
        better = self._inst("fmul contract", t, n, y, factor)
        return self._select(t, n, self._inst("fcmp ord", t, n, better, better), better, y)

    def _root_estimate(self, n: int, x: str) -> str:
        """1 / sqrt(x) of n floats to 11 bits or more."""
        ty = llvm_type(F32, n)
        if 32 * n > self.target.vector_bits:
            halves = [range(n // 2), range(n // 2, n)]
            low, high = (self._root_estimate(n // 2, self.shuffle(F32, n, x, "poison", half)) for half in halves)
            return self.shuffle(F32, n // 2, low, high, range(n))
        masked = [(ty, "zeroinitializer"), ("i16", "-1")] if n == 16 else []
        return self.intrinsic(f"llvm.{ROOT_ESTIMATES[n]}", ty, (ty, x), *masked)

    def multiply_add(self, a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
        """a*b + c, rounded once."""
        t, n = a.type, self.width(a, b, c)
        if t in NARROW:
            return self.cast(self.multiply_add(*(self.cast(v, F64) for v in (a, b, c))), t)
        if not self.target.fma:
            return self._soft_multiply_add(a, b, c) if t is F32 else self.libm("fma", t, [a, b, c])
        ty = llvm_type(t, n)
        args = [(ty, self.operand(v, n)) for v in (a, b, c)]
        return self.result(t, self.intrinsic(f"llvm.fma.{self.suffix(t, n)}", ty, *args), n)

    def _soft_multiply_add(self, a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
        """In double, where the product is exact; the sum is rounded to odd, so that only the last rounding counts."""
        a, b, c = (self.cast(v, F64) for v in (a, b, c))
        product = self.binary("mul", a, b)
        total = self.binary("add", product, c)
        high = self.binary("sub", total, c)  # the error of the sum, after Knuth
        low = self.binary("sub", total, high)
        error = self.binary("add", self.binary("sub", product, high), self.binary("sub", c, low))
        n = self.width(total, error)
        bits, sign = self.bitcast(total, I64), self.bitcast(error, I64)
        even = self.binary("eq", self.binary("and", bits, LaneValue(I64, "1")), LaneValue(I64, "0"))
        inexact = LaneValue(
            BOOL, self._inst("fcmp one", F64, n, self.operand(error, n), constant(0.0, F64, n)), total.stride
        )
        away = self.binary("ge", self.binary("xor", bits, sign), LaneValue(I64, "0"))
        step = self.select(away, LaneValue(I64, "1"), LaneValue(I64, "-1"))
        odd = self.select(self.binary("and", even, inexact), self.binary("add", bits, step), bits)
        return self.cast(self.bitcast(odd, F64), F32)

    def select(self, cond: LaneValue, a: LaneValue, b: LaneValue) -> LaneValue:
        if a.same(b):
            return a
        if cond.uniform:
            n = self.width(a, b)
            ty = llvm_type(a.type, n)
            x, y = self.operand(a, n), self.operand(b, n)
            return self.result(a.type, self.w.inst(f"select i1 {cond.text}, {ty} {x}, {ty} {y}"), n)
        n = self.lanes
        return LaneValue(a.type, self._select(a.type, n, self.vector(cond), self.vector(a), self.vector(b)), None)

    # -- C library ----------------------------------------------------------------------------------------------

    def libm(self, name: str, t: Scalar, args: list[LaneValue]) -> LaneValue:
        """Call a function of the C library for each lane, in double."""
        n = self.width(*args)
        wide = [self.operand(self.cast(v, F64), n) for v in args]
        signature = ", ".join(["double"] * len(args))
        self.declare(f"declare double @{name}({signature})")
        if n == 1:
            return self.cast(
                LaneValue(F64, self.w.inst(f"call double @{name}({', '.join('double ' + a for a in wide)})")), t
            )
        ty = llvm_type(F64, n)
        helper = f"wide_{name}_{n}"
        self.declare(_lanewise(helper, name, len(args), n))
        call = self.w.inst(f"call {ty} @{helper}({', '.join(f'{ty} {a}' for a in wide)})")
        return self.cast(LaneValue(F64, call, None), t)

    # -- masks --------------------------------------------------------------------------------------------------

    def any(self, mask: str) -> str:
        """Return, as an i1, the condition that a mask has a lane set."""
        return self._inst("icmp ne", _bits(self.lanes), 1, self.mask_bits(mask), "0")

    def all(self, mask: str) -> str:
        """Return, as an i1, the condition that a mask has every lane set."""
        return self._inst("icmp eq", _bits(self.lanes), 1, self.mask_bits(mask), "-1")

    def mask_bits(self, mask: str) -> str:
        return self.w.inst(f"bitcast <{self.lanes} x i1> {mask} to i{self.lanes}")

    def mask_and(self, a: str | None, b: str) -> str:
        return b if a is None else self._inst("and", BOOL, self.lanes, a, b)

    def mask_or(self, a: str, b: str) -> str:
        return self._inst("or", BOOL, self.lanes, a, b)

    def mask_not(self, a: str) -> str:
        return self._inst("xor", BOOL, self.lanes, a, "splat (i1 true)")

    def extract(self, v: LaneValue, lane: str) -> str:
        """The scalar of one lane; `lane` is an i64 operand."""
        if v.uniform or self.lanes == 1:
            return v.text
        return self.w.inst(f"extractelement {llvm_type(v.type, self.lanes)} {self.vector(v)}, i64 {lane}")

    def shuffle(self, t: Leaf, n: int, a: str, b: str, indices) -> str:
        ty = llvm_type(t, n)
        return self.w.inst(f"shufflevector {ty} {a}, {ty} {b}, {shuffle_mask(indices)}")


def _scaled(a: LaneValue, b: LaneValue) -> int | None:
    """The stride of linear `a` times literal `b`."""
    return a.stride * b.literal_int if a.stride and b.literal_int is not None else None


class _Bits:
    is_float = False
    kind = "uint"

    def __init__(self, bits: int):
        self.bits = bits


def _bits(lanes: int) -> Leaf:
    return _Bits(lanes)  # type: ignore[return-value]


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
