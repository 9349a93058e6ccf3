"""type-change: A local keeps the type of its first assignment."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "local_array_shape": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = wp.zeros(shape=4, dtype=float)
    a = wp.zeros(shape=3, dtype=float)
""",
        "a",
        ["`a` is fixedarray[float32, 4] and cannot become fixedarray[float32, 3]", "use another name"],
    ),
    "local_array_and_view": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = wp.zeros(shape=4, dtype=float)
    a = x
""",
        "a",
        ["`a` is fixedarray[float32, 4] and cannot become array[float32]"],
    ),
    "number": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = 0
    s = 1.5
""",
        "s",
        ["`s` is int32 and cannot become float32", "`s` got its type here", "start it as float32: `s = 0.0`"],
    ),
    "augmented": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = 0
    for j in range(n):
        s = x[j]
    x[i] = float(s)
""",
        "s",
        ["cannot become float32"],
    ),
    "literal_that_does_not_fit": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = 0.0
    s = 16777217
""",
        "s",
        ["`s` is float32 and cannot become int32", "convert: `float32(...)`"],
    ),
    "truth": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = 0.0
    s = True
""",
        "s",
        ["`s` is float32 and cannot become bool"],
    ),
    "parameter": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    n = 2.0
""",
        "n",
        ["`n` is int32"],
    ),
    "vector": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    v = v[0]
""",
        "v",
        ["`v` is vec3f and cannot become float32"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = 0.0
    s = 1.5
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "type-change", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
