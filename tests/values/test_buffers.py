"""Vectors and matrices that share memory with a buffer, or copy from one. The judge is NumPy."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

import omni.warp_core as wp

CASES = {wp.vec3: np.float32, wp.mat22d: np.float64, wp.quat: np.float32, wp.transform: np.float32, wp.vec4i: np.int32}


@pytest.mark.parametrize("cls", CASES, ids=lambda c: c.__name__)
def test_a_value_shares_the_memory_of_a_buffer(cls):
    count, dtype = cls._length_, CASES[cls]
    memory = np.arange(2 + count, dtype=dtype)
    value = cls.from_buffer(memory, 2 * memory.itemsize)
    assert np.asarray(value).tolist() == memory[2:].tolist()
    memory[2] = 70
    assert np.asarray(value)[0] == 70
    value[:] = [9] * count if len(cls._shape_) == 1 else [[9, 9], [9, 9]]
    assert memory.tolist() == [0, 1, *[9] * count]
    assert value + value == cls(*[18] * count)  # results have memory of their own
    assert memory.tolist() == [0, 1, *[9] * count]


@pytest.mark.parametrize("cls", CASES, ids=lambda c: c.__name__)
def test_a_copy_does_not(cls):
    memory = np.arange(cls._length_, dtype=CASES[cls])
    value = cls.from_buffer_copy(memory.tobytes())
    assert np.asarray(value).tolist() == memory.tolist()
    value = cls.from_buffer_copy(source=memory, offset=0)
    memory[:] = 0
    assert np.asarray(value).tolist() == list(range(cls._length_))


def test_the_buffer_lives_as_long_as_the_value():
    memory = bytearray(np.float32([1, 2, 3]).tobytes())
    value = wp.vec3.from_buffer(memory)
    with pytest.raises(BufferError):
        memory.extend(b"more")
    del value
    gc.collect()
    memory.extend(b"more")
    value = wp.vec3.from_buffer(np.float32([1, 2, 3]))
    gc.collect()
    assert list(value) == [1, 2, 3]


@pytest.mark.parametrize(
    "source, offset, error, text",
    [
        (np.zeros(2, np.float32), 0, ValueError, "needs 12 bytes, the buffer has 8 after the offset 0"),
        (np.zeros(4, np.float32), 8, ValueError, "has 8 after the offset 8"),
        (np.zeros(4, np.float32), 1 << 40, ValueError, "has 0 after the offset"),
        (np.zeros(4, np.float32), -4, ValueError, "the offset is negative"),
        (np.zeros(8, np.float32)[::2], 0, TypeError, "not C-contiguous"),
        (bytes(12), 0, TypeError, "not writable; vec3f.from_buffer_copy"),
        ([1.0, 2.0, 3.0], 0, TypeError, "bytes-like"),
    ],
)
def test_other_buffers_are_refused(source, offset, error, text):
    with pytest.raises(error, match=text):
        wp.vec3.from_buffer(source, offset)


def test_kinds_of_values_take_parameters_in_annotations():
    kind = type(wp.vec3()).__mro__[1]
    assert kind[int, 3].__args__ == (int, 3)
    with pytest.raises(TypeError, match="vec3f is one type"):
        wp.vec3[3]


@pytest.mark.parametrize("cls", CASES, ids=lambda c: c.__name__)
def test_arrays_of_values_share_memory_as_those_of_ctypes_do(cls):
    count, dtype = cls._length_, CASES[cls]
    memory = np.arange(3 * count, dtype=dtype)
    values = (cls * 3).from_buffer(memory)
    assert isinstance(values, ctypes.Array) and len(values) == 3 and ctypes.sizeof(values) == memory.nbytes
    assert [np.asarray(v).ravel().tolist() for v in values] == memory.reshape(3, count).tolist()
    values[1] = cls(*range(7, 7 + count))
    np.asarray(values[2]).ravel()[0] = 50
    assert memory.tolist() == [*range(count), *range(7, 7 + count), 50, *range(2 * count + 1, 3 * count)]
    copied = (cls * 3).from_buffer_copy(memory)
    memory[:] = 0
    assert type(copied[0]) is cls and np.asarray(copied[0]).ravel().tolist() == list(range(count))


def test_bases_of_classes_of_values_make_no_arrays():
    with pytest.raises(TypeError, match="has no components to make arrays of"):
        wp.vec3.__mro__[1] * 2
