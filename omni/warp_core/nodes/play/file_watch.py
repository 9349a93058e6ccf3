"""Waiting until a file changes: its signature says so, which is its time, its size and its number on the disk.

A play tells in a pipe or file which files it read (`tell`), and the process that started it waits (`wait_for_change`).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

Signature = tuple[int, int, int] | None  # None: there is no such file
_PAUSE = 0.2  # seconds between two looks
_MOST_FILES = 10_000


def signature(path: str) -> Signature:
    """Return what changes with a file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def signatures(paths: Iterable[str]) -> dict[str, Signature]:
    """Return the signatures of files."""
    return {path: signature(path) for path in paths}


def files_below(folder: str) -> list[str]:
    """Return the node types in a folder: descriptions and Python files."""
    found = (str(path) for path in sorted(Path(folder).rglob("*")) if path.suffix in (".ogn", ".py", ".toml"))
    return [path for path, _ in zip(found, range(_MOST_FILES), strict=False)]


def tell(file: IO[str], paths: Iterable[str]) -> None:
    """Write the signatures of the files that a play reads."""
    file.write(json.dumps(signatures(dict.fromkeys(paths))))
    file.flush()


def told(file: IO[str]) -> dict[str, Signature]:
    """Read what `tell` wrote; nothing if the play did not come so far."""
    file.seek(0)
    try:
        return {path: tuple(values) if values else None for path, values in json.load(file).items()}
    except ValueError:
        return {}


def wait_for_change(before: dict[str, Signature]) -> list[str]:
    """Wait until a file differs from its signature and is at rest again. Returns the files that differ."""
    last = before
    while True:
        now = signatures(before)
        changed = [path for path in before if now[path] != before[path]]
        if changed and now == last and all(now[path] is not None for path in changed):
            return changed
        last = now
        time.sleep(_PAUSE)
