"""Vector nodes: products, lengths, and taking vectors and matrices apart. Values by NumPy and hand."""

import math

import numpy as np
import pytest

from tests.nodes.stock.single_node import Bench, check

ROWS = [
    ("DotProduct", {"a": ("float[3]", [1, 2, 3]), "b": ("float[3]", [4, 5, 6])}, {"product": ("float", 32)}),
    ("DotProduct", {"a": ("double[2][]", [[1, 2], [3, 4]]), "b": ("int[2]", [1, 1])},
     {"product": ("double[]", [3, 7])}),
    ("DotProduct", {"a": ("quatf[4]", [1, 2, 3, 4]), "b": ("quatf[4]", [1, 0, 0, 2])}, {"product": ("float", 9)}),
    ("CrossProduct", {"a": ("vectord[3]", [1, 0, 0]), "b": ("vectord[3]", [0, 1, 0])},
     {"product": ("vectord[3]", [0, 0, 1])}),
    ("CrossProduct", {"a": ("float[3][]", [[1, 2, 3], [0, 0, 1]]), "b": ("float[3]", [3, 2, 1])},
     {"product": ("float[3][]", np.cross([[1, 2, 3], [0, 0, 1]], [3, 2, 1]))}),
    ("Distance3D", {"a": ("pointf[3]", [1, 2, 3]), "b": ("pointf[3]", [1, 5, 7])}, {"distance": ("float", 5)}),
    ("Distance3D", {"a": ("pointd[3][]", [[0, 0, 0], [2, 0, 0]]), "b": ("pointd[3]", [0, 0, 0])},
     {"distance": ("double[]", [0, 2])}),
    ("Magnitude", {"input": ("float[2]", [3, 4])}, {"magnitude": ("float", 5)}),
    ("Magnitude", {"input": ("double", -2)}, {"magnitude": ("double", 2)}),
    ("Magnitude", {"input": ("int[3][]", [[2, 3, 6], [0, 0, 0]])}, {"magnitude": ("double[]", [7, 0])}),
    ("Normalize", {"vector": ("double[3]", [0, 3, 4])}, {"result": ("double[3]", [0, 0.6, 0.8])}),
    ("Normalize", {"vector": ("float[2][]", [[0, 0], [5, 0]])}, {"result": ("float[2][]", [[0, 0], [1, 0]])}),
    ("Normalize", {"vector": ("double[2]", [3e200, 4e200])}, {"result": ("double[2]", [0.6, 0.8])}),
    ("Normalize", {"vector": ("half[3]", [300, 0, 400])}, {"result": ("half[3]", [0.6, 0, 0.8])}),
    ("MakeVector2", {"x": ("float", 1), "y": ("float", 2)}, {"tuple": ("float[2]", [1, 2])}),
    ("MakeVector3", {"x": ("int", 1), "y": ("int", 2), "z": ("int", 3)}, {"tuple": ("int[3]", [1, 2, 3])}),
    ("MakeVector3", {"x": ("double", 1), "y": ("float", 2), "z": ("int64", 3)}, {"tuple": ("double[3]", [1, 2, 3])}),
    ("MakeVector4", {"x": ("half[]", [1, 2]), "y": ("half", 3), "z": ("half[]", [4]), "w": ("half[]", [5, 6])},
     {"tuple": ("half[4][]", [[1, 3, 4, 5], [2, 3, 4, 6]])}),
    ("MakeVector2", {"x": ("uint64", 2), "y": ("uint64", 3)}, {"tuple": ("double[2]", [2, 3])}),
    ("BreakVector2", {"tuple": ("texcoordf[2]", [1, 2])}, {"x": ("float", 1), "y": ("float", 2)}),
    ("BreakVector3", {"tuple": ("colorh[3][]", [[1, 2, 3], [4, 5, 6]])},
     {"x": ("half[]", [1, 4]), "y": ("half[]", [2, 5]), "z": ("half[]", [3, 6])}),
    ("BreakVector4", {"tuple": ("int[4]", [1, 2, 3, 4])}, {"x": ("int", 1), "w": ("int", 4)}),
    ("MakeMatrix2", {"x": ("double[2]", [1, 2]), "y": ("float[2]", [3, 4])},
     {"matrix": ("matrixd[2]", [[1, 2], [3, 4]])}),
    ("MakeMatrix3",
     {"x": ("double[3][]", [[1, 2, 3], [4, 5, 6]]), "y": ("double[3]", [0, 1, 0]), "z": ("double[3]", [0, 0, 1])},
     {"matrix": ("matrixd[3][]", [[[1, 2, 3], [0, 1, 0], [0, 0, 1]], [[4, 5, 6], [0, 1, 0], [0, 0, 1]]])}),
    ("BreakMatrix2", {"matrix": ("matrixd[2]", [[1, 2], [3, 4]])},
     {"x": ("double[2]", [1, 2]), "y": ("double[2]", [3, 4])}),
    ("BreakMatrix4", {"matrix": ("matrixd[4][]", [np.arange(16).reshape(4, 4)])},
     {"x": ("double[4][]", [[0, 1, 2, 3]]), "w": ("double[4][]", [[12, 13, 14, 15]])}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_values(row):
    check(row)


ERRORS = [
    ("CrossProduct", {"a": ("float[2]", [1, 2]), "b": ("float[2]", [1, 2])}, "a cross product needs three"),
    ("DotProduct", {"a": ("float", 1), "b": ("float[2]", [1, 2])},
     "inputs:a is of type float; it must be a vector of 2 numbers"),
    ("DotProduct", {"a": ("float[2]", [1, 2]), "b": ("float[3]", [1, 2, 3])}, "has 2 and inputs:b"),
    ("BreakVector3", {"tuple": ("float[2]", [1, 2])},
     "inputs:tuple is of type float[2]; it must be a vector of 3 numbers"),
    ("BreakMatrix3", {"matrix": ("matrixd[4]", np.eye(4))}, "it must be a matrix of 3 x 3 numbers"),
    ("MakeVector2", {"x": ("float[]", [1, 2]), "y": ("float[]", [1, 2, 3])},
     "has 2 and inputs:y (float[]) has 3 elements"),
    ("MakeVector2", {"x": ("bool", True), "y": ("float", 1)}, "inputs:x is of type bool"),
    ("Normalize", {"vector": ("token", "x")}, "inputs:vector is of type token"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "text"), ERRORS)
def test_errors(name, inputs, text):
    assert text in Bench(name, **inputs).error


def test_a_nan_stays_a_nan():
    check(("Normalize", {"vector": ("double[2]", [math.nan, 1])}, {"result": ("double[2]", [math.nan, math.nan])}))
