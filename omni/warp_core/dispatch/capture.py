"""The graph that a thread captures, and work that goes into it instead of being done at once.

On the CPU whatever changes memory asks here: launches (`launch`), and calls of native functions through `call`. On a
GPU the driver captures what is given to streams; `cuda_capture` has what must be done besides. The public functions are
in `graph`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import _native
from ..late_bound import late
from .captured_graph import Graph


class _Graphs(list[Graph]):
    """The graphs of the CPU that a thread captures; the last is the innermost."""

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:  # the name may be gone then
        """The thread has ended: while some thread captures, the launches of all take longer."""
        if self and not is_ending():
            _count(-len(self))


class _Captures(threading.local):
    def __init__(self) -> None:
        self.graphs = _Graphs()
        self.gpu: Any = None  # a GpuCapture


_mine = _Captures()
_lock = threading.RLock()  # a finalizer may ask for it while it is held
_capturing = 0  # captures of all threads
_watchers: list[Callable[[], None]] = []


def current() -> Graph | None:
    """The graph of the CPU that this thread captures, or None."""
    return _mine.graphs[-1] if _capturing and _mine.graphs else None


def gpu() -> Any:
    """Return the capture of this thread on a GPU, a `cuda_capture.GpuCapture`, or None."""
    return _mine.gpu if _capturing else None


def innermost() -> Any:
    """Return the graph that captures the work of this thread, or its conditional body; None if it runs at once."""
    if not _capturing:
        return None
    return current() if current() is not None else getattr(gpu(), "scope", None)


def in_conditional_body() -> bool:
    """True if this thread captures the body of a condition."""
    return len(_mine.graphs) > 1 or bool(getattr(gpu(), "depth", 0))


def active() -> bool:
    """True if any thread captures."""
    return bool(_capturing)


def begin() -> Graph:
    """Capture what this thread does from now on, in a new graph, which may be part of the one it captures already."""
    _mine.graphs.append(Graph())
    _count(1)
    return _mine.graphs[-1]


def end() -> Graph:
    """Close the innermost graph of this thread."""
    graph = _mine.graphs.pop()
    _count(-1)
    return graph


def set_gpu(captured: Any) -> None:
    """Begin the capture of this thread on a GPU, or end it with None."""
    _mine.gpu = captured
    _count(1 if captured is not None else -1)


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


def _take(launch: Any, follow: bool = True, keep: Any = None) -> bool:
    """Put a recorded launch that is to run into the graph, if this thread captures one.

    Args:
        launch: the launch.
        follow: whether its arguments may change later.
        keep: what it needs besides its arguments.
    """
    if launch.plan.device_id:
        check_gpu(late("device_of")(launch.plan.device_id))
        captured = gpu()
        if captured is not None:
            captured.launch(launch, follow)
            captured.keep(keep)
        return captured is not None
    graph = current()
    if graph is not None:
        _native.announce_writes(launch)
        graph.add_launch(launch, f"{launch.kernel.name} {launch.dim}", keep)
    return graph is not None


def run(kernel: Any, plan: Any, dim: Any, args: Sequence[Any], keep: Any = None) -> None:
    """Run a plan, or put the launch into the graph. `keep` is what it needs besides its arguments."""
    if not _capturing or not _take(_native.Launch(kernel, plan, dim, args), follow=False, keep=keep):
        plan.launch(dim, args)


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


def keep(what: Any) -> None:
    """Let the graph that this thread captures, if it does, hold something for as long as it lives."""
    graph = current() if current() is not None else gpu()
    if graph is not None:
        graph.keep(what)


def refuse(what: str, device: Any = None) -> None:
    """Raise if this thread captures a graph: `what` needs results, and nothing that is captured has run.

    Args:
        what: what the program is about to do.
        device: where the results are. What runs on the CPU while a GPU's work is captured has run.
    """
    on_gpu = gpu() is not None and (device is None or device.is_cuda)
    if current() is not None or on_gpu:
        raise RuntimeError(f"{what} while a graph is captured: what is captured runs when the graph is launched")


def refuse_gpu_work(what: str) -> None:
    """Raise if this thread captures a graph of the CPU, which `what`, being work for a GPU, would not get into."""
    if current() is not None:
        raise RuntimeError(f"{what}: work on a GPU is no part of a graph of the CPU; capture it on the GPU's device")


def check_gpu(device: Any) -> None:
    """Raise RuntimeError if what this thread is about to give to a GPU would get into no graph or the wrong one."""
    if not _capturing:
        return
    captured = gpu()
    refuse_gpu_work(f"work on {device}")
    if captured is not None:
        captured.check(device)
    elif _native.cuda.capturing(device.context, device.stream.cuda_stream):
        raise RuntimeError(f"another thread captures {device.stream}: use a stream of your own (wp.ScopedStream)")


# -- memory that must not be given back while a GPU captures ----------------------------------------------------------

_busy: dict[Any, int] = {}
_later: dict[Any, list[Callable[[], None]]] = {}


def begin_exclusive(device: Any) -> None:
    """Let `run_when_idle` wait from now on: the driver refuses work on the null stream while another one captures."""
    with _lock:
        _busy[device] = _busy.get(device, 0) + 1


def end_exclusive(device: Any) -> None:
    """End `begin_exclusive`, and do what has waited."""
    with _lock:
        _busy[device] -= 1
    catch_up(device)


def run_when_idle(device: Any, work: Callable[[], None]) -> None:
    """Do something on the null stream of a GPU, at once unless some thread or another library captures there."""
    with _lock:
        _later.setdefault(device, []).append(work)
    catch_up(device)


def catch_up(device: Any) -> None:
    """Do what has waited, if nothing captures any more. Captures of other libraries end unseen, so each call looks."""
    if _is_captured(device):
        return
    with _lock:
        ready = [] if _busy.get(device) else _later.pop(device, [])
    for work in ready:
        work()


def _is_captured(device: Any) -> bool:
    """True while a stream that the null stream follows is captured. To ask leaves the capture alone; work ends it."""
    try:
        _native.cuda.capturing(device.context, 0)
    except _native.cuda.Error as why:
        if "STREAM_CAPTURE_IMPLICIT" in str(why):
            return True
        raise
    return False
