"""index: Indices that are known must be in range, and as many as there are dimensions."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "component": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = v[3]
""",
        "3",
        ["index 3 is out of range for vec3f"],
    ),
    "negative": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = v[-4]
""",
        "-4",
        ["out of range"],
    ),
    "matrix": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    m = wp.mat22()
    x[i] = m[0, 2]
""",
        "2",
        ["out of range for the columns"],
    ),
    "dimensions": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = x[i, 0]
""",
        "0",
        ["array[float32] takes 1 index, not 2"],
    ),
    "tuple": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    t = (1, 2)
    a = t[2]
""",
        "2",
        ["out of range for a tuple of 2"],
    ),
    "local_array": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = wp.zeros(shape=(2, 3), dtype=float)
    x[0] = a[n, 3]
""",
        "3",
        ["index 3 is out of range for fixedarray[float32, (2, 3)]"],
    ),
    "slice_step": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = x[n::0]
""",
        "0",
        ["the step of a slice must not be zero"],
    ),
    "slice_dimensions": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = x[1:, n]
""",
        "n",
        ["array[float32] takes 1 index, not 2"],
    ),
    "tuple_run_time": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    t = (1, 2)
    a = t[n]
""",
        "n",
        ["known when the kernel compiles"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = v[2]
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "index", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
