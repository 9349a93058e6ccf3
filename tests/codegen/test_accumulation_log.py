"""Additions through the log of a launch, against the interpreter; and which additions go through it."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.codegen import target
from omni.warp_core.codegen.accumulate.eligibility import additions
from omni.warp_core.codegen.cpu.cpu_kernel import EmitOptions, emit_cpu
from omni.warp_core.codegen.target import Target
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang.types import BF16, F16, F32, F64, I32, U64, Array, Mat, Packed, Type, Vec, element
from omni.warp_core.passes import pipeline
from tests.codegen.machine import Machine, same, targets

_N = 75
# Each level with the lanes that it takes by itself (0), and each other number of lanes once.
_LANES = {"sse4": (1, 0), "avx2": (16, 0), "avx512": (4, 0)}
_TYPES = [F32, F64, F16, BF16, Vec(3, F32), Vec(2, F64), Vec(5, F16), Mat(2, 3, F32)]


def _levels() -> list[tuple[Target, int]]:
    """The levels that the machine has, each with its numbers of lanes."""
    return [(level, lanes) for level in targets() for lanes in _LANES.get(level.name, (1, 4, 16, 0))]


def _kernel(t: Type, kind: str, where: str, target: str) -> Function:
    """Threads update out with x[i], where their number is above `first`, or as often as it says."""
    params = [
        Value(Array(t), name="x"),
        Value(Array(I32), name="to"),
        Value(Array(t), name="out"),
        Value(I32, name="first"),
    ]
    x, to, out, first = params
    fn = Function("added", params, is_kernel=True)
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    index = {
        "scattered": lambda: b.op("load", to, i, attr=()),
        "rows": lambda: b.op("from_end", b.op("load", to, i, attr=()), b.op("shape", out, attr=0)),
        "beside": lambda: b.op("add", i, b.i32(1)),
        "together": lambda: b.op("load", to, first, attr=()),
    }
    at = index[target]() if target in index else first
    value = b.op("load", x, i, attr=())
    if where == "top":
        b.op("atomic", out, at, value, attr=(kind, ()))
    else:
        above = b.op("gt", i, first)
        b.push()
        b.op("atomic", out, at, value, attr=(kind, ()))
        b.terminate("yield")
        taken = b.pop()
        b.push()
        b.terminate("yield")
        b.emit("if", [above], None, (taken, b.pop()))
    b.terminate("return")
    return fn


def _places(target: str, rng: random.Random) -> list[int]:
    """Where threads add: anywhere, or in rows of neighbours, from the end of the array on as well."""
    if target != "rows":
        return [rng.randrange(_N) for _ in range(_N)]
    found: list[int] = []
    while len(found) < _N:
        length = rng.randrange(1, _N)
        start = rng.randrange(-_N - 1, _N + 1 - length)
        found += range(start, start + length)
    return found[:_N]


def _number(t: Type, rng: random.Random) -> Any:
    if isinstance(t, Packed):
        return tuple(float(rng.randint(-3, 3)) for _ in range(t.count))
    return float(rng.randint(-3, 3))


def _integer(t: Type, rng: random.Random) -> Any:
    if isinstance(t, Packed):
        return tuple(rng.randrange(1 << 31) for _ in range(t.count))
    return rng.randrange(1 << 31)


@pytest.mark.parametrize("where", ["top", "if"])
@pytest.mark.parametrize("t", _TYPES, ids=str)
def test_in_place(t: Type, where: str) -> None:
    """What is the range's own is added to in place, whatever part of the elements that is, and nothing else."""
    rng = random.Random(32)
    fn = _kernel(t, "sub", where, "beside")
    for level, lanes in _levels():
        machine = Machine(fn, level, lanes, additions="ordered")
        assert len(machine.unit.accumulation.stencils) == 1
        for own in ((0, _N + 1), (20, 60), (33, 34), (0, 0)):
            numbers = [_number(t, rng) for _ in range(2 * _N + 1)]
            made, expected = (
                [
                    MemArray(t, [_N], numbers[:_N]),
                    MemArray(I32, [_N], [0] * _N),
                    MemArray(t, [_N + 1], numbers[_N:]),
                    5,
                ]
                for _ in range(2)
            )
            machine.followers = [(2, *own)]
            machine.log.places.clear()
            interp.run_kernel(fn, expected, _N)
            machine.run(made, _N)
            assert all(map(same, made[2].data, expected[2].data)), (level.name, lanes, own)
            base = machine.log.own[0] - own[0] * t.size
            added = range(1 if where == "top" else 7, _N + 1)
            logged = {(at - base) // t.size for at in machine.log.places}
            assert logged == {k for k in added if not own[0] <= k < own[1]}, (level.name, lanes, own)


@pytest.mark.parametrize("target", ["scattered", "rows", "beside", "together", "one"])
@pytest.mark.parametrize("where", ["top", "if"])
@pytest.mark.parametrize("t", _TYPES, ids=str)
def test_against_the_interpreter(t: Type, where: str, target: str) -> None:
    """Each level and number of lanes with one kind of addition, in turn: a subtraction adds what is negated."""
    rng = random.Random(31)
    for number, (level, lanes) in enumerate(_levels()):
        kind = ("add", "sub")[(number + (where == "if")) % 2]
        fn = _kernel(t, kind, where, target)
        machine = Machine(fn, level, lanes, additions="ordered")
        assert "atomicrmw" not in machine.unit.text
        for first, turn in product((0, 5), (False, True)):
            machine.log.turn, machine.log.records = turn, 0
            numbers = [_number(t, rng) for _ in range(2 * _N + 1)]
            places = _places(target, rng)
            made, expected = (
                [
                    MemArray(t, [_N], numbers[:_N]),
                    MemArray(I32, [_N], places),
                    MemArray(t, [_N + 1], numbers[_N:]),
                    first,
                ]
                for _ in range(2)
            )
            interp.run_kernel(fn, expected, _N)
            machine.run(made, _N)
            assert all(map(same, made[2].data, expected[2].data)), (kind, level.name, lanes, first)
            apart = machine.unit.lanes > 1 and target in ("scattered", "rows")
            at_once = turn and not apart and target != "beside" and not machine.unit.accumulation.has_reductions
            assert bool(machine.log.records) != at_once


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("t", [Vec(3, F32), Mat(4, 5, F32), Vec(24, F64)], ids=str)
def test_the_turn_comes_at_any_record(t: Type, lanes: int) -> None:
    """Also between two records of one element, which has more numbers than one of them holds: additions keep their
    order to the bit.
    """
    rng = random.Random(34)
    fn = _kernel(t, "add", "top", "scattered")
    real = np.float32 if element(t) is F32 else np.float64
    numbers = [tuple(float(real(rng.gauss(0.0, 1.0))) for _ in range(t.count)) for _ in range(2 * _N + 1)]
    places = [rng.randrange(3) for _ in range(_N)]
    expected = [MemArray(t, [_N], numbers[:_N]), MemArray(I32, [_N], places), MemArray(t, [_N + 1], numbers[_N:]), 0]
    interp.run_kernel(fn, expected, _N)
    for turn_at in range(1, 7):
        machine = Machine(fn, targets()[-1], lanes, additions="ordered")
        machine.log.turn_at, machine.log.times_full = turn_at, 0
        machine.log.head[1] = machine.log.start  # full after each record
        made = [MemArray(t, [_N], numbers[:_N]), MemArray(I32, [_N], places), MemArray(t, [_N + 1], numbers[_N:]), 0]
        machine.run(made, _N)
        assert machine.log.turn and all(map(same, made[2].data, expected[2].data)), turn_at


@pytest.mark.parametrize("target", ["scattered", "rows", "beside", "together", "one"])
@pytest.mark.parametrize("where", ["top", "if"])
@pytest.mark.parametrize("shared", [False, True])
def test_integers_against_the_interpreter(shared: bool, where: str, target: str) -> None:
    """In the array itself, without atomic instructions, or with them where cores share it."""
    rng = random.Random(33)
    for number, ((level, lanes), t) in enumerate(product(_levels(), (I32, U64, Vec(3, I32)))):
        fn = _kernel(t, ("add", "sub")[number % 2], where, target)
        machine = Machine(fn, level, lanes, additions="logged")
        assert bool(machine.unit.accumulation.privatized) != (target == "one")  # one element is summed in registers
        machine.log.deltas[0] = -(1 << 63) if shared else 0
        numbers = [_integer(t, rng) for _ in range(2 * _N + 1)]
        places = _places(target, rng)
        made, expected = (
            [MemArray(t, [_N], numbers[:_N]), MemArray(I32, [_N], places), MemArray(t, [_N + 1], numbers[_N:]), 5]
            for _ in range(2)
        )
        interp.run_kernel(fn, expected, _N)
        machine.run(made, _N)
        assert all(map(same, made[2].data, expected[2].data)), (level.name, lanes, t)


@pytest.mark.parametrize("target", ["rows", "beside"])
def test_no_record_is_longer_than_a_log_has_room_for(target: str) -> None:
    """The numbers of eight lanes do not fit into one."""
    t, lanes, most = Vec(140, F64), 8, 8192  # kLogRecord in native/include/warp_core/accumulate.h
    assert t.size * lanes > most
    machine = Machine(_kernel(t, "add", "top", target), targets()[-1], lanes, additions="ordered")
    numbers = [tuple(float(i + k) for k in range(t.count)) for i in range(_N)]
    out = MemArray(t, [_N + 1], [(0.0,) * t.count] * (_N + 1))
    machine.run([MemArray(t, [_N], numbers), MemArray(I32, [_N], list(range(_N))), out, 0], _N)
    first = target == "beside"
    assert list(out.data)[first : _N + first] == numbers
    assert 0 < machine.log.longest <= most


def _additions(kernel: Any) -> Any:
    return additions(pipeline.run(lower_kernel(kernel)))


@wp.struct
class Pair:
    a: wp.array(dtype=float)
    b: wp.array(dtype=float)


@wp.kernel
def scattered(x: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, to[i], x[i])
    wp.atomic_sub(out, to[i] + 1, x[i])


@wp.kernel
def in_a_struct(pair: Pair, to: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(pair.b, to[i], pair.a[i])


@wp.kernel
def of_rows(x: wp.array2d(dtype=float), to: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(x[to[i]], i, 1.0)


@wp.kernel
def result_used(x: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.atomic_add(out, to[i], 1.0)


@wp.kernel
def also_read(to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, to[i], out[i + 1])


@wp.kernel
def also_highest(to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, to[i], 1.0)
    wp.atomic_max(out, 0, 1.0)


@wp.kernel
def of_either(a: wp.array(dtype=float), b: wp.array(dtype=float), to: wp.array(dtype=int)):
    i = wp.tid()
    c = a
    if i > 3:
        c = b
    wp.atomic_add(c, to[i], 1.0)


@wp.kernel
def of_integers(to: wp.array(dtype=int), out: wp.array(dtype=int)):
    wp.atomic_add(out, to[wp.tid()], 1)


@pytest.mark.parametrize("kernel, count", [(scattered, 2), (in_a_struct, 1), (of_rows, 1)], ids=lambda k: str(k))
def test_through_the_log(kernel: Any, count: int) -> None:
    operations, facts, *_ = _additions(kernel)
    assert len(operations) == count
    assert len(facts.logged) == 1
    assert not facts.order_dependent


@pytest.mark.parametrize("kernel", [result_used, also_read, also_highest, of_either, of_integers], ids=lambda k: k.name)
def test_others_are_atomic(kernel: Any) -> None:
    operations, facts, *_ = _additions(kernel)
    assert not operations
    assert facts.order_dependent == (kernel is not of_integers)
    assert facts.atomic_anywhere == (kernel is of_either)


def test_members_of_a_struct_are_told_apart() -> None:
    _, facts, *_ = _additions(in_a_struct)
    (b,), (to, a) = facts.logged, facts.touched
    assert (b.param, b.offset - a.offset, to.param) == (0, 80, 1)


@wp.struct
class Inner:
    v: wp.vec3
    count: int


@wp.struct
class Node:
    charge: wp.float16
    inner: Inner
    moment: wp.mat33d
    mass: float


@pytest.mark.parametrize("lanes", [None, 1, 4])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("of_one", [False, True])
def test_members_of_elements(monkeypatch: Any, lanes: int | None, threads: int, of_one: bool) -> None:
    def add(nodes: wp.array(dtype=Node), to: wp.array(dtype=int), x: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        nodes[to[i]].inner.v += x[i]
        nodes[to[i]].inner.v[2] -= 1.0
        nodes[to[i]].moment[1] += wp.vec3d(1.0, 2.0, wp.float64(x[i][0]))
        nodes[to[i]].mass += x[i][1]
        if wp.static(of_one):
            nodes[1].charge += wp.float16(0.0)
            nodes[1].mass += 1.0

    monkeypatch.setattr(wp.config, "num_threads", threads)
    random = np.random.default_rng(0)
    to, x = random.integers(0, 3, 5000), random.integers(-3, 4, (5000, 3))
    nodes = wp.zeros(3, dtype=Node)
    kernel = wp.kernel(add, lanes=lanes)
    wp.launch(kernel, 5000, inputs=[nodes, wp.array(to, dtype=int), wp.array(x, dtype=wp.vec3)])
    found, sums = nodes.numpy(), np.array([x[to == k].sum(0) for k in range(3)])
    counts = np.bincount(to, minlength=3)
    assert np.array_equal(found["inner"]["v"], sums - np.outer(counts, [0, 0, 1]))
    assert np.array_equal(found["moment"][:, 1], np.stack([counts, 2 * counts, sums[:, 0]], 1))
    assert np.array_equal(found["mass"], sums[:, 1] + of_one * np.array([0, 5000, 0]))
    assert not found["charge"].any() and not found["inner"]["count"].any() and not found["moment"][:, ::2].any()


def test_gradients_of_members_that_many_threads_read() -> None:
    @wp.kernel
    def use(nodes: wp.array(dtype=Node), of: wp.array(dtype=int), loss: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(loss, 0, nodes[of[i]].mass * nodes[of[i]].inner.v[1])

    nodes, loss = wp.zeros(3, dtype=Node, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    values = nodes.numpy()
    values["mass"], values["inner"]["v"] = [[2.0, 3.0, 5.0], np.arange(9).reshape(3, 3)]
    of = np.arange(1000) % 3
    tape = wp.Tape()
    with tape:
        wp.launch(use, 1000, inputs=[nodes, wp.array(of, dtype=int), loss])
    tape.backward(loss)
    assert nodes.grad.numpy()["mass"].tolist() == [334.0, 333.0 * 4, 333.0 * 7]
    assert nodes.grad.numpy()["inner"]["v"].tolist() == [[0, 668.0, 0], [0, 999.0, 0], [0, 1665.0, 0]]


@wp.kernel
def neighbours(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i + 1]


@wp.kernel
def neighbours_of_part(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    part = x[1:]
    y[i] = part[i] * part[i + 1]


@wp.kernel
def neighbours_in_part_of_row(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    part = x[3, 1:]
    y[i] = part[i] * part[i + 1]


@pytest.mark.parametrize("kernel, targets", [(neighbours, 1), (neighbours_of_part, 0), (neighbours_in_part_of_row, 0)])
def test_stencil_targets_are_whole_arrays(kernel, targets) -> None:
    """A launch computes where threads add from the layout of the array, which indices of a slice do not follow."""
    primal = lower_kernel(kernel)
    adjoint = pipeline.run(adjoint_kernel(primal, library_gradient).function, primal=primal)
    unit = emit_cpu(adjoint, target.host(), EmitOptions(additions="logged"))
    assert len(unit.accumulation.stencils) == targets
    assert len(unit.accumulation.logged) == 1


def test_gradients_of_neighbours_in_part_of_a_row() -> None:
    n = 3000
    numbers = np.random.default_rng(5).integers(-3, 4, (5, n + 2)).astype(np.float32)
    x, y = wp.array(numbers, dtype=float, requires_grad=True), wp.zeros(n, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(neighbours_in_part_of_row, n, inputs=[x, y])
    tape.backward(grads={y: wp.ones(n, dtype=float)})
    expected = np.zeros((5, n + 2))
    expected[3, 1:-1] += numbers[3, 2:]
    expected[3, 2:] += numbers[3, 1:-1]
    assert np.array_equal(x.grad.numpy(), expected)
