"""Builtins called from Python: same results as in kernels, right types, helpful refusals."""

import math

import numpy as np
import pytest

import omni.warp_core as wp


def test_vectors():
    a, b = wp.vec3(1.0, 2.0, 3.0), wp.vec3(-4.0, 5.0, 0.5)
    assert wp.dot(a, b) == np.float32(-4 + 10 + 1.5)
    assert wp.cross(a, b) == wp.vec3(*np.cross([1, 2, 3], [-4, 5, 0.5]).astype(np.float32))
    assert isinstance(wp.cross(a, b), wp.vec3)
    assert wp.length(wp.vec2d(3.0, 4.0)) == 5.0


def test_numbers():
    assert wp.sqrt(2.0) == np.sqrt(np.float32(2))
    assert isinstance(wp.sqrt(2.0), float)
    assert wp.sqrt(wp.float64(2.0)) == math.sqrt(2.0)
    assert isinstance(wp.sqrt(wp.float64(2.0)), wp.float64)
    assert wp.max(3, 7) == 7
    assert wp.clamp(5.0, 0.0, 1.0) == 1.0
    assert wp.clamp(wp.float64(0.3), 0, 1) == 0.3
    assert abs(wp.sin(0.5) - math.sin(0.5)) < 1e-7


def test_many_numbers_share_one_function():
    from omni.warp_core.eager import call as scope

    wp.sin(0.25)
    before = scope._lowered.cache_info().misses
    for i in range(20):
        wp.sin(i / 7)
    assert scope._lowered.cache_info().misses == before


def test_intrinsics():
    assert wp.where(True, 1.0, 2.0) == 1.0
    assert wp.select(True, 1.0, 2.0) == 2.0
    assert wp.static(3) == 3
    with pytest.raises(RuntimeError, match="inside a kernel"):
        wp.tid()
    with pytest.raises(TypeError, match="inside a kernel"):
        wp.atomic_add(wp.zeros(1, dtype=int), 0, 1)


def test_the_same_as_in_a_kernel():
    @wp.kernel
    def k(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        i = wp.tid()
        n = wp.normalize(v[i])
        out[i] = wp.dot(n, v[i]) + wp.exp(n[0]) * wp.atan2(n[1], n[2])

    rng = np.random.default_rng(1)
    v = rng.normal(size=(20, 3)).astype(np.float32)
    out = np.zeros(20, np.float32)
    wp.launch(k, 20, [v, out])
    for row, compiled in zip(v, out):
        x = wp.vec3(*row)
        n = wp.normalize(x)
        mine = np.float32(wp.dot(n, x)) + np.float32(np.float32(wp.exp(n[0])) * np.float32(wp.atan2(n[1], n[2])))
        assert mine == pytest.approx(compiled, rel=3e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: wp.dot([1.0, 2.0], [3.0, 4.0]),
            r"no form for .*\n(.*\n)*a list was passed; .* such as wp.vec3\(\*a\)",
        ),
        (lambda: wp.length((3.0, 4.0)), "a tuple was passed; it is not a vector"),
        (lambda: wp.normalize(np.ones(3)), r"^wp\.normalize takes values, got ndarray; it is not a vector"),
        (lambda: wp.sin(wp.ones(3)), r"wp\.map\(wp\.sin, a\) applies it to the elements of an array"),
    ],
)
def test_what_is_no_value_is_told_apart(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_wrong_arguments_name_the_overloads():
    with pytest.raises(TypeError, match=r"wp\.dot") as caught:
        wp.dot(wp.vec3(), wp.vec2())
    assert "dot(" in str(caught.value)
    with pytest.raises(TypeError, match=r"wp\.sqrt"):
        wp.sqrt("4")
    with pytest.raises(TypeError, match=r"wp\.sqrt"):
        wp.sqrt(1.0, 2.0)


def test_functions_are_plain_python_at_python_scope():
    @wp.func
    def area(r: float):
        return wp.length(wp.vec2(r, 0.0)) * 2.0

    assert area(1.5) == 3.0
