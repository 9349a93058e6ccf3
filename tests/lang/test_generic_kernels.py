"""Kernels whose parameters leave types open: what they compute is held against NumPy, which types they get against
the list here."""

import copy
import enum
import gc
import os
import sys
import weakref
from typing import Any, TypeVar

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.lang.annotations import type_of

FLOATS = (wp.float16, wp.float32, wp.float64)
NUMBERS = (wp.int8, wp.int16, wp.int32, wp.int64, wp.uint8, wp.uint16, wp.uint32, wp.uint64, *FLOATS)
T = TypeVar("T")
F = TypeVar("F", wp.float32, wp.float64)
N = TypeVar("N")


def fresh(body, **names):
    """A kernel of its own, so that no test sees the instances of another. It is given from its parameters on."""
    return wp.kernel_from_source("@wp.kernel\ndef k(" + body, namespace={**globals(), **names})


SCALE = """x: wp.array(dtype=Any), by: Any):
    i = wp.tid()
    x[i] = by * x[i]
"""


@pytest.fixture(params=["release", "debug", "interpret"])
def mode(request):
    wp.config.mode = request.param
    yield request.param
    wp.config.mode = "release"


@pytest.mark.parametrize("dtype", NUMBERS)
def test_every_number_type(mode, dtype):
    kernel = fresh(SCALE)
    x = wp.array([1, 2, 3], dtype=dtype)
    wp.launch(kernel, dim=3, inputs=[x, dtype(2)])
    assert x.list() == [2, 4, 6]
    assert x.dtype is dtype


def test_launches_go_to_the_instance_that_fits(mode):
    kernel = fresh(SCALE)
    floats, ints = wp.array([1.0, 2.0], dtype=float), wp.array([1, 2], dtype=int)
    vectors = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3)
    for _ in range(3):
        wp.launch(kernel, dim=2, inputs=[floats, 2.0])
        wp.launch(kernel, dim=2, inputs=[ints, 3])
        wp.launch(kernel, dim=2, inputs=[vectors], outputs=[2.0])
    assert floats.list() == [8.0, 16.0]
    assert ints.list() == [27, 54]
    np.testing.assert_array_equal(vectors.numpy(), 8 * np.array([[1, 2, 3], [4, 5, 6]]))
    assert len(kernel.overloads) == 3


def test_numpy_arrays_tell_their_types(mode):
    kernel = fresh(SCALE)
    for dtype in (np.float32, np.float64, np.int16, np.float32):
        x = np.arange(4).astype(dtype)
        wp.launch(kernel, dim=4, inputs=[x, dtype(3)])
        np.testing.assert_array_equal(x, 3 * np.arange(4).astype(dtype))
    assert len(kernel.overloads) == 3


@pytest.mark.cpu
def test_numpy_arrays_of_other_byte_order_are_refused_each_time():
    kernel = fresh(SCALE)
    x = np.arange(4, dtype=np.float32)
    wp.launch(kernel, dim=4, inputs=[x, 2.0])
    with pytest.raises((TypeError, ValueError), match="`x`"):
        wp.launch(kernel, dim=4, inputs=[x.astype(">f4"), 2.0])


@pytest.mark.cpu
def test_components_in_the_shape_of_numpy_arrays():
    kernel = fresh(
        "x: wp.array(dtype=wp.types.vector(length=Any, dtype=Any)), n: wp.array(dtype=int)):\n"
        "    i = wp.tid()\n    n[i] = x[i].length\n"
    )
    n = np.zeros(2, np.int32)
    for length in (2, 3, 5, 3):
        wp.launch(kernel, dim=2, inputs=[np.zeros((2, length), np.float32), n])
        assert n.tolist() == [length, length]


class Level(enum.IntEnum):
    LOW = 1


