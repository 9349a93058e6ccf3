"""`wp.checkpointed`: gradients of long simulations in a fixed memory.

A tape keeps what every launch overwrites. Here a few snapshots of the state are kept, and steps run again from them
when their turn comes in `backward`, each on a tape of its own. `checkpoint_schedule` says from which, `witness` sees to
it that steps which run again do what they did. Start with `checkpointed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _native, config
from ..arrays.array import array
from ..arrays.layouts import byte_range
from ..arrays.snapshots import Piece, Snapshots
from ..arrays.transfer import any_set
from ..devices.interval_map import IntervalMap
from ..devices.progress import Bar
from ..dispatch import call_site, capture, observers
from ..dispatch.call_site import CallSite
from .checkpoint_schedule import Action, advances, schedule
from .detached import BrokenChain
from .launch_vjp import SkippedLaunch, record_skipped
from .recorder import SILENCE, Recorder, Step
from .replay_check import AccessRecorder, TraceHash, Use
from .tape import Tape

__all__ = ["checkpointed"]

DEFAULT_BUDGET = 256 << 20
TOLERANCE = 1e-2  # of the largest number: between runs whose atomics come in another order


def checkpointed(
    step: Callable[[int], Any],
    n: int,
    state: Sequence[array],
    memory_budget: int | None = None,
    progress: bool | None = None,
) -> None:
    """Run `step(0)`, ... `step(n - 1)`; on a tape, such that gradients flow back through all of them in a fixed memory.

    The tape keeps snapshots of the state, as many as fit into the budget, and runs steps again from these when it goes
    backwards. The number of steps that run again is the least possible (A. Griewank, A. Walther, Algorithm 799:
    revolve, ACM Transactions on Mathematical Software 26, 2000). Gradients are those of a tape that records all steps.
    A step may call `checkpointed` for steps of its own.

    Args:
        step: launches what one step consists of; it gets the step's number. It will be called many times for each
            number and must do the same every time.
        n: the number of steps.
        state: the arrays that hand over from step to step. Others may be written if no step reads what an earlier
            one wrote: where a step begins by overwriting all of them, or steps never read them.
        memory_budget: the bytes that snapshots may take; by default what the tape may take, or 256 MiB.
        progress: whether to show a progress bar, which takes the package rich; by default after a second on a terminal.

    Raises:
        ValueError: if not even one snapshot fits into the budget.
        RuntimeError: if a step cannot run again, since it depends on more than its number and the state. `backward`
            raises it where that shows only then.

    >>> @wp.kernel
    ... def grow(x: wp.array[float], rate: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = x[i] * rate[0]
    >>> x = wp.ones(1, dtype=float, requires_grad=True)
    >>> rate = wp.full(1, 0.5, dtype=float, requires_grad=True)
    >>> tape = wp.Tape()
    >>> with tape:
    ...     wp.checkpointed(lambda i: wp.launch(grow, dim=1, inputs=[x, rate]), 10, state=[x])
    >>> tape.backward(x)
    >>> rate.grad.list() == [10 * 0.5**9]
    True
    """
    _check(step, n, state)
    tape = observers.tape()
    if tape is not None:
        observers.refuse_in_jvp("wp.checkpointed on a tape")
        capture.refuse("wp.checkpointed on a tape")
    if tape is None or not tape.records or n == 0:  # it records nothing where another wp.checkpointed runs its steps
        with Bar("steps", n, progress) as bar:
            for i in range(n):
                step(i)
                bar.advance()
        return
    budget = next(b for b in (memory_budget, tape.memory_budget, DEFAULT_BUDGET) if b is not None)
    run = _Run(step, n, state, budget, progress)
    try:
        ends = run.forward(tape)
    except BaseException:
        if run.witness.outputs or not run.snapshots.same():  # as at the start, which is in the first slot
            _discard_step_gradients(tape, [*state, *run.witness.outputs])
        raise

    def backward() -> None:
        try:
            tape.seals.suspended = True  # what steps overwrite again is restored
            run.backward()
        finally:
            tape.seals.suspended = False

    backward.__name__ = f"{n} checkpointed steps"  # what pictures of the tape call it
    outputs = [*state, *run.witness.outputs]
    if ends is not None:
        ends = ends._replace(gradients=tuple(a.grad for a in outputs if a.grad is not None))
    tape.record_step(Step(backward, [*outputs, *run.witness.inputs], outputs, ends), call_site.here())


def _discard_step_gradients(tape: Tape, written: Sequence[array]) -> None:
    """Record that operations have run and written to arrays, and that gradients cannot flow back through them."""

    def backward() -> None:
        if any(a.grad is not None and any_set(a.grad) for a in written):
            raise RuntimeError(
                "the loss depends on what wp.checkpointed left when one of its steps raised: no gradient flows through "
                "the steps before that. Set these arrays anew before you go on, or record on a new tape"
            )

    tape.record_step(Step(backward, written, written, covers=True), call_site.here())


def _check(step: Any, n: Any, state: Any) -> None:
    if not callable(step):
        raise TypeError(f"step: expected a function of the step's number, got {type(step).__name__}")
    if not hasattr(n, "__index__") or n < 0:
        raise ValueError(f"n: expected a number of steps, got {n!r}")
    if not isinstance(state, (list, tuple)) or not state or not all(isinstance(a, array) for a in state):
        raise TypeError("state: expected a list of the arrays that steps hand over to each other")
    for a in state:
        if a._refs is not None:
            raise TypeError(
                f"state: elements of {a._require_element().name} hold arrays, which snapshots would not keep"
            )


class _ReplayTape(Tape):
    """Records one step that runs again."""

    stands_in = True


class _RecordingProbe(Recorder):
    """Records nothing of the steps, but sees whether gradients end in them, and what is done that no tape sees."""

    records = False
    stands_in = True

    def __init__(self, tape: Tape, state: Sequence[array]):
        self.seals, self.cuts = tape.seals, tape.cuts
        self.ends: BrokenChain | None = None
        self.use(state, call_site.here())

    def begin_launch(self, kernel: Any, dim: Any, args: Any, device: Any, block_dim: int) -> SkippedLaunch:
        """Look at a launch."""
        step, ends = record_skipped(kernel, dim, args, call_site.here(), self, device, block_dim)
        self.ends = ends or self.ends
        return step

    def launched(self, step: SkippedLaunch) -> None:
        """Record that a launch has run."""
        self.seals.wrote(step.active, True)

    def follow(self, out: array, inputs: Any, covers: bool, place: CallSite) -> None:
        """Look at another step."""
        self.ends = self.cuts.step(place.called, inputs, out, covers, place) or self.ends
        if out.grad is not None:
            self.seals.wrote([out], False)
            self.use([out, *inputs], place, [out] if covers else [])

    def record_step(self, step: Step, place: CallSite) -> None:
        """Pass over an operation, which writes to its outputs."""
        self.seals.wrote([a for a in step.outputs if a.grad is not None], True)

    def record_func(self, backward: Callable[[], None], arrays: Any, outputs: Any = None) -> None:
        """Pass over a recorded function of the program, which has written to its outputs."""
        written = arrays if outputs is None else outputs
        observers.touched(arrays, written)
        self.seals.wrote([a for a in written if a.grad is not None], True)


class _Run:
    """Steps that ran, and all it takes to go back through them."""

    def __init__(self, step: Callable[[int], Any], n: int, state: Sequence[array], budget: int, progress: bool | None):
        self.step, self.n, self.state, self.progress = step, n, list(state), progress
        self.last = self._allocate_slots()  # for the state after the last step
        self.slots = min(budget // max(self.last.nbytes, 1), n + 1)
        if self.slots < 1:
            raise ValueError(
                f"memory_budget: a snapshot of the state takes {self.last.nbytes} bytes, and the budget is {budget}"
            )
        self.snapshots = self._allocate_slots(self.slots)
        self.witness = AccessRecorder([span for span, _ in self.last.pieces])
        self.rest: Iterator[Action] | None = None  # what is left of the schedule before the first `backward`

    def _allocate_slots(self, slots: int = 1) -> Snapshots:
        return Snapshots([(byte_range(a), a.device) for a in self.state], slots)

    def forward(self, tape: Tape) -> BrokenChain | None:
        """Run all steps, keeping snapshots on the way, as part of what a tape records.

        Returns where a gradient would end, if it does in one of the steps.
        """
        watched = _RecordingProbe(tape, self.state)
        # The last step of this schedule is the program that follows.
        self.rest = schedule(self.n + 1, self.slots)
        around = [o for o in observers.stack() if isinstance(o, TraceHash)]
        with observers.ReplacedObservers(watched, *around, self.witness), Bar("steps", self.n, self.progress) as bar:
            for action in self.rest:
                if action.kind == "reverse":
                    break
                self._run_action(action, bar, self.witness)
            self.witness.end()
        self.witness.check_unwritten()
        self.constants = Snapshots(_pieces(self.witness.read))
        self.constants.save()
        self.last.save()
        return watched.ends

    def backward(self) -> None:
        """Go back through all steps, adding to gradients. What arrays have is left as it is."""
        self.witness.check_gradients()
        changed = [] if self.constants.same() else self.constants.pieces  # memory that is read-only is not
        now = Snapshots([*self.last.pieces, *_pieces(self.witness.written), *changed])
        now.save()
        unrecorded = observers.ReplacedObservers(SILENCE)
        try:
            if changed:
                self.constants.restore()
            with unrecorded:
                self._go_back()
        finally:
            unrecorded.__exit__()
            now.restore()

    def _go_back(self) -> None:
        actions, self.rest = self.rest, None
        total = advances(self.n + 1, self.slots)
        if actions is None:  # again: of all snapshots, the one at the start is left
            actions, total = schedule(self.n, self.slots), advances(self.n, self.slots) + self.n
            next(actions)
            self.snapshots.restore(0)
        end, start, fingerprint = self.last, self._allocate_slots(), TraceHash()
        with Bar("back", total, self.progress) as bar:
            for action in actions:
                if action.kind != "reverse":
                    self._run_action(action, bar)
                    continue
                start.save()
                self._reverse(action.first, fingerprint)
                if not end.same():
                    self._check_rounding(action.first, end)
                end, start = (start, end) if end is not self.last else (start, self._allocate_slots())
                bar.advance()
        if fingerprint.sum != self.witness.sum:
            raise RuntimeError(
                "steps that ran again launched other kernels, or gave them other numbers or arrays, than the first "
                "time: a step must depend on nothing but its number and `state`"
            )

    def _run_action(self, action: Action, bar: Bar, witness: AccessRecorder | None = None) -> None:
        if action.kind == "save":
            self.snapshots.save(action.slot)
        elif action.kind == "restore":
            self.snapshots.restore(action.slot)
        elif witness is not None:
            for i in range(action.first, action.last):
                witness.begin(i)
                self.step(i)
                bar.advance()
        else:
            for i in range(action.first, action.last):
                self.step(i)
            bar.advance(action.last - action.first)

    def _reverse(self, i: int, fingerprint: TraceHash) -> None:
        tape = _ReplayTape()
        with observers.ReplacedObservers(tape, fingerprint):
            fingerprint.begin(i)
            self.step(i)
            fingerprint.end()
        tape._check()
        tape.keeper.join()
        with observers.NotRecording():
            tape._run_backwards(reversed(tape.launches))

    def _check_rounding(self, i: int, end: Snapshots) -> None:
        """Raise unless the state after step `i` differs no more from that of the first run than atomics explain."""
        on_gpu = any(a.device.is_cuda for a in self.state)
        threads_matter = self.witness.unordered and (on_gpu or _native.get_num_threads() > 1)
        if threads_matter and not config.deterministic:
            here = [a._numbers().copy() for a in self.state]
            end.restore()
            if all(_close(a, b._numbers()) for a, b in zip(here, self.state)):
                return
        raise RuntimeError(
            f"step {i} gave another state when it ran again: a step must depend on nothing but its number and `state`"
            + ("; atomics of several threads do, unless wp.config.deterministic is set" if threads_matter else "")
        )


def _pieces(found: IntervalMap[Use]) -> list[Piece]:
    return [(span, use.array.device) for span, use in found.notes()]


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind != "f" or not a.size:
        return True
    scale = float(np.nanmax(np.abs(b)))
    return np.allclose(a, b, rtol=0, atol=TOLERANCE * scale, equal_nan=True)
