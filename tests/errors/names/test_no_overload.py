"""no-overload: A call that fits no form of the function; all forms are shown."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "builtin": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = wp.dot(v, 1.0)
""",
        "wp.dot(v, 1.0)",
        ["`wp.dot` has no form for (vec3f, 1.0)", "wp.dot(a: Vec[N, "],
    ),
    "second_of_two_calls": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = wp.dot(v, v) + wp.dot(v, wp.vec2())
""",
        "wp.dot(v, wp.vec2())",
        ["`wp.dot` has no form for (vec3f, vec2f)", ":6:27"],
    ),
    "second_of_two_calls_of_a_function": (
        """\
from typing import Any
@wp.func
def f(a: Any, b: Any):
    return wp.dot(a, b)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = f(v, v) + f(v, wp.vec2())
""",
        "wp.dot(a, b)",
        ["`wp.dot` has no form for (vec3f, vec2f)", "called from here", ":11:22"],
    ),
    "user_function": (
        """\
@wp.func
def f(a: float):
    return a

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "n",
        ["`a` takes float32, not int32", "f(a: float32)"],
    ),
    "count": (
        """\
@wp.func
def f(a: float):
    return a

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(1.0, 2.0)
""",
        "f(1.0, 2.0)",
        ["takes 1 arguments, 2 given"],
    ),
    "missing": (
        """\
@wp.func
def f(a: float, b: float):
    return a + b

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(1.0)
""",
        "f(1.0)",
        ["`b` is missing"],
    ),
    "keyword": (
        """\
@wp.func
def f(a: float, b: int = 1):
    return a

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(a=1.0, c=2)
""",
        "f(a=1.0, c=2)",
        ["has no parameter `c`", "b: int32 = 1"],
    ),
    "overloads": (
        """\
@wp.func
def f(a: float):
    return a


@wp.func
def f(a: int):
    return float(a)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(wp.vec3(1.0, 2.0, 3.0))
""",
        "f(wp.vec3(1.0, 2.0, 3.0))",
        ["f(a: int32)", "f(a: float32)"],
    ),
}

REPAIRED = """\
@wp.func
def f(a: float):
    return a

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(float(n))
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "no-overload", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
