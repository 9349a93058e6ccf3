"""Views, indexing, reshaping and gradients of arrays against NumPy."""

from __future__ import annotations

import reprlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omni.warp_core as wp
from omni.warp_core.lang.arrays import ArrayAnnotation
from omni.warp_core.lang.types import Array

NUMBERS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@st.composite
def keys(draw, shape):
    ints = [st.integers(-n, n - 1) for n in shape]
    bound = st.none() | st.integers(-6, 6)
    slices = st.builds(slice, bound, bound, st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))
    out = [draw(i | slices) for i in ints[: draw(st.integers(1, len(shape)))]]
    if draw(st.booleans()):
        out.insert(draw(st.integers(0, len(out))), ...)
    return tuple(out) if len(out) > 1 or draw(st.booleans()) else out[0]


@pytest.mark.cpu
@given(keys((2, 3, 4)))
def test_indexing_is_numpys(key):
    a = wp.array(NUMBERS)
    want = NUMBERS[key]
    got = a[key]
    if np.ndim(want) == 0:
        assert got == want and type(got) is float
        return
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)
    if want.size:
        assert np.shares_memory(got.numpy(), a.numpy()) and got.strides == want.strides
        assert got.is_contiguous == want.flags.c_contiguous


@given(keys((2, 3, 4)), st.booleans())
def test_assignment_is_numpys(key, fill):
    a, judge = wp.array(NUMBERS), NUMBERS.copy()
    shape = np.shape(judge[key])
    value = 5.5 if fill else np.random.default_rng(1).random(shape).astype(np.float32)
    if shape or fill:
        a[key] = value
        judge[key] = value
    np.testing.assert_array_equal(a.numpy(), judge)


def test_views_and_elements(device):
    data = np.random.default_rng(1).normal(size=(6, 8)).astype(np.float32)
    a = wp.array(data, dtype=float)
    np.testing.assert_array_equal(a[2].numpy(), data[2])
    np.testing.assert_array_equal(a[1:4, ::2].numpy(), data[1:4, ::2])
    np.testing.assert_array_equal(a[::-1].numpy(), data[::-1])
    np.testing.assert_array_equal(a.transpose().numpy(), data.T)
    np.testing.assert_array_equal(a.reshape((4, 12)).numpy(), data.reshape(4, 12))
    assert a[3, 5] == data[3, 5]
    a[3, 5] = 9.0
    a[0] = 1.0
    a[1:3, 2:4] = [[1, 2], [3, 4]]
    a[5] = a[4]
    data[3, 5], data[0], data[1:3, 2:4], data[5] = 9.0, 1.0, [[1, 2], [3, 4]], data[4]
    np.testing.assert_array_equal(a.numpy(), data)


@pytest.mark.parametrize(
    "key, error, words",
    [
        (2, IndexError, "index 2 is out of range for dimension 0 with 2 elements"),
        ((0, -4), IndexError, "dimension 1 with 3"),
        ((0, 0, 0, 0), IndexError, "4 indices for an array of 3 dimensions"),
        ((..., ...), IndexError, "indices"),
        (1.5, TypeError, "got float: 1.5"),
        ("x", TypeError, "got str"),
        (True, TypeError, "bool"),
    ],
)
def test_wrong_indices(key, error, words):
    a = wp.array(NUMBERS)
    with pytest.raises(error, match=words):
        a[key]
    with pytest.raises(error, match=words):
        a[key] = 0.0


@pytest.mark.parametrize(
    "key, value, error, words",
    [
        (0, np.zeros(3), ValueError, r"shape \(3,\) to the selected shape \(3, 4\)"),
        ((0, 0), wp.zeros(3), ValueError, r"\(3,\) to the selected shape \(4,\)"),
        ((0, 0, 0), "x", TypeError, "expected float32, got str"),
        ((0, 0, 0), [1, 2], TypeError, "got list"),
        (0, "x", TypeError, "got str"),
    ],
)
def test_wrong_assignments(key, value, error, words):
    with pytest.raises(error, match=words):
        wp.array(NUMBERS)[key] = value


