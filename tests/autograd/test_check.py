"""Checks of gradients: right ones pass, wrong ones are named at their worst entry."""

import builtins

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autograd.gradcheck_report import Row, plain
from omni.warp_core.dispatch import observers


def active(values, dtype=wp.float64):
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=True)


@wp.kernel
def cubes(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


@wp.kernel
def lengths(p: wp.array(dtype=wp.vec3), n: int, s: wp.array(dtype=float)):
    i = wp.tid()
    total = 0.0
    for j in range(n):
        total += wp.length(p[i] + p[j])
    s[i] = total


@wp.func
def steep(v: wp.vec3d, x: wp.float64):
    return wp.exp(x) * wp.normalize(v)


def squared(a, factor):
    """a * a, with a step of its own whose backward is right where `factor` is 2."""
    out = wp.zeros_like(a, requires_grad=True)
    with observers.NotRecording():
        out.assign(a.numpy() ** 2)
    values, tape = a.numpy().copy(), observers.tape()
    if tape is not None:
        tape.record_func(lambda: a.grad.assign(a.grad.numpy() + factor * values * out.grad.numpy()), [a, out])
    return out


@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float32, wp.float64])
def test_right_gradients_pass(dtype, capsys):
    x, y = active([0.5, -1.5, 2.0], dtype), wp.zeros(3, dtype=dtype, requires_grad=True)
    assert wp.autograd.gradcheck(cubes, dim=3, inputs=[x], outputs=[y])
    printed = capsys.readouterr().out
    assert "cubes" in printed and "pass" in printed and "FAIL" not in printed


