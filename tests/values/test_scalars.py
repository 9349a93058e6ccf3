"""Typed scalars at Python scope against NumPy's fixed-width arithmetic and the language's rules."""

from __future__ import annotations

import math
import operator
import pickle
import random

import numpy as np
import pytest

from omni.warp_core.lang.values import scalars

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def numbers_for(name: str, count: int = 200) -> list:
    rng = random.Random(name)
    if name in FLOATS:
        info = np.finfo(name)
        special = [0.0, -0.0, 1.0, -1.0, float(info.max), float(info.smallest_subnormal), math.inf, -math.inf, math.nan]
        return special + [rng.uniform(-8, 8) * 10.0 ** rng.randint(-4, 3) for _ in range(count)]
    info = np.iinfo(name)
    special = [0, 1, int(info.max), int(info.min), int(info.max) - 1]
    return special + [rng.randint(int(info.min), int(info.max)) for _ in range(count)]


@pytest.mark.parametrize("name", INTS + FLOATS)
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul], ids=lambda f: f.__name__)
def test_arithmetic_wraps_and_rounds_like_numpy(name, op):
    cls, judge = getattr(scalars, name), getattr(np, name)
    values = numbers_for(name)
    with np.errstate(all="ignore"):
        for a, b in zip(values, reversed(values)):
            got, want = op(cls(a), cls(b)), op(judge(a), judge(b))
            assert type(got) is cls
            np.testing.assert_array_equal(judge(got.value), want)


@pytest.mark.parametrize("name", FLOATS)
def test_float_division_has_ieee_results(name):
    cls, judge = getattr(scalars, name), getattr(np, name)
    values = numbers_for(name)
    with np.errstate(all="ignore"):
        for a, b in zip(values, reversed(values)):
            np.testing.assert_array_equal(judge((cls(a) / cls(b)).value), judge(a) / judge(b))


def wrapped(name: str, value: int) -> int:
    """`value` in the width of an integer type, by way of its bytes."""
    size = np.dtype(name).itemsize
    return int(np.frombuffer((value % (1 << 8 * size)).to_bytes(size, "little"), name)[0])


@pytest.mark.parametrize("name", INTS)
def test_integer_division_truncates_and_the_remainder_takes_the_dividends_sign(name):
    cls = getattr(scalars, name)
    for a, b in zip(numbers_for(name), reversed(numbers_for(name))):
        if b == 0:
            assert (cls(a) / cls(b)).value == (cls(a) % cls(b)).value == (cls(a) // cls(b)).value == 0
            continue
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        assert (cls(a) / cls(b)).value == wrapped(name, quotient)
        assert (cls(a) % cls(b)).value == a - b * quotient
        assert (cls(a) // cls(b)).value == wrapped(name, a // b)


@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor], ids=lambda f: f.__name__)
def test_bitwise_operators_match_numpy(name, op):
    cls, judge = getattr(scalars, name), getattr(np, name)
    for a, b in zip(numbers_for(name), reversed(numbers_for(name))):
        assert op(cls(a), cls(b)).value == int(op(judge(a), judge(b)))
        assert (~cls(a)).value == int(~judge(a))


def test_shifts_past_the_width_leave_zero_or_the_sign():
    assert (scalars.int32(1) << 32).value == 0
    assert (scalars.int32(-5) >> 40).value == -1
    assert (scalars.uint8(0xFF) << 4).value == 0xF0
    assert (scalars.uint32(8) >> 2).value == 2


@pytest.mark.parametrize("name", INTS + FLOATS)
def test_comparisons_match_python(name):
    cls = getattr(scalars, name)
    for a, b in zip(numbers_for(name, 50), reversed(numbers_for(name, 50))):
        a, b = cls(a).value, cls(b).value
        for op in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
            assert op(cls(a), cls(b)) is op(a, b)
            assert op(cls(a), b) is op(a, b)


def test_integer_power_wraps_and_float_power_follows_c():
    assert (scalars.int32(3) ** 21).value == wrapped("int32", 3**21)
    assert (scalars.uint8(2) ** 8).value == 0
    assert (scalars.int32(2) ** -1).value == 0
    assert (scalars.int32(-1) ** -3).value == -1
    assert (scalars.float32(2.0) ** 0.5).value == float(np.float32(math.sqrt(2.0)))
    assert math.isnan((scalars.float64(-1.0) ** 0.5).value)


