"""A process of its own for work that may never end or may crash: nothing can stop a kernel from inside its process.

`run` forks before anything large is loaded. The parent waits, asks the child to stop when it is asked itself, and kills
a child that does not listen. The child says in shared memory how far it is (`reach`), so the parent can tell an end
from an accident: code in a scene may leave the process, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

READING, PLAYING, WRITTEN = range(3)  # how far a play is
GRACE = 2.0  # seconds that a child has to stop by itself
READ_SECONDS = 120.0  # that reading a scene may take
READ_BYTES = 1 << 30  # of memory that reading a scene may take until its user trusts it
_THREAD_BYTES = 16 << 20  # address space that USD takes for each thread, whatever the scene
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1


_TICK = 0.2  # seconds between two looks at the node that runs
_NODE = struct.Struct("=dqH")  # when the node that runs began, 0 for none, its frame, and the bytes of its path
_AT = 8  # where that lies in shared memory; its path follows
_LONGEST = 4000  # bytes of a path

_shared = mmap.mmap(-1, 4096)  # how far the child is, whether the task returned, and the node that runs
_original: list[tuple[int, int]] = []  # the memory limit of a child, while a lower one is set
_children: list[int] = []  # the process id of the child, known to itself


@dataclass(frozen=True)
class Ending:
    """The end of the child: its exit `code`, or the `signal` that ended it.

    `returned` is True if the task came to its end, `interrupted` if the parent was asked to stop, `overdue` if reading
    took too long, `late` if a node did.
    """

    code: int
    signal: int
    returned: bool
    interrupted: bool
    overdue: bool
    late: bool = False


def is_child() -> bool:
    """True in a process that `run` made."""
    return _children == [os.getpid()]


def reach(stage: int) -> None:
    """Record how far the play is: READING, PLAYING or WRITTEN."""
    _shared[0] = stage


def reached() -> int:
    """Return how far the play is."""
    return _shared[0]


def enter_node(path: str, frame: int) -> None:
    """Record that a node begins to run."""
    name = path.encode("utf-8", "replace")[:_LONGEST]
    start = _AT + _NODE.size
    _shared[start : start + len(name)] = name
    _NODE.pack_into(_shared, _AT, time.monotonic(), frame, len(name))


def leave_node() -> None:
    """Record that it has run."""
    _NODE.pack_into(_shared, _AT, 0.0, 0, 0)


def node_at_end() -> tuple[str, int] | None:
    """Return the node that ran when the child ended, and its frame."""
    began, frame, length = _NODE.unpack_from(_shared, _AT)
    start = _AT + _NODE.size
    return (_shared[start : start + length].decode("utf-8", "replace"), frame) if began else None


def allow_memory(size: int) -> None:
    """Let a guarded child take `size` bytes altogether. What takes more fails."""
    if is_child():
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))


def limit_memory() -> None:
    """Let a guarded child take `READ_BYTES` more than it has. Elsewhere nothing happens."""
    if not is_child() or _original:
        return
    with contextlib.suppress(OSError, ValueError):  # where there is no /proc, the limit would have no effect
        with open("/proc/self/statm", encoding="ascii") as statm:
            taken = int(statm.read().split()[5]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = taken + READ_BYTES + (os.cpu_count() or 1) * _THREAD_BYTES
        resource.setrlimit(
            resource.RLIMIT_DATA, (wanted if soft == resource.RLIM_INFINITY else min(soft, wanted), hard)
        )
        _original.append((soft, hard))


def lift_limit() -> None:
    """Undo `limit_memory`."""
    if _original:
        resource.setrlimit(resource.RLIMIT_DATA, _original.pop())


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """Limit memory for the time of a block, as `limit_memory` does."""
    limit_memory()
    try:
        yield
    finally:
        lift_limit()


@contextlib.contextmanager
def stops_later() -> Iterator[None]:
    """Hold requests to stop back for the time of a block that prints errors of its own when it is interrupted."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Let the kernel of the system kill this process when its parent is gone."""
    with contextlib.suppress(OSError, AttributeError):  # where there is no prctl, a child outlives a killed parent
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run(task: Callable[[], int], read_seconds: float = 0.0, node_seconds: float = 0.0) -> Ending:
    """Run `task` in a child whose exit code is its result; returns in the parent. SIGTERM asks the child to stop.

    A child that is still READING after `read_seconds` is killed, and one whose node takes longer than `node_seconds`; 0
    sets no limit. Threads that the task leaves behind end with it.
    """
    _shared[:2] = bytes((READING, False))
    leave_node()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    child = os.fork()
    if child == 0:
        _in_child(task)
    before = {number: signal.getsignal(number) for number in (*_STOPS, signal.SIGALRM)}
    watch = _Watch(child, read_seconds, node_seconds)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # its number stays its own until the watch is over
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in before.items():
        signal.signal(number, handler)
    status = os.waitpid(child, 0)[1]
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = 0 if ended_by else os.WEXITSTATUS(status)
    return Ending(code, ended_by, bool(_shared[1]), watch.stopped, watch.overdue, watch.late)


def _in_child(task: Callable[[], int]) -> NoReturn:
    _children[:] = [os.getpid()]
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to both; the parent makes one SIGTERM of it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    code = 1
    try:
        code = task()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)  # there is nothing left to stop
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    _shared[1] = True
    os._exit(code)  # an orderly end would wait for the threads that code in a scene started


class _Watch:
    """Watch of the parent over the child: passes on requests to stop, and kills the child when time is up."""

    def __init__(self, child: int, read_seconds: float, node_seconds: float):
        self.child, self.stopped, self.overdue, self.late = child, False, False, False
        self._node_seconds, self._read_until = node_seconds, time.monotonic() + (read_seconds or float("inf"))
        for number in _STOPS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, self._stop)
        signal.signal(signal.SIGALRM, self._time_is_up)
        signal.setitimer(signal.ITIMER_REAL, *((_TICK, _TICK) if node_seconds else (read_seconds, 0)))

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if not self.stopped:
            signal.setitimer(signal.ITIMER_REAL, GRACE)
            os.kill(self.child, signal.SIGTERM)
        self.stopped = True

    def _time_is_up(self, number: int, frame: FrameType | None) -> None:
        if not self.stopped and self._node_seconds:
            self.overdue = reached() == READING and time.monotonic() > self._read_until
            began = _NODE.unpack_from(_shared, _AT)[0]
            self.late = bool(began) and time.monotonic() - began > self._node_seconds
        elif not self.stopped:
            self.overdue = reached() == READING
        if self.stopped or self.overdue or self.late:
            os.kill(self.child, signal.SIGKILL)
