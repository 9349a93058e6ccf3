"""Packing: every kind of argument becomes the bytes that kernels expect, or an error that names it."""

import struct

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.lang.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Array,
    Mat,
    Quat,
    Struct,
    Transform,
    Vec,
)
from omni.warp_core.lang.values import value_classes
from omni.warp_core.lang.values.structs import class_of
from tests.native.objects import array, descriptor, dump_plan, native, packed

INTEGERS = {I8: "b", I16: "h", I32: "i", I64: "q", U8: "B", U16: "H", U32: "I", U64: "Q"}


def limits(t) -> tuple[int, int]:
    return (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_integers(t):
    low, high = limits(t)
    numpy_type = np.dtype(INTEGERS[t]).type
    for value in (low, high, 1, 0, True, numpy_type(high), value_classes.python_type(t)(low)):
        assert packed({"a": t}, value)["a"] == struct.pack(INTEGERS[t], int(value))


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_integers_out_of_range(t):
    low, high = limits(t)
    for value in (low - 1, high + 1, 1 << 64, -(1 << 64), 1 << 200):
        with pytest.raises(
            ValueError, match=rf"kernel `kernel`: argument `a` {value} is out of range for .*\({low} to {high}\)"
        ):
            packed({"a": t}, value)


@pytest.mark.parametrize("value", [1.5, np.float32(1), "1", None, [1], b"1", object()])
def test_what_is_no_integer(value):
    with pytest.raises(TypeError, match="argument `a` expects int32, got"):
        packed({"a": I32}, value)


@pytest.mark.parametrize("value", [0.1, -0.0, 1e300, float("inf"), 3, True, np.float32(0.1), np.int64(7), 1 << 60])
def test_floats_round_once(value):
    with np.errstate(over="ignore"):
        for t, numpy_type in ((F16, np.float16), (F32, np.float32), (F64, np.float64)):
            assert packed({"a": t}, value)["a"] == numpy_type(value).tobytes()


def test_an_object_with_an_id_in_place_of_its_id():
    for value, told in ((wp.HashGrid(1, 1, 1, device="cpu"), "got HashGrid; pass its `id`$"), ([1], "got list$")):
        with pytest.raises(TypeError, match=f"argument `a` expects uint64, {told}"):
            packed({"a": U64}, value)


def test_typed_floats():
    assert packed({"a": F32}, wp.float32(0.1))["a"] == np.float32(0.1).tobytes()
    assert packed({"a": F32}, wp.float64(0.1))["a"] == np.float32(0.1).tobytes()


def test_half_floats_like_numpy_for_all_kinds_of_numbers():
    rng = np.random.default_rng(5)
    special = [0, 65504, 65519.99, 65520, 2**-14, 2**-24, 2**-25, 3 * 2**-26, 2**-25 + 2**-60, np.nan, np.inf]
    plan = dump_plan({"a": F16})
    out = np.zeros(plan.block_size, np.uint8)
    for x in [*special, *(rng.standard_normal(500) * 2.0 ** rng.integers(-26, 17, 500))]:
        for value in (float(x), -float(x)):
            plan.launch(1, [out, value])
            ours = out.tobytes()[80:82]
            with np.errstate(over="ignore"):
                expected = np.float16(value)
            assert ours == expected.tobytes() or (np.isnan(expected) and np.isnan(np.frombuffer(ours, np.float16)))


def test_bfloat_is_the_nearest():
    for x in (1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-40, 3.4e38, 1e-40, -2.5, 2**-133, 2**-134, 3 * 2**-135):
        bits = struct.unpack("H", packed({"a": BF16}, x)["a"])[0]
        ours, up, down = (
            struct.unpack("f", struct.pack("I", (b % 0x10000) << 16))[0] for b in (bits, bits + 1, bits - 1)
        )
        errors = [abs(ours - x), abs(up - x), abs(down - x)]
        assert errors[0] == min(errors) or np.isinf(ours)
        assert errors.count(errors[0]) == 1 or bits % 2 == 0


@pytest.mark.parametrize("value", ["1.0", None, 1j, [1.0], object()])
def test_what_is_no_float(value):
    with pytest.raises(TypeError, match="argument `a` expects float32, got"):
        packed({"a": F32}, value)


def test_bools():
    for value in (True, False, 1, 0, np.bool_(True), wp.bool(True)):
        assert packed({"a": BOOL}, value)["a"] == bytes([bool(value)])
    for value in ("x", None, [True]):
        with pytest.raises(TypeError, match="argument `a` expects bool, got"):
            packed({"a": BOOL}, value)


def test_parameters_are_laid_out_like_a_c_struct():
    params = {"a": I8, "b": F64, "c": I16, "d": Vec(3, F32), "e": U8, "f": Array(F32, 2), "g": BOOL}
    plan = dump_plan(params)
    at, expected = 80, []
    for name, t in params.items():
        at = -(-at // t.align) * t.align
        expected.append((name, at, t.size))
        at += t.size
    assert list(plan.layout)[1:] == expected


PACKED = [Vec(2, F32), Vec(3, F32), Vec(4, F64), Vec(3, I32), Vec(5, U8), Vec(2, F16), Vec(3, BF16), Mat(2, 2, F32),
          Mat(3, 3, F64), Mat(2, 3, F16), Quat(F32), Quat(F64), Transform(F32), Transform(F16)]  # fmt: skip


def numbers(t) -> list:
    return [i + 1 if t.scalar.is_int else (i + 1) / 4 for i in range(t.count)]


def memory(t, leaves) -> bytes:
    if t.scalar is BF16:
        return b"".join(struct.pack("f", x)[2:] for x in leaves)
    return struct.pack(f"<{t.count}{ {F16: 'e', F32: 'f', F64: 'd'}.get(t.scalar) or INTEGERS[t.scalar] }", *leaves)


@pytest.mark.parametrize("t", PACKED, ids=str)
def test_packed_values(t):
    leaves = numbers(t)
    forms = [leaves, tuple(leaves), np.array(leaves), value_classes.from_leaves(t, leaves)]
    if isinstance(t, Mat):
        forms += [[leaves[i : i + t.cols] for i in range(0, t.count, t.cols)], np.array(leaves).reshape(t.rows, t.cols)]
    if isinstance(t, Transform):
        forms.append((leaves[:3], leaves[3:]))
    for value in forms:
        assert packed({"a": t}, value)["a"] == memory(t, leaves)


def test_wrong_packed_values():
    vec3 = Vec(3, F32)
    with pytest.raises(ValueError, match="argument `a` expects vec3f with 3 components, got 2"):
        packed({"a": vec3}, (1.0, 2.0))
    with pytest.raises(ValueError, match="with 3 components, got 4"):
        packed({"a": vec3}, (1, 2, 3, 4))
    with pytest.raises(TypeError, match="expects vec3f, got vec3d"):
        packed({"a": vec3}, wp.vec3d(1, 2, 3))
    with pytest.raises(TypeError, match="expects quatf, got vec4f"):
        packed({"a": Quat(F32)}, wp.vec4(1, 2, 3, 4))
    for value in (1.0, None, "abc", ("a", "b", "c"), (1.0, None, 2.0), [[[1, 2, 3]]]):
        with pytest.raises(TypeError, match="argument `a` expects vec3f"):
            packed({"a": vec3}, value)


Pair = class_of(Struct("Pair", (("x", I32), ("y", F64))))


def test_structs():
    t = Pair.__wc_type__
    assert packed({"a": t}, Pair(7, 2.5))["a"] == struct.pack("=i4xd", 7, 2.5)
    with pytest.raises(TypeError, match="argument `a` expects struct Pair, got tuple"):
        packed({"a": t}, (7, 2.5))
    assert packed({"a": t}, (7, 2.5), convert=lambda i, v: Pair(*v))["a"] == struct.pack("=i4xd", 7, 2.5)


def test_what_only_says_that_it_is_a_struct_is_refused():
    class Bad:
        __wc_type__ = Pair.__wc_type__

    class Short(Bad):
        _wc_layout = _native.RecordLayout(4, [(0, I32, None)])
        _values = (7,)

    for bad in (Bad(), Short()):
        with pytest.raises(TypeError, match="argument `a` expects struct Pair, got"):
            packed({"a": Pair.__wc_type__}, bad)


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4), (2, 1, 3, 2), (0,), (3, 0)])
def test_arrays_and_numpy_arrays_give_descriptors(shape):
    data = np.zeros(shape, np.float32)
    t = Array(F32, len(shape))
    for view in (data, data[::2], data[..., ::-1], data.T):
        assert packed({"a": t}, array(view))["a"] == descriptor(view, len(shape))
        # NumPy exports tidy strides for dimensions that are never stepped along.
        tidy = np.lib.stride_tricks.as_strided(view, view.shape, memoryview(view).strides)
        assert packed({"a": t}, view)["a"] == descriptor(tidy, len(shape))
    assert packed({"a": t}, array(data, grad_ptr=64))["a"] == descriptor(data, len(shape), 64)


