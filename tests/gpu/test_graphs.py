"""Graphs of GPUs: what is captured is done when the graph is launched, and a capture that fails leaves all in order."""

import gc
import threading

import pytest

import omni.warp_core as wp
from omni.warp_core.dispatch.capture import _later


@wp.kernel
def add(x: wp.array(dtype=float), by: float):
    i = wp.tid()
    x[i] += by


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), by: float):
    i = wp.tid()
    y[i] = x[i] * by


@pytest.fixture(autouse=True)
def no_capture_is_left(gpu):
    """Whatever happened in a test, the stream works as before."""
    yield
    assert not gpu.is_capturing
    assert wp.ones(2, dtype=float, device=gpu).list() == [1.0, 1.0]


def test_memory_is_given_back_with_the_graph(gpu, simulated):
    with wp.ScopedCapture():  # what is made once
        wp.launch(add, dim=1, inputs=[wp.zeros(1, dtype=float), 1.0])
    gc.collect()
    wp.synchronize()
    before = simulated.simulator_allocations(gpu.ordinal)
    with wp.ScopedCapture() as capture:
        x = wp.array([1.0, 2.0], dtype=float)
        wp.launch(add, dim=2, inputs=[x, 1.0])
    wp.capture_launch(capture.graph)
    assert x.list() == [2.0, 3.0]
    assert simulated.simulator_allocations(gpu.ordinal) > before
    del x, capture
    gc.collect()
    wp.synchronize()
    assert simulated.simulator_allocations(gpu.ordinal) == before


def test_kernels_of_another_gpu_are_dropped_during_a_capture(gpu):
    others = [d for d in wp.get_cuda_devices() if d is not gpu]
    if not others:
        pytest.skip("needs two GPUs")

    def use():
        @wp.kernel
        def dropped(x: wp.array(dtype=float)):
            x[0] += 2.0

        wp.launch(dropped, dim=1, inputs=[there], device=others[0])

    there, x = wp.zeros(1, dtype=float, device=others[0]), wp.zeros(2, dtype=float)
    use()
    with wp.ScopedCapture() as capture:
        gc.collect()
        wp.launch(add, dim=2, inputs=[x, 1.0])
    wp.capture_launch(capture.graph)
    assert (x.list(), there.list()) == ([1.0, 1.0], [2.0])


def test_pinned_memory_is_read_during_a_capture(gpu):
    """What was copied to it before has arrived: the driver takes the question for unsafe."""
    x, there = wp.ones(2, dtype=float), wp.zeros(2, dtype=float, device="cpu", pinned=True)
    wp.copy(there, x)
    with wp.ScopedCapture() as capture:
        assert there.list() == [1.0, 1.0]
        wp.launch(add, dim=2, inputs=[x, 2.0])
    wp.capture_launch(capture.graph)
    assert x.list() == [3.0, 3.0]


def test_recorded_launches_without_threads_cannot_be_updated(gpu):
    command = wp.launch(add, dim=2, inputs=[wp.zeros(4, dtype=float), 1.0], record_cmd=True)
    with wp.ScopedCapture() as capture:
        command.launch()
    command.set_dim(0)
    with pytest.raises(
        RuntimeError, match="kernel `add`: this launch cannot be updated in its graph, because it has no threads"
    ):
        wp.capture_launch(capture.graph)


def test_streams_that_fork_and_join(gpu):
    x, y, z = (wp.zeros(10, dtype=float) for _ in range(3))
    side = wp.Stream()
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=10, inputs=[x, 1.0])
        with wp.ScopedStream(side):
            wp.launch(scale, dim=10, inputs=[x, y, 2.0])
        wp.launch(scale, dim=10, inputs=[x, z, 3.0])
        wp.wait_stream(side)
        wp.launch(add, dim=10, inputs=[y, 0.5])
        wp.copy(x, y)
    assert not side.is_capturing
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    assert z.list() == [10.5] * 10
    assert y.list() == [7.5] * 10


def test_a_graph_goes_to_the_stream_that_is_named(gpu):
    x = wp.zeros(2, dtype=float)
    stream = wp.Stream()
    with wp.ScopedStream(stream), wp.ScopedCapture(stream=stream) as capture:
        wp.launch(add, dim=2, inputs=[x, 1.0])
    assert capture.graph.device is gpu
    wp.capture_launch(capture.graph, stream=stream)
    wp.synchronize_stream(stream)
    assert x.list() == [1.0, 1.0]


