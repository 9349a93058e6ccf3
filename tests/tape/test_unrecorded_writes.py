"""Writes between two recorded steps that no tape sees: NumPy's, those of other libraries, and unrecorded launches."""

from __future__ import annotations

import ctypes
import inspect
import re

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native

pytestmark = pytest.mark.cpu  # memory that NumPy sees

F = wp.array(dtype=float)
CHANGED = "used this memory, and since then NumPy or another library has changed it"
OVERWRITTEN = "used this memory, and since then it was overwritten at"


@wp.kernel
def product(x: F, y: F, z: F):
    i = wp.tid()
    z[i] = x[i] * y[i]


@wp.kernel
def total(x: F, loss: F):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@wp.kernel
def constant(x: F, value: float):
    i = wp.tid()
    x[i] = value


def active(values):
    return wp.array(values, dtype=float, requires_grad=True)


def line():
    return inspect.currentframe().f_back.f_lineno


def place(number):
    return rf"\S*test_unrecorded_writes.py:{number}\b"


WRITES = {
    "NumPy": lambda z: z.numpy().__setitem__(0, 7.0),
    "a view": lambda z: z[1:].numpy().__setitem__(0, 3.0),
    "array interface": lambda z: np.asarray(z).__setitem__(1, 3.0),
    "DLPack": lambda z: np.from_dlpack(z).__setitem__(1, 3.0),
    "address": lambda z: ctypes.memset(z.ptr, 1, 4),
    "one bit": lambda z: z.numpy().view(np.uint8).__ixor__(np.uint8([0, 0, 0, 0, 0, 0, 0, 128])),
}
OTHERS = {
    "a launch that is not recorded": lambda z: wp.launch(constant, 2, inputs=[z, 3.0], record_tape=False),
    "a foreign function": lambda z: z.mark_write(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("shown", [False, True], ids=["private", "shown"])
def test_writes_of_others(write, shown):
    x, y, z, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    if shown:
        z.numpy()
    with wp.Tape():
        wp.launch(product, 2, inputs=[x, y, z])
        first = line() - 1
        write(z)
        with pytest.raises(RuntimeError, match=CHANGED) as e:
            wp.launch(total, 2, inputs=[z, loss])
    assert re.match(rf"kernel `total`: `x`: a step that was recorded at {place(first)}", str(e.value))


@pytest.mark.parametrize("write", OTHERS.values(), ids=OTHERS)
def test_unrecorded_writes(write):
    x, y, z, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    with wp.Tape() as tape:
        wp.launch(product, 2, inputs=[x, y, z])
        write(z)
        with pytest.raises(RuntimeError, match="used this memory, and since then it was overwritten"):
            wp.launch(total, 2, inputs=[z, loss])
    assert tape.length() == 1


def test_writes_while_the_tape_does_not_record():
    x, y, z, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(product, 2, inputs=[x, y, z])
    z.fill_(3.0)
    written = line() - 1
    with tape, pytest.raises(RuntimeError, match=f"{OVERWRITTEN} {place(written)}"):
        wp.launch(total, 2, inputs=[z, loss])
    tape.reset()
    with tape:
        wp.launch(total, 2, inputs=[z, loss])
    tape.backward(loss)
    assert z.grad.list() == [6.0, 6.0]


def test_memory_of_numpy():
    numbers = np.zeros(2, np.float32)
    x, y, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0])
    z = wp.array(numbers, copy=False, requires_grad=True)
    with wp.Tape():
        wp.launch(product, 2, inputs=[x, y, z])
        numbers[:] = 1.0
        with pytest.raises(RuntimeError, match=CHANGED):
            wp.launch(total, 2, inputs=[z, loss])


def test_shown_before_and_written_between():
    x, y, z, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    shown = z.numpy()
    with wp.Tape():
        for _ in range(3):
            wp.launch(product, 2, inputs=[x, y, z])
            wp.launch(total, 2, inputs=[z, loss])
        shown[1] += 1.0
        with pytest.raises(RuntimeError, match=CHANGED):
            wp.launch(total, 2, inputs=[z, loss])


