r"""A kernel's text that several pages change at once: its revisions, and the changes that led to them.

A page sends its changes with the revision that they start from. If that is the newest one, they are taken, and all
pages get them. If it is not, the page has yet to get the changes of others: it rebases its own on them and sends them
again (`studio/src/code/shared_text.ts`). So every character that is typed arrives, and all pages have the same text.

A change is that of CodeMirror: a list of lengths to keep, and of lists [length to replace, line, line, ...]. Lengths
count UTF-16 units, as JavaScript does, and lines end with "\n".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

MOST_KEPT = 2000  # changes that a page can have missed without a connection

Change = Sequence[Any]


class Update(NamedTuple):
    """A change, and the page that made it; "" for one that no page has typed."""

    client: str
    change: Change


class SharedText:
    """A text with its newest revision. The first one is 0."""

    def __init__(self, text: str):
        self.text = with_line_feeds(text)
        self.revision = 0
        self._updates: list[Update] = []  # the newest ones, up to `revision`

    def add(self, updates: Sequence[Update], text: str) -> None:
        """Take updates of the newest revision, which make it `text`."""
        self.text = text
        self.revision += len(updates)
        self._updates += updates
        del self._updates[:-MOST_KEPT]

    def since(self, revision: int) -> list[Update] | None:
        """Return the updates after a revision, None if they are not known any more."""
        missed = self.revision - revision
        return self._updates[len(self._updates) - missed :] if 0 <= missed <= len(self._updates) else None

    def whole(self, text: str) -> Change:
        """Return the change that replaces everything by another text."""
        return [[_units(self.text) // 2, *with_line_feeds(text).split("\n")]]


def with_line_feeds(text: str) -> str:
    r"""Return a text whose lines end with "\n", as those of the editor.

    >>> with_line_feeds("a\r\nb\rc")
    'a\nb\nc'
    """
    return re.sub("\r\n?", "\n", text)


def changed(text: str, change: Change) -> str:
    r"""Return a text after a change. Raises ValueError for a change of another text.

    >>> changed("x = 1", [4, [1, "2", "y = 3"]])
    'x = 2\ny = 3'
    """
    units = text.encode("utf-16-le", "surrogatepass")
    parts, at = [], 0
    for section in change:
        kept, replaced, lines = (section, 0, []) if isinstance(section, int) else (0, section[0], section[1:])
        if kept < 0 or replaced < 0:
            raise ValueError("a length is negative")
        parts += [units[at : at + 2 * kept], "\n".join(lines).encode("utf-16-le", "surrogatepass")]
        at += 2 * (kept + replaced)
    if at != len(units):
        raise ValueError("the change is one of another text")
    return b"".join(parts).decode("utf-16-le")


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass"))
