"""Conversions between all types against exact arithmetic: Python's integers and fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

import omni.warp_core as wp

INTEGERS = {
    wp.int8: (-(2**7), 2**7 - 1), wp.int16: (-(2**15), 2**15 - 1), wp.int32: (-(2**31), 2**31 - 1),
    wp.int64: (-(2**63), 2**63 - 1), wp.uint8: (0, 2**8 - 1), wp.uint16: (0, 2**16 - 1),
    wp.uint32: (0, 2**32 - 1), wp.uint64: (0, 2**64 - 1),
}  # fmt: skip
# Name -> bits of the fraction, smallest and largest exponent of normal numbers.
FLOATS = {
    wp.float16: (10, -14, 15),
    wp.bfloat16: (7, -126, 127),
    wp.float32: (23, -126, 127),
    wp.float64: (52, -1022, 1023),
}
ALL = (*INTEGERS, *FLOATS, wp.bool)


def rounded(x, fraction_bits: int, low: int, high: int) -> float:
    """A number rounded to nearest even in a binary format, by exact arithmetic."""
    if isinstance(x, float) and (not math.isfinite(x) or x == 0):
        return x
    exact = Fraction(x)
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** (max(exponent, low) - fraction_bits)
    result = round(size / unit) * unit  # Python rounds halves of Fractions to even
    value = math.inf if result >= Fraction(2) ** (high + 1) else float(result)
    return math.copysign(value, -1.0 if exact < 0 else 1.0)


def converted(x, dtype):
    """What an element of the source, as a Python number, becomes."""
    if dtype is wp.bool:
        return x != 0
    if dtype in FLOATS:
        return rounded(x, *FLOATS[dtype])
    low, high = INTEGERS[dtype]
    if isinstance(x, float):
        if math.isnan(x):
            return 0
        return low if x <= low else high if x >= high else int(x)
    return (int(x) - low) % (high - low + 1) + low


def samples(dtype) -> wp.array:
    """Every kind of number that the type has: random bit patterns, small numbers, the limits of all types."""
    rng, count = np.random.default_rng(1), 600
    raw = wp.zeros(count, dtype=dtype, device="cpu").numpy()
    if dtype is wp.bool:
        return wp.array(rng.random(count) < 0.5, dtype=wp.bool)
    bits = rng.integers(0, 256, raw.nbytes, np.uint8).view(raw.dtype).copy()
    a = wp.empty(count, dtype=dtype, device="cpu")
    a.numpy()[:] = bits
    edges = [0, 1, 2, 3, *(k + d for low, high in INTEGERS.values() for k in (low, high + 1) for d in (-1, 0, 1))]
    if dtype in INTEGERS:
        low, high = INTEGERS[dtype]
        edges = [e for e in edges if low <= e <= high]
    else:
        edges += [0.5, -0.5, 1.5, -1.5, 65504, 65519.0, 65520.0, 2.0**-24, 2.0**-25, -(2.0**-14), 1e-40, 0.0, -0.0]
        edges += [math.inf, -math.inf, math.nan, 3e38, 2.0**53 + 1, 1.0009765625 + 2**-12, 1.00390625 + 2.0**-40]
        edges = [rounded(e, *FLOATS[dtype]) for e in edges]
    a[: len(edges)] = edges
    return a.to(wp.get_device())


def same(got, want) -> bool:
    if isinstance(want, float):
        return (math.isnan(want) and math.isnan(got)) or (
            got == want and math.copysign(1, got) == math.copysign(1, want)
        )
    return got == want


@pytest.mark.parametrize("target", ALL, ids=lambda d: d.__name__)
@pytest.mark.parametrize("source", ALL, ids=lambda d: d.__name__)
def test_every_pair_of_types(source, target):
    a = samples(source)
    out = wp.empty(a.size, dtype=target)
    wp.utils.array_cast(a, out)
    wrong = [(x, y, w) for x, y in zip(a.list(), out.list()) if not same(y, w := converted(x, target))]
    assert not wrong, f"{len(wrong)} wrong, such as (from, got, expected) {wrong[:3]}"


def test_all_sizes(threads):
    for n in (0, 1, 3, 32_767, 32_768, 32_769, 100_001):
        x = np.arange(n, dtype=np.int32) - n // 2
        out = wp.empty(n, dtype=wp.float64)
        wp.utils.array_cast(wp.array(x), out)
        assert (out.numpy() == x).all()


def test_short_rows_of_half_floats():
    x = np.random.default_rng(2).normal(size=40).astype(np.float32)
    for n in range(18):
        out = wp.full(40, 9.0, dtype=wp.float16)
        wp.utils.array_cast(wp.array(x[:n], dtype=float), out, count=n)
        assert (out.numpy()[:n] == x[:n].astype(np.float16)).all()
        assert (out.numpy()[n:] == 9).all()


@pytest.mark.cpu  # kernels, which convert on GPUs, leave the payload to the hardware
def test_half_nans_carry_nothing():
    bits = np.array([0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF802000, 0xFFC12345] * 4, np.uint32)
    out = wp.empty(bits.size, dtype=wp.float16)
    wp.utils.array_cast(wp.array(bits.view(np.float32)), out)
    assert out.numpy().view(np.uint16).tolist() == [0x7E00, 0x7E00, 0x7E00, 0xFE00, 0xFE00] * 4


def test_components():
    x = np.arange(12).reshape(4, 3)
    a = wp.array(x, dtype=wp.vec3i)
    out = wp.empty(4, dtype=wp.vec3d)
    wp.utils.array_cast(a, out)
    assert (out.numpy() == x).all()
    flat = wp.full(20, 9.0)
    wp.utils.array_cast(a, flat)
    assert flat.list() == [*range(12), *[9] * 8]
    matrices = wp.empty((2, 1), dtype=wp.types.matrix(shape=(2, 3), dtype=wp.int64))
    wp.utils.array_cast(flat[:12], matrices)
    assert matrices.numpy().ravel().tolist() == list(range(12))
    wp.utils.array_cast(flat, a, count=6)
    wp.utils.array_cast(a[::2], flat[::2])
    assert flat.list()[:12:2] == [0, 1, 2, 6, 7, 8]


def test_counts_and_larger_targets():
    a, out = wp.array([1, 2, 3], dtype=wp.int32), wp.full(5, 9.0)
    wp.utils.array_cast(a, out, count=2)
    assert out.list() == [1, 2, 9, 9, 9]
    wp.utils.array_cast(a, out)
    assert out.list() == [1, 2, 3, 9, 9]
    flat = wp.full(6, 9.0)
    wp.utils.array_cast(wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3i), flat, count=1)
    assert flat.list() == [1, 2, 3, 9, 9, 9]


def test_strided_and_shared_memory():
    a = wp.array([1, 2, 3, 4], dtype=wp.int32)
    out = wp.full(8, 9.0)
    wp.utils.array_cast(a[::2], out[::4])
    assert out.list() == [1, 9, 9, 9, 3, 9, 9, 9]
    b = wp.array([1.0, -2.0], dtype=float)
    wp.utils.array_cast(b, b.view(wp.int32))
    assert b.view(wp.int32).list() == [1, -2]


@wp.struct
class Pair:
    a: int


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ((wp.zeros(3), wp.zeros(2, dtype=int)), ValueError, r"out_array: expected room for 3 numbers, got 2"),
        (
            (wp.zeros((2, 2)), wp.zeros((4, 1), dtype=int)),
            ValueError,
            r"out_array: expected shape \(2, 2\) like in_array",
        ),
        ((wp.zeros((2, 2)), wp.zeros((2, 2), dtype=int), 1), ValueError, "count: arrays with 2 dimensions"),
        ((wp.zeros(3), wp.zeros(3, dtype=int), 4), ValueError, "count: got 4, but in_array has 3"),
        ((wp.zeros(3), wp.zeros(3, dtype=int), -1), ValueError, "count: must not be negative"),
        ((wp.zeros(3), np.zeros(3)), TypeError, "out_array: expected an array"),
        ((wp.zeros(3, dtype=Pair), wp.zeros(3)), TypeError, "in_array: expected elements of bool"),
    ],
)
def test_bad_arguments(arguments, error, why):
    with pytest.raises(error, match=why):
        wp.utils.array_cast(*arguments)
