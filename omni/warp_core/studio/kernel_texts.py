"""The texts of kernels on their way: from the pages to the document and the engine, and what became of them.

What is typed is in the document at once, so the journal has it, and a save writes it. The newest text of a node goes to
the engine, one node at a time, if it may run. The engine tells its signature, from which missing attributes follow, and
compiles it. Until then the engine runs another text than the document has: `running` lists these.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

from .agreements import Agreements
from .editing.document import Document
from .editing.editor import EditError
from .editing.edits import MOST_TEXT
from .editing.outline import Outline
from .evaluation import Evaluation
from .live_text import why_it_waits
from .pages import Page, Pages
from .shared_text import Change, SharedText, Update, changed, with_line_feeds

ENDED = "it ended the engine when it ran"


@dataclass
class Text:
    """A kernel's text: the newest one, the one that the engine has, and the last one that worked."""

    shared: SharedText
    good: str | None = None
    running: str = ""  # the text that the engine has
    sent: int = 0  # its revision
    waits: str = ""  # why the newest text does not run by itself
    held: str | None = None  # a text that crashed or was stopped
    diagnostics: list[dict[str, Any]] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)

    @property
    def newest(self) -> str:
        """The text as the pages have it."""
        return self.shared.text

    @property
    def revision(self) -> int:
        """Counts the changes of the text."""
        return self.shared.revision

    @property
    def is_running(self) -> bool:
        """True if the engine has the newest text."""
        return with_line_feeds(self.running) == self.newest

    @property
    def is_good(self) -> bool:
        """True if the newest text has worked."""
        return self.good is not None and with_line_feeds(self.good) == self.newest

    @property
    def is_due(self) -> bool:
        """True if the engine shall get the newest text."""
        return self.sent != self.revision and not self.waits and self.held is None


