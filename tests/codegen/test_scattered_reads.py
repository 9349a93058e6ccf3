"""Elements of several numbers, read at scattered places: every type, with masks, and at the ends of pages of memory."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import config

PAGE = mmap.PAGESIZE
COUNT = 67  # not a multiple of the lanes
PROT_NONE = 0

vec5, vec6i = wp.types.vector(5, float), wp.types.vector(6, int)
vec2l, vec3b = wp.types.vector(2, wp.int64), wp.types.vector(3, wp.int8)
TYPES = {
    "vec2": wp.vec2,
    "vec3": wp.vec3,
    "vec4": wp.vec4,
    "vec5": vec5,
    "vec6i": vec6i,
    "transform": wp.transform,
    "mat33": wp.mat33,
    "mat44": wp.mat44,
    "vec3i": wp.vec3i,
    "vec2d": wp.vec2d,
    "vec3d": wp.vec3d,
    "vec2l": vec2l,
    "vec3h": wp.vec3h,
    "vec3b": vec3b,
    "vec16b": wp.types.vector(16, wp.int8),
    "mat33h": wp.mat33h,
}


@wp.kernel
def take(x: wp.array(dtype=Any), at: wp.array(dtype=int), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[at[i]]


@wp.kernel
def take_some(x: wp.array(dtype=Any), at: wp.array(dtype=int), y: wp.array(dtype=Any)):
    i = wp.tid()
    if at[i] >= 0:
        y[i] = x[at[i]]


@pytest.fixture(params=["avx512", "avx2", "sse4"])
def target(request):
    before, config.cpu_target = config.cpu_target, request.param
    yield request.param
    config.cpu_target = before


@pytest.fixture
def between_pages():
    """Two pages of numbers, with no memory in front of them and behind them."""
    memory = mmap.mmap(-1, 4 * PAGE)
    low = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for at in (low, low + 3 * PAGE):
        assert protect(ctypes.c_void_p(at), ctypes.c_size_t(PAGE), PROT_NONE) == 0
    return np.frombuffer(memory, np.uint8)[PAGE : 3 * PAGE]


def numbers(dtype, count):
    like = wp.zeros(1, dtype=dtype).numpy()
    found = np.random.default_rng(5).integers(-100, 100, (count, *like.shape[1:]))
    return found.astype(like.dtype)


@pytest.mark.parametrize("name", TYPES)
def test_all_lanes(target, name):
    x, at = numbers(TYPES[name], 40), np.random.default_rng(6).integers(0, 40, COUNT)
    y = wp.zeros(COUNT, dtype=TYPES[name])
    wp.launch(take, COUNT, [wp.array(x, dtype=TYPES[name]), wp.array(at, dtype=int), y])
    np.testing.assert_array_equal(y.numpy(), x[at])


@pytest.mark.parametrize("name", TYPES)
def test_lanes_that_are_off_read_nothing(target, name):
    x, at = numbers(TYPES[name], 40), np.random.default_rng(7).integers(-40, 40, COUNT)
    before = numbers(TYPES[name], COUNT)
    y = wp.array(before, dtype=TYPES[name])
    wp.launch(take_some, COUNT, [wp.array(x, dtype=TYPES[name]), wp.array(at, dtype=int), y])
    on = (at >= 0).reshape(-1, *[1] * (x.ndim - 1))
    np.testing.assert_array_equal(y.numpy(), np.where(on, x[at], before))


@pytest.mark.parametrize("kernel", [take, take_some])
@pytest.mark.parametrize("first", ["at the start", "at the end"])
@pytest.mark.parametrize("name", TYPES)
def test_nothing_is_read_outside_of_pages_that_are_there(target, between_pages, name, first, kernel):
    dtype = TYPES[name]
    shape, one = numbers(dtype, 1).shape[1:], numbers(dtype, 1)
    count = between_pages.nbytes // one.nbytes
    used = count * one.nbytes
    memory = between_pages[:used] if first == "at the start" else between_pages[-used:]
    x = memory.view(one.dtype).reshape(count, *shape)
    x[:] = numbers(dtype, count)
    at = np.random.default_rng(8).permutation(count)
    y = wp.zeros(count, dtype=dtype)
    wp.launch(kernel, count, [wp.array(x, dtype=dtype, copy=False), wp.array(at, dtype=int), y])
    np.testing.assert_array_equal(y.numpy(), x[at])
