"""Arrays from lists, values, NumPy arrays and other objects. NumPy judges values and shapes.

Where a comment says "observed", the expectation was seen in warp-lang 1.19.
"""

from __future__ import annotations

import array as python_array
import gc
import math
import weakref

import numpy as np
import pytest

import omni.warp_core as wp

DATA = [[1.0, 2.0], [3.0, 4.0]]

SCALARS = {
    "bool": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8,
    "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "float16": np.float16, "float32": np.float32,
    "float64": np.float64,
}  # fmt: skip


@wp.struct
class Particle:
    index: int
    position: wp.vec3


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 1, 3), (2, 2, 2, 2), (0,), (3, 0)])
def test_numpy_arrays_of_every_scalar_round_trip(name, shape):
    numbers = np.arange(np.prod(shape)).reshape(shape).astype(SCALARS[name])
    a = wp.array(numbers)
    assert a.dtype is getattr(wp, name) and a.shape == shape and a.is_contiguous
    assert a.strides == np.empty(shape, SCALARS[name]).strides or 0 in shape
    np.testing.assert_array_equal(a.numpy(), numbers)
    assert a.numpy().dtype == SCALARS[name]
    assert a.list() == numbers.ravel().tolist()
    numbers[...] = 1
    if numbers.size > 2:
        assert not np.array_equal(a.numpy(), numbers)


@pytest.mark.parametrize(
    "data, dtype, shape, values",
    [
        ([1, 2, 3], float, (3,), None),
        ([1.5, 2.5], int, (2,), [1, 2]),  # observed: as NumPy converts
        ([[1, 2, 3], [4, 5, 6]], float, (2, 3), None),
        ((1, 2), wp.float64, (2,), None),
        (range(4), int, (4,), list(range(4))),
        ([True, False], bool, (2,), None),
        ([[1, 2, 3], [4, 5, 6]], wp.vec3, (2,), None),
        ([1, 2, 3], wp.vec3, (1,), [[1, 2, 3]]),
        ([1, 2, 3, 4, 5, 6], wp.vec3, (2,), [[1, 2, 3], [4, 5, 6]]),
        (np.zeros((2, 6)), wp.vec3, (2, 2), np.zeros((2, 2, 3))),
        (np.zeros((5, 4, 3)), wp.vec3, (5, 4), None),
        (np.ones((4, 3, 3)), wp.mat33, (4,), None),
        (np.ones((4, 9)), wp.mat33, (4,), np.ones((4, 3, 3))),
        (np.ones((2, 18)), wp.mat33, (2, 2), np.ones((2, 2, 3, 3))),
        ([[1, 2], [3, 4]], wp.mat22, (1,), [[[1, 2], [3, 4]]]),
        ([1, 2, 3, 4], wp.mat22, (1,), [[[1, 2], [3, 4]]]),
        ([wp.vec3(1, 2, 3), wp.vec3(4, 5, 6)], wp.vec3, (2,), [[1, 2, 3], [4, 5, 6]]),
        ([[wp.vec3(1, 2, 3)], [wp.vec3(4, 5, 6)]], wp.vec3, (2, 1), [[[1, 2, 3]], [[4, 5, 6]]]),
        ([wp.vec2h(1, 2)], wp.vec2h, (1,), [[1, 2]]),
        ([(1, 2, 3), wp.vec3(4, 5, 6)], wp.vec3, (2,), [[1, 2, 3], [4, 5, 6]]),
        ([wp.mat22(1, 2, 3, 4)], wp.mat22, (1,), [[[1, 2], [3, 4]]]),
        ([wp.transform((1, 2, 3))], wp.transform, (1,), [[1, 2, 3, 0, 0, 0, 1]]),
        ([wp.float32(1.5), wp.float32(2)], float, (2,), [1.5, 2]),
        ([np.zeros(3), np.ones(3)], wp.vec3, (2,), [[0, 0, 0], [1, 1, 1]]),
        ([], float, (0,), []),
        (np.array([1, 2.5], dtype=object), float, (2,), [1, 2.5]),
        (np.array([1, 2.0], dtype=object), wp.bfloat16, (2,), [0x3F80, 0x4000]),
        ([], wp.vec3, (0,), np.zeros((0, 3))),
        (np.zeros((0, 3)), wp.vec3, (0,), None),
        (np.arange(3.0, dtype=">f4"), float, (3,), None),
        (np.float32([[1, 2], [3, 4]]).T, float, (2, 2), None),
        (np.array(3.0), float, (1,), [3.0]),
    ],
)
def test_data_of_many_kinds(data, dtype, shape, values):
    a = wp.array(data, dtype=dtype)
    assert a.shape == shape
    np.testing.assert_array_equal(a.numpy(), np.asarray(data if values is None else values))


