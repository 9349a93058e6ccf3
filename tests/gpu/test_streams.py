"""Streams and events: order, waiting, and what is refused."""

import gc

import pytest

import omni.warp_core as wp


def test_each_gpu_has_a_current_stream(gpu):
    first = wp.get_stream()
    assert first is gpu.stream is wp.get_stream(gpu)
    assert first.device is gpu
    other = wp.Stream()
    assert other.cuda_stream != first.cuda_stream
    with wp.ScopedStream(other) as inside:
        assert inside is other is wp.get_stream()
    assert wp.get_stream() is first
    wp.set_stream(other, sync=True)
    assert gpu.stream is other
    wp.set_stream(first)
    with wp.ScopedStream(None):
        assert wp.get_stream() is first


def test_handles_of_others(gpu):
    mine = wp.Stream(gpu)
    theirs = wp.Stream(gpu, cuda_stream=mine.cuda_stream)
    assert theirs.__cuda_stream__() == (0, mine.cuda_stream)
    del theirs
    gc.collect()
    assert mine.is_complete
    assert gpu.null_stream.cuda_stream == 0


@pytest.mark.parametrize("lasting", [True, False])
def test_memory_goes_back_behind_the_streams_of_others(gpu, lasting):
    """Streams that do not keep in order with the null stream, as those of other libraries, are waited for."""
    native = wp._native.cuda
    handle = native.create_stream(gpu.context, 0, in_order=False)
    assert native.stream_in_order(gpu.context, gpu.stream.cuda_stream)
    assert not native.stream_in_order(gpu.context, handle)
    back = wp.zeros(1000, dtype=float)
    wp.synchronize()
    theirs = wp.Stream(gpu, cuda_stream=handle)
    with wp.ScopedStream(theirs):
        a = wp.full(1000, 2.0)
        wp.copy(back, a)
    if not lasting:
        del theirs
    del a
    gc.collect()
    for _ in range(3):
        wp.full(1000, 3.0)
        gpu.null_stream.is_complete  # what is on the null stream is done, if it can be
    native.synchronize_stream(gpu.context, handle)
    assert set(back.list()) == {2.0}
    theirs = None
    gc.collect()
    wp.synchronize()
    native.destroy_stream(gpu.context, handle)


def test_priorities(gpu):
    assert wp.Stream(gpu).priority == 0
    assert wp.Stream(gpu, priority=-1).priority < 0
    with pytest.raises(ValueError, match="expected 0 or -1, got 5"):
        wp.Stream(gpu, priority=5)


def test_events_happen(gpu):
    event = wp.record_event()
    wp.synchronize_event(event)
    assert event.is_complete
    stream = wp.Stream(gpu)
    stream.wait_stream(wp.get_stream())
    stream.wait_event(event)
    wp.wait_stream(stream)
    wp.wait_event(event)
    assert stream.record_event(event) is event
    wp.synchronize_stream(stream)
    assert stream.is_complete
    wp.synchronize_stream(gpu)
    wp.synchronize_device(gpu)
    wp.synchronize()
    assert event.is_complete


def test_time_between_events(gpu):
    start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
    wp.record_event(start)
    wp.record_event(end)
    assert 0.0 <= wp.get_event_elapsed_time(start, end) < 1000.0
    with pytest.raises(
        RuntimeError, match="end_event: the event does not record its time; make it with enable_timing=True"
    ):
        wp.get_event_elapsed_time(start, wp.record_event())
    theirs = wp.Event(gpu, cuda_event=end.cuda_event)
    assert 0.0 <= wp.get_event_elapsed_time(start, theirs) < 1000.0


def test_what_is_no_stream_or_event_is_named(gpu):
    stream = wp.Stream(gpu)
    events = (wp.record_event, wp.wait_event, wp.synchronize_event, stream.record_event, stream.wait_event)
    for call in events:
        with pytest.raises(TypeError, match=r"event: expected a wp\.Event, got int"):
            call(5)
    for call in (wp.wait_stream, stream.wait_stream):
        with pytest.raises(TypeError, match=r"other_stream: expected a wp\.Stream, got int"):
            call(5)
    with pytest.raises(TypeError, match=r"start_event: expected a wp\.Event, got int"):
        wp.get_event_elapsed_time(5, 6)
    with pytest.raises(TypeError, match="cuda_stream: expected the handle as an integer, got str"):
        wp.Stream(gpu, cuda_stream="0x10")
    with wp.ScopedDevice("cpu"), pytest.raises(RuntimeError, match=r"Choose a GPU with .with wp\.ScopedDevice"):
        wp.wait_stream(stream)


def test_the_cpu_has_no_streams():
    for call in (wp.Stream, wp.Event, wp.get_stream):
        with pytest.raises(RuntimeError, match="exist only on CUDA devices, got 'cpu'"):
            call("cpu")


def test_devices_must_agree():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two GPUs")
    a, b = wp.Stream("cuda:0"), wp.Stream("cuda:1")
    with pytest.raises(RuntimeError, match="a stream of cuda:1 cannot be the stream of cuda:0"):
        wp.set_stream(b, "cuda:0")
    with pytest.raises(RuntimeError, match="an event of cuda:1 cannot be recorded on a stream of cuda:0"):
        a.record_event(wp.Event("cuda:1"))
    a.wait_stream(b)  # waiting is allowed across devices
    wp.synchronize_stream(a)
