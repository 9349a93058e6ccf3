"""The hub of the server: takes the messages of pages, and joins the document, the engine, and the texts of kernels.

Everything here runs in one event loop. Each message `x` of a page is a method `on_x`. The parts that it joins:
`evaluation.py` (the engine and its frames), `kernel_texts.py`, `agreements.py` (consent), `outline.py` (the document as
pages see it), `pages.py`.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import Any

from ..usd.stage import StageError
from .agreements import Agreements
from .baking import Baking
from .editing import sample_scenes
from .editing.document import Document, Patch
from .editing.editor import EditError
from .editing.journal import Journal
from .editing.outline import Outline
from .editing.scene_description import node_types, presets
from .engine_process import EngineOptions
from .evaluation import Evaluation
from .investigation import Investigation
from .kernel_names import kernel_names
from .kernel_texts import KernelTexts
from .pages import Page, Pages
from .shared_text import Update

WATCH = 0.5  # seconds between two looks at the files
VERSION = 3  # of the protocol


class Hub:
    """One scene and its pages. Call `start` in the event loop."""

    def __init__(self, document: Document, options: EngineOptions):
        self.document, self.pages = document, Pages()
        self.outline = Outline(document)
        self.journal = self._open_journal()
        self.found_edits = self.journal.found()
        self.evaluation = Evaluation(document, options, self.pages)
        self.agreements = Agreements(self.pages, self.evaluation)
        self.texts = KernelTexts(document, self.outline, self.pages, self.evaluation, self.agreements)
        self.texts.edit = self._edit
        self.evaluation.reported = self.texts.take_reports
        self.evaluation.gone = self.texts.engine_gone
        self.evaluation.answers = {
            "opened": self._opened,
            "signature": self.texts.take_signature,
            "failed": self.texts.failed,
        }
        self.investigation = Investigation(document, self.pages, options)
        self.baking = Baking(self.pages, options)
        self.disk_changed = self.follows = False
        self._tasks: list[asyncio.Task] = []

    async def start(self) -> None:
        """Start the engine and the watches."""
        self.evaluation.start()
        self._tasks = [asyncio.create_task(self.evaluation.watch()), asyncio.create_task(self._watch_files())]

    async def stop(self) -> None:
        """End the engine."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self.evaluation.close()
        self.investigation.close()
        self.baking.stop()
        self.journal.close()

    # Pages.

    def attach(self, page: Page, epoch: int = -1, texts: dict[str, int] | None = None) -> None:
        """Let a page take part: it gets everything there is to know.

        A page that was here before has revisions of `texts`, by node, and the `epoch` that they belong to.
        """
        self.pages.add(page)
        evaluation = self.evaluation
        page.post(
            {
                "is": "welcome", "version": VERSION, "types": node_types(self.document.registry),
                "presets": presets(), "epoch": self.texts.epoch,
            }
        )  # fmt: skip
        for message in (
            self.outline.message(), evaluation.timeline_message(), evaluation.state_message(),
            evaluation.log_message(), self._disk(),
        ):  # fmt: skip
            page.post(message)
        if self.agreements.is_known:
            page.post(self.agreements.message())
        self.texts.attach(page, texts or {} if epoch == self.texts.epoch else {})
        if self.document.is_new and not self.document.revision:
            page.post(
                {"is": "samples", "samples": sample_scenes.listed(), "folder": os.path.dirname(self.document.path)}
            )
        if self.journal.others:
            page.post({"is": "others", "open": True})
        if self.found_edits:
            page.post({"is": "recover", "count": len(self.found_edits), "old": self.journal.is_old})

    def detach(self, page: Page) -> None:
        """Forget a page that is closed."""
        self.pages.remove(page)

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
            page.post(self.outline.message())
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            page.post({"is": "refused", "text": f"the message {name!r} cannot be understood: {error}"})

    def on_credit(self, page: Page, count: int = 1) -> None:
        """Note that a page has room for frames."""
        self.evaluation.grant(page, int(count))

    def on_doc(self, page: Page) -> None:
        """Send the whole document: the page has missed a change."""
        page.post(self.outline.message())

    def on_edit(self, page: Page, ops: list[dict[str, Any]], label: str = "edit") -> None:
        """Edit the document as one step of undo."""
        self._edit(ops, label)

    def on_undo(self, page: Page) -> None:
        """Take a step back."""
        self._take(self.document.undo())

    def on_redo(self, page: Page) -> None:
        """Do a step again."""
        self._take(self.document.redo())

    def on_param(self, page: Page, path: str, value: Any) -> None:
        """Show the value of an input while the user drags; an `edit` follows when the drag ends."""
        self.evaluation.send(do="value", path=path, value=value)
        self.evaluation.touch()

    def on_type(
        self, page: Page, node: str, epoch: int, rev: int, client: str, changes: list[Any], run: bool = False
    ) -> None:
        """Take what was typed into revision `rev` of a text, unless the page has yet to get newer revisions."""
        if epoch != self.texts.epoch or node not in self.outline.texts or rev != self.texts.of(node).revision:
            return
        try:
            self.texts.take(node, [Update(str(client), change) for change in changes], bool(run))
        except EditError:
            self.texts.reject(page, node)
            raise

    def on_code(self, page: Page, node: str, text: str, run: bool = False) -> None:
        """Take another text for a node in place of its own. It runs if it is harmless, or if the user says so."""
        own = self.texts.of(node).shared
        self.texts.take(node, [Update("", own.whole(text))], bool(run))

    def on_trust(self, page: Page, digests: list[str], remember: bool = False, partial: bool = False) -> None:
        """Take the user's consent to run texts."""
        self.agreements.agree(digests, remember, partial)
        self.agreements.tell()

    def on_play(self, page: Page) -> None:
        """Play from the current frame on."""
        self.evaluation.playback.play(time.monotonic())
        self.evaluation.changed_timeline()

    def on_pause(self, page: Page) -> None:
        """Stay at the current frame."""
        playback = self.evaluation.playback
        playback.playing, playback.target = False, self.evaluation.store.newest.number
        self.evaluation.changed_timeline()

    def on_seek(self, page: Page, frame: int) -> None:
        """Show a frame; play goes on from there."""
        self.evaluation.playback.seek(int(frame))
        self.evaluation.changed_timeline()

    def on_timeline(self, page: Page, loop: bool, speed: float) -> None:
        """Take how to play."""
        self.evaluation.playback.set(bool(loop), float(speed))
        self.evaluation.changed_timeline()

    def on_rows(self, page: Page, path: str, first: int = 0, count: int = 200) -> None:
        """Ask for rows of an array; all pages get them."""
        self.evaluation.send(do="rows", path=path, first=max(0, int(first)), count=int(count))

    def on_stop(self, page: Page) -> None:
        """End an engine that is busy. The text that it ran is held back."""
        self.evaluation.stop()

    def on_again(self, page: Page) -> None:
        """Run texts that were held back after a crash once more."""
        self.texts.run_again()

    def on_why(self, page: Page, node: str) -> None:
        """Run the newest text of a node once with every access checked, and tell the line and values of a mistake."""
        if any(code["node"] == node for code in self.agreements.pending):
            raise EditError(f"agree to run the text of {node} first")
        frame = self.evaluation.playback.target
        texts = {**self.texts.running, node: self.texts.of(node).newest}
        self.investigation.start(node, texts, frame, self.agreements.agreed)

    def on_save(self, page: Page) -> None:
        """Write the file."""
        self.document.save()
        self.journal.clear(self.document.digest())
        self.disk_changed = False
        self.agreements.saved()
        self.pages.post(self._disk())
        self.pages.post(self.outline.state_message())

    def on_compare(self, page: Page) -> None:
        """Send how the edited scene differs from the file on disk."""
        page.post({"is": "differences", "lines": self.document.differences()})

    def on_names(self, page: Page) -> None:
        """Send the names of the kernel language, for the editor."""
        page.post({"is": "names", "names": kernel_names()})

    def on_bake(self, page: Page, stop: bool = False) -> None:
        """Play the saved scene into a file with time samples, or end that."""
        if stop:
            return self.baking.stop()
        if self.document.is_edited or self.document.changed_files():
            raise EditError("save the scene first; Bake plays the file as it is on disk")
        if self.agreements.pending:
            raise EditError("agree to run the texts of the scene first")
        return self.baking.start(self.document.path, self.agreements.agreed)

    def on_sample(self, page: Page, name: str) -> None:
        """Copy a sample scene to the folder of a new scene, and open the copy."""
        if not self.document.is_new or self.document.revision:
            raise EditError("a sample can only take the place of a new scene without edits")
        self.document.become(sample_scenes.copy_to(name, os.path.dirname(self.document.path)))
        self.journal.close()
        self.journal = self._open_journal()
        self._show_other_files()

    def on_reload(self, page: Page, follow: bool = False) -> None:
        """Take the files as they are on disk."""
        self.follows = bool(follow)
        self._reload()

    def on_keep(self, page: Page) -> None:
        """Keep the edits although the files have changed: the next save writes over them."""
        self.document.note_files()
        self.disk_changed = False
        self.pages.post(self._disk())

    def on_recover(self, page: Page, take: bool) -> None:
        """Take or drop the edits of a server that was killed."""
        found, self.found_edits = self.found_edits, []
        if take:
            self.texts.clear()
            for patch in found:
                self._give(patch)
                self.document.apply(patch)
                self.journal.add(patch)
            self._post_fresh()
        else:
            self.journal.clear(self.document.digest())
        self.pages.post({"is": "recover", "count": 0, "old": False})
        self._renew()

    # The document.

    def _open_journal(self) -> Journal:
        return Journal.open(os.path.realpath(self.document.path), self.document.digest())

    def _edit(self, edits: list[dict[str, Any]], label: str, key: str = "") -> None:
        patch = self.document.edit(edits, label, key)
        for edit in edits:
            if edit["do"] == "rename":
                self.texts.rename(edit["node"], edit["name"])
        self._take(patch)
        self.texts.follow_bundles(edits)

    def _take(self, patch: Patch | None) -> None:
        """Pass an edit on to the journal, the engine and the pages."""
        if patch is None:
            return
        self.journal.add(patch)
        message = self.outline.changed(patch)
        self.texts.follow_document()
        self._give(patch)
        self.pages.post(message)

    def _give(self, patch: Patch) -> None:
        """Let the engine have an edit. Texts that wait do not run there, although the document has them."""
        texts = {} if patch.is_quiet else self.texts.running
        self.evaluation.send(do="patch", paths=list(patch.paths), text=patch.text, is_quiet=patch.is_quiet, texts=texts)
        for path, value in patch.values:
            self.evaluation.send(do="value", path=path, value=value)
        if patch.values or not patch.is_quiet:
            self.evaluation.touch()

    def _post_fresh(self) -> None:
        """Let the pages forget all texts."""
        self.pages.post({"is": "fresh", "epoch": self.texts.epoch})

    def _renew(self) -> None:
        """Tell the pages everything about the document anew."""
        self.outline.renew()
        self.texts.follow_document()
        self.pages.post(self.outline.message())

    def _opened(self, header: dict[str, Any]) -> None:
        self.agreements.take(header["codes"])
        self.agreements.tell()
        self.evaluation.changed_timeline()
        self.texts.next()

    # Files.

    def _reload(self) -> None:
        self.document.reload()
        self.journal.clear(self.document.digest())
        self._show_other_files()
        self.pages.post({"is": "reloaded"})

    def _show_other_files(self) -> None:
        """Begin anew with the files that the document has now."""
        self.texts.clear()
        self.texts.restart()
        self.disk_changed = False
        self.pages.post(self._disk())
        self._post_fresh()
        self._renew()
        self.evaluation.start()

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(WATCH)
            if self.disk_changed or not self.document.changed_files():
                continue
            if self.document.is_edited and not self.follows:
                self.disk_changed = True
                self.pages.post(self._disk())
                continue
            try:
                self._reload()
            except StageError as error:
                self.document.note_files()
                self.pages.refuse(f"the file has changed on disk, but cannot be read: {error}")

    def _disk(self) -> dict[str, Any]:
        return {"is": "disk", "changed": self.disk_changed, "follows": self.follows}
