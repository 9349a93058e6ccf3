"""Lines whose documented meaning differs from Python's warn, once."""

import warnings

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel


def warned(kernel):
    """The warnings of a kernel: (source line without indentation, message)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lower_kernel(kernel)
    assert all(issubclass(w.category, wp.KernelWarning) for w in caught)
    return [(kernel.source.line(w.lineno).strip(), str(w.message)) for w in caught]


def test_integer_division():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int):
        x[0] = n / 2 + n / 3
        x[1] = n // 2

    ((line, message),) = warned(k)
    assert line == "x[0] = n / 2 + n / 3"
    assert "truncates" in message and "//" in message


def test_remainder_of_what_may_be_negative():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int, u: wp.uint32):
        i = wp.tid()
        x[0] = n % 4
        x[1] = i % 4 + (i // 3) % 2 + (n & 7) % 3
        for j in range(n):
            x[j] = (i + j) % 8
        m = u % wp.uint32(5)

    ((line, message),) = warned(k)
    assert line == "x[0] = n % 4"
    assert "sign of the dividend" in message


def test_wrap_around_of_constants():
    @wp.kernel
    def k(x: wp.array(dtype=int)):
        big = 2147483647
        x[0] = big + 1
        h = 0x9E3779B9
        x[1] = h

    assert [message[:11] for _, message in warned(k)] == ["wrap-around", "wrap-around"]


def test_everything_else_is_quiet():
    @wp.kernel
    def k(x: wp.array(dtype=float), n: int):
        i = wp.tid()
        x[i] = x[i] / 2.0 + float(n) ** 2.0 + wp.sin(x[i]) + float(n // 2)

    assert warned(k) == []


def test_as_errors():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int):
        x[0] = n / 2

    with warnings.catch_warnings(), pytest.raises(wp.KernelWarning):
        warnings.simplefilter("error")
        lower_kernel(k)


def test_another_variant_does_not_warn_again():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int):
        x[0] = n / 2

    assert len(warned(k)) == 1
    assert warned(k) == []
