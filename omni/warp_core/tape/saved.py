"""Saved tensors: the memory of arrays as it is when a tape records, for later.

Recording copies nothing. A `CowSpan` watches its range of memory: native code calls `_save` before it writes there.
Then the old contents are copied, once for all launches since the last write. So each write makes a new version of the
memory, and the tape keeps the old versions that it needs, as far as its budget goes. Exported memory, which other
libraries can write unseen (`transfer.share`), is copied at once. Start with `SavedArrays`.

Memory of a GPU is copied there, in the order of the stream that is current when it is about to be overwritten.

While a graph is captured, nothing is written yet. What is kept for a tape inside is copied by the graph, before the
work that overwrites it; what tapes outside keep is copied when the graph runs, which tells of its writes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from .. import _native
from ..arrays import layouts, transfer
from ..arrays.array import array
from ..arrays.layouts import Span
from ..devices.device import CPU, Device
from ..dispatch import call_site, capture, observers
from ..dispatch.call_site import CallSite


class SavedPool(_native.SavedPoolBase):
    """The copies of a tape: `used` bytes at the moment, and at most `budget` of them, or any number if that is None.

    `streams` are those of GPUs that its work was given to.
    """

    def __init__(self, budget: int | None = None):
        super().__init__()
        self.budget = budget
        self.streams: dict[Any, None] = {}
        self._lost: list[ref[CowSpan]] = []

    def hold(self, span: Span, arrays: Sequence[array]) -> CowSpan:
        """The memory of a span, which these arrays show, as it is now."""
        held: CowSpan | None = self.latest(*span)
        if held is None or not held.is_unmodified():
            first = arrays[0]
            held = CowSpan(span, first.device if first.device_id else None, [a.owner for a in arrays], self)
            held.is_parameter = any(a._is_parameter for a in arrays)
            if not all(transfer.is_private(a) for a in arrays):
                held.save("lies in memory that NumPy or another library sees, so that it may change at any time")
        return held

    def note(self, device: Device) -> None:
        """Remember the stream that work of the tape on a device goes to now."""
        if device.is_cuda:
            self.streams[device.stream] = None

    def join(self) -> None:
        """Let what goes to the current streams from now on follow all the work that was noted."""
        for stream in self.streams:
            if stream is not stream.device.stream:
                stream.device.stream.wait_stream(stream)

    def mark_unsaved(self, held: CowSpan) -> None:
        """Record that a saved tensor has no copy."""
        self._lost.append(ref(held))

    def check(self) -> None:
        """Raise RuntimeError if something that was to be kept is lost."""
        for found in self._lost:
            held = found()
            kept = None if held is None or held.user is None else held.user()
            if held is not None and kept is not None:
                raise RuntimeError(kept.loss(held))


class CowSpan(_native.SavedSpan):
    """A span of memory as it is when this is made: in place until a write is about to change it, then in a copy.

    `device` is that of memory of a GPU. `lost` says what happened where there was no budget for the copy; `owners` keep
    the memory alive; `user` refers to who needs it. A parameter is what another library optimises. Native code makes
    those of memory that only this package writes to.
    """

    __slots__ = ()
    user: Callable[[], SavedArrays | None] | None

    def __init__(self, span: Span, device: Device | None, owners: Sequence[Any], keeper: SavedPool):
        super().__init__(*span, device, owners, keeper, capture.innermost())

    @property
    def address(self) -> int:
        """The current address of the memory."""
        return self.low if self._copy is None else self._copy.ptr

    @property
    def copied(self) -> bool:
        """True if the saved tensor is a copy."""
        return self._copy is not None

    def is_unmodified(self) -> bool:
        """True if the memory has not changed. While a graph is captured, that is known only for memory that is never
        written.
        """
        if capture.innermost() is not None or self._graph is not None:
            return self.inside and self._graph is capture.innermost()
        if self.inside or self._copy is None:
            return self.inside
        return transfer.same_bytes(self._copy.ptr, self.low, self.size, self._device or CPU)

    def save(self, why: str = "") -> None:
        """Copy the memory before it changes, if there is budget for it; else note `why` it is lost."""
        if self._graph is not capture.innermost():
            if self._graph is not None:  # it was captured, and only its graph uses it
                self.leave()
            return
        keeper = self.keeper
        if keeper.budget is not None and keeper.used + self.size > keeper.budget:
            self.lost = why or f"was overwritten at {call_site.here()}"
            keeper.mark_unsaved(self)
        else:
            self._copy = self.duplicate()
            if self._device is not None:
                keeper.note(self._device)
        self.leave()

    def refresh(self) -> None:
        """Replace the copy by the memory as it is now."""
        transfer.copy_bytes(self._copy.ptr, self.low, self.size, self._device or CPU)

    def duplicate(self) -> Any:
        """A buffer with the memory as it was."""
        if self._device is None and self._graph is None:
            made = _native.copy_of(self.low if self._copy is None else self._copy.ptr, self.size)
            transfer.track_copy(made, CPU)
            return made
        return transfer.copy_of((self.address, self.address + self.size), self._device or CPU)


def _save(about_to_change: list[CowSpan]) -> None:
    for held in about_to_change:
        held.save()


_native.on_write(_save)
_native.set_span_class(CowSpan)


class SavedArrays:
    """The memory of arrays as it is now, by spans: views that overlap still overlap later.

    Args:
        arrays: what to keep.
        names: what messages call them.
        of: what messages call that which needs them.
        place: where the program records it; by default where it is now.
    """

    __slots__ = ("__weakref__", "_arrays", "_copies", "_names", "_of", "held", "place")

    def __init__(
        self,
        arrays: Sequence[array],
        names: Sequence[str] = (),
        of: str = "a recorded function",
        place: CallSite | None = None,
    ):
        self._names, self._of, self.place = names, of, place or call_site.here()
        self._arrays = arrays
        keeper = getattr(observers.tape(), "keeper", None) or SavedPool()
        self.held = [keeper.hold(span, group) for span, group in layouts.groups(arrays)]
        self._copies: Sequence[Any] = ()
        user = ref(self)
        for held in self.held:
            held.user = user

    @classmethod
    def over(
        cls, held: list[CowSpan], arrays: Sequence[array], names: Sequence[str], of: str, place: CallSite
    ) -> SavedArrays:
        """Arrays in memory that is kept already."""
        made = object.__new__(cls)
        made.held, made._arrays, made._names, made._of, made.place, made._copies = held, arrays, names, of, place, ()
        return made

    @property
    def size(self) -> int:
        """The bytes that are kept in copies."""
        return sum(held.size for held in self.held if held.copied)

    def loss(self, held: CowSpan) -> str:
        """Return the message for memory that was overwritten without the budget for a copy."""
        inside = [
            n
            for a, n in zip(self._arrays, self._names)
            if layouts.ranges_overlap(layouts.byte_range(a), (held.low, held.high))
        ]
        what = " and ".join(dict.fromkeys(f"`{name}`" for name in inside)) or "an array that it reads"
        keeper = held.keeper
        return (
            f"{self._of} was recorded at {self.place}, and its gradient needs {what} as it was then, but that "
            f"memory {held.lost}. A copy takes {held.size} bytes, and the tape keeps {keeper.used} of the "
            f"{keeper.budget} that its memory_budget allows: raise tape.memory_budget, write to another array, "
            "or call backward before"
        )

    def copy(self) -> SavedArrays:
        """A copy that may be written."""
        made = SavedArrays.over(self.held, self._arrays, self._names, self._of, self.place)
        made._copies = [held.duplicate() for held in self.held]
        return made

    def view(self, a: array) -> array:
        """`a` as it was, with the gradient that it has now. It may be `a` itself, so it is not to be written."""
        low, _ = layouts.byte_range(a)
        for i, held in enumerate(self.held):
            if held.low <= low < held.high:
                if held.lost:
                    raise RuntimeError(self.loss(held))
                if self._copies:
                    return _moved(a, self._copies[i], held.low)
                return _moved(a, held._copy, held.low) if held.copied else a
        return a  # without elements


def moves(held: Sequence[CowSpan], written: bool) -> list[tuple[int, int, Any]]:
    """Which memory is in copies: its addresses, from the first to one past the last, and the copy. Those that are to be
    `written` are new ones.
    """
    if written:
        return [(h.low, h.high, h.duplicate()) for h in held]
    return [(h.low, h.high, h._copy) for h in held if h._copy is not None]


def _moved(a: array, buffer: Any, low: int) -> array:
    """`a` over a copy of the memory that begins at `low`."""
    made = array.__new__(array)
    made._init(a._require_element(), buffer.ptr + a._address - low, a.shape, a.strides, buffer, device=a.device)
    made._attach(a.grad, None)
    return made
