"""Functions that make, fill and copy arrays, and the bridges to NumPy and DLPack."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omni.warp_core as wp
from omni.warp_core.lang.types import SCALARS
from omni.warp_core.lang.values.value_classes import python_type


@wp.struct
class Pair:
    a: int
    b: float


@pytest.mark.parametrize("dtype", [float, int, bool, wp.float64, wp.vec3, wp.mat22d, wp.quath, wp.transform, wp.uint8])
def test_zeros_and_ones(device, dtype):
    for shape in (3, (2, 3), [2, 1, 2], np.int64(4), 1000):
        judge = np.empty(shape).shape
        zeros, ones = wp.zeros(shape, dtype=dtype), wp.ones(shape, dtype=dtype)
        assert zeros.shape == ones.shape == judge
        assert not zeros.numpy().any() and (ones.numpy() == 1).all()
        assert wp.empty(shape, dtype=dtype).shape == judge


def test_defaults():
    assert wp.zeros(3).dtype is wp.float32 and wp.empty().shape == (0,) and wp.zeros(None).shape == (0,)
    assert wp.zeros(3, float, "cpu").device == "cpu" and not wp.zeros(2).pinned


@pytest.mark.parametrize(
    "value, dtype, components",
    [
        (2.5, wp.float32, 2.5),
        (2, wp.int32, 2),
        (True, wp.bool, True),
        (wp.float64(2), wp.float64, 2.0),
        (np.int8(3), wp.int8, 3),
        (wp.vec3(1, 2, 3), wp.vec3, [1, 2, 3]),
        ((1, 2, 3), wp.vec3l, [1, 2, 3]),  # observed in warp-lang
        ([[1.0, 2.0], [3.0, 4.0]], wp.mat22d, [[1, 2], [3, 4]]),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), wp.mat22d, [[1, 2], [3, 4]]),
        (np.arange(3, dtype=np.int64), wp.vec3l, [0, 1, 2]),
        (Pair(1, 2), Pair, None),
    ],
)
def test_full_takes_its_dtype_from_the_value(device, value, dtype, components):
    a = wp.full((2, 2), value)
    assert a.dtype is dtype
    if components is not None:
        np.testing.assert_array_equal(a.numpy(), np.broadcast_to(components, (2, 2, *np.shape(components))))
    else:
        assert a.list()[3].b == 2.0


def test_like():
    src = wp.full((2, 3), wp.vec3(1, 2, 3))[:, ::2]
    for made, value in [
        (wp.zeros_like(src), 0),
        (wp.ones_like(src), 1),
        (wp.full_like(src, 5), 5),
        (wp.full_like(src, wp.vec3(6)), 6),
    ]:
        assert made.shape == (2, 2) and made.dtype is wp.vec3 and made.is_contiguous and (made.numpy() == value).all()
    assert wp.zeros_like(np.zeros((2, 3))).dtype is wp.float64
    np.testing.assert_array_equal(wp.clone(src).numpy(), src.numpy())


@pytest.mark.cpu
@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: wp.zeros(-1), ValueError, "shape: extents must not be negative, got -1 in dimension 0"),
        (lambda: wp.zeros((2, -1)), ValueError, "dimension 1"),
        (lambda: wp.zeros(2.5), TypeError, "shape: expected an integer"),
        (lambda: wp.zeros("3"), TypeError, "shape"),
        (lambda: wp.zeros(()), ValueError, "1 to 4 dimensions, got 0"),
        (lambda: wp.zeros((1,) * 5), ValueError, "1 to 4 dimensions, got 5"),
        (lambda: wp.zeros(3, dtype="float"), TypeError, "dtype"),
        (lambda: wp.zeros(3, dtype=None), TypeError, "dtype"),
        (lambda: wp.zeros(3, device="cuda:0"), RuntimeError, "'cuda:0' is not available"),
        (lambda: wp.full(3, 2.5, dtype=int), TypeError, "value: expected int32, got the float 2.5"),
        (lambda: wp.full(3, [1, 2], dtype=wp.vec3), ValueError, "value: vec3f.* 3 components, got 2"),
        (lambda: wp.full(3, "a"), TypeError, "value: no dtype"),
        (lambda: wp.ones(3, dtype=Pair), TypeError, "value: expected Pair or 0, got int"),
        (lambda: wp.zeros(2).fill_("a"), TypeError, "value: expected float32, got str"),
        (lambda: wp.zeros(2).fill_(wp.vec3()), TypeError, "value: expected float32, got vec3f"),
        (lambda: wp.zeros(2, dtype=wp.vec3).fill_(wp.vec3d()), TypeError, "value: expected vec3f, got vec3d"),
        (lambda: wp.zeros(2, dtype=wp.uint8).fill_(256), ValueError, "value: 256 is out of range for uint8"),
        (lambda: wp.from_numpy([1, 2]), TypeError, "arr: expected a NumPy array, got list"),
        (lambda: wp.from_dlpack([1, 2]), TypeError, "source: expected an object with __dlpack__"),
    ],
)
def test_wrong_arguments_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("key", [..., slice(None, None, 2), (slice(None), 1), (slice(None, None, -1), slice(1, 3))])
def test_fill_and_zero(device, key):
    a, judge = wp.full((4, 5), 7.0), np.full((4, 5), 7.0)
    a[key].fill_(2.5)
    judge[key] = 2.5
    np.testing.assert_array_equal(a.numpy(), judge)
    a[key].zero_()
    judge[key] = 0
    np.testing.assert_array_equal(a.numpy(), judge)
    v, judge = wp.zeros((4, 5), dtype=wp.vec3), np.zeros((4, 5, 3))
    v[key].fill_((1, 2, 3))
    judge[key] = (1, 2, 3)
    np.testing.assert_array_equal(v.numpy(), judge)
    u, judge = wp.full((4, 5), 0x1234, dtype=wp.uint16), np.full((4, 5), 0x1234)
    u[key].fill_(5)
    judge[key] = 5
    np.testing.assert_array_equal(u.numpy(), judge)


def test_integers_of_other_libraries():
    class Choice:
        """As pybind11 makes enumerations."""

        def __index__(self):
            return 4

    a = wp.zeros(2, dtype=int)
    a.fill_(Choice())
    assert a.list() == [4, 4]
    with pytest.raises(TypeError):
        a.fill_(np.ones(1, dtype=int))


def test_large_fills_and_copies_by_many_threads():
    n = 1_000_003
    a = wp.full(n, wp.vec3(1, 2, 3))
    assert (a.numpy() == [1, 2, 3]).all()
    a[::2].fill_(wp.vec3(4, 5, 6))
    assert (a.numpy()[::2] == [4, 5, 6]).all() and (a.numpy()[1::2] == [1, 2, 3]).all()
    np.testing.assert_array_equal(wp.clone(a).numpy(), a.numpy())
    np.testing.assert_array_equal(wp.clone(a[::-3]).numpy(), a.numpy()[::-3])
    big = np.random.default_rng(2).random(n)
    np.testing.assert_array_equal(wp.array(big, dtype=float).numpy(), big.astype(np.float32))


# -- copy and assign ------------------------------------------------------------------------------------------------


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_copies_of_ranges(dest_offset, src_offset, count):
    dest, src = wp.zeros(6), wp.array(np.arange(1, 6), dtype=float)
    n = count or 5
    fits = dest_offset + n <= 6 and src_offset + n <= 5
    if not fits:
        with pytest.raises(ValueError, match="are beyond its size"):
            wp.copy(dest, src, dest_offset, src_offset, count)
        return
    wp.copy(dest, src, dest_offset, src_offset, count)
    judge = np.zeros(6)
    judge[dest_offset : dest_offset + n] = np.arange(1, 6)[src_offset : src_offset + n]
    np.testing.assert_array_equal(dest.numpy(), judge)


def test_copies_between_layouts():
    numbers = np.arange(24, dtype=np.float32).reshape(4, 6)
    src, dest = wp.array(numbers), wp.zeros((6, 4))
    wp.copy(dest.transpose(), src)
    np.testing.assert_array_equal(dest.numpy(), numbers.T)
    wp.copy(dest, src)  # both contiguous: C order, whatever the shape
    np.testing.assert_array_equal(dest.numpy(), numbers.reshape(6, 4))
    line = wp.zeros(8)
    wp.copy(line[::2], src[:, 1])
    np.testing.assert_array_equal(line.numpy(), [1, 0, 7, 0, 13, 0, 19, 0])
    wp.copy(line[::-2], src, dest_offset=1, count=2)
    np.testing.assert_array_equal(line.numpy(), [1, 0, 7, 1, 13, 0, 19, 0])


def test_overlapping_copies_read_before_they_write():
    for dest_key, src_key in [((slice(1, 6)), slice(0, 5)), (slice(0, 5), slice(1, 6)), (slice(None, None, -1), ...)]:
        judge = np.arange(6, dtype=np.float32)
        a = wp.array(judge)
        wp.copy(a[dest_key], a[src_key])
        judge[dest_key] = judge[src_key].copy()
        np.testing.assert_array_equal(a.numpy(), judge)


def test_copies_between_types():
    v = wp.zeros(2, dtype=wp.quat)
    wp.copy(v, wp.ones(2, dtype=wp.vec4))
    assert (v.numpy() == 1).all()
    u = wp.zeros(2, dtype=wp.uint32)
    wp.copy(u, wp.array([-1, 2], dtype=int))
    assert u.list() == [2**32 - 1, 2]


@pytest.mark.parametrize(
    "copy, error, words",
    [
        (lambda: wp.copy(wp.zeros(3), np.ones(3)), TypeError, "src: expected an array, got ndarray"),
        (lambda: wp.copy([0], wp.ones(3)), TypeError, "dest: expected an array, got list"),
        (lambda: wp.copy(wp.zeros(3), wp.ones(3, dtype=wp.vec3)), TypeError, "vec3f elements into float32"),
        (lambda: wp.copy(wp.zeros(3), wp.ones(3, dtype=int)), TypeError, "int32 elements into float32"),
        (lambda: wp.copy(wp.zeros(3), wp.ones(3, dtype=wp.float64)), TypeError, "float64 elements into float32"),
        (lambda: wp.copy(wp.zeros(3), wp.ones(4)), ValueError, "dest: elements 0 to 4 are beyond its size 3"),
        (lambda: wp.copy(wp.zeros(3), wp.ones(2), count=-1), ValueError, "count: must not be negative"),
        (lambda: wp.copy(wp.zeros((2, 3)).transpose(), wp.ones((2, 3))), ValueError, r"shape \(2, 3\) does not match"),
    ],
)
def test_copies_that_cannot_be(copy, error, words):
    with pytest.raises(error, match=words):
        copy()


def test_numbers_and_views_that_cannot_be():
    a = wp.zeros(3)
    for run, error, words in [
        (lambda: a.assign(np.zeros(4)), ValueError, r"src: has 4 elements \(shape \(4,\)\), but the array has 3"),
        (lambda: float(a), TypeError, r"an array is no number: write `a.list\(\)\[0\]`"),
        (lambda: int(a[:1]), TypeError, "an array is no number"),
        (lambda: a.view(), TypeError, "view: expected a type"),
    ]:
        with pytest.raises(error, match=words):
            run()


def test_assign():
    a = wp.zeros(3)
    for src, want in [
        ([1, 2, 3], [1, 2, 3]),
        (np.arange(3), [0, 1, 2]),
        (wp.ones(2), [1, 1, 2]),
        ((5.5,), [5.5, 1, 2]),
    ]:
        a.assign(src)
        assert a.list() == want
    with pytest.raises(TypeError, match="data: expected a sequence"):
        a.assign(5.0)
    with pytest.raises(ValueError, match="src: has 4 elements"):
        a.assign(np.arange(4))
    v = wp.zeros(2, dtype=wp.vec3)
    v.assign([[1, 2, 3], [4, 5, 6]])
    assert v.list() == [wp.vec3(1, 2, 3), wp.vec3(4, 5, 6)]


def test_copies_carry_gradients():
    a, b, c = (wp.zeros(3, requires_grad=True) for _ in range(3))
    a.grad.fill_(5.0)
    wp.copy(b, a)
    assert b.grad.list() == [5.0] * 3  # observed in warp-lang
    wp.copy(c, wp.ones(3))
    assert c.grad.list() == [0.0] * 3


@pytest.mark.cpu
def test_moves_between_devices():
    a = wp.zeros(3)
    assert a.to("cpu") is a
    with pytest.raises(RuntimeError, match="'cuda' is not available"):
        a.to("cuda")


# -- NumPy and DLPack -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, dtype, made_shape",
    [
        ((4,), wp.float32, (4,)),
        ((4, 3), wp.vec3, (4,)),
        ((4, 20), wp.types.vector(20, float), (4,)),
        ((4, 2, 2), wp.mat22, (4,)),
        ((2, 2, 2, 2), wp.float32, (2, 2, 2, 2)),
    ],
)
def test_from_numpy_groups_trailing_dimensions(shape, dtype, made_shape):  # observed in warp-lang
    numbers = np.random.default_rng(4).random(shape).astype(np.float32)
    a = wp.from_numpy(numbers)
    assert a.dtype is dtype and a.shape == made_shape
    np.testing.assert_array_equal(a.numpy(), numbers)
    assert not np.shares_memory(a.numpy(), numbers)
    assert wp.from_numpy(numbers, dtype=float).shape == shape


@pytest.mark.cpu
def test_numpy_sees_arrays_without_a_copy():
    v = wp.array(np.arange(12).reshape(4, 3), dtype=wp.vec3)
    seen = np.asarray(v[::2])
    np.testing.assert_array_equal(seen, [[0, 1, 2], [6, 7, 8]])
    seen[0] = 9
    assert v[0] == wp.vec3(9)
    assert np.array(v).base is None and np.asarray(v, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy=False forbids"):
        v.__array__(np.float64, copy=False)
    assert np.asarray(wp.zeros((0, 3))).shape == (0, 3)
    assert float(np.sum(v)) == 27 + sum(range(3, 12))


@pytest.mark.cpu
def test_dlpack():
    a = wp.array(np.arange(6), dtype=wp.int32)[::2]
    seen = np.from_dlpack(a)
    np.testing.assert_array_equal(seen, [0, 2, 4])
    assert np.shares_memory(seen, a.numpy())
    assert np.from_dlpack(wp.zeros((2, 3), dtype=wp.vec3)).shape == (2, 3, 3)
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = wp.from_dlpack(numbers, dtype=wp.vec3)
    b[0] = wp.vec3(9)
    assert numbers[0].tolist() == [9, 9, 9] and b.shape == (2,)
    assert wp.from_dlpack(a) is a
    numbers.flags.writeable = False
    assert wp.to_dlpack(a) is not None
    shared = wp.from_dlpack(wp.to_dlpack(b))
    assert shared.ptr == b.ptr and shared.shape == (2, 3)
    with pytest.raises(TypeError, match="or a capsule, got list"):
        wp.from_dlpack([1.0])


def test_dtype_conversions():
    for scalar in SCALARS:
        cls = python_type(scalar)
        if scalar.key == "bf16":
            assert wp.dtype_to_numpy(cls) is np.uint16
            continue
        dtype = wp.dtype_to_numpy(cls)
        assert np.dtype(dtype).itemsize == scalar.size and wp.dtype_from_numpy(dtype) is cls
        assert wp.dtype_from_numpy(np.dtype(dtype)) is cls
    assert wp.dtype_to_numpy(float) is np.float32 and wp.dtype_to_numpy(Pair).names == ("a", "b")
    for wrong in (np.complex64, ">f4", "U3"):
        with pytest.raises(TypeError, match="no scalar type"):
            wp.dtype_from_numpy(wrong)
    for wrong in (wp.vec3, str, wp.array):
        with pytest.raises(TypeError):
            wp.dtype_to_numpy(wrong)


@pytest.mark.parametrize("make", [wp.empty, wp.zeros, wp.ones, lambda *a, **k: wp.full(a[0], 2.0, *a[1:], **k)])
def test_the_number_of_dimensions_may_be_said(make):
    assert make((2, 3), dtype=float, ndim=2).shape == (2, 3)
    with pytest.raises(ValueError, match=r"ndim: the shape \(2, 3\) has 2 dimensions, not 1"):
        make((2, 3), dtype=float, ndim=1)
