"""The hub of the server: joins the document, the engine, and the pages. Everything here runs in one event loop.

Pages send messages (`Hub.receive`), the engine sends records (`_from_engine`). A frame is evaluated only when a page
has room for it, which its *credits* tell, and when there is something new to see (`_pump`).
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..nodes.kernel import consented_code
from ..usd.stage import StageError
from .document import Document, Patch
from .edits import MOST_TEXT, EditError
from .engine_process import EngineProcess
from .frame_store import Frame, FrameStore, View
from .journal import Journal
from .live_text import why_it_waits
from .records import Blob
from .scene_description import describe, node_types

BUSY = 2.0  # seconds after which the engine counts as busy
MOST_CREDITS = 2
STATS = 0.25  # seconds between two messages about the times of nodes
WATCH = 0.5  # seconds between two looks at the files
VERSION = 1  # of the protocol


@dataclass(eq=False)
class Page:
    """One open page: where to send messages, its credits, and what it has."""

    post: Callable[[dict[str, Any]], None]
    credits: int = 0
    view: View = field(default_factory=View)
    records: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    is_behind: bool = True


@dataclass
class Text:
    """A kernel's text on its way: the newest one, the one that the engine has, and the last one that worked."""

    newest: str = ""
    revision: int = 0  # counts the page's changes of the text
    sent: int = 0  # the revision that the engine has
    good: str | None = None
    waits: str = ""  # why the newest text does not run by itself
    held: str | None = None  # a text that crashed or was stopped
    diagnostics: list[dict[str, Any]] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)


