"""`wp.map` against NumPy, and what it refuses."""

import functools
import math
import subprocess
import sys
import textwrap
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.algo import map as implementation

A = np.array([1.0, 2.0, 3.0], np.float32)
B = np.array([4.0, 5.0, 7.0], np.float32)


def arrays(*data):
    return [wp.array(x) for x in data]


@pytest.fixture(params=["release", "debug", "interpret"])
def mode(request):
    wp.config.mode = request.param
    yield request.param
    wp.config.mode = "release"


def typed(x: float, y: float):
    return x * y


@wp.func
def both(x: float, y: float):
    return x - y, x + y


@wp.func
def product(x: Any, y: Any):
    return x * y


@wp.func
def scaled(x: float, by: float = 3.0):
    return x * by


def test_functions_of_every_kind(mode):
    a, b = arrays(A, B)
    for func, expected in (
        (lambda x, y: x + 2.0 * y, A + 2 * B),
        (typed, A * B),
        (product, A * B),
        (wp.max, np.maximum(A, B)),
        (min, np.minimum(A, B)),
    ):
        np.testing.assert_array_equal(wp.map(func, a, b).numpy(), expected)
    np.testing.assert_array_equal(wp.map(wp.float64, a).numpy(), A.astype(np.float64))
    np.testing.assert_array_equal(wp.map(wp.vec3, a, b, 0.5).numpy(), np.stack([A, B, 0 * A + 0.5], 1))
    np.testing.assert_array_equal(wp.map(wp.where, wp.array([True, False, True]), a, b).numpy(), [1, 5, 3])
    np.testing.assert_array_equal(wp.map(scaled, a).numpy(), 3 * A)
    np.testing.assert_allclose(wp.map(wp.sin, a).numpy(), np.sin(A), rtol=2e-7)


def test_several_results(mode):
    a, b = arrays(A, B)
    found = wp.map(both, a, b)
    assert isinstance(found, list)
    np.testing.assert_array_equal([x.numpy() for x in found], [A - B, A + B])
    outs = [wp.zeros(3, dtype=float), wp.zeros(3, dtype=float)]
    given = wp.map(both, a, b, out=outs)
    assert given[0] is outs[0]
    assert given[1] is outs[1]
    np.testing.assert_array_equal(outs[1].numpy(), A + B)


def test_vectors_matrices_and_structs(mode):
    @wp.struct
    class Line:
        slope: float
        start: float

    points = np.arange(9, dtype=np.float32).reshape(3, 3)
    v = wp.array(points, dtype=wp.vec3)
    np.testing.assert_array_equal(wp.map(wp.dot, v, v).numpy(), (points * points).sum(1))
    np.testing.assert_array_equal(wp.map(wp.cross, v, wp.vec3(1.0, 2.0, 3.0)).numpy(), np.cross(points, [1, 2, 3]))
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    u = wp.array(points[:, :2].copy(), dtype=wp.vec2)
    np.testing.assert_array_equal(wp.map(lambda m, v: m * v, m, u).numpy(), points[:, :2] @ [[1, 3], [2, 4]])
    line = Line(slope=2.0, start=1.0)
    (a,) = arrays(A)
    np.testing.assert_array_equal(wp.map(lambda x, s: x * s.slope + s.start, a, line).numpy(), 2 * A + 1)
    turned = wp.map(wp.transform_point, wp.transform((1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)), v)
    np.testing.assert_array_equal(turned.numpy(), points + np.array([1, 0, 0]))


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (3,)),
        ((2, 3), (2, 1)),
        ((3, 1), (1, 2)),
        ((1,), (4,)),
        ((3, 1, 4), (5, 4)),
        ((2, 3, 4, 2), (3, 1, 1)),
        ((1, 1), (1,)),
        ((0,), (1,)),
        ((0, 3), (3,)),
    ],
)
def test_broadcasting(shapes):
    rng = np.random.default_rng(7)
    x, y = (rng.integers(-9, 9, s).astype(np.float32) for s in shapes)
    for data in ((x, y), (y, x)):
        found = wp.map(lambda a, b: a - 2.0 * b, *arrays(*data))
        np.testing.assert_array_equal(found.numpy(), data[0] - 2 * data[1])
    expected = 3 * x - y
    np.testing.assert_array_equal(wp.map(lambda a, k, b: a * k - b, *arrays(x), 3.0, *arrays(y)).numpy(), expected)


