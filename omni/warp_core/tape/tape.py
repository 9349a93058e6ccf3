"""`wp.Tape`: records what computes a loss, and runs it backwards for the gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import _native, config
from ..arrays import grad_binding, layouts, transfer
from ..arrays.accumulate import add
from ..arrays.array import array
from ..devices.device import Device, get_device
from ..devices.progress import Bar
from ..dispatch import call_site, capture, observers
from ..dispatch.call_site import CallSite
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..launches.overloads import instance_for
from . import cotangents, launch_template, partial_gradients, standing_gradients
from .cotangents import Seed
from .detached import BrokenChain, DependenceTracker, tell
from .launch_vjp import RecordedLaunch, UntrackedLaunch, check_steps, record
from .recorder import Fill, Recorder, Step
from .saved import SavedPool
from .tape_scopes import TapeScopes

SECONDS_AT_A_TIME = 0.1  # that native code goes backwards before the progress is shown
_INSIDE = "compute it inside `with tape:`, and pass the array that the launch wrote"
_ALL = "record and go backwards in one capture, or both outside of captures, and use a new tape or reset() for each"


def _is_among(a: array, others: Sequence[array]) -> bool:
    return any(a is other or layouts.may_share_memory(a, other) for other in reversed(others))


def _where(graph: Any) -> str:
    return "outside of this capture" if graph is None else "while a graph was captured"


class Tape(TapeScopes, Recorder):
    """Records launches and copies inside `with tape:`; `backward` then adds to the gradients of all arrays involved.

    What the gradients need of arrays is copied when it is about to be overwritten, so that later writes change no
    gradient. What NumPy or other libraries see, and may write at any time, is copied when a launch is recorded.

    Args:
        memory_budget: how many bytes these copies may take together; None sets no limit. Where the budget does not
            allow a copy, `backward` raises and says what was overwritten where.

    >>> import omni.warp_core as wp
    >>> @wp.kernel
    ... def square(x: wp.array[float], y: wp.array[float]):
    ...     i = wp.tid()
    ...     y[i] = x[i] * x[i]
    >>> x, y = wp.full(1, 3.0, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    >>> tape = wp.Tape()
    >>> with tape:
    ...     wp.launch(square, dim=1, inputs=[x, y])
    >>> tape.backward(y)
    >>> x.grad.list()
    [6.0]
    """

    def __init__(self, memory_budget: int | None = None) -> None:
        super().__init__()
        self.launches: list[RecordedLaunch | UntrackedLaunch | Step | Fill] = []
        self.keeper = SavedPool()
        self.seals = _native.MutationTracker()
        self.cuts = DependenceTracker()
        self._graph: Any = None  # what it records goes into that, or is done
        self._has_run = False  # backwards, since the last reset
        self.memory_budget = memory_budget

    def __enter__(self) -> Tape:
        graph = capture.innermost()
        if self.launches and graph is not self._graph:
            raise RuntimeError(
                f"the tape has recorded {_where(self._graph)}, and what is done now is not done there: {_ALL}"
            )
        self._graph = graph
        around = observers.tape()
        if around is not None:
            since = observers.since(around)
            raise RuntimeError(
                f"a tape records already{since}, and what it does not see would be missing: end it first"
            )
        observers.refuse_in_jvp("a tape")
        self._scope = observers.Observe(self)
        self._scope.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__()

    @property
    def memory_budget(self) -> int | None:
        """The limit in bytes for copies of overwritten arrays; None sets no limit."""
        return self.keeper.budget

    @memory_budget.setter
    def memory_budget(self, value: int | None) -> None:
        if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__") or value < 0):
            raise ValueError(f"memory_budget: expected a number of bytes or None, got {value!r}")
        self.keeper.budget = None if value is None else value.__index__()

    @property
    def memory_used(self) -> int:
        """The size in bytes of the copies."""
        return self.keeper.used

    # -- recording --------------------------------------------------------------------------------------------------

    def record_launch(
        self,
        kernel: Any,
        dim: Any,
        max_blocks: int,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        device: Device | str | None = None,
        block_dim: int = DEFAULT_BLOCK_DIM,
        metadata: Any = None,
    ) -> None:
        """Record a launch that has just run without the tape: by a recorded launch, or with `record_tape=False`.

        Launches inside `with tape:` are noted anyway. Nothing may have changed the arrays since it ran.

        Args:
            kernel: what was launched.
            dim: the number of threads, as for `wp.launch`.
            max_blocks: accepted; has no effect.
            inputs: the arguments in the order of the kernel's parameters.
            outputs: the remaining arguments.
            device: where it ran.
            block_dim: how many threads a block had.
            metadata: accepted; has no effect.

        Raises:
            CompileError: the kernel cannot be differentiated.
            RuntimeError: its gradient needs what only a launch that the tape sees can keep, such as elements that the
                kernel reads and overwrites.
        """
        args, before = [*inputs, *outputs], self.length()
        try:
            instance = instance_for(kernel, args) if kernel.is_generic else kernel
            step = self.begin_launch(instance, dim, args, device, block_dim)
            if isinstance(step, RecordedLaunch) and (step.kernel is not instance or step.requires_execution()):
                raise RuntimeError(
                    f"kernel `{kernel.name}`: its gradient needs what is lost once it has run, such as elements that "
                    "it overwrites: launch it by wp.launch inside `with tape:`"
                )
        except BaseException:
            self.cut(before)
            raise
        self.launched(step)

    def begin_launch(
        self,
        kernel: Any,
        dim: Any,
        args: Sequence[Any],
        device: Device | str | None = None,
        block_dim: int = DEFAULT_BLOCK_DIM,
    ) -> RecordedLaunch | UntrackedLaunch:
        """Record a launch that is about to run. Raise CompileError if the kernel cannot be differentiated.

        Returns what has to be told when it has run (`launched`).
        """
        place, where = call_site.here(), get_device(device)
        step = record(kernel, dim, args, place, self, where, block_dim)
        self.keeper.note(where)
        self.launches.append(step)
        self.notes.append(place)
        return step

    def launched(self, step: RecordedLaunch | UntrackedLaunch) -> None:
        """Report that a launch has run."""
        if isinstance(step, RecordedLaunch):
            self.seals.wrote(step.active, True)
            launch_template.remember(step)

    def length(self) -> int:
        """The number of recorded operations."""
        return len(self.launches)

    def cut(self, length: int) -> None:
        """Forget all steps but the first `length`: the others did not run."""
        del self.launches[length:], self.notes[length:]

    def record_func(
        self, backward: Callable[[], None], arrays: Sequence[array], outputs: Sequence[array] | None = None
    ) -> None:
        """Record an operation of your own.

        Args:
            backward: called when its turn comes; it reads the gradients of what the step wrote, and adds to those of
                what it read. Where it needs the arrays themselves, it keeps copies of them.
            arrays: the arrays that the step touches; `zero` clears their gradients too.
            outputs: those of them that the step writes, if all is to be said.

        Right after a solve of `wp.optim.linear`, a function for its solution and its right-hand side replaces the
        gradient of the solve.

        Raises:
            RuntimeError: NumPy or another library has changed an array that recorded steps use, and that the step
                does not write. Or the step comes right after a solve. It names the solution, but neither the
                right-hand side nor `outputs`.
        """
        now = observers.tape()
        if now is not None and now is not self and now.stands_in:
            now.record_func(backward, arrays, outputs)
        else:
            step = Step(backward, list(arrays), None if outputs is None else list(outputs), own=True)
            self._let_give_way(step)
            self.record_step(step, call_site.here())

    def _let_give_way(self, step: Step) -> None:
        """Drop the gradient of the last step if a function of the program is to be that, as programs for warp-lang have
        it for solves.
        """
        last = self.launches[-1] if self.launches else None
        if not (isinstance(last, Step) and last.gives_way):
            return
        has_input, has_result = (_is_among(last.arrays[i], step.arrays) for i in (0, -1))
        if has_result and has_input:
            self.launches[-1] = last._replace(backward=lambda: None)
        elif has_result and step.known is None:
            raise RuntimeError(
                f"record_func: {self.notes[-1].called} right before has written one of `arrays`, and has a gradient "
                "of its own. If `backward` is to replace that, name its right-hand side among `arrays`, too. If not, "
                "say `outputs`"
            )

    def record_step(self, step: Step, place: CallSite) -> None:
        """Record a step that is about to run."""
        takes = step.known is not None and all(a.grad is not None for a in step.known)
        for a in step.arrays:
            self.keeper.note(a.device)
        if step.own:  # a step of the program, with a name of its own
            place = place._replace(called=getattr(step.backward, "__name__", "step").strip("_"))
        self._seal(step, place)
        self.launches.append(step._replace(takes=takes))
        self.notes.append(place)

    def follow(self, out: array, inputs: Sequence[array], covers: bool, place: CallSite) -> BrokenChain | None:
        """Note that `out` is made of inputs. Return the gradient that ends at the step that is about to be recorded."""
        return self.cuts.step(place.called, inputs, out, covers, place)

    def _seal(self, step: Step, place: CallSite) -> None:
        """Record the effects of a host operation on memory with gradients."""
        written = [a for a in step.written if a.grad is not None]
        self.seals.wrote(written, step.own)
        self.use(step.arrays, place, written if step.own or step.covers else ())

    # -- gradients --------------------------------------------------------------------------------------------------

    def backward(self, loss: array | None = None, grads: dict[array, array] | None = None) -> None:
        """Run everything recorded backwards. Gradients are added to those that arrays have already.

        What arrays have before is not propagated: each call adds the derivatives of this loss, and nothing else.

        Without arguments it starts with the gradients that stand in the arrays which the tape wrote, as the program has
        set them: `y.grad.fill_(1.0)` or `y.grad = ...` before `tape.backward()`.

        Args:
            loss: an array of one number, which recorded launches computed. Its gradient is set to 1.
            grads: gradients to set and start with, by array; instead of a loss, or besides it.

        Raises:
            ValueError: `loss` is not one number, was not computed on the tape, or nothing was recorded. Or no recorded
                step uses an array of `grads`. Or the gradients of recorded arrays do not belong to their memory. Or
                there is no argument, and no gradient to start with.
            RuntimeError: the loss or an array of `grads` has no gradient, or no array from which the loss was computed
                has one. Or a recorded step has no gradient any more, because arrays or functions were changed since.
                Or an earlier call has failed in the middle, and gradients are NaN until `zero` clears them. Or
                there is no argument, and a gradient is what an earlier call has left: `zero` clears it.
        """
        if self.launches and isinstance(grads, Mapping):
            for a in grads:
                self._require_use(a)
        self._backward(loss, grads)

    def _backward(self, loss: array | None = None, grads: dict[array, array] | None = None) -> None:
        """As `backward`, where arrays of `grads` need not have been used."""
        if not self.launches:
            raise ValueError("nothing is recorded on this tape: launch inside `with tape:`")
        observers.refuse_in_jvp("running a tape backwards")
        if self._graph is not capture.innermost():
            raise RuntimeError(
                f"the tape has recorded {_where(self._graph)}, and cannot go backwards elsewhere: {_ALL}"
            )
        grad_binding.attach_links(self._arrays())
        given = None if loss is None and grads is None else cotangents.given(loss, grads)
        if self._has_run:
            self._follow_parameters()
        self._has_run = True
        arrays = self._check()
        if partial_gradients.failed or partial_gradients.spoiled:
            partial_gradients.check(arrays)
        self.keeper.join()
        written = _native.arrays_of(self.launches, True)
        if given is None:
            may_start = any(isinstance(step, Step) and step.own for step in self.launches)
            standing_gradients.check(written, may_start)
        if loss is not None and not _is_among(loss, written):
            raise ValueError(f"loss: nothing that is recorded on this tape writes it; {_INSIDE}")
        if loss is not None:
            self._check_leaves(loss)
        if config.cut_gradients == "ignore" or not [step for step in self.launches if step.cut is not None]:
            self._propagate(arrays, written, given)
        else:
            self._propagate_to_cuts(arrays, written, given)

    def _require_use(self, a: Any) -> None:
        """Raise if a gradient could not arrive anywhere from array `a`. What is wrong otherwise is told later."""
        if not isinstance(a, array) or a.grad is None or a.size == 0:
            return
        if not any(_is_among(a, step.arrays) for step in reversed(self.launches)):
            raise ValueError(
                f"grads: nothing that is recorded on this tape uses the array of shape {a.shape} and dtype "
                f"{a.dtype.__name__}; {_INSIDE}"
            )

    def _follow_parameters(self) -> None:
        """Take the values that parameters of another library have now, if only saved tensors depend on them.

        Raises:
            RuntimeError: results of recorded launches were computed from their former values.
        """
        launches = [step for step in self.launches if isinstance(step, RecordedLaunch)]
        held = [h for step in launches for h in step.held]
        changed = [h for h in held if h.is_parameter and h.copied and not h.is_unmodified()]
        if not changed:
            return
        written = [layouts.byte_range(a) for a in _native.arrays_of(self.launches, True)]
        stale = any(layouts.ranges_overlap((h.low, h.high), span) for h in held for span in written)
        if stale or any(
            isinstance(step, (Step, Fill)) or getattr(step, "left", None) is not None for step in self.launches
        ):
            raise RuntimeError(
                "an optimizer of another library has changed parameters since the last backward. The gradient needs "
                "results that were computed from their former values: record the launches again in each iteration, on "
                "a new tape or after tape.reset()"
            )
        for h in changed:
            h.refresh()

    def _propagate(
        self,
        arrays: Sequence[array],
        written: Sequence[array],
        given: Sequence[Seed] | None,
        *before: Callable[[Any], None],
    ) -> None:
        """Go backwards from gradients that are given, or from those that stand in arrays; `before` are called before
        the turn of each step.

        Where that raises, gradients that have got a part of their terms are NaN.
        """
        paused, steps, aside = observers.NotRecording(), reversed(self.launches), None
        gradients = [a._grad for a in written if a._grad is not None]
        try:
            with paused:
                aside = []
                if given is not None:
                    aside = cotangents.begin(gradients, given)
                if any(a.retain_grad for a in written):
                    retained = RetainedGradients()
                    self._run_backwards(steps, retained.note, *before)
                    retained.give_back()
                else:
                    self._run_backwards(steps, *before)
                for gradient, was in aside:
                    add(gradient, was)
                standing_gradients.mark(arrays, call_site.here())
        except BaseException as error:
            partial_gradients.failed.append(
                (error, self.launches, steps, aside)
            )  # first, as another interrupt may come
            paused.__exit__()
            partial_gradients.spoil()
            raise

    def _propagate_to_cuts(
        self, arrays: Sequence[array], written: Sequence[array], given: Sequence[Seed] | None
    ) -> None:
        """As `_propagate`, and tell if a gradient would end at a step. Where that raises, gradients are as before."""
        if capture.innermost() is not None:  # whether the gradients that end are 0 is not known yet
            for step in self.launches:
                if step.cut is not None:
                    step.cut.tell()
            self._propagate(arrays, written, given)
            return

        def look(step: Any) -> None:
            if step.cut is not None and step.cut.has_nonzero_gradient():
                step.cut.tell()

        paused, saved = observers.NotRecording(), []
        try:
            with paused:
                saved = self._copied_gradients()
            self._propagate(arrays, written, given, look)
        except BaseException:
            paused.__exit__()
            with paused:
                for gradient, was in saved:
                    transfer.copy_all(gradient, was)
            raise

    def _copied_gradients(self) -> list[tuple[array, array]]:
        """The gradients, each once, with copies of them."""
        gradients = {layouts.identity(g): g for g in self.gradients.values()}
        return [(g, g._copied()) for g in gradients.values()]

    def _check_leaves(self, loss: array) -> None:
        """Raise or warn if nothing but the loss has a gradient, so that none would come of going backwards."""
        for step in self.launches:
            if isinstance(step, (Step, Fill)) or [a for a in step.arrays if a is not loss and a._grad is not None]:
                return  # a step of the program's own may hand gradients on to where it likes
        if not [step for step in self.launches if isinstance(step, RecordedLaunch) and step.reads(loss)]:
            tell(
                "loss: no array that the recorded launches read has a gradient, so backward would compute none. Make "
                "the arrays whose gradients you want with wp.array(..., requires_grad=True) before the launches, or "
                "set x.requires_grad = True there. Until then x.grad is None"
            )

    def _check(self) -> list[array]:
        """Raise if the steps have no right gradients any more. Returns the recorded arrays, each once."""
        arrays = self._arrays()
        grad_binding.check(arrays)
        check_steps(self.launches)
        # Steps may read what others write when their turn comes.
        _native.before_writes([a._grad for a in arrays if a._grad is not None])
        self.keeper.check()
        return arrays

    def _run_backwards(self, steps: Iterator[Any], *before: Callable[[Any], None]) -> None:
        """Propagate the gradients that arrays have; `before` are called before the turn of each step."""
        with Bar("backward", len(self.launches)) as bar:
            if not before and not capture.active():
                while done := _native.run_backwards(steps, SECONDS_AT_A_TIME):
                    bar.advance(done)
            for step in steps:
                for look in before:
                    look(step)
                step.backward()
                bar.advance()

    def _arrays(self) -> list[array]:
        """The arrays of all recorded steps, each once."""
        return _native.arrays_of(self.launches, False)

    @property
    def gradients(self) -> dict[array, array]:
        """The gradient of each recorded array that has one."""
        return {a: a.grad for a in self._arrays() if a.grad is not None}

    @gradients.setter
    def gradients(self, empty: dict[array, array]) -> None:
        """Accept an empty table of programs for warp-lang, where that is how a tape forgets the arrays it has seen."""
        if empty:
            raise ValueError("gradients: a tape finds them itself; set the gradient of an array by `a.grad = ...`")

    adjoints = gradients

    def get_adjoint(self, a: array) -> array | None:
        """The gradient of one array."""
        return a.grad

    def zero(self) -> None:
        """Set the gradients of all recorded arrays to zero."""
        partial_gradients.spoil()
        if observers.observed or capture.active():
            others: Iterable[array] = self.gradients.values()
        else:
            others = _native.clear_gradients(self._arrays())
        for g in others:
            g.zero_()

    def reset(self) -> None:
        """Forget everything recorded, and set the gradients to zero."""
        self.zero()
        self._has_run = False
        self.launches.clear()
        self.notes.clear()
        self.scopes.clear()
        self.seals.clear()
        self.keeper.forget()
        self.cuts.clear()


class RetainedGradients:
    """The gradients of arrays with `retain_grad`, as they are for what was written there last."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[array, array]] = {}

    def note(self, step: RecordedLaunch | UntrackedLaunch | Step) -> None:
        """Record which results of an operation were written, before they are passed on."""
        for a in step.outputs:
            if a.retain_grad and a.grad is not None and layouts.identity(a.grad) not in self._found:
                self._found[layouts.identity(a.grad)] = a.grad, a.grad._copied()

    def give_back(self) -> None:
        """Give arrays what was noted."""
        for gradient, noted in reversed(self._found.values()):
            transfer.copy(gradient, noted)
