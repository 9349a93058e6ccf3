"""Memory of GPUs that libraries share: DLPack and the CUDA array interface, and the order of their streams.

The other library is played by arrays of our own, whose memory objects without any other methods offer.
"""

import gc

import numpy as np
import pytest

import omni.warp_core as wp
from tests.kernels import double

N = 1000


@wp.struct
class Pair:
    a: float
    b: float


class Theirs:
    """A tensor of a library whose work is on a stream of its own."""

    def __init__(self, a, stream, versioned=True):
        self.a, self.stream, self.versioned, self.asked = a, stream, versioned, []

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        if options and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.asked.append((stream, options))
        with wp.ScopedStream(self.stream, sync_enter=False):
            return self.a.__dlpack__(stream=stream, **options)


class Interface:
    """What has the CUDA array interface and nothing else."""

    def __init__(self, a, **changes):
        self.a = a
        self.__cuda_array_interface__ = a.__cuda_array_interface__ | changes


class LikeCupy(Theirs):
    """Memory as arrays of CuPy offer it: both protocols, a stream, and no conversion to NumPy."""

    @property
    def __cuda_array_interface__(self):
        return self.a.__cuda_array_interface__ | {"descr": [("", "<f4")], "stream": self.stream.cuda_stream}

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __len__(self):
        return len(self.a)


class LikeNumba:
    """Memory as arrays of numba.cuda offer it: a stream or None, and a conversion to NumPy, which copies."""

    def __init__(self, a, stream=None):
        self.a, self.stream, self.shape, self.copies = a, stream, a.shape, 0

    @property
    def __cuda_array_interface__(self):
        given = self.a.__cuda_array_interface__
        return {name: given[name] for name in ("shape", "strides", "data", "typestr")} | {
            "stream": self.stream and self.stream.cuda_stream,
            "version": 3,
        }

    def __array__(self, dtype=None, copy=None):
        self.copies += 1
        return self.a.numpy()


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@pytest.mark.parametrize("like", [LikeCupy, LikeNumba])
def test_launches_write_to_arrays_of_cupy_and_numba(gpu, like):
    stream = wp.Stream(gpu)
    x, y = like(late(gpu, stream), stream), like(late(gpu, stream, 1.0), stream)
    wp.launch(saxpy, dim=N, inputs=[x, y, 2.0], device=gpu)  # waits for their stream
    assert on(gpu.stream, y.a) == {11.0}
    shared = wp.array(x, copy=False)
    assert (shared.ptr, shared.device) == (x.a.ptr, gpu)
    vectors = wp.array(like(wp.zeros((2, 3)), stream), dtype=wp.vec3, copy=False)
    assert (vectors.shape, vectors.dtype) == ((2,), wp.vec3)
    assert getattr(x, "copies", 0) == 0


def test_the_interface_that_cupy_and_numba_read(gpu):
    whole = wp.array(np.arange(24), dtype=float).reshape((4, 6))
    dense, part = whole.__cuda_array_interface__, whole[1:, ::2].__cuda_array_interface__
    assert (dense["version"], dense["typestr"], dense["shape"], dense["strides"]) == (3, "<f4", (4, 6), None)
    assert dense["data"] == (whole.ptr, False)
    assert dense["stream"] not in (0, None)  # 0 is forbidden, and None would promise that nothing is to be waited for
    assert (part["shape"], part["strides"], part["data"][0]) == ((3, 3), (24, 8), whole.ptr + 24)
    assert wp.zeros((0, 3), dtype=float).__cuda_array_interface__["data"] == (0, False)
    with pytest.raises(AttributeError, match="no bfloat16: use DLPack"):
        wp.zeros(3, dtype=wp.bfloat16).__cuda_array_interface__


def late(gpu, stream, value=5.0):
    """An array that has its value when a stream gets there."""
    a = wp.zeros(N, dtype=float, device=gpu)
    wp.synchronize()
    with wp.ScopedStream(stream, sync_enter=False):
        a.fill_(value)
    return a


def on(stream, a):
    """The elements as a stream sees them."""
    with wp.ScopedStream(stream, sync_enter=False):
        return set(a.list())


def test_dlpack_shares_memory(gpu):
    a = wp.array(np.arange(24), dtype=float).reshape((4, 6))
    assert a.__dlpack_device__() == (2, gpu.ordinal)
    b = wp.from_dlpack(a.__dlpack__())
    assert (b.device, b.dtype, b.shape, b.ptr) == (gpu, wp.float32, (4, 6), a.ptr)
    for version in (None, (0, 8), (1, 0), (1, 1)):
        view = wp.from_dlpack(a[1:, ::2].__dlpack__(max_version=version))
        assert np.array_equal(view.numpy(), a.numpy()[1:, ::2])
        with pytest.raises(BufferError, match="negative strides"):
            a[:, ::-1].__dlpack__(max_version=version)
    wp.from_dlpack(wp.to_dlpack(a)).fill_(3.0)
    wp.launch(double, dim=6, inputs=[b[0]])
    assert a.numpy().tolist() == [[6.0] * 6] + [[3.0] * 6] * 3
    assert wp.from_dlpack(a) is a


