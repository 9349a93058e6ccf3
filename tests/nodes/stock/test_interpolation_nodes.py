"""Ease, InterpolateTo and Interpolator. Values by NumPy, SciPy and hand."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from tests.nodes.stock.single_node import Bench, check, compute

HALF = 2**-0.5
ROWS = [
    ("Ease", {"start": ("float", 0), "end": ("float", 10), "alpha": ("float", 0.5), "easeFunc": "Linear"},
     {"result": ("float", 5)}),
    ("Ease", {"start": ("float", 0), "end": ("float", 8), "alpha": ("float", 0.25)}, {"result": ("float", 1)}),
    ("Ease", {"start": ("double", 0), "end": ("double", 8), "alpha": ("float", 0.75)}, {"result": ("double", 7)}),
    ("Ease",
     {"start": ("double", 0), "end": ("double", 8), "alpha": ("float", 0.5), "easeFunc": "EaseIn", "blendExponent": 3},
     {"result": ("double", 1)}),
    ("Ease",
     {"start": ("double", 0), "end": ("double", 8), "alpha": ("float", 0.5), "easeFunc": "EaseOut", "blendExponent": 3},
     {"result": ("double", 7)}),
    ("Ease", {"start": ("double", 0), "end": ("double", 1), "alpha": ("float", 0.5), "easeFunc": "SinIn"},
     {"result": ("double", 1 - HALF)}),
    ("Ease", {"start": ("double", 0), "end": ("double", 1), "alpha": ("float", 0.5), "easeFunc": "SinOut"},
     {"result": ("double", HALF)}),
    ("Ease", {"start": ("double", 0), "end": ("double", 1), "alpha": ("float", 0.25), "easeFunc": "SinInOut"},
     {"result": ("double", (1 - HALF) / 2)}),
    ("Ease",
     {"start": ("colorf[3]", [0, 1, 2]), "end": ("colorf[3]", [1, 1, 1]), "alpha": ("float[]", [-1, 0.5, 7]),
     "easeFunc": "Linear"},
     {"result": ("colorf[3][]", [[0, 1, 2], [0.5, 1, 1.5], [1, 1, 1]])}),
    ("Ease", {"start": ("half", 0.1), "end": ("half", 0.7), "alpha": ("float", 1)}, {"result": ("half", 0.7)}),
    ("InterpolateTo", {"current": ("float", 0), "target": ("float", 8), "deltaSeconds": 0.5}, {"result": ("float", 6)}),
    ("InterpolateTo",
     {"current": ("double[2]", [0, 1]), "target": ("double[2]", [8, 1]), "deltaSeconds": 0.25, "exponent": 1.0,
     "speed": 2.0},
     {"result": ("double[2]", [4, 1])}),
    ("InterpolateTo",
     {"current": ("pointf[3][]", [[1, 2, 3]]), "target": ("pointf[3]", [5, 5, 5]), "deltaSeconds": 0.0},
     {"result": ("pointf[3][]", [[1, 2, 3]])}),
    ("InterpolateTo", {"current": ("float", 0.1), "target": ("float", 0.7), "deltaSeconds": 9.0},
     {"result": ("float", 0.7)}),
    ("Interpolator", {"knots": [0, 1, 3], "values": [0, 10, 20], "param": 2.0}, {"value": ("float", 15)}),
    ("Interpolator", {"knots": [0, 1, 3], "values": [0, 10, 20], "param": -5.0}, {"value": ("float", 0)}),
    ("Interpolator", {"knots": [0, 1, 3], "values": [0, 10, 20], "param": 5.0}, {"value": ("float", 20)}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_values(row):
    check(row)


@pytest.mark.parametrize("step", [0.0, 0.3, 1.0])
def test_quaternions_turn_along_the_shorter_arc(step):
    a, b = Rotation.random(2, rng=np.random.default_rng(4))
    wanted = Slerp([0, 1], Rotation.concatenate([a, b]))(step)
    inputs = {"current": ("quatd[4]", a.as_quat()), "target": ("quatd[4]", -b.as_quat())}
    kind, got = compute("InterpolateTo", **inputs, deltaSeconds=step, exponent=1.0)["result"]
    assert kind == "quatd[4]"
    np.testing.assert_allclose((Rotation.from_quat(got) * wanted.inv()).magnitude(), 0, atol=1e-9)


ERRORS = [
    ("Ease", {"start": ("float", 0), "end": ("float", 1), "alpha": ("float", 0), "easeFunc": "Bounce"},
     "inputs:easeFunc is 'Bounce'"),
    ("Ease", {"start": ("float", 0), "end": ("float", 1), "alpha": ("float", 0), "blendExponent": 0},
     "inputs:blendExponent is 0"),
    ("Ease", {"start": ("float[2]", [1, 2]), "end": ("float", 1), "alpha": ("token", "x")},
     "inputs:alpha is of type token"),
    ("InterpolateTo", {"current": ("float", 0), "target": ("float", 1), "exponent": 0.0}, "inputs:exponent is 0"),
    ("Interpolator", {"knots": [0, 1], "values": [1]}, "inputs:knots has 2 elements and inputs:values has 1"),
    ("Interpolator", {}, "inputs:knots is empty"),
    ("Interpolator", {"knots": [1, 0], "values": [1, 2]}, "inputs:knots must not fall"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "text"), ERRORS)
def test_errors(name, inputs, text):
    assert text in Bench(name, **inputs).error
