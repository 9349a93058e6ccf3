"""`ScopedTrace`: what a block of code did, as a file for Perfetto (https://ui.perfetto.dev) or chrome://tracing."""

from __future__ import annotations

import json
import os
from typing import Any

from ..files import write
from . import timeline
from .timeline import Activity

__all__ = ["ScopedTrace"]

_KINDS = {
    timeline.KERNEL: ("kernel", "threads"),
    timeline.BUILTIN: ("builtin", "bytes"),
    timeline.MEMCPY: ("memcpy", "bytes"),
    timeline.MEMSET: ("memset", "bytes"),
    timeline.GRAPH: ("graph", ""),
    timeline.HOST: ("host", ""),
}


class ScopedTrace:
    """A `with` block that writes what it did to a file of JSON, which Perfetto and chrome://tracing draw.

    Bars are launches, copies, fills, algorithms, graphs, kernels that are compiled or loaded, and blocks of a
    `wp.ScopedTimer`. There is a row for each thread of the program, and one for each GPU. The file is written on
    leaving, also by an exception.

    Args:
        path: the file; it is replaced.

    Raises:
        OSError: the file cannot be written.

    >>> import json, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "trace.json"
    ...     with wp.ScopedTrace(path):
    ...         x = wp.zeros(1000)
    ...     events = json.loads(path.read_text())["traceEvents"]
    >>> [event["name"] for event in events if event["ph"] == "X"]
    ['memset']
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)

    def __enter__(self) -> ScopedTrace:
        self._recording, self._start = timeline.Recording(), timeline.now()
        return self

    def __exit__(self, *exc: object) -> None:
        events = _events(self._recording.end(), self._start)
        write(self.path, json.dumps({"displayTimeUnit": "ms", "traceEvents": events}).encode())


def _events(activities: list[Activity], start: int) -> list[dict[str, Any]]:
    """Return events of the format of traces, times in microseconds, and the names of the rows."""
    rows: dict[Any, int] = {}
    events = []
    for a in activities:
        row = rows.setdefault(a.device if a.device.is_cuda else a.thread, len(rows) + 1)
        events.append(_bar(a, start, row))
    threads = [who for who in rows if isinstance(who, int)]
    named = {who: f"CPU, thread {threads.index(who) + 1}" if isinstance(who, int) else str(who) for who in rows}
    titles = [_title("thread_name", row, named[who]) for who, row in rows.items()]
    return [_title("process_name", 0, "omni.warp_core"), *titles, *events]


def _bar(a: Activity, start: int, row: int) -> dict[str, Any]:
    kind, unit = _KINDS[a.kind]
    times = {"ts": (a.start - start) / 1e3, "dur": (a.end - a.start) / 1e3}
    return {
        "ph": "X",
        "name": a.name,
        "cat": kind,
        "pid": 1,
        "tid": row,
        **times,
        "args": {unit: a.amount} if unit else {},
    }


def _title(kind: str, row: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": 1, "tid": row, "args": {"name": name}}