@pytest.mark.parametrize(
    "name, given, held",
    [
        ("int8", 200, -56),
        ("uint8", -1, 255),
        ("int32", 2.9, 2),
        ("int32", -2.9, -2),
        ("int8", 1e9, 127),
        ("uint8", -3.0, 0),
        ("int32", math.nan, 0),
        ("int64", math.inf, 2**63 - 1),
        ("float16", 1e9, math.inf),
        ("float32", 0.1, float(np.float32(0.1))),
        ("bfloat16", 1.1, 1.1015625),
        ("bool", 2.5, True),
        ("bool", 0, False),
    ],
)
def test_construction_converts_as_a_cast(name, given, held):
    assert getattr(scalars, name)(given).value == held


def test_construction_from_other_numbers():
    assert scalars.int32(scalars.float32(7.5)).value == 7
    assert scalars.float32(np.float64(0.5)).value == 0.5
    assert scalars.int64(np.int8(-3)).value == -3
    assert scalars.float32().value == 0.0


@pytest.mark.parametrize("bad", ["3", None, [1], (1,), 1 + 2j, object()])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(TypeError, match=r"int32\(\) takes a number"):
        scalars.int32(bad)


def test_a_literal_takes_the_type_of_the_other_operand_if_it_fits():
    assert type(2 * scalars.float32(3)) is scalars.float32
    assert (1 - scalars.uint8(2)).value == 255
    assert (scalars.float32(1.0) + 0.1).value == float(np.float32(1) + np.float32(0.1))
    assert scalars.float32(0.1) == 0.1


@pytest.mark.parametrize(
    "expression",
    [
        lambda: scalars.int32(1) + 1.5,
        lambda: scalars.uint8(1) + 300,
        lambda: scalars.uint8(1) + -1,
        lambda: scalars.float32(1) * (2**24 + 1),
        lambda: scalars.int32(1) + True,
    ],
)
def test_a_literal_that_does_not_fit_is_an_error(expression):
    with pytest.raises(TypeError, match="does not fit"):
        expression()


@pytest.mark.parametrize("other", [scalars.int64(1), scalars.float32(1), np.int64(1), np.float32(1)])
def test_typed_numbers_do_not_mix(other):
    with pytest.raises(TypeError, match="no implicit conversion"):
        scalars.int32(1) + other


def test_operators_on_strangers_are_python_errors():
    with pytest.raises(TypeError, match="unsupported operand"):
        scalars.int32(1) + "x"
    with pytest.raises(TypeError, match="unsupported operand"):
        scalars.float32(1) << 1
    assert (scalars.int32(1) == "x") is False
    assert (scalars.int32(1) == None) is False  # noqa: E711


def test_a_scalar_serves_as_a_python_number():
    assert list(range(scalars.int32(3))) == [0, 1, 2]
    assert [10, 20][scalars.uint8(1)] == 20
    assert int(scalars.float32(2.5)) == 2 and float(scalars.int8(3)) == 3.0
    assert bool(scalars.float32(0.0)) is False and bool(scalars.bool(1)) is True
    assert math.sin(scalars.float64(1.0)) == math.sin(1.0)
    assert f"{scalars.float32(1.5):.3f}" == "1.500"
    assert hash(scalars.int32(7)) == hash(7)
    assert abs(scalars.int32(-5)).value == 5 and (-scalars.uint8(1)).value == 255


def test_text_and_pickling():
    assert repr(scalars.float32(1.5)) == "float32(1.5)" and str(scalars.float32(1.5)) == "1.5"
    assert repr(scalars.int8(200)) == "int8(-56)" and repr(scalars.bool(3)) == "bool(True)"
    for value in (scalars.uint64(2**64 - 1), scalars.bfloat16(1.1), scalars.bool(True)):
        copy = pickle.loads(pickle.dumps(value))
        assert type(copy) is type(value) and copy.value == value.value


@pytest.mark.parametrize("name", INTS + FLOATS)
def test_the_packed_form_is_numpys(name):
    cls, judge = getattr(scalars, name), getattr(np, name)
    for value in numbers_for(name, 20):
        assert cls(value)._wc_pack() == judge(cls(value).value).tobytes()
