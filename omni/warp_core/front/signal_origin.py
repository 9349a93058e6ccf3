"""Exceptions that handlers of signals raise, such as a time limit set by `signal.alarm`.

Python runs a handler between any two steps of the main thread, so that its exception may appear in the midst of a
compilation. It is the program's, not a mistake of the compiler.
"""

from __future__ import annotations

import functools
import signal
from types import CodeType
from typing import Any

__all__ = ["raised_by_a_handler"]


def raised_by_a_handler(error: BaseException) -> BaseException | None:
    """What a handler of a signal has raised, if the error is that or has come of it. The handler is installed still."""
    handlers = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    found: BaseException | None = error
    while found is not None and not _passes(found, handlers):
        found = found.__cause__ or found.__context__
    return found


def _passes(error: BaseException, codes: set[Any]) -> bool:
    """True if an error has been raised in some code, or in what that has called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code not in codes:
        trace = trace.tb_next
    return trace is not None


def _code_of(handler: Any) -> CodeType | None:
    """The code that a handler runs: of a function, a method, a partial function, or an object with `__call__`."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    handler = getattr(handler, "__func__", handler)
    code = getattr(handler, "__code__", None)
    return code or getattr(getattr(type(handler), "__call__", None), "__code__", None)  # noqa: B004