@pytest.mark.parametrize(
    "data, dtype",
    [
        ([1, 2], wp.int64),
        ([1.5, 2], wp.float64),
        ([True], wp.bool),
        (np.arange(3, dtype=np.uint16), wp.uint16),
        ([wp.float16(1)], wp.float16),
        ([[wp.uint8(1), wp.uint8(2)]], wp.uint8),
        ([Particle()], Particle),
        (python_array.array("h", [1, 2]), wp.int16),
        (memoryview(b"ab"), wp.uint8),
        (b"ab", wp.uint8),
        (bytearray(b"ab"), wp.uint8),
        ([wp.vec3()], wp.float32),  # observed: components become a dimension
    ],
)
def test_the_dtype_is_taken_from_the_data(data, dtype):
    assert wp.array(data).dtype is dtype


def test_data_goes_to_the_device_and_back(device):
    data = np.random.default_rng(1).normal(size=(5, 7)).astype(np.float32)
    a = wp.array(data, dtype=float)
    assert a.device is device
    assert a.shape == (5, 7)
    np.testing.assert_array_equal(a.numpy(), data)
    assert a.list() == data.ravel().tolist()
    data[:] = 0.0  # was copied
    assert a.numpy().any()


def test_out_of_range_floats_become_infinite():
    assert wp.array([1e300, -1e300], dtype=float).list() == [np.inf, -np.inf]


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: wp.array(5), TypeError, "data: expected a sequence or an array, got int: 5"),
        (lambda: wp.array(np.float32(5)), TypeError, "data: expected a sequence or an array"),
        (lambda: wp.array("abc"), TypeError, "data: .* got str"),
        (lambda: wp.array({1, 2}), TypeError, "got set"),
        (lambda: wp.array(x for x in [1]), TypeError, "got generator"),
        (lambda: wp.array([[1, 2], [3]], dtype=float), ValueError, "data: cannot make float32 elements from this list"),
        (lambda: wp.array([300], dtype=wp.uint8), ValueError, "data: cannot make uint8 elements"),
        (lambda: wp.array([2**40], dtype=int), ValueError, "data: cannot make int32 elements"),
        (lambda: wp.array(np.array([1j])), TypeError, "data: no element type for NumPy dtype complex128"),
        (lambda: wp.array(np.array([1j]), dtype=float), TypeError, "float32 elements from NumPy dtype complex128"),
        (lambda: wp.array(np.array(["a"]), dtype=float), TypeError, "NumPy dtype <U1"),
        (lambda: wp.array(np.zeros(3, dtype=">f4")), TypeError, "dtype >f4"),
        (lambda: wp.array([[1, 2]], dtype=wp.vec3), ValueError, r"shape \(1, 2\) does not fit vec3f: .* 3"),
        (lambda: wp.array(np.zeros((4, 3)), dtype=wp.mat33), ValueError, r"shape \(4, 3\) does not fit mat33f"),
        (
            lambda: wp.array([1, 2, 3], shape=2, dtype=float),
            ValueError,
            r"3 elements of float32 do not fill shape=\(2,\)",
        ),
        (lambda: wp.array(np.zeros((1,) * 5), dtype=float), ValueError, "1 to 4 dimensions, got 5"),
        (lambda: wp.array([1], ptr=64, dtype=float), TypeError, "either data or ptr"),
        (lambda: wp.array(ptr=64, dtype=float), TypeError, "shape: give the shape"),
        (lambda: wp.array(ptr=0, shape=3, dtype=float), ValueError, "ptr: there is no memory at 0"),
        (lambda: wp.array(ptr=64, shape=3, dtype=float, capacity=8), ValueError, "capacity: .* needs 12 bytes, got 8"),
        (lambda: wp.array(shape=(2, 2), strides=(4,), dtype=float), ValueError, "strides: expected 2 entries"),
        (
            lambda: wp.array(shape=2**60, dtype=float),
            MemoryError,
            r"shape=\(1152921504606846976,\) of float32: it takes",
        ),
        (lambda: wp.zeros((2**31,) * 4), MemoryError, "it takes 85070591730234615865843651857942052864 bytes"),
        (
            lambda: wp.array(np.array(["x", 1.0], dtype=object), dtype=float),
            ValueError,
            "data: cannot make float32 elements",
        ),
        (lambda: wp.array([1.0], dtype=str), TypeError, "dtype: `str`"),
        (lambda: wp.array([1.0], dtype=wp.array(dtype=float)), TypeError, "dtype: an array cannot be"),
        pytest.param(
            lambda: wp.array([1.0], device="cuda"), RuntimeError, "'cuda' is not available", marks=pytest.mark.cpu
        ),
        (lambda: wp.array([1.0], device="gpu"), ValueError, "'gpu' is not a device"),
        (lambda: wp.array(dtype=float, ndim=5), ValueError, "1 to 4 dimensions, got ndim=5"),
        (lambda: wp.array(shape=2, n=3, dtype=float), TypeError, "one of shape, length and n"),
    ],
)
def test_wrong_arguments_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("keyword", ["shape", "length", "n"])
def test_old_spellings_of_shape(keyword):
    assert wp.array(dtype=float, **{keyword: 3}).shape == (3,)
    assert wp.zeros(dtype=float, **{keyword: 3}).shape == (3,)
    assert wp.full(value=2.0, **{keyword: 3}).list() == [2.0] * 3