@wp.struct
class Pair:
    a: float
    b: wp.vec3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, wp.int32),
        (-1, wp.int32),
        (3.0, wp.float32),
        (True, wp.bool),
        (Level.LOW, wp.int32),
        (wp.int8(1), wp.int8),
        (wp.float64(1), wp.float64),
        (np.float64(1), wp.float64),
        (np.int64(1), wp.int64),
        (np.bool_(True), wp.bool),
        (wp.vec3(), wp.vec3),
        (wp.mat22d(), wp.mat22d),
        (wp.quat(), wp.quat),
        (wp.transform(), wp.transform),
        (Pair(), Pair),
        (wp.zeros((2, 2), dtype=wp.vec3), wp.array2d[wp.vec3]),
        (np.zeros(3), wp.array[wp.float64]),
        (np.zeros((3, 2), np.int8), wp.array2d[wp.int8]),
    ],
)
def test_inferred_types(value, expected):
    kernel = fresh("a: float, x: Any):\n    pass\n")
    found = kernel.infer_argument_types([0, value])  # of a struct, the class that was defined last with such fields
    assert [type_of(t) for t in found] == [type_of(wp.float32), type_of(expected)]


@pytest.mark.cpu
@pytest.mark.parametrize("value", [None, (1.0, 2.0), [1, 2], "s", object(), complex(1), wp.vec3, np.zeros((1,) * 5)])
def test_values_without_a_type(value):
    kernel = fresh("x: Any):\n    pass\n")
    with pytest.raises(TypeError, match=r"kernel `k`: argument `x` takes Any, got "):
        wp.launch(kernel, dim=1, inputs=[value])


def test_type_variables_tie_parameters_together(mode):
    kernel = fresh(
        "x: wp.array(dtype=T), y: wp.array(dtype=T), by: T):\n    i = wp.tid()\n    y[i] = T(2) * x[i] + by\n"
    )
    for dtype in (wp.float64, wp.int32):
        x, y = wp.array([1, 2], dtype=dtype), wp.zeros(2, dtype=dtype)
        wp.launch(kernel, dim=2, inputs=[x, y, 3])  # a bare number takes the type of the variable
        assert y.list() == [5, 7]
    with pytest.raises(TypeError, match=r"argument `y` takes array\[float64\], got array\[int32\]"):
        wp.launch(kernel, dim=2, inputs=[wp.zeros(2, dtype=wp.float64), wp.zeros(2, dtype=int), 3])
    wp.launch(kernel, dim=0, inputs=[None, wp.zeros(2, dtype=wp.float64), 3])


def test_constrained_type_variables():
    kernel = fresh("x: F):\n    pass\n")
    assert kernel.infer_argument_types([wp.float64(1)]) == [wp.float64]
    assert kernel.infer_argument_types([1]) == [wp.float32]
    with pytest.raises(TypeError, match="takes F, got float16"):
        kernel.infer_argument_types([wp.float16(1)])


def test_public_type_variables_stand_each_on_its_own(mode):
    kernel = fresh(
        "x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Scalar), n: wp.Int):\n"
        "    i = wp.tid()\n    x[i] = x.dtype(y[i]) + x.dtype(n)\n"
    )
    x = wp.zeros(2, dtype=wp.float64)
    wp.launch(kernel, dim=2, inputs=[x, wp.array([1, 2], dtype=wp.int16), wp.int64(5)])
    assert x.list() == [6.0, 7.0]
    with pytest.raises(TypeError, match=r"argument `x` takes array\[Float\], got array\[int32\]"):
        wp.launch(kernel, dim=2, inputs=[wp.zeros(2, dtype=int), x, 5])
    with pytest.raises(TypeError, match="argument `n` takes Int, got float"):
        wp.launch(kernel, dim=2, inputs=[x, x, 5.0])


def test_vectors_and_matrices_of_any_shape(mode):
    kernel = fresh(
        "m: wp.types.matrix(shape=(Any, N), dtype=T), v: wp.types.vector(length=N, dtype=T), out: wp.array(dtype=Any)):"
        "\n    out[0] = m * v\n    if m.shape[1] != N or v.length != N:\n        out[0] = type(out[0])()\n"
    )
    rng = np.random.default_rng(1)
    for rows, cols, dtype in ((2, 3, wp.float64), (3, 3, wp.float32), (4, 2, wp.float64)):
        m, v = rng.integers(-9, 9, (rows, cols)), rng.integers(-9, 9, cols)
        out = wp.zeros(1, dtype=wp.types.vector(rows, dtype))
        mat, vec = wp.types.matrix((rows, cols), dtype), wp.types.vector(cols, dtype)
        wp.launch(kernel, dim=1, inputs=[mat(*m.flatten().tolist()), vec(*v.tolist()), out])
        np.testing.assert_array_equal(out.numpy()[0], m @ v)
    with pytest.raises(TypeError, match="argument `v` takes"):
        wp.launch(kernel, dim=1, inputs=[wp.mat22(), wp.vec3(), out])


