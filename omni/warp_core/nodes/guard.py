"""A process of its own for work that may never end or may crash: nothing can stop a kernel from inside its process.

`run` forks before anything large is loaded. The parent waits, asks the child to stop when it is asked itself, and kills
a child that does not listen.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

GRACE = 2.0  # seconds that a child has to stop by itself
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Ending:
    """How the child ended: its exit `code`, or the `signal` that ended it; `interrupted` if the parent was asked to."""

    code: int
    signal: int
    interrupted: bool


def run(task: Callable[[], int]) -> Ending:
    """Run `task` in a child whose exit code is its result; returns in the parent. SIGTERM asks the child to stop."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    child = os.fork()
    if child == 0:
        sys.exit(_in_child(task))
    stopped = _pass_on_stops(child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    status = os.waitpid(child, 0)[1]
    signal.setitimer(signal.ITIMER_REAL, 0)
    if os.WIFSIGNALED(status):
        return Ending(0, os.WTERMSIG(status), bool(stopped))
    return Ending(os.WEXITSTATUS(status), 0, bool(stopped))


def _in_child(task: Callable[[], int]) -> int:
    with contextlib.suppress(OSError, AttributeError):  # where there is no prctl, a child outlives a killed parent
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to both; the parent makes one SIGTERM of it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    code = task()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)  # there is nothing left to stop
    return code


def _pass_on_stops(child: int) -> list[int]:
    """Install handlers in the parent; the list they return fills with the signals that came."""
    stopped: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if not stopped:
            signal.setitimer(signal.ITIMER_REAL, GRACE)
            os.kill(child, signal.SIGTERM)
        stopped.append(number)

    for number in _STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, stop)
    signal.signal(signal.SIGALRM, lambda number, frame: os.kill(child, signal.SIGKILL))
    return stopped
