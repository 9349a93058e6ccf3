"""Evaluation: the engine at work, the frames that it sends, and what is known about its state.

A frame is evaluated only when a page has room for it, which its credits tell, and when there is something new to see
(`pump`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from .editing.document import Document
from .engine_process import EngineOptions, EngineProcess
from .frame_store import Frame, FrameStore
from .pages import Page, Pages
from .playback import Playback
from .records import Blob

BUSY = 2.0  # seconds after which the engine counts as busy
STATS = 0.25  # seconds between two messages about the times of nodes
_RUNNING = ("ready", "crashed", "busy")

Answer = Callable[[dict[str, Any]], None]


class Evaluation:
    """The engine of one document, and the frames it gave.

    Args:
        document: The scene.
        options: Device of the kernels, folders of node types.
        pages: Who gets frames and messages.

    `answers` are called with the records of the engine, by kind. `reported` is called with the reports of nodes after
    each frame, `gone` with the signal that ended the engine, or 0, and whether the user has stopped it.
    """

    def __init__(self, document: Document, options: EngineOptions, pages: Pages):
        self.document, self.options, self.pages = document, options, pages
        self.store, self.playback = FrameStore(), Playback()
        self.answers: dict[str, Answer] = {}
        self.reported: Callable[[list[dict[str, Any]]], None] = lambda reports: None
        self.gone: Callable[[int, bool], None] = lambda number, was_stopped: None
        self.state, self.text = "starting", ""
        self.suspects: list[str] = []  # nodes whose texts may have ended the engine
        self.is_blocked = False  # no text runs until the user has decided about those that ended the engine
        self.view: dict[str, Any] = {}  # where the camera begins
        self._engine: EngineProcess | None = None
        self._frame = 1  # of the engine
        self._has_opened = self._has_frame = False  # the current engine
        self._is_dirty = True
        self._stamp = 0
        self._asked: float | None = None  # when the engine got a request that it has not answered
        self._log: list[str] = []
        self._failed: dict[str, str] = {}
        self._told_stats = self._told_timeline = 0.0

    # The engine.

    def start(self, texts: dict[str, str] | None = None) -> None:
        """Start an engine in place of the one that is there. Some nodes may have other texts than the document."""
        self.close()
        self.set_state("starting")
        self.store.restart()
        self._has_opened = self._has_frame = False
        self._engine = EngineProcess(self._receive, self._ended)
        text = self.document.layer.ExportToString() if self.document.is_edited else ""
        self.ask(do="open", path=self.document.path, text=text, texts=texts or {}, **self.options.request())

    def close(self) -> None:
        """End the engine."""
        if self._engine is not None:
            self._engine.close()
        self._engine, self._asked = None, None

    def stop(self) -> None:
        """End an engine that is busy, as the user wants it."""
        if self._engine is not None and self._asked is not None:
            self.set_state("stopping")
            self._engine.stop()

    @property
    def is_gone(self) -> bool:
        """True if there is no engine, as the last one ended before it had read the scene."""
        return self._engine is None

    def send(self, **request: Any) -> None:
        """Send a request without an answer. Without an engine it is lost: the next one opens the document."""
        if self._engine is not None:
            self._engine.send(**request)

    def ask(self, **request: Any) -> None:
        """Send a request that the engine answers; it counts as busy if that takes long."""
        self._asked = time.monotonic()
        self.send(**request)

    @property
    def is_running(self) -> bool:
        """True if there is an engine that takes requests."""
        return self._engine is not None and self.state in _RUNNING

    def set_state(self, state: str) -> None:
        """Take a state and tell the pages."""
        self.state = state
        self.pages.post(self.state_message())

    def answered(self) -> None:
        """Note that the engine has answered the last `ask`."""
        self._asked = None

    def _receive(self, header: dict[str, Any], blobs: list[Blob]) -> None:
        what = header["is"]
        if what == "frame":
            self._asked = None
            self._take_frame(header, blobs)
        elif what == "opened":
            self._take_opened(header)
        elif what == "compiled":
            self._is_dirty = True
        elif what == "rows":
            self.pages.post(header)
        elif what == "failed":
            self._asked = None
            self.playback.playing = self._is_dirty = False
            self.pages.refuse(header["text"])
        if what in self.answers:
            self.answers[what](header)
        self.pump()

    def _take_opened(self, header: dict[str, Any]) -> None:
        self._has_opened = True
        self.playback.open(header["start"], header["end"], header["fps"])
        self.view = header["view"]
        if self.state == "starting":
            self._asked = None
            self._frame = self.playback.start - 1
            self.set_state("crashed" if self.is_blocked else "ready")

    def _ended(self, number: int) -> None:
        was_stopped = self.state == "stopping"
        self._engine, self._asked = None, None
        self.playback.playing = False
        if self._has_opened or was_stopped:
            return self.gone(number, was_stopped)
        self.text = "the engine ended before it had read the scene"  # and the next one would, too
        self.suspects = []
        return self.set_state("crashed")

    async def watch(self) -> None:
        """Tell for ever whether the engine is busy."""
        while True:
            await asyncio.sleep(0.25)
            waited = time.monotonic() - self._asked if self._asked is not None else 0.0
            if waited > BUSY and self.state in ("ready", "crashed"):
                self.set_state("busy")
            elif self.state == "busy" and self._asked is None:
                self.set_state("ready")
            self.pump()

    # Frames.

    def touch(self) -> None:
        """Note that frames are no longer what they were."""
        self._is_dirty = True
        self.store.clear()
        self.pump()

    def grant(self, page: Page, count: int) -> None:
        """Note that a page has room for frames."""
        page.grant(count)
        if page.is_behind and self._has_frame:
            page.show(self.store.newest, self._header())
        self.pump()

    def pump(self) -> None:
        """Ask for the next frame if a page has room for it and there is something new to see."""
        if not self.is_running or self._asked is not None or not self.pages.have_room:
            return
        playback, shown, now = self.playback, self.store.newest.number, time.monotonic()
        if playback.playing and not self._is_dirty and shown == playback.target:
            if now < playback.due:
                asyncio.get_running_loop().call_later(playback.due - now, self.pump)
                playback.due = min(playback.due, now + 1.0)
                return
            playback.advance(now)
            if not playback.playing:
                self.changed_timeline()
        if self._is_dirty or playback.target != shown:
            self._next_frame()

    def _next_frame(self) -> None:
        playback = self.playback
        kept = self.store.get(playback.target) if not self._is_dirty else None
        if kept is not None:
            self.store.newest = kept
            self._show(kept)
            if playback.playing:
                asyncio.get_running_loop().call_soon(self.pump)
            return
        again = self._is_dirty and self._frame == playback.target
        begins = self._frame >= playback.target or self._frame < playback.start
        ahead = playback.start if begins else self._frame + 1
        self._is_dirty = False
        self._stamp += 1
        frame = playback.target if again else min(playback.target, ahead)
        self.ask(do="frame", frame=frame, again=again, stamp=self._stamp)

    def _take_frame(self, header: dict[str, Any], blobs: list[Blob]) -> None:
        self._frame, self._has_frame = header["frame"], True
        frame = self.store.add(header, blobs)
        if self.state == "busy":
            self.set_state("ready")
        self._tell_stats(header["nodes"])
        self.reported(header["nodes"])
        if header["log"] != self._log:
            self._log = header["log"]
            self.pages.post({"is": "log", "lines": self._log})
        self._show(frame)

    def _tell_stats(self, reports: list[dict[str, Any]]) -> None:
        failed = {report["path"]: report["failed"] for report in reports if report["failed"]}
        now = time.monotonic()
        if now - self._told_stats >= STATS or failed != self._failed:
            self._told_stats, self._failed = now, failed
            times = {report["path"]: round(report["ms"], 3) for report in reports}
            self.pages.post({"is": "stats", "ms": times, "failed": failed})

    def _header(self) -> dict[str, Any]:
        return {"stamp": self._stamp, **self.view}

    def _show(self, frame: Frame) -> None:
        self.pages.show(frame, self._header())
        if not self.playback.playing or time.monotonic() - self._told_timeline > STATS:
            self._told_timeline = time.monotonic()
            self.pages.post(self.timeline_message())

    # Messages.

    def changed_timeline(self) -> None:
        """Tell the pages about the timeline, and go on."""
        self.pages.post(self.timeline_message())
        self.pump()

    def timeline_message(self) -> dict[str, Any]:
        """Return the message about the timeline."""
        own = self.playback
        return {
            "is": "timeline", "frame": self.store.newest.number, "target": own.target, "playing": own.playing,
            "start": own.start, "end": own.end, "fps": own.fps, "loop": own.loop, "speed": own.speed,
            "cached": self.store.cached, "exact": self.store.newest.is_exact,
        }  # fmt: skip

    def state_message(self) -> dict[str, Any]:
        """Return the message about the engine."""
        return {"is": "engine", "state": self.state, "text": self.text, "suspects": self.suspects}

    def log_message(self) -> dict[str, Any]:
        """Return the message with what the engine has logged."""
        return {"is": "log", "lines": self._log}
