"""Graphs: launches, copies and fills that are captured once and done again without Python. Start with `capture_begin`.

On the CPU a graph is a list in native code (native/python/launches/graph.cpp), on a GPU one of the driver
(cuda_capture.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

from .. import _native
from ..devices import cuda_capture
from ..devices.device import CPU, Device, DeviceLike, get_cuda_devices, get_device
from ..devices.stream import require_stream
from ..dispatch import capture, observers
from ..dispatch.captured_graph import Graph
from ..lang.types import I32

__all__ = [
    "CaptureMode",
    "Graph",
    "ScopedCapture",
    "capture_begin",
    "capture_debug_dot_print",
    "capture_end",
    "capture_if",
    "capture_launch",
    "capture_while",
    "is_conditional_graph_supported",
]


class CaptureMode(IntEnum):
    """Treatment, by a CUDA driver, of calls that are unsafe while a GPU's work is captured, such as allocations by
    other libraries.

    GLOBAL: such calls of any thread end the capture. THREAD_LOCAL: those of the thread that captures do. RELAXED: none
    do, and what they do is not captured.
    """

    GLOBAL = cuda_capture.GLOBAL
    THREAD_LOCAL = cuda_capture.THREAD_LOCAL
    RELAXED = cuda_capture.RELAXED


def capture_begin(
    device: DeviceLike = None,
    stream: Any = None,
    force_module_load: bool | None = None,
    external: bool = False,
    apic: bool = False,
    capture_mode: Any = None,
) -> None:
    """Capture what this thread launches, copies and fills from now on, instead of doing it.

    Arrays that are made meanwhile belong to the graph. What reads results raises, as there are none yet. Other threads
    go on as ever. On a GPU what is given to a stream is captured, and to those that are made to wait for it and are
    waited for in turn. What runs on the CPU meanwhile is done at once.

    Args:
        device: where the graph is to run; by default that of `stream`, or the current device.
        stream: the stream of a GPU whose work is captured; by default the current one.
        force_module_load: accepted; kernels are compiled and loaded when they are captured. On a GPU that takes a
            driver of version 12.3 or later, unless they have been launched before.
        external: whether another library captures the stream already, which also ends the capture and has the graph.
        apic: whether `capture_save` may write the graph to a file, which takes a graph of the CPU.
        capture_mode: what the driver is to do about unsafe calls; by default `CaptureMode.THREAD_LOCAL`.

    Raises:
        RuntimeError: this thread captures a graph already, or the driver does not capture the stream.

    >>> @wp.kernel
    ... def add(x: wp.array[float], by: float):
    ...     i = wp.tid()
    ...     x[i] += by
    >>> x = wp.zeros(2, dtype=float)
    >>> wp.capture_begin()
    >>> wp.launch(add, dim=2, inputs=[x, 1.0])
    >>> wp.launch(add, dim=2, inputs=[x, 2.0])
    >>> graph = wp.capture_end()
    >>> wp.capture_launch(graph)
    >>> wp.capture_launch(graph)
    >>> x.list()
    [6.0, 6.0]
    """
    where = _where(device, stream)
    if observers.tape() is not None:
        raise RuntimeError("a tape is recording, but captured work does not run yet: capture outside of the tape")
    if capture.current() is not None or capture.gpu() is not None:
        raise RuntimeError("this thread is capturing a graph already: end that capture with wp.capture_end()")
    if where.is_cuda:
        mode = CaptureMode.THREAD_LOCAL if capture_mode is None else CaptureMode(capture_mode)
        cuda_capture.begin(where, stream, mode, external)
    else:
        capture.begin().apic = bool(apic)


def _where(device: DeviceLike, stream: Any) -> Device:
    """The device of a capture."""
    if stream is not None:
        require_stream("stream", stream)
    return stream.device if device is None and stream is not None else get_device(device)


def capture_end(device: DeviceLike = None, stream: Any = None) -> Graph:
    """Stop capturing.

    Args:
        device: the device on which the capture began; by default the one that captures.
        stream: the same for the stream.

    Returns:
        The graph, for `capture_launch`.

    Raises:
        RuntimeError: no capture runs, or it runs on another device or stream, where it goes on. Or the driver returns
            no graph because of a call during the capture, which has then ended.

    >>> wp.capture_begin()
    >>> x = wp.zeros(2, dtype=float)
    >>> len(wp.capture_end())
    1
    """
    return _end(device, stream, drop=False)


def _end(device: DeviceLike, stream: Any, drop: bool) -> Any:
    captured = capture.gpu()
    where = CPU if captured is None else captured.device
    if captured is None and capture.current() is None:
        raise RuntimeError("this thread is not capturing a graph: begin a capture with wp.capture_begin()")
    if capture.in_conditional_body() and not drop:
        raise RuntimeError("the branch of a condition is being captured here: end the capture after the condition")
    if device is not None and get_device(device) is not where:
        raise RuntimeError(f"the capture began on {where}, not on {get_device(device)}: end it there")
    if captured is None:
        return _without_tape(capture.end(), drop)
    if stream is not None and stream.cuda_stream != captured.stream.cuda_stream:
        raise RuntimeError(f"the capture began on {captured.stream} at {captured.place}: end it there")
    return _without_tape(captured.end(drop), drop)


def _without_tape(graph: Any, drop: bool) -> Any:
    if observers.tape() is not None and not drop:
        raise RuntimeError("a tape that began in this capture is still recording: end the tape before the capture")
    return graph


def capture_launch(graph: Graph, stream: Any = None) -> None:
    """Do what was captured. While another graph is captured, `graph` becomes a part of it.

    Arguments that are numbers stay what they were; to change one between launches, capture a launch that was recorded
    with `record_cmd=True`, and set the argument there.

    Args:
        graph: what `capture_end` gave.
        stream: the stream of a GPU to give it to; by default the current one.

    Raises:
        TypeError: `graph` is not a graph.
        RuntimeError: a tape records, which would not see what the graph does; or the graph is of another device.
        KernelError: a thread failed in debug mode, or used memory that is not there.

    >>> @wp.kernel
    ... def add(x: wp.array[float], by: float):
    ...     i = wp.tid()
    ...     x[i] += by
    >>> x = wp.zeros(1, dtype=float)
    >>> command = wp.launch(add, dim=1, inputs=[x, 1.0], record_cmd=True)
    >>> with wp.ScopedCapture() as captured:
    ...     command.launch()
    >>> wp.capture_launch(captured.graph)
    >>> command.set_param_by_name("by", 10.0)
    >>> wp.capture_launch(captured.graph)
    >>> x.list()
    [11.0]
    """
    _require_graph("graph", graph)
    if stream is not None:
        require_stream("stream", stream)
    where = device_of_graph(graph)
    if observers.tape() is not None:
        raise RuntimeError("a tape cannot record the operations of a graph: launch the graph outside of the tape")
    if capture.active() and _embed(graph, where):
        return
    observers.refuse_in_jvp("a graph")
    if where.is_cpu:
        graph.run()
        return
    cuda_capture.launch(graph, stream)


def device_of_graph(graph: Graph) -> Device:
    """Return the device of a graph."""
    return getattr(graph, "device", CPU)


def _embed(graph: Graph, where: Device) -> bool:
    """Make a graph a part of the one that this thread captures. Returns whether it captures one."""
    if where.is_cuda:
        capture.check_gpu(where)
        if capture.gpu() is not None:
            _native.before_any_write()
            capture.gpu().embed(graph)
        return capture.gpu() is not None
    outer = capture.current()
    if outer is not None:
        _native.before_any_write()
        outer.add_graph(graph, "graph")
    return outer is not None


class ScopedCapture:
    """A `with` block whose launches, copies and fills are captured; afterwards `graph` has them.

    An exception in the block leaves `graph` None.

    >>> x = wp.zeros(2, dtype=float)
    >>> with wp.ScopedCapture() as captured:
    ...     x.fill_(3.0)
    >>> x.list()
    [0.0, 0.0]
    >>> wp.capture_launch(captured.graph)
    >>> x.list()
    [3.0, 3.0]
    """

    def __init__(
        self,
        device: DeviceLike = None,
        stream: Any = None,
        force_module_load: bool | None = None,
        external: bool = False,
        apic: bool = False,
        capture_mode: Any = None,
    ):
        self.device = _where(device, stream)
        self.graph: Graph | None = None
        self._how = stream, force_module_load, external, apic, capture_mode

    def __enter__(self) -> ScopedCapture:
        capture_begin(self.device, *self._how)
        return self

    def __exit__(self, kind: Any, *rest: object) -> None:
        graph = _end(self.device, self._how[0], drop=kind is not None)
        self.graph = graph if kind is None else None


# -- conditions -------------------------------------------------------------------------------------------------------


def capture_if(
    condition: Any,
    on_true: Callable[..., Any] | Graph | None = None,
    on_false: Callable[..., Any] | Graph | None = None,
    stream: Any = None,
    **kwargs: Any,
) -> None:
    """Do one thing or another, depending on a number in memory when the graph runs; at once if none is captured.

    Args:
        condition: an int32 array; its first element decides, 0 being false.
        on_true: a function that launches, called with `kwargs`, or a graph. None does nothing.
        on_false: the same for the other case.
        stream: accepted; on a GPU the current stream is captured.
        kwargs: arguments for the functions.

    >>> x, yes = wp.zeros(1, dtype=float), wp.ones(1, dtype=int)
    >>> with wp.ScopedCapture() as captured:
    ...     wp.capture_if(yes, on_true=lambda: x.fill_(1.0), on_false=lambda: x.fill_(2.0))
    >>> wp.capture_launch(captured.graph)
    >>> x.list()
    [1.0]
    """
    _check_condition(condition)
    graph = capture.current()
    parts = {"on_true": on_true, "on_false": on_false}
    if capture.gpu() is not None:
        capture.gpu().choose(condition, *(p if p is None else _work(name, p, kwargs) for name, p in parts.items()))
        return
    if graph is not None:
        graph.add_if(condition, *(None if p is None else _part(name, p, kwargs) for name, p in parts.items()))
        return
    for name, part in parts.items():
        if part is not None:
            _check_part(name, part)
    _do(on_true if _holds(condition) else on_false, kwargs)


def capture_while(condition: Any, while_body: Callable[..., Any] | Graph, stream: Any = None, **kwargs: Any) -> None:
    """Repeat something while a number in memory is not 0.

    Args:
        condition: an int32 array whose first element decides before every round; something in the body must change it.
        while_body: a function that launches, called with `kwargs`, or a graph.
        stream: accepted; on a GPU the current stream is captured.
        kwargs: arguments for the function.

    >>> @wp.kernel
    ... def halve(x: wp.array[float], more: wp.array[int]):
    ...     x[0] = 0.5 * x[0]
    ...     more[0] = int(x[0] > 1.0)
    >>> x, more = wp.full(1, 10.0), wp.ones(1, dtype=int)
    >>> with wp.ScopedCapture() as captured:
    ...     wp.capture_while(more, lambda: wp.launch(halve, dim=1, inputs=[x, more]))
    >>> wp.capture_launch(captured.graph)
    >>> x.list()
    [0.625]
    """
    _check_condition(condition)
    graph = capture.current()
    if graph is not None:
        graph.add_while(condition, _part("while_body", while_body, kwargs))
        return
    if capture.gpu() is not None:
        capture.gpu().repeat(condition, _work("while_body", while_body, kwargs))
        return
    _check_part("while_body", while_body)
    while _holds(condition):
        _do(while_body, kwargs)


def is_conditional_graph_supported() -> bool:
    """True if graphs can have conditions: always on the CPU, and on GPUs with a driver of version 12.4 or later.

    >>> wp.is_conditional_graph_supported()
    True
    """
    return not get_cuda_devices() or cuda_capture.driver.has_conditions()


def _check_condition(condition: Any) -> None:
    found = f"got {condition!r}" if isinstance(condition, _native.ArrayBase) else f"got {type(condition).__name__}"
    if not isinstance(condition, _native.ArrayBase) or condition._require_element().type is not I32:  # type: ignore[attr-defined]
        raise TypeError(f"condition: expected an array of int32, {found}")
    if condition.size == 0:
        raise ValueError("condition: the array has no elements")
    if capture.innermost() is None:
        return
    if observers.tape() is not None:
        raise RuntimeError(
            "a tape cannot know which branch a condition in a graph will take: capture it outside of the tape"
        )
    _native.before_any_write()  # what a tape keeps must be copied before the condition, and not only if it holds


def _holds(condition: Any) -> bool:
    return bool(condition.flatten()[:1].list()[0])


def _do(what: Any, kwargs: dict[str, Any]) -> None:
    if isinstance(what, Graph):
        capture_launch(what)
    elif what is not None:
        what(**kwargs)


def _work(name: str, what: Any, kwargs: dict[str, Any]) -> Callable[[], None]:
    """Return a function that executes one part now."""
    _check_part(name, what)
    return lambda: _do(what, kwargs)


def _check_part(name: str, what: Any) -> None:
    if not isinstance(what, Graph) and not callable(what):
        raise TypeError(f"{name}: expected a function or a graph, got {type(what).__name__}")


def _part(name: str, what: Any, kwargs: dict[str, Any]) -> Graph:
    """A graph of what a function launches."""
    _check_part(name, what)
    if isinstance(what, Graph):
        return what
    capture.begin()
    try:
        what(**kwargs)
    finally:
        graph = capture.end()
    return graph


def _require_graph(name: str, graph: Any) -> None:
    if not isinstance(graph, Graph):
        hint = "; use the `.graph` of the ScopedCapture" if isinstance(graph, ScopedCapture) else ""
        raise TypeError(f"{name}: expected a graph, got {type(graph).__name__}{hint}")


# -- pictures ---------------------------------------------------------------------------------------------------------


def capture_debug_dot_print(graph: Graph, path: str, verbose: bool = True) -> None:
    """Write a graph in the DOT language, which Graphviz draws.

    Args:
        graph: what `capture_end` gave.
        path: the file to write.
        verbose: whether nodes show their launch dimensions and byte counts; on a GPU all that the driver tells.

    >>> import tempfile
    >>> x = wp.zeros(2, dtype=float)
    >>> with wp.ScopedCapture() as captured:
    ...     x.fill_(1.0)
    >>> with tempfile.NamedTemporaryFile(suffix=".dot") as file:
    ...     wp.capture_debug_dot_print(captured.graph, file.name)
    ...     print(file.read().decode().splitlines()[2].strip())
    n0 [label="fill 8 bytes"];
    """
    _require_graph("graph", graph)
    if device_of_graph(graph).is_cuda:
        cuda_capture.draw(graph, path, verbose)
        return
    lines = ["digraph {", "  node [shape=box];", *_drawn(graph, "n", verbose), "}", ""]
    Path(path).write_text("\n".join(lines), encoding="utf-8")


def _drawn(graph: _native.Graph, prefix: str, verbose: bool) -> Iterator[str]:
    """The nodes of a graph in their order, those of inner graphs in boxes of their own."""
    last = None
    for i, (kind, label, inside) in enumerate(graph.nodes):
        name = f"{prefix}{i}"
        shown = (label if verbose else label.partition(" ")[0]).replace("\\", "\\\\").replace('"', '\\"')
        shape = ", shape=diamond" if kind in ("if", "while") else ""
        yield f'  {name} [label="{shown}"{shape}];'
        if last is not None:
            yield f"  {last} -> {name};"
        last = name
        for k, inner in enumerate(inside):
            if inner is None or not len(inner):
                continue
            yield f"  subgraph cluster_{name}_{k} {{"
            yield from _drawn(inner, f"{name}_{k}_", verbose)
            yield "  }"
            when = {"if": ("true", "false"), "while": ("again",)}.get(kind, ("",))[k]
            yield f'  {name} -> {name}_{k}_0 [style=dashed, label="{when}"];'
