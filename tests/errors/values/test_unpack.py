"""unpack: As many names as values."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "tuple": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a, b = (1, 2, 3)
""",
        "a, b",
        ["cannot unpack 3 values into 2 names"],
    ),
    "vector": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a, b = wp.vec3(1.0, 2.0, 3.0)
""",
        "a, b",
        ["cannot unpack 3 values into 2 names"],
    ),
    "starred": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a, *b, c = (1,)
""",
        "(1,)",
        ["cannot unpack 1 values, at least 2 are needed"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a, b, c = (1, 2, 3)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "unpack", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
