"""Room for deep recursion. The compiler walks expressions and statements recursively; long sums and `elif` chains nest
deeper than Python's usual limit allows.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import CompileError, Diagnostic

R = TypeVar("R")
FRAMES = 25_000
BYTES = 256 << 20  # of address space; only what is used becomes memory
ENOUGH = 1 << 20  # for all that does not recurse deeply, LLVM included

_lock = threading.Lock()  # the stack size and the recursion limit belong to the process


def roomy(action: Callable[[], R], subject: str) -> R:
    """Do `action`; if it recurses too deeply, again in a thread with a large stack. Where threads of the program have
    small ones, it is done there at once, as LLVM does not look whether there is room.

    Raises:
        CompileError: that was not enough either.
    """
    try:
        outcome = _in_large_thread(action) if 0 < threading.stack_size() < ENOUGH else action()
    except RecursionError:
        outcome = _in_large_thread(action)
    if isinstance(outcome, (RecursionError, MemoryError)):
        raise CompileError(subject, [Diagnostic("too-large", "the source is nested too deeply")])
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _in_large_thread(action: Callable[[], Any]) -> Any:
    """What `action` returns, or the exception it raises."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(action())
        except BaseException as e:
            outcome.append(e)

    with _lock:
        limit, size = sys.getrecursionlimit(), threading.stack_size(BYTES)
        sys.setrecursionlimit(max(limit, FRAMES))
        try:
            thread = threading.Thread(target=run, name="omni-warp-core-compiler")
            thread.start()
            thread.join()
        except RuntimeError:  # no memory for the stack
            return MemoryError()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    return outcome[0]
