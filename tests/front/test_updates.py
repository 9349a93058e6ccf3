"""Builtins that update their first argument: the local passed advances on every path, as an assignment would."""

import functools
import typing

import pytest

import omni.warp_core as wp
from omni.warp_core import randf as draw
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.lang.types import F32, U32
from tests.errors.report import refused

MASK = 2**32 - 1


def pcg(x):
    s = (x * 747796405 + 2891336453) & MASK
    word = (((s >> ((s >> 28) + 4)) ^ s) * 277803737) & MASK
    return (word >> 22) ^ word


class Stream:
    """The generator in plain Python: kernels must draw what this draws."""

    def __init__(self, seed):
        self.state = pcg(seed)

    def draw(self):
        self.state = pcg(self.state)
        return (self.state >> 8) * 2.0**-24


def run(kernel, count, *args):
    """`count` numbers written by one thread, and the state it left in `end`."""
    out, end = interp.MemArray(F32, (count,)), interp.MemArray(U32, (1,))
    interp.run_kernel(lower_kernel(kernel), [out, end, *args], 1)
    return out.values(), end.values()[0]


def test_draws_follow_each_other_in_evaluation_order():
    @wp.kernel
    def k(out: wp.array(dtype=float), end: wp.array(dtype=wp.uint32)):
        s = wp.rand_init(7)
        out[0] = wp.randf(s) - 2.0 * wp.randf(s)
        v = wp.vec2(wp.randf(s), draw(state=s))
        out[1] = v[0]
        out[2] = v[1]
        out[3], out[4] = wp.randf(s), wp.randf(s)
        end[0] = s

    s = Stream(7)
    found, end = run(k, 5)
    first = s.draw()
    assert found == pytest.approx([first - 2.0 * s.draw(), s.draw(), s.draw(), s.draw(), s.draw()])
    assert end == s.state


def test_loops_and_branches_carry_the_state():
    @wp.kernel
    def k(out: wp.array(dtype=float), end: wp.array(dtype=wp.uint32), n: int):
        s = wp.rand_init(3)
        total = 0.0
        for i in range(n):
            if i % 2 == 0:
                total += wp.randf(s)
            elif i % 3 == 0:
                wp.randf(s)
        while wp.randf(s) < 0.9:
            total += 1.0
        for _ in range(3):
            total += wp.randf(s)
        total += wp.randf(s) if n > 3 else 0.0
        if (n > 1 and wp.randf(s) < 2.0) or wp.randf(s) < 2.0:
            total += 1.0
        total += sum([wp.randf(s) for _ in range(2)])
        out[0] = total
        end[0] = s

    s, total = Stream(3), 0.0
    for i in range(10):
        if i % 2 == 0:
            total += s.draw()
        elif i % 3 == 0:
            s.draw()
    while s.draw() < 0.9:
        total += 1.0
    total += s.draw() + s.draw() + s.draw() + s.draw()
    s.draw()
    total += 1.0 + s.draw() + s.draw()
    found, end = run(k, 1, 10)
    assert found == [pytest.approx(total)]
    assert end == s.state


def test_copies_arguments_and_elements_keep_their_state():
    @wp.func
    def twice(state: wp.uint32):
        return wp.randf(state) + wp.randf(state)

    @wp.struct
    class Walker:
        state: wp.uint32

    @wp.kernel
    def k(out: wp.array(dtype=float), end: wp.array(dtype=wp.uint32)):
        s = wp.rand_init(5)
        copy = s
        w = Walker()
        w.state = s
        end[0] = s
        out[0] = twice(s)
        out[1] = twice(s)
        out[2] = wp.randf(copy)
        out[3] = wp.randf(w.state)
        out[4] = wp.randf(w.state)
        out[5] = wp.randf(end[0])
        out[6] = wp.randf(wp.rand_init(5))
        out[7] = wp.randf(s)

    s = Stream(5)
    start, first = s.state, s.draw()
    found, end = run(k, 8)
    assert found == pytest.approx([first + s.draw()] * 2 + [first] * 6)
    assert end == start


def test_a_builtin_passed_as_a_function_advances_the_state():
    @wp.func
    def total(sampler: typing.Any, state: wp.uint32, n: int):
        x = 0.0
        for _ in range(n):
            x += sampler(state)
        return x

    @wp.kernel
    def k(out: wp.array(dtype=float), end: wp.array(dtype=wp.uint32)):
        s = wp.rand_init(1)
        out[0] = total(wp.randf, s, 40)
        end[0] = s

    s = Stream(1)
    start, values = s.state, [s.draw() for _ in range(40)]
    found, end = run(k, 1)
    assert found == [pytest.approx(functools.reduce(float.__add__, values), rel=1e-6)]
    assert end == start


def test_python_scope_leaves_the_state():
    state = wp.rand_init(5)
    assert wp.randf(state) == wp.randf(state) == pytest.approx(Stream(5).draw())


def test_a_state_that_cannot_be_updated_is_refused():
    refused(
        """\
        @wp.kernel
        def k(out: wp.array(dtype=float)):
            s = wp.rand_init(1)
            f = wp.randf
            out[0] = f(s)
        """,
        "unsupported",
        "f(s)",
        "cannot update `s`",
    )
    refused(
        """\
        @wp.kernel
        def k(out: wp.array(dtype=float)):
            s = wp.rand_init(1)
            f = lambda: wp.randf(s)
            out[0] = f()
        """,
        "unsupported",
        "wp.randf(s)",
        "outside of lambdas",
    )
