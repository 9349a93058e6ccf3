"""Results of PTX instructions, one line each, by the published PTX ISA. Arrays hold a value for each thread.

`OPERATIONS` maps an opcode without its types and roundings to its operands and its function. Operands are letters, the
destination first: T the (first) type of the instruction, S its second, D twice the width of T, u a u32, p a predicate.
Arithmetic on f32 gives the one NaN that the ISA names for it; the bits of other NaN are left open there.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.ptx.parse import WIDTHS, PtxError

RAW = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
DTYPES = {f"{k}{n}": np.dtype(f"{'i' if k == 's' else 'u'}{n // 8}") for k in "bus" for n in (8, 16, 32, 64)}
DTYPES |= {"f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "pred": np.dtype("?")}
DTYPES["bf16"] = np.dtype("u2")
FLOATS = ("f16", "f32", "f64")
UNSPECIFIED = 0xDEADBEEFDEADBEEF  # what PTX leaves open comes out as this, so that whoever uses it is found out


class Operation(NamedTuple):
    operands: str
    compute: Callable
    rounds: bool = False  # the result is an arithmetical one: roundings may be named, NaN are canonical
    carries: str = ""  # in, out: the flag of the carry is read, written


# -- floats ------------------------------------------------------------------------------------------------------------

_libm = ctypes.CDLL(ctypes.util.find_library("m"))
_libm.fma.restype, _libm.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
_fma64 = np.frompyfunc(_libm.fma, 3, 1)


def _sum_and_error(a, b):
    """A rounded sum, and what the rounding took away."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _sum_to_odd(a, b):
    """A sum of doubles, rounded to the neighbour with an odd last bit if it is not exact."""
    s, error = _sum_and_error(a, b)
    bits = s.view(np.int64)
    inexact = (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    away = (error > 0) == (s > 0)
    return np.where(inexact, np.where(away, bits + 1, bits - 1), bits).view(np.float64)


def _product_and_error(a, b):
    """A rounded product, and what the rounding took away (Dekker and Veltkamp)."""
    split = 2.0**27 + 1
    p, x, y = a * b, a * split, b * split
    a1, b1 = x - (x - a), y - (y - b)
    a2, b2 = a - a1, b - b1
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def fma(a, b, c):
    """One rounding. For f32 in double: the product is exact there, and a sum that was rounded to odd rounds rightly.
    For f64 by Boldo and Melquiond's method, and by the C library where exponents are large or the result is 0.
    """
    if a.dtype == np.float32:
        return _sum_to_odd(a.astype(np.float64) * b, c.astype(np.float64)).astype(np.float32)
    a, b, c = np.broadcast_arrays(a, b, c)
    p, e = _product_and_error(a, b)
    upper, lower = _sum_and_error(c, e)
    most, least = _sum_and_error(p, upper)
    found = most + _sum_to_odd(least, lower)
    x, y, z = np.abs(a), np.abs(b), np.abs(c)
    usual = (
        (np.minimum(x, y) > 1e-100)
        & (np.maximum(x, y) < 1e100)
        & (z < 1e100)
        & ((z > 1e-100) | (z == 0))
        & (found != 0)
    )
    others = np.flatnonzero(~usual)
    found[others] = _fma64(a[others], b[others], c[others])
    return found


def _extreme(pick_least: bool) -> Callable:
    """minNum or maxNum: a NaN gives way to a number, and -0 is less than +0."""

    def compute(a, b):
        if a.dtype.kind != "f":
            return (np.minimum if pick_least else np.maximum)(a, b)
        raw = RAW[8 * a.dtype.itemsize]
        x, y = a.view(raw), b.view(raw)
        equal = ((x | y) if pick_least else (x & y)).view(a.dtype)
        return np.where(a == b, equal, (np.fmin if pick_least else np.fmax)(a, b))

    return compute


def _copysign(a, b):  # the sign is that of the first operand
    return np.copysign(b, a)


def _gross(compute: Callable) -> Callable:
    """The approximations of f64: they see the upper half of the operand, and give an upper half."""

    def approximate(a):
        upper = np.uint64(0xFFFFFFFF00000000)
        x = (a.view(np.uint64) & upper).view(np.float64)
        return (flushed(compute(flushed(x))).view(np.uint64) & upper).view(np.float64)

    return approximate


def _in_double(compute: Callable) -> Callable:
    return lambda a: compute(a.astype(np.float64)).astype(a.dtype)


def flushed(a):
    """Subnormal numbers as zeros of their sign."""
    return np.where(np.abs(a) < np.finfo(a.dtype).tiny, np.copysign(a.dtype.type(0), a), a)


def canonical(r):
    nan = np.isnan(r)
    return np.where(nan, np.uint32(0x7FFFFFFF).view(np.float32), r) if nan.any() else r


# -- integers ----------------------------------------------------------------------------------------------------------


def _big(a):
    return np.asarray(a).astype(object)


def _high(a, b):
    bits = 8 * a.dtype.itemsize
    wide = a.astype(np.int64 if a.dtype.kind == "i" else np.uint64) * b if bits < 64 else _big(a) * _big(b)
    return (wide >> bits).astype(a.dtype)


def _wide(a, b):
    wider = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
    return a.astype(wider) * b.astype(wider)


def _divide(remainder: bool) -> Callable:
    def compute(a, b):
        a, b = np.broadcast_arrays(a, b)
        if a.dtype.kind == "f":
            return a / b
        zero = b == 0
        by = np.where(zero, 1, b).astype(a.dtype)
        quotient = np.abs(a // by) if a.dtype.kind == "u" else _toward_zero(a, by)
        found = a - quotient * by if remainder else quotient
        return np.where(zero, np.uint64(UNSPECIFIED).astype(a.dtype), found)

    return compute


def _toward_zero(a, b):
    q = a // b
    return q + ((q * b != a) & ((a < 0) != (b < 0))).astype(a.dtype)


def _shift(compute: Callable) -> Callable:
    """Shifts clamp the amount to the width."""

    def shifted(a, n):
        bits = 8 * a.dtype.itemsize
        short = compute(a, np.minimum(n, bits - 1).astype(a.dtype))
        beyond = a >> a.dtype.type(bits - 1) if a.dtype.kind == "i" else a.dtype.type(0)
        return np.where(n >= bits, beyond, short)

    return shifted


def _funnel(left: bool, wrap: bool) -> Callable:
    def compute(a, b, n):
        n = (n & np.uint32(31) if wrap else np.minimum(n, np.uint32(32))).astype(np.uint64)
        both = b.astype(np.uint64) << np.uint64(32) | a
        return (both << n >> np.uint64(32) if left else both >> n).astype(np.uint32)

    return compute


def _bfe(a, at, count):
    bits = 8 * a.dtype.itemsize
    raw = RAW[bits]
    a, p, n = np.broadcast_arrays(a, at & np.uint32(255), count & np.uint32(255))
    p, n = p.astype(np.int64), n.astype(np.int64)
    there = np.clip(bits - p, 0, n)  # bits that the field has in the number
    mask = np.where(there > 0, raw(-1 & (1 << bits) - 1) >> (bits - np.maximum(there, 1)).astype(raw), raw(0))
    x = a.view(raw)
    y = x >> np.minimum(p, bits - 1).astype(raw) & mask
    if a.dtype.kind == "i":
        sign = x >> np.minimum(p + n - 1, bits - 1).clip(0).astype(raw) & raw(1)
        y = np.where((sign == 1) & (n > 0), y | ~mask, y)
    return y.view(a.dtype)


def _bfi(a, b, at, count):
    bits, at, count = 8 * a.dtype.itemsize, at & np.uint32(255), count & np.uint32(255)
    found = []
    for x, y, p, n in zip(*(np.ravel(v).tolist() for v in np.broadcast_arrays(a, b, at, count))):
        mask = ((1 << n) - 1) << p & (1 << bits) - 1
        found.append(y & ~mask | x << p & mask)
    return np.array(found, a.dtype)


def _prmt(a, b, control):
    both = b.astype(np.uint64) << np.uint64(32) | a
    found = np.uint32(0)
    for i in range(4):
        pick = control >> np.uint32(4 * i) & np.uint32(15)
        byte = (both >> (8 * (pick & np.uint32(7))).astype(np.uint64)).astype(np.uint32) & np.uint32(255)
        sign = np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0))
        found = found | np.where(pick & np.uint32(8), sign, byte).astype(np.uint32) << np.uint32(8 * i)
    return found


