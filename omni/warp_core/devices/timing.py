"""Times of launches, copies, fills and graphs: between `timing_begin` and `timing_end`, or in a `ScopedTimer`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from . import timeline
from .device import Device
from .stream import synchronize as wait_for_devices

__all__ = [
    *("TIMING_ALL", "TIMING_GRAPH", "TIMING_KERNEL", "TIMING_KERNEL_BUILTIN", "TIMING_MEMCPY", "TIMING_MEMSET"),
    *("TimingResult", "timing_begin", "timing_end", "timing_print"),
]

TIMING_KERNEL = timeline.KERNEL
TIMING_KERNEL_BUILTIN = timeline.BUILTIN
TIMING_MEMCPY = timeline.MEMCPY
TIMING_MEMSET = timeline.MEMSET
TIMING_GRAPH = timeline.GRAPH
TIMING_ALL = 0xFFFFFFFF


class TimingResult:
    """How long one activity took.

    Attributes:
        device: The device.
        name: What it was, such as `kernel saxpy` or `memset`.
        filter: Its kind: `wp.TIMING_KERNEL`, `_KERNEL_BUILTIN`, `_MEMCPY`, `_MEMSET` or `_GRAPH`.
        elapsed: The time in milliseconds.
    """

    __slots__ = ("device", "elapsed", "filter", "name")

    def __init__(self, device: Device, name: str, filter: int, elapsed: float):
        self.device, self.name, self.filter, self.elapsed = device, name, filter, elapsed

    def __repr__(self) -> str:
        return f"TimingResult({self.device}, {self.name!r}, {self.elapsed:.6f} ms)"


_NAMED = {timeline.KERNEL: "kernel ", timeline.BUILTIN: "builtin kernel "}


class Timing:
    """Collects results from when it is made until `end`.

    Args:
        filter: which kinds of activities it is for, a sum of the flags.
        synchronize: wait for devices first, so that earlier work does not count.
    """

    def __init__(self, filter: int, synchronize: bool = True):
        if synchronize:
            wait_for_devices()
        self.filter = filter
        self._recording = timeline.Recording()

    def end(self) -> list[TimingResult]:
        """Return the results. Graphs are one activity where the filter has them, else those that they consist of."""
        wanted = self.filter & timeline.WORK
        whole_graphs = bool(wanted & timeline.GRAPH)
        return [
            TimingResult(a.device, _NAMED.get(a.kind, "") + a.name, a.kind, (a.end - a.start) / 1e6)
            for a in self._recording.end()
            if a.kind & wanted and not (whole_graphs and a.in_graph)
        ]


_current: Timing | None = None


def timing_begin(cuda_filter: int = TIMING_ALL, synchronize: bool = True) -> None:
    """Begin to measure how long each activity takes, on the CPU and on GPUs. If that was begun already, begin anew.

    Args:
        cuda_filter: Which activities: a sum of `wp.TIMING_KERNEL`, `wp.TIMING_KERNEL_BUILTIN` (sorts, scans and other
            algorithms of this package), `wp.TIMING_MEMCPY`, `wp.TIMING_MEMSET` and `wp.TIMING_GRAPH`.
        synchronize: Wait for devices first.

    >>> wp.timing_begin(wp.TIMING_MEMSET)
    >>> x = wp.zeros(1000)
    >>> [(result.device.alias, result.name) for result in wp.timing_end()]
    [('cpu', 'memset')]
    """
    global _current
    if _current is not None:
        timing_end(synchronize=False)
    _current = Timing(cuda_filter, synchronize)


def timing_end(synchronize: bool = True) -> list[TimingResult]:
    """End what `timing_begin` began.

    Args:
        synchronize: Accepted; the activities themselves are waited for in any case.

    Returns:
        The results in the order in which the program did these things; none if nothing was begun.

    >>> wp.timing_end()
    []
    """
    global _current
    ended, _current = _current, None
    return ended.end() if ended else []


def timing_print(results: Sequence[TimingResult], indent: str = "") -> None:
    """Print results: one by one, and summed up by activity and by device.

    Args:
        results: from `wp.timing_end`.
        indent: what each line begins with.

    >>> wp.timing_print([])
    No activity
    """
    if not results:
        print(f"{indent}No activity")
        return
    by_name, by_device = (
        _summed((r.name, r.elapsed) for r in results),
        _summed((str(r.device), r.elapsed) for r in results),
    )
    timed = [(_ms(r.elapsed), f"{r.device!s:<7}", r.name) for r in results]
    _print_table(indent, "Timeline:", ("Time", "Device", "Activity"), timed)
    print()
    _print_table(indent, "Activity summary:", ("Total time", "Count", "Activity"), by_name)
    print()
    _print_table(indent, "Device summary:", ("Total time", "Count", "Device"), by_device)


def _ms(elapsed: float) -> str:
    return f"{elapsed:12.6f} ms"


def _summed(times: Iterable[tuple[str, float]]) -> list[tuple[str, str, str]]:
    """Return rows of time, number and name, those of the most time first."""
    groups = defaultdict(list)
    for name, elapsed in times:
        groups[name].append(elapsed)
    sums = sorted(((sum(group), len(group), name) for name, group in groups.items()), key=lambda row: -row[0])
    return [(_ms(total), f"{count:7}", name) for total, count, name in sums]


def _print_table(indent: str, title: str, names: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> None:
    width = max(len(name) for *_, name in rows)
    rule = f"{indent}{'-' * 16}+{'-' * 9}+{'-' * (width + 2)}"
    print(f"{indent}{title}", rule, sep="\n")
    print(f"{indent}{names[0]:<16}| {names[1]:<7} | {names[2]}", rule, sep="\n")
    for time, middle, name in rows:
        print(f"{indent}{time} | {middle} | {name}")
