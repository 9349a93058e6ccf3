"""Launching the adjoint of a kernel: which of its arrays to keep when it runs, and how the adjoint runs later.

Start with `record`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .. import _native
from ..arrays import grad_binding, layouts
from ..arrays.array import array
from ..arrays.factories import zeros
from ..arrays.indexed_array import indexedarray
from ..autodiff.vjp.read_time import AFTER, BEFORE
from ..devices.device import CPU, Device
from ..dispatch import capture
from ..dispatch.call_site import CallSite
from ..dispatch.operation import KernelLaunch
from ..ir.launch_facts import AdjointFacts
from ..lang.array_structs.array_struct_types import indexed_array
from ..lang.array_structs.indexed_annotation import IndexedCells
from ..lang.kernel import Kernel, on_redefinition
from ..lang.kernel_transforms import Augmented
from ..lang.types import Array, Struct, Type
from ..lang.values.scalars import uint64
from ..launches import plan_cuda, plans
from ..launches.backward_settings import deciding_setting
from ..launches.block_size import thread_count
from ..launches.kernel_facts import adjoint_facts, effects
from . import mutation_check, structures
from .detached import BrokenChain, DependenceTracker, Reread
from .saved import CowSpan, SavedArrays, moves
from .structures import NO_STRUCTURES, SavedStructures


class AdjointInfo(NamedTuple):
    """Facts about an adjoint (`AdjointFacts`), and the key of its code."""

    reads: tuple[int, ...]
    replays: bool
    notes: tuple[Type, ...]
    key: str
    moved: list[bool]  # for each parameter, whether the adjoint reads its arrays
    epoch: int  # when this was found


_facts: WeakKeyDictionary[Kernel, dict[plans.Options, AdjointInfo]] = WeakKeyDictionary()
_epoch = 0  # counts definitions that may have changed functions which kernels call


class LaunchTemplate(_native.StepTemplate):
    """What recorded launches of a kernel have in common."""

    __slots__ = ()
    kernel: Kernel
    options: plans.Options  # of the adjoint
    facts: AdjointInfo
    block_dim: int
    device: Device


class RecordedLaunch(_native.LaunchStep):
    """A launch as the tape has it: what was launched, and what the adjoint will read of it."""

    __slots__ = ()
    template: LaunchTemplate
    held: list[CowSpan]  # the memory that the adjoint reads as it was BEFORE the launch
    active: list[array]  # those with gradients
    arrays: list[array]  # all of them
    written: list[array]  # those that the launch may have written
    place: CallSite
    cut: BrokenChain | None  # a gradient that ends here
    left: SavedArrays | None  # what the launch left in the arrays that the adjoint reads AFTER it
    structures: SavedStructures  # that it may find by id

    @property
    def kernel(self) -> Kernel:
        """The kernel, for the types of the arguments."""
        return self.template.kernel

    @property
    def kept(self) -> SavedArrays:
        """The saved tensors."""
        read = _read(self.kernel, self.args, self.template.facts, BEFORE)
        return SavedArrays.over(self.held, *read, self.place)

    @property
    def exact(self) -> bool:
        """True if the launch has to compute exactly the bits that the adjoint recomputes, and to report its end."""
        return self.template.options.exact

    def instead_of(self, launch: KernelLaunch) -> KernelLaunch:
        """The launch that runs in place of the program's."""
        args = [*launch.args, *self.args[len(launch.args) :]]
        return launch._replace(kernel=self.kernel, args=args, is_exact=self.exact)

    def launched(self) -> None:
        """Keep what the adjoint reads of what the launch, which has just run, left."""
        self.left = _keep(self.kernel, self.args, self.template.facts, AFTER, self.place)

    @property
    def outputs(self) -> list[array]:
        """The arrays that the step has written."""
        return self.written

    def requires_execution(self) -> bool:
        """True if the tape must observe the launch, for tensors to save or for data that the launch overwrites."""
        read, *_ = _read(self.kernel, self.args, self.template.facts, BEFORE)
        return self.exact or any(layouts.may_share_memory(a, b) for a in read for b in self.written)

    def reads(self, wanted: array) -> bool:
        """True if the launch reads an array, beyond writing or adding to it."""
        accesses = zip(self.args, effects(self.kernel).params)
        return any(access.reads for value, access in accesses if any(a is wanted for a in arrays_in(value)))

    def forward_options(self) -> plans.Options:
        """The options that the launch itself runs with."""
        options = plans.options_for(self.kernel, self.template.device, self.template.block_dim)
        return options._replace(exact=self.exact)

    def check(self) -> None:
        """Raise RuntimeError if the launch has no right gradient any more."""
        self._check_saved()
        options, facts = self.template.options, self.template.facts
        if facts.epoch != _epoch and self._is_other():
            raise RuntimeError(
                f"kernel `{self.kernel.name}`: a function that it calls has been defined anew since the launch was "
                "recorded, so its gradient would be that of another function; record the launch again"
            )
        if options.deterministic and self.template.device.is_cuda:
            plans.plan_for(self.kernel, options)  # raises where the order of threads matters
        for a in self.active:
            if a._grad is None:
                raise RuntimeError(
                    f"kernel `{self.kernel.name}`: an array of a recorded launch had a gradient, which was taken away "
                    "since; leave requires_grad and grad as they are until backward"
                )
        _check_no_late_gradients(self.kernel, self.arrays, len(self.active))

    def _check_saved(self) -> None:
        for held in self.held:
            if held.lost:
                raise RuntimeError(self.kept.loss(held))

    def _is_other(self) -> bool:
        return facts(self.kernel, self.template.options).key != self.template.facts.key

    def backward(self) -> None:
        """Add to the gradients of the launch's arrays."""
        if not self.structures.saved:
            self._run_adjoint(self.args)
            return
        with self.structures.in_place(self.args) as args:
            self._run_adjoint(args)

    def _run_adjoint(self, args: list[Any]) -> None:
        options, facts = self.template.options, self.template.facts
        plan = plans.plan_for(self.kernel, options)
        if self.left is None and not options.exact and not capture.active():
            self._check_saved()
            plan.launch_moved(self.dim, args, moves(self.held, facts.replays), facts.moved)
        else:
            capture.run(self.kernel, plan, self.dim, self.arguments(args), keep=[a.grad for a in self.active])

    def arguments(self, args: list[Any] | None = None) -> list[Any]:
        """The arguments, or others in place of them, with arrays that the adjoint reads as they were.

        Those that it writes are copies.
        """
        if self.exact and self.left is None:
            raise RuntimeError(
                f"kernel `{self.kernel.name}`: its gradient needs what the launch left in arrays, but the launch was "
                "not run by wp.launch while the tape recorded"
            )
        self._check_saved()
        facts = self.template.facts
        kept = self.kept.copy() if facts.replays else self.kept
        times = {BEFORE: kept, AFTER: self.left or kept}
        return [
            _as_kept(a, times[read]) if read else a for a, read in zip(self.args if args is None else args, facts.reads)
        ]


