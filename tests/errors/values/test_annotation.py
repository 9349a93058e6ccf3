"""annotation: Parameters, returns and locals need types that kernels know."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "local_array": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), a: wp.fixedarray(dtype=float, shape=4)):
    x[0] = a[0]
""",
        "wp.fixedarray(dtype=float, shape=4)",
        ["local arrays are made in kernels and passed to functions only"],
    ),
    "any_number_of_arguments": (
        """\
@wp.kernel
def k(*x: int):
    pass
""",
        "int",
        ["`x` accepts any number of arguments"],
    ),
    "string": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), mode: str):
    x[0] = 1.0
""",
        "str",
        ["kernels take no strings as arguments", "mode: int"],
    ),
    "missing": (
        """\
@wp.kernel
def k(x, n: int):
    pass
""",
        "x",
        ["parameter `x` has no type annotation", "x: float"],
    ),
    "method": (
        """\
@wp.kernel
def k(self, n: int):
    pass
""",
        "self",
        ["kernels are not methods"],
    ),
    "unknown_string": (
        """\
@wp.kernel
def k(x: "flaot", n: int):
    pass
""",
        '"flaot"',
        ["flaot"],
    ),
    "python_class": (
        """\
@wp.kernel
def k(x: dict):
    pass
""",
        "dict",
        ["`dict` is not a type that kernels know"],
    ),
    "structure": (
        """\
@wp.kernel
def k(mesh: wp.Mesh):
    pass
""",
        "wp.Mesh",
        ["they take its `id`, a wp.uint64"],
    ),
    "local": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    y: str = 1
""",
        "str",
        ["not a type that kernels know"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    y: float = 1
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "annotation", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
