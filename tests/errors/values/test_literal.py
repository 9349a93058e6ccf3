"""literal: Arithmetic on literals that has no result."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "zero_division": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = 1 // 0
""",
        "1 // 0",
        ["cannot be computed"],
    ),
    "complex_power": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = (-1.0) ** 0.5
""",
        "(-1.0) ** 0.5",
        ["not a real number"],
    ),
    "zero_step": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    for j in range(0, 4, 0):
        pass
""",
        "0",
        ["must not be zero"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = 1 // 2
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "literal", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
