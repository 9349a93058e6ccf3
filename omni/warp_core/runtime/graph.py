"""Graphs: launches, copies and fills that are captured once and done again without Python. Start with `capture_begin`.

On the CPU a graph is a list in native code (native/python/graph.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .. import _native
from ..lang.types import I32
from . import capture, recording
from .device import Device, get_device

__all__ = [
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

Graph = _native.Graph
DeviceLike = Device | str | None


def capture_begin(
    device: DeviceLike = None,
    stream: Any = None,
    force_module_load: bool | None = None,
    external: bool = False,
    capture_mode: Any = None,
) -> None:
    """Capture what this thread launches, copies and fills from now on, instead of doing it.

    Arrays that are made meanwhile belong to the graph. What reads results raises, as there are none yet. Other threads
    go on as ever.

    Args:
        device: where the graph is to run; by default the current device.
        stream: accepted; CPU work has no streams.
        force_module_load: accepted; kernels are compiled when they are captured.
        external: accepted.
        capture_mode: accepted.

    Raises:
        RuntimeError: this thread captures a graph already.

    >>> @wp.kernel
    ... def add(x: wp.array(dtype=float), by: float):
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
    get_device(device)
    if recording.tape() is not None:
        raise RuntimeError("a tape records, which would take what is captured for done: capture outside of the tape")
    if capture.current() is not None:
        raise RuntimeError("this thread captures a graph already: end it with wp.capture_end()")
    capture.begin()


def capture_end(device: DeviceLike = None, stream: Any = None) -> Graph:
    """Stop capturing.

    Args:
        device: accepted; the graph is that of `capture_begin`.
        stream: accepted.

    Returns:
        The graph, for `capture_launch`.

    Raises:
        RuntimeError: nothing is captured.

    >>> wp.capture_begin()
    >>> x = wp.zeros(2, dtype=float)
    >>> len(wp.capture_end())
    1
    """
    if capture.current() is None:
        raise RuntimeError("no graph is captured: begin one with wp.capture_begin()")
    return capture.end()


def capture_launch(graph: Graph, stream: Any = None) -> None:
    """Do what was captured. While another graph is captured, `graph` becomes a part of it.

    Arguments that are numbers stay what they were; to change one between launches, capture a launch that was recorded
    with `record_cmd=True`, and set the argument there.

    Args:
        graph: what `capture_end` gave.
        stream: accepted.

    Raises:
        TypeError: `graph` is none.
        RuntimeError: a tape records, which would not see what the graph does.

    >>> @wp.kernel
    ... def add(x: wp.array(dtype=float), by: float):
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
    outer = capture.current()
    if outer is not None:
        outer.add_graph(graph, "graph")
        return
    recording.refuse_following("a graph")
    if recording.tape() is not None:
        raise RuntimeError("a tape does not see what a graph launches: launch it outside of the tape")
    graph.run()


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
        capture_mode: Any = None,
    ):
        self.device = get_device(device)
        self.graph: Graph | None = None

    def __enter__(self) -> ScopedCapture:
        capture_begin(self.device)
        return self

    def __exit__(self, kind: Any, *rest: object) -> None:
        graph = capture_end(self.device)
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
        stream: accepted.
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
        stream: accepted.
        kwargs: arguments for the function.

    >>> @wp.kernel
    ... def halve(x: wp.array(dtype=float), more: wp.array(dtype=int)):
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
    _check_part("while_body", while_body)
    while _holds(condition):
        _do(while_body, kwargs)


def is_conditional_graph_supported() -> bool:
    """Whether graphs can have conditions: on the CPU, always.

    >>> wp.is_conditional_graph_supported()
    True
    """
    return True


def _check_condition(condition: Any) -> None:
    found = f"got {condition!r}" if isinstance(condition, _native.ArrayBase) else f"got {type(condition).__name__}"
    if not isinstance(condition, _native.ArrayBase) or condition._require_element().type is not I32:  # type: ignore[attr-defined]
        raise TypeError(f"condition: expected an array of int32, {found}")
    if condition.size == 0:
        raise ValueError("condition: the array has no elements")


def _holds(condition: Any) -> bool:
    return bool(condition.flatten()[:1].list()[0])


def _do(what: Any, kwargs: dict[str, Any]) -> None:
    if isinstance(what, Graph):
        capture_launch(what)
    elif what is not None:
        what(**kwargs)


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
        hint = "; a ScopedCapture has it in `.graph`" if isinstance(graph, ScopedCapture) else ""
        raise TypeError(f"{name}: expected a graph, got {type(graph).__name__}{hint}")


# -- pictures ---------------------------------------------------------------------------------------------------------


def capture_debug_dot_print(graph: Graph, path: str, verbose: bool = True) -> None:
    """Write a graph in the DOT language, which Graphviz draws.

    Args:
        graph: what `capture_end` gave.
        path: the file to write.
        verbose: whether nodes show their launch dimensions and byte counts.

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
    lines = ["digraph {", "  node [shape=box];", *_drawn(graph, "n", verbose), "}", ""]
    Path(path).write_text("\n".join(lines), encoding="utf-8")


def _drawn(graph: Graph, prefix: str, verbose: bool) -> Iterator[str]:
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
