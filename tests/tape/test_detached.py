"""Gradients that would end unnoticed at arrays without one."""

from __future__ import annotations

import inspect
import random
import re

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.devices.interval_map import IntervalMap
from tests.kernels import square, total

F = wp.array(dtype=float)
ENDS = "reads an array without a gradient"


@wp.kernel
def both(x: F, scratch: F, y: F):
    i = wp.tid()
    scratch[i] = 2.0 * x[i]
    y[i] = x[i]


@wp.kernel
def where_positive(x: F, condition: F, y: F):
    i = wp.tid()
    y[i] = x[i]
    if condition[i] > 0.0:
        y[i] = 3.0 * x[i]


def active(values):
    return wp.array(values, dtype=float, requires_grad=True)


def plain(values):
    return wp.array(values, dtype=float)


def line():
    return inspect.currentframe().f_back.f_lineno


@pytest.fixture(autouse=True)
def _config():
    before = wp.config.cut_gradients
    yield
    wp.config.cut_gradients = before


@pytest.mark.cpu
def test_an_output_without_gradient():
    x, y, loss = active([3.0]), plain([0.0]), active([0.0])
    x.grad.fill_(7.0)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, y])
        wp.launch(total, 1, inputs=[y, loss])
        at = line() - 1
    with pytest.raises(RuntimeError, match=ENDS) as e:
        tape.backward(loss)
    assert re.search(
        rf"kernel `total`: argument `x` \(\S*test_detached.py:{at}\) .* "
        rf"kernel `square` \(\S*test_detached.py:{at - 1}\)",
        str(e.value),
    )
    assert "requires_grad=True" in str(e.value)
    assert "a.requires_grad = False" in str(e.value)
    assert (x.grad.list(), loss.grad.list()) == ([7.0], [0.0])  # as it was


def test_what_is_said_to_be_constant():
    x, y, loss = active([3.0]), plain([0.0]), active([0.0])
    y.requires_grad = False
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, y[:]])
        wp.launch(total, 1, inputs=[y[:1], loss])
    tape.backward(loss)
    assert x.grad.list() == [0.0]


def test_warnings_and_silence():
    x, y, loss = active([3.0]), plain([0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, y])
        wp.launch(total, 1, inputs=[y, loss])
    wp.config.cut_gradients = "warn"
    with pytest.warns(UserWarning, match=ENDS):
        tape.backward(loss)
    wp.config.cut_gradients = "ignore"
    tape.backward(loss)
    with pytest.raises(ValueError, match="'error', 'warn', 'ignore'"):
        wp.config.cut_gradients = "never"


def test_a_chain_of_arrays_without_gradient():
    x, a, b, c, loss = active([3.0]), plain([0.0]), plain([0.0]), plain([0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, a])
        wp.launch(square, 1, inputs=[a, b])
        wp.copy(c, b)
        wp.launch(total, 1, inputs=[c, loss])
    with pytest.raises(RuntimeError, match=rf"kernel `total`.*{ENDS}, which copy"):
        tape.backward(loss)


