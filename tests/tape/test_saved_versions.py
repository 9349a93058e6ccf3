"""Whatever writes to arrays after a launch was recorded, gradients are those of what it read, or are refused."""

from __future__ import annotations

import ctypes
import gc
import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.tape import saved
from tests.kernels import double, square, total

F = wp.array(dtype=float)


@wp.struct
class Box:
    values: wp.array(dtype=float)


@wp.kernel
def double_in_box(box: Box):
    i = wp.tid()
    box.values[i] = 2.0 * box.values[i]


@wp.kernel
def double_in_boxes(boxes: wp.array(dtype=Box)):
    i = wp.tid()
    boxes[0].values[i] = 2.0 * boxes[0].values[i]


@wp.kernel
def double_indexed(x: wp.indexedarray(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


def active(values, dtype=float, **kwargs):
    return wp.array(values, dtype=dtype, requires_grad=True, **kwargs)


def squared(x, **kwargs):
    """A tape with y = x * x, and y."""
    y = wp.zeros(x.shape, dtype=float, requires_grad=True)
    tape = wp.Tape(**kwargs)
    with tape:
        wp.launch(square, x.size, inputs=[x, y])
    return tape, y


def ones(a):
    return wp.ones(a.shape, dtype=float)


def box_of(x):
    box = Box()
    box.values = x
    return box


def recorded_launch(x):
    wp.launch(double, 4, inputs=[x], record_cmd=True).launch()


def captured_launch(x):
    with wp.ScopedCapture() as capture:
        wp.launch(double, 4, inputs=[x])
        x.fill_(9.0)
    wp.capture_launch(capture.graph)


INDICES = lambda: wp.array([0, 2], dtype=int)  # noqa: E731

WRITES = {
    "launch": lambda x: wp.launch(double, 4, inputs=[x]),
    "launch on a view": lambda x: wp.launch(double, 2, inputs=[x[1:3]]),
    "launch on memory by address": lambda x: wp.launch(double, 4, inputs=[wp.array(ptr=x.ptr, shape=4, dtype=float)]),
    "launch on a struct": lambda x: wp.launch(double_in_box, 4, inputs=[box_of(x)]),
    "launch on an array of structs": lambda x: wp.launch(double_in_boxes, 4, inputs=[wp.array([box_of(x)], dtype=Box)]),
    "launch on an indexed array": lambda x: wp.launch(double_indexed, 2, inputs=[x[INDICES()]]),
    "interpreted launch": lambda x: wp.launch(double, 4, inputs=[x], interpret=True),
    "recorded launch": recorded_launch,
    "graph": captured_launch,
    "adjoint": lambda x: wp.launch(
        square, 4, inputs=[wp.ones(4)], outputs=[wp.ones(4)], adj_inputs=[x], adj_outputs=[wp.ones(4)], adjoint=True
    ),
    "fill_": lambda x: x.fill_(7.0),
    "fill_ of a view": lambda x: x[::2].fill_(7.0),
    "zero_": lambda x: x.zero_(),
    "assign": lambda x: x.assign([5.0, 6.0, 7.0, 8.0]),
    "copy": lambda x: wp.copy(x, wp.full(4, 5.0)),
    "copy of a part": lambda x: wp.copy(x, wp.full(4, 5.0), dest_offset=1, count=2),
    "copy to a view": lambda x: wp.copy(x[::-1], wp.full(4, 5.0)),
    "copy of an indexed array": lambda x: wp.copy(x, wp.full(4, 5.0)[wp.array([0, 1, 2, 3], dtype=int)]),
    "copy to an indexed array": lambda x: wp.copy(x[INDICES()], wp.full(2, 5.0)),
    "element": lambda x: x.__setitem__(2, 9.0),
    "slice": lambda x: x.__setitem__(slice(1, 3), 9.0),
    "slice of numbers": lambda x: x.__setitem__(slice(1, 3), [8.0, 9.0]),
    "slice of another type": lambda x: x.__setitem__(slice(1, 3), np.array([8, 9])),
    "indexed": lambda x: x.__setitem__(INDICES(), 9.0),
    "fill_ of an indexed array": lambda x: x[INDICES()].fill_(9.0),
    "operator": lambda x: x.__iadd__(1.0),
    "map": lambda x: wp.map(wp.sin, x, out=x),
    "scan": lambda x: wp.utils.array_scan(wp.ones(4), x),
    "cast": lambda x: wp.utils.array_cast(wp.array([1, 2, 3, 4], dtype=int), x),
    "inner product": lambda x: wp.utils.array_inner(wp.ones(4), wp.full(4, 3.0), out=x[:1]),
    "sum": lambda x: wp.utils.array_sum(wp.ones(4), out=x[3:]),
    "runs": lambda x: wp.utils.runlength_encode(wp.ones(4, dtype=int), x.view(int), wp.zeros(4, dtype=int)),
    "sort": lambda x: wp.utils.radix_sort_pairs(x, wp.zeros(4, dtype=int), 2),
    "product": lambda x: wp.matmul(wp.ones((2, 2)), wp.ones((2, 2)), x.reshape((2, 2)), x.reshape((2, 2))),
    "NumPy": lambda x: x.numpy().__setitem__(0, 9.0),
    "array interface": lambda x: np.asarray(x).__setitem__(0, 9.0),
    "DLPack": lambda x: np.from_dlpack(x).__setitem__(0, 9.0),
    "address": lambda x: ctypes.memset(x.ptr, 0, 8),
}
IN_PLACE = ("NumPy", "array interface", "DLPack", "address")  # by way of the processor
VALUES = [4.0, 3.0, 2.0, 1.0]


def writes():
    return [pytest.param(w, id=k, marks=[pytest.mark.cpu] * (k in IN_PLACE)) for k, w in WRITES.items()]


@pytest.mark.parametrize("write", writes())
@pytest.mark.parametrize("view", [False, True])
def test_writes_after_recording(device, write, view):
    x = active([*VALUES, 0.0])[:4] if view else active(VALUES)
    tape, y = squared(x)
    assert tape.memory_used == 0
    write(x)
    assert x.list() != VALUES
    assert tape.memory_used == 16
    x.fill_(100.0)
    assert tape.memory_used == 16  # once for each version
    tape.backward(grads={y: ones(y)})
    assert x.grad.list() == [8.0, 6.0, 4.0, 2.0] or write is WRITES["adjoint"]


@pytest.mark.cpu
def test_a_numpy_view_from_before():
    x = active(VALUES)
    shown = x.numpy()
    tape, y = squared(x)
    assert tape.memory_used == 16
    shown[:] = 100.0
    tape.backward(grads={y: ones(y)})
    assert x.grad.list() == [8.0, 6.0, 4.0, 2.0]


@pytest.mark.cpu
@pytest.mark.parametrize("foreign", [lambda n: n, lambda n: wp.array(n, copy=False), wp.from_dlpack])
def test_memory_of_others(foreign):
    numbers = np.array(VALUES, np.float32)
    x, scale, y = active([1.0] * 4), foreign(numbers), active([0.0] * 4)

    @wp.kernel
    def product(a: F, b: F, c: F):
        i = wp.tid()
        c[i] = a[i] * b[i]

    tape = wp.Tape()
    with tape:
        wp.launch(product, 4, inputs=[x, scale, y])
    numbers[:] = 100.0
    tape.backward(grads={y: ones(y)})
    assert x.grad.list() == VALUES


@pytest.mark.cpu
def test_what_is_printed_costs_nothing():
    x, loss = active(VALUES), active([0.0])
    tape, y = squared(x)
    with tape:
        wp.launch(total, 4, inputs=[y, loss])
    assert (loss.numpy()[0], loss.list(), str(x), x[0], tape.memory_used) == (30.0, [30.0], "[4. 3. 2. 1.]", 4.0, 0)
    x.numpy()
    assert tape.memory_used == 16
    tape.backward(loss)
    assert x.grad.list() == [8.0, 6.0, 4.0, 2.0]


def test_versions_are_shared():
    x = active(VALUES)
    outs = [active([0.0] * 4) for _ in range(6)]
    tape = wp.Tape()
    with tape:
        for y in outs[:3]:
            wp.launch(square, 4, inputs=[x, y])
        wp.launch(double, 4, inputs=[x])
        for y in outs[3:]:
            wp.launch(square, 4, inputs=[x, y])
    assert tape.memory_used == 16  # of the first three together
    x.zero_()
    assert tape.memory_used == 32
    tape.backward(grads={y: ones(y) for y in outs})
    assert x.grad.list() == [3 * 2 * v + 3 * 2 * 2 * v * 2 for v in VALUES]


@pytest.mark.cpu
def test_shared_memory_that_did_not_change_is_kept_once():
    @wp.kernel
    def product(a: F, b: F, c: F):
        i = wp.tid()
        c[i] = a[i] * b[i]

    x, scale = active(VALUES), wp.array(VALUES, dtype=float)
    shown = scale.numpy()
    tape = wp.Tape()
    with tape:
        for _ in range(5):
            wp.launch(product, 4, inputs=[x, scale, active([0.0] * 4)])
        assert tape.memory_used == 16
        shown[0] = 9.0  # nothing flows to it
        wp.launch(product, 4, inputs=[x, scale, active([0.0] * 4)])
    assert tape.memory_used == 32


def test_a_gradient_that_a_launch_reads():
    @wp.kernel
    def scaled(x: F, g: F, y: F):
        i = wp.tid()
        y[i] = x[i] * x[i] * g[i]

    x, y = active([3.0]), active([0.0])
    x.grad.fill_(5.0)
    tape = wp.Tape()
    with tape:
        wp.launch(scaled, 1, inputs=[x, x.grad, y])
    tape.backward(y)
    assert x.grad.list() == [5.0 + 2 * 3.0 * 5.0]


# -- the budget -------------------------------------------------------------------------------------------------------


def line():
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.cpu
def test_budget_names_both_places():
    x = active(VALUES)
    tape, y, recorded = *squared(x, memory_budget=15), squared.__code__.co_firstlineno + 5
    x.fill_(1.0)
    overwritten = line() - 1
    with pytest.raises(RuntimeError) as e:
        tape.backward(grads={y: ones(y)})
    text = str(e.value)
    assert re.search(rf"kernel `square` was recorded at \S+test_saved_versions.py:{recorded},", text)
    assert re.search(rf"needs `x` .* overwritten at \S+test_saved_versions.py:{overwritten}\.", text)
    assert "A copy takes 16 bytes" in text
    assert "tape.memory_budget" in text
    assert x.grad.list() == [0.0] * 4
    assert y.grad.list() == [0.0] * 4


@pytest.mark.parametrize("write", writes())
def test_budget_names_each_kind_of_write(device, write):
    x = active(VALUES)
    tape, y = squared(x, memory_budget=15)
    write(x)
    why = r"recorded at \S+\.py:\d+, .*`x` as it was.*(overwritten at .*py:|NumPy or another)"
    with pytest.raises(RuntimeError, match=why):
        tape.backward(grads={y: ones(y)})


@pytest.mark.cpu
def test_budget_of_memory_that_others_see():
    x = active(VALUES)
    x.numpy()
    tape, y = squared(x, memory_budget=0)
    with pytest.raises(RuntimeError, match="memory that NumPy or another library sees"):
        tape.backward(grads={y: ones(y)})


def test_budget_of_gradients_that_launches_read():
    @wp.kernel
    def scaled(x: F, g: F, y: F):
        i = wp.tid()
        y[i] = x[i] * g[i]

    for budget, fits in ((None, True), (16, True), (15, False)):
        x, y, z = active(VALUES), active([0.0] * 4), active([0.0] * 4)
        x.grad.fill_(5.0)
        tape = wp.Tape(memory_budget=budget)
        with tape:
            wp.launch(square, 4, inputs=[x, y])  # its adjoint writes what that of the next one reads
            wp.launch(scaled, 4, inputs=[y, x.grad, z])
        for times in (1, 2):
            if fits:
                tape.backward(grads={z: ones(z)})
                assert x.grad.list() == [5.0 + times * 2 * 5.0 * v for v in VALUES]
                continue
            with pytest.raises(RuntimeError, match="its gradient needs `g` as it was then"):
                tape.backward(grads={z: ones(z)})
            assert x.grad.list() == [5.0] * 4


def test_budget_that_is_not_needed(device):
    x = active(VALUES)
    tape, y = squared(x, memory_budget=0)
    tape.backward(grads={y: ones(y)})
    assert x.grad.list() == [8.0, 6.0, 4.0, 2.0]
    assert tape.memory_used == 0


def test_budget_is_free_again():
    tape = wp.Tape(memory_budget=16)
    for _ in range(3):
        x, y = active(VALUES), active([0.0] * 4)
        with tape:
            wp.launch(square, 4, inputs=[x, y])
        x.fill_(0.0)
        assert tape.memory_used == 16
        tape.backward(grads={y: ones(y)})
        assert x.grad.list() == [8.0, 6.0, 4.0, 2.0]
        tape.reset()
        assert tape.memory_used == 0


@pytest.mark.parametrize("budget", [-1, True, "much", 0.5])
def test_budget_that_is_none(budget):
    with pytest.raises(ValueError, match="memory_budget"):
        wp.Tape(memory_budget=budget)


# -- nothing stays ----------------------------------------------------------------------------------------------------


def test_tapes_that_die_watch_nothing():
    """In a process of its own: tests that keep programs, as those of the corpus of kernels, keep their tapes."""
    code = "from tests.tape.test_saved_versions import check_tapes_that_die; check_tapes_that_die()"
    subprocess.run([sys.executable, "-c", code], check=True)


def check_tapes_that_die():
    gc.collect()
    assert not _native.watching()
    x = active(VALUES)
    tape, _ = squared(x)
    assert _native.watching()
    del tape
    assert not _native.watching()
    tape, _ = squared(x)
    tape.reset()
    assert not _native.watching()
    tape = wp.Tape()
    with tape:
        x[1:] = x[:-1]  # two spans that become one
    del tape
    assert not _native.watching()


def test_loops_of_tapes_do_not_grow():
    x, loss = active(np.ones(1000, np.float32)), active([0.0])
    y = wp.zeros(1000, dtype=float, requires_grad=True)
    gc.disable()  # references alone must do
    try:
        for i in range(3000):
            tape = wp.Tape()
            with tape:
                wp.launch(square, 1000, inputs=[x, y])
                wp.launch(total, 1000, inputs=[y, loss])
            tape.backward(loss)
            tape.zero()
            x.fill_(1.0)
            if i % 100 == 0:
                wp.synchronize()
            if i == 500:
                before = resident()
        assert resident() - before < 4 << 20
    finally:
        gc.enable()


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def test_arrays_that_nobody_has_any_more():
    def forget():
        x, y = active(VALUES), active([0.0] * 4)
        gradient = x.grad
        with tape:
            wp.launch(square, 4, inputs=[x, y])
        return y, gradient

    tape = wp.Tape()
    y, gradient = forget()
    gc.collect()
    [wp.full(4, 100.0) for _ in range(100)]  # would take the memory, if it were free
    tape.backward(grads={y: ones(y)})
    assert gradient.list() == [8.0, 6.0, 4.0, 2.0]


# -- gradients that are there already ---------------------------------------------------------------------------------


def test_backward_again():
    @wp.kernel
    def chain(e: F, loss: F):
        i = wp.tid()
        wp.atomic_add(loss, 0, e[i] * e[i])

    x, e, loss = active([1.0, 2.0, 3.0]), active([0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(total, 3, inputs=[x, e])
        wp.launch(chain, 1, inputs=[e, loss])
    for times in (1, 2, 3):
        tape.backward(loss)
        assert x.grad.list() == [12.0 * times] * 3
        assert e.grad.list() == [12.0 * times]
        assert loss.grad.list() == [1.0]


def test_gradients_of_another_tape_do_not_flow():
    x, e = active([1.0, 2.0]), active([0.0])
    e.grad.fill_(100.0)
    tape = wp.Tape()
    with tape:
        wp.launch(total, 2, inputs=[x, e])
    tape.backward(e)
    assert x.grad.list() == [1.0, 1.0]


def test_tapes_one_after_the_other():
    x, y, z = active([3.0]), active([0.0]), active([0.0])
    first, second = wp.Tape(), wp.Tape()
    with first:
        wp.launch(square, 1, inputs=[x, y])
    with second:
        wp.launch(square, 1, inputs=[y, z])
    second.backward(z)
    first.backward(grads={y: y.grad})
    assert x.grad.list() == [2 * 9.0 * 2 * 3.0]


def test_retained_gradients(device):
    x = active([1.0, 2.0, 3.0])
    y = wp.zeros(3, dtype=float, requires_grad=True, retain_grad=True)
    e, loss = active([0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 3, inputs=[x, y])
        wp.launch(total, 3, inputs=[y, e])
        wp.launch(square, 1, inputs=[e, loss])
    for times in (1, 2):
        tape.backward(loss)
        assert y.grad.list() == [28.0 * times] * 3
        assert x.grad.list() == [56.0 * times, 112.0 * times, 168.0 * times]


def test_retained_gradients_of_what_is_written_twice():
    x, y, z = active([3.0]), active([0.0]), active([0.0])
    y.retain_grad = True
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, y])
        wp.launch(double, 1, inputs=[y])
        wp.copy(z, y)
    tape.backward(z)
    assert (y.grad.list(), x.grad.list()) == ([1.0], [12.0])


# -- views ------------------------------------------------------------------------------------------------------------


def test_a_view_from_before_the_gradient():
    x = wp.array(VALUES, dtype=float)
    view = x[1:3]
    x.requires_grad = True
    tape, y = squared(view)
    tape.backward(grads={y: ones(y)})
    assert x.grad.list() == [0.0, 6.0, 4.0, 0.0]


def test_another_array_over_the_same_memory():
    x = active(VALUES)
    tape, y = squared(wp.array(x, copy=False, shape=(4,)))
    tape.backward(grads={y: ones(y)})
    assert x.grad.list() == [8.0, 6.0, 4.0, 2.0]


def test_writes_to_a_view_from_before_the_gradient():
    x = wp.array(VALUES, dtype=float)
    view = x[1:3]
    x.requires_grad = True
    source = active([5.0, 6.0])
    tape, out = wp.Tape(), active([0.0] * 4)
    with tape:
        wp.copy(view, source)
        view[0] = 1.0
        wp.launch(square, 4, inputs=[x, out])
    tape.backward(grads={out: ones(out)})
    assert (x.grad.list(), source.grad.list()) == ([8.0, 0.0, 0.0, 2.0], [0.0, 12.0])


def test_a_part_with_a_gradient_is_refused():
    x = wp.array(VALUES, dtype=float)
    part = x[1:3]
    part.requires_grad = True
    with pytest.raises(
        ValueError, match="argument `x` has no gradient, but another array that shares part of its memory has"
    ):
        squared(x)
    x.requires_grad = False  # said aloud: a constant
    squared(x)


def test_a_view_from_before_another_gradient_is_refused():
    x = active(VALUES)
    view = x[1:3]
    x.grad = wp.zeros(4, dtype=float)
    with pytest.raises(ValueError, match="given its own gradient later"):
        squared(view)
    tape, y = squared(x)
    tape.backward(grads={y: ones(y)})
    assert x.grad.list() == [8.0, 6.0, 4.0, 2.0]


def test_memory_that_is_used_again_has_no_gradient():
    for _ in range(50):
        old = active(np.ones(16, np.float32))
        gradient = old.grad
        del old
        new = wp.zeros(16, dtype=float)
        tape, _ = squared(new)
        assert new.grad is None
        del new, tape, gradient


# -- bad input --------------------------------------------------------------------------------------------------------


def test_a_loss_from_elsewhere():
    tape, _ = squared(active(VALUES))
    with pytest.raises(ValueError, match="nothing that is recorded on this tape writes it"):
        tape.backward(active([0.0]))


def test_a_loss_with_components():
    loss = active([[0.0, 0.0, 0.0]], wp.vec3)
    tape, _ = squared(active(VALUES))
    with pytest.raises(ValueError, match="expected one number, got a vec3f"):
        tape.backward(loss)


def test_a_loss_of_integers():
    tape, _ = squared(active(VALUES))
    with pytest.raises(ValueError, match=r"loss: int32 arrays have no gradient.*dtype=float"):
        tape.backward(wp.zeros(1, dtype=int, requires_grad=True))


def test_a_loss_that_is_a_number():
    tape, _ = squared(active(VALUES))
    with pytest.raises(TypeError, match="the array of one element that a recorded launch wrote, got float"):
        tape.backward(3.0)


@pytest.mark.parametrize("given", [lambda: wp.ones(3), lambda: [1.0, 2.0, 3.0], lambda: np.ones((2, 2)), lambda: "one"])
def test_gradients_of_another_shape(given):
    tape, y = squared(active(VALUES))
    with pytest.raises((TypeError, ValueError), match=r"grads: the gradient of an array of shape \(4,\)"):
        tape.backward(grads={y: given()})


def test_gradients_as_numpy_and_lists():
    for given in (np.ones(4), [1.0] * 4, (1.0,) * 4, np.float32(1.0), 1):
        x = active(VALUES)
        tape, y = squared(x)
        tape.backward(grads={y: given})
        assert x.grad.list() == [8.0, 6.0, 4.0, 2.0]


def test_an_array_is_not_its_own_gradient():
    x = active(VALUES)
    for other in (x, x[:], wp.array(x, copy=False)):
        with pytest.raises(ValueError, match="grad: shares memory with the array itself"):
            x.grad = other


def test_two_tapes():
    with wp.Tape():
        begun = line() - 1
        with (
            pytest.raises(RuntimeError, match=rf"a tape records already, since \S*test_saved_versions.py:{begun},"),
            wp.Tape(),
        ):
            pass


def test_gradients_for_what_is_no_array():
    tape, _ = squared(active(VALUES))
    with pytest.raises(TypeError, match="grads: expected arrays, got str"):
        tape.backward(grads={"x": 1.0})


def test_a_gradient_that_was_taken_away():
    x = active(VALUES)
    tape, y = squared(x)
    x.requires_grad = False
    with pytest.raises(RuntimeError, match=r"kernel `square`.*taken away"):
        tape.backward(grads={y: ones(y)})


def test_kernels_without_gradient():
    @wp.kernel(enable_backward=False)
    def opaque(x: F):
        x[0] = 1.0

    x = active(VALUES)
    with wp.Tape() as tape:
        with pytest.raises(
            RuntimeError,
            match=r"`opaque` has no gradient, as the kernel was made with enable_backward=False.*record_tape=False",
        ):
            wp.launch(opaque, 1, inputs=[x])
        wp.launch(opaque, 1, inputs=[x], record_tape=False)
    assert not tape.launches


def test_launches_that_fail_are_not_recorded():
    x, y = active(VALUES), active([0.0] * 4)
    with wp.Tape() as tape:
        with pytest.raises(ValueError, match="launch dimension"):
            wp.launch(square, -1, inputs=[x, y])
        with pytest.raises(TypeError):
            wp.launch(square, 4, inputs=[x])
    assert not tape.launches


def test_functions_that_are_defined_anew():
    x, y = active([3.0]), active([0.0])

    @wp.func
    def g(x: float):
        return x * x

    @wp.kernel
    def apply(x: F, y: F):
        i = wp.tid()
        y[i] = g(x[i])

    tape = wp.Tape()
    with tape:
        wp.launch(apply, 1, inputs=[x, y])

    @wp.func
    def g(x: float):  # noqa: F811
        return x * x * x

    with pytest.raises(RuntimeError, match="`apply`: a function that it calls has been defined anew"):
        tape.backward(y)


def test_tapes_and_captures_do_not_overlap():
    tape, y = squared(active(VALUES))
    with wp.ScopedCapture(), pytest.raises(RuntimeError, match="recorded outside of this capture"):
        tape.backward(grads={y: ones(y)})
    with wp.Tape(), pytest.raises(RuntimeError, match="a tape is recording"):
        wp.capture_begin()


def test_names_of_other_systems():
    x = active(VALUES)
    tape, _ = squared(x)
    x.mark_init()
    x.mark_read()
    assert tape.memory_used == 0
    x.mark_write(arg_name="x", kernel_name="none", filename="", lineno=0)
    assert tape.memory_used == 16
    wp.config.verify_autograd_array_access = False


def test_ctrl_c_while_memory_is_about_to_be_watched(monkeypatch):
    def interrupted():
        monkeypatch.undo()
        raise KeyboardInterrupt

    x = active([1.0, 2.0])
    with wp.Tape():
        monkeypatch.setattr(saved.capture, "innermost", interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            saved.SavedArrays([x])
        x.fill_(3.0)
    assert caught.value.__traceback__ is not None  # which holds what was being made
    assert x.list() == [3.0, 3.0]