def _count(form: Callable[[int, int], int]) -> Callable:
    def compute(a):
        bits = 8 * a.dtype.itemsize
        return np.array([form(x, bits) for x in np.ravel(a.view(RAW[bits])).tolist()], np.uint32)

    return compute


def _reverse_bits(a):
    bits = 8 * a.dtype.itemsize
    return np.array([int(f"{x:0{bits}b}"[::-1], 2) for x in a.tolist()], a.dtype)


def _with_carry(product: str, subtract: bool = False) -> Callable:
    """(result, carry out) of a sum of u32, of a product and one, or of a difference, with the carry (borrow) in."""

    def compute(*args):
        *values, carry = args
        values = [v.view(np.uint32).astype(np.uint64) for v in values]
        if product:
            x = values[0] * values[1]
            values = [x >> np.uint64(32) if product == "hi" else x & np.uint64(0xFFFFFFFF), values[2]]
        a, b = values
        total = a - b - carry if subtract else a + b + carry
        return total.astype(np.uint32), (total >> np.uint64(32)) != 0

    return compute


# -- comparisons and conversions ---------------------------------------------------------------------------------------

_PLAIN = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _ordered(compare: Callable, result: bool) -> Callable:
    """With a NaN the result is known."""

    def compute(a, b):
        if a.dtype.kind != "f":
            return compare(a, b)
        nan = np.isnan(a) | np.isnan(b)
        return np.where(nan, result, compare(a, b))

    return compute


