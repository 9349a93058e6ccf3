"""Consent of the user to run texts, by SHA-256; some of it is remembered for later starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..nodes.kernel import consented_code
from ..nodes.scene.consent import Code, agreed_before
from .evaluation import Evaluation
from .pages import Pages


class Agreements:
    """The texts of one scene, and which of them may run.

    `codes` has what the engine told about them, and `is_known` is True once it has. `is_partial` lets some texts run
    while others wait for consent.
    """

    def __init__(self, pages: Pages, evaluation: Evaluation):
        self._pages, self._evaluation = pages, evaluation
        self.codes: list[dict[str, Any]] = []
        self.is_known = self.is_partial = False
        self._agreed: set[str] = agreed_before()
        self._typed: set[str] = set()  # digests of texts that the user typed here; a save remembers them
        self._is_saved = False

    def take(self, codes: list[dict[str, Any]]) -> None:
        """Take the texts as the engine has them."""
        self.codes, self.is_known = codes, True
        if self._is_saved:
            self._is_saved = False
            self.remember({code["digest"] for code in codes} & self._typed)

    @property
    def pending(self) -> list[dict[str, Any]]:
        """The texts that wait for consent."""
        return [code for code in self.codes if code["digest"] not in self._agreed]

    @property
    def agreed(self) -> list[str]:
        """The digests of the scene's texts that may run."""
        return [code["digest"] for code in self.codes if code["digest"] in self._agreed]

    def message(self) -> dict[str, Any]:
        """Return the message that asks for consent."""
        return {"is": "consent", "codes": self.pending, "partial": self.is_partial}

    def agree(self, digests: Iterable[str], is_remembered: bool, is_partial: bool) -> None:
        """Take the user's consent to run texts of the scene."""
        known = {code["digest"] for code in self.codes} & set(digests)
        self._agreed |= known
        self.is_partial = is_partial
        if is_remembered:
            self.remember(known)

    def tell(self) -> None:
        """Let the engine run what was agreed to, and ask the pages for the rest."""
        if not self._evaluation.is_blocked:
            self._evaluation.send(do="agree", digests=self.agreed, partial=self.is_partial)
        self._pages.post(self.message())
        self._evaluation.touch()

    def typed(self, node: str, text: str) -> None:
        """Note that the user typed a text, before the engine gets it: it runs, with the files it has now."""
        digest = self._digest(node, text)
        self._typed.add(digest)
        self._agreed.add(digest)
        self._evaluation.send(do="agree", digests=[digest], partial=self.is_partial)

    def has(self, node: str, text: str) -> bool:
        """True if a text may run in a node."""
        return self._digest(node, text) in self._agreed

    def again(self, node: str, text: str) -> None:
        """Note that a text runs that has run before."""
        self._agreed.add(self._digest(node, text))

    def _digest(self, node: str, text: str) -> str:
        """Return the digest of a text with the files that the node reads, which are as they were agreed to."""
        files: list[list[str]] = next((code["files"] for code in self.codes if code["node"] == node), [])
        return Code(node, "", text, True, tuple((name, path) for name, path in files)).digest

    def saved(self) -> None:
        """Remember the texts that the user typed, once the engine has told their digests."""
        self._is_saved = True
        self._evaluation.send(do="codes")

    def remember(self, digests: Iterable[str]) -> None:
        """Keep consent for later starts."""
        try:
            consented_code.remember(digests)
        except OSError as error:
            self._pages.refuse(f"the consent cannot be remembered: {error}")
