"""Open pages of the studio: where to send messages, which frames they have room for, and what they have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .frame_store import Frame, View

MOST_CREDITS = 2


@dataclass(eq=False)
class Page:
    """One open page: where to send messages, its credits, and what it has."""

    post: Callable[[dict[str, Any]], None]
    credits: int = 0
    view: View = field(default_factory=View)
    records: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    is_behind: bool = True

    def grant(self, count: int) -> None:
        """Note that the page has room for more frames."""
        self.credits = min(MOST_CREDITS, self.credits + count)

    def show(self, frame: Frame, header: dict[str, Any]) -> None:
        """Send a frame if the page has room for it and has not got it yet."""
        if self.credits > 0 and self.is_behind:
            self.credits -= 1
            self.is_behind = False
            self.records.put_nowait(self.view.record(frame, header))


class Pages:
    """All open pages."""

    def __init__(self) -> None:
        self._open: set[Page] = set()

    def __iter__(self) -> Iterator[Page]:
        return iter(self._open)

    def add(self, page: Page) -> None:
        """Let a page take part."""
        self._open.add(page)

    def remove(self, page: Page) -> None:
        """Forget a page that is closed."""
        self._open.discard(page)

    def post(self, message: dict[str, Any], but: Page | None = None) -> None:
        """Send a message to all pages, or to all others than one."""
        for page in self._open:
            if page is not but:
                page.post(message)

    def refuse(self, text: str) -> None:
        """Tell all pages a sentence about a request that was not done."""
        self.post({"is": "refused", "text": text})

    @property
    def have_room(self) -> bool:
        """True if at least one page has room for a frame."""
        return any(page.credits > 0 for page in self._open)

    def show(self, frame: Frame, header: dict[str, Any]) -> None:
        """Send a frame to all pages; those without room get it later."""
        for page in self._open:
            page.is_behind = True
            page.show(frame, header)
