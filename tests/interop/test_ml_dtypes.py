"""Numbers of ml_dtypes: bfloat16 is taken, all others are refused by their names. ml_dtypes itself is the judge."""

import ml_dtypes
import numpy as np
import pytest

import omni.warp_core as wp

OTHERS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float4_e2m1fn", "int4", "uint2"]
NUMBERS = [0.0, -1.0, 1.5, 300.25, 1e30, np.inf]
halves = np.array(NUMBERS).astype(ml_dtypes.bfloat16)


@wp.kernel
def twice(x: wp.array(dtype=wp.bfloat16), y: wp.array(dtype=wp.bfloat16)):
    i = wp.tid()
    y[i] = x[i] + x[i]


@wp.kernel
def clear(x: wp.array(dtype=wp.uint16)):
    i = wp.tid()
    x[i] = wp.uint16(0)


def test_launches_take_bfloat16_in_place():
    x, y = halves.copy(), np.zeros_like(halves)
    wp.launch(twice, dim=len(x), inputs=[x], outputs=[y])
    assert np.array_equal(y, x + x)
    assert y[2] == 3.0


def test_launches_do_not_take_bfloat16_for_its_bits():
    x = halves.copy()
    with pytest.raises(ValueError, match="bfloat16 cannot be used in place as 1-d array of uint16"):
        wp.launch(clear, dim=len(x), inputs=[x])
    assert np.array_equal(x, halves)


@pytest.mark.parametrize("data", [halves, halves[::2], list(halves)], ids=["array", "strided", "list"])
def test_arrays_are_made_of_bfloat16(data):
    expected = np.array(data).astype(np.float64).tolist()
    for dtype in (None, wp.bfloat16, float, wp.float64):
        a = wp.array(data, dtype=dtype)
        assert a.dtype is (dtype or wp.bfloat16) if dtype is not float else a.dtype is wp.float32
        assert a.list() == expected
    a = wp.zeros(len(expected), dtype=float)
    a.assign(data)
    assert a.list() == expected


def test_bfloat16_goes_back_as_its_bits():
    a = wp.array(halves)
    assert np.array_equal(a.numpy().view(ml_dtypes.bfloat16), halves)
    shared = wp.array(halves, copy=False)
    assert (shared.ptr, shared.dtype) == (halves.ctypes.data, wp.bfloat16)
    assert wp.dtype_from_numpy(ml_dtypes.bfloat16) is wp.bfloat16
    assert wp.full(2, halves[2]).list() == [1.5, 1.5]
    assert str(wp.array(halves[:3])) == "[ 0.  -1.   1.5]"


@pytest.mark.parametrize("name", OTHERS)
def test_other_numbers_are_refused_by_name(name):
    x = np.zeros(4, getattr(ml_dtypes, name))
    for make in (wp.array, lambda x: wp.array(x, dtype=float), lambda x: wp.launch(twice, dim=4, inputs=[x, halves])):
        with pytest.raises(TypeError, match=rf"no numbers of {name}: convert them, x.astype\(np.float32\)"):
            make(x)
    with pytest.raises(TypeError, match=name):
        wp.dtype_from_numpy(x.dtype)


def test_bfloat16_in_kernels():
    """The type of NumPy arrays that JAX brings along: its own numbers judge."""
    bfloat16 = ml_dtypes.bfloat16
    numbers = np.array([1.5, -2.25, 3e38, 1e-40, np.inf], dtype=bfloat16)
    exact = numbers.astype(np.float32)

    @wp.kernel
    def widen(x: wp.array[bfloat16], y: wp.array[float]):
        i = wp.tid()
        y[i] = float(x[i])

    y = wp.zeros(5, dtype=float)
    for given in (numbers, wp.array(numbers), wp.array(exact, dtype=bfloat16)):
        y.zero_()
        wp.launch(widen, dim=5, inputs=[given, y])
        assert np.array_equal(y.numpy(), exact)
    assert np.array_equal(wp.array(numbers, dtype=float).numpy(), exact)
    shared = wp.array(numbers, copy=False)
    shared[0] = 7.0
    assert numbers[0] == 7 and wp.dtype_from_numpy(bfloat16) is wp.bfloat16