_native.set_launch_class(RecordedLaunch, NO_STRUCTURES)


def check_steps(steps: list[Any]) -> None:
    """Raise RuntimeError if one of the recorded steps has no right gradient any more."""
    _native.check_steps(steps, _epoch)


def _itself(launch: KernelLaunch) -> KernelLaunch:
    return launch


@dataclass
class UntrackedLaunch:
    """A launch none of whose arrays had a gradient, so that nothing was kept."""

    kernel: Kernel
    arrays: list[array]

    exact = False
    instead_of = staticmethod(_itself)
    active: tuple[array, ...] = ()
    cut = None

    written: tuple[array, ...] = ()  # none that matters
    outputs: tuple[array, ...] = ()

    def check(self) -> None:
        """Raise RuntimeError if gradients were asked for too late."""
        _check_no_late_gradients(self.kernel, self.arrays, 0)

    def backward(self) -> None:
        """Nothing flows through."""


def _check_no_late_gradients(kernel: Kernel, arrays: list[array], active: int) -> None:
    """Raise if an array of the launch got a gradient after the launch was recorded. `active`: how many had one then."""
    if _native.count_gradients(arrays) > active:
        raise RuntimeError(
            f"kernel `{kernel.name}`: an array got requires_grad after the launch was recorded; set it before"
        )


