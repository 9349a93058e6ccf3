"""Values: checked coercion, reading from a command line, conversion over connections."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni.warp_core.nodes.values.attribute_types import parse
from omni.warp_core.nodes.values.attribute_values import ValueTypeError, coerce, converter, from_text, same, zero


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("1.5", "float", 1.5),
        ("-3", "int", -3),
        ("true", "bool", True),
        ("0", "bool", False),
        ("True", "bool", True),
        ("inf", "double", math.inf),
        ("-inf", "float", -math.inf),
        ("two words", "token", "two words"),
        ("[1, 2, 3]", "pointf[3]", [1, 2, 3]),
        ("(1, 2)", "int[2]", [1, 2]),
        ("[]", "float[]", np.zeros(0)),
        ("[[1,0],[0,1]]", "matrixd[2]", [[1, 0], [0, 1]]),
        ("[1,0,0,1]", "matrixd[2]", [[1, 0], [0, 1]]),
        ("[[1,2,3]]", "pointf[3][]", [[1, 2, 3]]),
        ('["a","b"]', "token[]", ("a", "b")),
        ("7", "string", "7"),
    ],
)
def test_command_line_values(text, name, wanted):
    value = from_text(text, parse(name))
    if isinstance(wanted, (list, np.ndarray)):
        assert np.array_equal(value, np.asarray(wanted)) and value.dtype == parse(name).dtype
    else:
        assert value == wanted and type(value) is type(wanted)


@pytest.mark.parametrize(
    ("value", "name", "words"),
    [
        (1.5, "int", "whole numbers"),
        (300, "uchar", "0 to 255"),
        (-1, "uint", "0 to 4294967295"),
        ("x", "float", "one number"),
        ([1, 2], "float", "one number"),
        (2, "bool", "true or false"),
        (1, "token", "a text"),
        ([1, 2], "pointf[3]", "3 numbers"),
        ([[1, 2]], "pointf[3][]", "list of elements"),
        (10**30, "int64", "one number"),
        (None, "float", "one number"),
        ({"a": 1}, "float", "one number"),
        ([1, [2]], "float[]", "list of elements"),
        ("ab", "token[]", "list of texts"),
    ],
)
def test_wrong_values(value, name, words):
    with pytest.raises(ValueTypeError) as error:
        coerce(value, parse(name))
    assert words in str(error.value)


def test_zeros():
    assert zero(parse("float")) == 0.0 and zero(parse("string")) == "" and zero(parse("bool")) is False
    assert np.array_equal(zero(parse("matrixd[4]")), np.identity(4))
    assert zero(parse("pointf[3][]")).shape == (0, 3)


# the pairs counted in scenes of the field, and others the rule decides
@pytest.mark.parametrize(
    ("source", "target", "connects"),
    [
        ("double", "float", True),
        ("pointd[3]", "vectorf[3]", True),
        ("int", "double", True),
        ("bool", "int", True),
        ("token", "string", True),
        ("float[]", "double[]", True),
        ("float", "float[]", False),
        ("float[]", "float", False),
        ("float[2]", "float[3]", False),
        ("string", "float", False),
        ("matrixd[4]", "frame[4]", True),
        ("matrixd[3]", "matrixd[4]", False),
        ("execution", "execution", True),
        ("execution", "float", False),
        ("target", "target", True),
        ("target", "token", False),
        ("any", "pointf[3][]", True),
        ("pointf[3][]", "any", True),
        ("colorf[3][]", "pointd[3][]", True),
        ("quatf[4]", "float[4]", True),
    ],
)
def test_what_connects(source, target, connects):
    assert (converter(parse(source), parse(target)) is not None) == connects


@pytest.mark.parametrize(
    ("value", "source", "target", "wanted"),
    [
        (2.9, "double", "int", 2),
        (-2.9, "double", "int", -2),
        (1e20, "double", "int", 2**31 - 1),
        (-1e20, "double", "int64", -(2**63)),
        (1e20, "double", "uint64", 2**64 - 1),
        (math.nan, "double", "int", 0),
        (-5, "int", "uint", 0),
        (2**40, "int64", "int", 2**31 - 1),
        (2**64 - 1, "uint64", "int64", 2**63 - 1),
        (1e300, "double", "float", math.inf),
        (3, "int", "bool", True),
        (0.0, "float", "bool", False),
    ],
)
def test_numeric_conversion(value, source, target, wanted):
    got = converter(parse(source), parse(target))(value)
    assert got == wanted and isinstance(got, type(wanted))


@settings(max_examples=200, deadline=None)
@given(st.floats(width=64), st.sampled_from(["uchar", "int", "uint", "int64", "uint64"]))
def test_float_to_integer_saturates(value, name):
    t = parse(name)
    low, high = (int(v) for v in (np.iinfo(t.dtype).min, np.iinfo(t.dtype).max))
    wanted = 0 if math.isnan(value) else high if value >= high else low if value <= low else int(value)
    assert converter(parse("double"), t)(value) == wanted


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    json_values,
    st.sampled_from(
        [
            "bool",
            "int",
            "uchar",
            "half",
            "float[3]",
            "pointf[3][]",
            "matrixd[4]",
            "token",
            "token[]",
            "quatf[4]",
            "target",
        ]
    ),
)
def test_any_json_is_taken_or_refused(value, name):
    t = parse(name)
    try:
        taken = coerce(value, t)
    except ValueTypeError:
        return
    assert same(coerce(taken, t), taken), "the canonical form stays as it is"


@pytest.mark.parametrize("name", ["bool", "uchar", "int", "uint", "int64", "uint64", "half", "float", "double"])
def test_scalars_of_python_become_what_numpy_makes_of_them(name):
    t = parse(name)
    scalar = np.dtype(t.info.scalar)
    info = np.finfo(scalar) if scalar.kind == "f" else None if scalar.kind == "b" else np.iinfo(scalar)
    values = [False, True] if info is None else [scalar.type(v).item() for v in (info.min, 0, 1, info.max)]
    values += [0.1, -1e-9, 65519.0, math.inf, -math.inf, math.nan, -0.0] if scalar.kind == "f" else []
    for value in values:
        got, expected = coerce(value, t), np.array(value).astype(scalar).item()
        assert type(got) is type(expected)
        assert repr(got) == repr(expected)


@pytest.mark.parametrize(
    ("name", "value"), [("uchar", 256), ("uchar", -1), ("int", 2**31), ("uint64", 2**64), ("int", 0.5)]
)
def test_scalars_beyond_their_type_are_refused(name, value):
    with pytest.raises(ValueTypeError):
        coerce(value, parse(name))
