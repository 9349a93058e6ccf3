"""Where a result is written before it is whole: beside its target, under a name that tells which process writes it."""

from __future__ import annotations

import os


def unfinished(path: str, process: int | None = None) -> str:
    """The name of the unfinished file for the result at `path`, written by `process` (default: this one).

    >>> unfinished("/tmp/out.usdc", 7)
    '/tmp/.out.7.part.usdc'
    """
    folder, name = os.path.split(os.path.abspath(path))
    stem, extension = os.path.splitext(name)
    return os.path.join(folder, f".{stem}.{process or os.getpid()}.part{extension}")
