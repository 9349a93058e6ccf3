"""The native function that XLA calls, on call frames made by hand: without JAX, and with calls that are wrong."""

import ctypes as c

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.interop.jax_calls import NONE, ZERO, Call, Code, packed_value
from omni.warp_core.lang.types import F32


class Extension(c.Structure):
    _fields_ = (("size", c.c_size_t), ("type", c.c_int32), ("next", c.c_void_p))


class Version(c.Structure):
    _fields_ = (("size", c.c_size_t), ("extensions", c.c_void_p), ("major", c.c_int32), ("minor", c.c_int32))


class Metadata(c.Structure):
    _fields_ = (("size", c.c_size_t), ("version", Version), ("traits", c.c_uint32))


class MetadataExtension(c.Structure):
    _fields_ = (("base", Extension), ("metadata", c.c_void_p))


class Buffer(c.Structure):
    _fields_ = (
        *(("size", c.c_size_t), ("extensions", c.c_void_p), ("dtype", c.c_int32), ("data", c.c_void_p)),
        *(("rank", c.c_int64), ("dims", c.c_void_p)),
    )


class Buffers(c.Structure):
    _fields_ = (
        *(("size", c.c_size_t), ("extensions", c.c_void_p), ("count", c.c_int64)),
        *(("types", c.c_void_p), ("values", c.c_void_p)),
    )


class Text(c.Structure):
    _fields_ = (("data", c.c_char_p), ("size", c.c_size_t))


class Scalar(c.Structure):
    _fields_ = (("dtype", c.c_int32), ("value", c.c_void_p))


class Array(c.Structure):
    _fields_ = (("dtype", c.c_int32), ("size", c.c_size_t), ("data", c.c_void_p))


class Attributes(c.Structure):
    _fields_ = (
        *(("size", c.c_size_t), ("extensions", c.c_void_p), ("count", c.c_int64)),
        *(("types", c.c_void_p), ("names", c.c_void_p), ("values", c.c_void_p)),
    )


class ErrorCreate(c.Structure):
    _fields_ = (("size", c.c_size_t), ("extensions", c.c_void_p), ("message", c.c_char_p), ("code", c.c_int32))


CREATE = c.CFUNCTYPE(c.c_void_p, c.POINTER(ErrorCreate))


class Api(c.Structure):
    _fields_ = (
        *(("size", c.c_size_t), ("extensions", c.c_void_p), ("version", Version), ("internal", c.c_void_p)),
        *(("create", CREATE), ("others", c.c_void_p * 8)),
    )


class Frame(c.Structure):
    _fields_ = (
        *(("size", c.c_size_t), ("extensions", c.c_void_p), ("api", c.POINTER(Api)), ("context", c.c_void_p)),
        *(("stage", c.c_int32), ("operands", Buffers), ("results", Buffers), ("attributes", Attributes)),
    )


EXECUTE = 3
TYPES = {"float32": 11, "int32": 4, "bool": 1, "float64": 12}
get_pointer = c.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = c.c_void_p, (c.py_object, c.c_char_p)
HANDLER = c.CFUNCTYPE(c.c_void_p, c.POINTER(Frame))


class Caller:
    """Calls the native function as XLA does."""

    def __init__(self):
        self.errors, self.kept = [], []
        self.handler = HANDLER(get_pointer(_native.xla.launch_target, b"xla._CUSTOM_CALL_TARGET"))

        def create(args):
            self.errors.append((args[0].code, args[0].message.decode()))
            return 1

        self.api = Api(size=c.sizeof(Api), create=CREATE(create))
        self.api.version.minor = 3

    def pointers(self, items):
        array = (c.c_void_p * len(items))(*(c.addressof(i) for i in items))
        self.kept += [items, array]
        return c.addressof(array)

    def numbers(self, values, kind):
        array = (kind * len(values))(*values)
        self.kept.append(array)
        return c.addressof(array)

    def buffers(self, arrays):
        made = [
            Buffer(c.sizeof(Buffer), None, TYPES[a.dtype.name], a.ctypes.data, a.ndim, self.numbers(a.shape, c.c_int64))
            for a in arrays
        ]
        ones = self.numbers([1] * len(made), c.c_int32)
        return Buffers(c.sizeof(Buffers), None, len(made), ones, self.pointers(made))

    def __call__(self, key, words, operands, results, **changes):
        words = np.ascontiguousarray(words, np.int64)
        number = self.numbers([key], c.c_int64)
        values = [Scalar(5, number), Array(5, len(words), words.ctypes.data)]
        names = [Text(b"key", 3), Text(b"call", 4)]
        kinds = self.numbers([3, 1], c.c_int32)
        attributes = Attributes(c.sizeof(Attributes), None, 2, kinds, self.pointers(names), self.pointers(values))
        frame = Frame(
            c.sizeof(Frame),
            None,
            c.pointer(self.api),
            None,
            EXECUTE,
            self.buffers(operands),
            self.buffers(results),
            attributes,
        )
        for name, value in changes.items():
            setattr(frame, name, value)
        self.kept.append(words)
        failed = self.handler(c.byref(frame))
        assert bool(failed) == bool(self.errors)
        return self.errors.pop() if failed else None


