"""The observers of a thread: tapes, forward mode, replay checks. They form a stack, and each thread has its own.

Whatever a thread does to arrays is an `Operation` or a `KernelLaunch` (operation.py). The innermost observer gets it
first and passes it outward, to the observers that began before; at last it runs. Start with `dispatch`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import _native
from . import call_site

Outward = Callable[[Any], Any]


class Observer:
    """Sees what its thread does to arrays. This one lets everything pass."""

    is_tape = False  # True if it takes the place of a tape: a thread has one of those at most
    is_recorder = False  # True if native code may record launches for it
    is_jvp = False  # True if it computes tangents
    is_observing = True  # False if launches may pass it by
    notices_launches = False  # True if it needs no more of a launch than to be told by `notice_launch`
    tracker: _native.MutationTracker | None = None  # of writes that no observer sees

    def execute(self, operation: Any, outward: Outward) -> None:
        """Handle a host operation, and let it run by `outward(operation)`."""
        outward(operation)

    def launch(self, launch: Any, outward: Outward) -> Any:
        """Handle a launch, and let it run by `outward(launch)`, whose result this returns."""
        return outward(launch)

    def notice_launch(self, kernel: Any, dim: Any, args: Any) -> None:
        """Handle a launch that runs right after; only where `notices_launches`."""

    def made(self, a: Any) -> None:
        """Handle an array that has got new storage."""

    def made_gradient(self, a: Any) -> None:
        """Handle an array that has become the gradient of another."""

    def touched(self, arrays: Sequence[Any], written: Sequence[Any]) -> None:
        """Handle a recorded function of the program, which has used some arrays and written some of them."""

    def elsewhere(self, action: Any, is_observed: bool) -> None:
        """Handle an operation or launch of another thread, which that thread's own observers may see."""


PAUSE = Observer()
_PAUSED = (PAUSE,)


stack = _native.observers  # those of this thread, innermost last
_scopes: dict[Observe, None] = {}  # of all threads; each thread adds and removes its own, one at a time
_watchers: list[Callable[[], None]] = []
observed = False  # whether something observes any thread


def tape() -> Any:
    """The tape that records what this thread does now, or None."""
    for observer in reversed(stack()):  # a loop, as most stacks are empty and a generator costs more than asking
        if observer.is_tape:
            return observer
    return None


def innermost_jvp() -> Any:
    """The innermost forward mode trace of this thread, or None."""
    for observer in reversed(stack()):
        if observer.is_jvp:
            return observer
    return None


def is_idle() -> bool:
    """True if this thread runs plain code: nothing observes it, and no backward pass runs recorded operations."""
    return not stack()


def is_watched() -> bool:
    """True if an observer may have to see the host operations of this thread."""
    return observed and stack() is not _PAUSED


def watch(changed: Callable[[], None]) -> None:
    """Call `changed` whenever observation begins or ends."""
    _watchers.append(changed)


# -- what happens -----------------------------------------------------------------------------------------------------


def dispatch(action: Any) -> Any:
    """Run an operation or a launch under the observers of this thread."""
    if len(_scopes) > 1 or not observes_this_thread():
        _tell_other_threads(action)
    return _outward(action, stack())


def _tell_other_threads(action: Any) -> None:
    this = threading.current_thread()
    for scope in list(_scopes):
        if scope.thread is not this and scope.thread.is_alive():
            for observer in scope.observers:
                observer.elsewhere(action, bool(stack()))


def _outward(action: Any, observers: tuple[Observer, ...]) -> Any:
    if not observers:
        return _native.run_observed(_PAUSED, action.run)
    return _native.run_observed(observers, action.show, observers[-1], lambda passed: _outward(passed, observers[:-1]))


def made(a: Any) -> None:
    """Report that `a` has got new storage."""
    for observer in reversed(stack()):
        observer.made(a)


def made_gradient(a: Any) -> None:
    """Report that `a` has become the gradient of an array."""
    for observer in reversed(stack()):
        observer.made_gradient(a)


