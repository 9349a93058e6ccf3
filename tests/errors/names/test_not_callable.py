"""not-callable: Only kernel functions, builtins, types and lambdas can be called."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "array_in_kernel": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = wp.array(dtype=float)
""",
        "wp.array",
        ["outside of kernels only"],
    ),
    "method": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    v = wp.vec3(1.0, 2.0, 3.0)
    x[0] = v.length()
""",
        "v.length",
        ["values have no methods: write `wp.length(v)`"],
    ),
    "str": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    print("n" + str(n))
""",
        "str",
        ['`print("n", i)` takes several values'],
    ),
    "breakpoint": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    breakpoint()
""",
        "breakpoint",
        ["interpret=True"],
    ),
    "plain_function": (
        """\
def f(a):
    return a

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(1.0)
""",
        "f",
        ["plain Python function", "@wp.func"],
    ),
    "kernel": (
        """\
@wp.kernel
def j(x: wp.array(dtype=float)):
    pass

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    j(x)
""",
        "j",
        ["kernel `j` cannot be called", "@wp.func"],
    ),
    "number": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = n(1)
""",
        "n",
        ["int32 is not a function"],
    ),
    "python_builtin": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = sorted((1.0, 2.0))
""",
        "sorted",
        ["`sorted` cannot be called in a kernel"],
    ),
    "math_module": (
        """\
import math

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = math.sin(1.0)
""",
        "math.sin",
        ["wp.sin"],
    ),
}

REPAIRED = """\
@wp.func
def f(a: float):
    return a

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = f(1.0)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "not-callable", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
