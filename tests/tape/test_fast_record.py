"""Launches that a tape records quickly, because they are like one before: the same gradients, the same refusals."""

from __future__ import annotations

import copy
import gc
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.dispatch import observers
from omni.warp_core.tape.recorder import Recorder

F = wp.array(dtype=float)


@wp.kernel
def scaled(x: F, by: float, y: F):
    i = wp.tid()
    y[i] = x[i] * x[i] * by


@wp.kernel
def moved(x: wp.array(dtype=wp.vec3), by: wp.vec3, y: F):
    i = wp.tid()
    y[i] = wp.dot(x[i], by)


@wp.kernel
def weighted(x: F, k: F, y: F):
    i = wp.tid()
    y[i] = x[i] * k[i]


@wp.kernel
def in_place(x: F, k: F):
    i = wp.tid()
    x[i] = wp.sin(x[i]) * k[i] + x[i]


@wp.kernel
def any_scaled(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def active(values):
    return wp.array(values, dtype=float, requires_grad=True)


class Counted:
    """Has the length of how many launches native code has recorded since."""

    def __init__(self):
        self.before = _native.steps_made()

    def __len__(self):
        return _native.steps_made() - self.before


@pytest.fixture
def quick():
    """The launches that were recorded quickly."""
    return Counted()


@pytest.fixture
def slow(monkeypatch):
    """The launches that Python recorded or looked at."""
    launches = []
    launch = Recorder.launch

    def counted(self, one, outward):
        launches.append(one)
        return launch(self, one, outward)

    monkeypatch.setattr(Recorder, "launch", counted)
    return launches


def square(x, by=1.0, y=None, **options):
    y = active([0.0] * x.size) if y is None else y
    wp.launch(scaled, dim=x.size, inputs=[x, by], outputs=[y], **options)
    return y


@pytest.mark.cpu
def test_the_second_launch_is_quick(quick):
    x = active([1.0, 2.0])
    square(x)
    tape = wp.Tape()
    with tape:
        first = square(x, 2.0)
        before = len(quick)
        second = square(x, 3)
        assert len(quick) == before + 1
        third = square(x, np.float32(4.0), record_tape=True, device="cpu")
        fourth = square(x, 5.0, record_tape=False)
    tape.backward(grads={y: wp.ones(2) for y in (first, second, third)})
    assert x.grad.list() == [2 * (2.0 + 3.0 + 4.0), 4 * (2.0 + 3.0 + 4.0)]
    assert fourth.grad.list() == [0.0, 0.0]
    assert len(tape.notes) == len(tape.launches) == 3
    assert {place.called for place in tape.notes} == {"launch"}
    assert {place.short.split(":")[0] for place in tape.notes} == {"test_fast_record.py"}


@pytest.mark.cpu
def test_values_are_copied(quick):
    points = wp.ones(2, dtype=wp.vec3, requires_grad=True)
    by, tape = wp.vec3(1.0, 2.0, 3.0), wp.Tape()
    outs = [active([0.0, 0.0]) for _ in range(4)]
    with tape:
        for y in outs:
            wp.launch(moved, dim=[2], inputs=[points, by, y])
            by[0] += 1.0
    assert len(quick) == 3
    tape.backward(grads={y: wp.ones(2) for y in outs})
    assert points.grad.numpy().tolist() == [[10.0, 8.0, 12.0]] * 2


@pytest.mark.cpu
def test_what_is_overwritten_is_kept(quick):
    for budget in (None, 8 * 40):
        x, k = active([0.3, 0.6]), active([1.0, 0.5])
        tape = wp.Tape(memory_budget=budget)
        with tape:
            for _ in range(40):
                wp.launch(in_place, 2, inputs=[x, k])
        assert 8 < tape.memory_used <= 8 * 40
        v, slope = np.array([0.3, 0.6]), np.ones(2)
        for _ in range(40):
            slope *= np.cos(v) * [1.0, 0.5] + 1.0
            v = np.sin(v) * [1.0, 0.5] + v
        start = x.grad
        for _ in range(2):
            start.zero_()
            tape.backward(grads={x: wp.ones(2)})
            assert np.allclose(start.numpy(), slope, rtol=1e-4)
    assert len(quick) >= 78


def test_gradients_of_a_chain_are_those_of_numpy(quick):
    r = np.random.default_rng(5)
    start, factor = r.uniform(0.1, 0.9, 16), r.uniform(0.5, 1.0, 16)
    first, k = active(start), active(factor)
    states = [first, *(active(np.zeros(16)) for _ in range(30))]
    tape = wp.Tape()
    with tape:
        for a, b in pairwise(states):
            wp.copy(b, a)
            wp.launch(in_place, 16, inputs=[b, k])
    tape.backward(grads={states[-1]: wp.ones(16)})
    v, slope = start, np.ones(16)
    for _ in range(30):
        slope *= np.cos(v) * factor + 1.0
        v = np.sin(v) * factor + v
    assert np.allclose(first.grad.numpy(), slope, rtol=1e-4)


def test_what_is_out_of_the_ordinary_goes_the_long_way(quick):
    x = active([1.0, 2.0, 3.0, 4.0])
    with wp.Tape():
        square(x)
        known = len(quick)
        square(np.ones(2, np.float32))
        square(x[::2], y=x[1::2])  # lie within each other
        square(wp.ones(2), y=wp.zeros(2))  # no gradients
        square(x, y=wp.zeros(4))  # nowhere to come from
    assert len(quick) == known
    with wp.Tape(), pytest.raises(RuntimeError, match="cannot record recorded launches"):
        wp.launch(scaled, dim=4, inputs=[x, 1.0, active([0.0] * 4)], record_cmd=True)


def test_views_share_gradients(quick):
    x = wp.array([1.0, 2.0, 3.0], dtype=float)
    view = x[1:]
    x.requires_grad = True
    tape, outs = wp.Tape(), []
    with tape:
        for _ in range(2):
            outs.append(square(view))
            outs.append(square(x[:1]))
    tape.backward(grads={y: wp.ones(y.size) for y in outs})
    assert x.grad.list() == [4.0, 8.0, 12.0]


def test_launches_that_fail_are_forgotten():
    x = active([1.0, 2.0])
    tape = wp.Tape()
    with tape:
        y = square(x)
        for bad in (-1, "two", (1, 1, 1, 1, 1)):
            with pytest.raises((TypeError, ValueError)):
                wp.launch(scaled, dim=bad, inputs=[x, 1.0, y])
        with pytest.raises(TypeError):
            wp.launch(scaled, dim=2, inputs=[x, 1.0])
        with pytest.raises(TypeError):
            wp.launch(scaled, dim=2, inputs=[x, 1.0, wp.zeros((2, 2), requires_grad=True)])
    assert len(tape.launches) == len(tape.notes) == 1
    tape.backward(grads={y: wp.ones(2)})
    assert x.grad.list() == [2.0, 4.0]


def test_options_that_change():
    x = active([1.0, 2.0])
    with wp.Tape():
        square(x)
        wp.config.enable_backward = False
        try:
            with pytest.raises(RuntimeError, match=r"wp.config.enable_backward is False"):
                square(x)
        finally:
            wp.config.enable_backward = True
        square(x)
        wp.set_module_options({"enable_backward": False})
        try:
            with pytest.raises(RuntimeError, match="has no gradient"):
                square(x)
        finally:
            wp.set_module_options({"enable_backward": True})
        square(x)


@pytest.mark.cpu
def test_kernels_that_lose_their_gradient(quick):
    @wp.kernel
    def doubled(x: F, y: F):
        i = wp.tid()
        y[i] = 2.0 * x[i]

    x = active([1.0, 2.0])
    with wp.Tape() as tape:
        for _ in range(2):
            wp.launch(doubled, dim=2, inputs=[x], outputs=[active([0.0, 0.0])])
        assert quick
        doubled.enable_backward = False
        with pytest.raises(RuntimeError, match=r"made with enable_backward=False"):
            wp.launch(doubled, dim=2, inputs=[x], outputs=[active([0.0, 0.0])])
    assert len(tape.launches) == 2


def test_functions_that_are_defined_anew(quick):
    @wp.func
    def f(x: float):
        return x * x

    @wp.kernel
    def apply(x: F, y: F):
        i = wp.tid()
        y[i] = f(x[i])

    x, tape = active([3.0]), wp.Tape()
    with tape:
        for _ in range(3):
            wp.launch(apply, 1, inputs=[x, active([0.0])])

        @wp.func
        def f(x: float):
            return x * x * x

        y = active([0.0])
        wp.launch(apply, 1, inputs=[x, y])
        assert y.list() == [27.0]
    with pytest.raises(RuntimeError, match="defined anew"):
        tape.backward(grads={y: wp.ones(1)})


@pytest.mark.cpu
def test_generic_kernels(quick):
    tape = wp.Tape()
    with tape:
        pairs = []
        for kind in (wp.float32, wp.float64, wp.float32, wp.float64):
            x, y = (wp.full(2, 3.0, dtype=kind, requires_grad=True) for _ in range(2))
            wp.launch(any_scaled, 2, inputs=[x, y])
            pairs.append((x, y))
    assert len(quick) == 2
    tape.backward(grads={y: wp.ones(2, dtype=y.dtype) for _, y in pairs})
    assert [x.grad.list() for x, _ in pairs] == [[6.0, 6.0]] * 4


@pytest.mark.cpu
def test_checkpointed_steps_are_quick(quick, slow):
    x, k, y = active([0.3]), active([0.5]), active([0.0])

    def step(i):
        wp.launch(in_place, 1, inputs=[x, k])

    def gradients(run):
        wp.copy(x, wp.array([0.3], dtype=float))
        tape = wp.Tape()
        with tape:
            run()
            square(x, y=y)
        x.grad.zero_(), k.grad.zero_()
        tape.backward(y)
        return k.grad.list()

    wanted = gradients(lambda: [step(i) for i in range(5)])
    known = len(quick)
    slow.clear()
    assert gradients(lambda: wp.checkpointed(step, 5, state=[x])) == wanted
    assert len(quick) == known + 5 + 1  # on tapes of their own, and what follows
    assert not slow


@pytest.mark.cpu
@pytest.mark.parametrize("at", ["forward", "backward"])
def test_quick_launches_are_watched(quick, slow, at):
    x, k, helper, y = active([0.3]), active([0.5]), active([0.1]), active([0.0])
    runs = []

    def step(i):
        runs.append(i)
        wp.launch(in_place, 1, inputs=[x, helper if at == "forward" else k])
        wp.launch(scaled, 1, inputs=[x, 1.0 if len(runs) < 5 else 2.0], outputs=[helper])

    tape = wp.Tape()
    with tape:
        wp.launch(in_place, 1, inputs=[x, k])
        square(x, y=y)
        known = len(quick)
        slow.clear()
        if at == "forward":  # a step reads what another one wrote
            with pytest.raises(RuntimeError, match="not in `state`"):
                wp.checkpointed(step, 4, state=[x])
            return
        wp.checkpointed(step, 4, state=[x])
        square(x, y=y)
    assert (len(quick), slow) == (known + 1, [])
    with pytest.raises(RuntimeError, match="must depend on nothing but its number"):
        tape.backward(y)


class Dims(list):
    """A list of another type."""


@pytest.mark.parametrize("dim", [[3], Dims([3]), np.array(3), (np.array(3),), [np.array(3)]], ids=str)
def test_dimensions_are_those_of_the_launch(dim):
    x, y = active([1.0, 2.0, 3.0]), active([0.0] * 3)
    for _ in range(2):  # the second launch is quick
        x.grad.zero_()
        given = copy.deepcopy(dim)
        with wp.Tape() as tape:
            wp.launch(scaled, dim=given, inputs=[x, 1.0], outputs=[y])
        number = given if isinstance(given, np.ndarray) else given[0]
        if isinstance(number, np.ndarray):
            number[...] = 1
        elif isinstance(given, list):
            given[0] = 1
        tape.backward(grads={y: wp.ones(3, dtype=float)})
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0, 6.0])


def test_a_launch_that_python_records_meanwhile():
    """A signal or another thread may record a launch of the same kernel while memory is saved."""
    x, y = active([1.0, 2.0]), active([0.0, 0.0])
    k = wp.array([1.0, 2.0], dtype=float)
    seen = k.numpy()  # so that saving it calls Python
    other = [wp.ones(2, dtype=float), wp.array([1.0, 2.0], dtype=float, requires_grad=True)]

    def interrupt(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "hold":
            sys.setprofile(None)
            with observers.NotRecording(), wp.Tape():
                wp.launch(weighted, dim=2, inputs=[*other, wp.zeros(2, dtype=float)])
            gc.collect()

    for n in range(4):
        x.grad.zero_()
        seen[:] = [n + 1.0, n + 2.0]
        with wp.Tape() as tape:
            sys.setprofile(interrupt)
            try:
                wp.launch(weighted, dim=2, inputs=[x, k, y])
            finally:
                sys.setprofile(None)
        tape.backward(grads={y: wp.ones(2, dtype=float)})
        np.testing.assert_array_equal(x.grad.numpy(), [n + 1.0, n + 2.0])
