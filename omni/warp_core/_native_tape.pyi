"""Tapes in the C++ runtime: the steps and the memory that they have, and what they see of writes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

class Span:
    """Addresses from `low` to before `high`, in a set of spans until `leave` or the end of the object."""

    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...
    @property
    def inside(self) -> bool:
        """Whether it is in its set."""

    def leave(self) -> None: ...

class SavedPoolBase:
    """What a tape has saved: `used` bytes in copies."""

    used: int

    def __init__(self) -> None: ...
    def latest(self, low: int, high: int) -> Any:
        """The last span that was saved of this memory, or None."""

    def forget(self) -> None:
        """Save other spans from now on."""

class SavedSpan(Span):
    """Memory as it is when a tape records. `on_write` is told of it."""

    size: int
    lost: str
    user: Any
    is_parameter: bool
    keeper: Any
    _copy: Any
    _device: Any
    _graph: Any

    def __init__(self, low: int, high: int, device: Any, owners: Sequence[Any], keeper: Any, graph: Any) -> None: ...

def set_span_class(cls: type) -> None:
    """Let native code make the spans of memory that only this package writes to."""

class StepTemplate:
    """What recorded launches of a kernel have in common."""

    kernel: Any
    options: Any
    facts: Any
    block_dim: int
    device: Any

    def __init__(self, kernel: Any, options: Any, facts: Any, block_dim: int, device: Any) -> None: ...

class LaunchStep:
    """A launch as a tape has it."""

    template: Any
    dim: Any
    place: Any
    args: list[Any]
    held: list[Any]
    active: list[Any]
    arrays: list[Any]
    written: list[Any]
    cut: Any
    left: Any
    structures: Any

    def __init__(
        self,
        template: Any,
        dim: Any,
        args: list[Any],
        held: list[Any],
        active: list[Any],
        arrays: list[Any],
        written: list[Any],
        place: Any,
        cut: Any = None,
    ) -> None: ...

def set_launch_class(cls: type, no_structures: Any) -> None:
    """Let native code make the steps of launches that find no structure by its id."""

class FillStep:
    """An operation of a tape that sets all elements of an array with a gradient of its own."""

    array: Any

def set_fill_class(cls: type) -> None:
    """Let native code make the steps of such operations."""

def arrays_of(steps: list[Any], written: bool) -> list[Any]:
    """The arrays of steps, or those that they may have written, each once."""

def steps_made() -> int:
    """How many launches native code has recorded."""

def check_steps(steps: list[Any], epoch: int) -> None:
    """Call `check` of the steps whose gradient may have changed since they were recorded."""

def run_backwards(steps: Iterator[Any], seconds: float) -> int:
    """Go backwards over steps for some time; return how many are done, 0 at the end."""

class GradientSpan(Span):
    """In the set that `gradients_in` looks through."""

    def __init__(self, low: int, high: int) -> None: ...

def count_gradients(arrays: list[Any]) -> int:
    """How many of the arrays have a gradient, or show memory that has one."""

def clear_gradients(arrays: list[Any]) -> list[Any]:
    """Clear the gradients of arrays; return those whose memory is not plain, which it leaves alone."""

class MutationTracker:
    """What a tape last saw of the memory that its steps use."""

    suspended: bool
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def use(self, arrays: Sequence[Any], place: Any) -> tuple[int, int, Any, Any] | None:
        """Note that a step at `place` uses arrays, unless the memory of one is not as the tape has seen it: then give
        the number of that array, OVERWRITTEN or CHANGED, the place of the step before and that of the change.
        """

    def wrote(self, arrays: Sequence[Any], changed: bool) -> None:
        """Take what arrays hold as written by the tape; in any case if `changed`, else if it was told of a write."""

    def renew(self, array: Any) -> bool:
        """Forget what an array held, which is overwritten as a whole. False if other arrays reach beyond it."""

    def clear(self) -> None: ...

OVERWRITTEN: int
CHANGED: int

def tracker_of_writes() -> MutationTracker | None:
    """The tracker that the writes of this thread belong to; the others take them for writes that nothing records."""

def on_unseen_write(function: Callable[[], Any]) -> None:
    """Call a function to know the place of a write that no tape sees."""

def begin_gradients(others: Sequence[Any], seeds: Sequence[tuple[Any, Any]]) -> list[Any] | None:
    """Give gradients on the CPU their seeds: an array like it, or the bytes of one element.

    Returns those of the others that have no seed and are not zero; None, with nothing done, where gradients overlap or
    are no plain memory of this package.
    """
