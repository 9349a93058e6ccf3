"""Patterns of names as the prim nodes have them: words with `*` and `?`, and words after `^` that exclude."""

from __future__ import annotations

from functools import lru_cache


class Wildcards:
    """A list of patterns. A name fits if it fits one of them, and none of those that exclude.

    >>> fits = Wildcards("* ^face*").fits
    >>> fits("points"), fits("faceVertexCounts")
    (True, False)
    """

    def __init__(self, text: str):
        words = text.replace(",", " ").split()
        self._include = tuple(word for word in words if not word.startswith("^"))
        self._exclude = tuple(word[1:] for word in words if word.startswith("^"))

    def fits(self, name: str) -> bool:
        """True if the patterns allow the name."""
        return any(_fits(p, name) for p in self._include) and not any(_fits(p, name) for p in self._exclude)


@lru_cache(maxsize=1 << 14)
def _fits(pattern: str, name: str) -> bool:
    """True if a name fits one pattern. The steps are at most the product of the lengths, whatever the pattern."""
    at = after = 0  # in the pattern, and in the name
    star, resume = -1, 0  # the last *, and where the name goes on if it takes one letter more
    while after < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume, at = at, after, at + 1
        elif at < len(pattern) and pattern[at] in ("?", name[after]):
            at, after = at + 1, after + 1
        elif star >= 0:
            resume += 1
            at, after = star + 1, resume
        else:
            return False
    return not pattern[at:].strip("*")