def record(
    kernel: Kernel, dim: Any, args: Sequence[Any], place: CallSite, tape: Any, device: Device, block_dim: int
) -> RecordedLaunch | UntrackedLaunch:
    """Record a launch that is about to run, and save the tensors that its adjoint needs, if any of its arrays has a
    gradient.

    Raises:
        CompileError: the kernel cannot be differentiated.
        ValueError: arrays of different element types share memory, which gradients could not follow.
        RuntimeError: an array has changed in a way that the tape has not seen.
    """
    plans.options_for(kernel, device, block_dim)  # tells those who analyse the kernel the size of its blocks
    kernel, args, watched = structures.with_arrays(kernel, device, args, lambda a: has_derivative(a, tape.cuts))
    held, named = _named(kernel, args, device)
    arrays = [a for a, _ in named]
    if all(a.grad is None for a in arrays):
        if tape.cuts:
            follow(tape.cuts, kernel, dim, held, place, device, block_dim)
        return UntrackedLaunch(kernel, [*arrays, *watched])
    options = adjoint_options(kernel, dim, arrays, device, block_dim)
    known = facts(kernel, options)
    if known.notes:
        notes = [_notes(dim, device) for _ in known.notes]
        return record(kernel.derive(Augmented(known.notes)), dim, [*args, *notes], place, tape, device, block_dim)
    if AFTER in known.reads:
        options = options._replace(exact=True)
        known = facts(kernel, options)
    active = _seal(tape, kernel, dim, held, named, place)
    kept = _keep(kernel, held, known, BEFORE, place)
    dim = _native.fixed_dim(dim)  # a list may change until backward
    cut = follow(tape.cuts, kernel, dim, held, place, device, block_dim)
    template = LaunchTemplate(kernel, options, known, block_dim, device)
    step = RecordedLaunch(template, dim, held, kept.held, active, [*arrays, *watched], [], place, cut)
    step.structures = structures.save(kernel, device, held, place)
    written = plans.plan_for(kernel, step.forward_options()).written
    step.written = [a for value, offsets in zip(held, written) for a in arrays_at(value, offsets)]
    return step


def has_derivative(a: array, cuts: DependenceTracker | None = None) -> bool:
    """True if an array has a gradient, or was computed from arrays with gradients."""
    a._resolve_grad("an array of a mesh or of a volume")
    return a.grad is not None or (cuts is not None and cuts.has_made(a))


@dataclass(slots=True)
class SkippedLaunch:
    """A launch of which only the arrays with gradients are noted, as others see to what flows through."""

    active: list[array]
    exact: ClassVar[bool] = False
    instead_of: ClassVar[Any] = staticmethod(_itself)


def record_skipped(
    kernel: Kernel, dim: Any, args: Sequence[Any], place: CallSite, tape: Any, device: Device, block_dim: int
) -> tuple[SkippedLaunch, BrokenChain | None]:
    """Record, of a launch that is about to run, only its memory accesses and where gradients would end.

    Raises what `record` raises for its arrays.
    """
    held, named = _named(kernel, args, device)
    step = SkippedLaunch(_seal(tape, kernel, dim, held, named, place))
    return step, follow(tape.cuts, kernel, dim, held, place, device, block_dim)


def _named(kernel: Kernel, args: Sequence[Any], device: Device) -> tuple[list[Any], list[tuple[array, str]]]:
    """The arguments of a launch as a tape keeps them, and the arrays in them, each with the name of its parameter."""
    held = [as_array(a, t, device) for a, (_, t) in zip(args, kernel.params)]
    named = [(a, name) for value, (name, _) in zip(held, kernel.params) for a in arrays_in(value)]
    for a, name in named:
        grad_binding.settle(a, f"kernel `{kernel.name}`: argument `{name}`")
    return held, named