@wp.kernel
def scaled_in_place(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = x[i] * y[i] + x[i]


def test_an_output_that_is_also_read_is_checked_at_its_first_values():
    x, y = active([0.5, 2.0, 3.0]), active([7.0, 11.0, 13.0])
    assert wp.autograd.gradcheck(scaled_in_place, dim=3, inputs=[x], outputs=[y], show_summary=False)
    np.testing.assert_array_equal(x.numpy(), [0.5, 2.0, 3.0])


def test_kernels_functions_and_programs():
    p = active(np.random.default_rng(3).normal(size=(3, 3)), wp.vec3)
    s = wp.zeros(3, dtype=float, requires_grad=True)
    assert wp.autograd.gradcheck(lengths, dim=3, inputs=[p, 3], outputs=[s], show_summary=False)
    assert wp.autograd.gradcheck(steep, inputs=[wp.vec3d(1.0, 2.0, 3.0), 0.5], show_summary=False)
    assert wp.autograd.gradcheck(lambda a: squared(a * a, 2.0), inputs=[active([1.0, 2.0])], show_summary=False)


def test_a_wrong_gradient_of_ones_own_is_found(capsys):
    x = active([1.0, 2.0, -3.0])
    with pytest.raises(
        ValueError, match=r"squared_wrongly: d output_0\[2\] by a\[2\] is -9, finite differences give -6"
    ):
        wp.autograd.gradcheck(squared_wrongly, inputs=[x])
    assert "output_0[2] by a[2]" in (printed := capsys.readouterr().out) and "FAIL" in printed
    assert not wp.autograd.gradcheck(squared_wrongly, inputs=[x], raise_exception=False, show_summary=False)
    assert x.list() == [1.0, 2.0, -3.0] and not x.grad.numpy().any()


def squared_wrongly(a):
    return squared(a, 3.0)


@wp.func
def doubled(x: wp.float64):
    return x + x


@wp.func_grad(doubled)
def adj_doubled(x: wp.float64, adj_ret: wp.float64):
    wp.adjoint[x] += adj_ret * wp.float64(3.0)


def test_a_wrong_gradient_of_a_function_is_found():
    with pytest.raises(ValueError, match=r"doubled: d output_0\[0\] by x\[0\] is 3, finite differences give 2"):
        wp.autograd.gradcheck(doubled, inputs=[0.5], show_summary=False)


def test_a_gradient_that_is_nan_does_not_pass():
    assert not wp.autograd.gradcheck(
        lambda a: squared(a, np.nan), inputs=[active([1.0])], raise_exception=False, show_summary=False
    )


def test_tolerances_and_steps():
    x = active([1.0, 2.0])
    slightly = {"function": lambda a: squared(a, 2.0 + 1e-3), "inputs": [x]}
    options = {"raise_exception": False, "show_summary": False}
    assert not wp.autograd.gradcheck(**slightly, **options)
    assert wp.autograd.gradcheck(**slightly, **options, rtol=1e-2)
    assert wp.autograd.gradcheck(**slightly, **options, atol=1e-2)
    cubic = {"function": lambda a: a * a * a, "inputs": [x]}
    assert not wp.autograd.gradcheck(**cubic, **options, eps=0.5)  # differences are off by eps squared
    assert wp.autograd.gradcheck(**cubic, **options, eps=0.5, atol=0.26)


def test_some_components_only():
    x = active([1.0, 2.0, 3.0])

    def wrong_from_the_second(a):
        out = wp.zeros_like(a, requires_grad=True)
        wp.copy(out[:1], a[:1] * a[:1])
        wp.copy(out[1:], squared(a[1:], 5.0))
        return out

    options = {"inputs": [x], "raise_exception": False, "show_summary": False}
    assert not wp.autograd.gradcheck(wrong_from_the_second, **options)
    assert wp.autograd.gradcheck(wrong_from_the_second, **options, max_inputs_per_var=1)
    assert wp.autograd.gradcheck(wrong_from_the_second, **options, max_outputs_per_var=1)


# -- tapes ------------------------------------------------------------------------------------------------------------


@wp.kernel
def damp(v: wp.array(dtype=wp.float64), by: wp.float64):
    i = wp.tid()
    v[i] = v[i] * v[i] * by


@wp.kernel
def total(v: wp.array(dtype=wp.float64), n: wp.array(dtype=int), s: wp.array(dtype=wp.float64)):
    wp.atomic_add(s, 0, wp.sin(v[n[wp.tid()]]))


def recorded():
    v, n, s = active([0.5, 2.0]), wp.array([0, 1, 0], dtype=int), wp.zeros(1, dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(damp, 2, inputs=[v, wp.float64(0.5)])
        wp.launch(damp, 2, inputs=[v, wp.float64(2.0)])
        wp.launch(total, 3, inputs=[v, n, s])
    return tape, v, s


def test_tapes(capsys):
    tape, v, s = recorded()
    values, loss = v.list(), s.list()
    assert wp.autograd.gradcheck_tape(tape)
    printed = capsys.readouterr().out
    assert printed.count("v[0] by v[0]") + printed.count("v[1] by v[1]") == 2 and "s[0] by v[" in printed
    assert (v.list(), s.list()) == (values, loss) and not v.grad.numpy().any()
    tape.backward(s)
    u = np.array([0.5, 2.0])
    np.testing.assert_allclose(
        v.grad.numpy(), [2 * np.cos(u[0] ** 4 / 2) * 2 * u[0] ** 3, np.cos(8.0) * 16], rtol=1e-12
    )


def test_launches_are_checked_at_the_values_they_had():
    x, y = active([3.0]), wp.zeros(1, dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(cubes, 1, inputs=[x, y])
    x.fill_(np.inf)
    assert wp.autograd.gradcheck_tape(tape, show_summary=False)


def test_selected_launches(capsys):
    tape, _, _ = recorded()
    wp.autograd.gradcheck_tape(tape, blacklist_kernels=["damp"])
    assert "damp" not in (printed := capsys.readouterr().out) and "total" in printed
    wp.autograd.gradcheck_tape(tape, whitelist_kernels=["damp"])
    assert "damp" in (printed := capsys.readouterr().out) and "total" not in printed
    wp.autograd.gradcheck_tape(tape, reverse_launches=True)
    assert (printed := capsys.readouterr().out).index("total") < printed.index("damp")
    wp.autograd.gradcheck_tape(tape, skip_to_launch_index=2)
    assert "damp" not in capsys.readouterr().out
    wp.autograd.gradcheck_tape(tape, input_output_masks={"total": [("v", "s")], "damp": [(0, 0)]})
    assert "by s" not in capsys.readouterr().out


@wp.struct
class Holder:
    x: wp.array(dtype=wp.float64)


@wp.kernel
def held(h: Holder, y: wp.array(dtype=wp.float64)):
    y[0] = h.x[0] * 2.0


@wp.kernel
def moved(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    y[0] = x[0]


def test_launches_that_cannot_be_checked_are_told(capsys):
    h, y = Holder(), active([0.0, 0.0, 0.0])
    h.x = active([1.0])
    tape = wp.Tape()
    with tape:
        wp.launch(held, 1, inputs=[h, y])
        wp.launch(moved, 1, inputs=[y[:2], y[1:]])
    assert wp.autograd.gradcheck_tape(tape)
    assert capsys.readouterr().out.splitlines() == [
        "held: not checked: parameter `h` is a struct with arrays",
        "moved: not checked: `y` and `x` overlap",
    ]


def test_what_is_no_tape():
    with pytest.raises(TypeError, match=r"tape: expected a wp\.Tape, got list"):
        wp.autograd.gradcheck_tape([])


# -- the table --------------------------------------------------------------------------------------------------------


def test_the_table_without_rich(capsys, monkeypatch):
    wanted = builtins.__import__

    def without_rich(name, *rest):
        if name.startswith("rich"):
            raise ImportError(name)
        return wanted(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    wp.autograd.gradcheck(lambda a: a * a, inputs=[active([1.0])])
    assert "output_0[0] by a[0]" in capsys.readouterr().out


def test_the_table_is_aligned():
    text = plain("k", [Row("k", "x", "y", 4, "y[1] by x[0]", 1.0, 2.0, 1.0, 0.5, False)])
    lines = text.splitlines()
    assert lines[0] == "k" and lines[2].index("4") == lines[1].index("of")
    assert lines[2].endswith("FAIL")
