"""Which memory of arrays is in use, and who asked for it, while `wp.config.track_memory` or a scope is on.

Start with `track`, which whoever makes memory calls as `transfer.tracker`.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TextIO

from .. import config
from ..dispatch import call_site
from ..dispatch.call_site import CallSite
from . import transfer

__all__ = ["ScopedMemoryTracker", "print_memory_report"]

_scopes_on = 0
_lock = threading.RLock()  # a finalizer may ask for it while it is held


class _Names(threading.local):
    """The names of the scopes of a thread, outermost first."""

    names: tuple[str, ...] = ()


class Block(NamedTuple):
    """Memory that was asked for: how much, where, as what, by which line of the program, in which scope."""

    nbytes: int
    where: str
    what: str
    site: CallSite
    scope: str


class _Sums:
    """Numbers of blocks and of bytes: all so far, those in use, and the most bytes in use at a time."""

    def __init__(self) -> None:
        self.count = self.nbytes = self.live_count = self.live = self.peak = 0

    def add(self, nbytes: int) -> None:
        self.count, self.nbytes = self.count + 1, self.nbytes + nbytes
        self.live_count, self.live = self.live_count + 1, self.live + nbytes
        self.peak = max(self.peak, self.live)

    def remove(self, nbytes: int) -> None:
        self.live_count, self.live = self.live_count - 1, self.live - nbytes


class _Record:
    """What was tracked since the last `clear`."""

    def __init__(self) -> None:
        self.blocks: dict[int, Block] = {}  # in use
        self.by_device: defaultdict[str, _Sums] = defaultdict(_Sums)
        self.by_scope: defaultdict[tuple[str, str], _Sums] = defaultdict(_Sums)

    def _sums(self, block: Block) -> tuple[_Sums, _Sums]:
        return self.by_device[block.where], self.by_scope[block.scope, block.where]

    def add(self, number: int, block: Block) -> None:
        with _lock:
            self.blocks[number] = block
            for sums in self._sums(block):
                sums.add(block.nbytes)

    def remove(self, number: int) -> None:
        with _lock:
            block = self.blocks.pop(number)
            for sums in self._sums(block):
                sums.remove(block.nbytes)


_mine = _Names()
_record = _Record()
_numbers = itertools.count()


def track(memory: Any, where: str, what: str) -> None:
    """Record memory until the object `memory`, which has its size in `nbytes`, is gone."""
    scope = "/".join(_mine.names) or "global"
    number = next(_numbers)
    _record.add(number, Block(memory.nbytes, where, what, call_site.here(), scope))
    weakref.finalize(memory, _record.remove, number).atexit = False


def switch() -> None:
    """Begin or end to track, as the option and the scopes say."""
    transfer.tracker = track if config.track_memory or _scopes_on else None


class ScopedMemoryTracker:
    """A `with` block in which memory of arrays is tracked, with a report at its end.

    What is tracked counts for the block by its name, and for those around it. The report is about all that was tracked
    in the process, since the last `clear`.

    Args:
        name: what the report calls the block.
        active: nothing is tracked or printed when False.
        print: print the report on leaving.
        report_func: gets the report on leaving, in place of printing it.

    >>> def show(report): print(report.splitlines()[2].split())
    >>> with wp.ScopedMemoryTracker("buffers", report_func=show) as tracker:
    ...     x = wp.zeros(256, dtype=float)
    ['cpu', '1', '(1.00', 'KB)']
    >>> tracker.clear()
    """

    def __init__(
        self,
        name: str = "root",
        active: bool = True,
        print: bool = True,
        report_func: Callable[[str], None] | None = None,
    ):
        self.name, self.active, self.print, self.report_func = name, active, print, report_func

    def __enter__(self) -> ScopedMemoryTracker:
        if self.active:
            _mine.names = (*_mine.names, self.name)
            _count_scope(1)
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.active:
            return
        _mine.names = _mine.names[:-1]
        _count_scope(-1)
        if self.report_func:
            self.report_func(memory_report())
        elif self.print:
            self.report()

    def report(self) -> None:
        """Print the report as it is now."""
        print(memory_report(), end="")

    def clear(self) -> None:
        """Forget what was tracked so far, in all scopes."""
        global _record
        _record = _Record()


def _count_scope(by: int) -> None:
    global _scopes_on
    with _lock:
        _scopes_on += by
        switch()


def print_memory_report(file: TextIO | None = None, sort: str = "size", max_items: int = 10) -> None:
    """Print which memory of arrays was made and is in use: by device, by scope, and by line of the program.

    Args:
        file: where to; by default stdout.
        sort: "size", the most memory first, or "chronological".
        max_items: the most lines of the program on each device.

    Raises:
        RuntimeError: nothing was tracked: set `wp.config.track_memory = True` first.
        ValueError: `sort` is something else.

    >>> wp.config.track_memory = True
    >>> x = wp.zeros(256, dtype=float)
    >>> wp.print_memory_report(max_items=0)  # doctest: +ELLIPSIS
    Allocation Tracking Report
      Total allocations:
        cpu              ...
    >>> wp.config.track_memory = False
    """
    if transfer.tracker is None and not _record.by_device:
        raise RuntimeError(
            "print_memory_report: no memory was tracked: set wp.config.track_memory = True before the arrays are made, "
            "or make them in a `with wp.ScopedMemoryTracker():`"
        )
    print(memory_report(sort, max_items), end="", file=sys.stdout if file is None else file)


def memory_report(sort: str = "size", max_items: int = 10) -> str:
    """Return the text of a report."""
    if sort not in ("size", "chronological"):
        raise ValueError(f"sort: expected 'size' or 'chronological', got {sort!r}")
    return "".join(f"{line}\n" for line in _lines(_record, sort, max_items))


def _lines(record: _Record, sort: str, most: int) -> Iterator[str]:
    devices = sorted(record.by_device.items())
    yield "Allocation Tracking Report"
    yield "  Total allocations:"
    yield from (f"    {where:<16} {sums.count} ({_size(sums.nbytes)})" for where, sums in devices)
    yield "  Peak usage:"
    yield from (f"    {where:<16} {_size(sums.peak)}" for where, sums in devices)
    yield "  Live allocations:"
    live = [(where, sums) for where, sums in devices if sums.live_count]
    yield from (f"    {where:<16} {sums.live_count} ({_size(sums.live)})" for where, sums in live)
    if not live:
        yield "    (none)"
    yield from _scope_lines(record)
    for where, _ in live:
        order = "by size (largest first)" if sort == "size" else "chronological"
        yield ""
        yield f"  Live {where} allocations {order} (up to {most}):"
        yield from (f"    {line}" for line in _block_lines(record, where, sort, most))


def _scope_lines(record: _Record) -> Iterator[str]:
    scopes = sorted(record.by_scope.items())
    if all(scope == "global" for (scope, _), _ in scopes):
        return
    yield ""
    yield "  Scope breakdown:"
    for scope, rows in itertools.groupby(scopes, key=lambda row: row[0][0]):
        yield f"    {scope}:"
        for (_, where), sums in rows:
            live = f"{sums.live_count} live ({_size(sums.live)})"
            yield f"      {where}: {sums.count} allocs, {_size(sums.nbytes)}, at most {_size(sums.peak)}, {live}"


def _block_lines(record: _Record, where: str, sort: str, most: int) -> Iterator[str]:
    """A line for all blocks of one kind that one line of the program has made."""
    groups: defaultdict[tuple[str, CallSite], list[int]] = defaultdict(list)
    for block in list(record.blocks.values()):
        if block.where == where:
            groups[block.what, block.site].append(block.nbytes)
    rows = list(groups.items())
    if sort == "size":
        rows.sort(key=lambda row: -sum(row[1]))
    for (what, site), sizes in rows[:most]:
        times = f" in {len(sizes)}" if len(sizes) > 1 else ""
        yield f"{_size(sum(sizes))}{times} : {where} : {what} : {site} : {site.called}()"


def _size(nbytes: int) -> str:
    size = float(nbytes)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{nbytes} B" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} TB"
