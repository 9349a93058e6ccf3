"""Outer names mean the same in interpreted and compiled launches: values of the first launch, no dicts or arrays."""

import enum
from types import SimpleNamespace

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.cpu
WAYS = [(True, True), (True, False), (False, True), (False, False)]  # interpreted or not, first and later launches


class Mode(enum.IntEnum):
    FAST = 4


def kernel_of(factor, items, offset):
    @wp.func
    def scaled(x: float):
        return x * factor

    @wp.func
    def generic(x: wp.Float):
        return x * factor

    @wp.kernel
    def sums(out: wp.array[float]):
        i = wp.tid()
        out[i] = scaled(1.0) + generic(1.0) + factor + items[1][0] + offset[2] + float(Mode.FAST)

    def change():
        nonlocal factor
        factor += 1.0
        items[1][0] = -10.0
        offset[2] = 7.0

    return sums, change


@pytest.mark.parametrize("first, later", WAYS)
def test_values_are_those_of_the_first_launch(first, later):
    kernel, change = kernel_of(2.0, [1.0, [5.0]], wp.vec3(1.0, 2.0, 3.0))
    out = wp.zeros(1, dtype=float)
    wp.launch(kernel, 1, [out], interpret=first)
    assert out.list() == [18.0]
    change()
    wp.launch(kernel, 1, [out], interpret=later)
    wp.launch(kernel, 1, [out], interpret=first)
    assert out.list() == [18.0]


@pytest.mark.parametrize("first, later", WAYS)
def test_a_function_defined_anew_reaches_the_next_launch(first, later):
    space = {"wp": wp, "__name__": f"cells_{first}_{later}"}
    exec("@wp.func\ndef f(x: float):\n    return x + 1.0\n", space)
    exec("@wp.kernel\ndef k(out: wp.array[float]):\n    out[0] = f(1.0)\n", space)
    out = wp.zeros(1, dtype=float)
    wp.launch(space["k"], 1, [out], interpret=first)
    assert out.list() == [2.0]
    exec("@wp.func\ndef f(x: float):\n    return x + 10.0\n", space)
    wp.launch(space["k"], 1, [out], interpret=later)
    assert out.list() == [11.0]


TABLE, ARRAY, SETTINGS = {"a": 1.0}, np.ones(3, np.float32), SimpleNamespace(dt=0.5)


@wp.func
def of_array(i: int):
    return ARRAY[i]


@wp.kernel
def reads_dict(out: wp.array[float]):
    out[0] = TABLE["a"]


@wp.kernel
def reads_array(out: wp.array[float]):
    out[0] = of_array(1)


@wp.kernel
def reads_object(out: wp.array[float]):
    settings = SETTINGS
    out[0] = settings.dt


@wp.kernel
def reads_none(out: wp.array[float]):
    out[0] = 1.0
    if wp.static(False):
        out[0] = TABLE["a"]


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("kernel", [reads_dict, reads_array, reads_object])
def test_what_may_change_is_refused(kernel, interpret):
    out = wp.zeros(1, dtype=float)
    with pytest.raises(wp.CompileError, match="cannot be captured by a kernel") as caught:
        wp.launch(kernel, 1, [out], interpret=interpret)
    assert [d.code for d in caught.value.diagnostics] == ["capture"] and out.list() == [0.0]


@pytest.mark.parametrize("interpret", [False, True])
def test_code_that_never_runs_may_name_anything(interpret):
    out = wp.zeros(1, dtype=float)
    wp.launch(reads_none, 1, [out], interpret=interpret)
    assert out.list() == [1.0]
