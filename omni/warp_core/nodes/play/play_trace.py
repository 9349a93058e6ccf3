"""The course of a play as a trace: which node ran when and for how long, in the format that Perfetto opens.

The file is JSON of Chrome's trace events, for https://ui.perfetto.dev or chrome://tracing. Frames and nodes are
complete events of one thread, in microseconds since the trace began.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from ...files import write
from ..graph.node_graph import Node, Observer

_MOST_EVENTS = 1_000_000


class Trace(Observer):
    """Collects events. `write` saves them."""

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []
        self._began = time.perf_counter()
        self._open: list[tuple[float, float]] = []  # of nodes that run: when they began, and what they had compiled
        self._frame: tuple[int, float] | None = None
        self.left_out = 0

    def frame(self, frame: int) -> None:
        """A frame begins, and the one before ends."""
        self._end_frame()
        self._frame = frame, self._now()

    def begin(self, nodes: Sequence[Node]) -> None:
        """See Observer."""
        self._open.append((self._now(), sum(node.timing.compile_ms for node in nodes)))

    def end(self, nodes: Sequence[Node]) -> None:
        """See Observer."""
        started, compiled = self._open.pop()
        compiled = sum(node.timing.compile_ms for node in nodes) - compiled
        facts: dict[str, Any] = {"type": nodes[0].type_name}
        name = nodes[0].label
        if len(nodes) > 1:
            name, facts = f"{name} and {len(nodes) - 1} more", {"nodes": [node.label for node in nodes]}
        if compiled:
            facts["compile_ms"] = round(compiled, 3)
        failed = next((node.failed for node in nodes if node.failed), "")
        if failed:
            facts["failed"] = failed
        self._add(name, "replay" if len(nodes) > 1 else "node", started, facts)

    def write(self, path: str) -> None:
        """Save the trace. Raises OSError."""
        self._end_frame()
        write(path, json.dumps({"displayTimeUnit": "ms", "traceEvents": self._events}).encode())

    def _end_frame(self) -> None:
        if self._frame is not None:
            number, started = self._frame
            self._add(f"frame {number}", "frame", started, {})
            self._frame = None

    def _now(self) -> float:
        return (time.perf_counter() - self._began) * 1e6

    def _add(self, name: str, category: str, started: float, facts: dict[str, Any]) -> None:
        if len(self._events) >= _MOST_EVENTS:
            self.left_out += 1
            return
        times = {"ts": round(started, 3), "dur": round(self._now() - started, 3)}
        self._events.append({"name": name, "cat": category, "ph": "X", **times, "pid": 1, "tid": 1, "args": facts})
