"""Names that stand for another function or value when a tape goes backwards: gradients are never those of another
kernel than the one that ran.
"""

import pytest

import omni.warp_core as wp


@wp.func
def square(x: float):
    return x * x


@wp.func
def cube(x: float):
    return x * x * x


chosen = square
choices = {0: square}
table = {"factor": 3.0}


class Settings:
    factor = 3.0


settings = Settings()


@wp.func
def through(x: float):
    return chosen(x) * 1.0


@wp.kernel
def by_name(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = chosen(x[i])


@wp.kernel
def within_another(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = through(x[i])


@wp.kernel
def by_static(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.static(choices[0])(x[i])


@wp.kernel
def in_dict(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * wp.static(table["factor"])


@wp.kernel
def in_object(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * wp.static(settings.factor)


def scaled(factor):
    @wp.func
    def scale(x: float):
        return x * factor

    return scale


def with_two(f, g):
    @wp.kernel
    def both(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = f(x[i]) * f(x[i]) + g(x[i])

    def swap():
        nonlocal f, g
        f, g = g, f

    return both, swap


def recorded(kernel):
    x, y = (wp.array([2.0], dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[x, y])
    return x, y, tape


def assert_refused(kernel, change, name):
    x, y, tape = recorded(kernel)
    change()
    with pytest.raises(RuntimeError, match=rf"{name}.* ha(s|ve) changed since the first launch of the kernel"):
        tape.backward(y)
    with pytest.raises(RuntimeError, match=rf"{name}.* ha(s|ve) changed since the first launch of the kernel"):
        wp.jvp(kernel, dim=1, inputs=[x], outputs=[y], tangents=[wp.ones_like(x)])
    assert x.grad.list() == [0.0]


@pytest.mark.parametrize("kernel", [by_name, within_another])
def test_a_name_for_another_function(kernel, monkeypatch):
    assert_refused(kernel, lambda: monkeypatch.setitem(globals(), "chosen", cube), "`chosen`")


def test_another_function_in_a_static_expression(monkeypatch):
    assert_refused(by_static, lambda: monkeypatch.setitem(choices, 0, cube), r"`wp.static\(...\)`")


def test_another_number_in_a_static_expression(monkeypatch):
    assert_refused(in_dict, lambda: monkeypatch.setitem(table, "factor", 4.0), r"`wp.static\(...\)`")
    assert_refused(in_object, lambda: monkeypatch.setattr(settings, "factor", 4.0), r"`wp.static\(...\)`")


def test_closures_that_are_exchanged_though_their_text_is_the_same():
    kernel, swap = with_two(scaled(3.0), scaled(5.0))
    assert_refused(kernel, swap, "`f` and `g`")


def test_a_function_that_is_made_again_and_means_the_same(monkeypatch):
    monkeypatch.setitem(globals(), "chosen", first := scaled(3.0))
    x, y, tape = recorded(by_name_of_closure)
    again = scaled(3.0)
    assert again is not first
    monkeypatch.setitem(globals(), "chosen", again)
    tape.backward(y)
    assert x.grad.list() == [3.0]


@wp.kernel
def by_name_of_closure(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = chosen(x[i])


def test_code_that_is_compiled_later_calls_the_functions_of_the_first_launch(monkeypatch):
    @wp.kernel
    def called(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = chosen(x[i])

    x, y = wp.array([2.0, 0.0, 3.0, 0.0], dtype=float), wp.zeros(2, dtype=float)
    wp.launch(called, dim=2, inputs=[x, y])
    monkeypatch.setitem(globals(), "chosen", cube)
    wp.launch(called, dim=2, inputs=[x[::2], y])
    assert y.list() == [4.0, 9.0]