class KernelTexts:
    """The texts of one document. `edit` is called with the edits of a text that runs, and does them."""

    def __init__(
        self, document: Document, outline: Outline, pages: Pages, evaluation: Evaluation, agreements: Agreements
    ):
        self._document, self._outline, self._pages = document, outline, pages
        self._evaluation, self._agreements = evaluation, agreements
        self._texts: dict[str, Text] = {}
        self._at_work: str | None = None  # the node whose text the engine looks at
        self.epoch = 0  # counts the times at which all texts began anew
        self.edit: Any = None

    def clear(self) -> None:
        """Forget all texts: the document has others now."""
        self._texts.clear()
        self.epoch += 1

    def restart(self) -> None:
        """Note that a new engine has no text at work."""
        self._at_work = None

    def attach(self, page: Page, known: dict[str, int]) -> None:
        """Tell a new page about all texts. One that was here before has `known` revisions of them."""
        for node, own in self._texts.items():
            missed = own.shared.since(known[node]) if node in known else None
            if missed is None:
                page.post(_text_message(node, own))
            elif missed:
                page.post(_typed_message(node, own, missed))
            page.post(self._message(node))

    def of(self, node: str) -> Text:
        """Return the text of a node. Raises EditError if it has none that can be edited."""
        if node not in self._texts:
            authored = self._outline.texts
            if node not in authored:
                raise EditError(f"{node} has no text that can be edited here")
            self._texts[node] = Text(SharedText(authored[node]), good=authored[node], running=authored[node])
        return self._texts[node]

    @property
    def running(self) -> dict[str, str]:
        """The texts that the engine runs while the document has others, by node."""
        return {node: own.running for node, own in self._texts.items() if not own.is_running}

    # From the pages.

    def take(self, node: str, updates: list[Update], run: bool) -> None:
        """Take changes of the newest text of a node. It runs if it is harmless, or if the user says so.

        Raises EditError.
        """
        if any(code["node"] == node for code in self._agreements.pending):
            raise EditError(f"agree to run the text of {node} before you change it")
        own = self.of(node)
        text = _after(own.newest, [update.change for update in updates])
        self._put(node, own, updates, text)
        own.waits = "" if run else ENDED if text == own.held else why_it_waits(text)
        if not own.waits:
            own.held = None
            own.sent = -1 if run else own.sent
            self._clear_suspect(node)
            self.next()
        self._tell(node)

    def _put(self, node: str, own: Text, updates: list[Update], text: str) -> None:
        """Put a text into the document, and tell all pages. Raises EditError."""
        before = own.newest
        own.shared.text = text  # which the document is to have, so that `follow_document` leaves it
        try:
            if text != before:
                self.edit([{"do": "code", "node": node, "text": text}], "edit code", f"code:{node}")
        except EditError:
            own.shared.text = before
            raise
        own.shared.add(updates, text)
        if updates:
            self._pages.post(_typed_message(node, own, updates))

    def reject(self, page: Page, node: str) -> None:
        """Let a page have the text as it is here, in place of one that cannot be taken."""
        if node in self._texts:
            page.post({**_text_message(node, self._texts[node]), "drops": True})

    def rename(self, node: str, name: str) -> None:
        """Note that a node gets another name, and so do the nodes below it."""
        path = f"{node.rpartition('/')[0]}/{name}"
        for old in [each for each in self._texts if each == node or each.startswith(f"{node}/")]:
            self._texts[path + old.removeprefix(node)] = self._texts.pop(old)
        self._pages.post({"is": "renamed", "node": node, "to": path})

    def follow_document(self) -> None:
        """Take texts that undo, redo or an edit has changed. Those that the user has not agreed to wait."""
        authored = self._outline.texts
        for node in self._texts.keys() - authored.keys():
            del self._texts[node]
        for node, own in self._texts.items():
            text = with_line_feeds(authored[node])
            if own.newest == text:
                continue
            update = Update("", own.shared.whole(text))
            own.shared.add([update], text)
            self._pages.post(_typed_message(node, own, [update]))
            own.held = None
            own.waits = "" if self._agreements.has(node, text) else why_it_waits(text)
            if not own.waits:
                self._run(node, own)
            self._tell(node)

    def follow_bundles(self, edits: list[dict[str, Any]]) -> None:
        """Let the engine tell anew what the texts of connected nodes need: members of bundles are parameters."""
        ends = [edit.get("node") or edit["target"] for edit in edits if edit["do"] in ("connect", "insert")]
        connected = {end.partition(".")[0] for end in ends}
        for node in self._outline.nodes if connected else ():
            takes_bundle = any(port["type"] == "bundle" for port in node["ports"])
            if node["path"] in connected and node["code"] is not None and takes_bundle:
                own = self.of(node["path"])
                own.sent = -1 if self._agreements.has(node["path"], own.newest) else own.sent
        self.next()

    # To the engine.

    def next(self) -> None:
        """Give the engine the next new text, one at a time."""
        if self._at_work is not None or not self._evaluation.is_running:
            return
        for node, own in self._texts.items():
            if own.is_due:
                self._at_work = node
                self._evaluation.ask(do="signature", node=node, text=own.newest, revision=own.revision)
                return

    def take_signature(self, header: dict[str, Any]) -> None:
        """Give a node the attributes that its text needs, and let the engine run the text."""
        node, own = header["node"], self._texts.get(header["node"])
        self._at_work = None
        self._evaluation.answered()
        if own is not None and header["revision"] == own.revision and not own.waits:
            own.removed = header["removed"]
            edits = [{"do": "attribute", "node": node, **added} for added in header["added"]]
            try:
                if edits:
                    self.edit(edits, "edit code", f"code:{node}")
            except EditError as error:
                own.sent = own.revision
                return self._pages.refuse(str(error))
            self._run(node, own)
        return self.next()

    def _run(self, node: str, own: Text) -> None:
        """Let the engine run the newest text of a node."""
        own.running, own.sent = own.newest, own.revision
        self._agreements.typed(node, own.newest)
        self._evaluation.send(do="code", node=node, text=own.newest)
        self._evaluation.touch()

    def failed(self, header: dict[str, Any]) -> None:
        """Note that the engine could not do what it was asked for."""
        self._at_work = None

    def take_reports(self, reports: list[dict[str, Any]]) -> None:
        """Take what nodes tell about their texts after a frame."""
        for report in reports:
            if report["status"] and self._is_text(report["path"]):
                self._take_report(report)

    def _take_report(self, report: dict[str, Any]) -> None:
        own, state = self.of(report["path"]), report["status"].get("state")
        if state == "compiling" or own.sent not in (-1, own.revision):
            return
        if not report["failed"] and state == "compiled" and own.sent == own.revision and not own.waits:
            own.good = own.newest
        before = (own.status.get("state"), own.status.get("compile_ms"), own.diagnostics)
        own.status, own.diagnostics = report["status"], report["diagnostics"]
        if before != (state, own.status.get("compile_ms"), own.diagnostics):
            self._tell(report["path"])

    def _is_text(self, node: str) -> bool:
        origins = {code["node"]: code["origin"] for code in self._agreements.codes}
        return node in self._texts or origins.get(node) == "inputs:codeStr"

    # After a crash.

    def engine_gone(self, number: int, was_stopped: bool) -> None:
        """Start a new engine after a crash, without the texts that may have caused it."""
        suspects = [n for n, own in self._texts.items() if not own.is_good or own.sent != own.revision]
        suspects = [n for n in suspects if not self._texts[n].waits]
        suspects = suspects or sorted(code["node"] for code in self._agreements.codes)
        blocked = set(suspects)
        for node in filter(self._is_text, suspects):
            own = self.of(node)
            own.held = own.newest
            own.waits = "it was stopped" if was_stopped else ENDED
            if own.good is not None and not own.is_good:
                own.running = own.good
                blocked.discard(node)
                self._agreements.again(node, own.good)
            self._tell(node)
        name = signal.Signals(number).name if number else "it left the process"
        self._evaluation.text = "stopped" if was_stopped else f"the engine crashed ({name})"
        self._evaluation.suspects = suspects
        self._evaluation.is_blocked = bool(blocked)
        self.restart()
        self._evaluation.start(self.running)

    def _clear_suspect(self, node: str) -> None:
        """A text that ended the engine has been changed."""
        evaluation = self._evaluation
        if node not in evaluation.suspects:
            return
        was_blocked, evaluation.is_blocked = evaluation.is_blocked, False
        evaluation.suspects = [] if was_blocked else [each for each in evaluation.suspects if each != node]
        evaluation.set_state("ready" if evaluation.state == "crashed" else evaluation.state)
        if was_blocked:
            self._agreements.tell()

    def run_again(self) -> None:
        """Run texts that were held back after a crash once more, or start an engine if the last one did not start."""
        evaluation = self._evaluation
        if evaluation.is_gone:
            evaluation.text = ""
            return evaluation.start(self.running)
        for node, own in self._texts.items():
            if own.held is not None:
                own.held, own.sent, own.waits = None, -1, ""
                own.good = own.good if node in evaluation.suspects else own.newest
        evaluation.suspects, evaluation.text, evaluation.is_blocked = [], "", False
        evaluation.set_state("ready" if evaluation.state == "crashed" else evaluation.state)
        self._agreements.tell()
        return self.next()

    # Messages.

    def _tell(self, node: str) -> None:
        self._pages.post(self._message(node))

    def _message(self, node: str) -> dict[str, Any]:
        own = self._texts[node]
        return {
            "is": "kernel", "node": node, "rev": own.revision, "waits": own.waits, "held": own.held is not None,
            "diagnostics": own.diagnostics, "status": own.status, "removed": own.removed,
        }  # fmt: skip


def _after(text: str, changes: list[Change]) -> str:
    """Return a text after some changes. Raises EditError."""
    try:
        for change in changes:
            text = changed(text, change)
    except (ValueError, TypeError, LookupError) as error:
        raise EditError(f"a change of the text cannot be understood: {error}") from None
    if len(text) > MOST_TEXT:
        raise EditError(f"the text has more than {MOST_TEXT} characters, so it is not taken")
    return text


def _text_message(node: str, own: Text) -> dict[str, Any]:
    return {"is": "text", "node": node, "text": own.newest, "rev": own.revision}


def _typed_message(node: str, own: Text, updates: list[Update]) -> dict[str, Any]:
    """Return the newest updates of a text, and the revision before them."""
    listed = [{"client": update.client, "changes": update.change} for update in updates]
    return {"is": "typed", "node": node, "rev": own.revision - len(updates), "updates": listed}
