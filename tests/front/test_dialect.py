"""`wp.config.dialect = "warp-lang"`: a local is zero where no path has assigned it, and the line that reads it warns.
`and` and `or` give truth there.

The judge is CPython, which runs the same functions with an assignment of zero at their beginning.
"""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp

NS = np.arange(5, dtype=np.int32)
XS = np.array([0.5, -1.5, 2.25, 3.0, -0.75], dtype=np.float32)


def branches(n: int, x: float):
    if n == 0:
        y = x
    elif n == 1:
        y = x + 1.0
    return y


def loop(n: int, x: float):
    for j in range(n):
        y = float(j) * x
    return y


def while_loop(n: int, x: float):
    j = 0
    while j < n:
        j += 1
        y = float(j) * x
    return y


def first_iteration(n: int, x: float):
    s = 0.0
    for j in range(n):
        if j == 1:
            y = x + s
        else:
            s += y + 1.0
    return s


def early_exit(n: int, x: float):
    for j in range(n):
        if j == 2:
            break
        y = x * float(n)
    return y


def walrus(n: int, x: float):
    if n > 1 and (y := x) > 0.0:
        n += 1
    return y + float(n)


def one_case(n: int, x: float):
    match n:
        case 1:
            y = x
        case 2:
            y = -x
    return y


def two_locals(n: int, x: float):
    if n > 1:
        y = x
    if n > 2:
        z = y * 2.0
    return z - y


FUNCTIONS = [branches, loop, while_loop, first_iteration, early_exit, walrus, one_case, two_locals]


@pytest.fixture
def zero():
    wp.config.dialect = "warp-lang"
    yield
    wp.config.dialect = "python"


def judged(f):
    """What CPython computes where `y` and `z` begin as zero."""
    space = {}
    exec(inspect.getsource(f).replace("):\n", "):\n    y = z = 0.0\n", 1), space)
    return [space[f.__name__](int(n), float(x)) for n, x in zip(NS, XS)]


def kernel_of(f):
    function = wp.func(f)

    @wp.kernel
    def k(n: wp.array[int], x: wp.array[float], out: wp.array[float]):
        i = wp.tid()
        out[i] = function(n[i], x[i])

    return k


def results(kernel):
    out = wp.zeros(len(NS), dtype=float)
    wp.launch(kernel, len(NS), [wp.array(NS), wp.array(XS), out])
    return out.numpy()


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_zero_where_no_path_assigns(zero, monkeypatch, f, mode):
    monkeypatch.setattr(wp.config, "mode", mode)
    with pytest.warns(wp.KernelWarning, match="is zero here where no path has assigned it"):
        found = results(kernel_of(f))
    np.testing.assert_array_equal(found, np.array(judged(f), dtype=np.float32))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_an_error_without_the_option(f):
    with pytest.raises(wp.CompileError, match="unassigned"):
        results(kernel_of(f))


def late(n: int, x: float):
    if n > 3:
        y = x
    return y


def test_the_option_counts_for_later_launches_of_a_kernel(zero):
    kernel = kernel_of(late)
    with pytest.warns(wp.KernelWarning):
        results(kernel)
    wp.config.dialect = "python"
    with pytest.raises(wp.CompileError, match="unassigned"):
        results(kernel)


def test_each_line_is_named_once_also_in_functions_of_functions(zero):
    inner = wp.func(branches)

    def outer(n: int, x: float):
        if n > 2:
            z = inner(n, x)
        return z + inner(n, x)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results(kernel_of(outer))
    assert sorted(str(w.message).split()[0] for w in caught) == ["`y`", "`z`"]


