"""return-type: Returns must agree with each other and with the annotation."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "kernel": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    return n
""",
        "n",
        ["a kernel cannot return a value", "array"],
    ),
    "two_returns": (
        """\
@wp.func
def f(a: int):
    if a > 0:
        return a
    return 0.5 * float(a)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "0.5 * float(a)",
        ["this returns float32, an earlier `return` gives int32", "called from here"],
    ),
    "annotated": (
        """\
@wp.func
def f(a: int) -> float:
    return a

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "a",
        ["annotated to return float32"],
    ),
    "count": (
        """\
@wp.func
def f(a: int):
    if a > 0:
        return a, a
    return a

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "a",
        ["(int32, int32)"],
    ),
}

REPAIRED = """\
@wp.func
def f(a: int) -> float:
    return float(a)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "return-type", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
