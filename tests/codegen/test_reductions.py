"""Atomics on one element, gathered over a range of threads, against the interpreter; and which are not gathered."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.codegen.accumulate.reductions import gathered
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import BF16, F32, F64, I32, I64, U8, U32, Array, Scalar, Vec
from omni.warp_core.passes import pipeline
from tests.codegen.machine import Machine, same, targets

_N = 75
_KINDS = ("add", "sub", "min", "max", "and", "or", "xor")


def _arguments(numbers: list, t: Scalar, first: int) -> list:
    x, out = numbers[:_N], numbers[_N:]
    return [MemArray(t, [len(x)], x), MemArray(t, [len(out)], out), 1, first]


def _kernel(kind: str, t: Scalar, where: str) -> Function:
    """Threads whose number is above `first` update out[k] with x[i]."""
    params = [Value(Array(t), name="x"), Value(Array(t), name="out"), Value(I32, name="k"), Value(I32, name="first")]
    x, out, k, first = params
    fn = Function("total", params, is_kernel=True)
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    above = b.op("gt", i, first)
    b.push()
    b.op("atomic", out, k, b.op("load", x, i, attr=()), attr=(kind, ()))
    b.terminate("yield")
    taken = b.pop()
    b.push()
    b.terminate("yield")
    if where == "if":
        b.emit("if", [above], None, (taken, b.pop()))
    else:
        b.pop()
        b.op("atomic", out, k, b.op("load", x, i, attr=()), attr=(kind, ()))
    b.terminate("return")
    return fn


@pytest.mark.parametrize("where", ["top", "if"])
@pytest.mark.parametrize("t", [F32, F64, I32, U32, I64, U8], ids=str)
def test_against_the_interpreter(t: Scalar, where: str) -> None:
    rng = random.Random(8)
    for kind in _KINDS[: 4 if t.is_float else None]:
        fn = _kernel(kind, t, where)
        assert len(gathered(fn)) == 1
        for target in targets():
            for lanes in (1, 4, 0):
                machine = Machine(fn, target, lanes)
                assert machine.unit.text.count("atomicrmw") == 1
                for first in (-1, 3, _N):
                    numbers = [semantics.convert(rng.randint(1, 100), t) for _ in range(_N + 3)]
                    made, expected = (_arguments(numbers, t, first) for _ in range(2))
                    interp.run_kernel(fn, expected, _N)
                    machine.run(made, _N)
                    assert all(map(same, made[1].data, expected[1].data)), (kind, target.name, lanes, first)


def _lowered(kernel: Any) -> Function:
    return pipeline.run(lower_kernel(kernel))


@wp.kernel
def several(x: wp.array(dtype=float), out: wp.array(dtype=wp.vec3), count: wp.array(dtype=int), k: int):
    i = wp.tid()
    for _ in range(5):
        wp.atomic_add(out, k + 1, wp.vec3(x[i], 1.0, 2.0))
    wp.atomic_sub(out, 0, wp.vec3(1.0, 1.0, 1.0))
    if x[i] > 0.0:
        wp.atomic_add(count, 0, 1)


@wp.kernel
def result_used(x: wp.array(dtype=float), out: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = float(wp.atomic_add(out, 0, 1))


@wp.kernel
def also_read(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()] * out[1])


@wp.kernel
def mixed(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])
    wp.atomic_max(out, 1, x[wp.tid()])


@wp.kernel
def index_of_loop(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    for j in range(n):
        wp.atomic_add(out, j, x[wp.tid()])


@wp.kernel
def scattered(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    wp.atomic_add(out, x[wp.tid()], 1)


def test_several_are_gathered() -> None:
    assert len(gathered(_lowered(several))) == 3


@wp.kernel
def product(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    for row in range(4):
        for column in range(4):
            for k in range(4):
                out[row, column] += a[row, k] * a[k, column]


def test_many_totals_and_many_checks() -> None:
    """Totals and exits together bound how long LLVM takes: each exit merges all totals."""
    fn = pipeline.run(lower_kernel(product), pipeline.PassOptions(debug=True))
    exits = sum(op.code == "return" for op in fn.body.walk())
    assert len(gathered(_lowered(product))) == 64 < exits
    assert len(gathered(fn)) * exits <= 1024


@pytest.mark.parametrize("kernel", [result_used, also_read, mixed, index_of_loop, scattered], ids=lambda k: k.name)
def test_others_are_not(kernel: Any) -> None:
    assert not gathered(_lowered(kernel))


def test_half_precision_is_left_alone() -> None:
    for t in (BF16, Vec(3, BF16)):
        params = [Value(Array(t), name="out"), Value(t, name="v")]
        fn = Function("half", params, is_kernel=True)
        b = Builder(fn)
        b.op("atomic", params[0], b.i32(0), params[1], attr=("add", ()))
        b.terminate("return")
        assert not gathered(fn)


@pytest.mark.parametrize("threads", [1, 2])
def test_launches(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "num_threads", threads)
    for n in (0, 1, 33, 100_000):
        x = np.where(np.arange(n) % 3 == 0, 1.0, -1.0).astype(np.float32)
        out, count = wp.zeros(3, dtype=wp.vec3), wp.zeros(1, dtype=int)
        wp.launch(several, n, [x, out, count, 1])
        expected = [[-n] * 3, [0] * 3, [5 * x.sum(dtype=float), 5 * n, 10 * n]]
        np.testing.assert_array_equal(out.numpy(), expected)
        assert count.numpy()[0] == (x > 0).sum()