def test_structs_and_vectors(zero):
    @wp.struct
    class Part:
        at: wp.vec3
        mass: float

    @wp.kernel
    def k(n: int, out: wp.array[wp.vec3]):
        if n > 0:
            part = Part()
            part.at = wp.vec3(1.0, 2.0, 3.0)
            v = wp.vec3(4.0)
        out[0] = part.at + v

    for n, expected in ((0, [0.0, 0.0, 0.0]), (1, [5.0, 6.0, 7.0])):
        out = wp.zeros(1, dtype=wp.vec3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wp.launch(k, 1, [n, out])
        assert out.list()[0] == wp.vec3(*expected)


def test_tiles(zero):
    @wp.kernel
    def k(n: int, x: wp.array[float], out: wp.array[float]):
        if n > 0:
            t = wp.tile_load(x, shape=8)
        wp.tile_store(out, t + t)

    x = wp.array(np.arange(8, dtype=np.float32))
    for n in (0, 1):
        out = wp.ones(8, dtype=float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wp.launch_tiled(k, dim=[1], inputs=[n, x, out], block_dim=8)
        np.testing.assert_array_equal(out.numpy(), 2 * n * x.numpy())


def test_arrays_are_missing(zero):
    @wp.kernel
    def k(n: int, x: wp.array[float], out: wp.array[int]):
        if n > 0:
            y = x
        if y:
            out[0] = y.shape[0]

    for n, expected in ((0, 7), (1, 3)):
        out = wp.full(1, 7, dtype=int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wp.launch(k, 1, [n, wp.zeros(3, dtype=float), out])
        assert out.list() == [expected]


def test_other_mistakes_are_told_as_usual(zero):
    @wp.kernel
    def k(n: int, x: wp.array[float]):
        if n > 0:
            y = 1.0
        x[0] = y + nothing  # noqa: F821 - the mistake

    with pytest.raises(wp.CompileError) as refused:
        wp.launch(k, 1, [1, wp.zeros(1, dtype=float)])
    assert "nothing" in str(refused.value) and "unassigned" not in str(refused.value)


def test_and_and_or_give_truth(zero):
    """As the C++ of warp-lang does. Its output of this kernel is all ones."""

    @wp.kernel
    def k(a: wp.array[int], f: wp.array[float], out: wp.array[float]):
        out[0] = float(a[0] and a[1])
        out[1] = float(a[0] or a[1])
        out[2] = float(f[0] and f[1])
        both = a[0] and a[1]
        out[3] = float(both)
        out[4] = float(f[0] or 0.0)

    given = wp.array([4, 6], dtype=int), wp.array([2.5, 3.5], dtype=float)
    for dialect, expected in (("warp-lang", [1.0] * 5), ("python", [6.0, 4.0, 3.5, 6.0, 2.5])):
        wp.config.dialect = dialect
        out = wp.zeros(5, dtype=float)
        wp.launch(k, 1, [*given, out])
        assert out.list() == expected


# Two numbers and whether `a < b`, `a == b`, by the rules of C. The C++ of warp-lang gives the same.
COMPARISONS = [
    (wp.int64(-1), wp.int32(5), True, False),
    (wp.int32(-1), wp.int64(2**33), True, False),
    (wp.uint32(5), wp.int32(-1), True, False),  # -1 becomes 4294967295
    (wp.uint64(5), wp.int32(-1), True, False),
    (wp.uint8(200), wp.int32(-56), False, False),  # both become int32
    (wp.int8(-56), wp.uint8(200), True, False),
    (wp.uint32(2**31), wp.int64(-1), False, False),
    (wp.int32(2), wp.float32(2.5), True, False),
    (wp.int32(2**24 + 1), wp.float32(2.0**24), False, True),  # the integer is rounded
    (wp.float32(0.1), wp.float64(0.1), False, False),
    (wp.float16(0.5), wp.int32(1), True, False),
]


@pytest.mark.parametrize(("a", "b", "is_less", "is_equal"), COMPARISONS, ids=str)
def test_numbers_of_two_types_are_compared_as_in_c(zero, a, b, is_less, is_equal):
    @wp.kernel
    def k(a: Any, b: Any, out: wp.array[int]):
        out[0] = int(a < b)
        out[1] = int(a == b)
        out[2] = int(b >= a)
        out[3] = int(b != a)

    out = wp.zeros(4, dtype=int)
    wp.launch(k, 1, [a, b, out])
    assert out.list() == [is_less, is_equal, is_less or is_equal, not is_equal]
    wp.config.dialect = "python"
    with pytest.raises(wp.CompileError, match="`<` cannot combine"):
        wp.launch(k, 1, [a, b, out])


def test_functions_of_math_are_those_of_the_library(zero):
    @wp.kernel
    def k(x: wp.array[float], out: wp.array[float]):
        i = wp.tid()
        out[i] = math.sqrt(x[i]) + math.floor(x[i])

    given = np.array([1.5, 2.25, 7.0], dtype=np.float32)
    out = wp.zeros(3, dtype=float)
    wp.launch(k, 3, [wp.array(given), out])
    np.testing.assert_allclose(out.numpy(), np.sqrt(given) + np.floor(given), rtol=1e-6)


def test_tuples_in_annotations_of_tuples():
    @wp.func
    def parts(x: float) -> tuple[int, tuple[float, float]]:
        return 3, (x, 2.0 * x)

    @wp.kernel
    def k(out: wp.array[float]):
        n, (a, b) = parts(5.0)
        out[n] = a + b

    out = wp.zeros(4, dtype=float)
    wp.launch(k, 1, [out])
    assert out.list() == [0.0, 0.0, 0.0, 15.0]


@wp.func  # noqa: RET503
def signed(n: int, x: float):
    if n > 2:
        return wp.vec2(x, 1.0), n
    if n > 0:
        return wp.vec2(0.0, x), -n


@wp.func  # noqa: RET503
def is_large(n: int) -> bool:
    if n > 2:
        return True
    if n < 1:
        return False


@wp.kernel
def ends_without_return(x: wp.array[float], out: wp.array[wp.vec4]):
    i = wp.tid()
    v, n = signed(i, x[i])
    out[i] = wp.vec4(v[0], v[1], float(n), wp.where(is_large(i), 1.0, 0.0))


def test_functions_return_zero_where_they_end_without_return(zero):
    out = wp.zeros(5, dtype=wp.vec4)
    with pytest.warns(wp.KernelWarning) as told:
        wp.launch(ends_without_return, 5, [wp.array(XS), out])
    text = " returns zero where it ends without `return`: Python would return None"
    assert sorted(str(w.message) for w in told) == [f"`is_large`{text}", f"`signed`{text}"]
    assert out.numpy().tolist() == [
        [0, 0, 0, 0],
        [0, XS[1], -1, 0],
        [0, XS[2], -2, 0],
        [XS[3], 1, 3, 1],
        [XS[4], 1, 4, 1],
    ]


def test_functions_that_end_without_return_are_an_error_without_the_option():
    @wp.func  # noqa: RET503
    def half(n: int):
        if n > 2:
            return n

    @wp.kernel
    def k(out: wp.array[int]):
        out[0] = half(out[0])

    with pytest.raises(wp.CompileError, match="`half` can end without returning a value"):
        wp.launch(k, 1, [wp.zeros(1, dtype=int)])


def test_a_launch_without_threads_looks_at_no_argument(zero):
    @wp.kernel
    def k(x: wp.array2d[float], y: wp.array[int]):
        y[wp.tid()] = int(x[0, 0])

    given = [wp.zeros(0, dtype=float), 3.0]
    for dim in (0, (4, 0)):
        wp.launch(k, dim, given)
    wp.config.dialect = "python"
    with pytest.raises(TypeError, match="argument `x`"):
        wp.launch(k, 0, given)


def test_shapes_have_room_for_all_dimensions(monkeypatch):
    """As in warp-lang 1.19, where the shape of an array of two dimensions is (3, 5, 0, 0)."""
    for dialect, error in (("warp-lang", None), ("python", "out of range for a tuple of 2")):
        monkeypatch.setattr(wp.config, "dialect", dialect)

        @wp.kernel(module="unique")
        def shape(x: wp.array2d(dtype=float), out: wp.array(dtype=int)):
            out[0] = x.shape[0]
            out[1] = x.shape[1]
            out[2] = x.shape[2]
            out[3] = x.shape[3]

        out = wp.full(4, 7, dtype=int)
        if error is None:
            wp.launch(shape, 1, [wp.zeros((3, 5), dtype=float), out])
            assert out.list() == [3, 5, 0, 0]
        else:
            with pytest.raises(wp.CompileError, match=error):
                wp.launch(shape, 1, [wp.zeros((3, 5), dtype=float), out])


def test_options_of_a_kernel_tell_whether_it_has_a_gradient():
    @wp.kernel(module="unique", enable_backward=False)
    def k(x: wp.array(dtype=float)):
        x[0] = 1.0

    assert k.options["enable_backward"] is False


@wp.kernel
def division_and_remainder(n: int, m: int, out: wp.array[int]):
    out[0] = n / m
    out[1] = n % m
    out[2] = -7 / 2
    out[3] = -7 % 2


@pytest.mark.parametrize("dialect, lines", [("python", 4), ("warp-lang", 0)])
def test_only_programs_for_python_hear_of_its_division(dialect, lines, monkeypatch):
    monkeypatch.setattr(wp.config, "dialect", dialect)
    out = wp.zeros(4, dtype=int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wp.launch(division_and_remainder, dim=1, inputs=[-7, 2, out])
    assert out.list() == [-3, -1, -3, -1]
    assert len(caught) == lines
