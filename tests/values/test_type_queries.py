"""Questions about types and values. What is true was asked of warp-lang 1.19; ctypes and NumPy judge layouts."""

import ctypes
import typing

import numpy as np
import pytest

import omni.warp_core as wp


@wp.struct
class Ball:
    radius: float
    center: wp.vec3


TYPES = {
    "float": float,
    "int": int,
    "bool": bool,
    "wp.bool": wp.bool,
    "float32": wp.float32,
    "float16": wp.float16,
    "int8": wp.int8,
    "uint64": wp.uint64,
    "vec3": wp.vec3,
    "vec2i": wp.vec2i,
    "spatial_vector": wp.spatial_vector,
    "mat33": wp.mat33,
    "quat": wp.quat,
    "transform": wp.transform,
    "array": wp.array,
    "array1": wp.array(dtype=float),
    "array2": wp.array2d[wp.vec3],
    "struct": Ball,
    "str": str,
    "None": None,
}
VALUES = {
    "int": 1,
    "float": 1.0,
    "bool": True,
    "float32": wp.float32(1.0),
    "int32": wp.int32(1),
    "numpy": np.float32(1),
    "vec3": wp.vec3(1.0, 2.0, 3.0),
    "mat22": wp.mat22(),
    "quat": wp.quat(),
    "transform": wp.transform(),
    "array": wp.zeros(1, dtype=float),
    "struct": Ball(),
    "str": "a",
    "None": None,
    "tuple": (1, 2, 3),
}
INTS, FLOATS = "int int8 uint64", "float float32 float16"
COMPOSITE = "vec3 vec2i spatial_vector mat33 quat transform"
TRUE_OF_TYPES = {
    "type_is_int": INTS,
    "type_is_float": FLOATS,
    "type_is_scalar": f"{INTS} {FLOATS}",
    "type_is_vector": "vec3 vec2i spatial_vector",
    "type_is_matrix": "mat33",
    "type_is_quaternion": "quat",
    "type_is_transformation": "transform",
    "type_is_composite": COMPOSITE,
    "type_is_value": f"bool wp.bool {INTS} {FLOATS} {COMPOSITE}",
    "type_is_struct": "struct",
    "type_is_array": "array",
    "is_array": "array1 array2",
    "is_float": "",
    "is_value": "",
    "is_composite": "",
    "is_struct": "",
}
TRUE_OF_VALUES = {
    "is_array": "array",
    "is_int": "int int32",
    "is_float": "float float32",
    "is_scalar": "int float float32 int32",
    "is_vector": "vec3",
    "is_matrix": "mat22",
    "is_quaternion": "quat",
    "is_transformation": "transform",
    "is_composite": "vec3 mat22 quat transform",
    "is_value": "int float bool float32 int32 vec3 mat22 quat transform",
    "is_struct": "struct",
}


def true_of(question, things):
    return {name for name, thing in things.items() if getattr(wp.types, question)(thing)}


@pytest.mark.parametrize("question", TRUE_OF_TYPES)
def test_questions_about_types(question):
    assert true_of(question, TYPES) == set(TRUE_OF_TYPES[question].split())


@pytest.mark.parametrize("question", TRUE_OF_VALUES)
def test_questions_about_values(question):
    assert true_of(question, VALUES) == set(TRUE_OF_VALUES[question].split())


def test_sizes_and_names():
    sizes = {name: wp.types.type_size(t) for name, t in TYPES.items() if wp.types.type_is_value(t)}
    components = {"vec3": 3, "vec2i": 2, "spatial_vector": 6, "mat33": 9, "quat": 4, "transform": 7}
    assert sizes == dict.fromkeys(sizes, 1) | components
    in_bytes = {"int8": 1, "float16": 2, "float": 4, "wp.bool": 1, "uint64": 8, "vec3": 12, "mat33": 36, "struct": 16}
    assert {name: wp.types.type_size_in_bytes(TYPES[name]) for name in in_bytes} == in_bytes
    names = {"int": "int", "float32": "float32", "vec2i": "vec2i", "None": "None", "str": "builtins.str"}
    arrays = {"array1": "array(ndim=1, dtype=float32)", "array2": "array(ndim=2, dtype=vec3f)"}
    assert {name: wp.types.type_repr(TYPES[name]) for name in names | arrays} == names | arrays
    assert wp.types.type_repr(wp.array2d[float]) == "array(ndim=2, dtype=float32)"
    assert wp.types.type_repr(Ball) == f"{__name__}.Ball"


def test_equal_types():
    equal = wp.types.types_equal
    assert equal(float, wp.float32) and equal(wp.types.vector(3, float), wp.vec3) and equal(Ball, Ball)
    assert equal(wp.array(dtype=float), wp.array[float]) and equal(wp.array(dtype=float, ndim=2), wp.array2d[float])
    assert not equal(float, int) and not equal(wp.vec3, wp.vec2i) and not equal(int, bool)
    assert not equal(wp.array[float], wp.array2d[float]) and not equal((float, int), (wp.float32, wp.int32))


