"""Sums and inner products against exact sums: of integers in Python, of floats by math.fsum."""

import math

import numpy as np
import pytest

import omni.warp_core as wp
from tests.native.objects import native

NUMBERS = (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
SHAPES = (
    (7,),
    (100_003,),
    (3, 5),
    (1, 1),
    (1000, 3),
    (3, 1000),
    (40, 300, 5),
    (2, 3, 4, 5),
    (700, 200),
    (0, 4),
    (4, 0),
)


def random_numbers(rng, shape, dtype) -> np.ndarray:
    if np.dtype(dtype).kind == "f":
        return rng.normal(0, 10, shape).astype(dtype)
    return rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]


def assert_sums(got: np.ndarray, terms: np.ndarray, axis: int) -> None:
    """`terms` in a type that holds them exactly enough: Python's integers for integers, float64 for floats."""
    got = np.asarray(got)
    rows = np.moveaxis(terms, axis, -1)
    want = np.empty(rows.shape[:-1], object)
    for i in np.ndindex(want.shape):
        want[i] = math.fsum(rows[i]) if got.dtype.kind == "f" else sum(int(x) for x in rows[i])
    want = want.reshape(got.shape)
    if got.dtype.kind != "f":
        wrapped = np.asarray(want % 2 ** (8 * got.itemsize), object).astype(f"u{got.itemsize}")
        assert (got.view(wrapped.dtype) == wrapped).all()
        return
    magnitude = np.abs(rows).sum(-1).reshape(got.shape)
    bound = magnitude * (rows.shape[-1] + 2) * 2.0**-53 + np.abs(want.astype(float)) * np.finfo(got.dtype).eps / 2
    assert (np.abs(got - want.astype(float)) <= bound).all()


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums(shape, dtype, threads):
    x = random_numbers(np.random.default_rng(1), shape, dtype)
    a = (
        wp.array(x, dtype=wp.array(x[:0].ravel()).dtype, shape=shape)
        if x.size
        else wp.zeros(shape, wp.dtype_from_numpy(dtype))
    )
    assert_sums(wp.utils.array_sum(a), x.ravel(), 0)
    for axis in range(len(shape)):
        sums = wp.utils.array_sum(a, axis=axis)
        assert sums.shape == (*shape[:axis], 1, *shape[axis + 1 :])
        assert_sums(sums.numpy().reshape(np.delete(shape, axis)), x, axis)


@pytest.mark.parametrize("dtype", (np.int32, np.float32, np.float64))
@pytest.mark.parametrize("shape", SHAPES[:9], ids=str)
def test_inner_products(shape, dtype, threads):
    rng = np.random.default_rng(2)
    x, y = (rng.integers(-1000, 1000, shape).astype(dtype) for _ in range(2))
    a, b = (wp.array(z, dtype=wp.dtype_from_numpy(dtype)) for z in (x, y))
    terms = x.astype(np.float64 if np.dtype(dtype).kind == "f" else np.int64) * y
    assert_sums(wp.utils.array_inner(a, b), terms.ravel(), 0)
    for axis in range(len(shape)):
        products = wp.utils.array_inner(a, b, axis=axis)
        assert_sums(products.numpy().reshape(np.delete(shape, axis)), terms, axis)


@pytest.mark.parametrize("dtype", (wp.vec3, wp.mat33d, wp.quat, wp.vec2i, wp.transform), ids=lambda d: d.__name__)
@pytest.mark.parametrize("n", (0, 1, 10, 50_000))
def test_components(dtype, n, threads):
    a = wp.zeros((n, 2), dtype=dtype)
    x = np.random.default_rng(3).integers(-50, 50, a.numpy().shape).astype(a.numpy().dtype)
    a.assign(wp.array(x, dtype=dtype))
    wide, scalar = x.astype(np.float64), x.dtype.type  # float64 holds all these sums; the result is rounded once
    assert (wp.utils.array_sum(a) == wide.sum((0, 1))).all()
    assert (wp.utils.array_sum(a, axis=0).numpy()[0] == wide.sum(0)).all()
    assert (wp.utils.array_sum(a, axis=1).numpy()[:, 0] == wide.sum(1)).all()
    squares = wide**2
    assert wp.utils.array_inner(a, a) == scalar(squares.sum())
    inner = tuple(range(2, x.ndim))
    assert (wp.utils.array_inner(a, a, axis=0).numpy()[0] == squares.sum((0, *inner)).astype(scalar)).all()
    assert (wp.utils.array_inner(a, a, axis=-1).numpy()[:, 0] == squares.sum((1, *inner)).astype(scalar)).all()


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("shape", ((1_000_000,), (1000, 1000), (300_000, 3)), ids=str)
def test_results_do_not_depend_on_threads(shape, dtype):
    x = np.random.default_rng(4).normal(size=shape).astype(dtype)
    a = wp.array(x, dtype=wp.dtype_from_numpy(dtype))
    before, results = native.get_num_threads(), set()
    for count in (1, 2, 3, 4, 16):
        native.set_num_threads(count)
        sums = [wp.utils.array_sum(a), wp.utils.array_inner(a, a), wp.utils.array_sum(a, axis=0).numpy()]
        results.add(b"".join(np.asarray(s).tobytes() for s in sums))
    native.set_num_threads(before)
    assert len(results) == 1


