"""Arithmetic nodes: values by NumPy, CPython and hand; types, broadcasting, overflow, errors."""

import math

import numpy as np
import pytest

from tests.nodes.stock.single_node import Bench, check, compute

ROWS = [
    ("Add", {"a": ("int", 2), "b": ("int", 3)}, {"sum": ("int", 5)}),
    ("Add", {"a": ("double", 2), "b": ("float", 0.5)}, {"sum": ("double", 2.5)}),
    ("Add", {"a": ("float", 1), "b": ("float[3]", [1, 2, 3])}, {"sum": ("float[3]", [2, 3, 4])}),
    ("Add", {"a": ("pointf[3]", [1, 2, 3]), "b": ("vectorf[3]", [1, 1, 1])}, {"sum": ("pointf[3]", [2, 3, 4])}),
    ("Add", {"a": ("pointf[3]", [1, 2, 3]), "b": ("double", 1)}, {"sum": ("pointd[3]", [2, 3, 4])}),
    ("Add", {"a": ("colorh[4]", [1, 2, 3, 4]), "b": ("half", 1)}, {"sum": ("colorh[4]", [2, 3, 4, 5])}),
    ("Add", {"a": ("int[2][]", [[1, 2], [3, 4]]), "b": ("int[2]", [10, 20])},
     {"sum": ("int[2][]", [[11, 22], [13, 24]])}),
    ("Add", {"a": ("float[]", [1, 2]), "b": ("float[2][]", [[1, 2], [3, 4]])},
     {"sum": ("float[2][]", [[2, 3], [5, 6]])}),
    ("Add", {"a": ("float[]", []), "b": ("float", 1)}, {"sum": ("float[]", [])}),
    ("Add", {"a": ("double[]", [7]), "b": ("double[]", [1, 2, 3])}, {"sum": ("double[]", [8, 9, 10])}),
    ("Add", {"a": ("int", 2**31 - 1), "b": ("int", 1)}, {"sum": ("int", -(2**31))}),
    ("Add", {"a": ("uchar", 250), "b": ("uchar", 10)}, {"sum": ("uchar", 4)}),
    ("Add", {"a": ("uint", 1), "b": ("int", -2)}, {"sum": ("int64", -1)}),
    ("Add", {"a": ("half", 60000), "b": ("half", 60000)}, {"sum": ("half", math.inf)}),
    ("Add", {"a": ("int", 1), "b": ("int", 2), "input10": ("int", 40), "input2": ("int", 300)}, {"sum": ("int", 343)}),
    ("Add", {"a": ("matrixd[2]", np.eye(2)), "b": ("int", 1)}, {"sum": ("matrixd[2]", [[2, 1], [1, 2]])}),
    ("Subtract", {"a": ("int", 9), "b": ("int", 3), "c": ("int", 10)}, {"difference": ("int", -4)}),
    ("Multiply", {"a": ("float", 3), "b": ("float[2]", [1, 2])}, {"product": ("float[2]", [3, 6])}),
    ("Multiply", {"a": ("matrixd[2]", [[1, 2], [3, 4]]), "b": ("matrixd[2]", [[2, 2], [2, 2]])},
     {"product": ("matrixd[2]", [[2, 4], [6, 8]])}),
    ("Divide", {"a": ("int", 7), "b": ("int", 2)}, {"result": ("double", 3.5)}),
    ("Divide", {"a": ("float[3]", [2, 4, 6]), "b": ("double", 2)}, {"result": ("float[3]", [1, 2, 3])}),
    ("Divide", {"a": ("double", 24), "b": ("int", 2), "input2": ("int", 3)}, {"result": ("double", 4)}),
    ("Modulo", {"a": ("int", -7), "b": ("int", 3)}, {"result": ("int", -1)}),
    ("Modulo", {"a": ("int", 7), "b": ("int", -3)}, {"result": ("int", 1)}),
    ("Modulo", {"a": ("uint64", 2**64 - 1), "b": ("uint64", 10)}, {"result": ("uint64", 5)}),
    ("Modulo", {"a": ("int", 7), "b": ("int", 0)}, {"result": ("int", 0)}),
    ("Modulo", {"a": ("int", -(2**31)), "b": ("int", -1)}, {"result": ("int", 0)}),
    ("FMod", {"a": ("double", -7.5), "b": ("double", 2)}, {"result": ("double", math.fmod(-7.5, 2))}),
    ("FMod", {"a": ("float[2]", [5.5, 3]), "b": ("float[2]", [2, 0])}, {"result": ("float[2]", [1.5, 0])}),
    ("Negate", {"input": ("float[2]", [1, -2])}, {"output": ("float[2]", [-1, 2])}),
    ("Absolute", {"input": ("int[]", [-3, 4])}, {"absolute": ("int[]", [3, 4])}),
    ("Floor", {"a": ("double[2]", [1.5, -1.5])}, {"result": ("int[2]", [1, -2])}),
    ("Floor", {"a": ("float", 1e12)}, {"result": ("int", 2**31 - 1)}),
    ("Ceil", {"a": ("float[]", [1.5, -1.5])}, {"result": ("int[]", [2, -1])}),
    ("Ceil", {"a": ("double", math.nan)}, {"result": ("int", 0)}),
    ("Round", {"input": ("double", 2.5)}, {"output": ("double", 2)}),
    ("Round", {"input": ("float", 12.3456), "decimals": 2}, {"output": ("float", 12.35)}),
    ("Round", {"input": ("double[2]", [1234, -1250]), "decimals": -2}, {"output": ("double[2]", [1200, -1200])}),
    ("Round", {"input": ("double", 1.5e300), "decimals": 300}, {"output": ("double", 1.5e300)}),
    ("Round", {"input": ("half", 0.1), "decimals": 2**31 - 1}, {"output": ("half", 0.1)}),
    ("Increment", {"value": ("int", 4), "increment": 3.2}, {"result": ("int", 7)}),
    ("Increment", {"value": ("int", -4)}, {"result": ("int", -3)}),
    ("Increment", {"value": ("int64", 2**63 - 1)}, {"result": ("int64", -(2**63))}),
    ("Increment", {"value": ("float[2][]", [[1, 2]]), "increment": 0.5}, {"result": ("float[2][]", [[1.5, 2.5]])}),
    ("Clamp", {"input": ("int[]", [-5, 5, 50]), "lower": ("int", 0), "upper": ("int", 10)},
     {"result": ("int[]", [0, 5, 10])}),
    ("Clamp", {"input": ("float[3]", [1, 2, 3]), "lower": ("float[3]", [2, 0, 0]), "upper": ("float", 2.5)},
     {"result": ("float[3]", [2, 2, 2.5])}),
    ("Exponent", {"base": ("int", 2), "exponent": ("int", -1)}, {"result": ("double", 0.5)}),
    ("Exponent", {"base": ("float", 3)}, {"result": ("float", 9)}),
    ("Exponent", {"base": ("double[2]", [2, 3]), "exponent": ("double", 0.5)},
     {"result": ("double[2]", [math.sqrt(2), math.sqrt(3)])}),
    ("Logarithm", {"value": ("int", 1000)}, {"result": ("double", 3)}),
    ("Logarithm", {"value": ("float[]", [1, 8]), "base": 2.0}, {"result": ("float[]", [0, 3])}),
    ("NthRoot", {"value": ("float", 16)}, {"result": ("float", 4)}),
    ("NthRoot", {"value": ("double", -27), "nthRoot": 3}, {"result": ("double", -3)}),
    ("NthRoot", {"value": ("int", 16), "nthRoot": -4}, {"result": ("double", 0.5)}),
    ("NthRoot", {"value": ("objectId", 9)}, {"result": ("double", 3)}),
    ("NthRoot", {"value": ("double", -1)}, {"result": ("double", math.nan)}),
    ("Sin", {"value": ("double", 30)}, {"value": ("double", 0.5)}),
    ("Cos", {"value": ("float[]", [0, 60])}, {"value": ("float[]", [1, 0.5])}),
    ("Tan", {"value": ("half", 45)}, {"value": ("half", 1)}),
    ("Asin", {"value": ("double", 0.5)}, {"value": ("double", 30)}),
    ("Acos", {"value": ("int", -1)}, {"value": ("double", 180)}),
    ("Acos", {"value": ("double", 2)}, {"value": ("double", math.nan)}),
    ("Atan", {"value": ("double", -1)}, {"value": ("double", -45)}),
    ("ATan2", {"a": ("double", 1), "b": ("double", -1)}, {"result": ("double", 135)}),
    ("ToDeg", {"radians": ("double", math.pi)}, {"degrees": ("double", 180)}),
    ("ToRad", {"degrees": ("float", 180)}, {"radians": ("float", math.pi)}),
    ("Trig", {"a": ("double", 90)}, {"result": ("double", 1)}),
    ("Trig", {"a": ("double", 0.5), "operation": "ARCCOS"}, {"result": ("double", 60)}),
    ("ConstantPi", {"factor": 0.5}, {"value": ("double", math.pi / 2)}),
    ("ConstantE", {}, {"value": ("double", math.e)}),
    ("ConstantE", {"exponent": 1e9}, {"value": ("double", math.inf)}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_values(row):
    check(row)


ERRORS = [
    ("Add", {"a": ("int", 1)}, "/G/n: inputs:b has no value"),
    ("Add", {"a": ("int", 1), "b": ("token", "x")}, "inputs:b is of type token"),
    ("Add", {"a": ("bool", True), "b": ("int", 1)}, "inputs:a is of type bool"),
    ("Add", {"a": ("int", 1), "b": ("int", 1), "input2": ("string", "x")}, "inputs:input2 is of type string"),
    ("Add", {"a": ("float[2]", [1, 2]), "b": ("float[3]", [1, 2, 3])},
     "has 2 and inputs:b (float[3]) has 3 components"),
    ("Add", {"a": ("float[4]", [1, 2, 3, 4]), "b": ("matrixd[4]", np.eye(4))}, "4 x 4 components"),
    ("Add", {"a": ("int[]", [1, 2]), "b": ("int[]", [1, 2, 3])}, "has 2 and inputs:b (int[]) has 3 elements"),
    ("Add", {"a": ("int[]", []), "b": ("int[]", [1, 2, 3])}, "has 0 and inputs:b (int[]) has 3 elements"),
    ("Divide", {"a": ("int", 1), "b": ("float", 0)}, "inputs:b is zero"),
    ("Divide", {"a": ("float", 1), "b": ("float[]", [1, 0])}, "inputs:b is zero or contains zero"),
    ("Modulo", {"a": ("double", 1), "b": ("int", 1)}, "inputs:a is of type double; Modulo takes integers"),
    ("Negate", {"input": ("uint", 1)}, "inputs:input is of type uint, which has no negative values"),
    ("Clamp", {"input": ("int", 1), "lower": ("int", 3), "upper": ("int", 2)}, "inputs:lower is above inputs:upper"),
    ("Logarithm", {"value": ("double", 0)}, "inputs:value must be above zero"),
    ("Logarithm", {"value": ("double", 2), "base": 1.0}, "inputs:base is 1"),
    ("NthRoot", {"value": ("double", 2), "nthRoot": 0}, "inputs:nthRoot is 0"),
    ("Trig", {"a": ("double", 0), "operation": "SINH"}, "inputs:operation is 'SINH'; it must be one of SIN, COS"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "text"), ERRORS)
def test_errors(name, inputs, text):
    assert text in Bench(name, **inputs).error


def test_inputs_stay_as_they_are():
    bench = Bench("Add", a=("float[]", [1, 2]), b=("float[]", [3, 4]))
    bench.run()
    assert bench.node.attributes["inputs:a"].value.tolist() == [1, 2]


def test_an_output_that_stays_the_same_is_no_news():
    bench = Bench("Add", a=("float[]", [1, 2]), b=("float[]", [3, 4]))
    bench.run()
    version = bench.node.attributes["outputs:sum"].version
    bench.run()
    assert bench.node.attributes["outputs:sum"].version == version
    bench.set("a", ("double[]", [1, 2]))
    assert bench.run()["sum"][0] == "double[]"


DTYPES = {"uchar": "u1", "int": "i4", "uint": "u4", "int64": "i8", "uint64": "u8", "half": "f2", "float": "f4"}


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_computes_as_in_numpy(name):
    a, b = np.random.default_rng(5).integers(0, 200, (2, 20)).astype(DTYPES[name])
    for node, output, function in (("Add", "sum", np.add), ("Subtract", "difference", np.subtract)):
        got = compute(node, a=(f"{name}[]", a), b=(f"{name}[]", b))[output]
        with np.errstate(all="ignore"):
            wanted = function(a, b)
        assert got[0] == f"{name}[]" and got[1].dtype == wanted.dtype and np.array_equal(got[1], wanted)
