"""Replay check: proves from the memory accesses of steps that a replay gives the same results, or refuses the replay.

A `AccessRecorder` is told of every launch, copy and fill (see `recording`). It finds the arrays that a step hands to a
later one without their being state, and makes a fingerprint of all that a program asks for. Start with
`AccessRecorder.notice_launch`.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays.array import array
from ..arrays.layouts import byte_range
from ..arrays.transfer import memory_at
from ..devices.device import Device
from ..devices.interval_map import IntervalMap, Span
from ..dispatch import call_site, observers
from ..dispatch.operation import KernelLaunch, Operation
from ..lang.types import Struct
from ..launches import launch
from ..launches.kernel_facts import effects
from .launch_vjp import arrays_in, as_array

MAX_REMEMBERED_LAUNCHES = 4096  # so many launches are remembered at most


class Use(NamedTuple):
    """The place where an array was read or written."""

    array: array
    step: int
    what: str
    place: str

    def __str__(self) -> str:
        return f"step {self.step}, {self.what} ({self.place})"


class TraceHash(observers.Observer):
    """A number made of what steps launch, copy and fill: the same for two runs if they do the same."""

    notices_launches = True

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
        for number in reversed(range(len(self._made))):  # what was made last, as memory may be used again
            low, high = self._made[number]
            if low <= a._address < high:
                return number, a._address - low, a.shape, a.strides
        return a._address, a.shape, a.strides

    def launch(self, launch: KernelLaunch, outward: observers.Outward) -> Any:
        """Note a launch, and let it run."""
        self.notice_launch(launch.kernel, launch.dim, launch.args)
        return outward(launch)

    def notice_launch(self, kernel: Any, dim: Any, args: Sequence[Any]) -> None:
        """A launch is about to run."""
        self._note(kernel, dim, args)

    def _note(self, kernel: Any, dim: Any, args: Sequence[Any]) -> tuple:
        """Mix in a launch; gives what tells it from others."""
        grid = tuple(dim) if isinstance(dim, list) else dim
        parts = tuple(map(self._argument, args))
        self._mix(id(kernel), grid, parts)
        return kernel, grid, *parts

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

    def execute(self, operation: Operation, outward: observers.Outward) -> None:
        """Let an operation run, and note it."""
        outward(operation)
        inputs = [_content(a) if _of_numpy(a) else self._identity(a) for a in operation.inputs]
        outputs = operation.outputs
        values = [] if inputs else [_content(a) for a in outputs]  # which Python gave
        self._mix(operation.name, tuple(map(self._identity, outputs)), tuple(inputs), tuple(values))

    def made(self, a: array) -> None:
        """An array got memory of its own."""
        self._made.append(byte_range(a))


class AccessRecorder(TraceHash):
    """Finds what steps hand to each other besides `state`. Raises RuntimeError where that could not be repeated.

    An array that is written must be state, unless no step reads what another one wrote: steps never read it, or each
    overwrites all of it first, or makes it.
    """

    def __init__(self, state: Sequence[Span]):
        super().__init__()
        self.step = 0
        self.unordered = False
        self.read: IntervalMap[Use] = IntervalMap()
        self.written: IntervalMap[Use] = IntervalMap()
        self.inputs: list[array] = []  # what was read, besides the state
        self.outputs: list[array] = []  # what was written
        self.gradients: weakref.WeakKeyDictionary[Any, tuple[Span, Device]] = (
            weakref.WeakKeyDictionary()
        )  # those that steps made
        self._before: list[tuple[Span, bytes, Use]] = []  # what was read, as it was
        self._state: IntervalMap[None] = IntervalMap()
        for span in state:
            self._state.add(span, None)
        self._covered: IntervalMap[None] = IntervalMap()  # written as a whole in this step
        self._earlier: set[int] = set()  # where memory was made in steps before
        self._plain: set[tuple] = set()  # launches of which nothing is to be told any more

    def begin(self, step: int) -> None:
        """Expect what a step does."""
        self._earlier.update(low for low, _ in self._made)
        super().begin(step)
        self.step = step
        self._covered.clear()

    # -- what happens -------------------------------------------------------------------------------------------------

    def notice_launch(self, kernel: Any, dim: Any, args: Sequence[Any]) -> None:
        """A launch is about to run."""
        kernel, grid, *parts = self._note(kernel, dim, args)
        # Numbers make no difference to which memory a launch may use; contents of NumPy arrays do not tell where it is.
        key = (kernel, grid, *(p for p in parts if isinstance(p, (tuple, bytes))))
        if key in self._plain:
            return
        uses = self._uses(kernel, args)
        grid = launch.dimensions(kernel, dim)
        for a, access, what, is_numpy in uses:
            if access.reads:
                self._reads(a, what, keep=not is_numpy)
        for a, access, what, _ in uses:
            if access.writes:
                self._writes(a, what, access.covers and a.shape == grid)
        if (
            len(self._plain) < MAX_REMEMBERED_LAUNCHES
            and not self._made
            and all(self._is_plain(byte_range(a), access) for a, access, *_ in uses)
        ):
            self._plain.add(key)

    def _uses(self, kernel: Any, args: Sequence[Any]) -> list[tuple[array, Any, str, bool]]:
        """The arrays of a launch, what it does to each, how to call it, and whether it is NumPy's."""
        if len(args) != len(kernel.params):
            return []  # the launch raises
        found = effects(kernel)
        if found.hidden:
            raise RuntimeError(
                f"step {self.step}, kernel `{kernel.name}` ({call_site.here().short}) gets at arrays through elements "
                "of arrays or the id of a structure, which wp.checkpointed does not follow: pass them as arguments"
            )
        self.unordered |= found.unordered
        uses = []
        for number, path, access in found.arrays:
            (name, t), value = kernel.params[number], args[number]
            field: Any = as_array(value, t)
            for member in path:
                field = getattr(field, member)
            what = f"parameter `{'.'.join((name, *path))}` of kernel `{kernel.name}`"
            uses += [(a, access, what, isinstance(value, np.ndarray)) for a in arrays_in(field)]
        return uses

    def _is_plain(self, span: Span, access: Any) -> bool:
        return self._state.has(span) or (not access.writes and self.read.has(span))

    def execute(self, operation: Operation, outward: observers.Outward) -> None:
        """Let an operation run, and note what it reads and writes."""
        for a in operation.inputs:
            self._reads(a, f"read by {operation.name}", keep=not _of_numpy(a))
        super().execute(operation, outward)
        for write in operation.writes.values():
            self._writes(write.array, f"written by {operation.name}", write.overwrites_all)

    def touched(self, arrays: Sequence[array], written: Sequence[array]) -> None:
        """A recorded function of the program has used arrays, some of which it has written."""
        for a in arrays:
            self._reads(a, "given to a function")
        for a in written:
            self._writes(a, "given to a function", False)

    def made_gradient(self, a: array) -> None:
        """An array that was made here got a gradient."""
        self.gradients[a.owner] = byte_range(a), a.device

    # -- what follows from it -----------------------------------------------------------------------------------------

    def _reads(self, a: array, what: str, keep: bool = True) -> None:
        span = byte_range(a)
        if self._state.has(span) or self.read.has(span) or self._covered.has(span) or self._is_made(span):
            return
        use = self._use(a, what)
        written = self.written.meeting(span)
        if written is not None:
            self._refuse(written, use)
        if keep:  # the contents of NumPy arrays are part of the fingerprint
            self.read.add(span, use)
            self.inputs.append(a)
            self._before.append((span, memory_at(span, a.device), use))

    def _writes(self, a: array, what: str, whole: bool) -> None:
        span = byte_range(a)
        if self._state.has(span) or self._is_made(span):
            return
        if whole and a.is_contiguous:
            self._covered.add(span, None)
        if self.written.has(span):
            return
        use = self._use(a, what)
        self.written.add(span, use)
        self.outputs.append(a)
        read = self.read.meeting(span)
        if read is not None:
            self._refuse(use, read)

    def _is_made(self, span: Span) -> bool:
        return any(low <= span[0] and span[1] <= high for low, high in self._made)

    def _use(self, a: array, what: str) -> Use:
        use = Use(a, self.step, what, call_site.here().short)
        if a._address in self._earlier:
            raise RuntimeError(
                f"{use}: this array was made in an earlier step. A step that runs again makes another one, whose "
                "values and gradient would be lost: make the array before wp.checkpointed, and give it in `state`"
            )
        return use

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
        for span, before, use in self._before:
            if memory_at(span, use.array.device) != before:
                raise RuntimeError(
                    f"{use}: the array changed while the steps ran, but by no launch, copy or fill; add it to `state`"
                )
        self._before.clear()

    def check_gradients(self) -> None:
        """Raise if a gradient came to an array that a step had made."""
        if any(any(memory_at(span, device)) for span, device in self.gradients.values()):
            raise RuntimeError(
                "an array that was made in a step of wp.checkpointed is used after the steps: its gradient would be "
                "lost, as steps that run again make other arrays. Make it before, and write to it in the step"
            )


def _content(a: array) -> bytes:
    return a._numbers().tobytes()


def _of_numpy(a: array) -> bool:
    return isinstance(a.owner, np.ndarray)
