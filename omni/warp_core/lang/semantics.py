"""Scalar operations, executed on Python numbers: the one definition of the language's arithmetic.

The builder folds constants with it and the interpreter runs programs with it, so every back end is held to the same
answers: integers wrap, and integer division truncates and gives 0 for a zero divisor. Shifts past the width give 0 (or
the sign). Float to integer conversion saturates, with NaN giving 0. Each float operation rounds once to its own type.
Start with `evaluate`.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from ctypes import c_float

from .. import _native
from .types import BF16, BOOL, F16, F32, F64, Scalar

Number = bool | int | float


def wrap(value: int, t: Scalar) -> int:
    """`value` reduced modulo 2**bits into the range of integer type `t`."""
    value &= (1 << t.bits) - 1
    if t.kind == "int" and value >> (t.bits - 1):
        value -= 1 << t.bits
    return value


def int_range(t: Scalar) -> tuple[int, int]:
    """Smallest and largest value of integer type `t`."""
    if t.kind == "int":
        return -(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1
    return 0, (1 << t.bits) - 1


def _round_f16(x: float) -> float:
    try:
        return struct.unpack("e", struct.pack("e", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def _round_bf16(x: float) -> float:
    """Round to nearest even, straight from double: through odd rounding to float, so that no bit is rounded twice."""
    if not math.isfinite(x) or x == 0.0:
        return x
    nearest = c_float(x).value
    if math.isinf(nearest):
        return nearest
    bits = struct.unpack("I", struct.pack("f", nearest))[0]
    if nearest != x and not bits & 1:
        bits += 1 if abs(nearest) < abs(x) else -1
    bits += 0x7FFF + ((bits >> 16) & 1)
    return struct.unpack("f", struct.pack("I", bits & 0xFFFF0000))[0]


# Rounds a double once to each float type.
ROUND: dict[Scalar, Callable[[float], float]] = {
    F16: _round_f16,
    BF16: _round_bf16,
    F32: lambda x: c_float(x).value,
    F64: lambda x: x,
}


def convert(value: Number, t: Scalar) -> Number:
    """`value` converted to scalar type `t` as the cast operation does it."""
    if t is BOOL:
        return bool(value != 0)
    if t.is_float:
        try:
            return ROUND[t](float(value if t is F64 or isinstance(value, float) else _to_odd(int(value))))
        except OverflowError:  # an integer beyond the range of double
            return math.inf if value > 0 else -math.inf
    if isinstance(value, float):
        return _saturate(value, t)
    return wrap(int(value), t)


def _to_odd(value: int) -> int:
    """`value` cut to the 53 bits of a double, the last one set if any was lost, so that a second rounding is exact."""
    extra = value.bit_length() - 53
    if extra <= 0:
        return value
    size = abs(value)
    cut = (size >> extra | (size & ((1 << extra) - 1) != 0)) << extra
    return -cut if value < 0 else cut


def _saturate(value: float, t: Scalar) -> int:
    if math.isnan(value):
        return 0
    low, high = int_range(t)
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)


def fits(value: Number, t: Scalar) -> bool:
    """True if a literal may take type `t`: only the rounding of a fraction may be lost."""
    if isinstance(value, bool) or t is BOOL:
        return isinstance(value, bool) and t is BOOL
    if t.is_float:
        return isinstance(value, float) or convert(value, t) == value
    if isinstance(value, float):
        return False
    low, high = int_range(t)
    return low <= value <= high


def _add(t, a, b):
    return convert(a + b, t)


def _sub(t, a, b):
    return convert(a - b, t)


def _mul(t, a, b):
    return convert(a * b, t)


def _truncated_quotient(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def _float_div(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _div(t, a, b):
    if t.is_float:
        return convert(_float_div(a, b), t)
    return wrap(_truncated_quotient(a, b), t) if b else 0


def _rem(t, a, b):
    if t.is_float:
        return convert(math.fmod(a, b), t) if b != 0.0 and math.isfinite(a) else math.nan
    return wrap(a - b * _truncated_quotient(a, b), t) if b else 0


def _floordiv(t, a, b):
    if t.is_float:
        return _floor(t, _div(t, a, b))
    return wrap(a // b, t) if b else 0


def _floor(t, a):
    return math.copysign(float(math.floor(a)), a) if math.isfinite(a) else a


def _ceil(t, a):
    return math.copysign(float(math.ceil(a)), a) if math.isfinite(a) else a


def _trunc(t, a):
    return math.copysign(float(math.trunc(a)), a) if math.isfinite(a) else a


def _rint(t, a):
    return math.copysign(float(round(a)), a) if math.isfinite(a) else a


def _sqrt(t, a):
    return convert(math.sqrt(a), t) if a >= 0.0 else (a if a == 0.0 else math.nan)


def _fma(t, a, b, c):
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return convert(a * b + c, t)
    if t is not F64:
        return convert(_product_sum_to_odd(a * b, c), t)
    (na, da), (nb, db), (nc, dc) = (float(x).as_integer_ratio() for x in (a, b, c))
    exact = na * nb * dc + nc * da * db
    if exact == 0:
        return a * b + c  # keeps the sign that the hardware gives a zero
    return _quotient(exact, da * db * dc)


def _product_sum_to_odd(product: float, c: float) -> float:
    """The sum of an exact product and `c`, rounded to odd, so that rounding it again to a narrower type is exact."""
    total = product + c
    back = total - product
    lost = (product - (total - back)) + (c - back)
    if lost == 0.0:
        return total
    bits = struct.unpack("q", struct.pack("d", total))[0]
    if not bits & 1:
        bits += 1 if (lost > 0.0) == (total > 0.0) else -1
    return struct.unpack("d", struct.pack("q", bits))[0]


def _quotient(a: int, b: int) -> float:
    """The double nearest to `a / b`, ties to even."""
    try:
        return a / b
    except OverflowError:
        return math.inf if a > 0 else -math.inf


def _bitwise(f: Callable[[int, int], int]):
    def op(t, a, b):
        return bool(f(a, b)) if t is BOOL else wrap(f(int(a), int(b)), t)

    return op


def _shift_count(t: Scalar, b: int) -> int:
    """Counts outside 0..bits-1 (negative ones too, read as unsigned) shift everything out."""
    return b if 0 <= b < t.bits else t.bits


_FORMAT = {8: "B", 16: "H", 32: "I", 64: "Q"}
_FLOAT_FORMAT = {F16: "e", F32: "f", F64: "d"}


def bits_of(value: Number, t: Scalar) -> int:
    """The bit pattern of `value` as an unsigned integer."""
    if t is BF16:
        return struct.unpack("I", struct.pack("f", value))[0] >> 16
    if t in _FLOAT_FORMAT:
        return struct.unpack("<" + _FORMAT[t.bits], struct.pack("<" + _FLOAT_FORMAT[t], value))[0]
    return int(value) & ((1 << t.bits) - 1)


def from_bits(bits: int, t: Scalar) -> Number:
    """The value of type `t` with this bit pattern."""
    if t is BOOL:
        return bool(bits & 1)
    if t is BF16:
        return struct.unpack("f", struct.pack("I", bits << 16))[0]
    if t in _FLOAT_FORMAT:
        return struct.unpack("<" + _FLOAT_FORMAT[t], struct.pack("<" + _FORMAT[t.bits], bits))[0]
    return wrap(bits, t)


def shortest(value: float, t: Scalar) -> str:
    """Return the fewest digits that give back a number of type `t`, as Python writes floats."""
    if t is F64 or value != value or value in (float("inf"), float("-inf")):
        return repr(float(value))
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return repr(float(next(text for text in texts if convert(float(text), F32) == value)))


_CONVERSION = re.compile(r"%(?:%|([-+ 0#]*\d*(?:\.\d+)?)(hh|h|ll|l|z)?([a-zA-Z]))")


def formatted(text: str, values: Sequence[Number]) -> str:
    """Return the text that a kernel prints; `%r` is a float64 in the fewest digits, `%hr` a smaller float."""
    rest = iter(values)

    def shown(m: re.Match) -> str:
        if not m[3]:
            return "%"
        value = next(rest)
        return shortest(value, F32 if m[2] else F64) if m[3] == "r" else f"%{m[1]}{m[3]}" % value

    return _CONVERSION.sub(shown, text)


BINARY: dict[str, Callable] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "rem": _rem,
    "floordiv": _floordiv,
    "min": lambda t, a, b: a if a < b else b,
    "max": lambda t, a, b: a if a > b else b,
    "minnum": lambda t, a, b: (a if a < b else b) if b == b else a,  # C's fmin: a NaN counts as missing
    "maxnum": lambda t, a, b: (a if a > b else b) if b == b else a,
    "and": _bitwise(lambda a, b: a & b),
    "or": _bitwise(lambda a, b: a | b),
    "xor": _bitwise(lambda a, b: a ^ b),
    "shl": lambda t, a, b: wrap(a << _shift_count(t, b), t),
    "shr": lambda t, a, b: wrap(a >> _shift_count(t, b), t),
    "from_end": lambda t, a, b: wrap(a + b, t) if a < 0 else a,  # an index into `b` elements
}

UNARY: dict[str, Callable] = {
    "neg": lambda t, a: convert(-a, t) if not t.is_float else -a,
    "abs": lambda t, a: convert(abs(a), t),
    "not": lambda t, a: (not a) if t is BOOL else wrap(~a, t),
    "popcount": lambda t, a: bin(bits_of(a, t)).count("1"),
    "sqrt": _sqrt,
    "rsqrt": lambda t, a: _div(t, 1.0, _sqrt(t, a)),
    "floor": _floor,
    "ceil": _ceil,
    "trunc": _trunc,
    "rint": _rint,
}

COMPARE: dict[str, Callable[[Number, Number], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _libm_pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        odd = float(b).is_integer() and math.fmod(b, 2.0) != 0.0
        return -math.inf if a < 0.0 and odd else math.inf
    except ValueError:
        if a == 0.0:  # zero to a negative power
            odd = float(b).is_integer() and math.fmod(b, 2.0) != 0.0
            return math.copysign(math.inf, a) if odd else math.inf
        return math.nan


_MATH_NAMES = "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp expm1 log log2 log10 log1p erf erfc"

# Functions that the C library provides: name -> Python equal of it. The operation `libm` may call these and no others.
LIBM: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in _MATH_NAMES.split()},
    "exp2": _native.exp2,
    "cbrt": _native.cbrt,
    "atan2": math.atan2,
    "fmod": math.fmod,
    "pow": _libm_pow,
}
_POLES = {"log": -math.inf, "log2": -math.inf, "log10": -math.inf, "log1p": -math.inf}


def libm(name: str, t: Scalar, *args: float) -> float:
    """Call a C library function with C's answers (infinities and NaN) where Python's own would raise."""
    if any(math.isnan(a) for a in args) and name != "pow":
        return math.nan
    try:
        return convert(LIBM[name](*args), t)
    except OverflowError:
        return -math.inf if name == "sinh" and args[0] < 0.0 else math.inf
    except ValueError:
        pole = _POLES.get(name)
        if pole is not None and args[0] == (-1.0 if name == "log1p" else 0.0):
            return pole
        return math.copysign(math.inf, args[0]) if name == "atanh" and abs(args[0]) == 1.0 else math.nan


def power(t: Scalar, a: Number, b: Number) -> Number:
    """`a ** b`: through the C library on floats; on integers exact, wrapped, and truncated for negative exponents."""
    if t.is_float:
        return libm("pow", t, a, b)
    if b >= 0:
        return wrap(pow(int(a), int(b), 1 << t.bits), t)
    if a in (1, -1):
        return a if b % 2 else 1
    return 0


def evaluate(name: str, t: Scalar, *args: Number) -> Number:
    """The result of scalar operation `name` on operands of type `t` (comparisons included)."""
    if name in BINARY:
        return BINARY[name](t, *args)
    if name in UNARY:
        return UNARY[name](t, *args)
    if name in COMPARE:
        return COMPARE[name](*args)
    if name == "fma":
        return _fma(t, *args)
    raise KeyError(name)
