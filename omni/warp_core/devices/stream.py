"""Streams and events of GPUs, and waiting for work to finish.

Work on one stream is done in order, work on several at once. On the CPU launches have finished when `launch` returns:
it has no streams, and there is nothing to wait for.
"""

from __future__ import annotations

import weakref
from typing import Any

from .. import _native
from ..dispatch import capture
from .device import DeviceLike, get_device, get_devices

__all__ = [
    "Event",
    "ScopedStream",
    "Stream",
    "get_event_elapsed_time",
    "get_stream",
    "record_event",
    "set_stream",
    "synchronize",
    "synchronize_device",
    "synchronize_event",
    "synchronize_stream",
    "wait_event",
    "wait_stream",
]

driver = _native.cuda
PER_THREAD = 2  # the handle of a thread's own default stream; 1 is that of the null stream


def _gpu(device: DeviceLike, what: str) -> Any:
    found = get_device(device)
    if not found.is_cuda:
        raise RuntimeError(
            f"{what} exist only on CUDA devices, got '{found}'. CPU work has already finished when a call "
            "returns, so it needs none"
        )
    return found


class Stream:
    """A sequence of work on a GPU.

    Args:
        device: the GPU; by default the current device.
        priority: 0, or -1 for work that goes first where streams compete.
        cuda_stream: the handle of a stream of another library, to use instead of making one. It must outlive this, and
            memory that work given by this uses goes back when that has ended.

    Raises:
        RuntimeError: the device is no GPU.
    """

    def __init__(self, device: DeviceLike = None, priority: int = 0, cuda_stream: int | None = None):
        self.device = _gpu(device, "streams")
        if cuda_stream is not None:
            self.cuda_stream = _handle("cuda_stream", cuda_stream)
            if not follows_null_stream("cuda_stream", self.device, self.cuda_stream):
                self.device.streams_apart.add(self)
                weakref.finalize(self, _leave, self.device, self.cuda_stream).atexit = False
            return
        if priority not in (0, -1):
            raise ValueError(f"priority: expected 0 or -1, got {priority!r}")
        context = self.device.context
        self.cuda_stream = driver.create_stream(context, priority)
        weakref.finalize(self, driver.destroy_stream, context, self.cuda_stream).atexit = False

    @classmethod
    def _over(cls, device: Any, handle: int) -> Stream:
        """Wrap an existing CUDA stream handle. The caller synchronizes it."""
        made = cls.__new__(cls)
        made.device, made.cuda_stream = device, handle
        return made

    @property
    def priority(self) -> int:
        """The priority that the stream has on the device."""
        return driver.stream_priority(self.device.context, self.cuda_stream)

    @property
    def is_complete(self) -> bool:
        """True if all work of the stream has finished."""
        capture.refuse("wp.Stream.is_complete")
        if self.is_capturing:
            raise RuntimeError(
                f"{self} is being captured, so there is nothing to wait for: its work runs when the graph is launched"
            )
        return driver.stream_done(self.device.context, self.cuda_stream)

    @property
    def is_capturing(self) -> bool:
        """True if a graph captures the work of the stream."""
        return driver.capturing(self.device.context, self.cuda_stream) != 0

    @property
    def _capture(self) -> int:
        """The number of the capture that work goes into, or 0."""
        return driver.capture_of(self.device.context, self.cuda_stream)[1]

    def record_event(self, event: Event | None = None) -> Event:
        """Let an event happen when the work given so far has been done; makes one if none is given."""
        event = Event(self.device) if event is None else event
        _require_event("event", event)
        if event.device is not self.device:
            raise RuntimeError(f"an event of {event.device} cannot be recorded on a stream of {self.device}")
        captured = self._capture if capture.active() else 0
        driver.record_event(self.device.context, event.cuda_event, self.cuda_stream)
        event.captured = captured
        return event

    def wait_event(self, event: Event) -> None:
        """Let what follows on this stream wait for an event, of any device."""
        _require_event("event", event)
        captured = capture.gpu()
        if captured is not None and event.captured is not None:
            captured.check_wait(self, self._capture, event.captured)
        driver.stream_wait(self.device.context, self.cuda_stream, event.cuda_event)

    def wait_stream(self, other_stream: Stream, event: Event | None = None) -> None:
        """Let what follows on this stream wait for what was given to another so far."""
        require_stream("other_stream", other_stream)
        self.wait_event(other_stream.record_event(event))

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which libraries share streams: version and handle."""
        return 0, self.cuda_stream

    def __repr__(self) -> str:
        return f"Stream({self.device}, {self.cuda_stream:#x})"


def follows_null_stream(name: str, device: Any, handle: int) -> bool:
    """True if a stream of another library keeps in order with the null stream.

    Raises:
        ValueError: there is no such stream. `name` is the argument that has its handle.
    """
    if handle <= PER_THREAD:
        return True
    found = driver.stream_in_order(device.context, handle)
    if found is None:
        raise ValueError(
            f"{name}: {handle:#x} is no stream of {device}: it has been destroyed, or never was one. Pass the handle "
            "of a stream that its library keeps alive"
        )
    return bool(found)


def _require(name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name}: expected a wp.{kind.__name__}, got {type(value).__name__}")


def _leave(device: Any, handle: int) -> None:
    """Let the null stream, in whose order memory goes back, follow a stream of another library one last time."""
    capture.run_when_idle(device, lambda: driver.follow(device.context, 0, handle))


def require_stream(name: str, value: Any) -> None:
    """Raise TypeError if an argument is no stream."""
    _require(name, value, Stream)


def _require_event(name: str, value: Any) -> None:
    _require(name, value, Event)


def _handle(name: str, value: Any) -> int:
    """The handle of a stream or event of another library."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: expected the handle as an integer, got {type(value).__name__}")
    return value.__index__()


