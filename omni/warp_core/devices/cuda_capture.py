"""Capturing the work of a GPU's streams: a graph of the driver, and what Python has to see to. Start with `begin`.

The driver captures what is given to streams: launches, copies, fills. Beside it,

- memory that is allocated meanwhile is real memory, allocated at once on a stream apart. It belongs to the arrays and
  the graph, so it lives until both are gone. (Memory nodes of the driver could not be in conditions or inner graphs,
  and what they allocate ends with the next launch.)
- memory is not given back meanwhile, as that goes through the null stream, which follows the streams that capture.
- the graph keeps the launches, whose arguments keep their arrays, and what is copied.
- what would invalidate the capture is refused before the driver sees it; calls that it calls unsafe, such as loading a
  module, are made in its relaxed mode.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from .. import _native
from ..dispatch import call_site, capture
from ..dispatch.captured_graph import Graph
from .device import device_of
from .stream import Stream

driver = _native.cuda
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2  # modes of captures

# What was done wrong when the driver gives no graph, by its error.
_FAULTS = {
    "INVALIDATED": "an operation that the driver forbids during a capture was executed",
    "UNJOINED": ("a stream was made to wait for the captured one, but not the other way round: end with wait_stream"),
    "UNMATCHED": "the capture was not begun on this stream",
    "WRONG_THREAD": "another thread began the capture",
    "ISOLATION": "captured work would wait for work that is not captured",
}

# Sets a condition of a graph to whether an int32 is 0 (wanted = 0) or not (wanted = 1). The driver itself has the
# function that is called, as it has vprintf.
_SET_CONDITION = b"""\
.version 6.3
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry wc_set_condition(.param .u64 handle, .param .u64 number, .param .u32 wanted)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  .reg .pred %p<3>;
  ld.param.u64 %rd1, [handle];
  ld.param.u64 %rd2, [number];
  ld.param.u32 %r1, [wanted];
  cvta.to.global.u64 %rd2, %rd2;
  ld.global.b32 %r2, [%rd2];
  setp.ne.s32 %p1, %r2, 0;
  selp.u32 %r2, 1, 0, %p1;
  setp.eq.u32 %p2, %r1, %r2;
  selp.u32 %r3, 1, 0, %p2;
  {
    .param .b64 a;
    .param .b32 b;
    st.param.b64 [a], %rd1;
    st.param.b32 [b], %r3;
    call.uni cudaGraphSetConditional, (a, b);
  }
  ret;
}
"""


@contextmanager
def relaxed() -> Iterator[None]:
    """Let this thread call what the driver calls unsafe while it, or another one, captures; that is not captured."""
    if not capture.active():
        yield
        return
    before = driver.exchange_capture_mode(RELAXED)
    try:
        yield
    finally:
        driver.exchange_capture_mode(before)


def begin(device: Any, stream: Stream | None, mode: int, external: bool) -> None:
    """Capture what this thread gives to a stream, and to those that it forks, from now on.

    Raises:
        RuntimeError: the stream is the null stream, is captured already, or with `external` is not.
    """
    stream = device.stream if stream is None else stream
    if stream.device is not device:
        raise RuntimeError(f"stream: it belongs to {stream.device}, but the capture is on {device}")
    if stream.cuda_stream == 0:
        raise RuntimeError("the null stream cannot be captured: use wp.Stream() and wp.ScopedStream")
    if stream.is_capturing is not external:
        raise RuntimeError(
            f"external: {stream} is not being captured: leave external out, or begin its capture first"
            if external
            else f"{stream} is already being captured, but not by wp.capture_begin(): pass external=True"
        )
    capture.begin_exclusive(device)
    try:
        if not external:
            driver.begin_capture(device.context, stream.cuda_stream, mode)
    except BaseException:
        capture.end_exclusive(device)
        raise
    capture.set_gpu(GpuCapture(device, stream, mode, external))


class GpuCapture:
    """A capture that a thread has begun."""

    def __init__(self, device: Any, stream: Stream, mode: int, external: bool):
        self.device, self.stream, self.mode, self.external = device, stream, mode, external
        self.place = call_site.here()
        self.checks: list[Callable[[], None]] = []  # what to do after each launch of the graph
        self.pinned: list[Any] = []  # memory of the host that the graph copies from or to
        self.scope = object()  # stands for the graph, or for the body of the condition that is captured
        self._keep: list[Any] = []
        self._followed: list[tuple[int, Any]] = []
        self.depth = 0  # of conditions
        self._numbers: list[int] = []  # the driver's, of this capture and of the bodies of conditions within
        self._streams: set[Stream] = set()  # those that take part, which must not go before the end
        self._enter(stream)
        self._conditional = False
        self._broken = ""

    def check(self, device: Any) -> None:
        """Raise RuntimeError unless what this thread gives to a GPU now will be captured."""
        stream = device.stream
        status, number = driver.capture_of(device.context, stream.cuda_stream)
        if status == 0:
            raise RuntimeError(
                f"{stream} is not part of the capture that began at {self.place}, so this work would run "
                f"immediately: let it wait for a captured stream first (wait_stream), or use {self.stream} "
                "(wp.ScopedStream)"
            )
        if status == 2:
            raise RuntimeError(f"the capture that began at {self.place} has failed: {_FAULTS['INVALIDATED']}; end it")
        if number != self._numbers[-1]:
            raise RuntimeError(
                f"{stream} is captured outside of this condition, so this work would not depend on the "
                "condition: use the current stream of the condition, or a stream that waits for it"
            )
        self._streams.add(stream)

    def check_wait(self, stream: Stream, own: int, other: int) -> None:
        """Raise RuntimeError unless a stream in one capture can wait for an event in another; 0 stands for no capture.

        The driver would give up both captures, and that of a condition is the end of the process with some drivers.
        """
        if own != other and not (own == 0 and other == self._numbers[-1]):
            names = {0: "work outside of captures", self._numbers[-1]: "the innermost capture"}
            of, what = (names.get(n, "another capture, or another part of this one") for n in (own, other))
            raise RuntimeError(
                f"{stream} belongs to {of} and cannot wait for an event of {what}: a capture, and each "
                "condition in it, has its own streams and events. Let a stream that is not captured wait "
                "for one that is"
            )
        self._streams.add(stream)

    def _enter(self, stream: Stream) -> None:
        """Record that a capture of the following work begins on a stream."""
        self._streams.add(stream)
        self._numbers.append(driver.capture_of(self.device.context, stream.cuda_stream)[1])

    def keep(self, *what: Any) -> None:
        """Keep something for as long as the graph."""
        self._keep.extend(what)

    def launch(self, launch: Any, follow: bool) -> None:
        """Capture a recorded launch. With `follow` the graph makes it with the arguments that it has then."""
        device = device_of(launch.plan.device_id)
        self.check(device)
        _native.run_launch(launch)
        self.keep(launch)
        if follow:
            fixed = self.depth or not launch.threads
            node = 0 if fixed else driver.last_node(device.context, device.stream.cuda_stream)
            self._followed.append((node, launch))

    def embed(self, graph: Any) -> None:
        """Capture a graph as a part of this one."""
        if graph.device is not self.device:
            raise RuntimeError(f"a graph of {graph.device} cannot be part of a graph of {self.device}")
        if graph.conditional:
            raise RuntimeError(
                "the driver does not allow a graph with conditions inside another graph: capture its work here instead"
            )
        self.check(self.device)
        self.keep(graph)
        if len(graph.work):
            driver.add_graph(self.device.context, self.device.stream.cuda_stream, graph.work)
        self.checks.extend(graph.checks)
        self.pinned.extend(graph.pinned)
        self._followed.extend((0, launch) for launch in graph.work.launches)

    # -- conditions ---------------------------------------------------------------------------------------------------

    def choose(self, condition: Any, on_true: Callable[[], None] | None, on_false: Callable[[], None] | None) -> None:
        """Capture two pieces of work of which the condition, when the graph runs, chooses one."""
        self._check_condition(condition)
        parts = [(wanted, part) for wanted, part in ((1, on_true), (0, on_false)) if part is not None]
        conditions = [self._condition(condition, wanted) for wanted, _ in parts]  # before either changes the number
        for handle, (_, part) in zip(conditions, parts):
            self._body(handle, False, part)

    def repeat(self, condition: Any, body: Callable[[], None]) -> None:
        """Capture work that is repeated while the condition holds."""
        self._check_condition(condition)
        handle = self._condition(condition, 1)

        def round_() -> None:
            body()
            self._set(handle, condition, 1)

        self._body(handle, True, round_)

    def _check_condition(self, condition: Any) -> None:
        if condition.device is not self.device:
            raise RuntimeError(f"condition: the array is on {condition.device}, but the capture is on {self.device}")
        if not driver.has_conditions():
            raise RuntimeError("conditions in graphs need a CUDA driver of version 12.4 or later")
        self.check(self.device)

    def _condition(self, number: Any, wanted: int) -> int:
        handle = driver.create_condition(self.device.context, self.device.stream.cuda_stream)
        self._set(handle, number, wanted)
        return handle

    def _set(self, handle: int, number: Any, wanted: int) -> None:
        device = self.device
        function = condition_setter(device)
        driver.set_condition(
            device.context, function, device.stream.cuda_stream, handle, number.flatten()._address, wanted
        )
        self.keep(number)

    def _body(self, handle: int, repeat: bool, work: Callable[[], None]) -> None:
        device, outer = self.device, self.device.stream
        body = driver.add_conditional(device.context, outer.cuda_stream, handle, repeat)
        stream = apart(device)
        driver.begin_body(device.context, stream.cuda_stream, body, self.mode)
        self._enter(stream)
        self._conditional = True
        self.depth += 1
        scope, self.scope = self.scope, object()
        try:
            with on(stream):
                work()
        except BaseException:
            self._broken = "an exception left a part of it unfinished"
            raise
        finally:
            self.scope = scope
            self.depth -= 1
            try:
                self._join(stream)
                driver.end_body(device.context, stream.cuda_stream)
            except driver.Error as why:
                self._broken = self._broken or _fault(why)
            self._numbers.pop()

    def _join(self, stream: Stream) -> None:
        """Let a condition's stream wait for all that takes part in the condition: some drivers end the process if a
        stream of it was not waited for.
        """
        number = self._numbers[-1]
        for other in self._streams - {stream}:
            if driver.capture_of(other.device.context, other.cuda_stream)[1] == number:
                stream.wait_stream(other)

    # -- the end ------------------------------------------------------------------------------------------------------

    def end(self, drop: bool = False) -> Any:
        """End the capture. Returns the graph, or None with `drop`.

        Raises:
            RuntimeError: the capture failed, because of an operation during it. The capture has ended nevertheless.
        """
        work, broken = None, self._broken
        try:
            if not self.external:
                work = driver.end_capture(self.device.context, self.stream.cuda_stream, drop or bool(broken))
        except driver.Error as why:
            broken = broken or _fault(why)
        finally:
            capture.set_gpu(None)
            capture.end_exclusive(self.device)
        if broken and not drop:
            raise RuntimeError(f"the capture that began at {self.place} failed: {broken}")
        return None if drop else self._graph(work)

    def _graph(self, work: Any) -> Any:
        graph: Any = Graph()
        graph.device, graph.work, graph.conditional, graph.checks = self.device, work, self._conditional, self.checks
        graph.pinned = list({id(p): p for p in self.pinned}.values())
        if work is None:  # another library ends it, and has the graph
            return graph
        for node, launch in self._followed:
            work.follow(node, launch)
        graph.add_gpu_graph(work, f"{len(work)} nodes", self._keep)
        return graph


# -- graphs that were captured ----------------------------------------------------------------------------------------


def launch(graph: Any, stream: Stream | None) -> None:
    """Give a graph to a stream, by default the current one of its device.

    Raises:
        RuntimeError: the stream is of another device, or the graph belongs to another library.
        KernelError: a thread failed in debug mode.
    """
    stream = graph.device.stream if stream is None else stream
    if stream.device is not graph.device:
        raise RuntimeError(f"stream: it belongs to {stream.device}, but the graph to {graph.device}")
    _require_own(graph)
    _native.before_any_write()  # the driver does not tell what its graph writes
    graph.run(stream.cuda_stream)
    if graph.pinned:
        event = stream.record_event()
        for used in graph.pinned:
            used.noted(stream, event)
    for check in graph.checks:
        with on(stream):
            check()


def draw(graph: Any, path: str, verbose: bool) -> None:
    """Let the driver write a graph in the DOT language."""
    _require_own(graph)
    graph.work.print(str(path), verbose)


def _require_own(graph: Any) -> None:
    if graph.work is None:
        raise RuntimeError(
            "this graph was captured with external=True, so its owner is the library that began the "
            "capture: launch it there"
        )


@contextmanager
def on(stream: Stream) -> Iterator[None]:
    """Let work go to a stream."""
    before = stream.device.stream
    stream.device.stream = stream
    try:
        yield
    finally:
        stream.device.stream = before


def _fault(why: Exception) -> str:
    found = next((text for name, text in _FAULTS.items() if f"CAPTURE_{name}" in str(why)), "")
    return f"{found} ({why})" if found else str(why)


def apart(device: Any) -> Stream:
    """A new stream that does not keep in order with the null stream: for work that is waited for, or captured."""
    with relaxed():
        stream = Stream._over(device, driver.create_stream(device.context, 0, in_order=False))
    weakref.finalize(stream, driver.destroy_stream, device.context, stream.cuda_stream).atexit = False
    return stream


@cache
def side_stream(device: Any) -> Stream:
    """The stream for what is done at once while others capture."""
    return apart(device)


def condition_image() -> bytes:
    """The code that sets conditions."""
    return _SET_CONDITION


@cache
def condition_setter(device: Any) -> int:
    """The kernel that sets conditions, loaded into a GPU."""
    with relaxed():
        module = driver.load_module(device.context, condition_image() + b"\0")
        return driver.function(device.context, module, "wc_set_condition")


def upload(to: int, device: Any, host: int, nbytes: int) -> Any:
    """Copy memory of the host to a GPU at once, whatever is captured."""
    with relaxed():
        side = side_stream(device).cuda_stream
        driver.copy(device.context, to, host, nbytes, side)
        driver.synchronize_stream(device.context, side)