@pytest.mark.parametrize("dtype", [bool, int, wp.uint8, wp.int64, wp.float16, wp.float64, wp.bfloat16])
def test_numbers_of_dlpack(gpu, dtype):
    a = wp.array([0, 1, 1], dtype=dtype)
    b = wp.from_dlpack(a.__dlpack__())
    assert (b.dtype, b.list()) == (a.dtype, a.list())


def test_components_of_dlpack(gpu):
    a = wp.array(np.arange(18).reshape(2, 9), dtype=wp.mat33)
    plain = wp.from_dlpack(a.__dlpack__())
    assert (plain.shape, plain.dtype) == ((2, 3, 3), wp.float32)
    vectors = wp.from_dlpack(Theirs(a, gpu.stream), dtype=wp.vec3)
    assert vectors.shape == (2, 3)
    assert vectors[1, 0] == wp.vec3(9.0, 10.0, 11.0)
    assert wp.from_dlpack(a[0:0].__dlpack__()).shape == (0, 3, 3)
    with pytest.raises(TypeError, match=r"expected elements of vec2f, got float32 of shape \(2, 3, 3\)"):
        wp.from_dlpack(Theirs(a, gpu.stream), dtype=wp.vec2)
    with pytest.raises(TypeError, match="expected elements of int32, got float32"):
        wp.from_dlpack(Theirs(a, gpu.stream), dtype=int)
    with pytest.raises(ValueError, match="must be contiguous"):
        wp.from_dlpack(plain.transpose((0, 2, 1)).__dlpack__(), dtype=wp.vec3)
    with pytest.raises(BufferError, match="the elements are structs Pair"):
        wp.zeros(2, dtype=Pair).__dlpack__()


def test_capsules_keep_memory(gpu, simulated):
    def held():
        gc.collect()
        gpu.synchronize()
        return simulated.simulator_allocations(gpu.ordinal)

    gpu.stream.record_event()
    before = held()
    for version in (None, (1, 0)):
        capsule = wp.full(N, 2.0).__dlpack__(max_version=version)
        assert held() == before + 1
        a = wp.from_dlpack(capsule)
        with pytest.raises(BufferError, match="has been consumed already"):
            wp.from_dlpack(capsule)
        del capsule
        view = a[1:]
        del a
        assert held() == before + 1
        assert view.list() == [2.0] * (N - 1)
        del view
        assert held() == before
        wp.zeros(N).__dlpack__(max_version=version)  # never taken
        assert held() == before
        with pytest.raises(TypeError, match="expected elements of int32"):
            wp.from_dlpack(wp.zeros(N).__dlpack__(max_version=version), dtype=int)
        assert held() == before


def test_whoever_takes_memory_has_its_stream_wait(gpu):
    theirs = wp.Stream(gpu)
    a = late(gpu, gpu.stream)
    assert on(theirs, wp.from_dlpack(a.__dlpack__(stream=theirs.cuda_stream))) == {5.0}
    for stream, handle in ((gpu.null_stream, None), (gpu.null_stream, 1), (wp.Stream(gpu, cuda_stream=2), 2)):
        with wp.ScopedStream(theirs):
            a = late(gpu, theirs)
            assert on(stream, wp.from_dlpack(a.__dlpack__(stream=handle))) == {5.0}
    assert on(gpu.stream, wp.from_dlpack(a.__dlpack__(stream=gpu.stream.cuda_stream))) == {5.0}


def test_no_stream_waits_if_none_is_to(gpu, simulated):
    a = late(gpu, gpu.stream)
    taken = wp.from_dlpack(a.__dlpack__(stream=-1))
    assert on(wp.Stream(gpu), taken) == {0.0}
    assert taken.list() == [5.0] * N


def test_our_stream_waits_for_theirs(gpu):
    stream = wp.Stream(gpu)
    for versioned in (True, False):
        theirs = Theirs(late(gpu, stream), stream, versioned)
        assert set(wp.from_dlpack(theirs).list()) == {5.0}
        assert theirs.asked == [(gpu.stream.cuda_stream, {"max_version": (1, 3)} if versioned else {})]
    with wp.ScopedStream(gpu.null_stream):
        theirs = Theirs(late(gpu, stream), stream)
        wp.from_dlpack(theirs)
        assert theirs.asked[0][0] == 1  # 0 would not say which default stream
    theirs = Interface(late(gpu, stream), stream=stream.cuda_stream)
    wp.launch(double, dim=N, inputs=[theirs])
    assert set(theirs.a.list()) == {10.0}
    theirs = Interface(late(gpu, stream), stream=stream.cuda_stream)
    assert set(wp.array(theirs).list()) == {5.0}