def test_arrays_of_open_types_in_two_dimensions(mode):
    kernel = fresh(
        "x: wp.array2d(dtype=Any), y: wp.array(dtype=Any, ndim=2), z: wp.array[Any], w: Any):\n"
        "    i, j = wp.tid()\n    y[i, j] = x[i, j] + z[j] + w[i]\n"
    )
    x, z = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    y = wp.zeros((2, 3), dtype=wp.float64)
    wp.launch(kernel, dim=(2, 3), inputs=[x, y, z, wp.array([10, 20], dtype=wp.float64)])
    np.testing.assert_array_equal(y.numpy(), x + z + [[10], [20]])
    with pytest.raises(TypeError, match=r"argument `x` takes array2d\[Any\], got array\[float64\]"):
        wp.launch(kernel, dim=(2, 3), inputs=[z, y, z, z])


@wp.func
def doubled(x: Any) -> Any:
    return type(x)(2) * x


@wp.func
def first(a: wp.array(dtype=wp.Float)) -> Any:
    return a[0] * a.dtype(3)


@wp.func
def reversed_vector(v: wp.types.vector(length=Any, dtype=Any)):
    out = type(v)()
    for i in range(v.length):
        out[i] = v[v.length - 1 - i] + v.dtype(i)
    return out


@wp.func
def between(low: T, high: T, t: T) -> T:
    return low + (high - low) * t


def test_generic_functions_in_generic_kernels(mode):
    kernel = fresh(
        "x: wp.array(dtype=Any), v: wp.array(dtype=Any)):\n"
        "    x[1] = doubled(x[0]) + first(x) + between(x[0], x.dtype(3), x.dtype(1) / x.dtype(2))\n"
        "    v[0] = reversed_vector(v[0])\n"
    )
    for dtype, vector in ((wp.float32, wp.vec3), (wp.float64, wp.vec4d)):
        n = vector._length_
        x, v = wp.array([1, 0], dtype=dtype), wp.array([list(range(n))], dtype=vector)
        wp.launch(kernel, dim=1, inputs=[x, v])
        assert x.list() == [1.0, 2.0 + 3.0 + 2.0]
        np.testing.assert_array_equal(v.numpy()[0], np.arange(n)[::-1] + np.arange(n))


def test_structs_and_none(mode):
    kernel = fresh("s: Any, x: wp.array(dtype=Any)):\n    x[0] = s.a + s.b[2]\n")
    pair = Pair(a=1.0, b=wp.vec3(2.0, 3.0, 4.0))
    x = wp.zeros(1, dtype=float)
    wp.launch(kernel, dim=1, inputs=[pair, x])
    assert x.list() == [5.0]


# -- overloads ------------------------------------------------------------------------------------------------------


def test_overload_by_list_and_by_name():
    kernel = fresh(SCALE)
    one = wp.overload(kernel, [wp.array(dtype=wp.float64), wp.float64])
    assert wp.overload(kernel, {"x": wp.array[wp.float64], "by": wp.float64}) is one
    assert kernel.add_overload([wp.array[wp.float64], wp.float64]) is one
    assert kernel.get_overload([wp.array[wp.float64], wp.float64]) is one
    assert kernel.get_overload([wp.array[float], float]) is None
    assert (kernel.is_generic, one.is_generic, one.parent) == (True, False, kernel)
    x = wp.ones(2, dtype=wp.float64)
    wp.launch(one, dim=2, inputs=[x, 3.0])  # its types are known: the number is a float64
    assert x.list() == [3.0, 3.0]
    wp.launch(kernel, dim=2, inputs=[x, wp.float64(2)])
    assert len(kernel.overloads) == 1


def test_overload_as_decorator():
    @wp.kernel
    def scale(x: wp.array(dtype=Any), by: Any):
        i = wp.tid()
        x[i] = by * x[i]

    generic = scale

    @wp.overload
    def scale(x: wp.array(dtype=wp.vec3), by: float): ...

    @wp.overload
    def scale(x: wp.array(dtype=wp.vec2), by: float):
        """For the plane."""

    assert scale is generic
    assert [[t.key for t in types] for types in scale.overloads] == [
        ["array1<vec3<f32>>", "f32"],
        ["array1<vec2<f32>>", "f32"],
    ]
    x = wp.ones(2, dtype=wp.vec3)
    wp.launch(scale, dim=2, inputs=[x, 2.0])
    np.testing.assert_array_equal(x.numpy(), np.full((2, 3), 2.0))