def _seal(
    tape: Any, kernel: Kernel, dim: Any, held: Sequence[Any], named: Sequence[tuple[array, str]], place: CallSite
) -> list[array]:
    """Record the memory with gradients that a launch uses; return the arrays that have them."""
    active = [a for a, _ in named if a.grad is not None]
    names = [name for a, name in named if a.grad is not None]
    mutation_check.use(
        tape.seals,
        active,
        place,
        mutation_check.names_of(f"kernel `{kernel.name}`", names),
        lambda number: covers(kernel, dim, held, active[number]),
    )
    return active


def follow(
    cuts: DependenceTracker,
    kernel: Kernel,
    dim: Any,
    args: Sequence[Any],
    place: CallSite,
    device: Device,
    block_dim: int,
) -> BrokenChain | None:
    """Record where the gradients of a launch would end, unless the kernel has no gradient."""
    if not deciding_setting(kernel)[1]:
        return None
    written = plans.plan_for(kernel, plans.options_for(kernel, device, block_dim)).written
    changed = [arrays_at(value, offsets) for value, offsets in zip(args, written)]
    return cuts.launch(kernel, dim, [arrays_in(value) for value in args], place, changed, _rereads(kernel, args, cuts))


def _rereads(kernel: Kernel, args: Sequence[Any], cuts: DependenceTracker) -> list[Reread]:
    """What a kernel may read after it has written it, directly or through other arrays over the same memory, if it was
    made of arrays with gradients.
    """
    known = effects(kernel)
    places = [(a.param, at_path(args[a.param], a.path)) for a in known.arrays] if known.rereads else []
    return [
        Reread(
            places[found.written][0],
            places[found.read][0],
            b,
            [(places[n][0], e) for n in found.ends for e in places[n][1]],
        )
        for found in known.rereads
        if any(has_derivative(a, cuts) for n in found.sources for a in places[n][1])
        for a, b in product(places[found.written][1], places[found.read][1])
        if layouts.may_share_memory(a, b)
    ]


def at_path(value: Any, path: Sequence[str]) -> list[array]:
    """The arrays that members of an argument lead to. An indexed array counts as a whole."""
    for name in path:
        if isinstance(value, (indexedarray, IndexedCells)):
            break
        value = getattr(value, name)
    return arrays_in(value)


def covers(kernel: Kernel, dim: Any, args: Sequence[Any], a: array) -> bool:
    """True if a launch overwrites an array without reading it, directly or through an alias."""
    grid = tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
    shown = [any(layouts.may_share_memory(a, b) for b in arrays_in(value)) for value in args]
    uses = [access for meets, access in zip(shown, effects(kernel).params) if meets]
    return a.is_contiguous and a.shape == grid and all(access.covers for access in uses)


def _keep(kernel: Kernel, args: Sequence[Any], known: AdjointInfo, time: int, place: CallSite) -> SavedArrays:
    """Keep what the adjoint reads of the arrays as they are at this time."""
    return SavedArrays(*_read(kernel, args, known, time), place)


def _read(kernel: Kernel, args: Sequence[Any], known: AdjointInfo, time: int) -> tuple[list[array], list[str], str]:
    """The arrays that the adjoint reads as they are at this time, their names, and that of the launch in messages."""
    read = [
        (a, name)
        for value, (name, _), t in zip(args, kernel.params, known.reads)
        if t == time
        for a in arrays_in(value)
    ]
    return [a for a, _ in read], [name for _, name in read], f"the launch of kernel `{kernel.name}`"


def _notes(dim: Any, device: Device) -> array:
    """Room for what one atomic finds in each thread of a launch."""
    return zeros(thread_count(dim), dtype=uint64, device=device)


def adjoint_options(kernel: Kernel, dim: Any, arrays: Sequence[array], device: Device, block_dim: int) -> plans.Options:
    """The options that the adjoint of a launch on these arrays is compiled with. One thread has no order to keep."""
    _check_enabled(kernel)
    adjoint = "shared" if _may_alias(kernel, arrays) else "distinct"
    options = plans.options_for(kernel, device, block_dim)._replace(debug=False, adjoint=adjoint)
    return options._replace(serial=options.serial and thread_count(dim) > 1)