def test_conditions_need_their_array_there(gpu):
    with pytest.raises(RuntimeError, match="condition: the array is on cpu"), wp.ScopedCapture():
        wp.capture_if(wp.ones(1, dtype=int, device="cpu"), lambda: None)


def test_what_is_refused_of_graphs_in_graphs(gpu):
    command = wp.launch(add, dim=3, inputs=[wp.zeros(3, dtype=float), 1.0], record_cmd=True)
    with wp.ScopedCapture() as inner:
        command.launch()
    with wp.ScopedCapture() as outer:
        wp.capture_launch(inner.graph)
    command.set_param_by_name("by", 2.0)
    with pytest.raises(RuntimeError, match="in a condition or a graph within the graph"):
        wp.capture_launch(outer.graph)
    with wp.ScopedCapture() as looping:
        wp.capture_while(wp.zeros(1, dtype=int), lambda: None)
    with pytest.raises(RuntimeError, match="does not allow a graph with conditions"), wp.ScopedCapture():
        wp.capture_launch(looping.graph)


def test_pictures(gpu, tmp_path):
    x = wp.zeros(3, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=3, inputs=[x, 1.0])
        x.zero_()
    assert len(capture.graph.work) == 2
    wp.capture_debug_dot_print(capture.graph, str(tmp_path / "graph.dot"))
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")


# -- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wait",
    [
        lambda x: x.numpy(),
        lambda x: x.list(),
        lambda x: x[0],
        lambda x: str(x),
        lambda x: x.to("cpu"),
        lambda x: wp.synchronize(),
        lambda x: wp.synchronize_device(),
        lambda x: wp.synchronize_stream(),
        lambda x: wp.get_stream().is_complete,
        lambda x: wp.synchronize_event(wp.record_event()),
        lambda x: wp.record_event().is_complete,
        lambda x: x.device.null_stream.is_complete,
    ],
)
def test_what_waits_is_refused_and_the_capture_goes_on(gpu, wait):
    x = wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        with pytest.raises(RuntimeError, match=r"captured|must be pinned"):
            wait(x)
        wp.launch(add, dim=2, inputs=[x, 1.0])
    wp.capture_launch(capture.graph)
    assert x.list() == [1.0, 1.0]


def test_the_cpu_works_meanwhile(gpu):
    x = wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        on_cpu = wp.ones(2, dtype=float, device="cpu")
        wp.launch(add, dim=2, inputs=[on_cpu, 1.0], device="cpu")
        assert on_cpu.list() == [2.0, 2.0]
        wp.launch(add, dim=2, inputs=[x, float(on_cpu[0])])
    wp.capture_launch(capture.graph)
    assert x.list() == [2.0, 2.0]


def test_streams_outside_of_the_capture(gpu):
    x, other = wp.zeros(2, dtype=float), wp.Stream()
    with wp.ScopedCapture() as capture:
        for work in (
            lambda: wp.launch(add, dim=2, inputs=[x, 1.0]),
            lambda: x.fill_(1.0),
            lambda: wp.copy(x, x[::-1]),
        ):
            with (
                wp.ScopedStream(other, sync_enter=False),
                pytest.raises(RuntimeError, match="is not part of the capture"),
            ):
                work()
    wp.capture_launch(capture.graph)
    assert x.list() == [0.0, 0.0]


def test_streams_that_are_not_joined(gpu):
    x, other = wp.zeros(2, dtype=float), wp.Stream()
    wp.capture_begin()
    with wp.ScopedStream(other):
        wp.launch(add, dim=2, inputs=[x, 1.0])
    with pytest.raises(RuntimeError, match=r"test_graphs.py:\d+ failed: .*end with wait_stream"):
        wp.capture_end()
    assert not other.is_capturing


