"""Threads with large stacks: room for deep recursion, and for work in C that Ctrl-C must not wait for.

The compiler walks expressions and statements recursively; long sums and `elif` chains nest deeper than Python's usual
limit allows. LLVM runs in C for as long as it takes; signals are handled between two lines of Python only.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .. import _native
from .errors import CompileError, Diagnostic

R = TypeVar("R")
FRAMES = 25_000
BYTES = 256 << 20  # of address space; only what is used becomes memory
MIN_STACK_BYTES = 1 << 20  # for all that does not recurse deeply, LLVM included
POLL = 0.05  # seconds until a waiting thread handles signals, and exceptions that others have sent it

_starting = threading.Lock()  # the stack size belongs to the process
_deep = threading.Lock()  # so does the recursion limit
_thread = threading.local()  # `is_deep` in threads that have room already
_turn = threading.Lock()  # held while an interruptible action runs
# A child of fork lacks the thread of the action, whose locks would be taken for ever.
os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)


def with_large_stack(action: Callable[[], R], subject: str) -> R:
    """Do `action`; if it recurses too deeply, again in a thread with a large stack. Where threads of the program have
    small ones, it is done there at once, as LLVM does not look whether there is room.

    Raises:
        CompileError: that was not enough either.
        RecursionError: the caller is so deep that nothing can be called; one above it may have room.
    """
    if getattr(_thread, "is_deep", False):
        return action()
    try:
        if not 0 < threading.stack_size() < MIN_STACK_BYTES:
            return action()
    except RecursionError:
        pass
    with _deep:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit)  # raises RecursionError where it could not be set back
        sys.setrecursionlimit(max(limit, FRAMES))
        try:
            return in_thread(action)
        except (RecursionError, MemoryError):
            raise CompileError(subject, [Diagnostic("too-large", "the source is nested too deeply")]) from None
        finally:
            sys.setrecursionlimit(limit)


def in_thread(action: Callable[[], R]) -> R:
    """Do `action`, which is Python code, in a thread with a large stack."""
    work = Work(action)
    try:
        work.start()
        return work.result()
    except BaseException:
        work.cancel()
        raise


def interruptible(action: Callable[[], R]) -> R:
    """Return what `action` returns. It runs in another thread, one action at a time, so that Ctrl-C ends the wait for C
    code that takes long.

    The action then goes on to its end, and what it returns is dropped: it must not change anything that others use.
    """
    work = Work(action, _turn)
    try:
        try:
            work.start()
        except MemoryError:
            with _turn:
                return action()
        return work.result()
    except BaseException:
        work.abandon()
        raise


class Work(Generic[R]):
    """An action that a thread with a large stack does."""

    def __init__(self, action: Callable[[], R], lock: threading.Lock | None = None):
        self._action = action
        self._lock = lock or threading.Lock()
        self._is_abandoned = False
        self._outcome: R | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="omni-warp-core-compiler", daemon=True)

    def start(self) -> None:
        """Begin.

        Raises:
            MemoryError: there is no memory for the stack.
        """
        with _starting:
            size = threading.stack_size(BYTES)
            try:
                self._thread.start()
            except RuntimeError:
                raise MemoryError from None
            finally:
                threading.stack_size(size)

    def _run(self) -> None:
        _native.count_work(1)
        _thread.is_deep = True
        try:
            with self._lock:
                if not self._is_abandoned:
                    self._outcome = self._action()
        except BaseException as error:
            self._error = error
        finally:
            _native.count_work(-1)
            self._done.set()

    def result(self) -> Any:
        """Wait, and return what the action returns or raise what it raises."""
        while not self._done.wait(POLL):
            pass
        if self._error is not None:
            raise self._error
        return self._outcome

    def cancel(self) -> None:
        """End an action that is Python code, and wait until it has ended."""
        self._is_abandoned = True
        if self._thread.ident is not None and not self._done.is_set():
            _native.raise_in_thread(self._thread.ident, KeyboardInterrupt)
            self._thread.join()

    def abandon(self) -> None:
        """Let the action go on alone, or not begin. If it still runs when the process ends, it is not waited for."""
        self._is_abandoned = True
        _native.end_without_destructors()