def test_strided_and_numpy_inputs():
    a = wp.array(np.arange(8, dtype=np.float32))
    np.testing.assert_array_equal(wp.map(product, a[::2], a[1::2]).numpy(), np.arange(0, 8, 2) * np.arange(1, 8, 2))
    found = wp.map(product, np.arange(3.0), wp.array(np.arange(3.0)))
    assert found.dtype is wp.float64
    np.testing.assert_array_equal(found.numpy(), [0, 1, 4])
    np.testing.assert_array_equal(wp.map(wp.sqrt, np.array([4.0, 9.0])).numpy(), [2, 3])


def test_any_parameter_names():
    (a,) = arrays(A)
    assert wp.map(lambda _i, _f, out: _i + _f + out, a, 1.0, a).list() == [3.0, 5.0, 7.0]


def test_indexed_arrays(mode):
    data, places, rows = np.arange(10, dtype=np.float32), np.array([1, 3, 5, 9], np.int32), np.array([2, 0], np.int32)
    a = wp.array(data)
    odd = wp.indexedarray(a, [wp.array(places)])
    np.testing.assert_array_equal(wp.map(lambda x: 10.0 * x, odd).numpy(), 10 * data[places])
    np.testing.assert_array_equal((odd * 2.0 + wp.ones(4, dtype=float)).numpy(), data[places] * 2 + 1)
    np.testing.assert_array_equal((wp.ones(4, dtype=float) - odd).numpy(), 1 - data[places])
    grid = np.arange(12, dtype=np.float32).reshape(3, 4)
    seen = wp.indexedarray(wp.array(grid), [wp.array(rows), None])
    np.testing.assert_array_equal(wp.map(product, seen, wp.array(data[:4])).numpy(), grid[rows] * data[:4])
    assert wp.map(lambda x: x + 100.0, odd, out=odd) is odd
    odd *= 2.0
    data[places] = (data[places] + 100) * 2
    np.testing.assert_array_equal(a.numpy(), data)


def test_in_place():
    (a,) = arrays(np.array([-1.0, 0.0, 1.0], np.float32))
    assert wp.map(wp.clamp, a, -0.5, 0.5, out=a) is a
    assert a.list() == [-0.5, 0.0, 0.5]


def test_numbers_adapt_when_they_have_to():
    (x,) = arrays(np.array([1.5, 2.5]))
    assert wp.map(product, x, 2).list() == [3.0, 5.0]
    assert wp.map(product, x, 0.5).list() == [0.75, 1.25]
    # but only then: as an int32 the number divides as integers do
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        assert wp.map(lambda x, n: wp.float64(n / 2) + x, x, 3).list() == [2.5, 3.5]


def test_return_kernel():
    m, a = arrays(np.arange(6, dtype=np.float32).reshape(2, 3), A)
    kernel = wp.map(both, m, a, return_kernel=True)
    assert [t.key for _, t in kernel.params] == ["array2<f32>", "array1<f32>", "array2<f32>", "array2<f32>"]
    outs = [wp.zeros((2, 3), dtype=float), wp.zeros((2, 3), dtype=float)]
    wp.launch(kernel, dim=(2, 3), inputs=[m, a], outputs=outs)
    np.testing.assert_array_equal(outs[0].numpy(), m.numpy() - A)
    assert wp.map(both, m, a, return_kernel=True) is kernel


def test_gradients_are_asked_for_where_inputs_ask():
    (a,) = arrays(A)
    assert not wp.map(scaled, a).requires_grad
    a.requires_grad = True
    assert wp.map(scaled, a).requires_grad
    assert not wp.map(int, a).requires_grad


