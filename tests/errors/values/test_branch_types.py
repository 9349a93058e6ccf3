"""branch-types: Paths that meet must agree on the type of a value."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "ternary": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    a = n if n > 0 else v
""",
        "n if n > 0 else v",
        ["int32 on one path and vec3f on the other"],
    ),
    "or_value": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = n or x[i]
""",
        "n or x[i]",
        ["int32", "float32"],
    ),
    "compile_time": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    if n > 0:
        name = "a"
    else:
        name = "b"
    print(name)
""",
        "if n > 0:",
        ["`name`", "'a' on one path and 'b' on the other"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = 1 if n > 0 else 2
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "branch-types", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