# -- sharing --------------------------------------------------------------------------------------------------------


@pytest.mark.cpu
@pytest.mark.parametrize(
    "numbers, dtype",
    [
        (np.arange(6, dtype=np.float32), float),
        (np.arange(6, dtype=np.float32)[::-2], float),
        (np.arange(6, dtype=np.float32).reshape(2, 3).T, float),
        (np.arange(12, dtype=np.float32).reshape(4, 3)[::2], wp.vec3),
        (np.zeros((3, 4), np.int64)[:, 1], wp.int64),
    ],
)
def test_without_copy_the_memory_is_shared(numbers, dtype):
    a = wp.array(numbers, dtype=dtype, copy=False)
    assert a.ptr == numbers.__array_interface__["data"][0]
    np.testing.assert_array_equal(a.numpy(), numbers)
    numbers[0] = 42
    assert np.all(a.numpy()[0] == 42)
    a.numpy()[-1] = 7
    assert np.all(numbers[-1] == 7)


@pytest.mark.parametrize(
    "numbers, dtype",
    [
        (np.arange(3.0), float),  # another dtype
        (np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1], wp.vec3),  # components not in order
        (np.arange(3, dtype=">f4"), float),
    ],
)
def test_what_cannot_be_shared_is_copied(numbers, dtype):
    a = wp.array(numbers, dtype=dtype, copy=False)
    np.testing.assert_array_equal(a.numpy(), numbers)
    assert not np.shares_memory(a.numpy(), numbers)


@pytest.mark.cpu
def test_read_only_data_stays_read_only():
    numbers = np.arange(3, dtype=np.float32)
    numbers.flags.writeable = False
    a = wp.array(numbers, copy=False)
    assert a.readonly and not a.numpy().flags.writeable and a[1:].readonly
    for write in (lambda: a.fill_(1.0), a.zero_, lambda: a.assign([1, 2, 3]), lambda: a.__setitem__(0, 1.0)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert not wp.array(numbers).readonly and a.list() == [0.0, 1.0, 2.0]


def test_numpy_views_keep_the_memory_alive():
    view = wp.full(1000, 3.0).numpy()
    others = [wp.full(1000, 4.0) for _ in range(5)]
    gc.collect()
    assert view.tolist() == [3.0] * 1000 and len(others) == 5


def test_arrays_are_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        a = wp.zeros(10, requires_grad=True)
        a.numpy()
        part = a[2:5]
        refs = [weakref.ref(a), weakref.ref(part)]
        del a, part
        assert [r() for r in refs] == [None, None]
    finally:
        gc.enable()


@pytest.mark.cpu
def test_external_memory_and_its_deleter():
    numbers = np.arange(4, dtype=np.float32)
    address = numbers.ctypes.data
    calls = []
    a = wp.array(ptr=address, shape=4, dtype=float, capacity=16, deleter=lambda *args: calls.append(args))
    every_other = wp.array(ptr=address, shape=2, strides=(8,), dtype=float)
    assert a.list() == [0, 1, 2, 3] and every_other.list() == [0, 2]
    part = a[1:]
    del a
    gc.collect()
    assert not calls
    del part
    gc.collect()
    assert calls == [(address, 16)]
    assert wp.from_ptr(address, 4, dtype=wp.int32).shape == (4,)


class Interface:
    def __init__(self, numbers):
        self.__array_interface__ = numbers.__array_interface__
        self.numbers = numbers


class Convertible:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3, dtype=np.float32)


