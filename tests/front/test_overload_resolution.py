"""Which overload of a function is called: the same in kernels, in interpreted kernels and at Python scope."""

from typing import Any, TypeVar

import pytest

import omni.warp_core as wp

# ruff: noqa: F811

T = TypeVar("T")


@wp.func
def special(a: float, b: float):
    return a * b


@wp.func
def special(a: Any, b: Any):
    return a + b


@wp.func
def special(a: int, b: int):
    return a - b


@wp.func
def kind(a: wp.array(dtype=Any)):
    return 1


@wp.func
def kind(a: wp.types.vector(length=3, dtype=wp.Float)):
    return 2


@wp.func
def kind(a: wp.types.vector(length=Any, dtype=Any)):
    return 3


@wp.func
def kind(a: wp.Float):
    return 4


@wp.func
def kind(a: wp.Scalar):
    return 5


@wp.func
def kind(a: Any):
    return 6


@wp.func
def kind(a: wp.float64):
    return 7


@wp.func
def same(a: T, b: T):
    return 1


@wp.func
def same(a: Any, b: Any):
    return 2


@wp.func
def same(a: Any, b: Any, c: int = 3):
    return c


CALLS = {
    "special(17, 25)": -8,
    "special(7.0, 10.0)": 70,
    "special(wp.vec3(1.0, 2.0, 3.0), wp.vec3(1.0, 2.0, 3.0))[1]": 4,
    "special(wp.float64(3), wp.float64(4))": 7,
    "special(a=1, b=3)": -2,
    "kind(x)": 1,
    "kind(wp.vec3())": 2,
    "kind(wp.vec3d())": 2,
    "kind(wp.vec2())": 3,
    "kind(wp.vec3i())": 3,
    "kind(1.0)": 4,
    "kind(wp.float16(1.0))": 4,
    "kind(1)": 5,
    "kind(wp.uint8(1))": 5,
    "kind(wp.mat22())": 6,
    "kind(wp.float64(1.0))": 7,
    "same(1, 2)": 1,
    "same(wp.float64(1.0), 2.0)": 2,  # the other one would change the literal
    "same(1, wp.float32(2.0))": 2,
    "same(wp.int8(1), wp.float32(2.0))": 2,
    "same(1, 2, 5)": 5,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("scope", ["release", "interpret", "python"])
def test_calls(call, scope):
    x = wp.zeros(1, dtype=wp.float64)
    if scope == "python":
        assert float(eval(call)) == CALLS[call]
        return
    kernel = wp.kernel_from_source(
        f"@wp.kernel\ndef k(x: wp.array(dtype=wp.float64)):\n    x[0] = wp.float64({call})\n", namespace={**globals()}
    )
    wp.launch(kernel, dim=1, inputs=[x], interpret=scope == "interpret")
    assert x.list() == [CALLS[call]]


def test_no_overload_at_python_scope():
    @wp.func
    def narrow(a: int):
        return a

    @wp.func
    def narrow(a: wp.vec3):
        return a

    assert narrow(3) == 3
    with pytest.raises(TypeError, match="no overload of `narrow` takes str"):
        narrow("x")
    with pytest.raises(TypeError, match="no overload of `narrow` takes vec2f"):
        narrow(wp.vec2())


def test_a_function_defined_again_is_no_overload():
    @wp.func
    def again(a: float):
        return a

    @wp.func
    def again(a: float):
        return 2.0 * a

    assert len(again.overloads) == 1
    assert again(3.0) == 6.0
    assert again(1j) == 2j  # plain Python, as functions without overloads are
