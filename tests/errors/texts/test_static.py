"""static: wp.static runs its expression in Python; what it raises is told at its place."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "raises": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = wp.static(1 / 0)
""",
        "1 / 0",
        ["raised ZeroDivisionError"],
    ),
    "name": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = wp.static(nothing + 1)
""",
        "nothing + 1",
        ["NameError"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = wp.static(len('abc') + 1)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "static", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