def test_a_part_of_the_paths():
    x, scratch, y, loss = active([3.0]), plain([0.0]), active([0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(both, 1, inputs=[x, scratch, y])
        wp.launch(total, 1, inputs=[y, loss])
    tape.backward(loss)  # so far nothing reads scratch
    assert x.grad.list() == [1.0]
    with tape:
        wp.launch(total, 1, inputs=[scratch, loss])
    with pytest.raises(RuntimeError, match=ENDS):
        tape.backward(loss)


STEPS = {
    "copy": lambda a, out: wp.copy(out, a),
    "assign": lambda a, out: out.assign(a),
    "slice": lambda a, out: out.__setitem__(slice(None), a),
    "sum": lambda a, out: wp.utils.array_sum(a, out=out[:1]),
    "inner": lambda a, out: wp.utils.array_inner(a, wp.ones(2), out=out[:1]),
    "scan": lambda a, out: wp.utils.array_scan(a, out),
    "cast": lambda a, out: wp.utils.array_cast(a, out),
    "map": lambda a, out: wp.map(wp.sin, a, out=out),
    "launch": lambda a, out: wp.launch(square, 2, inputs=[a, out]),
    "matmul": lambda a, out: wp.matmul(a.reshape((1, 2)), wp.ones((2, 2)), out.reshape((1, 2)), out.reshape((1, 2))),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("first", [True, False], ids=["makes it", "reads it"])
def test_steps_of_all_kinds(step, first):
    x, cut, out, loss = active([3.0, 4.0]), plain([0.0, 0.0]), active([0.0, 0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        step(x, cut) if first else wp.launch(square, 2, inputs=[x, cut])
        wp.launch(square, 2, inputs=[cut, out]) if first else step(cut, out)
        wp.launch(total, 2, inputs=[out, loss])
    with pytest.raises(RuntimeError, match=ENDS):
        tape.backward(loss)


def test_what_ends_nothing():
    x, y, loss, other = active([3.0, -1.0]), plain([0.0, 0.0]), active([0.0]), active([0.0])
    integers = wp.zeros(2, dtype=int)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x, y])
        wp.launch(total, 2, inputs=[y, other])  # does not reach the loss
        wp.launch(where_positive, 2, inputs=[x, y, (z := active([0.0, 0.0]))])  # a condition
        wp.utils.array_cast(x, integers)
        wp.launch(total, 2, inputs=[z, loss])
        y.fill_(1.0)  # depends on nothing any more
        wp.launch(total, 2, inputs=[y, loss])
        wp.launch(square, 2, inputs=[x, y])
        wp.launch(square, 2, inputs=[plain([1.0, 1.0]), y])
        wp.launch(total, 2, inputs=[y, loss])
        wp.launch(square, 2, inputs=[x, y])
        wp.copy(y, wp.ones(2))
        wp.launch(total, 2, inputs=[y, loss])
    tape.backward(loss)
    assert x.grad.list() == [3.0, 3.0]


def test_kernels_that_shall_have_no_gradient():
    @wp.kernel(enable_backward=False)
    def measured(x: F, y: F):
        i = wp.tid()
        y[i] = x[i]

    x, a, b, loss = active([3.0]), plain([0.0]), plain([0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, a])
        wp.launch(measured, 1, inputs=[a, b])
        wp.launch(total, 1, inputs=[b, loss])
        wp.launch(total, 1, inputs=[x, loss])
    tape.backward(loss)
    assert x.grad.list() == [1.0]


def test_kernels_that_could_have_none():
    @wp.kernel
    def exchanged(x: F, y: F):
        i = wp.tid()
        y[i] = wp.atomic_exch(x, i, 0.0)

    x, a, b, loss = active([3.0]), plain([0.0]), plain([0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, a])
        wp.launch(exchanged, 1, inputs=[a, b])
        wp.launch(total, 1, inputs=[b, loss])
    with pytest.raises(RuntimeError, match=ENDS):
        tape.backward(loss)


def test_parts_of_arrays():
    x, y, loss = active([3.0, 4.0]), plain([0.0] * 4), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x, y[1:3]])
        wp.launch(total, 1, inputs=[y[:1], loss])
        wp.launch(total, 1, inputs=[y[3:], loss])
    tape.backward(loss)
    with tape:
        y[1:2].fill_(0.0)
        wp.launch(total, 1, inputs=[y[1:2], loss])
    tape.backward(loss)
    with tape:
        wp.launch(total, 1, inputs=[y[2:3], loss])
    with pytest.raises(RuntimeError, match=ENDS):
        tape.backward(loss)
    tape.reset()
    with tape:
        wp.launch(total, 4, inputs=[y, loss])
        wp.launch(total, 1, inputs=[active([1.0]), loss])
    tape.backward(loss)


def test_a_loss_of_nothing_that_has_a_gradient(monkeypatch):
    x, loss, tape = plain([1.0, 2.0]), active([0.0]), wp.Tape()
    with tape:
        wp.launch(total, 2, inputs=[x, loss])
    with pytest.raises(
        RuntimeError, match=r"loss: no array that the recorded launches read has a gradient, .*requires_grad=True"
    ):
        tape.backward(loss)
    monkeypatch.setattr(wp.config, "cut_gradients", "warn")
    with pytest.warns(UserWarning, match="no array that the recorded launches read has a gradient"):
        tape.backward(loss)
    monkeypatch.setattr(wp.config, "cut_gradients", "ignore")
    tape.backward(loss)
    assert x.grad is None


@wp.kernel
def square_first(x: F):
    x[0] = x[0] * x[0]


def test_a_loss_that_is_made_of_itself_has_a_gradient():
    loss, tape = active([3.0]), wp.Tape()
    with tape:
        wp.launch(square_first, 1, inputs=[loss])
    tape.backward(loss)
    assert loss.grad.list() == [6.0]


def test_structs():
    @wp.struct
    class State:
        x: F
        v: F

    @wp.kernel
    def advance(a: State, b: State):
        i = wp.tid()
        b.v[i] = a.v[i] - a.x[i]
        b.x[i] = a.x[i] + b.v[i]

    def state(grad):
        s = State()
        s.x, s.v = wp.ones(2, dtype=float, requires_grad=grad), wp.zeros(2, dtype=float, requires_grad=grad)
        return s

    a, b, c, loss = state(True), state(False), state(True), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(advance, 2, inputs=[a, b])
        wp.launch(advance, 2, inputs=[b, c])
        wp.launch(total, 2, inputs=[c.x, loss])
    with pytest.raises(RuntimeError, match=rf"kernel `advance`: argument `a`.*{ENDS}"):
        tape.backward(loss)


def test_checkpointed_state_without_gradient():
    @wp.kernel
    def advance(x: F, v: F):
        i = wp.tid()
        x[i] = x[i] + 0.1 * v[i]
        v[i] = v[i] - 0.1 * x[i]

    x, v = active([1.0]), plain([0.0])
    tape = wp.Tape()
    with tape:
        wp.checkpointed(lambda i: wp.launch(advance, 1, inputs=[x, v]), 5, state=[x, v])
    with pytest.raises(RuntimeError, match=rf"kernel `advance`: argument `v`.*{ENDS}"):
        tape.backward(x)
    v.requires_grad = False
    tape = wp.Tape()
    with tape:
        wp.checkpointed(lambda i: wp.launch(advance, 1, inputs=[x, v]), 5, state=[x, v])
    tape.backward(x)


def test_adding_and_removing_spans():
    r = random.Random(3)
    for _ in range(200):
        spans, cells = IntervalMap(), np.zeros(40, bool)
        for _ in range(30):
            low = r.randint(0, 38)
            high = r.randint(low + 1, 40)
            if r.random() < 0.5:
                spans.add((low, high), None)
                cells[low:high] = True
            else:
                spans.remove((low, high))
                cells[low:high] = False
            found = np.zeros(40, bool)
            for a, b in spans:
                assert a < b
                found[a:b] = True
            assert (found == cells).all()
            assert bool(spans) == cells.any()


@wp.kernel
def in_steps(x: F, y: F):
    i = wp.tid()
    y[i] = wp.floor(2.0 * x[i]) + wp.round(x[i] * x[i]) + wp.sign(x[i]) + wp.float32(int(x[i]))


@wp.kernel
def scaled(x: F, scale: F, y: F, scale_out: F):
    i = wp.tid()
    y[i] = scale[i] * x[i]
    scale_out[i] = scale[i]


@wp.kernel
def weighted(x: F, weight: F, loss: F):
    i = wp.tid()
    wp.atomic_add(loss, 0, weight[i] * x[i])


@wp.func
def stepped(x: float):
    return wp.floor(x)


@wp.func_grad(stepped)
def stepped_gradient(x: float, dy: float):
    wp.adjoint[x] += dy


@wp.kernel
def passed_through(x: F, y: F):
    i = wp.tid()
    y[i] = stepped(x[i])


@wp.kernel
def carried(x: F, w: F, y: F, z: F):
    i = wp.tid()
    a, b = 0.0, 0.0
    for k in range(2):
        a += w[k]
        b += x[k] * a
    y[i] = b
    z[i] = y[i]


def test_functions_that_have_no_slope_cut_nothing():
    x, steps, loss = active([1.5, 2.5]), plain([0.0, 0.0]), active([0.0])
    with wp.Tape() as tape:
        wp.launch(in_steps, 2, inputs=[x, steps])
        wp.launch(weighted, 2, inputs=[x, steps, loss])
    tape.backward(loss)
    assert x.grad.list() == [3 + 2 + 1 + 1, 5 + 6 + 1 + 2]


def test_results_that_are_made_of_other_arrays_of_the_kernel():
    x, scale, y, copied, loss = active([1.0, 2.0]), plain([3.0, 4.0]), active([0, 0]), plain([0, 0]), active([0.0])
    with wp.Tape() as tape:
        wp.launch(scaled, 2, inputs=[x, scale, y, copied])
        wp.launch(weighted, 2, inputs=[y, copied, loss])
    tape.backward(loss)
    assert x.grad.list() == [9.0, 16.0]
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x, scale])
        wp.launch(scaled, 2, inputs=[x, scale, y, copied])
        wp.launch(weighted, 2, inputs=[x, copied, loss])
    with pytest.raises(RuntimeError, match=f"kernel `weighted`: argument `weight`.*{ENDS}, which kernel `scaled`"):
        tape.backward(loss)


