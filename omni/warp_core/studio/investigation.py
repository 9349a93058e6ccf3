"""Find out why a text ended the engine or failed: run it once with every access checked, in an engine of its own.

The engine of the investigation may crash or hang too; the studio goes on meanwhile. Start with `Investigation.start`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ..nodes.scene.consent import Code
from .editing.document import Document
from .engine_process import EngineOptions, EngineProcess
from .pages import Pages
from .records import Blob

MOST_SECONDS = 60.0


class Investigation:
    """One run of the text of a node in debug mode, from the first frame up to a given one."""

    def __init__(self, document: Document, pages: Pages, options: EngineOptions):
        self._document, self._pages, self._options = document, pages, options
        self._engine: EngineProcess | None = None
        self._node = self._text = ""
        self._frame = 1
        self._agreed: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def start(self, node: str, texts: dict[str, str], frame: int, agreed: list[str]) -> None:
        """Run the text of `node`, beside the other texts of the scene that have the digests `agreed`.

        `texts` has the text of the node, and those of nodes that run others than the document has.
        """
        self.close()
        self._node, self._text, self._frame, self._agreed = node, texts[node], frame, agreed
        self._engine = EngineProcess(self._receive, self._gone, "debug")
        layer = self._document.layer.ExportToString() if self._document.is_edited else ""
        self._engine.send(do="open", path=self._document.path, text=layer, texts=texts, **self._options.request())
        self._timer = asyncio.get_running_loop().call_later(MOST_SECONDS, self._late)
        self._tell(True)

    def close(self) -> None:
        """End a run that goes on."""
        if self._timer is not None:
            self._timer.cancel()
        if self._engine is not None:
            self._engine.close()
        self._engine = self._timer = None

    def _receive(self, header: dict[str, Any], blobs: list[Blob]) -> None:
        assert self._engine is not None
        if header["is"] == "opened":
            own = [Code(c["node"], "", self._text, True, _pairs(c["files"])) for c in header["codes"]]
            typed = [code.digest for code in own if code.node == self._node]
            self._engine.send(do="agree", digests=[*self._agreed, *typed], partial=True)
            self._engine.send(do="frame", frame=self._frame, again=False, stamp=0)
        elif header["is"] == "compiled":
            self._engine.send(do="frame", frame=self._frame, again=False, stamp=0)
        elif header["is"] == "failed":
            self._end(f"The checked run failed: {header['text']}", [])
        elif header["is"] == "frame":
            self._take(next((r for r in header["nodes"] if r["path"] == self._node), None))

    def _take(self, report: dict[str, Any] | None) -> None:
        if report is None:
            self._end("The node is not there any more.", [])
        elif report["failed"]:
            self._end("The checked run stopped here.", report["diagnostics"])
        elif report["status"].get("state") != "compiling":
            self._end(f"The checked run found nothing wrong up to frame {self._frame}.", [])

    def _gone(self, number: int) -> None:
        self._end("The checked run ended the engine too, so no access to an array of a kernel is at fault.", [])

    def _late(self) -> None:
        self._end(f"The checked run did not end in {MOST_SECONDS:.0f} seconds: a loop may have no end.", [])

    def _end(self, note: str, diagnostics: list[dict[str, Any]]) -> None:
        self.close()
        self._tell(False, note, diagnostics)

    def _tell(self, runs: bool, note: str = "", diagnostics: list[dict[str, Any]] | None = None) -> None:
        self._pages.post(
            {
                "is": "found", "node": self._node, "text": self._text, "runs": runs, "note": note,
                "diagnostics": diagnostics or [],
            }
        )  # fmt: skip


def _pairs(files: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, path) for name, path in files)