@pytest.mark.parametrize("t", [*INTEGERS, F16, F32, F64, BOOL], ids=str)
def test_numpy_arrays_of_every_scalar(t):
    dtype = np.dtype({F16: "e", F32: "f", F64: "d", BOOL: "?"}.get(t) or INTEGERS[t])
    data = np.zeros(3, dtype)
    assert packed({"a": Array(t)}, data)["a"] == descriptor(data, 1)
    other = np.zeros(3, np.uint8 if dtype != np.uint8 else np.int8)
    with pytest.raises(TypeError, match="argument `a` expects an array of"):
        packed({"a": Array(t)}, other)


def test_long_and_long_long_are_both_64_bits():
    for code in "lq":
        data = np.zeros(3, code)
        assert packed({"a": Array(I64)}, data)["a"] == descriptor(data, 1)


def test_numpy_arrays_of_packed_elements():
    data = np.zeros((5, 4, 3), np.float32)
    assert packed({"a": Array(Vec(3, F32), 2)}, data)["a"] == descriptor(data, 2)
    assert packed({"a": Array(Vec(3, F32), 2)}, data[::2])["a"] == descriptor(data[::2], 2)
    assert packed({"a": Array(Mat(4, 3, F32))}, data)["a"] == descriptor(data, 1)
    for bad in (data[..., ::-1], data.transpose(0, 2, 1), data[..., :2], data[0]):
        with pytest.raises(
            TypeError, match=r"expects an array of vec3f with 2 dimensions, got data of float32 with shape"
        ):
            packed({"a": Array(Vec(3, F32), 2)}, bad)


