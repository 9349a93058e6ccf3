"""The tape that records at the moment, and what arrays tell it of changes that no kernel makes.

Copies carry gradients back to where they came from; whatever is overwritten by something else has none any more.

Beside the tape there may be followers, which compute tangents of what is done (trace.py). Each sees what those inside
of it do, and the tape sees all of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import _native
from . import call_site

_active: list[Any] = []  # the tape that records, if there is one
_witnesses: list[Any] = []  # what is told of all that happens to memory, recorded or not
_following: list[JvpScope] = []  # of all threads
_watchers: list[Callable[[], None]] = []
_begun: Any = None  # where the program lets the tape record
observed = False  # whether a tape, forward mode or a replay check observes any thread


class _Pauses(threading.local):
    count = 0


_pauses = _Pauses()


class _Mine(threading.local):
    """The followers of what this thread does, innermost last."""

    def __init__(self) -> None:
        self.followers: list[Any] = []


_mine = _Mine()


def tape() -> Any:
    """The tape that records what this thread does now, or None."""
    return _active[0] if _active and not _pauses.count else None


def is_idle() -> bool:
    """True if this thread runs plain code: no tape records, and no backward pass runs recorded operations."""
    return not _active and not _pauses.count


def witnesses() -> list[Any]:
    """Return the observers of all memory accesses."""
    return _witnesses[:]


def follower() -> Any:
    """Return the forward mode trace of this thread, or None."""
    return _mine.followers[-1] if _mine.followers and not _pauses.count else None


def active() -> bool:
    """True if an observer has to see launches."""
    return bool(_witnesses or _following or (_active and _active[0].records))


def tape_only() -> bool:
    """True if an observer has to see launches, and forward mode is not active."""
    return bool(_active) and active() and not _following


def begin(recording: Any) -> None:
    """Let a tape record from now on, whatever thread does something. Raises RuntimeError if one does already."""
    global _begun
    if _active:
        since = f", since {_begun}" if _begun else ""
        raise RuntimeError(f"a tape records already{since}, and what it does not see would be missing: end it first")
    refuse_following("a tape")
    _begun = call_site.here()
    _active.append(recording)
    _tell()


def end() -> None:
    """Let no tape record any more."""
    _active.clear()
    _tell()


class NullTape:
    """A tape that records nothing, for runs whose gradients come from elsewhere."""

    seals: Any = None
    records = False
    stands_in = True  # for a tape, which is told of nothing meanwhile

    def begin_launch(self, kernel: Any, dim: Any, args: Any, device: Any, block_dim: int) -> Any:
        """Pass over a launch; gives what is to be told that it has run, if anything is."""

    def length(self) -> int:
        """There are no steps."""
        return 0

    def cut(self, length: int) -> None:
        """Nothing is to be forgotten."""

    def follow(self, out: Any, inputs: Any, covers: bool) -> Any:
        """Pass over what something made of arrays."""

    def record_step(
        self, backward: Callable[[], None], arrays: Any, outputs: Any = None, covers: bool = False, cut: Any = None
    ) -> None:
        """Pass over a host operation."""
        self.record_func(backward, arrays, outputs)

    def record_func(self, backward: Callable[[], None], arrays: Any, outputs: Any = None) -> None:
        """Pass over a step; what it does to its outputs, or to all arrays if nothing is said of them, is not known."""
        for witness in _witnesses:
            witness.touched(arrays, arrays if outputs is None else outputs)


SILENT = NullTape()


class ReplacedObservers:
    """A `with` block in which another tape records, and only these witnesses are told of what happens."""

    def __init__(self, recording: Any, *witnesses: Any):
        self._tape, self._witnesses = recording, list(witnesses)
        self._before = _active[:], _witnesses[:], _pauses.count
        self._unseen = int(_pauses.count > 0)  # for an interrupt that comes before it is known

    def __enter__(self) -> None:
        self._unseen = _native.set_unseen(0)
        self._set([self._tape], self._witnesses, 0)

    def __exit__(self, *exception: object) -> None:
        """End the block. An interrupt may keep this from being done, or done to the end: then do it again."""
        _native.set_unseen(self._unseen)
        self._set(*self._before)

    @staticmethod
    def _set(active: list[Any], witnesses: list[Any], pauses: int) -> None:
        _active[:], _witnesses[:], _pauses.count = active, witnesses, pauses
        _tell()


class JvpScope:
    """A `with` block: what this thread does in it is followed."""

    def __init__(self, follower: Any):
        self.follower = follower

    def __enter__(self) -> None:
        self._since, self._older = call_site.here(), set(threading.enumerate())
        self._before = _native.follow_seals(self.follower.seals)
        _mine.followers.append(self.follower)
        _following.append(self)
        _tell()

    def __exit__(self, *exception: object) -> None:
        _native.follow_seals(self._before)
        _mine.followers.remove(self.follower)
        _following.remove(self)
        _tell()

    def refuse_younger(self, what: str, values: Sequence[Any]) -> None:
        """Raise if a thread that has begun in the block uses what is followed, as only one thread is."""
        if threading.current_thread() not in self._older and any(map(self.follower.follows, values)):
            raise RuntimeError(
                f"{what} in another thread than wp.jvp ({self._since}), which follows what its own thread does, and "
                "would miss the tangents: do it there"
            )


class OuterLevel:
    """A `with` block in which only the followers around `follower` see what is done."""

    def __init__(self, follower: Any):
        self._depth = _mine.followers.index(follower)

    def __enter__(self) -> None:
        self._inner = _mine.followers[self._depth :]
        del _mine.followers[self._depth :]

    def __exit__(self, *exception: object) -> None:
        _mine.followers.extend(self._inner)


class UntrackedWrites:
    """A `with` block in which the tape sees nothing of what this thread writes."""

    def __enter__(self) -> None:
        self._before = _native.set_unseen(1)

    def __exit__(self, *exception: object) -> None:
        _native.set_unseen(self._before)


class NotRecording(UntrackedWrites):
    """A `with` block in which nothing that this thread does is recorded."""

    _count = -1

    def __enter__(self) -> None:
        self._before = 1 if _pauses.count else 0  # for an interrupt that comes before it is known
        self._count = _pauses.count
        self._before = _native.set_unseen(1)
        _pauses.count = self._count + 1

    def __exit__(self, *exception: object) -> None:
        """End the block. An interrupt may keep this from being done, or done to the end: then do it again."""
        if self._count >= 0:
            _native.set_unseen(self._before)
            _pauses.count = self._count


class Performing:
    """A `with` block that writes to `outputs`. `recorded`: the tape has just recorded that."""

    def __init__(self, outputs: list[Any], recorded: bool = True):
        self._outputs, self._recorded = outputs, recorded

    def __enter__(self) -> None:
        _pauses.count += 1

    def __exit__(self, *exception: object) -> None:
        _pauses.count -= 1
        if self._recorded and tape() is not None and tape().seals is not None:
            tape().seals.wrote(self._outputs, False)
        for f in followers():
            f.wrote(self._outputs)


def watch(changed: Callable[[], None]) -> None:
    """Call `changed` whenever recording begins or ends."""
    _watchers.append(changed)


def _tell() -> None:
    global observed
    observed = bool(_active or _witnesses or _following)
    _native.seal_for(_active[0].seals if _active else None)
    for changed in _watchers:
        changed()


# -- changes that are not launches ------------------------------------------------------------------------------------


def launched(kernel: Any, dim: Any, args: Any) -> None:
    """Note that a launch is about to run, recorded or not."""
    refuse_younger(f"kernel `{kernel.name}` is launched", args)
    for witness in _witnesses:
        witness.launched(kernel, dim, args)


def made(a: Any) -> None:
    """Report that `a` has got new storage."""
    for witness in _witnesses:
        witness.made(a)
    for f in followers():
        f.made(a)


def made_gradient(a: Any) -> None:
    """Report that `a` has become the gradient of an array."""
    for witness in _witnesses:
        witness.made_gradient(a)


def watched() -> bool:
    """True if an observer has to see the writes of this thread."""
    return tape() is not None or bool(_following)


def followers() -> list[Any]:
    """What computes tangents of what this thread does now, innermost first."""
    return [] if _pauses.count else _mine.followers[::-1]


def refuse_younger(what: str, values: Sequence[Any]) -> None:
    """Raise if forward mode of another thread follows one of the values, and this thread has begun since."""
    for following in _following:
        following.refuse_younger(what, values)


def has_gradient(value: Any) -> bool:
    """True if the array has a gradient. While a tape records, that of any array with the same storage counts."""
    if not isinstance(value, _native.ArrayBase):
        return False
    if tape() is not None:
        value._resolve_grad("an array that a tape records")  # type: ignore[attr-defined]
    return value.grad is not None  # type: ignore[attr-defined]


def _record_overwrite(out: Any, inputs: list[Any], vjp: Callable[[], Callable[[], None]]) -> None:
    """Record that all of `out` was overwritten, if a tape records and `out` has a gradient.

    `vjp` returns the backward function, which moves that gradient to the inputs.
    """
    if tape() is None:
        return
    for a in (out, *inputs):
        a._resolve_grad("an array that a tape records")
    cut = tape().follow(out, inputs, True)
    if out.grad is not None and tape().records:
        tape().record_step(vjp(), [out, *inputs], [out], covers=True, cut=cut)


def overwritten(a: Any) -> None:
    """Note that the elements of `a` have got other values, which depend on nothing recorded."""
    refuse_younger("an array is filled or assigned", [a])
    for witness in _witnesses:
        witness.overwritten(a)
    for f in followers():
        f.overwritten(a)
    _record_overwrite(a, [], lambda: a.grad.zero_)


def copied(dest: Any, src: Any) -> None:
    """Note that the elements of `src` were copied to those of `dest`; both are arrays of one shape."""
    refuse_younger("an array is copied", [dest, src])
    for witness in _witnesses:
        witness.copied(dest, src)
    for f in followers():
        f.copied(dest, src)
    _record_overwrite(dest, [src], lambda: lambda: dest._move_gradient(src))


def refuse_following(what: str) -> None:
    """Raise if tangents are computed of what this thread does, which `what` would lose."""
    if follower() is not None:
        raise RuntimeError(f"{what} inside of wp.jvp has no tangent; for second derivatives put a tape around wp.jvp")


def refuse_tangents(what: str, **arrays: Any) -> None:
    """Raise if one of the arrays has a tangent, which `what` would lose."""
    refuse_younger(what, list(arrays.values()))
    for f in followers():
        for name, a in arrays.items():
            if f.follows(a):
                raise RuntimeError(f"{what} has no forward mode, and {name} has a tangent: it cannot be part of wp.jvp")


def refuse(what: str, **arrays: Any) -> None:
    """Raise if a tape records and one of the arrays has a gradient, or has a tangent, which `what` would lose."""
    refuse_tangents(what, **arrays)
    if tape() is None:
        return
    for name, a in arrays.items():
        if isinstance(a, _native.ArrayBase):
            a._resolve_grad(name)  # type: ignore[attr-defined]
        if getattr(a, "grad", None) is not None and a._require_element().is_active:
            raise RuntimeError(
                f"{what} has no gradient, and {name} requires one while a tape records; "
                "call it outside of the tape, or on arrays without requires_grad"
            )
