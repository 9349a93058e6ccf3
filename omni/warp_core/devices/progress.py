"""A progress bar for what takes long."""

from __future__ import annotations

import importlib.util
import sys
import time
from typing import Any, ClassVar

SHOW_AFTER_SECONDS = 1.0  # seconds


class Bar:
    """Shows on the error stream how much of `total` is done while its `with` block runs.

    `shown` says whether; None means after a second, if that is a terminal and the package rich is there. Of bars inside
    of each other only the first to show is shown.
    """

    _on_screen: ClassVar[Bar | None] = None

    def __init__(self, what: str, total: int, shown: bool | None = None):
        self._what, self._total, self._done = what, total, 0
        self._shown, self._due = shown, float("inf")
        self._bar: Any = None

    def __enter__(self) -> Bar:
        if self._shown is None:
            self._due = time.monotonic() + SHOW_AFTER_SECONDS
        elif self._shown:
            self._start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            Bar._on_screen = None

    def advance(self, by: int = 1) -> None:
        """Report that `by` more are done."""
        self._done += by
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        elif self._due < time.monotonic():
            self._due = float("inf")
            if sys.stderr is not None and sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
                self._start()

    def _start(self) -> None:
        if Bar._on_screen is not None:
            return
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress

        Bar._on_screen = self
        columns = (*Progress.get_default_columns(), MofNCompleteColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._what, total=self._total, completed=self._done)
        self._bar.start()
