"""The arithmetic of the interpreter against NumPy and exact rational numbers, operation by operation."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from omni.warp_core.ir import verifier
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Scalar,
    Type,
    Vec,
)
from tests.ir.generate import RawBuilder, random_number, same

NUMPY = {
    s: np.dtype(s.key.replace("u", "uint").replace("i", "int", 1) if s.is_int else s.key.replace("f", "float"))
    for s in (I8, I16, I32, I64, F16, F32, F64)
} | {s: np.dtype(f"uint{s.bits}") for s in (U8, U16, U32, U64)}
INTS = (I8, I16, I32, I64, U8, U16, U32, U64)
FLOATS = (F16, F32, F64)


def function(code: str, t: Type, arity: int, attr=None) -> Function:
    """A function that applies one operation, on scalars of `t` and on a vector of them."""
    params = [Value(t) for _ in range(arity)] + [Value(Vec(2, t)) for _ in range(arity)]
    f = Function(code, params)
    b = RawBuilder(f)
    results = [b.op(code, *params[:arity], attr=attr), b.op(code, *params[arity:], attr=attr)]
    f.results = tuple(r.type for r in results)
    b.terminate("return", results)
    verifier.verify(f)
    return f


def apply(code: str, t: Scalar, *args):
    """The result on scalars, after checking that vectors do the same."""
    scalar, vector = interp.call(function(code, t, len(args)), [*args, *((a, a) for a in args)])
    assert same(vector, (scalar, scalar))
    return scalar


def samples(t: Scalar, arity: int, count: int = 60):
    rng = random.Random(t.key)
    return [tuple(random_number(rng, t) for _ in range(arity)) for _ in range(count)]


@pytest.mark.parametrize("t", INTS + FLOATS, ids=str)
@pytest.mark.parametrize("code", ["add", "sub", "mul", "div"])
def test_basic_arithmetic(code, t):
    ufunc = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[code]
    for a, b in samples(t, 2):
        if t.is_int and code == "div":
            expected = semantics.wrap(int(Fraction(a, b)), t) if b else 0
        else:
            with np.errstate(all="ignore"):
                expected = ufunc(NUMPY[t].type(a), NUMPY[t].type(b)).item()
        assert same(apply(code, t, a, b), expected), (a, b)


@pytest.mark.parametrize("t", INTS, ids=str)
def test_remainders_and_floor_division(t):
    for a, b in samples(t, 2):
        rest = math.fmod(a, b) if b and abs(a) < 2**53 and abs(b) < 2**53 else None
        if rest is not None:
            assert apply("rem", t, a, b) == int(rest)
        assert apply("floordiv", t, a, b) == (semantics.wrap(a // b, t) if b else 0)


@pytest.mark.parametrize("t", INTS, ids=str)
def test_bits(t):
    kind = NUMPY[t].type
    for a, b in samples(t, 2):
        assert apply("and", t, a, b) == (kind(a) & kind(b)).item()
        assert apply("or", t, a, b) == (kind(a) | kind(b)).item()
        assert apply("xor", t, a, b) == (kind(a) ^ kind(b)).item()
        assert apply("not", t, a) == (~kind(a)).item()
        n = abs(b) % t.bits
        assert apply("shl", t, a, n) == (np.array([a], kind) << np.array([n], kind))[0].item()
        assert apply("shr", t, a, n) == (np.array([a], kind) >> np.array([n], kind))[0].item()
        assert apply("shl", t, a, t.bits) == 0 and apply("shr", t, a, t.bits) == (-1 if a < 0 else 0)
        assert apply("popcount", t, a) == bin(a & ((1 << t.bits) - 1)).count("1")


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_rounding_functions(t):
    kind = NUMPY[t].type
    for (a,) in samples(t, 1):
        for code in ("floor", "ceil", "trunc", "rint", "sqrt", "abs"):
            with np.errstate(all="ignore"):
                assert same(apply(code, t, a), getattr(np, code)(kind(a)).item()), (code, a)
        assert same(apply("neg", t, a), (-kind(a)).item())


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_extremes_follow_comparison(t):
    for a, b in samples(t, 2):
        assert same(apply("min", t, a, b), a if a < b else b)
        assert same(apply("max", t, a, b), a if a > b else b)


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_extremes_of_numbers_follow_fmin_and_fmax_of_c(t):
    kind = NUMPY[t].type
    for a, b in samples(t, 2):
        for code, judge in (("minnum", np.fmin), ("maxnum", np.fmax)):
            found, expected = apply(code, t, a, b), judge(kind(a), kind(b)).item()
            assert same(found, expected) or found == expected == 0, (code, a, b)  # zeros are equal


@pytest.mark.parametrize("t", [F16, BF16, F32, F64], ids=str)
def test_fma_rounds_the_exact_value_once(t):
    rng = random.Random(7)
    for _ in range(400):
        a, b = (semantics.convert(rng.uniform(-2, 2) * 2.0 ** rng.randint(-6, 6), t) for _ in range(2))
        c = semantics.convert(-a * b * rng.choice((1.0, 1.0, 0.5, 1e-4)) + rng.choice((0.0, 1e-6, 3.0)), t)
        got = apply("fma", t, a, b, c)
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        bits = semantics.bits_of(got, t)
        for other in (semantics.from_bits(bits - 1, t), semantics.from_bits(bits + 1, t)) if got else ():
            assert abs(Fraction(got) - exact) <= abs(Fraction(other) - exact), (a, b, c)
            if abs(Fraction(got) - exact) == abs(Fraction(other) - exact):
                assert not bits & 1, (a, b, c)


@pytest.mark.parametrize("source", [I32, I64, U64, F32, F64], ids=str)
@pytest.mark.parametrize("target", [I8, U8, I32, U32, I64, F16, F32, F64], ids=str)
def test_casts(source, target):
    f = Function("cast", [x := Value(source)])
    b = RawBuilder(f)
    f.results = (target,)
    b.terminate("return", [b.op("cast", x, attr=target)])
    for (a,) in samples(source, 1):
        (got,) = interp.call(f, [a])
        if source.is_float and target.is_int:
            low, high = semantics.int_range(target)
            expected = 0 if math.isnan(a) else low if a <= low else high if a >= high else int(a)
        else:
            with np.errstate(all="ignore"):
                expected = np.array([a], NUMPY[source]).astype(NUMPY[target])[0].item()
        assert same(got, expected), a


def test_wide_integers_round_once():
    """Through a double this would first round to the tie and then away from the nearest float."""
    assert semantics.convert(2**60 + 2**36 + 1, F32) == float(np.float32(np.int64(2**60 + 2**36 + 1)))
    assert semantics.convert(-(2**60 + 2**36 + 1), F32) == float(np.float32(np.int64(-(2**60 + 2**36 + 1))))