def test_streams_that_are_none(gpu):
    a = wp.zeros(3)
    for wrong in (0, -2, 1.5, "x", True):
        with pytest.raises(ValueError, match="stream: expected a CUDA stream handle"):
            a.__dlpack__(stream=wrong)
    with pytest.raises(ValueError, match="stream: expected a CUDA stream handle"):
        wp.launch(double, dim=3, inputs=[Interface(a, stream=0)])
    wp.launch(double, dim=3, inputs=[Interface(a, stream=None)])


def test_streams_that_are_gone(gpu, simulated):
    """The driver knows no such stream. What a real one does with a wild handle, its documentation leaves open."""
    a, stream = wp.zeros(3), wp.Stream(gpu)
    gone = stream.cuda_stream
    del stream
    gc.collect()
    for handle in (gone, 12345):
        why = f"stream: {handle:#x} is no stream of {gpu}: it has been destroyed, or never was one"
        with pytest.raises(ValueError, match=why):
            a.__dlpack__(stream=handle)
        with pytest.raises(ValueError, match=f"argument `x` cannot be used: {why}"):
            wp.launch(double, dim=3, inputs=[Interface(a, stream=handle)])
        with pytest.raises(ValueError, match=why):
            wp.array(Interface(a, stream=handle), copy=False)
        with pytest.raises(ValueError, match=f"cuda_{why}"):
            wp.Stream(gpu, cuda_stream=handle)


def test_memory_of_a_gpu_in_launches_on_the_cpu(gpu):
    a, why = wp.zeros(3), "but the launch is on the CPU: launch with device"
    for theirs in (Interface(a), LikeNumba(a)):
        with pytest.raises(ValueError, match=f"the {type(theirs).__name__} is in the memory of a GPU, {why}=.cuda."):
            wp.launch(double, dim=3, inputs=[theirs], device="cpu")
    for theirs in (a, Theirs(a, gpu.stream), LikeCupy(a, gpu.stream)):
        with pytest.raises(ValueError, match=f"argument `x` is on {gpu} {why}=.{gpu}., or pass a copy"):
            wp.launch(double, dim=3, inputs=[theirs], device="cpu")


MISSING = object()


@pytest.mark.parametrize(
    ("changes", "kind", "why"),
    [
        ({"typestr": MISSING}, ValueError, "has no 'typestr', without which its memory cannot be read"),
        ({"data": MISSING}, ValueError, "has no 'data'"),
        ({"shape": MISSING}, ValueError, "has no 'shape'"),
        ({"version": 9}, ValueError, "is of version 9, but only versions up to 3 are known"),
        ({"version": "3"}, ValueError, "is of version '3'"),
        ({"data": (2**70, False)}, ValueError, rf"has data=\({2**70}, False\), but 'data' is an address of 64 bits"),
        ({"data": (-1, False)}, ValueError, "is an address of 64 bits"),
        ({"data": 64}, TypeError, "has data=64, but 'data' is an address and whether it is read-only"),
        ({"data": ("x", False)}, TypeError, "is an address and whether it is read-only"),
        ({"data": (0, False)}, ValueError, r"has no data: its address is 0, but its shape \(3,\) has elements"),
        ({"shape": 3}, TypeError, "has shape=3, but 'shape' is a tuple of integers"),
        ({"shape": (3.0,)}, TypeError, "is a tuple of integers"),
        ({"shape": (2**70,)}, ValueError, "is a tuple of integers of 64 bits"),
        ({"shape": (-1,)}, ValueError, r"has shape=\(-1,\), but no extent is negative"),
        ({"shape": (2**62,)}, ValueError, "which no memory can hold"),
        ({"strides": (4, 4)}, ValueError, r"strides=\(4, 4\), but each dimension has one stride"),
        ({"strides": (2**70,)}, ValueError, "is a tuple of integers of 64 bits"),
        ({"strides": (2,)}, ValueError, "is not aligned to its float32: pass a copy"),
        ({"strides": (-(2**62),)}, ValueError, "which no memory can hold"),
        ({"typestr": "what"}, TypeError, "has typestr='what', but 'typestr' is a name of NumPy for a type"),
        ({"typestr": 3}, TypeError, "is a name of NumPy for a type"),
        ({"stream": 2**70}, ValueError, f"stream: expected a CUDA stream handle.*{2**70}"),
    ],
)
def test_interfaces_that_break_the_protocol(gpu, changes, kind, why):
    theirs = Interface(wp.zeros(3), **changes)
    theirs.__cuda_array_interface__ = {k: v for k, v in theirs.__cuda_array_interface__.items() if v is not MISSING}
    with pytest.raises(kind, match=rf"argument `x` cannot be used: .*{why}"):
        wp.launch(double, dim=3, inputs=[theirs])
    with pytest.raises(kind, match=why):
        wp.array(theirs, copy=False)


