"""arguments: Wrong number or kind of arguments of a constructor or intrinsic."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "local_array_extent": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = wp.zeros(shape=0, dtype=float)
""",
        "0",
        ["the shape of a local array is one to 4 positive integers"],
    ),
    "local_array_device": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = wp.zeros(4, dtype=float, device="cpu")
""",
        'wp.zeros(4, dtype=float, device="cpu")',
        ["`wp.zeros` takes a shape and a dtype"],
    ),
    "local_array_dtype": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    a = wp.zeros(4, dtype=3)
""",
        "3",
        ["the dtype of a local array is a scalar, vector, matrix or struct type"],
    ),
    "vector_count": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0)
""",
        "wp.vec3(1.0, 2.0)",
        ["vec3 cannot be made of 2 values", "no, 1 or 3 numbers"],
    ),
    "matrix_of_vectors": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    m = wp.mat22(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
""",
        "wp.mat22(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))",
        ["wp.matrix_from_rows", "wp.matrix_from_cols"],
    ),
    "cast_count": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = float(n, n)
""",
        "float(n, n)",
        ["takes one argument, 2 given"],
    ),
    "atomic_on_number": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    wp.atomic_add(n, 0, 1)
""",
        "n",
        ["`wp.atomic_add` works on an array"],
    ),
    "atomic_count": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    wp.atomic_add(x, 1.0)
""",
        "wp.atomic_add(x, 1.0)",
        ["takes 3 arguments, 2 given"],
    ),
    "tid_arguments": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    j = wp.tid(1)
""",
        "wp.tid(1)",
        ["`wp.tid` takes 0 arguments"],
    ),
    "printf": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    wp.printf("%d %d\\n", n)
""",
        'wp.printf("%d %d\\n", n)',
        ["the format shows 2 values, 1 given"],
    ),
    "too_many_indices_of_tid": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a, b, c, d, e = wp.tid()
""",
        "wp.tid()",
        ["at most 4 dimensions"],
    ),
    "struct_count": (
        """\
@wp.struct
class S:
    radius: float

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = S(1.0, 2.0)
""",
        "S(1.0, 2.0)",
        ["struct S has 1 fields, 2 values given"],
    ),
    "min_of_nothing": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = min()
""",
        "min()",
        ["at least one value"],
    ),
    "lambda": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    f = lambda a: a
    x[i] = f(1.0, 2.0)
""",
        "f(1.0, 2.0)",
        ["the lambda takes 1 arguments, 2 given"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "arguments", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
