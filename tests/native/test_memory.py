"""Allocation, fill and copies against NumPy doing the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.objects import native


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 4096, 1 << 20, 5 << 20])
def test_memory_is_aligned_and_writable(nbytes):
    p = native.alloc(nbytes)
    assert p % 64 == 0
    assert nbytes < 4 << 20 or p % (2 << 20) == 0
    native.fill(p, nbytes, b"\x07")
    native.free(p)


def test_too_much_memory_is_a_memory_error():
    with pytest.raises(MemoryError):
        native.alloc(1 << 62)
    with pytest.raises(MemoryError):
        native.Buffer(-1)


def test_a_buffer_owns_its_memory():
    b = native.Buffer(100)
    assert b.nbytes == 100
    assert b.ptr % 64 == 0


@pytest.mark.parametrize("size", [1, 2, 3, 8, 12, 36, 5000])
@pytest.mark.parametrize("count", [0, 1, 7, 1000, 200_001])
def test_fill_repeats_the_pattern(size, count):
    if size * count > 20_000_000:
        count = 20_000_000 // size
    pattern = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    out = np.full(size * count + 8, 99, np.uint8)
    native.fill(out.ctypes.data, size * count, pattern.tobytes())
    assert np.array_equal(out[: size * count].reshape(count, size), np.tile(pattern, (count, 1)))
    assert (out[size * count :] == 99).all()


def test_fill_wants_whole_patterns():
    with pytest.raises(ValueError, match="multiple"):
        native.fill(0, 10, b"abc")


@pytest.mark.parametrize("nbytes", [0, 1, 1000, 300_001, 9_000_001])
def test_copy(nbytes):
    a = np.random.default_rng(1).integers(0, 256, nbytes, np.uint8)
    b = np.full(nbytes + 8, 99, np.uint8)
    native.copy(b.ctypes.data, a.ctypes.data, nbytes)
    assert np.array_equal(b[:nbytes], a)
    assert (b[nbytes:] == 99).all()


def view(rng: np.random.Generator, shape: tuple[int, ...], itemsize: int) -> np.ndarray:
    """Random items of `itemsize` bytes behind a random layout: permuted, stepped, reversed."""
    order = rng.permutation(len(shape))
    steps = rng.choice([1, 2, -1, -3], len(shape))
    base = np.empty([shape[d] * abs(steps[d]) for d in order], f"V{itemsize}")
    base.reshape(-1).view(np.uint8)[:] = rng.integers(0, 256, base.nbytes, np.uint8)
    data = base.transpose(np.argsort(order))
    return data[tuple(slice(None, None, s) for s in steps)][tuple(slice(0, n) for n in shape)]


layouts = st.tuples(
    st.lists(st.integers(0, 6), min_size=1, max_size=4).map(tuple),
    st.sampled_from([1, 2, 3, 4, 8, 12, 16, 64]),
    st.integers(0, 2**32),
)


@given(layouts)
@settings(max_examples=300, deadline=None)
def test_strided_copy_agrees_with_numpy(layout):
    shape, itemsize, seed = layout
    rng = np.random.default_rng(seed)
    a, b = view(rng, shape, itemsize), view(rng, shape, itemsize)
    native.copy_strided(b.ctypes.data, b.strides, a.ctypes.data, a.strides, shape, itemsize)
    assert b.tobytes() == a.tobytes()


@given(layouts)
@settings(max_examples=200, deadline=None)
def test_strided_fill_sets_every_item_and_nothing_else(layout):
    shape, itemsize, seed = layout
    rng = np.random.default_rng(seed)
    a = view(rng, shape, itemsize)
    base = a if a.base is None else a.base
    expected, pattern = base.copy(), rng.integers(0, 256, itemsize, np.uint8)
    before = a.tobytes()
    native.fill_strided(a.ctypes.data, a.strides, shape, pattern.tobytes())
    assert a.tobytes() == pattern.tobytes() * a.size
    native.copy_strided(a.ctypes.data, a.strides, np.frombuffer(before or b"0", np.uint8).ctypes.data,
                        np.empty(shape, f"V{itemsize}").strides, shape, itemsize)  # fmt: skip
    assert base.tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [(2000, 3000), (3, 1000, 700), (1_000_000,)])
def test_large_transposed_copies(shape):
    a = np.random.default_rng(2).random(shape, np.float32)
    b = np.empty(shape[::-1], np.float32).T
    native.copy_strided(b.ctypes.data, b.strides, a.ctypes.data, a.strides, shape, 4)
    assert np.array_equal(a, b)


def test_shapes_and_strides_must_agree():
    with pytest.raises(ValueError, match="one length"):
        native.copy_strided(0, (1,), 0, (1, 1), (1, 1), 4)
