"""The texts of kernels on their way: from the pages to the document and the engine, and what became of them.

The newest text of a node goes to the engine, one node at a time, if it may run. The engine tells its signature, from
which missing attributes follow, and compiles it. The last text that worked runs on meanwhile.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

from .agreements import Agreements
from .editing.document import Document
from .editing.edits import MOST_TEXT, EditError
from .editing.outline import Outline
from .evaluation import Evaluation
from .live_text import why_it_waits
from .pages import Page, Pages

ENDED = "it ended the engine when it ran"


@dataclass
class Text:
    """A kernel's text: the newest one, the one that the engine has, and the last one that worked."""

    newest: str = ""
    revision: int = 0  # counts the page's changes of the text
    page: Page | None = None  # the one in which it was typed
    sent: int = 0  # the revision that the engine has
    good: str | None = None
    waits: str = ""  # why the newest text does not run by itself
    held: str | None = None  # a text that crashed or was stopped
    diagnostics: list[dict[str, Any]] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)

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
        self.edit: Any = None

    def clear(self) -> None:
        """Forget all texts: the document has others now."""
        self._texts.clear()

    def restart(self) -> None:
        """Note that a new engine has no text at work."""
        self._at_work = None

    def attach(self, page: Page) -> None:
        """Tell a new page about all texts; the document lacks those that wait."""
        for node, own in self._texts.items():
            page.post(_text_message(node, own))
            page.post(self._message(node))

    def of(self, node: str) -> Text:
        """Return the text of a node. Raises EditError if it has none that can be edited."""
        if node not in self._texts:
            authored = self._outline.texts
            if node not in authored:
                raise EditError(f"{node} has no text that can be edited here")
            self._texts[node] = Text(authored[node], good=authored[node])
        return self._texts[node]

    @property
    def waiting(self) -> dict[str, str]:
        """The texts that wait, which are not in the document yet; a save writes them too."""
        return {node: own.newest for node, own in self._texts.items() if own.waits}

    # From the pages.

    def take(self, page: Page, node: str, text: str, revision: int, run: bool) -> None:
        """Take the newest text of a node. It runs if it is harmless, or if the user says so. Raises EditError."""
        if any(code["node"] == node for code in self._agreements.pending):
            raise EditError(f"agree to run the text of {node} before you change it")
        if len(text) > MOST_TEXT:
            raise EditError(f"the text has more than {MOST_TEXT} characters, so it is not taken")
        own = self.of(node)
        is_late = own.page not in (None, page) and revision <= own.revision  # another page was faster
        own.newest, own.revision, own.page = text, own.revision + 1 if is_late else revision, page
        own.waits = "" if run else ENDED if text == own.held else why_it_waits(text)
        if not own.waits:
            own.held = None
            self._clear_suspect(node)
            self.next()
        self._pages.post(_text_message(node, own), but=None if is_late else page)
        self._tell(node)

    def follow_document(self) -> None:
        """Take texts that undo, redo or the disk has changed."""
        for node, text in self._outline.texts.items():
            own = self._texts.get(node)
            if own is None or own.waits or own.held is not None or own.newest == text or own.sent != own.revision:
                continue
            own.newest, own.revision = text, own.revision + 1
            own.sent = own.revision
            self._pages.post(_text_message(node, own))

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
        """Put a text into the document, with the attributes that it needs, and let the engine run it."""
        node, own = header["node"], self._texts.get(header["node"])
        self._at_work = None
        self._evaluation.answered()
        if own is not None and header["revision"] == own.revision and not own.waits:
            edits: list[dict[str, Any]] = [{"do": "code", "node": node, "text": own.newest}]
            edits += [{"do": "attribute", "node": node, **added} for added in header["added"]]
            own.sent, own.removed = own.revision, header["removed"]
            self._agreements.typed(node, own.newest)
            try:
                self.edit(edits, "edit code", f"code:{node}")
            except EditError as error:
                return self._pages.refuse(str(error))
            if header["added"]:  # the engine has read the graphs anew
                self._evaluation.send(do="code", node=node, text=own.newest)
        return self.next()

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
        suspects = [n for n, own in self._texts.items() if own.newest != own.good or own.sent != own.revision]
        suspects = [n for n in suspects if not self._texts[n].waits]
        suspects = suspects or sorted(code["node"] for code in self._agreements.codes)
        texts = {}
        for node in filter(self._is_text, suspects):
            own = self.of(node)
            own.held = own.newest
            own.waits = "it was stopped" if was_stopped else ENDED
            if own.good is not None and own.good != own.newest:
                texts[node] = own.good
                self._agreements.again(node, own.good)
            self._tell(node)
        name = signal.Signals(number).name if number else "it left the process"
        self._evaluation.text = "stopped" if was_stopped else f"the engine crashed ({name})"
        self._evaluation.suspects = suspects
        self._evaluation.is_blocked = any(node not in texts for node in suspects)
        self.restart()
        self._evaluation.start(texts)

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
            return evaluation.start()
        for node, own in self._texts.items():
            if own.held is not None:
                own.newest, own.held, own.sent, own.waits = own.held, None, -1, ""
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


def _text_message(node: str, own: Text) -> dict[str, Any]:
    return {"is": "text", "node": node, "text": own.newest, "rev": own.revision}