# -- caching --------------------------------------------------------------------------------------------------------


@pytest.fixture
def lowered(monkeypatch):
    """The functions lowered to find out what they return."""
    calls = []
    original = implementation.lower_function
    monkeypatch.setattr(implementation, "lower_function", lambda *args: (calls.append(args), original(*args))[1])
    return calls


def test_a_second_call_lowers_nothing(lowered):
    @wp.func
    def local(x: Any, y: Any):
        return x * y

    (a,) = arrays(A)
    for _ in range(3):
        wp.map(lambda x: x * 2.0 + 1.25, a)  # a new function each time
        wp.map(local, a, a)
        wp.map(local, 2.0, a)
    assert len(lowered) == 3


OFFSET = 0.0


def test_lambdas_with_other_values_are_other_functions(lowered):
    global OFFSET
    (a,) = arrays(A)
    for k in (1.0, 2.0, 1.0):
        np.testing.assert_array_equal(wp.map(lambda x: x * k, a).numpy(), k * A)
    for OFFSET in (1.0, 5.0, 1.0):
        np.testing.assert_array_equal(wp.map(lambda x: x + OFFSET, a).numpy(), A + OFFSET)
    assert len(lowered) == 4


def offset(x):
    return x + OFFSET


def circled(x):
    return x * math.tau


def test_a_function_reads_its_values_at_every_call(monkeypatch):
    global OFFSET
    (a,) = arrays(A)
    for OFFSET in (1.0, 5.0, 1.0):
        np.testing.assert_array_equal(wp.map(offset, a).numpy(), A + OFFSET)
    for tau in (6.0, 7.0):
        monkeypatch.setattr(math, "tau", tau)
        np.testing.assert_array_equal(wp.map(circled, a).numpy(), A * np.float32(tau))


class Settings:
    factor = 1.0


def test_values_inside_of_objects_count_too():
    (a,) = arrays(A)
    for Settings.factor in (1.0, 3.0, 1.0):
        np.testing.assert_array_equal(wp.map(lambda x: x * Settings.factor, a).numpy(), Settings.factor * A)


def test_several_lambdas_on_a_line():
    (a,) = arrays(A)
    double, triple, nested = lambda x: x * 2.0, lambda x: x * 3.0, lambda x: (lambda y: y + 1.0)(x) * 4.0
    for func, expected in ((triple, 3 * A), (double, 2 * A), (nested, 4 * (A + 1))):
        if hasattr(func.__code__, "co_positions"):
            np.testing.assert_array_equal(wp.map(func, a).numpy(), expected)
        else:  # before Python 3.11 it is unknown which of them it is
            with pytest.raises(wp.CompileError, match="source of `<lambda>` is not available"):
                wp.map(func, a)
    np.testing.assert_array_equal(
        wp.map(
            lambda x, y: (
                x
                + y
            ),
            a,
            a,
        ).numpy(),
        2 * A,
    )  # fmt: skip


def test_lambdas_without_a_file():
    program = "import omni.warp_core as wp; print(wp.map(lambda x: x + 1.0, wp.zeros(2, dtype=float)).list())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[1.0, 1.0]\n", done.stderr


# -- results that lie over arguments ----------------------------------------------------------------------------------


