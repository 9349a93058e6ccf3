"""Struct types: layout as C and NumPy have it, field checks, values stored by value."""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.lang.types import leaves
from omni.warp_core.lang.values.structs import class_of
from omni.warp_core.lang.values.type_registry import register
from omni.warp_core.lang.values.value_classes import from_leaves, to_leaves


@wp.struct
class Inner:
    flag: wp.bool
    position: wp.vec3


@wp.struct
class Outer:
    small: wp.int8
    inner: Inner
    wide: wp.float64
    half: wp.vec3h
    brain: wp.bfloat16
    frame: wp.mat22
    data: wp.array(dtype=float)
    count: int = 7

    def doubled(self) -> int:
        return 2 * self.count


class CInner(ctypes.Structure):
    _fields_ = [("flag", ctypes.c_bool), ("position", ctypes.c_float * 3)]


class CArray(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("grad", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * 4),
        ("strides", ctypes.c_int64 * 4),
    ]


class COuter(ctypes.Structure):
    _fields_ = [
        ("small", ctypes.c_int8),
        ("inner", CInner),
        ("wide", ctypes.c_double),
        ("half", ctypes.c_uint16 * 3),
        ("brain", ctypes.c_uint16),
        ("frame", ctypes.c_float * 4),
        ("data", CArray),
        ("count", ctypes.c_int32),
    ]


def sample() -> Outer:
    made = Outer(small=-3, wide=0.1, half=(1, 2, 3), brain=1.1, frame=[[1, 2], [3, 4]])
    made.inner = Inner(True, (4, 5, 6))
    return made


def test_the_layout_is_cs():
    t = Outer.__wc_type__
    assert t.size == ctypes.sizeof(COuter) and t.align == ctypes.alignment(COuter)
    assert t.offsets == tuple(getattr(COuter, name).offset for name in t.index)
    dtype = np.dtype(Outer.numpy_dtype())
    assert dtype.itemsize == t.size
    assert tuple(dtype.fields[name][1] for name in t.index) == t.offsets


def test_the_packed_form_is_read_back_by_c_and_numpy():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = sample()
    made.data = wp.array(values, dtype=float)[:, 1]
    packed = made._wc_pack()
    c = COuter.from_buffer_copy(packed)
    assert (c.small, c.wide, c.count, c.inner.flag, list(c.inner.position)) == (-3, 0.1, 7, True, [4, 5, 6])
    assert list(c.frame) == [1, 2, 3, 4]
    assert (c.data.data, list(c.data.shape), list(c.data.strides)) == (made.data.ptr, [2, 1, 1, 1], [12, 0, 0, 0])
    record = np.frombuffer(packed, np.dtype(Outer.numpy_dtype()))[0]
    assert record["half"].tolist() == [1, 2, 3] and record["brain"] == np.float32(1.1015625).view(np.uint32) >> 16
    again = np.array([made.numpy_value()], Outer.numpy_dtype())[0]
    for name in again.dtype.names:
        np.testing.assert_array_equal(again[name], record[name])


def test_a_layout_refuses_what_does_not_fit():
    f32, vec3 = wp.float32.__wc_type__, wp.vec3.__wc_type__
    layout = _native.RecordLayout(16, [(0, f32, None), (4, vec3, None)])
    assert layout.pack([1.0, wp.vec3(2.0, 3.0, 4.0)]) == np.float32([1, 2, 3, 4]).tobytes()
    for values in (
        [1.0],
        [1.0, wp.vec2()],
        [1.0, (2.0, 3.0, 4.0)],
        ["1", wp.vec3()],
        [None, wp.vec3()],
        (1.0, wp.vec3()),
    ):
        with pytest.raises(TypeError):
            layout.pack(values)
    for fields in ([(16, f32, None)], [(2**63, f32, None)], [(0, f32, layout)], [(8, vec3, None)]):
        with pytest.raises(ValueError):
            _native.RecordLayout(16, fields)


def test_a_struct_as_a_value_is_copied():
    inner = Inner(True, (1.0, 2.0, 3.0))
    made = Outer(inner=inner)
    inner.position.x, inner.flag = 9.0, False
    assert made.inner == Inner(True, (1.0, 2.0, 3.0))
    other = Outer()
    other.assign(made)
    made.inner.position.y = 7.0
    assert other.inner.position == wp.vec3(1.0, 2.0, 3.0) and made.inner.position == wp.vec3(1.0, 7.0, 3.0)


