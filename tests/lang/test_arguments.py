"""Indices from the end, members of enums, arrays and functions as arguments, held against NumPy or plain sums."""

import enum
import typing

import numpy as np

import omni.warp_core as wp
from omni.warp_core.ir.interp import interp
from omni.warp_core.lang.types import I32
from tests.lang.test_kernels import floats, run


def test_negative_run_time_components_count_from_the_end():
    @wp.kernel
    def k(v: wp.vec4, m: wp.mat33, n: int, out: wp.array(dtype=float)):
        w = v
        w[n] = 9.0
        out[0] = v[n]
        out[1] = m[n, n] + m[n][0]
        out[2] = w[n + 4]
        out[3] = w[3 - 3]

    for n in (-1, -2, -3):
        out = floats([0.0] * 4)
        v, m = np.arange(4.0), np.arange(9.0).reshape(3, 3)
        run(k, 1, tuple(v), tuple(m.ravel()), n, out)
        assert out.data == [v[n], m[n, n] + m[n, 0], 9.0, 0.0]


def test_members_of_enums_have_values_and_names():
    class Mode(enum.Enum):
        FAST = 3
        TEXT = "slow"
        PAIR = (1, 2)

    @wp.kernel
    def k(out: wp.array(dtype=int)):
        out[0] = Mode.FAST.value + Mode.PAIR.value[1]
        out[1] = Mode.FAST
        print(Mode.FAST.name, Mode.TEXT.value)

    out = interp.MemArray(I32, (2,), [0, 0])
    assert run(k, 1, out) == ["FAST slow\n"]
    assert out.data == [5, 3]


def test_functions_take_arrays_of_any_type_and_functions():
    @wp.func
    def total(a: wp.array(dtype=typing.Any), f: wp.Function):
        s = a[0]
        for i in range(1, len(a)):
            s = f(s, a[i])
        return s

    @wp.func
    def add(a: typing.Any, b: typing.Any):
        return a + b

    @wp.kernel
    def k(x: wp.array(dtype=float), n: wp.array[int]):
        x[0] = total(x, add) + float(total(n, lambda a, b: a * b))

    x = floats([1.0, 2.0, 3.0])
    run(k, 1, x, interp.MemArray(I32, (3,), [2, 3, 4]))
    assert x.data[0] == 30.0