def test_looking_is_no_writing():
    x, y, z, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(product, 2, inputs=[x, y, z])
        assert z.numpy().tolist() == [3.0, 8.0]
        z.numpy()[:] = z.numpy()
        wp.launch(total, 2, inputs=[z, loss])
        assert float(np.asarray(loss)[0]) == 73.0
    tape.backward(loss)
    assert x.grad.list() == [2 * 3.0 * 3.0, 2 * 8.0 * 4.0]


def test_what_was_there_before_the_first_step_is_free():
    x, y, z, loss = active([0.0, 0.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        x.numpy()[:] = [1.0, 2.0]
        wp.launch(product, 2, inputs=[x, y, z])
        wp.launch(total, 2, inputs=[z, loss])
    z.numpy()[:] = 100.0  # what comes after the last step is free, too
    x.numpy()[:] = 100.0
    tape.backward(loss)
    assert x.grad.list() == [2 * 3.0 * 3.0, 2 * 8.0 * 4.0]


def test_an_input_that_changes_between_two_reads():
    x, y, z = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0])
    with wp.Tape():
        wp.launch(product, 2, inputs=[x, y, z])
        x.numpy()[0] = 5.0
        with pytest.raises(RuntimeError, match=f"`x`.*{CHANGED}"):
            wp.launch(product, 2, inputs=[x, y, active([0.0, 0.0])])


def test_inputs_without_gradient_may_change():
    x, y, loss = active([1.0, 2.0]), wp.array([3.0, 4.0], dtype=float), active([0.0])
    tape = wp.Tape()
    with tape:
        for value in (3.0, 5.0):
            y.numpy()[:] = value
            z = active([0.0, 0.0])
            wp.launch(product, 2, inputs=[x, y, z])
            wp.launch(total, 2, inputs=[z, loss])
    tape.backward(loss)
    assert x.grad.list() == [2.0 * (9.0 + 25.0), 4.0 * (9.0 + 25.0)]


REWRITES = {
    "launch": lambda z: wp.launch(constant, 2, inputs=[z, 3.0]),
    "fill": lambda z: z.fill_(3.0),
    "assign": lambda z: z.assign([3.0, 3.0]),
    "copy": lambda z: wp.copy(z, wp.full(2, 3.0, dtype=float)),
    "slice": lambda z: z.__setitem__(slice(None), wp.full(2, 3.0, dtype=float)),
}


@pytest.mark.parametrize("rewrite", REWRITES.values(), ids=REWRITES)
def test_what_is_overwritten_as_a_whole_does_not_matter(rewrite):
    x, y, z, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(product, 2, inputs=[x, y, z])
        z.numpy()[:] = 0.0
        rewrite(z)
        wp.launch(total, 2, inputs=[z, loss])
    tape.backward(loss)
    assert (x.grad.list(), loss.list()) == ([0.0, 0.0], [18.0])


@wp.kernel
def squared(z: F, x: F):
    i = wp.tid()
    z[i] = x[i] * x[i]


@pytest.mark.parametrize("view", [lambda z: z, lambda z: z[:], lambda z: z[::-1]], ids=["itself", "view", "reversed"])
def test_what_is_overwritten_by_itself_matters(view):
    x, y, z = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0])
    with wp.Tape():
        wp.launch(product, 2, inputs=[x, y, z])
        z.numpy()[:] = 5.0
        with pytest.raises(RuntimeError, match=CHANGED):
            wp.launch(squared, 2, inputs=[z, view(z)])


PARTS = {
    "launch": lambda z: wp.launch(constant, 1, inputs=[z, 3.0]),
    "fill": lambda z: z[:1].fill_(3.0),
    "element": lambda z: z.__setitem__(0, 3.0),
    "sum": lambda z: wp.utils.array_sum(wp.ones(2), out=z[:1]),
    "atomics": lambda z: wp.launch(total, 2, inputs=[wp.ones(2), z]),
}


