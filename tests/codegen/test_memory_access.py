"""Loads, stores and atomics of every element type and address form, at every width, against the interpreter."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from omni.warp_core.codegen.cpu import cpu_kernel
from omni.warp_core.codegen.cpu.cpu_kernel import EmitOptions, emit_cpu
from omni.warp_core.codegen.target import Target, x86
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray, unflatten
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang import semantics
from omni.warp_core.lang.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    U8,
    U16,
    U64,
    Array,
    Mat,
    Quat,
    Scalar,
    Struct,
    Transform,
    Type,
    Vec,
    leaves,
)
from tests.codegen.machine import Machine, same, targets

_MIXED = Struct("Mixed", (("a", F32), ("flag", BOOL), ("v", Vec(3, F64)), ("n", I8)))
_EVEN = Struct("Even", (("p", Vec(3, F32)), ("id", I32), ("q", Quat(F32))))
_NESTED = Struct("Nested", (("e", _EVEN), ("k", I64)))
_TYPES = [
    *(BOOL, U8, U16, F16, BF16, I32, F32, F64, U64),
    *(Vec(2, F32), Vec(3, F32), Vec(3, F64), Vec(4, I32), Vec(3, F16), Vec(5, U8)),
    *(Mat(2, 2, F32), Mat(3, 3, F32), Mat(4, 4, F32), Transform(F32)),
    *(_MIXED, _EVEN, _NESTED),
]
_N = 41
_LANES = [1, 4, 0]


def _targets(lanes: int) -> list[Target]:
    """Every level with the lanes that it takes by itself (0), and one level with each other number of lanes."""
    return {1: targets()[:1], 4: targets()[-1:]}.get(lanes, targets())


def _value(t: Type, rng: random.Random):
    def number(s):
        assert isinstance(s, Scalar)
        return semantics.convert(rng.randint(0, 1) if s is BOOL else rng.randint(0, 100), s)

    return unflatten([number(leaf) for _, leaf in leaves(t)], t)


def _array(t: Type, shape, seed: int) -> MemArray:
    rng = random.Random(seed)
    array = MemArray(t, shape)
    array.data = [_value(t, rng) for _ in array.data]
    return array


def _compare(fn: Function, args, dim, lanes: int, inner_contiguous: bool = True) -> None:
    verify(fn)
    expected = [_copy(a) for a in args]
    interp.run_kernel(fn, expected, dim)
    for target in _targets(lanes):
        got = [_copy(a) for a in args]
        Machine(fn, target, lanes, inner_contiguous).run(got, dim)
        for a, b in zip(expected, got):
            if isinstance(a, MemArray):
                for i, (x, y) in enumerate(zip(a.data, b.data)):
                    assert same(x, y), f"{target.name} element {i}: got {y}, want {x}"


def _copy(value):
    return MemArray(value.dtype, value.shape, list(value.data)) if isinstance(value, MemArray) else value


def _copy_kernel(t: Type, index, masked: bool) -> Function:
    """out[i] = x[index(i)], in odd threads only when masked."""
    fn = Function("copy", [Value(Array(t), name="x"), Value(Array(t), name="out")], is_kernel=True)
    x, out = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    if not masked:
        b.op("store", out, i, b.op("load", x, index(b, i), attr=()), attr=())
        b.terminate("return")
        return fn
    odd = b.op("eq", b.op("and", i, b.i32(1)), b.i32(1))
    b.push()
    b.op("store", out, i, b.op("load", x, index(b, i), attr=()), attr=())
    b.terminate("yield")
    then = b.pop()
    b.push()
    b.terminate("yield")
    b.emit("if", [odd], regions=(then, b.pop()))
    b.terminate("return")
    return fn


_INDICES = {
    "linear": lambda b, i: i,
    "shifted": lambda b, i: b.op("add", i, b.i32(2)),
    "reversed": lambda b, i: b.op("sub", b.i32(_N - 1), i),
    "strided": lambda b, i: b.op("mul", i, b.i32(2)),
    "gathered": lambda b, i: b.op("rem", b.op("mul", i, b.i32(7)), b.i32(_N)),
    "uniform": lambda b, i: b.i32(3),
}


@pytest.mark.parametrize("lanes", _LANES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("form", sorted(_INDICES))
@pytest.mark.parametrize("t", [F32, Vec(3, F32), _MIXED], ids=lambda t: t.key.split("{")[0])
def test_address_forms(t, form, masked, lanes):
    fn = _copy_kernel(t, _INDICES[form], masked)
    _compare(fn, [_array(t, (2 * _N + 2,), 1), _array(t, (_N,), 2)], _N, lanes)


@pytest.mark.parametrize("lanes", _LANES)
@pytest.mark.parametrize("t", _TYPES, ids=lambda t: t.key.split("{")[0])
def test_element_types(t, lanes):
    for form in ("linear", "gathered"):
        fn = _copy_kernel(t, _INDICES[form], form == "linear")
        _compare(fn, [_array(t, (_N,), 1), _array(t, (_N,), 2)], _N, lanes)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("t", [BOOL, F32, Vec(3, F32), Mat(3, 3, F32), _EVEN], ids=lambda t: t.key.split("{")[0])
def test_large_kernels(t, masked, monkeypatch):
    """They have one body, under a mask; full groups of lanes go to memory without, and the rest to its own elements."""
    monkeypatch.setattr(cpu_kernel, "_TWO_BODIES_LIMIT", 0)
    fn = _copy_kernel(t, _INDICES["linear"], masked)
    for threads in (0, 5, 32, _N):
        _compare(fn, [_array(t, (_N,), 1), _array(t, (_N + 3,), 2)], threads, 0)
    text = emit_cpu(fn, x86("avx512"), EmitOptions(16)).text
    access = rf"= load <16 x {'i8' if t is BOOL else 'i32' if t is _EVEN else 'float'}>"
    assert re.search(access, text)


@pytest.mark.parametrize("form", ["linear", "gathered"])
def test_masked_accesses_are_spelled_as_llvm_20_knows_them(form):
    """Later ones, for which the alignment is an attribute of the address, take that too."""
    text = emit_cpu(_copy_kernel(F32, _INDICES[form], True), x86("avx2"), EmitOptions(8)).text
    calls = [line for line in text.splitlines() if "call" in line and "@llvm.masked." in line]
    assert calls
    assert all(", i32 4, <8 x i1>" in call for call in calls), calls


@pytest.mark.parametrize("inner_contiguous", [True, False])
@pytest.mark.parametrize("lanes", _LANES)
@pytest.mark.parametrize("t", [F32, Vec(3, F32)], ids=lambda t: t.key)
def test_transpose(t, lanes, inner_contiguous):
    """out[j, i] = x[i, j]: one side wide, the other scattered."""
    fn = Function("transpose", [Value(Array(t, 2), name="x"), Value(Array(t, 2), name="out")], is_kernel=True)
    x, out = fn.params
    b = Builder(fn)
    i, j = b.op("tid", attr=(0, 2)), b.op("tid", attr=(1, 2))
    b.op("store", out, j, i, b.op("load", x, i, j, attr=()), attr=())
    b.terminate("return")
    _compare(fn, [_array(t, (9, 21), 1), _array(t, (21, 9), 2)], (9, 21), lanes, inner_contiguous)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("lanes", _LANES)
@pytest.mark.parametrize("dim", [(5, 3), (2, 3, 4), (2, 1, 3, 2), (1, 20)], ids=str)
def test_launch_indices(dim, lanes, flat):
    """Every thread writes its own index at its own place, whichever way the grid is cut."""
    n = len(dim)
    fn = Function("indices", [Value(Array(Vec(n, I32), n), name="out")], is_kernel=True)
    (out,) = fn.params
    b = Builder(fn)
    ids = [b.op("tid", attr=(k, n)) for k in range(n)]
    b.op("store", out, *ids, b.op("make", *ids, attr=Vec(n, I32)), attr=())
    b.terminate("return")
    for target in _targets(lanes):
        array = MemArray(Vec(n, I32), dim)
        machine = Machine(fn, target, lanes, flat=flat)
        total = len(array.data)
        machine.run([array], dim, 0, total // 2 + 1)
        machine.run([array], dim, total // 2 + 1, total)
        assert array.data == list(itertools.product(*map(range, dim)))


@pytest.mark.parametrize("lanes", _LANES)
def test_slices_rows_and_shapes(lanes):
    """A row of a 3-D array named by a varying index, then indexed; shapes as values."""
    fn = Function("rows", [Value(Array(F32, 3), name="x"), Value(Array(F32), name="out")], is_kernel=True)
    x, out = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    plane = b.op("slice", x, b.op("rem", i, b.op("shape", x, attr=0)))
    row = b.op("slice", plane, b.i32(1))
    column = b.op("rem", i, b.op("shape", row, attr=0))
    b.op("store", out, i, b.op("load", row, column, attr=()), attr=())
    b.terminate("return")
    _compare(fn, [_array(F32, (3, 4, 5), 1), _array(F32, (_N,), 2)], _N, lanes)


@pytest.mark.parametrize("lanes", _LANES)
def test_paths_into_elements(lanes):
    """Members and components of elements are read and written in place."""
    v = Vec(3, F64)
    params = [Value(Array(_MIXED), name="s"), Value(Array(Vec(4, F32)), name="v"), Value(Array(F64), name="out")]
    fn = Function("paths", params, is_kernel=True)
    s, vec, out = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    whole = b.op("load", s, i, attr=(2,))
    assert whole.type is v
    dynamic = b.op("load", s, i, b.op("rem", i, b.i32(3)), attr=(2, -1))
    b.op("store", out, i, b.op("add", dynamic, b.op("extract", whole, attr=1)), attr=())
    b.op("store", s, i, b.const(7.5, F64), attr=(2, 1))
    b.op("store", s, i, b.bool(True), attr=(1,))
    b.op("store", vec, i, b.op("rem", i, b.i32(4)), b.f32(-1.0), attr=(-1,))
    b.op("store", vec, i, b.f32(-2.0), attr=(2,))
    b.terminate("return")
    _compare(fn, [_array(_MIXED, (_N,), 1), _array(Vec(4, F32), (_N,), 2), _array(F64, (_N,), 3)], _N, lanes)


@pytest.mark.parametrize("lanes", _LANES)
def test_dynamic_components(lanes):
    t = Vec(5, F32)
    params = [Value(Array(t), name="x"), Value(Array(I32), name="k"), Value(Array(t), name="out")]
    fn = Function("components", params, is_kernel=True)
    x, k, out = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    value, index = b.op("load", x, i, attr=()), b.op("load", k, i, attr=())
    moved = b.op("insert_dyn", value, b.op("extract_dyn", value, index), b.op("sub", b.i32(4), index))
    b.op("store", out, i, moved, attr=())
    b.terminate("return")
    indices = MemArray(I32, (_N,), [i % 5 for i in range(_N)])
    _compare(fn, [_array(t, (_N,), 1), indices, _array(t, (_N,), 2)], _N, lanes)


@pytest.mark.parametrize("lanes", _LANES)
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("t", [I32, U64, F32, F64, BF16, Vec(3, I32)], ids=lambda t: t.key)
def test_atomics(t, used, lanes):
    """Every kind on one address and on scattered ones; small whole numbers, so that order does not matter."""
    s = t.scalar if isinstance(t, Vec) else t
    kinds = ["add", "sub", "min", "max"] + ([] if s.is_float else ["and", "or", "xor"])
    params = [Value(Array(t), name="x"), Value(Array(t), name="acc"), Value(Array(t), name="out")]
    fn = Function("atomics", params, is_kernel=True)
    x, acc, out = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    value = b.op("load", x, i, attr=())
    for k, kind in enumerate(kinds):
        old = b.op("atomic", acc, b.i32(k), value, attr=(kind, ()))
        b.op("atomic", acc, b.op("add", b.op("rem", i, b.i32(3)), b.i32(8)), value, attr=(kind, ()))
        if used and kind == "add":
            b.op("store", out, i, old, attr=())
    b.terminate("return")
    small = MemArray(t, (_N,), [unflatten([semantics.convert(i % 3, s)] * len(leaves(t)), t) for i in range(_N)])
    _compare(fn, [small, _array(t, (12,), 2), _array(t, (_N,), 3)], _N, lanes)


@pytest.mark.parametrize("lanes", _LANES)
@pytest.mark.parametrize("t", [I32, F32, F64], ids=lambda t: t.key)
def test_exchange_and_compare(t, lanes):
    fn = Function("swap", [Value(Array(t), name="x"), Value(Array(t), name="out")], is_kernel=True)
    x, out = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    first = b.op("atomic", x, i, b.const(9, t), attr=("exch", ()))
    second = b.op("atomic", x, i, b.const(9, t), first, attr=("cas", ()))
    b.op("store", out, i, b.op("add", first, second), attr=())
    b.terminate("return")
    _compare(fn, [_array(t, (_N,), 1), _array(t, (_N,), 2)], _N, lanes)


@pytest.mark.parametrize("lanes", _LANES)
def test_failures_name_thread_and_values(lanes):
    fn = Function("check", [Value(Array(F32), name="x")], is_kernel=True)
    (x,) = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    value = b.op("load", x, i, attr=())
    big = b.op("gt", value, b.f32(50.0))
    b.push()
    b.op("fail", i, value, attr=("assert", "too big"))
    b.terminate("return")
    then = b.pop()
    b.push()
    b.terminate("yield")
    b.emit("if", [big], regions=(then, b.pop()))
    b.op("store", x, i, b.f32(0.0), attr=())
    b.terminate("return")
    array = _array(F32, (_N,), 4)
    failing = {k: v for k, v in enumerate(array.data) if v > 50.0}
    machine = Machine(fn, targets()[-1], lanes)
    machine.run([array], _N)
    assert {thread for thread, _, _ in machine.failures} == set(failing)
    for thread, site, (index, bits) in machine.failures:
        assert (site, index) == (0, thread)
        assert semantics.from_bits(bits, F64) == failing[thread]
    assert all((v == 0.0) != (k in failing) for k, v in enumerate(array.data))
