"""Memory shared without any framework: DLPack both ways, its table of functions, buffers, `__array__`, pickles."""

import copy
import ctypes
import gc
import pickle

import numpy as np
import pytest

import omni.warp_core as wp
from tests.interop.table import SET_ERROR, Foreign, Managed, Tensor, numpy_of, table_of
from tests.kernels import double

NUMBERS = [
    bool,
    wp.int8,
    wp.int16,
    int,
    wp.int64,
    wp.uint8,
    wp.uint16,
    wp.uint32,
    wp.uint64,
    wp.float16,
    float,
    wp.float64,
]


@wp.kernel
def first(x: wp.array(dtype=wp.uint8), y: wp.array(dtype=wp.uint8)):
    y[0] = x[0]


@wp.kernel
def lengths(v: wp.array2d(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = wp.length(v[i, j])


@wp.kernel
def twice(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Float)):
    i = wp.tid()
    y[i] = x[i] + x[i]


@wp.struct
class Pair:
    a: float
    b: float


# -- taking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
def test_tensors_come_in_without_a_copy(dtype):
    numbers = np.array([[0, 1, 1], [1, 0, 1]], wp.dtype_to_numpy(dtype))
    a = wp.from_dlpack(Foreign(numbers))
    assert a.numpy().dtype == numbers.dtype
    assert (a.ptr, a.shape, a.readonly) == (numbers.ctypes.data, (2, 3), False)
    numbers[0, 0] = 1
    assert a.numpy()[0, 0] == 1


def test_strided_tensors_come_in_without_a_copy():
    numbers = np.arange(24.0).reshape(4, 6)
    for part in (numbers.T, numbers[::2, 1::2], numbers[1], numbers[:0]):
        assert np.array_equal(wp.from_dlpack(Foreign(part)).numpy(), part)
    assert wp.from_dlpack(Foreign(numbers, strides=None)).shape == (4, 6)  # C order
    assert wp.from_dlpack(Foreign(np.array(7.0))).list() == [7.0]


def test_tensors_are_given_back():
    before = Foreign.given_back
    a = wp.from_dlpack(Foreign(np.zeros(3)))
    view = a[1:]
    del a
    gc.collect()
    assert Foreign.given_back == before
    del view
    with pytest.raises(TypeError, match="expected elements of int32, got float64"):
        wp.from_dlpack(Foreign(np.zeros(3)), dtype=int)
    gc.collect()
    assert Foreign.given_back == before + 2


def test_bfloat16_comes_in():
    bits = np.array([0x3F80, 0xC000], np.uint16)
    a = wp.from_dlpack(Foreign(bits, code=4))
    assert (a.dtype, a.list()) == (wp.bfloat16, [1.0, -2.0])
    assert wp.array(a, dtype=float).list() == [1.0, -2.0]


def test_trailing_dimensions_become_components():
    numbers = np.arange(36, dtype=np.float32).reshape(2, 6, 3)
    a = wp.from_dlpack(Foreign(numbers), dtype=wp.vec3)
    assert (a.shape, a.ptr, a[1, 2]) == ((2, 6), numbers.ctypes.data, wp.vec3(*numbers[1, 2]))
    assert wp.from_dlpack(Foreign(numbers.reshape(2, 2, 3, 3)), dtype=wp.mat33).shape == (2, 2)
    assert wp.from_dlpack(Foreign(numbers[0, 0]), dtype=wp.vec3).shape == (1,)
    for wrong, error, text in (
        (numbers, TypeError, r"expected elements of vec2f, got float32 of shape \(2, 6, 3\)"),
        (np.array(1.0, np.float32), TypeError, "expected elements of vec2f"),
        (np.ones((2, 3), np.float32).T, ValueError, "components of an element must be contiguous"),
    ):
        with pytest.raises(error, match=text):
            wp.from_dlpack(Foreign(wrong), dtype=wp.vec2)


def test_numbers_of_one_size_stand_for_each_other():
    numbers = np.array([-1, 2], np.int32)
    a = wp.from_dlpack(Foreign(numbers), dtype=wp.uint32)
    assert (a.ptr, a.list()) == (numbers.ctypes.data, [2**32 - 1, 2])
    assert wp.from_dlpack(Foreign(np.array([True])), dtype=wp.uint8).list() == [1]
    out = np.zeros(1, np.uint8)
    wp.launch(first, dim=1, inputs=[Foreign(np.array([True])), Foreign(out)])
    assert out[0] == 1
    with pytest.raises(TypeError, match="got data of bool"):  # NumPy has all types
        wp.launch(first, dim=1, inputs=[np.array([True]), Foreign(out)])
    for given, dtype in ((np.int32, float), (np.uint8, bool), (np.int64, int), (np.float32, float)):
        with pytest.raises(TypeError, match="expected elements of"):
            wp.from_dlpack(Foreign(np.zeros(2, given)), dtype=wp.float64 if dtype is float else dtype)


@pytest.mark.parametrize(
    ("tensor", "error", "text"),
    [
        (lambda: Foreign(np.zeros(2, complex)), TypeError, "do not support numbers of complex128"),
        (lambda: Foreign(np.zeros(2, np.uint8), code=9), TypeError, "do not support numbers of float8"),
        (lambda: Foreign(np.zeros(2, np.float32), lanes=4), TypeError, "4 lanes"),
        (lambda: Foreign(np.zeros((1,) * 5)), ValueError, "up to 4 dimensions"),
        (lambda: Foreign(np.zeros((1,) * 9)), ValueError, "up to 4 dimensions, got 9 dimensions"),
        (lambda: Foreign(np.zeros(2), data=0), ValueError, "source: it has elements, but no memory for them"),
        (lambda: Foreign(np.zeros(3), offset=4), ValueError, "not aligned to its float64"),
        (lambda: Foreign(np.zeros(3), device_type=8), RuntimeError, "device of kind 8 of DLPack"),
    ],
)
def test_tensors_that_do_not_fit(tensor, error, text):
    with pytest.raises(error, match=text):
        wp.from_dlpack(tensor())


def test_read_only_tensors_stay_so():
    a = wp.from_dlpack(Foreign(np.zeros(3, np.float32), read_only=True))
    assert a.readonly
    with pytest.raises(ValueError, match="is read-only but the kernel writes it"):
        wp.launch(double, dim=3, inputs=[a])


def test_launches_take_tensors():
    x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    wp.launch(double, dim=6, inputs=[Foreign(x)])
    assert x.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    wp.launch(twice, dim=3, inputs=[Foreign(x[::2]), Foreign(y[1::2])])
    assert y.tolist() == [0.0, 0.0, 0.0, 8.0, 0.0, 16.0]
    v, out = np.random.default_rng(1).normal(size=(4, 5, 3)).astype(np.float32), np.zeros((4, 5), np.float32)
    wp.launch(lengths, dim=(4, 5), inputs=[Foreign(v), Foreign(out)])
    assert np.allclose(out, np.linalg.norm(v.astype(np.float64), axis=-1))


def test_recorded_launches_hold_tensors():
    before, x = Foreign.given_back, np.ones(3, np.float32)
    command = wp.launch(double, dim=3, inputs=[Foreign(x)], record_cmd=True)
    gc.collect()
    assert Foreign.given_back == before
    command.launch()
    assert x.tolist() == [2.0] * 3
    del command
    gc.collect()
    assert Foreign.given_back == before + 1


@pytest.mark.parametrize(
    ("tensor", "error", "text"),
    [
        (lambda: Foreign(np.zeros(3)), TypeError, r"expects an array of float32 .* got data of float64 .*convert it"),
        (lambda: Foreign(np.zeros((3, 3), np.float32)), TypeError, "declare the parameter with ndim=2"),
        (lambda: Foreign(np.zeros(3, np.float32), data=0), ValueError, "it has elements, but no memory for them"),
        (
            lambda: Foreign(np.zeros(3, np.float32), device_type=2),
            ValueError,
            r"is on cuda:0 but the launch is on the CPU",
        ),
        (lambda: Foreign(np.zeros(3, np.float32), device_type=8), ValueError, "is on a device that kernels do not run"),
        (lambda: Foreign(np.zeros(3, np.float32), offset=2), ValueError, "is not aligned"),
    ],
)
def test_launches_say_which_tensor_does_not_fit(tensor, error, text):
    with pytest.raises(error, match=rf"kernel `double`: argument `x` .*{text}"):
        wp.launch(double, dim=3, inputs=[tensor()], device="cpu")


def test_tensors_that_require_a_gradient_are_refused():
    tensor = Foreign(np.zeros(3, np.float32))
    tensor.requires_grad = True
    for command in (False, True):
        with pytest.raises(TypeError, match="requires a gradient"):
            wp.launch(double, dim=3, inputs=[tensor], record_cmd=command)
    assert wp.from_dlpack(tensor).shape == (3,)  # asked for outright


def test_arrays_are_made_of_tensors():
    numbers = np.arange(6, dtype=np.int32).reshape(2, 3)
    shared, copied = wp.array(Foreign(numbers), copy=False), wp.array(Foreign(numbers), dtype=float)
    numbers[0, 0] = 7
    assert (shared[0, 0], copied[0, 0], copied.dtype) == (7, 0.0, wp.float32)
    assert wp.array(Foreign(numbers.astype(np.float32)), dtype=wp.vec3).shape == (2,)


class Numbers:
    """An object with nothing but `__array__`, which makes a copy if it is told so."""

    def __init__(self, numbers, copies=False):
        self.numbers, self.copies = numbers, copies

    def __array__(self, dtype=None, copy=None):
        return self.numbers.copy() if self.copies else self.numbers


def test_objects_with_array_alone():
    x = np.ones(3, np.float32)
    wp.launch(double, dim=3, inputs=[Numbers(x)])
    assert x.tolist() == [2.0] * 3
    with pytest.raises(ValueError, match="read-only but the kernel writes it"):  # the results would be lost
        wp.launch(double, dim=3, inputs=[Numbers(x, copies=True)])
    y = wp.zeros(3, dtype=float)
    wp.launch(twice, dim=3, inputs=[wp.array(Numbers(x, copies=True)), y])
    assert y.list() == [4.0] * 3
    assert wp.array(Numbers(x), copy=False).ptr == x.ctypes.data


# -- giving -----------------------------------------------------------------------------------------------------------


def managed(a):
    """A tensor that the table of our class gives."""
    out = ctypes.POINTER(Managed)()
    assert table_of(wp.array).from_object(a, ctypes.byref(out)) == 0
    return out.contents


@pytest.mark.parametrize("dtype", [*NUMBERS, wp.bfloat16])
def test_arrays_go_out_by_the_table(dtype):
    a = wp.array([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    lent = managed(a)
    assert (lent.major, lent.minor, lent.flags, lent.tensor.data) == (1, 3, 0, a.ptr)
    assert np.array_equal(numpy_of(lent), a.numpy())
    b = wp.from_dlpack(a.__dlpack__(max_version=(1, 3)))
    assert (b.dtype, b.ptr, b.list()) == (a.dtype, a.ptr, a.list())
    lent.deleter(lent)


def test_components_and_strides_go_out():
    a = wp.array(np.arange(72).reshape(2, 4, 9), dtype=wp.mat33)[:, ::2]
    lent = managed(a)
    assert np.array_equal(numpy_of(lent), a.numpy())
    assert [lent.tensor.shape[i] for i in range(lent.tensor.ndim)] == [2, 2, 3, 3]
    lent.deleter(lent)
    borrowed = Tensor()
    assert table_of(wp.array).borrow(a, ctypes.byref(borrowed)) == 0
    assert np.array_equal(numpy_of(Managed(tensor=borrowed)), a.numpy())


def test_what_goes_out_keeps_memory_alive():
    a = wp.full(3, 5.0, dtype=float)
    lent = managed(a)
    del a
    gc.collect()
    assert numpy_of(lent).tolist() == [5.0] * 3
    lent.deleter(lent)


def test_the_table_takes_and_makes_arrays():
    a, out = wp.array([1.0, 2.0], dtype=float), ctypes.c_void_p()
    assert table_of(wp.array).to_object(managed(a), ctypes.byref(out)) == 0
    b = ctypes.cast(out, ctypes.py_object).value
    assert (type(b), b.ptr, b.list()) == (wp.array, a.ptr, [1.0, 2.0])
    like, made, errors = Tensor(), ctypes.POINTER(Managed)(), []
    Foreign(np.zeros((2, 3), np.int16)).fill(like)
    like.shape = (ctypes.c_int64 * 2)(2, 3)
    report = SET_ERROR(lambda _, kind, message: errors.append((kind, message)))
    assert table_of(wp.array).allocate(ctypes.byref(like), ctypes.byref(made), None, report) == 0
    assert (numpy_of(made.contents).shape, made.contents.tensor.bits) == ((2, 3), 16)
    made.contents.deleter(made.contents)
    like.code = 5
    assert table_of(wp.array).allocate(ctypes.byref(like), ctypes.byref(made), None, report) == -1
    assert b"do not support numbers" in errors[0][1]
    stream = ctypes.c_void_p(1)
    assert table_of(wp.array).current_stream(1, 0, ctypes.byref(stream)) == 0
    assert stream.value is None


@pytest.mark.parametrize(
    ("a", "options", "text"),
    [
        (lambda: wp.zeros(4, dtype=float)[::-1], {}, "negative strides cannot be shared .* a.contiguous"),
        (lambda: wp.zeros(4, dtype=Pair), {}, "the elements are structs Pair"),
        (lambda: wp.zeros(4), {"stream": 7}, "an array on the CPU has no streams"),
        (lambda: wp.zeros(4), {"dl_device": (2, 0)}, r"not on DLPack's device \(2, 0\)"),
        (lambda: wp.array(Foreign(np.zeros(2), read_only=True), copy=False), {}, r"read-only.*max_version=\(1, 0\)"),
    ],
)
def test_arrays_that_cannot_go_out(a, options, text):
    with pytest.raises(BufferError, match=text):
        a().__dlpack__(**options)
    if not options and "max_version" not in text:
        with pytest.raises(BufferError, match=text):
            managed(a())


def test_what_dlpack_is_asked_for():
    a = wp.array([1.0, 2.0], dtype=float)[::-1]
    dense = wp.from_dlpack(a.__dlpack__(copy=True, max_version=(1, 0)))
    assert dense.list() == [2.0, 1.0]
    assert np.from_dlpack(wp.ones(2)).tolist() == [1.0, 1.0]
    b = wp.ones(2)
    assert wp.from_dlpack(b.__dlpack__(copy=False, dl_device=(1, None), stream=-1)).ptr == b.ptr
    assert wp.from_dlpack(b.__dlpack__(max_version=(2, 0))).ptr == b.ptr  # the newest that both know


# -- buffers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
def test_buffers_of_arrays(dtype):
    a = wp.array([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    view = memoryview(a)
    assert np.array_equal(np.asarray(view), a.numpy())
    assert (view.shape, view.readonly, view.nbytes) == ((2, 3), False, a.capacity)


def test_buffers_share_memory_and_have_components():
    a = wp.zeros((2, 3), dtype=wp.vec2)
    np.asarray(memoryview(a))[1, 2, 1] = 5.0
    assert a[1, 2] == wp.vec2(0.0, 5.0)
    part = a[:, ::-2]
    assert np.array_equal(np.asarray(memoryview(part)), a.numpy()[:, ::-2])
    bytearray(8)[:] = memoryview(wp.ones(2, dtype=float)).cast("B")
    view = memoryview(wp.full(2, 3.0, dtype=float))  # holds the array
    gc.collect()
    assert view.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("a", "text"),
    [
        (lambda: wp.zeros(2, dtype=wp.bfloat16), "no format for bfloat16"),
        (lambda: wp.zeros(2, dtype=Pair), "arrays of structs"),
    ],
)
def test_arrays_without_buffers(a, text):
    with pytest.raises(BufferError, match=text):
        memoryview(a())
    assert len(np.asarray(a())) == 2  # by other ways


def test_buffers_as_they_are_asked_for():
    strided = wp.zeros((4, 4), dtype=float)[:, ::2]
    for form in ("<f", ">f"):  # writes through a contiguous buffer
        with pytest.raises((BufferError, ValueError, TypeError)):
            np.frombuffer(strided, form)
    readonly = wp.array(Foreign(np.zeros(2), read_only=True), copy=False)
    assert memoryview(readonly).readonly
    with pytest.raises((BufferError, TypeError)):
        (ctypes.c_double * 2).from_buffer(readonly)
    assert (ctypes.c_float * 2).from_buffer(wp.ones(2, dtype=float))[1] == 1.0


# -- pickles and copies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", [bool, int, wp.bfloat16, wp.vec3, wp.mat22, wp.quat, Pair])
def test_arrays_survive_pickles(dtype, protocol):
    a = wp.zeros((2, 3), dtype=dtype)
    if dtype is not Pair:
        a.numpy()[...] = np.arange(a.numpy().size).reshape(a.numpy().shape)
    b = pickle.loads(pickle.dumps(a[:, ::-1], protocol))
    assert (b.dtype, b.shape, b.device, b.grad) == (a.dtype, (2, 3), a.device, None)
    assert np.array_equal(b.numpy(), a.numpy()[:, ::-1])
    assert b.is_contiguous


def _made_here():
    @wp.struct
    class Made:
        a: float
        b: wp.vec3

    return Made


def test_structs_of_functions_survive_pickles():
    Made = _made_here()
    a = wp.array([Made(1.0, (2.0, 3.0, 4.0))], dtype=Made)
    b = pickle.loads(pickle.dumps(a))
    assert wp.array(b, dtype=Made).list() == a.list() == [Made(1.0, (2.0, 3.0, 4.0))]


def test_arrays_keep_the_class_that_they_are_made_with():
    first, again = _made_here(), _made_here()  # as a cell of a notebook that runs twice
    a, b = wp.zeros(2, dtype=first), wp.zeros(2, dtype=again)
    assert (a.dtype, b.dtype) == (first, again)
    assert type(b.list()[0]) is again and wp.zeros_like(b).dtype is again
    a.fill_(first(1.0, (2.0, 3.0, 4.0)))
    wp.copy(b, a)
    assert b.list()[1].b == wp.vec3(2.0, 3.0, 4.0)


def test_gradients_survive_pickles_out_of_band():
    a = wp.ones(1000, dtype=wp.vec2, requires_grad=True)
    a.grad.fill_(3.0)
    buffers = []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert len(data) < 1000
    b = pickle.loads(data, buffers=buffers)
    assert (b[999], b.grad[999]) == (wp.vec2(1.0), wp.vec2(3.0))
    a.fill_(0.0)
    assert b[999] == wp.vec2(1.0)


def test_copies():
    a = wp.ones(3, dtype=float, requires_grad=True)
    a.grad.fill_(2.0)
    shallow, deep = copy.copy(a), copy.deepcopy({"x": [a]})["x"][0]
    a.fill_(5.0)
    a.grad.fill_(6.0)
    assert (shallow.list(), shallow.grad.list()) == ([5.0] * 3, [6.0] * 3)
    assert (deep.list(), deep.grad.list()) == ([1.0] * 3, [2.0] * 3)
    assert pickle.loads(pickle.dumps(double)) is double
    assert copy.deepcopy(double) is double


def test_conversions_leak_nothing():
    numbers, before = np.zeros(3, np.float32), Foreign.given_back
    a = wp.zeros(3)
    for _ in range(1000):
        wp.from_dlpack(Foreign(numbers))
        wp.from_dlpack(a.__dlpack__(max_version=(1, 0)))
        memoryview(a).release()
    gc.collect()
    assert Foreign.given_back == before + 1000


def test_copies_that_are_forbidden():
    x = wp.array([1.0, 2.0, 3.0], dtype=float)
    assert np.shares_memory(np.asarray(x, copy=False), x.numpy())
    with pytest.raises(ValueError, match="copy=False forbids"):
        x.__array__(np.float64, copy=False)
    with pytest.raises(ValueError, match="copy=False forbids"):
        np.asarray(x[wp.array([0, 2], dtype=int)], copy=False)