class Event:
    """A point in the work of a stream.

    Args:
        device: the GPU; by default the current device.
        cuda_event: the handle of an event of another library, to use instead of making one.
        enable_timing: whether `get_event_elapsed_time` can use it; without, events cost less.

    Raises:
        RuntimeError: the device is no GPU.
    """

    def __init__(self, device: DeviceLike = None, cuda_event: int | None = None, enable_timing: bool = False):
        self.device = _gpu(device, "events")
        self.enable_timing = enable_timing or cuda_event is not None  # of others' events the driver knows
        self.captured: int | None = None  # in which capture it was recorded last, 0 for none; None: unknown
        if cuda_event is not None:
            self.cuda_event = _handle("cuda_event", cuda_event)
            return
        context = self.device.context
        self.cuda_event = driver.create_event(context, enable_timing)
        weakref.finalize(self, driver.destroy_event, context, self.cuda_event).atexit = False

    @property
    def is_complete(self) -> bool:
        """True if the work before the event has finished."""
        capture.refuse("wp.Event.is_complete")
        return driver.event_done(self.device.context, self.cuda_event)


# -- the current stream -----------------------------------------------------------------------------------------------


def get_stream(device: DeviceLike = None) -> Stream:
    """The stream that launches on a GPU go to.

    Args:
        device: the GPU; by default the current device.

    Raises:
        RuntimeError: the device is no GPU.

    >>> for gpu in wp.get_cuda_devices():
    ...     assert wp.get_stream(gpu) is gpu.stream
    """
    return _gpu(device, "streams").stream


def set_stream(stream: Stream, device: DeviceLike = None, sync: bool = False) -> None:
    """Let launches on a GPU go to `stream`.

    Args:
        stream: the stream.
        device: its device; that of the stream if left out.
        sync: whether it first waits for the stream that was set before.

    >>> for gpu in wp.get_cuda_devices():
    ...     wp.set_stream(wp.Stream(gpu), sync=True)
    """
    require_stream("stream", stream)
    _gpu(stream.device if device is None else device, "streams").set_stream(stream, sync)


class ScopedStream:
    """A `with` block whose launches go to a stream.

    Args:
        stream: the stream; None changes nothing.
        sync_enter: whether the stream first waits for the one that was set before.
        sync_exit: whether that one waits for this stream when the block ends.
    """

    def __init__(self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False):
        if stream is not None:
            require_stream("stream", stream)
        self.stream, self.sync_enter, self.sync_exit = stream, sync_enter, sync_exit

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            self._saved = self.stream.device.stream
            self.stream.device.set_stream(self.stream, self.sync_enter)
        return self.stream

    def __exit__(self, *exc: object) -> None:
        if self.stream is not None:
            self.stream.device.set_stream(self._saved, self.sync_exit)


def record_event(event: Event | None = None) -> Event:
    """Record an event on the current stream of the event's device, or of the current device.

    Args:
        event: the event; one is made if none is given.

    Returns:
        The event.

    >>> for gpu in wp.get_cuda_devices():
    ...     with wp.ScopedDevice(gpu):
    ...         wp.synchronize_event(wp.record_event())
    """
    if event is None:
        return get_stream().record_event()
    _require_event("event", event)
    return get_stream(event.device).record_event(event)


