"""Bounds of integers hold for every operand, and shifts by bounded counts need no test of the count."""

from __future__ import annotations

import random

import pytest

from omni.warp_core.codegen.cpu.cpu_kernel import EmitOptions, emit_cpu
from omni.warp_core.codegen.target import x86
from omni.warp_core.ir.analysis.value_range import upper_bound
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import F32, I32, I64, U8, U32, Array, Scalar

_CODES = ("shr", "and", "add", "mul", "max", "rem", "sub", "shl")


def _value(b: Builder, rng: random.Random, parameters: list[Value], depth: int, env: dict[Value, list[int]]) -> Value:
    """A random expression; `env` gets what it is for each sample of the parameters."""
    t = parameters[0].type
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.5:
            return rng.choice(parameters)
        value = b.const(rng.choice([0, 1, 3, 4, 28, 31, 255]), t)
        env[value] = [value.const] * len(env[parameters[0]])
        return value
    code = rng.choice(_CODES)
    args = [_value(b, rng, parameters, depth - 1, env) for _ in range(2)]
    result = b.op(code, *args)
    env[result] = [semantics.evaluate(code, t, *pair) for pair in zip(*(env[a] for a in args))]
    return result


@pytest.mark.parametrize("t", [I32, U32, I64, U8], ids=str)
def test_bounds_hold(t: Scalar) -> None:
    rng = random.Random(5)
    low, high = semantics.int_range(t)
    known = 0
    for _ in range(400):
        parameters = [Value(t, name=n) for n in "ab"]
        b = Builder(Function("f", parameters))
        samples = [[rng.choice([low, high, 0, 1, rng.randint(low, high)]) for _ in range(20)] for _ in parameters]
        env = dict(zip(parameters, samples))
        value = _value(b, rng, parameters, 4, env)
        bound = upper_bound(value)
        if bound is not None:
            known += bound < high
            assert all(0 <= x <= bound for x in env[value])
    assert known > 50


def test_floats_have_no_bound() -> None:
    x = Value(F32)
    b = Builder(Function("f", [x]))
    assert upper_bound(x) is None
    assert upper_bound(b.op("cast", x, attr=I32)) is None
    assert upper_bound(b.op("cast", x, attr=U8)) == 255


@pytest.mark.parametrize(("high", "selects"), [(27, 0), (28, 2)], ids=["inside", "may be outside"])
def test_bounded_counts_are_not_tested(high: int, selects: int) -> None:
    fn = Function("k", [Value(Array(U32), name="a")], (), is_kernel=True)
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    x = b.op("load", fn.params[0], i, attr=())
    count = b.op("add", b.op("rem", x, b.const(high + 1, U32)), b.const(4, U32))
    b.op("store", fn.params[0], i, b.op("shr", x, count), attr=())
    b.terminate("return")
    text = emit_cpu(fn, x86("avx2"), EmitOptions(8)).text
    assert text.count(" = select ") == selects * 2  # the body with masks has them again
