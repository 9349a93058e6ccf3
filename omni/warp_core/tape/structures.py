"""Structures such as hash grids, as a tape keeps them: their memory as it was when a launch was recorded.

A recorded launch keeps the structures whose ids are its arguments, or all on its device if a kernel gets ids from
elsewhere, such as from an array. Like other saved tensors (saved.py), they are copied only when a build is about to
overwrite them. An adjoint gets the id of a stand-in for a structure that has changed since. Where ids are no arguments,
descriptors point to what was kept while the adjoint runs. Start with `save` and `SavedStructures`.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .. import _native
from ..arrays import elements, keepalive, layouts
from ..arrays.array import array
from ..devices.device import Device
from ..dispatch import capture, observers
from ..dispatch.call_site import CallSite
from ..eager.addressed_memory import find
from ..ir.launch_facts import ArrayLookups
from ..lang.kernel import Kernel
from ..lang.kernel_transforms import Lookup, StructureArrays
from ..lang.values.scalars import uint64
from ..launches.kernel_facts import array_lookups, effects
from .saved import SavedArrays, SavedPool


class _Entry(NamedTuple):
    place: array  # of one element, the descriptor
    addresses: Sequence[str]  # fields of the descriptor that point to the rest of the structure
    take: Callable[[Any], tuple[array, int]]
    arrays: Sequence[str]  # attributes of the structure: arrays that may have derivatives


_live: WeakKeyDictionary[Any, _Entry] = WeakKeyDictionary()
_builders: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # the thread that built a structure last


def register(
    structure: Any,
    place: array,
    addresses: Sequence[str],
    take: Callable[[Any], tuple[array, int]],
    arrays: Sequence[str] = (),
) -> None:
    """Let tapes keep a structure, for as long as it exists.

    Args:
        structure: the structure. Its `id` leads to the descriptor.
        place: an array of one element, which is the descriptor.
        addresses: the fields of the descriptor that are addresses of registered arrays, or zero.
        take: makes another descriptor for a structure of its kind, and an id that is valid while its argument exists.
        arrays: the attributes, None or arrays, that queries have derivatives with respect to: the points and the
            velocities of a mesh, the values of a volume.
    """
    _live[structure] = _Entry(place, addresses, take, arrays)
    _native.outdate_launch_templates()  # launches without structures were recorded by them


def all_of(kind: type, device: Device) -> list[Any]:
    """Return the structures of a kind on a device that exist."""
    return [s for s, entry in list(_live.items()) if isinstance(s, kind) and entry.place.device is device]


def note_build(structure: Any) -> None:
    """Remember that this thread has changed a structure."""
    _builders[structure] = threading.get_ident()


def _descriptor(place: array) -> Any:
    """The descriptor at a place. It is written at once, whatever is captured on the CPU, and so it is read."""
    if place.device.is_cuda:
        return place.list()[0]
    return elements.to_list(place._numbers(), place._require_element(), place._member, keepalive.of(place))[0]


class _Watched(_native.SavedSpan):
    """Memory of a structure, `inside` until something that is captured is about to write to it."""

    def __init__(self, span: tuple[int, int]):
        super().__init__(*span, None, (), SavedPool(), None)

    def save(self) -> None:
        """Note the write."""
        self.leave()


class SavedStructure:
    """A structure as it was: `descriptor`, and the arrays that it points to."""

    def __init__(self, structure: Any, entry: _Entry, of: str, place: CallSite):
        self.structure, self.of = structure, of  # the id is valid as long as the structure exists
        self.entry, self.descriptor = entry, _descriptor(entry.place)
        found = {name: find(int(getattr(self.descriptor, name))) for name in entry.addresses}
        self._arrays = {name: a for name, a in found.items() if a is not None}
        self._saved = SavedArrays([*self._arrays.values()], [*self._arrays], of, place)
        spans = layouts.groups([*self._arrays.values()]) if capture.innermost() is not None else ()
        self._watched = [_Watched(span) for span, _ in spans]

    def has_changed(self) -> bool:
        """True if the structure is not as it was any more."""
        now = _descriptor(self.entry.place)
        return bool(now._wc_pack() != self.as_kept()._wc_pack())

    def is_overwritten(self) -> bool:
        """True if what is captured may overwrite memory of the structure."""
        return not all(watched.inside for watched in self._watched)

    def as_kept(self) -> Any:
        """The descriptor that points to what was kept."""
        made = copy.copy(self.descriptor)
        for name, a in self._arrays.items():
            setattr(made, name, type(getattr(made, name))(self._saved.view(a).ptr))
        return made


class _StandIn:
    """What was kept of a structure, under an id of its own."""

    def __init__(self, saved: SavedStructure):
        place, number = saved.entry.take(self)
        self.id = uint64(number)
        descriptor = saved.as_kept()
        descriptor.id = self.id
        place.fill_(descriptor)


class SavedStructures(NamedTuple):
    """The structures of a recorded launch. `params` are the arguments that are ids, None if ids are elsewhere."""

    saved: Sequence[SavedStructure] = ()
    params: tuple[int, ...] | None = ()

    @contextmanager
    def in_place(self, args: list[Any]) -> Iterator[list[Any]]:
        """Give arguments with which an adjoint finds the structures as they were.

        Raises:
            RuntimeError: If another thread has built a structure since, and its id is no argument.
        """
        if capture.innermost() is not None:
            self._check_unchanged()
            yield args
            return
        changed = [s for s in self.saved if s.has_changed()]
        if not changed:
            yield args
        elif self.params is not None:
            with observers.NotRecording():
                others = {int(s.descriptor.id): _StandIn(s) for s in changed}
            yield [self._other(others, n, a) for n, a in enumerate(args)]
        else:
            with _swapped(changed):
                yield args

    def _check_unchanged(self) -> None:
        """Refuse structures that the graph being captured changes between a launch and its adjoint."""
        for saved in self.saved:
            if saved.is_overwritten():
                raise RuntimeError(
                    f"{saved.of} is captured in a graph, which changes a structure that the kernel looks up before the "
                    "gradient of the launch. Build meshes, trees, hash grids and volumes outside of the capture"
                )

    def _other(self, others: dict[int, _StandIn], number: int, argument: Any) -> Any:
        is_id = number in (self.params or ())
        return others[int(argument)].id if is_id and int(argument) in others else argument


NO_STRUCTURES = SavedStructures()


@contextmanager
def _swapped(changed: Sequence[SavedStructure]) -> Iterator[None]:
    """Let ids lead to structures as they were, and afterwards to those of now."""
    if any(_builders.get(s.structure) != threading.get_ident() for s in changed):
        raise RuntimeError(
            "another thread has built a hash grid, a mesh or a volume again since the launch, and the kernel may get "
            "its id from an array or a struct. The gradient would disturb that thread: pass the id as an argument"
        )
    with observers.NotRecording():
        now = [saved.entry.place.list() for saved in changed]
        try:
            for saved in changed:
                saved.entry.place.fill_(saved.as_kept())
            yield
        finally:
            for saved, descriptors in zip(changed, now):
                saved.entry.place.fill_(*descriptors)


def save(kernel: Kernel, device: Device, args: Sequence[Any], place: CallSite) -> SavedStructures:
    """Keep structures on a device for the adjoint of a launch, which is recorded at a place of the program."""
    live = [(s, entry) for s, entry in list(_live.items()) if entry.place.device is device]
    if not live:
        return SavedStructures()
    hidden, params = _lookups(kernel)
    if not hidden:
        return SavedStructures()
    if device.is_cuda:  # whose descriptors cannot be read while it is captured
        capture.refuse(f"recording kernel `{kernel.name}`, whose gradient needs structures such as hash grids,", device)
    if params is not None:
        wanted = {int(args[n]) for n in params}
        live = [found for found in live if int(found[0].id) in wanted]
    return SavedStructures(
        [SavedStructure(*found, f"the launch of kernel `{kernel.name}`", place) for found in live], params
    )


class Rewritten(NamedTuple):
    """A launch that gets arrays of structures as further arguments. `watched` are those that it does without, as they
    have no derivatives.
    """

    kernel: Kernel
    args: Sequence[Any]
    watched: Sequence[array] = ()


def with_arrays(kernel: Kernel, device: Device, args: Sequence[Any], is_active: Callable[[array], bool]) -> Rewritten:
    """Return a launch like this one that gets the arrays of structures that it looks up, such as the points of a mesh,
    as further arguments. A tape and forward mode follow these like all others.

    Args:
        kernel: the kernel.
        device: where it is launched.
        args: its arguments.
        is_active: whether an array has a derivative.

    Raises:
        RuntimeError: If the kernel gets ids from elsewhere than from arguments, and a structure has an active array.
    """
    live = [(s, entry) for s, entry in list(_live.items()) if entry.arrays and entry.place.device is device]
    if not live or len(args) != len(kernel.params):
        return Rewritten(kernel, args)
    lookups, elsewhere = _array_lookups(kernel)
    if elsewhere:
        _refuse_active(kernel, live, elsewhere, is_active)
    known = {int(s.id): s for s, _ in live}
    given, watched, needed = list(args), [], []
    for lookup in lookups:
        arrays = _arrays_of(known.get(int(args[lookup.param])), lookup)
        found = [a for a in arrays if a is not None]
        if lookup.needs_arrays or any(map(is_active, found)):
            needed.append(lookup)
            given += arrays
        else:
            watched += found
    return Rewritten(kernel.derive(StructureArrays(tuple(needed))) if needed else kernel, given, watched)


def _arrays_of(structure: Any, lookup: Lookup) -> list[array | None]:
    """The arrays of a structure, None for those that it has not or that have another type."""
    found = [getattr(structure, name, None) for name, _ in lookup.arrays]
    return [
        a if a is not None and a._require_element().type is t.dtype else None for a, (_, t) in zip(found, lookup.arrays)
    ]


def _refuse_active(
    kernel: Kernel,
    live: Sequence[tuple[Any, _Entry]],
    elsewhere: Sequence[str],
    is_active: Callable[[array], bool],
) -> None:
    for s, entry in live:
        for name in entry.arrays:
            a = getattr(s, name) if name in elsewhere else None
            if a is not None and is_active(a):
                kind = type(s).__name__
                raise RuntimeError(
                    f"kernel `{kernel.name}` gets the id of a wp.{kind} from an array or a struct, or uses it in a "
                    f"function with a gradient or replay of its own. The {name} of a wp.{kind} have a derivative, "
                    "which would be lost. Pass the id as an argument of the kernel, or, if nothing is to flow to the "
                    f"{name}, use an array without requires_grad"
                )


def _array_lookups(kernel: Kernel) -> ArrayLookups:
    """How a kernel looks up arrays with derivatives."""
    return ArrayLookups((), ()) if effects(kernel).ids == () else array_lookups(kernel)


def _lookups(kernel: Kernel) -> tuple[bool, tuple[int, ...] | None]:
    """True if a kernel may find structures, and the parameters that are ids."""
    found = effects(kernel)
    return found.hidden, found.ids