@wp.kernel
def scale(x: wp.array(dtype=float), by: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] += by * x[i]


def call_of(batch=(), masks=(0,), dims=(4,), begin=ZERO):
    call = Call(dims=dims, batch=batch, values={1: packed_value(F32, 2.0)})
    data = call.operand(masks[0])
    call.arguments = [(data, NONE), (NONE, NONE), (call.result((4,), np.float32, begin), NONE)]
    return call


CODE = Code(scale)
x = np.arange(4, dtype=np.float32)


def test_a_call_launches_the_kernel():
    y = np.full(4, np.nan, np.float32)
    assert Caller()(CODE.key, call_of().words(scale.params), [x], [y]) is None
    assert (y == 2 * x).all()


def test_a_result_begins_as_an_operand():
    y = np.full(4, np.nan, np.float32)
    assert Caller()(CODE.key, call_of(begin=0).words(scale.params), [x], [y]) is None
    assert (y == 3 * x).all() and (x == np.arange(4)).all()


def test_examples_are_launched_one_by_one():
    xs, y = np.arange(8, dtype=np.float32).reshape(2, 4), np.full((3, 2, 4), np.nan, np.float32)
    assert Caller()(CODE.key, call_of((3, 2), (2,)).words(scale.params), [xs], [y]) is None
    assert (y == np.broadcast_to(2 * xs, y.shape)).all()


def test_questions_about_the_function_are_answered():
    metadata = Metadata(size=c.sizeof(Metadata))
    extension = MetadataExtension(Extension(c.sizeof(MetadataExtension), 1, None), c.addressof(metadata))
    caller = Caller()
    assert caller(0, [], [], [], extensions=c.addressof(extension)) is None
    assert (metadata.version.major, metadata.version.minor, metadata.traits) == (0, 3, 0)
    assert caller(0, [], [], [], extensions=c.addressof(extension), api=None) is None
    assert metadata.version.minor == 1


def test_other_stages_do_nothing():
    for stage in range(3):
        assert Caller()(0, [], [], [], stage=stage) is None


INVALID, UNIMPLEMENTED = 3, 12


@pytest.mark.parametrize(
    ("operands", "results", "text"),
    [
        ([], [x], "other numbers of operands"),
        ([x, x], [x], "other numbers of operands"),
        ([x.astype(np.float64)], [x], "`x` has another element type"),
        ([x], [x.astype(np.int32)], "`y` has another element type"),
        ([x.reshape(2, 2)], [x], "another number of dimensions"),
    ],
)
def test_buffers_that_do_not_fit_are_refused(operands, results, text):
    code, message = Caller()(CODE.key, call_of().words(scale.params), operands, [r.copy() for r in results])
    assert code == INVALID and text in message


def test_batches_that_do_not_fit_are_refused():
    words = call_of((3,), (1,)).words(scale.params)
    code, message = Caller()(CODE.key, words, [np.zeros((2, 4), np.float32)], [np.zeros((3, 4), np.float32)])
    assert code == INVALID and "another batch size" in message


def test_unknown_kernels_are_refused():
    code, message = Caller()(12345, call_of().words(scale.params), [x], [x.copy()])
    assert code == INVALID and "create its wp.jax_kernel in this process first" in message


def test_unknown_versions_are_refused():
    code, message = Caller()(CODE.key, call_of().words(scale.params), [x], [x.copy()], size=8)
    assert code == UNIMPLEMENTED and "version" in message


def test_damaged_calls_never_crash():
    """Any number of the call may be wrong: it is refused, or the launch stays within its buffers."""
    words, rng, refused = call_of((3,), (1,)).words(scale.params), np.random.default_rng(5), 0
    for _ in range(3000):
        damaged = words.copy()
        at = rng.integers(5, len(words))  # the launch dimensions before are as free as those of wp.launch
        damaged[at] = rng.choice([-(1 << 62), -3, -2, -1, 0, 1, 2, 3, 7, 1 << 20, 1 << 40, (1 << 63) - 1])
        damaged = damaged[: rng.integers(len(words) - 3, len(words) + 1)]
        xs, y = np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32)
        refused += Caller()(CODE.key, damaged, [xs], [y]) is not None
    assert 2000 < refused < 3000


def test_mistakes_at_run_time_are_errors_of_the_call(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")
    _, message = Caller()(CODE.key, call_of(dims=(9,)).words(scale.params), [x], [x.copy()])
    assert "is out of range" in message and "y[i] += by * x[i]" in message
