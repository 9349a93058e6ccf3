"""A kernel without a right gradient is refused when a tape records it, at the line to blame."""

from __future__ import annotations

import pytest

import omni.warp_core as wp

F = wp.array(dtype=float)


@wp.struct
class Row:
    values: wp.array(dtype=float)


@wp.kernel
def chosen_local(x: F, y: F):
    i = wp.tid()
    a = wp.zeros(shape=3, dtype=float)
    a[0] = x[i]
    b = x[0:2]
    if i > 1:
        b = a[0:2]
    y[i] = b[0] * 2.0


@wp.kernel
def slot(x: F, count: wp.array(dtype=int), y: F):
    i = wp.tid()
    for _ in range(x.shape[0]):
        k = wp.atomic_add(count, 0, 1)
        y[k] = x[i] * x[i]


@wp.kernel
def rows(x: wp.array(dtype=Row), y: F):
    i = wp.tid()
    y[i] = x[i].values[0] * 2.0


@wp.kernel
def bits(x: F, y: F):
    i = wp.tid()
    y[i] = wp.cast(wp.cast(x[i], wp.int32) + 1, wp.float32)


def arrays(*dtypes):
    return [wp.zeros(3, dtype=t, requires_grad=t is not int and t is not Row) for t in dtypes]


CASES = {
    "choice with a local array": (chosen_local, [float, float], "choice among arrays", ""),
    "atomic result": (slot, [float, int, float], "with @wp.func_replay", "wp.atomic_add(count, 0, 1)"),
    "array in an element": (rows, [Row, float], "elements of arrays", "x[i].values"),
    "bits": (bits, [float, float], "bits", "wp.cast(x[i], wp.int32)"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name):
    kernel, dtypes, reason, under = CASES[name]
    args = [t if isinstance(t, int) else arrays(t)[0] for t in dtypes]
    with pytest.raises(wp.CompileError) as caught, wp.Tape():
        wp.launch(kernel, 3, inputs=args)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "gradient"
    assert reason in diagnostic.message
    assert under in diagnostic.place.text


@wp.kernel
def plain(x: F, y: F):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel(enable_backward=False)
def forward_only(x: F, y: F):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel(enable_backward=True)
def backward_too(x: F, y: F):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel(module_options={"enable_backward": False})
def in_a_module_of_its_own(x: F, y: F):
    i = wp.tid()
    y[i] = x[i]


def recorded(kernel, **options):
    with wp.Tape():
        wp.launch(kernel, 3, inputs=arrays(float, float), **options)


def test_kernels_that_are_not_to_be_differentiated(monkeypatch):
    with pytest.raises(RuntimeError, match="made with enable_backward=False"):
        recorded(forward_only)
    with pytest.raises(RuntimeError, match="module_options"):
        recorded(in_a_module_of_its_own)
    recorded(forward_only, record_tape=False)
    with wp.Tape():
        wp.launch(forward_only, 3, inputs=[wp.zeros(3, dtype=float), wp.zeros(3, dtype=float)])
    wp.set_module_options({"enable_backward": False})
    try:
        with pytest.raises(RuntimeError, match="set_module_options"):
            recorded(plain)
        recorded(backward_too)
    finally:
        wp.set_module_options({"enable_backward": None})
    monkeypatch.setattr(wp.config, "enable_backward", False)
    with pytest.raises(RuntimeError, match=r"wp\.config\.enable_backward is False"):
        recorded(plain)
    recorded(backward_too)


def test_tapes_pass_kernels_without_gradients_by_in_the_dialect_of_warp_lang(monkeypatch):
    monkeypatch.setattr(wp.config, "dialect", "warp-lang")
    x, y, z = (wp.ones(3, dtype=float, requires_grad=True) for _ in range(3))
    with wp.Tape() as tape:
        wp.launch(plain, 3, inputs=[x, y])
        wp.launch(forward_only, 3, inputs=[x, z])
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert x.grad.list() == [1.0] * 3
    with tape:
        wp.launch(forward_only, 3, inputs=[z, y])  # overwrites what a recorded launch has written
        with pytest.raises(RuntimeError, match="it was overwritten"):
            wp.launch(plain, 3, inputs=[y, z])


def test_arrays_of_different_types_in_one_memory():
    @wp.kernel
    def k(x: wp.array(dtype=wp.vec3), y: F):
        i = wp.tid()
        y[i] = x[i].x

    y = wp.zeros(3, dtype=float, requires_grad=True)
    x = wp.array(ptr=y.ptr, shape=1, dtype=wp.vec3)
    with pytest.raises(ValueError, match="share memory"), wp.Tape():
        wp.launch(k, 1, inputs=[x, y])


def test_recorded_launch():
    with pytest.raises(RuntimeError, match="recorded launches"), wp.Tape():
        wp.launch(bits, 3, inputs=arrays(float, float), record_cmd=True)


def test_recorded_launch_from_before():
    launch = wp.launch(bits, 3, inputs=arrays(float, float), record_cmd=True)
    with pytest.raises(RuntimeError, match="recorded launches"), wp.Tape():
        launch.launch()


def test_utilities():
    (x,) = arrays(float)
    with pytest.raises(RuntimeError, match="give out="), wp.Tape():
        wp.utils.array_sum(x)
    wp.utils.array_sum(x)


def test_adjoint_of_an_overwriting_launch_without_tape():
    @wp.kernel
    def square(x: F):
        i = wp.tid()
        x[i] = x[i] * x[i]

    (x,) = arrays(float)
    with pytest.raises(ValueError, match=r"wp\.Tape"):
        wp.launch(square, 3, inputs=[x], adjoint=True)


def test_arrays_that_iterations_exchange():
    @wp.kernel
    def k(x: F, z: F, y: F):
        i = wp.tid()
        a, b = x, z
        for _ in range(x.shape[0]):
            y[i] += a[i] * a[i]
            a, b = b, a

    with pytest.raises(wp.CompileError, match="change its index instead") as caught, wp.Tape():
        wp.launch(k, 3, inputs=arrays(float, float, float))
    assert "a[i]" in caught.value.diagnostics[0].place.text


@wp.kernel
def picked(index: wp.array(dtype=int), x: F, y: F):
    i = wp.tid()
    wp.atomic_add(y, 0, x[index[i]] * float(index[i] + 1))


def test_integers_that_require_gradients():
    """They are taken for what they are: nothing flows through them, whoever writes to them."""
    index = wp.array([0, 1, 2, 0, 0, 0], dtype=int, requires_grad=True)
    order = wp.array([2, 0, 1, 0, 0, 0], dtype=int, requires_grad=True)
    x, y = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(picked, 3, inputs=[index, x, y])
        index.assign([1] * 6)
        wp.launch(picked, 2, inputs=[index[:2], x, y])
        wp.utils.radix_sort_pairs(index, order, 3)
        wp.launch(picked, 3, inputs=[order, x, y])
    tape.backward(y)
    assert x.grad.list() == [1 + 1, 2 + 4 + 2, 3 + 3]
    assert index.grad.list() == order.grad.list() == [0] * 6
    with pytest.raises(ValueError, match="only floating point numbers do"):
        tape.backward(index[:1])
