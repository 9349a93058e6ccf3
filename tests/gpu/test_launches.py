"""Launches on GPUs. NumPy is the judge of the results."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from tests.kernels import double, total


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


def test_sums(gpu):
    x, out = wp.ones(10_000, dtype=float), wp.zeros(1, dtype=float)
    wp.launch(total, dim=10_000, inputs=[x, out])
    assert out.list() == [10_000.0]


def test_later_launches_that_name_the_gpu_need_no_python(gpu):
    """As fast as launches on the default device: a kernel with a plan is launched by native code alone."""
    x = wp.ones(10, dtype=float)
    wp.launch(double, dim=10, inputs=[x], device=gpu)
    python = _native.set_slow_launch(None)
    try:
        with wp.ScopedDevice("cpu"):
            for device in (gpu, str(gpu)):
                wp.launch(double, dim=10, inputs=[x], device=device)
            with pytest.raises(RuntimeError, match="no compiler is attached"):
                wp.launch(double, dim=10, inputs=[x], device="cuda:77")
    finally:
        _native.set_slow_launch(python)
    assert x.list() == [8.0] * 10


def test_streams_keep_order(gpu):
    x, y = wp.ones(100, dtype=float), wp.zeros(100, dtype=float)
    other = wp.Stream(gpu)
    with wp.ScopedStream(other, sync_exit=True):
        wp.launch(saxpy, dim=100, inputs=[x, y, 1.0])
    wp.launch(saxpy, dim=100, inputs=[x, y, 1.0])
    assert y.list() == [2.0] * 100


def test_a_launch_goes_to_its_stream(gpu, simulated):
    x, other = wp.ones(100, dtype=float), wp.Stream(gpu)
    for run in (
        lambda: wp.launch(double, dim=100, inputs=[x], stream=other),
        lambda: wp.launch(double, dim=100, inputs=[x], stream=other, device=gpu),
        lambda: wp.launch(double, dim=100, inputs=[x], record_cmd=True).launch(other),
        lambda: wp.launch(double, dim=100, inputs=[x], record_cmd=True).launch(stream=other),
    ):
        x.fill_(1.0)
        wp.synchronize()
        with wp.ScopedStream(wp.Stream(gpu), sync_enter=False) as current:
            run()
            assert wp.get_stream() is current
            assert current.is_complete
            assert not other.is_complete
        wp.synchronize_stream(other)
        assert x.list() == [2.0] * 100


def test_streams_of_launches(gpu):
    x, other = wp.ones(100, dtype=float), wp.Stream(gpu)
    wp.synchronize()
    with wp.ScopedDevice("cpu"):
        wp.launch(double, dim=100, inputs=[x], stream=other)  # the device is that of the stream
    wp.synchronize_stream(other)
    assert x.list() == [2.0] * 100
    with wp.ScopedCapture(stream=other) as captured, wp.ScopedStream(wp.Stream(gpu), sync_enter=False):
        wp.launch(double, dim=100, inputs=[x], stream=other)
    wp.capture_launch(captured.graph)
    assert x.list() == [4.0] * 100
    with wp.Tape() as tape:
        y = wp.ones(2, dtype=float, requires_grad=True)
        z = wp.zeros(2, dtype=float, requires_grad=True)
        wp.synchronize()
        wp.launch(saxpy, dim=2, inputs=[y, z, 3.0], stream=other)
    wp.wait_stream(other)
    tape.backward(grads={z: wp.ones(2, dtype=float)})
    assert y.grad.list() == [3.0] * 2
    with pytest.raises(TypeError, match=r"`double`: stream: expected a wp.Stream, got int"):
        wp.launch(double, dim=1, inputs=[x], stream=other.cuda_stream)
    with pytest.raises(ValueError, match=r"`double`: a recorded launch gets its stream when it is launched"):
        wp.launch(double, dim=1, inputs=[x], stream=other, record_cmd=True)
    if wp.get_cuda_device_count() > 1:
        elsewhere = next(d for d in wp.get_cuda_devices() if d is not gpu)
        for run in (wp.launch(double, dim=1, inputs=[x], record_cmd=True).launch,):
            with pytest.raises(ValueError, match=f"stream belongs to {elsewhere} but the launch is on {gpu}"):
                run(wp.Stream(elsewhere))
        with pytest.raises(ValueError, match=f"stream belongs to {elsewhere} but the launch is on {gpu}"):
            wp.launch(double, dim=1, inputs=[x], device=gpu, stream=wp.Stream(elsewhere))


@wp.struct
class Pair:
    a: wp.array(dtype=float)
    by: float


@wp.kernel
def spread(p: Pair, x: wp.indexedarray(dtype=float), same: wp.array(dtype=float), untouched: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p.a[i] = p.by * x[i] + same[0]
    if i == 0:
        same[1] = untouched[1][2]


@pytest.mark.parametrize("mode", ["release", "interpret"])
def test_interpreted_launches(gpu, mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    base = wp.array(np.arange(8), dtype=float)
    x, out = base[::-2], wp.zeros(2, dtype=float)
    points = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3)
    pair = Pair(a=out, by=10.0)
    picked = x[wp.array([3, 0], dtype=int)]
    wp.launch(spread, dim=2, inputs=[pair, picked, base, points], interpret=True)
    assert out.list() == [10.0, 70.0]
    assert base.list() == [0.0, 6.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]  # seen through x too
    command = wp.launch(double, dim=2, inputs=[out], record_cmd=True, interpret=True)
    command.launch()
    wp.synchronize()
    command.launch(stream=wp.Stream(gpu))
    wp.synchronize()
    assert out.list() == [40.0, 280.0]
    wp.launch(double, dim=2, inputs=[points.view(float)[0]], interpret=True, stream=wp.Stream(gpu))
    wp.synchronize()
    assert points.numpy()[0].tolist() == [2.0, 4.0, 3.0]


def test_what_is_not_interpreted_on_a_gpu(gpu):
    x = wp.ones(3, dtype=float)
    pairs = wp.array([Pair(a=x)], dtype=Pair)

    @wp.kernel
    def first(pairs: wp.array(dtype=Pair)):
        pairs[0].a[0] = 1.0

    with pytest.raises(RuntimeError, match="`pairs`: its elements point to arrays on cuda"):
        wp.launch(first, dim=1, inputs=[pairs], interpret=True)
    with pytest.raises(ValueError, match="`x` is on the CPU but the launch is on cuda"):
        wp.launch(double, dim=3, inputs=[x.to("cpu")], interpret=True)
    with (
        pytest.raises(RuntimeError, match="interpreting kernel `double` while a graph is captured"),
        wp.ScopedCapture(),
    ):
        wp.launch(double, dim=3, inputs=[x], interpret=True)


def test_two_devices_take_turns():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two GPUs")
    arrays = [wp.ones(8, dtype=float, device=d) for d in ("cuda:0", "cuda:1", "cpu")]
    for _ in range(3):
        for a in arrays:
            wp.launch(double, dim=8, inputs=[a], device=a.device)
    assert [a.list() for a in arrays] == [[8.0] * 8] * 3


def test_arrays_elsewhere_are_refused(gpu):
    here, there = wp.zeros(4, dtype=float), wp.zeros(4, dtype=float, device="cpu")
    with pytest.raises(ValueError, match=f"`x` is on the CPU but the launch is on {here.device}: pass a copy"):
        wp.launch(double, dim=4, inputs=[there])
    with pytest.raises((ValueError, TypeError), match="`x`"):
        wp.launch(double, dim=4, inputs=[np.zeros(4, np.float32)])
    with pytest.raises(ValueError, match=f'but the launch is on the CPU: launch with device="{here.device}"'):
        wp.launch(double, dim=4, inputs=[here], device="cpu")


@wp.func_native("#if defined(__CUDA_ARCH__)\nreturn __shfl_sync(~0u, x, 0);\n#else\nreturn x;\n#endif")
def of_first_thread(x: float) -> float: ...


@wp.kernel
def spread_first(x: wp.array[float]):
    x[wp.tid()] = of_first_thread(x[wp.tid()])


def test_text_for_cpus_is_refused(gpu):
    with pytest.raises(wp.CompileError, match=r"`of_first_thread` is C.* lets threads of a GPU work together"):
        wp.launch(spread_first, dim=4, inputs=[wp.zeros(4, dtype=float)])
    x = wp.ones(4, dtype=float, device="cpu")
    wp.launch(spread_first, dim=4, inputs=[x], device="cpu")
    assert x.list() == [1.0] * 4


def test_the_driver_refuses_a_launch(gpu, simulated):
    x = wp.ones(3, dtype=float)
    wp.launch(double, dim=3, inputs=[x])
    simulated.simulator_fail(b"cuLaunchKernel", 1, 0)
    with pytest.raises(RuntimeError, match="cuLaunchKernel: CUDA_ERROR_INVALID_VALUE"):
        wp.launch(double, dim=3, inputs=[x])
    wp.launch(double, dim=3, inputs=[x])
    assert x.list() == [4.0] * 3


def test_other_libraries_share_memory(gpu):
    class Theirs:
        def __init__(self, a):
            self.__cuda_array_interface__ = a.__cuda_array_interface__

    x = wp.ones(3, dtype=float)
    wp.launch(double, dim=3, inputs=[Theirs(x)])
    assert x.list() == [2.0] * 3


@wp.kernel
def reverse_blocks(x: wp.array(dtype=float)):
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    s[wp.thread_index()] = x[0]
    wp.syncthreads()
    x[0] = s[wp.block_dim() - 1 - wp.thread_index()]


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("kernel", [double, reverse_blocks], ids=str)
def test_grids_that_are_too_large(gpu, kernel, mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    x = wp.zeros(1, dtype=float)
    blocks = (
        "at most 2147483647 blocks, but this launch needs 2147483648 of 32 threads: launch it in parts, or in larger"
    )
    why = {double: "68719476736 threads, but a single `i = wp.tid", reverse_blocks: blocks}[kernel]
    with pytest.raises(ValueError, match=why):
        wp.launch(kernel, dim=(1 << 18, 1 << 18), inputs=[x], block_dim=32)
    command = wp.launch(kernel, dim=(2, 32), inputs=[x], block_dim=32, record_cmd=True)
    with pytest.raises(ValueError, match=why):
        command.set_dim((1 << 18, 1 << 18))
        command.launch()
    assert x.list() == [0.0]


@wp.kernel
def scaled_rows(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    row = wp.tid()
    s = wp.shared_array(shape=64, dtype=float)
    for i in wp.block_range(x.shape[1]):
        s[i] = x[row, i]
    for i in wp.block_range(x.shape[1] - 1, -1, -1):
        out[row, i] = s[i] + 2.0 * s[x.shape[1] - 1 - i]


def test_tiled_launches_share_iterations(gpu):
    x = np.arange(150, dtype=np.float32).reshape(3, 50)
    for block_dim in (1, 32, 96):
        out = wp.zeros((3, 50), dtype=float)
        wp.launch_tiled(scaled_rows, dim=3, inputs=[wp.array(x), out], block_dim=block_dim)
        np.testing.assert_array_equal(out.numpy(), x + 2.0 * x[:, ::-1])


def test_blocks_of_other_sizes(gpu):
    x = wp.zeros(1000, dtype=float)
    for block_dim in (32, 100, 1, gpu.max_block_dim, 256, None, np.int64(64)):
        wp.launch(double, dim=1000, inputs=[wp.ones(1000, dtype=float)], block_dim=block_dim)
        command = wp.launch(saxpy, dim=1000, inputs=[wp.ones(1000), x, 1.0], block_dim=block_dim, record_cmd=True)
        command.launch()
        assert command.plan.block_dim == (block_dim or 256)
    assert x.list() == [7.0] * 1000
    for wrong, why in ((0, "takes 1 to"), (gpu.max_block_dim + 1, "takes 1 to"), (-32, "takes 1 to")):
        with pytest.raises(ValueError, match=why):
            wp.launch(double, dim=1000, inputs=[x], block_dim=wrong)
    with pytest.raises(TypeError, match="block_dim must be an integer"):
        wp.launch(double, dim=1000, inputs=[x], block_dim=32.0)


@wp.kernel
def halve(x: wp.fabricarray(dtype=float), chosen: wp.indexedfabricarray(dtype=float)):
    i = wp.tid()
    x[i] = 0.5 * x[i]
    if i < chosen.size:
        wp.atomic_add(chosen, i, 100.0)


def test_arrays_of_fabric(gpu):
    buckets = [wp.array(np.arange(n), dtype=float) for n in (3, 0, 5)]
    attribute = {"type": (True, "f4", 1, 0, ""), "access": 3, "counts": [b.size for b in buckets]}
    attribute["pointers"] = [b.ptr or 0 for b in buckets]
    x = wp.fabricarray({"version": 1, "device": str(gpu), "attribs": {"size": attribute}}, "size")
    chosen = x[wp.array([7, 1], dtype=int)]
    assert x.device is gpu and chosen.list() == [4.0, 1.0]
    wp.launch(halve, dim=x.size, inputs=[x, chosen])
    assert x.list() == [0.0, 100.5, 1.0, 0.0, 0.5, 1.0, 1.5, 102.0]
    x.assign(np.arange(8))
    assert [b.list() for b in buckets] == [[0.0, 1.0, 2.0], [], [3.0, 4.0, 5.0, 6.0, 7.0]]
    chosen.fill_(-1.0)
    assert x.list() == [0.0, -1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -1.0]
