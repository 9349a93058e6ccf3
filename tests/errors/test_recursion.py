"""recursion: Functions cannot call themselves, directly or through others."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "ever_new_types": (
        """\
import typing


@wp.func
def f(a: typing.Any):
    return f(wp.vector(a[0], length=len(a) + 1))


@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    x[0] = f(wp.vec2(1.0, 2.0))
""",
        "f(wp.vector(a[0], length=len(a) + 1))",
        ["nested more than 64 deep"],
    ),
    "direct": (
        """\
@wp.func
def f(a: int):
    return f(a - 1)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "f(a - 1)",
        ["f -> f", "use a loop"],
    ),
    "mutual": (
        """\
@wp.func
def f(a: int):
    return g(a)


@wp.func
def g(a: int):
    return f(a)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "f(a)",
        ["f -> g -> f"],
    ),
}

REPAIRED = """\
@wp.func
def f(a: int):
    return float(a)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "recursion", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
