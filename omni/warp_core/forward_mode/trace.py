"""Programs in forward mode: while a `JvpTrace` follows, launches, copies and fills also compute tangents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _native
from ..arrays.array import array
from ..arrays.factories import empty_like
from ..dispatch import call_site, observers
from ..dispatch.operation import KernelLaunch, Operation, Term
from ..launches.kernel_facts import tangent_facts
from ..tape import launch_vjp, structures
from ..tape.launch_vjp import as_array, covers
from ..tape.mutation_check import first_change
from .launch_jvp import launch_tangent
from .tangent_storage import TangentStorage, arrays_in


class JvpTrace(observers.Observer):
    """Follows what is done in a `with` block. What `shadows` has no tangents of has zero tangents.

    `strict` is for what a tape records as well: writing to arrays that have no gradient, and so nothing on the tape,
    raises. With `gradients`, arrays that are made get one.

    Memory with tangents is sealed, as a tape seals what it uses (see `seals`), unless there is one, which does so.
    """

    is_jvp = True

    def __init__(self, strict: bool = False, gradients: bool = False):
        self.shadows = TangentStorage()
        self.strict, self.gradients = strict, gradients
        self.seals: _native.MutationTracker | None = None  # of memory with tangents, where no tape has its own

    def __enter__(self) -> JvpTrace:
        if observers.tape() is None:
            around = observers.innermost_jvp()
            self.seals = self.tracker = _native.MutationTracker() if around is None else around.seals
        self._since, self._older = call_site.here(), set(threading.enumerate())
        self._scope = observers.Observe(self)
        self._scope.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__(*exception)

    def elsewhere(self, action: Any, is_observed: bool) -> None:
        """Raise if a thread that has begun in the block uses what is followed, as only one thread is."""
        if threading.current_thread() not in self._older and any(map(self.follows, action.arguments)):
            raise RuntimeError(
                f"{action.name} in another thread than wp.jvp ({self._since}), which follows what its own thread does, "
                "and would miss the tangents: do it there"
            )

    def follows(self, value: Any) -> bool:
        """True if an array, or an array in a struct, has tangents that may not be zero."""
        return any(self.shadows.of(a) is not None for a in arrays_in(value))

    def seal(self, what: str, arrays: Sequence[array], is_covered: Callable[[array], bool] = lambda a: False) -> None:
        """Record that an operation uses arrays. Raise RuntimeError if one of them has changed in an unrecorded write.

        Args:
            what: what messages call it.
            arrays: what it reads or writes.
            is_covered: whether it overwrites all of an array, so that it does not matter what was there.
        """
        moving = [a for a in arrays if self.shadows.of(a) is not None]
        if self.seals is None:
            return
        found = first_change(self.seals, moving, call_site.here(), lambda number: is_covered(moving[number]))
        if found is not None:
            number, how, before, writer = found
            by = "by NumPy or another library" if how == _native.CHANGED else f"by what is not recorded ({writer})"
            raise RuntimeError(
                f"{what}: an array of shape {moving[number].shape} has a tangent, and since {before} it was changed "
                f"{by}, so that the tangent does not belong to its numbers: use assign, fill_, wp.copy, `a[...] =`, or "
                "launches without record_tape=False, or another array"
            )

    def wrote(self, arrays: Sequence[array]) -> None:
        """Record that an observed operation has written to arrays."""
        moving = [a for a in arrays if self.shadows.of(a) is not None]
        if self.seals is not None:
            self.seals.wrote(moving, True)
            self.seals.use(moving, call_site.here())

    def launch(self, launch: KernelLaunch, outward: observers.Outward) -> Any:
        """Run a launch, with tangents if one of its arguments has one."""
        if not launch.is_recorded:
            return outward(launch)
        launch.check_runs()
        kernel, dim, args, device, block_dim, *_ = launch
        kernel, args, _ = structures.with_arrays(kernel, device, args, self.follows)
        held = [as_array(a, t, device) for a, (_, t) in zip(args, kernel.params)]
        arrays = [a for value in held for a in launch_vjp.arrays_in(value)]
        self.seal(f"kernel `{kernel.name}`", arrays, lambda a: covers(kernel, dim, held, a))
        with observers.OuterLevel(self):
            if self.strict and len(held) == len(kernel.params):
                self._check_gradients(f"kernel `{kernel.name}`", held, _written(kernel, held))
            moves = len(held) == len(kernel.params) and any(map(self.follows, held))
            if moves:
                launch_tangent(kernel, dim, held, [None] * len(held), self.shadows, device, block_dim)
        if not moves:
            outward(launch)
        self.wrote(arrays)
        return None

    def _check_gradients(self, what: str, read: Sequence[Any], written: Mapping[str, Any]) -> None:
        """Raise if gradients would be lost in what is written."""
        if not self.strict or all(a.grad is None for value in read for a in arrays_in(value)):
            return
        for name, value in written.items():
            if any(a.grad is None for a in arrays_in(value)):
                raise ValueError(
                    f"{what}: `{name}` is written and has no gradient; make it inside of the function that is "
                    "differentiated, or with requires_grad=True"
                )

    def made(self, a: array) -> None:
        """`a` has got memory of its own."""
        if self.gradients and arrays_in(a):
            with observers.OuterLevel(self):
                a.requires_grad = True

    def execute(self, operation: Operation, outward: observers.Outward) -> None:
        """Compute the tangents of what an operation writes, and let it run."""
        if operation.jvp is None:
            self._refuse_tangents(operation)
        else:
            for name, write in operation.writes.items():
                self._compute_tangent(operation, name, write.array, operation.jvp)
        outward(operation)
        if not operation.is_opaque:
            self.wrote(operation.outputs)

    def _refuse_tangents(self, operation: Operation) -> None:
        for name, a in operation.named_arrays():
            if self.follows(a):
                raise RuntimeError(
                    f"{operation.name} has no forward mode, and {name} has a tangent: it cannot be part of wp.jvp"
                )

    def _compute_tangent(self, operation: Operation, name: str, out: array, terms: Sequence[Term]) -> None:
        inputs = [x for x, _ in terms]
        self.seal(operation.name, [out, *inputs], operation.overwrites)
        with observers.OuterLevel(self):
            self._check_gradients(operation.name, inputs, {name: out})
            followed = filter(lambda term: self.follows(term[0]), terms)
            moving = [(self.shadows.of(x), write) for x, write in followed]
            if not moving or not arrays_in(out):
                tangent = self.shadows.of(out)
                if tangent is not None:
                    tangent.zero_()
            elif len(moving) == 1:
                tangent, write = moving[0]
                write(tangent, self.shadows.ensure(out))
            else:
                parts = [empty_like(out, requires_grad=observers.tape() is not None) for _ in moving]
                for part, (tangent, write) in zip(parts, moving):
                    write(tangent, part)
                for part in parts[1:]:
                    parts[0] += part
                self.shadows.ensure(out)[...] = parts[0]


def _written(kernel: Any, held: Sequence[Any]) -> dict[str, Any]:
    """The arguments that a kernel writes, by their names."""
    written = tangent_facts(kernel).written
    return {name: a for (name, _), a, is_written in zip(kernel.params, held, written) if is_written}
