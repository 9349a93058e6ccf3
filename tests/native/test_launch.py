"""Launching: dimensions, variants, callbacks, recorded launches, the fast path."""

import gc
import struct
import weakref

import numpy as np
import pytest

from omni.warp_core.lang.types import (
    F32,
    F64,
    I32,
    I64,
    Array,
    Mat,
)  # fmt: skip
from tests.native.objects import (
    SIGNATURE,
    Kernel,
    count_plan,
    descriptor,
    dump_plan,
    loop,
    native,
    object_of,
    packed,
    plan_of,
)


def test_wrong_number_of_arguments():
    plan = dump_plan({"a": F32, "b": F32})
    words = (
        r"`kernel` takes 3 arguments \(out, a, b\), but inputs and outputs give 1; the first missing one is `a`; "
        r"write inputs=\[out, a, b\]$"
    )
    with pytest.raises(TypeError, match=words):
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
    with pytest.raises(IndexError, match="no index -1"):
        launch.set_param_at_index(-1, 1.0)
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
