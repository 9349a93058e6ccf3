"""Checks that share a branch: each thread reports its first failure, at every width, in few blocks of code."""

from __future__ import annotations

import os

import pytest

from omni.warp_core.codegen.cpu.cpu_kernel import EmitOptions, emit_cpu
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import F32, F64, Array, Scalar, parse_type
from omni.warp_core.passes import checks
from omni.warp_core.passes.pipeline import PassOptions, run
from tests.codegen.machine import Machine, targets
from tests.ir.generate import Options, copy_inputs, generate, make_inputs, same

_COUNT = int(os.environ.get("OMNI_WARP_RANDOM_PROGRAMS", "30"))
_THREADS = 23
_NAN = float("nan")
_INF = float("inf")


def _number(bits: int, key: str):
    t = parse_type(key)
    assert isinstance(t, Scalar)
    return semantics.from_bits(bits, F64) if t.is_float else semantics.from_bits(bits & ((1 << t.bits) - 1), t)


def _failures(machine: Machine) -> dict[int, tuple]:
    """What each thread reports: (kind, message, values)."""
    found = {}
    for thread, site, slots in machine.failures:
        told = machine.unit.sites[site]
        assert thread not in found, f"thread {thread} reports twice"
        found[thread] = told["kind"], told["message"], [_number(b, key) for b, key in zip(slots, told["types"])]
    return found


def _judge(fn: Function, inputs: list, threads: int) -> tuple[int, str, str, list] | None:
    """The first failure of a kernel, by the interpreter."""
    try:
        interp.run_kernel(fn, copy_inputs(inputs), threads)
    except interp.Failure as failure:
        return failure.thread[0], failure.kind, failure.message, list(failure.values)
    return None


def _assert_first(fn: Function, inputs: list, lanes: int, what: str) -> bool:
    """The compiled kernel fails first where the interpreter does, and tells the same."""
    expected = _judge(fn, inputs, _THREADS)
    machine = Machine(fn, targets()[-1], lanes)
    machine.run(copy_inputs(inputs), _THREADS)
    found = _failures(machine)
    if expected is None:
        assert not found, what
        return False
    thread, kind, message, values = expected
    assert min(found) == thread, what
    assert found[thread][:2] == (kind, message), what
    told = [x for v in values for x in (v if isinstance(v, tuple) else (v,))][: checks.MAX_VALUES]
    assert len(told) == len(found[thread][2]) and all(map(same, told, found[thread][2])), what
    return True


@pytest.mark.parametrize("first", range(0, _COUNT, 12))
def test_random_programs_fail_first_where_the_interpreter_does(first):
    failed = 0
    for seed in range(first, first + 12):
        fn = generate(seed, Options(functions=seed % 3, libm=bool(seed % 2)))
        debug = run(fn, PassOptions(debug=True, inline_limit=(0, 1000)[seed % 2]))
        inputs = make_inputs(fn, seed, _THREADS)
        for lanes in (0, 1, 8):
            failed += _assert_first(debug, inputs, lanes, f"seed {seed}, {lanes} lanes")
    assert failed


def _sums(count: int) -> Function:
    """A kernel that writes the sum of `count` products of two numbers of its own, the numbers growing as it goes."""
    fn = Function("sums", [Value(Array(F32), name="x"), Value(Array(F32), name="y")], is_kernel=True)
    x, y = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    a, total = b.op("load", x, i, attr=()), b.op("load", y, i, attr=())
    for k in range(count):
        total = b.op("add", b.op("mul", a, b.op("add", total, b.f32(float(k)))), total)
    b.op("store", y, i, total, attr=())
    b.terminate("return")
    return fn


def _blocks(count: int, lanes: int) -> int:
    debug = run(_sums(count), PassOptions(debug=True))
    text = emit_cpu(debug, targets()[-1], EmitOptions(lanes)).text
    return sum(line.endswith(":") for line in text.splitlines())


@pytest.mark.parametrize("lanes", [1, 16])
def test_a_thousand_checked_operations_need_few_blocks(lanes):
    operations, at_a_branch = 999, checks.MAX_RUN
    blocks = _blocks(operations // 3, lanes) - _blocks(0, lanes)
    assert blocks <= 8 * (operations // at_a_branch + 1)


def _floats(values: list[float]) -> MemArray:
    array = MemArray(F32, (len(values),))
    array.data[:] = values
    return array


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_lanes_of_a_group_fail_at_operations_of_their_own(lanes):
    fn = Function("mixed", [Value(Array(F32), name="x"), Value(Array(F32), name="y")], is_kernel=True)
    x, y = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    a = b.op("load", x, i, attr=())
    root = b.op("sqrt", a)
    less = b.op("sub", root, root)
    ratio = b.op("div", a, a)
    b.op("store", y, i, b.op("add", less, ratio), attr=())
    b.terminate("return")
    debug = run(fn, PassOptions(debug=True))
    given = [4.0, _INF, 0.0, -1.0, _NAN, 9.0, 0.0]
    out = _floats([7.0] * len(given))
    machine = Machine(debug, targets()[-1], lanes)
    machine.run([_floats(given), out], len(given))
    assert _failures(machine) == {
        1: ("nan", "sub({0}, {1}) is NaN", [_INF, _INF]),
        2: ("nan", "div({0}, {1}) is NaN", [0.0, 0.0]),
        3: ("nan", "sqrt({0}) is NaN", [-1.0]),
        6: ("nan", "div({0}, {1}) is NaN", [0.0, 0.0]),
    }
    assert out.data[:4] == [1.0, 7.0, 7.0, 7.0] and out.data[4] != out.data[4] and out.data[5:] == [1.0, 7.0]
