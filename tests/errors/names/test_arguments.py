"""arguments: Wrong number or kind of arguments of a constructor or intrinsic."""

import builtins
import contextlib

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from tests.errors.report import accepted, kernel_of, refused

CASES = {
    "reversed_nothing": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    for y in reversed():
        x[0] = 1.0
""",
        "reversed()",
        ["`reversed` takes one thing to iterate, 0 given"],
    ),
    "reversed_two": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    for y in reversed(x, x):
        x[0] = 1.0
""",
        "reversed(x, x)",
        ["one thing to iterate, 2 given"],
    ),
    "map_nothing": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    y = map()
""",
        "map()",
        ["`map` takes a function and one or more things to iterate, 0 given"],
    ),
    "map_function_alone": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    for y in map(wp.sin):
        x[0] = 1.0
""",
        "map(wp.sin)",
        ["one or more things to iterate, 1 given"],
    ),
    "zip_nothing": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    for y in zip():
        x[0] = 1.0
""",
        "zip()",
        ["`zip` takes one or more things to iterate, 0 given"],
    ),
    "enumerate_nothing": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    for y in enumerate():
        x[0] = 1.0
""",
        "enumerate()",
        ["something to iterate, and a start, 0 given"],
    ),
    "enumerate_keyword": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    for y in enumerate(x, first=1):
        x[0] = 1.0
""",
        "enumerate(x, first=1)",
        ["something to iterate, and a start, 2 given"],
    ),
    "range_nothing": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    for y in range():
        x[0] = 1.0
""",
        "range()",
        ["`range` takes 1 to 3 arguments, 0 given"],
    ),
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
        ["vec3f cannot be made of 2 values", "no, 1 or 3 numbers"],
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
        ["the format has 2 conversions, but 1 values are given"],
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


NAMES = sorted(name for name, x in vars(builtins).items() if callable(x) and name[0].islower())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("statement", ["y = {}()", "for y in {}():\n        x[0] = 1.0"], ids=["value", "loop"])
def test_builtins_of_python_without_arguments(name, statement):
    kernel = kernel_of("@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    " + statement.format(name) + "\n")
    with contextlib.suppress(wp.CompileError):  # an InternalError is not caught
        lower_kernel(kernel)