def test_foreign_memory_without_elements_stands_for_any_shape():
    """Programs pass `torch.empty(0)` for an array that the kernel does not use, as warp-lang takes it."""
    for t in (Array(F32, 3), Array(Vec(3, F32), 2)):
        assert packed({"a": t}, np.zeros(0, np.float32))["a"] == bytes(80)
    assert packed({"a": Array(F32, 3)}, np.zeros((0, 2), np.float32))["a"] == bytes(80)
    for bad in (np.zeros(0, np.float64), np.zeros(1, np.float32)):
        with pytest.raises(TypeError, match="expects an array of float32 with 3 dimensions"):
            packed({"a": Array(F32, 3)}, bad)


def test_none_is_the_null_array():
    assert packed({"a": Array(F32)}, None)["a"] == bytes(80)


@pytest.mark.parametrize(
    "value, message",
    [
        (
            np.zeros(3),
            r"kernel `kernel`: argument `a` expects an array of float32 with 1 dimension, "
            r"got data of float64 with shape \(3,\)",
        ),
        (np.zeros((3, 2), np.float32), r"got data of float32 with shape \(3, 2\)"),
        (np.zeros(3, ">f4"), "expects an array of float32"),
        (np.zeros(3, "f4,f4"), "expects an array of float32"),
        (np.zeros(3, "datetime64[s]"), "expects an array of float32"),
        (np.array([None]), "expects an array of float32"),
        (3.0, "got the float 3.0"),
        ([1.0, 2.0], "got list"),
        ("text", "got str"),
        (b"bytes", "got data of uint8"),
    ],
)  # fmt: skip
def test_wrong_arrays(value, message):
    with pytest.raises(TypeError, match=message):
        packed({"a": Array(F32)}, value)


def test_wrong_native_arrays():
    data = np.zeros((3, 2), np.float64)
    with pytest.raises(
        TypeError, match="expects an array of float32 with 1 dimension, got an array of float64 with 2 dimensions"
    ):
        packed({"a": Array(F32)}, array(data, F64))
    with pytest.raises(ValueError, match='`a` is on cuda:0 but the launch is on the CPU: launch with device="cuda:0"'):
        packed({"a": Array(F32)}, array(np.zeros(3, np.float32), device_id=1))


def test_read_only_memory_is_refused_where_the_kernel_writes():
    data = np.zeros(3, np.float32)
    frozen = data.view()
    frozen.flags.writeable = False
    for value in (frozen, array(data, flags=native.READONLY)):
        assert packed({"a": Array(F32)}, value, readonly=("a",))["a"] == descriptor(data, 1)
        with pytest.raises(ValueError, match="argument `a` is read-only but the kernel writes it"):
            packed({"a": Array(F32)}, value)


def test_unaligned_memory_is_refused():
    data = np.zeros(13, np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="argument `a` is not aligned"):
        packed({"a": Array(F32)}, data)


def test_other_objects_are_converted():
    class Tensor:
        data = np.zeros(3, np.float32)

    calls = []

    def convert(index, value):
        calls.append(index)
        return array(value.data) if isinstance(value, Tensor) else NotImplemented

    assert packed({"a": Array(F32)}, Tensor(), convert=convert)["a"] == descriptor(Tensor.data, 1)
    with pytest.raises(TypeError, match="argument `a` expects an array of float32 with 1 dimension, got object"):
        packed({"a": Array(F32)}, object(), convert=convert)
    assert calls == [1, 1]


def test_errors_of_conversions_name_kernel_and_argument():
    def convert(index, value):
        raise ValueError("it is on fire")

    with pytest.raises(ValueError, match="kernel `kernel`: argument `a` cannot be used: it is on fire"):
        packed({"a": Array(F32)}, object(), convert=convert)
