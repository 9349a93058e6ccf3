"""Temporary arrays and kernels kept by a key."""

from __future__ import annotations

import gc
import weakref

import numpy as np

import omni.warp_core as wp
import omni.warp_core.fem as fem


def test_temporaries_are_arrays():
    store = fem.TemporaryStore()
    fem.set_default_temporary_store(store)
    made = fem.borrow_temporary(store, shape=(2, 3), dtype=wp.vec2, requires_grad=True)
    assert isinstance(made, fem.Temporary) and made.shape == (2, 3) and made.dtype is wp.vec2
    assert made.requires_grad and made.detach() is made
    like = fem.borrow_temporary_like(made, None)
    assert like.shape == (2, 3) and like.dtype is wp.vec2
    made.fill_(wp.vec2(1.0, 2.0))
    like.assign(made)
    np.testing.assert_array_equal(like.numpy(), made.numpy())
    like.release()
    store.clear()
    fem.set_default_temporary_store(None)


def test_temporaries_are_freed_with_their_last_name():
    gc.disable()
    try:
        made = fem.borrow_temporary(None, shape=3, dtype=float)
        known = weakref.ref(made)
        made.release()
        del made
        assert known() is None
    finally:
        gc.enable()


def scaled(factor):
    @fem.cache.dynamic_func(suffix=factor)
    def times(x: float):
        return factor * x

    @fem.cache.dynamic_kernel(suffix=factor, kernel_options={"enable_backward": False})
    def scale(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = times(x[i])

    return scale


def test_kernels_are_kept_by_their_key():
    assert scaled(2.0) is scaled(2.0)
    x = wp.ones(2, dtype=float)
    for factor in (2.0, 3.0):
        wp.launch(scaled(factor), dim=2, inputs=[x])
    assert x.list() == [6.0, 6.0]


def typed(t):
    @fem.cache.dynamic_kernel(suffix="one key", allow_overloads=True)
    def add_one(x: wp.array(dtype=t)):
        x[wp.tid()] += t(1)

    return add_one


def test_overloads_have_kernels_of_their_own():
    for t in (wp.float32, wp.int32):
        x = wp.zeros(2, dtype=t)
        wp.launch(typed(t), dim=2, inputs=[x])
        assert x.list() == [1, 1]
    assert typed(wp.int32) is typed(wp.int32) is not typed(wp.float32)


def test_types_and_constants_of_indices():
    assert (fem.NULL_ELEMENT_INDEX, fem.NULL_QP_INDEX, fem.NULL_NODE_INDEX) == (-1, -1, 2**31 - 1)
    assert fem.Coords is wp.vec3 and fem.Coords_f64 is wp.vec3d
    assert fem.ElementIndex is fem.NodeIndex is fem.QuadraturePointIndex is int
    assert isinstance(fem.grad, fem.Operator)
    assert [k.name for k in fem.ElementKind] == ["CELL", "SIDE"]


@wp.kernel
def of_indices(elements: wp.array(dtype=fem.ElementIndex), coords: wp.array(dtype=fem.Coords)):
    i = wp.tid()
    if elements[i] == fem.NULL_ELEMENT_INDEX:
        coords[i] = fem.Coords(1.0, 2.0, 0.0)


def test_kernels_use_them():
    coords = wp.zeros(2, dtype=fem.Coords)
    wp.launch(of_indices, dim=2, inputs=[wp.array([-1, 3], dtype=fem.ElementIndex), coords])
    assert coords.numpy().tolist() == [[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