def _check_enabled(kernel: Kernel) -> None:
    """Refuse kernels that are not to be differentiated: the kernel has the first word, its module the second."""
    why, wanted = deciding_setting(kernel)
    if not wanted:
        raise RuntimeError(
            f"kernel `{kernel.name}` has no gradient, as {why}, and arrays of this launch require gradients: enable it "
            "before the launch, or launch with record_tape=False if nothing has to flow through"
        )


def as_array(value: Any, t: Any, device: Device = CPU) -> Any:
    """NumPy arrays and the like as arrays over the same memory; values as copies, since theirs may change."""
    if indexed_array(t) is not None:
        return plans.as_indexed(value, t)
    if not isinstance(t, Array) or value is None or isinstance(value, array):
        if isinstance(value, (list, tuple, np.ndarray)):
            return copy.deepcopy(value)
        return copy.copy(value) if hasattr(type(value), "__wc_type__") else value
    if isinstance(value, _native.ArrayBase):
        raise TypeError("a tape cannot record a descriptor (return_ctype=True): pass an array, wp.from_torch(x)")
    made = plan_cuda.shared_array(value, t, device) if device.is_cuda else plans.shared_array(value, t)
    return value if made is NotImplemented else made


def arrays_in(value: Any) -> list[array]:
    """The arrays that an argument is or, being a struct or an indexed array, has."""
    if isinstance(value, array):
        return [value]
    if isinstance(value, (indexedarray, IndexedCells)):
        return [leaf for leaf in value._leaves() if isinstance(leaf, array)]
    t = getattr(type(value), "__wc_type__", None)
    names = [name for name, _ in t.fields] if isinstance(t, Struct) else []
    return [a for name in names for a in arrays_in(getattr(value, name))]


def arrays_at(value: Any, offsets: Sequence[int], start: int = 0) -> list[array]:
    """The arrays of an argument that lie at byte offsets in it, of which it begins at `start`. An indexed array counts
    as a whole.
    """
    if not offsets or isinstance(value, (array, indexedarray, IndexedCells)):
        return arrays_in(value) if offsets else []
    t = getattr(type(value), "__wc_type__", None)
    if not isinstance(t, Struct):
        return []
    found = []
    for (name, field), at in zip(t.fields, t.offsets):
        inside = [o for o in offsets if start + at <= o < start + at + field.size]
        found += arrays_at(getattr(value, name), inside, start + at)
    return found


def _as_kept(value: Any, kept: SavedArrays) -> Any:
    """An argument with its arrays as they were."""
    if isinstance(value, array):
        return kept.view(value)
    if not arrays_in(value):
        return value
    if isinstance(value, (indexedarray, IndexedCells)):
        data, *indices = (leaf and _as_kept(leaf, kept) for leaf in value._leaves())
        return indexedarray(data, indices)
    made = copy.copy(value)
    for name, _ in type(value).__wc_type__.fields:
        setattr(made, name, _as_kept(getattr(value, name), kept))
    return made


def _may_alias(kernel: Kernel, arrays: Sequence[array]) -> bool:
    """True if some of the arrays share memory."""
    if layouts.are_apart(arrays):
        return False
    pairs = [(a, b) for a, b in combinations(arrays, 2) if layouts.may_share_memory(a, b)]
    if any(a.dtype is not b.dtype for a, b in pairs):
        raise ValueError(
            f"kernel `{kernel.name}`: arrays of different element types share memory, so a tape cannot follow the "
            "gradient; copy one of them"
        )
    return bool(pairs)


def facts(kernel: Kernel, options: plans.Options) -> AdjointInfo:
    """Return the facts that a tape needs about the adjoint."""
    known = _facts.setdefault(kernel, {})
    if options not in known:
        with plans.with_captured_constants(kernel, options._replace(adjoint="", exact=False)) as meaning:
            request = plans.request(kernel, options, 0)
            key = request.key(meaning)
            ready = plans.cached_for(request, key)
            if ready is None:
                found = adjoint_facts(request, key)
            else:
                found = AdjointFacts(ready.artifact.reads, ready.artifact.replays)
            known[options] = AdjointInfo(*found, key, [bool(read) for read in found.reads], _epoch)
    return known[options]


def _forget() -> None:
    global _epoch
    _epoch += 1
    _facts.clear()


on_redefinition.append(_forget)
