"""Attributes and calls of programs written for warp-lang. Expected values: warp-lang 1.19 gives the same."""

import ctypes

import pytest

import omni.warp_core as wp
from omni.warp_core.types import matrix, quaternion, vector


@pytest.mark.parametrize("interpret", [False, True])
def test_types_that_are_made_outside_of_kernels_make_values_inside(interpret):
    @wp.kernel
    def makes(out: wp.array(dtype=float)):
        m = matrix(shape=(2, 2), dtype=float)
        v = vector(length=3, dtype=float)
        w = wp.types.vector(1.0, 2.0, 3.0)
        q = quaternion(0.0, 0.0, 0.0, 7.0, dtype=float)
        m[1, 1] = 5.0
        out[0] = m[1, 1] + v[0] + w[2] + q[3]

    out = wp.zeros(1, dtype=float)
    wp.launch(makes, 1, inputs=[out], interpret=interpret)
    assert out.list() == [15.0]


def test_numbers_have_the_length_and_the_c_type_of_their_one_component():
    found = [(t._length_, t._type_) for t in (wp.float32, wp.int32, wp.bool, wp.uint64)]
    assert found == [(1, ctypes.c_float), (1, ctypes.c_int), (1, ctypes.c_bool), (1, ctypes.c_ulong)]
    assert not any(hasattr(wp.float32, name) for name in ("_shape_", "_wp_scalar_type_"))


def test_the_key_of_a_kernel_can_be_set():
    @wp.kernel(module="unique")
    def ones(out: wp.array(dtype=float)):
        out[wp.tid()] = 1.0

    ones.key = "renamed"
    out = wp.zeros(2, dtype=float)
    wp.launch(ones, 2, inputs=[out])
    assert out.list() == [1.0, 1.0]
    assert ones.key == "renamed" and list(ones.module.kernels) == ["renamed"]
    assert ones.get_mangled_name().startswith("renamed_")
