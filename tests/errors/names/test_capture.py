"""capture: Objects that kernels cannot capture."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "object": (
        """\
class Thing:
    size = 3


THING = Thing()

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = THING
""",
        "THING",
        ["an object of type Thing", "pass it as an argument"],
    ),
    "member of an array": (
        """\
G = wp.array([1.0, 2.0], dtype=float)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = G.size
""",
        "G",
        ["cannot be captured", "`size = G.size`, and write `size` here", "pass it as an argument"],
    ),
    "structure": (
        """\
GRID = wp.HashGrid(1, 1, 1, device="cpu")

@wp.kernel
def k(out: wp.array(dtype=int)):
    out[0] = wp.hash_grid_point_id(GRID.id, 0)
""",
        "GRID",
        ["cannot be captured", "pass its `id`", "wp.uint64"],
    ),
    "dict": (
        """\
D = {}

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = D
""",
        "D",
        ["an object of type dict"],
    ),
    "array": (
        """\
G = wp.array([1.0, 2.0], dtype=float)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = G[1]
""",
        "G",
        ["an object of type array", "pass it as an argument"],
    ),
    "numpy array": (
        """\
import numpy

G = numpy.zeros(3)

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = float(G[1])
""",
        "G",
        ["an object of type ndarray"],
    ),
}

REPAIRED = """\
SIZE = 3

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = SIZE
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "capture", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