def test_float32_sums_are_rounded_once():
    x = np.full(1 << 24, 0.1, np.float32)
    assert wp.utils.array_sum(wp.array(x)) == np.float32(math.fsum([float(np.float32(0.1))] * (1 << 20)) * 16)


def test_special_floats():
    inf = np.inf
    assert wp.utils.array_sum(wp.array([1.0, inf], dtype=float)) == inf
    assert np.isnan(wp.utils.array_sum(wp.array([inf, -inf], dtype=float)))
    assert np.isnan(wp.utils.array_inner(*[wp.array([0.0, inf], dtype=float), wp.array([inf, 0.0], dtype=float)]))
    assert wp.utils.array_sum(wp.array([3e38, 3e38, -3e38], dtype=float)) == np.float32(3e38)


def test_kinds_of_results():
    assert type(wp.utils.array_sum(wp.ones(3))) is np.float32
    assert type(wp.utils.array_sum(wp.ones(3, dtype=wp.float64))) is np.float64
    assert wp.utils.array_sum(wp.ones(3, dtype=wp.vec3)).tolist() == [3.0, 3.0, 3.0]
    out = wp.zeros(1)
    assert wp.utils.array_sum(wp.ones(3), out=out) is out
    assert out.list() == [3.0]
    out = wp.zeros((1, 3), dtype=wp.vec2)
    assert wp.utils.array_sum(wp.ones((2, 3), dtype=wp.vec2), out=out, axis=0) is out
    assert (out.numpy() == 2).all()
    assert wp.utils.array_inner(wp.ones(3, dtype=wp.vec3), wp.ones(3, dtype=wp.vec3), out=wp.zeros(1)).list() == [9.0]


def test_counts():
    x = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    a = wp.array(x, dtype=float)
    assert wp.utils.array_sum(a, value_count=7) == 21.0
    assert wp.utils.array_sum(a, value_count=0) == 0.0
    assert wp.utils.array_inner(a, a, count=3) == 5.0
    for axis in (0, 1):
        got = wp.utils.array_sum(a, value_count=2, axis=axis).numpy()
        assert (got == x.take((0, 1), axis).sum(axis, keepdims=True)).all()


def test_strided_arrays():
    x = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    a = wp.array(x, dtype=float)
    assert wp.utils.array_sum(a[:, ::2]) == x[:, ::2].sum()
    assert (wp.utils.array_sum(a.transpose(), axis=0).numpy() == x.T.sum(0, keepdims=True)).all()
    assert wp.utils.array_inner(a[::2], a[1::2]) == (x[::2] * x[1::2]).sum()


def test_the_result_may_go_where_the_values_are():
    a = wp.array(np.arange(50_000.0), dtype=wp.float64)
    assert wp.utils.array_sum(a, out=a[:1]).list() == [sum(range(50_000))]


@pytest.mark.parametrize(
    ("call", "error", "why"),
    [
        (
            lambda u: u.array_sum(wp.zeros(3, dtype=wp.float16)),
            TypeError,
            "values: expected elements of .* got float16",
        ),
        (lambda u: u.array_sum([1.0]), TypeError, "values: expected an array"),
        (
            lambda u: u.array_sum(wp.zeros(3), axis=1),
            IndexError,
            "axis: 1 is out of range for an array with 1 dimensions",
        ),
        (lambda u: u.array_sum(wp.zeros((3, 2)), axis=-3), IndexError, "axis: -3"),
        (lambda u: u.array_sum(wp.zeros(3), axis=0.0), TypeError, "axis: expected an integer"),
        (lambda u: u.array_sum(wp.zeros(3), value_count=4), ValueError, "value_count: got 4, but there are 3"),
        (lambda u: u.array_sum(wp.zeros(3), value_count=-1), ValueError, "value_count: must not be negative"),
        (lambda u: u.array_sum(wp.zeros(3), out=wp.zeros(2)), ValueError, r"out: expected shape \(1,\), got \(2,\)"),
        (lambda u: u.array_sum(wp.zeros(3), out=wp.zeros(1, dtype=int)), TypeError, "out: expected float32 elements"),
        (lambda u: u.array_sum(wp.zeros((3, 2)), out=wp.zeros(2), axis=0), ValueError, r"out: expected shape \(1, 2\)"),
        (lambda u: u.array_inner(wp.zeros(3), wp.zeros(2)), ValueError, r"b: expected shape \(3,\) like a"),
        (
            lambda u: u.array_inner(wp.zeros(3), wp.zeros(3, dtype=int)),
            TypeError,
            "b: expected float32 elements like a",
        ),
        (lambda u: u.array_inner(wp.zeros(3), wp.zeros(3), count=4), ValueError, "count: got 4"),
    ],
)
def test_bad_arguments(call, error, why):
    with pytest.raises(error, match=why):
        call(wp.utils)
