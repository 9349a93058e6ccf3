"""None for array parameters of functions, as a default and in calls: a null array, as kernels take it."""

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp


@wp.func
def weighted(x: wp.array(dtype=float), i: int, weights: wp.array(dtype=float) = None) -> float:
    if weights:
        return weights[i] * x[i]
    return x[i]


@wp.func
def passed_on(x: wp.array(dtype=float), i: int, weights: wp.array(dtype=float) = None) -> float:
    return weighted(x, i, weights) + float(weights.shape[0])


@wp.kernel
def by_default(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    y[0, i] = weighted(x, i)
    y[1, i] = weighted(x, i, None)
    y[2, i] = weighted(x, i, weights=None)
    y[3, i] = weighted(x, i, w)
    y[4, i] = passed_on(x, i)
    y[5, i] = passed_on(x, i, w)


X, W = [2.0, 3.0], [5.0, 7.0]
RIGHT = [X, X, X, [10.0, 21.0], X, [12.0, 23.0]]


def test_none_is_an_array_without_elements(device):
    x, w = (wp.array(a, dtype=float, requires_grad=True, device=device) for a in (X, W))
    y = wp.zeros((6, 2), dtype=float, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(by_default, dim=2, inputs=[x, w, y], device=device)
    assert y.numpy().tolist() == RIGHT
    tape.backward(grads={y: wp.ones((6, 2), dtype=float, device=device)})
    assert x.grad.list() == [4.0 + 2.0 * each for each in W]
    assert w.grad.list() == [2.0 * each for each in X]


def test_the_interpreter_means_the_same():
    x, w, y = (wp.array(a, dtype=float, device="cpu") for a in (X, W, np.zeros((6, 2))))
    wp.launch(by_default, dim=2, inputs=[x, w, y], device="cpu", interpret=True)
    assert y.numpy().tolist() == RIGHT


@wp.func
def form(x: wp.array(dtype=float)) -> float:
    return 1.0


@wp.func
def form(x: wp.array(dtype=float), w: wp.array(dtype=float) = None) -> float:  # noqa: F811
    return 2.0


@wp.kernel
def choose_forms(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[0] = form(x)
    y[1] = form(x, None)


def test_a_form_without_the_parameter_fits_better(device):
    y = wp.zeros(2, dtype=float, device=device)
    wp.launch(choose_forms, dim=1, inputs=[y, y], device=device)
    assert y.list() == [1.0, 2.0]


@wp.func
def any_weights(x: wp.array(dtype=float), w: wp.array(dtype=Any) = None) -> float:
    return x[0]


@wp.func
def number(n: int = None) -> float:  # noqa: RUF013
    return 1.0


@wp.kernel
def without_elements(x: wp.array(dtype=float)):
    x[0] = any_weights(x)


@wp.kernel
def without_number(x: wp.array(dtype=float)):
    x[0] = number()


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (without_elements, r"`w` takes array\[Any\], and None does not say which elements"),
        (without_number, "`n` takes int32, not None"),
    ],
)
def test_none_that_is_no_array_is_refused(kernel, text):
    with pytest.raises(TypeError, match=text):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])


@wp.func
def careless(x: wp.array(dtype=float), i: int, w: wp.array(dtype=float) = None) -> float:
    return x[i] * w[i]


@wp.kernel
def does_not_ask(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = careless(x, i)


@pytest.mark.cpu  # a bad access ends the work of a GPU
def test_elements_of_an_array_that_is_not_there_are_an_exception():
    with pytest.raises(wp.KernelError, match="does_not_ask"):
        wp.launch(does_not_ask, dim=2, inputs=[wp.zeros(2, dtype=float)])
