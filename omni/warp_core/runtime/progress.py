"""A progress bar for what takes long."""

from __future__ import annotations

from typing import Any


class Bar:
    """Shows how much of `total` is done while its `with` block runs, if `shown`; that takes the package rich."""

    def __init__(self, what: str, total: int, shown: bool):
        self._bar: Any = None
        if shown:
            from rich.progress import MofNCompleteColumn, Progress

            self._bar = Progress(*Progress.get_default_columns(), MofNCompleteColumn(), transient=True)
            self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, by: int = 1) -> None:
        """Note that `by` more are done."""
        if self._bar is not None:
            self._bar.update(self._task, advance=by)