def test_instances_start_at_zero_and_at_their_defaults():
    s = Outer()
    assert (s.small.value, s.wide.value, s.count, s.data) == (0, 0.0, 7, None)
    assert s.inner.position == wp.vec3() and s.inner.flag is False and s.frame == wp.mat22()
    assert Outer(count=9).doubled() == 18


class Fielded:
    mass: float = dataclasses.field(default=2.0)
    count: int = dataclasses.field(default_factory=lambda: 3)
    velocity: wp.vec3 = dataclasses.field(kw_only=True)
    radius: float = 0.5


@pytest.mark.parametrize("decorate", [lambda cls: cls, dataclasses.dataclass], ids=["class", "dataclass"])
def test_defaults_of_dataclasses(decorate):
    """They are what `dataclasses` gives; a field without one is zero."""
    cls = type("Fielded", (), {k: v for k, v in vars(Fielded).items() if k not in ("__dict__", "__weakref__")})
    s = wp.struct(decorate(cls))
    made = s()
    assert (made.mass, made.count, made.velocity, made.radius) == (2.0, 3, wp.vec3(), 0.5)
    assert s(4.0).mass == 4.0 and s(count=5).count == 5 and s() == made and "mass=2.0" in repr(made)


def test_there_are_no_defaults_in_the_dialect_of_warp_lang(monkeypatch):
    """warp-lang 1.19 makes zeros of such a class, whatever the values are."""
    monkeypatch.setattr(wp.config, "dialect", "warp-lang")

    class Given:
        mass: float = 2.5
        velocity: wp.vec3 = None
        count: int = dataclasses.field(default=3)

    made = wp.struct(Given)()
    assert (made.mass, made.velocity, made.count) == (0.0, wp.vec3(), 0)


def test_structs_and_vectors_are_stored_by_value():
    inner = Inner(position=(1, 2, 3))
    outer = Outer(inner=inner)
    inner.position = (9, 9, 9)
    assert outer.inner.position == wp.vec3(1, 2, 3)
    outer.inner.position.x = 5.0
    outer.inner.position[1] = 6.0
    assert outer.inner.position == wp.vec3(5, 6, 3)
    v = wp.vec3(1, 1, 1)
    inner.position = v
    v.x = 0.0
    assert inner.position == wp.vec3(1, 1, 1)


@pytest.mark.parametrize(
    "name, value, error, words",
    [
        ("count", "x", TypeError, "field 'count' of struct Outer: expected int32, got str"),
        ("count", 1.5, TypeError, "the float 1.5"),
        ("count", 2**40, ValueError, "out of range for int32"),
        ("count", None, TypeError, "NoneType"),
        ("frame", 1.0, TypeError, "expected mat22f, got float"),
        ("frame", [1, 2], ValueError, "4 components, got 2"),
        ("half", wp.vec3(), TypeError, "expected vec3h, got vec3f"),
        ("inner", 5, TypeError, "expected Inner, got int"),
        ("data", 3, TypeError, "expected 1-d array of float32 or None, got int"),
        ("data", np.zeros(3), TypeError, "got ndarray"),
    ],
)
def test_a_wrong_value_names_field_and_struct(name, value, error, words):
    s = Outer()
    with pytest.raises(error, match=words):
        setattr(s, name, value)


def test_array_fields_check_dtype_and_dimensions():
    s = Outer()
    with pytest.raises(TypeError, match="got 1-d array of int32"):
        s.data = wp.zeros(3, dtype=int)
    with pytest.raises(TypeError, match="got 2-d array of float32"):
        s.data = wp.zeros((3, 3))
    s.data = a = wp.zeros(3)
    assert s.data is a
    s.data = None
    assert s.data is None


def test_unknown_fields_are_refused():
    with pytest.raises(AttributeError):
        Outer().other = 1
    with pytest.raises(TypeError, match="unexpected or repeated field 'other'; fields are flag, position"):
        Inner(other=1)
    with pytest.raises(TypeError, match="repeated"):
        Inner(True, flag=True)
    with pytest.raises(TypeError, match="2 fields, got 3"):
        Inner(True, (1, 2, 3), 4)
    for wrong in (dict, str, Any):
        with pytest.raises(TypeError, match="field 'x' of struct Bad"):
            wp.struct(type("Bad", (), {"__annotations__": {"x": wrong}}))


def test_leaves_round_trip():
    made = sample()
    t = Outer.__wc_type__
    flat = to_leaves(made, t)
    assert len(flat) == len(leaves(t))
    assert from_leaves(t, flat)._wc_pack() == made._wc_pack()
    with pytest.raises(TypeError, match="expected Outer, got Inner"):
        to_leaves(Inner(), t)


