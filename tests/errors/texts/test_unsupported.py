"""unsupported: Python that kernels do not have."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "dict": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    d = {1: 2}
""",
        "{1: 2}",
        ["a dict cannot be used in a kernel"],
    ),
    "import": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    import os
""",
        "import os",
        ["outside the kernel"],
    ),
    "nested_function": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    def f(a):
        return a
""",
        "def f(a):",
        ["a nested function", "@wp.func"],
    ),
    "try": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    try:
        pass
    except ValueError:
        pass
""",
        "try:",
        ["no exceptions"],
    ),
    "raise": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    raise ValueError
""",
        "raise ValueError",
        ["assert"],
    ),
    "with": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    with x:
        pass
""",
        "with x:",
        ["`with` cannot be used"],
    ),
    "view_of_local_array_returned": (
        """\
@wp.func
def f(c: bool, x: wp.array(dtype=float)):
    a = wp.zeros(shape=(4, 4), dtype=float)
    b = x
    if c:
        b = a[1]
    return b

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    x[0] = f(n > 1, x)[0]
""",
        "b",
        ["this returns a view of a local array", "return the array as a whole"],
    ),
    "view_of_local_array_stored": (
        """\
@wp.struct
class S:
    v: wp.array(dtype=float)

@wp.kernel
def k(x: wp.array(dtype=float), s: wp.array(dtype=S)):
    a = wp.zeros(shape=4, dtype=float)
    t = S()
    t.v = a[1:]
    s[0] = t
""",
        "s[0]",
        ["this stores a view of a local array"],
    ),
    "array_slice": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[1:3] = 0.5
""",
        "x[1:3]",
        ["a view of an array cannot be assigned as a whole", "assign its elements"],
    ),
    "changing_a_captured_constant": (
        """\
LIST = [1, 2]

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    LIST[0] = 1
""",
        "LIST",
        ["not a local"],
    ),
    "is": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    if n is i:
        pass
""",
        "n is i",
        ["use `==`"],
    ),
    "pointer": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = x.ptr * 2
""",
        "x.ptr * 2",
        ["the address of an array takes `+` or `-`"],
    ),
    "complex": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = 1j
""",
        "1j",
        ["cannot be used in a kernel"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = (1, 2)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "unsupported", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