def touched(arrays: Sequence[Any], written: Sequence[Any]) -> None:
    """Report a recorded function of the program."""
    for observer in reversed(stack()):
        observer.touched(arrays, written)


def has_gradient(value: Any) -> bool:
    """True if the array has a gradient. While a tape records, that of any array with the same storage counts."""
    if not isinstance(value, _native.ArrayBase):
        return False
    if tape() is not None:
        value._resolve_grad("an array that a tape records")  # type: ignore[attr-defined]
    return value.grad is not None  # type: ignore[attr-defined]


def refuse_in_jvp(what: str) -> None:
    """Raise if forward mode follows this thread, as `what` would lose tangents."""
    if innermost_jvp() is not None:
        raise RuntimeError(f"{what} inside of wp.jvp has no tangent; for second derivatives put a tape around wp.jvp")


# -- scopes -----------------------------------------------------------------------------------------------------------


# Those that only pause are native code, as an interrupt could come before the first line of an `__exit__` in Python.
# Such blocks hold no comprehension with a condition, and no `while` loop. If an interrupt comes as these jump back,
# Python 3.13 calls no `__exit__` and no handler (github.com/python/cpython/issues/130279).


class NotRecording(_native.ObserverScope):
    """A `with` block in which nothing that this thread does is recorded."""

    def __init__(self) -> None:
        super().__init__(_PAUSED, None)


class UntrackedWrites(_native.ObserverScope):
    """A `with` block whose writes are those of an operation that is not recorded."""

    def __init__(self) -> None:
        super().__init__(stack(), None)


class OuterLevel(_native.ObserverScope):
    """A `with` block in which only the observers around `observer` see what is done."""

    def __init__(self, observer: Observer):
        super().__init__(stack()[: stack().index(observer)] or _PAUSED, _native.tracker_of_writes())


class Observe(_native.ObserverScope):
    """A `with` block in which an observer sees what this thread does, as the innermost one.

    An interrupt may keep `__exit__` from being called or from reaching its end. Calling it again is right then.
    """

    def __init__(self, *observers: Observer):
        super().__init__((), None)
        self.observers, self.since = observers, call_site.here()
        self.thread = threading.current_thread()
        self._around = self._of_thread()

    def _of_thread(self) -> list[Observe]:
        return [s for s in list(_scopes) if s.thread is self.thread]

    def __enter__(self) -> None:
        (observer,) = self.observers
        tracker = _native.tracker_of_writes() if observer.tracker is None else observer.tracker
        self._around = self._of_thread()
        self.enter((*stack(), observer), tracker)
        self._count([*self._around, self])

    def _count(self, scopes: list[Observe]) -> None:
        """Let these be the scopes of this thread."""
        for other in list(_scopes):
            if other.thread is self.thread or not other.thread.is_alive():
                _scopes.pop(other, None)
        for scope in scopes:
            _scopes[scope] = None
        _tell(bool(scopes))

    def __exit__(self, *exception: object) -> None:
        super().__exit__()
        self._count(self._around)
        self.observers = ()  # an observer may refer to its scope, and dies at once without this circle


class ReplacedObservers(Observe):
    """A `with` block in which only these observers see what this thread does."""

    def __enter__(self) -> None:
        self._around = self._of_thread()
        self.enter(self.observers, next((o.tracker for o in self.observers if o.is_tape), None))
        self._count([self] if any(o.is_observing for o in self.observers) else [])


def since(observer: Observer) -> str:
    """Where the program let an observer begin."""
    return next((f", since {s.since}" for s in list(_scopes) if observer in s.observers and s.since), "")


def observes_this_thread() -> bool:
    """True if observers of this thread have begun, whether or not recording is paused."""
    threads = [scope.thread for scope in list(_scopes)]  # Ctrl-C in a generator that is being closed would be lost
    return threading.current_thread() in threads


def _tell(here: bool) -> None:
    """Let others know whether anything is observed, and whether `here`, in this thread."""
    global observed
    observed = bool(_scopes)
    _native.set_recording(here)
    for changed in _watchers:
        changed()