@pytest.mark.parametrize(
    ("types", "error", "message"),
    [
        ([wp.array[float]], TypeError, r"kernel `k` has 2 parameters \(x, by\), got 1 types"),
        ([wp.array2d[float], float], TypeError, r"`x`: expected array\[Any\], got array2d\[float32\]"),
        ({"x": wp.array[float]}, TypeError, "`by` is still generic in the overload: Any"),
        ({"y": wp.array[float], "by": float}, ValueError, "no parameter `y`: it has x, by"),
        ([wp.array[float], "float"], TypeError, "`by`: `'float'` is not a type that kernels know"),
    ],
)
def test_overloads_that_do_not_fit(types, error, message):
    with pytest.raises(error, match=message):
        wp.overload(fresh(SCALE), types)


def test_overload_is_of_generic_kernels():
    plain = fresh("x: wp.array(dtype=float)):\n    x[0] = 1.0\n")
    with pytest.raises(TypeError, match="has no overloads: it is not generic"):
        wp.overload(plain, [wp.array[float]])
    with pytest.raises(TypeError, match="there is no kernel `nothing` here"):

        @wp.overload
        def nothing(x: float): ...

    with pytest.raises(TypeError, match=r"write `\.\.\.`"):
        generic = fresh(SCALE)

        @wp.overload
        def generic(x: wp.array(dtype=float), by: float):  # noqa: F811
            x[0] = 1.0


def test_hashes_and_names():
    kernel = fresh(SCALE)
    a, b = (kernel.add_overload([wp.array[t], t]) for t in (wp.float32, wp.float64))
    assert kernel.hash is None
    assert len(a.hash) == len(b.hash) == 20
    assert a.hash != b.hash
    assert a.hash == fresh(SCALE).add_overload([wp.array[float], float]).hash
    assert a.get_mangled_name() == f"k_{a.hash.hex()[:8]}" != b.get_mangled_name()
    assert a.get_mangled_name(kernel_hash=b"\x01\x02\x03\x04\x05") == "k_01020304"
    with pytest.raises(ValueError, match="generic"):
        kernel.get_mangled_name()


# -- launches -------------------------------------------------------------------------------------------------------


def test_recorded_launches(mode):
    kernel = fresh(SCALE)
    x, y = wp.ones(2, dtype=wp.float64), wp.ones(2, dtype=int)
    for _ in range(2):  # through Python first, then through native code
        command = wp.launch(kernel, dim=2, inputs=[x, wp.float64(2)], record_cmd=True)
        command.launch()
    assert x.list() == [4.0, 4.0]
    command.set_param_by_name("by", wp.float64(0.5))
    command.launch()
    assert x.list() == [2.0, 2.0]
    with pytest.raises(TypeError, match="`x`"):
        command.set_param_at_index(0, y)
        command.launch()


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")  # of a race
def test_options_are_looked_at_again(capfd):
    kernel = fresh("x: wp.array(dtype=Any)):\n    i = wp.tid()\n    x[i + 1] = x[i]\n")
    x = wp.zeros(3, dtype=float)
    wp.launch(kernel, dim=2, inputs=[x])
    wp.config.mode = "debug"
    try:
        with pytest.raises(wp.KernelError) as caught:
            wp.launch(kernel, dim=3, inputs=[x])
    finally:
        wp.config.mode = "release"
    assert (caught.value.kind, caught.value.thread) == ("bounds", (2,))
    wp.launch(kernel, dim=2, inputs=[x])


def test_strided_arrays():
    kernel = fresh(SCALE)
    x = wp.array(np.arange(8), dtype=wp.float64)
    wp.launch(kernel, dim=4, inputs=[x[::2], wp.float64(2)])
    wp.launch(kernel, dim=8, inputs=[x, wp.float64(3)])
    assert x.list() == [0, 3, 12, 9, 24, 15, 36, 21]


def test_redefinition_makes_new_instances():
    x = wp.ones(1, dtype=wp.int64)
    for by in (2, 3):
        kernel = fresh(f"x: wp.array(dtype=Any)):\n    x[0] = x[0] * x.dtype({by})\n")
        wp.launch(kernel, dim=1, inputs=[x])
    assert x.list() == [6]


