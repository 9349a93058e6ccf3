"""recursion: Functions cannot call themselves, directly or through others."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
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
