"""What steps do to memory, so that running them again is known to give the same, or refused.

A `Witness` is told of every launch, copy and fill (see `recording`). It finds the arrays that a step hands to a later
one without their being state, and makes a fingerprint of all that a program asks for. Start with `Witness.launched`.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiler import effects
from ..lang.kernel import Kernel, on_redefinition
from ..lang.types import Struct
from . import launch
from .array import array
from .backward import arrays_in, as_array
from .kept import memory_at, span_of

Span = tuple[int, int]

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_known: weakref.WeakKeyDictionary[Kernel, Any] = weakref.WeakKeyDictionary()
on_redefinition.append(_known.clear)


class Use(NamedTuple):
    """Where an array was read or written."""

    array: array
    step: int
    what: str
    place: str

    def __str__(self) -> str:
        return f"step {self.step}, {self.what} ({self.place})"


class Fingerprint:
    """A number made of what steps launch, copy and fill: the same for two runs if they do the same."""

    def __init__(self) -> None:
        self.sum = 0  # over steps, in whatever order they run
        self._hash = 0
        self._made: list[Span] = []  # memory made in this step, whose addresses differ from run to run

    def begin(self, step: int) -> None:
        """Expect what a step does."""
        self.end()
        self._hash = hash(("step", step))
        self._made.clear()

    def end(self) -> None:
        """Expect nothing more."""
        self.sum = (self.sum + self._hash) & 0xFFFFFFFFFFFFFFFF
        self._hash = 0

    def _mix(self, *what: Any) -> None:
        self._hash = hash((self._hash, what))

    def _identity(self, a: array) -> tuple:
        for number, (low, high) in enumerate(self._made):
            if low <= a.ptr < high:
                return number, a.ptr - low, a.shape, a.strides
        return a.ptr, a.shape, a.strides

    def launched(self, kernel: Any, dim: Any, args: Sequence[Any]) -> None:
        """A launch is about to run."""
        self._mix(id(kernel), tuple(dim) if isinstance(dim, list) else dim)
        self._mix(*map(self._argument, args))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, array):
            return self._identity(value)
        if isinstance(value, (int, float)):
            return value if value == value else "nan"
        if isinstance(value, np.ndarray):
            return value.tobytes()
        t = getattr(type(value), "__wc_type__", None)
        if isinstance(t, Struct):
            return tuple(self._argument(getattr(value, name)) for name, _ in t.fields)
        return repr(value)

    def copied(self, dest: array, src: array) -> None:
        """An array was copied to another."""
        self._mix("copy", self._identity(dest), _content(src) if _of_numpy(src) else self._identity(src))

    def overwritten(self, a: array) -> None:
        """An array got values that Python gave it."""
        self._mix("fill", self._identity(a), _content(a))

    def made(self, a: array) -> None:
        """An array got memory of its own."""
        self._made.append(span_of(a))

    def made_gradient(self, a: array) -> None:
        """An array got a gradient."""


class Witness(Fingerprint):
    """Finds what steps hand to each other besides `state`. Raises RuntimeError where that could not be repeated.

    An array that is written must be state, unless no step reads what another one wrote: steps never read it, or each
    overwrites all of it first, or makes it.
    """

    def __init__(self, state: Sequence[Span]):
        super().__init__()
        self.step = 0
        self.unordered = False
        self.read: dict[Span, Use] = {}
        self.written: dict[Span, Use] = {}
        self.before: dict[Span, bytes] = {}  # what was read and not written, as it was
        self.gradients: weakref.WeakKeyDictionary[Any, Span] = weakref.WeakKeyDictionary()  # those that steps made
        self._state = state
        self._covered: list[Span] = []  # written as a whole in this step
        self._earlier: set[int] = set()  # where memory was made in steps before

    def begin(self, step: int) -> None:
        """Expect what a step does."""
        self._earlier.update(low for low, _ in self._made)
        super().begin(step)
        self.step = step
        self._covered.clear()

    # -- what happens -------------------------------------------------------------------------------------------------

    def launched(self, kernel: Any, dim: Any, args: Sequence[Any]) -> None:
        """A launch is about to run."""
        super().launched(kernel, dim, args)
        if kernel not in _known:
            _known[kernel] = effects(kernel)
        found = _known[kernel]
        if found.hidden:
            raise RuntimeError(
                f"step {self.step}, kernel `{kernel.name}` ({_place()}) gets at arrays through elements of arrays, "
                "which wp.checkpointed does not follow: pass them as arguments"
            )
        self.unordered |= found.unordered
        grid = launch.dimensions(kernel, dim)
        uses = [
            (a, access, f"parameter `{name}` of kernel `{kernel.name}`", isinstance(value, np.ndarray))
            for value, access, (name, t) in zip(args, found.params, kernel.params)
            for a in arrays_in(as_array(value, t))
            if access.reads or access.writes
        ]
        for a, access, what, is_numpy in uses:
            if access.reads:
                self._reads(a, what, keep=not is_numpy)
        for a, access, what, _ in uses:
            if access.writes:
                self._writes(a, what, access.covers and a.shape == grid)

    def copied(self, dest: array, src: array) -> None:
        """An array was copied to another."""
        super().copied(dest, src)
        self._reads(src, "source of a copy", keep=not _of_numpy(src))
        self._writes(dest, "destination of a copy", True)

    def overwritten(self, a: array) -> None:
        """An array got values that Python gave it."""
        super().overwritten(a)
        self._writes(a, "filled or assigned", True)

    def touched(self, arrays: Iterable[array]) -> None:
        """Something that is no launch was done to arrays."""
        for a in arrays:
            self._reads(a, "given to a function")
            self._writes(a, "given to a function", False)

    def made_gradient(self, a: array) -> None:
        """An array that was made here got a gradient."""
        self.gradients[a.owner] = span_of(a)

    # -- what follows from it -----------------------------------------------------------------------------------------

    def _reads(self, a: array, what: str, keep: bool = True) -> None:
        span = span_of(a)
        if span in self.read or _within(span, (self._state, self._made, self._covered)):
            return
        use = self._use(a, what)
        for other in self._meeting(span, self.written):
            self._refuse(other, use)
        if keep:  # the contents of NumPy arrays are part of the fingerprint
            self.read[span] = use
            self.before[span] = _content(a)

    def _writes(self, a: array, what: str, whole: bool) -> None:
        span = span_of(a)
        if _within(span, (self._state, self._made)):
            return
        if whole and a.is_contiguous:
            self._covered.append(span)
        if span in self.written:
            return
        self.written[span] = use = self._use(a, what)
        for other in self._meeting(span, self.read):
            self._refuse(use, other)

    def _use(self, a: array, what: str) -> Use:
        use = Use(a, self.step, what, _place())
        if a.ptr in self._earlier:
            raise RuntimeError(
                f"{use}: this array was made in an earlier step. A step that runs again makes another one, whose "
                "values and gradient would be lost: make the array before wp.checkpointed, and give it in `state`"
            )
        return use

    @staticmethod
    def _meeting(span: Span, uses: dict[Span, Use]) -> list[Use]:
        return [use for (low, high), use in uses.items() if low < span[1] and span[0] < high]

    def _refuse(self, written: Use, read: Use) -> None:
        a = written.array
        raise RuntimeError(
            f"an array of {a.size} {a._require_element().name} is read and written by steps, and is not in `state`, so "
            f"that steps which run again could find other values in it\n  written in {written}\n  read in {read}\n"
            "Add it to `state`; or let every step write all of it before reading it: a fill, a copy, or a launch over "
            "its shape each of whose threads stores at its own wp.tid()"
        )

    def check_unwritten(self) -> None:
        """Raise if something has changed that steps only read, as far as was seen."""
        for span, use in self.read.items():
            if _content(use.array) != self.before[span]:
                raise RuntimeError(
                    f"{use}: the array changed while the steps ran, but by no launch, copy or fill; add it to `state`"
                )

    def check_gradients(self) -> None:
        """Raise if a gradient came to an array that a step had made."""
        if any(any(memory_at(span)) for span in self.gradients.values()):
            raise RuntimeError(
                "an array that was made in a step of wp.checkpointed is used after the steps: its gradient would be "
                "lost, as steps that run again make other arrays. Make it before, and write to it in the step"
            )


def _within(span: Span, places: Iterable[Sequence[Span]]) -> bool:
    low, high = span
    return any(a <= low and high <= b for spans in places for a, b in spans)


def _content(a: array) -> bytes:
    return a.numpy().tobytes()


def _of_numpy(a: array) -> bool:
    return isinstance(a.owner, np.ndarray)


def _place() -> str:
    """Where the program is, outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
