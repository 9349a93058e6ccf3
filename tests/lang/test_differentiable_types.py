"""Which types carry derivatives: those with a floating point number that is not behind an array."""

import pytest

from omni.warp_core.lang.types import SCALARS, Mat, Quat, Struct, Transform, Vec, parse_type

FLOATS = {"f16", "bf16", "f32", "f64"}


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_numbers_and_what_is_made_of_them(scalar):
    types = [scalar, Vec(3, scalar), Mat(2, 2, scalar), Quat(scalar), Transform(scalar), Struct("S", (("x", scalar),))]
    assert [t.is_differentiable for t in types] == [scalar.key in FLOATS] * len(types)


@pytest.mark.parametrize("text, expected", [
    ("array1<f32>", False),
    ("fixed4<f32>", False),
    ("void", False),
    ("struct E{}", False),
    ("struct A{x: array1<f32>}", False),
    ("struct B{n: i32, x: array1<f32>, y: f16}", True),
    ("struct C{n: i32, inner: struct D{b: bool, v: vec3<f64>}}", True),
    ("struct F{n: i32, inner: struct G{b: bool, v: vec3<i64>}}", False),
])  # fmt: skip
def test_arrays_and_structs(text, expected):
    assert parse_type(text).is_differentiable == expected
