"""The graph that a thread captures, and work that goes into it instead of being done at once.

Whatever changes memory asks here: launches (`launch`), and calls of native functions through `call`. The public
functions are in `graph`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import _native


class _Captures(threading.local):
    def __init__(self) -> None:
        self.graphs: list[_native.Graph] = []  # the last is the innermost


_mine = _Captures()
_lock = threading.Lock()
_capturing = 0  # captures of all threads
_watchers: list[Callable[[], None]] = []


def current() -> _native.Graph | None:
    """The graph that this thread captures, or None."""
    return _mine.graphs[-1] if _capturing and _mine.graphs else None


def active() -> bool:
    """Whether any thread captures."""
    return bool(_capturing)


def begin() -> _native.Graph:
    """Capture what this thread does from now on, in a new graph, which may be part of the one it captures already."""
    _mine.graphs.append(_native.Graph())
    _count(1)
    return _mine.graphs[-1]


def end() -> _native.Graph:
    """Close the innermost graph of this thread."""
    graph = _mine.graphs.pop()
    _count(-1)
    return graph


def _count(by: int) -> None:
    global _capturing
    with _lock:
        _capturing += by
    _native.set_capture(_take if _capturing else None)
    for changed in _watchers:
        changed()


def watch(changed: Callable[[], None]) -> None:
    """Call `changed` whenever a thread begins or ends to capture."""
    _watchers.append(changed)


def _take(launch: Any) -> bool:
    """Put a recorded launch that is to run into the graph, if this thread captures one."""
    graph = current()
    if graph is not None:
        graph.add_launch(launch, f"{launch.kernel.name} {launch.dim}")
    return graph is not None


def call(function: Callable[..., Any], *args: Any, label: str, writes: Sequence[Any] | None, keep: Any = None) -> None:
    """Call a function, or put the call into the graph.

    Args:
        function: what to call. It tells native code (`before_write`) where it writes.
        args: its arguments.
        label: what pictures show.
        writes: the arrays that it writes; None if that is not known.
        keep: what else the arguments point to.
    """
    graph = current()
    if graph is None:
        function(*args)
        return
    if writes is None:
        _native.before_any_write()
    for a in writes or ():
        _native.before_write(*a._span)
    graph.add_call(function, args, label, (writes, keep))


def refuse(what: str) -> None:
    """Raise if this thread captures a graph: `what` needs results, and nothing that is captured has run."""
    if current() is not None:
        raise RuntimeError(f"{what} while a graph is captured: what is captured runs when the graph is launched")
