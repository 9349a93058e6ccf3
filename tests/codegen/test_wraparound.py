"""Integers that wrap around between two lanes of one group, held to the interpreter."""

import pytest

from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import I32, I64, U32, U64, Array
from tests.codegen.machine import Machine, targets

_THREADS = 67
_LANES = [1, 4, 0]


def _i32(b, i):
    return b.op("add", i, b.i32(2**31 - 5))


def _from_below(b, i):
    return b.op("add", b.op("mul", i, b.i32(-3)), b.i32(-(2**31) + 7))


def _u32(b, i):
    return b.op("sub", b.op("cast", i, attr=U32), b.const(5, U32))


def _u32_down(b, i):
    return b.op("sub", b.const(5, U32), b.op("cast", i, attr=U32))


_NUMBERS = {"i32": _i32, "from_below": _from_below, "u32": _u32, "u32_down": _u32_down}
_MORE = {
    "itself": lambda b, x: x,
    "sum": lambda b, x: b.op("add", x, b.const(7, x.type)),
    "product": lambda b, x: b.op("mul", x, b.const(3, x.type)),
    "mixed": lambda b, x: b.op("sub", b.op("mul", x, b.const(2, x.type)), x),
}


def _check(fn, arrays):
    verify(fn)
    for target in targets():
        for lanes in _LANES:
            expected = [MemArray(a.dtype, a.shape, list(a.data)) for a in arrays]
            got = [MemArray(a.dtype, a.shape, list(a.data)) for a in arrays]
            interp.run_kernel(fn, expected, _THREADS)
            Machine(fn, target, lanes).run(got, _THREADS)
            assert [a.data for a in got] == [a.data for a in expected], (target.name, lanes)


@pytest.mark.parametrize("more", sorted(_MORE))
@pytest.mark.parametrize("wide", [I64, U64], ids=str)
@pytest.mark.parametrize("number", sorted(_NUMBERS))
def test_a_wider_number_is_that_of_its_lane(number, wide, more):
    fn = Function("widen", [Value(Array(wide), name="out")], is_kernel=True)
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    x = b.op("cast", _NUMBERS[number](b, i), attr=wide)
    b.op("store", fn.params[0], i, _MORE[more](b, x), attr=())
    b.terminate("return")
    _check(fn, [MemArray(wide, (_THREADS,))])


@pytest.mark.parametrize("wide", [U32, I64, U64], ids=str)
@pytest.mark.parametrize("count", [0, 3])
def test_an_index_that_goes_on_at_zero_within_a_group(wide, count):
    """out[i] = x[uint32(i) - 5 + count] where that is an index, which it is not for the first lanes."""
    fn = Function("shifted", [Value(Array(I32), name="x"), Value(Array(I32), name="out")], is_kernel=True)
    x, out = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    inside = b.op("ge", i, b.i32(5))
    b.push()
    at = b.op("cast", _u32(b, i), attr=wide)
    at = b.op("add", at, b.const(count, wide))
    b.op("store", out, i, b.op("load", x, at, attr=()), attr=())
    b.op("store", x, at, b.op("add", i, b.i32(1)), attr=())
    b.terminate("yield")
    then = b.pop()
    b.push()
    b.terminate("yield")
    b.emit("if", [inside], regions=(then, b.pop()))
    b.terminate("return")
    _check(fn, [MemArray(I32, (_THREADS,), list(range(100, 100 + _THREADS))), MemArray(I32, (_THREADS,))])