def test_results_over_arguments():
    """As in NumPy, all arguments are read before a result is written."""
    n = 2000
    start = np.arange(n, dtype=np.float32)
    a, expected = wp.array(start), start.copy()
    a[1:] += a[:-1]
    expected[1:] += expected[:-1]
    np.testing.assert_array_equal(a.numpy(), expected)
    a += a[::-1]
    expected += expected[::-1]
    np.testing.assert_array_equal(a.numpy(), expected)
    wp.map(lambda x: x + 1.0, a[::2], out=a[: n // 2])
    expected[: n // 2] = expected[::2] + 1.0
    np.testing.assert_array_equal(a.numpy(), expected)

    square, wanted = wp.array(start.reshape(40, 50)), start.reshape(40, 50).copy()
    square += square[7]
    wanted += wanted[7]
    np.testing.assert_array_equal(square.numpy(), wanted)
    order = np.arange(39, -1, -1, dtype=np.int32)
    square -= square[wp.array(order)]
    wanted -= wanted[order]
    np.testing.assert_array_equal(square.numpy(), wanted)
    back = square[wp.array(order)]
    back += square
    wanted[order] += wanted
    np.testing.assert_array_equal(square.numpy(), wanted)


# -- mistakes -------------------------------------------------------------------------------------------------------


def helper(x):
    return x


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((both, A), TypeError, r"wp.map of `both`: it takes 2 arguments \(x, y\), got 1"),
        ((both, A, A, A), TypeError, r"wp.map of `both`: it takes 2 arguments \(x, y\), got 3"),
        ((both, 1.0, 2.0), ValueError, "wp.map of `both` needs at least one array among its arguments"),
        ((both, A, A.astype(np.int32)), TypeError, r"`both` cannot be called .*`y` takes float32, not int32"),
        ((wp.sin, A.astype(np.int32)), TypeError, r"`wp.sin` has no form for \(int32\)"),
        ((both, A, "x"), TypeError, r"a kernel cannot take a str \(argument `y`\)"),
        ((both, A, [1.0, 2.0, 3.0]), TypeError, r"a kernel cannot take a list \(argument `y`\)"),
        ((both, A, np.ones((2, 2), np.float32)), ValueError, r"the shapes \(3,\), \(2, 2\) cannot be broadcast"),
        ((lambda x: None, A), TypeError, "it must return a value for each array of results"),
        ((lambda x: helper(x), A), wp.CompileError, "`helper` is a plain Python function"),
        ((lambda *x: x[0], A), wp.CompileError, "`x` accepts any number of arguments"),
        ((wp.add, A, A.astype(np.float64)), TypeError, r"float32 and float64; .* wp\.map\(wp\.float32, a\)$"),
        ((np.sin, A), TypeError, r"`sin` cannot be called in a kernel; use `wp\.sin`"),
        (("sin", A), TypeError, "wp.map takes a function, got str"),
        ((functools.partial(both, 1.0), A), TypeError, "got an object of partial: write a lambda that calls it"),
    ],
)
def test_refused(arguments, error, message):
    func, *inputs = arguments
    with pytest.raises(error, match=message):
        wp.map(func, *(wp.array(x) if isinstance(x, np.ndarray) else x for x in inputs))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (wp.zeros(3, dtype=int), "it returns float32, out is an array of int32"),
        (wp.zeros(4, dtype=float), r"its results have shape \(3,\), out has shape \(4,\)"),
        ([wp.zeros(3, dtype=float)] * 2, r"it returns \(float32\), but out has 2 arrays"),
        (A, "out must be an array of float32, got ndarray"),
    ],
)
def test_results_that_do_not_fit(out, message):
    with pytest.raises(TypeError, match=message):
        wp.map(scaled, wp.array(A), out=out)


def test_the_report_shows_the_line_of_the_lambda():
    with pytest.raises(wp.CompileError) as caught:
        wp.map(lambda x: x.wrong, wp.array(A))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.place.span.file == __file__
    assert "wp.map(lambda x: x.wrong, wp.array(A))" in diagnostic.render()
    assert textwrap.dedent(str(caught.value)).startswith("wp.map of `lambda` does not compile (1 error)")


def test_kernels_cannot_be_mapped():
    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[0] = 1.0

    with pytest.raises(TypeError, match=r"wp\.map takes a function, got kernel `k`"):
        wp.map(k, wp.array(A))


def test_threads_make_mappings_of_their_own():
    def work(number):
        for dtype in (wp.float32, wp.float64, wp.int32, wp.int64)[number % 4 :]:
            x = wp.array([1, 2, 3], dtype=dtype)
            results.append(wp.map(lambda a, b: a * b + a, x, x).list())
            results.append((x + x).list())

    results = []
    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results.count([2, 6, 12]) == results.count([2, 4, 6]) == len(results) / 2 == 17