@pytest.mark.cpu
def test_objects_with_array_protocols():
    numbers = np.arange(3, dtype=np.float32)
    shared = wp.array(Interface(numbers), copy=False)
    numbers[0] = 9
    assert shared.list() == [9, 1, 2]
    assert wp.array(Convertible()).list() == [0, 1, 2]

    class OnGpu:
        __cuda_array_interface__ = None

    with pytest.raises(RuntimeError, match="in CUDA memory"):
        wp.array(OnGpu())


@pytest.mark.cpu
def test_arrays_from_arrays():
    v = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3)
    assert wp.array(v).shape == (2, 3)  # observed: without dtype, of scalars
    assert wp.array(v, dtype=wp.vec3d).list() == v.list()
    assert wp.array(v, dtype=int).list() == [1, 2, 3, 4, 5, 6]
    assert wp.array(v, dtype=wp.vec3, copy=False).ptr == v.ptr
    assert wp.array([v, v], dtype=wp.vec3).shape == (2, 2)


def test_arrays_over_the_memory_of_another(device):
    a = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=float, requires_grad=True)
    flat, same = wp.array(a, copy=False, shape=4), wp.array(a, copy=False, requires_grad=True)
    flat.fill_(5.0)
    assert a.list() == [5.0] * 4
    assert same.grad.ptr == a.grad.ptr
    apart = wp.array(a, shape=4)
    apart.zero_()
    assert a.list() == [5.0] * 4


# -- structs and 16-bit floats --------------------------------------------------------------------------------------


@pytest.mark.cpu
def test_arrays_of_structs():
    particles = [Particle(i, (i, 0, 2 * i)) for i in range(3)]
    a = wp.array(particles, dtype=Particle)
    assert a.shape == (3,) and a.numpy().dtype.names == ("index", "position")
    np.testing.assert_array_equal(a.numpy()["index"], [0, 1, 2])
    np.testing.assert_array_equal(a.numpy()["position"], [[i, 0, 2 * i] for i in range(3)])
    assert [p.position for p in a.list()] == [p.position for p in particles]
    a.numpy()["index"] = 7
    assert a[2].index == 7 and a[::2].list()[1].index == 7
    again = wp.array(a.numpy(), dtype=Particle)
    np.testing.assert_array_equal(again.numpy(), a.numpy())
    np.testing.assert_array_equal(np.asarray(a), a.numpy())
    reordered = np.array([((1, 2, 3), 5)], [("position", "<f8", 3), ("index", "<i8")])
    with pytest.raises(TypeError, match="does not have the fields"):
        wp.array(reordered, dtype=Particle)
    wider = np.array([(5, (1, 2, 3))], [("index", "<i8"), ("position", "<f8", 3)])
    assert wp.array(wider, dtype=Particle)[0].position == wp.vec3(1, 2, 3)


@pytest.mark.parametrize(
    "data, words",
    [
        (Particle(), "expected structs Particle or a structured array, got Particle"),
        ([Particle(), 3], r"data\[1\]: expected Particle, got int"),
        (np.zeros(3), "does not have the fields"),
    ],
)
def test_wrong_data_for_structs(data, words):
    with pytest.raises(TypeError, match=words):
        wp.array(data, dtype=Particle)


@wp.struct
class Holder:
    data: wp.array(dtype=float)
    more: wp.array2d[wp.vec3]


def test_arrays_inside_structs_live_as_long_as_the_copies():
    held = wp.array([1, 2, 3], dtype=float, requires_grad=True)
    ref = weakref.ref(held.owner)
    a = wp.array([Holder(data=held[::2])], dtype=Holder)
    b, c = wp.clone(a), wp.zeros(2, dtype=Holder)
    c[1] = a[0]
    del held, a
    assert b[0].data.list() == c.list()[1].data.list() == [1, 3] and b[0].data.grad.list() == [0, 0]
    assert b[0].more is None and c[0].data is None
    member = c[1].data
    del b, c
    assert ref() is not None and member.list() == [1, 3]
    del member
    assert ref() is None


@pytest.mark.cpu
@pytest.mark.parametrize(
    "overwrite",
    [
        lambda a: a.zero_(),
        lambda a: a[1:].fill_(Holder()),
        lambda a: a.__setitem__(1, Holder()),
        lambda a: a[::-1].__setitem__(slice(0, 1), [Holder()]),
        lambda a: wp.copy(a, wp.zeros(1, dtype=Holder), dest_offset=1),
        lambda a: wp.array(a, dtype=Holder, copy=False).assign([Holder(), Holder()]),
    ],
)
def test_arrays_that_no_struct_points_to_any_more_are_freed(overwrite):
    a = wp.zeros(2, dtype=Holder)
    a[:].fill_(Holder(data=wp.ones(3)))
    a[0] = Holder(data=wp.zeros(1))
    ref = weakref.ref(a[1].data.owner[0].owner)
    assert a[1].data.list() == [1.0] * 3
    overwrite(a)
    assert ref() is None and a[1].data is None


