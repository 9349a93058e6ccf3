"""The timeline: what this process did, and when. Native code keeps it while a `Recording` lasts (timeline.cpp).

Launches, copies, fills, algorithms and graphs are there; `add` adds what Python does, such as compiling.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _native
from .device import CPU, Device, get_cuda_devices

native = _native.timeline
KERNEL, BUILTIN, MEMCPY, MEMSET, GRAPH, HOST = 1, 2, 4, 8, 16, 32
WORK = KERNEL | BUILTIN | MEMCPY | MEMSET | GRAPH

now = native.now
add = native.add  # (name, start): what the program has done since then; nothing if no one asks


class Activity(NamedTuple):
    """One thing that was done.

    Args:
        kind: one of the numbers above.
        name: of the kernel or the algorithm.
        amount: the number of threads of a launch, else of bytes.
        device: where.
        start: when it began, in nanoseconds.
        end: when it ended.
        thread: the thread of the program that did it.
        in_graph: whether it is a part of a graph on the CPU.
    """

    kind: int
    name: str
    amount: int
    device: Device
    start: int
    end: int
    thread: int
    in_graph: bool


class Recording:
    """From when it is made until `end`, native code records."""

    def __init__(self) -> None:
        self._since = native.size()
        _recordings.append(self)
        native.set_timing(True)

    def end(self) -> list[Activity]:
        """Return what was done meanwhile, in the order in which it ended on the CPU. Waits for GPUs that did some."""
        done = native.done(self._since)
        _recordings.remove(self)
        try:
            return _activities(done)
        finally:
            if not _recordings:
                native.set_timing(False)
                native.forget()


_recordings: list[Recording] = []


def _activities(done: list[tuple]) -> list[Activity]:
    gpus = (
        {gpu.context: _Clock(gpu) for gpu in get_cuda_devices()} if any(context for *_, context, _, _ in done) else {}
    )
    out = []
    for kind, name, amount, start, end, thread, in_graph, context, first, last in done:
        device: Device = CPU
        if context:
            device = gpus[context].device
            start, end = gpus[context].times(start, first, last)
        out.append(Activity(kind, name, amount, device, start, end, thread, in_graph))
    return out


class _Clock:
    """When events of a GPU happened, on the clock of the host: the first one when it was given to the GPU."""

    def __init__(self, device: Any):
        self.device, self._zero = device, (0, 0)

    def times(self, given: int, first: int, last: int) -> tuple[int, int]:
        context = self.device.context
        if not self._zero[1]:
            self.device.synchronize()
            self._zero = given, first
        at, origin = self._zero
        start, end = (_native.cuda.elapsed(context, origin, event) for event in (first, last))
        return at + round(start * 1e6), at + round(end * 1e6)
