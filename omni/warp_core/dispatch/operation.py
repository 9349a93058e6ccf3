"""Operations and launches, and the one door through which the host runs them.

An `Operation` declares which arrays it reads and writes, and brings its gradient and its tangent along. A
`KernelLaunch` knows its kernel, from which observers derive the same. `execute` runs either. If something observes a
thread (observers.py), it first passes through the observers. An operation asks no observer itself.
"""

# No annotations as strings here: the tuples below would compile each of theirs in every process.
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _native
from . import observers

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
        jvp: the terms, each linear in one array, whose sum is the tangent of the array that it writes. A term is the
            array and a function `(t, out)` that writes the term of `t`, an array like it, to `out`. Without terms the
            tangent is zero, and there may be several arrays. None if forward mode cannot follow.
        gives_way: True if a function that the program records right after, for the array that it writes and the first
            one that it reads, is its gradient in place of `vjp`.
        ends_gradients: for an operation without `vjp`. True if gradients end at it, as at a launch that writes arrays
            without gradients. False if an array with a gradient is an error.
    """

    name: str
    writes: Mapping[str, Write]
    reads: Mapping[str, Any]
    run: Callable[[], None]
    vjp: Callable[[], Backward] | None = None
    jvp: Sequence[Term] | None = None
    ends_gradients: bool = False
    gives_way: bool = False

    @property
    def outputs(self) -> list[Any]:
        """The arrays that it writes."""
        return [write.array for write in self.writes.values()]

    @property
    def inputs(self) -> list[Any]:
        """The arrays that it reads."""
        return [a for a in self.reads.values() if isinstance(a, _native.ArrayBase)]

    @property
    def is_opaque(self) -> bool:
        """True if it has neither gradient nor tangent and refuses arrays that have one."""
        return self.vjp is None and self.jvp is None and not self.ends_gradients

    def named_arrays(self) -> Iterator[tuple[str, Any]]:
        """The arrays that it reads or writes, with their names."""
        for name, a in self.reads.items():
            if isinstance(a, _native.ArrayBase):
                yield name, a
        for name, write in self.writes.items():
            yield name, write.array

    def overwrites(self, a: Any) -> bool:
        """True if it gives all elements of an array new values."""
        return any(write.array is a and write.overwrites_all for write in self.writes.values())

    @property
    def arguments(self) -> Sequence[Any]:
        """All values that it uses."""
        return [a for _, a in self.named_arrays()]

    def show(self, observer: observers.Observer, outward: observers.Outward) -> None:
        """Let an observer handle it."""
        observer.execute(self, outward)


class KernelLaunch(NamedTuple):
    """A launch of a kernel.

    Args:
        kernel: the kernel, for the types of the arguments.
        dim: the grid, as the program gave it.
        args: the arguments.
        device: where it runs.
        block_dim: the threads of a block.
        perform: runs a launch like this one; returns what `wp.launch` returns.
        is_recorded: False if the program keeps it from tapes and from forward mode.
        is_command: True if it is not to run, but to be returned for later.
        is_exact: True if it has to compute exactly the bits that its adjoint recomputes.
    """

    kernel: Any
    dim: Any
    args: Sequence[Any]
    device: Any
    block_dim: int
    perform: Callable[["KernelLaunch"], Any]
    is_recorded: bool = True
    is_command: bool = False
    is_exact: bool = False

    @property
    def name(self) -> str:
        """What errors call it."""
        return f"kernel `{self.kernel.name}` is launched"

    @property
    def arguments(self) -> Sequence[Any]:
        """All values that it uses."""
        return self.args

    def check_runs(self) -> None:
        """Raise RuntimeError if it is not to run now, as a tape cannot record that."""
        if self.is_command:
            raise RuntimeError(
                f"kernel `{self.kernel.name}`: a tape cannot record recorded launches (record_cmd=True): launch it "
                "directly"
            )

    def run(self) -> Any:
        """Run it, whatever observes."""
        return self.perform(self)

    def show(self, observer: observers.Observer, outward: observers.Outward) -> Any:
        """Let an observer handle it."""
        return observer.launch(self, outward)


def execute(action: Operation | KernelLaunch) -> Any:
    """Run an operation or a launch, and let the observers of this thread see it. Return what it returns.

    Raises:
        RuntimeError: a tape or forward mode observes, an array of the operation has a gradient or a tangent, and the
            operation has no `vjp` or no `jvp`. Nothing has been written then.
    """
    return observers.dispatch(action) if observers.observed else action.run()


def refuse(what: str, **arrays: Any) -> None:
    """Raise if `what`, which hands numbers to the program, would lose a gradient or a tangent of an array."""
    if observers.observed:
        observers.dispatch(Operation(what, writes={}, reads=arrays, run=_nothing))


def _nothing() -> None:
    """What an operation does that is only asked about."""