@pytest.mark.parametrize("kernel", [passed_through, carried], ids=lambda k: k.name)
def test_what_does_flow(kernel):
    x, made, loss = active([1.0, 2.0]), plain([0.0, 0.0]), active([0.0])
    with wp.Tape() as tape:
        rest = [plain([1.0, 1.0]), plain([0.0, 0.0])] if kernel is carried else []
        wp.launch(kernel, 2, inputs=[x, *rest, made])
        wp.launch(weighted, 2, inputs=[x, made, loss])
    with pytest.raises(RuntimeError, match=f"{ENDS}, which kernel `{kernel.name}`"):
        tape.backward(loss)


def test_a_copy_that_is_asked_for_without_gradient():
    x, loss = active([1.0, 2.0]), active([0.0])
    with wp.Tape() as tape:
        held = wp.clone(x, requires_grad=False)
        wp.launch(weighted, 2, inputs=[x, held, loss])
    tape.backward(loss)
    assert x.grad.list() == [1.0, 2.0]


I = wp.array(dtype=wp.uint64)


@wp.kernel
def nearest(depth: F, pixel: wp.array(dtype=int), buffer: I):
    i = wp.tid()
    key = (wp.uint64(wp.cast(depth[i], wp.uint32)) << wp.uint64(32)) | wp.uint64(i)
    wp.atomic_min(buffer, pixel[i], key)


