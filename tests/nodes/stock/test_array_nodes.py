"""Array nodes. Values by NumPy, CPython and hand."""

import numpy as np
import pytest

from tests.nodes.stock.single_node import Bench, check, compute

ROWS = [
    ("ConstructArray", {"input0": ("float", 1), "input1": ("float", 2), "arraySize": 2},
     {"array": ("float[]", [1, 2])}),
    ("ConstructArray", {"input0": ("pointf[3]", [1, 2, 3]), "arraySize": 2},
     {"array": ("pointf[3][]", [[1, 2, 3]] * 2)}),
    ("ConstructArray", {"input0": ("int", 1), "input10": ("int", 3), "input2": ("int", 2), "arraySize": 5},
     {"array": ("int[]", [1, 2, 3, 3, 3])}),
    ("ConstructArray", {"input0": ("int", 1), "input1": ("int", 2), "arraySize": 1}, {"array": ("int[]", [1])}),
    ("ConstructArray", {"input0": ("double", 1.5), "arrayType": "int[]"}, {"array": ("int[]", [1])}),
    ("ConstructArray", {"arraySize": 0, "arrayType": "float[3][]"}, {"array": ("float[3][]", [])}),
    ("ConstructArray", {"input0": ("token", "a"), "arraySize": 2}, {"array": ("token[]", ("a", "a"))}),
    ("ConstructArray", {"input0": ("bool", True), "arraySize": -3}, {"array": ("bool[]", [])}),
    ("MakeArray", {"a": ("float", 1), "b": ("int", 2), "arraySize": 3}, {"array": ("float[]", [1, 2, 2])}),
    ("AppendArray", {"input0": ("int[]", [1]), "input1": ("int[]", []), "input2": ("float[]", [2.5])},
     {"array": ("int[]", [1, 2])}),
    ("AppendArray", {"input0": ("token[]", ["a"]), "input1": ("token[]", ["b"])}, {"array": ("token[]", ("a", "b"))}),
    ("AppendArray", {"input0": ("string", "ab"), "input1": ("string", "c")}, {"array": ("string", "abc")}),
    ("ArrayIndex", {"array": ("float[2][]", [[1, 2], [3, 4]]), "index": -1}, {"value": ("float[2]", [3, 4])}),
    ("ArrayIndex", {"array": ("uint64[]", [2**64 - 1])}, {"value": ("uint64", 2**64 - 1)}),
    ("ArrayIndex", {"array": ("token[]", ["a", "b"]), "index": 1}, {"value": ("token", "b")}),
    ("ArrayIndex", {"array": ("string", "abc"), "index": -3}, {"value": ("string", "a")}),
    ("ArrayGetSize", {"array": ("matrixd[4][]", [])}, {"size": ("int", 0)}),
    ("ArrayGetSize", {"array": ("string", "abc")}, {"size": ("int", 3)}),
    ("ArrayFindValue", {"array": ("int[]", [3, 5, 5]), "value": ("int", 5)}, {"index": ("int", 1)}),
    ("ArrayFindValue", {"array": ("float[2][]", [[1, 2], [2, 2]]), "value": ("float[2]", [2, 2])},
     {"index": ("int", 1)}),
    ("ArrayFindValue", {"array": ("token[]", ["a"]), "value": ("string", "b")}, {"index": ("int", -1)}),
    ("ArrayFindValue", {"array": ("float[3][]", []), "value": ("float[3]", [0, 0, 0])}, {"index": ("int", -1)}),
    ("ArraySetIndex", {"array": ("int[]", [1, 2, 3]), "index": -1, "value": ("int", 9)},
     {"array": ("int[]", [1, 2, 9])}),
    ("ArraySetIndex", {"array": ("int[]", [1]), "index": 3, "value": ("int", 9), "resizeToFit": True},
     {"array": ("int[]", [1, 0, 0, 9])}),
    ("ArraySetIndex", {"array": ("token[]", ["a"]), "index": 2, "value": ("token", "c"), "resizeToFit": True},
     {"array": ("token[]", ("a", "", "c"))}),
    ("ArrayResize", {"array": ("int[2][]", [[1, 2]]), "newSize": 2}, {"array": ("int[2][]", [[1, 2], [0, 0]])}),
    ("ArrayResize", {"array": ("matrixd[2][]", []), "newSize": 1}, {"array": ("matrixd[2][]", [[[0, 0], [0, 0]]])}),
    ("ArrayResize", {"array": ("int[]", [1, 2]), "newSize": -1}, {"array": ("int[]", [])}),
    ("ArrayResize", {"array": ("string", "abc"), "newSize": 2}, {"array": ("string", "ab")}),
    ("ArrayFill", {"array": ("int[]", [1, 2]), "fillValue": ("double", 7.9)}, {"array": ("int[]", [7, 7])}),
    ("ArrayFill", {"array": ("token[]", ["a", "b"]), "fillValue": ("token", "c")}, {"array": ("token[]", ("c", "c"))}),
    ("ArrayInsertValue", {"array": ("int[]", [1, 2]), "index": -5, "value": ("int", 0)},
     {"array": ("int[]", [0, 1, 2])}),
    ("ArrayInsertValue", {"array": ("int[]", [1, 2]), "index": 9, "value": ("int", 3)},
     {"array": ("int[]", [1, 2, 3])}),
    ("ArrayInsertValue", {"array": ("token[]", []), "value": ("token", "x")}, {"array": ("token[]", ("x",))}),
    ("ArrayInsertValue", {"array": ("string", "ac"), "index": 1, "value": ("string", "b")},
     {"array": ("string", "abc")}),
    ("ArrayAppendValue", {"array": ("colorf[3][]", [[1, 1, 1]]), "value": ("float[3]", [0, 0, 0])},
     {"array": ("colorf[3][]", [[1, 1, 1], [0, 0, 0]])}),
    ("ArrayRemoveIndex", {"array": ("int[]", [1, 2, 3]), "index": -2}, {"array": ("int[]", [1, 3])}),
    ("ArrayRemoveValue", {"array": ("int[]", [1, 2, 1]), "value": ("int", 1)},
     {"array": ("int[]", [2, 1]), "found": ("bool", True)}),
    ("ArrayRemoveValue", {"array": ("token[]", ["a", "b", "a"]), "value": ("token", "a"), "removeAll": True},
     {"array": ("token[]", ("b",)), "found": ("bool", True)}),
    ("ArrayRemoveValue", {"array": ("int[]", []), "value": ("int", 1)},
     {"array": ("int[]", []), "found": ("bool", False)}),
    ("ArrayReplaceValue",
     {"array": ("int[]", [1, 2, 1]), "value": ("int", 1), "newValue": ("int", 9), "replaceAll": True},
     {"array": ("int[]", [9, 2, 9]), "found": ("bool", True)}),
    ("ArrayReplaceValue", {"array": ("string", "abca"), "value": ("string", "a"), "newValue": ("string", "x")},
     {"array": ("string", "xbca")}),
    ("ArrayRotate", {"array": ("int[]", [1, 2, 3])}, {"array": ("int[]", [3, 1, 2])}),
    ("ArrayRotate", {"array": ("int[]", [1, 2, 3]), "steps": -(2**31)},
     {"array": ("int[]", np.roll([1, 2, 3], -(2**31)))}),
    ("ArrayRotate", {"array": ("int[]", [])}, {"array": ("int[]", [])}),
    ("ArrayReverse", {"array": ("float[2][]", [[1, 2], [3, 4]])}, {"array": ("float[2][]", [[3, 4], [1, 2]])}),
    ("ArrayReverse", {"array": ("string", "abc")}, {"array": ("string", "cba")}),
    ("ArraySlice", {"array": ("int[]", [1, 2, 3]), "start": 1}, {"array": ("int[]", [2, 3])}),
    ("ArraySlice", {"array": ("int[]", [1, 2, 3]), "start": -99, "end": -1, "useLength": False},
     {"array": ("int[]", [1, 2])}),
    ("ArraySlice", {"array": ("token[]", ["a", "b"]), "start": 1, "end": 1, "useLength": False},
     {"array": ("token[]", ())}),
    ("PartialSum", {"array": [1, 2, 3]}, {"partialSum": ("int[]", [0, 1, 3, 6])}),
    ("PartialSum", {}, {"partialSum": ("int[]", [0])}),
    ("SourceIndices", {"sourceStartsInTarget": [0, 2, 2, 5]}, {"sourceIndices": ("int[]", [0, 0, 2, 2, 2])}),
    ("SourceIndices", {"sourceStartsInTarget": [1, 3]}, {"sourceIndices": ("int[]", [0, 0, 0])}),
    ("SourceIndices", {}, {"sourceIndices": ("int[]", [])}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_values(row):
    check(row)


ERRORS = [
    ("ArrayIndex", {"array": ("int[]", [1, 2]), "index": 2}, "inputs:index is 2, and inputs:array has 2 elements"),
    ("ArrayIndex", {"array": ("int[]", [])}, "inputs:index is 0, and inputs:array has 0 elements"),
    ("ArrayIndex", {"array": ("float[3]", [1, 2, 3])},
     "inputs:array is of type float[3]; it must be an array or a string"),
    ("ArrayIndex", {}, "inputs:array has no value"),
    ("ArraySetIndex", {"array": ("int[]", [1]), "index": -2, "value": ("int", 1), "resizeToFit": True},
     "inputs:index is -2"),
    ("ArrayInsertValue", {"array": ("int[]", [1]), "value": ("float[3]", [1, 2, 3])},
     "inputs:value is of type float[3]; it must be of type int, as the elements of inputs:array are"),
    ("ArrayFindValue", {"array": ("token[]", ["a"]), "value": ("int", 1)}, "it must be of type token"),
    ("AppendArray", {"input0": ("int[]", [1]), "input1": ("token[]", ["a"])},
     "inputs:input1 is of type token[]; it must be of type int[]"),
    ("ConstructArray", {}, "inputs:input0 has no value"),
    ("ConstructArray", {"arrayType": "float[]"}, "nothing to make an array of"),
    ("ConstructArray", {"input0": ("int", 1), "arrayType": "matrix"}, "inputs:arrayType is 'matrix'; it must be auto"),
    ("ConstructArray", {"input0": ("int[]", [1])}, "inputs:input0 is of type int[]; there are no arrays of these"),
    ("ConstructArray", {"input0": ("int[]", [])}, "inputs:input0 is of type int[]; there are no arrays of these"),
    ("MakeArray", {"a": ("int[]", [])}, "inputs:a is of type int[]"),
    ("MakeArray", {}, "inputs:a has no value"),
    ("SourceIndices", {"sourceStartsInTarget": [2, 1]}, "must not fall"),
    ("ConstructArray", {"input0": ("int", 1), "arraySize": 2**31 - 1}, "inputs:arraySize asks for 2147483647 elements"),
    ("ArrayResize", {"array": ("matrixd[4][]", []), "newSize": 2**24}, "inputs:newSize asks for 16777216 elements"),
    ("ArraySetIndex", {"array": ("int[]", []), "index": 2**31 - 1, "value": ("int", 1), "resizeToFit": True},
     "inputs:index asks for"),
    ("SourceIndices", {"sourceStartsInTarget": [0, 2**31 - 1]}, "inputs:sourceStartsInTarget asks for"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "text"), ERRORS)
def test_errors(name, inputs, text):
    assert text in Bench(name, **inputs).error


@pytest.mark.parametrize("name", ["ArrayReplaceValue", "ArraySetIndex", "ArrayReverse", "ArrayFill", "AppendArray"])
def test_inputs_stay_as_they_are(name):
    given = np.array([1, 2, 3], np.int32)
    array = ("int[]", given)
    every = {
        "array": array,
        "input0": array,
        "input1": array,
        "value": ("int", 1),
        "newValue": ("int", 9),
        "fillValue": ("int", 9),
    }
    declared = Bench(name).node.attributes
    outputs = compute(name, **{key: value for key, value in every.items() if f"inputs:{key}" in declared})
    assert outputs["array"][1].tolist() != [1, 2, 3] or name == "ArraySetIndex"
    assert given.tolist() == [1, 2, 3]


def test_an_end_that_does_not_count_is_told():
    bench = Bench("ArraySlice", array=("int[]", [1, 2, 3]), start=1, end=2)
    assert bench.run()["array"][1].tolist() == [2, 3]
    assert "inputs:end has no effect" in bench.node.host.log.warnings[0]