@pytest.mark.parametrize("rewrite", PARTS.values(), ids=PARTS)
def test_overwriting_a_part_does_not_hide_the_rest(rewrite):
    x, y, z, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    with wp.Tape():
        wp.launch(product, 2, inputs=[x, y, z])
        z.numpy()[1] = 0.0
        with pytest.raises(RuntimeError, match=CHANGED):
            rewrite(z)
        with pytest.raises(RuntimeError, match=CHANGED):
            wp.launch(total, 2, inputs=[z, loss])


def multiplied(z, out):
    wp.matmul(z.reshape((1, 2)), z.reshape((2, 1)), out, out)


STEPS = {
    "copy": lambda z, out: wp.copy(out, z),
    "slice": lambda z, out: out.__setitem__(slice(None), z),
    "operator": lambda z, out: z + z,
    "map": lambda z, out: wp.map(wp.sin, z, out=out),
    "sum": lambda z, out: wp.utils.array_sum(z, out=out[:1]),
    "inner": lambda z, out: wp.utils.array_inner(z, z, out=out[:1]),
    "scan": lambda z, out: wp.utils.array_scan(z, out),
    "cast": lambda z, out: wp.utils.array_cast(z, out),
    "matmul": lambda z, out: multiplied(z, out[:1].reshape((1, 1))),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("shown", [False, True], ids=["private", "shown"])
def test_steps_of_all_kinds(step, shown):
    x, y, z, out = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0, 0.0])
    if shown:
        z.numpy(), out.numpy()
    with wp.Tape():
        wp.launch(product, 2, inputs=[x, y, z])
        for _ in range(2):  # what steps write is what the tape has seen
            step(z, out)
        wp.launch(total, 2, inputs=[out, active([0.0])])
        z.numpy()[0] = 7.0
        with pytest.raises(RuntimeError, match=CHANGED):
            step(z, out)


def test_steps_of_your_own():
    x, y, z, loss = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(product, 2, inputs=[x, y, z])
        numbers = z.numpy()
        numbers *= 2.0

        def doubled():
            z.grad.assign(2.0 * z.grad.numpy())

        tape.record_func(doubled, [z])
        wp.launch(total, 2, inputs=[z, loss])
        numbers *= 2.0
        with pytest.raises(RuntimeError, match=CHANGED):
            tape.record_func(doubled, [z, loss], outputs=[loss])
    tape.backward(loss)
    assert x.grad.list() == [2 * 6.0 * 2 * 3.0, 2 * 16.0 * 2 * 4.0]


def test_matrices_and_structs():
    @wp.struct
    class Pair:
        a: wp.array(dtype=wp.vec3)
        b: wp.array(dtype=wp.vec3)

    @wp.kernel
    def cross(pair: Pair, out: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        out[i] = wp.cross(pair.a[i], pair.b[i])

    pair = Pair()
    pair.a, pair.b, out = (wp.ones(2, dtype=wp.vec3, requires_grad=True) for _ in range(3))
    with wp.Tape():
        wp.launch(cross, 2, inputs=[pair, out])
        pair.b.numpy()[1, 2] = 2.0
        with pytest.raises(RuntimeError, match=f"kernel `cross`: `pair`.*{CHANGED}"):
            wp.launch(cross, 2, inputs=[pair, out])


@wp.struct
class Step:
    x: F
    scale: F
    y: F


@wp.func
def scaled(step: Step, i: int):
    step.y[i] = step.scale[i] * step.x[i]


@wp.kernel
def scaled_in_struct(step: Step):
    scaled(step, wp.tid())


def test_launches_write_the_members_that_the_kernel_writes():
    step, loss, other = Step(), active([0.0]), active([0.0, 0.0])
    step.x, step.scale, step.y = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0])
    with wp.Tape() as tape:
        wp.launch(product, 2, inputs=[step.x, step.scale, other])
        wp.launch(scaled_in_struct, 2, inputs=[step], record_tape=False)
        wp.launch(total, 2, inputs=[other, loss])  # reads nothing that the launch before has written
        wp.launch(product, 2, inputs=[step.x, step.scale, other])
        with pytest.raises(RuntimeError, match=OVERWRITTEN):
            wp.launch(scaled_in_struct, 2, inputs=[_swapped(step)], record_tape=False)
            wp.launch(product, 2, inputs=[step.x, step.scale, other])
    assert step.y.list() == [3.0, 8.0]
    del tape


