"""missing-return: A function that returns a value must return one on every path."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "one_branch": (
        """\
@wp.func
def f(a: int):
    if a > 0:
        return 1.0

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "if a > 0:",
        ["`f` can end without returning a value", "a value is returned here", "called from here"],
    ),
    "loop": (
        """\
@wp.func
def f(a: int):
    for j in range(a):
        return 1.0

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
""",
        "for j in range(a):",
        ["can end without"],
    ),
}

REPAIRED = """\
@wp.func
def f(a: int):
    if a > 0:
        return 1.0
    return 0.0

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(n)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "missing-return", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