@wp.kernel
def reversed_copy(a: I, b: I):
    i = wp.tid()
    b[len(a) - 1 - i] = a[i]


@wp.kernel
def depths(buffer: I, y: F):
    i = wp.tid()
    y[i] = wp.cast(wp.uint32(buffer[i] >> wp.uint64(32)), wp.float32)


@wp.kernel
def depths_of_nearest(buffer: I, depth: F, y: F):
    i = wp.tid()
    y[i] = depth[int(buffer[i] & wp.uint64(0xFFFFFFFF))]


def _buffer(**options):
    return wp.full(2, 0xFFFFFFFFFFFFFFFF, dtype=wp.uint64, **options)


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_bits_that_come_to_be_numbers_again_are_refused(copied, requires_grad):
    pixel = wp.array([0, 1, 0, 1], dtype=int)
    for _ in range(2):  # the second time as it is recorded every day
        depth, y = active([3.0, 1.0, 2.0, 4.0]), active([0.0, 0.0])
        buffer, other = _buffer(requires_grad=requires_grad), _buffer(requires_grad=requires_grad)
        tape = wp.Tape()
        with tape:
            wp.launch(nearest, 4, inputs=[depth, pixel, buffer])
            if copied:
                wp.launch(reversed_copy, 2, inputs=[buffer, other])
            wp.launch(depths, 2, inputs=[other if copied else buffer, y])
        assert sorted(y.list()) == [1.0, 2.0]
        with pytest.raises(RuntimeError, match=r"makes numbers of bits.* say so of the array of bits before"):
            tape.backward(grads={y: wp.ones(2, dtype=float)})


def test_bits_that_only_choose_cut_nothing():
    pixel = wp.array([0, 1, 0, 1], dtype=int)
    depth, y, buffer = active([3.0, 1.0, 2.0, 4.0]), active([0.0, 0.0]), _buffer()
    tape = wp.Tape()
    with tape:
        wp.launch(nearest, 4, inputs=[depth, pixel, buffer])
        wp.launch(depths_of_nearest, 2, inputs=[buffer, depth, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert depth.grad.list() == [0.0, 1.0, 1.0, 0.0]


def test_bits_that_nothing_is_to_flow_through():
    pixel = wp.array([0, 1, 0, 1], dtype=int)
    depth, y, buffer = active([3.0, 1.0, 2.0, 4.0]), active([0.0, 0.0]), _buffer()
    buffer.requires_grad = False
    tape = wp.Tape()
    with tape:
        wp.launch(nearest, 4, inputs=[depth, pixel, buffer])
        wp.launch(depths, 2, inputs=[buffer, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert depth.grad.list() == [0.0] * 4


@wp.struct
class Keyed:
    key: wp.int32
    weight: float


@wp.kernel
def keyed(x: F, a: wp.array(dtype=Keyed)):
    i = wp.tid()
    a[i].key = wp.cast(x[i], wp.int32)
    a[i].weight = x[i] * x[i]


@wp.kernel
def of_keys(a: wp.array(dtype=Keyed), y: F):
    i = wp.tid()
    y[i] = wp.cast(a[i].key, wp.float32) + a[i].weight


@wp.kernel
def of_weights(a: wp.array(dtype=Keyed), y: F):
    i = wp.tid()
    if a[i].key < a[1 - i].key:
        y[i] = a[i].weight


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("use", [of_keys, of_weights], ids=lambda k: k.name)
def test_bits_in_structs_that_have_a_gradient_for_other_members(use, copied):
    for _ in range(2):
        x, y = active([3.0, 2.0]), active([0.0, 0.0])
        a, b = (wp.zeros(2, dtype=Keyed, requires_grad=True) for _ in range(2))
        tape = wp.Tape()
        with tape:
            wp.launch(keyed, 2, inputs=[x, a])
            if copied:
                wp.copy(b, a)
            wp.launch(use, 2, inputs=[b if copied else a, y])
        if use is of_keys:
            with pytest.raises(RuntimeError, match=r"makes numbers of bits.* apart from the members with gradients"):
                tape.backward(grads={y: wp.ones(2, dtype=float)})
        else:
            tape.backward(grads={y: wp.ones(2, dtype=float)})
            assert x.grad.list() == [0.0, 4.0]
