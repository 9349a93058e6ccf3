"""Launching: packing of every kind of argument, dimensions, errors, callbacks, recorded launches, the fast path."""

import gc
import struct
import weakref

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.lang import values
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
)  # fmt: skip
from tests.native.objects import (
    SIGNATURE,
    Kernel,
    array,
    count_plan,
    dump_plan,
    loop,
    native,
    object_of,
    packed,
    plan_of,
)

INTEGERS = {I8: "b", I16: "h", I32: "i", I64: "q", U8: "B", U16: "H", U32: "I", U64: "Q"}


def limits(t) -> tuple[int, int]:
    return (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_integers(t):
    low, high = limits(t)
    numpy_type = np.dtype(INTEGERS[t]).type
    for value in (low, high, 1, 0, True, numpy_type(high), values.python_type(t)(low)):
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
    forms = [leaves, tuple(leaves), np.array(leaves), values.from_leaves(t, leaves)]
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


class Pair:
    """A struct value as lang/structs.py makes them."""

    __wc_type__ = Struct("Pair", (("x", I32), ("y", F64)))

    def __init__(self, x, y):
        self.x, self.y = x, y

    def _wc_pack(self) -> bytes:
        return struct.pack("=i4xd", self.x, self.y)


def test_structs():
    t = Pair.__wc_type__
    assert packed({"a": t}, Pair(7, 2.5))["a"] == struct.pack("=i4xd", 7, 2.5)
    with pytest.raises(TypeError, match="argument `a` expects struct Pair, got tuple"):
        packed({"a": t}, (7, 2.5))
    assert packed({"a": t}, (7, 2.5), convert=lambda i, v: Pair(*v))["a"] == struct.pack("=i4xd", 7, 2.5)


def test_a_struct_of_the_wrong_size_is_refused():
    class Bad(Pair):
        def _wc_pack(self) -> bytes:
            return b"short"

    with pytest.raises(TypeError, match="16 bytes"):
        packed({"a": Pair.__wc_type__}, Bad(1, 2))


def descriptor(data: np.ndarray, ndim: int, grad: int = 0) -> bytes:
    strides = list(data.strides[:ndim]) + [0] * (4 - ndim)
    shape = list(data.shape[:ndim]) + [1] * (4 - ndim)
    return struct.pack("10q", data.ctypes.data, grad, *shape, *strides)


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
    with pytest.raises(ValueError, match="argument `a` is on device 1 but the launch is on the CPU"):
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


def test_wrong_number_of_arguments():
    plan = dump_plan({"a": F32, "b": F32})
    with pytest.raises(TypeError, match=r"`kernel` takes 3 arguments \(out, a, b\), but inputs and outputs give 1"):
        plan.launch(1, [np.zeros(200, np.uint8)])


# out: array1<i64>. Thread 0 stores dims[0..3], begin, end.
DIMS = f"""{SIGNATURE} {{
  %out = load ptr, ptr %args
  %d = load <4 x i64>, ptr %dims, align 8
  store <4 x i64> %d, ptr %out, align 8
  %p = getelementptr i64, ptr %out, i64 4
  store i64 %end, ptr %p
  ret void
}}"""


@pytest.mark.parametrize(
    "arity, dim, expected",
    [
        (1, 5, [5, 1, 1, 1, 5]),
        (1, (2, 3), [6, 1, 1, 1, 6]),
        (1, [2, 3, 4, 1], [24, 1, 1, 1, 24]),
        (2, (2, 3), [2, 3, 1, 1, 6]),
        (4, (2, 3, 1, 2), [2, 3, 1, 2, 12]),
        (0, (2, 3), [2, 3, 1, 1, 6]),
        (1, np.int64(7), [7, 1, 1, 1, 7]),
        (2, np.zeros((3, 4)).shape, [3, 4, 1, 1, 12]),
        (1, 0, [0, 0, 0, 0, 0]),
        (3, (4, 0, 2), [0, 0, 0, 0, 0]),
    ],
)
def test_launch_dimensions(arity, dim, expected):
    plan, out = plan_of(DIMS, {"out": Array(I64)}, arity), np.zeros(5, np.int64)
    plan.launch(dim, [out])
    assert out.tolist() == expected


@pytest.mark.parametrize(
    "arity, dim, error, message",
    [
        (2, 5, ValueError, "takes 2 thread indices from wp.tid.., but the launch has 1 dimension"),
        (2, (1, 2, 3), ValueError, "has 3 dimensions"),
        (1, -1, ValueError, "launch dimension -1 is not between 0 and 2147483647"),
        (1, 1 << 31, ValueError, "2147483648"),
        (1, 1 << 80, ValueError, "not between"),
        (4, (2**30,) * 4, ValueError, "more than"),
        (1, (), ValueError, "1 to 4 dimensions, got 0"),
        (1, (1,) * 5, ValueError, "1 to 4 dimensions, got 5"),
        (1, 2.5, TypeError, "must be integers, got the float 2.5"),
        (1, "3", TypeError, "must be integers, got str"),
        (2, (1, None), TypeError, "must be integers, got None"),
    ],
)
def test_bad_launch_dimensions(arity, dim, error, message):
    with pytest.raises(error, match=message):
        plan_of(DIMS, {"out": Array(I64)}, arity).launch(dim, [np.zeros(5, np.int64)])


def test_many_large_arguments():
    params = {f"m{i}": Mat(8, 8, F64) for i in range(30)}
    given = [np.random.default_rng(i).random((8, 8)) for i in range(30)]
    assert list(packed(params, *given).values())[1:] == [m.tobytes() for m in given]


def test_variants_and_their_compilation_on_demand():
    """Variant 0 stores 1, variant 1 stores 2; each is asked for when first needed."""
    asked = []

    def code_for(value: int):
        text = loop(f"  store i64 {value}, ptr %x", "  %x = load ptr, ptr %args")
        return native.Code(object_of(text))

    plan = native.Plan("kernel", [native.ParamSpec("x", Array(I64))], 1)

    def on_missing(variant: int) -> None:
        asked.append(variant)
        code = code_for(variant + 1)
        plan.set_entry(variant, code.address("kernel"), code)

    plan.on_missing = on_missing
    x = np.zeros(8, np.int64)
    for view, expected in ((x, 1), (x[::2], 2), (x[:1], 1), (x[::-1][7:], 1), (x, 1), (x[::4], 2)):
        plan.launch(1, [view])
        assert view[0] == expected
    assert asked == [0, 1]


def test_missing_code_is_an_error():
    plan = native.Plan("k", [], 0)
    with pytest.raises(RuntimeError, match="kernel `k` has no code for variant 0"):
        plan.launch(1, [])
    plan.on_missing = lambda variant: 1 / 0
    with pytest.raises(ZeroDivisionError):
        plan.launch(1, [])


FAIL = f"""
declare void @wc_fail(ptr, i64, i32, i32, ptr)
{SIGNATURE} {{
entry:
  %values = alloca [2 x i64]
  %second = getelementptr i64, ptr %values, i64 1
  br label %check
check:
  %i = phi i64 [%begin, %entry], [%next, %tail]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %bad = icmp sge i64 %i, 1000
  br i1 %bad, label %fail, label %tail
fail:
  store i64 %i, ptr %values
  store i64 -1, ptr %second
  call void @wc_fail(ptr %context, i64 %i, i32 3, i32 2, ptr %values)
  br label %tail
tail:
  %next = add i64 %i, 1
  br label %check
done:
  ret void
}}"""


class Failed(Exception):
    pass


def test_the_lowest_failing_thread_is_reported():
    def on_failure(*report):
        raise Failed(*report)

    plan = plan_of(FAIL, {}, 2, on_failure=on_failure)
    plan.launch((10, 100), [])
    for _ in range(3):
        with pytest.raises(Failed) as failure:
            plan.launch((1000, 100), [])
        assert failure.value.args == (1000, 3, [1000, 2**64 - 1], (1000, 100))
    plan.on_failure = None
    with pytest.raises(RuntimeError, match="failed in thread 1000 at site 3"):
        plan.launch((1000, 100), [])


PRINT = """
@format = internal constant [31 x i8] c"i=%d u=%u f=%g %f b=%s 100%%!\\0A\\00"
declare void @wc_printf(ptr, ptr, ptr)
""" + loop(
    """
  store i64 %i, ptr %slots
  store i64 -1, ptr %s1
  store double 2.5, ptr %s2
  store double 0.25, ptr %s3
  store i64 1, ptr %s4
  call void @wc_printf(ptr %context, ptr @format, ptr %slots)""",
    """
  %slots = alloca [5 x i64]
  %s1 = getelementptr i64, ptr %slots, i64 1
  %s2 = getelementptr i64, ptr %slots, i64 2
  %s3 = getelementptr i64, ptr %slots, i64 3
  %s4 = getelementptr i64, ptr %slots, i64 4""",
)


def test_printf_goes_to_python_stdout_in_whole_lines(capsys):
    native_threads = native.get_num_threads()
    native.set_num_threads(4)
    plan_of(PRINT, {}).launch(1000, [])
    native.set_num_threads(native_threads)
    expected = [f"i={i} u=18446744073709551615 f=2.5 0.250000 b=True 100%!" for i in range(1000)]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(expected)


def test_launch_takes_the_fast_path_and_splits_inputs_and_outputs():
    x, y = np.zeros(4, np.int64), np.zeros(100, np.uint8)
    native.launch(Kernel(count_plan()), 4, inputs=[x])
    native.launch(Kernel(count_plan()), (2, 2), (x,), device="cpu")
    native.launch(kernel=Kernel(count_plan()), dim=[4], outputs=(x,), record_tape=False, max_blocks=0, block_dim=64)
    assert x.tolist() == [3] * 4
    native.launch(Kernel(dump_plan({"a": F32, "b": I32})), 1, [y], [2.0, 3])
    assert y[80:88].tobytes() == struct.pack("=fi", 2, 3)


class Device:
    def __init__(self, id):
        self.id = id


@pytest.mark.parametrize(
    "arguments",
    [
        {"kernel": Kernel()},
        {"kernel": object()},
        {"interpret": True},
        {"adjoint": True},
        {"stream": object()},
        {"adj_inputs": [1]},
        {"adj_outputs": [1]},
        {"device": "cuda:0"},
        {"device": Device(1)},
        {"device": object()},
        {"inputs": 5},
        {"bogus": 1},
    ],
    ids=lambda a: " ".join(a) + " " + " ".join(type(v).__name__ for v in a.values()),
)
def test_everything_else_takes_the_slow_path_unchanged(arguments):
    calls = []

    def slow(*args, **kwargs):
        calls.append((args, kwargs))
        return "slow"

    arguments = {"kernel": Kernel(count_plan()), "dim": 1, "inputs": [np.zeros(1, np.int64)], **arguments}
    compiler = native.set_slow_launch(slow)
    try:
        assert native.launch(**arguments) == "slow"
        assert native.launch(arguments["kernel"], 1, device="cuda:7") == "slow"
        assert calls == [((), arguments), ((arguments["kernel"], 1), {"device": "cuda:7"})]
    finally:
        native.set_slow_launch(compiler)


def test_the_fast_path_can_be_switched_off():
    calls = []
    compiler = native.set_slow_launch(lambda *a, **k: calls.append(a))
    native.set_fast_launch(False)
    try:
        native.launch(Kernel(count_plan()), 1, [np.zeros(1, np.int64)])
    finally:
        native.set_fast_launch(True)
        native.set_slow_launch(compiler)
    assert len(calls) == 1


def test_devices_by_object():
    x = np.zeros(1, np.int64)
    native.launch(Kernel(count_plan()), 1, [x], device=Device(0))
    assert x[0] == 1


def test_recorded_launches():
    plan = dump_plan({"a": F32, "b": Array(F32)})
    out, first, second = np.zeros(plan.block_size, np.uint8), np.zeros(3, np.float32), np.zeros(5, np.float32)
    kernel = Kernel(plan)
    launch = native.launch(kernel, 1, [out, 1.0], [first], record_cmd=True)
    assert isinstance(launch, native.Launch)
    assert not out.any()
    assert launch.kernel is kernel
    assert launch.plan is plan

    def block() -> tuple:
        launch.launch()
        return struct.unpack("f", out[80:84])[0], out[88:168].tobytes()

    assert block() == (1.0, descriptor(first, 1))
    launch.set_param_at_index(1, 2.0)
    assert block() == (2.0, descriptor(first, 1))
    launch.set_param_by_name("b", second)
    assert block() == (2.0, descriptor(second, 1))
    launch.set_params([out, 3.0, first])
    assert block() == (3.0, descriptor(first, 1))
    for wrong in (lambda: launch.set_param_at_index(1, "x"), lambda: launch.set_param_by_name("b", 5),
                  lambda: launch.set_params([out])):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()
    assert block() == (3.0, descriptor(first, 1))
    with pytest.raises(IndexError, match="no index 3"):
        launch.set_param_at_index(3, 1.0)
    with pytest.raises(ValueError, match="no parameter `c`"):
        launch.set_param_by_name("c", 1.0)


def test_recorded_dimensions():
    x = np.zeros(10, np.int64)
    launch = native.launch(Kernel(count_plan()), 3, [x], record_cmd=True)
    launch.launch()
    launch.set_dim((2, 5))
    assert launch.dim == (2, 5)
    launch.launch()
    assert x.tolist() == [2, 2, 2] + [1] * 7
    with pytest.raises(ValueError, match="not between"):
        launch.set_dim(-1)
    launch.launch()
    assert x.tolist() == [3, 3, 3] + [2] * 7


def test_recorded_arguments_stay_alive():
    x = np.zeros(4, np.int64)
    alive = weakref.ref(x)
    launch = native.launch(Kernel(count_plan()), 4, [x], record_cmd=True)
    del x
    gc.collect()
    launch.launch()
    assert alive().tolist() == [1] * 4
    launch.set_param_at_index(0, np.zeros(4, np.int64))
    assert alive() is None


def test_launches_leave_no_references_behind():
    x = np.zeros(4, np.int64)
    alive = weakref.ref(x)
    kernel = Kernel(count_plan())
    for _ in range(20):
        native.launch(kernel, 4, [x])
        with pytest.raises(TypeError):
            native.launch(kernel, 4, [x, x])
    del x
    assert alive() is None


def test_plans_in_cycles_are_collected():
    def cycle() -> weakref.ref:
        kernel = Kernel(count_plan())
        kernel._plan.on_missing = lambda variant: kernel
        return weakref.ref(kernel._plan)

    alive = cycle()
    gc.collect()
    assert alive() is None