def test_brain_floats_are_rounded_once_to_nearest_even():
    numbers = np.array([1.0, 1.1, -2.7, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-40, 3e38, 3.4e38, np.inf, np.nan])
    a = wp.array(numbers, dtype=wp.bfloat16)
    assert a.numpy().dtype == np.uint16
    for got, number in zip(a.list(), numbers):
        np.testing.assert_equal(got, wp.bfloat16(number).value)
    assert wp.array(a.numpy(), dtype=wp.bfloat16).numpy().tolist() == a.numpy().tolist()
    assert wp.array(a).dtype is wp.bfloat16
    assert wp.full(2, 1.1, dtype=wp.bfloat16).list() == [1.1015625] * 2
    assert wp.array(numbers, dtype=wp.bfloat16)[1].value == 1.1015625


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("T", [[1.0, 3.0], [2.0, 4.0]]),
        ("astype", DATA),
        ("copy", DATA),
        ("clone", DATA),
        ("detach", DATA),
        ("cpu", DATA),
        ("sum", 10.0),
        ("mean", 2.5),
        ("dot", 30.0),
        ("item", 1.0),
        ("tolist", DATA),
    ],
)
def test_what_other_libraries_call_a_thing_says_what_to_write(name, expected):
    a = wp.array(DATA, dtype=float)
    assert not hasattr(a, name)
    with pytest.raises(AttributeError, match=rf"arrays have no `{name}`: write `") as caught:
        getattr(a, name)
    code = str(caught.value).split("write `")[1].split("`")[0]
    flat = a.flatten()
    found = eval(code, {"wp": wp, "a": flat if name == "dot" else a, "b": flat})
    assert (found.numpy().tolist() if isinstance(found, wp.array) else found) == expected


@pytest.mark.cpu
def test_other_names_are_unknown_as_ever():
    a = wp.array([wp.vec2(1.0, 2.0)], dtype=wp.vec2)
    with pytest.raises(AttributeError, match="'array' object has no attribute 'nump'"):
        a.nump
    with pytest.raises(AttributeError, match="only CUDA arrays of numbers"):
        a.__cuda_array_interface__


@pytest.mark.parametrize("shape, found", [((1, -1), (1, 6)), ((-1, 2), (3, 2)), (-1, (6,)), ((2, -1, 3), (2, 1, 3))])
def test_data_fill_an_open_extent(shape, found, device):
    numbers = np.arange(6, dtype=np.float32)
    for data in (numbers, list(numbers), wp.array(numbers)):
        made = wp.array(data, dtype=float, shape=shape)
        assert made.shape == found
        np.testing.assert_array_equal(made.numpy(), numbers.reshape(found))
    assert wp.array(np.ones((4, 3)), dtype=wp.vec3, shape=(2, -1)).shape == (2, 2)


@pytest.mark.parametrize(
    "data, dtype, shape",
    [((0, 13), wp.vec3, (0,)), ((0, 13), wp.vec3, (0, 4)), ((9, 2), wp.vec3, (6,)), ((6, 3), wp.mat33, (2, -1))],
)
def test_numbers_fill_a_given_shape_however_they_are_grouped(data, dtype, shape, device):
    numbers = np.arange(math.prod(data), dtype=np.float32).reshape(data)
    inner = (3, 3) if dtype is wp.mat33 else (3,)
    np.testing.assert_array_equal(wp.array(numbers, dtype=dtype, shape=shape).numpy(), numbers.reshape(shape + inner))


@pytest.mark.parametrize("shape", [(4, -1), (0, -1), (-1, -1), (-2, 3)])
def test_open_extents_that_data_do_not_fill(shape):
    with pytest.raises(ValueError, match=r"do not fill|must not be negative"):
        wp.array(np.arange(6.0), dtype=float, shape=shape)
    with pytest.raises(ValueError, match="must not be negative"):
        wp.zeros((2, -1), dtype=float)


def test_an_array_without_elements_may_be_told_that_it_has_no_memory():
    a = wp.empty((2, 0), dtype=float)
    a.ptr = None
    assert a.shape == (2, 0) and a.list() == []
    with pytest.raises(AttributeError, match="cannot be replaced"):
        wp.zeros(1, dtype=float).ptr = None
    with pytest.raises(AttributeError, match="cannot be replaced"):
        a.ptr = 8