@pytest.mark.cpu
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork():
    kernel = fresh(SCALE)
    x = wp.ones(2, dtype=wp.float64)
    wp.launch(kernel, dim=2, inputs=[x, wp.float64(2)])
    child = os.fork()
    if child == 0:
        wp.launch(kernel, dim=2, inputs=[x, wp.float64(2)])
        y = wp.ones(2, dtype=wp.int16)
        wp.launch(kernel, dim=2, inputs=[y, wp.int16(2)])
        os._exit(0 if x.list() == [4, 4] and y.list() == [2, 2] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_kernels_and_their_tables_are_collected():
    kernel = fresh(SCALE)
    x = wp.ones(2, dtype=float)
    for _ in range(3):
        wp.launch(kernel, dim=2, inputs=[x, 2.0])
    gc.collect()  # the garbage of other tests is not counted
    count = sys.getrefcount(np.dtype(np.float32))
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None
    assert abs(sys.getrefcount(np.dtype(np.float32)) - count) < 10


def test_instances_of_a_module_are_compiled_ahead():
    kernel = fresh(SCALE)
    wp.overload(kernel, [wp.array[float], float])
    module = type(sys)("generic_kernels_of_a_test")
    module.kernel = kernel
    wp.load_module(module)
    assert all(k._plans for k in kernel.overloads.values())


# -- mistakes -------------------------------------------------------------------------------------------------------


def test_the_report_names_the_types():
    kernel = fresh("x: wp.array(dtype=Any), by: Any):\n    i = wp.tid()\n    x[i] = by * x[i]\n")
    with pytest.raises(wp.CompileError) as caught:
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float), 2])
    report = str(caught.value)
    assert report.startswith("kernel `k` for (x: array[float32], by: int32) does not compile (1 error)")
    assert "`*` cannot combine int32 and float32" in report
    assert "4 |     x[i] = by * x[i]" in report
    wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float), 2.0])  # other types are not concerned


def test_free_type_variables_stand_for_no_single_type():
    kernel = fresh("x: wp.array(dtype=wp.Float)):\n    x[0] = wp.Float(1.0)\n")
    with pytest.raises(wp.CompileError, match="`Float` stands for no single type here"):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])


def test_counts():
    words = (
        r"kernel `k` takes 2 arguments \(x, by\), but inputs and outputs give 1; the first missing one is `by`; "
        r"write inputs=\[x, by\]$"
    )
    with pytest.raises(TypeError, match=words):
        wp.launch(fresh(SCALE), dim=1, inputs=[wp.zeros(1, dtype=float)])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: wp.types.vector(length=0, dtype=Any), ValueError, "length of at least 1, got 0"),
        (lambda: wp.types.vector(length="3", dtype=Any), ValueError, "length of at least 1, got '3'"),
        (lambda: wp.types.vector(length=Any, dtype=wp.vec3), TypeError, "takes a scalar dtype"),
        (lambda: wp.types.matrix(shape=(Any,), dtype=Any), ValueError, "shape of"),
        (lambda: wp.array[wp.array[Any]].__wc_type__, TypeError, "an array cannot be the element of an array"),
        (lambda: wp.zeros(3, dtype=Any), TypeError, "is not a type that a value can have"),
    ],
)
def test_open_types_that_make_no_sense(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.cpu
def test_annotations_are_no_arguments():
    for text in ("x: Any):\n    pass\n", "x: wp.array(dtype=Any)):\n    pass\n"):
        with pytest.raises(TypeError, match="kernel `k`: argument `x` takes"):
            wp.launch(fresh(text), dim=1, inputs=[wp.array(dtype=Any)])
        with pytest.raises(TypeError, match="kernel `k`: argument `x` takes"):
            wp.launch(fresh(text), dim=1, inputs=[np.zeros(3, "f4,f4")])


def test_bare_numbers_of_one_variable():
    kernel = fresh("x: T, y: T):\n    pass\n")
    assert kernel.infer_argument_types([1, 2.0]) == [wp.float32, wp.float32]
    assert kernel.infer_argument_types([1, wp.float64(2)]) == [wp.float64, wp.float64]


def test_copies_of_type_variables():
    assert copy.deepcopy(wp.Float) is wp.Float
    assert copy.copy(wp.Int) is wp.Int