def wait_event(event: Event) -> None:
    """Let the current stream of the current device wait for an event.

    Args:
        event: the event, of any device.

    >>> for gpu in wp.get_cuda_devices():
    ...     with wp.ScopedDevice(gpu):
    ...         wp.wait_event(wp.Stream().record_event())
    """
    _require_event("event", event)
    _waiting("wp.wait_event").wait_event(event)


def wait_stream(other_stream: Stream, event: Event | None = None) -> None:
    """Let the current stream of the current device wait for what another was given so far.

    Args:
        other_stream: the stream to wait for.
        event: an event to use for that; one is made if none is given.

    >>> for gpu in wp.get_cuda_devices():
    ...     with wp.ScopedDevice(gpu):
    ...         wp.wait_stream(wp.Stream())
    """
    require_stream("other_stream", other_stream)
    _waiting("wp.wait_stream").wait_stream(other_stream, event)


def _waiting(call: str) -> Stream:
    """The current stream of the current device, which is to wait for something."""
    device = get_device()
    if not device.is_cuda:
        raise RuntimeError(
            f"{call} makes the current stream of the current device wait, but {device} has no streams. Choose a GPU "
            "with `with wp.ScopedDevice(...)`, or let the program wait with wp.synchronize_stream or "
            "wp.synchronize_event"
        )
    return device.stream


def get_event_elapsed_time(start_event: Event, end_event: Event, synchronize: bool = True) -> float:
    """Milliseconds between two events, which were made with `enable_timing=True`.

    Args:
        start_event: the earlier event.
        end_event: the later event, of the same device.
        synchronize: whether to wait for the later one; without, both must have happened.

    Raises:
        RuntimeError: an event has no time, or has not happened.

    >>> for gpu in wp.get_cuda_devices():
    ...     start, end = (wp.Event(gpu, enable_timing=True) for _ in range(2))
    ...     gpu.stream.record_event(start)
    ...     gpu.stream.record_event(end)
    ...     assert wp.get_event_elapsed_time(start, end) >= 0.0
    """
    for name, event in (("start_event", start_event), ("end_event", end_event)):
        _require_event(name, event)
        if not event.enable_timing:
            raise RuntimeError(f"{name}: the event does not record its time; make it with enable_timing=True")
    if synchronize:
        synchronize_event(end_event)
    return driver.elapsed(start_event.device.context, start_event.cuda_event, end_event.cuda_event)


# -- waiting ----------------------------------------------------------------------------------------------------------


def synchronize() -> None:
    """Wait until all devices have finished.

    Raises:
        RuntimeError: a graph is captured, whose work waits for its launch.

    >>> wp.synchronize()
    """
    capture.refuse("wp.synchronize()")
    for device in get_devices():
        if device.is_cuda and device.has_context:
            driver.synchronize(device.context)


def synchronize_device(device: DeviceLike = None) -> None:
    """Wait until a device has finished.

    Args:
        device: A device or its name; the default device for None.

    Raises:
        RuntimeError: The device is not available, or a graph is captured.

    >>> wp.synchronize_device("cpu")
    """
    found = get_device(device)
    capture.refuse("wp.synchronize_device()")
    if found.is_cuda:
        driver.synchronize(found.context)


def synchronize_stream(stream_or_device: Stream | DeviceLike = None) -> None:
    """Wait until a stream has finished.

    Args:
        stream_or_device: A stream, or a device for its current stream. The CPU has finished when a launch returns.

    >>> wp.synchronize_stream("cpu")
    """
    capture.refuse("wp.synchronize_stream()")
    found = stream_or_device if isinstance(stream_or_device, Stream) else get_device(stream_or_device)
    stream = found if isinstance(found, Stream) else found.stream if found.is_cuda else None
    if stream is not None:
        driver.synchronize_stream(stream.device.context, stream.cuda_stream)


def synchronize_event(event: Event | None = None) -> None:
    """Wait for an event.

    Args:
        event: The event. Without one there is nothing to wait for.

    >>> wp.synchronize_event()
    """
    capture.refuse("wp.synchronize_event()")
    if event is not None:
        _require_event("event", event)
        driver.synchronize_event(event.device.context, event.cuda_event)
