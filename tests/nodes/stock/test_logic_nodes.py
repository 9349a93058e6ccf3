"""Logic nodes: comparisons, booleans, choices and tests for zero. Values by hand."""

import itertools
import math

import numpy as np
import pytest

from tests.nodes.stock.single_node import Bench, check, compute

T, F = True, False
ROWS = [
    ("Compare", {"a": ("int", 2), "b": ("int", 1)}, {"result": ("bool", T)}),
    ("Compare", {"a": ("uint64", 2**64 - 1), "b": ("uint64", 2**64 - 2), "operation": "<="}, {"result": ("bool", F)}),
    ("Compare", {"a": ("float[]", [1, 2, 3]), "b": ("int", 2), "operation": ">="}, {"result": ("bool[]", [F, T, T])}),
    ("Compare", {"a": ("float[3]", [1, 5, 0]), "b": ("float[3]", [1, 4, 9])}, {"result": ("bool", T)}),
    ("Compare", {"a": ("int[2][]", [[1, 2], [2, 0]]), "b": ("int[2]", [1, 3]), "operation": "<"},
     {"result": ("bool[]", [T, F])}),
    ("Compare", {"a": ("int[2][]", [[1, 2], [2, 0]]), "b": ("int[2][]", [[1, 2], [2, 1]]), "operation": "=="},
     {"result": ("bool[]", [T, F])}),
    ("Compare", {"a": ("double", math.nan), "b": ("double", math.nan), "operation": "!="}, {"result": ("bool", T)}),
    ("Compare", {"a": ("token", "b"), "b": ("string", "a")}, {"result": ("bool", T)}),
    ("Compare", {"a": ("token[]", ["a", "b"]), "b": ("token", "a"), "operation": "=="}, {"result": ("bool[]", [T, F])}),
    ("Compare", {"a": ("bool", T), "b": ("bool", F), "operation": "!="}, {"result": ("bool", T)}),
    ("Compare", {"a": ("float[]", []), "b": ("float", 1)}, {"result": ("bool[]", [])}),
    ("Compare", {"a": ("float[2][]", []), "b": ("float[2]", [1, 1])}, {"result": ("bool[]", [])}),
    ("BooleanAnd", {"a": ("bool", T), "b": ("bool", T), "input2": ("bool", F)}, {"result": ("bool", F)}),
    ("BooleanOr", {"a": ("bool[]", [T, F]), "b": ("bool", F)}, {"result": ("bool[]", [T, F])}),
    ("BooleanNot", {"valueIn": ("bool", T)}, {"valueOut": ("bool", F)}),
    ("BooleanNot", {"valueIn": ("bool[]", [T, F])}, {"valueOut": ("bool[]", [F, T])}),
    ("SelectIf", {"condition": ("bool", T), "ifTrue": ("int", 1), "ifFalse": ("int", 2)}, {"result": ("int", 1)}),
    ("SelectIf", {"condition": ("bool", F), "ifTrue": ("int", 1), "ifFalse": ("double", 2.5)},
     {"result": ("double", 2.5)}),
    ("SelectIf",
     {"condition": ("bool[]", [T, F]), "ifTrue": ("float[3]", [1, 2, 3]), "ifFalse": ("float[3][]", [[4, 5, 6]] * 2)},
     {"result": ("float[3][]", [[1, 2, 3], [4, 5, 6]])}),
    ("SelectIf", {"condition": ("bool", F), "ifTrue": ("int[]", [1, 2]), "ifFalse": ("int", 7)},
     {"result": ("int[]", [7, 7])}),
    ("SelectIf", {"condition": ("bool[]", [F, T]), "ifTrue": ("token", "a"), "ifFalse": ("token[]", ["x", "y"])},
     {"result": ("token[]", ("x", "a"))}),
    ("SelectIf", {"condition": ("bool", F), "ifTrue": ("string", "a"), "ifFalse": ("token", "b")},
     {"result": ("string", "b")}),
    ("SelectIf", {"condition": ("bool", F), "ifTrue": ("target", ["/a"]), "ifFalse": ("target", ["/b"])},
     {"result": ("target", ("/b",))}),
    ("IsZero", {"value": ("float", 0)}, {"result": ("bool", T)}),
    ("IsZero", {"value": ("float[3]", [0, 0.5, -0.5]), "tolerance": 0.5}, {"result": ("bool", T)}),
    ("IsZero", {"value": ("matrixd[2]", np.eye(2))}, {"result": ("bool", F)}),
    ("IsZero", {"value": ("int[]", [])}, {"result": ("bool", T)}),
    ("AnyZero", {"value": ("int[3]", [3, 0, 1])}, {"result": ("bool", T)}),
    ("AnyZero", {"value": ("int[3][]", [[3, 0, 1], [-5, 4, 17]])}, {"result": ("bool", F)}),
    ("EachZero", {"value": ("double", math.nan)}, {"result": ("bool", F)}),
    ("EachZero", {"value": ("int[3]", [3, 0, 1])}, {"result": ("bool[]", [F, T, F])}),
    ("EachZero", {"value": ("int[3][]", [[3, 0, 1], [0, 0, 0]])}, {"result": ("bool[]", [F, T])}),
    ("EachZero", {"value": ("uint64", 2**64 - 1)}, {"result": ("bool", F)}),
    ("IsEmpty", {}, {"isEmpty": ("bool", T)}),
    ("IsEmpty", {"input": ("string", "")}, {"isEmpty": ("bool", T)}),
    ("IsEmpty", {"input": ("string", " ")}, {"isEmpty": ("bool", F)}),
    ("IsEmpty", {"input": ("float[]", [])}, {"isEmpty": ("bool", T)}),
    ("IsEmpty", {"input": ("int[2]", [0, 0])}, {"isEmpty": ("bool", F)}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_values(row):
    check(row)


TRUTH = {
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
    "Nand": lambda a, b: not (a and b),
    "Nor": lambda a, b: not (a or b),
    "Xor": lambda a, b: a ^ b,
    "Xnor": lambda a, b: not a ^ b,
}


@pytest.mark.parametrize("name", TRUTH)
def test_truth_tables(name):
    for a, b in itertools.product((T, F), repeat=2):
        assert compute("BooleanExpr", a=a, b=b, operator=name.upper())["result"] == ("bool", TRUTH[name](a, b))
        if "X" not in name:
            assert compute(f"Boolean{name}", a=("bool", a), b=("bool", b))["result"] == ("bool", TRUTH[name](a, b))


ERRORS = [
    ("Compare", {"a": ("int", 1), "b": ("token", "x")}, "inputs:a is of type int and inputs:b is of type token"),
    ("Compare", {"a": ("int", 1), "b": ("int", 1), "operation": "="}, "inputs:operation is '='"),
    ("BooleanAnd", {"a": ("bool", T), "b": ("int", 1)}, "inputs:b is of type int; it must be a bool"),
    ("BooleanAnd", {"a": ("bool[]", [T, F]), "b": ("bool[]", [T, F, T])}, "inputs:b (bool[]) has 3 elements"),
    ("SelectIf", {"condition": ("bool", T), "ifTrue": ("int", 1), "ifFalse": ("token", "x")}, "no type holds both"),
    ("SelectIf", {"condition": ("bool[]", [T, F]), "ifTrue": ("int[]", [1, 2, 3]), "ifFalse": ("int", 1)},
     "inputs:ifTrue"),
    ("SelectIf", {"condition": ("int", 1), "ifTrue": ("int", 1), "ifFalse": ("int", 1)},
     "inputs:condition is of type int"),
    ("IsZero", {"value": ("token", "x")}, "inputs:value is of type token"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "text"), ERRORS)
def test_errors(name, inputs, text):
    assert text in Bench(name, **inputs).error