def test_streams_of_conditions_are_their_own(gpu):
    """What the driver would give up a condition for is refused before it sees it, and the capture goes on."""
    x, c, other, early = wp.zeros(2, dtype=float), wp.ones(1, dtype=int), wp.Stream(), wp.record_event()

    def add_on(stream, **sync):
        with wp.ScopedStream(stream, **sync):
            wp.launch(add, dim=2, inputs=[x, 10.0])

    def body():
        with pytest.raises(RuntimeError, match="is captured outside of this condition"):
            add_on(other, sync_enter=False)
        why = "another part of this one and cannot wait for an event of the innermost capture"
        with pytest.raises(RuntimeError, match=why):
            add_on(other)
        with pytest.raises(RuntimeError, match="the innermost capture and cannot wait for an event of another capture"):
            wp.wait_stream(other)
        with pytest.raises(RuntimeError, match="the innermost capture and cannot wait for an event of work outside of"):
            wp.wait_event(early)
        add_on(wp.Stream(), sync_exit=True)

    with wp.ScopedCapture() as capture:
        add_on(other, sync_exit=True)
        wp.capture_if(c, body)
        wp.wait_stream(other)
    wp.capture_launch(capture.graph)
    assert x.list() == [20.0, 20.0]
    c.zero_()
    wp.capture_launch(capture.graph)
    assert x.list() == [30.0, 30.0]


@pytest.mark.parametrize("lasting", [True, False])
def test_a_condition_ends_with_all_of_its_streams(gpu, lasting):
    """Outside of a condition it is an error not to wait for a stream; within one some drivers would end the process."""
    x, streams = wp.zeros(2, dtype=float), []

    def body():
        other = wp.Stream()
        with wp.ScopedStream(other):
            wp.launch(add, dim=2, inputs=[x, 10.0])
        streams.extend([other] if lasting else [])

    with wp.ScopedCapture() as capture:
        wp.capture_if(wp.ones(1, dtype=int), body)
        wp.launch(add, dim=2, inputs=[x, 1.0])
    wp.capture_launch(capture.graph)
    assert x.list() == [11.0, 11.0]


def test_streams_that_are_gone_were_not_joined(gpu):
    x = wp.zeros(2, dtype=float)
    with pytest.raises(RuntimeError, match="but not the other way round"), wp.ScopedCapture():
        with wp.ScopedStream(wp.Stream()):
            wp.launch(add, dim=2, inputs=[x, 1.0])
        gc.collect()


def test_the_null_stream_is_refused_and_the_capture_goes_on(gpu):
    x = wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        with pytest.raises(RuntimeError, match="CAPTURE_IMPLICIT"):
            gpu.null_stream.record_event()
        with pytest.raises(RuntimeError, match="CAPTURE_IMPLICIT"):
            gpu.null_stream.wait_stream(gpu.stream)
        wp.launch(add, dim=2, inputs=[x, 1.0])
    wp.capture_launch(capture.graph)
    assert x.list() == [1.0, 1.0]


def test_begin_and_end_do_not_match(gpu):
    with pytest.raises(RuntimeError, match="is not capturing a graph"):
        wp.capture_end()
    wp.capture_begin()
    try:
        with pytest.raises(RuntimeError, match="is capturing a graph already"):
            wp.capture_begin()
        with pytest.raises(RuntimeError, match=r"capture began on .* at .*test_graphs.py"):
            wp.capture_end(stream=wp.Stream())
        with pytest.raises(RuntimeError, match=r"capture began on cuda:\d, not on cpu"):
            wp.capture_end("cpu")
    finally:
        wp.capture_end()
    with pytest.raises(RuntimeError, match="the null stream cannot be captured"):
        wp.capture_begin(stream=gpu.null_stream)


def test_other_threads(gpu):
    x, said = wp.zeros(1, dtype=float), []

    def work():
        try:
            wp.launch(add, dim=1, inputs=[x, 1.0], device=gpu)
        except RuntimeError as why:
            said.append(str(why))

    with wp.ScopedCapture() as capture:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(capture.graph.work) == 0
    assert "another thread captures" in said[0]


def test_a_capture_with_an_unfinished_part_fails(gpu):
    x = wp.zeros(2, dtype=float)
    wp.capture_begin()
    with pytest.raises(KeyError):
        wp.capture_while(wp.ones(1, dtype=int), lambda: {}["missing"])
    with pytest.raises(RuntimeError, match="failed: an exception left a part of it unfinished"):
        wp.capture_end()
    x.fill_(1.0)
    assert x.list() == [1.0, 1.0]