def test_elements_with_components():
    v = wp.zeros((2, 2), dtype=wp.vec3)
    v[0, 0] = wp.vec3(1, 2, 3)
    v[0, 1] = (4, 5, 6)
    v[1] = wp.vec3(7)
    assert v[0, 0] == wp.vec3(1, 2, 3) and type(v[0, 0]) is wp.vec3 and v[1, 0] == wp.vec3(7)
    np.testing.assert_array_equal(v.numpy(), [[[1, 2, 3], [4, 5, 6]], [[7] * 3] * 2])
    v[..., 1] = np.ones((2, 3))
    np.testing.assert_array_equal(v.numpy()[:, 1], np.ones((2, 3)))
    with pytest.raises(TypeError, match="expected vec3f, got vec3d"):
        v[0, 0] = wp.vec3d()
    m = wp.zeros(2, dtype=wp.mat22)
    m[1] = [[1, 2], [3, 4]]
    assert m.list() == [wp.mat22(), wp.mat22(1, 2, 3, 4)]


def test_length_truth_and_iteration():
    a = wp.array(NUMBERS)
    assert len(a) == 2 and bool(a) and not wp.zeros(0)
    assert [x.shape for x in a] == [(3, 4)] * 2
    assert list(wp.array([1, 2, 3], dtype=int)) == [1, 2, 3]
    assert a == a and a != wp.clone(a) and len({a, a}) == 1  # identity, as observed in warp-lang


@pytest.mark.parametrize("shape", [24, (24,), (4, 6), (-1, 6), (2, -1, 2), [3, 8], (1, 2, 3, 4)])
def test_reshape(shape):
    a = wp.array(NUMBERS)
    got = a.reshape(shape)
    np.testing.assert_array_equal(got.numpy(), NUMBERS.reshape(shape))
    assert got.ptr == a.ptr


@pytest.mark.parametrize(
    "view, words",
    [
        (lambda a: a.reshape(5), "cannot reshape 24 elements to 5"),
        (lambda a: a.reshape((-1, 5)), r"cannot reshape 24 elements to \(-1, 5\)"),
        (lambda a: a.reshape((-1, -1)), "negative"),
        (lambda a: a.reshape((1, 1, 1, 1, 24)), "1 to 4 dimensions"),
        (lambda a: a[:, ::2].reshape(16), "strides"),
        (lambda a: a.transpose().flatten(), "strides"),
        (lambda a: a.transpose((0, 0, 1)), "permutation"),
        (lambda a: a.transpose((0, 1)), "permutation"),
        (lambda a: a.view(wp.float64), "float32 elements of 4 bytes as float64 of 8 bytes"),
        (lambda a: a.view(wp.vec3), r"of shape \(2, 3, 4\) as vec3f: the last dimensions must be \(3,\)"),
        (lambda a: a[..., ::2].view(wp.vec2), "contiguous"),
    ],
)
def test_views_that_cannot_be(view, words):
    with pytest.raises(ValueError, match=words):
        view(wp.array(NUMBERS))


