"""Kernels with fewer or more thread indices than their launch has dimensions, in the dialect of warp-lang: indices are
those of the first dimensions, and 0 beyond the last. So warp-lang 1.19 counts on the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp


@wp.kernel
def one_index(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    wp.atomic_add(out, i, x[i])


@wp.kernel
def two_indices(x: wp.array[float], out: wp.array[float]):
    i, j = wp.tid()
    wp.atomic_add(out, 4 * i + j, x[4 * i + j])


@wp.func
def row():
    return wp.tid()


@wp.kernel
def one_index_beside_two(x: wp.array[float], out: wp.array[float]):
    _i, j = wp.tid()
    wp.atomic_add(out, 4 * wp.tid() + j, x[4 * row() + j])


@wp.kernel
def one_index_of_any(x: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    wp.atomic_add(out, i, x[i])


@wp.kernel
def no_index(out: wp.array[float]):
    wp.atomic_add(out, 0, 1.0)


@pytest.fixture(params=["compiled", "interpret"], autouse=True)
def warp_lang(request, monkeypatch):
    monkeypatch.setattr(wp.config, "dialect", "warp-lang")
    if request.param == "interpret":
        monkeypatch.setattr(wp.config, "mode", "interpret")


def visits(dim: tuple[int, ...], count: int) -> np.ndarray:
    """How often each element is visited by threads that know `count` indices."""
    out = np.zeros(16)
    for index in np.ndindex(*dim):
        first = (*index, 0, 0)[:count]
        out[first[0] if count == 1 else 4 * first[0] + first[1]] += 1.0
    return out


@pytest.mark.parametrize("kernel, count", [(one_index, 1), (two_indices, 2), (one_index_beside_two, 2)])
def test_indices_are_those_of_the_first_dimensions(kernel, count):
    x = np.arange(1.0, 17.0, dtype=np.float32)
    for dim in 2 * [(3, 4), (4,), (2, 3, 2), (3, 1), (2, 3, 1, 2)]:  # the second launches find their plans
        out = wp.zeros(16, dtype=float)
        wp.launch(kernel, dim=dim, inputs=[wp.array(x), out])
        np.testing.assert_array_equal(out.numpy(), visits(dim, count) * x)


def test_kernels_of_any_type_and_launches_in_order():
    for dim in 3 * [(2, 3), (4,), (2, 2, 3)]:
        for dtype in (float, wp.int32, wp.float64):
            out = wp.zeros(16, dtype=dtype)
            wp.launch(one_index_of_any, dim=dim, inputs=[wp.ones(16, dtype=dtype), out])
            wp.launch(one_index_of_any, dim=dim, inputs=[wp.ones(16, dtype=dtype), out], serial=True)
            np.testing.assert_array_equal(out.numpy(), 2 * visits(dim, 1))


def test_recorded_launches_and_integers():
    out = wp.zeros(16, dtype=float)
    command = wp.launch(one_index, dim=(2, 3), inputs=[wp.ones(16, dtype=float), out], record_cmd=True)
    command.launch()
    command.launch()
    wp.launch(two_indices, dim=3, inputs=[wp.ones(16, dtype=float), out])
    np.testing.assert_array_equal(out.numpy(), 2 * visits((2, 3), 1) + visits((3,), 2))


def test_kernels_without_indices():
    out = wp.zeros(1, dtype=float)
    wp.launch(no_index, dim=(3, 5), inputs=[out])
    assert out.list() == [15.0]


def test_gradients():
    x = wp.ones(16, dtype=float, requires_grad=True)
    out = wp.zeros(16, dtype=float, requires_grad=True)
    for _ in range(3):  # the later tapes record by templates of the first
        x.grad.zero_()
        with wp.Tape() as tape:
            wp.launch(one_index, dim=(3, 4), inputs=[x, out])
            wp.launch(two_indices, dim=2, inputs=[x, out])
        tape.backward(grads={out: wp.ones(16, dtype=float)})
        np.testing.assert_array_equal(x.grad.numpy(), visits((3, 4), 1) + visits((2,), 2))


def test_more_than_four_dimensions():
    with pytest.raises(ValueError, match="1 to 4 dimensions, got 5"):
        wp.launch(no_index, dim=(1, 1, 1, 1, 1), inputs=[wp.zeros(1, dtype=float)])
    with pytest.raises(ValueError, match="1 to 4 dimensions, got 5"):
        wp.launch(one_index, dim=(1, 1, 1, 1, 1), inputs=[wp.zeros(1, dtype=float), wp.zeros(1, dtype=float)])
