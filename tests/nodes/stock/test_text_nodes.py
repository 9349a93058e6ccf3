"""Text and conversion nodes. Values by CPython, NumPy and hand."""

import math

import numpy as np
import pytest

from tests.nodes.stock.single_node import Bench, check, compute

ROWS = [
    ("BuildString", {"a": ("string", "a"), "b": ("token", "b")}, {"value": ("string", "ab")}),
    ("BuildString", {"a": ("token", "a"), "b": ("token", "b"), "input10": ("token", "d"), "input2": ("token", "c")},
     {"value": ("token", "abcd")}),
    ("BuildString", {"a": ("token[]", ["a", "b"]), "b": ("string", "x")}, {"value": ("token[]", ("ax", "bx"))}),
    ("BuildString", {"a": ("string", "x"), "b": ("token[]", [])}, {"value": ("token[]", ())}),
    ("AppendString", {"value": ("token", "a"), "suffix": ("string", "ä€")}, {"value": ("token", "aä€")}),
    ("JoinString", {"elements": ["a", "b", "c"], "delimiter": ", "}, {"string": ("string", "a, b, c")}),
    ("SplitString", {"string": "a,b,,c", "delimiter": ","}, {"elements": ("token[]", ("a", "b", "", "c"))}),
    ("SplitString", {"string": "abc", "delimiter": ""}, {"elements": ("token[]", ("a", "b", "c"))}),
    ("GetStringLength", {"string": ("token", "aä€")}, {"length": ("int", 3)}),
    ("GetString", {"string": ("string", "abcdef"), "index": 2}, {"string": ("string", "cdef")}),
    ("GetString", {"string": ("token", "abcdef"), "index": -2, "count": 1}, {"string": ("token", "e")}),
    ("GetString", {"string": ("string", "abc"), "index": 1, "count": 2**31 - 1}, {"string": ("string", "bc")}),
    ("GetString", {"string": ("string", "")}, {"string": ("string", "")}),
    ("RemoveString", {"string": ("string", "abcdef"), "index": 1, "count": 2}, {"string": ("string", "adef")}),
    ("InsertString", {"string": ("string", "ac"), "value": ("token", "b"), "index": 1}, {"string": ("string", "abc")}),
    ("InsertString", {"string": ("string", "ac"), "value": ("token", "b"), "index": 99}, {"string": ("string", "acb")}),
    ("ReplaceString", {"string": ("string", "aaa"), "replace": ("string", "a"), "value": ("string", "bb")},
     {"string": ("string", "bbaa")}),
    ("ReplaceString",
     {"string": ("string", "aaa"), "replace": ("string", "a"), "value": ("string", ""), "replaceAll": True},
     {"string": ("string", "")}),
    ("FindString", {"string": ("string", "banana"), "value": ("string", "an"), "pos": 2}, {"index": ("int", 3)}),
    ("FindString", {"string": ("string", "banana"), "value": ("string", "x")}, {"index": ("int", -1)}),
    ("CapitalizeString", {"string": ("string", "one two")}, {"string": ("string", "ONE TWO")}),
    ("CapitalizeString", {"string": ("token[]", ["one two", "THREE"]), "operation": "Title"},
     {"string": ("token[]", ("One Two", "Three"))}),
    ("StartsWith", {"value": "abc", "prefix": "ab"}, {"isPrefix": ("bool", True)}),
    ("EndsWith", {"value": "abc", "suffix": "ab"}, {"isSuffix": ("bool", False)}),
    ("AppendPath", {"path": ("token", "/World"), "suffix": "Cube.size"}, {"path": ("token", "/World/Cube.size")}),
    ("AppendPath", {"path": ("token[]", ["/", "/A"]), "suffix": "B"}, {"path": ("token[]", ("/B", "/A/B"))}),
    ("GetParentPath", {"path": ("token", "/World/Cube")}, {"parentPath": ("token", "/World")}),
    ("GetParentPath", {"path": ("token[]", ["/World", "/A/B.c", "/", ""])},
     {"parentPath": ("token[]", ("/", "/A/B", "/", ""))}),
    ("ToString", {"value": ("string", "x")}, {"converted": ("string", "x")}),
    ("ToString", {"value": ("bool", True)}, {"converted": ("string", "True")}),
    ("ToString", {"value": ("float", 0.1)}, {"converted": ("string", "0.1")}),
    ("ToString", {"value": ("double", 1 / 3)}, {"converted": ("string", repr(1 / 3))}),
    ("ToString", {"value": ("int[2][]", [[1, 2], [3, 4]])}, {"converted": ("string", "[[1, 2], [3, 4]]")}),
    ("ToString", {"value": ("token[]", ["a", "b"])}, {"converted": ("string", "[a, b]")}),
    ("ToString", {"value": ("target", ["/A", "/B"])}, {"converted": ("string", "[/A, /B]")}),
    ("ToToken", {"value": ("uint64", 2**64 - 1)}, {"converted": ("token", "18446744073709551615")}),
    ("ToDouble", {"value": ("pointf[3]", [1, 2, 3])}, {"converted": ("double[3]", [1, 2, 3])}),
    ("ToDouble", {"value": ("matrixd[2]", np.eye(2))}, {"converted": ("matrixd[2]", np.eye(2))}),
    ("ToFloat", {"value": ("int[]", [1, 2])}, {"converted": ("float[]", [1, 2])}),
    ("ToHalf", {"value": ("double", 1e9)}, {"converted": ("half", math.inf)}),
    ("ToBool", {"value": ("float[]", [0, 0.5])}, {"converted": ("bool[]", [False, True])}),
    ("ToInt", {"value": ("double[2]", [2.9, -2.9])}, {"converted": ("int[2]", [2, -2])}),
    ("ToInt", {"value": ("double[]", [1e20, -1e20, math.nan])}, {"converted": ("int[]", [2**31 - 1, -(2**31), 0])}),
    ("ToInt64", {"value": ("bool", True)}, {"converted": ("int64", 1)}),
    ("ToUchar", {"value": ("int[]", [-1, 256, 300])}, {"converted": ("uchar[]", [255, 0, 44])}),
    ("ToUchar", {"value": ("string", "aä")}, {"converted": ("uchar[]", list("aä".encode()))}),
    ("ToUint", {"value": ("double[]", [-1.5, 2**32 + 5, math.nan, -0.5])},
     {"converted": ("uint[]", [2**32 - 1, 5, 0, 0])}),
    ("ToUint64", {"value": ("double[]", [-1, 2**63])}, {"converted": ("uint64[]", [2**64 - 1, 2**63])}),
    ("ToUint64", {"value": ("int64", -1)}, {"converted": ("uint64", 2**64 - 1)}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_values(row):
    check(row)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, -1e300])