def test_a_capture_that_the_driver_gives_up(gpu, simulated):
    x = wp.zeros(2, dtype=float)
    wp.capture_begin()
    wp.launch(add, dim=2, inputs=[x, 1.0])
    simulated.cuCtxSynchronize()  # without a context: harmless
    assert wp._native.cuda.capturing(gpu.context, gpu.stream.cuda_stream) == 1
    with pytest.raises(RuntimeError, match="CAPTURE_UNSUPPORTED"):
        wp._native.cuda.synchronize(gpu.context)
    with pytest.raises(RuntimeError, match=r"the capture that began at .*test_graphs.py:\d+ has failed"):
        wp.launch(add, dim=2, inputs=[x, 1.0])
    with pytest.raises(
        RuntimeError, match="failed: an operation that the driver forbids during a capture was executed"
    ):
        wp.capture_end()
    wp.launch(add, dim=2, inputs=[x, 1.0])
    assert x.list() == [1.0, 1.0]


@pytest.mark.parametrize("call", [b"cuGraphInstantiateWithFlags", b"cuStreamEndCapture", b"cuStreamBeginCapture_v2"])
def test_the_driver_fails(gpu, simulated, call):
    x = wp.zeros(2, dtype=float)
    gc.collect()
    before = simulated.simulator_graphs()
    simulated.simulator_fail(call, 2, 0)
    with pytest.raises(RuntimeError, match="CUDA_ERROR_OUT_OF_MEMORY"), wp.ScopedCapture():
        wp.launch(add, dim=2, inputs=[x, 1.0])
    if call == b"cuStreamEndCapture":  # the simulator's stream captures still
        wp._native.cuda.end_capture(gpu.context, gpu.stream.cuda_stream, drop=True)
    assert simulated.simulator_graphs() == before


def test_kernels_cannot_be_loaded_while_an_old_driver_captures(gpu, simulated):
    @wp.kernel
    def fresh(x: wp.array(dtype=float)):
        x[0] = 3.0

    x = wp.zeros(1, dtype=float)
    with pytest.raises(RuntimeError, match="launch them once before"), wp.ScopedCapture():
        simulated.simulator_fail(b"cuModuleLoadDataEx", 900, 0)
        wp.launch(fresh, dim=1, inputs=[x])
    wp.launch(fresh, dim=1, inputs=[x])
    assert x.list() == [3.0]


def test_graphs_and_devices(gpu):
    x = wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=1, inputs=[x, 1.0])
    with pytest.raises(RuntimeError, match="no part of a graph of the CPU"), wp.ScopedCapture("cpu"):
        wp.launch(add, dim=1, inputs=[x, 1.0])
    with pytest.raises(RuntimeError, match="no part of a graph of the CPU"), wp.ScopedCapture("cpu"):
        wp.capture_launch(capture.graph)
    command = wp.launch(add, dim=1, inputs=[x, 1.0], record_cmd=True)
    with pytest.raises(RuntimeError, match="no part of a graph of the CPU"), wp.ScopedCapture("cpu"):
        command.launch()
    assert x.list() == [0.0]


@pytest.mark.parametrize("is_shared", [False, True])
def test_garbage_waits_for_the_end_of_captures_of_others(gpu, is_shared):
    x, garbage = wp.zeros(1, dtype=float), wp.zeros(1000, dtype=float)
    native, handles = wp._native.cuda, (gpu.context, gpu.stream.cuda_stream)
    native.begin_capture(*handles, wp.CaptureMode.RELAXED)
    if is_shared:
        with wp.ScopedCapture(external=True):
            wp.launch(add, dim=1, inputs=[x, 1.0])
            del garbage
    else:
        del garbage
    assert _later.get(gpu)
    native.end_capture(*handles, drop=True)  # raises if work outside of the capture has ended it
    del x
    assert not _later.get(gpu)


def test_captures_of_others(gpu):
    x = wp.zeros(1, dtype=float)
    native, handles = wp._native.cuda, (gpu.context, gpu.stream.cuda_stream)
    with pytest.raises(RuntimeError, match="is not being captured"):
        wp.capture_begin(external=True)
    native.begin_capture(*handles, wp.CaptureMode.RELAXED)
    with pytest.raises(RuntimeError, match="is already being captured, but not by"):
        wp.capture_begin()
    with wp.ScopedCapture(external=True) as capture:
        wp.launch(add, dim=1, inputs=[x, 1.0])
    with pytest.raises(RuntimeError, match="its owner is the library that began the capture"):
        wp.capture_launch(capture.graph)
    theirs = native.end_capture(*handles, drop=False)
    assert len(theirs) == 1