def test_pickling_and_text():
    made = sample()
    assert pickle.loads(pickle.dumps(made))._wc_pack() == made._wc_pack()
    # as observed in warp-lang
    assert repr(Inner()) == "Inner(\n\tflag=False,\n\tposition=vec3f([0.0, 0.0, 0.0]),\n)"
    assert str(Inner()) == "Inner(\n\tflag=False,\n\tposition=[0.0, 0.0, 0.0],\n)"


def test_annotations_may_name_what_the_enclosing_function_knows():
    number = wp.float64

    @wp.struct
    class Local:
        x: number

    assert Local.__wc_type__.fields == (("x", wp.float64.__wc_type__),)


@pytest.mark.parametrize("module", ["unique", None])
def test_the_module_of_a_struct_is_taken(module):
    size = 3

    @wp.struct(module=module)
    class Row:
        values: wp.types.vector(size, float)

    made = wp.struct(type("Made", (), {"__annotations__": {"n": int}}), module=module)
    assert Row().values == wp.vec3() and made(n=3).n == 3


def test_equality_and_hashes_go_by_fields():
    @wp.struct
    class Pair:
        x: float
        v: wp.vec3
        data: wp.array(dtype=float)

    a, b = Pair(x=1.0, v=wp.vec3(1.0, 2.0, 3.0)), Pair(x=1.0, v=wp.vec3(1.0, 2.0, 3.0))
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    b.data = wp.zeros(2, dtype=float)
    assert a != b and a != 1
    a.assign(b)
    assert a == b and a.data is b.data
    a.v.x = 5.0
    assert a != b and b.v.x == 1.0
    assert b.to("cpu") == b
    with pytest.raises(TypeError, match="expected struct Pair, got int"):
        a.assign(1)


def test_equality_in_kernels():
    @wp.struct
    class Inner:
        i: int
        v: wp.vec3

    @wp.struct
    class Outer:
        x: float
        inner: Inner

    @wp.kernel
    def k(a: Outer, b: Outer, out: wp.array(dtype=bool)):
        out[0] = a == b
        c = b
        c.inner.v = a.inner.v
        out[1] = a == c
        out[2] = a != b

    a, b = Outer(x=2.0), Outer(x=2.0)
    a.inner.v.z = 1.0
    for interpret in (False, True):
        out = wp.zeros(3, dtype=bool)
        wp.launch(k, dim=1, inputs=[a, b, out], interpret=interpret)
        assert out.list() == [False, True, True]


def test_programs_can_look_into_a_struct():
    @wp.struct
    class Inner:
        a: float

    @wp.struct
    class Outer:
        key: wp.array(dtype=float)  # the attributes of the class, but fields of its instances
        vars: int
        inner: Inner

    names = ["key", "vars", "inner"]
    assert list(Outer.__annotations__) == names
    assert [(name, field.label) for name, field in Outer.vars.items()] == [(name, name) for name in names]
    assert Outer.vars["vars"].type is wp.int32 and Outer.vars["inner"].type is Inner
    assert wp.types.is_array(Outer.vars["key"].type)
    assert Outer.key == "test_programs_can_look_into_a_struct__locals__Outer" and isinstance(Outer(), Outer.cls)
    assert Outer(vars=3).vars == 3 and Outer().key is None
    outer = Outer()
    assert outer._cls is Outer and weakref.ref(outer)() is outer


def test_a_struct_tells_its_fields_as_a_dictionary():
    @wp.struct
    class Ball:
        radius: float
        place: wp.vec3
        hits: wp.array(dtype=int)

    hits = wp.zeros(2, dtype=int)
    ball = Ball(radius=2.0, place=wp.vec3(1.0, 2.0, 3.0), hits=hits)
    assert vars(ball) == {"radius": 2.0, "place": wp.vec3(1.0, 2.0, 3.0), "hits": hits}
    assert vars(ball)["hits"] is hits
    vars(ball)["radius"] = 3.0
    assert ball.radius == 2.0
    assert copy.copy(ball) == ball


def test_classes_of_one_type_mix():
    inner, outer = Inner.__wc_type__, Outer.__wc_type__
    known = Inner(True, (1.0, 2.0, 3.0))
    again = class_of(inner)
    try:
        made = Outer(inner=again(True, (1.0, 2.0, 3.0)))
        assert made.inner.position == known.position and type(made.inner) is not type(known)
        assert made._wc_pack() == Outer(inner=known)._wc_pack() and len(made._wc_pack()) == outer.size
    finally:
        register(inner, Inner)
