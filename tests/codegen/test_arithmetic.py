"""Every scalar operation on edge values and random ones, at every width, against the definition of the language."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.ir.ops import COMPARISONS, OpError, result_type
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import BF16, BOOL, F16, F32, F64, I32, SCALARS, Array, Scalar
from tests.codegen.machine import Machine, same, targets

_BINARY = sorted(semantics.BINARY) + sorted(COMPARISONS)
_UNARY = sorted(semantics.UNARY.keys() - {"rsqrt"})  # an approximation, which tests/launches/test_fast_math.py judges
_LEVELS = targets()


def _edges(t: Scalar) -> list:
    if t is BOOL:
        return [False, True]
    if t.is_int:
        low, high = semantics.int_range(t)
        negative = [-1, -2, -7] if low else []
        return sorted({low, low + 1, 0, 1, 2, 3, 7, 31, 32, 63, 64, 100, high - 1, high, *negative})
    tiny = {F16: 6e-8, BF16: 1e-40, F32: 1e-45, F64: 5e-324}[t]
    large = {F16: 65504.0, BF16: 3.3895313892515355e38, F32: 3.4028234663852886e38, F64: 1.7976931348623157e308}[t]
    some = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 3.0, 1e-3, 255.0, 1e4, tiny, large, math.inf, -math.inf, math.nan]
    return [semantics.convert(x, t) for x in some]


def _random(t: Scalar, rng: random.Random):
    if t is BOOL:
        return rng.random() < 0.5
    if t.is_int:
        return rng.randint(*semantics.int_range(t))
    return semantics.convert(rng.uniform(-1, 1) * 10.0 ** rng.randint(-6, 6), t)


def _allowed(code: str, types: list) -> Scalar | None:
    try:
        return result_type(code, types, None)
    except OpError:
        return None


def _kernel(t: Scalar, rows) -> Function:
    """out_k[i] = op_k(a[i], b[i], c[i])."""
    params = [Value(Array(t), name=n) for n in "abc"]
    params += [Value(Array(r), name=f"out{k}") for k, (_, r, _) in enumerate(rows)]
    fn = Function("arithmetic", params, is_kernel=True)
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    operands = [b.op("load", p, i, attr=()) for p in params[:3]]
    for (code, _, count), out in zip(rows, params[3:]):
        attr = out.type.dtype if code in ("cast", "bitcast") else None
        b.op("store", out, i, b.op(code, *operands[:count], attr=attr), attr=())
    b.terminate("return")
    return fn


def _rows(t: Scalar) -> list:
    rows = [(code, _allowed(code, [t, t]), 2) for code in _BINARY]
    rows += [(code, _allowed(code, [t]), 1) for code in _UNARY]
    rows += [("cast", to, 1) for to in SCALARS if to is not t]
    rows += [("bitcast", to, 1) for to in SCALARS if to is not t and to.bits == t.bits]
    return [row for row in rows if row[1] is not None]


def _expected(code: str, t: Scalar, result: Scalar, args: tuple):
    if code == "cast":
        return semantics.convert(args[0], result)
    if code == "bitcast":
        return semantics.from_bits(semantics.bits_of(args[0], t), result)
    return semantics.evaluate(code, t, *args)


@pytest.mark.parametrize("target", _LEVELS, ids=lambda t: t.name)
@pytest.mark.parametrize("lanes", [1, 0])
@pytest.mark.parametrize("t", SCALARS, ids=lambda t: t.key)
def test_operations(t, lanes, target):
    rng = random.Random(t.key)
    rows = _rows(t)
    pairs = list(itertools.product(_edges(t), repeat=2))
    pairs += [(_random(t, rng), _random(t, rng)) for _ in range(300)]
    n = len(pairs)
    inputs = [MemArray(t, (n,), [p[0] for p in pairs]), MemArray(t, (n,), [p[1] for p in pairs])]
    inputs.append(MemArray(t, (n,)))
    outputs = [MemArray(r, (n,)) for _, r, _ in rows]
    Machine(_kernel(t, rows), target, lanes).run([*inputs, *outputs], n)
    for (code, result, count), out in zip(rows, outputs):
        for args, got in zip(pairs, out.data):
            want = _expected(code, t, result, args[:count])
            if code == "bitcast" and isinstance(args[0], float) and math.isnan(args[0]):
                continue  # which NaN it is does not matter
            assert same(got, want), f"{code} {t}->{result} {args[:count]}: got {got}, want {want}"


@pytest.mark.parametrize("target", _LEVELS, ids=lambda t: t.name)
@pytest.mark.parametrize("lanes", [1, 0])
@pytest.mark.parametrize("t", [F32, F64], ids=lambda t: t.key)
def test_fma_rounds_once(t, lanes, target):
    rng = random.Random(3)
    triples = [tuple(_random(t, rng) for _ in range(3)) for _ in range(400)]
    eps = 2.0 ** -(12 if t is F32 else 27)
    triples += [(1.0 + s * eps, 1.0 + eps, r * 2.0**-k) for s in (1, -1) for r in (1, -1) for k in range(20, 80, 3)]
    triples += [(1.0 + 2.0**-12, 1.0 - 2.0**-12, -1.0), (3.0, -1.0, 3.0), (math.inf, 1.0, -math.inf)]
    n = len(triples)
    arrays = [MemArray(t, (n,), [x[k] for x in triples]) for k in range(3)]
    out = MemArray(t, (n,))
    fn = _kernel(t, [("fma", t, 3)])
    Machine(fn, target, lanes).run([*arrays, out], n)
    for args, got in zip(triples, out.data):
        assert same(got, semantics.evaluate("fma", t, *args)), args


@pytest.mark.parametrize("lanes", [1, 0])
@pytest.mark.parametrize("divisor", [1, -1, 0, 2, -2, 3, 7, -7, 16, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("code", ["div", "rem", "floordiv"])
def test_division_by_constants(code, divisor, lanes):
    values = _edges(I32) + [random.Random(5).randint(-(2**31), 2**31 - 1) for _ in range(50)]
    n = len(values)
    fn = Function("divide", [Value(Array(I32), name="a"), Value(Array(I32), name="out")], is_kernel=True)
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    a, out = fn.params
    b.op("store", out, i, b.op(code, b.op("load", a, i, attr=()), b.i32(divisor)), attr=())
    b.terminate("return")
    result = MemArray(I32, (n,))
    Machine(fn, targets()[-1], lanes).run([MemArray(I32, (n,), values), result], n)
    assert result.data == [semantics.evaluate(code, I32, v, divisor) for v in values]