_COMPARISONS = {name: _ordered(f, False) for name, f in _PLAIN.items()}
_COMPARISONS |= {f"{name}u": _ordered(f, True) for name, f in _PLAIN.items()}
_COMPARISONS |= {
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}

_TO_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def from_bf16(a):
    return (a.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(a):
    bits = a.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(a), 0x7FFF, rounded).astype(np.uint16)


def conversion(flags: list[str], to: str, source: str) -> Callable:
    """cvt: roundings must be named exactly where the ISA asks for one."""
    is_float = [t in (*FLOATS, "bf16") for t in (to, source)]
    integral = [f for f in flags if f in _TO_INTEGRAL]
    nearest = "rn" in flags
    if set(flags) - {*_TO_INTEGRAL, "rn", "sat"} or len(integral) > 1:
        raise PtxError(f"unknown conversion {flags}")
    narrows = all(is_float) and WIDTHS[to] < WIDTHS[source]
    if (bool(integral), nearest) not in {
        (True, True): [(True, False), (False, narrows)],
        (True, False): [(False, True)],
        (False, True): [(True, False)],
        (False, False): [(False, False)],
    }[tuple(is_float)]:
        raise PtxError(f"a rounding is wrong or missing: {flags} {to} {source}")
    if "sat" in flags and any(is_float):
        raise PtxError("saturation of floats")

    def convert(a):
        x = from_bf16(a) if source == "bf16" else a
        if integral:
            x = _TO_INTEGRAL[integral[0]](x)
        if is_float[0]:
            if to == "bf16":
                return to_bf16(x)
            r = x.astype(DTYPES[to])
            return canonical(r) if to == "f32" and is_float[1] else r
        if is_float[1]:
            return _clamped(x, to, source)
        if "sat" in flags:
            bounds = np.iinfo(DTYPES[to])
            return np.array([min(max(v, bounds.min), bounds.max) for v in x.tolist()], DTYPES[to])
        return x.astype(DTYPES[to])

    return convert


def _clamped(x, to: str, source: str):
    """An integral float as an integer: clamped to the range; what a NaN gives depends on the types."""
    bounds = np.iinfo(DTYPES[to])
    wide = source == "f64" or to in ("s64", "u64")
    nan = (1 << WIDTHS[to] - 1) if wide else 0
    values = [nan if v != v else int(min(max(v, bounds.min), bounds.max)) for v in x.astype(np.float64).tolist()]
    raw = RAW[WIDTHS[to]]
    return np.array([v & int(np.iinfo(raw).max) for v in values], raw).view(DTYPES[to])


# -- the table ---------------------------------------------------------------------------------------------------------


