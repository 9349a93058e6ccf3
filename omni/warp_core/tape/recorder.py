"""Recorder: the observer that a tape is, and the stand-ins for it while checkpointed steps run.

It records an operation before it runs, and takes the record back if it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import _native
from ..arrays.array import array
from ..devices.device import Device
from ..dispatch import call_site, observers
from ..dispatch.call_site import CallSite
from ..dispatch.operation import KernelLaunch, Operation
from ..launches.kernel_facts import effects
from . import mutation_check
from .detached import BrokenChain, DependenceTracker
from .launch_vjp import arrays_in, as_array
from .saved import SavedPool

Backward = Callable[[], None]


class Step(NamedTuple):
    """A recorded step that is no launch."""

    backward: Backward
    arrays: Sequence[array]  # all that it uses
    known: Sequence[array] | None = None  # those that it writes; None if that is unknown
    cut: BrokenChain | None = None  # a gradient that ends here
    covers: bool = False  # whether it overwrites all elements of `known`, whatever was there
    takes: bool = False  # whether all of `known` had a gradient when the step was recorded
    gives_way: bool = False  # whether a function of the program right after it may be its gradient
    own: bool = False  # whether it is a function of the program, which may set gradients itself

    @property
    def written(self) -> Sequence[array]:
        """The arrays that the step may have written."""
        return self.arrays if self.known is None else self.known

    @property
    def outputs(self) -> Sequence[array]:
        """The arrays that it has written for certain."""
        return self.known or []

    def check(self) -> None:
        """Raise RuntimeError if a gradient that the step takes over was taken away."""
        if self.takes and any(a._grad is None for a in self.outputs):
            raise RuntimeError(
                "an array that a recorded step has written had a gradient, which was taken away since; leave "
                "requires_grad and grad as they are until backward"
            )


class Fill(_native.FillStep):
    """A recorded step that sets all elements of an array with a gradient of its own."""

    __slots__ = ()
    cut = None

    @property
    def arrays(self) -> list[array]:
        """The array."""
        return [self.array]

    written = outputs = known = arrays

    def check(self) -> None:
        """Raise RuntimeError if the gradient was taken away."""
        Step(self.backward, self.arrays, self.arrays, takes=True).check()

    def backward(self) -> None:
        """Set the gradient to zero: nothing depends on what was there before."""
        self.array._grad.zero_()  # type: ignore[union-attr]


_native.set_fill_class(Fill)


class Recorder(observers.Observer):
    """Records what a thread does, launches and host operations."""

    is_tape = True
    is_recorder = True
    records = True  # whether gradients come from what it records
    stands_in = False  # for a tape, which is told of nothing meanwhile
    seals: _native.MutationTracker
    cuts: DependenceTracker
    launches: list[Any]  # the recorded operations
    notes: list[CallSite]  # where each comes from
    keeper: SavedPool

    @property
    def tracker(self) -> _native.MutationTracker:  # type: ignore[override]
        """The tracker of writes that are not recorded."""
        return self.seals

    def execute(self, operation: Operation, outward: observers.Outward) -> None:
        """Record an operation, and run it."""
        length = self.length()
        try:
            recorded = self._record(operation)
            outward(operation)
        except BaseException:
            self.cut(length)
            raise
        if recorded:
            self.seals.wrote(recorded, False)

    def _record(self, operation: Operation) -> list[array]:
        """Record an operation that is about to run, if an array that it writes has a gradient.

        Return the arrays that it writes, none if it is not recorded.

        Raises:
            RuntimeError: the operation has no gradient, and one of its arrays has.
        """
        for name, a in operation.named_arrays():  # one without a gradient of its own may show memory that has one
            a._resolve_grad(f"{operation.name}: {name}")
        if operation.vjp is None and not operation.ends_gradients:
            _refuse_gradients(operation)
        outputs, inputs = operation.outputs, operation.inputs
        place = call_site.here()
        ends = [self.follow(write.array, inputs, write.overwrites_all, place) for write in operation.writes.values()]
        if operation.vjp is None or all(a.grad is None for a in outputs):
            return []
        covers = all(write.overwrites_all for write in operation.writes.values())
        end = next(filter(None, ends), None)
        arrays = [*inputs, *outputs]
        step = Step(operation.vjp(), arrays, outputs, end, covers, gives_way=operation.gives_way)
        self.record_step(step, place)
        return outputs

    def launch(self, launch: KernelLaunch, outward: observers.Outward) -> Any:
        """Record a launch, and run it. Where its adjoint recomputes bits, it computes exactly those."""
        if not launch.is_recorded:
            return outward(launch)
        launch.check_runs()
        length = self.length()
        try:
            step = self.begin_launch(launch.kernel, launch.dim, launch.args, launch.device, launch.block_dim)
            outward(step.instead_of(launch))
            if step.exact:
                step.launched()
            self.launched(step)
        except BaseException:
            self.cut(length)
            raise

    def elsewhere(self, action: Any, is_observed: bool) -> None:
        """Note what another thread, which no tape records, computes from arrays with gradients."""
        if is_observed:
            return
        place = call_site.here()
        if isinstance(action, Operation):
            self.cuts.elsewhere(action.name, place, action.inputs, action.outputs)
        elif action.is_recorded and len(action.args) == len(action.kernel.params):
            held = [as_array(a, t, action.device) for a, (_, t) in zip(action.args, action.kernel.params)]
            uses = list(zip(map(arrays_in, held), effects(action.kernel).params))
            read = [a for arrays, access in uses if access.reads for a in arrays]
            written = [a for arrays, access in uses if access.writes for a in arrays]
            self.cuts.elsewhere(f"kernel `{action.kernel.name}`", place, read, written)

    def use(self, arrays: Sequence[array], place: CallSite, covered: Sequence[array] = ()) -> None:
        """Record that a host operation uses arrays, and overwrites all of those that are `covered`.

        Raises:
            RuntimeError: an array with a gradient was changed since the last step that used it, and is not covered.
        """
        active = [a for a in arrays if a.grad is not None]
        mutation_check.use(
            self.seals,
            active,
            place,
            lambda number: f"{place.called}: an array of shape {active[number].shape}",
            lambda number: any(active[number] is a for a in covered),
        )

    # -- what a recorder does with what it sees ---------------------------------------------------------------------

    def begin_launch(self, kernel: Any, dim: Any, args: Any, device: Device | str | None, block_dim: int) -> Any:
        """Record a launch that is about to run, and return the step."""
        raise NotImplementedError

    def launched(self, step: Any) -> None:
        """Report that a launch has run."""
        raise NotImplementedError

    def follow(self, out: array, inputs: Sequence[array], covers: bool, place: CallSite) -> BrokenChain | None:
        """Note that `out` is made of inputs. Return the gradient that ends at the step that is about to be recorded."""
        raise NotImplementedError

    def record_step(self, step: Step, place: CallSite) -> None:
        """Record a step that is about to run."""
        raise NotImplementedError

    def length(self) -> int:
        """The number of recorded operations."""
        return 0

    def cut(self, length: int) -> None:
        """Forget all steps but the first `length`: the others did not run."""


def _refuse_gradients(operation: Operation) -> None:
    for name, a in operation.named_arrays():
        if a.grad is not None and a._require_element().is_active:
            raise RuntimeError(
                f"{operation.name} has no gradient, and {name} requires one while a tape records; "
                "call it outside of the tape, or on arrays without requires_grad"
            )


class Silence(observers.Observer):
    """Stands in for a tape and records nothing, for runs whose gradients come from elsewhere."""

    is_tape = True
    is_observing = False
    records = False
    stands_in = True

    def record_func(self, backward: Backward, arrays: Sequence[array], outputs: Any = None) -> None:
        """Pass over a recorded function of the program."""


SILENCE = Silence()