@pytest.mark.parametrize("axes", [None, (0, 1, 2), (1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_transpose(axes):
    got = wp.array(NUMBERS).transpose(axes)
    np.testing.assert_array_equal(got.numpy(), NUMBERS.transpose(axes))
    flat = got.contiguous()
    assert flat.is_contiguous
    np.testing.assert_array_equal(flat.numpy(), NUMBERS.transpose(axes))


def test_flatten_and_contiguous():
    a = wp.array(NUMBERS)
    assert a.flatten().shape == (24,) and a.contiguous() is a
    assert a[0, 0].flatten().list() == [0, 1, 2, 3]
    assert a[0, :, 1].flatten().list() == [1, 5, 9]


def test_views_as_other_types():
    a = wp.array(NUMBERS)
    np.testing.assert_array_equal(a.view(wp.int32).numpy(), NUMBERS.view(np.int32))
    assert a.view(wp.vec4).shape == (2, 3) and a.view(wp.vec4)[1, 2] == wp.vec4(20, 21, 22, 23)
    assert a[:, ::2].view(wp.quat).shape == (2, 2)
    assert wp.array(np.arange(12, dtype=np.float32).reshape(3, 2, 2)).view(wp.mat22)[2] == wp.mat22(8, 9, 10, 11)
    v = wp.ones((2, 2), dtype=wp.vec4)
    assert v.view(wp.quat).shape == (2, 2) and v.view(float).shape == (2, 2, 4) and v.view(wp.mat22).shape == (2, 2)
    assert wp.ones(2, dtype=wp.mat33).view(float).shape == (2, 3, 3)
    assert wp.array([1, 2, 3], dtype=float).view(wp.vec3).list() == [wp.vec3(1, 2, 3)]


# -- gradients ------------------------------------------------------------------------------------------------------


def test_gradients_follow_their_array(device):
    a = wp.zeros((2, 3), requires_grad=True)
    assert a.grad.device is device and a[1:].grad.device is device
    assert a.grad.list() == [0.0] * 6
    assert a.requires_grad and a.grad_ptr == a.grad.ptr and not a.grad.requires_grad
    a.grad.assign(np.arange(6))
    np.testing.assert_array_equal(a[1:, ::2].grad.numpy(), [[3, 5]])
    np.testing.assert_array_equal(a.transpose().grad.numpy(), np.arange(6).reshape(2, 3).T)
    np.testing.assert_array_equal(a.reshape(6).grad.numpy(), np.arange(6))
    assert a.view(wp.vec3).grad.dtype is wp.vec3
    a[0].grad.fill_(9.0)
    np.testing.assert_array_equal(a.grad.numpy(), [[9] * 3, [3, 4, 5]])
    other = wp.clone(a)
    np.testing.assert_array_equal(other.grad.numpy(), a.grad.numpy())
    assert other.grad.ptr != a.grad.ptr
    assert not wp.clone(a, requires_grad=False).requires_grad and wp.empty_like(a).requires_grad


def test_gradients_can_be_given_and_dropped():
    a = wp.zeros(3)
    assert a.grad is None and a.grad_ptr == 0
    a.grad = g = wp.ones(3)
    assert a.requires_grad and a.grad is g
    a.requires_grad = True
    assert a.grad is g
    a.requires_grad = False
    assert a.grad is None and a.grad_ptr == 0
    for wrong, words in [
        (wp.ones(4), r"grad: expected shape \(3,\), got \(4,\)"),
        (wp.ones(3, dtype=int), "grad: expected dtype float32, got int32; `a.grad.assign"),
        (wp.ones(6)[::2], r"grad: expected strides \(4,\), got \(8,\)"),
        (np.ones(3), "grad: expected dtype"),
    ]:
        with pytest.raises(ValueError, match=words):
            a.grad = wrong
    strided = wp.zeros((4, 4))[::-1, ::2]
    strided.requires_grad = True
    assert strided.grad.strides == strided.strides and strided.grad.list() == [0.0] * 8
    assert wp.array([1.0], dtype=float, grad=wp.full(1, 3.0)).grad.list() == [3.0]


# -- types and text -------------------------------------------------------------------------------------------------


def test_annotations():
    for annotation, ndim in [
        (wp.array(dtype=wp.vec3), 1),
        (wp.array(dtype=wp.vec3, ndim=2), 2),
        (wp.array2d(dtype=wp.vec3), 2),
        (wp.array3d[wp.vec3], 3),
        (wp.array[wp.vec3], 1),
        (wp.array[wp.vec3, 4], 4),
        (wp.zeros((2, 2), dtype=wp.vec3), 2),
    ]:
        assert annotation.__wc_type__ is Array(wp.vec3.__wc_type__, ndim)
        assert annotation.dtype is wp.vec3 and annotation.ndim == ndim
    assert wp.array[float] == wp.array[float] == ArrayAnnotation(float) and wp.array[float] != wp.array2d[float]
    assert repr(wp.array[float]) == "wp.array[wp.float32]" and repr(wp.array2d[int]) == "wp.array2d[wp.int32]"
    assert getattr(wp.array, "__wc_type__", None) is None
    assert wp.array(dtype=float).shape == (0,) and wp.array3d(dtype=float).numpy().shape == (0, 0, 0)
    assert wp.array2d([[1.0, 2.0]], dtype=float).shape == (1, 2)
    with pytest.raises(TypeError, match="without a dtype"):
        wp.array().numpy()
    with pytest.raises(TypeError, match=r"expected wp\.array\[dtype\] or wp\.array\[dtype, ndim\], got 3 parameters"):
        wp.array[float, 2, 3]


@pytest.mark.cpu
def test_text():
    a = wp.array(NUMBERS[0])
    assert str(a) == str(NUMBERS[0])
    shown = np.array2string(NUMBERS[0], separator=", ", prefix="array(")
    assert repr(a) == f"array({shown}, dtype=float32, device=cpu)"
    assert repr(wp.zeros(1, dtype=wp.mat22d)) == "array([[[0., 0.],\n        [0., 0.]]], dtype=mat22d, device=cpu)"
    assert repr(wp.array([1.5], dtype=wp.bfloat16)) == "array([1.5], dtype=bfloat16, device=cpu)"
    assert repr(
        a[wp.array([1], dtype=int), 0]
    ) == f"indexedarray([{NUMBERS[0, 1, 0]}], dtype=float32, device=cpu)".replace(".0]", ".]")
    many = repr(wp.zeros((1000, 1000), dtype=int))
    assert many.count("0") < 60 and many.endswith("]], shape=(1000, 1000), dtype=int32, device=cpu)")
    assert repr(wp.array(dtype=wp.vec3)) == "array(shape=(0,), dtype=vec3f, device=cpu)"
    assert (a.size, a.ndim, a.capacity, str(a.device), a.pinned) == (12, 2, 48, "cpu", False)


def test_reprlib_shortens_arrays():
    for a in (wp.zeros(0), wp.ones((2000, 3)), wp.zeros(2, dtype=wp.vec3), wp.array([1, 2], dtype=int)[::2]):
        text = reprlib.repr([a])
        assert text.startswith("[array(") and a.dtype.__name__ in text and len(text) < 1000


@pytest.mark.parametrize("a, b", [((2, 3), (3, 4)), ((2, 3), (3,)), ((3,), (3, 2))])
@pytest.mark.parametrize("dtype", [wp.float32, wp.int32])
def test_matrix_products_are_numpys(a, b, dtype):
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-9, 9, shape).astype(wp.dtype_to_numpy(dtype)) for shape in (a, b))
    product = wp.array(x) @ wp.array(y)
    assert product.dtype is dtype
    np.testing.assert_array_equal(product.numpy(), x @ y)
    np.testing.assert_array_equal((wp.array(y).transpose() @ wp.array(x).transpose()).numpy(), y.T @ x.T)


@pytest.mark.parametrize(
    "product, error, words",
    [
        (lambda: wp.zeros((2, 3)) @ wp.zeros((2, 3)), ValueError, r"multiply shapes \(2, 3\) and \(2, 3\)"),
        (lambda: wp.zeros(3) @ wp.zeros(3), ValueError, "multiply shapes"),
        (lambda: wp.zeros((2, 2)) @ wp.zeros((2, 2), dtype=int), TypeError, "one type, got float32 and int32"),
        (lambda: wp.zeros((2, 2), dtype=wp.vec2) @ wp.zeros((2, 2), dtype=wp.vec2), TypeError, "one type, got vec2f"),
        (lambda: wp.zeros((2, 2)) @ 2.0, TypeError, "unsupported operand"),
    ],
)
def test_products_that_cannot_be(product, error, words):
    with pytest.raises(error, match=words):
        product()
