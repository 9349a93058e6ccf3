"""not-constant: Some things must be known when the kernel compiles."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "local_array_shape": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = wp.zeros(shape=(2, n), dtype=float)
""",
        "(2, n)",
        ["the shape of a local array must be known when the kernel compiles", "`wp.static(...)`"],
    ),
    "vector_length": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vector(length=n, dtype=float)
""",
        "n",
        ["`length` must be known when the kernel compiles"],
    ),
    "comprehension": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = sum(j for j in range(n))
""",
        "range(n)",
        ["length known when the kernel compiles", "`for` loop"],
    ),
    "filter": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = sum(j for j in range(3) if j < n)
""",
        "j < n",
        ["condition of a comprehension"],
    ),
    "message": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    assert n > 0, n
""",
        "n",
        ["message of an assert"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vector(length=3, dtype=float)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "not-constant", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