def test_an_interface_that_is_no_dictionary(gpu):
    class Wrong:
        __cuda_array_interface__ = 5

    with pytest.raises(TypeError, match="the __cuda_array_interface__ of Wrong is 5, not a dictionary"):
        wp.array(Wrong(), copy=False)


def test_what_dlpack_is_asked_for(gpu):
    a = wp.array([1.0, 2.0], dtype=float)
    copied = wp.from_dlpack(a.__dlpack__(copy=True, max_version=(1, 0)))
    assert copied.ptr != a.ptr
    assert copied.list() == [1.0, 2.0]
    assert wp.from_dlpack(a.__dlpack__(dl_device=(2, gpu.ordinal), copy=False)).ptr == a.ptr
    assert wp.from_dlpack(a.__dlpack__(dl_device=(1, 0))).device == "cpu"
    with pytest.raises(BufferError, match="copy=False forbids"):
        a.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match=r"not on DLPack.s device \(10, 0\)"):
        a.__dlpack__(dl_device=(10, 0))
    readonly = wp.array(Interface(a, data=(a.ptr, True)), copy=False)
    assert readonly.readonly
    with pytest.raises(BufferError, match=r"read-only.*max_version=\(1, 0\)"):
        readonly.__dlpack__()
    again = wp.from_dlpack(readonly.__dlpack__(max_version=(1, 0)))
    with pytest.raises(ValueError, match="read-only"):
        again.zero_()
    for wrong in (gpu, 7):
        with pytest.raises(TypeError, match="expected an object with __dlpack__ or a capsule"):
            wp.from_dlpack(wrong)


def test_dlpack_in_captures(gpu):
    a, theirs = wp.zeros(N), Theirs(wp.zeros(N), wp.Stream(gpu))
    with wp.ScopedCapture() as captured:
        wp.from_dlpack(theirs).fill_(4.0)  # nothing to wait for: the graph runs later
        assert theirs.asked[0][0] == -1
        a.fill_(3.0)
        wp.from_dlpack(a.__dlpack__(stream=-1)).fill_(2.0)
        with pytest.raises(BufferError, match="captures a graph"):
            a.__dlpack__(stream=theirs.stream.cuda_stream)
        with pytest.raises(RuntimeError, match="while a graph is captured"):
            a.__dlpack__(dl_device=(1, 0))
    assert set(a.list()) == {0.0}
    wp.capture_launch(captured.graph)
    assert (set(a.list()), set(theirs.a.list())) == ({2.0}, {4.0})


def test_pinned_arrays_go_by_dlpack(gpu):
    a = wp.zeros(N, dtype=float, device="cpu", pinned=True)
    assert a.__dlpack_device__() == (3, 0)
    wp.copy(a, wp.full(N, 2.0))
    numbers = np.from_dlpack(a)  # which has been waited for
    assert set(numbers.tolist()) == {2.0}
    numbers[0] = 7.0
    assert a[0] == 7.0
    assert wp.from_dlpack(a.__dlpack__(), dtype=float).ptr == a.ptr
    assert wp.from_dlpack(a.__dlpack__(dl_device=(1, 0))).ptr == a.ptr


def test_arguments_and_data_of_other_libraries(gpu):
    class Bare(Theirs):
        __cuda_array_interface__ = property(lambda self: self.a.__cuda_array_interface__)

    x = wp.ones(3)
    wp.launch(double, dim=3, inputs=[Theirs(x, gpu.stream)])
    assert x.list() == [2.0] * 3
    shared, copied = wp.array(Bare(x, gpu.stream), copy=False), wp.array(Interface(x))
    x.zero_()
    assert (shared.device, shared.ptr, shared.list(), copied.list()) == (gpu, x.ptr, [0.0] * 3, [2.0] * 3)
    points = wp.array(Interface(wp.zeros((2, 3))), dtype=wp.vec3)
    assert (points.shape, points.dtype) == ((2,), wp.vec3)
    assert wp.array(Interface(x), device="cpu").device == "cpu"
    with pytest.raises(TypeError, match="mask"):
        wp.array(Interface(x, mask=x))
    with pytest.raises(TypeError, match="no element type for the NumPy type complex64"):
        wp.array(Interface(x, typestr="<c8"))


def test_dlpack_of_another_gpu():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two GPUs")
    a = wp.full(3, 4.0, dtype=float, device="cuda:1")
    b = wp.from_dlpack(a.__dlpack__())
    assert (b.device, b.list()) == ("cuda:1", [4.0] * 3)
