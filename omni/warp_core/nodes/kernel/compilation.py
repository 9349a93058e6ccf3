"""Compiling the text of a node, at once or in a thread while the node runs its last good program."""

from __future__ import annotations

import threading

from .diagnostics import ProgramError
from .program import Program, Request, build


class Compilation:
    """One request on its way to a program. Once `is_done`, either `program` or `error` has the result."""

    def __init__(self, request: Request, in_background: bool):
        self.request = request
        self.program: Program | None = None
        self.error: ProgramError | None = None
        self._done = threading.Event()
        if in_background:  # a daemon, as the text may run for ever when it is imported
            threading.Thread(target=self._run, name=f"compile {request.file}", daemon=True).start()
        else:
            self._run()

    def _run(self) -> None:
        try:
            self.program = build(self.request)
        except ProgramError as error:
            self.error = error
        finally:
            self._done.set()

    @property
    def is_done(self) -> bool:
        """True if there is a result."""
        return self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the result. Returns whether there is one."""
        return self._done.wait(seconds)
