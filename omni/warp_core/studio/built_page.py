"""The page of the studio as `make studio` builds it, and whether it is that of the source in a checkout.

A page of other sources speaks another language than the server: what is typed there would be lost.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

PAGE = Path(__file__).with_name("page")
SOURCE = Path(__file__).parents[3] / "studio"  # in a checkout
_ROOT_FILES = ("index.html", "package-lock.json", "vite.config.ts")
_DIGEST = "source.sha256"


def problem(page: Path = PAGE, source: Path = SOURCE) -> str:
    """Return why the page cannot be used, "" if it can."""
    if not (page / "index.html").is_file():
        return "this installation has no page of the studio; in a checkout, run: make studio"
    built = page / _DIGEST
    if (source / "package-lock.json").is_file() and not (built.is_file() and built.read_text() == digest(source)):
        return f"the page of the studio was built from another state of {source}; run: make studio"
    return ""


def stamp(page: Path = PAGE, source: Path = SOURCE) -> None:
    """Note from which source the page was built."""
    (page / _DIGEST).write_text(digest(source))


def digest(source: Path) -> str:
    """Return the SHA-256 of the files that the page is built from, with their names."""
    files = [source / name for name in _ROOT_FILES] + sorted(p for p in (source / "src").rglob("*") if p.is_file())
    states = [(file, file.stat()) for file in files]
    return _digest(source, tuple((file, state.st_mtime_ns, state.st_size) for file, state in states))


@cache
def _digest(source: Path, files: tuple[tuple[Path, int, int], ...]) -> str:
    """Return what `digest` does. The page asks at each load, and reads files again only where one has changed."""
    found = hashlib.sha256()
    for file, _, _ in files:
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        found.update(f"{file.relative_to(source).as_posix()}\0{content}\0".encode())
    return found.hexdigest()
