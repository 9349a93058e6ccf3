"""ArrayBase: derived properties, checks, lifetime."""

import gc
import weakref

import numpy as np
import pytest

from omni.warp_core.lang.types import F32, F64, Vec
from tests.native.objects import array, native


def f32() -> int:
    return native.type_id(F32.key, F32.size)


def test_type_ids_are_stable_and_distinct():
    assert native.type_id("f32", 4) == f32() != native.type_id("f64", 8)
    assert native.type_key(f32()) == "f32"
    with pytest.raises(ValueError, match="another size"):
        native.type_id("f32", 8)
    with pytest.raises(IndexError):
        native.type_key(1 << 20)


def test_properties_are_what_was_given():
    owner = object()
    a = native.ArrayBase(4096, (2, 3), (32, 8), f32(), 0, native.READONLY, owner, 8192)
    assert (a.ptr, a.shape, a.strides, a.ndim, a.size) == (4096, (2, 3), (32, 8), 2, 6)
    assert (a.dtype_id, a.device_id, a.flags, a.grad_ptr) == (f32(), 0, native.READONLY, 8192)
    assert a.owner is owner
    a.grad_ptr = 0
    assert a.grad_ptr == 0


@pytest.mark.parametrize("shape", [(1,), (5,), (0,), (2, 3), (2, 0), (4, 1), (1, 4), (2, 3, 4), (2, 1, 3, 2)])
@pytest.mark.parametrize("step", [slice(None), slice(None, None, 2), slice(None, None, -1)])
@pytest.mark.parametrize("axis", [0, -1])
def test_contiguity_agrees_with_numpy(shape, step, axis):
    index = [slice(None)] * len(shape)
    index[axis] = step
    for data in (np.zeros(shape, np.float32)[tuple(index)], np.zeros(shape, np.float32)[tuple(index)].T):
        a = array(data)
        assert a.is_contiguous == data.flags.c_contiguous
        assert a.inner_contiguous == (data.shape[-1] <= 1 or data.strides[-1] == 4)
        assert a.size == data.size


def test_strides_default_to_c_order():
    assert native.ArrayBase(0, (2, 3, 4), None, f32()).strides == np.zeros((2, 3, 4), np.float32).strides
    vec3 = Vec(3, F64)
    assert native.ArrayBase(0, (5, 2), None, native.type_id(vec3.key, vec3.size)).strides == (48, 24)


@pytest.mark.parametrize(
    "shape, strides, error",
    [((), None, "1 to 4"), ((1,) * 5, None, "1 to 4"), ((-1,), None, "negative"), ((2, 2), (4,), "one entry per")],
)
def test_bad_shapes_are_refused(shape, strides, error):
    with pytest.raises(ValueError, match=error):
        native.ArrayBase(0, shape, strides, f32())


def test_unknown_dtype_is_refused():
    with pytest.raises(ValueError, match="dtype_id"):
        native.ArrayBase(0, (1,), None, 1 << 20)


class Sub(native.ArrayBase):
    pass


def test_a_subclass_that_was_not_initialised_is_no_array():
    with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
        Sub.__new__(Sub).shape


def test_the_owner_lives_as_long_as_the_array():
    data = np.zeros(3, np.float32)
    alive = weakref.ref(data)
    a = array(data)
    del data
    assert alive() is not None
    del a
    assert alive() is None


def test_cycles_through_the_owner_are_collected():
    class Owner:
        pass

    owner = Owner()
    a = Sub(0, (0,), None, f32(), owner=owner)
    owner.array = a
    alive = weakref.ref(a)
    del a, owner
    gc.collect()
    assert alive() is None