def test_floats_beyond_every_integer_give_some_integer(value):
    for name, bits in (("ToUchar", 8), ("ToUint", 32), ("ToUint64", 64)):
        assert 0 <= compute(name, value=("double", value))["converted"][1] < 2**bits


ERRORS = [
    ("BuildString", {"a": ("string", "a"), "b": ("int", 1)},
     "inputs:b is of type int; it must be a text (ToString makes one)"),
    ("BuildString", {"a": ("token[]", ["a", "b"]), "b": ("token[]", ["a", "b", "c"])},
     "has 2 and inputs:b (token[]) has 3"),
    ("GetString", {"string": ("string", "abc"), "index": 3}, "inputs:index is 3, and inputs:string has 3 characters"),
    ("GetString", {"string": ("string", ""), "index": -1}, "inputs:index is -1"),
    ("GetString", {"string": ("token[]", ["a"])}, "the node takes one text"),
    ("ReplaceString", {"string": ("string", "a"), "replace": ("string", ""), "value": ("string", "b")},
     "inputs:replace is empty"),
    ("CapitalizeString", {"string": ("string", "a"), "operation": "Upper"}, "inputs:operation is 'Upper'"),
    ("AppendPath", {"path": ("token", "/A"), "suffix": "/B"}, "inputs:suffix is '/B'; it must be a relative path"),
    ("ToInt64", {"value": ("float[2]", [1, 2])}, "inputs:value is of type float[2]; there is no int64[2]"),
    ("ToFloat", {"value": ("matrixd[2]", np.eye(2))}, "inputs:value is of type matrixd[2]"),
    ("ToInt", {"value": ("token", "3")}, "inputs:value is of type token; the node takes numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "text"), ERRORS)
def test_errors(name, inputs, text):
    assert text in Bench(name, **inputs).error


def test_texts_do_not_grow_without_end(monkeypatch):
    monkeypatch.setattr("omni.warp_core.nodes.stock.operands.LARGEST", 100)
    texts = {"string": ("string", "a" * 60), "replace": ("string", "a"), "value": ("string", "bb"), "replaceAll": True}
    for name, inputs in (
        ("ReplaceString", texts),
        ("BuildString", {"a": ("string", "a" * 60), "b": ("string", "a" * 60)}),
        ("InsertString", {"string": ("string", "a" * 60), "value": ("string", "a" * 60)}),
        ("JoinString", {"elements": ["a"] * 40, "delimiter": "--"}),
        ("ToString", {"value": ("int[]", range(40))}),
    ):
        assert "of up to 100 numbers" in Bench(name, **inputs).error