def _swapped(step: Step) -> Step:
    made = Step()
    made.x, made.scale, made.y = step.y, step.scale, step.x
    return made


def test_checkpointed_steps():
    x, y = active([1.0, 2.0]), active([3.0, 4.0])

    @wp.kernel
    def grow(x: F, y: F):
        i = wp.tid()
        x[i] = x[i] * y[i]

    def step(i):
        wp.launch(grow, 2, inputs=[x, y])

    x.numpy(), y.numpy()
    tape = wp.Tape()
    with tape:
        wp.launch(grow, 2, inputs=[x, y])
        wp.checkpointed(step, 3, state=[x], memory_budget=16)
        wp.launch(grow, 2, inputs=[x, y])
    tape.backward(grads={x: wp.ones(2)})
    assert y.grad.list() == [5 * 3.0**4, 2 * 5 * 4.0**4]
    with tape:
        wp.launch(grow, 2, inputs=[x, y])  # going backwards has restored the state
        x.numpy()[0] = 9.0
        with pytest.raises(RuntimeError, match=CHANGED):
            wp.checkpointed(step, 3, state=[x])


def test_nothing_is_sealed_when_tapes_are_gone():
    x, y, z = active([1.0, 2.0]), active([3.0, 4.0]), active([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(product, 2, inputs=[x, y, z])
    assert len(tape.seals) == 3
    tape.reset()
    assert len(tape.seals) == 0
    with wp.Tape():
        wp.launch(product, 2, inputs=[x, y, z])


def test_views_are_sealed_together():
    x, y, z, loss = active([1.0] * 4), active([3.0] * 4), active([0.0] * 4), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(product, 2, inputs=[x[:2], y[:2], z[:2]])
        wp.launch(product, 2, inputs=[x[2:], y[2:], z[2:]])
        z[:2].numpy()
        wp.launch(total, 4, inputs=[z, loss])
        assert len(tape.seals) == 6
        z.numpy()[3] = 4.0
        with pytest.raises(RuntimeError, match=CHANGED):
            wp.launch(total, 1, inputs=[z[:1], loss])


def test_fingerprints():
    r = np.random.default_rng(1)
    for n in (0, 1, 7, 63, 64, 65, 200, 4096 + 13):
        data = r.integers(0, 256, n, dtype=np.uint8)
        seen = {_native.fingerprint(data.ctypes.data, n)}
        for at in range(n):
            for bit in (1, 128):
                data[at] ^= bit
                seen.add(_native.fingerprint(data.ctypes.data, n))
                data[at] ^= bit
        assert len(seen) == 1 + 2 * n
    numbers = r.normal(size=4096)
    variants = numbers, -numbers, np.abs(numbers), numbers[::-1].copy(), np.roll(numbers, 8)
    assert len({_native.fingerprint(a.ctypes.data, a.nbytes) for a in variants}) == len(variants)


@wp.kernel
def square_beyond(x: F, y: F, beyond: int):
    i = wp.tid()
    y[i] = x[i] * x[i]
    if i == 1:
        y[beyond] = x[i]


@pytest.mark.parametrize("mode", ["debug", "interpret"])
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
def test_a_launch_that_fails_half_way(monkeypatch, mode, used):
    """What it wrote is no given, as what it made that of is on no tape; what is written again is fine."""
    monkeypatch.setattr(wp.config, "mode", mode)
    x, y, loss = active([1.0, 2.0]), active([0.0, 0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        if used:
            wp.launch(constant, 2, inputs=[y, 7.0])
        with pytest.raises(IndexError):
            wp.launch(square_beyond, 2, inputs=[x, y, 1000])
        assert y.list()[0] == 1.0
        with pytest.raises(RuntimeError, match="used this memory, and since then"):
            wp.launch(total, 2, inputs=[y, loss])
        y.zero_()
        wp.launch(squared, 2, inputs=[y, x])
        wp.launch(total, 2, inputs=[y, loss])
    tape.backward(loss)
    assert x.grad.list() == [4.0, 32.0]
