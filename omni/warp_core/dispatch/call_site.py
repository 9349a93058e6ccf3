"""Where a program calls this package: `here` finds it among the frames that run."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import NamedTuple

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


class CallSite(NamedTuple):
    """A call into this package: of which function, and from where."""

    called: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def short(self) -> str:
        """Without the folder."""
        return f"{os.path.basename(self.file)}:{self.line}"


def here(called: str = "") -> CallSite:
    """The call into this package that is going on; `called` if native code was called."""
    frame: FrameType = sys._getframe(1)
    known = called
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        called, frame = frame.f_code.co_name, frame.f_back
    return CallSite(known or called.strip("_"), frame.f_code.co_filename, frame.f_lineno)


def code_of(error: BaseException) -> list[CodeType]:
    """Return the code of the functions that an exception left, the one that raised it last.

    `traceback.walk_tb` finds them, too, but importing it takes half a millisecond of every program.
    """
    found, at = [], error.__traceback__
    while at is not None:
        found.append(at.tb_frame.f_code)
        at = at.tb_next
    return found