class Hub:
    """One scene and its pages. Call `start` in the event loop."""

    def __init__(self, document: Document, device: str = "cpu"):
        self.document, self.device = document, device
        self.pages: set[Page] = set()
        self.store = FrameStore()
        self.journal = Journal(document.path, document.digest())
        self.found_edits = self.journal.found()
        self.engine: EngineProcess | None = None
        self.range, self.fps = (1, 1), 24.0
        self.view: dict[str, Any] = {}  # where the camera begins
        self.target = self.engine_frame = 1
        self.playing, self.loop, self.speed = False, True, 1.0
        self.texts: dict[str, Text] = {}
        self.codes: list[dict[str, Any]] = []
        self.agreed: set[str] = consented_code.remembered()
        self.typed: set[str] = set()  # digests of texts that the user typed here; a save remembers them
        self.disk_changed = self.follows = False
        self.state, self.state_text = "starting", ""
        self.suspects: list[str] = []  # nodes whose texts may have ended the engine
        self.is_blocked = False  # no text runs until the user has decided about those that ended the engine
        self.log: list[str] = []
        self.times: dict[str, float] = {}
        self._stamp = 0
        self._has_frame = False  # of the current engine
        self._is_saved = False  # a save has to remember the texts that the user typed
        self._is_dirty = True
        self._asked: float | None = None  # when the engine got a request that it has not answered
        self._code_at_work: str | None = None  # the node whose text the engine looks at
        self._due = 0.0
        self._told_stats = self._told_timeline = 0.0
        self._failed: dict[str, str] = {}
        self._tasks: list[asyncio.Task] = []

    async def start(self) -> None:
        """Start the engine and the watches."""
        self._start_engine()
        self._tasks = [asyncio.create_task(self._watch_engine()), asyncio.create_task(self._watch_files())]

    async def stop(self) -> None:
        """End the engine."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        if self.engine is not None:
            self.engine.close()

    # Pages.

    def attach(self, page: Page) -> None:
        """Let a page take part: it gets everything there is to know."""
        self.pages.add(page)
        page.post({"is": "welcome", "version": VERSION, "types": node_types(self.document.registry)})
        for message in (self._doc(), self._timeline(), self._consent(), self._engine_state(), self._disk()):
            page.post(message)
        for node in self.texts:
            page.post(self._kernel(node))
        if self.found_edits:
            page.post({"is": "recover", "count": len(self.found_edits)})

    def detach(self, page: Page) -> None:
        """Forget a page that is closed."""
        self.pages.discard(page)

    def broadcast(self, message: dict[str, Any]) -> None:
        """Send a message to all pages."""
        for page in self.pages:
            page.post(message)

    def receive(self, page: Page, message: dict[str, Any]) -> None:
        """Do what a page asks for. What cannot be done is told to this page alone."""
        name = str(message.get("is"))
        answer = getattr(self, f"on_{name}", None)
        try:
            if answer is None:
                raise EditError(f"the studio has no message {name!r}")
            answer(page, **{key: value for key, value in message.items() if key != "is"})
        except (EditError, StageError) as error:
            page.post({"is": "refused", "text": str(error)})
            page.post(self._doc())
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            page.post({"is": "refused", "text": f"the message {name!r} cannot be understood: {error}"})

    def on_credit(self, page: Page, count: int = 1) -> None:
        """Note that a page has room for frames."""
        page.credits = min(MOST_CREDITS, page.credits + int(count))
        if page.is_behind and self._has_frame:
            self._show(page, self.store.newest)
        self._pump()

    def on_edit(self, page: Page, ops: list[dict[str, Any]], label: str = "edit") -> None:
        """Edit the document as one step of undo."""
        self._take(self.document.edit(ops, label))

    def on_undo(self, page: Page) -> None:
        """Take a step back."""
        self._take(self.document.undo())

    def on_redo(self, page: Page) -> None:
        """Do a step again."""
        self._take(self.document.redo())

    def on_param(self, page: Page, path: str, value: Any) -> None:
        """Show the value of an input while the user drags; an `edit` follows when the drag ends."""
        if self.engine is not None:
            self.engine.send(do="value", path=path, value=value)
            self._touch()

    def on_code(self, page: Page, node: str, text: str, rev: int, run: bool = False) -> None:
        """Take the newest text of a node. It runs if it is harmless, or if the user says so."""
        if any(code["node"] == node for code in self._pending()):
            raise EditError(f"agree to run the text of {node} before you change it")
        if len(text) > MOST_TEXT:
            raise EditError(f"the text has more than {MOST_TEXT} characters, so it is not taken")
        own = self._text(node)
        own.newest, own.revision = text, int(rev)
        own.waits = "" if run else self._why_it_waits(own, text)
        if not own.waits:
            own.held = None
            self._clear_suspect(node)
            self._next_text()
        for each in self.pages - {page}:
            each.post({"is": "text", "node": node, "text": text, "rev": own.revision})
        self.broadcast(self._kernel(node))

    def _clear_suspect(self, node: str) -> None:
        """A text that ended the engine has been changed."""
        if node in self.suspects:
            self.suspects = [each for each in self.suspects if each != node] if not self.is_blocked else []
            self.state = "ready" if self.state == "crashed" else self.state
            self.broadcast(self._engine_state())
            if self.is_blocked:
                self.is_blocked = False
                self._agree()

    def on_trust(self, page: Page, digests: list[str], remember: bool = False) -> None:
        """Take the user's consent to run texts."""
        known = {code["digest"] for code in self.codes}
        self.agreed |= known & set(digests)
        if remember:
            self._remember(known & set(digests))
        self._agree()

    def on_play(self, page: Page) -> None:
        """Play from the current frame on."""
        self.playing, self._due = True, time.monotonic()
        if self.target >= self.range[1]:
            self.target = self.range[0]
        self._changed_timeline()

    def on_pause(self, page: Page) -> None:
        """Stay at the current frame."""
        self.playing = False
        self.target = self.store.newest.number
        self._changed_timeline()

    def on_seek(self, page: Page, frame: int) -> None:
        """Show a frame; play goes on from there."""
        self.target = max(self.range[0], min(self.range[1], int(frame)))
        self._changed_timeline()

    def on_timeline(self, page: Page, loop: bool, speed: float) -> None:
        """Take how to play."""
        self.loop, self.speed = bool(loop), max(0.05, min(16.0, float(speed)))
        self._changed_timeline()

    def on_rows(self, page: Page, path: str, first: int = 0, count: int = 200) -> None:
        """Ask for rows of an array; all pages get them."""
        if self.engine is not None:
            self.engine.send(do="rows", path=path, first=max(0, int(first)), count=int(count))

    def on_stop(self, page: Page) -> None:
        """End an engine that is busy. The text that it ran is held back."""
        if self.engine is not None and self._asked is not None:
            self.state = "stopping"
            self.broadcast(self._engine_state())
            self.engine.stop()

    def on_again(self, page: Page) -> None:
        """Run texts that were held back after a crash once more."""
        for node, own in self.texts.items():
            if own.held is not None:
                own.newest, own.held, own.sent = own.held, None, -1
                own.good = own.good if node in self.suspects else own.newest
        self.suspects, self.state_text, self.is_blocked = [], "", False
        self.state = "ready" if self.state == "crashed" else self.state
        self.broadcast(self._engine_state())
        self._agree()
        self._next_text()

    def on_save(self, page: Page) -> None:
        """Write the file."""
        self.document.save({node: own.newest for node, own in self.texts.items() if own.waits})
        self.journal.clear(self.document.digest())
        self.disk_changed = False
        self._is_saved = True
        if self.engine is not None:
            self.engine.send(do="codes")  # their digests, of which those of typed texts are remembered
        self.broadcast(self._disk())
        self.broadcast(self._doc())

    def on_reload(self, page: Page, follow: bool = False) -> None:
        """Take the files as they are on disk."""
        self.follows = bool(follow)
        self._reload()

    def on_keep(self, page: Page) -> None:
        """Keep the edits although the files have changed: the next save writes over them."""
        self.document.note_files()
        self.disk_changed = False
        self.broadcast(self._disk())

    def on_recover(self, page: Page, take: bool) -> None:
        """Take or drop the edits of a server that was killed."""
        found, self.found_edits = self.found_edits, []
        if take:
            for patch in found:
                self._give(patch)
                self.document.apply(patch)
            self.journal.resume(len(found))
            self.texts.clear()
        else:
            self.journal.clear(self.document.digest())
        self.broadcast({"is": "recover", "count": 0})
        self._changed_document()

    # The document.

    def _take(self, patch: Patch | None) -> None:
        """Pass an edit on to the journal, the engine and the pages."""
        if patch is None:
            return
        self.journal.add(patch)
        self._give(patch)
        self._changed_document()

    def _give(self, patch: Patch) -> None:
        if self.engine is None:
            return
        self.engine.send(do="patch", paths=list(patch.paths), text=patch.text, is_quiet=patch.is_quiet)
        for path, value in patch.values:
            self.engine.send(do="value", path=path, value=value)
        for node, text in patch.texts:
            self.engine.send(do="code", node=node, text=text)
        self._touch()

    def _changed_document(self) -> None:
        self._sync_texts()
        self.broadcast(self._doc())

    def _sync_texts(self) -> None:
        """Take texts that undo, redo or the disk has changed."""
        for node, text in self._authored().items():
            own = self.texts.get(node)
            if (
                own is not None
                and not own.waits
                and own.held is None
                and own.newest != text
                and own.sent == own.revision
            ):
                own.newest, own.revision = text, own.revision + 1
                own.sent = own.revision
                self.broadcast({"is": "text", "node": node, "text": text, "rev": own.revision})

    def _authored(self) -> dict[str, str]:
        """The texts of all nodes as the document has them."""
        graphs = describe(self.document.stage, self.document.registry)["graphs"]
        return {node["path"]: node["code"] for graph in graphs for node in graph["nodes"] if node["code"] is not None}

    def _reload(self) -> None:
        self.document.reload()
        self.journal.clear(self.document.digest())
        self.texts.clear()
        self.disk_changed = False
        self.broadcast(self._disk())
        self.broadcast({"is": "reloaded"})
        self._changed_document()
        self._start_engine()

    # Texts.

    def _text(self, node: str) -> Text:
        if node not in self.texts:
            authored = self._authored()
            if node not in authored:
                raise EditError(f"{node} has no text that can be edited here")
            self.texts[node] = Text(authored[node], good=authored[node])
        return self.texts[node]

    def _why_it_waits(self, own: Text, text: str) -> str:
        if text == own.held:
            return "it ended the engine when it ran"
        return why_it_waits(text)

    def _next_text(self) -> None:
        """Give the engine the next new text, one at a time."""
        if self._code_at_work is not None or self.engine is None or self.state in ("starting", "stopping"):
            return
        for node, own in self.texts.items():
            if own.sent != own.revision and not own.waits and own.held is None:
                self._code_at_work = node
                self._ask(do="signature", node=node, text=own.newest, revision=own.revision)
                return

    def _take_signature(self, header: dict[str, Any]) -> None:
        node, own = header["node"], self.texts.get(header["node"])
        self._code_at_work, self._asked = None, None
        if own is None:
            return self._next_text()
        if header["revision"] == own.revision and not own.waits:
            edits: list[dict[str, Any]] = [{"do": "code", "node": node, "text": own.newest}]
            edits += [{"do": "attribute", "node": node, **added} for added in header["added"]]
            own.sent, own.removed = own.revision, header["removed"]
            try:
                patch = self.document.edit(edits, "edit code", f"code:{node}")
            except EditError as error:
                self.broadcast({"is": "refused", "text": str(error)})
                return None
            self.journal.add(patch)
            self._agree_to_typed(own.newest)
            self._give(patch)
            if not patch.is_quiet and self.engine is not None:
                self.engine.send(do="code", node=node, text=own.newest)
            self.broadcast(self._doc())
        return self._next_text()

    # The engine.

    def _start_engine(self, texts: dict[str, str] | None = None) -> None:
        if self.engine is not None:
            self.engine.close()
        self.state, self._asked, self._code_at_work = "starting", None, None
        self.store.restart()
        self._has_frame = False
        self.engine = EngineProcess(self._from_engine, self._engine_gone)
        text = self.document.layer.ExportToString() if self.document.is_edited else ""
        self._ask(do="open", path=self.document.path, text=text, texts=texts or {}, device=self.device)
        self.broadcast(self._engine_state())

    def _ask(self, **request: Any) -> None:
        assert self.engine is not None
        self._asked = time.monotonic()
        self.engine.send(**request)

    def _from_engine(self, header: dict[str, Any], blobs: list[Blob]) -> None:
        what = header["is"]
        if what == "opened":
            self._opened(header)
        elif what == "frame":
            self._asked = None
            self._take_frame(header, blobs)
        elif what == "signature":
            self._take_signature(header)
        elif what == "compiled":
            self._is_dirty = True
        elif what == "rows":
            self.broadcast(header)
        elif what == "failed":
            self._asked = self._code_at_work = None
            self.playing, self._is_dirty = False, False
            self.broadcast({"is": "refused", "text": header["text"]})
        self._pump()

    def _opened(self, header: dict[str, Any]) -> None:
        self.codes, self.range, self.fps = header["codes"], (header["start"], header["end"]), header["fps"]
        self.view = header["view"]
        if self._is_saved:
            self._is_saved = False
            self._remember({code["digest"] for code in self.codes} & self.typed)
        self.target = max(self.range[0], min(self.range[1], self.target))
        if self.state == "starting":
            self._asked = None
            self.engine_frame = self.range[0] - 1
            self.state = "crashed" if self.is_blocked else "ready"
            self.broadcast(self._engine_state())
        self._agree()
        self._changed_timeline()
        self._next_text()

    def _pending(self) -> list[dict[str, Any]]:
        return [code for code in self.codes if code["digest"] not in self.agreed]

    def _agree(self) -> None:
        if self.engine is not None and not self.is_blocked:
            self.engine.send(do="agree", digests=[c["digest"] for c in self.codes if c["digest"] in self.agreed])
        self.broadcast(self._consent())
        self._touch()

    def _agree_to_typed(self, text: str) -> None:
        """Note that the user typed a text, before the engine gets it: the session goes on with it."""
        digest = consented_code.digest(text)
        self.typed.add(digest)
        self.agreed.add(digest)
        if self.engine is not None:
            self.engine.send(do="agree", digests=[digest])

    def _remember(self, digests: Any) -> None:
        try:
            consented_code.remember(digests)
        except OSError as error:
            self.broadcast({"is": "refused", "text": f"the consent cannot be remembered: {error}"})

    def _touch(self) -> None:
        """Note that frames are no longer what they were."""
        self._is_dirty = True
        self.store.clear()
        self._pump()

    def _pump(self) -> None:
        """Ask for the next frame if a page has room for it and there is something new to see."""
        if self.engine is None or self._asked is not None or self.state not in ("ready", "crashed", "busy"):
            return
        if not any(page.credits > 0 for page in self.pages):
            return
        now = time.monotonic()
        shown = self.store.newest.number
        if self.playing and not self._is_dirty and shown == self.target:
            if now < self._due:
                asyncio.get_running_loop().call_later(self._due - now, self._pump)
                self._due = min(self._due, now + 1.0)
                return
            self._advance(now)
        if not self._is_dirty and self.target == shown:
            return
        kept = self.store.get(self.target) if not self._is_dirty else None
        if kept is not None:
            self.store.newest = kept
            self._show_all(kept)
            if self.playing:
                asyncio.get_running_loop().call_soon(self._pump)
            return
        again = self._is_dirty and self.engine_frame == self.target
        ahead = (
            self.range[0]
            if self.engine_frame >= self.target or self.engine_frame < self.range[0]
            else self.engine_frame + 1
        )
        self._is_dirty = False
        self._stamp += 1
        self._ask(do="frame", frame=self.target if again else min(self.target, ahead), again=again, stamp=self._stamp)

    def _advance(self, now: float) -> None:
        """Let the timeline go on by a frame."""
        step = 1.0 / (self.fps * self.speed)
        self._due = max(self._due + step, now)
        if self.target < self.range[1]:
            self.target += 1
        elif self.loop:
            self.target = self.range[0]
        else:
            self.playing = False
            self._changed_timeline()

    def _take_frame(self, header: dict[str, Any], blobs: list[Blob]) -> None:
        self.engine_frame, self._has_frame = header["frame"], True
        frame = self.store.add(header, blobs)
        if self.state == "busy":
            self.state = "ready"
            self.broadcast(self._engine_state())
        self._take_reports(header["nodes"])
        if header["log"] != self.log:
            self.log = header["log"]
            self.broadcast({"is": "log", "lines": self.log})
        self._show_all(frame)

    def _take_reports(self, reports: list[dict[str, Any]]) -> None:
        self.times = {report["path"]: round(report["ms"], 3) for report in reports}
        failed = {report["path"]: report["failed"] for report in reports if report["failed"]}
        now = time.monotonic()
        if now - self._told_stats >= STATS or failed != self._failed:
            self._told_stats, self._failed = now, failed
            self.broadcast({"is": "stats", "ms": self.times, "failed": failed})
        for report in reports:
            if not report["status"] or not self._is_text(report["path"]):
                continue
            own = self._text(report["path"])
            state = (report["status"], report["diagnostics"])
            if report["status"].get("state") == "compiling" or own.sent not in (-1, own.revision):
                continue
            if not report["failed"] and report["status"].get("state") == "compiled":
                own.good = own.newest if own.sent == own.revision and not own.waits else own.good
            was = (own.status.get("state"), own.status.get("compile_ms"), own.diagnostics)
            own.status, own.diagnostics = state
            if was != (own.status.get("state"), own.status.get("compile_ms"), own.diagnostics):
                self.broadcast(self._kernel(report["path"]))

    def _is_text(self, node: str) -> bool:
        return node in self.texts or any(
            code["node"] == node and code["origin"] == "inputs:codeStr" for code in self.codes
        )

    def _show_all(self, frame: Frame) -> None:
        for page in self.pages:
            page.is_behind = True
            self._show(page, frame)
        if not self.playing or time.monotonic() - self._told_timeline > STATS:
            self._told_timeline = time.monotonic()
            self.broadcast(self._timeline())

    def _show(self, page: Page, frame: Frame) -> None:
        if page.credits > 0 and page.is_behind:
            page.credits -= 1
            page.is_behind = False
            page.records.put_nowait(page.view.record(frame, {"stamp": self._stamp, **self.view}))

    def _engine_gone(self, number: int) -> None:
        """Start a new engine after a crash, without the texts that may have caused it."""
        was_stopped, self.engine = self.state == "stopping", None
        self.suspects = [n for n, own in self.texts.items() if own.newest != own.good or own.sent != own.revision]
        self.suspects = [n for n in self.suspects if not self.texts[n].waits] or sorted(c["node"] for c in self.codes)
        texts = {}
        for node in self.suspects:
            if not self._is_text(node):
                continue
            own = self._text(node)
            own.held = own.newest
            own.waits = "it was stopped" if was_stopped else "it ended the engine when it ran"
            if own.good is not None and own.good != own.newest:
                texts[node] = own.good
                self.agreed.add(consented_code.digest(own.good))
            self.broadcast(self._kernel(node))
        name = signal.Signals(number).name if number else "it left the process"
        self.state_text = "stopped" if was_stopped else f"the engine crashed ({name})"
        self.playing = False
        self.is_blocked = any(node not in texts for node in self.suspects)
        self._start_engine(texts)

    async def _watch_engine(self) -> None:
        while True:
            await asyncio.sleep(0.25)
            waited = time.monotonic() - self._asked if self._asked is not None else 0.0
            if waited > BUSY and self.state in ("ready", "crashed"):
                self.state = "busy"
                self.broadcast(self._engine_state())
            elif self.state == "busy" and self._asked is None:
                self.state = "ready"
                self.broadcast(self._engine_state())
            self._pump()

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(WATCH)
            if self.disk_changed or not self.document.changed_files():
                continue
            if not self.document.is_edited or self.follows:
                try:
                    self._reload()
                except StageError as error:
                    self.document.note_files()
                    self.broadcast(
                        {"is": "refused", "text": f"the file has changed on disk, but cannot be read: {error}"}
                    )
            else:
                self.disk_changed = True
                self.broadcast(self._disk())

    # Messages.

    def _changed_timeline(self) -> None:
        self.broadcast(self._timeline())
        self._pump()

    def _doc(self) -> dict[str, Any]:
        document = self.document
        state = {
            "is": "doc", "revision": document.revision, "edited": document.is_edited,
            "undo": document.undo_label, "redo": document.redo_label, "comments": document.has_comments(),
        }  # fmt: skip
        return state | describe(document.stage, document.registry)

    def _timeline(self) -> dict[str, Any]:
        return {
            "is": "timeline", "frame": self.store.newest.number, "target": self.target, "playing": self.playing,
            "start": self.range[0], "end": self.range[1], "fps": self.fps, "loop": self.loop, "speed": self.speed,
            "cached": self.store.cached, "exact": self.store.newest.is_exact,
        }  # fmt: skip

    def _consent(self) -> dict[str, Any]:
        return {"is": "consent", "codes": self._pending()}

    def _engine_state(self) -> dict[str, Any]:
        return {"is": "engine", "state": self.state, "text": self.state_text, "suspects": self.suspects}

    def _disk(self) -> dict[str, Any]:
        return {"is": "disk", "changed": self.disk_changed, "follows": self.follows}

    def _kernel(self, node: str) -> dict[str, Any]:
        own = self.texts[node]
        return {
            "is": "kernel", "node": node, "rev": own.revision, "waits": own.waits, "held": own.held is not None,
            "diagnostics": own.diagnostics, "status": own.status, "removed": own.removed,
        }  # fmt: skip
