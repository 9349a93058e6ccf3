"""Host operations, and the one door through which they run.

Whatever the host does to arrays is one value, an `Operation`. It declares which arrays it reads and writes, and brings
its gradient and its tangent along. `execute` runs it. If a tape, forward mode or a replay check observes the thread,
`execute` first tells each of them, or raises where one of them could not follow. An operation asks no observer itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _native
from . import recording

Backward = Callable[[], None]
Term = tuple[Any, Callable[[Any, Any], None]]


class Write(NamedTuple):
    """An array that an operation writes.

    `overwrites_all` promises that every element gets a new value, which does not depend on the old one unless the
    operation also reads the array. False is always right.
    """

    array: Any
    overwrites_all: bool = False


class Operation(NamedTuple):
    """One action of the host on arrays.

    Args:
        name: what errors call it.
        writes: the arrays that it writes, by the names that errors use.
        reads: the arrays that it reads, likewise; values that are not arrays are ignored.
        run: does it. Recording is paused meanwhile, so that launches and copies in it are not recorded once more.
        vjp: called before `run` if a tape records it. It saves the inputs that the gradient needs, and returns the
            function that takes over the gradients of the written arrays and adds to those of the read ones. None if
            there is no gradient.
        jvp: the terms, each linear in one array, whose sum is the array that it writes. A term is the array and a
            function `(t, out)` that writes the term of `t`, an array like it, to `out`. None if forward mode cannot
            follow.
    """

    name: str
    writes: Mapping[str, Write]
    reads: Mapping[str, Any]
    run: Callable[[], None]
    vjp: Callable[[], Backward] | None = None
    jvp: Sequence[Term] | None = None

    @property
    def outputs(self) -> list[Any]:
        """The arrays that it writes."""
        return [write.array for write in self.writes.values()]

    @property
    def inputs(self) -> list[Any]:
        """The arrays that it reads."""
        return [a for a in self.reads.values() if isinstance(a, _native.ArrayBase)]

    def named_arrays(self) -> Iterator[tuple[str, Any]]:
        """The arrays that it reads or writes, with their names."""
        for name, a in {**self.reads, **{name: write.array for name, write in self.writes.items()}}.items():
            if isinstance(a, _native.ArrayBase):
                yield name, a


def execute(operation: Operation) -> None:
    """Run an operation, and tell what observes this thread.

    Raises:
        RuntimeError: a tape or forward mode observes, an array of the operation has a gradient or a tangent, and the
            operation has no `vjp` or no `jvp`. Nothing has been written then.
    """
    if recording.observed:
        _execute_observed(operation)
    else:
        operation.run()


def _execute_observed(operation: Operation) -> None:
    recording.refuse_younger(operation.name, [a for _, a in operation.named_arrays()])
    if operation.jvp is None:
        _refuse_tangents(operation)
    else:
        _compute_tangents(operation, operation.jvp)
    recorded = recording.tape() is not None and _record(recording.tape(), operation)
    opaque = operation.vjp is None and operation.jvp is None  # then nothing that it writes has a gradient or tangent
    with recording.Performing([] if opaque else operation.outputs, recorded):
        operation.run()


def _refuse_tangents(operation: Operation) -> None:
    for follower in recording.followers():
        for name, a in operation.named_arrays():
            if follower.follows(a):
                raise RuntimeError(
                    f"{operation.name} has no forward mode, and {name} has a tangent: it cannot be part of wp.jvp"
                )


def _compute_tangents(operation: Operation, terms: Sequence[Term]) -> None:
    (out,) = operation.outputs
    for follower in recording.followers():
        follower.sums(out, terms)


def _record(tape: Any, operation: Operation) -> bool:
    """Record an operation that is about to run, if an array that it writes has a gradient. Return whether it has."""
    if operation.writes:  # an array may have got no gradient of its own, and show memory that has one
        for name, a in operation.named_arrays():
            a._resolve_grad(f"{operation.name}: {name}")
    if operation.vjp is None:
        _refuse_gradients(operation)
    outputs, inputs = operation.outputs, operation.inputs
    ends = [tape.follow(w.array, inputs, w.overwrites_all) for w in operation.writes.values()]
    if operation.vjp is None or all(a.grad is None for a in outputs):
        return False
    covers = all(write.overwrites_all for write in operation.writes.values())
    tape.record_step(operation.vjp(), [*inputs, *outputs], outputs, covers, next(filter(None, ends), None))
    return True


def _refuse_gradients(operation: Operation) -> None:
    for name, a in operation.named_arrays():
        if a.grad is not None and a._require_element().is_active:
            raise RuntimeError(
                f"{operation.name} has no gradient, and {name} requires one while a tape records; "
                "call it outside of the tape, or on arrays without requires_grad"
            )