OPERATIONS: dict[str, Operation] = {
    "add": Operation("TTT", np.add, True),
    "sub": Operation("TTT", np.subtract, True),
    "mul": Operation("TTT", np.multiply, True),
    "fma": Operation("TTTT", fma, True),
    "div": Operation("TTT", _divide(False), True),
    "rem": Operation("TTT", _divide(True)),
    "sqrt": Operation("TT", np.sqrt, True),
    "rcp": Operation("TT", lambda a: a.dtype.type(1) / a, True),
    "abs": Operation("TT", np.abs),
    "neg": Operation("TT", np.negative),
    "min": Operation("TTT", _extreme(True), True),
    "max": Operation("TTT", _extreme(False), True),
    "copysign": Operation("TTT", _copysign),
    "ex2.approx": Operation("TT", _in_double(np.exp2), True),
    "lg2.approx": Operation("TT", _in_double(np.log2), True),
    "rcp.approx": Operation("TT", _gross(lambda a: 1 / a), True),
    "rsqrt.approx": Operation("TT", _gross(lambda a: 1 / np.sqrt(a)), True),
    "mul.lo": Operation("TTT", np.multiply),
    "mul.hi": Operation("TTT", _high),
    "mul.wide": Operation("DTT", _wide),
    "mad.lo": Operation("TTTT", lambda a, b, c: a * b + c),
    "mad.hi": Operation("TTTT", lambda a, b, c: _high(a, b) + c),
    "mad.wide": Operation("DTTD", lambda a, b, c: _wide(a, b) + c),
    "add.cc": Operation("TTT", _with_carry(""), carries="out"),
    "addc": Operation("TTT", _with_carry(""), carries="in"),
    "addc.cc": Operation("TTT", _with_carry(""), carries="in out"),
    "sub.cc": Operation("TTT", _with_carry("", True), carries="out"),
    "subc": Operation("TTT", _with_carry("", True), carries="in"),
    "subc.cc": Operation("TTT", _with_carry("", True), carries="in out"),
    "mad.lo.cc": Operation("TTTT", _with_carry("lo"), carries="out"),
    "mad.hi.cc": Operation("TTTT", _with_carry("hi"), carries="out"),
    "madc.lo": Operation("TTTT", _with_carry("lo"), carries="in"),
    "madc.hi": Operation("TTTT", _with_carry("hi"), carries="in"),
    "madc.lo.cc": Operation("TTTT", _with_carry("lo"), carries="in out"),
    "madc.hi.cc": Operation("TTTT", _with_carry("hi"), carries="in out"),
    "and": Operation("TTT", lambda a, b: a & b),
    "or": Operation("TTT", lambda a, b: a | b),
    "xor": Operation("TTT", lambda a, b: a ^ b),
    "not": Operation("TT", lambda a: ~a),
    "cnot": Operation("TT", lambda a: (a == 0).astype(a.dtype)),
    "shl": Operation("TTu", _shift(np.left_shift)),
    "shr": Operation("TTu", _shift(np.right_shift)),
    "shf.l.wrap": Operation("TTTu", _funnel(True, True)),
    "shf.l.clamp": Operation("TTTu", _funnel(True, False)),
    "shf.r.wrap": Operation("TTTu", _funnel(False, True)),
    "shf.r.clamp": Operation("TTTu", _funnel(False, False)),
    "bfe": Operation("TTuu", _bfe),
    "bfi": Operation("TTTuu", _bfi),
    "prmt": Operation("TTTT", _prmt),
    "popc": Operation("uT", _count(lambda x, bits: x.bit_count())),
    "clz": Operation("uT", _count(lambda x, bits: bits - x.bit_length())),
    "brev": Operation("TT", _reverse_bits),
    "selp": Operation("TTTp", lambda a, b, p: np.where(p, a, b)),
    "mov": Operation("TT", lambda a: a),
}
OPERATIONS |= {f"setp.{name}": Operation("pTT", f) for name, f in _COMPARISONS.items()}


def operation(opcode: str) -> tuple[Operation, list[str]] | None:
    """The operation of an opcode, and its types; None if it is not in the table."""
    parts = opcode.split(".")
    n = len(parts)
    while n > 1 and parts[n - 1] in WIDTHS:
        n -= 1
    types, flags = parts[n:], parts[1:n]
    if parts[0] == "cvt" and len(types) == 2:
        return Operation("TS", conversion([f for f in flags if f != "ftz"], *types)), types
    named = [f for f in flags if f not in ("rn", "ftz")]
    found = OPERATIONS.get(".".join([parts[0], *named]))
    if found is None or len(types) != 1:
        return None
    is_float = types[0] in FLOATS
    approximate = "approx" in flags
    must_round = is_float and not approximate and parts[0] in ("add", "sub", "mul", "fma", "div", "sqrt", "rcp")
    if must_round != ("rn" in flags):  # without one, ptxas may fuse a product and a sum
        raise PtxError(f"{opcode}: a rounding is wrong or missing")
    if parts[0] == "mul" and not is_float and len(named) != 1:
        raise PtxError(f"{opcode}: which half?")
    if found.rounds and is_float:
        found = found._replace(compute=_finished(found.compute, "ftz" in flags, types[0]))
    return found, types


def _finished(compute: Callable, ftz: bool, of: str) -> Callable:
    def finished(*args):
        if ftz and of == "f32":
            return canonical(flushed(compute(*map(flushed, args))))
        r = compute(*args)
        return canonical(r) if of == "f32" else r

    return finished