@pytest.mark.parametrize(
    "name", ["float32", "int8", "uint64", "wp.bool", "vec3", "vec2i", "mat33", "quat", "transform"]
)
def test_types_of_ctypes(name):
    t = TYPES[name]
    made = wp.types.type_ctype(t)
    assert ctypes.sizeof(made) == wp.types.type_size_in_bytes(t)
    if wp.types.type_is_composite(t):
        assert made._type_ is t._type_ and made._length_ == t._length_


@wp.struct
class Scene:
    flag: wp.int8
    ball: Ball
    frame: wp.mat22d
    points: wp.array[wp.vec3]
    last: wp.uint16


def test_structs_of_ctypes():
    made, record = wp.types.type_ctype(Scene), np.dtype(Scene.numpy_dtype())
    assert ctypes.sizeof(made) == record.itemsize == wp.types.type_size_in_bytes(Scene)
    assert {name: getattr(made, name).offset for name in record.names} == {
        name: place for name, (_, place) in record.fields.items()
    }
    points = wp.zeros(5, dtype=wp.vec3)
    scene = made.from_buffer_copy(np.array([Scene(flag=3, points=points, last=7).numpy_value()], dtype=record))
    assert (scene.flag, scene.last, scene.points.data, scene.points.shape[0]) == (3, 7, points.ptr, 5)


def test_vectors_as_lists_and_as_memory_of_ctypes():
    v, m = wp.vec3(1.0, 2.0, 3.0), wp.types.matrix((2, 3), wp.int16)(1, 2, 3, 4, 5, 6)
    assert v.to_list() == [1.0, 2.0, 3.0] and m.to_list() == [[1, 2, 3], [4, 5, 6]]
    wp.types.type_ctype(wp.vec3).from_buffer(v)[1] = 9.0
    assert v == wp.vec3(1.0, 9.0, 3.0)
    balls = wp.zeros(2, dtype=wp.quat).cptr()
    balls[5] = 4.0
    assert balls[5] == 4.0


def test_errors():
    for ask in (wp.types.type_size, wp.types.type_size_in_bytes, wp.types.type_ctype):
        with pytest.raises(TypeError, match="expected the type of a value"):
            ask(wp.array(dtype=float))


@pytest.mark.parametrize("t", [wp.vec3, wp.mat22, wp.quatd, wp.vec4h, wp.transform], ids=lambda t: t.__name__)
def test_values_at_addresses(t):
    numbers = np.arange(1, 1 + t._length_).astype(np.dtype(t._wp_scalar_type_.__name__))
    value = t.from_ptr(numbers.ctypes.data)
    assert np.array_equal(np.array(value).ravel(), numbers)
    numbers[:] = 0  # the value is a copy
    assert np.array(value).ravel()[0] == 1
    with pytest.raises(ValueError, match="the address is 0"):
        t.from_ptr(0)


def test_rows_and_columns():
    m, n = wp.mat33(*map(float, range(9))), np.arange(9.0).reshape(3, 3)
    assert all(np.array_equal(m.get_row(i), n[i]) and np.array_equal(m.get_col(i), n[:, i]) for i in range(3))
    m.set_row(1, (7.0, 8.0, 9.0))
    m.set_col(2, wp.vec3(1.0, 2.0, 3.0))
    n[1], n[:, 2] = (7, 8, 9), (1, 2, 3)
    assert np.array_equal(np.array(m).reshape(3, 3), n)
    with pytest.raises(IndexError):
        m.get_row(3)


def test_the_number_of_dimensions_as_a_literal():
    assert wp.array[float, typing.Literal[3]] == wp.array3d[float]
    assert wp.array(dtype=float, ndim=typing.Literal[2]).ndim == 2


def test_types_of_components():
    types = {float: float, bool: bool, wp.uint8: wp.uint8, wp.vec3: wp.float32, wp.mat33d: wp.float64}
    types |= {wp.quath: wp.float16, wp.transform: wp.float32, wp.vec2i: wp.int32}
    assert {t: wp.types.type_scalar_type(t) for t in types} == types


def test_types_of_kernels():
    types = {float: wp.float32, int: wp.int32, bool: wp.bool, wp.float64: wp.float64, wp.vec3: wp.vec3}
    assert {t: wp.types.type_to_warp(t) for t in types} == types


def test_lists_of_types():
    assert all(wp.types.type_is_int(t) for t in wp.types.int_types) and len(wp.types.int_types) == 8
    assert all(wp.types.type_is_float(t) for t in wp.types.float_types) and len(wp.types.float_types) == 4
    assert wp.types.scalar_types == wp.types.int_types + wp.types.float_types


def test_names_that_earlier_versions_had_in_modules():
    assert wp.types.vec3 is wp.vec3 and wp.types.Mesh is wp.Mesh
    assert wp.utils.ScopedTimer is wp.ScopedTimer and wp.torch.from_torch is wp.from_torch
    with pytest.raises(AttributeError, match=r"module .omni\.warp_core\.types. has no attribute .vec33."):
        wp.types.vec33
